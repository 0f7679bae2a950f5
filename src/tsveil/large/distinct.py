"""The distinct rows of a release in many files: what an intruder compares with, once for all that look alike.

Protected records come in groups of equal ones, so a linkage against the distinct rows, with the number of copies of each, says the same as
one against all records and costs a k-th of it. Every published file marks its rows with 128 bits; the process that runs the job finds equal marks,
16 bytes for each record; every file then keeps the rows that occur in it first. Distinct rows are numbered in the order
in which they first occur, whatever the marks are. Two different rows share a mark with a chance below n^2 / 2^128: 10^-25 for ten million records.

Whoever needs them takes them in pieces of a bounded size, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from tsveil._types import AnyArray, Array, Indices
from tsveil.data.store import Store
from tsveil.engine.base import Result
from tsveil.large.job import Job
from tsveil.large.source import as_values
from tsveil.randomness import mixed

#: values that a piece has at most, if a single file has no more
PIECE = 2**24


def marks(values: Array) -> AnyArray:
    """Two numbers of 64 bits for each row, equal for equal rows.

    Examples
    --------
    >>> found = marks(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> (found[0] == found[2]).all(), (found[0] == found[1]).any()
    (np.True_, np.False_)
    """
    bits = np.ascontiguousarray(values).view(np.uint64)
    found = np.empty((len(bits), 2), dtype=np.uint64)
    for lane in (0, 1):
        mark = np.full(len(bits), lane, dtype=np.uint64)
        for column in bits.T:
            mark = mixed(mark ^ column)
        found[:, lane] = mark
    return found


def tell_apart(store: Store, job: Job) -> int:
    """Number the distinct rows of all files, and keep the number of each published row; gives how many there are."""
    every = np.concatenate([store.get(f"marks-{at}", whole=True) for at in range(job.files)])
    # Equal marks come together, each time in the order of the rows.
    order = np.lexsort((every[:, 1], every[:, 0]))
    every = every[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (every[1:] != every[:-1]).any(axis=1)
    first = order[begins]
    by_row = np.argsort(first)
    number = np.empty(len(first), dtype=np.int64)
    number[by_row] = np.arange(len(first))
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = number[np.cumsum(begins) - 1]
    store.put("distinct.of_row", of_row)
    store.put("distinct.first", first[by_row])
    store.put("distinct.copies", np.bincount(of_row))
    return len(first)


def collect(store: Store, job: Job, at: int) -> Result:
    """Keep the rows of one published file that occur in no file before it."""
    first = store.get("distinct.first")
    start, stop = job.file_range(at)
    low, high = np.searchsorted(first, [start, stop])
    path = job.published_file(at)
    rows = pl.read_parquet(path, columns=list(job.source.columns), glob=False).select(job.source.columns)
    store.put(f"distinct-{at}", as_values(rows[np.asarray(first[low:high]) - start]))
    return {}


@dataclass(frozen=True, eq=False)
class Piece:
    """Some distinct rows: their values, the published rows where they first occur, how often each occurs."""

    values: Array
    first: Indices
    copies: Indices
    #: the number of the first of them
    start: int

    def own(self, of_row: Indices) -> Indices:
        """Where in this piece distinct rows of some numbers are; -1: in another."""
        return np.where((of_row >= self.start) & (of_row < self.start + len(self.first)), of_row - self.start, -1)


def pieces(store: Store, job: Job) -> Iterator[Piece]:
    """All distinct rows, in pieces that depend on the release alone."""
    first = store.get("distinct.first")
    copies = store.get("distinct.copies")
    ends = np.searchsorted(first, np.minimum(np.arange(job.files + 1) * job.file_rows, job.n))
    most = PIECE // len(job.source.columns)
    begin = 0
    while begin < job.files:
        end = begin + 1
        while end < job.files and ends[end + 1] - ends[begin] <= most:
            end += 1
        if ends[end] > ends[begin]:
            found = [store.get(f"distinct-{at}", whole=True) for at in range(begin, end)]
            span = slice(int(ends[begin]), int(ends[end]))
            yield Piece(np.concatenate(found), np.array(first[span]), np.array(copies[span]), span.start)
        begin = end
