"""The verifier of (k,P)-anonymity reads tables of any tool, and refuses those that were tampered with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_kp
import tsveil as tv
from tsveil.core.errors import InputError, ParameterError
from tsveil.data.intervals import IntervalTable, read_intervals
from tsveil.guarantee.base import Status
from tsveil.guarantee.counting import homogeneous
from tsveil.guarantee.envelopes import EnvelopeAnonymity
from tsveil.guarantee.kp import KPAnonymity, verify_kp
from tsveil.protect.kp import KP

ROWS = 24


def good_table() -> pl.DataFrame:
    """Four envelopes shared by six records each, two patterns shared by three each."""
    at = np.arange(ROWS)
    return pl.DataFrame(
        {
            "lo_mon": (at // 6).astype(float),
            "hi_mon": (at // 6) + 1.5,
            "lo_tue": (at // 6) * 10.0,
            "hi_tue": (at // 6) * 10.0 + 5,
            "pattern": ["ab" if row % 6 < 3 else "dc" for row in at],
            "level": [2 if row % 6 < 3 else 4 for row in at],
            "tariff": ["day", "night", "solar"] * 8,
        }
    )


def changed(table: pl.DataFrame, row: int, column: str, value: object) -> pl.DataFrame:
    values = table[column].to_list()
    values[row] = value
    return table.with_columns(pl.Series(column, values, dtype=table[column].dtype))


def test_the_good_table_holds_and_not_more_than_that() -> None:
    table = good_table()
    verdict = verify_kp(table, 6, 3)
    assert verdict.holds
    assert verdict.details[:2] == (
        "the smallest envelope is shared by 6 records",
        "the rarest pattern inside an envelope occurs 3 times",
    )
    assert verify_kp(table, 7, 3).status is Status.VIOLATED
    assert verify_kp(table, 6, 4).status is Status.VIOLATED
    assert verify_kp(table.sample(fraction=1, shuffle=True, seed=1), 6, 3).holds


@pytest.mark.parametrize("row", range(ROWS))
def test_each_tampered_table_is_refused(row: int) -> None:
    table = good_table()
    for column, value, words in [
        ("lo_mon", -1.0, "envelope is shared by"),
        ("hi_tue", 1e6, "envelope is shared by"),
        ("hi_mon", np.nextafter(table["hi_mon"][row], np.inf), "envelope is shared by"),
        ("lo_mon", 1e9, "above hi_mon"),
        ("pattern", "ba", "only 1 record has the pattern ba"),
        ("level", 5, "the pattern"),
        ("pattern", "ez", "a letter that level"),
        ("pattern", "AB", "a letter that level"),
        ("pattern", "a", "only 1 record has the pattern a "),
        ("pattern", "", "the pattern is empty"),
        ("level", 0, "not between 1 and 26"),
        ("level", 27, "not between 1 and 26"),
    ]:
        verdict = verify_kp(changed(table, row, column, value), 6, 3)
        assert verdict.status is Status.VIOLATED, (column, value)
        assert words in verdict.witness, (column, value)
        assert f"row {row + 1}" in verdict.witness or "rows" in verdict.witness
    without = table.filter(pl.int_range(pl.len()) != row)
    assert "5 records only; 6 are needed" in verify_kp(without, 6, 3).witness
    assert "only 2 records have the pattern" in verify_kp(without, 5, 3).witness


def test_a_symbol_outside_the_alphabet_is_refused_even_if_all_share_it() -> None:
    table = good_table().with_columns(pattern=pl.lit("ac"), level=pl.lit(2))
    verdict = verify_kp(table, 6, 3)
    assert verdict.status is Status.VIOLATED
    assert "the pattern ac has a letter that level 2 does not have (its letters are a to b)" in verdict.witness


@pytest.mark.parametrize(
    ("pattern", "level", "why"),
    [
        ("[-0.5 0.5]", 4, ""),
        ("[0 0]", 1, ""),
        ("[1.125 -0.875]", 16, ""),
        ("[1 -1]", 2, ""),
        ("[-0.5 0.5]", 8, "has a value that level 8 does not have (odd multiples of 0.25)"),
        ("[1 0]", 1, "has a value that level 1 does not have (0 only)"),
        ("[0 0]", 2, "has a value that level 2 does not have (odd multiples of 1)"),
        ("[1.5 -2.5]", 4, "has a value beyond those that 2 segments can have"),
        ("[1.5]", 4, "has a value beyond those that 1 segments can have"),
        ("[-0.5 0.5]", 3, "level 3 is none of theirs (1, 2, 4, 8, 16)"),
        ("[-0.5 0.5]", 32, "the level 32 is not between 1 and 26"),
        ("[-0.5 x]", 4, "must be numbers between brackets"),
        ("[1/0 1]", 4, "must be numbers between brackets"),
        ("[-0.5 0.5", 4, "must be numbers between brackets"),
        ("[]", 4, "must be numbers between brackets"),
    ],
)
def test_values_that_cannot_be_are_refused(pattern: str, level: int, why: str) -> None:
    table = pl.DataFrame({"lo_1": [1, 1], "hi_1": [2, 2], "pattern": [pattern] * 2, "level": [level] * 2})
    verdict = verify_kp(table, 2, 2)
    assert verdict.holds == (not why)
    assert why in verdict.witness


def test_the_same_word_at_two_levels_is_two_patterns() -> None:
    table = good_table().with_columns(pattern=pl.lit("ab"))
    assert verify_kp(table, 6, 3).holds
    assert not verify_kp(table, 6, 6).holds
    assert verify_kp(table.with_columns(level=pl.lit(2)), 6, 6).holds


def test_group_numbers_play_no_part() -> None:
    table = good_table().with_columns(group=pl.Series(range(ROWS)))
    assert verify_kp(table, 6, 3).holds
    # Two groups with the same envelope are one to whoever reads the table.
    joined = table.with_columns(
        *(pl.when(pl.col("group") < 12).then(pl.col(c).first()).otherwise(pl.col(c)) for c in table.columns[:4])
    )
    assert verify_kp(joined.filter(pl.col("group") < 12), 12, 6).holds


cells = st.sampled_from([0.0, 1.0, 2.0])


@given(
    st.lists(
        st.tuples(st.tuples(cells, cells), st.sampled_from(["ab", "ba", "bb"]), st.sampled_from([2, 3])),
        min_size=1,
        max_size=20,
    ),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_it_is_the_definition(rows: list[tuple[tuple[float, float], str, int]], k: int, P: int) -> None:
    shown = [((lo, lo + width), word, level) for (lo, width), word, level in rows]
    table = pl.DataFrame(
        {
            "lo_1": [e[0] for e, _, _ in shown],
            "hi_1": [e[1] for e, _, _ in shown],
            "pattern": [word for _, word, _ in shown],
            "level": [level for _, _, level in shown],
        }
    )
    assert verify_kp(table, k, P).holds == naive_kp.holds(shown, k, P)


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_of_any_tool_are_read(tmp_path: Path) -> None:
    table = good_table()
    table.write_csv(tmp_path / "a.csv")
    table.write_csv(tmp_path / "b.csv", separator=";", decimal_comma=True)
    table.write_parquet(tmp_path / "c.parquet")
    table.select(reversed(table.columns)).write_csv(tmp_path / "d.csv")
    table.with_columns(pl.col("^(lo|hi)_.*$").cast(pl.Float32)).write_parquet(tmp_path / "e.parquet")
    for path in tmp_path.iterdir():
        assert verify_kp(path, 6, 3).holds, path
        assert not verify_kp(str(path), 6, 4).holds
        assert read_intervals(path).others["tariff"].to_list() == table["tariff"].to_list()
    assert verify_kp(pd.DataFrame(table.to_dict(as_series=False)), 6, 3).holds


def test_numbers_are_compared_as_they_are_written(tmp_path: Path) -> None:
    text = "lo_1,hi_1,pattern,level\n" + "1,2,a,1\n" * 3
    (tmp_path / "a.csv").write_text(text)
    assert verify_kp(tmp_path / "a.csv", 3, 3).holds
    for other in ("1.0,2,a,1", "1,2.00,a,1", "1,2,a,1.0", "1,+2,a,1"):
        (tmp_path / "b.csv").write_text(text + f"{other}\n")
        assert not verify_kp(tmp_path / "b.csv", 3, 3).holds, other
    zeros = pl.DataFrame({"lo_1": [0.0, -0.0], "hi_1": [1.0, 1.0], "pattern": ["a", "a"], "level": [1, 1]})
    assert not verify_kp(zeros, 2, 2).holds
    whole = pl.DataFrame({"lo_1": [2**53, 2**53 + 1], "hi_1": [2**60] * 2, "pattern": ["a", "a"], "level": [1, 1]})
    assert not verify_kp(whole, 2, 2).holds


def test_a_release_is_verified_from_its_file(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(60, 9)).cumsum(axis=1)
    release = KP(k=6, P=2).protect(tv.Dataset.from_arrays({"load": x}))
    for form in ("csv", "parquet"):
        folder = release.write(tmp_path / form, format=form)
        path = folder / "published" / f"data.{form}"
        assert verify_kp(path, 6, 2).holds
        assert np.array_equal(np.sort(read_intervals(path).lo[:, 0]), np.sort(release.lo[:, 0]))


def test_a_table_that_is_none_is_told() -> None:
    table = good_table()
    for broken, words in [
        (table.drop("^(lo|hi)_.*$"), "no envelopes: columns lo_T and hi_T"),
        (table.drop("hi_tue"), "column 'lo_tue' has no partner 'hi_tue'"),
        (table.drop("lo_mon"), "column 'hi_mon' has no partner 'lo_mon'"),
        (table.drop("level"), "no column 'level'"),
        (table.drop("pattern"), "no column 'pattern'"),
        (table.drop("pattern", "level"), "the table has no patterns"),
        (changed(table, 4, "lo_mon", None), "row 5, column 'lo_mon': a number is missing"),
        (changed(table, 4, "lo_mon", float("nan")), "row 5, column 'lo_mon': a number is missing"),
        (changed(table, 4, "hi_mon", float("inf")), "row 5, column 'hi_mon': the number is infinite"),
        (changed(table, 4, "pattern", None), "row 5, column 'pattern': the pattern is missing"),
        (table.with_columns(level=pl.lit(1.5)), "level 1.5 is not a whole number"),
        (table.with_columns(pl.lit("x").alias("lo_mon")), "row 1, column 'lo_mon': 'x' is not a number"),
        (table.clear(), "there are no records"),
    ]:
        with pytest.raises(InputError, match=words.replace("(", "\\(")):
            verify_kp(broken, 6, 3)
    with pytest.raises(InputError, match="there is no file"):
        verify_kp("no/such/file.csv", 6, 3)
    with pytest.raises(InputError, match=r"a frame or the path of a file. Got list"):
        verify_kp([1, 2], 6, 3)


def test_all_problems_are_told_at_once() -> None:
    broken = changed(good_table(), 0, "lo_mon", None).drop("hi_tue", "level")
    with pytest.raises(InputError) as error:
        verify_kp(broken, 6, 3)
    assert len(error.value.problems) == 3


def test_wrong_parameters_are_told() -> None:
    with pytest.raises(ParameterError, match=r"'k' parameter of .* Got 0(?s:.)*'P' parameter of .* Got 'x'"):
        verify_kp(good_table(), 0, "x")  # type: ignore[arg-type]


# -- carried columns, other guarantees --------------------------------------------------------------------------------


def test_values_that_a_class_has_in_common_are_counted() -> None:
    table = good_table()
    assert len(verify_kp(table, 6, 3).details) == 2
    same = table.with_columns(tariff=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("day")).otherwise("tariff"))
    assert (
        "column 'tariff' is the same for all records of one envelope and pattern in 1 of 8 cases (3 records)"
        in (verify_kp(same, 6, 3).details[2])
    )
    assert not homogeneous(np.zeros(2, dtype=np.int64), pl.Series([None, "a"])).any()
    assert homogeneous(np.zeros(2, dtype=np.int64), pl.Series([1.5, 1.5])).all()


def test_a_column_that_may_identify_is_told() -> None:
    table = good_table().with_columns(number=pl.Series(range(ROWS)))
    assert any("'number' is different in every row" in detail for detail in verify_kp(table, 6, 3).details)


def test_envelopes_alone() -> None:
    table = good_table().drop("pattern", "level")
    assert EnvelopeAnonymity(6).verify(table).holds
    assert not EnvelopeAnonymity(7).verify(table).holds
    verdict = EnvelopeAnonymity(6).verify(changed(table, 0, "lo_mon", 99.0))
    assert "above hi_mon" in verdict.witness
    assert "NOT PROTECTED" in EnvelopeAnonymity(6, patterns=True).limits
    assert "NOT PROTECTED" not in EnvelopeAnonymity(6).limits
    assert EnvelopeAnonymity(6).short == "6-anonymity of envelopes"


def test_the_promise_in_words() -> None:
    promise = KPAnonymity(10, 3)
    assert promise.short == "(10,3)-anonymity"
    assert "shared by at least 10 records" in promise.words
    assert "at least 3" in promise.words
    assert "1 in 3; by 1 in 10 only" in promise.limits


def test_a_data_set_is_a_table_too() -> None:
    table = good_table()
    data = tv.Dataset.from_frame(
        table,
        blocks={"bounds": ["lo_mon", "hi_mon", "lo_tue", "hi_tue"]},
        confidential=["pattern", "level"],
        times={"bounds": None},
    )
    assert KPAnonymity(6, 3).verify(data).holds
    assert not KPAnonymity(6, 4).verify(data).holds


def test_a_table_is_written_as_it_is_read() -> None:
    table = good_table()
    read = IntervalTable.from_frame(table)
    assert read.to_frame().equals(table)
    assert read.labels == ("mon", "tue")
    assert repr(read) == "IntervalTable: 24 records; envelopes of 2 points; patterns of 2 letters; carried 'tariff'"
    part = read.take(np.array([3, 1]))
    assert part.words == ("dc", "ab")
    assert len(part) == 2
    assert KPAnonymity(1, 1).verify(part).holds
    assert read.to_frame(whole={"tue"})["lo_tue"].dtype == pl.Int64


# -- what is told -----------------------------------------------------------------------------------------------------


def flat(bounds: Sequence[tuple[float, float]], patterns: list[tuple[str, int]] | None = None) -> pl.DataFrame:
    columns: dict[str, list[object]] = {
        "lo_1": [float(lo) for lo, _ in bounds],
        "hi_1": [float(hi) for _, hi in bounds],
    }
    if patterns is not None:
        columns |= {"pattern": [word for word, _ in patterns], "level": [level for _, level in patterns]}
    return pl.DataFrame(columns)


def test_three_envelopes_are_told_and_the_others_counted() -> None:
    table = flat([(3, 9), (1, 9), (1, 9), (2, 9), (4, 9), (5, 9)])
    assert EnvelopeAnonymity(2).verify(table.head(4)).witness.split("\n  ") == [
        "row 1: its envelope is shared by 1 record only; 2 are needed",
        "row 4: its envelope is shared by 1 record only; 2 are needed",
    ]
    assert EnvelopeAnonymity(3).verify(table.head(4)).witness.split("\n  ") == [
        "row 1: its envelope is shared by 1 record only; 3 are needed",
        "rows 2, 3: their envelope is shared by 2 records only; 3 are needed",
        "row 4: its envelope is shared by 1 record only; 3 are needed",
    ]
    assert EnvelopeAnonymity(3).verify(table.head(5)).witness.split("\n  ")[3:] == [
        "... and 1 more envelopes that are shared by fewer than 3 records"
    ]
    assert EnvelopeAnonymity(3).verify(table).witness.split("\n  ")[3:] == [
        "... and 2 more envelopes that are shared by fewer than 3 records"
    ]


def test_three_patterns_are_told_and_the_others_counted() -> None:
    patterns = [("a", 2), ("b", 2), ("b", 2), ("a", 3), ("b", 3), ("c", 3)]
    table = flat([(1, 2)] * 6, patterns)
    found = verify_kp(table, 6, 3).witness.split("\n  ")
    assert found == [
        "row 1: inside its envelope only 1 record has the pattern a (level 2); 3 are needed",
        "rows 2, 3: inside their envelope only 2 records have the pattern b (level 2); 3 are needed",
        "row 4: inside its envelope only 1 record has the pattern a (level 3); 3 are needed",
        "... and 2 more patterns that fewer than 3 records of their envelope have",
    ]
    assert len(verify_kp(table.head(4), 4, 3).witness.split("\n  ")) == 3
    assert verify_kp(table.head(5), 5, 3).witness.split("\n  ")[3].startswith("... and 1 more patterns that fewer")
    assert verify_kp(table.head(1), 1, 1).details == (
        "the smallest envelope is shared by 1 records",
        "the rarest pattern inside an envelope occurs 1 times",
    )


def test_three_bounds_in_the_wrong_order_are_told() -> None:
    table = flat([(1, 1), (5, 2.5), (6, 2), (7, 2), (8, 2), (9, 2)])
    assert EnvelopeAnonymity(1).verify(table.head(1)).holds  # an envelope may be a single value
    assert EnvelopeAnonymity(1).verify(table.head(4)).witness.split("\n  ") == [
        "row 2: lo_1 is 5, above hi_1, 2.5",
        "row 3: lo_1 is 6, above hi_1, 2",
        "row 4: lo_1 is 7, above hi_1, 2",
    ]
    assert EnvelopeAnonymity(1).verify(table).witness.split("\n  ")[3:] == ["... and 2 more bounds in the wrong order"]
    assert EnvelopeAnonymity(1).verify(table.head(5)).witness.endswith("... and 1 more bounds in the wrong order")


def test_three_patterns_that_cannot_be_are_told() -> None:
    words = [("a", 1), ("z", 26), ("b", 1), ("b", 1), ("", 2), ("a", 0), ("a", 27), ("az", 25)]
    table = flat([(1, 2)] * 8, words)
    assert verify_kp(table.head(2), 1, 1).holds
    assert verify_kp(table.head(6), 1, 1).witness.split("\n  ") == [
        "row 3: the pattern b has a letter that level 1 does not have (its letters are a to a)",
        "row 5: the pattern is empty",
        "row 6: the level 0 is not between 1 and 26",
    ]
    assert verify_kp(table.head(7), 1, 1).witness.endswith("... and 1 more patterns that cannot be")
    assert verify_kp(table, 1, 1).witness.endswith("... and 2 more patterns that cannot be")


def test_k_and_p_of_one_are_allowed_and_true_is_no_number() -> None:
    assert KPAnonymity(1, 1).verify(flat([(1, 2)], [("a", 1)])).holds
    for k, P in ((True, 1), (1, True), (1.0, 1), (0, 1), (1, 0)):
        with pytest.raises(ParameterError, match=r"must be an integer of at least 1. Got (True|1.0|0)\.$"):
            KPAnonymity(k, P)  # type: ignore[arg-type]


def test_disclosed_values_are_counted_by_class_and_record() -> None:
    table = flat([(1, 2)] * 3 + [(3, 4)] * 2 + [(5, 6)] * 2).with_columns(tariff=pl.Series(list("aaabbba")))
    assert EnvelopeAnonymity(2).verify(table).details == (
        "the smallest envelope is shared by 2 records",
        "column 'tariff' is the same for all records of one envelope in 2 of 3 cases (5 records): it is disclosed for them",
    )
    assert homogeneous(np.array([0, 0, 1]), pl.Series([None, None, "a"])).tolist() == [True, True, True]
    assert homogeneous(np.zeros(0, dtype=np.int64), pl.Series([], dtype=pl.String)).tolist() == []
    # One record alone says nothing of whether a column names people.
    one = flat([(1, 2)]).with_columns(name=pl.Series(["x"]))
    assert not any("different in every row" in detail for detail in EnvelopeAnonymity(1).verify(one).details)
    two = flat([(1, 2)] * 2).with_columns(name=pl.Series(["x", "y"]))
    assert any("different in every row" in detail for detail in EnvelopeAnonymity(2).verify(two).details)
