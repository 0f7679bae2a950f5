"""The folder of a study: every finished configuration in a file of its own, written at once and whole.

    folder/
      results/KEY.json   a finished configuration; KEY is a hash of everything its figures depend on
      study.json         what was swept, how it was measured, and the seed, a secret
      study.parquet      the table
      lock               held by the sweep that runs; the operating system releases it when that process ends, however it ends

A sweep that is killed has lost nothing but what was running, and a rerun finds what is there; what was being written then is under a
hidden name, and the rerun removes it. The folder is private: who has
the seed can undo random methods.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import polars as pl

from tsveil.core.errors import InputError, OutputError
from tsveil.data.write import write_bytes, write_text

#: the columns of a study's table that a sweep fills
SCHEMA: dict[str, Any] = {
    "key": pl.String,
    "method": pl.String,
    "settings": pl.String,
    "label": pl.String,
    "risk": pl.Float64,
    "high": pl.Float64,
    "loss": pl.Float64,
    "attack": pl.String,
    "intruder": pl.String,
    "verdict": pl.String,
    "guarantee": pl.String,
    "bound": pl.String,
    "stopped": pl.String,
    "seconds": pl.Float64,
    "problem": pl.String,
    "figures": pl.String,
    "ladder": pl.String,
}


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Keep the folder to this sweep; another one gets an error."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # for its owner only
        (folder / "results").mkdir(exist_ok=True)
        file = (folder / "lock").open("a")
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error
    with file:
        if not _take_lock(file):
            raise OutputError(f"another sweep is running in {folder}\n  options: wait until it ends, or another folder")
        for pattern in ("results/.*.partial", ".study.*.partial", ".sweep.*.partial"):
            for path in folder.glob(pattern):
                path.unlink(missing_ok=True)  # a killed sweep was writing it: who writes holds the lock
        yield


def _take_lock(file: IO[str]) -> bool:
    """Take the lock of an open file, if nobody has it; closing the file gives it back."""
    try:
        import fcntl
    except ImportError:  # Windows has another call for it
        import msvcrt

        with suppress(OSError):
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
            return True
        return False
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def about_in(folder: Path) -> dict[str, Any] | None:
    """What `study.json` says; None where there is none."""
    path = folder / "study.json"
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} is not the description of a study")
    return found


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Write `study.json`."""
    write_text(folder / "study.json", json.dumps(about, indent=2) + "\n")


def keep(folder: Path, row: dict[str, Any]) -> None:
    """Store a finished configuration; it is there whole or not at all, whatever happens."""
    write_text(folder / "results" / f"{row['key']}.json", json.dumps(row) + "\n")


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The finished configurations by key; a file that is damaged counts as not finished."""
    found = {}
    for path in sorted((folder / "results").glob("*.json")):
        with suppress(OSError, ValueError):
            row = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(row, dict) and row.get("key") == path.stem and set(row) == set(SCHEMA):
                found[path.stem] = row
    return found


def write_parquet(folder: Path, table: pl.DataFrame) -> None:
    """Write the table, whole or not at all."""
    content = io.BytesIO()
    table.write_parquet(content)
    write_bytes(folder / "study.parquet", content.getvalue())
