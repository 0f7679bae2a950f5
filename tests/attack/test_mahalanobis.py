"""Linkage by the Mahalanobis distance against the definition, and on the file that showed what it can do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
import tsveil as tv
from tsveil.attack import covariance
from tsveil.attack.base import BlockCovariance, Shape
from tsveil.attack.mahalanobis import Mahalanobis, mahalanobis
from tsveil.core.errors import InputError
from tsveil.core.types import Array
from tsveil.data.dataset import Block


def distances(a: Array, b: Array, blocks: list[int]) -> Array:
    """The squared distance of each pair, by the inverse of each block's covariance, up to a factor."""
    return naive.likelihoods(a, b, blocks, 1.0, True, "none")


@given(
    st.integers(0, 10**6), st.integers(12, 40), st.sampled_from([[5], [2, 3], [1, 4], [1, 1, 1, 1, 1]]), st.booleans()
)
def test_links_are_those_of_the_definition(seed: int, n: int, blocks: list[int], total: bool) -> None:
    a, b, own, (original, released, truth) = naive.noisy_files(seed, n, blocks, 0.5, True, total)
    for count, links in enumerate(naive.rounds(mahalanobis, original, released, truth=truth), 1):
        apart = distances(a[:, :count], b[:, :count], naive.known_of_blocks(blocks, count))
        best = apart.min(axis=1)
        clear = np.sort(apart, axis=1)[:, 1] - best > 1e-6 * (1 + best)
        assert np.array_equal(links.link[clear], apart.argmin(axis=1)[clear])
        assert np.array_equal(links.hit[clear], (apart.argmin(axis=1) == own)[clear])


def test_columns_may_be_known_in_any_order() -> None:
    rng = np.random.default_rng(3)
    a = naive.correlated(rng, 60, 4)
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


def test_wide_series_of_unknown_making_are_left_to_other_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = np.random.default_rng(2).normal(size=(30, 8)).cumsum(axis=1)
    data = tv.Dataset.from_arrays({"load": curves})
    release = tv.Noise(sd=0.5, correlated=True).protect(data, seed=1)
    shape = Shape(30, [Block("load", tuple("abcdefgh"))])
    monkeypatch.setattr(covariance, "WIDEST", 8)
    assert Mahalanobis.fit(shape, None) is not None
    assert "MALD" in tv.evaluate(data, release)
    monkeypatch.setattr(covariance, "WIDEST", 7)
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
