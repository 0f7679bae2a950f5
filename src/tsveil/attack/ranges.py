"""Linkage among the released records inside a range of each sorted column; shared by the attacks on ranks and alignments.

Of each column the store has the position of every released record in the sorted column, which record stands at every position, and for each
attack the range of positions that every original record may have become.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tsveil.attack import base
from tsveil.attack.base import Attack, Column, NotMeasuredError, Situation, Trial
from tsveil.attack.candidates import MANY, Best, Found
from tsveil.attack.files import Files, Ties, in_steps, relative, scale_of
from tsveil.attack.interval import ranks
from tsveil.attack.links import Links, whose
from tsveil.attack.nearest import Near
from tsveil.attack.pieces import Pieces, Side, Targets, opened_files
from tsveil.attack.sorted_column import SortedColumn
from tsveil.core import progress
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block
from tsveil.data.store import Memory
from tsveil.engine.base import Result, Task
from tsveil.engine.local import map_chunks

#: cells of the sorted release that a task may hold: 12 bytes each. The attacks in ranges run up to this size
SLICE = 2**27
#: what one comparison of values inside a range costs, in comparisons of series
RANGE = 3
#: targets that are linked at a time
CHUNK = 1024


@dataclass(frozen=True, kw_only=True)
class InRanges(Attack):
    """Base of the attacks that link to the nearest record inside the ranges of all known columns."""

    @abstractmethod
    def ranges(self, x: Array, released: Array) -> tuple[Indices, Indices]:
        """The ranges of the sorted released column that the values of the sorted original column can have become."""

    def of_column(self, column: Column) -> Result:
        """Its scale, and how wide its ranges are; ranges and places are kept."""
        low, high = self.ranges(column.x.ordered, column.y.ordered)
        _ = column.places
        column.keep(self.figure, column.x.back(np.stack([low, high], axis=1).astype(np.int32)).T)
        return {"scale": column.scale, "width": int(np.maximum(high - low, 0).sum())}

    def records_per_target(self, widths: Sequence[float]) -> float:
        """How many records a target is compared with, from the mean widths of the ranges of all columns."""
        if widths[0] * len(widths) > SLICE:
            raise NotMeasuredError(
                f"{self.describe()}, whose ranges are too wide for files of this size and which may find more"
            )
        return widths[0]

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with the records inside its ranges; targets of a task are neighbours."""
        files = situation.files
        compared = self.records_per_target([width / files.n for width in situation.from_columns("width")])
        targets = situation.affordable(RANGE * compared)
        tasks = 1 if len(files.original) == 1 else -(-situation.records(targets) // base.AT_ONCE)
        return [Trial(targets, {"scales": situation.from_columns("scale"), "tasks": tasks}, tasks=tasks)]

    def targets(self, task: Task) -> Targets:
        """Some that are neighbours in the first column.

        Their ranges are neighbours as well, and the task needs to hold only a part of the release.
        """
        store, files = opened_files(task)
        everyone = Targets.among(task, store, files, 0, files.n)
        if task["tasks"] == 1:
            return everyone
        begins = store.get(f"{self.figure}-{task['columns'][0]}")[0][everyone.rows]
        return everyone.subset(np.array_split(np.argsort(begins, kind="stable"), int(task["tasks"]))[int(task["at"])])

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest of the records inside the ranges of all known columns."""
        return in_all(targets, task, self.figure)


def within_ranks(a: Array, released: Array, w: int) -> tuple[Indices, Indices]:
    """For each value of a column the positions in the sorted released column that are within w ranks: the first, and one after the last.

    Examples
    --------
    >>> within_ranks(np.array([10.0, 30.0, 20.0]), np.array([10.0, 20.0, 30.0]), 1)
    (array([0, 1, 0]), array([2, 3, 3]))
    """
    ruler = np.sort(a) if len(a) == len(released) else released
    first, last = ranks(ruler, a)
    their_first, their_last = ranks(ruler, released)
    return np.searchsorted(their_last, first - w, side="left"), np.searchsorted(their_first, last + w, side="right")


# -- two files in memory ----------------------------------------------------------------------------------------------


def nearest_in_ranges(
    pair: Files, low: Indices, high: Indices, ties: Ties, attack: str, *, most: bool = False, exact: bool = True
) -> Links:
    """The nearest of the records that are inside the ranges of all known columns, or of as many of them as any record is.

    `low` and `high` are positions in the sorted released columns, a row per original record. An `exact` attack never loses
    the right record, so a single candidate is certain.
    """
    store, columns = Memory(), range(len(pair.names))
    files = Pieces.of(store, [Block("known", pair.names)], pair.a, pair.b, pair.own, pair.persons)
    for at in columns:
        _ = Column(store, files, at).places
        store.put(f"ranges-{at}", np.stack([low[:, at], high[:, at]]))
    scales = list(zip(*scale_of(pair.a, pair.b), strict=True))
    task = {"columns": list(columns), "counts": [len(columns)], "scales": scales}
    mine, _ = whose(pair.own, pair.persons, len(pair.b))
    targets = Targets(store, files, np.arange(len(pair.a)), pair.own, mine)
    found = (in_most if most else in_all)(targets, task, "ranges")
    possible = found.candidates[0]
    more = {"tied": found.tied[0], "certain": (possible == 1) & exact}
    linked = possible, found.link[0], found.hit[0]
    return Links.of(pair.describe(attack), linked, ties, pair.own, len(pair.b), persons=pair.persons, **more)


# -- linking ----------------------------------------------------------------------------------------------------------


def _ranges(targets: Targets, task: Task, name: str) -> tuple[Indices, Indices]:
    """The ranges of some targets in all columns: the first positions, and one after the last."""
    each = [targets.store.get(f"{name}-{column}") for column in task["columns"]]
    low, high = (np.stack([one[side][targets.rows] for one in each], axis=1).astype(np.int64) for side in (0, 1))
    return low, high


def in_all(targets: Targets, task: Task, name: str) -> Found:
    """The nearest of the records inside the ranges of all known columns; the ranges are kept under a name."""
    from tsveil._kernels.rank_linkage import nearest_in_ranges as nearest_inside

    low, high = _ranges(targets, task, name)
    store, files, columns = targets.store, targets.files, task["columns"]
    begin, end = int(low[:, 0].min()), int(high[:, 0].max())
    near = store.get(f"order-{columns[0]}")[begin:end].astype(np.int64)
    owner = files.owners(store)[near]
    low[:, 0] -= begin
    high[:, 0] -= begin

    def values(side: Side, rows: Indices) -> Array:
        each = zip(columns, task["scales"], strict=True)
        return np.stack([in_steps(files.column(store, side, at)[rows], scale[0]) for at, scale in each])

    known, candidates = np.ascontiguousarray(values("original", targets.rows).T), values("released", near)
    where = np.stack([store.get(f"places-{column}")[near] for column in columns])
    factor = relative(np.array([scale[1] for scale in task["scales"]]))
    numbers = files.numbers(store)[near] if files.numbered else near
    with progress.step("Linking records by ranks", total=len(known)) as counter:
        parts = map_chunks(
            lambda i, j: nearest_inside(
                known[i:j], low[i:j], high[i:j], candidates, where, numbers, factor, owner, targets.mine[i:j], counter
            ),
            len(known),
            CHUNK,
        )
    wanted = np.array(task["counts"]) - 1
    possible, tied, link, hit = (np.concatenate(each)[:, wanted].T for each in zip(*parts, strict=True))
    return Found(tied, link, hit, possible)


def in_most(targets: Targets, task: Task, name: str) -> Found:
    """The nearest of the records inside the ranges of most known columns; the release is looked at in pieces."""
    low, high = _ranges(targets, task, name)
    store, files, columns = targets.store, targets.files, task["columns"]
    power = np.array([scale[0] for scale in task["scales"]])
    factor = relative(np.array([scale[1] for scale in task["scales"]]))
    known = in_steps(targets.values(columns), power)
    best = Best(len(known), len(task["counts"]))
    step = max(1, MANY // len(columns))
    for start in range(0, files.m, step):
        stop = min(start + step, files.m)
        numbers = files.numbers(store, start, stop) if files.numbered else np.arange(start, stop)
        piece = SortedColumn(numbers)
        rows = start + piece.order
        whose = files.owners(store)[rows], targets.mine
        values = in_steps(files.rows(store, "released", rows, columns), power)
        positions = [SortedColumn(store.get(f"places-{column}")[rows]) for column in columns]
        places = np.stack([each.back(np.arange(len(rows))) for each in positions], axis=1)
        order = np.stack([each.order for each in positions])
        below, above = (
            np.stack([np.searchsorted(each.ordered, ends) for each, ends in zip(positions, bound.T, strict=True)], axis=1)
            for bound in (low, high)
        )  # fmt: skip
        found = [_in_most(known, below, above, values, places, order, factor, whose, count) for count in task["counts"]]
        ranges, least, size, tied, link, hit = (np.stack(each, axis=1) for each in zip(*found, strict=True))
        link = np.where(link >= 0, piece.ordered[link], -1)
        best.add(Near(least, tied, link, hit), ranges, size)
    return Found(best.tied.T, best.link.T, best.hit.T, best.size.T)


class _InMost(NamedTuple):
    """For each target the number of ranges, least distance, candidates, size of the tie, place of the first one tied, records of its person tied."""

    ranges: Indices
    best: Array
    size: Indices
    tied: Indices
    link: Indices
    hit: Indices


def _in_most(
    a: Array, low: Indices, high: Indices, b: Array, places: Indices, order: Indices, factor: Array, whose: tuple[Indices, Indices], count: int
) -> _InMost:  # fmt: skip
    """The nearest of some released records that are inside the ranges of most of the first columns."""
    from tsveil._kernels.rank_linkage import nearest_in_most_ranges

    owner, mine = whose
    a, b = (np.ascontiguousarray(each[:, :count]) for each in (a, b))
    low, high, places = (np.ascontiguousarray(each[:, :count]) for each in (low, high, places))
    with progress.step(f"Linking records by most ranks, {count} known", total=len(a)) as counter:
        parts = map_chunks(
            lambda i, j: nearest_in_most_ranges(
                a[i:j], low[i:j], high[i:j], b, places, order[:count], factor[:count], owner, mine[i:j], counter
            ),
            len(a),
            CHUNK,
        )
    return _InMost(*(np.concatenate(each) for each in zip(*parts, strict=True)))
