"""What a table is taken for, and the reasons given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tsveil.data.guess import Guess, guess
from tsveil.data.read import look_at


def numbers(n: int, seed: int = 0) -> list[float]:
    return [float(x) for x in np.random.default_rng(seed).normal(size=n)]


# -- the real files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "id", "points"),
    [("smart_meter.csv", "household", 336), ("sales_weekly.csv", "product", 52), ("stocks.csv", "company", 230)],
)
def test_real_wide_series(shared_data: Path, file: str, id: str, points: int) -> None:
    look = look_at(shared_data / file)
    assert look.guess.layout == "wide"
    assert look.guess.id == id
    assert dict(look.guess.blocks) == {"series": look.columns[1:]}
    assert look.guess.kinds == {"series": "series"}
    assert look.guess.dropped == ()
    assert look.guess.reasons == (
        f"wide layout: the names of {points} columns are times, so each row is a record with the series 'series' "
        f"({points} points)",
        f"identifier {id!r}: its values are all different",
    )


def test_real_long_series(shared_data: Path) -> None:
    assert look_at(shared_data / "football.csv").guess == Guess(
        layout="long",
        id="team",
        time="season",
        variable="variable",
        values=("value",),
        dropped=("league",),
        reasons=(
            "long layout: each row is one time of a record, with one series per word in 'variable'",
            "identifier 'team' (52 records), time 'season', value 'value'",
            "'league': not numbers; left out unless named as confidential",
            "'league' (11 different): labels that repeat; they can be protected as nominal, ordinal or a hierarchy",
        ),
    )
    m3 = look_at(shared_data / "m3_long.csv.gz").guess
    assert (m3.layout, m3.id, m3.time, m3.variable, m3.values) == ("long", "series_id", "t", None, ("value",))
    assert m3.dropped == ("type", "period", "part")


def test_real_microdata(shared_data: Path) -> None:
    census = look_at(shared_data / "census.csv")
    assert dict(census.guess.blocks) == {"attributes": census.columns}
    assert census.guess.id is None
    eia = look_at(shared_data / "eia.csv")
    assert dict(eia.guess.blocks) == {"attributes": eia.columns[5:]}
    assert eia.guess.id is None
    assert eia.guess.dropped == ("UTILITYID", "UTILNAME", "STATE", "YEAR", "MONTH")
    assert eia.guess.reasons == (
        "wide layout: no times found, so each row is a record and its 10 numeric columns are attributes",
        "no identifier: 'UTILITYID' is named like one, but its values repeat; records are numbered by row",
        "'UTILITYID', 'YEAR', 'MONTH': whole numbers named like an identifier, a code or a part of a date; left out unless "
        "named in a block or as confidential",
        "'UTILNAME', 'STATE': not numbers; left out unless named as confidential",
        "'UTILNAME' (258 different), 'STATE' (51 different): labels that repeat; they can be protected as nominal, ordinal or a hierarchy",
    )


@pytest.mark.parametrize(
    ("file", "columns"),
    [("ionosphere.csv", 34), ("wdbc.csv", 30), ("abalone.csv", 8), ("boston.csv", 14), ("iris.csv", 4)],
)
def test_more_real_microdata(shared_data: Path, file: str, columns: int) -> None:
    found = look_at(shared_data / file).guess
    assert {name: len(block) for name, block in found.blocks.items()} == {"attributes": columns}
    assert found.id is None


# -- wide -------------------------------------------------------------------------------------------------------------


def wide(names: list[str], **others: Any) -> pl.DataFrame:
    return pl.DataFrame({**others, **{name: numbers(3, at) for at, name in enumerate(names)}})


@pytest.mark.parametrize(
    ("names", "blocks"),
    [
        (["2018", "2019"], {"series": 2}),
        (["00:00", "00:15", "00:30"], {"series": 3}),
        (["load.2018-01-01", "load.2018-01-02", "gas.2018-01-01", "gas.2018-01-02"], {"load": 2, "gas": 2}),
        ([f"load_{t}" for t in range(1, 13)], {"load": 12}),
        ([f"h{t}" for t in range(24)], {"series": 24}),
        ([f"load{t}" for t in range(8)] + [f"gas{t}" for t in range(8)], {"load": 8, "gas": 8}),
        # seven counted columns, a gap in the count, or names that programs give to columns without one: attributes
        ([f"h{t}" for t in range(7)], {"attributes": 7}),
        ([f"h{t}" for t in (1, 2, 3, 4, 5, 6, 7, 9)], {"attributes": 8}),
        ([f"V{t}" for t in range(1, 13)], {"attributes": 12}),
        (["age", "pay"], {"attributes": 2}),
    ],
)
def test_series_by_their_names(names: list[str], blocks: dict[str, int]) -> None:
    found = guess(wide(names, who=["a", "b", "c"]))
    assert {name: len(columns) for name, columns in found.blocks.items()} == blocks
    assert found.id == "who"
    assert set(found.kinds.values()) == ({"attributes"} if "attributes" in blocks else {"series"})


def test_a_stray_word_does_not_hide_a_column() -> None:
    frame = wide(["2018", "2019"], who=["a", "b", "c"]).with_columns(pl.Series("2019", ["1.5", "abc", "2"]))
    assert dict(guess(frame).blocks) == {"series": ("2018", "2019")}
    column = pl.Series("pay", ["1,5", *["2"] * 8, "abc"])
    assert dict(guess(pl.DataFrame({"age": numbers(10), "pay": column})).blocks) == {"attributes": ("age", "pay")}


@pytest.mark.parametrize(
    ("columns", "id"),
    [
        ({"name": ["a", "b", "c"]}, "name"),
        ({"row": [0, 1, 2]}, "row"),
        ({"zzz": [1, 2, 3]}, "zzz"),  # counts the rows
        ({"zzz": [7, 1, 9]}, None),  # an attribute: whole numbers that look like nothing else
        ({"patient_no": [7, 1, 9]}, "patient_no"),
        ({"meterId": [7, 1, 9]}, "meterId"),
        ({"group": ["a", "b", "a"]}, None),
        ({"meter": ["a", "b", "a"]}, "meter"),  # a mistake in it is told, not overlooked
        ({"day": ["2018-01-01", "2018-01-02", "2018-01-03"]}, None),
        ({"remark": ["x", "y", "z"], "meter": ["a", "b", "c"]}, "meter"),
        ({"meter_code": ["1", "2", "3A"]}, "meter_code"),
    ],
)
def test_identifiers_of_attributes(columns: dict[str, list[object]], id: str | None) -> None:
    found = guess(pl.DataFrame({**columns, "x": numbers(3, 1), "y": numbers(3, 2)}))
    assert found.id == id


def test_whole_numbers_before_series_are_the_identifier() -> None:
    assert guess(wide(["2018", "2019"], zzz=[7, 1, 9])).id == "zzz"


def test_numbers_beside_series_are_left_out_and_named() -> None:
    found = guess(wide(["2018", "2019"], who=["a", "b", "c"], age=[30, 40, 50], town=["x", "y", "x"]))
    assert found.dropped == ("age", "town")
    assert found.reasons[2:] == (
        "'age': numbers beside the series; left out unless named in a block or as confidential",
        "'town': not numbers; left out unless named as confidential",
    )


# -- long -------------------------------------------------------------------------------------------------------------


def long(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"meter": ["a", "a", "b", "b"], "hour": [1, 2, 1, 2], **columns})


def test_several_value_columns() -> None:
    found = guess(long(load=numbers(4), gas=numbers(4, 1), age=[30, 30, 40, 40], town=["x", "x", "y", "y"]))
    assert (found.layout, found.id, found.time, found.values) == ("long", "meter", "hour", ("load", "gas"))
    assert found.dropped == ("age", "town")
    assert (
        found.reasons[2] == "'age': numbers that do not change with time, or that have no part in the series; left out"
    )


def test_times_as_stamps_and_dates() -> None:
    stamps = pl.Series(["2018-01-01", "2018-01-02"] * 2)
    for column in (stamps, stamps.str.to_date()):
        frame = pl.DataFrame({"who": [7, 7, 9, 9], "when": column, "load": numbers(4)})
        found = guess(frame)
        assert (found.layout, found.id, found.time, found.values) == ("long", "who", "when", ("load",))


def test_a_variable_is_told_from_the_identifier_by_its_name_or_its_few_words() -> None:
    rows = [(who, word, t) for who in "abc" for word in ("p", "q") for t in (1, 2)]
    for name in ("variable", "zzz"):
        who, words, times = zip(*rows, strict=True)
        frame = pl.DataFrame({name: words, "who": who, "t": times, "value": numbers(12)})
        found = guess(frame)
        assert (found.id, found.variable, found.time) == ("who", name, "t")


def test_a_row_too_many_does_not_hide_the_layout() -> None:
    frame = long(load=numbers(4))
    found = guess(pl.concat([frame, frame[:1]]))
    assert found.layout == "long"


def test_microdata_with_a_year_is_not_long() -> None:
    columns = {"town": ["x", "y"] * 5, "year": [1, 1, 1, 2, 2] * 2, "pay": numbers(10), "age": numbers(10, 1)}
    found = guess(pl.DataFrame(columns))
    assert found.layout == "wide"
    assert dict(found.blocks) == {"attributes": ("pay", "age")}


def test_what_is_given_is_taken() -> None:
    frame = long(load=numbers(4), gas=numbers(4, 1), town=["x", "x", "y", "y"])
    found = guess(frame, value=["gas"], confidential=["town"])
    assert (found.id, found.time, found.values, found.confidential) == ("meter", "hour", ("gas",), ("town",))
    assert found.dropped == ("load",)
    assert guess(frame, layout="wide").layout == "wide"
    assert guess(wide(["2018", "2019"], who=["a", "b", "c"], key=["x", "y", "z"]), id="who").id == "who"
    insisted = guess(pl.DataFrame({"x": numbers(3)}), layout="long")
    assert (insisted.id, insisted.time, insisted.values) == (None, None, ("x",))


def test_a_table_without_rows_or_numbers() -> None:
    assert dict(guess(pl.DataFrame({"a": [], "b": []})).blocks) == {}
    assert dict(guess(pl.DataFrame({"a": ["x", "y"]})).blocks) == {}
