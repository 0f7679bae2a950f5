"""What an upload may unpack to, and how many columns a table may have: found out before anything is read.

A compressed file of a few megabytes may hold gigabytes. It is unpacked once, piece by piece and without keeping anything, and refused as soon as
it passes the limit.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from tsveil.core.errors import InputError, Problems
from tsveil.data.formats.zstd import ZstdError, unpacked_zstd

#: columns of a table: a page names each of them, and a form sends each of them back
COLUMNS = 20_000
_PIECE = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def check_unpacked_size(path: Path, largest: int) -> None:
    """Raise InputError if a compressed file holds more than `largest` bytes. A damaged one is left to the readers, which have the words for it."""
    subject = f"{path.name} cannot be read"
    size = 0
    with path.open("rb") as file, ExitStack() as stack:
        start = file.read(4)
        file.seek(0)
        packed: BinaryIO
        if start.startswith(_GZIP):
            packed = stack.enter_context(gzip.GzipFile(fileobj=file))  # type: ignore[assignment]
        elif start.startswith(_ZSTD):
            packed = stack.enter_context(unpacked_zstd(file, Problems(subject)))
        else:
            with suppress(zipfile.BadZipFile):  # what workbooks are inside; it says the size of each of its files
                if zipfile.is_zipfile(file):
                    with zipfile.ZipFile(file) as archive:
                        size = sum(inside.file_size for inside in archive.infolist())
            _check_size(size, largest, subject)
            return
        with suppress(EOFError, gzip.BadGzipFile, zlib.error, ZstdError):
            while piece := packed.read(_PIECE):
                size += len(piece)
                _check_size(size, largest, subject)


def _check_size(size: int, largest: int, subject: str) -> None:
    if size > largest:
        raise InputError(
            f"{subject}: unpacked it is larger than {largest / 1e6:,.0f} MB, the most that can be uploaded\n"
            "  a larger file is not uploaded but given at the start: tsveil web FILE"
        )


def check_columns(count: int, name: str) -> None:
    """Raise InputError if a table has more columns than the pages can show.

    Examples
    --------
    >>> check_columns(30_000, "wide.csv")
    Traceback (most recent call last):
    tsveil.core.errors.InputError: wide.csv has 30,000 columns, and the pages take at most 20,000
      options: the long layout, a row per record and time; or the command line, which has no such limit
    """
    if count > COLUMNS:
        raise InputError(
            f"{name} has {count:,} columns, and the pages take at most {COLUMNS:,}\n"
            "  options: the long layout, a row per record and time; or the command line, which has no such limit"
        )
