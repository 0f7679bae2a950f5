from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_series as naive
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, ArrayLike
from tsveil.measure.interval_disclosure import IntervalDisclosure
from tsveil.measure.passes import of_arrays

WIDTHS = list(range(1, 11))


class Found(NamedTuple):
    by_percent: Array
    per_record: Array


def interval_disclosure(X: ArrayLike, Y: ArrayLike, percents: Sequence[float] = WIDTHS) -> Found:
    """The share for each width, and for each record over all of them."""
    each = [of_arrays(IntervalDisclosure(percents=[percent]), X, Y)[0].figures["ID"] for percent in percents]
    found, records = of_arrays(IntervalDisclosure(percents=percents), X, Y)
    assert found.figures["ID"] == pytest.approx(np.mean(each))
    return Found(np.array(each), records["values_disclosed"])


#: decimals as they stand in files, so close to each other that many differences lie on the edge of an interval
decimals = st.integers(-110, 110).map(lambda v: v / 10) | st.integers(9000, 11000).map(lambda v: v / 1000)
pairs = st.tuples(st.integers(1, 5), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(*[arrays(np.float64, shape, elements=decimals)] * 2)
)


def test_the_golden_value() -> None:
    found = interval_disclosure([[-10.5, 10.5, 0.0]], [[-10.0, 10.0, 0.0]])
    assert found.by_percent.mean() == pytest.approx(73.3333, abs=1e-4)
    assert found.by_percent.tolist() == pytest.approx([100 / 3] * 4 + [100] * 6)


@given(pairs)
def test_it_counts_as_on_paper(pair: tuple[Array, Array]) -> None:
    X, Y = pair
    found = interval_disclosure(X, Y)
    assert found.by_percent.tolist() == pytest.approx(naive.interval_disclosure(X, Y, WIDTHS))
    expected = [np.mean(naive.interval_disclosure(X[i : i + 1], Y[i : i + 1], WIDTHS)) for i in range(len(X))]
    assert found.per_record.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("factor", [1.0, 0.1, 0.001, 7.0, 1e12, 1e-300, 1e300, -1.0])
@pytest.mark.parametrize("percent", WIDTHS)
def test_the_edge_counts_in_any_unit(percent: int, factor: float) -> None:
    for published in (10.0, 3.0, 0.7):
        edge = np.array([[published * (100 + percent) / 100, published * (100 - percent) / 100]]) * factor
        beyond = np.array([[published * (100.0001 + percent) / 100, published * (99.9999 - percent) / 100]]) * factor
        released = np.full((1, 2), published * factor)
        assert interval_disclosure(edge, released, [percent]).by_percent.tolist() == [100.0]
        assert interval_disclosure(beyond, released, [percent]).by_percent.tolist() == [0.0]


def test_next_to_zero() -> None:
    found = interval_disclosure([[0.0, 1e-300, 0.0]], [[0.0, 0.0, 1e-300]], [10])
    assert found.by_percent[0] == pytest.approx(100 / 3)


def test_unchanged_values_are_all_disclosed() -> None:
    found = interval_disclosure(naive.FOODS, naive.FOODS, [0])
    assert found.by_percent.tolist() == [100.0]
    assert found.per_record.tolist() == [100.0] * 4


def test_what_cannot_be_measured_is_told() -> None:
    with pytest.raises(InputError, match=r"shape \(4, 9\), the published ones \(4, 8\)"):
        interval_disclosure(naive.FOODS, naive.FOODS[:, :8])
    with pytest.raises(InputError, match="not defined for missing values"):
        interval_disclosure([[1.0, np.nan]], [[1.0, 2.0]])
    for percents in ([], [-1], [np.nan]):
        with pytest.raises(ParameterError, match="'percents' parameter of IntervalDisclosure must be one or more"):
            interval_disclosure(naive.FOODS, naive.FOODS, percents)
