"""Files opened: which ones a path stands for, their bytes, unpacked and unchanged meanwhile, and the table that they hold.

What a file is says its beginning, whatever its name is (`formats`). Files whose parser may end the process are tried in a child first (`trial`).
"""

from __future__ import annotations

import gzip
import hashlib
import os
import reprlib
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.data.file_table import FileTable, Wanted, first_line
from tsveil.data.formats.base import START, Content, Format, check_size
from tsveil.data.formats.known import endings_of, format_of, kind_of_name
from tsveil.data.formats.zstd import ZstdError, unpacked_zstd
from tsveil.data.memory import reserve
from tsveil.data.other_files import refuse_other_files

#: no table has a line of more bytes: a million columns with twenty digits each make a fifth of it
LONGEST_LINE = 100_000_000
_CHUNK = 1 << 24
#: a table takes about this many times the size of its file while it is read; the parser's threads want address space beside it
_ROOM = 4
_THREADS = 700_000_000
#: files in a folder, of whatever kind, that are looked through
MOST_FILES = 100_000
#: what is looked for in a folder before anything else
#: what describes data for programs and is no table itself
DATA_PACKAGE, CROISSANT = "datapackage.json", "croissant.json"
_FIRST = ("parquet", "csv")
#: how compressed files begin
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


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

    In a folder, hidden files and folders, those that begin with an underscore, and the files that describe data for programs are passed over.
    """
    try:
        return _files_of(Path(path))
    except OSError as error:  # a name that is too long, or a folder that may not be looked into
        raise InputError(f"{reprlib.repr(str(path))} cannot be read: {error.strerror or error}") from error


def _files_of(place: Path) -> list[Path]:
    if place.is_dir():
        found = _all_in(place)
        kinds: dict[str, list[Path]] = {}
        for file in found:
            if kind := kind_of_name(file.name):
                kinds.setdefault(kind, []).append(file)
        if all(kind in kinds for kind in _FIRST):
            raise InputError(f"{place.name} cannot be used: the folder holds both Parquet and CSV files")
        first = next((kind for kind in _FIRST if kind in kinds), None)
        if first is None and len(kinds) > 1:
            raise InputError(
                f"{place.name} cannot be used: the folder holds files of several formats ({endings_of(list(kinds))})\n"
                f"  options: those of one, such as {place / ('*' + endings_of(list(kinds)[:1]))}"
            )
        if not kinds:
            raise InputError(
                f"{place.name} cannot be used: the folder holds no file that ends with .parquet or .csv, or as another format that tsveil reads"
            )
        return kinds[first or next(iter(kinds))]
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
        return [name for name in names if not name.startswith((".", "_")) and name not in (DATA_PACKAGE, CROISSANT)]

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


def opened_table(path: Path, wanted: Wanted) -> FileTable:
    """The table of one file."""
    return _table_of_file(path, wanted, False, Problems(f"{path.name} cannot be read"))


def opened(path: Path) -> tuple[Format, Content]:
    """The format of a file, and what it holds.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "meters.data"
    >>> _ = path.write_bytes(gzip.compress(b"meter,1\\r\\na,2\\r\\n"))
    >>> form, content = opened(path)
    >>> form.name, content.data
    ('csv', b'meter,1\\r\\na,2\\r\\n')
    """
    return _opened(path, Problems(f"{path.name} cannot be read"))


def table_of_files(files: Sequence[Path], wanted: Wanted, own: bool, problems: Problems) -> FileTable:
    """The tables of all files, one below the other."""
    if len(files) == 1:
        return _table_of_file(files[0], wanted, own, problems)
    tables = [_table_of_file(file, wanted, own, Problems(f"{file.name} cannot be read")) for file in files]
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
    questions = tuple(dict.fromkeys(question for table in tables for question in table.questions))
    return replace(first, frame=frame, texts=texts if first.texts else None, notes=notes, questions=questions)


def _table_of_file(path: Path, wanted: Wanted, own: bool, problems: Problems) -> FileTable:
    form, content = _opened(path, problems)
    if strange := [name for name in ("sheet", "table", "query") if getattr(wanted, name) and name not in form.options]:
        has = {"sheet": "sheets", "table": "tables", "query": "tables to query"}[strange[0]]
        raise InputError(
            f"{problems.subject}: it is {form.title}, which has no {has}\n  options: the same without {strange[0]}"
        )
    if form.tried:
        check_size(form.unpacked_size(content), problems)
        if not own and (wrong := form.problem(content, wanted)):
            raise InputError(
                f"{problems.subject}: {wrong}\n  options: fetch or write the file again, or save the table as CSV (UTF-8)"
            )
    return form.table(content, wanted, problems)


def _opened(path: Path, problems: Problems) -> tuple[Format, Content]:
    """The format and the content of a file: read once, and refused if it changed meanwhile, for half old and half new is neither."""
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
            start = file.read(START)
            file.seek(0)
            data: bytes | None
            if start.startswith((_GZIP, _ZSTD)):
                data = _unpacked(file, start, problems)
                form = _format(data, problems)
                content = Content(path, data)
            else:
                form = _format(start, problems)
                data = None if form.in_place else _whole(file, before.st_size, form, problems)
                content = Content(path)
                if data is not None:
                    content.__dict__["data"] = data
            after = os.fstat(file.fileno())
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; one CSV or Parquet file is needed") from error
    except (EOFError, gzip.BadGzipFile, zlib.error, ZstdError) as error:
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
    if data is not None and (not data or data.isspace()):
        raise InputError(f"{problems.subject}: the file is empty")
    return form, content


def _format(start: bytes, problems: Problems) -> Format:
    """The format of a file that begins like this; what no format reads is refused in words that fit."""
    form = format_of(start[:START])
    if form.lines:
        refuse_other_files(start[:START], problems)
    return form


def refuse_change(subject: str, before: os.stat_result, after: os.stat_result) -> None:
    """Raise InputError if a file is not the one it was."""
    known = ("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    if any(getattr(before, what) != getattr(after, what) for what in known):
        raise InputError(
            f"{subject}: the file changed while it was read\n  options: wait until whatever writes it is done, or read a copy"
        )


def _unpacked(file: BinaryIO, start: bytes, problems: Problems) -> bytes:
    """What a compressed file holds. What is too large, or a line that no table has, is refused before it fills the memory."""
    chunks, length = list[bytes](), 0
    with ExitStack() as stack:
        if start.startswith(_GZIP):
            file.seek(-4, os.SEEK_END)
            check_size(int.from_bytes(file.read(4), "little"), problems)  # what the file says of itself, modulo 2^32
            file.seek(0)
            packed: BinaryIO = stack.enter_context(gzip.GzipFile(fileobj=file))  # type: ignore[assignment]
        else:
            packed = stack.enter_context(unpacked_zstd(file, problems))
        first = packed.read(_CHUNK)
        parts = chain([first] if first else [], iter(lambda: packed.read(_CHUNK), b""))
        for chunk in _check_line_lengths(parts, problems) if _format(first, problems).lines else parts:
            chunks.append(chunk)
            length += len(chunk)
            check_size(length, problems)
    reserve(_ROOM * length + _THREADS)
    return b"".join(chunks)


def _whole(file: BinaryIO, size: int, form: Format, problems: Problems) -> bytes:
    """All of a file that is not compressed. A line that no table has is refused before it fills the memory."""
    if size > LONGEST_LINE and form.lines:
        for _ in _check_line_lengths(iter(lambda: file.read(_CHUNK), b""), problems):
            pass
        file.seek(0)
    reserve(_ROOM * size + _THREADS)
    return file.read()


def _check_line_lengths(chunks: Iterator[bytes], problems: Problems) -> Iterator[bytes]:
    """The chunks of a text, with an error as soon as a line is longer than any table's."""
    length = 0
    for chunk in chunks:
        ends = [place for end in (b"\n", b"\r") if (place := chunk.find(end)) >= 0]
        if length + min(ends, default=len(chunk)) > LONGEST_LINE:
            raise InputError(
                f"{problems.subject}: it has a line of more than {LONGEST_LINE // 1_000_000} MB, so it is no table\n"
                "  options: a file with a line per record, the cells separated by commas, semicolons, bars or tabs"
            )
        length = len(chunk) - 1 - max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) if ends else length + len(chunk)
        yield chunk
