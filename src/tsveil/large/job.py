"""What every task of a run must know, and where its files are.

A job lies in the spool, a private folder beside the release that all workers can reach, and is removed in the end. Tasks carry the job's
path and a number; whatever is larger is in files there.
"""

from __future__ import annotations

import os
import platform
import secrets
import threading
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np

from tsveil._types import AnyArray
from tsveil.data.write import told_by_the_disk
from tsveil.errors import EngineError
from tsveil.large.source import Source
from tsveil.protect.base import Method
from tsveil.protect.intervals import IntervalMethod
from tsveil.registry import method

#: numpy parses the head of a file as a Python literal, in which CPython 3.11 fails now and then when two threads do so at once
READING = threading.Lock()


class Unit(msgspec.Struct, frozen=True):
    """What is protected by itself: a block, a column, some time points, or all."""

    name: str
    #: places of its columns among all columns
    columns: tuple[int, ...]
    #: about how many records a part should have
    size: int
    #: (n,l,k): how many small cells a series may have in all pieces of time; which of them this is, and how many there are
    allowance: int = 0
    piece: int = 0
    pieces: int = 1


class Job(msgspec.Struct, frozen=True):
    """A run, in plain values."""

    source: Source
    method: str
    settings: dict[str, Any]
    units: tuple[Unit, ...]
    #: records that are read at a time, and in a published file
    chunk: int
    file_rows: int
    #: about how many records are sampled to find the cuts
    sample: int
    #: how many original ones an intruder knows, if the caller has said so; 0: all
    people: int | None = None
    #: figures of all columns, from the first pass: lowest, highest, mean, sum of squared differences to it
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    mean: tuple[float, ...] = ()
    squares: tuple[float, ...] = ()
    #: decimals of each column, if published values are rounded to them
    decimals: tuple[int | None, ...] | None = None
    #: columns that the method makes of a record: those of the input, or bounds, letters, level and a mark for intervals
    out_width: int = 0

    @property
    def n(self) -> int:
        """The number of records."""
        return self.source.n

    @property
    def intervals(self) -> bool:
        """Whether envelopes are published instead of values."""
        return self.out_width != len(self.source.columns)

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.n // self.chunk)

    @property
    def files(self) -> int:
        """The number of published files."""
        return -(-self.n // self.file_rows)

    def chunk_range(self, at: int) -> tuple[int, int]:
        """The records of a chunk."""
        return at * self.chunk, min(self.n, (at + 1) * self.chunk)

    def file_range(self, at: int) -> tuple[int, int]:
        """The published rows of a file."""
        return at * self.file_rows, min(self.n, (at + 1) * self.file_rows)

    def chosen(self) -> Method | IntervalMethod:
        """The method."""
        return method(self.method, self.settings)

    def save(self, spool: Path) -> None:
        """Write it to the spool."""
        put(spool / "job.msgpack", lambda path: path.write_bytes(msgspec.msgpack.encode(self)))
        _load.cache_clear()


def load(spool: str | Path) -> Job:
    """The job of a spool; read once per process and version."""
    path = Path(spool) / "job.msgpack"
    try:
        return _load(str(path), path.stat().st_mtime_ns)
    except OSError as error:
        raise EngineError(
            f"the worker on {platform.node()} cannot read {path.parent}: {error.strerror}\n"
            "  options: an output folder that all workers see under the same path, and may write to"
        ) from error


@lru_cache(maxsize=4)
def _load(path: str, _: int) -> Job:
    return msgspec.msgpack.decode(Path(path).read_bytes(), type=Job)


def put(path: Path, write: Any) -> None:
    """Write a file so that it is complete or absent, also when two workers write it at once."""
    partial = path.with_name(f".{secrets.token_hex(6)}.{path.name}")
    try:
        with told_by_the_disk():
            write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def put_array(path: Path, array: AnyArray) -> None:
    """Write an array."""

    def write(partial: Path) -> None:
        with partial.open("wb") as file:
            # To a file that it knows as one, numpy writes in a way that says nothing of a full disk.
            np.save(SimpleNamespace(write=file.write), array, allow_pickle=False)

    put(path, write)


def get_array(path: Path, *, whole: bool = False) -> Any:
    """An array, mapped from its file unless the whole is asked for."""
    with READING:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    return np.array(found) if whole else found
