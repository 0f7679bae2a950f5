"""Frames become data sets; what is wrong with them is told at once, with its place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.core.errors import InputError, ParameterError
from tsveil.data.frames import dataset_from_wide


def message(make: Callable[..., object], *args: Any, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        make(*args, **options)
    return str(error.value)


def wide(**columns: Any) -> pl.DataFrame:
    base: dict[str, list[Any]] = {
        "who": ["a", "b", "c"],
        "1": [1.0, 2.0, 3.0],
        "2": [4.0, 5.0, 6.0],
        "4": [7.0, 8.0, 9.0],
    }
    return pl.DataFrame(base | columns, strict=False)


LOAD: dict[str, Any] = {"load": ["1", "2", "4"]}


def long(**columns: Any) -> pl.DataFrame:
    base: dict[str, list[Any]] = {"who": ["a", "a", "b", "b"], "t": [1, 2, 1, 2], "load": [1.0, 2.0, 3.0, 4.0]}
    return pl.DataFrame(base | columns, strict=False)


LONG: dict[str, Any] = {"id": "who", "time": "t", "value": "load"}


# -- wide: what comes out ---------------------------------------------------------------------------------------------


def test_roles_and_order() -> None:
    frame = wide(ill=["no", "yes", None], age=[30, 40, 50], town=["x", "y", "z"]).select(
        "town", "1", "who", "2", "ill", "4", "age"
    )
    data = tv.Dataset.from_frame(frame, id="who", blocks=LOAD | {"person": ["age"]}, confidential=["ill"])
    assert repr(data) == (
        "Dataset: 3 records; series 'load' (3 points); attributes 'person' (1 columns); identifier 'who'; confidential 'ill'"
    )
    assert data.block("load").tolist() == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]
    assert data.block("person").ravel().tolist() == [30, 40, 50]
    assert data.others.to_dict(as_series=False) == {"who": ["a", "b", "c"], "ill": ["no", "yes", None]}
    assert data.dropped == ("town",)
    assert data.layout.order == ("town", "1", "who", "2", "ill", "4", "age")
    assert data.integers == {"age"}
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [1, 2, 4]
    assert data.blocks[0].labels == ("1", "2", "4")


def test_columns_of_a_block() -> None:
    frame = wide()
    for spec in (
        ["1", "2"],
        ("1", "2"),
        {"columns": ["1", "2"]},
        {"from": "1", "to": "2"},
        {"from": "1", "to": "2", "kind": "series"},
    ):
        data = tv.Dataset.from_frame(frame, blocks={"load": spec})
        assert data.blocks[0].columns == ("1", "2")
        assert data.blocks[0].is_series
    assert tv.Dataset.from_frame(frame, blocks={"one": "4"}).blocks[0].columns == ("4",)


def test_times_are_said_by_names_or_given() -> None:
    frame = pl.DataFrame(
        {f"load.2018-01-0{day}": [1.0] for day in (1, 2, 4)} | {f"W{week}": [1.0] for week in (0, 1, 5)}
    )
    stamped, counted = frame.columns[:3], frame.columns[3:]

    def times(blocks: Any, **options: Any) -> list[float] | None:
        found = tv.Dataset.from_frame(frame, blocks={"x": blocks}, **options).blocks[0].times
        return None if found is None else found.tolist()

    assert times(stamped) == [0, 1, 3]
    assert times(counted) is None  # W0, W1, ... may be anything
    assert times({"columns": counted, "kind": "series"}) == [0, 1, 5]
    assert times({"columns": [*stamped, *counted], "kind": "series"}) == [0, 1, 2, 3, 4, 5]
    assert times({"columns": counted, "times": ["2018-01", "2018-02", "2018-04"]}) == [0, 1, 3]
    assert times(counted, times=[5, 6, 9]) == [5, 6, 9]
    assert times(counted, times={"x": [5, 6, 9]}) == [5, 6, 9]
    assert times(stamped, times={"x": None}) is None
    assert times({"columns": stamped, "kind": "attributes"}, times=[1, 2, 3]) is None
    data = tv.Dataset.from_frame(frame, blocks={"x": stamped})
    assert data.blocks[0].labels == ("2018-01-01", "2018-01-02", "2018-01-04")


def test_text_is_read_as_numbers() -> None:
    frame = wide(**{"1": [" 1.5", "+2", "1e3"], "2": ["1", "-2", "3"]})
    data = tv.Dataset.from_frame(frame, blocks=LOAD)
    assert data.block("load").tolist() == [[1.5, 1, 7], [2, -2, 8], [1000, 3, 9]]
    assert data.integers == {"2"}


def test_pandas_frames() -> None:
    stamps = pd.date_range("2018-01-01", periods=3, freq="h")
    frame = pd.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], columns=stamps, index=pd.Index(["a", "b"], name="meter"))
    data = tv.Dataset.from_frame(frame, id="meter", blocks={"load": [str(s) for s in stamps]})
    assert data.block("load").tolist() == frame.to_numpy().tolist()
    assert data.others["meter"].to_list() == ["a", "b"]
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [0, 1, 2]
    missing = frame.mask(frame == 2.0)
    assert "the value is missing" in message(
        tv.Dataset.from_frame, missing, id="meter", blocks={"load": [str(s) for s in stamps]}
    )
    twice = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    assert message(tv.Dataset.from_frame, twice, blocks={"x": ["a"]}) == (
        "the frame cannot be used: column named more than once: 'a'"
    )


def test_lazy_frames_and_what_is_no_frame() -> None:
    assert tv.Dataset.from_frame(wide().lazy(), blocks=LOAD).n == 3
    assert message(tv.Dataset.from_frame, [[1, 2]], blocks=LOAD).startswith(
        "a frame of polars, pandas, pyarrow (a Table) or DuckDB (a relation) is needed. Got list."
    )


def test_pandas_is_not_imported_without_need() -> None:
    code = (
        "import sys, polars as pl, tsveil as tv\n"
        "tv.Dataset.from_frame(pl.DataFrame({'1': [1.0]}), blocks={'x': ['1']})\n"
        "assert 'pandas' not in sys.modules and 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- wide: what is refused --------------------------------------------------------------------------------------------


def test_all_problems_of_cells_are_told_at_once() -> None:
    frame = wide(
        who=["a", "b", "a"], **{"1": ["1", "abc", "3"], "2": [4.0, None, float("inf")], "4": [7.0, float("nan"), 9.0]}
    )
    assert message(tv.Dataset.from_frame, frame, id="who", blocks=LOAD) == (
        "the frame cannot be used: 5 problems\n"
        "  1. column 'who': the id 'a' occurs 2 times (rows 1, 3)\n"
        "  2. row 2, column '1': 'abc' is not a number\n"
        "  3. row 3, column '2': the value is infinite\n"
        "  4. row 2, columns '2', '4': the value is missing\n"
        "  5. series 'load' is incomplete: 1 of 3 records have only 1 of the 3 points (first: 'b')\n"
        "  rows are counted from 1 after the column names\n"
        "  options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps, missing='interpolate' fills gaps in time, resample=m "
        "brings every series to m points, split=i cuts series of one length into i shorter ones"
    )


def test_roles_that_name_the_wrong_columns() -> None:
    frame = wide(age=[1, 2, 3])
    assert message(
        tv.Dataset.from_frame,
        frame,
        id="whom",
        blocks={"load": ["1", "2", "3"], "more": ["2", "age", "age"]},
        confidential=["ill", "age"],
    ) == (
        "the frame cannot be used: 6 problems\n"
        "  1. the identifier names the column 'whom', which does not exist (did you mean 'who'?)\n"
        "  2. confidential names the column 'ill', which does not exist\n"
        "  3. block 'load' names the column '3', which does not exist\n"
        "  4. column '2' has two roles: block 'load' and block 'more'\n"
        "  5. column 'age' has two roles: confidential and block 'more'\n"
        "  6. column 'age' is named twice in block 'more'\n"
        "  columns available: 'who', '1', '2', '4', 'age'"
    )


def test_many_unknown_columns_are_counted() -> None:
    text = message(tv.Dataset.from_frame, wide(), blocks={"load": [f"unknown{i}" for i in range(9)]})
    assert (
        "5. block 'load' names the column 'unknown4', which does not exist\n  6. ... and 4 more such columns\n" in text
    )


@pytest.mark.parametrize(
    ("blocks", "options", "problem"),
    [
        ({}, {}, "no block was named: blocks={'load': [...]} says which columns are protected together"),
        ({"x": []}, {}, "block 'x' has no columns"),
        ({"x": {"from": "4", "to": "1"}}, {}, "block 'x': column '4' comes after column '1' in the table"),
        ({"x": {"from": "1", "to": "9"}}, {}, "block 'x' names the column '9', which does not exist"),
        (
            {"x": {"from": "1"}},
            {},
            "block 'x' needs its columns: a list of names, or the first ('from') and the last one ('to')",
        ),
        (
            {"x": {"columns": ["1"], "colour": "red"}},
            {},
            "block 'x' needs its columns: a list of names, or the first ('from') and the last one ('to')",
        ),
        (
            {"x": {"columns": ["1"], "kind": "time"}},
            {},
            "the kind of block 'x' must be 'series' or 'attributes'. Got 'time'.",
        ),
        ({"x": ["1"]}, {"times": {"y": [1]}}, "times names the block 'y', which does not exist (blocks: 'x')"),
        (
            {"x": ["1"]},
            {"times": ["a"]},
            "the times of block 'x' cannot be used: 'a' is neither a number nor a time stamp",
        ),
        ({"x": ["1", "2"]}, {"times": [1, 2, 3]}, "block 'x' has 2 columns and 3 times"),
        (
            {"x": ["1", "4", "2"]},
            {},
            "the times of block 'x' must increase, but '4' is followed by '2' (points 2 and 3)",
        ),
        (
            {"x": ["1", "2"]},
            {"times": ["2018-01-01", "2018-01-01"]},
            "the times of block 'x' must increase, but '2018-01-01' is followed by '2018-01-01' (points 1 and 2)",
        ),
    ],
)
def test_blocks_that_cannot_be(blocks: Any, options: Any, problem: str) -> None:
    text = message(tv.Dataset.from_frame, wide(), blocks=blocks, **options)
    assert text.split("\n")[0] == f"the frame cannot be used: {problem}"


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (["x", "y", "z"], "column '1' holds text, not numbers (in row 1: 'x')"),
        ([True, False, True], "column '1' holds values of type Boolean, not numbers"),
        ([[1.0], [2.0], [3.0]], "column '1' holds values of type List(Float64), not numbers"),
        ([2**53 + 1, 1, 2], "row 1, column '1': 9007199254740993 is too large to be kept exactly (beyond 2^53)"),
        ([1, 2, -(2**60)], "row 3, column '1': -1152921504606846976 is too large to be kept exactly (beyond 2^53)"),
    ],
)
def test_columns_that_are_no_numbers(column: list[Any], problem: str) -> None:
    text = message(tv.Dataset.from_frame, wide(**{"1": column}), blocks=LOAD)
    assert text.split("\n")[0] == f"the frame cannot be used: {problem}"


def test_examples_are_few_and_the_others_counted() -> None:
    frame = pl.DataFrame({"1": ["1", *["x"] * 9], "2": [None, *["y"] * 8, "2"]})
    assert message(tv.Dataset.from_frame, frame, blocks={"load": ["1", "2"]}, missing="keep") == (
        "the frame cannot be used: 6 problems\n"
        "  1. row 2, column '1': 'x' is not a number\n"
        "  2. row 2, column '2': 'y' is not a number\n"
        "  3. row 3, column '1': 'x' is not a number\n"
        "  4. row 3, column '2': 'y' is not a number\n"
        "  5. row 4, column '1': 'x' is not a number\n"
        "  6. ... and 12 more cells that are not numbers\n"
        "  rows are counted from 1 after the column names"
    )


def test_empty_rows_are_skipped_but_counted() -> None:
    frame = wide(who=["a", None, "c"], **{"1": ["1", None, "x"], "2": [1, None, 2], "4": [1, None, 2]})
    assert "row 3, column '1': 'x' is not a number" in message(tv.Dataset.from_frame, frame, id="who", blocks=LOAD)
    fine = frame.with_columns(pl.Series("1", [1.0, None, 2.0]))
    data = tv.Dataset.from_frame(fine, id="who", blocks=LOAD)
    assert data.n == 2
    assert data.notes == ("1 empty rows were skipped",)


def test_nothing_in_it() -> None:
    no_rows = "the frame cannot be used: there are no records, only the names of columns"
    assert message(tv.Dataset.from_frame, wide().clear(), blocks=LOAD) == no_rows
    assert message(tv.Dataset.from_long, long().clear(), **LONG) == no_rows
    assert "there are no columns" in message(tv.Dataset.from_frame, pl.DataFrame(), blocks=LOAD)
    assert message(tv.Dataset.from_frame, wide(who=["a", None, "c"]), id="who", blocks=LOAD) == (
        "the frame cannot be used: column 'who': the id is missing in 1 records (rows 2)\n"
        "  rows are counted from 1 after the column names"
    )


# -- wide: gaps -------------------------------------------------------------------------------------------------------

GAPS = wide(**{"1": [1, None, 3], "2": [None, 5, None], "4": [7, 8, None]})


def test_gaps_dropped_interpolated_and_kept() -> None:
    dropped = tv.Dataset.from_frame(wide(**{"2": [4, None, 6]}), id="who", blocks=LOAD, missing="drop")
    assert dropped.others["who"].to_list() == ["a", "c"]
    assert dropped.block("load").tolist() == [[1, 4, 7], [3, 6, 9]]
    assert dropped.notes == ("1 of 3 records were dropped because they have gaps",)
    assert dropped.integers == {"2"}

    filled = tv.Dataset.from_frame(GAPS, id="who", blocks=LOAD, missing="interpolate")
    assert filled.block("load").tolist() == [[1, 3, 7], [5, 5, 8], [3, 3, 3]]
    assert filled.notes == ("4 missing values in 3 of 3 records were filled by linear interpolation in time",)
    assert filled.integers == frozenset()

    kept = tv.Dataset.from_frame(GAPS, id="who", blocks=LOAD, missing="keep")
    assert kept.missing
    assert np.isnan(kept.block("load")).sum() == 4
    assert kept.notes == ("4 missing values in 3 of 3 records were kept as gaps",)
    assert not tv.Dataset.from_frame(wide(), blocks=LOAD, missing="keep").missing


def test_gaps_that_nothing_helps() -> None:
    assert message(tv.Dataset.from_frame, GAPS, blocks=LOAD, missing="drop") == (
        "the frame cannot be used: all 3 records have gaps, so dropping them leaves nothing\n"
        "  options: missing='interpolate' fills gaps in time, missing='mask' protects records with their gaps, resample=m brings every series to m points"
    )
    empty = wide(**{"1": [None, 1, 1], "2": [None, 1, 1], "4": [None, 1, 1]})
    for options in ({"missing": "interpolate"}, {"resample": 3}, {"resample": 3, "missing": "interpolate"}):
        assert message(tv.Dataset.from_frame, empty, id="who", blocks=LOAD, **options) == (
            "the frame cannot be used: series 'load' has no value at all in 1 of 3 records (first: 'a')\n"
            "  options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps"
        )
    person = pl.DataFrame({"age": [1, None], "pay": [1, 2]})
    assert message(tv.Dataset.from_frame, person, blocks={"p": ["age", "pay"]}, missing="interpolate") == (
        "the frame cannot be used: block 'p' is no time series, so its gaps cannot be interpolated: 1 of 2 records have one "
        "(first: row 2)\n"
        "  options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps"
    )


def test_unequal_lengths_are_resampled() -> None:
    frame = wide(**{"1": [None, 2, 3], "2": [4, 6, 6], "4": [8, None, 9]}).with_columns(x=pl.Series([1, 2, 3]))
    data = tv.Dataset.from_frame(frame, id="who", blocks=LOAD, resample=3, confidential=["x"])
    assert data.block("load").tolist() == [[4, 6, 8], [2, 4, 6], [3, 6, 9]]
    assert data.columns == ("1", "2.5", "4")
    assert data.layout.order == ("who", "1", "2.5", "4", "x")
    assert data.notes == (
        "every series was resampled by linear interpolation to 3 points (before: 2 to 3)",
        "resampling: records that begin late or end early are stretched over all times",
    )
    assert data.integers == frozenset()


def test_a_gap_inside_is_no_matter_of_length() -> None:
    frame = wide(**{"2": [4, None, 6]})
    assert "row 2, column '2': the value is missing" in message(tv.Dataset.from_frame, frame, blocks=LOAD, resample=2)
    filled = tv.Dataset.from_frame(frame, blocks=LOAD, resample=2, missing="interpolate")
    assert filled.block("load").tolist() == [[1, 7], [2, 8], [3, 9]]
    assert filled.notes[0] == "1 missing values were filled by linear interpolation in time"
    # the gap lies between the two places that are taken, and still counts
    dropped = tv.Dataset.from_frame(frame, id="who", blocks=LOAD, resample=2, missing="drop")
    assert dropped.others["who"].to_list() == ["a", "c"]


def test_several_series_are_resampled_each() -> None:
    frame = pl.DataFrame({"a.2018": [1.0], "a.2019": [3.0], "b.2018": [5.0], "b.2019": [None], "age": [30]})
    blocks: dict[str, Any] = {
        "a": {"from": "a.2018", "to": "a.2019", "kind": "series"},
        "b": {"columns": ["b.2018", "b.2019"], "kind": "series"},
    }
    data = tv.Dataset.from_frame(frame, blocks=blocks | {"p": ["age"]}, resample=3)
    assert data.block("a").tolist() == [[1, 2, 3]]
    assert data.block("b").tolist() == [[5, 5, 5]]
    assert data.columns == ("a.2018", "a.2018.5", "a.2019", "b.2018", "b.2018.5", "b.2019", "age")
    assert data.layout.order == data.columns
    assert data.integers == {"age"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"missing": "fill"},
            "The 'missing' parameter must be one of 'refuse', 'drop', 'interpolate', 'mask', 'keep'. Got 'fill'.",
        ),
        ({"resample": 1}, "The 'resample' parameter must be an integer from 2 to 200000, or left out. Got 1."),
        (
            {"resample": 2_000_000_000},
            "The 'resample' parameter must be an integer from 2 to 200000, or left out. Got 2000000000.",
        ),
        ({"resample": 2.5}, "The 'resample' parameter must be an integer from 2 to 200000, or left out. Got 2.5."),
        (
            {"resample": 5, "missing": "keep"},
            "The 'resample' parameter cannot go with missing='keep': there is nothing to interpolate in a gap.",
        ),
    ],
)
def test_options_that_cannot_be(options: Any, text: str) -> None:
    with pytest.raises(ParameterError) as error:
        tv.Dataset.from_frame(wide(), blocks=LOAD, **options)
    assert str(error.value) == text
    with pytest.raises(ParameterError) as error:
        tv.Dataset.from_long(long(), **LONG, **options)
    assert str(error.value) == text


# -- long -------------------------------------------------------------------------------------------------------------


def test_rows_may_come_in_any_order() -> None:
    frame = long(town=["x", "x", "y", "y"], remark=["p", "q", "r", "s"], gas=[5, 6, 7, 8])[[3, 0, 2, 1]]
    data = tv.Dataset.from_long(frame, id="who", time="t", value=["load", "gas"], confidential=["town"])
    assert data.others.to_dict(as_series=False) == {"who": ["b", "a"], "town": ["y", "x"]}
    assert data.block("load").tolist() == [[3, 4], [1, 2]]
    assert data.block("gas").tolist() == [[7, 8], [5, 6]]
    assert data.columns == ("load.1", "load.2", "gas.1", "gas.2")
    assert data.integers == {"gas.1", "gas.2"}
    assert data.dropped == ("remark",)
    assert (data.layout.shape, data.layout.time, data.layout.variable) == ("long", "t", None)
    assert data.layout.values == ("load", "gas")
    assert data.layout.order == tuple(frame.columns)


def test_one_series_per_word() -> None:
    rows = [("a", 1, "p", 1), ("a", 2, "p", 2), ("a", 1, "q", 3), ("a", 3, "q", 4)]
    frame = pl.DataFrame(rows, schema=["who", "t", "variable", "value"], orient="row")
    data = tv.Dataset.from_long(frame, id="who", time="t", variable="variable", value="value")
    assert [block.name for block in data.blocks] == ["p", "q"]
    assert data.columns == ("p.1", "p.2", "q.1", "q.3")
    assert data.values.tolist() == [[1, 2, 3, 4]]
    assert (data.layout.variable, data.layout.values) == ("variable", ("value",))


def test_times_of_long_tables() -> None:
    stamps = ["2018-01-01T00:00", "2018-01-01T06:00", "2018-01-01 00:00", "2018-01-01 06:00"]
    data = tv.Dataset.from_long(long(t=stamps), **LONG)
    assert data.columns == ("2018-01-01T00:00", "2018-01-01T06:00")  # the same moments, as first written
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [0, 1]
    dates = long().with_columns(t=pl.Series(["2018-01-01", "2018-01-04"] * 2).str.to_date())
    assert tv.Dataset.from_long(dates, **LONG).columns == ("2018-01-01", "2018-01-04")
    late_first = long(t=[10, 9, 10, 9])
    assert tv.Dataset.from_long(late_first, **LONG).columns == ("9", "10")


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3), min_size=n, max_size=n).map(np.array)
    ),
    st.randoms(use_true_random=False),
)
def test_wide_and_long_agree(values: Any, random: Any) -> None:
    n = len(values)
    wide_frame = pl.DataFrame({"who": [f"r{i}" for i in range(n)], **{str(t): values[:, t] for t in range(3)}})
    order = list(range(3 * n))
    random.shuffle(order)
    long_frame = wide_frame.unpivot(index="who", variable_name="t", value_name="x")[order]
    a = tv.Dataset.from_frame(wide_frame, id="who", blocks={"x": ["0", "1", "2"]})
    b = tv.Dataset.from_long(long_frame, id="who", time="t", value="x")
    place = {name: row for row, name in enumerate(b.others["who"])}
    assert np.array_equal(a.values, b.take([place[name] for name in a.others["who"]]).values)
    assert a.columns == b.columns


def test_everything_wrong_with_a_long_table() -> None:
    frame = pl.DataFrame(
        {
            "who": ["a", None, "b", "b", "c"],
            "t": ["1", "2", "soon", None, "2"],
            "load": ["1", "x", None, "4", "inf"],
            "town": ["x", "x", "y", "z", "x"],
        }
    )
    assert message(tv.Dataset.from_long, frame, id="who", time="t", value="load", confidential=["town", "ill"]) == (
        "the frame cannot be used: 8 problems\n"
        "  1. confidential names the column 'ill', which does not exist\n"
        "  2. row 2, column 'load': 'x' is not a number\n"
        "  3. row 5, column 'load': the value is infinite\n"
        "  4. row 3, column 'load': the value is missing\n"
        "  5. row 2, column 'who': the value is missing\n"
        "  6. row 4, column 't': the value is missing\n"
        "  7. confidential column 'town' must have one value per id, but it has several for 1 of 4 ids (first: 'b')\n"
        "  8. row 3, column 't': 'soon' is neither a number nor a time stamp\n"
        "  columns available: 'who', 't', 'load', 'town'\n"
        "  rows are counted from 1 after the column names"
    )


def test_repeated_times_and_missing_rows() -> None:
    frame = pl.concat([long(), long()[1:2], long(who=["c"] * 4, t=[1, 1, 1, 1])[:3]])
    assert message(tv.Dataset.from_long, frame, **LONG) == (
        "the frame cannot be used: 3 problems\n"
        "  1. the id 'a' has the time '2' 2 times (rows 2, 5)\n"
        "  2. the id 'c' has the time '1' 3 times (rows 6, 7, 8)\n"
        "  3. series 'load' is incomplete: 1 of 3 records have only 1 of the 2 points (first: 'c')\n"
        "  rows are counted from 1 after the column names\n"
        "  options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps, missing='interpolate' fills gaps in time, resample=m "
        "brings every series to m points, split=i cuts series of one length into i shorter ones"
    )
    words = pl.DataFrame({"who": ["a", "a"], "t": [1, 1], "v": ["p", "p"], "x": [1, 2]})
    assert message(tv.Dataset.from_long, words, id="who", time="t", variable="v", value="x", resample=2) == (
        "the frame cannot be used: the id 'a' has the time '1' for v 'p' 2 times (rows 1, 2)\n"
        "  rows are counted from 1 after the column names"
    )


def test_roles_of_a_long_table() -> None:
    assert message(tv.Dataset.from_long, long(), id="whom", time="t", value=["load", "t"], variable="w") == (
        "the frame cannot be used: 4 problems\n"
        "  1. the identifier names the column 'whom', which does not exist (did you mean 'who'?)\n"
        "  2. variable names the column 'w', which does not exist\n"
        "  3. column 't' has two roles: time and value\n"
        "  4. beside the variable column 'w' there is one column with values. Got 'load', 't'.\n"
        "  columns available: 'who', 't', 'load'"
    )
    assert "no column with values was named" in message(tv.Dataset.from_long, long(), id="who", time="t", value=[])
    zones = long(t=["2018-01-01T00:00", "2018-01-01T01:00Z"] * 2)
    assert message(tv.Dataset.from_long, zones, **LONG) == (
        "the frame cannot be used: the times in column 't' cannot be used: '2018-01-01T01:00Z' names a time zone and "
        "'2018-01-01T00:00' does not"
    )


def ragged() -> pl.DataFrame:
    rows = [("a", t, float(t)) for t in range(4)] + [("b", t, 10.0 * t) for t in (0, 3)] + [("c", 2, 7.0)]
    return pl.DataFrame(rows, schema=["who", "t", "load"], orient="row")


def test_unequal_lengths_of_a_long_table() -> None:
    frame = ragged()
    assert message(tv.Dataset.from_long, frame, **LONG).split("\n")[0] == (
        "the frame cannot be used: series 'load' is incomplete: 2 of 3 records have only 1 to 2 of the 4 points "
        "(first: 'b', 'c')"
    )
    dropped = tv.Dataset.from_long(frame, **LONG, missing="drop")
    assert dropped.others["who"].to_list() == ["a"]
    filled = tv.Dataset.from_long(frame, **LONG, missing="interpolate")
    assert filled.values.tolist() == [[0, 1, 2, 3], [0, 10, 20, 30], [7, 7, 7, 7]]
    kept = tv.Dataset.from_long(frame, **LONG, missing="keep")
    assert np.isnan(kept.values).tolist() == [[False] * 4, [False, True, True, False], [True, True, False, True]]
    even = tv.Dataset.from_long(frame, **LONG, resample=3)
    assert even.values.tolist() == [[0, 1.5, 3], [0, 15, 30], [7, 7, 7]]
    assert even.columns == ("0", "1.5", "3")
    assert even.notes == (
        "every series was resampled by linear interpolation to 3 points (before: 1 to 4)",
        "resampling: records that begin late or end early are stretched over all times",
    )


def test_an_empty_cell_is_a_gap_of_a_long_table() -> None:
    frame = ragged().with_columns(load=pl.when(pl.col("t") == 1).then(None).otherwise("load"))
    assert "row 2, column 'load': the value is missing" in message(tv.Dataset.from_long, frame, **LONG, resample=2)
    assert tv.Dataset.from_long(frame, **LONG, missing="interpolate").values[0].tolist() == [0, 1, 2, 3]
    assert tv.Dataset.from_long(frame, **LONG, missing="interpolate", resample=4).values[0].tolist() == [0, 1, 2, 3]
    assert tv.Dataset.from_long(frame, **LONG, missing="drop", resample=2).others["who"].to_list() == ["b", "c"]


def test_records_without_a_series() -> None:
    rows = [("a", 1, "p", 1.0), ("a", 2, "p", 2.0), ("a", 1, "q", 1.0), ("b", 1, "q", 1.0)]
    frame = pl.DataFrame(rows, schema=["who", "t", "v", "x"], orient="row")
    roles: dict[str, Any] = {"id": "who", "time": "t", "variable": "v", "value": "x"}
    assert message(tv.Dataset.from_long, frame, **roles).split("\n")[0] == (
        "the frame cannot be used: series 'p' is incomplete: 1 of 2 records have only 0 of the 2 points (first: 'b')"
    )
    assert "series 'p' has no value at all in 1 of 2 records (first: 'b')" in message(
        tv.Dataset.from_long, frame, **roles, resample=2
    )
    assert tv.Dataset.from_long(frame, **roles, resample=2, missing="drop").others["who"].to_list() == ["a"]


def test_records_with_no_time_in_common_are_not_filled() -> None:
    n = 10_001
    frame = pl.DataFrame({"who": np.arange(n), "t": np.arange(n), "load": np.ones(n)})
    assert message(tv.Dataset.from_long, frame, **LONG, missing="interpolate") == (
        "the frame cannot be used: the records of series 'load' have too few times in common to fill the others\n"
        "  options: resample=m brings every series to m points"
    )
    assert tv.Dataset.from_long(frame, **LONG, resample=2).values.shape == (n, 2)


def test_the_subject_and_layout_are_the_callers() -> None:
    from tsveil.data.dataset import Layout

    layout = Layout(format="parquet", separator=";", decimal=",")
    frame = wide(**{"1": ["1,5", "2", "x"]})
    text = message(dataset_from_wide, frame, blocks=LOAD, layout=layout, subject="m.csv cannot be used")
    assert text.startswith("m.csv cannot be used: row 3, column '1': 'x' is not a number")
    data = dataset_from_wide(frame[:2], blocks=LOAD, layout=layout)
    assert data.values[0, 0] == 1.5
    assert (data.layout.format, data.layout.separator, data.layout.decimal) == ("parquet", ";", ",")


def test_what_is_wrong_in_several_columns_is_said_once() -> None:
    names = [f"v{at}" for at in range(7)]
    rows = [(who, day) for who in "abcdefgh" for day in (1, 1, 2)]
    frame = pl.DataFrame(
        {"who": [who for who, _ in rows], "t": [day for _, day in rows], **{name: range(len(rows)) for name in names}}
    )
    twice = message(tv.Dataset.from_long, frame, id="who", time="t", value=names)
    assert twice.split("\n")[0] == "the frame cannot be used: 6 problems"
    assert "  1. the id 'a' has the time '1' 2 times (rows 1, 2)\n" in twice
    gaps = frame.filter(pl.col("t") == 2).with_columns(pl.when(pl.col("who") > "f").then("v1").alias("v0"))
    gaps = gaps.with_columns(v3=pl.Series(["?", *"1234567"]), v5=pl.Series(["?", *"1234567"]))
    assert message(tv.Dataset.from_long, gaps, id="who", time="t", value=names).split("\n")[:-1] == [
        "the frame cannot be used: 7 problems",
        "  1. row 1, columns 'v3', 'v5': '?' is not a number",
        *(f"  {at}. row {at - 1}, column 'v0': the value is missing" for at in range(2, 7)),
        "  7. ... and 1 more missing values",
    ]
    uneven = frame.unique(["who", "t"], keep="first", maintain_order=True).filter(
        (pl.col("who") != "b") | (pl.col("t") == 1)
    )
    assert message(tv.Dataset.from_long, uneven, id="who", time="t", value=names).split("\n")[0] == (
        "the frame cannot be used: series 'v0', 'v1', 'v2', 'v3', 'v4' and 2 more are incomplete: 1 of 8 records have only 1 of the 2 points (first: 'b')"
    )
    wide = pl.DataFrame({"who": ["x", "y"], **{str(day): [None if day < 9 else 1.0, 2.0] for day in range(12)}})
    assert message(tv.Dataset.from_frame, wide, id="who", blocks={"load": wide.columns[1:]}).split("\n")[1] == (
        "  1. row 1, columns '0', '1', '2', '3', '4' and 4 more: the value is missing"
    )
