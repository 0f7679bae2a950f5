"""Linkage by likelihood: who knows how much noise was added looks for the record that the person's values most probably became, and that is least probably somebody else's.

A normal number with `deviations` a times the deviation of its column is added to each value. Then the published column has the variance 1 + a^2 times the original one, and the noise of
column j the deviation s_j = a / sqrt(1 + a^2) times the *published* one, which anybody can compute. By the rule of Bayes the record y of a person with the values x is the one with the largest

    log N(y; x, s^2) - log f(y)

where f is the density of published records: where they crowd, one of them is near by accident. Up to constants this is the least

    sum_j ((x_j - y_j) / s_j)^2 + 2 log f(y)

and against noise with the covariance of each block its first part is the Mahalanobis distance times (1 + a^2) / a^2. What is weighed column by column differs most from the usual distance
in series, all points of which have one scale there.

Two densities are tried, each for every number of known columns, and the better one counts:

    normal    that of a normal distribution with the mean and the covariance of each published block, 2 log f(y) = -d(y, mean)^2 by Mahalanobis; records farther than 10 deviations of the
              usual distance count as that far. A covariance takes four records for each column of a block, and blocks of at most 128 columns (512, where the noise has it)
    kernel    bells around all other records, as wide as the noise or as Silverman's rule says, whichever is wider [2]_; up to 2,500 records and 16 columns

Where neither can be told, the first part is left. The term of the density becomes a further column, zero for persons and the root of the term for records, so
that the searches for the nearest record do all the work.

References
----------
.. [1] W. E. Yancey, W. E. Winkler, R. H. Creecy, Disclosure risk assessment in perturbative microdata protection, Inference Control in Statistical Databases, LNCS 2316 (2002) 135-152.
.. [2] B. W. Silverman, Density Estimation for Statistics and Data Analysis, Chapman and Hall (1986), section 4.3.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> curves = np.random.default_rng(1).normal(size=(200, 24)).cumsum(axis=1)
>>> data = tv.Dataset.from_arrays({"load": curves})
>>> release = tv.Noise(sd=0.5).protect(data, seed=1)
>>> tv.attack.series(data, release)
Links: euclidean linkage, 1 of 1 series known: 107.0 of 200 records re-identified (53.5 %)
>>> tv.attack.likelihood(data, release, deviations=0.5)
Links: linkage by likelihood (normal density), 24 attributes known: 178.0 of 200 records re-identified (89.0 %)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tsveil.attack import nearest
from tsveil.attack.base import BlockCovariance, NoiseOnValues, NotMeasuredError, Shape, Situation, Trace, Traces, Trial
from tsveil.attack.candidates import Found, nearest_in_pieces
from tsveil.attack.covariance import ByCovariance, keep_whitenings, refuse_wide
from tsveil.attack.files import HasData
from tsveil.attack.joint import both_files
from tsveil.attack.links import Links
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.noisy import PER_COLUMN, Noisy, densities, has_covariance
from tsveil.attack.pieces import Targets
from tsveil.attack.run import links_in_memory
from tsveil.core.params import number, param, true_or_false
from tsveil.core.types import Array
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Task


def likelihood(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    deviations: float = 0.1,
    correlated: bool = False,
) -> Links:
    """Link originals to the released records that the noise most probably made of them.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The attributes that the intruder knows; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    deviations
        The standard deviation of the noise, as a share of the original column's.
    correlated
        Whether the noise has the covariance of each block.

    Returns
    -------
    Links
        The record that each one is linked to, and how often that is right.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    attack = Likelihood(deviations=deviations, correlated=correlated)
    return links_in_memory(attack, original, released, known, truth)


@dataclass(frozen=True, kw_only=True)
class Likelihood(ByCovariance):
    """Linkage to the released record that noise most probably made of a known one."""

    name: ClassVar[str] = "likelihood"
    figure: ClassVar[str] = "LKLD"
    plain: ClassVar[str] = "linkage by likelihood"
    summary: ClassVar[str] = (
        "Share linked right by who knows how much noise was added, and takes the record that it most probably made and that is least probably somebody else's."
    )
    reference: ClassVar[str] = "Yancey, Winkler and Creecy 2002"
    trace: ClassVar[type[Trace] | None] = NoiseOnValues
    usual: ClassVar[bool] = False

    deviations: float = param(
        0.1,
        number(0, 100, open_low=True),
        "the noise's standard deviation, as a share of the original column's",
    )
    correlated: bool = param(False, true_or_false(), "whether the noise has the covariance of each block")

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """Where noise of a known size was added."""
        moved = next((trace for trace in traces or () if isinstance(trace, NoiseOnValues)), None)
        if moved is None:
            return None
        correlated = any(isinstance(trace, BlockCovariance) for trace in traces or ())
        return cls(deviations=moved.deviations, correlated=correlated)

    def needs_products(self, blocks: Sequence[Sequence[int]]) -> bool:
        """For the covariances."""
        return has_covariance(blocks, self.correlated)

    def plan(self, situation: Situation) -> list[Trial]:
        """One way for each density; every number of known columns is searched by itself, and all ways together must be affordable."""
        there = self.needs_products(situation.blocks)
        ways = densities(situation.blocks, situation.files.m, self.correlated)
        if self.correlated:
            refuse_wide(self.plain, situation.blocks)
        if self.correlated and ways == ["none"]:
            raise NotMeasuredError(
                f"{self.plain}, which is that by Mahalanobis distance where there are fewer than {PER_COLUMN} records for each column of a block"
            )
        targets = situation.affordable(situation.distinct * len(situation.counts) * len(ways))
        shared = keep_whitenings(situation, situation.blocks if there else [])
        return [
            Trial(targets, {**shared, "density": way}, way=f"{way} density" if way != "none" else "") for way in ways
        ]

    def link(self, targets: Targets, task: Task) -> Found:
        """The likeliest by the first of some columns."""
        columns, counts, density = task["columns"], task["counts"], task["density"]
        noisy = Noisy.of(targets.store, task, deviations=self.deviations, correlated=self.correlated)
        known = noisy.place(targets.values(columns))
        everybody = noisy.place(both_files(targets.subset([]), columns)[1]) if density == "kernel" else known[:0]

        def search(some: Rows) -> Near:
            shown = noisy.place(some.values[:, columns])
            rare = noisy.rare(density, some.values[:, columns], everybody, counts)
            found = [
                _likeliest(known[:, :count], replace(some, values=np.column_stack([shown[:, :count], np.sqrt(term)])))
                for count, term in zip(counts, rare.T, strict=True)
            ]
            return Near(*(np.concatenate(each, axis=1) for each in zip(*found, strict=True)))

        return nearest_in_pieces(targets, len(counts), search)


def _likeliest(known: Array, rows: Rows) -> Near:
    """The nearest of rows that have a further column, which is zero for known records.

    No tree: where records crowd they are moved away from everybody, and then all are about as far as the nearest.
    """
    a = np.column_stack([known, np.zeros(len(known))])
    return nearest.nearest_distinct(a, rows, np.array([0, a.shape[1]]))
