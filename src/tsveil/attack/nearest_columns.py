"""The nearest released records by known columns, exactly and with ties, for several numbers of known columns.

Small files are compared pair by pair, with all numbers of columns in one pass. For large files a k-d tree of the distinct released
rows finds, for each number of columns, the least distance up to rounding; the rows within it and a margin for rounding are then
compared as in the pair by pair version, so both give the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from tsveil.attack.base import UNAIDED
from tsveil.attack.candidates import Best, Found, nearest_in_pieces
from tsveil.attack.exact_ties import ExactTies
from tsveil.attack.files import Files, Ties
from tsveil.attack.links import Links
from tsveil.attack.nearest import Near, Rows, in_tiles
from tsveil.attack.pieces import Targets
from tsveil.core import progress
from tsveil.core.types import Array, Indices, Mask
from tsveil.engine.local import map_chunks

Metric = Literal["euclidean", "l1"]

#: from this number of pairs on a tree is worth its building
MANY = 2**26
#: with more columns a tree looks at most rows anyway
DEEPEST = 12
#: fewer distinct rows are left in their order
FEW = 256
#: records that are searched at a time
CHUNK = 8192
#: what one comparison of values in a tree costs, in comparisons of series
TREE = 4


def nearest(
    pair: Files,
    a: Array,
    b: Array,
    factor: Array,
    metric: Metric,
    ties: Ties,
    words: str = "",
    exact: ExactTies | None = None,
) -> Links:
    """The links by all columns of two prepared tables; `words` say more of the attack, `exact` decides near ties.

    The distance is the sum over columns, in their order, of squared (or absolute) differences times `factor`.
    """
    if exact is None:
        _, tied, link, hit = nearest_distinct(a, Rows.of(b, pair.own, pair.persons), factor, metric, [a.shape[1]])
    else:
        rows, best = Rows.of(pair.b, pair.own, pair.persons), Best(len(a), 1)
        placed = replace(rows, values=np.ascontiguousarray(b[rows.first]))
        exact.add(
            best, nearest_distinct(a, placed, factor, metric, [a.shape[1]], close=exact.fresh(), slack=exact.slack)
        )
        exact.settle(best, [rows])
        tied, link, hit = best.tied, best.link, best.hit
    linked, attack = (tied[:, 0], link[:, 0], hit[:, 0]), pair.describe(f"distance linkage{words}")
    return Links.of(attack, linked, ties, pair.own, len(b), persons=pair.persons)


def nearest_distinct(
    a: Array,
    rows: Rows,
    factor: Array,
    metric: Metric,
    counts: Sequence[int],
    *,
    close: Mask | None = None,
    slack: Array | None = None,
) -> Near:
    """The nearest of some distinct released rows, for each number of columns; distances are comparable between calls.

    `close` gets a mark where another row is as near but for rounding, by which scaled records may be off by `slack` (`attack.exact_ties`).
    """
    marks = np.zeros((len(a), len(counts)), dtype=np.bool_) if close is None else close
    room = np.zeros(len(counts)) if slack is None else slack
    large = len(a) * len(rows.values) >= MANY
    searched = [count for count in counts if large and count <= DEEPEST]
    compared = [count for count in counts if count not in searched]
    places = {count: at for at, count in enumerate(counts)}
    found = _by_pairs(a, rows, factor, metric, compared, marks, room[[places[count] for count in compared]], places)
    for count in searched:
        at = places[count]
        found[count], marks[:, at] = _by_tree(
            a[:, :count], rows.by_first(count), factor[:count], metric, float(room[at])
        )
    return Near(*(np.stack(each, axis=1) for each in zip(*(found[count] for count in counts), strict=True)))


def _by_pairs(
    a: Array,
    rows: Rows,
    factor: Array,
    metric: Metric,
    counts: list[int],
    marks: Mask,
    slack: Array,
    places: Mapping[int, int],
) -> dict[int, Near]:
    """Pair by pair, apart from tiles of candidates that are too far away as a whole."""
    from tsveil._kernels.attributes import nearest_by_columns

    if not counts:
        return {}
    if len(rows.values) >= FEW:
        rows = rows.in_order(_nearby(rows.values, factor))
    candidates, boxes, whose = in_tiles(rows.values), _boxes(rows.values), rows.whose
    shape = len(a), len(counts)
    best, (tied, link, hit) = np.full(shape, np.inf), (np.full(shape, start, dtype=np.int64) for start in (0, -1, 0))
    wanted, close = np.array(counts, dtype=np.int64), np.zeros(shape, dtype=np.bool_)

    def work(low: int, high: int) -> None:
        some = a[low:high]
        nearest_by_columns(
            some, np.ascontiguousarray(some.T), candidates, boxes, factor, metric == "l1", wanted, rows.copies, rows.first,
            whose.owner, whose.records, whose.mine[low:high], rows.own[low:high],
            best[low:high], tied[low:high], link[low:high], hit[low:high], close[low:high], slack, counter,
        )  # fmt: skip

    with progress.step("Linking records by distance", total=len(a)) as counter:
        map_chunks(work, len(a), 1024)
    marks[:, [places[count] for count in counts]] = close
    return {count: Near(best[:, at], tied[:, at], link[:, at], hit[:, at]) for at, count in enumerate(counts)}


def _nearby(rows: Array, factor: Array) -> Indices:
    """An order in which neighbours lie near each other: that of the leaves of a k-d tree."""
    from scipy.spatial import cKDTree

    with np.errstate(over="ignore"):
        points = np.clip(rows * factor, -1e300, 1e300)  # a tree takes no infinity, and this is but an order
    return np.asarray(cKDTree(points, leafsize=64, balanced_tree=True).indices, dtype=np.int64)


def _boxes(rows: Array) -> Array:
    """The least and the largest value of each column among the rows of each tile: (2, columns, tiles)."""
    from tsveil._kernels.attributes import LANES

    begins = np.arange(0, len(rows), LANES)
    return np.stack([np.minimum.reduceat(rows, begins).T, np.maximum.reduceat(rows, begins).T])


def _by_tree(a: Array, distinct: Rows, factor: Array, metric: Metric, slack: float) -> tuple[Near, Mask]:
    """The same for all columns given, with a k-d tree; and where another row is as near but for rounding."""
    from scipy.spatial import cKDTree

    rows, first, copies, (owner, records, mine) = distinct.values, distinct.first, distinct.copies, distinct.whose
    middle = np.median(rows, axis=0)
    power = 1 if metric == "l1" else 2
    tree = cKDTree((rows - middle) * factor)
    points = (a - middle) * factor
    # Scaled values are off by rounding, up to this much of the largest, in every column.
    margin = 16 * np.finfo(np.float64).eps * a.shape[1] * float(max(np.abs(tree.data).max(), np.abs(points).max()))

    def work(low: int, high: int) -> tuple[Array, Indices, Indices, Indices, Mask]:
        distance, _ = tree.query(points[low:high], p=power)
        near = tree.query_ball_point(points[low:high], distance * (1 + 1e-9) + margin + 2 * slack, p=power)
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
        hit = np.add.reduceat(np.where(best & (owner[at] == mine[low + person]), records[at], 0), starts)
        upto = (least + 2 * slack if metric == "l1" else np.square(np.sqrt(least) + 2 * slack)) * (1 + 2.0**-38)
        alike = np.add.reduceat((total <= upto[person]).astype(np.int64), starts) > 1
        counter[0] += high - low
        return least, tied, link, hit, alike

    with progress.step(f"Linking records by distance, {a.shape[1]} known", total=len(a)) as counter:
        parts = map_chunks(work, len(a), CHUNK)
    *near, alike = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Near(*near), alike


# -- files in pieces --------------------------------------------------------------------------------------------------


def compared_rows(distinct: int, columns: int) -> int:
    """What comparing a target with all distinct rows costs, in comparisons of series."""
    return distinct * (TREE if columns <= DEEPEST else UNAIDED)


def nearest_of_targets(
    targets: Targets, known: Array, placed: Callable[[Array], Array], factor: Array, counts: Sequence[int], metric: Metric = "euclidean",
    stem: str = "distinct", exact: ExactTies | None = None,
) -> Found:  # fmt: skip
    """The nearest by the first columns of where records are placed, for some numbers of columns; `stem` as for `candidates`, and `exact` decides near ties."""

    def search(some: Rows) -> Near:
        rows = replace(some, values=np.ascontiguousarray(placed(some.values)))
        if exact is None:
            return nearest_distinct(known, rows, factor, metric, counts)
        return nearest_distinct(known, rows, factor, metric, counts, close=exact.fresh(), slack=exact.slack)

    return nearest_in_pieces(targets, len(counts), search, stem, exact)
