"""Verification of a release in many files: the promise is about all of them together, so all of them are read again.

k-anonymity counts how often each published row of values occurs. Every file is read by itself; its rows are turned into keys (a value's own
64 bits, or 128 bits of BLAKE2b of a row's bits under a random key) and dealt into bins by key, and every bin is counted by itself. Two
different rows share a key with a chance below n^2 / 2^128, 10^-25 for ten million records. No code is shared with what made the release, and
nothing is read but the published files.

(n,l,k)-anonymity is decided by the count lemma: the same count for every time point gives the values that fewer than k series share, and a
second pass counts for each series at how many time points it has such a value. At most l-n-1 for every series: the promise holds, whatever n
values are known. More: it is not decided here, and the release is refused.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from tsveil._types import AnyArray, Array, Indices
from tsveil.data.intervals import HIGH, LEVEL, LOW, WORD
from tsveil.engine.base import Engine, Result, Task
from tsveil.errors import some
from tsveil.guarantee.base import Guarantee, Status, Verdict
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.guarantee.kp import EnvelopeAnonymity, KPAnonymity
from tsveil.guarantee.nlk import NLKAnonymity
from tsveil.large.job import get_array, put, put_array

#: the promises that are checked by counting
Counted = KAnonymity | NLKAnonymity | EnvelopeAnonymity | KPAnonymity
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
    #: (n,l,k): the blocks, as runs of tables, and the number of small cells that a series may have
    blocks: tuple[tuple[str, int, int], ...] = ()
    allowance: int = -1


def verify_files(
    guarantee: Guarantee,
    files: list[Path],
    blocks: list[tuple[str, tuple[str, ...]]],
    engine: Engine,
    work: Path,
    records: int | None = None,
) -> Verdict:
    """Check a promise over all files together; `work` is a folder for files in between, and `records` how many there should be."""
    if not isinstance(guarantee, (KAnonymity, NLKAnonymity, EnvelopeAnonymity, KPAnonymity)):
        return guarantee.verify(None)  # type: ignore[arg-type]
    work.mkdir(exist_ok=True)
    tables = _tables(guarantee, blocks)
    n = records or sum(int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()) for file in files)
    check = Check(
        files=tuple(str(file) for file in files),
        tables=tuple(tables),
        bins=max(1, -(-n // BIN)),
        secret=secrets.token_bytes(16),
    )
    if isinstance(guarantee, NLKAnonymity):
        check = msgspec.structs.replace(check, blocks=_runs(blocks), allowance=guarantee.l - guarantee.n - 1)
    put(work / "check.msgpack", lambda path: path.write_bytes(msgspec.msgpack.encode(check)))
    read = engine.map(deal, [{"work": str(work), "at": at} for at in range(len(files))], "Reading the release again")
    found = sum(int(one["records"]) for one in read)
    if records is not None and found != records:
        return Verdict(
            Status.VIOLATED, guarantee.words, f"{records} records were to be written, {found} are in the files"
        )
    places = [
        {"work": str(work), "table": table, "bin": one} for table in range(len(tables)) for one in range(check.bins)
    ]
    counted = engine.map(count, places, "Counting who shares values")
    if isinstance(guarantee, NLKAnonymity):
        return _by_count_lemma(guarantee, check, engine, work)
    if crossed := sum(int(one["crossed"]) for one in read):
        return Verdict(Status.VIOLATED, guarantee.words, f"{crossed} lower bounds are above their upper bounds")
    return _shared(guarantee, tables, places, counted)


def _tables(guarantee: Counted, blocks: list[tuple[str, tuple[str, ...]]]) -> list[Table]:
    k = guarantee.k
    every = tuple(column for _, columns in blocks for column in columns)
    if isinstance(guarantee, (EnvelopeAnonymity, KPAnonymity)):
        bounds = (*(LOW + column for column in every), *(HIGH + column for column in every))
        found = [Table("envelopes", bounds, k)]
        if isinstance(guarantee, KPAnonymity):
            found.append(Table("patterns inside an envelope", (*bounds, WORD, LEVEL), guarantee.P))
        return found
    scope = "column" if isinstance(guarantee, NLKAnonymity) else guarantee.scope
    if scope == "record":
        return [Table("whole records", every, k)]
    if scope == "block":
        return [Table(f"block {name!r}", columns, k) for name, columns in blocks]
    return [Table(f"column {column!r}", (column,), k) for column in every]


def _runs(blocks: list[tuple[str, tuple[str, ...]]]) -> tuple[tuple[str, int, int], ...]:
    ends = np.cumsum([len(columns) for _, columns in blocks]).tolist()
    return tuple((name, end - len(columns), end) for (name, columns), end in zip(blocks, ends, strict=True))


def _shared(guarantee: Counted, tables: list[Table], places: list[dict[str, object]], counted: list[Result]) -> Verdict:
    smallest = min(int(one["smallest"]) for one in counted)
    witnesses = []
    for number, table in enumerate(tables):
        own = [one for place, one in zip(places, counted, strict=True) if place["table"] == number]
        few = sum(int(one["few"]) for one in own)
        if few:
            least = min(int(one["smallest"]) for one in own)
            rows = sorted(row for one in own if one["smallest"] == least for row in one["rows"])
            verb = "record shares its" if few == 1 else "records share their"
            witnesses.append(
                f"{table.name}: {few} {verb} values with fewer than {table.k} records; the smallest group has {least} "
                f"(published {'row' if len(rows) == 1 else 'rows'} {some(rows)})"
            )
    if witnesses:
        return Verdict(Status.VIOLATED, guarantee.words, "\n  ".join(witnesses[:5]))
    details = [f"the smallest group has {smallest} records"]
    if isinstance(guarantee, KPAnonymity):
        of = [
            min(int(one["smallest"]) for place, one in zip(places, counted, strict=True) if place["table"] == at)
            for at in (0, 1)
        ]
        details = [
            f"the smallest envelope is shared by {of[0]} records",
            f"the rarest pattern inside an envelope occurs {of[1]} times",
        ]
    return Verdict(Status.HOLDS, guarantee.words, details=tuple(details))


def _by_count_lemma(guarantee: NLKAnonymity, check: Check, engine: Engine, work: Path) -> Verdict:
    found = engine.map(
        small_cells, [{"work": str(work), "at": at} for at in range(len(check.files))], "Counting small cells"
    )
    most = max(int(one["most"]) for one in found)
    if most <= check.allowance:
        return Verdict(
            Status.HOLDS,
            guarantee.words,
            details=(
                f"no series has more than {most} values that fewer than {guarantee.k} series share; {check.allowance} are allowed "
                "whatever is known",
            ),
        )
    worst = next(one for one in found if one["most"] == most)
    return Verdict(
        Status.UNKNOWN,
        guarantee.words,
        f"block {worst['block']!r}: published row {worst['row']} has {most} values that fewer than {guarantee.k} series share, more than "
        f"the {check.allowance} that are safe whatever is known; larger files are decided by this count alone",
    )


# -- the steps --------------------------------------------------------------------------------------------------------


def _open(task: Task) -> tuple[Path, Check]:
    work = Path(task["work"])
    return work, msgspec.msgpack.decode((work / "check.msgpack").read_bytes(), type=Check)


def _first_row(check: Check, at: int) -> int:
    return sum(int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()) for file in check.files[:at])


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


def deal(task: Task) -> Result:
    """Read one published file and deal the keys of its rows into bins."""
    work, check = _open(task)
    at = int(task["at"])
    wanted = list(dict.fromkeys(column for table in check.tables for column in table.columns))
    frame = pl.read_parquet(check.files[at], columns=wanted, glob=False)
    first = _first_row(check, at)
    for number, table in enumerate(check.tables):
        values = np.column_stack([_as_numbers(frame[column]) for column in table.columns])
        keys = keys_of(values, check.secret)
        # A multiplicative hash: the low bits of a value's own 64 are often zero.
        one = ((keys[:, 1] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) % np.uint64(check.bins)
        order = np.lexsort((keys[:, 1], keys[:, 0], one))
        keys, one = keys[order], one[order]
        fresh = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))
        starts = np.flatnonzero(fresh)
        copies = np.diff(np.append(starts, len(keys)))
        table_of = np.column_stack(
            [keys[starts], copies.astype(np.uint64), (first + 1 + order[starts]).astype(np.uint64)]
        )
        put_array(work / f"keys-{number}-{at}.npy", table_of)
        put_array(work / f"keys-{number}-{at}.ends.npy", np.searchsorted(one[starts], np.arange(check.bins + 1)))
    pairs = [(name, HIGH + name.removeprefix(LOW)) for name in wanted if name.startswith(LOW)]
    crossed = sum(int((frame[low] > frame[high]).sum()) for low, high in pairs if high in frame.columns)
    return {"records": frame.height, "crossed": crossed}


def _as_numbers(column: pl.Series) -> Array:
    """A column as numbers that are equal where its cells are: texts by 64 bits that stand for them."""
    if column.dtype != pl.String:
        return column.cast(pl.Float64).to_numpy()
    texts = column.unique().to_list()
    marks = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") for text in texts]
    found: Array = column.replace_strict(texts, marks, return_dtype=pl.UInt64).to_numpy().view(np.float64)
    return found


def count(task: Task) -> Result:
    """Count the keys of one table in one bin over all files."""
    work, check = _open(task)
    number, one = int(task["table"]), int(task["bin"])
    dealt = []
    for at in range(len(check.files)):
        low, high = get_array(work / f"keys-{number}-{at}.ends.npy")[one : one + 2].tolist()
        if low < high:
            dealt.append(np.array(get_array(work / f"keys-{number}-{at}.npy")[low:high]))
    keys = np.concatenate(dealt) if dealt else np.zeros((0, 4), dtype=np.uint64)
    keys = keys[np.lexsort((keys[:, 3], keys[:, 1], keys[:, 0]))]
    starts = (
        np.flatnonzero(np.append(True, (keys[1:, :2] != keys[:-1, :2]).any(axis=1)))
        if len(keys)
        else np.zeros(0, dtype=int)
    )
    copies = np.add.reduceat(keys[:, 2].astype(np.int64), starts) if len(keys) else np.zeros(0, dtype=np.int64)
    small = copies < check.tables[number].k
    if check.allowance >= 0:
        put_array(work / f"small-{number}-{one}.npy", keys[starts, 1][small])
    smallest = int(copies.min()) if len(copies) else np.iinfo(np.int64).max
    least = keys[starts, 3][copies == smallest][:5] if small.any() else keys[:0, 3]
    return {"smallest": smallest, "few": int(copies[small].sum()), "rows": least.astype(np.int64).tolist()}


def small_cells(task: Task) -> Result:
    """For one file: the largest number of values of a series that are shared by fewer than k, and whose it is."""
    work, check = _open(task)
    at = int(task["at"])
    frame = pl.read_parquet(check.files[at], columns=[table.columns[0] for table in check.tables], glob=False)
    most, block, row = -1, "", 0
    for name, start, stop in check.blocks:
        cells: Indices = np.zeros(frame.height, dtype=np.int64)
        for number in range(start, stop):
            small = np.concatenate(
                [get_array(work / f"small-{number}-{one}.npy", whole=True) for one in range(check.bins)]
            )
            bits = frame[check.tables[number].columns[0]].cast(pl.Float64).to_numpy().view(np.uint64)
            cells += np.isin(bits, small)
        if cells.max() > most:
            most, block, row = int(cells.max()), name, int(cells.argmax())
    return {"most": most, "block": block, "row": _first_row(check, at) + row + 1}
