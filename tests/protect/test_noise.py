"""Noise: as much as was asked for, with the correlations that were asked for."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.data.dataset import Block, Dataset
from tsveil.protect import noise as module
from tsveil.protect.noise import Noise
from tsveil.protect.work import survey_of
from tsveil.transform.ordered import rows_times
from tsveil.transform.triangle import triangle


def attributes(values: Array) -> Dataset:
    return Dataset(
        values=values, blocks=(Block("all", tuple(f"c{j}" for j in range(values.shape[1]))),), others=pl.DataFrame()
    )


def correlated_values(n: int = 20_000) -> Array:
    rng = np.random.default_rng(0)
    first = rng.normal(0, 3, n)
    return np.column_stack([first, 2 * first + rng.normal(0, 1, n), 1e6 + rng.gamma(2, 0.01, n)])


def noise_of(values: Array, **settings: object) -> Array:
    return Noise(**settings).protect(attributes(values), seed=5).data.values - values  # type: ignore[arg-type]


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("sd", [0.1, 2.0])
def test_it_is_normal_with_the_share_that_was_asked_for(sd: float, correlated: bool) -> None:
    values = correlated_values()
    noise = noise_of(values, sd=sd, correlated=correlated)
    for added, column in zip(noise.T, values.T, strict=True):
        assert kstest(added / (sd * column.std(ddof=1)), "norm").pvalue > 1e-3


def test_independent_noise_is_uncorrelated_and_correlated_noise_is_not() -> None:
    values = correlated_values()
    alone = np.corrcoef(noise_of(values, sd=0.5, correlated=False).T)
    assert np.allclose(alone, np.eye(3), atol=0.03)
    together = np.corrcoef(noise_of(values, sd=0.5, correlated=True).T)
    assert np.allclose(together, np.corrcoef(values.T), atol=0.03)


def test_correlated_noise_of_more_columns_than_records() -> None:
    # The covariance matrix has no full rank: noise stays in the directions in which the data vary.
    rng = np.random.default_rng(1)
    values = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 40)) + 100
    noise = noise_of(values, correlated=True)
    assert np.linalg.matrix_rank(noise, tol=1e-8) == 2
    draws = np.concatenate(
        [Noise(sd=1, correlated=True).protect(attributes(values), seed=s).data.values - values for s in range(800)]
    )
    assert np.allclose(np.cov(draws.T), np.cov(values.T), atol=0.15 * np.abs(np.cov(values.T)).max())


@pytest.mark.parametrize("correlated", [False, True])
def test_a_constant_column_has_no_spread_to_share(correlated: bool) -> None:
    values = np.column_stack([np.full(24, 0.1), np.arange(24.0)])
    release = Noise(sd=1, correlated=correlated).protect(attributes(values), seed=1)
    assert np.array_equal(release.data.values[:, 0], values[:, 0])
    assert not np.isclose(release.data.values[:, 1], values[:, 1]).any()
    assert release.facts["all"]["constant columns, published as they are"] == 1


def test_constant_columns_are_counted_block_by_block() -> None:
    data = Dataset.from_arrays({"flat": np.ones((9, 3)), "steep": np.arange(18.0).reshape(9, 2)})
    facts = Noise().protect(data, seed=1).facts
    assert facts["flat"] == {"values": 27, "constant columns, published as they are": 3}
    assert facts["steep"] == {"values": 18, "constant columns, published as they are": 0}


@pytest.mark.parametrize("correlated", [False, True])
def test_huge_and_tiny_values_get_their_noise(correlated: bool) -> None:
    # Their squares leave the range of float64 at either end; a spread of zero would publish the originals.
    values = np.random.default_rng(2).normal(size=(30, 2))
    expected = noise_of(values, correlated=correlated) / values.std(axis=0)
    scale = np.array([1e-250, 1e250])
    found = noise_of(values * scale, correlated=correlated) / scale / values.std(axis=0)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_blocks_get_noise_of_their_own() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3))
    data = Dataset.from_arrays({"gas": values, "power": values})
    released = Noise(correlated=True).protect(data, seed=1).data
    assert not np.allclose(released.block("gas"), released.block("power"))


def test_nothing_is_promised() -> None:
    verdict = Noise(sd=0.2).protect(attributes(correlated_values(10))).verify()
    assert verdict.status == "none-claimed"
    assert "20 %" in verdict.guarantee


def test_what_is_told_of_the_run() -> None:
    values = np.column_stack([np.full(24, 0.1), np.arange(24.0), np.ones(24)])
    release = Noise(sd=0.25).protect(attributes(values), seed=1)
    assert release.facts["all"] == {"values": 72, "constant columns, published as they are": 2}
    assert "about 25 % of its column's standard deviation" in release.guarantee.words
    assert release.groups == {}
    assert Noise().protect(attributes(values[:2]), seed=1).data.n == 2  # two records have a spread


def test_correlated_noise_does_not_depend_on_signs_of_the_factor() -> None:
    # R'R = S leaves the sign of every row of R open; the one with a diagonal of at least zero is taken.
    centred = np.array([[3.0, 1.0, 2.0], [-1.0, 2.0, 0.0], [-2.0, -3.0, -2.0]])
    for signs in ([1, 1, 1], [-1, 1, 1], [1, -1, 1], [-1, -1, -1]):
        S = (centred * signs).T @ (centred * signs)
        factor = triangle(S)
        assert np.allclose(factor.T @ factor, S)
        assert (np.diagonal(factor) >= 0).all()
        assert np.array_equal(factor, np.triu(factor))
        assert not np.allclose(factor, 0)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 14))
def test_the_factor_gives_the_covariance_of_any_rank(seed: int, columns: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rank, columns)) * 10.0 ** rng.uniform(-3, 3, columns)
    x[:, rng.random(columns) < 0.2] = 0.0  # columns without any spread
    S = x.T @ x
    before = S.copy()
    factor = triangle(S)
    assert np.array_equal(S, before)
    assert np.array_equal(factor, np.triu(factor))
    spread = np.sqrt(np.diagonal(S))
    unit = np.where(spread > 0, spread, 1.0)
    assert np.allclose(factor.T @ factor / np.outer(unit, unit), S / np.outer(unit, unit), atol=1e-9)
    assert np.count_nonzero(factor.any(axis=1)) == np.linalg.matrix_rank(x / unit)
    if (spread > 0).all() and rank >= columns and np.linalg.cond(x / unit) < 1e4:
        assert np.allclose(factor / unit, np.linalg.cholesky(S).T / unit, atol=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 60))
def test_the_noise_of_a_record_does_not_depend_on_its_neighbours(seed: int, n: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    normals, factor = rng.normal(size=(n, columns)), np.triu(rng.normal(size=(columns, columns)))
    together = rows_times(normals, factor)
    assert np.allclose(together, normals @ factor, atol=1e-12 * columns)
    assert np.array_equal(together, np.vstack([rows_times(normals[[at]], factor) for at in range(n)]))


@pytest.mark.parametrize("correlated", [False, True])
def test_many_records_are_drawn_for_in_runs(correlated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.column_stack([correlated_values(95), np.ones(95)])
    method = Noise(sd=0.5, correlated=correlated)
    whole = method.protect(attributes(values), seed=4)
    monkeypatch.setattr(module, "RUN", 20)
    runs = method.protect(attributes(values), seed=4)
    assert runs.facts["all"] == {**whole.facts["all"], "parts": 5}
    noise = (runs.data.values - values)[:, :3]
    assert len(np.unique(noise.round(12), axis=0)) == 95
    # The spread is that of all records, whatever the run; the draws of a run are its own.
    survey = survey_of(attributes(values))
    (unit,) = method.units(survey)
    first = method.leaf(values, np.arange(95), unit, survey, method.tree(values, unit, survey))
    assert first.tolist() == [at // 20 for at in range(95)]
    assert np.array_equal(runs.data.values[:20, 3], values[:20, 3])
    monkeypatch.setattr(module, "RUN", 95)
    assert np.array_equal(method.protect(attributes(values), seed=4).data.values, whole.data.values)
    draws = np.concatenate([(method.protect(attributes(values), seed=s).data.values - values)[:, 0] for s in range(40)])
    assert kstest(draws / (0.5 * values[:, 0].std(ddof=1)), "norm").pvalue > 1e-3


def test_the_noise_of_two_records() -> None:
    # One difference of 2: the standard deviation with divisor n - 1 is sqrt(2), of either kind of noise.
    values = np.array([[1.0], [3.0]])
    for correlated in (False, True):
        draws = [noise_of_seed(values, seed, correlated) for seed in range(400)]
        assert np.std(draws) == pytest.approx(np.sqrt(2), rel=0.1)
        assert np.mean(draws) == pytest.approx(0, abs=0.2)


def noise_of_seed(values: Array, seed: int, correlated: bool) -> Array:
    return Noise(sd=1, correlated=correlated).protect(attributes(values), seed=seed).data.values - values


def test_what_cannot_be_protected() -> None:
    with pytest.raises(InputError, match="at least 2 records"):
        Noise().protect(attributes(np.ones((1, 2))))
    with pytest.raises(InputError, match="beyond 1e\\+300"):
        Noise().protect(attributes(np.array([[1e305], [1.0]])))
    for sd in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="The 'sd' parameter of Noise must be a number above 0"):
            Noise(sd=sd)
