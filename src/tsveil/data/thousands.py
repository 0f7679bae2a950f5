"""Numbers whose thousands are grouped: 1,234.5 and 1.234,5, 1 234.5 and 1'234.5.

A column is read so where every cell fits, and something says what the marks mean: both of them in one cell, two groups, a blank or an apostrophe. 1,234 alone may be a
thousand or one and a bit, and is asked about, unless the decimal mark was given, or another cell of the column shows it: 1.5.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from tsveil.core.errors import some
from tsveil.data.file_table import FileTable
from tsveil.data.questions import Question
from tsveil.data.table import NOTHING, as_numbers

#: rows that are looked at before a whole column is
_HEAD = 100


class _Marks(NamedTuple):
    """What groups thousands, what marks decimals, and the signs that may stand for the former."""

    group: str
    decimal: str
    signs: str


_ALL = (
    _Marks(",", ".", ","),
    _Marks(".", ",", r"\."),
    _Marks(" ", ".", " \u00a0\u202f"),
    _Marks(" ", ",", " \u00a0\u202f"),
    _Marks("'", ".", "'\u2019"),
    _Marks("'", ",", "'\u2019"),
)


def without_groups(table: FileTable, decimal: str | None) -> FileTable:
    """The table with such columns as numbers; `decimal` is the mark that was given.

    Examples
    --------
    >>> texts = pl.DataFrame({"pay": ["1,234.5", "987.0", None]})
    >>> found = without_groups(FileTable(texts, "csv", texts=texts.select), None)
    >>> found.frame["pay"].to_list(), found.notes
    ([1234.5, 987.0, None], ("column 'pay': the commas in numbers such as '1,234.5' group thousands",))
    """
    words = table.frame.select(pl.col(pl.String)).columns  # the schema takes long with many columns
    found: dict[str, pl.Series] = {}
    notes, unclear = list[str](), dict[str, str]()
    for name in words:
        column = table.frame[name].str.strip_chars()
        column = column.set(column.str.to_lowercase().is_in(NOTHING).fill_null(True), None)
        fitting = [
            marks
            for marks in _ALL
            if _fits(column.drop_nulls().head(_HEAD), marks) and _fits(column.drop_nulls(), marks)
        ]
        grouped = [(marks, sample) for marks in fitting if (sample := _first_group(column, marks)) is not None]
        if not grouped:
            continue
        sure = [(marks, sample) for marks, sample in grouped if _is_sure(column, marks) or marks.decimal == decimal]
        if not sure:
            unclear[name] = grouped[0][1]
            continue
        marks, sample = sure[0]
        plain = column.str.replace_all(f"[{marks.signs}]", "")
        found[name] = as_numbers(plain, marks.decimal)[0].alias(name)
        words_for = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}[marks.group]
        notes.append(f"column {name!r}: the {words_for} in numbers such as {sample!r} group thousands")
    if not found and not unclear:
        return table
    frame = table.frame.with_columns(found.values())
    questions = table.questions
    if unclear:
        name, text = next(iter(unclear.items()))
        number = re.sub(r"[.,]", "", text)
        mark = "," if "," in text else "."
        other = "." if mark == "," else ","
        questions += (
            Question(
                f"has numbers that can be read in two ways, such as {text!r} in column {some(list(unclear), 4)}.",
                (
                    (f"Is it {number}?", f"--decimal {other}"),
                    (f"Or {text.replace(',', '.')}, a number with decimals?", f"--decimal {mark}"),
                ),
            ),
        )
    return replace(table, frame=frame, notes=(*table.notes, *notes), questions=questions)


def _pattern(marks: _Marks, groups: str) -> str:
    return rf"^[+-]?[1-9]\d{{0,2}}([{marks.signs}]\d{{3}}){groups}(\{marks.decimal}\d+)?$"


def _fits(column: pl.Series, marks: _Marks) -> bool:
    """Whether every cell is a number with these marks."""
    return bool(len(column)) and bool(
        column.str.contains(rf"{_pattern(marks, '+')}|^[+-]?\d+(\{marks.decimal}\d+)?([eE][+-]?\d+)?$").all()
    )


def _first_group(column: pl.Series, marks: _Marks) -> str | None:
    """The first cell with a group."""
    found = column.str.contains(_pattern(marks, "+")).fill_null(False)
    return str(column.filter(found)[0]) if found.any() else None


def _is_sure(column: pl.Series, marks: _Marks) -> bool:
    """Whether a cell says what the marks mean."""
    if marks.group in (" ", "'"):
        return True
    both = rf"^[+-]?[1-9]\d{{0,2}}([{marks.signs}]\d{{3}})+\{marks.decimal}\d+$"
    decimals = rf"^[+-]?(0|\d{{4,}})\{marks.decimal}\d+$|^[+-]?\d+\{marks.decimal}(\d{{1,2}}|\d{{4,}})$"
    return bool(column.str.contains(rf"{both}|{_pattern(marks, '{2,}')}|{decimals}").fill_null(False).any())
