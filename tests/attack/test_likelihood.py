"""Linkage by likelihood against the definition, written with matrices and loops; and what it finds beyond the usual distance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.base import BlockCovariance, DrawnAtRandom, NoiseOnValues, Shape
from tsveil.attack.likelihood import Likelihood, likelihood
from tsveil.attack.links import Links
from tsveil.attack.noisy import densities
from tsveil.core.errors import InputError
from tsveil.core.types import Array


@given(
    st.integers(0, 10**6), st.integers(22, 40), st.sampled_from([[5], [2, 3], [1, 4], [1, 1, 1, 1, 1]]), st.booleans(), st.booleans(),
    st.sampled_from([0.05, 0.5, 2.0]),
)  # fmt: skip
def test_links_are_those_of_the_definition(
    seed: int, n: int, blocks: list[int], correlated: bool, total: bool, deviations: float
) -> None:
    a, b, own, (original, released, truth) = naive.noisy_files(seed, n, blocks, deviations, correlated, total)
    found = naive.rounds(likelihood, original, released, truth=truth, deviations=deviations, correlated=correlated)
    for count, links in enumerate(found, 1):
        known = naive.known_of_blocks(blocks, count)
        by_density = {
            density: naive.likelihoods(a[:, :count], b[:, :count], known, deviations, correlated, density)
            for density in ("normal", "kernel")
        }
        density = "normal" if "normal" in links.attack else "kernel"
        assert f"({density} density)" in links.attack
        apart = by_density[density]
        best = apart.min(axis=1)
        clear = np.sort(apart, axis=1)[:, 1] - best > 1e-6 * (1 + np.abs(apart).max())
        right = apart.argmin(axis=1) == own
        assert np.array_equal(links.link[clear], apart.argmin(axis=1)[clear])
        assert np.array_equal(links.hit[clear], right[clear])
        # The density that finds more is taken.
        other = by_density["kernel" if density == "normal" else "normal"]
        possible = (other <= other.min(axis=1)[:, None] + 1e-6 * (1 + np.abs(other).max())).sum(axis=1)
        if clear.all() and (possible == 1).all():
            assert right.sum() >= (other.argmin(axis=1) == own).sum()


def test_wide_series_are_weighed_column_by_column() -> None:
    """Too few records for a covariance, and too many columns for kernels: no density is known."""
    rng = np.random.default_rng(3)
    a = naive.correlated(rng, 60, 20)
    b = naive.noise(rng, a, 0.5, False)
    a, b = a * np.arange(1, 21) ** 3, b * np.arange(1, 21) ** 3
    original, released = (tv.Dataset.from_arrays({"load": x}) for x in (a, b))
    links = likelihood(original, released, deviations=0.5)
    apart = naive.likelihoods(a, b, [20], 0.5, False, "none")
    assert "density" not in links.attack
    assert np.array_equal(links.link, apart.argmin(axis=1))
    assert links.rate > tv.attack.series(original, released).rate
    with pytest.raises(InputError, match="which is that by Mahalanobis distance where there are fewer than 4 records"):
        likelihood(original, released, deviations=0.5, correlated=True)


#: these take covariances out, too
ATTACKS = [likelihood, partial(likelihood, correlated=True), tv.attack.mahalanobis]


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 8), st.sampled_from(ATTACKS))
def test_equal_released_records_are_a_tie(seed: int, groups: int, columns: int, attack: Callable[..., Links]) -> None:
    rng = np.random.default_rng(seed)
    a = (
        rng.normal(size=(3 * groups, columns)).cumsum(axis=1)
        if seed % 2
        else naive.correlated(rng, 3 * groups, columns)
    )
    found = attack(naive.dataset(a), naive.dataset(np.repeat(a[::3], 3, axis=0)))
    assert (found.candidates % 3 == 0).all()
    assert found.rate <= 100 / 3 + 1e-9


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize(
    "rows",
    [np.full((8, 2), 3.0), np.array([[1e300, 1e-300], [-1e300, 2e-300]]), np.ones((1, 1)), np.array([[1.0], [1e9]])],
)
def test_nasty_files(rows: Array, attack: Callable[..., Links]) -> None:
    found = attack(naive.dataset(rows), naive.dataset(rows))
    assert found.correct == len(np.unique(rows, axis=0))


@pytest.mark.parametrize(("correlated", "usual"), [(False, "EULD"), (True, "MALD")])
def test_more_is_found_in_series_than_by_the_usual_distance(correlated: bool, usual: str) -> None:
    curves = np.random.default_rng(8).normal(size=(200, 24)).cumsum(axis=1)
    data = tv.Dataset.from_arrays({"load": curves})
    release = tv.Noise(sd=2.0 if correlated else 0.5, correlated=correlated).protect(data, seed=1)
    card = tv.evaluate(data, release)
    assert card["LKLD"] > 1.4 * card[usual]
    links = likelihood(data, release, deviations=2.0 if correlated else 0.5, correlated=correlated)
    assert card["LKLD"] == pytest.approx(links.rate)


def test_it_fits_where_noise_of_a_known_size_was_added() -> None:
    shape = Shape(30, [])
    moved = NoiseOnValues(0.3), DrawnAtRandom()
    assert Likelihood.fit(shape, None) is None
    assert Likelihood.fit(shape, (DrawnAtRandom(),)) is None
    assert Likelihood.fit(shape, moved) == Likelihood(deviations=0.3)
    assert Likelihood.fit(shape, (BlockCovariance(), *moved)) == Likelihood(deviations=0.3, correlated=True)


def test_which_densities_are_known() -> None:
    assert densities([range(300)], 10**6, False) == ["none"]
    assert densities([range(300)], 10**6, True) == ["normal"]
    assert densities([range(3), range(8)], 31, True) == ["kernel"]
    assert densities([range(3), range(8)], 32, True) == ["normal", "kernel"]
    assert densities([range(8), range(9)], 2500, False) == ["normal"]
