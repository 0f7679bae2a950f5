from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_series as naive
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import DISTANCES
from tsveil.distance import dtw, euclidean, sts

#: few values, so that paths tie
values = st.sampled_from([0.0, 1.0, 2.0, -1.5, 0.1, 1e3])
series = st.lists(values, min_size=1, max_size=9)
pairs = st.integers(2, 9).flatmap(lambda T: st.tuples(*[st.lists(values, min_size=T, max_size=T)] * 2))
radii = st.none() | st.integers(0, 10)


def test_the_table_names_them_all() -> None:
    assert [name for name in DISTANCES if name in DISTANCES.own] == ["euclidean", "sts", "dtw"]
    x, v = [1.0, 4.0, 2.0], [0.0, 5.0, 9.0]
    for name, function in {"euclidean": euclidean, "sts": sts, "dtw": dtw}.items():
        assert DISTANCES.make(name).between(x, v) == function(x, v)


@given(pairs)
def test_euclidean_follows_the_definition(pair: tuple[list[float], list[float]]) -> None:
    x, v = pair
    assert euclidean(x, v) == pytest.approx(math.sqrt(sum((a - b) ** 2 for a, b in zip(x, v, strict=True))), rel=1e-12)


@given(pairs, st.data())
def test_sts_follows_the_definition(pair: tuple[list[float], list[float]], data: st.DataObject) -> None:
    x, v = pair
    steps = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(x), max_size=len(x)))
    times = np.cumsum(steps).tolist()
    assert sts(x, v, times) == pytest.approx(naive.sts(x, v, times), rel=1e-9, abs=1e-12)
    assert sts(x, v) == pytest.approx(euclidean(np.diff(x), np.diff(v)), rel=1e-12)


@given(series, series, radii)
def test_dtw_follows_the_full_table(x: list[float], v: list[float], radius: int | None) -> None:
    found = dtw(x, v, radius)
    assert found == pytest.approx(naive.dtw(x, v, radius), rel=1e-12)
    assert math.isfinite(found)  # there is a path in every band
    assert found == dtw(v, x, radius)


@given(pairs)
def test_a_wider_band_never_costs_more(pair: tuple[list[float], list[float]]) -> None:
    x, v = pair
    found = [dtw(x, v, radius) for radius in range(len(x))]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(euclidean(x, v), rel=1e-12)
    assert found[-1] == dtw(x, v)


def test_dtw_of_long_series_of_different_length() -> None:
    rng = np.random.default_rng(4)
    for n, m in [(200, 201), (150, 40), (3, 77), (1, 50)]:
        x, v = rng.normal(size=n).tolist(), rng.normal(size=m).tolist()
        for radius in (None, 0, 1, 5, 30):
            assert dtw(x, v, radius) == pytest.approx(naive.dtw(x, v, radius), rel=1e-12)


def test_dtw_agrees_with_dtaidistance() -> None:
    from dtaidistance import dtw as other

    rng = np.random.default_rng(6)
    for n, m in [(30, 30), (25, 40), (8, 60)]:
        x, v = rng.normal(size=n), rng.normal(size=m)
        assert dtw(x, v) == pytest.approx(other.distance(x, v), rel=1e-10)
    x, v = rng.normal(size=(2, 30))
    for radius in (0, 2, 7):
        assert dtw(x, v, radius) == pytest.approx(other.distance(x, v, window=radius + 1), rel=1e-10)


@pytest.mark.parametrize("distance", [euclidean, sts, dtw])
@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**1000])
def test_huge_and_tiny_values(distance: Callable[..., float], factor: float) -> None:
    x, v = np.random.default_rng(9).normal(size=(2, 12))
    assert distance(x * factor, v * factor) == pytest.approx(distance(x, v) * factor, rel=1e-12)
    assert distance(x, x) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: euclidean([1.0, 2.0], [1.0]), "the series have 2 and 1 points, but must have the same number"),
        (
            lambda: euclidean([[1.0]], []),
            r"2 problems\n.*first series must be a sequence of numbers. Got the shape \(1, 1\)",
        ),
        (
            lambda: dtw([1.0, math.nan], [1.0]),
            "the dtw distance .* first series has a missing or infinite value at point 2",
        ),
        (lambda: sts([1.0], [2.0]), "has 1 point: slopes need at least 2 points"),
        (lambda: sts([1.0, 2.0], [2.0, 3.0], [1, 0]), "the times of the series must increase"),
    ],
)
def test_series_that_cannot_be_compared(call: Callable[[], float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("radius", [-1, 1.5, "2", True])
def test_a_band_that_makes_no_sense(radius: object) -> None:
    with pytest.raises(
        ParameterError, match="The 'radius' parameter of dtw must be an integer of at least 0, or left out"
    ):
        dtw([1.0, 2.0], [1.0, 2.0], radius)  # type: ignore[arg-type]
