"""Resampling, filling gaps and splitting."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.data.resample import fill_gaps, resample, split

values = st.floats(-1e300, 1e300, allow_nan=False) | st.sampled_from([0.0, 0.1, 1e9 + 0.1, 5e-324, -1.0])
series = st.lists(values, min_size=1, max_size=30).map(np.array)


@given(series, st.integers(2, 40))
def test_resampling_is_linear_interpolation_at_even_places(x: Array, m: int) -> None:
    naive = [np.interp(place, np.arange(len(x)), x) for place in np.linspace(0, len(x) - 1, m)]
    scale = np.abs(x).max()
    np.testing.assert_allclose(resample(x, m), naive, rtol=1e-12, atol=1e-12 * scale)


@given(series, st.integers(2, 40))
def test_resampling_keeps_ends_lengths_and_constants(x: Array, m: int) -> None:
    found = resample(x, m)
    assert found[0] == x[0]
    assert found[-1] == x[-1]
    if len(x) > 1:
        assert np.array_equal(resample(x, len(x)), x)
    assert (resample(np.full(7, x[0]), m) == x[0]).all()


@given(st.lists(series, min_size=1, max_size=4), st.integers(2, 9))
def test_a_table_is_resampled_row_by_row(rows: list[Array], m: int) -> None:
    length = min(map(len, rows))
    table = np.array([row[:length] for row in rows])
    assert np.array_equal(resample(table, m), np.array([resample(row, m) for row in table]))


@pytest.mark.parametrize("m", [1, 0, -3, 2.0, True, None])
def test_too_few_points_are_refused(m: object) -> None:
    with pytest.raises(ParameterError, match="The 'm' parameter of resample must be an integer of at least 2"):
        resample([1.0, 2.0], m)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="without points"):
        resample([], 3)


def naive_fill(x: list[float | None], times: list[float]) -> list[float]:
    """Look left, look right, draw the line."""
    filled = []
    for at, value in enumerate(x):
        left = next(((times[i], v) for i in range(at, -1, -1) if (v := x[i]) is not None), None)
        right = next(((times[i], v) for i in range(at, len(x)) if (v := x[i]) is not None), None)
        if value is not None:
            filled.append(value)
        elif left is None or right is None:
            known = left or right
            assert known is not None
            filled.append(known[1])
        else:
            share = (times[at] - left[0]) / (right[0] - left[0])
            filled.append(left[1] + share * (right[1] - left[1]))
    return filled


@given(
    st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=15).filter(lambda x: any(v is not None for v in x)),
    st.lists(st.floats(0.1, 10), min_size=15, max_size=15),
)
def test_gaps_are_filled_linearly_in_time(x: list[float | None], steps: list[float]) -> None:
    times = np.cumsum(steps)[: len(x)].tolist()
    given_values = np.array([np.nan if v is None else v for v in x])
    found = fill_gaps(given_values, times)
    np.testing.assert_allclose(found, naive_fill(x, times), rtol=1e-9, atol=1e-9)
    present = ~np.isnan(given_values)
    assert np.array_equal(found[present], given_values[present])


def test_a_series_without_values_stays_empty_and_the_input_untouched() -> None:
    table = np.array([[np.nan, np.nan], [1.0, np.nan]])
    found = fill_gaps(table, [0, 1])
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [1.0, 1.0]
    assert np.isnan(table[1, 1])


def test_splitting_cuts_every_series_and_leaves_attributes() -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "age": [30, 40], **{f"{t}": [t + 0.5, t * 2.0] for t in (1, 2, 4, 8)}})
    data = tv.Dataset.from_frame(frame, id="id", blocks={"load": ["1", "2", "4", "8"], "person": ["age"]})
    parts = split(data, 2)
    assert [block.name for block in parts.blocks] == ["load/1", "load/2", "person"]
    assert parts.block("load/2").tolist() == [[4.5, 8.5], [8.0, 16.0]]
    assert parts.blocks[1].times is not None
    assert parts.blocks[1].times.tolist() == [4, 8]
    assert parts.blocks[1].labels == ("4", "8")
    assert parts.columns == data.columns
    assert parts.notes == ("each series was split into 2 consecutive series of equal length",)
    assert np.array_equal(split(data, 1).values, data.values)


def test_a_length_that_does_not_divide_is_refused_with_the_remainder() -> None:
    data = tv.Dataset.from_arrays({"load": np.ones((2, 10)), "gas": np.ones((2, 7))})
    with pytest.raises(InputError) as error:
        split(data, 3)
    assert str(error.value) == (
        "the series cannot be split into 3 parts: 2 problems\n"
        "  1. series 'load' has 10 points, and 1 would be left over\n"
        "  2. series 'gas' has 7 points, and 1 would be left over\n"
        "  10 points can be split into 2, 5, 10 parts\n"
        "  7 points can be split into 7 parts"
    )
    with pytest.raises(ParameterError, match="The 'parts' parameter of split must be an integer of at least 1"):
        split(data, 0)


def test_attributes_alone_cannot_be_split() -> None:
    data = tv.Dataset.from_frame(pl.DataFrame({"a": [1.0], "b": [2.0]}), blocks={"x": ["a", "b"]})
    with pytest.raises(InputError, match="there is no series in the data"):
        split(data, 2)
