"""Groups that continue those of an earlier release, against their definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cases import cases
from naive_continuing import continued
from tsveil.core.types import Array, Indices
from tsveil.protect.continuing import Earlier, continued_groups
from tsveil.protect.univariate import least_sse_groups

#: the means of up to 16 multiples of it are whole numbers, so that equal distances are equal however they are summed
WHOLE = 720720.0


def grouping(Z: Array, k: int) -> tuple[Callable[[Indices], Indices], Callable[[list[int]], list[list[int]]]]:
    """A method's own grouping, for the fast version and for the twin."""

    def make(rows: Indices) -> Indices:
        return least_sse_groups(Z[rows, 0], k)

    def lists(rows: list[int]) -> list[list[int]]:
        labels = make(np.array(rows))
        return [[rows[at] for at in np.flatnonzero(labels == label)] for label in range(labels.max() + 1)]

    return make, lists


@pytest.mark.parametrize("seed", range(cases(200, 4000)))
def test_groups_follow_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 5)), int(rng.integers(4, 40))
    n = max(n, k)
    whole = seed % 3 == 0  # ties, duplicates and constants
    Z: Array = rng.normal(size=(n, 2)) * 10.0 ** float(rng.integers(-6, 7))
    if whole:
        Z = rng.integers(0, 4, (n, 2)).astype(np.float64) * WHOLE
    old = rng.integers(-1, max(1, n // (k + 1)), n)
    histories = rng.integers(-1, 4, n) if seed % 2 else None
    make, lists = grouping(Z, k)
    found = continued_groups(Z, Earlier(old, histories), np.arange(n), k, make)
    groups = [set(np.flatnonzero(found == group).tolist()) for group in range(found.max() + 1)]
    wanted = continued(Z, old.tolist(), None if histories is None else histories.tolist(), k, lists)
    assert sorted(map(sorted, groups)) == sorted(map(sorted, wanted))
    assert min(map(len, groups)) >= k
    assert (found >= 0).all()


@pytest.mark.parametrize("seed", range(cases(60, 1000)))
def test_no_group_gets_two_records_of_a_person(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, many = int(rng.integers(2, 4)), int(rng.integers(6, 14))
    persons = np.sort(rng.integers(0, many, 3 * many))
    persons = np.unique(persons, return_inverse=True)[1]
    if persons.max() + 1 < k:
        return
    Z = rng.normal(size=(len(persons), 2))
    old = np.full(len(persons), -1)
    for person in range(persons.max() + 1):
        own = np.flatnonzero(persons == person)
        old[own] = rng.permutation(6)[: len(own)] if len(own) <= 6 else -1

    def make(rows: Indices) -> Indices:
        """One record of each person in each group, the first group with as many persons as there are."""
        turns = np.zeros(len(rows), dtype=np.int64)
        seen: dict[int, int] = {}
        for at, row in enumerate(rows.tolist()):
            turns[at] = seen.setdefault(int(persons[row]), 0)
            seen[int(persons[row])] += 1
        sizes = np.bincount(turns)
        return np.where((sizes >= k)[turns], turns, -1)

    found = continued_groups(Z, Earlier(old), persons, k, make)
    kept = found >= 0
    pairs = list(zip(found[kept].tolist(), persons[kept].tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert np.bincount(found[kept]).min() >= k


def test_who_stayed_stays_together() -> None:
    Z = np.array([[0.0], [100.0], [1.0], [101.0]])
    found = continued_groups(
        Z, Earlier(np.array([3, 3, 5, 5])), np.arange(4), 2, lambda rows: np.zeros(len(rows), np.int64)
    )
    assert found.tolist() == [0, 0, 1, 1]


def test_a_large_group_is_parted_and_its_histories_are_not() -> None:
    Z = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    make, _ = grouping(Z, 2)
    old = np.zeros(6, dtype=np.int64)
    assert continued_groups(Z, Earlier(old), np.arange(6), 2, make).tolist() == [0, 0, 0, 1, 1, 1]
    apart = np.array([0, 1, 0, 1, 0, 1])
    assert continued_groups(Z, Earlier(old, apart), np.arange(6), 2, make).tolist() == [0, 1, 0, 1, 0, 1]
