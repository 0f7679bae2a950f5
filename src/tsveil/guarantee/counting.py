"""Classes of equal published cells: numbered in each chunk, merged over all chunks, and asked for their sizes and rows.

A promise names **tables**: columns whose equal rows form a class, or columns inside the classes of another table (patterns inside an envelope,
confidential values inside a group). Each chunk reduces its rows to distinct ones, exactly, and keeps a class number for each record. With
several chunks the distinct rows get keys: a single number its own 64 bits, anything else 128 bits of BLAKE2b under a random secret, so that two
different rows share a key with a chance below n^2 / 2^128 (10^-25 for ten million records), and nobody can prepare rows that do.
Then one table at a time is merged. What one process holds are a few numbers for each record.

Measures and attacks that ask the same of a table in memory use the functions at the end.

>>> import tsveil as tv
>>> published = tv.Dataset.from_arrays({"load": [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]})
>>> counts = Counts.of(Chunks.of(published), [Table("block 'load'", ("0", "1"))])
>>> sorted(counts.classes(0).size.tolist()), counts.members(0, counts.classes(0).size == 2)
([1, 2], ([1, 3], 2))
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data.intervals import LEVEL, WORD, IntervalTable
from tsveil.data.store import Store, open_store
from tsveil.engine.base import Result, Task
from tsveil.guarantee import faults
from tsveil.guarantee.chunks import Chunk, Chunks, MissingCells, bounds, cell_codes, mark_of, one_zero, opened_chunk

#: tables that one task merges
SPAN = 16
#: values that are mixed at a time, so that they stay in the cache
MIXED = 2**16
#: rows that are spelled out
ROWS = 5
#: an odd number without a pattern in its bits: 2^64 divided by the golden ratio
PLACE = np.uint64(0x9E3779B97F4A7C15)


class Table(msgspec.Struct, frozen=True):
    """Columns whose equal rows form a class; inside the classes of an earlier table, if one is given by its number."""

    name: str
    columns: tuple[str, ...]
    inside: int | None = None


class Plan(msgspec.Struct, frozen=True):
    """What the steps must know."""

    tables: tuple[Table, ...]
    secret: bytes
    #: the number of chunks
    chunks: int


class Classes(NamedTuple):
    """The classes of a table: how many records each has, and its first row."""

    size: Indices
    first: Indices


# -- one chunk --------------------------------------------------------------------------------------------------------


class RowClasses(NamedTuple):
    """The class of each row, and for each class its first row and the number of its rows."""

    of_row: AnyArray
    first: Indices
    size: Indices


def number_rows(rows: AnyArray) -> RowClasses:
    """Equal rows of numbers of 64 bits get equal numbers.

    Rows are sorted by a quick hash, and neighbours with equal hashes are compared; if any of them differ, all are sorted by their cells.

    Examples
    --------
    >>> found = number_rows(np.array([[7, 1], [7, 2], [7, 1]]))
    >>> bool(found.of_row[0] == found.of_row[2] != found.of_row[1]), sorted(found.size.tolist())
    (True, [1, 2])
    """
    n, width = rows.shape
    marks = rows[:, 0] if width == 1 else _hash_rows(rows)
    order = marks.argsort()
    begins = _begins(marks[order])
    if width > 1:
        again = np.flatnonzero(~begins)
        if not np.array_equal(rows[order[again]], rows[order[again - 1]]):
            order = np.lexsort(rows.T)
            begins = np.zeros(n, dtype=np.bool_)
            for column in rows.T:
                begins |= _begins(column[order])
    (starts,) = begins.nonzero()
    of_row = np.empty(n, dtype=np.int32)
    of_row[order] = begins.cumsum() - 1
    first = np.minimum.reduceat(order, starts) if n else order
    return RowClasses(of_row, first, np.concatenate((starts[1:], (n,)))[: len(starts)] - starts)


def _begins(ordered: AnyArray) -> Mask:
    """Where runs of equal values begin."""
    begins = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return begins


def _hash_rows(rows: AnyArray) -> AnyArray:
    """A hash of 64 bits for each row: a sum of its mixed cells times odd numbers, modulo 2^64."""
    n, width = rows.shape
    factors = _factors(width)
    found = np.empty(n, dtype=np.uint64)
    step = max(1, MIXED // width)
    for start in range(0, n, step):
        x = rows[start : start + step].view(np.uint64)
        x = x ^ (x >> np.uint64(32))
        x *= factors[-1]
        x ^= x >> np.uint64(29)
        x *= factors[:-1]
        np.add.reduce(x, axis=1, out=found[start : start + step])
    return found


@lru_cache(maxsize=64)
def _factors(width: int) -> AnyArray:
    drawn = np.random.default_rng(width).integers(0, 2**64, width + 1, dtype=np.uint64)
    return drawn | np.uint64(1)


def count_chunk(task: Task) -> Result:
    """Number the rows of one chunk for every table."""
    store, at = open_store(task["store"]), int(task["at"])
    chunk = opened_chunk(task["chunk"])
    found: Result = {"records": chunk.n, "lost": chunk.lost, "faults": None}
    if chunk.lost is not None:
        return found
    if chunk.table is not None:
        found["faults"] = faults.faults_of(chunk.table)
    plan = store.get_plain("verify", Plan)
    classes = np.empty((len(plan.tables), chunk.n), dtype=np.int32)
    firsts, sizes = [], []
    keys: list[AnyArray] = []
    for number, table in enumerate(plan.tables):
        rows = chunk.codes(table.columns)
        if table.inside is not None:
            rows = np.column_stack([classes[table.inside], rows])
        classes[number], first, size = number_rows(rows)
        firsts.append(first)
        sizes.append(size)
        if plan.chunks > 1:
            keys.append(_keys(chunk, table, first, plan, classes, keys))
    store.put(f"verify-{at}.classes", classes)
    store.put(f"verify-{at}.ends", np.cumsum([0, *map(len, firsts)]))
    store.put(f"verify-{at}.first", np.concatenate(firsts))
    store.put(f"verify-{at}.size", np.concatenate(sizes))
    if keys:
        store.put(f"verify-{at}.keys", np.concatenate([one.ravel() for one in keys]))
        store.put(f"verify-{at}.keys.ends", np.cumsum([0, *(one.size for one in keys)]))
    return found


def _keys(
    chunk: Chunk, table: Table, first: Indices, plan: Plan, classes: AnyArray, keys: Sequence[AnyArray]
) -> AnyArray:
    """Numbers that stand for a table's classes of one chunk in every chunk.

    A single number stands for itself, a row for a hash of it. The key of a class inside another one is a polynomial at `PLACE` of the other's key and the marks
    of its cells: marks are as good as random, so keys are equal as rarely as marks are, and a cell counts by its place as well, for one that says "a" inside "b" is not one that says "b" inside "a".
    """
    if table.inside is not None:
        found: AnyArray = np.zeros((len(first), 2), dtype=np.uint64)
        found += keys[table.inside][classes[table.inside][first]]
        for name in table.columns:
            found *= PLACE
            found += chunk.marks(name, first, plan.secret)
        return found
    words = chunk.words(table.columns, first, plan.secret)
    if words.shape[1] == 1:
        return words
    if not len(words):
        return words[:, :2]
    raw, width = words.data.cast("B"), words.shape[1] * 8
    digest = b"".join(mark_of(raw[at : at + width], plan.secret) for at in range(0, len(raw), width))
    return np.frombuffer(digest, dtype=np.uint64).reshape(-1, 2)


# -- all chunks -------------------------------------------------------------------------------------------------------


def merge_tables(task: Task) -> Result:
    """Merge the classes of some tables over all chunks, one table at a time."""
    store, starts = open_store(task["store"]), task["starts"]
    for table in range(int(task["first"]), int(task["last"])):
        sizes, firsts, keys = [], [], []
        for at, start in enumerate(starts):
            own = slice(*store.get(f"verify-{at}.ends")[table : table + 2].tolist())
            sizes.append(store.get(f"verify-{at}.size")[own])
            firsts.append(store.get(f"verify-{at}.first")[own] + start)
            low, high = store.get(f"verify-{at}.keys.ends")[table : table + 2].tolist()
            keys.append(store.get(f"verify-{at}.keys")[low:high])
        every, first = np.concatenate(keys), np.concatenate(firsts)
        number, earliest, _ = number_rows(every.reshape(len(first), -1) if len(first) else every[:, None])
        # Whole numbers below 2^53 are added exactly.
        size = np.bincount(number, weights=np.concatenate(sizes)).astype(np.int64)
        store.put(f"verify-table-{table}.size", size)
        store.put(f"verify-table-{table}.first", first[earliest])
        store.put(f"verify-table-{table}.number", number)
        store.put(f"verify-table-{table}.ends", np.cumsum([0, *map(len, sizes)]))
    return {}


def classes_in(store: Store, table: int) -> Classes:
    """The classes of a table over all chunks."""
    if store.get_plain("verify", Plan).chunks > 1:
        return Classes(*(store.get(f"verify-table-{table}.{name}", whole=True) for name in ("size", "first")))
    low, high = store.get("verify-0.ends")[table : table + 2].tolist()
    return Classes(*(store.get(f"verify-0.{name}", whole=True)[low:high] for name in ("size", "first")))


def class_of_rows(store: Store, at: int, table: int) -> AnyArray:
    """The class of each record of a chunk."""
    of_row: AnyArray = store.get(f"verify-{at}.classes")[table]
    if store.get_plain("verify", Plan).chunks == 1:
        return of_row
    low, high = store.get(f"verify-table-{table}.ends")[at : at + 2].tolist()
    found: AnyArray = store.get(f"verify-table-{table}.number")[low:high][of_row]
    return found


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted in all chunks."""

    chunks: Chunks
    tables: tuple[Table, ...]
    #: the number of rows before each chunk, and before the end
    starts: tuple[int, ...]
    #: why no promise can hold and nothing was counted; empty as a rule
    problem: str = ""
    #: what no published envelope or pattern can be
    faults: tuple[str, ...] = ()
    _kinds: dict[int, Indices] = field(default_factory=dict)

    @classmethod
    def of(cls, chunks: Chunks, tables: Sequence[Table]) -> Counts:
        """Count the rows of every table in every chunk, and merge what was counted."""
        store, tables = chunks.store, tuple(tables)
        store.put_plain("verify", Plan(tables, secrets.token_bytes(16), len(chunks.places)))
        found = chunks.map(count_chunk, "Reading the release again")
        sizes = [int(one["records"]) for one in found]
        starts = tuple(np.cumsum([0, *sizes]).tolist())
        problem = chunks.problem(sizes, [one["lost"] and MissingCells(*one["lost"]) for one in found])
        if problem:
            return cls(chunks, tables, starts, problem)
        if len(sizes) > 1:
            spans = [
                {"store": store.handle, "starts": starts[:-1], "first": first, "last": min(len(tables), first + SPAN)}
                for first in range(0, len(tables), SPAN)
            ]
            chunks.engine.map(merge_tables, spans, "Counting records that share values")
        return cls(chunks, tables, starts, "", tuple(faults.fault_list([one["faults"] for one in found], starts)))

    @property
    def n(self) -> int:
        """The number of records."""
        return self.starts[-1]

    def classes(self, table: int) -> Classes:
        """The classes of a table."""
        return classes_in(self.chunks.store, table)

    def kinds(self, table: int) -> Indices:
        """For each class of the table around it, how many classes of this table are inside."""
        if table in self._kinds:
            return self._kinds[table]
        around = self.tables[table].inside
        assert around is not None
        first = np.sort(self.classes(table).first)
        found = [np.zeros(0, dtype=np.int64)]
        for at, start in enumerate(self.starts[:-1]):
            low, high = np.searchsorted(first, [start, self.starts[at + 1]])
            if low < high:
                found.append(class_of_rows(self.chunks.store, at, around)[first[low:high] - start])
        self._kinds[table] = np.bincount(np.concatenate(found), minlength=len(self.classes(around).size))
        return self._kinds[table]

    def persons(self, table: int) -> tuple[Indices, Array] | None:
        """For each class of a table the number of its persons, and the largest share of one of them in its records; None: persons are not known."""
        owners = self.chunks.persons
        if owners is None:
            return None
        rows = [class_of_rows(self.chunks.store, at, table) for at in range(len(self.starts) - 1)]
        of_row, size = np.concatenate(rows).astype(np.int64), self.classes(table).size
        found, largest = shares_of(of_row, owners), np.zeros(len(size))
        np.maximum.at(largest, found.of_class, found.share)
        return np.bincount(found.of_class, minlength=len(size)), largest

    def members(self, table: int, chosen: Mask) -> tuple[list[int], int]:
        """The first few rows (counted from 1) of the records in chosen classes, and how many records these are."""
        size, first = self.classes(table)
        few = np.flatnonzero(chosen)
        # A row that is among the first has a class whose first row is among the first as well.
        few = few[np.argsort(first[few])][:ROWS]
        rows: list[int] = []
        for at, start in enumerate(self.starts[:-1]):
            own = np.flatnonzero(np.isin(class_of_rows(self.chunks.store, at, table), few))
            rows += (own[: ROWS - len(rows)] + start + 1).tolist()
        return rows, int(size[chosen].sum())

    def chunk_with(self, row: int) -> tuple[Chunk, int]:
        """The chunk with a row (counted from 0), and the place of the row in it."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        return opened_chunk(self.chunks.places[at]), row - self.starts[at]


def row_list(rows: Sequence[int], count: int) -> str:
    """Rows in words, of which the first few are given.

    Examples
    --------
    >>> row_list([3], 1), row_list([1, 2], 4)
    ('row 3', 'rows 1, 2 and 2 more')
    """
    more = f" and {count - len(rows)} more" if count > len(rows) else ""
    return f"{'row' if count == 1 else 'rows'} {', '.join(map(str, rows))}{more}"


# -- a table in memory ------------------------------------------------------------------------------------------------


class Shares(NamedTuple):
    """For each class and each person with records in it: the class, the person and the share of its records that are the person's."""

    of_class: Indices
    person: Indices
    share: Array
    #: the pair of each record's class and person
    of_row: Indices


def shares_of(of_row: Indices, persons: Indices) -> Shares:
    """How the records of each class are spread over persons, from the class and the person of each record, both numbered from 0.

    Examples
    --------
    >>> found = shares_of(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    >>> found.of_class.tolist(), found.person.tolist(), found.share.round(2).tolist(), found.of_row.tolist()
    ([0, 0, 1], [0, 1, 1], [0.67, 0.33, 1.0], [0, 0, 1, 2])
    """
    many = int(persons.max(initial=0)) + 1
    pairs, of_pair, together = np.unique(of_row * many + persons, return_inverse=True, return_counts=True)
    of_class = pairs // many
    return Shares(of_class, pairs % many, together / np.bincount(of_row)[of_class], of_pair)


def classes_of_rows(rows: Array) -> Indices:
    """The class of each row, numbered from 0: rows with the same bits are of one class."""
    return number_rows(np.ascontiguousarray(rows, dtype=np.float64).view(np.int64)).of_row.astype(np.int64)


def shared_by(rows: Array) -> Indices:
    """For each row the number of rows with the same bits, itself included.

    Examples
    --------
    >>> shared_by(np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]]))
    array([2, 1, 2])
    """
    of_row = classes_of_rows(rows)
    return np.bincount(of_row)[of_row]


def clusters_of(table: Array) -> tuple[AnyArray, AnyArray]:
    """For each point and series the number of its cluster of equal values and the cluster's size, both points by series.

    Values are compared by their bits: -0.0 and 0.0 are written differently. A third axis is for points of several dimensions.

    Examples
    --------
    >>> codes, sizes = clusters_of(np.array([[5.0, 1.0], [5.0, 2.0], [4.0, 3.0]]))
    >>> codes.tolist(), sizes.tolist()
    ([[1, 1, 0], [0, 1, 2]], [[2, 2, 1], [1, 1, 1]])
    """
    bits = np.ascontiguousarray(table if table.ndim == 3 else table[:, :, None]).view(np.int64)
    found = [number_rows(bits[:, point]) for point in range(bits.shape[1])]
    codes = np.stack([one.of_row for one in found])
    return codes, np.stack([one.size[one.of_row] for one in found]).astype(np.int32)


def classes_of(table: IntervalTable) -> tuple[Indices, Indices]:
    """Which envelope each record has, and which combination of envelope and pattern; equal numbers for equal ones."""
    chunk = Chunk.of(table)
    envelopes = number_rows(chunk.codes(bounds(table.labels))).of_row.astype(np.int64)
    if table.words is None:
        return envelopes, envelopes
    patterns = np.column_stack([envelopes, chunk.codes((WORD, LEVEL))])
    return envelopes, number_rows(patterns).of_row.astype(np.int64)


def homogeneous(classes: Indices, column: pl.Series) -> Mask:
    """The records whose whole class carries one value, so that belonging to the class discloses it.

    Examples
    --------
    >>> homogeneous(np.array([0, 0, 1, 1]), pl.Series(["yes", "no", "yes", "yes"])).tolist()
    [False, False, True, True]
    """
    values = number_rows(np.column_stack([classes, cell_codes(one_zero(column))]))
    same: Mask = (np.bincount(classes[values.first]) == 1)[classes]
    return same
