"""Triangular factors and products of columns against numpy, one step after the other, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsveil.core.types import Array
from tsveil.transform.ordered import inverse_of_triangle, products_of_columns, rows_times, sums
from tsveil.transform.triangle import inverse, triangle


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


def naive_inverse(x: Array) -> Array:
    found = np.zeros_like(x)
    for c in range(len(x)):
        found[c, c] = 1.0 / x[c, c]
        for i in range(c + 1, len(x)):
            total = 0.0
            for j in range(c, i):
                total += x[i, j] * found[j, c]
            found[i, c] = -total / x[i, i]
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
        assert np.array_equal(rows_times(x, each), naive_rows(x, each))
    matrix = rng.normal(size=(columns, 3))
    assert np.array_equal(rows_times(x, matrix), naive_rows(x, matrix))
    assert np.array_equal(sums(x), naive_rows(np.ones((1, n)), x)[0])
    root = np.tril(rng.normal(size=(columns, columns))) + 3 * np.eye(columns)
    assert np.array_equal(inverse_of_triangle(root), naive_inverse(root))


@given(st.integers(0, 10**6), st.integers(0, 30), st.integers(1, 4), st.integers(1, 4))
def test_sums_of_stacked_tables_run_in_one_order_too(seed: int, terms: int, tables: int, columns: int) -> None:
    x = np.random.default_rng(seed).normal(size=(tables, terms, columns)) * 1e3
    expected = np.zeros((tables, columns))
    for t in range(terms):
        expected += x[:, t]
    assert np.array_equal(sums(x), expected)
    assert np.array_equal(sums(np.asfortranarray(x)), expected)


def test_tables_of_any_order_may_be_combined_and_stay_as_they_are() -> None:
    rng = np.random.default_rng(1)
    x, covariance = correlated(rng, 30, 7), np.cov(correlated(rng, 30, 7).T)
    kept = covariance.copy()
    factor = triangle(covariance)
    assert np.array_equal(covariance, kept)
    fixed = factor.copy()
    fixed.flags.writeable = False
    assert np.array_equal(rows_times(np.asfortranarray(x), fixed), rows_times(x, factor))


def test_the_inverse_is_one_where_there_is_a_pivot() -> None:
    x = correlated(np.random.default_rng(1), 30, 6)
    factor = triangle(np.cov(x.T))
    found = inverse(factor)
    expected = np.diag([1.0, 1, 1, 0, 0, 1])
    assert found @ factor @ expected == pytest.approx(expected, abs=1e-9)
    assert not found[3].any()
    assert not found[:, 3].any()
