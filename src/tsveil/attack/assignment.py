"""Linkage by a one-to-one assignment: who knows many persons gives each of them another record, so that all together are nearest.

Two persons whose nearest record is the same cannot both have it. The assignment of least total distance uses this,

    min  sum_a d(a, r(a)),      r(a) != r(b) for a != b

where d is the distance of the linkages by distance: standardised values of attributes, or for each series its normalised values; against noise with the data's correlations it is
the Mahalanobis distance. Where the size of the noise is known, d is -2 log of the likelihood of the pair over the density of published records (linkage by likelihood has the
formula): the assignment is then the likeliest one. What it finds beyond the others shows
above all where values were changed at random; where groups share one record nobody finds more than the place inside a group.

The cost grows with the cube of the number of persons who are known. Up to 2,500 records everybody is assigned; of more records, the intruder
knows as many persons as make at most 2^25 pairs with *all* published records, and the assignment is not tried where these would be fewer than 200.

References
----------
.. [1] J. Domingo-Ferrer, S. Ricci, J. Soria-Comas, Disclosure risk assessment via record linkage by a maximum-knowledge attacker, PST (2015) 28-35.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> x = np.random.default_rng(1).normal(size=(200, 4))
>>> data = tv.Dataset.from_arrays({f"x{at}": x[:, [at]] for at in range(4)})
>>> release = tv.Noise(sd=0.4).protect(data, seed=1)
>>> tv.attack.distance(data, release)
Links: distance linkage, 4 attributes known: 88.0 of 200 records re-identified (44.0 %)
>>> tv.attack.distance(data, release, one_to_one=True)
Links: one-to-one distance linkage, 4 attributes known: 107.0 of 200 records re-identified (53.5 %)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tsveil.attack.base import (
    BlockCovariance,
    DrawnAtRandom,
    NotMeasuredError,
    Rung,
    Shape,
    Situation,
    Traces,
    Trial,
    ValuesMoved,
)
from tsveil.attack.candidates import Found
from tsveil.attack.files import on_one_scale
from tsveil.attack.joint import Joint, both_files
from tsveil.attack.noisy import Noisy, densities
from tsveil.attack.one_to_one import assigned
from tsveil.attack.pieces import Targets
from tsveil.core.params import number, optional, param, true_or_false
from tsveil.core.types import Array
from tsveil.engine.base import Task
from tsveil.transform.normalise import normalise
from tsveil.transform.triangle import inverse, multiply_rows, triangle

#: records that are all assigned, pairs of a person and a record in one table, and the fewest persons that are worth assigning
EVERYBODY, PAIRS, FEWEST = 2500, 2**25, 200
#: columns of a block whose covariance is taken out
WIDEST = 512


@dataclass(frozen=True, kw_only=True)
class Assignment(Joint):
    """Links of all known persons at once, each to a record of its own."""

    name: ClassVar[str] = "one-to-one"
    figure: ClassVar[str] = "OOLD"
    plain: ClassVar[str] = "linkage one to one"
    summary: ClassVar[str] = (
        "Share found by who knows many persons and gives each another record, so that all together are nearest."
    )
    reference: ClassVar[str] = "Domingo-Ferrer, Ricci and Soria-Comas 2015"

    correlated: bool = param(
        False,
        true_or_false(),
        "whether the covariance of each published block is taken out first, which is best against noise that has it",
    )
    deviations: float | None = param(
        None,
        optional(number(0, 100, open_low=True)),
        "the standard deviation of noise that was added, as a share of the original column's, if it is known",
    )
    everybody: bool = param(
        True,
        true_or_false(),
        "whether it is also tried with everybody known; not where the method can be run again, which finds as much",
    )

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """On any release; with everybody known where values were drawn at random."""
        known = traces or ()
        correlated = any(isinstance(trace, BlockCovariance) for trace in known)
        wide = correlated and max(map(len, release.blocks)) > WIDEST
        moved = next((trace.deviations for trace in known if isinstance(trace, ValuesMoved)), None)
        return cls(
            correlated=correlated and not wide,
            deviations=None if wide else moved,
            everybody=traces is None or any(isinstance(trace, DrawnAtRandom) for trace in known),
        )

    def plan(self, situation: Situation) -> list[Trial]:
        """Half of the persons and everybody, or a sample of persons among all records."""
        files = situation.files
        if max(files.n, files.m) <= EVERYBODY:
            return super().plan(situation) if self.everybody else self.halves(situation)
        targets = min(files.people // 2, int(PAIRS / files.m * files.people / files.n))
        if targets < FEWEST:
            raise NotMeasuredError(f"{self.plain}, which is not tried above {PAIRS // FEWEST:,} records")
        return [self.trial(situation, targets, *(Rung.SHARE, Rung.FILE)[: 1 + self.everybody])]

    def trial(self, situation: Situation, targets: int, *rungs: Rung, half: int | None = None) -> Trial:
        """With how series are normalised, and the places of the known columns of each block."""
        one = super().trial(situation, targets, *rungs, half=half)
        places = {column: at for at, column in enumerate(situation.columns)}
        blocks = [[places[column] for column in columns if column in places] for columns in situation.blocks]
        return replace(one, task={**one.task, "normalise": situation.settings.normalise, "blocks": blocks})

    def link(self, targets: Targets, task: Task) -> Found:
        """The record that each target is given."""
        from tsveil._kernels.attributes import distance_table

        known, shown = both_files(targets, task["columns"])
        files = targets.files
        if self.deviations is not None:
            noisy = Noisy.of(shown, task["blocks"], self.deviations, self.correlated)
            density = densities(task["blocks"], len(shown), self.correlated)[0]
            a, b = noisy.placed(known), noisy.placed(shown)
            rare = noisy.rare(density, shown, b, [b.shape[1]])
            # As in the linkage by likelihood, a further column has the density: the squared distance is the cost then.
            a, b = np.column_stack([a, np.zeros(len(a))]), np.column_stack([b, np.sqrt(rare)])
            starts = [0, a.shape[1]]
        elif self.correlated:
            a, b = _uncorrelated(known, shown, task["blocks"])
            starts = [0, a.shape[1]]
        elif files.series:
            spans = [files.span(block.name) for block in files.series]
            pairs = [normalise(known[:, span], shown[:, span], task["normalise"], task["scaling"]) for span in spans]
            a, b = (np.hstack([pair[side] for pair in pairs]) for side in (0, 1))
            starts = np.cumsum([0, *(pair[0].shape[1] for pair in pairs)]).tolist()
        else:
            a, b, factor = on_one_scale(known, shown, task["scaling"])
            a, b, starts = a * factor, b * factor, [0, a.shape[1]]

        def distances(x: Array, y: Array) -> Array:
            table = distance_table(x, np.ascontiguousarray(y.T), np.array(starts))
            return table if self.deviations is None else table * table

        found = assigned(a, b, files.owners(targets.store), targets.mine, distances)
        hit = np.asarray(found.chance > 0, dtype=np.int64)
        return Found(found.tied, found.link, hit, chance=found.chance)


def _uncorrelated(known: Array, shown: Array, blocks: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Both files with the covariance of each published block taken out."""
    a, b, factor = on_one_scale(known, shown)
    a, b = a * factor, b * factor
    in_order = b[np.lexsort(b.T[::-1])]  # so that sums do not depend on the order of the file
    for own in blocks:
        middle = in_order[:, own].mean(axis=0)
        centred = in_order[:, own] - middle
        whitening = inverse(triangle(centred.T @ centred / max(len(b) - 1, 1)))
        a[:, own], b[:, own] = (
            multiply_rows(a[:, own] - middle, whitening),
            multiply_rows(b[:, own] - middle, whitening),
        )
    return a, b
