"""SQLite databases: a table of one, or what a query finds in it.

The file is opened for reading only, in a way that writes nothing beside it, and a query may select and nothing else. A release is a new database with
one table, so it has no pages of deleted rows, and its rows are numbered in their published order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.data.file_table import FileTable, Wanted, check_width, first_line
from tsveil.data.formats.base import Content, Format, check_cells, chosen, column_of, refuse_damaged, typed_table
from tsveil.data.questions import Question

#: rows that are fetched at a time; bytes of a cell while they are
_ROWS, _CELL = 50_000, 64
#: what a query may do
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
#: how types of columns are declared
_TYPES: tuple[tuple[Any, str], ...] = ((pl.Boolean, "INTEGER"), (pl.String, "TEXT"))


class Sqlite(Format):
    """SQLite databases, by the module of Python."""

    name: ClassVar[str] = "sqlite"
    title: ClassVar[str] = "a SQLite database"
    endings: ClassVar[tuple[str, ...]] = (".sqlite", ".sqlite3", ".db", ".db3")
    in_place: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("table", "query")

    def recognises(self, start: bytes) -> bool:
        """Whether a file that begins like this is a SQLite database."""
        return start.startswith(b"SQLite format 3\0")

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """A table of the database, or what a query finds."""
        with _opened(content, problems) as base:
            questions: tuple[Question, ...] = ()
            place = wanted.table or "data"
            sql, count = wanted.query or "", 0
            if wanted.query is None:
                place, questions = chosen(_tables(base), wanted.table, "table", "table", problems)
                sql = f"SELECT * FROM {_quoted(place)}"
                count = int(base.execute(f"SELECT count(*) FROM {_quoted(place)}").fetchone()[0])
            base.set_authorizer(lambda what, *_: sqlite3.SQLITE_OK if what in _ALLOWED else sqlite3.SQLITE_DENY)
            try:
                cursor = base.execute(sql)
                if cursor.description is None:
                    raise sqlite3.OperationalError("it selects nothing")
                names = [str(one[0]) for one in cursor.description]
            except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
                if wanted.query is None:
                    raise
                raise InputError(
                    f"{problems.subject}: the query cannot be run: {first_line(error)}\n"
                    f"  options: one SELECT over the tables {some(_tables_of_reader(content, problems), 20)}"
                ) from error
            check_width(len(names), problems)
            if twice := sorted({name for name in names if names.count(name) > 1}):
                problems.add(f"column named more than once: {some(twice)}")
                problems.hint("options: names in the query, such as SELECT a.load AS load_a, b.load AS load_b")
                problems.raise_if_any()
            check_cells(count, len(names), problems, _CELL)
            rows: list[Sequence[Any]] = []
            while chunk := cursor.fetchmany(_ROWS):
                rows += chunk
                check_cells(len(rows), len(names), problems, _CELL)
        columns = {name: column_of(name, [row[at] for row in rows]) for at, name in enumerate(names)}
        return typed_table(columns, self.name, place, problems, questions)

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write a database with one table."""
        texts = [
            name for name, kind in frame.schema.items() if not (kind.is_numeric() or kind in (pl.Boolean, pl.String))
        ]
        decimals = [name for name, kind in frame.schema.items() if kind.is_decimal()]
        ready = frame.with_columns(pl.col(texts).cast(pl.String), pl.col(decimals).cast(pl.Float64))
        kinds = [
            next((words for one, words in _TYPES if kind == one), "INTEGER" if kind.is_integer() else "REAL")
            for kind in ready.dtypes
        ]
        columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in zip(ready.columns, kinds, strict=True))
        with closing(sqlite3.connect(path)) as base:
            try:
                base.execute("PRAGMA journal_mode=OFF")
                base.execute(f"CREATE TABLE {_quoted(place or 'data')} ({columns})")
                marks = ", ".join("?" * ready.width)
                base.executemany(f"INSERT INTO {_quoted(place or 'data')} VALUES ({marks})", ready.iter_rows())
                base.commit()
            except sqlite3.Error as error:
                raise OSError(None, f"the database cannot be written: {error}") from error

    def beside(self, content: Content, place: str) -> list[str]:
        """Other tables and views, pages with deleted rows, and rows numbered otherwise than in their order."""
        with _opened(content, Problems(f"{content.path.name} cannot be read")) as base:
            found = base.execute("SELECT type, name FROM sqlite_master WHERE name <> ?", (place,)).fetchall()
            others = [f"{kind} {name}" for kind, name in found]
            if base.execute("PRAGMA freelist_count").fetchone()[0]:
                others.append("pages of deleted rows")
            with suppress(sqlite3.OperationalError):  # a table without such numbers
                low, high, count = base.execute(
                    f"SELECT min(rowid), max(rowid), count(*) FROM {_quoted(place)}"
                ).fetchone()
                if count and (low, high) != (1, count):
                    others.append("the numbers of rows (rowid)")
        return others


@contextmanager
def _opened(content: Content, problems: Problems) -> Iterator[sqlite3.Connection]:
    """A database, for reading only."""
    for ending, why in (("-wal", "changes of it that are not in it yet"), ("-journal", "an interrupted change of it")):
        beside = content.path.with_name(content.path.name + ending)
        if content.unpacked is None and beside.exists() and beside.stat().st_size:
            raise InputError(
                f"{problems.subject}: {beside.name} beside it holds {why}\n"
                f"  options: close the program that uses it; or a copy: sqlite3 {content.path.name} \"VACUUM INTO 'NEW.sqlite'\""
            )
    with content.file() as file:
        try:
            # immutable: without it a database in WAL mode would get new files beside it, though nothing is written
            uri = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as base:
                base.execute("PRAGMA trusted_schema=OFF")
                base.execute("SELECT count(*) FROM sqlite_master").fetchone()
                yield base
        except sqlite3.Error as error:
            raise refuse_damaged(Sqlite.title, error, problems) from error


def _tables(base: sqlite3.Connection) -> list[str]:
    """The tables and views with records."""
    sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid"
    names = [str(name) for (name,) in base.execute(sql)]
    return [name for name in names if base.execute(f"SELECT 1 FROM {_quoted(name)} LIMIT 1").fetchone()]


def _tables_of_reader(content: Content, problems: Problems) -> list[str]:
    with _opened(content, problems) as base:
        return _tables(base)


def _quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
