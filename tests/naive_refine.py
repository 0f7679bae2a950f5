"""What the refined groups are compared with: sums of squared errors from their definition, and the best of all groupings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tsveil.core.types import Array, Indices


def sse(Z: Array, groups: Indices) -> float:
    """The squared distances of all records to their group's mean."""
    return float(sum(((Z[groups == g] - Z[groups == g].mean(axis=0)) ** 2).sum() for g in np.unique(groups)))


def groupings(n: int, k: int) -> Iterator[list[int]]:
    """Every way to put n records into groups of at least k."""

    def extend(labels: list[int], sizes: list[int]) -> Iterator[list[int]]:
        if sum(max(0, k - size) for size in sizes) > n - len(labels):
            return
        if len(labels) == n:
            yield labels
            return
        for g in range(len(sizes)):
            yield from extend([*labels, g], [*sizes[:g], sizes[g] + 1, *sizes[g + 1 :]])
        yield from extend([*labels, len(sizes)], [*sizes, 1])

    yield from extend([], [])


def optimum(Z: Array, k: int) -> float:
    """The smallest sum of squared errors that groups of at least k can have."""
    return min(sse(Z, np.array(labels)) for labels in groupings(len(Z), k))
