"""The nearest released records by known columns, exactly and with ties, for several numbers of known columns.

Small files are compared pair by pair, with all numbers of columns in one pass. For large files a k-d tree of the distinct released
rows finds, for each number of columns, the least distance up to rounding; the rows within it and a margin for rounding are then
compared as in the pair by pair version, so both give the same to the last bit.
"""

from __future__ import annotations

from typing import Literal

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
    large = len(a) * len(b) >= MANY
    searched = [count for count in counts if large and count <= DEEPEST]
    compared = [count for count in counts if count not in searched]
    found = dict(zip(compared, _compared(pair, a, b, factor, metric, compared), strict=True))
    for count in searched:
        found[count] = _searched(pair, a[:, :count], b[:, :count], factor[:count], metric)
    return [
        Links(
            attack=pair.told("distance linkage", count),
            candidates=found[count][0],
            link=found[count][1],
            hit=found[count][2].astype(np.bool_),
            ties=ties,
            own=pair.own,
            released=len(b),
        )
        for count in counts
    ]


def _compared(
    pair: Files, a: Array, b: Array, factor: Array, metric: Metric, counts: list[int]
) -> list[tuple[Indices, Indices, Indices]]:
    """Size of the tie, lowest row and own row tied or not, for each number of columns: pair by pair."""
    from tsveil._kernels.attributes import nearest_by_columns

    if not counts:
        return []
    rows, first, label, copies = distinct_rows(b)
    own = own_candidate(pair.own, label)
    candidates = np.ascontiguousarray(rows.T)
    wanted = np.array(counts, dtype=np.int64)
    with progress.step("Linking records by distance", total=len(a)) as counter:
        parts = map_chunks(
            lambda low, high: nearest_by_columns(
                a[low:high], candidates, factor, metric == "l1", wanted, copies, first, own[low:high], counter
            ),
            len(a),
            1024,
        )
    tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return [(tied[:, at], link[:, at], hit[:, at]) for at in range(len(counts))]


def _searched(pair: Files, a: Array, b: Array, factor: Array, metric: Metric) -> tuple[Indices, Indices, Indices]:
    """The same for all columns given, with a k-d tree."""
    from scipy.spatial import cKDTree

    rows, first, label, copies = distinct_rows(b)
    own = own_candidate(pair.own, label)
    middle = np.median(rows, axis=0)
    power = 1 if metric == "l1" else 2
    tree = cKDTree((rows - middle) * factor)
    points = (a - middle) * factor
    # Scaled values are off by rounding, up to this much of the largest, in every column.
    margin = 16 * np.finfo(np.float64).eps * a.shape[1] * float(max(np.abs(tree.data).max(), np.abs(points).max()))

    def work(low: int, high: int) -> tuple[Indices, Indices, Indices]:
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
        best = total == np.minimum.reduceat(total, starts)[person]
        tied = np.add.reduceat(np.where(best, copies[at], 0), starts)
        link = np.minimum.reduceat(np.where(best, first[at], len(b)), starts)
        hit = np.maximum.reduceat((best & (at == own[low + person])).astype(np.int64), starts)
        counter[0] += high - low
        return tied, link, hit

    with progress.step(f"Linking records by distance, {a.shape[1]} known", total=len(a)) as counter:
        parts = map_chunks(work, len(a), CHUNK)
    tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return tied, link, hit
