"""Arrow files and streams, which are Feather files of the second version, too."""

from __future__ import annotations

import io
from pathlib import Path
from typing import ClassVar

import polars as pl

from tsveil.core.errors import Problems
from tsveil.data.file_table import FileTable, Wanted, check_width
from tsveil.data.formats.base import Content, Format, check_cells, refuse_damaged
from tsveil.data.table import check_names


class Arrow(Format):
    """The IPC formats of Arrow: files, and streams."""

    name: ClassVar[str] = "arrow"
    title: ClassVar[str] = "an Arrow file"
    endings: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc", ".arrows")
    typed: ClassVar[bool] = True
    tried: ClassVar[bool] = True

    def recognises(self, start: bytes) -> bool:
        """Whether this is the beginning of a file (a magic word) or of a stream (a mark and the length of the schema)."""
        return start.startswith(b"ARROW1\0\0") or (start[:4] == b"\xff\xff\xff\xff" and start[6:8] == b"\0\0")

    def table(self, content: Content, wanted: Wanted, problems: Problems) -> FileTable:
        """The table of an Arrow file or stream."""
        data = content.data
        try:
            if data.startswith(b"ARROW1"):
                columns = list(pl.read_ipc_schema(io.BytesIO(data)))
                check_width(len(columns), problems)
                frame = pl.read_ipc(io.BytesIO(data))
            else:
                frame = pl.read_ipc_stream(io.BytesIO(data))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise refuse_damaged(self.title, error, problems) from error
        check_cells(frame.height, frame.width, problems)
        check_width(frame.width, problems)
        check_names(frame.columns, problems)
        problems.raise_if_any()
        return FileTable(frame, self.name)

    def write(self, frame: pl.DataFrame, path: Path, place: str) -> None:
        """Write an Arrow file, in one piece: pieces would tell how the rows were put together; texts in the form that older programs know too."""
        frame.rechunk().write_ipc(path, compression="uncompressed", compat_level=pl.CompatLevel.oldest())
