"""Linkage by the Mahalanobis distance against the definition, and on the file that showed what it can do."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.base import BlockCovariance, Shape
from tsveil.attack.mahalanobis import Mahalanobis, mahalanobis
from tsveil.core.errors import InputError
from tsveil.core.types import Array
from tsveil.data.dataset import Block


def distances(a: Array, b: Array, blocks: list[int]) -> Array:
    """The squared distance of each pair, by the inverse of each block's covariance (of lower rank: in the space where it has one)."""
    total = np.zeros((len(a), len(b)))
    spread = np.where(np.ptp(b, axis=0) > 0, b.std(axis=0), 1.0)
    a, b = a / spread, b / spread
    for low, high in pairwise(np.cumsum([0, *blocks]).tolist()):
        shown = b[:, low:high]
        inverted = np.linalg.pinv(np.atleast_2d(np.cov(shown.T)), rcond=1e-9, hermitian=True)
        for i, x in enumerate(a[:, low:high]):
            for row, y in enumerate(shown):
                total[i, row] += (x - y) @ inverted @ (x - y)
    return total


def correlated(rng: np.random.Generator, n: int, columns: int) -> Array:
    x: Array = rng.normal(size=(n, columns)) @ rng.normal(size=(columns, columns)) + 1000
    return x


@given(
    st.integers(0, 10**6), st.integers(12, 40), st.sampled_from([[5], [2, 3], [1, 4], [1, 1, 1, 1, 1]]), st.booleans()
)
def test_links_are_those_of_the_definition(seed: int, n: int, blocks: list[int], total: bool) -> None:
    rng = np.random.default_rng(seed)
    a = correlated(rng, n, 5)
    b = a + rng.normal(size=(n, 5)) @ np.linalg.cholesky(np.cov(a.T)).T / 2
    if total:  # a column that follows from others, and one that is constant
        for x in (a, b):
            x[:, 4] = x[:, 2] - 2 * x[:, 3] if blocks != [1, 4] else x[:, 1] + x[:, 3]
            x[:, 0] = 7.0
    scale = np.array([1e-6, 1.0, 1e6, 3.0, 1e3])
    a, b = a * scale, b * scale
    own = [i if i < n - 2 else -1 for i in range(n)]
    original, released, truth = naive.pair_of_files(a, b[: n - 2], own, blocks)
    ends = np.cumsum(blocks).tolist()
    for count, links in enumerate(naive.rounds(mahalanobis, original, released, truth=truth), 1):
        known = [min(high, count) - low for low, high in pairwise([0, *ends]) if low < count]
        apart = distances(a[:, :count], b[: n - 2, :count], known)
        best = apart.min(axis=1)
        clear = np.sort(apart, axis=1)[:, 1] - best > 1e-6 * (1 + best)
        assert np.array_equal(links.link[clear], apart.argmin(axis=1)[clear])
        assert np.array_equal(links.hit[clear], (apart.argmin(axis=1) == own)[clear])


def test_columns_may_be_known_in_any_order() -> None:
    rng = np.random.default_rng(3)
    a = correlated(rng, 60, 4)
    b = a + rng.normal(size=a.shape)
    card = tv.evaluate(
        naive.dataset(a, blocks=[2, 2]), naive.dataset(b, blocks=[2, 2]), known=["x3", "x1", "x2"], counts=[1, 2, 3]
    )
    for count, (columns, blocks) in enumerate([([3], [1]), ([1, 3], [1, 1]), ([1, 2, 3], [1, 2])], 1):
        apart = distances(a[:, columns], b[:, columns], blocks)
        rate = 100 * np.mean(apart.argmin(axis=1) == np.arange(60))
        assert card.by_known["MALD"][count - 1] == pytest.approx(rate)
    few = tv.evaluate(naive.dataset(a), naive.dataset(b), counts=[1, 2])
    assert few.by_known["MALD"] == tv.evaluate(naive.dataset(a), naive.dataset(b)).by_known["MALD"][:2]


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 8))
def test_equal_released_records_are_a_tie(seed: int, groups: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    a = correlated(rng, 3 * groups, columns)
    b = np.repeat(a[::3], 3, axis=0)
    found = mahalanobis(naive.dataset(a), naive.dataset(b))
    assert (found.candidates % 3 == 0).all()
    assert found.rate <= 100 / 3 + 1e-9


@pytest.mark.parametrize("rows", [np.full((4, 2), 3.0), np.array([[1e300, 1e-300], [-1e300, 2e-300]]), np.ones((1, 1))])
def test_nasty_files(rows: Array) -> None:
    found = mahalanobis(naive.dataset(rows), naive.dataset(rows))
    assert found.correct == len(np.unique(rows, axis=0))


def test_wide_series_of_unknown_making_are_left_to_other_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = np.random.default_rng(2).normal(size=(30, 8)).cumsum(axis=1)
    data = tv.Dataset.from_arrays({"load": curves})
    release = tv.Noise(sd=0.5, correlated=True).protect(data, seed=1)
    shape = Shape(30, [Block("load", tuple("abcdefgh"))])
    module = import_module("tsveil.attack.mahalanobis")  # by its name in the package there is the function
    monkeypatch.setattr(module, "WIDEST", 8)
    assert Mahalanobis.fit(shape, None) is not None
    assert "MALD" in tv.evaluate(data, release)
    monkeypatch.setattr(module, "WIDEST", 7)
    assert Mahalanobis.fit(shape, None) is None
    assert Mahalanobis.fit(shape, (BlockCovariance(),)) is not None
    card = tv.evaluate(data, release)
    assert "MALD" not in card
    assert "not tried on blocks of more than 7 columns" in card.options["not measured"]
    with pytest.raises(InputError, match="not tried on blocks of more than 7 columns"):
        mahalanobis(data, release)


def test_census_with_correlated_noise(shared_data: Path) -> None:
    """Twice as many are found as by the usual distance."""
    frame = pl.read_csv(shared_data / "census.csv").cast(pl.Float64)
    data = tv.Dataset.from_frame(frame, blocks={"all": frame.columns}, times={"all": None})
    for seed in range(2):
        release = tv.Noise(sd=0.5, correlated=True).protect(data, seed=seed)
        assert 20 < tv.attack.distance(data, release).rate < 24
        assert 41 < mahalanobis(data, release).rate < 45
