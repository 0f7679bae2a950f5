"""Two files in pieces: the original records, which an intruder may know, and the released ones.

In memory each file is one piece; of a large release every published file is a piece. Values lie in a store,

    original-{at}   columns by records of a piece of the original
    released-{at}   the same of the release
    own             the released row of each original record; -1: not released. Left out where row i of both files is the same record
    records         the number of each row in the input, where rows are published in another order
    persons         the person of each record of the input, where persons may have several
    owners          and of each released row (-1: not known), with `owners.records`, how many rows each person has

and nothing that is computed from them depends on where one piece ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import msgspec
import numpy as np

from tsveil.attack.targets import chosen_rows
from tsveil.core.types import Array, Indices
from tsveil.data.categories import Categories
from tsveil.data.dataset import Block
from tsveil.data.store import Store, open_store
from tsveil.data.times import seconds_of
from tsveil.engine.base import Task

Side = Literal["original", "released"]


def measurable(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The blocks that measures and attacks of numbers look at: the time series if there are any, otherwise the attributes.

    Codes of labels are no quantities: blocks of labels are left out here, and nowhere else. They have measures and attacks of their own, which
    look at whole records (`attack.labels`).

    Examples
    --------
    >>> import numpy as np
    >>> from tsveil.data.categories import Categories
    >>> keys = Block("keys", ("x",), categories=(Categories("nominal", ("a", "b")),))
    >>> [block.name for block in measurable([Block("person", ("age",)), keys])], measurable([keys])
    (['person'], ())
    """
    numbers = [block for block in blocks if block.categories is None]
    return tuple(block for block in numbers if block.is_series) or tuple(numbers)


class Columns(msgspec.Struct, frozen=True):
    """A block of columns, in plain values."""

    name: str
    columns: tuple[str, ...]
    #: None for attributes
    times: tuple[float, ...] | None = None
    #: the times of a series in seconds from a Monday's midnight, where its labels are time stamps
    seconds: tuple[float, ...] | None = None
    #: the labels of each column, or those that all points of a series have; None: numbers
    categories: tuple[Categories, ...] | None = None

    @classmethod
    def of(cls, block: Block) -> Columns:
        """Those of a block of numbers."""
        if block.categories is not None:
            raise TypeError(f"block {block.name!r} holds labels, which no measure and no attack may take for numbers")
        return cls.of_any(block)

    @classmethod
    def of_any(cls, block: Block) -> Columns:
        """Those of a block of numbers or labels."""
        if block.categories is not None:
            times = None if block.times is None else tuple(block.times.tolist())
            own = block.categories if times is None else block.categories[:1]
            return cls(block.name, block.columns, times, categories=own)
        if block.times is None:
            return cls(block.name, block.columns)
        seconds = seconds_of(block.labels, block.form)
        in_seconds = None if seconds is None else tuple(seconds.tolist())
        return cls(block.name, block.columns, tuple(block.times.tolist()), in_seconds)

    @property
    def is_series(self) -> bool:
        """Whether it is a time series of numbers."""
        return self.times is not None and self.categories is None

    def __len__(self) -> int:
        return len(self.columns)


class Pieces(msgspec.Struct, frozen=True):
    """The blocks of both files, and the number of records in each piece.

    Examples
    --------
    >>> import tsveil as tv
    >>> from tsveil.data.store import Memory
    >>> data = tv.example("food-prices")
    >>> store = Memory()
    >>> files = Pieces.of(store, data.blocks, data.values, data.values[:3], np.array([2, 0, 1, -1]))
    >>> files.n, files.m, files.table(store, "released", 0).shape, files.own(store, np.array([3]))
    (4, 3, (3, 9), array([-1]))
    """

    blocks: tuple[Columns, ...]
    original: tuple[int, ...]
    released: tuple[int, ...]
    #: whether row i of both files is the same record
    aligned: bool = True
    #: whether `records` says which record of the input each row is
    numbered: bool = False
    #: how many persons have released records; 0: each record is a person of its own
    persons: int = 0
    #: where records have gaps (`attack.gaps`): the number of original values, and how many of these no value was published for; 0: no gaps
    values: int = 0
    lacking: int = 0

    @classmethod
    def of(
        cls, store: Store, blocks: Sequence[Block], original: Array, released: Array, own: Indices | None = None, persons: Indices | None = None
    ) -> Pieces:  # fmt: skip
        """Two tables of the columns of some blocks, as one piece each; `persons` says whose the original records are."""
        store.put("original-0", original.T)
        store.put("released-0", released.T)
        aligned = own is None or (len(original) == len(released) and np.array_equal(own, np.arange(len(own))))
        if own is not None and not aligned:
            store.put("own", own)
        files = cls(tuple(map(Columns.of, blocks)), (len(original),), (len(released),), aligned=aligned)
        if persons is None:
            return files
        store.put("persons", persons)
        return files.of_persons(store)

    def of_persons(self, store: Store) -> Pieces:
        """The same where persons may have several records; `persons` in the store says whose each record of the input is."""
        own = self.own(store, np.arange(self.n))
        released = np.flatnonzero(own >= 0)
        owners = np.full(self.m, -1)
        owners[own[released]] = np.asarray(store.get("persons"))[self.numbers(store)[released]]
        records = np.bincount(owners[owners >= 0])
        store.put("owners", owners)
        store.put("owners.records", records)
        return msgspec.structs.replace(self, persons=int((records > 0).sum()))

    # -- the schema ---------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of original records."""
        return sum(self.original)

    @property
    def people(self) -> int:
        """The number of persons that can be found: those of the original records that were released, or each record by itself."""
        return self.persons or self.n

    def who(self, store: Store) -> Indices:
        """The numbers of those persons, or of the records."""
        return np.flatnonzero(store.get("owners.records")) if self.persons else np.arange(self.n)

    @property
    def m(self) -> int:
        """The number of released records."""
        return sum(self.released)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all blocks."""
        return tuple(column for block in self.blocks for column in block.columns)

    @property
    def series(self) -> tuple[Columns, ...]:
        """The blocks that are time series."""
        return tuple(block for block in self.blocks if block.is_series)

    def span(self, name: str) -> slice:
        """The places of a block's columns among all columns."""
        ends = list(accumulate(map(len, self.blocks), initial=0))
        at = next(at for at, block in enumerate(self.blocks) if block.name == name)
        return slice(ends[at], ends[at + 1])

    def range(self, side: Side, at: int) -> tuple[int, int]:
        """The first row of a piece, and one after the last."""
        sizes = self.original if side == "original" else self.released
        start = sum(sizes[:at])
        return start, start + sizes[at]

    # -- values -------------------------------------------------------------------------------------------------------

    def table(self, store: Store, side: Side, at: int, columns: slice | Sequence[int] = slice(None)) -> Array:
        """Records by columns of one piece."""
        return np.ascontiguousarray(store.get(f"{side}-{at}")[columns].T)

    def column(self, store: Store, side: Side, column: int) -> Array:
        """A column of all records of a file."""
        pieces = range(len(self.original if side == "original" else self.released))
        if len(pieces) == 1:
            return np.ascontiguousarray(store.get(f"{side}-0")[column])
        return np.concatenate([store.get(f"{side}-{at}")[column] for at in pieces])

    def rows(self, store: Store, side: Side, rows: Indices, columns: slice | Sequence[int] = slice(None)) -> Array:
        """Some rows of a file, in the order that is asked for."""
        sizes = self.original if side == "original" else self.released
        found = np.empty((len(rows), len(store.get(f"{side}-0")[columns])))
        for at in range(len(sizes)):
            start, stop = self.range(side, at)
            inside = np.flatnonzero((rows >= start) & (rows < stop))
            if len(inside):
                found[inside] = store.get(f"{side}-{at}")[:, rows[inside] - start][columns].T
        return found

    def own(self, store: Store, rows: Indices) -> Indices:
        """The released rows of some original records; -1: not released."""
        return rows if self.aligned else np.asarray(store.get("own")[rows])

    def owners(self, store: Store) -> Indices:
        """The person of each released row, -1 if that is not known; its own number where each record is a person of its own."""
        return np.asarray(store.get("owners")) if self.persons else np.arange(self.m)

    def pair(self, store: Store, at: int) -> tuple[Array, Array, Indices]:
        """The records of a piece of the original that were released, before and after, and their places in the piece."""
        x = self.table(store, "original", at)
        if self.aligned:
            return x, self.table(store, "released", at), np.arange(len(x))
        own = self.own(store, np.arange(*self.range("original", at)))
        both = np.flatnonzero(own >= 0)
        return x[both], self.rows(store, "released", own[both]), both

    def numbers(self, store: Store, start: int = 0, stop: int | None = None) -> Indices:
        """The numbers that rows have in the input."""
        stop = self.n if stop is None else stop
        return np.asarray(store.get("records")[start:stop]) if self.numbered else np.arange(start, stop)


@dataclass(frozen=True, eq=False)
class Targets:
    """The records that one task attacks."""

    store: Store
    files: Pieces
    #: their rows in the original, and those of their own released records (-1: not released)
    rows: Indices
    own: Indices
    #: the person of each, as `Pieces.owners` has them
    mine: Indices

    @classmethod
    def of(cls, task: Task) -> Targets:
        """Those of the original pieces first..last that are in the sample."""
        store, files = opened_files(task)
        start, stop = files.range("original", int(task["first"]))[0], files.range("original", int(task["last"]) - 1)[1]
        return cls.among(task, store, files, start, stop)

    @classmethod
    def among(cls, task: Task, store: Store, files: Pieces, start: int, stop: int) -> Targets:
        """Those of some rows that are in the sample; of persons with several records those that were released."""
        rows = np.arange(start, stop)
        own = files.own(store, rows)
        if files.persons:
            rows, own = rows[own >= 0], own[own >= 0]
        mine = files.owners(store)[own] if files.persons else own
        if task["border"] is not None:
            chosen = chosen_rows(int(task["border"]), mine if files.persons else files.numbers(store, start, stop))
            rows, own, mine = rows[chosen], own[chosen], mine[chosen]
        return cls(store, files, rows, own, mine)

    def __len__(self) -> int:
        return len(self.rows)

    def subset(self, chosen: Any) -> Targets:
        """Some of them."""
        return Targets(self.store, self.files, self.rows[chosen], self.own[chosen], self.mine[chosen])

    def records(self) -> Indices | int:
        """How many targets the person of each has: all of them are attacked, or none."""
        return np.asarray(self.store.get("owners.records"))[self.mine] if self.files.persons else 1

    def values(self, columns: slice | Sequence[int] = slice(None)) -> Array:
        """What the intruder knows of them."""
        files = self.files
        if len(files.original) == 1 and len(self.rows) == files.n:
            return files.table(self.store, "original", 0, columns)
        return files.rows(self.store, "original", self.rows, columns)


def opened_files(task: Task) -> tuple[Store, Pieces]:
    """The store of a task, and its files."""
    store = open_store(task["store"])
    return store, store.get_plain("files", Pieces)
