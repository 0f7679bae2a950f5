"""Parts of near records for more records than memory holds: where the cuts are is found from a sample.

The sample is cut like `transform.parts` cuts a data set: across its direction of largest spread, near the middle, until a part of the sample
stands for no more records than a part may have. The cuts make a tree; every record goes down the tree by itself, so which part it
belongs to depends on the record and the tree alone. Leaves are numbered from left to right, so neighbouring numbers are neighbouring
parts: one with too few records is joined with its neighbour.

Which records are in the sample depends on their numbers alone, through a mixing function, so that no rhythm in the file shows in it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from tsveil._types import Array, Indices, Mask
from tsveil.data.store import Store
from tsveil.randomness import mixed
from tsveil.transform.parts import SAMPLE, principal_direction

#: decimals of a direction: what differs beyond them, between machines, is rounding
DECIMALS = 9


def sampled(start: int, stop: int, n: int, wanted: int, salt: int = 0) -> Mask:
    """Which of the records start..stop are in a sample of about `wanted` of n records; another salt gives another sample.

    Examples
    --------
    >>> sampled(0, 5, 5, 5).all(), sampled(0, 100_000, 100_000, 1000).sum()
    (np.True_, np.int64(1036))
    """
    if wanted >= n:
        return np.ones(stop - start, dtype=np.bool_)
    return mixed(np.arange(start, stop, dtype=np.uint64) + np.uint64(salt << 40)) < np.uint64(int(2.0**64 * wanted / n))


@dataclass(frozen=True)
class Tree:
    """Cuts: node i sends what lies beyond `border[i]` along `direction[i]` to `above[i]`, the rest to `below[i]`; -1 - leaf is a leaf."""

    direction: Array
    border: Array
    below: Indices
    above: Indices

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return len(self.border) + 1

    def leaf(self, Z: Array) -> Indices:
        """The leaf of each record.

        Examples
        --------
        >>> tree = grown(np.array([[0.0], [1.0], [2.0], [9.0]]), 4, 2)
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
    found: Array = np.einsum("ij,j->i", Z, direction)
    return found


def grown(sample: Array, n: int, size: int) -> Tree:
    """The tree for parts of about `size` of n records, of which `sample` is a sample."""
    directions: list[Array] = []
    border: list[float] = []
    below: list[int] = []
    above: list[int] = []
    leaves = 0
    share = n / max(1, len(sample))

    # (rows of the sample, number of parts they should become, the slot that must point to the node)
    waiting: list[tuple[Array, int, list[int] | None, int]] = [(sample, max(1, round(n / size)), None, 0)]
    while waiting:
        rows, pieces, slot, at = waiting.pop()
        cut = None
        if pieces > 1 and len(rows) * share > size and len(rows) > 1:
            direction = np.round(principal_direction(rows[:: max(1, len(rows) // SAMPLE)]), DECIMALS)
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
            waiting.append((rows[beyond], pieces - pieces // 2, above, target))
            waiting.append((rows[~beyond], pieces // 2, below, target))
        if slot is not None:
            slot[at] = target
    width = sample.shape[1]
    return Tree(
        np.array(directions).reshape(len(border), width),
        np.array(border, dtype=np.float64),
        np.array(below, dtype=np.int64),
        np.array(above, dtype=np.int64),
    )


def joined(counts: Indices, least: int) -> list[tuple[int, int]]:
    """Runs of leaves first..last that are parts of at least `least` records each.

    Examples
    --------
    >>> joined(np.array([5, 1, 0, 7, 2]), 3)
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
