"""Alignment linkage against the definition, and what microaggregation of single columns guarantees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
from tsveil._kernels.alignment import least_cost_runs
from tsveil.attack.alignment import alignment
from tsveil.attack.distance import distance
from tsveil.attack.files import on_one_scale, relative
from tsveil.core.errors import ParameterError


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_links_are_those_of_the_definition(seed: int, n: int, columns: int, k: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 6, (n, columns)).astype(float) if coarse else rng.normal(size=(n, columns))
    b = naive.grouped(a, k, rng)
    found = naive.rounds(alignment, naive.dataset(a), naive.dataset(b))
    for count, links in enumerate(found, 1):
        x, y, factor = on_one_scale(a[:, :count], b[:, :count])
        factor = relative(factor)
        for i in range(n):
            among = sorted(set.intersection(*naive.aligned_sets(a[:, :count], b[:, :count], i)))
            best = naive.nearest(x[i].tolist(), y, among, factor.tolist())
            assert links.candidates[i] == len(among)
            assert links.tied[i] == len(best)
            assert links.link[i] == (best[0] if best else -1)
            assert links.hit[i] == (i in best)


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_certain_links_are_right(seed: int, n: int, columns: int, k: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 8, (n, columns)).astype(float) if coarse else rng.normal(size=(n, columns))
    original, released = naive.dataset(a), naive.dataset(naive.grouped(a, k, rng))
    for links in (
        alignment(original, released),
        alignment(original, released, direction="released"),
        alignment(original, released, align="neighbours"),
    ):
        assert (links.candidates > 0).all()
        assert links.hit[links.certain].all()


@given(st.integers(0, 10**6), st.integers(4, 60), st.integers(1, 4), st.integers(2, 5))
def test_without_ties_right_links_are_the_distinct_rows(seed: int, n: int, columns: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, columns))
    b = naive.grouped(a, k, rng)
    distinct = len(np.unique(b, axis=0))
    for direction in ("original", "released"):
        found = alignment(naive.dataset(a), naive.dataset(b), direction=direction)
        assert found.correct == pytest.approx(distinct)
    assert distance(naive.dataset(a), naive.dataset(b)).correct <= distinct + 1e-9


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
def test_runs_are_the_best_ones(seed: int, groups: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(k, 2 * k, groups)
    x = np.sort(rng.integers(0, 12, int(sizes.sum())).astype(float))
    centroids = np.sort(rng.choice(np.arange(13), groups, replace=False).astype(float))
    low, high = np.full(groups, k), np.full(groups, 2 * k - 1)

    def cost(lengths: tuple[int, ...]) -> float:
        return float(np.square(x - np.repeat(centroids, lengths)).sum())

    ways = [way for way in itertools.product(range(k, 2 * k), repeat=groups) if sum(way) == len(x)]
    found = least_cost_runs(x, centroids, low, high)
    assert found.sum() == len(x)
    assert cost(tuple(found.tolist())) == pytest.approx(min(map(cost, ways)))


def test_runs_find_less_than_counts() -> None:
    rng = np.random.default_rng(1)
    a = rng.lognormal(size=(200, 3))
    b = naive.grouped(a, 5, rng)
    by_counts = alignment(naive.dataset(a), naive.dataset(b))
    by_runs = alignment(naive.dataset(a), naive.dataset(b), align="runs", k=5)
    assert 0.5 * by_counts.correct < by_runs.correct < by_counts.correct
    assert not by_runs.certain.any()


def test_files_of_different_people() -> None:
    """The intruder knows a third of the people, the release lacks a tenth: neighbour sets still hold the right record."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=(300, 4))
    b = naive.grouped(a, 5, rng)
    known, kept = np.arange(0, 300, 3), np.flatnonzero(rng.random(300) < 0.9)
    places = {int(row): place for place, row in enumerate(kept)}
    own = [places.get(int(row), -1) for row in known]
    original, released, truth = naive.pair_of_files(a[known], b[kept], own)
    found = alignment(original, released, truth=truth)
    assert found.rate > 60
    assert not found.certain.any()
    assert found.probability[np.array(own) < 0].sum() == 0


def test_bad_requests() -> None:
    a = naive.dataset(np.eye(4))
    with pytest.raises(ParameterError, match="needs files of equal size"):
        alignment(*naive.pair_of_files(np.eye(4), np.eye(5)[:, :4], range(4))[:2], truth={"a0": "b0"}, align="counts")
    with pytest.raises(ParameterError, match="'k' parameter"):
        alignment(a, a, align="runs")
    with pytest.raises(ParameterError, match="'align' parameter"):
        alignment(a, a, align="dtw")  # type: ignore[arg-type]
