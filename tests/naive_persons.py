"""MDAV with persons as SPEC-2 section 12 defines it, slow and obvious."""

from __future__ import annotations

import numpy as np

from naive import squared_distances
from tsveil.core.types import Array, Indices


def mean_of(rows: Array) -> Array:
    """The mean as it is published: x0 + mean(x - x0)."""
    total = np.zeros(rows.shape[1])
    for row in rows[1:]:
        total = total + (row - rows[0])
    return np.asarray(rows[0] + total / len(rows))


def mdav(Z: Array, persons: Indices, k: int, *, share: str = "bounded") -> Indices:
    """The group of each record; -1: suppressed."""
    labels = np.full(len(Z), -1)
    total = np.zeros(Z.shape[1])
    for row in Z:
        total = total + row

    def left(without: Indices | None = None) -> Indices:
        rows = np.flatnonzero(labels < 0)
        return rows if without is None else np.setdiff1d(rows, without)

    def number(rows: Indices) -> int:
        return len(set(persons[rows].tolist()))

    def farthest(rows: Indices, point: Array) -> int:
        return int(rows[np.argmax(squared_distances(Z[rows], point))])

    def around(seed: int, rows: Indices, most: int) -> Indices:
        """The first record of each person in the order (distance, index), until there are `most`."""
        chosen: list[int] = []
        for row in rows[np.argsort(squared_distances(Z[rows], Z[seed]), kind="stable")]:
            if persons[row] not in persons[chosen] and len(chosen) < most:
                chosen.append(int(row))
        return np.sort(chosen)

    def take(members: Indices) -> None:
        nonlocal total
        labels[members] = labels.max() + 1
        for member in members:
            total = total - Z[member]

    while number(left()) >= k:
        r = farthest(left(), total / len(left()))
        one = around(r, left(), k)
        if number(left(one)) < k:
            break
        two = around(farthest(left(one), Z[r]), left(one), k)
        if number(left(np.append(one, two))) < k:
            break
        take(one)
        take(two)
    while number(left()) >= k:
        one = around(farthest(left(), total / len(left())), left(), k)
        if number(left(one)) < k:
            break
        take(one)
    while number(left()) >= k:
        take(around(farthest(left(), total / len(left())), left(), number(left())))

    centres = [mean_of(Z[labels == group]) for group in range(labels.max() + 1)]
    for row in left():
        distances = [float(squared_distances(Z[[row]], centre)[0]) for centre in centres]
        free = [g for g in range(len(centres)) if persons[row] not in persons[labels == g]]
        if not free and share == "told":
            free = list(range(len(centres)))
        if free:
            labels[row] = min(free, key=lambda g: (distances[g], g))
    return labels
