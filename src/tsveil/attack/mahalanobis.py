"""Linkage by the Mahalanobis distance: each original record is linked to the released one that is nearest once the correlations of its block are taken out.

Noise with the correlations of a block hides a record mostly along the directions in which the block varies most, and hardly across them. With the covariance S_b of the
*published* block b, which is that of the noise up to a factor,

    d(x, y)^2 = sum_b (x_b - y_b)' inverse(S_b) (x_b - y_b)

treats all directions alike, and the nearest record is the likeliest one. With the triangular factor R of S, R'R = S, this is the Euclidean distance of z = x inverse(R). Column c
of z depends on the first c columns alone, so that all numbers of known columns are tried at once. A column that depends on those before it (a total, a constant) tells nothing
new and is left out.

Blocks of more than 512 columns are not attacked in this way.

References
----------
.. [1] V. Torra, J. M. Abowd, J. Domingo-Ferrer, Using Mahalanobis distance-based record linkage for disclosure risk assessment, Privacy in Statistical Databases, LNCS 4302
   (2006) 233-242.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> curves = np.random.default_rng(1).normal(size=(500, 6)).cumsum(axis=1)
>>> data = tv.Dataset.from_arrays({"load": curves})
>>> release = tv.Noise(sd=0.5, correlated=True).protect(data, seed=1)
>>> tv.attack.series(data, release)
Links: euclidean linkage, 1 of 1 series known: 103.0 of 500 records re-identified (20.6 %)
>>> tv.attack.mahalanobis(data, release)
Links: linkage by Mahalanobis distance, 6 attributes known: 199.0 of 500 records re-identified (39.8 %)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tsveil.attack.base import BlockCovariance, Shape, Situation, Trace, Traces, Trial
from tsveil.attack.candidates import Found
from tsveil.attack.covariance import ByCovariance, Whitening, keep_whitenings, refuse_wide, too_wide
from tsveil.attack.files import HasData
from tsveil.attack.links import Links
from tsveil.attack.nearest_columns import compared_rows, nearest_of_targets
from tsveil.attack.pieces import Targets
from tsveil.attack.run import links_in_memory
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Task


def mahalanobis(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
) -> Links:
    """Link originals to the nearest released records by the covariance of each published block.

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
    return links_in_memory(Mahalanobis(), original, released, known, truth)


@dataclass(frozen=True, kw_only=True)
class Mahalanobis(ByCovariance):
    """Linkage to the nearest released record by the covariance of each published block."""

    name: ClassVar[str] = "mahalanobis"
    figure: ClassVar[str] = "MALD"
    plain: ClassVar[str] = "linkage by Mahalanobis distance"
    summary: ClassVar[str] = (
        "Share linked right by the nearest published record once correlations are taken out, which noise with the data's correlations does not hide."
    )
    reference: ClassVar[str] = "Torra, Abowd and Domingo-Ferrer 2006"
    trace: ClassVar[type[Trace] | None] = BlockCovariance

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """On a release of unknown making, unless it is too wide."""
        return None if traces is None and too_wide(release.blocks) else super().fit(release, traces)

    def needs_products(self, blocks: Sequence[Sequence[int]]) -> bool:
        """For the covariances."""
        return not too_wide(blocks)

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with all distinct rows; what takes correlations out is kept for each block."""
        refuse_wide(self.plain, situation.blocks)
        targets = situation.affordable(compared_rows(situation.distinct, len(situation.columns)))
        return [Trial(targets, keep_whitenings(situation, situation.blocks))]

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest by the first of some columns, each freed of what those before it say."""
        columns, published = task["columns"], Whitening.of(targets.store, task)
        known = published.whiten(targets.values(columns))
        return nearest_of_targets(
            targets, known, lambda values: published.whiten(values[:, columns]), np.ones(len(columns)), task["counts"]
        )
