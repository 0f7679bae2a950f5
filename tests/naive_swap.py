"""Slow, obvious versions of rank swapping and of attribute grouping: the definitions, nothing else.

Partners are lists: partner[i] is the rank that rank i trades places with, i itself when it keeps its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from tsveil.core.types import Array

#: who swaps with whom -> the probability of it
Chances = dict[tuple[int, ...], Fraction]
TRIES = 200


def _swap(partner: list[int | None], i: int, other: int) -> None:
    partner[i], partner[other] = other, i


def _settled(partner: list[int | None]) -> list[int]:
    return [i if other is None else other for i, other in enumerate(partner)]


# -- one random result ------------------------------------------------------------------------------------------------


def window_sample(n: int, w: int, rng: np.random.Generator) -> list[int]:
    """A uniformly random free partner within the next w ranks."""
    partner: list[int | None] = [None] * n
    for i in range(n):
        if partner[i] is None:
            free = [rank for rank in range(i + 1, min(i + w, n - 1) + 1) if partner[rank] is None]
            if free:
                _swap(partner, i, int(rng.choice(free)))
    return _settled(partner)


def once_sample(n: int, w: int, rng: np.random.Generator) -> list[int]:
    """A uniformly random one of the next w ranks; whose draw is taken keeps its place."""
    partner: list[int | None] = [None] * n
    for i in range(n - 1):
        if partner[i] is None:
            other = int(rng.integers(i + 1, min(i + w, n - 1) + 1))
            if partner[other] is None:
                _swap(partner, i, other)
    return _settled(partner)


def normal_sample(n: int, w: int, normals: Iterator[float]) -> list[int]:
    """Partner i + round(N(w/2, w/2)), from standard normal draws; the nearest free higher rank after 200 failures."""
    partner: list[int | None] = [None] * n
    for i in range(n):
        if partner[i] is not None:
            continue
        for _ in range(TRIES):
            other = i + round(w / 2 + w / 2 * next(normals))
            if 0 <= other < n and other != i and partner[other] is None:
                _swap(partner, i, other)
                break
        else:
            free = [rank for rank in range(i + 1, n) if partner[rank] is None]
            if free:
                _swap(partner, i, free[0])
    return _settled(partner)


def bucket_sample(n: int, buckets: int, rng: np.random.Generator) -> list[int]:
    """A bucket by its probability, then a free partner in it; both drawn again up to 200 times."""
    partner: list[int | None] = [None] * n
    own = bucket_numbers(n, buckets)
    for i in range(n):
        if partner[i] is not None:
            continue
        above = np.arange(own[i], buckets)
        weights = 0.5 ** (above - own[i] + 1)
        for _ in range(TRIES):
            s = rng.choice(above, p=weights / weights.sum())
            free = [rank for rank in range(i + 1, n) if own[rank] == s and partner[rank] is None]
            if free:
                _swap(partner, i, int(rng.choice(free)))
                break
    return _settled(partner)


def bucket_numbers(n: int, buckets: int) -> list[int]:
    """The bucket of each rank; bucket b starts at floor(b n / buckets)."""
    return [max(b for b in range(buckets) if b * n // buckets <= rank) for rank in range(n)]


# -- all results with their probabilities -----------------------------------------------------------------------------


def window_chances(n: int, w: int) -> Chances:
    """The probability of every possible result."""

    def chances(i: int, partner: list[int | None]) -> dict[int, Fraction]:
        free = [rank for rank in range(i + 1, min(i + w, n - 1) + 1) if partner[rank] is None]
        return {rank: Fraction(1, len(free)) for rank in free}

    return _all(n, chances)


def once_chances(n: int, w: int) -> Chances:
    """The probability of every possible result when a value whose draw is taken keeps its place."""
    found: Chances = defaultdict(Fraction)

    def go_on(i: int, partner: list[int | None], chance: Fraction) -> None:
        if i == n:
            found[tuple(_settled(partner))] += chance
        elif partner[i] is not None:
            go_on(i + 1, partner, chance)
        else:
            window = range(i + 1, min(i + w, n - 1) + 1)
            for rank in window:
                after = list(partner)
                if partner[rank] is None:
                    _swap(after, i, rank)
                go_on(i + 1, after, chance / len(window))
            if not window:
                go_on(i + 1, partner, chance)

    go_on(0, [None] * n, Fraction(1))
    return dict(found)


def bucket_chances(n: int, buckets: int) -> Chances:
    """The probability of every possible result when draws are repeated until they succeed."""
    own = bucket_numbers(n, buckets)

    def chances(i: int, partner: list[int | None]) -> dict[int, Fraction]:
        free = {
            s: [rank for rank in range(i + 1, n) if own[rank] == s and partner[rank] is None]
            for s in range(own[i], buckets)
        }
        weight = {s: Fraction(1, 2 ** (s - own[i] + 1)) for s, ranks in free.items() if ranks}
        total = sum(weight.values())
        return {rank: weight[s] / total / len(free[s]) for s in weight for rank in free[s]}

    return _all(n, chances)


def _all(n: int, chances: Callable[[int, list[int | None]], dict[int, Fraction]]) -> Chances:
    found: Chances = defaultdict(Fraction)

    def visit(i: int, partner: list[int | None], chance: Fraction) -> None:
        if i == n:
            found[tuple(_settled(partner))] += chance
            return
        options = chances(i, partner) if partner[i] is None else {}
        if not options:
            visit(i + 1, partner, chance)
        for other, share in options.items():
            after = list(partner)
            _swap(after, i, other)
            visit(i + 1, after, chance * share)

    visit(0, [None] * n, Fraction(1))
    return dict(found)


# -- grouping ---------------------------------------------------------------------------------------------------------


def families(r: Array, size: int) -> list[list[int]]:
    """Lists of `size` attributes: the strongest unused pair, then the strongest with the list; the rest is the last list."""
    r = np.abs(r).round(12)
    unused = list(range(len(r)))
    found = []
    while unused:
        if size == 1 or len(unused) == 1:
            family = unused[:1]
        else:
            strongest = max(r[a, b] for a, b in combinations(unused, 2))
            family = next([a, b] for a, b in combinations(unused, 2) if r[a, b] == strongest)
        unused = [a for a in unused if a not in family]
        while unused and len(family) < size:
            best = max(unused, key=lambda a: round(float(np.mean([r[a, b] for b in family])), 12))
            family.append(best)
            unused.remove(best)
        found.append(family)
    return found
