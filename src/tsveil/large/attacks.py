"""The linkage attacks on a release in many files, each a function of one task: some people against the whole release.

    by_series       nearest distinct rows by the first 1, 2, ... series (EULD, STSLD)
    by_distance     nearest distinct rows by the first 1, 2, ... columns (DLD), or by the projections of blocks (ProjLD)
    agreements      how many distinct rows agree with the people in which columns; and then
    by_agreement    those of the largest weight (PLD)
    in_ranges       the nearest records inside a range of each sorted column (RSLD, ARLD)

They are those of `tsveil.attack` with the same kernels. Distinct rows come in pieces: the least distance over all pieces, with all that are
tied at it, is what one search in all of them would find. The people of a task are those of some published files; for an attack in ranges they are
neighbours in the first column, for their ranges are then neighbours as well, and a task needs a piece of the sorted release only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from tsveil._types import AnyArray, Array, Indices
from tsveil.attack._columns import Candidates, nearest_distinct
from tsveil.attack._files import relative
from tsveil.attack._nearest import nearest_distinct as nearest_rows
from tsveil.attack.probabilistic import CELLS, heaviest
from tsveil.data.store import Store, opened
from tsveil.engine.base import Result, Task
from tsveil.large.columns import whole_column
from tsveil.large.distinct import pieces
from tsveil.large.people import rows_of
from tsveil.protect.job import Job, load
from tsveil.transform.normalise import Ruler
from tsveil.transform.projection import weighted_sum
from tsveil.transform.statistics import slopes


def people(store: Store, job: Job, task: Task) -> tuple[Array, Indices]:
    """The originals of the people in the published files of a task, and their published rows."""
    values, rows = [], []
    for at in range(int(task["first"]), int(task["last"])):
        start, stop = job.file_range(at)
        found = rows_of(int(task["border"]), start, stop)
        values.append(store.get(f"original-{at}")[:, found - start].T)
        rows.append(found)
    return np.concatenate(values), np.concatenate(rows)


def told(store: Store, task: Task, rows: Indices, chance: Array) -> Result:
    """The chances of right links in each round, summed; and for each person, if asked for, its mean over the rounds."""
    if task["keep"]:
        order = np.argsort(rows)
        stem = f"chance-{task['figure']}-{task['at']}"
        store.put(f"{stem}.rows", rows[order])
        store.put(f"{stem}", 100 * chance[order].mean(axis=1))
    return {"people": len(rows), "right": [math.fsum(column) for column in chance.T.tolist()]}


class Nearest:
    """The least distance found so far for each person and round, how many records have it, and whether the own one is among them."""

    def __init__(self, people: int, rounds: int) -> None:
        self.best = np.full((people, rounds), np.inf)
        self.tied = np.zeros((people, rounds), dtype=np.int64)
        self.hit = np.zeros((people, rounds), dtype=np.int64)

    def add(self, best: Array, tied: Indices, hit: Indices) -> None:
        """What was found in another piece."""
        closer, equal = best < self.best, best == self.best
        self.tied = np.where(closer, tied, self.tied + np.where(equal, tied, 0))
        self.hit = np.where(closer, hit, np.maximum(self.hit, np.where(equal, hit, 0)))
        self.best = np.minimum(self.best, best)

    @property
    def chance(self) -> Array:
        """The chance of a right link; a tie among t counts 1/t."""
        found: Array = self.hit / np.maximum(self.tied, 1)
        return found


# -- by distance ------------------------------------------------------------------------------------------------------


def by_series(task: Task) -> Result:
    """Link some people by the first 1, 2, ..., all series."""
    store = opened(task["store"])
    job = load(store)
    known, rows = people(store, job, task)
    if not len(rows):
        return told(store, task, rows, np.zeros((0, len(job.source.series))))
    rulers = [Ruler(*each) for each in task["rulers"]]

    def placed(table: Array) -> tuple[Array, list[int]]:
        parts = []
        for role, ruler in zip(job.source.series, rulers, strict=True):
            part = ruler.measure(np.ascontiguousarray(table[:, job.source.span(role.name)]))
            parts.append(slopes(part, role.times) if task["figure"] == "STSLD" else part)
        return np.ascontiguousarray(np.hstack(parts)), [part.shape[1] for part in parts]

    a, widths = placed(known)
    starts = np.cumsum([0, *widths]).astype(np.int64)
    of_row = np.asarray(store.get("distinct.of_row")[rows])
    found = Nearest(len(rows), len(widths))
    for piece in pieces(store, job):
        best, tied, _, hit = nearest_rows(
            a, placed(piece.values)[0], piece.first, piece.copies, piece.own(of_row), starts
        )
        found.add(best, tied, hit)
    return told(store, task, rows, found.chance)


def by_distance(task: Task) -> Result:
    """Link some people by the first 1, 2, ... columns, or by the projections of the first 1, 2, ... blocks."""
    store = opened(task["store"])
    job = load(store)
    known, rows = people(store, job, task)
    columns, counts = task["columns"], task["counts"]
    if not len(rows):
        return told(store, task, rows, np.zeros((0, len(counts))))
    placed: Callable[[Array], Array]
    if task["do"] == "by_projection":
        blocks = [(places, [Ruler(*each) for each in rulers], weights) for places, rulers, weights in task["blocks"]]
        factor = np.ones(len(blocks))

        def placed(table: Array) -> Array:
            return np.stack([_projected(table, *block) for block in blocks], axis=1)

    else:
        power, factor = np.array(task["power"]), relative(np.array(task["factor"]))

        def placed(table: Array) -> Array:
            scaled: Array = np.ldexp(table[:, columns], power)
            return scaled

    a = np.ascontiguousarray(placed(known))
    of_row = np.asarray(store.get("distinct.of_row")[rows])
    found = Nearest(len(rows), len(counts))
    for piece in pieces(store, job):
        b = np.ascontiguousarray(placed(piece.values))
        near = nearest_distinct(
            a, Candidates(b, piece.first, piece.copies, piece.own(of_row)), factor, "euclidean", counts
        )
        found.add(
            *(np.stack([getattr(near[count], what) for count in counts], axis=1) for what in ("best", "tied", "hit"))
        )
    return told(store, task, rows, found.chance)


def _projected(table: Array, places: list[int], rulers: list[Ruler], weights: list[float]) -> Array:
    z = [ruler.measure(np.ascontiguousarray(table[:, [place]])) for place, ruler in zip(places, rulers, strict=True)]
    return weighted_sum(np.hstack(z), np.array(weights))


# -- by agreement -----------------------------------------------------------------------------------------------------


def agreements(task: Task) -> Result:
    """How many pairs of the people and released records agree in each pattern of columns."""
    store = opened(task["store"])
    job = load(store)
    _, rows = people(store, job, task)
    total = np.zeros(1 << max(task["counts"]), dtype=np.int64)
    for low, _, table in _tables(store, task, rows):
        total += table.sum(axis=0, dtype=np.int64)
        if task["stored"]:
            store.put(_stored(task, low), table)
    return {"total": total.tolist()}


def by_agreement(task: Task) -> Result:
    """Link the people to the released records of the largest weight."""
    store = opened(task["store"])
    job = load(store)
    _, rows = people(store, job, task)
    counts = task["counts"]
    weights = {count: store.get(f"weights-{count}", whole=True) for count in counts}
    chance = np.zeros((len(rows), len(counts)))
    for low, high, table in _tables(store, task, rows):
        ours, theirs = _labels(store, task, rows[low:high], rows[low:high])
        own = ((ours == theirs) << np.arange(ours.shape[1])).sum(axis=1)
        # Some at a time: a pattern more takes a float more for each of them.
        step = max(1, (1 << 20) >> max(counts))
        for begin in range(0, high - low, step):
            some = slice(begin, begin + step)
            for at, count in enumerate(counts):
                best, tied, _ = heaviest(table[some], count, weights[count])
                hit = weights[count][own[some] & ((1 << count) - 1)] == best
                chance[low:high][some, at] = np.where(hit, 1.0 / tied, 0.0)
    return told(store, task, rows, chance)


def _labels(store: Store, task: Task, known: Indices, released: Indices) -> tuple[Indices, Indices]:
    """The labels of some original and some released rows, by the columns that the intruder knows at most."""
    columns = task["columns"][: max(task["counts"])]
    each = [store.get(f"labels-{column}") for column in columns]
    ours, theirs = (
        np.stack([one[side][rows] for one in each], axis=1).astype(np.int64)
        for side, rows in ((0, known), (1, released))
    )
    return ours, theirs


def _stored(task: Task, low: int) -> str:
    return f"agreements-{task['at']}-{low}"


def _tables(store: Store, task: Task, rows: Indices) -> Iterator[tuple[int, int, AnyArray]]:
    """First and last of some people, and how many released records agree with each in each pattern."""
    from tsveil._kernels.agreement import pattern_counts

    columns = max(task["counts"])
    sizes = np.array(task["sizes"][:columns], dtype=np.int64)
    first = np.asarray(store.get("distinct.first"))
    copies = np.asarray(store.get("distinct.copies"))
    step, many = max(1, CELLS >> columns), 2**20
    for low in range(0, len(rows), step):
        high = min(low + step, len(rows))
        if task["do"] == "by_agreement" and task["stored"]:
            yield low, high, store.get(_stored(task, low), whole=True)
            continue
        table: AnyArray = np.zeros((high - low, 1 << columns), dtype=np.int32)
        for begin in range(0, len(first), many):
            ours, theirs = _labels(store, task, rows[low:high], first[begin : begin + many])
            table += pattern_counts(ours, theirs, np.array(copies[begin : begin + many]), sizes)
        yield low, high, table


# -- in ranges --------------------------------------------------------------------------------------------------------


def in_ranges(task: Task) -> Result:
    """Link some people, neighbours in the first column, among the records inside the ranges of the first 1, 2, ... columns."""
    from tsveil._kernels.rank_linkage import nearest_in_ranges

    store, figure = opened(task["store"]), str(task["figure"])
    job = load(store)
    columns, counts = task["columns"], task["counts"]
    everyone = rows_of(int(task["border"]), 0, job.n)
    begins = np.asarray(store.get(f"{figure}-{columns[0]}")[0])[everyone]
    rows = np.array_split(everyone[np.argsort(begins, kind="stable")], int(task["tasks"]))[int(task["at"])]
    low, high = (
        np.stack([store.get(f"{figure}-{column}")[side][rows] for column in columns], axis=1).astype(np.int64)
        for side in (0, 1)
    )
    begin, end = int(low[:, 0].min()), int(high[:, 0].max())
    places, order = store.get(f"places-{columns[0]}")
    near = np.asarray(order[begin:end]).astype(np.int64)
    own = np.where((places[rows] >= begin) & (places[rows] < end), places[rows].astype(np.int64) - begin, -1)
    low[:, 0] -= begin
    high[:, 0] -= begin
    candidates, where = np.empty((len(columns), len(near))), np.empty((len(columns), len(near)), dtype=np.int32)
    known = np.empty((len(rows), len(columns)))
    for at, (column, power) in enumerate(zip(columns, task["power"], strict=True)):
        candidates[at] = np.ldexp(whole_column(store, job, "released", column)[near], power)
        where[at] = store.get(f"places-{column}")[0][near]
        known[:, at] = np.ldexp(whole_column(store, job, "original", column)[rows], power)
    factor, counter = relative(np.array(task["factor"])), np.zeros(1, dtype=np.int64)
    _, tied, _, hit = nearest_in_ranges(known, low, high, candidates, where, near, factor, own, counter)
    wanted = np.array(counts) - 1
    return told(store, task, rows, np.where(hit[:, wanted] > 0, 1.0 / np.maximum(tied[:, wanted], 1), 0.0))
