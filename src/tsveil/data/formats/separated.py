"""CSV and its relatives: text whose cells are separated by commas, semicolons, bars or tabs. What no other format recognises is taken for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl

from tsveil.core.errors import Problems
from tsveil.data.csv_text import as_utf8, table_of_csv
from tsveil.data.file_table import FileTable, Wanted
from tsveil.data.formats.base import Content, Format

#: what stands for a quotation mark around a cell, and is no part of any number
_QUOTED = "\x01"
#: a line without a cell, and a cell in quotation marks, which may have such lines
_EMPTY_LINE, _CELL_TEXT = re.compile(rb"\n\r?\n"), re.compile(rb'"[^"]*"')


class Separated(Format):
    """Separated values."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "a CSV file"
    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt")
    text: ClassVar[bool] = True
    lines: ClassVar[bool] = True
    runs_formulas: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("separator", "decimal", "header")

    def recognises(self, start: bytes) -> bool:
        """Whatever no other format is."""
        return True

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """The table of the text."""
        return table_of_csv(content.data, wanted, problems)

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write the text with commas and points; `write_frame` says how else."""
        frame.write_csv(path)

    def marked_rows(self, contents: Sequence[Content], table: FileTable, names: Sequence[str]) -> list[str]:
        """Quotation marks around some numbers of a column, line ends and empty lines tell rows apart that have the same cells."""
        texts = [as_utf8(one.data, Problems(f"{one.path.name} cannot be read"))[0] for one in contents]
        lines, windows = (sum(data.count(end) for data in texts) for end in (b"\n", b"\r\n"))
        found = ["lines end in two ways"] if 0 < windows < lines else []
        if any(_EMPTY_LINE.search(_CELL_TEXT.sub(b"", data).rstrip()) for data in texts):
            found.append("empty lines stand between rows")
        if not any(b'"' in data for data in texts):
            return found
        sign = re.escape(table.separator.encode())
        cell = re.compile(rb'(^|%s)"([^"%s\r\n]*)"(?=%s|\r?$)' % (sign, sign, sign), re.MULTILINE)
        quoted: dict[str, set[bool]] = {name: set() for name in names}
        for data in texts:
            head, _, body = data.partition(b"\n")
            marked = head + b"\n" + cell.sub(rb"\1%s\2" % _QUOTED.encode(), body.rstrip(b"\r\n"))
            try:
                cells = pl.read_csv(marked, separator=table.separator, columns=list(names), infer_schema=False)
            except pl.exceptions.PolarsError:
                return [*found, "quotation marks stand where they cannot be followed"]
            for column in cells:
                quoted[column.name] |= set(column.str.starts_with(_QUOTED))
        some_rows = [name for name, how in quoted.items() if len(how) > 1]
        return found + [f"numbers of column {name!r} are quoted in some rows only" for name in some_rows]
