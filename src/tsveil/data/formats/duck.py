"""DuckDB databases: a table of one, or what a query finds in it.

The file is opened for reading only, and a query may select and nothing else: it cannot reach other files. Tables pass through Parquet files in a folder
that only their owner can look into and that is deleted at once, so that every type is kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.data.file_table import FileTable, Wanted, check_width, first_line
from tsveil.data.formats.base import Content, Format, check_cells, chosen, needed, refuse_damaged
from tsveil.data.questions import Question
from tsveil.data.table import check_names

#: what has to be installed
_EXTRA = "duckdb"


class DuckDB(Format):
    """DuckDB databases, by the package duckdb."""

    name: ClassVar[str] = "duckdb"
    title: ClassVar[str] = "a DuckDB database"
    endings: ClassVar[tuple[str, ...]] = (".duckdb", ".ddb")
    typed: ClassVar[bool] = True
    tried: ClassVar[bool] = True
    in_place: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("table", "query")

    def recognises(self, start: bytes) -> bool:
        """Whether a file that begins like this is a DuckDB database."""
        return start[8:12] == b"DUCK" and 0 in start[12:20]

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """A table of the database, or what a query finds."""
        duckdb = needed("duckdb", _EXTRA, problems)
        with _opened(duckdb, content, problems) as base, tempfile.TemporaryDirectory(prefix="tsveil-") as folder:
            questions: tuple[Question, ...] = ()
            place = wanted.table or "data"
            tables = _tables(base)
            try:
                if wanted.query is None:
                    place, questions = chosen(tables, wanted.table, "table", "table", problems)
                    sql = f"SELECT * FROM {_quoted(place)}"
                else:
                    sql = wanted.query.strip().rstrip(";")
                    kinds = [one.type for one in base.extract_statements(sql)]
                    if kinds != [duckdb.StatementType.SELECT]:
                        raise duckdb.Error("it must be one SELECT")
                base.execute(f"SET allowed_directories = ['{folder}']")
                base.execute("SET enable_external_access = false")
                base.execute("SET lock_configuration = true")
                kinds = base.execute(f"DESCRIBE {sql}").fetchall()
                check_width(len(kinds), problems)
                check_names([str(one[0]) for one in kinds], problems)
                problems.raise_if_any()
                rows = int(base.execute(f"SELECT count(*) FROM ({sql})").fetchone()[0])
                check_cells(rows, len(kinds), problems)
                base.execute(f"COPY ({sql}) TO '{folder}/table.parquet' (FORMAT parquet)")
            except duckdb.Error as error:
                if wanted.query is None:
                    raise
                raise InputError(
                    f"{problems.subject}: the query cannot be run: {first_line(error)}\n"
                    f"  options: one SELECT over the tables {some(tables, 20)}"
                ) from error
            return FileTable(pl.read_parquet(f"{folder}/table.parquet"), self.name, place=place, questions=questions)

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write a database with one table."""
        duckdb = needed("duckdb", _EXTRA)
        with tempfile.TemporaryDirectory(prefix="tsveil-") as folder:
            frame.write_parquet(f"{folder}/table.parquet")
            try:
                with closing(duckdb.connect(str(path))) as base:
                    base.execute("SET preserve_insertion_order = true")
                    base.execute(
                        f"CREATE TABLE {_quoted(place or 'data')} AS SELECT * FROM read_parquet('{folder}/table.parquet')"
                    )
            except duckdb.Error as error:
                raise OSError(None, f"the database cannot be written: {first_line(error)}") from error

    def beside(self, content: Content, place: str) -> list[str]:
        """Other tables and views."""
        duckdb = needed("duckdb", _EXTRA)
        with _opened(duckdb, content, Problems(f"{content.path.name} cannot be read")) as base:
            return [f"table {name}" for name in _all_tables(base) if name != place]


@contextmanager
def _opened(duckdb: Any, content: Content, problems: Problems) -> Iterator[Any]:
    """A database, for reading only."""
    beside = content.path.with_name(content.path.name + ".wal")
    if content.unpacked is None and beside.exists() and beside.stat().st_size:
        raise InputError(
            f"{problems.subject}: {beside.name} beside it holds changes of it that are not in it yet\n"
            "  options: close the program that uses it"
        )
    with content.file() as file:
        try:
            with closing(duckdb.connect(str(file), read_only=True)) as base:
                yield base
        except duckdb.Error as error:
            if "lock" in str(error).lower():
                raise InputError(
                    f"{problems.subject}: another program has it open\n  options: close that program, or a copy of the file"
                ) from error
            raise refuse_damaged(DuckDB.title, error, problems) from error


def _all_tables(base: Any) -> list[str]:
    sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY table_name"
    return [str(name) for (name,) in base.execute(sql).fetchall()]


def _tables(base: Any) -> list[str]:
    """The tables and views with records."""
    return [name for name in _all_tables(base) if base.execute(f"SELECT 1 FROM {_quoted(name)} LIMIT 1").fetchone()]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
