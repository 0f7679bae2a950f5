"""Linkage of records with labels by a one-to-one assignment: who knows many persons gives each of them another record, so that all together are nearest.

    min  sum_a d(a, r(a)),      r(a) != r(b) for a != b

where d is the distance of numbers, series and labels together (`tsveil.attack.mixed`). It is what `tsveil.attack.assignment` does with numbers alone, and has the same limits: up to 2,500 records
everybody is assigned; of more, the intruder knows as many persons as make at most 2^25 pairs with all published records, and it is not tried where these would be fewer than 200.
Where groups share one record nobody finds more than the place inside a group; there only half of the persons are known, because who knows everybody can run the method again.

References
----------
.. [1] J. Domingo-Ferrer, S. Ricci, J. Soria-Comas, Disclosure risk assessment via record linkage by a maximum-knowledge attacker, PST (2015) 28-35.
.. [2] J. Domingo-Ferrer, V. Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation, DMKD 11 (2005).

Examples
--------
>>> import tsveil as tv
>>> data = tv.example("device-states")
>>> MixedAssignment().links(data, data).rate
100.0
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tsveil.attack.base import Column, DrawnAtRandom, Knowledge, NotMeasuredError, Rung, Shape, Situation, Traces, Trial
from tsveil.attack.candidates import Found
from tsveil.attack.files import HasData
from tsveil.attack.joint import Joint, both_files
from tsveil.attack.links import Links
from tsveil.attack.mixed_space import Space, distance_table, facts_of
from tsveil.attack.one_to_one import EVERYBODY, FEWEST, PAIRS, Costs, assign
from tsveil.attack.pieces import Pieces, Targets
from tsveil.attack.whole_records import links_of_whole_records
from tsveil.core.params import param, true_or_false
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task


@dataclass(frozen=True, kw_only=True)
class MixedAssignment(Joint):
    """Links of all known persons at once, each to a record of its own, labels counted."""

    name: ClassVar[str] = "mixed-one-to-one"
    figure: ClassVar[str] = "LOLD"
    plain: ClassVar[str] = "linkage one to one, with labels"
    summary: ClassVar[str] = (
        "Share found by who knows many persons and gives each another record, so that all together are nearest, labels counted."
    )
    reference: ClassVar[str] = "Domingo-Ferrer, Ricci and Soria-Comas 2015"
    of_labels: ClassVar[bool] = True

    everybody: bool = param(
        True,
        true_or_false(),
        "whether it is also tried with everybody known; not where the method can be run again, which finds as much",
    )

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """On any release with labels; with everybody known where values were drawn at random."""
        if not cls.takes(release):
            return None
        return cls(everybody=traces is None or any(isinstance(trace, DrawnAtRandom) for trace in traces))

    def links(self, original: Dataset, released: Dataset | HasData, **given: Any) -> Links:
        """With whole records of everybody known."""
        return links_of_whole_records(self, original, released, **given)

    def knowledge(self, files: Pieces) -> Knowledge:
        """Whole records."""
        every = list(range(len(files.columns)))
        return Knowledge(every, [len(every)], [every], [1])

    def of_column(self, column: Column) -> Result:
        """What its scale follows from."""
        return facts_of(column)

    def plan(self, situation: Situation) -> list[Trial]:
        """Half of the persons and everybody, or a sample of persons among all records."""
        files = situation.files
        facts = {"facts": [dict(situation.of_columns[at]) for at in situation.columns]}
        if max(files.n, files.m) <= EVERYBODY:
            trials = super().plan(situation) if self.everybody else self.halves(situation)
        else:
            targets = min(files.people // 2, int(PAIRS / files.m * files.people / files.n))
            if targets < FEWEST:
                raise NotMeasuredError(f"{self.plain}, which is not tried above {PAIRS // FEWEST:,} records")
            trials = [self.trial(situation, targets, *(Rung.SHARE, Rung.FILE)[: 1 + self.everybody])]
        return [replace(one, task={**one.task, **facts}) for one in trials]

    def link(self, targets: Targets, task: Task) -> Found:
        """The record that each target is given."""
        space = Space.of(targets.files.blocks, task["facts"], task["counts"])
        known, shown = both_files(targets, task["columns"])
        costs = Costs.of(known, shown, lambda x, y: distance_table(space, x, y))
        found = assign(costs, targets.files.owners(targets.store), targets.mine)
        return Found(found.tied, found.link, (found.chance > 0).astype(np.int64), chance=found.chance)
