"""Linkage among the released records inside a range of each sorted column; shared by the attacks on ranks and alignments.

Of each column the store has the position of every released record in the sorted column, which record stands at every position, and for each
attack the range of positions that every original record may have become.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.attack._files import Files, Ties, relative, scale_of
from tsveil.attack._sorted import Sorted
from tsveil.attack.candidates import MANY, chances
from tsveil.attack.links import Links
from tsveil.attack.pieces import Pieces, Side, Targets, opened_files
from tsveil.data.dataset import Block
from tsveil.data.store import Memory, Store
from tsveil.engine.base import Task
from tsveil.engine.local import map_chunks

#: targets that are linked at a time
CHUNK = 1024


class Found(NamedTuple):
    """For each number of known columns, and each target: records that are possible, size of the tie, lowest record tied, own one tied or not."""

    size: Indices
    tied: Indices
    link: Indices
    hit: Indices


def link_in_all(targets: Targets, task: Task) -> Array:
    """The chances that some targets are linked right among the records inside the ranges of all known columns."""
    return chances(*in_all(targets, task)[1:], targets, task["ties"])


def link_in_most(targets: Targets, task: Task) -> Array:
    """The chances that some targets are linked right among the records inside the ranges of most known columns."""
    return chances(*in_most(targets, task)[1:], targets, task["ties"])


# -- two files in memory ----------------------------------------------------------------------------------------------


def nearest_in_all(
    pair: Files, low: Indices, high: Indices, counts: Sequence[int], ties: Ties, attack: str, exact: bool = True
) -> list[Links]:
    """The nearest of the records that are inside the ranges of the first known columns, for the wanted numbers of them.

    `low` and `high` are positions in the sorted released columns, a row per original record. An `exact` attack never loses
    the right record, so a single candidate is certain.
    """
    return _links(pair, in_all(*_of_pair(pair, low, high, counts)), counts, ties, attack, exact)


def nearest_in_most(
    pair: Files, low: Indices, high: Indices, counts: Sequence[int], ties: Ties, attack: str
) -> list[Links]:
    """The nearest of the records that are inside the ranges of as many of the first known columns as any record is."""
    return _links(pair, in_most(*_of_pair(pair, low, high, counts)), counts, ties, attack, exact=False)


def _of_pair(pair: Files, low: Indices, high: Indices, counts: Sequence[int]) -> tuple[Targets, Task]:
    """All records of a file in memory as targets, and what a task would say."""
    store, columns = Memory(), range(max(counts))
    files = Pieces.of(store, [Block("known", pair.names)], pair.a, pair.b, pair.own)
    for at in columns:
        keep_places(store, at, Sorted(pair.b[:, at]))
        store.put(f"ranges-{at}", np.stack([low[:, at], high[:, at]]))
    scales = list(zip(*scale_of(pair.a, pair.b), strict=True))[: len(columns)]
    task = {"figure": "ranges", "columns": list(columns), "counts": counts, "scales": scales}
    return Targets(store, files, np.arange(len(pair.a)), pair.own), task


def keep_places(store: Store, column: int, y: Sorted) -> None:
    """Keep which record stands at every position of a sorted released column, and the position of every record.

    Equal values stand in any order, for ranges hold all of them or none.
    """
    store.put(f"order-{column}", y.order.astype(np.int32))
    store.put(f"places-{column}", y.back(np.arange(len(y.order), dtype=np.int32)))


def _links(pair: Files, found: Found, counts: Sequence[int], ties: Ties, attack: str, exact: bool) -> list[Links]:
    return [
        Links(
            attack=pair.told(attack, count),
            candidates=size,
            link=link,
            hit=hit.astype(np.bool_),
            ties=ties,
            tied=tied,
            certain=(size == 1) & exact,
            own=pair.own,
            released=len(pair.b),
        )
        for count, size, tied, link, hit in zip(counts, *found, strict=True)
    ]


# -- linking ----------------------------------------------------------------------------------------------------------


def neighbours(task: Task) -> Targets:
    """The targets of a task: some that are neighbours in the first column.

    Their ranges are neighbours as well, and the task needs to hold only a part of the release.
    """
    store, files = opened_files(task)
    everyone = Targets.among(task, store, files, 0, files.n)
    if task["tasks"] == 1:
        return everyone
    begins = store.get(f"{task['figure']}-{task['columns'][0]}")[0][everyone.rows]
    return everyone.taken(np.array_split(np.argsort(begins, kind="stable"), int(task["tasks"]))[int(task["at"])])


def _ranges(targets: Targets, task: Task) -> tuple[Indices, Indices]:
    """The ranges of some targets in all columns: the first positions, and one after the last."""
    each = [targets.store.get(f"{task['figure']}-{column}") for column in task["columns"]]
    low, high = (np.stack([one[side][targets.rows] for one in each], axis=1).astype(np.int64) for side in (0, 1))
    return low, high


def in_all(targets: Targets, task: Task) -> Found:
    """The nearest of the records inside the ranges of all known columns."""
    from tsveil._kernels.rank_linkage import nearest_in_ranges

    low, high = _ranges(targets, task)
    store, files, columns = targets.store, targets.files, task["columns"]
    begin, end = int(low[:, 0].min()), int(high[:, 0].max())
    near = store.get(f"order-{columns[0]}")[begin:end].astype(np.int64)
    places = np.where(targets.own >= 0, store.get(f"places-{columns[0]}")[targets.own], -1).astype(np.int64)
    own = np.where((places >= begin) & (places < end), places - begin, -1)
    low[:, 0] -= begin
    high[:, 0] -= begin

    def values(side: Side, rows: Indices) -> Array:
        each = zip(columns, task["scales"], strict=True)
        return np.stack([np.ldexp(files.column(store, side, at)[rows], scale[0]) for at, scale in each])

    known, candidates = np.ascontiguousarray(values("original", targets.rows).T), values("released", near)
    where = np.stack([store.get(f"places-{column}")[near] for column in columns])
    factor = relative(np.array([scale[1] for scale in task["scales"]]))
    numbers = files.numbers(store)[near] if files.numbered else near
    with progress.step("Linking records by ranks", total=len(known)) as counter:
        parts = map_chunks(
            lambda i, j: nearest_in_ranges(
                known[i:j], low[i:j], high[i:j], candidates, where, numbers, factor, own[i:j], counter
            ),
            len(known),
            CHUNK,
        )
    wanted = np.array(task["counts"]) - 1
    return Found(*(np.concatenate(each)[:, wanted].T for each in zip(*parts, strict=True)))


def in_most(targets: Targets, task: Task) -> Found:
    """The nearest of the records inside the ranges of most known columns; the release is looked at in pieces."""
    low, high = _ranges(targets, task)
    store, files, columns = targets.store, targets.files, task["columns"]
    power = np.array([scale[0] for scale in task["scales"]])
    factor = relative(np.array([scale[1] for scale in task["scales"]]))
    known = np.ldexp(targets.values(columns), power)
    rounds = [_Most(len(known)) for _ in task["counts"]]
    step = max(1, MANY // len(columns))
    for start in range(0, files.m, step):
        stop = min(start + step, files.m)
        numbers = files.numbers(store, start, stop) if files.numbered else np.arange(start, stop)
        piece = Sorted(numbers)
        rows = start + piece.order
        inside = (targets.own >= start) & (targets.own < stop)
        own = np.where(inside, piece.back(np.arange(stop - start))[np.where(inside, targets.own - start, 0)], -1)
        values = np.ldexp(files.rows(store, "released", rows, columns), power)
        positions = [Sorted(store.get(f"places-{column}")[rows]) for column in columns]
        places = np.stack([each.back(np.arange(len(rows))) for each in positions], axis=1)
        order = np.stack([each.order for each in positions])
        below, above = (
            np.stack([np.searchsorted(each.ordered, ends) for each, ends in zip(positions, bound.T, strict=True)], axis=1)
            for bound in (low, high)
        )  # fmt: skip
        for found, count in zip(rounds, task["counts"], strict=True):
            found.add(_in_most(known, below, above, values, places, order, factor, own, count), piece.ordered)
    return Found(*(np.stack([getattr(found, name) for found in rounds]) for name in Found._fields))


class _InMost(NamedTuple):
    """For each target the number of ranges, least distance, candidates, size of the tie, place of the first one tied, the own one tied or not."""

    ranges: Indices
    best: Array
    size: Indices
    tied: Indices
    link: Indices
    hit: Indices


def _in_most(
    a: Array, low: Indices, high: Indices, b: Array, places: Indices, order: Indices, factor: Array, own: Indices, count: int
) -> _InMost:  # fmt: skip
    """The nearest of some released records that are inside the ranges of most of the first columns."""
    from tsveil._kernels.rank_linkage import nearest_in_most_ranges

    a, b = (np.ascontiguousarray(each[:, :count]) for each in (a, b))
    low, high, places = (np.ascontiguousarray(each[:, :count]) for each in (low, high, places))
    with progress.step(f"Linking records by most ranks, {count} known", total=len(a)) as counter:
        parts = map_chunks(
            lambda i, j: nearest_in_most_ranges(
                a[i:j], low[i:j], high[i:j], b, places, order[:count], factor[:count], own[i:j], counter
            ),
            len(a),
            CHUNK,
        )
    return _InMost(*(np.concatenate(each) for each in zip(*parts, strict=True)))


class _Most:
    """The records in most ranges, and the nearest of them, found so far for each target."""

    def __init__(self, targets: int) -> None:
        self.best = np.full(targets, np.inf)
        self.ranges, self.size, self.tied, self.link, self.hit = (
            np.full(targets, start, dtype=np.int64) for start in (0, 0, 0, -1, 0)
        )

    def add(self, found: _InMost, numbers: Indices) -> None:
        """What was found in another piece of the release, whose records have these numbers in order."""
        link = np.where(found.link >= 0, numbers[found.link], -1)
        more, same = found.ranges > self.ranges, found.ranges == self.ranges
        closer = more | (same & (found.best < self.best))
        equal = same & (found.best == self.best) & (link >= 0)
        lower = equal & ((self.link < 0) | (link < self.link))
        self.size = np.where(more, found.size, self.size + np.where(same, found.size, 0))
        self.tied = np.where(closer, found.tied, self.tied + np.where(equal, found.tied, 0))
        self.hit = np.where(closer, found.hit, np.maximum(self.hit, np.where(equal, found.hit, 0)))
        self.link = np.where(closer | lower, link, self.link)
        self.best = np.where(closer, found.best, self.best)
        self.ranges = np.maximum(self.ranges, found.ranges)
