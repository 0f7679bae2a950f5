"""A frame on its way to a `Dataset`: roles are checked, cells become numbers, every problem is noted with its place.

Rows are counted from 1 after the column names, empty rows included, so that a row can be found in the file. Of each
kind of problem the first five are spelled out and the others counted; what is wrong in several columns of a row is one problem.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tsveil.core.errors import Problems, some
from tsveil.core.types import Array, Mask
from tsveil.data.native import as_polars

#: what stands for a missing number in text
NOTHING = ("", "na", "n/a", "nan", "null", "none")
#: how many problems of one kind are spelled out
MOST = 5
#: whole numbers up to here have a float64 of their own
EXACT = 2**53
_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*")


def as_list(names: str | Sequence[str] | None) -> list[str]:
    """No name, one or several, as a list."""
    return [names] if isinstance(names, str) else list(names or ())


def as_numbers(text: pl.Series, decimal: str = ".") -> tuple[pl.Series, pl.Series]:
    """Text as numbers (whole ones when all are), null where nothing is written, and which cells hold something else.

    Examples
    --------
    >>> numbers, wrong = as_numbers(pl.Series(["1,5", "NA", "1.5", "x"]), decimal=",")
    >>> numbers.to_list(), wrong.to_list()
    ([1.5, None, None, None], [False, False, True, True])
    """
    text = text.cast(pl.String).str.strip_chars()
    empty = text.is_null() | text.str.to_lowercase().is_in(NOTHING).fill_null(True)
    if decimal == ",":
        # A point beside decimal commas groups thousands: 1.234 would be read a thousand times too small.
        text = text.set(text.str.contains(".", literal=True), "?").str.replace(",", ".", literal=True)
    whole = text.cast(pl.Int64, strict=False)
    if (whole.is_null() == empty).all():
        return whole, pl.repeat(False, len(text), eager=True)
    numbers = text.set(empty, None).cast(pl.Float64, strict=False)
    return numbers, numbers.is_null() & ~empty


def numbers_or_text(text: pl.Series, decimal: str) -> pl.Series:
    """A column of text as numbers, if all of it is.

    Examples
    --------
    >>> numbers_or_text(pl.Series(["1", "2"]), ".").dtype, numbers_or_text(pl.Series(["1", "x"]), ".").dtype
    (Int64, String)
    """
    if text.null_count() == len(text):
        return text
    plain = text if decimal == "." else text.str.replace(",", ".", literal=True)
    if decimal == "." or not text.str.contains(".", literal=True).any():
        for kind in (pl.Int64, pl.Float64):
            numbers = plain.cast(kind, strict=False)
            if numbers.null_count() == text.null_count():
                return numbers
    numbers, wrong = as_numbers(text, decimal)
    return text if wrong.any() else numbers


def inexact(text: pl.Series) -> list[int]:
    """The rows with a whole number that float64 cannot hold.

    Examples
    --------
    >>> inexact(pl.Series(["5.5", "9007199254740993", "9007199254740992", "1e40"]))
    [1]
    """
    plain = text.cast(pl.String).str.strip_chars()
    whole = plain.str.contains(r"^[+-]?\d{16,}$").fill_null(False).arg_true().to_list()
    return [row for row in whole if len(plain[row]) > 300 or int(plain[row]) != int(float(plain[row]))]


def too_large(number: object) -> str:
    """What is said of such a number."""
    return f"{number} is too large to be kept exactly (beyond 2^53)"


def tell(problems: Problems, examples: Iterable[str], total: int, rest: str) -> None:
    """Note the first few problems of one kind, and the count of the others."""
    shown = 0
    for example in examples:
        problems.add(example)
        shown += 1
    if total > shown:
        problems.add(f"... and {total - shown} more {rest}")


class Cell(NamedTuple):
    """A cell that is wrong: the place of its row in the frame, its column, and what is wrong."""

    row: int
    column: str
    what: str


@dataclass(frozen=True)
class Numbers:
    """Columns as an array, NaN where a value is missing."""

    values: Array
    columns: tuple[str, ...]
    #: the columns of whole numbers
    whole: frozenset[str]

    def of(self, columns: Sequence[str]) -> Array:
        """Some of the columns."""
        place = {name: at for at, name in enumerate(self.columns)}
        at = [place[name] for name in columns]
        if at == list(range(len(self.columns))):
            return self.values
        return self.values[:, at]


def check_names(names: Iterable[str], problems: Problems) -> None:
    """Refuse names that polars takes for patterns of names, before they stand for several columns in the middle of the work."""
    if strange := [name for name in names if name == "*" or (name.startswith("^") and name.endswith("$"))]:
        problems.add(f"column {some(strange)}: a name like this stands for several columns")
        problems.hint("options: rename it in the file")


class Table:
    """A frame without its empty rows, and what is wrong with it."""

    def __init__(self, given: Any, subject: str) -> None:
        self.problems = Problems(subject)
        self.frame = as_polars(given)
        self.rows = np.arange(1, self.frame.height + 1, dtype=np.int64)
        #: what was done to the rows, for the notes of the data set
        self.notes: tuple[str, ...] = ()
        self._roles: dict[str, str] = {}
        self._names = frozenset(self.frame.columns)
        check_names(self.frame.columns, self.problems)
        self.problems.raise_if_any()
        self._skip_empty_rows()
        if not self.frame.width:
            self.problems.add("there are no columns")
        elif not self.frame.height:
            self.problems.add("there are no records, only the names of columns")

    def _skip_empty_rows(self) -> None:
        if not self.frame.width or not self.frame.height or min(self.frame.null_count().row(0)) == 0:
            return
        empty = self.frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
        if empty.any():
            self.notes = (f"{empty.sum()} empty rows were skipped",)
            self.frame, self.rows = self.frame.filter(~empty), self.rows[~empty.to_numpy()]

    def __contains__(self, column: object) -> bool:
        return column in self._names

    @property
    def without_role(self) -> tuple[str, ...]:
        """The columns that `check_roles` was not told of."""
        return tuple(name for name in self.frame.columns if name not in self._roles)

    def check_roles(self, wanted: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Every column that has a role exists and has one role only."""
        for role, columns in wanted:
            unknown = [name for name in dict.fromkeys(columns) if name not in self]
            tell(self.problems, (self._unknown(role, name) for name in unknown[:MOST]), len(unknown), "such columns")
            if unknown:
                self.problems.hint(f"columns available: {some(self.frame.columns, 20)}")
            seen: set[str] = set()
            for name in columns:
                if name in seen:
                    self.problems.add(f"column {name!r} is named twice in {role}")
                elif (other := self._roles.setdefault(name, role)) != role:
                    self.problems.add(f"column {name!r} has two roles: {other} and {role}")
                seen.add(name)

    def _unknown(self, role: str, name: str) -> str:
        close = difflib.get_close_matches(str(name), self.frame.columns, 1)
        return f"{role} names the column {name!r}, which does not exist" + (
            f" (did you mean {close[0]!r}?)" if close else ""
        )

    def refuse_empty_cells(self, name: str) -> None:
        """A column that says what a row is about has no empty cell."""
        empty = np.flatnonzero(self.frame[name].is_null().to_numpy())
        examples = [f"row {self.rows[at]}, column {name!r}: the value is missing" for at in empty[:MOST]]
        self.tell_rows(examples, len(empty), f"missing values in column {name!r}")

    def tell_rows(self, examples: Sequence[str], total: int, rest: str) -> None:
        """Note problems that name rows."""
        tell(self.problems, examples, total, rest)
        if total:
            self.problems.hint("rows are counted from 1 after the column names")

    def tell_missing(self, numbers: Numbers, refused: Mask) -> None:
        """Note the missing cells that are refused."""
        self._tell_marked(refused, numbers.columns, "is missing", "missing values")

    def _tell_marked(self, marked: Mask, columns: Sequence[str], what: str, rest: str) -> None:
        rows = np.flatnonzero(marked.any(axis=1))[:MOST].tolist()
        cells = [
            Cell(row, columns[at], f"the value {what}") for row in rows for at in np.flatnonzero(marked[row]).tolist()
        ]
        self.tell_cells(cells, int(marked.sum()), rest)

    def tell_cells(self, cells: Sequence[Cell], total: int, rest: str) -> None:
        """Note problems of single cells: what is wrong in several columns of a row is said once, with the names of the columns."""
        lines: dict[tuple[int, str], list[str]] = {}
        for cell in cells:
            lines.setdefault((cell.row, cell.what), []).append(cell.column)
        shown = list(lines.items())[:MOST]
        examples = [
            f"row {self.rows[row]}, {'column' if len(names) == 1 else 'columns'} {some(names)}: {what}"
            for (row, what), names in shown
        ]
        more = total - sum(len(names) for _, names in shown)
        self.tell_rows(examples, len(examples) + more, rest)

    def numbers(self, columns: Sequence[str], decimal: str) -> Numbers:
        """The columns as an array; what is not a finite number is noted."""
        converted: list[pl.Series] = []
        wrong, lost = list[Cell](), list[Cell]()
        count, large, commas = 0, 0, False
        types: Mapping[str, Any] = self.frame.schema
        for name in columns:
            if types[name].is_numeric() or types[name] == pl.Null:
                continue
            column = self.frame[name]
            if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
                self.problems.add(f"column {name!r} holds values of type {column.dtype}, not numbers")
                converted.append(pl.Series(name, np.zeros(len(column))))
                continue
            found, bad = as_numbers(column, decimal)
            changed = inexact(column) if found.dtype.is_float() else []
            lost += [Cell(row, name, too_large(column[row])) for row in changed[:MOST]]
            large += len(changed)
            # A placeholder, so that the cell is not told a second time, as missing; the problem stops the reading anyway.
            converted.append(found.set(bad, 0).alias(name))
            at = np.flatnonzero(bad.to_numpy())
            if len(at) > 1 and found.null_count() == len(found):
                row, text = self.rows[at[0]], str(column[int(at[0])])
                self.tell_rows([f"column {name!r} holds text, not numbers (in row {row}: {text!r})"], 1, "")
                commas = commas or _COMMA.fullmatch(text) is not None
                continue
            count += len(at)
            wrong += [Cell(int(row), name, f"{str(column[int(row)])!r} is not a number") for row in at[:MOST]]
            commas = commas or any(_COMMA.fullmatch(str(column[int(row)])) for row in at[:MOST])
        self.tell_cells(sorted(lost), large, "such numbers")
        self.tell_cells(sorted(wrong, key=lambda cell: cell.row), count, "cells that are not numbers")
        if decimal == "." and commas:
            self.problems.hint("numbers with a decimal comma are read with decimal=','")

        frame = self.frame[list(columns)].with_columns(converted)
        types = {name: types[name] for name in columns} | {column.name: column.dtype for column in converted}
        whole = [name for name, dtype in types.items() if dtype.is_integer()]
        self._check_exact(frame, whole)
        frame = frame.cast({name: pl.Float64 for name, dtype in types.items() if dtype != pl.Float64})
        values = frame.to_numpy(order="c") if columns else np.empty((frame.height, 0))
        self._check_finite(values, columns)
        return Numbers(np.asarray(values, dtype=np.float64), tuple(columns), frozenset(whole))

    def _check_exact(self, frame: pl.DataFrame, columns: Sequence[str]) -> None:
        """Whole numbers beyond 2^53 would be changed without a word."""
        if not columns:
            return
        highs = frame.select(pl.col(columns).max()).row(0)
        lows = frame.select(pl.col(columns).min()).row(0)
        examples = []
        for name, high, low in zip(columns, highs, lows, strict=True):
            if high is not None and max(high, -low) > EXACT:
                value = high if high > EXACT else low
                row = self.rows[(frame[name] == value).arg_max()]
                examples.append(f"row {row}, column {name!r}: {too_large(value)}")
        self.tell_rows(examples[:MOST], len(examples), "columns with numbers beyond 2^53")

    def _check_finite(self, values: Array, columns: Sequence[str]) -> None:
        self._tell_marked(np.isinf(values), columns, "is infinite", "infinite values")
