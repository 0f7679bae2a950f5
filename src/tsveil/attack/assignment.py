"""Linkage by a one-to-one assignment: who knows many persons gives each of them another record, so that all together are nearest.

Two persons whose nearest record is the same cannot both have it. The assignment of least total distance uses this,

    min  sum_a d(a, r(a)),      r(a) != r(b) for a != b

where d is the distance of the linkages by distance: standardised values of attributes, or for each series its normalised values; against noise with the data's correlations it is
the Mahalanobis distance. A second assignment is tried where the method tells more, and the better of both counts:

- Where the size of the noise is known, d is -2 log of the likelihood of the pair over the density of published records (linkage by likelihood has the formula): the
  assignment is then the likeliest one.
- Where published values stand for runs of neighbouring values, d is the score of the linkage by sides with its sign turned.
- Where records were sorted by a projection, d is that of the linkage by sides of projections, on the line of the known persons in place of the rebuilt one, plus a quarter of the
  squared distance by the bell that fits the groups best (`attack.lines`), where four persons are known for each column: half of what the bell says, because a part of that is the
  place on the line. In series of many points a mean is nearer to its members than a line can tell.

What the assignment finds beyond the others shows
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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from tsveil.attack.base import (
    BlockCovariance,
    Column,
    DrawnAtRandom,
    NoiseOnValues,
    NotMeasuredError,
    Rung,
    RunsOfColumns,
    RunsOfProjections,
    Shape,
    Situation,
    Trace,
    Traces,
    Trial,
)
from tsveil.attack.candidates import Found
from tsveil.attack.covariance import Whitening, keep_whitenings, too_wide
from tsveil.attack.files import on_one_scale
from tsveil.attack.joint import Joint, both_files
from tsveil.attack.lines import Bell, Line
from tsveil.attack.noisy import PER_COLUMN, Noisy, densities, has_covariance
from tsveil.attack.one_to_one import EVERYBODY, FEWEST, PAIRS, Costs, assign
from tsveil.attack.pieces import Targets
from tsveil.attack.runs import Runs, table_of_sides
from tsveil.core.params import number, one_of, optional, param, true_or_false
from tsveil.core.types import Array
from tsveil.engine.base import Result, Task
from tsveil.transform.normalise import normalise

#: gives the table of all distances between two files
Distances = Callable[[Array, Array], Array]
Way = Literal["distance", "likeliest", "runs"]
#: how series may be normalised so that the scale of known values is one factor of all distances
ANY_SCALE = ("global", "per-record", "none")


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
    runs: Literal["columns", "pooled", "pcp", "zscores"] | None = param(
        None,
        optional(one_of("columns", "pooled", "pcp", "zscores")),
        "whether published rows stand for runs of neighbours: in each column, in all of them together, or along a projection of each block",
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
        wide = correlated and too_wide(release.blocks)
        moved = next((trace.deviations for trace in known if isinstance(trace, NoiseOnValues)), None)
        return cls(
            correlated=correlated and not wide,
            deviations=None if wide else moved,
            runs=next((each for each in map(_runs, known) if each is not None), None),
            everybody=traces is None or any(isinstance(trace, DrawnAtRandom) for trace in known),
        )

    def needs_products(self, blocks: Sequence[Sequence[int]]) -> bool:
        """For the covariances."""
        return self.correlated or (self.deviations is not None and has_covariance(blocks, False))

    def looks_at_columns(self) -> bool:
        """For the scales of noise."""
        return self.correlated or self.deviations is not None

    def of_column(self, column: Column) -> Result:
        """Its scale in the release."""
        return {"scale": column.released_scale}

    def plan(self, situation: Situation) -> list[Trial]:
        """Half of the persons and everybody, or a sample of persons among all records; by distance, and by likelihood or by runs where the method tells of them."""
        files = situation.files
        whole = max(files.n, files.m) <= EVERYBODY
        if whole:
            trials = super().plan(situation) if self.everybody else self.halves(situation)
        else:
            targets = min(files.people // 2, int(PAIRS / files.m * files.people / files.n))
            if targets < FEWEST:
                raise NotMeasuredError(f"{self.plain}, which is not tried above {PAIRS // FEWEST:,} records")
            trials = [self.trial(situation, targets, *(Rung.SHARE, Rung.FILE)[: 1 + self.everybody])]
        settings = situation.settings
        # Distances depend on the scale of the known values, which who knows a half has of that half alone; for a single series it is one factor of all distances.
        one_factor = len(files.series) == 1 and settings.scaling == "original" and settings.normalise in ANY_SCALE
        alike = {
            "distance": self.correlated or one_factor,
            "likeliest": True,
            "runs": self.runs in ("columns", "pooled"),  # a line depends on who is known
        }
        shared: dict[str, Any] = {"normalise": settings.normalise}
        if self.runs is not None:
            places = {column: at for at, column in enumerate(situation.columns)}
            shared["places"] = [
                [places[column] for column in columns if column in places] for columns in situation.blocks
            ]
        if self.looks_at_columns():
            shared |= keep_whitenings(situation, situation.blocks if self.needs_products(situation.blocks) else [])
            shared["density"] = densities(situation.blocks, files.m, self.correlated)[0]
        situation.store.remove(f"{self.figure}.")  # of an evaluation before this one
        return [
            replace(
                one, way=f"{one.way} by {way}", task={**one.task, **shared, "way": way, "kept": whole and alike[way]}
            )
            for one in trials
            for way in self._ways()
        ]

    def kept_bytes(self, release: Shape) -> int:
        """A table of costs for each way of making them."""
        return 8 * release.n**2 * len(self._ways()) if release.n <= EVERYBODY else 0

    def _ways(self) -> list[Way]:
        """How the costs are made."""
        likeliest: list[Way] = [] if self.deviations is None else ["likeliest"]
        return [*likeliest, "distance"] if self.runs is None else [*likeliest, "distance", "runs"]

    def link(self, targets: Targets, task: Task) -> Found:
        """The record that each target is given."""
        store, costs = targets.store, self._costs(targets, task)
        found = assign(costs, targets.files.owners(store), targets.mine)
        hit = np.asarray(found.chance > 0, dtype=np.int64)
        return Found(found.tied, found.link, hit, chance=found.chance)

    def _costs(self, targets: Targets, task: Task) -> Costs:
        """The costs for the targets; where those of a half are a part of those for everybody, these are kept for all tasks."""
        if not task["kept"]:
            return self._make_costs(targets, task)
        store, everybody = targets.store, Targets.of(task)
        names = [f"{self.figure}.{task['way']}.{part}" for part in Costs._fields]
        if not all(map(store.has, names)):
            for name, part in zip(names, self._make_costs(everybody, task), strict=True):
                store.put(name, part)
        costs = Costs(*(store.get(name, whole=True) for name in names))
        return costs.subset(np.searchsorted(everybody.rows, targets.rows))

    def _make_costs(self, targets: Targets, task: Task) -> Costs:
        """The costs for some persons, from the values of both files."""
        if task["way"] == "likeliest" and self.correlated:
            return self._likely(self._costs(targets, {**task, "way": "distance"}), targets, task)
        return Costs.of(*self._places(targets, task))

    def _likely(self, apart: Costs, targets: Targets, task: Task) -> Costs:
        """The costs by likelihood from Mahalanobis distances, against noise with the covariance of each block."""
        noisy = Noisy.of(targets.store, task, deviations=self.deviations, correlated=True)
        costs = (noisy.factor * apart.table) ** 2
        if task["density"] != "none":
            shown = both_files(targets.subset([]), task["columns"])[1]
            rare = np.empty(costs.shape[1])
            rare[apart.records] = noisy.rare(task["density"], shown, noisy.place(shown), [shown.shape[1]])[:, 0]
            costs += rare
        return apart._replace(table=costs)

    def _places(self, targets: Targets, task: Task) -> tuple[Array, Array, Distances]:
        """Where targets and published records are placed, and what a link costs by their places."""
        from tsveil._kernels.attributes import distance_table

        known, shown = both_files(targets, task["columns"])
        if task["way"] == "runs":
            return known, shown, self._by_runs(known, shown, task["places"])
        files, power = targets.files, 1
        if task["way"] == "likeliest":
            noisy = Noisy.of(targets.store, task, deviations=self.deviations, correlated=False)
            a, b = noisy.place(known), noisy.place(shown)
            rare = noisy.rare(task["density"], shown, b, [b.shape[1]])
            # As in the linkage by likelihood, a further column has the density: the squared distance is the cost then.
            a, b, power = np.column_stack([a, np.zeros(len(a))]), np.column_stack([b, np.sqrt(rare)]), 2
            starts = [0, a.shape[1]]
        elif self.correlated:
            published = Whitening.of(targets.store, task)
            a, b = published.whiten(known), published.whiten(shown)
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
            found = distance_table(x, np.ascontiguousarray(y.T), np.array(starts))
            return found if power == 1 else found * found

        return a, b, distances

    def _by_runs(self, known: Array, shown: Array, blocks: Sequence[Sequence[int]]) -> Distances:
        """The evidence of runs with its sign turned, for some known and some published records of these."""
        if self.runs in ("columns", "pooled"):
            runs = Runs.of(shown, self.runs == "pooled")
            return lambda x, y: -table_of_sides(runs, x, y)
        parts = [(own, AlongLine.of(known[:, own], shown[:, own], str(self.runs))) for own in blocks]
        return lambda x, y: -np.sum([part.table(x[:, own], y[:, own]) for own, part in parts], axis=0)


def _runs(trace: Trace) -> Literal["columns", "pooled", "pcp", "zscores"] | None:
    """The runs that a method says it makes."""
    if isinstance(trace, RunsOfColumns):
        return "pooled" if trace.pooled else "columns"
    return trace.projection if isinstance(trace, RunsOfProjections) else None


class AlongLine(NamedTuple):
    """What who knows some records finds out of a block that was grouped along a projection: the line, its runs, and the shape of groups."""

    line: Line
    runs: Runs
    bell: Bell | None

    @classmethod
    def of(cls, known: Array, shown: Array, projection: str) -> AlongLine:
        """From the known records and all published ones."""
        line = Line.of(known, projection)
        enough = len(known) >= PER_COLUMN * known.shape[1]
        return cls(line, Runs.of(line.place(shown)[:, None], pooled=True), Bell.fit(known, shown) if enough else None)

    def table(self, known: Array, shown: Array) -> Array:
        """The evidence for all pairs of some known and some published records."""
        from tsveil._kernels.attributes import distance_table

        found = table_of_sides(self.runs, self.line.place(known)[:, None], self.line.place(shown)[:, None])
        if self.bell is not None:
            a, b = self.bell.place(known), self.bell.place(shown)
            found -= 0.25 * distance_table(a, np.ascontiguousarray(b.T), np.array([0, a.shape[1]])) ** 2
        return found
