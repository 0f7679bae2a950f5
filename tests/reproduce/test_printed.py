"""The published figures: complete tables, cells that can be read, notes that are about something."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from tsveil.reproduce.printed import Figure, Table, calculate, printed_tables
from tsveil.reproduce.run import EXPERIMENTS

TABLES = printed_tables()

#: table -> rows and columns, counted in the papers
SIZES = {
    "000-2": (4, 9), "000-3": (4, 9), "000-4": (3, 4), "000-5": (20, 9), "000-6": (10, 9), "000-7": (30, 9),
    "001-eu": (6, 1), "001-sts": (6, 1),
    "004-2.2": (7, 2), "004-2.3": (14, 2), "004-2.4": (7, 2), "004-2.SSE": (4, 1),
    "004-3.3": (30, 5), "004-3.4": (30, 5), "004-3.5": (30, 4), "004-3.6": (30, 4), "004-3.7": (54, 5), "004-3.8": (20, 1),
    "004-3.10": (50, 4), "004-3.11": (50, 4), "004-3.12": (50, 5), "004-3.13": (50, 5),
    "004-4.2": (3, 5), "004-4.3": (20, 6), "004-4.4": (20, 6), "004-4.5": (18, 6), "004-4.6": (20, 3), "004-4.7": (20, 2),
    "004-4.8": (27, 6), "004-4.9": (27, 6), "004-4.10": (27, 8), "004-4.11": (27, 8),
    "004-4.comparison": (7, 1), "004-4.projected": (11, 1),
    "004-5.2": (10, 10), "004-5.3": (14, 2), "004-5.4": (4, 9), "004-5.5": (4, 9), "004-5.6": (4, 9), "004-5.7": (4, 9),
    "004-6.2": (4, 9), "004-6.3": (4, 9), "004-6.4": (3, 4), "004-6.5": (20, 9), "004-6.6": (10, 9), "004-6.7": (30, 9),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_tables_are_complete(name: str) -> None:
    table = TABLES[name]
    assert (len(table.rows), len(table.columns)) == SIZES[name]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_are_well_formed(table: Table) -> None:
    assert len(set(table.rows)) == len(table.rows)
    assert len(set(table.columns)) == len(table.columns)
    assert table.percent <= set(table.columns)
    assert all(math.isfinite(table.cell(row, column).number) for row, column in table)
    for note in table.notes:
        assert note.reason
        assert any(note.covers(row, column) for row, column in table), f"{note} is about no cell"


def test_every_table_has_an_experiment_and_every_experiment_a_table() -> None:
    assert list(EXPERIMENTS) == list(TABLES)


def test_scores_are_the_mean_of_loss_and_risk_as_printed() -> None:
    """A check of the copy: an exchanged or shifted column would break the arithmetic of the rows."""
    for name in ("000-5", "000-6", "000-7", "004-6.5", "004-6.6", "004-6.7"):
        table = TABLES[name]
        for row in table.rows:
            cell = {column: table.cell(row, column).number for column in table.columns}
            links = [cell["EULD"], cell["STSLD"]]
            risk = max(links) if name.startswith("000") else sum(links) / 2
            assert cell["IL"] == pytest.approx((cell["IL1"] + cell["IL2"] + cell["IL3"]) / 3, abs=0.011), row
            assert cell["DR"] == pytest.approx((risk + cell["ID"]) / 2, abs=0.011), row
            assert cell["Score"] == pytest.approx((cell["IL"] + cell["DR"]) / 2, abs=0.011), row


@pytest.mark.parametrize("name", ["004-3.3", "004-3.4", "004-3.7", "004-3.12", "004-3.13", "004-4.8", "004-4.9"])
def test_classic_scores_agree_with_their_parts_as_printed(name: str) -> None:
    table = TABLES[name]
    for row in table.rows:
        cell = {column: table.cell(row, column).number for column in table.columns}
        risk = (cell["DLD"] + cell["PLD"]) / 4 + cell["ID"] / 2
        assert cell["Score"] == pytest.approx((cell["IL"] + risk) / 2, abs=0.07), row


#: kind of reason -> the distinct cells that have it; a smaller number is welcome, a larger one is an excuse
REASONS = {"arithmetic": 4, "misprint": 132, "data": 469, "definition": 2261}


def test_reasons_do_not_grow() -> None:
    counted: Counter[str] = Counter()
    for table in TABLES.values():
        for row, column in table:
            note = table.reason(row, column)
            kind = note.kind if note is not None else "data" if table.substitute else "none"
            counted[kind] += not table.printed_before(row, column)
    assert {kind: counted[kind] for kind in REASONS} == REASONS
    assert sum(counted.values()) == 3575


@pytest.mark.parametrize("table", [table for table in TABLES.values() if table.repeats], ids=lambda table: table.name)
def test_what_is_printed_twice_has_the_same_reason_and_an_earlier_place(table: Table) -> None:
    assert list(TABLES).index(table.repeats) < list(TABLES).index(table.name)
    twice = [place for place in table if table.printed_before(*place)]
    assert len(twice) > len(table.cells) / 4
    assert all(TABLES[table.repeats].cell(*place).text == table.cell(*place).text for place in twice)


def test_only_arithmetic_is_calculated() -> None:
    assert calculate("-(0.5 - 2) / 3") == 0.5
    for text in ("x", "abs(1)", "1 if 2 else 3", "'a'", "[1]", "1 // 2", "(lambda: 1)()"):
        with pytest.raises(ValueError, match="not arithmetic"):
            calculate(text)


def test_statements_and_figures() -> None:
    assert Figure("~10").bounds == (8, 12)
    assert Figure("<=-0.8").bounds == (-math.inf, -0.8)
    assert Figure("0.50").half_digit == 0.005
    assert Figure("129").half_digit == 0.5
    assert not Figure("-1.57").is_statement
