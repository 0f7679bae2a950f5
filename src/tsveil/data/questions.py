"""What a table may mean in several ways: tsveil asks, and does not guess.

A question says what was seen and why it matters, and for each thing that a reader may mean what to type.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from tsveil.core.errors import QuestionError
from tsveil.data.time_forms import MONTHS, forms_of, moment
from tsveil.data.times import telling, time_name, times_as_numbers

#: numbers of columns that may be the hours, quarters of hours, months, ... of a record, and not persons
_CLOCKS = frozenset({7, 12, 24, 28, 29, 30, 31, 48, 52, 53, 96, 144, 168, 288, 365, 366, 8760, 8784})
#: what stands before the numbers of such columns
_OF_CLOCKS = re.compile(
    r"(h|hr|hour|t|time|q|quarter|d|day|w|week|m|min|minute|month|p|period|s|slot|step|v|value|x|load|power|kwh?|consumption)?\W*_*",
    re.IGNORECASE,
)
#: beside times that come in no regular steps, fewer columns are measured quantities rather than persons
_FEWEST = 4
#: whole numbers with at most this many different values, in four times as many rows, may be codes: marks from 0 to 10, months
_CODES, _ROWS_PER_CODE = 12, 4
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


def whose(frame: pl.DataFrame, column: str, time: str | None, ids: Sequence[str] = ()) -> Question:
    """Several rows for one value of a column that is named like an identifier; with `ids`, these together say which record it is."""
    first = frame[column].is_duplicated() & frame[column].is_not_null()
    value = frame[column].filter(first)[0]
    rows = [row + 1 for row in (frame[column] == value).arg_true().head(2).to_list()]
    typed = "".join(f"--id {shlex.quote(name)} " for name in ids or [column])
    owner = f" --person {_quote(column)}" if ids else ""
    return Question(
        f"has several rows for the same {column!r} (first: {value!r}, rows {rows[0]} and {rows[1]}).",
        (
            (f"Are these readings of one {' and '.join(ids or [column])} over time?", f"--layout long {typed}--time {shlex.quote(time or 'DATE_COLUMN')}{owner}"),
            (f"Or several records that belong to one {column}?", f"--person {_quote(column)}"),
            (f"Or is {column!r} not a person at all?", "--independent-rows"),
        ),
    )  # fmt: skip


def owner_question(column: str, id: str) -> Question:
    """Several records of a long table for one value of another column that is named like an identifier."""
    return Question(
        f"has several {id!r} for the same {column!r}, or several {column!r} for the same {id!r}.",
        (
            (f"Does each {id} belong to one {column}, who may have several?", f"--person {_quote(column)}"),
            (f"Or is {column!r} not a person at all?", "--independent-rows"),
        ),
    )


def transpose_question(time: str, columns: Sequence[str]) -> Question:
    """Rows that are times and columns that may be persons."""
    shown = ", ".join([*map(repr, columns[:2]), *["..."][: len(columns) - 2]])
    return Question(
        f"has a row for each time in {time!r} and {len(columns)} column{'s'[: len(columns) - 1]} of numbers ({shown}).",
        (
            ("Is each of these columns a person or a device?", "--transpose"),
            ("Or is each row a record, and are the columns what was measured?", "--no-transpose"),
        ),
    )


def code_question(columns: Sequence[str], *, in_time: bool = False) -> Question:
    """Whole numbers of which there are so few that they may be codes; what changes in time cannot be carried with the record."""
    shown = ", ".join(repr(name) for name in columns)
    each = " ".join(f"{{}} {_quote(name)}" for name in columns)
    answers = (
        ("Publish them unchanged?", each.replace("{}", "--confidential")),
        ("Or leave them out?", each.replace("{}", "--leave-out")),
        ("Or are they labels, to be protected as such (in their order: --ordinal)?", each.replace("{}", "--nominal")),
        ("Or are they quantities, to be protected like the others?", each.replace("{}", "--number")),
    )
    return Question(
        f"has whole numbers with few different values, which may be codes: {shown}. A mean of codes means nothing.",
        (("Leave them out?", answers[1][1]), *answers[2:]) if in_time else answers,
    )


def time_questions(where: str, labels: Sequence[object], form: str) -> list[Question]:
    """The question of times that can be read in several ways, each of which fits all of them; none if somebody gave the form.

    Examples
    --------
    >>> print(*time_questions("in column 'day'", ["01/02/2020", "01/03/2020"], ""))
    has times in column 'day' that can be read in several ways, such as '01/02/2020'.
      Is it 2 January 2020?   --time-format month-first
      Or 1 February 2020?     --time-format day-first
    """
    forms = () if form else forms_of(labels)
    if len(forms) < 2:
        return []
    label = telling(labels, forms)
    meanings = [_in_words(label, form) for form in forms]
    return [
        Question(
            f"has times {where} that can be read in several ways, such as {str(label)!r}.",
            tuple(
                (f"{'Or' if at else 'Is it'} {meaning}?", f"--time-format {shlex.quote(form)}")
                for at, (meaning, form) in enumerate(zip(meanings, forms, strict=True))
            ),
        )
    ]


def _in_words(label: object, form: str) -> str:
    """What a label says in a form."""
    found = moment(label, form)
    assert found is not None
    day, month = ("" if form == "month-year" else f"{found.day} "), MONTHS[found.month - 1]
    return f"{day}{month}" + ("" if form == "month-day" else f" {found.year}")


def _quote(name: str) -> str:
    """A name as it is typed after an option; with a comma, which would make two of it, in quotation marks."""
    return shlex.quote(f'"{name}"' if "," in name else name)


def may_need_transposing(frame: pl.DataFrame, time: str, numeric: Sequence[str], form: str = "") -> bool:
    """Whether the rows of a table look like the times in a column and its numbers like persons.

    Examples
    --------
    >>> day = ["2020-01-01", "2020-01-02"]
    >>> frame = pl.DataFrame({"day": day, "MAC1": [1.0, 2.0], "MAC2": [1.0, 3.0], "MAC7": [2.0, 2.0], "MAC9": [0.5, 1.0]})
    >>> may_need_transposing(frame, "day", frame.columns[1:])
    True
    """
    said = [time_name(name) for name in numeric]
    if not numeric or any(one is not None and one.form == "stamp" for one in said):
        return False
    stems = {_DIGITS.sub("", name) for name in numeric}
    alike = len(stems) == 1 and all(_DIGITS.search(name) for name in numeric)
    if alike and _OF_CLOCKS.fullmatch(min(stems)) and len(numeric) in _CLOCKS:
        numbers = [int("".join(_DIGITS.findall(name))) for name in numeric]
        if numbers[0] in (0, 1) and all(b - a == 1 for a, b in pairwise(numbers)):
            return False
    many = len(numeric) >= _FEWEST and (alike or len(numeric) > max(frame.height, 50))
    return many or _regular(frame[time].head(1000), form)


def _regular(times: pl.Series, form: str) -> bool:
    """Whether times go one way, most of them by the same step, as rows that are times do; in any way in which they may be read."""
    if len(times) < 3:
        return False
    labels = times.cast(pl.String).to_list()
    numbers = times_as_numbers(labels, form or next(iter(forms_of(labels)), ""))
    steps = np.diff(numbers) if numbers is not None else np.zeros(1)
    if not ((steps > 0).all() or (steps < 0).all()):
        return False
    return bool(2 * np.unique(steps.round(9), return_counts=True)[1].max() >= len(steps))


def may_be_codes(column: pl.Series) -> bool:
    """Whether numbers may be codes: whole, and few different ones.

    Examples
    --------
    >>> may_be_codes(pl.Series([0, 1, 1, 0, 1, 0, 0, 1])), may_be_codes(pl.Series([0.5, 1.0] * 4))
    (True, False)
    """
    present = column.drop_nulls()
    different = present.n_unique()
    # One value alone, written with decimals, is a measurement that does not change.
    few = int(present.dtype.is_float()) < different <= _CODES and len(present) >= _ROWS_PER_CODE * different
    return few and bool((present == present.round()).all())
