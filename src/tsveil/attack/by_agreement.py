"""Linkages by which attributes agree, on files in pieces: targets are gone through twice; agreements are counted, and then weighed by how often they occur."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from tsveil.attack.agreement import (
    CELLS,
    MOST,
    Labels,
    Ranges,
    Reach,
    Table,
    first_columns,
    heaviest_pairs,
    keep_labels,
    keep_ranges,
    near_enough,
    ranks_within,
)
from tsveil.attack.base import UNAIDED, Attack, Column, NoiseOnValues, RanksWithin, Shape, Situation, Traces, Trial
from tsveil.attack.candidates import Found
from tsveil.attack.files import HasData
from tsveil.attack.links import Links
from tsveil.attack.pieces import Targets
from tsveil.core.params import at_least, number, optional, param
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task

#: agreements that are kept between the two passes over the targets: 4 bytes each
KEPT = 2**28
#: the smallest sample of targets, for smaller ones cost the same; and what one look at an agreement costs, in comparisons of series
SAMPLE, LOOK = 4096, 150
#: how far noise is followed, in its deviations, and where that is too far to tell records apart: in deviations of the column, or at least by one of the noise
FARTHEST, TOO_FAR = 2.5, 0.5


@dataclass(frozen=True, kw_only=True)
class WeighsAgreements(Attack):
    """Base of the linkages to the released record whose agreements weigh most, whatever agrees."""

    most: ClassVar[int | None] = MOST
    twice: ClassVar[bool] = True

    def count(self, targets: Targets, task: Task) -> Result:
        """How many pairs of the targets and released records agree in each pattern of columns, and how many targets were released."""
        total = self._table(targets, task, counted=False).total()
        return {"total": total.tolist(), "targets": len(targets), "released": int((targets.own >= 0).sum())}

    def weigh(self, counted: Sequence[Result], trial: Trial, situation: Situation) -> str | None:
        """The weights of all patterns, for each number of known columns."""
        total = np.array([one["total"] for one in counted], dtype=np.int64).sum(axis=0)
        targets, released = (sum(int(one[what]) for one in counted) for what in ("targets", "released"))
        said = None
        for count in situation.counts:
            weights, said_of_it = self.weights(first_columns(total, count), targets, released)
            situation.store.put(f"weights-{self.figure}-{count}", weights)
            said = said_of_it or said
        return said

    @abstractmethod
    def weights(self, counts: Indices, targets: int, released: int) -> tuple[Array, str | None]:
        """The weight of each pattern, and what must be said of it, from the number of pairs with each pattern; `released` of the targets are in the release."""

    def link(self, targets: Targets, task: Task) -> Found:
        """The released records of the largest weight."""
        weights = {count: targets.store.get(f"weights-{self.figure}-{count}", whole=True) for count in task["counts"]}
        table = self._table(targets, task, counted=True)
        _, tied, link, hit = heaviest_pairs(table, weights, lowest=task["ties"] == "first")
        return Found(tied, link, hit)

    @abstractmethod
    def _table(self, targets: Targets, task: Task, *, counted: bool) -> Table:
        """What agrees; `counted`: the targets are gone through for the second time."""


@dataclass(frozen=True, kw_only=True)
class ByAgreement(WeighsAgreements):
    """Base of those that look at numbers."""

    window: int | None = param(
        None, optional(at_least(0)), "how many ranks apart values agree; only with the nearest published value"
    )
    tolerance: float | None = param(
        None,
        optional(number(0, 1e6)),
        "how many standard deviations of the original apart values agree; as the window says",
    )

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """On any attributes; where values move by a few ranks, or by noise, they agree as far as values move."""
        if not cls.takes(release):
            return None
        windows = [trace.ranks for trace in traces or () if isinstance(trace, RanksWithin)]
        moved = [tolerance_for(trace.deviations) for trace in traces or () if isinstance(trace, NoiseOnValues)]
        return cls(window=min(windows, default=None), tolerance=min(moved, default=None))

    def links(self, original: Dataset, released: Dataset | HasData, **given: Any) -> Links:
        """With all that is known at once; a tolerance is one of the ways in which values agree."""
        assert self.on_files is not None
        near = {} if self.tolerance is None else {"agree": "within", "tolerance": self.tolerance}
        return self.on_files(original, released, **{"window": self.window, **near, **given})

    def describe(self) -> str:
        """With the window, or the tolerance."""
        if self.window is not None:
            return f"{self.plain}, within {self.window} ranks"
        return self.plain if self.tolerance is None else f"{self.plain}, within {self.tolerance:g} deviations"

    @property
    def _reach(self) -> Reach | None:
        """Which released values agree with an original one; None: only the nearest."""
        if self.window is not None:
            return ranks_within(self.window)
        return None if self.tolerance is None else partial(near_enough, tolerance=self.tolerance)

    @property
    def _rule(self) -> str:
        """When values agree, in a word."""
        if self.window is not None:
            return f"within-{self.window}"
        return "nearest" if self.tolerance is None else f"near-{self.tolerance!r}"

    def of_column(self, column: Column) -> Result:
        """The number of its labels, or none where its ranges are kept."""
        if self._reach is None:
            return {"labels": keep_labels(column)}
        keep_ranges(column, self._rule, self._reach)
        return {"labels": 0}

    def plan(self, situation: Situation) -> list[Trial]:
        """All patterns are gone through for each table of targets, and then those of each target."""
        most = max(situation.counts)
        compared = LOOK * (situation.distinct * 4**most / CELLS + 2**most)
        if self._reach is not None:
            compared += UNAIDED * situation.distinct
        targets = situation.affordable(compared, SAMPLE)
        stored = situation.records(targets) << most <= KEPT
        # Attacks of one rule and as many targets have the same agreements, which are kept once.
        name = f"agreements-{self._rule}-{targets}"
        return [Trial(targets, {"sizes": situation.from_columns("labels"), "stored": stored, "agreements": name})]

    def _table(self, targets: Targets, task: Task, *, counted: bool) -> Table:
        store = targets.store if task["stored"] else None
        kept: dict[str, Any] = {"name": f"{task['agreements']}-{task['at']}", "store": store, "counted": counted}
        if self._reach is None:
            return Labels(targets, task["columns"], task["sizes"], **kept)
        return Ranges(targets, task["columns"], self._rule, **kept)


def tolerance_for(noise: float) -> float:
    """How far apart two values may be and still agree, after `noise` was added; both in standard deviations of the column.

    Examples
    --------
    >>> tolerance_for(0.1), tolerance_for(0.5), tolerance_for(1.0)
    (0.25, 0.5, 1.0)
    """
    return min(FARTHEST * noise, max(TOO_FAR, noise))
