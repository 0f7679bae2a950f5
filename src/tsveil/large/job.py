"""What every task of a run must know, and where its files are.

A job lies in the store of its run, which is removed in the end. Tasks carry the store's handle and a number; whatever is larger is in the
store.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tsveil.data.store import Store
from tsveil.large.source import Source
from tsveil.protect.base import Method
from tsveil.protect.intervals import IntervalMethod
from tsveil.registry import method


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
    #: the folder that becomes the release
    place: str = ""

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

    def published_file(self, at: int) -> Path:
        """The path of a published file."""
        return Path(self.place) / "published" / "data" / f"part-{at:05d}.parquet"

    def save(self, store: Store) -> None:
        """Keep it for the tasks."""
        store.put_plain("job", self)


def load(store: Store) -> Job:
    """The job of a store."""
    return store.get_plain("job", Job)
