"""The data set itself: what it holds, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tsveil as tv
from tsveil.core.errors import InputError, Problems
from tsveil.core.types import Array
from tsveil.data.dataset import check_ids

X = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])


def message(make: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        make(*args, **options)
    return str(error.value)


def test_one_series() -> None:
    data = tv.Dataset.from_arrays({"load": X})
    assert (data.n, len(data), data.columns) == (2, 2, ("0", "1", "2"))
    assert data.blocks[0].labels == ("0", "1", "2")
    assert data.series == data.blocks
    assert data.ids.to_list() == [1, 2]
    assert data.id is None
    assert repr(data) == "Dataset: 2 records; series 'load' (3 points)"


def test_several_series_with_their_times() -> None:
    data = tv.Dataset.from_arrays(
        {"load": X, "gas": X[:, :2] * 10},
        times={"load": ["2018-01-01", "2018-01-02", "2018-01-05"], "gas": [5, 7]},
        ids=["a", "b"],
        confidential={"ill": [True, False]},
    )
    assert data.columns == ("load.2018-01-01", "load.2018-01-02", "load.2018-01-05", "gas.5", "gas.7")
    times = [block.times.tolist() for block in data.blocks if block.times is not None]
    assert times == [[0, 1, 4], [5, 7]]
    assert data.block("gas").tolist() == [[10, 20], [30, 50]]
    assert data.span("gas") == slice(3, 5)
    assert (data.id, data.ids.to_list()) == ("id", ["a", "b"])
    assert data.confidential == ("ill",)
    assert repr(data).endswith("identifier 'id'; confidential 'ill'")


@given(arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.floats(-1e300, 1e300)))
def test_values_are_kept_and_cannot_be_changed(values: Array) -> None:
    copy = values.copy()
    data = tv.Dataset.from_arrays({"x": values})
    assert np.array_equal(data.block("x"), copy)
    with pytest.raises(ValueError, match="read-only"):
        data.values[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        data.block("x")[0, 0] = 1.0
    values[0, 0] += 5.0  # the caller's own array stays writable, and is not the one in the data set
    assert np.array_equal(data.block("x"), copy)


def test_other_values_notes_and_rows() -> None:
    data = tv.Dataset.from_arrays({"load": X}, ids=["a", "b"])
    doubled = data.with_values(data.values * 2)
    assert doubled.block("load").tolist() == (X * 2).tolist()
    assert doubled.others is data.others
    turned = data.take([1, 0])
    assert turned.ids.to_list() == ["b", "a"]
    assert turned.values.tolist() == X[::-1].tolist()
    assert tv.Dataset.from_arrays({"load": X}).take([1]).n == 1


@pytest.mark.parametrize(
    ("arrays", "options", "text"),
    [
        ({}, {}, "the arrays cannot be used: no array was given"),
        (
            {"a": [["x"]]},
            {},
            "the arrays cannot be used: block 'a' holds something other than numbers, or rows of unequal length",
        ),
        (
            {"a": [[1], [1, 2]]},
            {},
            "the arrays cannot be used: block 'a' holds something other than numbers, or rows of unequal length",
        ),
        (
            {"a": [1, 2]},
            {},
            "the arrays cannot be used: block 'a' must be a table of records by points. Got the shape (2,).",
        ),
        (
            {"a": np.empty((0, 3))},
            {},
            "the arrays cannot be used: block 'a' must be a table of records by points. Got the shape (0, 3).",
        ),
        (
            {"a": [[1]], "b": [[1], [2]]},
            {},
            "the arrays cannot be used: the blocks have different numbers of records: {'a': 1, 'b': 2}",
        ),
        ({"a": [[1, 2]]}, {"times": [1]}, "the arrays cannot be used: block 'a' has 2 points, but 1 times were given"),
        (
            {"a": [[1, 2]]},
            {"times": ["x", "y"]},
            "the arrays cannot be used: the times of block 'a' are neither numbers nor time stamps: 'x', 'y'",
        ),
        (
            {"a": [[1, 2]]},
            {"ids": ["p", "q"]},
            "the arrays cannot be used: there are 1 records, but 2 ids, persons or confidential values",
        ),
        (
            {"a": [[1, 2]]},
            {"times": [2, 1]},
            "the data cannot be used: the times of block 'a' must increase, but '2' is followed by '1' (points 1 and 2)",
        ),
        (
            {"a": [[1], [2], [3]]},
            {"ids": ["p", "q", "p"]},
            "the data cannot be used: column 'id': the id 'p' occurs 2 times (rows 1, 3)",
        ),
        (
            {"a": [[1], [2]]},
            {"ids": ["p", None]},
            "the data cannot be used: column 'id': the id is missing in 1 records (rows 2)",
        ),
    ],
)
def test_arrays_that_cannot_be(arrays: Any, options: Any, text: str) -> None:
    assert message(tv.Dataset.from_arrays, arrays, **options) == text


def test_cells_that_are_no_numbers() -> None:
    values = np.array([[1.0, np.nan], [np.inf, 2.0], [np.nan, -np.inf], [np.nan, np.nan]])
    assert message(tv.Dataset.from_arrays, {"a": values}) == (
        "the data cannot be used: 6 problems\n"
        "  1. row 1, column '1': the value is missing (NaN)\n"
        "  2. row 2, column '0': the value is infinite\n"
        "  3. row 3, column '0': the value is missing (NaN)\n"
        "  4. row 3, column '1': the value is infinite\n"
        "  5. row 4, column '0': the value is missing (NaN)\n"
        "  6. ... and 1 more cells that are missing or infinite, in 4 records\n"
        "  options: drop these records, fill the gaps or protect them as gaps (missing='drop', missing='interpolate', missing='mask' when reading)"
    )


def test_missing_values_are_admitted_when_said() -> None:
    block = tv.Block("a", ("x", "y"))
    gaps = tv.Dataset(np.array([[1.0, np.nan]]), (block,), pl.DataFrame(), missing=True)
    assert np.isnan(gaps.values[0, 1])
    assert "the value is infinite" in message(
        tv.Dataset, np.array([[1.0, np.inf]]), (block,), pl.DataFrame(), missing=True
    )


def test_blocks_that_do_not_fit() -> None:
    block = tv.Block("a", ("x", "y"))
    assert message(tv.Dataset, np.ones((2, 3)), (block,), pl.DataFrame()) == (
        "the data cannot be used: the values have the shape (2, 3), but the blocks name 2 columns"
    )
    assert message(tv.Dataset, np.ones((2, 4)), (block, block), pl.DataFrame()) == (
        "the data cannot be used: 2 problems\n"
        "  1. block named more than once: 'a'\n"
        "  2. column named more than once: 'x', 'y'"
    )
    assert (
        message(tv.Dataset, np.ones((0, 2)), (block,), pl.DataFrame())
        == "the data cannot be used: there are no records"
    )
    assert message(tv.Dataset, np.ones((2, 0)), (), pl.DataFrame()) == "the data cannot be used: there are no blocks"
    timed = tv.Block("a", ("x", "y"), np.array([1.0, np.inf]))
    assert message(tv.Dataset, np.ones((2, 2)), (timed,), pl.DataFrame()) == (
        "the data cannot be used: block 'a' has a time that is not a finite number"
    )


def test_an_unknown_block_is_answered_with_those_there_are() -> None:
    data = tv.Dataset.from_arrays({"load": X, "gas": X})
    for ask in (data.block, data.span, data.block_named):
        assert message(ask, "water") == "there is no block 'water'\n  blocks available: load, gas"


def test_many_repeated_ids_are_counted() -> None:
    problems = Problems("x")
    check_ids(pl.Series("who", [f"r{i // 2}" for i in range(14)]), problems, np.arange(101, 115))
    assert problems.found[0] == "column 'who': the id 'r0' occurs 2 times (rows 101, 102)"
    assert problems.found[5:] == ["... and 2 more ids that occur more than once"]
