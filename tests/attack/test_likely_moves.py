"""Linkage by likely moves against a slow twin, how far values move against exact chances, and what it finds where windows find less."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks
import naive_moves
import naive_swap
import tsveil as tv
from tsveil._kernels.moves import SCALE
from tsveil.attack import moves as of_moves
from tsveil.attack.base import DrawsTrades
from tsveil.attack.moves import even_places, in_words, moves_of
from tsveil.core.types import Array
from tsveil.protect.swapping import RankSwapping

METHODS: list[RankSwapping] = [tv.RankSwap(p=20), tv.RankSwapDistribution(p=20), tv.RankSwapBuckets(buckets=2)]


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
    columns=st.integers(1, 4),
    kind=st.sampled_from(["fine", "coarse", "constant", "huge"]),
    method=st.sampled_from([*METHODS, None]),
)
def test_it_is_its_slow_twin(seed: int, n: int, columns: int, kind: str, method: RankSwapping | None) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, (n, columns)).astype(float) if kind == "coarse" else rng.normal(size=(n, columns))
    if kind == "constant":
        a[:, 0] = 4.0
    if kind == "huge":
        a *= 10.0 ** rng.integers(-200, 200, columns)
    b = naive_attacks.traded(a, 3, rng)
    if seed % 3 == 0:
        b[rng.integers(n)] = a[rng.integers(n)] + 1  # values that nobody known has, and known ones that are not there
    order = rng.permutation(n)
    b, own = b[order], np.argsort(order)
    expected = naive_moves.likeliest(a, b, in_words(method))
    original, released, truth = naive_attacks.pair_of_files(a, b, own.tolist())
    found = tv.attack.likely_moves(original, released, truth=truth, method=method)
    assert found.tied.tolist() == [len(best) for best in expected]
    assert found.link.tolist() == [min(best) for best in expected]
    assert found.hit.tolist() == [own[i] in best for i, best in enumerate(expected)]


@pytest.mark.parametrize(
    ("method", "chances"),
    [(tv.RankSwap(p=30), naive_swap.window_chances(8, 2)), (tv.RankSwapBuckets(buckets=3), naive_swap.bucket_chances(8, 3))],
    ids=["window", "buckets"],
)  # fmt: skip
def test_ratios_are_those_of_all_possible_results(method: RankSwapping, chances: naive_swap.Chances) -> None:
    """A ratio of 8 p has a standard error of 8 sqrt(p (1 - p) / draws), of which 4.5 are passed once in 100,000 times."""
    exact: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for partner, chance in chances.items():
        for rank, other in enumerate(partner):
            exact[rank, other] += chance
    drawn = of_moves.COUNTED // of_moves.FEW
    found = np.exp(moves_of(in_words(method), 8).logs / SCALE)
    for i in range(8):
        for j in range(8):
            p = float(exact[i, j])
            error = 4.5 * 8 * np.sqrt(p * (1 - p) / drawn)
            assert found[i, j] == pytest.approx(8 * p, abs=error + 0.02), (i, j)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("n", [2, 3, 60, 1000])
def test_intruders_draw_as_the_method_does(method: RankSwapping, n: int) -> None:
    """Moves of drawn trades and those of releases have the same distribution, and trades are mutual."""
    rng = np.random.default_rng(1)
    times = max(20, 6000 // n)
    # Columns are swapped each by itself: a release of many columns is many draws.
    columns = min(times, 100)
    data = naive_attacks.dataset(np.tile(np.arange(n, dtype=float)[:, None], columns))
    releases = [method.protect(data, seed=seed).data.values for seed in range(times // columns)]
    theirs = np.concatenate([values.T for values in releases]) - np.arange(n)
    drawn = np.array([method.trades(n, rng) for _ in range(times)])
    assert all((one[one] == np.arange(n)).all() for one in drawn)
    ours = drawn - np.arange(n)
    places = np.arange(-n, n + 1)
    below = [np.searchsorted(np.sort(moves.ravel()), places) / moves.size for moves in (theirs, ours)]
    assert np.abs(below[0] - below[1]).max() < 0.06


def test_ratios_are_the_same_on_files_of_any_size() -> None:
    small, large = (np.exp(moves_of(in_words(tv.RankSwap(p=10)), n).logs / SCALE) for n in (5_000, 200_000))
    assert small.shape == large.shape == (512, 512)
    coarse = [each.reshape(64, 8, 64, 8).mean(axis=(1, 3)) for each in (small, large)]
    assert np.abs(coarse[0] - coarse[1]).max() < 1
    assert np.abs(coarse[0] - coarse[1]).mean() < 0.05
    assert max(map(np.max, coarse)) > 4
    assert small.mean() == pytest.approx(1, abs=0.01)


def test_few_columns_stand_for_many() -> None:
    assert even_places(48).tolist() == list(range(48))
    assert even_places(49).tolist() == list(range(0, 49, 2))
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 130))
    method = tv.RankSwap(p=40)
    data = naive_attacks.dataset(x)
    release = method.protect(data, seed=1)
    every = tv.attack.likely_moves(data, release, method=method)
    names = [data.columns[at] for at in even_places(130)]
    some = tv.attack.likely_moves(data, release, method=method, known=names)
    assert np.array_equal(every.link, some.link)
    assert every.correct > 30


@pytest.mark.parametrize(
    ("method", "more"),
    [(tv.RankSwap(p=10), 0.0), (tv.RankSwapDistribution(p=10), 5.0), (tv.RankSwapBuckets(buckets=20), 5.0)],
    ids=lambda each: getattr(each, "name", ""),
)
def test_it_finds_more_than_windows_do(method: RankSwapping, more: float) -> None:
    rng = np.random.default_rng(0)
    x: Array = np.exp(0.6 * rng.normal(size=(300, 1)) + 0.6 * rng.normal(size=(300, 4)))
    data = naive_attacks.dataset(x)
    rates: dict[str, float] = defaultdict(float)
    for seed in range(3):
        for one in tv.evaluate(data, method.protect(data, seed=seed)).ladder:
            if one.rung == "person":
                rates[one.attack] += one.rate / 3
    best = rates.pop("likely_moves")
    assert best > max(rates.values()) + more


def test_a_method_is_named_by_its_place() -> None:
    method: DrawsTrades = tv.RankSwap(p=7)
    assert in_words(None) is None
    place, settings = json.loads(str(in_words(method)))
    assert place == "tsveil.protect.rank_swap:RankSwap"
    assert settings == method.settings()
