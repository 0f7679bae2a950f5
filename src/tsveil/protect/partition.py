"""What is protected by itself, and what is protected together: the units and parts of a data set.

A **unit** is a set of columns that a method treats by itself: a block, a column, some time points, or all. A **part** is a set of records
of a unit that are protected together. Which parts there are depends on the method's settings, the number of records and the number of
columns, never on memory, chunks, threads or engines.

Most units are one part. Where they are more, the cuts are found from a sample of the records: it is cut across its direction of largest
spread, near the middle, until a piece of the sample stands for no more records than a part should have. The cuts make a tree; every record
goes down the tree by itself, so its part depends on the record and the tree alone. Leaves are numbered from left to right, so
neighbouring numbers are neighbouring parts: one with too few records is joined with its neighbour.

Which records are in the sample depends on their numbers alone, through a mixing function, so that no rhythm in the file shows in it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import msgspec
import numpy as np

from tsveil.core.randomness import mix
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.store import Store
from tsveil.transform.scale import in_range

#: decimals of a direction: what differs beyond them, between machines, is rounding
DECIMALS = 9
#: records that a direction is computed from
DIRECTED = 4096


class Unit(msgspec.Struct, frozen=True):
    """Columns that are protected by themselves."""

    name: str
    #: the block that it belongs to, or words for all of them: its figures are reported under this name
    home: str
    #: places of its columns among all columns
    columns: tuple[int, ...]
    #: about how many records a part should have; None: all records are one part
    size: int | None = None
    #: which piece this is, where a method protects a block in pieces of time, and how many pieces there are
    piece: int = 0
    pieces: int = 1


def sample_mask(start: int, stop: int, n: int, wanted: int) -> Mask:
    """Which of the records start..stop are in a sample of about `wanted` of n records.

    Examples
    --------
    >>> sample_mask(0, 5, 5, 5).all(), sample_mask(0, 100_000, 100_000, 1000).sum()
    (np.True_, np.int64(1036))
    """
    if wanted >= n:
        return np.ones(stop - start, dtype=np.bool_)
    return mix(np.arange(start, stop, dtype=np.uint64)) < np.uint64(int(2.0**64 * wanted / n))


@dataclass(frozen=True)
class Tree:
    """Cuts: node i sends what lies beyond `border[i]` along `direction[i]` to `above[i]`, the rest to `below[i]`; -1 - leaf is a leaf."""

    direction: Array
    border: Array
    below: Indices
    above: Indices

    @classmethod
    def uncut(cls, width: int) -> Tree:
        """A tree of one leaf."""
        none = np.zeros(0, dtype=np.int64)
        return cls(np.zeros((0, width)), np.zeros(0), none, none)

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return len(self.border) + 1

    def leaf(self, Z: Array) -> Indices:
        """The leaf of each record.

        Examples
        --------
        >>> tree = grow_tree(np.array([[0.0], [1.0], [2.0], [9.0]]), 4, 2)
        >>> tree.leaf(np.array([[5.0], [1.0], [-7.0]]))
        array([1, 0, 0])
        """
        found = np.zeros(len(Z), dtype=np.int64)
        waiting = [(0, np.arange(len(Z)))] if len(self.border) else []
        while waiting:
            node, rows = waiting.pop()
            if not len(rows):
                continue
            beyond = along(Z[rows], self.direction[node]) > self.border[node]
            for child, part in ((self.below[node], rows[~beyond]), (self.above[node], rows[beyond])):
                if child < 0:
                    found[part] = -1 - child
                else:
                    waiting.append((int(child), part))
        return found

    def save(self, store: Store, number: int) -> None:
        """Keep it as the tree of a unit."""
        for field in fields(self):
            store.put(f"tree-{number}.{field.name}", getattr(self, field.name))

    @classmethod
    def load(cls, store: Store, number: int) -> Tree:
        """The tree of a unit."""
        return cls(*(store.get(f"tree-{number}.{field.name}", whole=True) for field in fields(cls)))


def along(Z: Array, direction: Array) -> Array:
    """How far each record lies along a direction; a record's figure does not depend on its neighbours, as a matrix product's may."""
    found: Array = (Z * direction).sum(axis=1)
    return found


def grow_tree(sample: Array, n: int, size: int) -> Tree:
    """The tree for parts of about `size` of n records, of which `sample` is a sample."""
    directions: list[Array] = []
    border: list[float] = []
    below: list[int] = []
    above: list[int] = []
    leaves = 0
    share = n / max(1, len(sample))

    # (rows of the sample, the slot that must point to the node)
    waiting: list[tuple[Array, list[int] | None, int]] = [(sample, None, 0)]
    while waiting:
        rows, slot, at = waiting.pop()
        cut = None
        pieces = round(len(rows) * share / size)
        if pieces > 1 and len(rows) > 1:
            direction = np.round(principal_direction(in_range(rows[:: max(1, len(rows) // DIRECTED)])), DECIMALS)
            ahead = along(rows, direction)
            ordered = np.sort(ahead)
            middle = len(rows) * (pieces // 2) // pieces
            value = float(ordered[max(middle, 1) - 1])
            # Equal records stay together; where they are most of the part, the cut moves to their other side.
            if value == ordered[-1] and ordered[0] < value:
                value = float(ordered[ordered < value][-1])
            cut = value if value < ordered[-1] else None
        if cut is None:
            target = -1 - leaves
            leaves += 1
        else:
            target = len(border)
            directions.append(direction)
            border.append(cut)
            below.append(0)
            above.append(0)
            beyond = ahead > cut
            waiting.append((rows[beyond], above, target))
            waiting.append((rows[~beyond], below, target))
        if slot is not None:
            slot[at] = target
    width = sample.shape[1]
    return Tree(
        np.array(directions).reshape(len(border), width),
        np.array(border, dtype=np.float64),
        np.array(below, dtype=np.int64),
        np.array(above, dtype=np.int64),
    )


def principal_direction(sample: Array) -> Array:
    """The first principal direction of a sample; its sign is fixed by the largest loading.

    Examples
    --------
    >>> principal_direction(np.array([[0.0, 0.0], [3.0, 4.0], [-3.0, -4.0]])).round(3)
    array([0.6, 0.8])
    """
    centred = sample - sample.mean(axis=0)
    covariance = centred.T @ centred
    if covariance.shape[0] <= 256:
        direction: Array = np.linalg.eigh(covariance)[1][:, -1]
    else:
        direction = covariance[:, int(np.argmax(np.diag(covariance)))].copy()
        for _ in range(30):
            length = float(np.linalg.norm(direction))
            if length == 0.0:
                break
            direction = covariance @ (direction / length)
        direction /= float(np.linalg.norm(direction)) or 1.0
    return direction * (1.0 if direction[int(np.argmax(np.abs(direction)))] >= 0 else -1.0)


def join_leaves(counts: Indices, least: int) -> list[tuple[int, int]]:
    """Runs of leaves first..last that are parts of at least `least` records each.

    Examples
    --------
    >>> join_leaves(np.array([5, 1, 0, 7, 2]), 3)
    [(0, 1), (1, 5)]
    """
    runs: list[tuple[int, int]] = []
    begin, total = 0, 0
    for leaf, count in enumerate(counts.tolist()):
        total += count
        if total >= least:
            runs.append((begin, leaf + 1))
            begin, total = leaf + 1, 0
    if begin < len(counts):
        # What is left at the end joins the last part.
        runs[-1:] = [(runs[-1][0] if runs else 0, len(counts))]
    return runs
