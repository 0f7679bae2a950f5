"""The nearest released records by known columns, exactly and with ties, for several numbers of known columns.

Small files are compared pair by pair, with all numbers of columns in one pass. For large files a k-d tree of the distinct released
rows finds, for each number of columns, the least distance up to rounding; the rows within it and a margin for rounding are then
compared as in the pair by pair version, so both give the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.attack._files import Files, Ties
from tsveil.attack._nearest import distinct_rows, own_candidate
from tsveil.attack.links import Links
from tsveil.engine.local import map_chunks

Metric = Literal["euclidean", "l1"]

#: from this number of pairs on a tree is worth its building
MANY = 2**26
#: with more columns a tree looks at most rows anyway
DEEPEST = 12
#: records that are searched at a time
CHUNK = 8192


def nearest(
    pair: Files, a: Array, b: Array, factor: Array, metric: Metric, ties: Ties, counts: list[int]
) -> list[Links]:
    """The links by the first columns of two prepared tables, for some increasing numbers of columns.

    The distance is the sum over columns, in their order, of squared (or absolute) differences times `factor`.
    """
    rows, first, label, copies = distinct_rows(b)
    found = nearest_distinct(a, Candidates(rows, first, copies, own_candidate(pair.own, label)), factor, metric, counts)
    return [
        Links(
            attack=pair.told("distance linkage", count),
            candidates=found[count].tied,
            link=found[count].link,
            hit=found[count].hit.astype(np.bool_),
            ties=ties,
            own=pair.own,
            released=len(b),
        )
        for count in counts
    ]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The distinct released rows, their lowest row numbers and numbers of copies, and which of them is each known record's own (-1: none)."""

    rows: Array
    first: Indices
    copies: Indices
    own: Indices

    def by_first(self, count: int) -> Candidates:
        """The distinct rows of the first so many columns."""
        rows, at, label, _ = distinct_rows(self.rows[:, :count])
        copies, first = np.zeros(len(rows), dtype=np.int64), self.first[at]
        np.add.at(copies, label, self.copies)
        np.minimum.at(first, label, self.first)
        return Candidates(rows, first, copies, own_candidate(self.own, label))


class Found(NamedTuple):
    """For each known record the least distance (squared if Euclidean), the size of the tie, the lowest row tied, the own row tied or not."""

    best: Array
    tied: Indices
    link: Indices
    hit: Indices


def nearest_distinct(
    a: Array, candidates: Candidates, factor: Array, metric: Metric, counts: Sequence[int]
) -> dict[int, Found]:
    """The nearest of some distinct released rows, for each number of columns; distances are comparable between calls."""
    large = len(a) * len(candidates.rows) >= MANY
    searched = [count for count in counts if large and count <= DEEPEST]
    compared = [count for count in counts if count not in searched]
    found = _compared(a, candidates, factor, metric, compared)
    for count in searched:
        found[count] = _searched(a[:, :count], candidates.by_first(count), factor[:count], metric)
    return found


def _compared(a: Array, candidates: Candidates, factor: Array, metric: Metric, counts: list[int]) -> dict[int, Found]:
    """Pair by pair."""
    from tsveil._kernels.attributes import nearest_by_columns

    if not counts:
        return {}
    rows, own = np.ascontiguousarray(candidates.rows.T), candidates.own
    wanted = np.array(counts, dtype=np.int64)
    with progress.step("Linking records by distance", total=len(a)) as counter:
        parts = map_chunks(
            lambda low, high: nearest_by_columns(
                a[low:high], rows, factor, metric == "l1", wanted, candidates.copies, candidates.first, own[low:high], counter
            ),
            len(a),
            1024,
        )  # fmt: skip
    best, tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(4))
    return {count: Found(best[:, at], tied[:, at], link[:, at], hit[:, at]) for at, count in enumerate(counts)}


def _searched(a: Array, candidates: Candidates, factor: Array, metric: Metric) -> Found:
    """The same for all columns given, with a k-d tree."""
    from scipy.spatial import cKDTree

    rows, first, copies, own = candidates.rows, candidates.first, candidates.copies, candidates.own
    middle = np.median(rows, axis=0)
    power = 1 if metric == "l1" else 2
    tree = cKDTree((rows - middle) * factor)
    points = (a - middle) * factor
    # Scaled values are off by rounding, up to this much of the largest, in every column.
    margin = 16 * np.finfo(np.float64).eps * a.shape[1] * float(max(np.abs(tree.data).max(), np.abs(points).max()))

    def work(low: int, high: int) -> Found:
        distance, _ = tree.query(points[low:high], p=power)
        near = tree.query_ball_point(points[low:high], distance * (1 + 1e-9) + margin, p=power)
        sizes = np.array([len(found) for found in near], dtype=np.int64)
        at = np.concatenate([np.asarray(found, dtype=np.int64) for found in near])
        person = np.repeat(np.arange(high - low), sizes)
        total = np.zeros(len(at))
        for j in range(a.shape[1]):
            difference = np.abs(a[low + person, j] - rows[at, j]) * factor[j]
            total += difference if metric == "l1" else difference * difference
        starts = np.cumsum(sizes) - sizes
        least = np.minimum.reduceat(total, starts)
        best = total == least[person]
        tied = np.add.reduceat(np.where(best, copies[at], 0), starts)
        link = np.minimum.reduceat(np.where(best, first[at], np.iinfo(np.int64).max), starts)
        hit = np.maximum.reduceat((best & (at == own[low + person])).astype(np.int64), starts)
        counter[0] += high - low
        return Found(least, tied, link, hit)

    with progress.step(f"Linking records by distance, {a.shape[1]} known", total=len(a)) as counter:
        parts = map_chunks(work, len(a), CHUNK)
    return Found(*(np.concatenate(each) for each in zip(*parts, strict=True)))
