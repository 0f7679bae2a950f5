"""Tables that may mean several things: each is asked about, and each answer is read as it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.core.errors import InputError, QuestionError
from tsveil.data.read import look_at


def written(tmp_path: Path, frame: pl.DataFrame, name: str = "table.csv") -> Path:
    path = tmp_path / name
    if name.endswith(".parquet"):
        frame.write_parquet(path)
    else:
        frame.write_csv(path)
    return path


def panel() -> pl.DataFrame:
    """Days of users, as a fitness tracker exports them, with two days measured twice."""
    rng = np.random.default_rng(1)
    rows = [
        (f"{1000 + u}", f"2016-04-{d:02d}", *rng.integers(100, 9000, 3).tolist())
        for u in range(8)
        for d in range(1, 11)
    ]
    rows += [
        ("1000", "2016-04-01", 5, 6, 7),
        ("1000", "2016-04-02", 8, 9, 10),
        ("1001", "2016-04-01", 8, 9, 10),
        ("1002", "2016-04-01", 1, 2, 3),
    ] * 3
    return pl.DataFrame(rows, schema=["Id", "ActivityDate", "Steps", "Calories", "Minutes"], orient="row")


def turned(columns: int = 12, names: str = "MAC{:06d}") -> pl.DataFrame:
    """A row per day and a column per household."""
    rng = np.random.default_rng(2)
    days = [f"2013-01-{day:02d}" for day in range(1, 9)]
    return pl.DataFrame({"day": days, **{names.format(3 * at + 2): rng.gamma(2, 1, 8) for at in range(columns)}})


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_a_repeated_identifier_is_asked_about(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, panel(), name)
    with pytest.raises(QuestionError) as caught:
        tv.read(path)
    message = str(caught.value)
    assert f"{name} has several rows for the same 'Id' (first: " in message
    assert "--layout long --id Id --time ActivityDate" in message
    assert "--person Id" in message
    assert "--independent-rows" in message
    assert tv.read(path, person="Id").person == ("Id",)
    assert tv.read(path, person="Id").persons.max() == 7
    assert not tv.read(path, independent_rows=True).person
    assert look_at(path).guess.questions
    assert look_at(path, person=["Id"]).options()["person"] == ["Id"]


def test_it_is_asked_also_where_blocks_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, panel())
    with pytest.raises(QuestionError, match="several rows for the same 'Id'"):
        tv.read(path, blocks={"day": ["Steps", "Calories"]})
    assert tv.read(path, blocks={"day": ["Steps", "Calories"]}, leave_out=["Id"]).columns == ("Steps", "Calories")


def test_a_long_table_without_repeated_times_is_no_question(tmp_path: Path) -> None:
    rows = [(f"m{meter}", f"2016-04-{day:02d}", float(meter * day)) for meter in range(5) for day in range(1, 6)]
    data = tv.read(written(tmp_path, pl.DataFrame(rows, schema=["meter", "day", "kwh"], orient="row")))
    assert (data.n, data.layout.shape) == (5, "long")


@pytest.mark.parametrize("names", ["MAC{:06d}", "{}"])
def test_a_turned_table_is_asked_about(tmp_path: Path, names: str) -> None:
    frame = turned(names=names)
    path = written(tmp_path, frame)
    with pytest.raises(QuestionError, match=r"has a row for each time in 'day' and 12 columns of numbers") as caught:
        tv.read(path)
    assert "--transpose" in str(caught.value)
    assert "--no-transpose" in str(caught.value)
    data = tv.read(path, transpose=True)
    assert (data.n, len(data.columns), data.id) == (12, 8, "id")
    assert data.ids.to_list() == frame.columns[1:]
    assert np.allclose(data.values, frame.drop("day").to_numpy().T)
    assert data.series
    assert data.series[0].labels == tuple(frame["day"])
    other = tv.read(path, transpose=False)
    assert other.n == 8


def test_hours_of_days_are_not_taken_for_persons(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"day": [f"2013-01-{d:02d}" for d in range(1, 9)], **{str(h): rng.gamma(2, 1, 8) for h in range(24)}}
    )
    assert tv.read(written(tmp_path, frame)).n == 8


def test_what_cannot_be_turned_is_refused(tmp_path: Path) -> None:
    frame = turned().with_columns(town=pl.lit("x"))
    with pytest.raises(InputError, match="column 'town' holds no numbers"):
        tv.read(written(tmp_path, frame), transpose=True)
    twice = pl.concat([turned(), turned()])
    with pytest.raises(InputError, match="are missing or repeat"):
        tv.read(written(tmp_path, twice), transpose=True)


def test_codes_are_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, 200),
            "pay": rng.gamma(2, 900, 200),
            "sex": rng.integers(0, 2, 200),
            "zone": rng.integers(1, 6, 200),
        }
    )
    path = written(tmp_path, frame)
    with pytest.raises(QuestionError, match="may be codes: 'sex', 'zone'") as caught:
        tv.read(path)
    assert "--confidential sex --confidential zone" in str(caught.value)
    assert "--leave-out sex --leave-out zone" in str(caught.value)
    assert "--nominal sex --nominal zone" in str(caught.value)
    assert "--number sex --number zone" in str(caught.value)
    assert tv.read(path, leave_out=["sex"], confidential=["zone"]).columns == ("age", "pay")
    assert tv.read(path, numbers=["sex", "zone"]).columns == ("age", "pay", "sex", "zone")


@pytest.mark.parametrize("name", ["rownames", "Unnamed: 0", "index", ""])
def test_row_numbers_are_never_data(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            name: np.arange(1, 31),
            "who": [f"p{i}" for i in range(30)],
            "a": rng.normal(size=30),
            "b": rng.normal(size=30),
        }
    )
    data = tv.read(written(tmp_path, frame))
    assert data.columns == ("a", "b")


def test_several_identifiers_make_one(tmp_path: Path) -> None:
    frame = pl.DataFrame({"home": ["007", "007", "8"], "flat": [1, 2, 1], "a": [1.0, 2.0, 3.5], "b": [3.0, 4.5, 5.0]})
    data = tv.read(written(tmp_path, frame), id=["home", "flat"])
    assert data.id == "home+flat"
    assert data.ids.to_list() == ["007+1", "007+2", "8+1"]
    assert data.columns == ("a", "b")
    with pytest.raises(InputError, match="there is no column 'street'"):
        tv.read(written(tmp_path, frame), id=["home", "street"])
