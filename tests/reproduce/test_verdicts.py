"""The rules for the verdicts, each at its border."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tsveil.reproduce.printed import Figure, Note, Row, Table
from tsveil.reproduce.verdicts import Cell, judge_table, rank_correlation


def table(
    *printed: str, notes: tuple[Note, ...] = (), percent: bool = False, substitute: str = "", across: bool = False
) -> Table:
    """One column x with rows 1, 2, ..., or one row with several columns."""
    names = [str(i) for i in range(1, len(printed) + 1)]
    rows: tuple[Row, ...] = (("1",),) if across else tuple((name,) for name in names)
    columns = tuple(names) if across else ("x",)
    places = [(rows[0], name) for name in names] if across else [((name,), "x") for name in names]
    return Table(
        name="test",
        title="",
        keys=("row",),
        columns=columns,
        rows=rows,
        cells={place: Figure(text) for place, text in zip(places, printed, strict=True)},
        percent=frozenset(columns if percent else ()),
        line=0,
        across=across,
        substitute=substitute,
        notes=notes,
    )


def verdicts(of: Table, *ours: float) -> list[str]:
    return [cell.verdict for cell in cells(of, *ours)]


def cells(of: Table, *ours: float) -> list[Cell]:
    return judge_table(of, dict(zip(of, ours, strict=False)))


def test_equal_means_the_printed_digits() -> None:
    assert verdicts(table("11.10"), 11.1049) == ["equal"]
    assert verdicts(table("11.10"), 11.1051) == ["near"]
    assert verdicts(table("11.1"), 11.1051) == ["equal"]


def test_near_is_five_percent_or_a_fifth_of_a_point() -> None:
    assert verdicts(table("40.0"), 42.0) == ["near"]
    assert verdicts(table("40.0"), 42.01) == ["differs"]
    assert verdicts(table("1.00", percent=True), 1.19) == ["near"]
    assert verdicts(table("1.00"), 1.19) == ["differs"]


@pytest.mark.parametrize("across", [False, True])
def test_a_trend_needs_four_cells_in_the_right_order(across: bool) -> None:
    four = table("10", "20", "30", "40", across=across)
    assert verdicts(four, 6, 12, 18, 24) == ["trend only"] * 4
    assert verdicts(four, 6, 12, 24, 22) == ["trend only"] * 4  # 0.8
    assert verdicts(four, 6, 23, 24, 12) == ["differs"] * 4
    assert verdicts(four, 18, 18, 18, 18) == ["differs"] * 4
    assert verdicts(table("10", "20", "30", across=across), 6, 12, 18) == ["differs"] * 3


def test_a_trend_needs_figures_of_the_same_size() -> None:
    four = table("10", "20", "30", "40")
    assert verdicts(four, 5, 10, 15, 20) == ["trend only"] * 4
    assert verdicts(four, 4.9, 9.9, 14.9, 19.9) == ["differs"] * 4
    assert verdicts(four, 20, 40, 60, 81) == ["trend only"] * 4  # in the median
    assert verdicts(table("-1", "-2", "-3", "-4"), 4, 3, 2, 1) == ["differs"] * 4
    assert verdicts(table("0", "0", "2", "3"), 0, 0.1, 1.5, 2)[3] == "trend only"


def test_a_misprint_is_not_judged_and_spoils_no_trend() -> None:
    note = Note("misprint", "5", "*", "wrong")
    found = cells(table("10", "20", "30", "40", "0", notes=(note,)), 6, 12, 18, 24, 30)
    assert [cell.verdict for cell in found] == ["trend only"] * 4 + ["not reproducible"]
    assert found[-1].why == "wrong"
    assert (
        verdicts(table("10", "20", "30", "0", notes=(Note("misprint", "4", "*", "wrong"),)), 1, 2, 3, 4)[:3]
        == ["differs"] * 3
    )


def test_an_open_definition_excuses_only_a_difference() -> None:
    note = Note("open", "*", "*", "not told")
    assert verdicts(table("10", notes=(note,)), 10) == ["equal"]
    assert verdicts(table("10", notes=(note,)), 20) == ["not reproducible"]
    assert verdicts(table("10", notes=(Note("remark", "*", "*", "by the way"),)), 20) == ["differs"]
    assert verdicts(table("10", notes=(Note("data", "*", "*", "lost"),)), 10) == ["data not available"]


def test_a_statement_that_holds_is_a_trend() -> None:
    assert verdicts(table("15..18", ">50", "~10"), 16, 51, 11.9) == ["trend only"] * 3
    assert verdicts(table("15..18", ">50", "~10"), 19, 49, 12.1) == ["differs"] * 3


def test_other_data_can_show_a_trend_only() -> None:
    other = table("10", "20", "30", "40", substitute="others")
    assert verdicts(other, 10, 20, 30, 40) == ["trend only"] * 4
    assert verdicts(other, 40, 30, 20, 10) == ["data not available"] * 4


def test_a_cell_without_a_figure_is_not_passed_over() -> None:
    assert verdicts(table("10", "20"), 10) == ["equal", "differs"]
    assert verdicts(table("10"), math.nan) == ["differs"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=12))
def test_rank_correlation_is_spearmans(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    ours = rank_correlation(x.tolist(), y.tolist())
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(ours)
    else:
        assert ours == pytest.approx(float(spearmanr(x, y).statistic))
