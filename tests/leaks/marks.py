"""What is planted in the input of the leak tests, and the search for it.

The markers: identifiers, cells of the protected columns, cells of a column without a role, the seed, the name of the file, of its folder and
of the plan, the user and the host. They are looked for in the bytes of every file of a folder, and in what a Parquet file says of
itself when it is unpacked: key-values, schema, statistics, dictionaries.
"""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

SEED = 918273645546372819
RECORDS, POINTS = 40, 12
#: swapping publishes the original values under other records, and envelopes and (n,l,k) publish some values as bounds or as they are: by
#: definition; the docs of these methods say so
VALUES_STAY = {"rank-swap", "rank-swap-distribution", "rank-swap-buckets", "kp", "k-envelopes", "nlk"}


def values() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Different in every cell and large, so that no other number looks like one of them."""
    rng = np.random.default_rng(11)
    curves = rng.gamma(2, 1, (RECORDS, POINTS)).cumsum(axis=1)
    return (70_000_000 + np.round(1_000_000 * curves, 3) + rng.integers(1, 999, (RECORDS, POINTS)) / 1000).round(3)


def marked_frame() -> pl.DataFrame:
    """A marked table: an identifier, a series, a carried column and one without a role."""
    table = values()
    series = {f"load.{t}": table[:, t] for t in range(POINTS)}
    return pl.DataFrame({"person": [f"markedid{i:03}" for i in range(RECORDS)]} | series).with_columns(
        tariff=pl.Series(["day", "night", "flat", "sun"] * (RECORDS // 4)),
        remark=pl.Series([f"markedremark{i}" for i in range(RECORDS)]),
    )


def forms_of(value: float) -> set[bytes]:
    """How a number may be written; the first eight digits are enough to know it again."""
    return {f"{value:.3f}"[:9].encode(), f"{value:.3f}".replace(".", ",")[:9].encode(), np.float64(value).tobytes()}


def told_by(path: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that a file says, packed or unpacked."""
    yield "bytes", path.read_bytes()
    if path.suffix != ".parquet":
        return
    file = pq.ParquetFile(path)
    yield "key-values", repr(file.metadata.metadata).encode()
    yield "schema", repr(file.schema_arrow).encode() + repr(file.schema_arrow.metadata).encode()
    yield "footer", json.dumps(file.metadata.to_dict(), default=repr).encode()
    for column in file.read().columns:
        yield "cells", b"".join(repr(cell).encode() + b"\n" for cell in column.to_pylist())
        yield "memory", b"".join(bytes(buffer) for chunk in column.chunks for buffer in chunk.buffers() if buffer)


def found_in(folder: Path, markers: dict[str, set[bytes]]) -> list[str]:
    """Which markers are where."""
    return [
        f"{what} in {path.relative_to(folder)} ({part})"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for part, content in told_by(path)
        for what, forms in markers.items()
        if any(form in content for form in forms)
    ]


def markers(planted: Path, *, cells: bool) -> dict[str, set[bytes]]:
    """What must not be found."""
    wanted = {
        "an identifier": {b"markedid"},
        "a column without a role": {b"markedremark"},
        "the seed": {str(SEED).encode(), f"{SEED:x}".encode(), SEED.to_bytes(8, "little")},
        "the input's name": {planted.name.encode()},
        "a path": {b"markedfolder", str(planted.parent).encode()},
        "the plan's name": {b"markedplan"},
    }
    host, user = socket.gethostname(), getpass.getuser()
    wanted |= {"the host": {host.encode()}} if len(host) > 5 else {}
    wanted |= {"the user": {user.encode()}} if len(user) > 5 else {}
    if cells:
        wanted["a cell"] = {form for value in values().ravel() for form in forms_of(float(value))}
    return wanted
