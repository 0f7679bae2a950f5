"""Parquet files: columns with types, read in chunks where they are large."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from tsveil.core.errors import InputError, Problems
from tsveil.data.file_table import FileTable, Wanted, check_width, first_line
from tsveil.data.formats.base import Content, Format, check_size
from tsveil.data.table import check_names
from tsveil.data.trial import parsing_problem


class Parquet(Format):
    """Parquet, as polars reads and writes it."""

    name: ClassVar[str] = "parquet"
    title: ClassVar[str] = "a Parquet file"
    endings: ClassVar[tuple[str, ...]] = (".parquet",)
    typed: ClassVar[bool] = True
    tried: ClassVar[bool] = True

    def recognises(self, start: bytes) -> bool:
        """Whether a file that begins like this is a Parquet file."""
        return start[:4] == b"PAR1"

    def problem(self, content: Content, wanted: Wanted) -> str | None:
        """What is wrong with a Parquet file."""
        return parsing_problem(content.data)

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """The table of a Parquet file."""
        data = content.data
        try:
            columns = list(pl.read_parquet_schema(io.BytesIO(data)))
            rows = int(pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item())
            check_size(8 * rows * len(columns), problems)
            check_width(len(columns), problems)
            check_names(columns, problems)
            problems.raise_if_any()
            return FileTable(pl.read_parquet(io.BytesIO(data)), self.name)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # no trial was possible
            raise InputError(f"{problems.subject}: it is not a complete Parquet file ({first_line(error)})") from error

    def types(self, content: Content) -> dict[str, Any]:
        """The types of the columns, without reading them."""
        return dict(pl.read_parquet_schema(io.BytesIO(content.data)))

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write a Parquet file."""
        frame.write_parquet(path)
