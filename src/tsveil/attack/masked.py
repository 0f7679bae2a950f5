"""Attacks on releases of records with gaps (`missing="mask"`).

**Linkage over common points.** Each original record is linked to the published row that is nearest over the points that both have,

    d(a, b)^2 = T / m * sum over the m points that both have of ((a_t - b_t) / s_t)^2

with s_t the original's standard deviation of an attribute, or of all points of a series; without a common point it is twice the sum of the columns' variances.

**Linkage by the pattern of gaps.** The intruder knows when a person has no value, and nothing else. The row is taken whose empty and filled points agree best with the
person's: each agreement counts one, or, where that finds more, minus the logarithm of the share of published records that have it, so that rare gaps tell most.

Whoever knows everybody's values and gaps can group them again (*replay*): what is left then is the size of the classes, which bounds both.

References
----------
None: they follow from how records with gaps are protected (`tsveil.protect.mdav_masked`).

Examples
--------
>>> import numpy as np, polars as pl, tsveil as tv
>>> x = np.random.default_rng(1).normal(size=(40, 6)).cumsum(axis=1)
>>> x[np.random.default_rng(2).random(x.shape) < 0.1] = np.nan
>>> frame = pl.DataFrame({str(at): x[:, at] for at in range(6)}).fill_nan(None)
>>> data = tv.Dataset.from_frame(frame, blocks={"load": [str(at) for at in range(6)]}, missing="mask")
>>> card = tv.evaluate(data, tv.MDAV(k=4).protect(data), models="fitting")
>>> card["GVLD"] > card["GPLD"] > 0
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tsveil.attack.base import UNAIDED, Attack, Rung, Shape, Situation, Traces, Trial
from tsveil.attack.candidates import Found, nearest_in_pieces
from tsveil.attack.gaps import with_gaps
from tsveil.attack.nearest import CHUNK, Near, Rows
from tsveil.attack.pieces import Targets
from tsveil.core import progress
from tsveil.core.types import Array, Indices
from tsveil.engine.base import Task
from tsveil.engine.local import map_chunks


@dataclass(frozen=True, kw_only=True)
class _OfGaps(Attack):
    """What attacks on records with gaps have in common: every target is compared with every distinct row."""

    reference: ClassVar[str] = "none, follows from how records with gaps are protected"
    of_series: ClassVar[bool | None] = None
    usual: ClassVar[bool] = False
    takes_gaps: ClassVar[bool] = True

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """Where records have gaps; without them it would find what others find."""
        return cls() if release.gaps else None

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with all distinct rows, column by column."""
        if not situation.files.values:  # asked for by name, on files whose gaps nobody looked at
            with_gaps(situation.store, situation.files)
        return [Trial(situation.affordable(situation.distinct * UNAIDED), {})]


@dataclass(frozen=True, kw_only=True)
class NearestWithGaps(_OfGaps):
    """Linkage to the nearest row over the points that both have."""

    name: ClassVar[str] = "common-points"
    figure: ClassVar[str] = "GVLD"
    plain: ClassVar[str] = "linkage over common points"
    summary: ClassVar[str] = (
        "Share of records with gaps that an intruder links right by taking the published row nearest over the points that both have."
    )

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest by the first of some columns."""
        from tsveil._kernels.linkage_masked import nearest_with_gaps

        columns, counts = list(task["columns"]), np.array(task["counts"], dtype=np.int64)
        scale, mean = (targets.store.get(f"gaps.{name}", whole=True)[columns] for name in ("scale", "mean"))
        apart = 2 * np.cumsum(targets.store.get("gaps.variance", whole=True)[columns])[counts - 1]

        def search(rows: Rows, known: Array) -> Near:
            own = np.ascontiguousarray((rows.values[:, columns] - mean) / scale)
            return _search(known, rows, counts, lambda part, *rest: nearest_with_gaps(part, own, counts, apart, *rest))

        known = np.ascontiguousarray((targets.values(columns) - mean) / scale)
        return nearest_in_pieces(targets, len(counts), lambda rows: search(rows, known))


@dataclass(frozen=True, kw_only=True)
class PatternOfGaps(_OfGaps):
    """Linkage by the pattern of gaps alone."""

    name: ClassVar[str] = "gap-pattern"
    figure: ClassVar[str] = "GPLD"
    plain: ClassVar[str] = "linkage by the pattern of gaps"
    summary: ClassVar[str] = (
        "Share of records that an intruder links right who knows nothing but where a person has gaps, and looks for published rows with the same ones."
    )
    rung: ClassVar[Rung] = Rung.PERSON

    def plan(self, situation: Situation) -> list[Trial]:
        """Agreements count one each, or by how rare they are."""
        targets = situation.affordable(situation.distinct * UNAIDED)
        return [Trial(targets, {"rare": rare}, way) for way, rare in (("", False), ("rare ones count more", True))]

    def link(self, targets: Targets, task: Task) -> Found:
        """The rows that agree best in the first of some columns."""
        from tsveil._kernels.linkage_masked import agreeing_gaps

        columns, counts = list(task["columns"]), np.array(task["counts"], dtype=np.int64)
        full, empty = np.ones((2, len(columns)))
        if task["rare"]:
            files, store = targets.files, targets.store
            tables = (files.table(store, "released", at, columns) for at in range(len(files.released)))
            gaps = np.sum([np.isnan(table).sum(axis=0) for table in tables], axis=0)
            # With one more record of each kind nothing is infinitely rare.
            full, empty = (-np.log((each + 1) / (files.m + 2)) for each in (files.m - gaps, gaps))

        def search(rows: Rows, known: Array) -> Near:
            own = np.ascontiguousarray(rows.values[:, columns])
            return _search(
                known, rows, counts, lambda part, *rest: agreeing_gaps(part, own, counts, full, empty, *rest)
            )

        known = np.ascontiguousarray(targets.values(columns))
        return nearest_in_pieces(targets, len(counts), lambda rows: search(rows, known))


def _search(known: Array, rows: Rows, counts: Indices, kernel: Callable[..., Any]) -> Near:
    """What a kernel finds for all known records among some rows."""
    shape, whose = (len(known), len(counts)), rows.whose
    found = Near(np.full(shape, np.inf), *(np.full(shape, start, dtype=np.int64) for start in (0, -1, 0)))

    def work(low: int, high: int) -> None:
        kernel(
            known[low:high], rows.copies, rows.first, whose.owner, whose.records, whose.mine[low:high],
            found.best[low:high], found.tied[low:high], found.link[low:high], found.hit[low:high], counter,
        )  # fmt: skip

    with progress.step("Linking records with gaps", total=len(known)) as counter:
        map_chunks(work, len(known), CHUNK)
    return found
