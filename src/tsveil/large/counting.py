"""How often each published row of values occurs in the files of a release: dealt into bins by key, file by file, and counted bin by bin.

A key is a value's own 64 bits, or 128 bits of BLAKE2b of a row's bits under a random key: two different rows share a key with a chance below
n^2 / 2^128, 10^-25 for ten million records. No code is shared with what made the release, and nothing is read but the published files.
"""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np
import polars as pl

from tsveil._types import AnyArray, Array, Indices
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Store, opened
from tsveil.engine.base import Result, Task
from tsveil.guarantee.kp import impossible

#: keys that are counted at a time
BIN = 2**22


class Table(msgspec.Struct, frozen=True):
    """Columns whose rows must be shared."""

    name: str
    columns: tuple[str, ...]
    #: the fewest records that may share a row
    k: int


class Check(msgspec.Struct, frozen=True):
    """What a verification must know: in a file beside its working files."""

    files: tuple[str, ...]
    tables: tuple[Table, ...]
    bins: int
    #: for the keys of rows: nobody can prepare rows with equal keys without it
    secret: bytes
    #: the files hold envelopes, which must be possible ones, and these carried columns, which equal rows of the last table may have in common
    intervals: bool = False
    carried: tuple[str, ...] = ()
    #: keep the keys that are too rare, for whoever looks on
    keep_rare: bool = False

    @classmethod
    def load(cls, work: Store) -> Check:
        """Read it from the folder of working files."""
        return work.get_plain("check", cls)

    def read(self, at: int, columns: list[str]) -> pl.DataFrame:
        """Columns of one published file."""
        return pl.read_parquet(self.files[at], columns=columns, glob=False)

    def rows_before(self, at: int) -> int:
        """The number of rows in the files before this one."""
        return sum(int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()) for file in self.files[:at])

    def keys(self, table: Table, frame: pl.DataFrame) -> AnyArray:
        """The key of each row."""
        return keys_of(np.column_stack([_as_numbers(frame[column]) for column in table.columns]), self.secret)


def keys_of(values: Array, secret: bytes) -> AnyArray:
    """Two numbers of 64 bits for each row: equal for equal bits, and for no others that will ever be met."""
    rows = np.ascontiguousarray(values, dtype=np.float64)
    keys = np.zeros((len(rows), 2), dtype=np.uint64)
    if rows.shape[1] == 1:
        keys[:, 1] = rows.view(np.uint64)[:, 0]
        return keys
    width = rows.shape[1] * 8
    raw = memoryview(rows.data).cast("B")
    digest = b"".join(
        hashlib.blake2b(raw[at : at + width], digest_size=16, key=secret).digest() for at in range(0, len(raw), width)
    )
    return np.frombuffer(digest, dtype=np.uint64).reshape(-1, 2)


def _as_numbers(column: pl.Series) -> Array:
    """A column as numbers that are equal where its cells are: texts by 64 bits that stand for them."""
    if column.dtype != pl.String:
        return column.cast(pl.Float64).to_numpy()
    texts = column.unique().to_list()
    marks = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") for text in texts]
    found: Array = column.replace_strict(texts, marks, return_dtype=pl.UInt64).to_numpy().view(np.float64)
    return found


def _starts(keys: AnyArray) -> Indices:
    """Where runs of equal rows begin."""
    fresh = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))
    return np.flatnonzero(fresh[: len(keys)])


def deal(task: Task) -> Result:
    """Read one published file, see that its cells are possible ones, and deal the keys of its rows into bins."""
    work, at = opened(task["work"]), int(task["at"])
    check = Check.load(work)
    wanted = list(dict.fromkeys(column for table in check.tables for column in table.columns))
    frame = check.read(at, [*wanted, *check.carried])
    before = check.rows_before(at)
    wrong = _unusable(check, frame.select(wanted), before)
    if wrong:
        return {"records": frame.height, "wrong": wrong}
    # A carried value as a number; whether all of a class are equal is told by the least and the greatest.
    marks = [frame[name].cast(pl.String).hash(seed=0).to_numpy() for name in check.carried]
    for number, table in enumerate(check.tables):
        keys = check.keys(table, frame)
        # A multiplicative hash: the low bits of a value's own 64 are often zero.
        one = ((keys[:, 1] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) % np.uint64(check.bins)
        order = np.lexsort((keys[:, 1], keys[:, 0], one))
        keys, one = keys[order], one[order]
        starts = _starts(keys)
        copies = np.diff(np.append(starts, len(keys)))
        dealt = [keys[starts], copies.astype(np.uint64), (before + 1 + order[starts]).astype(np.uint64)]
        if table is check.tables[-1]:
            dealt += [ends.reduceat(mark[order], starts) for mark in marks for ends in (np.minimum, np.maximum)]
        work.put(f"keys-{number}-{at}", np.column_stack(dealt))
        work.put(f"keys-{number}-{at}.ends", np.searchsorted(one[starts], np.arange(check.bins + 1)))
    return {"records": frame.height, "wrong": []}


def _unusable(check: Check, frame: pl.DataFrame, before: int) -> list[str]:
    """What no published file may hold."""
    numbers = frame.select(pl.col(name) for name, kind in frame.schema.items() if kind.is_numeric())
    lost = sum(numbers.null_count().row(0)) + sum(int((~column.is_finite()).sum()) for column in numbers)
    lost += sum(frame.drop(numbers.columns).null_count().row(0)) if frame.width > numbers.width else 0
    if lost:
        return [
            f"the file with row {before + 1} has {lost} missing or infinite value{'s' * (lost > 1)} where there must be none"
        ]
    return list(impossible(IntervalTable.from_frame(frame), before)) if check.intervals else []


def count(task: Task) -> Result:
    """Count the keys of one table in one bin over all files."""
    work, number, one = opened(task["work"]), int(task["table"]), int(task["bin"])
    check = Check.load(work)
    dealt = []
    for at in range(len(check.files)):
        low, high = work.get(f"keys-{number}-{at}.ends")[one : one + 2].tolist()
        dealt.append(np.array(work.get(f"keys-{number}-{at}")[low:high]))
    keys = np.concatenate(dealt)
    keys = keys[np.lexsort((keys[:, 3], keys[:, 1], keys[:, 0]))]
    starts = _starts(keys[:, :2])
    copies = np.add.reduceat(keys[:, 2].astype(np.int64), starts) if len(keys) else np.zeros(0, dtype=np.int64)
    rare = copies < check.tables[number].k
    if check.keep_rare:
        work.put(f"rare-{number}-{one}", np.column_stack([keys[starts, :2], copies.astype(np.uint64)])[rare])
    smallest = int(copies.min()) if len(copies) else np.iinfo(np.int64).max
    least = keys[starts, 3][copies == smallest][:5] if rare.any() else keys[:0, 3]
    alike = []
    for column in range(4, keys.shape[1], 2) if len(keys) else ():
        same = np.minimum.reduceat(keys[:, column], starts) == np.maximum.reduceat(keys[:, column + 1], starts)
        alike.append([int(same.sum()), int(copies[same].sum())])
    return {
        "smallest": smallest,
        "different": len(copies),
        "few": int(copies[rare].sum()),
        "rows": least.astype(np.int64).tolist(),
        "alike": alike,
    }
