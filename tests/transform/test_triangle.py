"""Triangular factors and products of columns against numpy, one step after the other, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsveil._kernels.features import mapped_rows, products_of_columns
from tsveil.core.types import Array
from tsveil.transform.triangle import inverse, multiply_rows, triangle


def correlated(rng: np.random.Generator, n: int, columns: int) -> Array:
    """Columns with correlations, of which one follows from others and one is constant if there are enough."""
    x: Array = rng.normal(size=(n, columns)) @ rng.normal(size=(columns, columns)) * 10.0 ** rng.integers(-8, 8)
    if columns > 4:
        x[:, 3] = x[:, 0] - x[:, 2]
        x[:, 4] = 7.0
    return x


def naive_triangle(covariance: Array) -> Array:
    left, factor = covariance.copy(), np.zeros_like(covariance)
    for at in range(len(left)):
        if left[at, at] > 1e-12 * covariance[at, at]:
            factor[at, at:] = left[at, at:] / np.sqrt(left[at, at])
            left -= np.outer(factor[at], factor[at])
    return factor


def naive_rows(x: Array, matrix: Array) -> Array:
    found = np.zeros((len(x), matrix.shape[1]))
    for j in range(x.shape[1]):
        found += np.outer(x[:, j], matrix[j])
    return found


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 11))
def test_all_sums_run_in_one_order(seed: int, n: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    x = correlated(rng, n, columns)
    assert np.array_equal(products_of_columns(x), naive_rows(x.T.copy(), x))
    covariance = products_of_columns(x)
    factor = triangle(covariance)
    assert np.array_equal(factor, naive_triangle(covariance))
    for each in (factor, inverse(factor)):
        assert np.array_equal(multiply_rows(x, each), naive_rows(x, each))
    shift, by, matrix = rng.normal(size=columns), rng.normal(size=columns), rng.normal(size=(columns, 3))
    assert np.array_equal(mapped_rows(x, shift, by, matrix), naive_rows((x - shift) * by, matrix))


def test_tables_of_any_order_may_be_combined_and_stay_as_they_are() -> None:
    rng = np.random.default_rng(1)
    x, covariance = correlated(rng, 30, 7), np.cov(correlated(rng, 30, 7).T)
    kept = covariance.copy()
    factor = triangle(covariance)
    assert np.array_equal(covariance, kept)
    fixed = factor.copy()
    fixed.flags.writeable = False
    assert np.array_equal(multiply_rows(np.asfortranarray(x), fixed), multiply_rows(x, factor))


def test_the_inverse_is_one_where_there_is_a_pivot() -> None:
    x = correlated(np.random.default_rng(1), 30, 6)
    factor = triangle(np.cov(x.T))
    found = inverse(factor)
    expected = np.diag([1.0, 1, 1, 0, 0, 1])
    assert found @ factor @ expected == pytest.approx(expected, abs=1e-9)
    assert not found[3].any()
    assert not found[:, 3].any()
