"""Linkage without common attributes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.fuzzy import ALPHAS, fuzzy, normalise_columns, representatives
from tsveil.core.errors import InputError, ParameterError

#: ten records of four attributes, and the same in other columns (Nin 2008, Table 5.1)
A = np.array(
    [
        [0.2, 0.4, 0.2, 0.4], [0.1, 0.2, 0.1, 0.2], [0.5, 0.6, 0.5, 0.1], [0.8, 0.4, 0.4, 0.7], [0.9, 0.2, 0.0, 0.0],
        [0.2, 0.2, 0.3, 0.9], [0.5, 0.3, 0.2, 1.0], [0.0, 0.1, 0.5, 1.0], [1.0, 0.0, 0.9, 0.2], [0.5, 1.0, 1.0, 0.8],
    ]
)  # fmt: skip
B = np.array(
    [
        [0.4, 0.2, 0.2, 0.4], [0.2, 0.1, 0.1, 0.2], [0.1, 0.5, 0.5, 0.6], [0.7, 0.4, 0.8, 0.4], [0.0, 0.0, 0.9, 0.2],
        [0.9, 0.3, 0.2, 0.2], [1.0, 0.2, 0.5, 0.3], [1.0, 0.5, 0.0, 0.1], [0.2, 0.9, 1.0, 0.0], [0.8, 1.0, 0.5, 1.0],
    ]
)  # fmt: skip
#: Table 5.2 with its misprints put right: r1 Q4/5, r4 Q2/5 and Q5/5, r5 Q1/5
TABLE = np.array(
    [
        [0.37, 0.35, 0.33, 0.315, 0.30, 0.29, 0.28, 0.27, 0.26, 0.25],
        [0.19, 0.18, 0.17, 0.16, 0.15, 0.14, 0.14, 0.13, 0.13, 0.13],
        [0.55, 0.51, 0.48, 0.45, 0.43, 0.40, 0.38, 0.36, 0.35, 0.33],
        [0.74, 0.685, 0.64, 0.61, 0.575, 0.55, 0.53, 0.51, 0.49, 0.48],
        [0.705, 0.55, 0.44, 0.35, 0.28, 0.22, 0.18, 0.14, 0.12, 0.094],
        [0.74, 0.62, 0.53, 0.46, 0.40, 0.36, 0.32, 0.30, 0.28, 0.26],
        [0.85, 0.73, 0.63, 0.56, 0.50, 0.45, 0.41, 0.38, 0.36, 0.34],
        [0.82, 0.68, 0.57, 0.47, 0.40, 0.34, 0.29, 0.25, 0.22, 0.19],
        [0.87, 0.77, 0.67, 0.59, 0.53, 0.47, 0.41, 0.37, 0.33, 0.29],
        [0.96, 0.92, 0.88, 0.85, 0.83, 0.80, 0.78, 0.755, 0.74, 0.72],
    ]
)


def test_the_printed_example() -> None:
    for table in (A, B):
        assert np.allclose(representatives(table, "owa", "exponent"), TABLE, atol=0.00501)
    original, released = tv.Dataset.from_arrays({"a": A}), tv.Dataset.from_arrays({"b": B})
    assert fuzzy(original, released, quantifier="exponent", normalise="none").correct == 10


@given(st.integers(0, 10**6), st.sampled_from(["owa", "sugeno", "twofold"]), st.sampled_from(list(ALPHAS)))
def test_the_order_of_attributes_does_not_matter(seed: int, aggregation: str, quantifier: str) -> None:
    rng = np.random.default_rng(seed)
    x = rng.random((8, 5))
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 0] = rng.random(8)
    one = representatives(x, aggregation, quantifier, "exponent")  # type: ignore[arg-type]
    other = representatives(x[:, rng.permutation(5)], aggregation, quantifier, "exponent")  # type: ignore[arg-type]
    assert one.shape == (8, 10)
    assert np.allclose(one, other)


def test_a_missing_value_is_left_out() -> None:
    x = np.array([[0.2, np.nan, 0.6], [0.2, 0.6, np.nan]])
    for quantifier in ALPHAS:
        full = representatives(np.array([[0.2, 0.6]]), "owa", quantifier)  # type: ignore[arg-type]
        assert np.allclose(representatives(x, "owa", quantifier), full)  # type: ignore[arg-type]


def test_normalisation() -> None:
    x = np.array([[1.0, 5.0, 3.0], [2.0, 5.0, np.nan], [6.0, 5.0, 5.0]])
    assert np.array_equal(
        normalise_columns(x, "ranging"), np.array([[0, 0, 0], [0.2, 0, np.nan], [1, 0, 1]]), equal_nan=True
    )
    z = normalise_columns(x, "standardise")
    assert np.allclose(z[:, 0], (x[:, 0] - 3) / np.std(x[:, 0], ddof=1))
    assert z[0, 2] == -z[2, 2]


@pytest.mark.parametrize("linkage", ["distance", "probabilistic"])
@pytest.mark.parametrize("normalise", ["standardise", "ranging"])
def test_correlated_attributes_link_far_better_than_guessing(linkage: str, normalise: str) -> None:
    rng = np.random.default_rng(0)
    size = rng.lognormal(size=(100, 1))
    a, b = (size * np.exp(0.1 * rng.normal(size=(100, k))) for k in (4, 5))
    original, released = tv.Dataset.from_arrays({"a": a}), tv.Dataset.from_arrays({"b": b})
    found = fuzzy(original, released, linkage=linkage, normalise=normalise)  # type: ignore[arg-type]
    assert found.correct > 8
    assert found.by_guessing < 1e-4


def test_known_and_published_choose_the_columns() -> None:
    data = naive.dataset(A)
    found = fuzzy(data, data, known=["x0", "x1"], published=["x2", "x3"])
    assert found.attack == "owa threshold linkage by distance, 2 and 2 attributes"
    assert fuzzy(data, data, known=["x0"], published=["x0"]).correct == pytest.approx(
        len(np.unique(A[:, 0]))
    )  # equal values are a tie


def test_bad_requests() -> None:
    data = naive.dataset(A)
    with pytest.raises(ParameterError, match=r"'aggregation' parameter[\s\S]*'quantifier' parameter"):
        fuzzy(data, data, aggregation="mean", quantifier="all")  # type: ignore[arg-type]
    import dataclasses

    empty = dataclasses.replace(data, missing=True, values=np.where(np.arange(10)[:, None] == 3, np.nan, A))
    with pytest.raises(InputError, match="the release has records without any value: 4"):
        fuzzy(data, empty)
