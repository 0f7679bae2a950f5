"""Histories of persons over several releases: composed k holds, by counting and against an intruder who tries every assignment."""

from __future__ import annotations

import random

import numpy as np
import pytest

import naive_histories as naive
from cases import cases
from tsveil.transform.histories import NOTHING, continue_histories, history_sizes


def random_history(chance: random.Random, n: int, releases: int, k: int) -> list[list[int | None]]:
    """Groups of k or more persons in each release, some kept from the last one; persons come, go and come back."""
    found: list[list[int | None]] = []
    groups = [chance.randrange(max(n // k, 1)) for _ in range(n)]
    for _ in range(releases):
        churn = chance.choice([0.0, 0.1, 0.3])
        if chance.random() < 0.3:
            groups = [chance.randrange(max(n // k, 1)) for _ in range(n)]
        for person in range(n):
            if chance.random() < churn:
                groups[person] = chance.randrange(max(n // k, 1))
        found.append([None if chance.random() < churn else groups[person] for person in range(n)])
    return found


def kept(planned: list[list[int | None]], k: int) -> list[list[int | None]]:
    """What is published of planned releases, by the rule; the fast version must agree with the slow one on the way."""
    n, past = len(planned[0]), list[list[int | None]]()
    history = np.full(n, NOTHING)
    for now in planned:
        gone = naive.withheld(past, now, k)
        entry = np.array([NOTHING if one is None else one for one in now])
        found = continue_histories(history, entry, k)
        assert set(np.flatnonzero(found.withheld).tolist()) == gone
        past.append([None if person in gone else entry for person, entry in enumerate(now)])
        history = found.history
        names = naive.histories(past)
        for a in range(n):
            for b in range(n):
                assert (names[a] == names[b]) == (history[a] == history[b])
        sizes = history_sizes(history)
        assert [int(size) for size in sizes] == [
            0 if all(one is None for one in name) else names.count(name) for name in names
        ]
    return past


@pytest.mark.parametrize("case", range(cases(300, 10_000)))
def test_composed_k_holds_whatever_happens(case: int) -> None:
    chance = random.Random(case)
    k = chance.randint(2, 4)
    n = chance.randint(k, 14)
    published = kept(random_history(chance, n, chance.randint(1, 4), k), k)
    smallest = naive.composed_k(published)
    assert smallest is None or smallest >= k


@pytest.mark.parametrize("case", range(cases(40, 400)))
def test_who_knows_everything_else_proves_no_value(case: int) -> None:
    chance = random.Random(case)
    k = chance.randint(2, 3)
    n = chance.randint(k, 7)
    published = kept(random_history(chance, n, chance.randint(2, 4), k), k)
    assert naive.proved(published, [f"v{person}" for person in range(n)]) == set()


def test_without_the_rule_the_intruder_proves_a_value() -> None:
    """Ten persons, and then nine of them: what is missing is known."""
    releases: list[list[int | None]] = [[0] * 6, [0] * 5 + [None]]
    assert naive.proved(releases, list("abcdef")) == {5}
    assert naive.composed_k(releases) == 1
    assert naive.withheld(releases[:1], releases[1], 2) == {0}


def test_pairs_of_releases_do_not_suffice() -> None:
    """Every intersection and difference of two of these sets has five persons; all three share person 10 alone."""
    sets = [set(range(1, 11)), set(range(6, 16)), {*range(1, 5), *range(10, 15), 16}]
    releases = [[0 if person in one else None for person in range(1, 17)] for one in sets]
    assert naive.composed_k(releases) == 1
    published = kept([list(one) for one in releases], 5)
    smallest = naive.composed_k(published)
    assert smallest is None or smallest >= 5


def test_whoever_was_never_published_may_be_alone() -> None:
    found = continue_histories(np.full(6, NOTHING), np.array([0, 0, 0, 0, 0, NOTHING]), 5)
    assert not found.withheld.any()
    assert found.history.tolist() == [0, 0, 0, 0, 0, NOTHING]


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_anybody(n: int) -> None:
    found = continue_histories(np.full(n, NOTHING), np.zeros(n, dtype=np.int64), 2)
    assert found.withheld.all()
    assert (found.history == NOTHING).all()
