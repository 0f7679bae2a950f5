"""What every format of files can do, and what they share: the content of a file, and columns of cells of any kind."""

from __future__ import annotations

import importlib
import shlex
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import polars as pl

from tsveil.core.errors import InputError, OutputError, Problems, some
from tsveil.data.file_table import FileTable, Wanted, check_width
from tsveil.data.memory import half_of_memory
from tsveil.data.questions import Question
from tsveil.data.table import NOTHING, check_names, numbers_or_text
from tsveil.data.trial import opening_problem

#: how much of a file is looked at to know its format
START = 4096


@dataclass(frozen=True)
class Content:
    """What a file holds; `unpacked` where it was compressed."""

    path: Path
    unpacked: bytes | None = field(default=None, repr=False)

    @cached_property
    def data(self) -> bytes:
        """All of it."""
        return self.path.read_bytes() if self.unpacked is None else self.unpacked

    @contextmanager
    def file(self) -> Iterator[Path]:
        """A file that holds it, for parsers that take nothing else."""
        if self.unpacked is None:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="tsveil-") as folder:
            place = Path(folder) / "unpacked"
            place.write_bytes(self.unpacked)
            yield place


class Format(ABC):
    """A format of files."""

    #: the name in plans and options, and the ending of a file that is written
    name: ClassVar[str]
    #: what a file of it is called in messages
    title: ClassVar[str]
    #: how names of its files end
    endings: ClassVar[tuple[str, ...]]
    #: the format that is written in place of it, where it cannot be written itself
    written_as: ClassVar[str] = ""
    #: cells are compared as they are written: whoever reads the file sees them so
    text: ClassVar[bool] = False
    #: lines of text are what it is made of
    lines: ClassVar[bool] = False
    #: columns have types, which a release keeps
    typed: ClassVar[bool] = False
    #: a spreadsheet runs texts that look like formulas when it opens the file
    runs_formulas: ClassVar[bool] = False
    #: the parser may end the process on a damaged file, so it is tried in another process first
    tried: ClassVar[bool] = False
    #: the file is opened where it is, and not read into memory
    in_place: ClassVar[bool] = False
    #: the options of reading that speak of it
    options: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def recognises(self, start: bytes) -> bool:
        """Whether a file that begins like this is of this format."""

    @abstractmethod
    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """The table that a file holds."""

    def problem(self, content: Content, wanted: Wanted) -> str | None:
        """What is wrong with a file whose parser may end the process, found out in another one; None if it can be parsed."""
        with content.file() as file:
            return opening_problem(self.name, file, asdict(wanted))

    def unpacked_size(self, content: Content) -> int:
        """The bytes that the parser will have in memory, as far as the file says it; 0: those of the file."""
        return 0

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write a table under a new name; `place` is the name of the sheet or the table in the file."""
        raise OutputError(f"files of the format {self.name} cannot be written\n  options: another --format")

    def types(self, content: Content) -> dict[str, Any]:
        """The types of the columns of a file."""
        table = self.table(content, Wanted(), Problems(f"{content.path.name} cannot be read"))
        return dict(table.frame.schema)

    def marked_rows(self, contents: Sequence[Content], table: FileTable, names: Sequence[str]) -> list[str]:
        """What tells rows apart that have the same cells, as clauses: for a file that any tool has made."""
        return []

    def beside(self, content: Content, place: str) -> list[str]:
        """What a file holds beside its table."""
        return []


def needed(module: str, extra: str, problems: Problems | None = None) -> ModuleType:
    """A package that is not installed with tsveil; an error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        text = f"the package {name} is needed for it\n  options: pip install 'tsveil[{extra}]', or save the table as CSV (UTF-8) or Parquet"
        if problems is None:
            raise OutputError(f"the file cannot be written: {text}") from error
        raise InputError(f"{problems.subject}: {text}") from error


def refuse_damaged(title: str, error: BaseException | str, problems: Problems) -> InputError:
    """The error of a file that is recognised and cannot be parsed."""
    why = str(error).strip().split("\n")[0]
    kind = title.removeprefix("a ").removeprefix("an ")
    return InputError(
        f"{problems.subject}: it is not a complete {kind} ({why})\n"
        "  options: fetch or write the file again, or save the table as CSV (UTF-8)"
    )


def check_size(size: int, problems: Problems) -> None:
    """Refuse a small file that becomes a large one, before it fills the memory."""
    if size > (limit := half_of_memory()):
        raise InputError(
            f"{problems.subject}: it unpacks to more than {limit / 1e9:.1f} GB, half of the memory of this machine\n"
            "  options: unpack it, or cut it into several files; a folder of files is read in chunks"
        )


def check_cells(rows: int, columns: int, problems: Problems, each: int = 8) -> None:
    """Refuse a table that would not fit into memory, before it is read."""
    if rows * columns * each > (limit := half_of_memory()):
        raise InputError(
            f"{problems.subject}: its table of {rows:,} rows and {columns:,} columns takes more than {limit / 1e9:.1f} GB, half of the memory of this machine\n"
            "  options: a part of it, or the table as Parquet files, which are read in chunks"
        )


def chosen(
    names: Sequence[str], wanted: str | None, kind: str, option: str, problems: Problems
) -> tuple[str, tuple[Question, ...]]:
    """The sheet or table that is read, and the question which one it is where there are several."""
    if wanted is not None:
        if wanted not in names:
            problems.add(f"there is no {kind} {wanted!r}")
            problems.hint(f"{kind}s available: {some(names, 20)}")
            problems.raise_if_any()
        return wanted, ()
    if not names:
        problems.add(f"it holds no {kind} with records")
        problems.raise_if_any()
    if len(names) == 1:
        return names[0], ()
    answers = [
        (f"{'Or' if at else 'Is it'} {name!r}?", f"--{option} {shlex.quote(name)}") for at, name in enumerate(names)
    ]
    return names[0], (Question(f"holds several {kind}s with records: {some(names, 20)}.", tuple(answers[:20])),)


# -- cells of any kind ------------------------------------------------------------------------------------------------


def column_of(name: str, cells: Sequence[Any]) -> pl.Series:
    """Cells of any kind as one column: of numbers, of times, of words; where kinds are mixed, as text.

    Examples
    --------
    >>> column_of("load", [1, 2.5, None]).to_list(), column_of("town", [7, "Bern"]).to_list()
    ([1.0, 2.5, None], ['7', 'Bern'])
    """
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        return pl.Series(name, cells, dtype=pl.String)
    if kinds == {bool}:
        return pl.Series(name, cells, dtype=pl.Boolean)
    if kinds == {int}:
        try:
            return pl.Series(name, cells, dtype=pl.Int64)
        except OverflowError:
            return pl.Series(name, list(map(text_of, cells)), dtype=pl.String)
    if kinds <= {int, float}:
        return pl.Series(name, [None if cell is None else float(cell) for cell in cells], dtype=pl.Float64)
    for kind, dtype in (
        (date, pl.Date),
        (datetime, pl.Datetime("us")),
        (time, pl.Time),
        (timedelta, pl.Duration("us")),
    ):
        if kinds == {kind}:
            return pl.Series(name, cells, dtype=dtype)
    if kinds == {date, datetime}:
        whole = [datetime(c.year, c.month, c.day) if type(c) is date else c for c in cells]
        return pl.Series(name, whole, dtype=pl.Datetime("us"))
    return pl.Series(name, list(map(text_of, cells)), dtype=pl.String)


def text_of(cell: Any) -> str | None:
    """A cell as text; a day without a time of day, a whole number without decimals.

    Examples
    --------
    >>> text_of(2001.0), text_of(datetime(2024, 1, 1)), text_of(datetime(2024, 1, 1, 6)), text_of(None)
    ('2001', '2024-01-01', '2024-01-01 06:00:00', None)
    """
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    return bytes(cell).hex() if isinstance(cell, bytes | memoryview) else str(cell)


def table_of_texts(
    texts: pl.DataFrame, format: str, problems: Problems, *, words: Iterable[str] = (), notes: tuple[str, ...] = ()
) -> FileTable:
    """The table whose cells are texts: columns of numbers become numbers, but for those that are words whatever stands in them."""
    check_width(texts.width, problems)
    check_names(texts.columns, problems)
    problems.raise_if_any()
    kept = set(words)
    frame = texts.select(column if column.name in kept else numbers_or_text(column, ".") for column in texts)
    return FileTable(frame, format, texts=lambda names: texts.select(names), notes=notes)


def typed_table(
    columns: Mapping[str, pl.Series], format: str, place: str, problems: Problems, questions: tuple[Question, ...] = (),
    notes: tuple[str, ...] = (),
) -> FileTable:  # fmt: skip
    """The table of a file whose cells have types of their own; columns of texts that are all numbers become numbers."""
    check_width(len(columns), problems)
    check_names(columns, problems)
    problems.raise_if_any()
    found = {
        name: numbers_or_text(column.set(empty_cells(column), None), ".") if column.dtype == pl.String else column
        for name, column in columns.items()
    }
    frame = pl.DataFrame([column.alias(name) for name, column in found.items()])
    given = pl.DataFrame([column.alias(name) for name, column in columns.items()])

    def texts(names: list[str]) -> pl.DataFrame:
        return given.select(pl.col(names).cast(pl.String))

    return FileTable(frame, format, texts=texts, notes=notes, place=place, questions=questions)


def empty_cells(text: pl.Series) -> pl.Series:
    """Where nothing is written."""
    return text.str.strip_chars().str.to_lowercase().is_in(NOTHING[:1]).fill_null(False)


def unique_name(name: str, taken: Iterable[str]) -> str:
    """The name, with a number after it where it is taken."""
    used = set(taken)
    return next(one for one in (name, *(f"{name}_{at}" for at in range(2, 10**6))) if one not in used)
