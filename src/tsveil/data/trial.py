"""Whether a file can be parsed, tried where it costs nothing but a child process.

A few changed bytes make the parser of Parquet files ask for 2^61 bytes of memory, and then it ends its process: nothing that Python could catch. So the
first to parse a file that somebody gives is a child that does nothing else, and only what the child has parsed to the end is parsed by the process
itself: a damaged column could end it, where in the child another column's error came first.

A child took 0.18 s of processor time for a file of 1 kB (the start of Python and the import of the parser), 0.21 s for 5 MB and 0.56 s for 154 MB,
whose parsing alone takes 0.2 s. So one child serves all files of a process: it waits for the next one, and is started once more only after it ended,
or after a large file, whose memory it would keep. It ends with the process, when nobody can tell it anything any more.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

#: part of a file on the disk: its path, the columns (none: all), the first row and the number of rows (0: what the file says of itself)
Piece = tuple[str, Sequence[str], int, int]
#: bytes after which a child is not kept
LARGE = 1 << 24
#: files that ended their parser after which the others are not tried
MOST = 5

_ENDED = "the Parquet file is damaged, so that its parser ends"

#: says that it is ready; then answers each line by a line: what is wrong, or null. A line is a piece of a Parquet file; or a number of bytes, and then these
#: bytes of a Parquet file; or a file of another format, which is opened as it is read (what that refuses in words is refused again by whoever asks).
_PARSE = """
import io, json, sys, polars

def parse(asked):
    if isinstance(asked, dict):
        try:
            from pathlib import Path
            from tsveil.core.errors import Problems, TsveilError
            from tsveil.data.file_table import Wanted
            from tsveil.data.formats.base import Content
            from tsveil.data.formats.known import FORMATS
        except ImportError:
            return
        try:
            FORMATS[asked["format"]].table(Content(Path(asked["path"])), Wanted(**asked["wanted"]), Problems(""))
        except TsveilError:
            pass
        return
    if isinstance(asked, int):
        data = io.BytesIO(sys.stdin.buffer.read(asked))
        polars.read_parquet_schema(data)
        data.seek(0)
        polars.read_parquet(data)
        return
    path, columns, first, count = asked
    table = polars.scan_parquet(path, glob=False)
    polars.read_parquet_schema(path)
    table.select(polars.len()).collect()
    if count:
        (table.select(columns) if columns else table).slice(first, count).collect()

print(flush=True)
while line := sys.stdin.buffer.readline():
    try:
        parse(json.loads(line))
        wrong = None
    except (Exception, polars.exceptions.PanicException) as error:
        wrong = str(error).strip().split("\\n")[0] or type(error).__name__
    print(json.dumps(wrong), flush=True)
"""


class Trial:
    """A child process that parses one Parquet file after the other.

    Examples
    --------
    >>> with Trial() as trial:
    ...     print(trial.problem(b"PAR1 and nothing else"))
    it is not a complete Parquet file (...)
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.communicate()  # no more files: it ends
            self._child = None

    def problem(self, data: bytes) -> str | None:
        """What is wrong with a Parquet file, in words; None if it can be parsed."""
        wrong = self._ask_child(len(data), data)
        return wrong if wrong in (None, _ENDED) else f"it is not a complete Parquet file ({wrong})"

    def problem_of(self, format: str, path: Path, wanted: Mapping[str, object]) -> str | None:
        """What is wrong with a file of another format, in words."""
        wrong = self._ask_child({"format": format, "path": str(path.absolute()), "wanted": wanted})
        return "the file is damaged, so that its parser ends" if wrong == _ENDED else wrong

    def problems(self, pieces: Sequence[Piece]) -> list[str | None]:
        """What is wrong with each piece of a file; after a few that ended the parser the others are not tried."""
        found: list[str | None] = []
        for piece in pieces:
            found.append(self._ask_child(piece) if found.count(_ENDED) < MOST else None)
        return found

    def _ask_child(self, asked: object, data: bytes = b"") -> str | None:
        """What the child says."""
        if not sys.executable:  # Python inside of another program: there is nothing to start
            return None
        if self._child is None:
            # -P: a polars.py in the folder where somebody works is not the parser.
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", _PARSE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if not self._answer():  # it does not find the parser where we found it, so it can say nothing about files
                self.__exit__()
                return None
        answer = self._answer(json.dumps(asked).encode() + b"\n", data)
        if not answer:
            self.__exit__()
            return _ENDED
        wrong: str | None = json.loads(answer)
        return wrong

    def _answer(self, *said: bytes) -> bytes:
        """A line of the child after it was told something; nothing if it ended."""
        assert self._child is not None
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            for part in said:
                self._child.stdin.write(part)
            self._child.stdin.flush()
            return self._child.stdout.readline()
        except BrokenPipeError:
            return b""


_trial, _owner, _turn = Trial(), os.getpid(), threading.Lock()


@contextmanager
def _shared_trial(size: int) -> Iterator[Trial]:
    """The child of this process, for one caller at a time; `size` is what it is to parse, in bytes."""
    global _trial, _owner
    with _turn:
        if _owner != os.getpid():  # a fork: the child belongs to another process
            _trial, _owner = Trial(), os.getpid()
        kept = False
        try:
            yield _trial
            kept = size <= LARGE
        finally:
            if not kept:  # nor after an exception: an answer that nobody has read would be taken for the next one
                _trial.__exit__()


@atexit.register
def _end() -> None:
    if _owner == os.getpid():
        _trial.__exit__()


def parsing_problem(data: bytes) -> str | None:
    """What is wrong with a Parquet file, in words; None if it can be parsed."""
    with _shared_trial(len(data)) as trial:
        return trial.problem(data)


def opening_problem(format: str, path: Path, wanted: Mapping[str, object]) -> str | None:
    """What is wrong with a file of another format, in words; None if it can be opened as `wanted`."""
    with _shared_trial(path.stat().st_size) as trial:
        return trial.problem_of(format, path, wanted)


def parsing_problems(pieces: Sequence[Piece]) -> list[str | None]:
    """What is wrong with each of some files, or with the part of it that is asked for; None where nothing is."""
    with _shared_trial(sum(os.path.getsize(path) for path, *_ in pieces if os.path.exists(path))) as trial:
        return trial.problems(pieces)
