"""Slow, obvious versions of microaggregation, aggregation functions and their measures: the definitions, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from tsveil.core.types import Array, Indices

Groups = list[list[int]]


# -- microaggregation -------------------------------------------------------------------------------------------------


def exact_sse(x: Array, groups: Groups) -> Fraction:
    """The sum of squared errors of (records, columns) in rational numbers: no rounding at all."""
    total = Fraction(0)
    for members in groups:
        for column in x.T:
            values = [Fraction(float(column[i])) for i in members]
            mean = sum(values, Fraction(0)) / len(values)
            total += sum(((v - mean) * (v - mean) for v in values), Fraction(0))
    return total


def as_groups(labels: Indices) -> Groups:
    """The members of each group."""
    return [np.flatnonzero(labels == g).tolist() for g in sorted(set(labels.tolist()))]


def all_cuts(n: int, k: int, start: int = 0) -> Iterator[Groups]:
    """Every way to cut start .. n-1 into consecutive groups of at least k."""
    if start == n:
        yield []
    for stop in range(start + k, n + 1):
        for rest in all_cuts(n, k, stop):
            yield [list(range(start, stop)), *rest]


def all_partitions(n: int, k: int) -> Iterator[Groups]:
    """Every way to part 0 .. n-1 into groups of at least k, neighbours or not."""

    def place(i: int, groups: Groups) -> Iterator[Groups]:
        if i == n:
            if all(len(g) >= k for g in groups):
                yield [list(g) for g in groups]
            return
        for g in groups:
            g.append(i)
            yield from place(i + 1, groups)
            g.pop()
        yield from place(i + 1, [*groups, [i]])

    return place(0, [])


def least_sse(x: Array, k: int) -> Fraction:
    """The least sum of squared errors of all cuts of these ordered records."""
    return min(exact_sse(x, groups) for groups in all_cuts(len(x), k))


def mic1d(x: Array, kappa: int) -> Array:
    """Mic1D step by step on lists."""
    places = [(i, j) for j in range(x.shape[1]) for i in range(x.shape[0])]
    places.sort(key=lambda place: float(x[place]))  # stable, so column after column among equals
    out = np.empty_like(x)
    normalised = []
    for a in range(0, len(places), kappa):
        chunk = places[a : a + kappa]
        low, high = float(x[chunk[0]]), float(x[chunk[-1]])
        normalised += [((float(x[p]) - low) / (high - low) if high > low else 0.5, low, high, p) for p in chunk]
    normalised.sort(key=lambda entry: entry[0])
    for a in range(0, len(normalised), kappa):
        entries = normalised[a : a + kappa]
        mean = sum(entry[0] for entry in entries) / len(entries)
        for _, low, high, p in entries:
            out[p] = low + mean * (high - low)
    return out


# -- measures ---------------------------------------------------------------------------------------------------------


def sse(X: Array, X2: Array, form: str) -> float:
    """Cell by cell."""
    total = 0.0
    for a, b in zip(X.T, X2.T, strict=True):
        for i in range(len(a)):
            if form == "printed":
                u = (a[i] - a.min()) / (a.max() - a.min()) if a.max() > a.min() else 0.0
                v = (b[i] - b.min()) / (b.max() - b.min()) if b.max() > b.min() else 0.0
                total += (u - v) ** 2
            elif a.max() > a.min():
                total += ((a[i] - b[i]) / a.std()) ** 2
    return float(total)


def distinct_rows(rows: Array) -> int:
    """The number of different rows."""
    return len({tuple(row) for row in rows.tolist()})


def own_links(X: Array, X2: Array) -> tuple[Indices, Array]:
    """Distance linkage, each file standardised by itself: the first nearest protected record, and 1/t for a tie of t with the own."""
    a, b = ((file - file.mean(0)) / np.where(file.std(0) > 0, file.std(0), 1.0) for file in (X, X2))
    first, chance = np.empty(len(a), dtype=np.int64), np.zeros(len(a))
    for i in range(len(a)):
        distance = ((b - a[i]) ** 2).sum(axis=1)
        near = np.flatnonzero(distance <= distance.min() + 1e-12)
        first[i] = int(np.argmin(distance))
        chance[i] = 1 / len(near) if i in near else 0.0
    return first, chance


# -- aggregation functions --------------------------------------------------------------------------------------------

SetFunction = Callable[[frozenset[int]], float]


def symmetric(Q: Callable[[float], float], N: int) -> SetFunction:
    """mu(A) = Q(|A|/N)."""
    return lambda A: Q(len(A) / N)


def owa(a: Sequence[float], Q: Callable[[float], float]) -> float:
    """Definition 2."""
    N = len(a)
    return sum((Q(i / N) - Q((i - 1) / N)) * value for i, value in enumerate(sorted(a, reverse=True), 1))


def _chain(a: Sequence[float]) -> tuple[list[float], list[frozenset[int]]]:
    order = sorted(range(len(a)), key=lambda j: a[j])
    return [a[j] for j in order], [frozenset(order[i:]) for i in range(len(a) + 1)]


def choquet(a: Sequence[float], mu: SetFunction) -> float:
    """Definition 3."""
    f, A = _chain(a)
    return sum((f[i] - (f[i - 1] if i else 0.0)) * mu(A[i]) for i in range(len(f)))


def sugeno(a: Sequence[float], mu: SetFunction) -> float:
    """Definition 4."""
    f, A = _chain(a)
    return max(min(f[i], mu(A[i])) for i in range(len(f)))


def twofold(a: Sequence[float], mu_S: SetFunction, mu_C: SetFunction) -> float:
    """Definition 6."""
    f, A = _chain(a)
    return sum(max(min(f[j], mu_S(A[j])) for j in range(i + 1)) * (mu_C(A[i]) - mu_C(A[i + 1])) for i in range(len(f)))
