"""Rank-based interval disclosure against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
from tsveil.attack.interval import interval
from tsveil.core.errors import ParameterError


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 3), st.booleans())
def test_shares_are_those_of_the_definition(seed: int, n: int, columns: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 6, (n, columns)).astype(float) if coarse else rng.normal(size=(n, columns))
    b = a[rng.permutation(n)] + (rng.integers(-1, 2, a.shape) / 2 if coarse else 0.1 * rng.normal(size=a.shape))
    percents = [0, 1, 5, 10, 33.3, 50]
    found = interval(naive.dataset(a), naive.dataset(b), percents=percents)
    assert found.by_percent.tolist() == pytest.approx(naive.interval_disclosure(a, b, percents))
    assert found.rate == pytest.approx(found.per_record.mean())
    assert found.rate == pytest.approx(np.mean(list(found.per_attribute.values())))


def test_the_original_itself_is_disclosed() -> None:
    data = naive.dataset(np.random.default_rng(0).integers(0, 5, (50, 3)).astype(float))
    assert interval(data, data).rate == 100.0


def test_the_edge_counts() -> None:
    a = np.arange(200.0)[:, None]
    shifted = np.roll(a, -4, axis=0)
    found = interval(naive.dataset(a), naive.dataset(shifted), percents=[1, 2])
    assert found.by_percent.tolist() == [0.0, 98.0]


def test_some_records_were_not_released() -> None:
    a = np.arange(10.0)[:, None]
    original, released, truth = naive.pair_of_files(a, a[:5], [0, 1, 2, 3, 4, -1, -1, -1, -1, -1])
    found = interval(original, released, truth=truth)
    assert found.rate == 100.0
    assert found.per_record.tolist() == [100.0] * 5 + [0.0] * 5


def test_bad_widths() -> None:
    data = naive.dataset(np.eye(3))
    with pytest.raises(ParameterError, match="'percents' parameter of the interval attack"):
        interval(data, data, percents=[])
