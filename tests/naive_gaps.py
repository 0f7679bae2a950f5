"""Records with gaps as SPEC-2 section 18 defines them, slow and obvious: MDAV, what a group publishes, and the attacks."""

from __future__ import annotations

import math

import numpy as np

from tsveil.core.types import Array, Indices


def distance(a: Array, b: Array, apart: float) -> float:
    """The squared distance over the points that both have, scaled by T / (number of these)."""
    total, both = 0.0, 0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        if not (math.isnan(x) or math.isnan(y)):
            total += (x - y) * (x - y)
            both += 1
    return total * (len(a) / both) if both else apart


def twice_the_variances(Z: Array) -> float:
    """The squared distance of two records without a common point."""
    total = 0.0
    for column in Z.T:
        there = column[~np.isnan(column)]
        total += float(there.var()) if len(there) else 0.0
    return 2 * total


def mean_beside_gaps(rows: Array) -> Array:
    """The mean of each column over those that have a value."""
    found = np.full(rows.shape[1], np.nan)
    for t, column in enumerate(rows.T):
        total, count = 0.0, 0
        for x in column.tolist():
            if not math.isnan(x):
                total, count = total + x, count + 1
        if count:
            found[t] = total / count
    return found


def mdav(Z: Array, persons: Indices, k: int, apart: float, *, share: str = "bounded") -> Indices:
    """The group of each record; -1: suppressed."""
    labels = np.full(len(Z), -1)

    def left(without: Indices | None = None) -> Indices:
        rows = np.flatnonzero(labels < 0)
        return rows if without is None else np.setdiff1d(rows, without)

    def number(rows: Indices) -> int:
        return len(set(persons[rows].tolist()))

    def farthest(rows: Indices, point: Array) -> int:
        return int(rows[np.argmax([distance(Z[row], point, apart) for row in rows])])

    def around(seed: int, rows: Indices, most: int) -> Indices:
        far = [-1.0 if row == seed else distance(Z[row], Z[seed], apart) for row in rows]
        chosen: list[int] = []
        for row in rows[np.argsort(far, kind="stable")]:
            if persons[row] not in persons[chosen] and len(chosen) < most:
                chosen.append(int(row))
        return np.sort(chosen)

    def take(members: Indices) -> None:
        labels[members] = labels.max() + 1

    while number(left()) >= k:
        r = farthest(left(), mean_beside_gaps(Z[left()]))
        one = around(r, left(), k)
        if number(left(one)) < k:
            break
        two = around(farthest(left(one), Z[r]), left(one), k)
        if number(left(np.append(one, two))) < k:
            break
        take(one)
        take(two)
    while number(left()) >= k:
        one = around(farthest(left(), mean_beside_gaps(Z[left()])), left(), k)
        if number(left(one)) < k:
            break
        take(one)
    while number(left()) >= k:
        take(around(farthest(left(), mean_beside_gaps(Z[left()])), left(), number(left())))

    centres = [mean_beside_gaps(Z[labels == group]) for group in range(labels.max() + 1)]
    for row in left():
        distances = [distance(Z[row], centre, apart) for centre in centres]
        free = [g for g in range(len(centres)) if persons[row] not in persons[labels == g]]
        if not free and share == "told":
            free = list(range(len(centres)))
        if free:
            labels[row] = min(free, key=lambda g: (distances[g], g))
    return labels


def published(values: Array, persons: Indices, groups: Indices, k: int) -> Array:
    """What each record publishes: the mean of its group where enough persons have a value, and nothing elsewhere."""
    out = np.full(values.shape, np.nan)
    for group in set(groups[groups >= 0].tolist()):
        rows = groups == group
        for t in range(values.shape[1]):
            there = rows & ~np.isnan(values[:, t])
            if len(set(persons[there].tolist())) >= max(2, math.ceil(k / 2)):
                out[rows, t] = values[there, t].mean()
    return out


def share_lost(x: Array, y: Array) -> float:
    """100 SSE / SST over the values that the originals have; what is not published counts as the mean of its column."""
    lost = every = 0.0
    for before, after in zip(x.T, y.T, strict=True):
        there = ~np.isnan(before)
        if there.any():
            mean = before[there].mean()
            shown = np.where(np.isnan(after), mean, after)
            lost += float(np.square(before - shown)[there].sum())
            every += float(np.square(before - mean)[there].sum())
    return 100 * lost / every


def linked(known: Array, shown: Array, apart: float) -> Array:
    """The chance that each known record is linked to its own row, which is the one at the same place."""
    chances = np.zeros(len(known))
    for at, record in enumerate(known):
        far = np.array([distance(record, row, apart) for row in shown])
        tied = far == far.min()
        chances[at] = tied[at] / tied.sum()
    return chances


def linked_by_gaps(known: Array, shown: Array, full: Array, empty: Array) -> Array:
    """The same by the gaps alone: each column in which both have a value counts `full`, in which neither has `empty`."""
    chances = np.zeros(len(known))
    for at, record in enumerate(known):
        agree = np.zeros(len(shown))
        for t in range(known.shape[1]):
            gap = np.isnan(record[t])
            agree += np.where(np.isnan(shown[:, t]) == gap, empty[t] if gap else full[t], 0.0)
        tied = agree == agree.max()
        chances[at] = tied[at] / tied.sum()
    return chances
