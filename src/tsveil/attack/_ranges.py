"""Linkage among the released records inside a range of each sorted column; shared by the attacks on ranks and alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.attack._files import Files, Ties, on_one_scale, relative
from tsveil.attack.candidates import MANY, chances
from tsveil.attack.links import Links
from tsveil.attack.pieces import Targets, opened_files
from tsveil.engine.base import Task
from tsveil.engine.local import map_chunks


def nearest_in_all(
    pair: Files, low: Indices, high: Indices, counts: Sequence[int], ties: Ties, attack: str, exact: bool = True
) -> list[Links]:
    """The nearest of the records that are inside the ranges of the first known columns, for the wanted numbers of them.

    `low` and `high` are positions in the sorted released columns, a row per original record. An `exact` attack never loses
    the right record, so a single candidate is certain.
    """
    from tsveil._kernels.rank_linkage import nearest_in_ranges

    most = max(counts)
    a, b, factor = on_one_scale(pair.a[:, :most], pair.b[:, :most])
    factor = relative(factor)
    places = _places(b)
    order = np.argsort(places[:, 0])
    own = np.where(pair.own >= 0, places[pair.own, 0], -1)
    low, high = (np.ascontiguousarray(bound[:, :most]) for bound in (low, high))
    candidates = np.ascontiguousarray(b[order].T)
    sorted_places = np.ascontiguousarray(places[order].T, dtype=np.int32)
    with progress.step("Linking records by ranks", total=len(a)) as counter:
        parts = map_chunks(
            lambda i, j: nearest_in_ranges(
                a[i:j], low[i:j], high[i:j], candidates, sorted_places, order, factor, own[i:j], counter
            ),
            len(a),
            1024,
        )
    size, tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(4))
    return [
        _links(
            pair,
            attack,
            count,
            size[:, count - 1],
            tied[:, count - 1],
            link[:, count - 1],
            hit[:, count - 1],
            ties,
            exact,
        )
        for count in counts
    ]


def nearest_in_most(
    pair: Files, low: Indices, high: Indices, counts: Sequence[int], ties: Ties, attack: str
) -> list[Links]:
    """The nearest of the records that are inside the ranges of as many of the first known columns as any record is."""
    a, b, factor = on_one_scale(pair.a, pair.b)
    places = _places(b)
    order = np.ascontiguousarray(np.argsort(places, axis=0).T)

    def round_of(count: int) -> Links:
        found = _in_most(a, low, high, b, places, order, relative(factor), pair.own, count)
        return _links(pair, attack, count, found.size, found.tied, found.link, found.hit, ties, exact=False)

    return [round_of(count) for count in counts]


class InMost(NamedTuple):
    """For each record the number of ranges, least distance, candidates, size of the tie, lowest candidate tied, the own one tied or not."""

    ranges: Indices
    best: Array
    size: Indices
    tied: Indices
    link: Indices
    hit: Indices


def _in_most(
    a: Array, low: Indices, high: Indices, b: Array, places: Indices, order: Indices, factor: Array, own: Indices, count: int
) -> InMost:  # fmt: skip
    """The nearest of some released records that are inside the ranges of most of the first so many columns."""
    from tsveil._kernels.rank_linkage import nearest_in_most_ranges

    a, b = (np.ascontiguousarray(each[:, :count]) for each in (a, b))
    low, high, places = (np.ascontiguousarray(each[:, :count]) for each in (low, high, places))
    with progress.step(f"Linking records by most ranks, {count} known", total=len(a)) as counter:
        parts = map_chunks(
            lambda i, j: nearest_in_most_ranges(
                a[i:j], low[i:j], high[i:j], b, places, order[:count], factor[:count], own[i:j], counter
            ),
            len(a),
            1024,
        )
    return InMost(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _places(b: Array) -> Indices:
    """The position of each record in each sorted column; equal values in any order, for ranges hold all of them or none."""
    order = np.argsort(b, axis=0, kind="stable")
    places = np.empty(b.shape, dtype=np.int64)
    np.put_along_axis(places, order, np.arange(len(b))[:, None], axis=0)
    return places


def _links(
    pair: Files, attack: str, count: int, size: Indices, tied: Indices, link: Indices, hit: Indices, ties: Ties, exact: bool = True
) -> Links:  # fmt: skip
    return Links(
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


# -- files in pieces --------------------------------------------------------------------------------------------------
#
# Of each column the store has the position of every released record in the sorted column, which record stands at every position, and for each
# attack the range of positions that every original record may have become.


def link_in_all(targets: Targets, task: Task) -> Array:
    """The chances that some targets are linked right among the records inside the ranges of the first columns.

    The targets of a task are neighbours in the first column: their ranges are neighbours as well, and a task holds only a part of the release.
    """
    from tsveil._kernels.rank_linkage import nearest_in_ranges

    low, high = _ranges(targets, task)
    store, files, columns = targets.store, targets.files, task["columns"]
    begin, end = int(low[:, 0].min()), int(high[:, 0].max())
    near = store.get(f"order-{columns[0]}")[begin:end].astype(np.int64)
    places = np.where(targets.own >= 0, store.get(f"places-{columns[0]}")[targets.own], -1)
    own = np.where((places >= begin) & (places < end), places.astype(np.int64) - begin, -1)
    low[:, 0] -= begin
    high[:, 0] -= begin
    candidates, where = np.empty((len(columns), len(near))), np.empty((len(columns), len(near)), dtype=np.int32)
    known = np.empty((len(targets), len(columns)))
    for at, (column, (power, *_)) in enumerate(zip(columns, task["scales"], strict=True)):
        candidates[at] = np.ldexp(files.column(store, "released", column)[near], power)
        where[at] = store.get(f"places-{column}")[near]
        known[:, at] = np.ldexp(files.column(store, "original", column)[targets.rows], power)
    factor = relative(np.array([scale[1] for scale in task["scales"]]))
    numbers = files.numbers(store)[near] if files.numbered else near
    with progress.step("Linking records by ranks", total=len(known)) as counter:
        parts = map_chunks(
            lambda i, j: nearest_in_ranges(
                known[i:j], low[i:j], high[i:j], candidates, where, numbers, factor, own[i:j], counter
            ),
            len(known),
            1024,
        )
    wanted = np.array(task["counts"]) - 1
    tied, link, hit = (np.concatenate([part[k] for part in parts])[:, wanted].T for k in (1, 2, 3))
    return chances(tied, link, hit, targets, task["ties"])


def link_in_most(targets: Targets, task: Task) -> Array:
    """The chances that some targets are linked right among the records inside the ranges of most columns; the release comes in pieces."""
    low, high = _ranges(targets, task)
    store, files, columns = targets.store, targets.files, task["columns"]
    power, factor = (
        np.array([scale[0] for scale in task["scales"]]),
        relative(np.array([scale[1] for scale in task["scales"]])),
    )
    known = np.ldexp(targets.values(columns), power)
    rounds = [_Most(len(known)) for _ in task["counts"]]
    step = max(1, MANY // len(columns))
    for start in range(0, files.m, step):
        rows = np.arange(start, min(start + step, files.m))
        numbers = files.numbers(store, start, start + len(rows))
        rows = rows[np.argsort(numbers)]
        place = np.empty(len(rows), dtype=np.int64)
        place[rows - start] = np.arange(len(rows))
        own = np.where(
            (targets.own >= start) & (targets.own < start + len(rows)), place[(targets.own - start) % len(rows)], -1
        )
        values = np.ldexp(files.rows(store, "released", rows, columns), power)
        positions = np.stack([store.get(f"places-{column}")[rows] for column in columns], axis=1)
        places, order = _places(positions), np.ascontiguousarray(np.argsort(positions, axis=0).T)
        ordered = np.sort(positions, axis=0)
        below, above = (
            np.stack([np.searchsorted(ordered[:, j], bound[:, j]) for j in range(len(columns))], axis=1)
            for bound in (low, high)
        )
        for found, count in zip(rounds, task["counts"], strict=True):
            found.add(_in_most(known, below, above, values, places, order, factor, own, count), np.sort(numbers))
    return np.stack([chances(found.tied, found.link, found.hit, targets, task["ties"]) for found in rounds])


class _Most:
    """The records in most ranges, and the nearest of them, found so far for each target."""

    def __init__(self, targets: int) -> None:
        self.ranges, self.best = np.zeros(targets, dtype=np.int64), np.full(targets, np.inf)
        self.tied, self.link, self.hit = (np.full(targets, start, dtype=np.int64) for start in (0, -1, 0))

    def add(self, found: InMost, numbers: Indices) -> None:
        """What was found in another piece of the release, whose records have these numbers."""
        link = np.where(found.link >= 0, numbers[found.link], -1)
        same = found.ranges == self.ranges
        closer = (found.ranges > self.ranges) | (same & (found.best < self.best))
        equal = same & (found.best == self.best) & (link >= 0)
        lower = equal & ((self.link < 0) | (link < self.link))
        self.tied = np.where(closer, found.tied, self.tied + np.where(equal, found.tied, 0))
        self.hit = np.where(closer, found.hit, np.maximum(self.hit, np.where(equal, found.hit, 0)))
        self.link = np.where(closer | lower, link, self.link)
        self.best = np.where(closer, found.best, self.best)
        self.ranges = np.maximum(self.ranges, found.ranges)


def neighbours(task: Task) -> Targets:
    """The targets of a task: some that are neighbours in the first column."""
    store, files = opened_files(task)
    everyone = Targets.among(task, store, files, 0, files.n)
    if task["tasks"] == 1:
        return everyone
    begins = store.get(f"{task['figure']}-{task['columns'][0]}")[0][everyone.rows]
    return everyone.taken(np.array_split(np.argsort(begins, kind="stable"), int(task["tasks"]))[int(task["at"])])


def _ranges(targets: Targets, task: Task) -> tuple[Indices, Indices]:
    """The ranges of some targets in all columns: the first positions, and one after the last."""
    low, high = (
        np.stack(
            [targets.store.get(f"{task['figure']}-{column}")[side][targets.rows] for column in task["columns"]], axis=1
        )
        for side in (0, 1)
    )
    return low.astype(np.int64), high.astype(np.int64)
