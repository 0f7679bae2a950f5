"""Protected records beside their originals, as they lie in a store, and what a published file holds of them.

Published rows are shuffled, and values carry fresh random identifiers: the position of a record in a file identifies it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import InputError
from tsveil.core.randomness import secret_name
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data.dataset import Block, Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.data.pieces import Contents, Piece, Unit, contents, join_pieces, piece, pieces
from tsveil.data.source import Source
from tsveil.data.store import Memory, Store
from tsveil.transform.pattern import as_symbols, as_words


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Protected records beside their originals."""

    original: Dataset
    #: where the protected records lie (`tsveil.data.pieces`)
    store: Store

    # -- what was made ------------------------------------------------------------------------------------------------

    @cached_property
    def contents(self) -> Contents:
        """What lies in the store."""
        return contents(self.store)

    @property
    def envelopes(self) -> bool:
        """Whether envelopes are published instead of values."""
        return self.contents.envelopes

    @cached_property
    def _whole(self) -> Piece:
        """All records in the order of the original."""
        whole = join_pieces(list(pieces(self.store)))
        return replace(whole.take(np.argsort(whole.records)), records=np.arange(len(whole.records)))

    @property
    def made(self) -> Array:
        """What the method made of each record, in the order of the original."""
        return self._whole.made

    @property
    def data(self) -> Dataset:
        """The protected values, row by row aligned with the original; those of suppressed records are missing."""
        if self.envelopes:
            raise InputError("envelopes are published, not values\n  options: release.table")
        source = self.contents.source
        changed = source.labels != self.original.labels  # cells may be empty that were not
        return replace(
            self.original,
            values=self._whole.made,
            blocks=tuple(role.block() for role in source.blocks) if changed else self.original.blocks,
            missing=self.contents.suppressed > 0 or self.original.masked,
        )

    @property
    def groups(self) -> dict[str, Indices]:
        """Block -> group of each record (-1: suppressed), or of each value where columns were grouped one by one, (records, columns)."""
        found: dict[str, Indices] = {}
        units = self.contents.units
        for block in self.original.blocks:
            span = self.original.span(block.name)
            places = set(range(span.start, span.stop))
            own = [at for at, unit in enumerate(units) if places & set(unit.columns) and sum(unit.groups)]
            if own:
                labels = self._whole.groups
                found[block.name] = labels[:, own[0]].copy() if len(own) == 1 else labels[:, own]
        return found

    # -- envelopes ----------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Indices:
        """The original row of each published record; the others are suppressed (values: not a number)."""
        if self.envelopes:
            return np.flatnonzero(self._whole.made[:, -1] > 0)
        if not self.contents.suppressed:
            return np.arange(self.original.n)
        gaps = np.isnan(self._whole.made)
        return np.flatnonzero(~(gaps.all(axis=1) if self.contents.source.masked else gaps.any(axis=1)))

    @property
    def suppressed(self) -> Indices:
        """The original rows that are not published."""
        return np.setdiff1d(np.arange(self.original.n), self.rows)

    @property
    def own(self) -> Indices:
        """The row of `table` that belongs to each original record; -1: suppressed."""
        own = np.full(self.original.n, -1, dtype=np.int64)
        own[self.rows] = np.arange(self.n)
        return own

    @property
    def n(self) -> int:
        """The number of published records."""
        return len(self.rows)

    @property
    def block(self) -> Block:
        """The series of which envelopes are published."""
        return self.original.blocks[0]

    @cached_property
    def table(self) -> IntervalTable:
        """The envelopes, in the order of the original."""
        whole, rows = self._whole, self.rows
        return envelopes_of(self.original.columns, whole.made[rows], self._confidential_columns(whole.others, rows))

    def _confidential_columns(self, others: pl.DataFrame, rows: Indices) -> pl.DataFrame:
        names = list(self.contents.source.confidential)
        return others.select(names)[rows.tolist()] if names else pl.DataFrame()

    @property
    def lo(self) -> Array:
        """The lower bounds, published records by time points."""
        return self.table.lo

    @property
    def hi(self) -> Array:
        """The upper bounds."""
        return self.table.hi

    @property
    def words(self) -> tuple[str, ...] | None:
        """The pattern of each published record."""
        return self.table.words

    @property
    def levels(self) -> Indices | None:
        """The level of each pattern."""
        return self.table.levels

    @property
    def confidential(self) -> pl.DataFrame:
        """The carried columns of the published records."""
        return self._confidential_columns(self._whole.others, self.rows)

    @property
    def labels(self) -> list[tuple[Unit, Indices]]:
        """Each unit of columns that was protected by itself, and the group of each record in it."""
        return list(zip(self.contents.units, self._whole.groups.T, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class PublishedRecords(Records):
    """The records of one published file, in its order."""

    piece: Piece

    @property
    def _whole(self) -> Piece:  # nothing to gather, nothing to keep
        return self.piece

    @property
    def numbers(self) -> Indices:
        """The number of each record in the data set."""
        return self.piece.records

    @property
    def published(self) -> Dataset | IntervalTable:
        """What the file holds: values with fresh identifiers, or envelopes."""
        if self.envelopes:
            return self.table
        kept, made, names = self.contents, self.made, self.store.get("names")
        source = kept.source
        if kept.suppressed:
            made, names = made[self.rows], names[self.rows]
        ids = pl.Series(source.id or free_name(_names_in_use(source)), [secret_name(int(one)) for one in names])
        return replace(
            source.dataset(made),
            others=pl.DataFrame([ids, *self.confidential.get_columns()]),
            id=ids.name,
            confidential=source.confidential,
            integers=frozenset(kept.whole),
        )


def _with_types_for_several_files(kept: Contents) -> Source:
    """The source with types of categories that all files can have: texts, where a type would list the labels of one file or has no place for some."""
    blocks = [
        msgspec.structs.replace(block, categories=tuple(
            categories if categories.fixed_type and name in kept.whole else msgspec.structs.replace(categories, type="String")
            for name, categories in zip(block.columns, block.categories, strict=False)
        ))
        if block.categories
        else block
        for block in kept.source.blocks
    ]  # fmt: skip
    return msgspec.structs.replace(kept.source, blocks=tuple(blocks))


def published_layout(store: Store) -> Dataset | IntervalTable:
    """A table with the columns of the published files, and a record of zeros."""
    return _published_records(store, 0, layout=True).published


def in_published_order(store: Store, at: int) -> PublishedRecords:
    """The records of one published file in its order, in memory."""
    return _published_records(store, at)


def some_in_published_order(store: Store, wanted: Mask) -> PublishedRecords:
    """Some published records of all files in their order, in memory; `wanted` has a mark for each published record."""
    found, names, start = [], [], 0
    for at in range(contents(store).files):
        one = in_published_order(store, at)
        stop = start + one.n
        rows = one.rows[wanted[start:stop]]
        found.append(one.piece.take(rows))
        names.append(one.store.get("names")[rows])
        start = stop
    return _records_of(contents(store), join_pieces(found), np.concatenate(names))


def _published_records(store: Store, at: int, *, layout: bool = False) -> PublishedRecords:
    kept = contents(store)
    if layout:
        others = store.get_frame("others-0", 0, 1).select(kept.source.others)
        zeros = np.zeros((1, len(kept.source.columns)))
        one = Piece(
            np.zeros(1, np.int64), zeros, np.zeros((1, kept.width)), np.zeros((1, len(kept.units)), np.int64), others
        )
    else:
        one = piece(store, at)
    start = kept.rows(at).start
    return _records_of(kept, one, store.get("names")[start : start + len(one.records)])


def _records_of(kept: Contents, one: Piece, names: AnyArray) -> PublishedRecords:
    """The records of a piece, with the numbers that their identifiers are made of."""
    n = len(one.records)
    source = _with_types_for_several_files(kept) if kept.files > 1 else kept.source
    source = msgspec.structs.replace(source, files=(), rows=(n,))
    own = Memory()
    own.put_plain("contents", msgspec.structs.replace(kept, source=source, chunk_ends=(n,), file_rows=max(n, 1)))
    own.put("names", names)
    return PublishedRecords(source.dataset(one.original, one.others), own, one)


def envelopes_of(labels: tuple[str, ...], made: Array, others: pl.DataFrame) -> IntervalTable:
    """The table of published envelopes, from bounds, letters, level and the mark of publication of each record."""
    points = len(labels)
    letters = made[:, 2 * points : -2].astype(np.uint16)
    return IntervalTable(
        labels,
        made[:, :points],
        made[:, points : 2 * points],
        tuple(as_words(letters)) if letters.shape[1] else None,
        made[:, -2].astype(np.int64) if letters.shape[1] else None,
        others,
    )


def made_of(table: IntervalTable, width: int) -> Array:
    """The columns of `envelopes_of` again, from a table in which all records are published."""
    points = len(table.labels)
    made = np.zeros((table.n, width))
    made[:, :points], made[:, points : 2 * points], made[:, -1] = table.lo, table.hi, 1.0
    if table.words is not None and table.levels is not None:
        made[:, 2 * points : -2] = as_symbols(table.words)
        made[:, -2] = table.levels
    return made


def free_name(taken: Collection[str | None]) -> str:
    """A name for the identifier column of data that had none."""
    return next(name for name in ("id", "record", "record_id", "released_id") if name not in taken)


def _names_in_use(source: Source) -> set[str | None]:
    layout = source.layout
    return {*source.columns, *source.confidential, layout.time, layout.variable, *layout.values}
