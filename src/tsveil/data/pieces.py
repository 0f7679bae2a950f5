"""The protected records in a store, file by file: what was read, what it became, and who is who.

Published rows are in a secret order. A **piece** is a run of published rows that become one file: their originals, what is published for
them, their groups, identifiers and carried columns. How many pieces a release has depends on its size alone, never on the chunks in which the
records were read: up to 2^24 values it is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import EngineError
from tsveil.core.types import Array, Indices
from tsveil.data.source import Source
from tsveil.data.store import Memory, Store

#: values that are published in one file; where there are more, values of each file, and the fewest records of one
ONE_FILE, FILE_VALUES, FILE_ROWS = 2**24, 2**22, 4096


class Unit(msgspec.Struct, frozen=True):
    """Columns that were protected together: their places, and the number of groups in each of its parts."""

    name: str
    columns: tuple[int, ...]
    groups: tuple[int, ...]


class Contents(msgspec.Struct, frozen=True):
    """What lies in a store after protecting, in plain values."""

    source: Source
    units: tuple[Unit, ...]
    #: where chunks of records end; the first begins at 0
    chunk_ends: tuple[int, ...]
    file_rows: int
    #: columns that the method made of a record
    width: int
    #: columns whose published values are all whole, as the original ones are; and columns of labels that publish labels of records only, no node above them
    whole: tuple[str, ...] = ()
    #: records of which no values are published
    suppressed: int = 0
    #: columns of labels in which cells of the original may be empty; those in which published ones may be have it in their categories
    empty_before: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of records."""
        return self.source.n

    @property
    def files(self) -> int:
        """The number of pieces."""
        return -(-self.n // self.file_rows)

    @property
    def envelopes(self) -> bool:
        """Whether envelopes are published instead of values."""
        return self.width != len(self.source.columns)

    def rows(self, at: int) -> range:
        """The published rows of a piece, suppressed records among them."""
        return range(at * self.file_rows, min(self.n, (at + 1) * self.file_rows))


@dataclass(frozen=True, eq=False)
class Piece:
    """A run of published rows."""

    #: the number of each record in the data set
    records: Indices
    #: records by columns
    original: Array
    #: records by the columns that the method made
    made: Array
    #: records by units; -1: in no group
    groups: Indices
    #: the identifier and the confidential columns; empty if there are none
    others: pl.DataFrame

    def take(self, rows: Indices) -> Piece:
        """Some of its rows."""
        others = self.others[rows.tolist()] if self.others.width else self.others
        return Piece(self.records[rows], self.original[rows], self.made[rows], self.groups[rows], others)


def join_pieces(pieces: Sequence[Piece]) -> Piece:
    """The rows of several pieces, one after the other."""
    return Piece(
        np.concatenate([one.records for one in pieces]),
        np.concatenate([one.original for one in pieces]),
        np.concatenate([one.made for one in pieces]),
        np.concatenate([one.groups for one in pieces]),
        pl.concat([one.others for one in pieces]),
    )


def file_rows(n: int, columns: int) -> int:
    """The records of a published file.

    Examples
    --------
    >>> file_rows(100_000, 168), file_rows(5_000_000, 24)
    (24966, 174762)
    """
    return n if n * columns <= ONE_FILE else max(FILE_ROWS, FILE_VALUES // columns)


def contents(store: Store) -> Contents:
    """What lies in a store."""
    return store.get_plain("contents", Contents)


def piece(store: Store, at: int) -> Piece:
    """One piece, gathered from all parts."""
    kept = contents(store)
    rows = kept.rows(at)
    count = len(rows)
    original, made = np.empty((count, len(kept.source.columns))), np.empty((count, kept.width))
    groups = np.full((count, len(kept.units)), -1, dtype=np.int64)
    filled = np.zeros((count, len(kept.units)), dtype=np.int64)
    for number, unit in enumerate(kept.units):
        columns = np.array(unit.columns)
        places = np.arange(kept.width) if kept.envelopes else columns
        first = 0
        for part, groups_of_part in enumerate(unit.groups):
            stem = f"part-{number}-{part}"
            low, high = np.searchsorted(store.get(f"{stem}.rows"), [rows.start, rows.stop]).tolist()
            if low < high:
                own = np.asarray(store.get(f"{stem}.rows")[low:high]) - rows.start
                original[np.ix_(own, columns)] = store.get(f"{stem}.known")[low:high]
                made[np.ix_(own, places)] = store.get(stem)[low:high]
                labels = np.asarray(store.get(f"{stem}.groups")[low:high])
                groups[own, number] = np.where(labels >= 0, labels + first, -1)
                filled[own, number] += 1
            first += groups_of_part
    if not (filled == 1).all():
        wrong = int((filled != 1).any(axis=1).sum())
        raise EngineError(f"{wrong} records of published file {at} were not protected exactly once")
    records = np.asarray(store.get("records")[rows.start : rows.stop])
    return Piece(records, original, made, groups, _others(store, kept, records))


def _others(store: Store, kept: Contents, records: Indices) -> pl.DataFrame:
    """The identifier and the confidential columns of some records, in their order."""
    if not kept.source.others:
        return pl.DataFrame()
    place = np.argsort(records)
    ordered, found = records[place], []
    for chunk, (start, stop) in enumerate(pairwise((0, *kept.chunk_ends))):
        low, high = np.searchsorted(ordered, [start, stop])
        if low < high:
            found.append(store.get_frame(f"others-{chunk}")[(ordered[low:high] - start).tolist()])
    back = np.empty_like(place)
    back[place] = np.arange(len(place))
    ordered_others: pl.DataFrame = pl.concat(found)[back.tolist()]
    return ordered_others.select(kept.source.others)


def pieces(store: Store) -> Iterator[Piece]:
    """All pieces, one after the other."""
    for at in range(contents(store).files):
        yield piece(store, at)


def make_store(
    source: Source,
    original: Array,
    made: Array,
    others: pl.DataFrame,
    order: Indices,
    *,
    units: tuple[Unit, ...] = (),
    groups: Indices | None = None,
    whole: tuple[str, ...] = (),
    suppressed: int = 0,
) -> Memory:
    """A store in memory for records that were protected before, given in the order of the data set; a part for each unit."""
    n, width = original.shape
    units = units or (Unit("all", tuple(range(width)), (0,)),)
    labels = np.full((n, len(units)), -1, dtype=np.int64) if groups is None else groups
    store = Memory()
    store.put("records", order)
    store.put_frame("others-0", others)
    for number, unit in enumerate(units):
        columns = list(unit.columns)
        store.put(f"part-{number}-0", made[order] if made.shape[1] != width else made[order][:, columns])
        store.put(f"part-{number}-0.known", original[order][:, columns])
        store.put(f"part-{number}-0.rows", np.arange(n))
        store.put(f"part-{number}-0.groups", labels[order, number])
    single = tuple(msgspec.structs.replace(unit, groups=(sum(unit.groups),)) for unit in units)
    store.put_plain("contents", Contents(source, single, (n,), max(n, 1), made.shape[1], whole, suppressed))
    return store
