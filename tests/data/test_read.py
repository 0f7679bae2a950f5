"""Files become data sets: formats, detection, fidelity, and what is said of files that cannot be used."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from small_parquet import PARQUET
from tsveil.core.errors import InputError, ParameterError, QuestionError, TsveilError
from tsveil.data import files
from tsveil.data import trial as trials
from tsveil.data.read import look_at, read
from tsveil.data.trial import Trial

METERS = "meter,2018-01-01,2018-01-02,2018-01-04\na,1.5,2,3\nb,4,5.25,6\n"
VALUES = [[1.5, 2, 3], [4, 5.25, 6]]


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def make(content: str | bytes, name: str = "meters.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


def message(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        read(path, **options)
    return str(error.value)


# -- formats ----------------------------------------------------------------------------------------------------------


def check_meters(data: tv.Dataset) -> None:
    assert repr(data) == "Dataset: 2 records; series 'series' (3 points); identifier 'meter'"
    assert data.block("series").tolist() == VALUES
    assert data.others["meter"].to_list() == ["a", "b"]
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    "content",
    [
        METERS,
        METERS.rstrip("\n"),
        METERS + "\n\n",
        "\n" + METERS,
        METERS.replace("\n", "\r\n"),
        METERS.replace("\n", "\r"),
        "\ufeff" + METERS,
        "\ufeff" + METERS.replace("\n", "\r\n"),
        METERS.replace(",", ", ").replace(", 2018", ",2018"),
        '"meter","2018-01-01","2018-01-02","2018-01-04"\n"a","1.5","2","3"\n"b","4","5.25","6"\n',
    ],
)
def test_lines_and_marks(file: Any, content: str) -> None:
    check_meters(read(file(content)))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["m.csv", "m.csv.gz", "m.tsv", "m.txt", "m"])
def test_separators_and_gzip(file: Any, separator: str, packed: bool, name: str) -> None:
    content = METERS.replace(",", separator).encode()
    data = read(file(gzip.compress(content, mtime=0) if packed else content, name))
    check_meters(data)
    assert (data.layout.format, data.layout.separator, data.layout.decimal) == ("csv", separator, ".")
    assert data.layout.order == ("meter", "2018-01-01", "2018-01-02", "2018-01-04")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_comma(file: Any, separator: str) -> None:
    content = METERS.replace(",", separator).replace(".", ",")
    data = read(file(content))
    check_meters(data)
    assert (data.layout.separator, data.layout.decimal) == (separator, ",")
    check_meters(read(file(content), separator="tab" if separator == "\t" else separator, decimal=","))


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ("0,123;1,234", [0.123, 1.234]),
        ("1,5;2", [1.5, 2]),
        ("1,234;2,345", [1.234, 2.345]),  # semicolons are cut where commas are decimal
        ("1,5e3;-2", [1500, -2]),
        ("1.5;2", [1.5, 2]),
    ],
)
def test_decimal_commas_are_detected(file: Any, cells: str, values: list[float]) -> None:
    assert read(file(f"1;2\n{cells}\n")).values.tolist() == [values]


def test_what_may_be_thousands_is_not_guessed(file: Any) -> None:
    asked = (
        "meters.csv has numbers that can be read in two ways, such as '1,234' in column '1'.\n"
        "  Is it 1234?                         --decimal .\n"
        "  Or 1.234, a number with decimals?   --decimal ,"
    )
    tabs = "1\t2\n1,234\t5\n2,345\t6\n"
    assert message(file(tabs)) == asked
    assert message(file(tabs), memory="1KB") == asked
    assert read(file(tabs), decimal=".").values.tolist() == [[1234, 5], [2345, 6]]
    assert read(file(tabs), decimal=",").values.tolist() == [[1.234, 5], [2.345, 6]]
    commas = 'id,1,2\na,5,6\nb,7,8\nc,9,10\nd,1,2\ne,3,4\nf,"1,234",5\n'
    assert message(file(commas)) == asked
    assert read(file(commas), decimal=".").values[-1].tolist() == [1234, 5]
    # a point among decimal commas groups thousands, wherever it stands
    rows = "".join(f"r{i};1,5;2\n" for i in range(1200))
    data = read(file(f"id;1;2\n{rows}x;1.234;2\n"))
    assert (data.values[0, 0], data.values[-1, 0]) == (1.5, 1234)
    assert data.notes == ("column '1': the points in numbers such as '1.234' group thousands",)


@pytest.mark.parametrize(
    ("cells", "marks"),
    [
        (["1,234.5", "7.25"], "commas"),
        (["1.234,5", "7,25"], "points"),
        (["1 234.5", "7.25"], "blanks"),
        (["1\u00a0234,5", "7,25"], "blanks"),
        (["1\u202f234,5", "7,25"], "blanks"),
        (["1'234.5", "7.25"], "apostrophes"),
        (["1\u2019234,5", "7,25"], "apostrophes"),
        (["-1,234,567.5", "7.25"], "commas"),
        (["1,234", "0.5"], "commas"),
    ],
)
@pytest.mark.parametrize("separator", ["\t", "|"])
def test_grouped_thousands(file: Any, cells: list[str], marks: str, separator: str) -> None:
    lines = [
        separator.join(["meter", "1", "2"]),
        *(separator.join([f"m{at}", cell, "1"]) for at, cell in enumerate(cells)),
    ]
    data = read(file("\n".join(lines) + "\n"))
    plain = [
        float(
            re.sub(
                r"[^\d.-]",
                "",
                c if marks == "commas" or ("." in c and marks != "points") else c.replace(".", "").replace(",", "."),
            )
        )
        for c in cells
    ]
    assert data.values[:, 0].tolist() == plain
    assert data.notes == (f"column '1': the {marks} in numbers such as {cells[0]!r} group thousands",)


@pytest.mark.parametrize(
    "cells", [["044 123 456", "1 234"], ["1 234", "12 34"], ["1,2345", "1,234"], ["1,234", "x"], ["01,234", "5"]]
)
def test_other_texts_are_no_grouped_numbers(file: Any, cells: list[str]) -> None:
    rows = "".join(f"m{at}\t{at}.5\t{cell}\n" for at, cell in enumerate(cells))
    data = read(file(f"meter\tload\tother\n{rows}"), confidential="other")
    assert data.others["other"].to_list() == cells
    assert data.notes == ()


def test_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"meter": ["a", "b"], "2018-01-01": [1.5, 4.0], "2018-01-02": [2.0, 5.25], "2018-01-04": [3, 6]}
    )
    path = tmp_path / "m.parquet"
    frame.write_parquet(path)
    data = read(path)
    check_meters(data)
    assert data.layout.format == "parquet"
    assert data.integers == {"2018-01-04"}
    typed = tmp_path / "typed.parquet"
    stamps = pl.Series(["2018-01-01", "2018-01-03"] * 2).str.to_datetime(time_unit="us")
    pl.DataFrame({"who": [1, 1, 2, 2], "when": stamps, "load": [1, 2, 3, 4]}).write_parquet(typed)
    assert read(typed).columns == ("2018-01-01T00:00:00", "2018-01-03T00:00:00")


@pytest.mark.parametrize("packed", [False, True])
def test_a_parquet_file_that_ends_its_parser_is_told_and_does_not_end_us(file: Any, packed: bool) -> None:
    def stored(content: bytes) -> Any:
        return file(gzip.compress(content) if packed else content)

    assert read(stored(PARQUET)).values.tolist() == [[1.5], [2.5], [3.5]]
    # Minus 64 values: the parser asks for 2^61 bytes, and its process is ended.
    damaged = stored(PARQUET[:12] + b"\x7f" + PARQUET[13:])
    told = "meters.csv cannot be read: the Parquet file is damaged, so that its parser ends\n  options: fetch or write"
    assert message(damaged).startswith(told)
    with pytest.raises(InputError, match="is damaged"):
        look_at(damaged)


@pytest.fixture
def fresh_trial(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A child that nobody has asked before."""
    with Trial() as one:
        monkeypatch.setattr(trials, "_trial", one)
        yield


@pytest.mark.usefixtures("fresh_trial")
def test_the_parser_of_a_trial_is_not_a_file_beside_us(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    place = file("import os\nos.abort()\n", "polars.py")
    monkeypatch.chdir(place.parent)
    assert read(file(PARQUET)).n == 3


def test_what_the_trial_could_not_parse_is_not_parsed_again(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of two damaged columns is met first is chance: an error in the trial may be the end of this process."""

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("polars.read_parquet", never)
    monkeypatch.setattr("polars.read_parquet_schema", never)
    cut = message(file(PARQUET[:50] + PARQUET[54:]))
    assert cut.startswith("meters.csv cannot be read: it is not a complete Parquet file (")
    assert cut.endswith(")\n  options: fetch or write the file again, or save the table as CSV (UTF-8)")


@pytest.mark.usefixtures("fresh_trial")
def test_one_child_serves_all_files_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = subprocess.Popen

    def counted(*words: Any, **options: Any) -> Any:
        started.append(words)
        return start(*words, **options)

    monkeypatch.setattr(subprocess, "Popen", counted)
    assert [trials.parsing_problem(PARQUET) for _ in range(3)] == [None] * 3
    assert len(started) == 1
    monkeypatch.setattr(trials, "LARGE", 10)  # after a large file it ends
    assert [trials.parsing_problem(PARQUET) for _ in range(2)] == [None] * 2
    assert len(started) == 2
    assert trials._trial._child is None


@pytest.mark.usefixtures("fresh_trial")
def test_a_child_whose_answer_was_not_read_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Trial._answer
    assert trials.parsing_problem(PARQUET) is None

    def stopped(self: Trial, *said: bytes) -> bytes:
        answer(self, said[0])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trial, "_answer", stopped)
        with pytest.raises(KeyboardInterrupt):
            trials.parsing_problems([("nowhere.parquet", [], 0, 0)])
    assert trials.parsing_problem(PARQUET) is None


def test_one_trial_for_many_files_goes_on_after_one_that_ended_it() -> None:
    cut, ends = PARQUET[:50] + PARQUET[54:], PARQUET[:12] + b"\x7f" + PARQUET[13:]
    with Trial() as trial:
        told = [trial.problem(data) or "" for data in (PARQUET, cut, ends, PARQUET, ends, b"", PARQUET)]
    short = [text.split(" (")[0] for text in told]
    ended, broken = "the Parquet file is damaged, so that its parser ends", "it is not a complete Parquet file"
    assert short == ["", broken, ended, "", ended, broken, ""]


@pytest.mark.parametrize("python", ["", shutil.which("false")])
def test_where_no_child_can_be_started_files_are_read_all_the_same(
    file: Any, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    monkeypatch.setattr("sys.executable", python)
    assert read(file(PARQUET)).n == 3
    assert "it is not a complete Parquet file (" in message(file(PARQUET[:50] + PARQUET[54:]))


# -- layouts and roles ------------------------------------------------------------------------------------------------


def test_roles_are_guessed_where_they_are_not_given(file: Any) -> None:
    path = file("meter,town,age,1,2,3\na,x,30,1,2,3\nb,y,40,4,5,6\n")
    data = read(path, confidential="town")
    assert (data.id, data.confidential, data.dropped) == ("meter", ("town",), ("age",))
    chosen = read(path, blocks={"load": {"from": "1", "to": "2"}, "p": ["age"]}, id="town")
    assert (chosen.id, [b.name for b in chosen.blocks], chosen.dropped) == ("town", ["load", "p"], ("meter", "3"))
    assert read(path, blocks={"load": ["1", "2"]}).id == "meter"
    assert read(file("zzz,1,2\n5,1,2\n6,3,4\n"), blocks={"x": ["zzz", "1"]}, times={"x": None}).id is None


def test_long_files(file: Any) -> None:
    path = file("meter,hour,load,gas\na,1,1,5\na,2,2,6\nb,1,3,7\nb,2,4,8\n")
    data = read(path)
    assert [b.name for b in data.blocks] == ["load", "gas"]
    assert data.block("gas").tolist() == [[5, 6], [7, 8]]
    layout = data.layout
    assert (layout.shape, layout.time, layout.variable, layout.values) == ("long", "hour", None, ("load", "gas"))
    assert layout.order == ("meter", "hour", "load", "gas")
    assert read(path, value="gas").columns == ("1", "2")
    assert read(path, layout="wide", independent_rows=True).blocks[0].name == "attributes"
    assert read(path, resample=4, split=2).blocks[1].name == "load/2"


def test_names_are_kept_as_they_are_written(file: Any) -> None:
    data = read(
        file("meter,zip,pay,flag,1,2\n007,01234,1.50,NA,1,2\n008,99999,2.5,7,3,4\n"),
        confidential=["zip", "pay", "flag"],
    )
    assert data.others.to_dict(as_series=False) == {
        "meter": ["007", "008"],
        "zip": ["01234", "99999"],
        "pay": [1.5, 2.5],
        "flag": ["NA", "7"],
    }
    plain = read(file("meter,1,2\n7,1,2\n8,3,4\n"))
    assert plain.others["meter"].to_list() == [7, 8]
    versions = read(file("name,1,2\n1.1,1,2\n1.10,3,4\n"), id="name")
    assert versions.others["name"].to_list() == ["1.1", "1.10"]
    hours = read(file("meter,hour,load\na,01,1\na,02,2\nb,01,3\nb,02,4\n"))
    assert hours.columns == ("01", "02")
    # also when all cells had to be read as text
    rows = "".join(f"{i:05d},1,2\n" for i in range(1500))
    late = read(file(f"meter,1,2\n{rows}01500,1.5,2\n"))
    assert late.others["meter"][0] == "00000"
    assert late.values[-1].tolist() == [1.5, 2]
    assert late.integers == {"2"}


def test_a_look_before_reading(file: Any) -> None:
    path = file("meter,town,1,2,3\na,x,1,?,3\nb,y,4,5,6\n")
    look = look_at(path, confidential=["town"], missing="drop")
    assert (look.rows, look.columns) == (2, ("meter", "town", "1", "2", "3"))
    assert look.options() == {
        "layout": "wide",
        "id": "meter",
        "blocks": {"series": {"from": "1", "to": "3", "kind": "series"}},
        "confidential": ["town"],
    }
    assert look.source.separator == ","
    fine = file("meter,town,1,2,3\na,x,1,2,3\nb,y,4,5,6\n")
    assert repr(read(fine, **look_at(fine).options())) == repr(read(fine))
    apart = file("1,meter,2\n1,a,2\n3,b,4\n")
    assert look_at(apart).options()["blocks"] == {"series": {"columns": ["1", "2"], "kind": "series"}}
    given_blocks = look_at(fine, blocks={"x": ["1"]})
    assert given_blocks.options()["blocks"] == {"x": ["1"]}
    long = file("meter,hour,load\na,1,1\na,2,2\nb,1,3\nb,2,4\n")
    assert look_at(long).options() == {"layout": "long", "id": "meter", "time": "hour", "value": ["load"]}
    assert repr(read(long, **look_at(long).options())) == repr(read(long))


# -- numbers ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_come_back_exactly(tmp_path_factory: pytest.TempPathFactory, numbers: list[float]) -> None:
    path = tmp_path_factory.getbasetemp() / "numbers.csv"
    frame = pl.DataFrame({"a": numbers, "b": [0.5] * len(numbers)})
    frame.write_csv(path)
    assert read(path, blocks={"x": ["a", "b"]}).values[:, 0].tolist() == numbers
    frame.write_csv(path, separator=";", decimal_comma=True)
    assert read(path, blocks={"x": ["a", "b"]}, decimal=",").values[:, 0].tolist() == numbers


@given(st.decimals(-(10**6), 10**6, places=20, allow_nan=False))
def test_decimals_are_rounded_correctly(tmp_path_factory: pytest.TempPathFactory, number: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "decimals.csv"
    path.write_text(f"a,b\n{number:f},x\n0.5,y\n")
    assert read(path, blocks={"x": ["a"]}).values[0, 0] == float(f"{number:f}")
    # the same by way of text
    rows = "1,x\n" * 1100
    path.write_text(f"a,b\n{rows}{number:f},x\n")
    assert read(path, blocks={"x": ["a"]}, confidential="b").values[-1, 0] == float(f"{number:f}")


def test_words_for_nothing(file: Any) -> None:
    path = file("meter,1,2,3\na,1,NA,3\nb,4,nan,6\nc,7,,9\nd,1,N/A,3\ne,1,null,3\nf,1,2,3\n")
    data = read(path, missing="interpolate")
    assert data.block("series")[:, 1].tolist() == [2, 5, 8, 2, 2, 2]
    assert data.notes == ("5 missing values in 5 of 6 records were filled by linear interpolation in time",)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_all_problems_in_one_message(file: Any) -> None:
    path = file(
        "meter,2018-01-01,2018-01-02,2018-01-03\n"
        "a,1,2,3\n"
        "b,abc,2,3\n"
        "c,1,,3\n"
        "a,1,2,inf\n"
        "d,1,NaN,3\n"
        "e,1,2,3\n"
    )  # fmt: skip
    assert message(path, confidential=["town"]) == (
        "meters.csv cannot be used: 7 problems\n"
        "  1. confidential names the column 'town', which does not exist\n"
        "  2. column 'meter': the id 'a' occurs 2 times (rows 1, 4)\n"
        "  3. row 2, column '2018-01-01': 'abc' is not a number\n"
        "  4. row 4, column '2018-01-03': the value is infinite\n"
        "  5. row 3, column '2018-01-02': the value is missing\n"
        "  6. row 5, column '2018-01-02': the value is missing\n"
        "  7. series 'series' is incomplete: 2 of 6 records have only 2 of the 3 points (first: 'c', 'd')\n"
        "  columns available: 'meter', '2018-01-01', '2018-01-02', '2018-01-03'\n"
        "  rows are counted from 1 after the column names\n"
        "  options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps, missing='interpolate' fills gaps in time, resample=m "
        "brings every series to m points, split=i cuts series of one length into i shorter ones"
    )


def test_problems_of_a_long_file(file: Any) -> None:
    rows = ["a,1,1", "a,2,2", "a,3,x", "b,1,3", "b,2,4", "b,2,4", "b,3,5", "c,1,3", "c,2,4", "c,soon,5"]
    path = file("meter,hour,load\n" + "\n".join(rows) + "\n")
    assert message(path) == (
        "meters.csv cannot be used: 2 problems\n"
        "  1. row 3, column 'load': 'x' is not a number\n"
        "  2. row 10, column 'hour': 'soon' is neither a number nor a time stamp\n"
        "  rows are counted from 1 after the column names"
    )
    rows[2], rows[9] = "a,3,3", "c,3,5"
    path = file("meter,hour,load\n" + "\n".join(rows) + "\n")
    assert message(path) == (
        "meters.csv cannot be used: the id 'b' has the time '2' 2 times (rows 5, 6)\n"
        "  rows are counted from 1 after the column names"
    )


def test_a_text_far_down_is_quoted(file: Any) -> None:
    rows = "".join(f"r{i},{i},{i}.5\n" for i in range(3000))
    text = message(file(f"meter,1,2\n{rows}x,1,12 kWh\n"))
    assert text.split("\n")[0] == "meters.csv cannot be used: row 3001, column '2': '12 kWh' is not a number"


def test_unequal_lengths(file: Any) -> None:
    path = file("meter,hour,load\na,1,1\na,2,2\na,3,3\nb,1,3\nb,2,4\nc,1,5\nc,2,6\nc,3,7\n")
    assert message(path) == (
        "meters.csv cannot be used: series 'load' is incomplete: 1 of 3 records have only 2 of the 3 points (first: 'b')\n"
        "  options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps, missing='interpolate' fills gaps in time, resample=m "
        "brings every series to m points, split=i cuts series of one length into i shorter ones"
    )
    assert read(path, missing="drop").n == 2
    assert read(path, missing="interpolate").block("load")[1].tolist() == [3, 4, 4]
    assert read(path, resample=2).block("load").tolist() == [[1, 3], [3, 4], [5, 7]]
    assert message(path, resample=5, split=2) == (
        "the series cannot be split into 2 parts: series 'load' has 5 points, and 1 would be left over\n"
        "  5 points can be split into 5 parts"
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "meters.csv cannot be read: the file is empty"),
        (" \n\n", "meters.csv cannot be read: the file is empty"),
        (
            "meter,1,2\n",
            "meters.csv cannot be used: there are no records, only the names of columns\n"
            "  columns available: 'meter', '1', '2'",
        ),
        (
            "meter,town\na,x\nb,y\n",
            "meters.csv cannot be used: no column holds numbers that could be protected\n"
            "  columns available: 'meter', 'town'",
        ),
        (
            "meter,1,1\na,2,3\n",
            "meters.csv cannot be read: column named more than once: '1'\n"
            "  the first line must hold the names of the columns, each a different one",
        ),
        (
            "3,1,2\n1,2,3\n4,5,6\n",
            "meters.csv cannot be used: the times of block 'series' must increase, but '3' is followed by '1' (points 1 "
            "and 2)\n"
            "  the first line of a file must hold the names of the columns",
        ),
        (
            "meter,1,2\na,1,2\nb,1,2,3\nc,1\n",
            "meters.csv cannot be read: 2 problems\n"
            "  1. row 2 has 4 cells, but there are 3 columns\n"
            "  2. row 3 has 2 cells, but there are 3 columns\n"
            "  rows are counted from 1 after the column names\n"
            "  the cells are separated by ','; if that is wrong, give separator=",
        ),
        (
            "meter,1\nGr\u00fcn,1\n".encode() + b"Gr\xfcn 2,1\n",
            "meters.csv cannot be read: the text is encoded as UTF-8, but for some places (line 3 of the file has the byte 0xfc)\n"
            "  options: write the file again; or, if it was put together of several, each of them as 'CSV UTF-8'",
        ),
        (
            b"meter,1\nGr\x81n,1\n",
            "meters.csv cannot be read: the text is encoded neither as UTF-8 nor as Windows-1252 (line 2 of the file has the byte 0x81)\n"
            "  options: save the file as 'CSV UTF-8', or convert it: iconv -f ENCODING -t UTF-8 OLD > NEW",
        ),
        (
            b"\x01\x02\xff\x00\x00\x03",
            "meters.csv cannot be read: it is no text (line 1 of the file has the byte 0xff)\n"
            "  options: save the table as CSV (UTF-8) or Parquet",
        ),
        (
            METERS.encode("utf-16")[:-1],
            "meters.csv cannot be read: the text is encoded as UTF-16 and damaged, or cut off\n"
            "  options: fetch or write the file again, as 'CSV UTF-8' where there is a choice",
        ),
        (
            b"PK\x03\x04 and so on",
            "meters.csv cannot be read: it is a zip archive\n"
            "  options: unpack it; files compressed by gzip or zstd are read as they are",
        ),
        (
            b"PK\x03\x04\x14\x00\x06\x00 [Content_Types].xml and so on",
            "meters.csv cannot be read: it is not a complete Excel workbook (Cannot detect file format)\n"
            "  options: fetch or write the file again, or save the table as CSV (UTF-8)",
        ),
        (
            b"SQLite format 3\x00\x10\x00\x01 and so on",
            "meters.csv cannot be read: it is not a complete SQLite database (file is not a database)\n"
            "  options: fetch or write the file again, or save the table as CSV (UTF-8)",
        ),
        (
            gzip.compress(b"<!DOCTYPE html>\n<html><body>Not found</body></html>", mtime=0),
            "meters.csv cannot be read: it is a web page (HTML), as is often saved instead of a file behind a link\n"
            "  options: download the file itself",
        ),
        (
            b'{"meter": "a", "1": 2, "about": {"unit": "kWh"}}',
            "meters.csv cannot be read: it is JSON, but no list of records (it is one object)\n"
            '  options: records as {"meter": "a", "load": 1.5}, one in each line or all in one list; or save the table as CSV (UTF-8)',
        ),
        (
            gzip.compress(METERS.encode(), mtime=0)[:-12],
            "meters.csv cannot be read: the compressed file is damaged (Compressed file ended before the end-of-stream "
            "marker was reached)",
        ),
    ],
)
def test_files_that_cannot_be_used(file: Any, content: str | bytes, text: str) -> None:
    assert message(file(content)) == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
@pytest.mark.parametrize("memory", ["4GB", "1KB"])
def test_other_encodings_are_read_with_a_note(file: Any, encoding: str, memory: str) -> None:
    sign = "\u20ac" if encoding == "cp1252" else "\u00fc"
    plain = f"Z\u00e4hler,2018-01-01,2018-01-02\nGr{sign}n,1,2\nb,3,4\n"
    data = read(file(plain.encode(encoding)), memory=memory)
    said = "UTF-16" if encoding.startswith("utf") else "Windows-1252, because it is not UTF-8"
    assert data.notes == (f"the text was read as {said}",)
    assert (data.id, data.ids.to_list(), data.values.tolist()) == ("Z\u00e4hler", [f"Gr{sign}n", "b"], [[1, 2], [3, 4]])
    assert read(file(plain.encode("utf-8-sig")), memory=memory).notes == ()


@pytest.mark.parametrize("name", ["FEA1", "ARROW1", "BZhour", "RDX2", "species,DUCK", "7z", "PDF", "X", "[1]", "{a}"])
def test_names_of_columns_make_no_other_file(file: Any, name: str) -> None:
    names = name.split(",")
    rows = "".join(f"{at}.5{',1.5' * (len(names) + 1)}\n" for at in range(9))
    assert read(file(f"{name},b,c\n{rows}")).n == 9


def test_compressed_otherwise(file: Any) -> None:
    assert "it is compressed by bzip2\n" in message(file(bz2.compress(METERS.encode())))
    assert "it is compressed by xz\n" in message(file(lzma.compress(METERS.encode())))


def test_damaged_files(file: Any) -> None:
    assert message(file(b"PAR1 and so on")).startswith("meters.csv cannot be read: it is not a complete Parquet file (")
    assert message(file('meter,1\n"a,1\nb,2\n')).startswith("meters.csv cannot be read: ")


def test_places_that_are_no_files(tmp_path: Path) -> None:
    assert message(tmp_path / "no.csv") == f"there is no file {tmp_path / 'no.csv'}"
    told = "cannot be used: the folder holds no file that ends with .parquet or .csv, or as another format that tsveil reads"
    assert message(tmp_path) == f"{tmp_path.name} {told}"
    assert "embedded null byte" in message(Path("a\0b"))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"layout": "tall"}, "The 'layout' parameter of read must be 'wide' or 'long', or left out. Got 'tall'."),
        ({"separator": "x"}, "The 'separator' parameter of read must be ',', ';', '|' or 'tab', or left out. Got 'x'."),
        ({"decimal": ";"}, "The 'decimal' parameter of read must be '.' or ',', or left out. Got ';'."),
        (
            {"separator": ",", "decimal": ","},
            "The 'separator' and the 'decimal' parameter of read cannot both be ','.",
        ),
        ({"split": 1}, "The 'split' parameter of read must be an integer of at least 2, or left out. Got 1."),
        (
            {"missing": "x"},
            "The 'missing' parameter must be one of 'refuse', 'drop', 'interpolate', 'mask', 'keep'. Got 'x'.",
        ),
    ],
)
def test_options_that_cannot_be(file: Any, options: Any, text: str) -> None:
    with pytest.raises(ParameterError) as error:
        read(file(METERS), **options)
    assert str(error.value) == text


def test_roles_that_do_not_fit_the_layout(file: Any) -> None:
    path = file(METERS)
    assert message(path, layout="long") == (
        "meters.csv cannot be used: 2 problems\n"
        "  1. the long layout needs id=, and no column looks like it\n"
        "  2. the long layout needs time=, and no column looks like it\n"
        "  columns available: 'meter', '2018-01-01', '2018-01-02', '2018-01-04'"
    )
    assert message(path, blocks={"x": ["2018-01-01"]}, time="t") == (
        "meters.csv cannot be read: blocks= is for the wide layout; time=, variable= and value= are for the long one"
    )
    long = file("meter,hour,load\na,1,1\na,2,2\nb,1,3\nb,2,4\n")
    assert message(long, times=[1, 2]) == (
        "meters.csv cannot be used: times= is for the wide layout; a long table has a column of times"
    )
    assert "the identifier names the column 'house', which does not exist" in message(long, id="house", time="hour")
    assert "column 'meter' has two roles: the identifier and block 'x'" in message(
        path, id="meter", blocks={"x": ["meter", "2018-01-01"]}
    )


# -- anything ---------------------------------------------------------------------------------------------------------

PIECES = [
    ",",
    ";",
    "\n",
    '"',
    "\t",
    "NaN",
    "inf",
    "1e400",
    "\ufeff",
    "\x00",
    "2018-01-01",
    "-",
    ".",
    "0",
    "9" * 40,
    "é",
    "1,5",
]
STARTS = [
    METERS,
    "id;t;load;gas\na;1;1,5;2\na;2;2,5;3\nb;1;3,5;4\nb;2;4,5;5\n",
    "team,season,variable,value\na,1,p,1\na,2,p,2\nb,1,p,3\nb,2,p,4\na,1,q,1\na,2,q,2\nb,1,q,3\nb,2,q,4\n",
]


@given(
    st.sampled_from(STARTS),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4), st.sampled_from(PIECES)), max_size=4),
    st.sampled_from(["refuse", "drop", "interpolate", "mask", "keep"]),
)
def test_a_damaged_table_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, start: str, changes: list[tuple[float, int, str]], missing: Any
) -> None:
    text = start
    for place, cut, piece in changes:
        at = int(place * len(text))
        text = text[:at] + piece + text[at + cut :]
    path = tmp_path_factory.getbasetemp() / "damaged.csv"
    path.write_bytes(text.encode())
    try:
        data = read(path, missing=missing)
    except TsveilError:
        return
    assert data.missing or np.isfinite(data.values).all()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.csv"
    path.write_bytes(content)
    try:
        read(path)
    except TsveilError:
        return


# -- the real files ---------------------------------------------------------------------------------------------------


def test_real_wide_files(shared_data: Path) -> None:
    meters = read(shared_data / "smart_meter.csv")
    assert repr(meters) == "Dataset: 526 records; series 'series' (336 points); identifier 'household'"
    assert meters.block("series")[0, :3].tolist() == [1.31, 2.49, 3.66]
    assert meters.blocks[0].times is not None
    assert np.array_equal(meters.blocks[0].times, np.arange(336))
    sales = read(shared_data / "sales_weekly.csv")
    assert repr(sales) == "Dataset: 811 records; series 'series' (52 points); identifier 'product'"
    assert len(sales.integers) == 52
    stocks = read(shared_data / "stocks.csv")
    assert stocks.block("series").shape == (50, 230)
    assert stocks.blocks[0].times is not None
    assert stocks.blocks[0].times[:5].tolist() == [0, 1, 2, 5, 6]  # no trade at the weekend
    census = read(shared_data / "census.csv")
    assert repr(census) == "Dataset: 1080 records; attributes 'attributes' (13 columns)"
    with pytest.raises(QuestionError, match="several rows for the same 'UTILITYID'"):
        read(shared_data / "eia.csv")
    assert read(shared_data / "eia.csv", independent_rows=True).block("attributes").shape == (4092, 10)


def test_real_long_files(shared_data: Path) -> None:
    teams = read(shared_data / "football.csv", confidential=["league"])
    names = ["points", "position", "goals_for", "goals_against", "won", "drawn", "lost"]
    assert [block.name for block in teams.blocks] == names
    assert teams.n == 52
    assert teams.block("points")[0, :3].tolist() == [71, 58, 57]
    assert teams.others.row(0) == ("Anderlecht", "belgium")
    assert teams.blocks[0].labels[0] == "1995"

    path = shared_data / "m3_long.csv.gz"
    assert message(path) == (
        "m3_long.csv.gz cannot be used: series 'value' is incomplete: 2778 of 3003 records have only 20 to 143 of the 144 "
        "points (first: 'N0001', 'N0002', 'N0003', 'N0004', 'N0005')\n"
        "  options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps, missing='interpolate' fills gaps in time, resample=m "
        "brings every series to m points, split=i cuts series of one length into i shorter ones"
    )
    ten = read(path, resample=10)
    assert ten.block("value").shape == (3003, 10)
    frame = pl.read_csv(path)
    for row in (0, 1500, 3002):
        own = frame.filter(series_id=ten.others["series_id"][row]).sort("t")["value"].to_numpy()
        naive = np.interp(np.linspace(0, len(own) - 1, 10), np.arange(len(own)), own)
        np.testing.assert_allclose(ten.values[row], naive, rtol=1e-12)
    assert ten.notes == (
        "every series was resampled by linear interpolation to 10 points (before: 20 to 144)",
        "resampling: records that begin late or end early are stretched over all times",
    )
    assert read(path, missing="drop").notes == ("2778 of 3003 records were dropped because they have gaps",)


def test_real_gaps(shared_data: Path) -> None:
    path = shared_data / "water_treatment.csv"
    assert message(path).split("\n")[6:] == [
        "  6. ... and 564 more missing values",
        "  7. block 'attributes' is incomplete: 147 of 527 records have only 23 to 37 of the 38 values (first: 'D-1/3/90', "
        "'D-2/3/90', 'D-4/3/90', 'D-6/3/90', 'D-7/3/90')",
        "  rows are counted from 1 after the column names",
        "  options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps",
    ]
    complete = read(path, missing="drop")
    assert complete.n == 380
    assert complete.notes == ("147 of 527 records were dropped because they have gaps",)


def test_a_release_reads_like_its_source(file: Any, tmp_path: Path) -> None:
    from tsveil.data.write import write_table

    for content in (
        METERS,
        METERS.replace(",", ";").replace(".", ","),
        "meter,hour,load,gas\na,1,1,5\na,2,2,6\nb,1,3,7\nb,2,4,8\n",
        "who;t;variable;value\na;1;p;1,5\na;2;p;2\nb;1;p;3\nb;2;p;4\na;1;q;1\na;2;q;2\nb;1;q;3\nb;2;q;4\n",
    ):
        data = read(file(content))
        again = read(write_table(data, tmp_path, "again"))
        assert repr(again) == repr(data)
        assert np.array_equal(again.values, data.values)
        assert again.layout == data.layout
        buffer = io.BytesIO(write_table(data, tmp_path, "again", "parquet").read_bytes())
        assert pl.read_parquet(buffer).height > 0


def test_folders_that_are_no_tables_are_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that no system knows, a folder that vanishes, and one with so many files that it is somebody's disk."""
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        tv.read(tmp_path / ("y" * 70_000))
    for at in range(3):
        (tmp_path / f"{at}.txt").write_text("id,1\na,2\n")
    monkeypatch.setattr(files, "MOST_FILES", 2)
    with pytest.raises(InputError, match="there are more than 2 files in it"):
        tv.read(tmp_path)
    monkeypatch.undo()
    (tmp_path / "gone").mkdir()
    scan = os.scandir

    def vanished(place: str) -> Any:
        if str(place).endswith("gone"):
            raise FileNotFoundError(2, "No such file or directory", place)
        return scan(place)

    monkeypatch.setattr("os.scandir", vanished)
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        tv.read(tmp_path)


def test_hidden_folders_are_not_looked_into(tmp_path: Path) -> None:
    for name in (".hidden", "_temporary", "part"):
        (tmp_path / "table" / name).mkdir(parents=True)
        (tmp_path / "table" / name / "a.csv").write_text(f"id,1,2\n{name},1.5,2.5\n{name}2,2.5,1.5\n")
    assert tv.read(tmp_path / "table").ids.to_list() == ["part", "part2"]
