"""(n,l,k)-anonymity by its definition, and the paper's stage 1 and splitting, slow and obvious."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tsveil.core.types import AnyArray, Array, Indices


def clusters(Y: AnyArray) -> list[list[frozenset[int]]]:
    """cluster(f, t): the series with the same published value at t."""
    rows = np.asarray(Y).tolist()
    points = range(len(rows[0]))
    by_value: list[dict[object, set[int]]] = [{} for _ in points]
    for f, row in enumerate(rows):
        for t in points:
            by_value[t].setdefault(row[t], set()).add(f)
    sets = [{value: frozenset(members) for value, members in at.items()} for at in by_value]
    return [[sets[t][row[t]] for t in points] for row in rows]


def inferred(cluster: list[list[frozenset[int]]], f: int, known: tuple[int, ...], k: int) -> tuple[int, ...]:
    """The points that an intruder infers who knows the values of f at some points."""
    candidates = frozenset.intersection(*(cluster[f][t] for t in known))
    points = (t for t in range(len(cluster[f])) if t not in known)
    return tuple(t for t in points if len(frozenset().union(*(cluster[g][t] for g in candidates))) < k)


def attack_on(
    cluster: list[list[frozenset[int]]], f: int, n: int, l: int, k: int
) -> tuple[tuple[int, ...], ...] | None:
    """The first known points of f that give away l-n others, and these; or None."""
    # Points are inferred only where f's own cluster is small; with too few of them no knowledge helps.
    if sum(len(members) < k for members in cluster[f]) >= l - n:
        for known in combinations(range(len(cluster[f])), n):
            found = inferred(cluster, f, known, k)
            if len(found) >= l - n:
                return known, found
    return None


def attack(Y: AnyArray, n: int, l: int, k: int) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    """The first series, known points and inferred points that violate (n,l,k)-anonymity, or None."""
    cluster = clusters(Y)
    for f in range(len(cluster)):
        found = attack_on(cluster, f, n, l, k)
        if found is not None:
            return f, found[0], found[1]
    return None


def stage1(x: Array, k: int) -> list[list[int]]:
    """The groups of one time point: gaps in descending order, leftmost first, cut where both sides keep k."""
    order = sorted(range(len(x)), key=lambda i: (x[i], i))
    gaps = sorted(range(1, len(x)), key=lambda p: (-(x[order[p]] - x[order[p - 1]]), p))
    segments = [(0, len(x))]
    for p in gaps:
        a, b = next((a, b) for a, b in segments if a <= p < b)
        if x[order[p]] > x[order[p - 1]] and p - a >= k and b - p >= k:
            segments.remove((a, b))
            segments += [(a, p), (p, b)]
    return [order[a:b] for a, b in sorted(segments)]


def cost(x: Array, representative: str = "mean") -> float:
    """What a cluster loses: the sum of the distances to what is published instead."""
    centre = np.mean(x) if representative == "mean" else np.median(x)
    return float(np.abs(x - centre).sum())


def cuts_in_order(X: Array, k: int, heuristic: str) -> list[tuple[int, int]]:
    """The cuts of stage 2 as (time, position in the sorted order), in the order in which a heuristic tries them."""
    found = []  # time, first position, values of the cluster
    for t in range(X.shape[1]):
        at = 0
        for group in stage1(X[:, t], k):
            found.append((t, at, X[group, t]))
            at += len(group)
    if heuristic == "mth":
        found.sort(key=lambda c: (-np.ptp(c[2]) * len(c[2]), c[0], c[1]))
    else:
        of_time = [sum(cost(x) for s, _, x in found if s == t) for t in range(X.shape[1])]
        found.sort(key=lambda c: (-of_time[c[0]], c[0], -cost(c[2]), c[1]))
    return [
        (t, a + p)
        for t, a, x in found
        for p in sorted(range(1, len(x)), key=lambda p, x=x: (-(x[p] - x[p - 1]), p))  # type: ignore[misc]
        if x[p] > x[p - 1]
    ]


def decisions(
    X: Array, n: int, l: int, k: int, cuts: list[tuple[int, int]], smallest: int = 1, *, counting: bool = False
) -> tuple[list[bool], Indices]:
    """Try these cuts one after the other; whether each was accepted, and the clusters in the end (series by time).

    By counting, a cut is accepted if no series has l-n small cells then, whether or not anybody could use them.
    """
    order = [sorted(range(len(X)), key=lambda i, t=t: (X[i, t], i)) for t in range(X.shape[1])]  # type: ignore[misc]
    labels = np.empty(X.shape, dtype=np.int64)
    for t in range(X.shape[1]):
        for number, group in enumerate(stage1(X[:, t], k)):
            labels[group, t] = number
    accepted = []
    for t, p in cuts:
        members = [g for g in order[t] if labels[g, t] == labels[order[t][p], t]]
        right = [g for g in members if order[t].index(g) >= p]
        after = labels.copy()
        after[right, t] = labels[:, t].max() + 1
        harmless = most_small_cells(after, k) < l - n if counting else attack(after, n, l, k) is None
        good = min(len(right), len(members) - len(right)) >= smallest and harmless
        accepted.append(good)
        if good:
            labels = after
    return accepted, labels


def most_small_cells(labels: AnyArray, k: int) -> int:
    """The largest number of cells of a series that fewer than k series share."""
    return max(sum(int((labels[:, t] == row[t]).sum()) < k for t in range(labels.shape[1])) for row in labels)


def best_cuts(X: Array, n: int, l: int, k: int) -> Indices:
    """GPE: always the cut that saves most loss per cell that becomes small; the clusters in the end (series by time)."""
    N, T = X.shape
    order = [sorted(range(N), key=lambda i, t=t: (X[i, t], i)) for t in range(T)]  # type: ignore[misc]
    segments = [[list(group) for group in stage1(X[:, t], k)] for t in range(T)]
    refused: set[tuple[int, int]] = set()

    def labels() -> Indices:
        out = np.empty((N, T), dtype=np.int64)
        for t in range(T):
            for number, group in enumerate(segments[t]):
                out[group, t] = number
        return out

    while True:
        rated = []
        for t in range(T):
            for number, group in enumerate(segments[t]):
                for p in range(1, len(group)):
                    left, right = group[:p], group[p:]
                    place = order[t].index(right[0])
                    if X[left[-1], t] == X[right[0], t] or (t, place) in refused:
                        continue
                    saved = cost(X[group, t]) - cost(X[left, t]) - cost(X[right, t])
                    cells = sum(len(part) for part in (left, right) if len(part) < k) if len(group) >= k else 0
                    if saved > 0:
                        rated.append((-saved / max(1, cells), t, place, number, left, right))
        if not rated:
            return labels()
        _, t, place, number, left, right = min(rated)
        before = segments[t]
        segments[t] = [*before[:number], left, right, *before[number + 1 :]]
        if attack(labels(), n, l, k) is not None:
            segments[t] = before
            refused.add((t, place))


def least_loss_groups(x: Array, k: int, representative: str = "mean") -> float:
    """The least loss of cutting sorted values into runs of k to 2k-1: every way is tried."""
    x = np.sort(x)
    if len(x) == 0:
        return 0.0
    ways = [
        cost(x[:size], representative) + least_loss_groups(x[size:], k, representative)
        for size in range(k, min(2 * k - 1, len(x)) + 1)
        if len(x) - size == 0 or len(x) - size >= k
    ]
    return min(ways, default=float("inf"))


def singled_out(Y: AnyArray, f: int, known: tuple[int, ...]) -> bool:
    """Whether these known points leave no other series than f."""
    Y = np.asarray(Y)
    return int((Y[:, list(known)] == Y[f, list(known)]).all(axis=1).sum()) == 1


# -- series with values at different times: an empty cell is NaN ----------------------------------------------------------


def attack_at_times(Y: Array, n: int, l: int, k: int) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    """The first series, known points and inferred points that violate the promise, where the times of a series are known; or None."""
    times = [frozenset(t for t, value in enumerate(row) if value == value) for row in Y.tolist()]

    def cluster(g: int, t: int) -> set[int]:
        return {h for h in range(len(Y)) if Y[h, t] == Y[g, t]}

    for f in range(len(Y)):
        for size in range(n + 1):
            for known in combinations(sorted(times[f]), size):
                candidates = [
                    g for g in range(len(Y)) if times[g] == times[f] and all(Y[g, t] == Y[f, t] for t in known)
                ]
                others = sorted(times[f] - set(known))
                found = tuple(t for t in others if len(set().union(*(cluster(g, t) for g in candidates))) < k)
                if len(found) >= l - n:
                    return f, known, found
    return None


def singled_out_at_times(Y: Array, f: int, known: tuple[int, ...]) -> bool:
    """The same for an intruder who knows all times of f, and the values at some of them."""
    alike = [row for row in Y.tolist() if all((a == a) == (b == b) for a, b in zip(row, Y[f].tolist(), strict=True))]
    return sum(all(row[t] == Y[f, t] for t in known) for row in alike) == 1


def digits(text: str) -> Indices:
    """A table from one word per series, a digit per point."""
    return np.array([[int(c) for c in word] for word in text.split()], dtype=np.int64)


#: table, (n, l, k), the attack or None
VECTORS: list[tuple[str, tuple[int, int, int], bool]] = [
    ("000 000 001 001 100 101", (2, 3, 6), True),
    ("000 000 000 000 101 101", (2, 3, 6), False),
    ("000 000 001 001 110 111", (2, 3, 6), False),
    ("110 010 010", (1, 2, 2), True),
    ("102 002 002 000", (1, 3, 2), True),
    ("011 001 010 000", (1, 3, 3), True),
    ("00 01 12 13", (1, 2, 3), False),
    ("00 01 10 11", (1, 2, 3), True),
    ("410 112 411 402 312", (2, 3, 2), False),
    ("00210 13020 00230 10000 03030 10220", (2, 3, 2), False),
    ("0010 1200 2201 1212 2011 0100 1000 0211 1101 1112 2112 2102", (2, 4, 4), False),
]
