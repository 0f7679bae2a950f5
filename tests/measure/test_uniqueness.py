"""Who stands alone: the fast count against the definition."""

from __future__ import annotations

from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

import tsveil as tv
from tsveil.measure.uniqueness import singled_out


def naive(x: np.ndarray[tuple[int, int], np.dtype[np.float64]], count: int) -> float:
    """Compare every record with every other on every set of columns."""
    rates = []
    for chosen in combinations(range(x.shape[1]), count):
        part = x[:, chosen]
        alone = sum(all(tuple(a) != tuple(b) for j, b in enumerate(part) if j != i) for i, a in enumerate(part))
        rates.append(100 * alone / len(x))
    return sum(rates) / len(rates)


@given(
    arrays(
        np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.sampled_from([0.0, -0.0, 1.0, 2.5])
    )
)
def test_it_is_the_definition(x: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    found = singled_out(tv.Dataset.from_arrays({"x": x}))
    assert list(found) == [count for count in (1, 2, 3) if count <= x.shape[1]]
    for count, rate in found.items():
        assert rate == pytest.approx(naive(x, count))


def test_many_columns_are_drawn_at_random_and_repeatably() -> None:
    x = np.random.default_rng(1).integers(0, 4, (60, 40)).astype(float)
    data = tv.Dataset.from_arrays({"x": x})
    assert singled_out(data) == singled_out(data)
    assert singled_out(data, [1])[1] == 0
    assert singled_out(data, [2])[2] < singled_out(data, [3])[3] < singled_out(data, [10])[10] == 100
    assert singled_out(data, [41]) == {}


def test_rough_knowledge_singles_out_fewer() -> None:
    x = np.random.default_rng(2).normal(size=(200, 5))
    x[:, 4] = 7.0
    data = tv.Dataset.from_arrays({"x": x})
    rates = [singled_out(data, [2], coarse=coarse)[2] for coarse in (0.0, 0.1, 1.0, 100.0)]
    assert sorted(rates, reverse=True) == rates
    assert rates[-1] == 0


def test_other_records_of_the_person_hide_nobody() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        n = int(rng.integers(1, 30))
        x, persons = rng.integers(0, 4, (n, 2)).astype(float), rng.integers(0, 5, n)
        alone = [len(set(persons[(x == row).all(axis=1)])) == 1 for row in x]
        data = tv.Dataset.from_arrays({"x": x}, persons=persons.tolist())
        assert singled_out(data, [2])[2] == pytest.approx(100 * np.mean(alone))
