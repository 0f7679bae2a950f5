"""What is fuzzed: each target takes arbitrary bytes, and whatever they are, it ends well or with one of tsveil's own errors.

Beside that, nothing may be wrong without a word: what a reader accepts is compared with a plain parser, what a plan says with what it says
after a round trip, and what a verifier finds with the definition, counted slowly.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

import naive_kp
import naive_nlk
import tsveil as tv
from small_parquet import PARQUET
from tsveil.core.errors import TsveilError
from tsveil.data.intervals import read_intervals
from tsveil.data.read import look_at
from tsveil.guarantee.base import Status
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.guarantee.kp import verify_kp
from tsveil.guarantee.nlk import verify_nlk
from tsveil.plan.plan import Plan

FOLDER = Path(tempfile.mkdtemp(prefix="tsveil-fuzz-"))

#: a number whose thousands are grouped
GROUPED = re.compile(r"([+-]?\d{1,3}(?:([., '\u00a0\u202f\u2019])\d{3})(?:\2\d{3})*)((?!\2)[.,]\d+)?")


def stored(data: bytes, name: str) -> Path:
    path = FOLDER / name
    path.write_bytes(data)
    return path


def csv_file(data: bytes) -> None:
    """A CSV file with guessed roles."""
    path = stored(data, "x.csv")
    try:
        look = look_at(path)
        read = tv.read(path, missing="keep")
    except TsveilError:
        return
    assert read.n > 0
    assert read.ids.n_unique() == read.n
    assert not np.isinf(read.values).any()
    if look.guess.layout == "wide" and look.source.format == "csv":
        told = [note for note in look.source.notes if note.startswith("the text was read as")]
        encodings = {note.split()[5].rstrip(",").lower() for note in told}
        _same_as_plain(data, next(iter(encodings), "utf-8"), look.source.separator, look.source.decimal, read)


def _same_as_plain(data: bytes, encoding: str, separator: str, decimal: str, read: tv.Dataset) -> None:
    """Every number is the one that Python's own parser finds in that place."""
    if data[:2] == b"\x1f\x8b":
        return
    if encoding == "utf-16" and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return  # whether the first byte of two is the high one, nobody said
    text = data.decode(encoding).removeprefix("\ufeff").lstrip("\r\n")
    text = text.replace("\r", "\n") if "\n" not in text else text
    if re.search(r"\r(?!\n)", text):
        return  # the end of a row for the plain parser; for tsveil, among other line ends, white space
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if row]
    except csv.Error:
        return
    places = {name: at for at, name in enumerate(rows[0])}
    body = [row for row in rows[1:] if any(row)]
    if len(body) != read.n or len(places) != len(rows[0]) or any(len(row) > len(rows[0]) for row in body):
        return  # the two disagree on what a row is: quotes in the middle of cells
    for at, name in enumerate(read.columns):
        if name not in places:
            continue
        for row, value in zip(body, read.values[:, at].tolist(), strict=True):
            cell = (row[places[name]] if places[name] < len(row) else "").strip()
            plain = cell.replace(",", ".") if decimal == "," else cell
            if grouped := GROUPED.fullmatch(cell):
                plain = re.sub(r"[^-+\d]", "", grouped[1]) + (grouped[3] or "").replace(",", ".")
            assert decimal == "." or grouped or "." not in cell, (
                name,
                cell,
                value,
            )  # 1.234 beside decimal commas may be a thousand
            if np.isnan(value):
                assert cell.lower() in ("", "na", "n/a", "nan", "null", "none"), (name, cell, value)
            else:
                assert float(plain) == value, (name, cell, value)


def parquet_file(data: bytes) -> None:
    """A Parquet file, from its magic bytes on."""
    path = stored(b"PAR1" + data, "x.parquet")
    try:
        read = tv.read(path, missing="keep")
    except TsveilError:
        return
    assert read.n > 0


def plan_file(data: bytes) -> None:
    """A plan in TOML."""
    path = stored(data, "x.toml")
    try:
        plan = Plan.load(path)
    except TsveilError:
        return
    again = Plan.from_toml(plan.to_toml())
    assert repr(again) == repr(plan), plan.to_toml()  # nan is not equal to itself


def interval_file(data: bytes) -> None:
    """A published table of envelopes and patterns, and its verifier."""
    path = stored(data, "x.csv")
    try:
        table = read_intervals(path)
        verdicts = {(k, P): verify_kp(path, k, P) for k, P in ((2, 1), (2, 2), (3, 2))}
    except TsveilError:
        return
    if (table.lo > table.hi).any():
        assert {verdict.status for verdict in verdicts.values()} == {Status.VIOLATED}
    elif table.words is not None and table.levels is not None:
        frame = pl.DataFrame(table.written) if table.written is not None else table.to_frame()
        keys = [tuple(row) for row in frame.select(pl.col("^(lo|hi)_.*$")).rows()]
        rows = [(key, word, int(level)) for key, word, level in zip(keys, table.words, table.levels, strict=True)]
        letters = "abcdefghijklmnopqrstuvwxyz"
        possible = all(0 < level <= 26 and word and set(word) <= set(letters[:level]) for _, word, level in rows)
        for (k, P), verdict in verdicts.items():
            assert verdict.holds == (possible and naive_kp.holds(rows, k, P)), str(verdict)


def value_table(data: bytes) -> None:
    """A small table of published values: each byte a cell, by turns equal and different; the verifiers against the definition."""
    if len(data) < 6:
        return
    width, k, n = 1 + data[0] % 5, 2 + data[1] % 4, 1 + data[2] % 3
    cells = np.array([0.0, -0.0, 1.0, 1.0 + 2**-52, 1e300, 5e-324, -1.0, 7.5])[np.frombuffer(data[3:200], np.uint8) % 8]
    table = cells[: len(cells) // width * width].reshape(-1, width)
    if not len(table):
        return
    published = tv.Dataset.from_arrays({"x": table})
    shared = Counter(row.tobytes() for row in table)
    assert KAnonymity(k).verify(published).holds == (min(shared.values()) >= k)
    single = [Counter(column.tobytes()[at : at + 8] for at in range(0, 8 * len(table), 8)) for column in table.T]
    assert KAnonymity(k, scope="column").verify(published).holds == (min(min(c.values()) for c in single) >= k)
    if len(table) <= 12 and n < width and k <= len(table):
        # Values that print differently are different: compare their texts.
        texts = np.array([[repr(cell) for cell in row] for row in table.tolist()])
        for l in range(n + 1, width + 1):
            verdict = verify_nlk(table, n, l, k)
            assert verdict.status is not Status.UNKNOWN
            assert verdict.holds == (naive_nlk.attack(texts, n, l, k) is None), (table.tolist(), n, l, k, str(verdict))


def seed_parquet(compression: Literal["zstd", "uncompressed"]) -> bytes:
    out = io.BytesIO()
    pl.DataFrame({"id": ["a", "b", "c"], "1": [1.5, 2.5, None], "2": [1, 2, 3]}).write_parquet(
        out, compression=compression
    )
    return out.getvalue()[4:]


#: what a mutation puts in beside single bytes
SNIPPETS = [b",", b";", b"\t", b"|", b"\n", b"\r", b'"', b"'", b"\0", b" ", b"-", b"+", b".", b"e", b"0", b"1e400", b"-0.0", b"nan", b"inf", b"NULL", b"=", b"[", b"]", b"#", b"\xff", "\u00e9".encode(), "e\u0301".encode(), b"2024-02-30", b"24:00", b"9007199254740993", b"PAR1", b"\x1f\x8b", b"lo_1", b"id"]  # fmt: skip

#: name -> the target, and inputs to begin with
TARGETS: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "csv": (
        csv_file,
        [
            b"id,1,2,3\na,1,2.5,3e5\nb,-0,NA,4\n",
            b"meter;2018-01-01;2018-01-02\na;1,5;2,5\nb;3,5;4,0\n",
            b"who\ttime\tload\nx\t2024-10-27T02:00+02:00\t1\nx\t2024-10-27T02:00+01:00\t2\ny\t2024-10-27T00:00Z\t3\ny\t2024-10-27T01:00Z\t4\n",
            b'\xef\xbb\xbf"id","age","pay"\r\n"a ""b""",31,1.234\r\n"c\nd",44,9007199254740993\r\n',
            b"a|b|c\n1.234.567|2|3\n\n4|5|6\n7|8|9\n",
        ],
    ),
    "parquet": (parquet_file, [seed_parquet("zstd"), seed_parquet("uncompressed"), PARQUET[4:]]),
    "plan": (
        plan_file,
        [
            b'seed = 7\n[input]\npath = "m.csv"\nid = "who"\nconfidential = ["a"]\n[input.blocks]\nload = { from = "1", to = "9" }\n[method]\nname = "mdav"\nk = 7\n[output]\nfolder = "out"\n',
            b'[input]\npath = "m"\n[method]\nname = "rank-swap"\np = 5.0\n[evaluate]\nties = "first"\n[output]\nfolder = "o"\ntitle = "x\\u007f\\n\\"y\\""\n',
        ],
    ),
    "intervals": (
        interval_file,
        [
            b"lo_1,hi_1,pattern,level\n0.5,0.7,b,2\n0.5,0.7,b,2\n",
            b"lo_a;hi_a;lo_b;hi_b;zone\n1,5;2,5;0;0;x\n1,50;2,5;0;0;y\n",
        ],
    ),
    "tables": (
        value_table,
        [
            bytes(range(3)) + bytes([0, 0, 1, 1, 2, 2, 3, 3]),
            bytes([2, 0, 0]) + bytes([2, 3, 6] * 6),
            bytes([2, 0, 0]) + bytes([2, 3, 6, 2, 3, 6, 2, 3, 2, 3, 3, 6, 2, 6, 6, 2, 3, 6]),
        ],
    ),
}
