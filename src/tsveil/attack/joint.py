"""Attacks by who knows many persons at once: he links all of them together, so that one link says something of the others.

Two rungs of the ladder are tried. *file*: the originals of everybody are known. *share*: those of half of the persons, chosen at random by their numbers in the
input, are known, and these are the targets; the release is always the whole one. Both files are held by one task, which sets the largest size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.attack.base import Attack, NotMeasuredError, Rung, Situation, Trial
from tsveil.attack.pieces import Targets
from tsveil.core.types import Array

#: values of either file that one task may hold
VALUES = 2**27


@dataclass(frozen=True, kw_only=True)
class Joint(Attack):
    """Base of the attacks that link all known persons together."""

    rung: ClassVar[Rung] = Rung.FILE
    of_series: ClassVar[bool | None] = None

    def plan(self, situation: Situation) -> list[Trial]:
        """Half of the persons, and everybody, each in one task."""
        files = situation.files
        rows, columns = max(files.n, files.m), len(situation.columns)
        if rows * columns > VALUES:
            raise NotMeasuredError(
                f"{self.plain}, which is not tried above {VALUES // columns:,} records of {columns} columns"
            )
        people = files.people
        return [
            self.trial(situation, targets, (rung,))
            for rung, targets in ((Rung.SHARE, max(1, people // 2)), (Rung.FILE, people))
        ]

    def trial(self, situation: Situation, targets: int, rungs: Sequence[Rung]) -> Trial:
        """One task that knows so many persons."""
        task = {"first": 0, "last": len(situation.files.original)}
        return Trial(targets, task, way=rungs[0].value, tasks=1, rungs=tuple(rungs))


def both_files(targets: Targets, columns: Sequence[int]) -> tuple[Array, Array]:
    """The known columns of the targets, and of the whole release."""
    files, store = targets.files, targets.store
    shown = np.stack([files.column(store, "released", at) for at in columns], axis=1)
    return targets.values(list(columns)), np.ascontiguousarray(shown)
