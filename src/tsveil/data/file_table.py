"""The table of a file, with its cells as they are written: 007 stays 007, and a number that would change by reading is noticed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tsveil.core.errors import InputError, Problems
from tsveil.data.questions import Question
from tsveil.data.table import EXACT, MOST, inexact, tell, too_large

#: a wide table may have this many columns: a year of readings every five minutes has 105,120
MOST_COLUMNS = 200_000


@dataclass(frozen=True)
class Wanted:
    """What somebody said of how files are read; the rest is found out."""

    separator: str | None = None
    decimal: str | None = None
    #: whether the first line holds the names of the columns
    header: bool | None = None
    #: of a workbook, of a database; or what a query finds
    sheet: str | None = None
    table: str | None = None
    query: str | None = None


#: the options of reading that say these
WANTED = ("separator", "decimal", "header", "sheet", "table", "query")


@dataclass(frozen=True)
class FileTable:
    """The table of a file, or of several with the same columns."""

    frame: pl.DataFrame
    #: the name of the format (`tsveil.data.formats`)
    format: str
    separator: str = ","
    decimal: str = "."
    #: some columns as they are written in the file; None when the frame has them so
    texts: Callable[[list[str]], pl.DataFrame] | None = None
    #: what was done to the text, in sentences
    notes: tuple[str, ...] = ()
    #: the sheet or table in the file
    place: str = ""
    #: what may mean several things before any column is looked at
    questions: tuple[Question, ...] = ()

    def frame_with_texts(self, id: str | None, confidential: Sequence[str], *words: str | None) -> pl.DataFrame:
        """The frame with the columns that are not protected kept as text where a number would look different."""
        kept = [name for name in (id, *words) if name is not None]
        types = self.frame.schema
        names = [name for name in dict.fromkeys([*kept, *confidential]) if types.get(name, pl.String) != pl.String]
        if self.texts is None or not names:
            return self.frame
        texts = self.texts(names)
        changed = [texts[name] for name in names if not self._same(texts[name], self.frame[name], name in kept)]
        return self.frame.with_columns(changed)

    def check_whole_numbers(self, columns: Sequence[str], problems: Problems) -> None:
        """Among numbers with decimals, a whole number of too many digits would be changed without a word."""
        types = self.frame.schema  # made anew at each call
        floats = [self.frame[name] for name in columns if name in types and types[name].is_float()]
        ends: list[tuple[str, Any, Any]] = [(column.name, column.min(), column.max()) for column in floats]
        large = [name for name, low, high in ends if high is not None and not -EXACT < low <= high < EXACT]
        if self.texts is not None and large:
            examples = [(row + 1, text.name, text[row]) for text in self.texts(large) for row in inexact(text)]
            lines = [f"row {row}, column {name!r}: {too_large(number)}" for row, name, number in examples[:MOST]]
            tell(problems, lines, len(examples), "numbers beyond 2^53")
            problems.raise_if_any()

    def _same(self, text: pl.Series, typed: pl.Series, exactly: bool) -> bool:
        """Whether a typed column stands for its text: 7 does not for 007, and in names 1.5 does not for 1.50."""
        if (typed.is_null() != text.is_null()).any():
            return False  # a word for nothing, such as NA
        if typed.dtype.is_float() and (not exactly or self.decimal == ","):
            return not text.str.contains(r"^\s*[+-]?0\d").any()
        return bool((typed.cast(pl.String) == text).all())


def check_width(columns: int, problems: Problems) -> None:
    """A table of very many columns takes minutes to look at; its points belong into rows."""
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{problems.subject}: it has {columns} columns, and {MOST_COLUMNS} are the most\n"
            "  options: the long layout, with a row per record and time"
        )


def first_line(error: BaseException) -> str:
    """What an error of the parser says first; the rest speaks of its own options."""
    return str(error).strip().split("\n")[0]
