"""The nearest released records of known ones by whole blocks, exactly and with ties: the driver of `_kernels.linkage`.

`nearest_columns` searches by single columns; both look among distinct rows (`Rows`) and find the same things of them (`Near`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tsveil.attack.links import whose
from tsveil.core import progress
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.engine.blas import one_blas_thread
from tsveil.engine.local import map_chunks

#: known records per piece of work
CHUNK = 2048
#: leading coordinates of a block: those of the boxes; and of a block with 64 columns and more
LEAD, WIDE_LEAD = 8, 24
#: wider blocks are rotated by a cosine transform instead of their principal directions, whose cost grows with the cube
WIDEST = 512
#: with more columns than this the bounds from float32 sums mean little
MOST_COLUMNS = 100_000
#: against fewer candidates a picture is not worth its making
FEW = 256


class Near(NamedTuple):
    """A row for each known record and a column for each number of known blocks or columns."""

    #: the least distance
    best: Array
    #: how many records are at it, the lowest of them, and how many of the person's are among them
    tied: Indices
    link: Indices
    hit: Indices


class Whose(NamedTuple):
    """The person of each candidate and how many of its records are that person's; and the person of each known record (-1: not released)."""

    owner: Indices
    records: Indices
    mine: Indices


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct released rows: their values, lowest record numbers and numbers of copies, and which of them is each known record's own (-1: none).

    Where persons have several records, rows are those of one person each, who is `owner`, and `mine` is the person of each known record.
    """

    values: Array
    first: Indices
    copies: Indices
    own: Indices
    owner: Indices | None = None
    mine: Indices | None = None

    @classmethod
    def of(cls, released: Array, own: Indices | None = None, persons: Indices | None = None) -> Rows:
        """Those of a table; row i is known record i's own unless it is said, and each record a person of its own."""
        if persons is None:
            values, first, label, copies = distinct_rows(released)
            return cls(values, first, copies, label if own is None else own_candidate(own, label))
        own = np.arange(len(persons)) if own is None else own
        mine, owner = whose(own, persons, len(released))
        table, first, label, copies = distinct_rows(np.column_stack([released, owner]))
        return cls(np.ascontiguousarray(table[:, :-1]), first, copies, own_candidate(own, label), owner[first], mine)

    @property
    def whose(self) -> Whose:
        """Whose they are; where each record is a person of its own, the one record that counts is in the row `own`."""
        if self.owner is None or self.mine is None:
            return Whose(np.arange(len(self.values)), np.ones(len(self.values), dtype=np.int64), self.own)
        return Whose(self.owner, self.copies, self.mine)

    def by_first(self, count: int) -> Rows:
        """The distinct rows of the first columns."""
        table = self.values[:, :count]
        _, at, label, _ = distinct_rows(table if self.owner is None else np.column_stack([table, self.owner]))
        values = np.ascontiguousarray(table[at])
        copies, first = np.zeros(len(values), dtype=np.int64), self.first[at]
        np.add.at(copies, label, self.copies)
        np.minimum.at(first, label, self.first)
        owner = None if self.owner is None else self.owner[at]
        return Rows(values, first, copies, own_candidate(self.own, label), owner, self.mine)

    def in_order(self, order: Indices) -> Rows:
        """The same in another order."""
        rank = np.empty_like(order)
        rank[order] = np.arange(len(rank))
        owner, own = None if self.owner is None else self.owner[order], own_candidate(self.own, rank)
        return Rows(self.values[order], self.first[order], self.copies[order], own, owner, self.mine)


def nearest(
    known: Array,
    released: Array,
    starts: Indices,
    own: Indices | None = None,
    persons: Indices | None = None,
    *,
    pictured: bool | None = None,
) -> tuple[Indices, Indices, Indices]:
    """Per known record and number of known blocks: how many released records are nearest, the lowest, and how many of the person's are among them.

    Block b has the columns starts[b]..starts[b+1]; the distance with j known blocks is

        d_j(a, b) = sum_{i <= j} |a_i - b_i|,

    in float64 with squares summed in the order of the columns; equal distances are ties. `own` says which released row
    belongs to each known record (-1: none); row i to row i when left out; `persons` whose each known record is. A float32 picture is made where it is worth its making, unless `pictured` says
    whether; the figures do not depend on it.

    Examples
    --------
    >>> tied, link, hit = nearest(
    ...     np.array([[1.0], [2.0], [9.0]]), np.array([[1.5], [1.5], [9.0]]), np.array([0, 1])
    ... )
    >>> tied.ravel(), link.ravel(), hit.ravel()
    (array([2, 2, 1]), array([0, 0, 2]), array([1, 1, 1]))
    """
    return nearest_distinct(known, Rows.of(released, own, persons), starts, pictured=pictured)[1:]


def nearest_distinct(
    known: Array,
    rows: Rows,
    starts: Indices,
    *,
    pictured: bool | None = None,
    close: Mask | None = None,
    slack: Array | None = None,
) -> Near:
    """The least distances and the same among distinct released rows.

    Distances are comparable between calls: a release can be attacked piece by piece. `close` gets a mark where another row is as near but for
    rounding, by which the values of the first blocks may be off by `slack` (`attack.exact_ties`).
    """
    from tsveil._kernels.linkage import nearest_rows, nearest_rows_by_picture

    if pictured is None:
        pictured = worth_drawing(len(known), len(rows.values), np.diff(starts).tolist())
    picture = draw(rows.values, known, starts) if pictured else None
    if picture is not None:
        rows = rows.in_order(picture.order)
    candidates, whose = in_tiles(rows.values), rows.whose
    shape = len(known), len(starts) - 1
    marks = np.zeros(shape, dtype=np.bool_) if close is None else close
    room = np.zeros(shape[1]) if slack is None else slack
    found = Near(np.full(shape, np.inf), *(np.full(shape, start, dtype=np.int64) for start in (0, -1, 0)))

    def work(low: int, high: int) -> None:
        part = known[low:high]
        both = (
            part, starts, candidates, rows.copies, rows.first, whose.owner, whose.records, whose.mine[low:high],
            found.best[low:high], found.tied[low:high], found.link[low:high], found.hit[low:high], marks[low:high], room, counter,
        )  # fmt: skip
        if picture is None:
            nearest_rows(*both)
        else:
            nearest_rows_by_picture(*both, rows.own[low:high], *picture.of_pairs(part))

    with progress.step("Linking records", total=len(known)) as counter:
        map_chunks(work, len(known), CHUNK)
    return found


def worth_drawing(known: int, candidates: int, widths: Sequence[int]) -> bool:
    """Whether a picture of the candidates costs less than it saves, with blocks of these widths.

    The rotation of a block takes products as many as the cube of its width, and the square for each record; comparing all pairs as many as the width.

    Examples
    --------
    >>> worth_drawing(500, 500, [336]), worth_drawing(2000, 2000, [336]), worth_drawing(500, 500, [24])
    (False, True, True)
    """
    rotating = sum(width**2 * (width + known + candidates) for width in widths if width <= WIDEST)
    return candidates >= FEW and known * candidates * sum(widths) >= rotating


@dataclass(frozen=True)
class BlockView:
    """How one block goes into the picture."""

    columns: slice
    #: the principal directions, or None for a cosine transform
    rotation: Array | None
    #: which coordinates come first
    leading: Indices
    #: the number of leading coordinates
    lead: int
    #: coordinates with zeros up to a multiple of four
    width: int
    #: the share by which squared lengths are lowered
    theta: float


@dataclass(frozen=True)
class Picture:
    """The distinct released records in float32, and how known records get there: see `_kernels.linkage`."""

    blocks: list[BlockView]
    middle: Array
    scale: float
    stretch: float
    #: the candidates in the order of the tiles
    order: Indices
    #: where each block begins among the rows of a tile, and its number of leading coordinates
    parts: Indices
    lead: Indices
    tiles: AnyArray
    boxes: AnyArray

    def of_pairs(self, known: Array) -> tuple[Any, ...]:
        """What the kernel needs of the candidates and of some known records."""
        candidates = self.parts, self.lead, self.tiles, self.boxes
        return *candidates, *self.of_known(known), self.scale, self.stretch

    def of_known(self, rows: Array) -> tuple[AnyArray, AnyArray, Array]:
        """Places, leading coordinates and margins of known records."""
        places = place_rows(rows, self.blocks, self.middle, self.scale)
        ahead = np.ascontiguousarray(leading_coordinates(places, self.blocks, self.parts).T)
        squares = places[:, self.parts[1:] - 1].astype(np.float64)
        margin = np.cumsum(2.0**-20 * np.sqrt(np.maximum(squares, 0.0)) + 1e-15, axis=1)
        places[:, ~square_rows(self.parts)] *= np.float32(-2.0)
        return places, ahead, margin


@one_blas_thread()
def draw(rows: Array, known: Array, starts: Indices) -> Picture | None:
    """The picture of the candidates; None if float32 is no help or squares could overflow or vanish in float64."""
    from tsveil._kernels.linkage import LANES
    from tsveil._kernels.mdav_lists import nearby_order

    m, d = rows.shape
    low, high = np.minimum(rows.min(axis=0), known.min(axis=0)), np.maximum(rows.max(axis=0), known.max(axis=0))
    if not np.max(np.maximum(high, -low)) < 2.0**480 or d > MOST_COLUMNS:
        return None
    sample = rows[:: max(1, m // max(4000, 10 * d))]
    middle = np.median(sample, axis=0)  # not the mean: it would take all places far from zero for one outlier's sake
    largest = float(np.max(np.maximum(high - middle, middle - low)))
    if largest < 2.0**-400:
        return None
    scale = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))
    sample = (sample - middle) * scale
    blocks = [view(sample, slice(int(a), int(b))) for a, b in pairwise(starts)]
    parts = np.cumsum([0] + [block.width + 2 for block in blocks]).astype(np.int64)
    # the rotations' deviation from orthogonality, the rounding of float64 distances, and that of float32 roots and sums
    rotations = [block.rotation for block in blocks if block.rotation is not None]
    skew = max((float(np.linalg.norm(r.T @ r - np.eye(len(r)))) for r in rotations), default=0.0)
    stretch = 2 * skew + 8 * (d + 8) ** 2 * 2.0**-53 + (len(blocks) + 8) * 2.0**-22

    places = place_rows(rows, blocks, middle, scale)
    ahead = leading_coordinates(places, blocks, parts)
    order = np.arange(m)
    nearby_order(ahead, order)
    tiles = in_tiles(places[order])
    filled = m - (len(tiles) - 1) * LANES
    tiles[-1, square_rows(parts), filled:] = np.inf  # places without a candidate are far from all
    ahead, begins = ahead[order], np.arange(0, m, LANES)
    boxes = np.stack([np.minimum.reduceat(ahead, begins).T, np.maximum.reduceat(ahead, begins).T])
    lead = np.array([block.lead for block in blocks], dtype=np.int64)
    return Picture(blocks, middle, scale, stretch, order, parts, lead, tiles, boxes)


def view(sample: Array, columns: slice) -> BlockView:
    """How a block goes into the picture, from some of its records."""
    d = columns.stop - columns.start
    width = -(-d // 4) * 4
    lead = min(LEAD if d < 64 else WIDE_LEAD, width)
    theta = 4 * (d + 12) * 2.0**-24
    part = sample[:, columns]
    if d > WIDEST:
        leading = np.argsort(-cosines(part).var(axis=0), kind="stable")
        return BlockView(columns, None, leading, lead, width, theta)
    return BlockView(columns, np.linalg.eigh(part.T @ part)[1], np.arange(d)[::-1], lead, width, theta)


def place_rows(rows: Array, blocks: list[BlockView], middle: Array, scale: float) -> AnyArray:
    """For each block: rotated coordinates, the length of those that are not leading, the lowered square of the length."""
    Y = np.zeros((len(rows), sum(block.width + 2 for block in blocks)), dtype=np.float32)
    at = 0
    for block in blocks:
        d = block.columns.stop - block.columns.start
        few = max(64, 250_000 // d**2)  # at a time: they stay in the cache, and small products need no threads
        for low in range(0, len(rows), few):
            X = (rows[low : low + few, block.columns] - middle[block.columns]) * scale
            rotated = (cosines(X) if block.rotation is None else X @ block.rotation)[:, block.leading]
            others = rotated[:, block.lead :]
            part = Y[low : low + few, at : at + block.width + 2]
            part[:, :d] = rotated
            part[:, -2] = np.sqrt(np.einsum("ij,ij->i", others, others))
            part[:, -1] = np.einsum("ij,ij->i", rotated, rotated) * (1.0 - block.theta) - 1e-30
        at += block.width + 2
    return Y


def cosines(X: Array) -> Array:
    """The cosine transform of each record: a rotation that puts what is smooth first."""
    from scipy.fft import dct

    return np.asarray(dct(X, norm="ortho", axis=1))


def leading_coordinates(places: AnyArray, blocks: list[BlockView], parts: Indices) -> AnyArray:
    """The leading coordinates of each block and the length of its others."""
    chosen = [np.append(np.arange(p, p + b.lead), p + b.width) for p, b in zip(parts[:-1], blocks, strict=True)]
    return np.ascontiguousarray(places[:, np.concatenate([np.zeros(0, dtype=np.int64), *chosen])])


def square_rows(parts: Indices) -> Mask:
    """Which rows of a tile are squared lengths: the last of each block."""
    rows = np.zeros(parts[-1], dtype=np.bool_)
    rows[parts[1:] - 1] = True
    return rows


def in_tiles(rows: AnyArray) -> AnyArray:
    """(tiles, columns, lanes) from (records, columns), with zeros after the last record."""
    from tsveil._kernels.linkage import LANES

    tiles = -(-len(rows) // LANES)
    full = np.zeros((tiles * LANES, rows.shape[1]), dtype=rows.dtype)
    full[: len(rows)] = rows
    return np.ascontiguousarray(full.reshape(tiles, LANES, -1).transpose(0, 2, 1))


def own_candidate(own: Indices, label: Indices) -> Indices:
    """The distinct released row of each person, from the released row; -1 stays -1."""
    return np.where(own >= 0, label[own], -1)


def distinct_rows(rows: AnyArray) -> tuple[Any, Indices, Indices, Indices]:
    """The distinct rows in order of first appearance, their first row numbers, each row's number among them, their counts.

    Protected data have few distinct rows, and an attack need only look at those.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_rows(np.array([[2.0], [1.0], [2.0]]))
    (array([[2.],
           [1.]]), array([0, 1]), array([0, 1, 0]), array([2, 1]))
    """
    _, first, own, copies = np.unique(_pack(rows), return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return (
        rows[first[order]],
        first[order].astype(np.int64),
        rank[own.ravel()].astype(np.int64),
        copies[order].astype(np.int64),
    )


def by_bytes(rows: Array) -> Indices:
    """Where each row stands when they are sorted by their bytes: an order that does not depend on that of the file, found much faster than that of the values.

    Examples
    --------
    >>> rows = np.array([[2.0, 1.0], [0.5, 3.0], [2.0, 0.5]])
    >>> np.array_equal(rows[by_bytes(rows)], rows[::-1][by_bytes(rows[::-1])])
    True
    """
    found: Indices = np.argsort(_pack(rows + 0.0), kind="stable")  # both zeros are one
    return found


def _pack(rows: AnyArray) -> AnyArray:
    """Each row as one item."""
    return np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
