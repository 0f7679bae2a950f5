"""Files opened: which ones a path stands for, their bytes, unpacked and unchanged meanwhile, and the table that they hold.

Parquet files are tried in a child first (`trial`); everything else is taken for CSV (`csv_text`).
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import reprlib
import stat
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.data.csv_text import as_utf8, table_of_csv
from tsveil.data.file_table import FileTable, check_width, first_line
from tsveil.data.memory import half_of_memory, reserve
from tsveil.data.other_files import START, refuse_other_files
from tsveil.data.table import check_names
from tsveil.data.trial import parsing_problem

#: no table has a line of more bytes: a million columns with twenty digits each make a fifth of it
LONGEST_LINE = 100_000_000
_CHUNK = 1 << 24
#: a table takes about this many times the size of its file while it is read; the parser's threads want address space beside it
_ROOM = 4
_THREADS = 700_000_000
#: files in a folder, of whatever kind, that are looked through
MOST_FILES = 100_000
#: what is looked for in a folder
_KINDS = {"parquet": (".parquet",), "csv": (".csv", ".csv.gz", ".tsv", ".txt")}


def digest_of(files: Sequence[Path]) -> str:
    """The hash of a file; of several, that of the list of their hashes.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "empty.csv"
    >>> path.touch()
    >>> digest_of([path])[:8], digest_of([path, path])[:8]
    ('e3b0c442', 'af60ab5b')
    """
    found = []
    for path in files:
        with path.open("rb") as file:
            found.append(hashlib.file_digest(file, "sha256").hexdigest())
    return found[0] if len(found) == 1 else hashlib.sha256("\n".join(found).encode()).hexdigest()


def files_of(path: str | Path) -> list[Path]:
    """The files that a path stands for: itself, those of a folder, or those that fit a pattern, in the order of their names.

    In a folder, hidden files and folders and those that begin with an underscore are passed over.
    """
    try:
        return _files_of(Path(path))
    except OSError as error:  # a name that is too long, or a folder that may not be looked into
        raise InputError(f"{reprlib.repr(str(path))} cannot be read: {error.strerror or error}") from error


def _files_of(place: Path) -> list[Path]:
    if place.is_dir():
        found = _all_in(place)
        kinds = {kind: [f for f in found if f.name.endswith(endings)] for kind, endings in _KINDS.items()}
        if all(kinds.values()):
            raise InputError(f"{place.name} cannot be used: the folder holds both Parquet and CSV files")
        if not any(kinds.values()):
            raise InputError(f"{place.name} cannot be used: the folder holds no file that ends with .parquet or .csv")
        return kinds["parquet"] or kinds["csv"]
    if not place.exists() and any(sign in place.name for sign in "*?["):
        matching = sorted(file for file in place.parent.glob(place.name) if file.is_file())
        if not matching:
            raise InputError(f"there is no file {place}")
        return matching
    return [place]


def _all_in(folder: Path) -> list[Path]:
    """The files in a folder and the folders in it, but for hidden ones; a folder with too many of them is no table, but somebody's whole disk."""

    def fail(error: OSError) -> None:
        raise error

    def visible_names(names: list[str]) -> list[str]:
        return [name for name in names if not name.startswith((".", "_"))]

    found: list[Path] = []
    seen = 0
    for place, folders, names in os.walk(folder, onerror=fail):
        folders[:] = visible_names(folders)
        seen += len(names)
        found += [Path(place) / name for name in visible_names(names)]
        if seen > MOST_FILES:
            raise InputError(
                f"{folder} cannot be used: there are more than {MOST_FILES:,} files in it\n  options: the folder of one table"
            )
    return [file for file in sorted(found) if file.is_file()]


def opened_table(path: Path, separator: str | None, decimal: str | None) -> FileTable:
    """The table of one file."""
    return _table_of_file(path, separator, decimal, False, Problems(f"{path.name} cannot be read"))


def contents_of(path: Path) -> bytes:
    """The text of one CSV file as it is parsed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "meters.csv"
    >>> _ = path.write_bytes(b"\\xef\\xbb\\xbfmeter,1\\r\\na,2\\r\\n")
    >>> contents_of(path)
    b'meter,1\\r\\na,2\\r\\n'
    """
    problems = Problems(f"{path.name} cannot be read")
    return as_utf8(_bytes(path, problems), problems)[0]


def table_of_files(
    files: Sequence[Path], separator: str | None, decimal: str | None, own: bool, problems: Problems
) -> FileTable:
    """The tables of all files, one below the other."""
    if len(files) == 1:
        return _table_of_file(files[0], separator, decimal, own, problems)
    tables = [_table_of_file(file, separator, decimal, own, Problems(f"{file.name} cannot be read")) for file in files]
    first = tables[0]
    for file, table in zip(files, tables, strict=True):
        if lacking := [name for name in first.frame.columns if name not in table.frame.columns]:
            problems.add(f"{file.name} lacks the column {some(lacking)}, which {files[0].name} has")
        if strange := [name for name in table.frame.columns if name not in first.frame.columns]:
            problems.add(f"{file.name} has the column {some(strange)}, which {files[0].name} lacks")
    problems.raise_if_any()
    names = first.frame.columns
    try:
        frame = pl.concat([table.frame.select(names) for table in tables], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        problems.add(f"the files have columns of different types: {first_line(error)}")
        problems.raise_if_any()
        raise AssertionError from error

    def texts(wanted: list[str]) -> pl.DataFrame:
        return pl.concat(
            [t.frame.select(pl.col(wanted).cast(pl.String)) if t.texts is None else t.texts(wanted) for t in tables]
        )

    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return FileTable(frame, first.format, first.separator, first.decimal, texts if first.texts else None, notes)


def _table_of_file(path: Path, separator: str | None, decimal: str | None, own: bool, problems: Problems) -> FileTable:
    data = _bytes(path, problems)
    if data[:4] == b"PAR1":
        if not own and (wrong := parsing_problem(data)):
            raise InputError(
                f"{problems.subject}: {wrong}\n  options: fetch or write the file again, or save the table as CSV (UTF-8)"
            )
        try:
            columns = list(pl.read_parquet_schema(io.BytesIO(data)))
            rows = int(pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item())
            _check_size(8 * rows * len(columns), problems)
            check_width(len(columns), problems)
            check_names(columns, problems)
            problems.raise_if_any()
            return FileTable(pl.read_parquet(io.BytesIO(data)), "parquet")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # no trial was possible
            raise InputError(f"{problems.subject}: it is not a complete Parquet file ({first_line(error)})") from error
    refuse_other_files(data[:START], problems)
    return table_of_csv(data, "\t" if separator == "tab" else separator, decimal, problems)


def _bytes(path: Path, problems: Problems) -> bytes:
    """The whole file, unpacked; read once, and refused if it changed meanwhile: half old and half new is neither."""
    try:
        # Without waiting: a pipe that nobody writes to would otherwise be opened for ever.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise InputError(
                    f"{path} is a folder; one CSV or Parquet file is needed"
                    if stat.S_ISDIR(before.st_mode)
                    else f"{problems.subject}: it is a pipe or a device\n  options: save the table to a file first"
                )
            data = _unpack(file, before.st_size, problems)
            after = os.fstat(file.fileno())
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; one CSV or Parquet file is needed") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{problems.subject}: the compressed file is damaged ({error})") from error
    except MemoryError as error:
        raise InputError(
            f"{problems.subject}: there is not enough memory for it\n  options: a larger machine or memory limit, or a part of the file"
        ) from error
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{problems.subject}: {getattr(error, 'strerror', None) or error}") from error
    refuse_change(problems.subject, before, after)
    if not data or data.isspace():
        raise InputError(f"{problems.subject}: the file is empty")
    return data


def refuse_change(subject: str, before: os.stat_result, after: os.stat_result) -> None:
    """Raise InputError if a file is not the one it was."""
    known = ("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    if any(getattr(before, what) != getattr(after, what) for what in known):
        raise InputError(
            f"{subject}: the file changed while it was read\n  options: wait until whatever writes it is done, or read a copy"
        )


def _unpack(file: BinaryIO, size: int, problems: Problems) -> bytes:
    """What a file holds. A line that no table has is refused before it fills the memory."""
    start = file.read(START)
    file.seek(0)
    refuse_other_files(start, problems)
    if start[:2] == b"\x1f\x8b":
        file.seek(-4, os.SEEK_END)
        _check_size(int.from_bytes(file.read(4), "little"), problems)  # what the file says of itself, modulo 2^32
        file.seek(0)
        chunks, length = list[bytes](), 0
        with gzip.GzipFile(fileobj=file) as packed:
            for chunk in _check_line_lengths(iter(lambda: packed.read(_CHUNK), b""), problems):
                chunks.append(chunk)
                length += len(chunk)
                _check_size(length, problems)
        reserve(_ROOM * sum(map(len, chunks)) + _THREADS)
        return b"".join(chunks)
    if size > LONGEST_LINE and not start.startswith(b"PAR1"):
        for _ in _check_line_lengths(iter(lambda: file.read(_CHUNK), b""), problems):
            pass
        file.seek(0)
    reserve(_ROOM * size + _THREADS)
    return file.read()


def _check_size(size: int, problems: Problems) -> None:
    """Refuse a small file that becomes a large one, before it fills the memory."""
    if size > (limit := half_of_memory()):
        raise InputError(
            f"{problems.subject}: it unpacks to more than {limit / 1e9:.1f} GB, half of the memory of this machine\n"
            "  options: unpack it, or cut it into several files; a folder of files is read in chunks"
        )


def _check_line_lengths(chunks: Iterator[bytes], problems: Problems) -> Iterator[bytes]:
    """The chunks of a text, with an error as soon as a line is longer than any table's."""
    length = 0
    for number, chunk in enumerate(chunks):
        parquet = number == 0 and chunk[:4] == b"PAR1"
        ends = [place for end in (b"\n", b"\r") if (place := chunk.find(end)) >= 0]
        if length + min(ends, default=len(chunk)) > LONGEST_LINE and not parquet:
            raise InputError(
                f"{problems.subject}: it has a line of more than {LONGEST_LINE // 1_000_000} MB, so it is no table\n"
                "  options: a file with a line per record, the cells separated by commas, semicolons, bars or tabs"
            )
        length = len(chunk) - 1 - max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) if ends else length + len(chunk)
        yield chunk
        if parquet:
            yield from chunks
