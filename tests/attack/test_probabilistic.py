"""Probabilistic linkage against the definition, pair by pair."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
from tsveil.attack import agreement
from tsveil.attack.agreement import FellegiSunter, fellegi_sunter, nearest_values, patterns
from tsveil.attack.probabilistic import probabilistic
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array


def tables(seed: int, n: int, m: int, columns: int, values: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, values, (n, columns)).astype(float)
    b = np.vstack([a, rng.integers(0, values, (m, columns))])[:m]
    return a, np.where(rng.random(b.shape) < 0.7, b, rng.integers(0, values, b.shape)).astype(float)


def number(pattern: tuple[bool, ...]) -> int:
    return sum(agreed << j for j, agreed in enumerate(pattern))


@given(st.integers(0, 10**6), st.integers(1, 15), st.integers(1, 15), st.integers(1, 4), st.integers(1, 12))
def test_links_are_those_of_the_definition(seed: int, n: int, m: int, columns: int, values: int) -> None:
    a, b = tables(seed, n, m, columns, values)
    own = [i if i < m else -1 for i in range(n)]
    original, released, truth = naive.pair_of_files(a, b, own)
    for count, links in enumerate(naive.rounds(probabilistic, original, released, truth=truth), 1):
        pairs = naive.agreement(a[:, :count], b[:, :count])
        model = FellegiSunter(
            np.array(list(links.facts["m"].values())),
            np.array(list(links.facts["u"].values())),
            links.facts["share"],
            0,
        )
        weights = model.weights
        for i in range(n):
            each = [weights[number(pattern)] for pattern in pairs[i]]
            best = [row for row in range(m) if each[row] == max(each)]
            assert links.candidates[i] == len(best)
            assert links.link[i] == best[0]
            assert links.hit[i] == (own[i] in best)
        for pattern in product([False, True], repeat=count):
            assert weights[number(pattern)] == pytest.approx(naive.weight(pattern, model.m.tolist(), model.u.tolist()))


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.integers(1, 3))
def test_the_model_is_that_of_all_pairs(seed: int, n: int, m: int, columns: int) -> None:
    a, b = tables(seed, n, m, columns, 4)
    own = [min(i, m - 1) if i < m else -1 for i in range(n)]
    original, released, truth = naive.pair_of_files(a, b, own)
    links = probabilistic(original, released, truth=truth)
    pairs = [pattern for row in naive.agreement(a, b) for pattern in row]
    expected_m, expected_u, share = naive.em(pairs, 1 / math.sqrt(n * m))
    assert list(links.facts["m"].values()) == pytest.approx(expected_m, abs=1e-4)
    assert list(links.facts["u"].values()) == pytest.approx(expected_u, abs=1e-4)
    assert links.facts["share"] == pytest.approx(share, abs=1e-4)


@given(st.integers(0, 10**6), st.integers(1, 15), st.integers(1, 15), st.integers(1, 4), st.floats(0, 2))
def test_agreement_within_a_tolerance(seed: int, n: int, m: int, columns: int, tolerance: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    own = [i if i < m else -1 for i in range(n)]
    original, released, truth = naive.pair_of_files(a, b, own)
    sd = a.std(axis=0, ddof=1) if n > 1 else np.zeros(columns)
    for count, links in enumerate(
        naive.rounds(probabilistic, original, released, truth=truth, agree="within", tolerance=tolerance), 1
    ):
        model = FellegiSunter(
            np.array(list(links.facts["m"].values())),
            np.array(list(links.facts["u"].values())),
            links.facts["share"],
            0,
        )
        for i in range(n):
            # A constant attribute agrees always.
            near = [
                number(tuple(bool(abs(a[i, j] - b[row, j]) <= tolerance * sd[j] or sd[j] == 0) for j in range(count)))
                for row in range(m)
            ]
            each = model.weights[near]
            best = np.flatnonzero(each == each.max())
            assert links.candidates[i] == len(best)
            assert links.link[i] == best[0]
            assert links.hit[i] == (own[i] in best)


def test_parts_of_the_table_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = tables(7, 50, 60, 3, 6)
    original, released, truth = naive.pair_of_files(a, b, range(50))
    whole = probabilistic(original, released, truth=truth)
    monkeypatch.setattr(agreement, "CELLS", 64)
    monkeypatch.setattr(agreement, "PIECE", 24)
    parts = probabilistic(original, released, truth=truth)
    for name in ("candidates", "link", "hit"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name))
    assert parts.facts == whole.facts


def test_the_model_of_synthetic_pairs_is_found_again() -> None:
    rng = np.random.default_rng(0)
    n, m = 4000, np.array([0.95, 0.9, 0.8, 0.85, 0.75, 0.9])
    u = np.array([1 / 20, 1 / 15, 1 / 30, 1 / 10, 1 / 25, 1 / 12])
    a = np.stack([rng.integers(0, round(1 / chance), n) for chance in u], axis=1).astype(float)
    # A value is kept so often that, with those drawn again by chance, it agrees with probability m.
    again = np.stack([rng.integers(0, round(1 / chance), n) for chance in u], axis=1)
    b = np.where(rng.random(a.shape) < (m - u) / (1 - u), a, again)
    links = probabilistic(naive.dataset(a), naive.dataset(b))
    assert np.allclose(list(links.facts["m"].values()), m, atol=0.02)
    assert np.allclose(list(links.facts["u"].values()), u, atol=0.02)
    assert links.facts["share"] == pytest.approx(1 / n, rel=0.05)


def test_the_model_of_exact_counts_is_found_again() -> None:
    m, u, share = np.array([0.9, 0.8, 0.95, 0.7]), np.array([0.1, 0.05, 0.2, 0.01]), 0.001
    bits = patterns(4)
    counts = share * np.where(bits, m, 1 - m).prod(axis=1) + (1 - share) * np.where(bits, u, 1 - u).prod(axis=1)
    model = fellegi_sunter(1e9 * counts, 1e-4)
    assert np.allclose(model.m, m, atol=1e-3)
    assert np.allclose(model.u, u, atol=1e-3)


def test_thresholds() -> None:
    model = FellegiSunter(np.array([0.9, 0.8]), np.array([0.1, 0.2]), 0.01, 1)
    # Patterns by falling weight: both .72/.02, first .18/.08, second .08/.18, none .02/.72 (matching / not).
    weights = model.weights
    assert model.thresholds(0.0, 0.0) == (math.inf, -math.inf)
    assert model.thresholds(0.05, 0.01) == (weights[3], -math.inf)
    assert model.thresholds(0.1 + 1e-9, 0.02 + 1e-9) == pytest.approx((weights[1], weights[0]))
    # Linked pairs come first: what is left cannot be refused twice.
    assert model.thresholds(1.0 - 1e-9, 1.0) == pytest.approx((weights[2], weights[0]))


def test_bounds_leave_doubtful_records_without_a_link() -> None:
    a, b = tables(3, 200, 200, 3, 8)
    original, released = naive.dataset(a), naive.dataset(b)
    free = probabilistic(original, released)
    bound = probabilistic(original, released, false_matches=0.01, false_non_matches=0.05)
    unlinked = bound.link < 0
    assert 0 < unlinked.sum() < 200
    assert (bound.candidates[unlinked] == 0).all()
    assert not bound.hit[unlinked].any()
    assert np.array_equal(bound.link[~unlinked], free.link[~unlinked])
    assert bound.facts["undecided"] <= unlinked.sum()


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8, unique=True), st.lists(st.floats(-9, 9), min_size=1))
def test_the_nearest_value_is_the_lower_of_two(values: list[int], x: list[float]) -> None:
    distinct = np.array(sorted(values), dtype=float)
    expected = [int(np.argmin(np.abs(distinct - value))) for value in x]
    assert nearest_values(distinct, np.array(x)).tolist() == expected


def test_bad_requests() -> None:
    data = naive.dataset(np.random.default_rng(0).normal(size=(20, 13)))
    with pytest.raises(ParameterError, match="at most 12 known attributes"):
        probabilistic(data, data)
    with pytest.raises(ParameterError, match=r"'agree' parameter[\s\S]*'tolerance' parameter[\s\S]*'false_matches'"):
        probabilistic(data, data, known=["x0"], agree="soon", tolerance=-1, false_matches=2)  # type: ignore[arg-type]
