"""The rules for the verdicts, each at its border."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tsveil.reproduce.printed import Figure, Note, Row, Table, calculate, printed_tables
from tsveil.reproduce.verdicts import (
    AGREEING,
    APART,
    TOLERATED,
    VERDICTS,
    Cell,
    agrees,
    judge_table,
    rank_correlation,
    tally,
)


def table(
    *lines: str, notes: tuple[Note, ...] = (), percent: bool = False, substitute: str = "", across: bool = False
) -> Table:
    """Each line a column a, b, ... with rows 1, 2, ...; or each line a row."""
    printed = [line.split() for line in lines]
    names = [chr(ord("a") + i) for i in range(len(printed))]
    steps = [str(i) for i in range(1, max(map(len, printed)) + 1)]
    rows: tuple[Row, ...] = tuple((name,) for name in (names if across else steps))
    columns = tuple(steps if across else names)
    cells: dict[tuple[Row, str], Figure] = {
        (((name,), step) if across else ((step,), name)): Figure(text)
        for name, line in zip(names, printed, strict=True)
        for step, text in zip(steps, line, strict=True)
    }
    return Table(
        name="test",
        title="",
        keys=("row",),
        columns=columns,
        rows=rows,
        cells=cells,
        percent=frozenset(columns if percent else ()),
        line=0,
        across=across,
        substitute=substitute,
        repeats="",
        notes=notes,
    )


def cells(of: Table, *lines: str) -> list[Cell]:
    """Our figures as lines, in the order of the table's; the cells line by line."""
    if of.across:
        order = [[(row, column) for column in of.columns] for row in of.rows]
    else:
        order = [[(row, column) for row in of.rows] for column in of.columns]
    figures: dict[tuple[Row, str], float] = {}
    for places, line in zip(order, lines, strict=True):
        figures |= dict(zip(places, map(float, line.split()), strict=False))
    judged = {(cell.row, cell.column): cell for cell in judge_table(of, figures)}
    return [judged[place] for places in order for place in places]


def verdicts(of: Table, *lines: str) -> list[str]:
    return [cell.verdict for cell in cells(of, *lines)]


def test_equal_means_the_printed_digits() -> None:
    assert verdicts(table("11.10"), "11.1049") == ["equal"]
    assert verdicts(table("11.10"), "11.1051") == ["near"]
    assert verdicts(table("11.1"), "11.1051") == ["equal"]


def test_near_is_five_percent_or_a_fifth_of_a_point() -> None:
    assert verdicts(table("40.0"), "42.0") == ["near"]
    assert verdicts(table("40.0"), "42.01") == ["differs"]
    assert verdicts(table("1.00", percent=True), "1.19") == ["near"]
    assert verdicts(table("1.00"), "1.19") == ["differs"]


#: a second line far from the first, reproduced to the digit, so that trends can be told apart
OTHER = "900 500 700 300"


@pytest.mark.parametrize("across", [False, True])
def test_a_trend_needs_four_cells_in_the_right_order(across: bool) -> None:
    two = table("10 20 30 40", OTHER, across=across)

    def first(line: str) -> list[str]:
        return verdicts(two, line, OTHER)[:4]

    assert first("6 12 18 24") == ["trend"] * 4
    assert first("6 12 24 22") == ["trend"] * 4  # 0.8
    assert first("6 23 24 12") == ["differs"] * 4
    assert first("18 18 18 18") == ["differs"] * 4
    three = table("10 20 30", "900 500 700", across=across)
    assert verdicts(three, "6 12 18", "900 500 700")[:3] == ["differs"] * 3


def test_a_trend_needs_figures_of_the_same_size() -> None:
    def first(printed: str, ours: str) -> list[str]:
        return verdicts(table(printed, OTHER), ours, OTHER)[:4]

    assert first("10 20 30 40", "5 10 15 20") == ["trend"] * 4
    assert first("10 20 30 40", "4.9 9.9 14.9 19.9") == ["differs"] * 4
    assert first("10 20 30 40", "20 40 60 81") == ["trend"] * 4  # in the median
    assert first("-1 -2 -3 -4", "4 3 2 1") == ["differs"] * 4
    assert first("0 0 2 3", "0 0.1 1.5 2")[3] == "trend"


def test_a_trend_needs_its_own_line_to_be_the_nearest() -> None:
    near_the_second = "15 30 45 60"
    assert verdicts(table("10 20 30 40", OTHER), near_the_second, OTHER)[:4] == ["trend"] * 4
    assert verdicts(table("10 20 30 40", "16 32 48 64"), near_the_second, "16 32 48 64")[:4] == ["differs"] * 4


def test_no_trend_without_another_line_to_test_it_by() -> None:
    (first, *_) = found = cells(table("10 20 30 40"), "6 12 18 24")
    assert [cell.verdict for cell in found] == ["differs"] * 4
    assert "no other line" in first.why
    assert first.wrong is None
    too_like = table("10 20 30 40", "11 21 31 41")
    assert verdicts(too_like, "6 12 18 24", "6.6 12.6 18.6 24.6") == ["differs"] * 8


def test_no_trend_where_wrong_lines_pass_as_one() -> None:
    # Our second line follows the first printed one as well as our first does, so following it is no evidence.
    found = cells(table("10 20 30 40", "20 40 60 80"), "12 24 36 48", "12.2 24.4 36.6 48.8")
    assert [cell.verdict for cell in found] == ["differs"] * 8
    assert "this says nothing: in this table 50 % of the wrong lines would do so too" in found[0].why
    assert found[0].wrong is not None
    assert found[0].wrong["trend"] == 0.0
    # With a second line of its own the first one is a trend.
    assert verdicts(table("10 20 30 40", "20 40 60 80"), "12 24 36 48", "20 40 60 80")[:4] == ["trend"] * 4


def test_a_statement_that_every_figure_meets_says_nothing() -> None:
    found = cells(table(">5", ">10"), "20", "30")
    assert [cell.verdict for cell in found] == ["differs"] * 2
    assert all(cell.why.startswith("the statement holds, but this says nothing") for cell in found)


def test_false_rates_are_those_of_exchanged_lines() -> None:
    found = cells(
        table("10 20 30 40", "10 40 60 80", "500 400 300 200"), "10 20 30 40", "10 40 60 80", "500 400 300 200"
    )
    assert {cell.verdict for cell in found} == {"equal"}
    # The first cell of the first line: the second line's figure is the same, the third's is not.
    assert found[0].wrong is not None
    assert found[0].wrong["equal"] == 0.5
    assert found[1].wrong is not None
    assert found[1].wrong["equal"] == 0.0
    counted = tally(found)
    assert counted.wrong["equal"] == 2 * 0.5
    assert counted.false_rate("equal") == pytest.approx(1 / 12)
    assert counted.agreeing_wrongly == pytest.approx(1 / 12)


NUMBERS = st.integers(1, 9)


@given(st.data(), st.integers(2, 4), st.integers(1, 6))
def test_rates_equal_judging_a_table_with_its_lines_exchanged(data: st.DataObject, lines: int, length: int) -> None:
    """The obvious way: for each pair of lines a table of our figures in which the one has the figures of the other."""
    shape = st.lists(st.lists(NUMBERS, min_size=length, max_size=length), min_size=lines, max_size=lines)
    printed, ours = data.draw(shape), data.draw(shape)
    of = table(*(" ".join(map(str, line)) for line in printed))
    found = cells(of, *(" ".join(map(str, line)) for line in ours))
    for i in range(lines):
        apart = [j for j in range(lines) if _median(printed[i], printed[j]) > APART]
        for step in range(length):
            cell = found[i * length + step]
            assert (cell.wrong is None) == (not apart)
            if cell.wrong is None:
                continue
            assert sum(cell.wrong.values()) == pytest.approx(1)
            for verdict in AGREEING[:2]:
                given_wrong = [_alone(printed[i][step], ours[j][step]) for j in apart]
                assert cell.wrong[verdict] == pytest.approx(given_wrong.count(verdict) / len(apart))
    assert tally(found).false_rate("trend") <= TOLERATED or not any(cell.wrong for cell in found)


def _median(x: list[int], y: list[int]) -> float:
    return sorted(max(a / b, b / a) for a, b in zip(x, y, strict=True))[len(x) // 2]


def _alone(printed: int, ours: int) -> str:
    return "equal" if printed == ours else "near" if abs(printed - ours) <= 0.05 * printed else "differs"


def test_a_misprint_is_not_compared_and_spoils_no_trend() -> None:
    note = Note("misprint", "5", "a", "wrong")
    found = cells(table("10 20 30 40 0", "900 500 700 300 800", notes=(note,)), "6 12 18 24 30", "900 500 700 300 800")
    # The first line has four cells to compare, the second five: they cannot be exchanged.
    assert [cell.verdict for cell in found[:5]] == ["differs"] * 4 + ["not compared"]
    both = Note("misprint", "5", "*", "wrong")
    found = cells(table("10 20 30 40 0", "900 500 700 300 800", notes=(both,)), "6 12 18 24 30", "900 500 700 300 800")
    assert [cell.verdict for cell in found[:5]] == ["trend"] * 4 + ["not compared"]
    assert (found[4].why, found[4].reason) == ("wrong", "misprint")


def test_a_reason_does_not_change_what_is_found() -> None:
    note = Note("definition", "*", "*", "not defined")
    for ours, verdict in (("10", "equal"), ("10.4", "near"), ("20", "differs")):
        (cell,) = cells(table("10.0", notes=(note,)), ours)
        assert (cell.verdict, cell.reason, cell.why) == (verdict, "definition", "not defined")
    (cell,) = cells(table("10", notes=(Note("remark", "*", "*", "by the way"),)), "20")
    assert (cell.verdict, cell.reason, cell.why) == ("differs", None, "by the way")
    (cell,) = cells(table("10", notes=(Note("data", "*", "*", "lost"),)), "10")
    assert (cell.verdict, cell.reason) == ("not compared", "data")


def test_impossible_by_arithmetic_is_calculated() -> None:
    (cell,) = cells(
        table("0.56", notes=(Note("arithmetic", "*", "*", "the mean", "(0.8 + 0.7 + 0.4 + 0.4) / 4"),)), "0.575"
    )
    assert (cell.verdict, cell.reason) == ("not compared", "arithmetic")
    assert cell.why == "(0.8 + 0.7 + 0.4 + 0.4) / 4 = 0.575: the mean"
    with pytest.raises(ValueError, match="is the printed figure"):
        cells(table("0.57", notes=(Note("arithmetic", "*", "*", "the mean", "0.572"),)), "1")


def test_all_arithmetic_in_the_tables_contradicts_the_print() -> None:
    found = 0
    for each in printed_tables().values():
        for row, column in each:
            note = each.reason(row, column)
            if note is not None and note.kind == "arithmetic":
                assert not agrees(each.cell(row, column), calculate(note.value))
                found += 1
            else:
                assert note is None or not note.value
    assert found == 4


def test_a_statement_that_holds_is_a_trend() -> None:
    assert verdicts(table("15..18", ">50", "~10"), "16", "51", "11.9") == ["trend"] * 3
    assert verdicts(table("15..18", ">50", "~10"), "19", "49", "12.1") == ["differs"] * 3


def test_other_data_can_show_a_trend_only() -> None:
    other = table("10 20 30 40", OTHER, substitute="others")
    found = cells(other, "10 20 30 40", OTHER)
    assert {cell.verdict for cell in found} == {"trend"}
    assert {cell.reason for cell in found} == {"data"}
    assert set(verdicts(other, "40 30 20 10", OTHER)[:4]) == {"differs"}


def test_a_cell_without_a_figure_is_not_passed_over() -> None:
    found = cells(table("10 20"), "10")
    assert [cell.verdict for cell in found] == ["equal", "differs"]
    assert found[1].why == "no figure was computed"
    assert verdicts(table("10"), "nan") == ["differs"]


def test_every_cell_has_one_verdict() -> None:
    found = cells(table("10 20 30 40", OTHER), "1 2 3 4", OTHER)
    assert sum(tally(found).verdicts.values()) == tally(found).cells == 8
    assert set(tally(found).verdicts) == set(VERDICTS)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=12))
def test_rank_correlation_is_spearmans(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    ours = rank_correlation(x.tolist(), y.tolist())
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(ours)
    else:
        assert ours == pytest.approx(float(spearmanr(x, y).statistic))
