"""Attacks by who knows many persons at once: he links all of them together, so that one link says something of the others.

Two rungs of the ladder are tried. *file*: the originals of everybody are known. *share*: those of half of the persons, chosen at random by their numbers in the
input, are known, and these are the targets; then the other half, so that everybody is attacked once. The release is always the whole one. Both files are held by one task,
which sets the largest size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.attack.base import Attack, NotMeasuredError, Rung, Situation, Trial
from tsveil.attack.pieces import Targets
from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.types import Array
from tsveil.engine.base import Task

#: values of either file that one task may hold
VALUES = 2**27


def check_size(attack: Attack, situation: Situation) -> None:
    """Refuse files that one task cannot hold."""
    rows, columns = max(situation.files.n, situation.files.m), len(situation.columns)
    if rows * columns > VALUES:
        raise NotMeasuredError(
            f"{attack.plain}, which is not tried above {VALUES // columns:,} records of {columns} columns"
        )


@dataclass(frozen=True, kw_only=True)
class Joint(Attack):
    """Base of the attacks that link all known persons together."""

    rung: ClassVar[Rung] = Rung.FILE
    of_series: ClassVar[bool | None] = None

    def plan(self, situation: Situation) -> list[Trial]:
        """Half of the persons, and everybody."""
        check_size(self, situation)
        return [*self.halves(situation), self.trial(situation, situation.files.people, Rung.FILE)]

    def trial(self, situation: Situation, targets: int, *rungs: Rung, half: int | None = None) -> Trial:
        """One task that knows `targets` persons; or, where `half` is given, two that know a half each: the persons up to the mark `half`, and the others."""
        task = {"first": 0, "last": len(situation.files.original), "half": half}
        return Trial(targets, task, way=rungs[0].value, tasks=1 if half is None else 2, rungs=rungs)

    def halves(self, situation: Situation) -> list[Trial]:
        """Half of the persons, and the other half; one person has none."""
        files = situation.files
        if files.people < 2:
            return []
        half = border_of(files.who(situation.store), files.people // 2)
        return [self.trial(situation, files.people, Rung.SHARE, half=half)]

    def targets(self, task: Task) -> Targets:
        """Those whom the task knows."""
        known = Targets.of(task)
        if task["half"] is None:
            return known
        numbers = known.mine if known.files.persons else known.files.numbers(known.store)[known.rows]
        first = chosen_rows(int(task["half"]), numbers)
        return known.subset(np.flatnonzero(first if int(task["at"]) == 0 else ~first))


def both_files(targets: Targets, columns: Sequence[int]) -> tuple[Array, Array]:
    """The known columns of the targets, and of the whole release."""
    files, store = targets.files, targets.store
    shown = np.stack([files.column(store, "released", at) for at in columns], axis=1)
    return targets.values(list(columns)), np.ascontiguousarray(shown)
