"""A file that is written while it is read is refused: half of the old one and half of the new one is neither."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from shapes import zstd
from tsveil.core.errors import InputError
from tsveil.data import files as opening
from tsveil.data import read as reading
from tsveil.data.formats import base, workbook
from tsveil.plan import plan as planning

OLD = b"id,1,2,3\n" + b"".join(b"h%d,1,2,3\n" % i for i in range(100))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("change", ["longer", "same length", "shorter"])
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, packed: bool
) -> None:
    path = tmp_path / "meters.csv"
    path.write_bytes(gzip.compress(OLD) if packed else OLD)
    os.utime(path, (1_000_000, 1_000_000))
    assert tv.read(path).n == 100
    name = "_unpacked" if packed else "_whole"
    whole = getattr(opening, name)

    def meanwhile(*given: Any) -> Any:
        data = whole(*given)
        new = OLD.replace(b",1,2,3", b",4,5,6")
        path.write_bytes({"longer": new + new, "same length": new, "shorter": new[:50]}[change])
        return data

    monkeypatch.setattr(opening, name, meanwhile)
    with pytest.raises(InputError, match=r"meters.csv cannot be read: the file changed while it was read\n  options: "):
        tv.read(path)
    monkeypatch.undo()
    path.write_bytes(OLD)
    assert tv.read(path).n == 100


@pytest.mark.parametrize("replaced", [False, True])
def test_the_hash_in_a_report_is_that_of_the_file_that_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    path = tmp_path / "meters.csv"
    path.write_bytes(OLD)
    os.utime(path, (1_000_000, 1_000_000))
    plan = planning.Plan(
        input=planning.Input(path="meters.csv"),
        method={"name": "mdav", "k": 3},
        output=planning.Output(folder="out"),
        evaluate=planning.Evaluation(models=["ses"]),
    )
    hashed = opening.digest_of

    def meanwhile(files: Sequence[Path]) -> str:
        (place,) = files
        (tmp_path / "new.csv").write_bytes(OLD.replace(b",1,2,3", b",4,5,6"))
        if replaced:
            os.replace(tmp_path / "new.csv", place)
        else:
            place.write_bytes((tmp_path / "new.csv").read_bytes())
        os.utime(place, (1_000_000, 1_000_000))
        return hashed(files)

    monkeypatch.setattr(reading, "digest_of", meanwhile)
    with pytest.raises(InputError, match=r"meters.csv cannot be read: the file changed while it was read\n  options: "):
        tv.run(plan, base=tmp_path)
    assert not (tmp_path / "out").exists()


def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="it is a pipe or a device"):
            tv.read(place)


def test_a_packed_file_without_lines_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "LONGEST_LINE", 5_000_000)
    monkeypatch.setattr(opening, "_CHUNK", 1_000_000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"id,1,2\n" + bytes(50_000_000)))
    reads = []
    read = gzip.GzipFile.read

    def counted(self: gzip.GzipFile, size: int | None = -1) -> bytes:
        reads.append(size)
        return read(self, size)

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    with pytest.raises(InputError, match="it has a line of more than 5 MB, so it is no table"):
        tv.read(path)
    assert len(reads) < 8  # of 50


def _packed(name: str, table: bytes) -> bytes:
    """A table compressed by zstd; or what seems to be a workbook, also one that says less of itself than is true."""
    if name.endswith(".zst"):
        return bytes(zstd.compress(table))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "")
        archive.writestr("xl/worksheets/sheet1.xml", table)
    content = made.getvalue()
    return (
        content.replace(len(table).to_bytes(4, "little"), (100).to_bytes(4, "little")) if "lying" in name else content
    )


def test_a_small_file_that_becomes_a_large_one_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "half_of_memory", lambda: 1_000_000)
    monkeypatch.setattr(workbook, "half_of_memory", lambda: 1_000_000)
    monkeypatch.setattr(opening, "_CHUNK", 100_000)
    table = b"id,1,2\n" + b"".join(b"h%d,0,0\n" % at for at in range(300_000))
    packed = gzip.compress(table)
    told = r"it unpacks to more than 0.0 GB, half of the memory of this machine\n  options: unpack it"
    # The length that a packed file says of itself is believed when it is large, and counted when it is small.
    for name, content in {"honest": packed, "lying": packed[:-4] + b"\x10\x00\x00\x00"}.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
        with pytest.raises(InputError, match=told):
            tv.read(tmp_path / f"{name}.csv.gz")
    for name in ("meters.csv.zst", "workbook.xlsx", "lying.xlsx"):
        (tmp_path / name).write_bytes(_packed(name, table))
        with pytest.raises(InputError, match=told):
            tv.read(tmp_path / name)
    frame = pl.DataFrame({"id": np.arange(100_000)} | {str(t): np.zeros(100_000) for t in range(3)})
    frame.write_parquet(tmp_path / "zeros.parquet")
    assert (tmp_path / "zeros.parquet").stat().st_size < 500_000
    with pytest.raises(InputError, match=told):
        tv.read(tmp_path / "zeros.parquet")
    (tmp_path / "small.csv.gz").write_bytes(gzip.compress(table[:100_000].rpartition(b"\n")[0] + b"\n"))
    assert tv.read(tmp_path / "small.csv.gz", numbers=["1", "2"]).n > 1000
