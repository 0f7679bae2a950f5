"""Slow, obvious versions of the kernels: the definitions, nothing else."""

from __future__ import annotations

import numpy as np

from tsveil.core.types import Array, Indices


def squared_distances(Z: Array, point: Array) -> Array:
    """Squared distances of all rows to a point, summed in the order of the columns."""
    total = np.zeros(len(Z))
    for j in range(Z.shape[1]):
        total += (Z[:, j] - point[j]) ** 2
    return total


def mdav(Z: Array, k: int, variant: str = "standard") -> Indices:
    """MDAV as SPEC section 2 defines it: labels in the order of formation."""
    labels = np.full(len(Z), -1)
    total = np.zeros(Z.shape[1])
    for row in Z:
        total = total + row

    def left() -> Indices:
        return np.flatnonzero(labels < 0)

    def farthest(point: Array) -> int:
        rows = left()
        return int(rows[np.argmax(squared_distances(Z[rows], point))])  # argmax takes the first of equals

    def take(members: Indices) -> None:
        nonlocal total
        labels[members] = labels.max() + 1
        for member in np.sort(members):
            total = total - Z[member]

    def take_around(seed: int) -> None:
        others = left()[left() != seed]
        nearest = np.argsort(squared_distances(Z[others], Z[seed]), kind="stable")[: k - 1]
        take(np.append(others[nearest], seed))

    if variant == "paper":
        while len(left()) > k:
            r = farthest(total / len(left()))
            take_around(r)
            if len(left()) > k:
                take_around(farthest(Z[r]))
    else:
        while len(left()) >= 3 * k:
            r = farthest(total / len(left()))
            take_around(r)
            take_around(farthest(Z[r]))
        if len(left()) >= 2 * k:
            take_around(farthest(total / len(left())))
    if len(left()):
        take(left())
    return labels


def series_links(original: list[Array], released: list[Array], distance: str) -> tuple[Indices, Indices, Indices]:
    """Time series linkage by looking at every pair: size of the tie, lowest row tied, own row tied or not."""
    n = len(original[0])
    tied, link, hit = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        total = np.zeros(n)
        for a, b in zip(original, released, strict=True):
            if distance == "sts":
                a, b = np.diff(a, axis=1), np.diff(b, axis=1)
            total += np.sqrt(squared_distances(b, a[i]))
        best = np.flatnonzero(total == total.min())
        tied[i], link[i], hit[i] = len(best), best[0], i in best
    return tied, link, hit
