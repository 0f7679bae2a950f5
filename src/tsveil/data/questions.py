"""What a table may mean in several ways: tsveil asks, and does not guess.

A question says what was seen and why it matters, and for each thing that a reader may mean what to type.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from tsveil.core.errors import QuestionError
from tsveil.data.times import time_name

#: numbers of columns that may be the hours, quarters of hours, months, ... of a record, and not persons
_CLOCKS = frozenset({7, 12, 24, 28, 29, 30, 31, 48, 52, 53, 96, 144, 168, 288, 365, 366, 8760, 8784})
#: fewer columns are measured quantities rather than persons
_FEWEST = 4
#: whole numbers with at most this many different values, in ten times as many rows, may be codes
_CODES, _ROWS_PER_CODE = 8, 10
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Question:
    """What was seen, and the answers: what a reader may mean, and the options that say so."""

    seen: str
    answers: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(meaning) for meaning, _ in self.answers)
        return "\n".join([self.seen, *(f"  {meaning:<{width}}   {options}" for meaning, options in self.answers)])


def ask(name: str, questions: Sequence[Question]) -> None:
    """Refuse to go on until every question is answered."""
    if questions:
        texts = [f"{name} {question}" for question in questions]
        raise QuestionError("\n".join(texts), texts)


def whose(frame: pl.DataFrame, column: str, time: str | None) -> Question:
    """Several rows for one value of a column that is named like an identifier."""
    first = frame[column].is_duplicated() & frame[column].is_not_null()
    value = frame[column].filter(first)[0]
    rows = [row + 1 for row in (frame[column] == value).arg_true().head(2).to_list()]
    return Question(
        f"has several rows for the same {column!r} (first: {value!r}, rows {rows[0]} and {rows[1]}).",
        (
            (f"Are these readings of one {column} over time?", f"--layout long --id {_typed(column)} --time {_typed(time or 'DATE_COLUMN')}"),
            (f"Or several records that belong to one {column}?", f"--person {_typed(column)}"),
            (f"Or is {column!r} not a person at all?", "--independent-rows"),
        ),
    )  # fmt: skip


def turned(frame: pl.DataFrame, time: str, columns: Sequence[str]) -> Question:
    """Rows that are times and columns that may be persons."""
    return Question(
        f"has a row for each time in {time!r} and {len(columns)} columns of numbers ({columns[0]!r}, {columns[1]!r}, ...).",
        (
            ("Is each of these columns a person or a device?", "--transpose"),
            ("Or is each row a record, and are the columns what was measured?", "--no-transpose"),
        ),
    )


def coded(columns: Sequence[str]) -> Question:
    """Whole numbers of which there are so few that they may be codes."""
    shown = ", ".join(repr(name) for name in columns)
    each = " ".join(f"{{}} {_typed(name)}" for name in columns)
    return Question(
        f"has whole numbers with few different values, which may be codes: {shown}. A mean of codes means nothing.",
        (
            ("Publish them unchanged?", each.replace("{}", "--confidential")),
            ("Or leave them out?", each.replace("{}", "--leave-out")),
            ("Or are they quantities, to be protected like the others?", each.replace("{}", "--number")),
        ),
    )


def _typed(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else f"'{name}'"


def may_be_turned(frame: pl.DataFrame, times: Collection[str], numeric: Sequence[str]) -> str | None:
    """The column of times, if the rows of a table look like times and its columns like persons.

    Examples
    --------
    >>> day = ["2020-01-01", "2020-01-02"]
    >>> frame = pl.DataFrame({"day": day, "MAC1": [1.0, 2.0], "MAC2": [1.0, 3.0], "MAC7": [2.0, 2.0], "MAC9": [0.5, 1.0]})
    >>> may_be_turned(frame, ["day"], frame.columns[1:])
    'day'
    """
    if len(times) != 1 or len(numeric) < _FEWEST or len(numeric) + 1 < frame.width:
        return None
    (time,) = times
    if frame[time].n_unique() < frame.height:
        return None
    said = [time_name(name) for name in numeric]
    if any(one is not None and one.form == "stamp" for one in said):
        return None
    stems = {_DIGITS.sub("", name) for name in numeric}
    numbers = [int("".join(_DIGITS.findall(name)) or "-1") for name in numeric]
    counted = len(numbers) in _CLOCKS and all(b - a == 1 for a, b in pairwise(numbers)) and numbers[0] in (0, 1)
    alike = len(stems) == 1 and min(numbers) >= 0
    return time if (alike and not counted) or len(numeric) > max(frame.height, 50) else None


def may_be_codes(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns of whole numbers that may be codes."""
    found = []
    for name in columns:
        if frame.schema[name].is_integer():
            different = frame[name].n_unique()
            if different <= _CODES and frame.height >= _ROWS_PER_CODE * different:
                found.append(name)
    return found
