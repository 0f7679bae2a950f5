from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import naive_series as naive
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array
from tsveil.transform.normalise import How, normalise, normalise_one

HOWS: list[How] = ["global", "per-record", "component", "ranging"]

#: few values, so that ties, constant columns and constant tables occur, and values that are not exact in binary
tables = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=5),
    elements=st.sampled_from([0.0, 0.1, 0.3, -2.0, 7.0, 1e6]),
)


def test_all_cells_of_the_papers_ranged_table() -> None:
    assert normalise_one(naive.FOODS, "ranging").round(2).tolist() == [
        [1.00, 0.26, 0.08, 0.02, 0.31, 0.20, 0.00, 0.02, 0.23],
        [0.65, 0.56, 0.71, 1.00, 1.00, 0.00, 0.41, 0.00, 0.00],
        [0.00, 0.00, 0.00, 0.00, 0.00, 0.12, 0.09, 0.12, 0.31],
        [0.50, 1.00, 1.00, 0.12, 0.43, 1.00, 1.00, 1.00, 1.00],
    ]


def test_all_cells_of_the_papers_global_table() -> None:
    assert normalise_one(naive.FOODS).round(2).tolist() == [
        [-1.00, -0.81, -0.57, -0.42, -0.34, -0.26, -0.19, -0.10, 0.16],
        [-1.20, -0.32, 1.13, 2.72, 0.25, -0.50, 0.39, -0.13, -0.60],
        [-1.57, -1.24, -0.78, -0.49, -0.61, -0.36, -0.07, 0.02, 0.41],
        [-1.28, 0.39, 1.90, -0.11, -0.24, 0.75, 1.23, 1.17, 2.66],
    ]


def test_mean_and_deviation_of_the_papers_table() -> None:
    np.testing.assert_allclose(normalise_one(naive.FOODS), (naive.FOODS - 125.958333) / 19.384049, atol=1e-7)


@given(tables, tables, st.sampled_from(HOWS), st.booleans())
def test_it_follows_the_definition(X: Array, Y: Array, how: How, own: bool) -> None:
    Y = np.resize(Y, (len(Y), X.shape[1]))
    a, b = normalise(X, Y, how, "own" if own else "original")
    np.testing.assert_allclose(a, naive.normalised(X, X, how), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b, naive.normalised(Y, Y if own else X, how), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("table", [np.full((4, 6), 0.1), np.full((1, 1), 5.0), np.zeros((3, 2))])
def test_what_does_not_vary_becomes_zero(how: How, table: Array) -> None:
    assert not normalise_one(table, how).any()


def test_another_file_is_zero_where_the_original_does_not_vary() -> None:
    _, released = normalise(np.array([[5.0, 1.0], [5.0, 2.0]]), np.array([[4.0, 1.0], [6.0, 2.0]]), "component")
    assert released[:, 0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("factor", "offset"), [(1e-200, 0.0), (1e200, 0.0), (1.0, 1e9), (4.0, -3.0)])
def test_units_do_not_matter(how: How, factor: float, offset: float) -> None:
    X = np.random.default_rng(1).integers(0, 100, (6, 5)).astype(float)
    np.testing.assert_allclose(normalise_one(X * factor + offset, how), normalise_one(X, how), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", [*HOWS, "none"])
def test_the_input_stays_as_it_is(how: How) -> None:
    X = naive.FOODS.copy()
    X.setflags(write=False)
    normalise(X, X, how)
    assert (naive.FOODS == X).all()


def test_without_normalisation_values_stay() -> None:
    assert (normalise_one(naive.FOODS, "none") == naive.FOODS).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"how": "zscore"}, "The 'how' parameter of normalise must be one of 'global', .* Got 'zscore'."),
        ({"scaling": "both"}, "The 'scaling' parameter of normalise must be 'original' or 'own'. Got 'both'."),
    ],
)
def test_unknown_choices_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        normalise(naive.FOODS, naive.FOODS, **options)


@pytest.mark.parametrize("how", HOWS)
def test_the_order_of_the_records_changes_no_bit(how: How) -> None:
    rng = np.random.default_rng(11)
    x = rng.lognormal(3, 2, (1000, 7))
    order = rng.permutation(1000)
    assert np.array_equal(normalise_one(x[order], how), normalise_one(x, how)[order])
