"""Conditional probabilistic linkage: against a slow twin, against plain P-RL, and what never falls."""

from __future__ import annotations

import math
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_attacks as naive
import tsveil as tv
from tsveil.attack import conditional as attack
from tsveil.attack.agreement import patterns, plain_model
from tsveil.attack.agreement_trees import ROUNDS, Tree, conditional_model
from tsveil.attack.conditional import Conditional
from tsveil.attack.probabilistic import Probabilistic
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array, Indices


def random_counts(rng: np.random.Generator, columns: int, kind: str) -> tuple[Indices, int, int]:
    """The pairs of a file of some targets: matches agree more, in pairs of columns together or each by itself; or anything."""
    targets = int(rng.integers(2, 200))
    released = int(rng.integers(1, targets + 1))
    if kind == "anything":
        counts = rng.integers(0, 50, 1 << columns) * (rng.random(1 << columns) < 0.7)
        counts[0] += targets * targets
        return counts, targets, released
    m, u = rng.uniform(0.5, 0.95, columns), rng.uniform(0.05, 0.4, columns)
    same = rng.random((released, columns)) < m
    apart = rng.random((targets * targets - released, columns)) < u
    if kind == "together":
        same[:, 1], apart[:, 2] = same[:, 0], np.where(rng.random(len(apart)) < 0.5, apart[:, 3], apart[:, 2])
    numbers = np.vstack([same, apart]) @ (1 << np.arange(columns))
    return np.bincount(numbers, minlength=1 << columns), targets, released


def by_pattern(values: Array | Indices) -> dict[tuple[bool, ...], float]:
    columns = len(values).bit_length() - 1
    return {tuple(bits): value for bits, value in zip(patterns(columns).tolist(), values.tolist(), strict=True)}


tables = st.tuples(st.integers(0, 10**6), st.integers(4, 6), st.sampled_from(["together", "alone", "anything"]))


@settings(max_examples=15)
@given(tables)
def test_it_is_the_slow_twin(given: tuple[int, int, str]) -> None:
    seed, columns, kind = given
    counts, targets, released = random_counts(np.random.default_rng(seed), columns, kind)
    found = conditional_model(counts, targets, released)
    seen = {bits: int(count) for bits, count in by_pattern(counts).items() if count}
    if len(found.likelihoods) > 60:
        return  # the twin would take minutes
    same, apart, steps = naive.conditional_em(seen, by_pattern(plain_model(counts).weights), targets, released)
    assert steps == pytest.approx(len(found.likelihoods), abs=1)
    assert (found.same, found.apart) == (tuple(same.edges), tuple(apart.edges))
    if not same.edges and not apart.edges:
        assert np.array_equal(found.weights, plain_model(counts).weights)
        return
    for bits, weight in by_pattern(found.weights).items():
        assert weight == pytest.approx(math.log(same(bits) / apart(bits)), abs=1e-5)


@given(tables)
def test_the_likelihood_never_falls(given: tuple[int, int, str]) -> None:
    seed, columns, kind = given
    found = conditional_model(*random_counts(np.random.default_rng(seed), columns, kind))
    assert found.likelihoods
    for before, after in pairwise(found.likelihoods):
        assert after >= before - 1e-10 * abs(before)
    assert found.settled or len(found.likelihoods) == ROUNDS
    assert all(len(edges) < columns for edges in (found.same, found.apart))


def test_independent_agreements_are_those_of_plain_linkage() -> None:
    bits = patterns(5)
    model = [np.where(bits, p, 1 - p).prod(axis=1) for p in (np.full(5, 0.9), np.array([0.1, 0.2, 0.05, 0.1, 0.3]))]
    counts = np.rint(300 * model[0] + 300 * 299 * model[1]).astype(np.int64)
    found = conditional_model(counts, 300, 300)
    assert not found.same
    assert not found.apart
    assert np.array_equal(found.weights, plain_model(counts).weights)


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_with_fewer_than_four_columns_it_is_plain_linkage(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 100, 1 << columns)
    counts[0] += 1
    found = conditional_model(counts, 20, 20)
    assert np.array_equal(found.weights, plain_model(counts).weights)
    assert not found.likelihoods


def test_what_goes_together_is_found() -> None:
    bits = patterns(5)
    same = np.where(bits[:, 0] == bits[:, 1], 0.4, 0.1) * np.where(bits[:, 2:], 0.9, 0.1).prod(axis=1)
    both = np.array([0.95, 0.02, 0.02, 0.01])[2 * bits[:, 2] + bits[:, 3]]
    apart = both * np.where(bits[:, [0, 1, 4]], 0.01, 0.99).prod(axis=1)
    found = conditional_model(np.rint(2000 * same + 2000 * 1999 * apart).astype(np.int64), 2000, 2000)
    assert found.same == ((0, 1),)
    assert found.apart == ((2, 3),)


def test_of_equal_gains_the_lowest_pair_is_taken() -> None:
    """Four columns that always agree together: all pairs tell the same."""
    bits = np.array([[0.0] * 4, [1.0] * 4])
    found = Tree.of(np.array([9000.0, 1000.0]), bits, 0.01, 5.0)
    assert found.edges == ((0, 1), (0, 2), (0, 3))
    assert not Tree.of(np.array([9000.0, 1000.0]), bits, 0.01, 1e5).edges


@pytest.mark.parametrize("counts", [[1] + [0] * 15, [0] * 15 + [1], [10**9] * 16, [10**12] + [1] * 15])
@pytest.mark.parametrize(("targets", "released"), [(1, 1), (1, 0), (1000, 0), (10**6, 10**6)])
def test_nasty_tables(counts: list[int], targets: int, released: int) -> None:
    found = conditional_model(np.array(counts), targets, released)
    assert np.isfinite(found.weights).all()


def test_it_says_when_it_did_not_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 5, (60, 5)).astype(float)
    b = np.where(rng.random(a.shape) < 0.7, a, rng.integers(0, 5, a.shape))
    original, released = naive.dataset(a), naive.dataset(b)
    assert "skipped" not in tv.evaluate(original, released).options
    module = import_module("tsveil.attack.agreement_trees")
    monkeypatch.setattr(module, "ROUNDS", 2)
    card = tv.evaluate(original, released)
    assert "linkage by conditional probability was stopped after 2 steps of EM" in card.options["skipped"]
    links = tv.attack.conditional(original, released)
    assert not links.facts["settled"]
    assert "stopped after 2 steps" in links.attack


@given(st.integers(0, 10**6), st.integers(6, 30), st.integers(0, 12), st.booleans())
def test_within_ranks_values_agree_in_the_window(seed: int, n: int, window: int, sample: bool) -> None:
    """Both linkages by agreement, by the sets that rank swapping can have made of a record."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 8, (n, 4)).astype(float)
    b = naive.swapped(a, 3, rng)[: n - 2 if sample else n]
    own = [i if i < len(b) else -1 for i in range(n)]
    original, released, truth = naive.pair_of_files(a, b, own)
    sets = [naive.rank_sets(a, b, i, window) for i in range(n)]
    pairs = np.array(
        [[sum((row in each) << j for j, each in enumerate(sets[i])) for row in range(len(b))] for i in range(n)]
    )
    counts = np.bincount(pairs.ravel(), minlength=16)
    present = int((np.array(own) >= 0).sum())
    for links, weights in (
        (tv.attack.probabilistic(original, released, truth=truth, window=window), plain_model(counts).weights),
        (
            tv.attack.conditional(original, released, truth=truth, window=window),
            conditional_model(counts, n, present).weights,
        ),
    ):
        for i in range(n):
            each = weights[pairs[i]]
            best = np.flatnonzero(each == each.max())
            assert links.candidates[i] == len(best)
            assert links.link[i] == best[0]
            assert links.hit[i] == (own[i] in best)


def test_swapped_values_agree_within_the_window_of_the_method() -> None:
    rng = np.random.default_rng(8)
    data = naive.dataset(rng.normal(size=(300, 6)))
    release = tv.RankSwap(p=10).protect(data, seed=1)
    card, unknown = tv.evaluate(data, release), tv.evaluate(data, release.data)
    for figure in ("PLD", "CPLD"):
        assert card.by_known[figure][-1] > 60 > 5 > unknown.by_known[figure][-1]
    assert card.by_known["PLD"][-1] == pytest.approx(tv.attack.probabilistic(data, release, window=30).rate)
    assert card.by_known["CPLD"][-1] == pytest.approx(tv.attack.conditional(data, release, window=30).rate)


def test_it_takes_as_much_as_plain_linkage() -> None:
    assert Conditional.most == Probabilistic.most
    data = naive.dataset(np.random.default_rng(0).normal(size=(20, 13)))
    with pytest.raises(ParameterError, match=r"the conditional attack cannot run[\s\S]*at most 12 known attributes"):
        attack(data, data)
    with pytest.raises(ParameterError, match="'window' parameter must be at least 0"):
        attack(data, data, known=["x0"], window=-1)
