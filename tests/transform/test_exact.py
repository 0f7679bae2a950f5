"""Exact sums do not depend on the order of the records or on the chunks that they come in."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsveil.transform import exact

floats = st.floats(-1e300, 1e300, allow_nan=False)


@given(st.lists(floats, min_size=1, max_size=40), st.integers(0, 40), st.randoms())
def test_sums_are_exact_and_merge(values: list[float], cut: int, random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = (exact.parts(np.array(part)) if part else [] for part in (shuffled[:cut], shuffled[cut:]))
    assert exact.total(first, second) == math.fsum(values)
    assert sum(map(Fraction, first + second)) == sum(map(Fraction, values))


def test_columns() -> None:
    x = np.random.default_rng(0).normal(size=(501, 3)) * [1e-9, 1.0, 1e12]
    whole = exact.column_totals([exact.column_parts(x)])
    pieces = exact.column_totals([exact.column_parts(part) for part in np.array_split(x[::-1], [3, 77, 400])])
    assert np.array_equal(whole, pieces)
    assert whole.tolist() == [math.fsum(column) for column in x.T]


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_products_are_those_of_the_rounded_values(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(columns)
    x = rng.uniform(-1, 1, (300, columns)) * 10.0 ** rng.integers(-9, 1, (300, columns))
    x[0], x[1] = 1.0, -1.0
    whole = exact.products(x)
    rounded = [[Fraction(value) for value in row] for row in np.ldexp(np.rint(np.ldexp(x, 51)), -51).tolist()]
    for i in range(columns):
        for j in range(columns):
            right = sum(row[i] * row[j] for row in rounded)
            digits = sum(
                Fraction(int(digit)) * Fraction(2) ** (17 * at - 102) for at, digit in enumerate(whole[:, i, j])
            )
            assert digits == right
            assert exact.product_totals(whole)[i, j] == pytest.approx(float(right), rel=1e-15)
    monkeypatch.setattr(exact, "ROWS", 7)
    pieces = [
        exact.products(part) for part in np.array_split(np.asfortranarray(x[rng.permutation(300)]), [1, 50, 51, 290])
    ]
    assert np.array_equal(exact.merged_products(pieces), whole)


def test_the_largest_values_do_not_overflow() -> None:
    x = np.ones((exact.ROWS + 5, 2))
    x[::2, 1] = -1.0
    assert exact.product_totals(exact.products(x)).tolist() == [[len(x), -1.0], [-1.0, len(x)]]
