"""Data sets to files, in the layout of the file they came from; and folders that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from tsveil._types import AnyArray
from tsveil.data.dataset import Dataset
from tsveil.errors import OutputError


def as_frame(data: Dataset) -> pl.DataFrame:
    """The data set as the table that is written: a row per record (wide) or per record and time (long).

    Examples
    --------
    >>> import tsveil as tv
    >>> as_frame(tv.Dataset.from_arrays({"load": [[1.0, 2.0]]}, ids=["a"])).rows()
    [('a', 1.0, 2.0)]
    """
    return _long(data) if data.layout.shape == "long" else _wide(data)


def _wide(data: Dataset) -> pl.DataFrame:
    frame = pl.DataFrame({name: _as_read(data, name, data.values[:, at]) for at, name in enumerate(data.columns)})
    frame = pl.DataFrame([*data.others.get_columns(), *frame.get_columns()])
    order = [name for name in data.layout.order if name in frame.columns]
    return frame.select(
        [
            *(name for name in frame.columns if name not in set(order) and name == data.id),
            *order,
            *(name for name in frame.columns if name not in set(order) and name != data.id),
        ]
    )


def _as_read(data: Dataset, name: str, values: AnyArray) -> AnyArray:
    """Whole numbers of a column that was read as whole numbers are written as such; means are not whole and stay as they are."""
    return values.astype(np.int64) if name in data.integers and bool((values == np.rint(values)).all()) else values


def _long(data: Dataset) -> pl.DataFrame:
    layout = data.layout
    record = data.others.with_row_index("__record")
    parts = []
    for block in data.blocks:
        length = len(block)
        part = pl.DataFrame(
            {
                "__record": np.repeat(np.arange(data.n, dtype=np.uint32), length),
                layout.time: list(block.labels) * data.n,
                "__value": data.block(block.name).ravel(),
            }
        )
        parts.append(part.with_columns(pl.lit(block.name).alias("__series")))
    table = pl.concat(parts)
    if layout.variable is not None:
        table = table.rename({"__series": layout.variable, "__value": layout.values[0]})
        table = table.sort("__record", maintain_order=True)
    else:
        # One column per series: all blocks share their times, so they join on record and time.
        table = table.pivot(on="__series", index=["__record", layout.time], values="__value", maintain_order=True)
        table = table.sort("__record", maintain_order=True)
    table = record.join(table, on="__record", how="right", maintain_order="right").drop("__record")
    time = table[layout.time]
    with contextlib.suppress(pl.exceptions.PolarsError):
        table = table.with_columns(time.cast(pl.Int64, strict=True))
    order = [name for name in layout.order if name in table.columns]
    return table.select([*order, *(name for name in table.columns if name not in order)])


def write_table(data: Dataset, folder: Path, stem: str, form: str | None = None) -> Path:
    """Write the data set into a folder in the format of its layout (or the one given), and give the file's path."""
    form = form or data.layout.format
    path = folder / f"{stem}.{form}"
    frame = as_frame(data)
    if form == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator=data.layout.separator, decimal_comma=data.layout.decimal == ",")
    return path


@contextmanager
def complete_folder(folder: Path, *, overwrite: bool, marker: str) -> Iterator[Path]:
    """A folder to fill that takes its final name only when the body ends without an error.

    An existing folder is refused unless `overwrite`, and then only replaced when it holds `marker`, the file by which a folder
    made by tsveil is known: nobody loses other files to a mistyped path.
    """
    if folder.exists() or folder.is_symlink():
        if not overwrite:
            raise OutputError(
                f"{folder} exists already\n  options: another folder, or --overwrite (overwrite=True) to replace it"
            )
        if not folder.is_dir() or (any(folder.iterdir()) and not (folder / marker).is_file()):
            raise OutputError(f"{folder} was not made by tsveil and is not overwritten\n  options: another folder")
    partial = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.partial"
    old = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.old"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
        yield partial
        for path in sorted(partial.rglob("*")):
            if path.is_file():
                _flush(path)
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
        _flush(folder.parent)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _flush(path: Path) -> None:
    """Ask the operating system to put a file or folder on the disk now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot flush folders; then there is nothing to do
            os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a small text file so that it is complete or absent."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        _flush(partial)
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
