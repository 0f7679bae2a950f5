"""Counts of labels and of pairs of labels, and how far a published table of them is from the original one.

A table is kept by what occurs in it: a row of places and a row of counts, whole numbers that chunks add without rounding. A published node that stands above
several labels counts as an equal share of each label below it (`attack.labels`). Those shares are never written out; they are asked for at the places
that occur in the original, for the half sum of absolute differences is

    1/2 sum |n - s| = 1/2 (sum over the places with n > 0 of (|n - s| - s), plus the sum of all s)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tsveil.attack.labels import below, ways
from tsveil.core.types import Array, Indices
from tsveil.data.categories import Categories

#: tables with at most this many places are counted place by place
DENSE = 2**22


def counted(places: Indices, many: int) -> Indices:
    """The table of some places below `many`.

    Examples
    --------
    >>> counted(np.array([3, 0, 3]), 5)
    array([[0, 3],
           [1, 2]])
    """
    if many <= DENSE:
        counts = np.bincount(places)
        at = np.flatnonzero(counts)
        return np.stack([at, counts[at]])
    return np.stack(np.unique(places, return_counts=True)).astype(np.int64)


def merged(tables: Iterable[Indices]) -> Indices:
    """The sum of some tables."""
    places, counts = np.concatenate(list(tables), axis=1)
    found, which = np.unique(places, return_inverse=True)
    total = np.zeros(len(found), dtype=np.int64)
    np.add.at(total, which, counts)
    return np.stack([found, total])


@dataclass(frozen=True, eq=False)
class Shares:
    """What published nodes count for each label: the nodes that stand above it and itself, and the share of each that is its own."""

    nodes: Indices
    share: Array
    #: the number of all nodes
    many: int

    @classmethod
    def of(cls, categories: Categories) -> Shares:
        """Those of a column.

        Examples
        --------
        >>> found = Shares.of(Categories("nominal", ("flat", "house")))
        >>> found.nodes.tolist(), found.share.tolist()
        ([[2, 0], [2, 1]], [[0.5, 1.0], [0.5, 1.0]])
        """
        return _shares(categories)

    def of_column(self, labels: Indices, table: Indices) -> Array:
        """What a published table of one column counts for some labels."""
        every = np.zeros(self.many)
        every[table[0]] = table[1]
        found: Array = (every[self.nodes[labels]] * self.share[labels]).sum(axis=1)
        return found


@lru_cache(maxsize=256)
def _shares(categories: Categories) -> Shares:
    many = len(ways(categories))
    nodes = categories.paths[: categories.leaves]
    if categories.kind == "ordinal":  # an order has no nodes above its labels
        return Shares(nodes[:, 1:], np.ones((len(nodes), 1)), many)
    first = np.ones(nodes.shape, dtype=np.bool_)
    first[:, 1:] = nodes[:, 1:] != nodes[:, :-1]
    return Shares(nodes, np.where(first, 1 / np.maximum(below(categories)[nodes], 1), 0.0), many)


def of_pairs(one: Indices, other: Indices, table: Indices, first: Shares, second: Shares) -> Array:
    """What a published table of two columns counts for some pairs of labels; the place of two nodes is first * many + second."""
    found = np.zeros(len(one))
    for t in range(first.nodes.shape[1]):
        for u in range(second.nodes.shape[1]):
            share = first.share[one, t] * second.share[other, u]
            found += share * at_places(table, first.nodes[one, t] * second.many + second.nodes[other, u])
    return found


def at_places(table: Indices, places: Indices) -> Indices:
    """The counts at some places; 0 where the table has none."""
    if not table.shape[1]:
        return np.zeros(len(places), dtype=np.int64)
    at = np.minimum(np.searchsorted(table[0], places), table.shape[1] - 1)
    return np.asarray(np.where(table[0][at] == places, table[1][at], 0))


def half_difference(counts: Indices | Array, shares: Array, total: float) -> float:
    """Half the sum of absolute differences, from the counts that are not 0, what stands there in the other table, and the sum of all of that."""
    return float((np.abs(counts - shares) - shares).sum() + total) / 2


def difference_of_columns(before: Indices, after: Indices, categories: Categories) -> float:
    """The share of the records, in percent, that would have to change their label so that two tables of one column are equal.

    Examples
    --------
    >>> homes = Categories("nominal", ("flat", "house"))
    >>> difference_of_columns(np.array([[0, 1], [3, 1]]), np.array([[1, 2], [1, 3]]), homes)
    37.5
    """
    shares = Shares.of(categories).of_column(before[0], after)
    return 100 * half_difference(before[1], shares, float(after[1].sum())) / int(before[1].sum())


def difference_of_pairs(before: Indices, after: Indices, one: Categories, other: Categories) -> float:
    """The same of two tables of two columns."""
    first, second = Shares.of(one), Shares.of(other)
    left, right = np.divmod(before[0], second.many)
    shares = of_pairs(left, right, after, first, second)
    return 100 * half_difference(before[1], shares, float(after[1].sum())) / int(before[1].sum())


def entropy(counts: Indices) -> float:
    """The entropy of some counts in bits.

    Examples
    --------
    >>> entropy(np.array([2, 2])), entropy(np.array([4]))
    (1.0, 0.0)
    """
    share = counts[counts > 0] / int(counts.sum())
    return float(-(share * np.log2(share)).sum()) + 0.0
