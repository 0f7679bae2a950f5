from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import naive_series as naive
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.transform import statistics
from tsveil.transform.statistics import acf, default_lags, means, slopes

tables = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=12),
    elements=st.one_of(st.sampled_from([0.0, 0.1, 1.0, -3.0]), st.floats(-1e6, 1e6).map(lambda v: round(v, 3))),
)


def test_the_golden_autocorrelations() -> None:
    np.testing.assert_allclose(acf(naive.FOODS)[0], [1, 0.258465, -0.099202, -0.332767], atol=1e-6)
    np.testing.assert_allclose(acf([np.arange(10.0)])[0], [1, 0.412121, -0.257576, -0.421212], atol=1e-6)


@given(tables, st.sampled_from(["T", "T-j"]))
def test_autocorrelations_follow_the_definition(X: Array, divisor: statistics.Divisor) -> None:
    T = X.shape[1]
    expected = [[naive.acf(x, lag, divisor) for lag in range(T)] for x in X.tolist()]
    found = acf(X, range(T), divisor)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    if divisor == "T":
        assert (np.abs(found) <= 1 + 1e-12).all()


@given(tables)
def test_means_follow_the_definition(X: Array) -> None:
    np.testing.assert_allclose(means(X), [naive.mean(x) for x in X.tolist()], rtol=1e-12, atol=1e-9)


def test_a_constant_series_has_no_autocorrelation() -> None:
    nearly = np.array([0.1] * 24) + np.arange(24) % 3 * 1e-17
    X = np.array([[0.1] * 24, nearly.tolist(), [0.0] * 24, [1e300] * 24])
    assert acf(X).tolist() == [[1.0, 0.0, 0.0, 0.0]] * 4
    assert means(X)[[0, 2, 3]].tolist() == [0.1, 0.0, 1e300]


@pytest.mark.parametrize("factor", [2.0**-1000, 1e-160, 1e160, 2.0**1000])
def test_huge_and_tiny_values(factor: float) -> None:
    X = np.random.default_rng(3).normal(size=(4, 20))
    np.testing.assert_allclose(acf(X * factor), acf(X), rtol=1e-9)
    np.testing.assert_allclose(means(X * factor), means(X) * factor, rtol=1e-9)


def test_a_large_offset_costs_no_digits() -> None:
    X = np.random.default_rng(3).integers(0, 50, (5, 30)).astype(float)
    np.testing.assert_allclose(acf(X + 1e9), acf(X), rtol=1e-12, atol=1e-12)


def test_autocorrelations_agree_with_statsmodels() -> None:
    from statsmodels.tsa import stattools

    X = np.random.default_rng(5).normal(size=(5, 40)).cumsum(axis=1)
    for x, found, adjusted in zip(X, acf(X, range(20)), acf(X, range(20), "T-j"), strict=True):
        np.testing.assert_allclose(found, stattools.acf(x, nlags=19, fft=False), atol=1e-10)
        np.testing.assert_allclose(adjusted, stattools.acf(x, nlags=19, fft=False, adjusted=True), atol=1e-10)


def test_a_record_gives_the_same_bits_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(7).normal(size=(301, 37)) * 1e3
    whole = np.column_stack([means(X), acf(X)])
    monkeypatch.setattr(statistics, "CHUNK", 37 * 10)
    order = np.random.default_rng(8).permutation(301)
    wide = np.asfortranarray(X)[order]  # other places, other chunks, another layout
    wide.setflags(write=False)
    assert (np.column_stack([means(wide), acf(wide)]) == whole[order]).all()


def test_the_default_lags() -> None:
    assert [default_lags(T) for T in (1, 4, 9, 10)] == [(0, 0, 0, 0), (0, 1, 2, 3), (0, 2, 4, 6), (0, 2, 5, 7)]


def test_slopes_with_unit_spacing_are_the_first_differences() -> None:
    X = np.random.default_rng(2).normal(size=(3, 8))
    assert (slopes(X) == np.diff(X)).all()
    assert (slopes(X, np.arange(5.0, 13.0)) == np.diff(X)).all()


def test_slopes_use_uneven_times() -> None:
    assert slopes([[0.0, 2.0, 8.0]], [0, 2, 5]).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("X", "times", "message"),
    [
        ([[1.0], [2.0]], None, "block 'load' has 1 point: slopes need at least 2 points"),
        ([[1.0, 2.0]], [0, 1, 2], r"block 'load' has 2 points, but times of the shape \(3,\)"),
        ([[1.0, 2.0]], [1, 1], "the times of block 'load' must increase"),
        ([1.0, 2.0], None, r"a table of records by points. Got the shape \(2,\)"),
    ],
)
def test_slopes_that_cannot_be_taken(X: list[list[float]], times: list[float] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        slopes(X, times, block="load")


def test_autocorrelations_that_cannot_be_taken() -> None:
    with pytest.raises(ParameterError, match=r"must lie from 0 to 8 for 9 points. Got \[9, -1\]"):
        acf(naive.FOODS, [0, 9, -1])
    with pytest.raises(ParameterError, match="'divisor' parameter of acf must be 'T' or 'T-j'"):
        acf(naive.FOODS, divisor="n")  # type: ignore[arg-type]
