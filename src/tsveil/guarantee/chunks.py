"""What a verifier reads: published records in chunks, one chunk of a table in memory or one for each published file.

A chunk has its numbers as a matrix of bits and all other cells in columns. `Chunk.of` makes it of a table in memory; a
file is described by the path of the function that reads it. Nothing else in this package knows where published records come from.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tsveil.core.registry import object_at
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.dataset import Block, Dataset
from tsveil.data.intervals import HIGH, LEVEL, LOW, WORD, IntervalTable
from tsveil.data.store import Memory, Store
from tsveil.engine.base import Engine, Result, Work
from tsveil.engine.here import Here

#: cells (records by columns) that a verifier brings together at most, when a promise cannot be checked chunk by chunk
TOGETHER = 2**26


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a published table."""

    #: the blocks of values; for envelopes their time points are one block
    blocks: tuple[Block, ...]
    #: the columns beside them
    carried: tuple[str, ...] = ()
    #: bounds are published instead of values, with or without patterns
    intervals: bool = False
    patterns: bool = False
    #: an empty cell among the values is a value of its own
    gaps: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all values, or of all time points."""
        return tuple(column for block in self.blocks for column in block.columns)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of published numbers."""
        return bounds(self.columns) if self.intervals else self.columns


def bounds(labels: Sequence[str]) -> tuple[str, ...]:
    """The columns of an envelope.

    Examples
    --------
    >>> bounds(["mon", "tue"])
    ('lo_mon', 'lo_tue', 'hi_mon', 'hi_tue')
    """
    return (*(LOW + label for label in labels), *(HIGH + label for label in labels))


class MissingCells(NamedTuple):
    """Cells that are missing or infinite: how many, and where the first one is."""

    cells: int
    row: int
    column: str


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some published records, row by row; make one with `of`."""

    n: int
    #: columns of numbers, and their bits (records by columns)
    numbers: tuple[str, ...]
    bits: Indices
    #: all other columns
    cells: Mapping[str, pl.Series]
    #: the records as a table of values or of envelopes
    values: Array | None = None
    table: IntervalTable | None = None
    lost: MissingCells | None = None
    _codes: dict[str, Indices] = field(default_factory=dict)

    @classmethod
    def of(cls, published: Dataset | IntervalTable) -> Chunk:
        """A whole table in memory.

        Examples
        --------
        >>> import tsveil as tv
        >>> Chunk.of(tv.Dataset.from_arrays({"load": [[0.0, 1.0], [-0.0, 2.0]]})).codes(("0",)).tolist()
        [[0], [-9223372036854775808]]
        """
        if isinstance(published, Dataset):
            return of_values(published.columns, published.values, published.others, gaps=published.masked)
        return of_table(published)

    def codes(self, columns: Sequence[str]) -> Indices:
        """Numbers of 64 bits for the cells of some columns: equal where cells of this chunk are written alike."""
        if all(name in self.places for name in columns):
            return self.bits[:, self._span(columns)]
        for name in columns:
            if name not in self.places and name not in self._codes:
                self._codes[name] = cell_codes(one_zero(self.cells[name]))
        return np.column_stack([self._codes[n] if n in self._codes else self.bits[:, self.places[n]] for n in columns])

    def words(self, columns: Sequence[str], rows: Indices, secret: bytes) -> AnyArray:
        """Numbers of 64 bits that stand for the cells of some rows and columns in every chunk: a number by its bits, a text by two of a hash."""
        known = [name for name in columns if name in self.places]
        found = [self.bits[:, self._span(known)][rows].view(np.uint64)] if known else []
        found += [self.marks(name, rows, secret) for name in columns if name not in self.places]
        return np.ascontiguousarray(found[0] if len(found) == 1 else np.hstack(found))

    def marks(self, name: str, rows: Indices, secret: bytes) -> AnyArray:
        """Two numbers of 64 bits for the text of each cell in some rows of a column; all missing cells are alike."""
        codes = self.codes((name,))[rows, 0]
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        if name in self.places:
            texts = [str(code) for code in codes[first].tolist()]
        else:
            texts = one_zero(self.cells[name]).gather(rows[first]).cast(pl.String).to_list()
        found = b"".join(bytes(16) if text is None else mark_of(text.encode(), secret) for text in texts)
        return np.frombuffer(found, dtype=np.uint64).reshape(-1, 2)[place.ravel()]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where the columns of numbers are."""
        return {name: at for at, name in enumerate(self.numbers)}

    def _span(self, columns: Sequence[str]) -> slice | list[int]:
        """The places of columns of numbers, as a slice if they stand side by side: that copies nothing."""
        places = [self.places[name] for name in columns]
        run = range(places[0], places[0] + len(places))
        return slice(run.start, run.stop) if places == list(run) else places


def mark_of(content: bytes | memoryview, secret: bytes) -> bytes:
    """16 bytes that stand for some others: equal for equal ones, and for no others that will ever be met."""
    return hashlib.blake2b(content, digest_size=16, key=secret).digest()


def of_values(columns: Sequence[str], values: Array, others: pl.DataFrame, *, gaps: bool = False) -> Chunk:
    """Records that publish values; with `gaps` an empty cell is a value of its own."""
    lost = None
    wrong = ~np.isfinite(values)
    if gaps:
        values = np.where(np.isnan(values), np.nan, values)  # any bits of NaN are the same empty cell
        wrong = np.isinf(values)
    if wrong.any():
        row, at = np.argwhere(wrong)[0].tolist()
        lost = MissingCells(int(wrong.sum()), row, columns[at])
    cells = {column.name: column for column in others}
    return Chunk(len(values), tuple(columns), values.view(np.int64), cells, values=values, lost=lost)


def of_table(table: IntervalTable) -> Chunk:
    """Records that publish envelopes: cells count as they are written, if that is known."""
    cells = {column.name: column for column in table.others}
    if table.words is not None and table.levels is not None:
        shown = table.written
        cells[WORD] = pl.Series(WORD, table.words, dtype=pl.String) if shown is None else shown[WORD]
        cells[LEVEL] = pl.Series(LEVEL, table.levels) if shown is None else shown[LEVEL]
    names = bounds(table.labels)
    if table.written is None or all(table.written[name].dtype == pl.Float64 for name in names):
        bits = np.hstack([table.lo, table.hi]).view(np.int64)
        return Chunk(table.n, names, bits, cells, table=table)
    written = {name: table.written[name] for name in names}
    plain = [name for name in names if _is_plain(written[name])]
    columns = [cell_codes(written.pop(name)) for name in plain]
    texts = {name: column.cast(pl.String) for name, column in written.items()}
    bits = np.column_stack(columns) if columns else np.empty((table.n, 0), dtype=np.int64)
    return Chunk(table.n, tuple(plain), bits, cells | texts, table=table)


def opened_chunk(place: Any) -> Chunk:
    """The chunk that a task speaks of: itself in memory, or what the reader reads that the description of a file names."""
    found: Chunk = place if isinstance(place, Chunk) else object_at(place["reader"])(place)
    return found


# -- cells ------------------------------------------------------------------------------------------------------------


def cell_codes(column: pl.Series) -> Indices:
    """A number for every different cell as it is written: numbers by their bits, all else by equality."""
    if _is_plain(column):
        values: Indices = np.ascontiguousarray(column.to_numpy()).view(np.int64)
        return values
    codes = column.cast(pl.String).cast(pl.Categorical).to_physical().cast(pl.Int64)
    return (codes.fill_null(-1) if codes.null_count() else codes).to_numpy()


def _is_plain(column: pl.Series) -> bool:
    return column.dtype in (pl.Int64, pl.Float64) and not column.null_count()


def one_zero(column: pl.Series) -> pl.Series:
    """A carried column with one zero and one NaN: they mean the same, however they are stored."""
    if not column.dtype.is_float():
        return column
    return column.set((column == 0.0).fill_null(False), 0.0).fill_nan(math.nan)


# -- all chunks -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Chunks:
    """A published table in chunks, the engine that looks at them, and a store for what lies between."""

    schema: Schema
    #: each chunk itself, or the description of its file
    places: Sequence[Any]
    engine: Engine = field(default_factory=Here)
    store: Store = field(default_factory=Memory)
    #: how many records there should be, if that is known
    records: int | None = None
    #: the person of each published row, if they are declared; a published file cannot show them
    persons: Indices | None = None
    #: the original labels of each published row, for promises that speak of these (`Promise.reads_originals`), if they are known
    originals: pl.DataFrame | None = None

    @classmethod
    def of(cls, published: Dataset | IntervalTable) -> Chunks:
        """A whole table in memory: one chunk."""
        persons = published.persons if isinstance(published, Dataset) and published.person else None
        return cls(schema_of(published), [Chunk.of(published)], persons=persons)

    def map(self, step: Work, text: str, **more: Any) -> list[Result]:
        """Call a step for every chunk."""
        tasks = [{"store": self.store.handle, "at": at, "chunk": place, **more} for at, place in enumerate(self.places)]
        return self.engine.map(step, tasks, text)

    def problem(self, sizes: Sequence[int], lost: Sequence[MissingCells | None]) -> str:
        """Why no promise can hold, by the number of records of each chunk and the cells that it lacks; empty if nothing is wrong."""
        n = sum(sizes)
        if self.records is not None and n != self.records:
            return f"{self.records} records were to be written, {n} are in the files"
        first = next(((at, one) for at, one in enumerate(lost) if one), None)
        if first is None:
            return ""
        count = sum(one.cells for one in lost if one)
        at, one = first
        return (
            f"{count} missing or infinite value{'s' * (count > 1)} where there must be none; the first is in row "
            f"{sum(sizes[:at]) + one.row + 1}, column {one.column!r}"
        )

    def whole(self, chunks: Sequence[Chunk]) -> Dataset | IntervalTable:
        """All chunks as one table."""
        if self.schema.intervals:
            tables = [chunk.table for chunk in chunks if chunk.table is not None]
            return IntervalTable.from_frame(
                pl.concat([t.to_frame() if t.written is None else t.written.hstack(t.others) for t in tables])
            )
        values = [chunk.values for chunk in chunks if chunk.values is not None]
        others = [pl.DataFrame([chunk.cells[name] for name in self.schema.carried]) for chunk in chunks]
        return Dataset(
            np.concatenate(values),
            self.schema.blocks,
            pl.concat(others),
            confidential=self.schema.carried,
            masked=self.schema.gaps,
        )


def schema_of(published: Dataset | IntervalTable) -> Schema:
    """The columns of a table in memory."""
    if isinstance(published, Dataset):
        return Schema(published.blocks, tuple(published.others.columns), gaps=published.masked)
    points = Block("", published.labels, labels=published.labels)
    return Schema((points,), tuple(published.others.columns), intervals=True, patterns=published.words is not None)
