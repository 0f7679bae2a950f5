"""Data sets to files, in the layout of the file they came from; and folders that appear complete or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from tsveil.core.errors import OutputError
from tsveil.core.types import AnyArray
from tsveil.data.column_types import with_types
from tsveil.data.dataset import Dataset, Layout
from tsveil.data.disk import (
    claimed_folder,
    discard,
    exchange,
    flush,
    flush_all,
    partial_name,
    remove,
    rename_new,
    tidy,
    unlock,
)
from tsveil.data.formats.known import FORMATS, written_format
from tsveil.data.time_forms import part_time


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
    labels = data.labels
    columns = [
        labels[name].column(name, data.values[:, at])
        if name in labels
        else pl.Series(name, _restore_integers(data, name, data.values[:, at]))
        for at, name in enumerate(data.columns)
    ]
    frame = pl.DataFrame(columns)
    if data.masked:
        frame = _with_empty_cells(data, frame)
    frame = pl.DataFrame([*data.others.get_columns(), *frame.get_columns()])
    order = [name for name in data.layout.order if name in frame.columns]
    return frame.select(
        [
            *(name for name in frame.columns if name not in set(order) and name == data.id),
            *order,
            *(name for name in frame.columns if name not in set(order) and name != data.id),
        ]
    )


def _restore_integers(data: Dataset, name: str, values: AnyArray) -> AnyArray:
    """Whole numbers of a column that was read as whole numbers are written as such; means are not whole and stay as they are."""
    return values.astype(np.int64) if name in data.integers and bool((values == np.rint(values)).all()) else values


def _with_empty_cells(data: Dataset, frame: pl.DataFrame) -> pl.DataFrame:
    """A gap is an empty cell, and no NaN; whole numbers beside gaps stay whole."""
    frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
    whole = [name for name in data.columns if name in data.integers and (frame[name] == frame[name].round()).all()]
    return frame.with_columns(pl.col(whole).cast(pl.Int64))


def _long(data: Dataset) -> pl.DataFrame:
    layout, labels = data.layout, data.labels
    beside = [block for block in data.blocks if block.times is None]
    fixed = [
        labels[name].column(name, column)
        for block in beside
        for name, column in zip(block.columns, data.block(block.name).T, strict=True)
    ]
    record = words_as_text(data.others).with_columns(fixed).with_row_index("__record")
    parts = []
    for block in data.blocks:
        if block in beside:
            continue
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
    if data.masked:
        table = table.with_columns(pl.col("__value").fill_nan(None))
    if layout.variable is not None:
        table = table.rename({"__series": layout.variable, "__value": layout.values[0]})
        table = table.sort("__record", maintain_order=True)
    else:
        # One column per series: all blocks share their times, so they join on record and time.
        table = table.pivot(on="__series", index=["__record", layout.time], values="__value", maintain_order=True)
        table = table.sort("__record", maintain_order=True)
        coded = [block for block in data.blocks if block.categories and block.times is not None]
        table = table.with_columns(
            b.categories[0].column(b.name, table[b.name].to_numpy()) for b in coded if b.categories
        )
    table = record.join(table, on="__record", how="right", maintain_order="right").drop("__record")
    if layout.time_parts:
        apart = [part_time(label) for label in table[layout.time].to_list()]
        table = table.drop(layout.time).with_columns(
            pl.Series(name, [label[at] for label in apart]) for at, name in enumerate(layout.time_parts)
        )
    for time in layout.time_parts or [layout.time]:
        with contextlib.suppress(pl.exceptions.PolarsError):
            table = table.with_columns(table[time].cast(pl.Int64, strict=True))
    order = [name for name in layout.order if name in table.columns]
    return table.select([*order, *(name for name in table.columns if name not in order)])


def write_table(data: Dataset, folder: Path, stem: str, form: str | None = None, *, alone: bool = True) -> Path:
    """Write the data set into a folder in the format of its layout (or the one given), and give the file's path; not `alone`: other files have more of its records."""
    name = form or written_format(data.layout.format).name
    path = folder / f"{stem}.{name}"
    write_frame(as_frame(data), path, data.layout, alone=alone)
    return path


def write_frame(frame: pl.DataFrame, path: Path, layout: Layout, *, alone: bool = True) -> None:
    """Write a table in the format that the file's name says; CSV with the separator and the decimal mark of the layout.

    Columns get the types that they had, if the table stands `alone` in its file: parts of one table would have different types, which tell them apart.
    """
    frame = words_as_text(frame)
    form = FORMATS[path.suffix[1:]]
    if alone and form.typed:
        frame = with_types(frame, layout.types)
    with disk_errors():
        if form.lines:
            frame.write_csv(path, separator=layout.separator, decimal_comma=layout.decimal == ",")
        else:
            form.write(frame, path, layout.place)


def words_as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Carried columns as text instead of Categorical: their words are stored apart from the rows, those of records that are not published among them.

    Examples
    --------
    >>> words_as_text(pl.DataFrame({"town": ["a"]}, schema={"town": pl.Enum(["a", "b"])})).dtypes
    [String]
    """
    listed = [name for name, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    return frame.with_columns(pl.col(listed).cast(pl.String))


@contextmanager
def disk_errors() -> Iterator[None]:
    """A full disk reaches us as an OSError from one writer and as a PolarsError from another: make it an OSError."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise OSError(None, str(error).strip().split("\n")[0]) from error


def refuse_existing(folder: Path, *, overwrite: bool, tidied: bool = True) -> None:
    """Refuse to replace a folder without being asked; what a killed run left beside it is put in order first, if it may be `tidied`."""
    try:
        if tidied:
            tidy(_final(folder))
        exists = folder.exists() or folder.is_symlink()
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error
    if exists and not overwrite:
        raise OutputError(
            f"{folder} exists already\n  options: another folder, or --overwrite (overwrite=True) to replace it"
        )


@contextmanager
def complete_folder(folder: Path, *, overwrite: bool, marker: str) -> Iterator[Path]:
    """A folder to fill that takes its final name only when the body ends without an error.

    An existing folder is refused unless `overwrite`, and then only replaced when it holds `marker`, the file by which a folder
    made by tsveil is known: nobody loses other files to a mistyped path. That is so too for a folder that appears while the body runs. Whenever
    the process is killed, the old folder is intact or the new one complete.
    """
    lock, names = None, list[Path]()
    try:
        refuse_existing(folder, overwrite=overwrite)
        final = _final(folder)
        _refuse_foreign(folder, final, marker)
        final.parent.mkdir(parents=True, exist_ok=True)
        partial, lock = claimed_folder(final, names)
        yield partial
        flush_all(partial)
        _take_name(partial, final, folder, marker, overwrite=overwrite)
        flush(final.parent)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        for name in names:
            discard(name, partial_name(final))  # half a release, or the one that was replaced
        unlock(lock)


def _take_name(partial: Path, final: Path, folder: Path, marker: str, *, overwrite: bool) -> None:
    """Give the finished folder its final name, in the place of an older one if that may be replaced."""
    if not overwrite or not (final.exists() or final.is_symlink()):
        try:
            rename_new(partial, final)
        except FileExistsError as error:
            raise OutputError(
                f"{folder} appeared during the work and is left as it is; what was made for it is discarded\n"
                "  options: another folder, or --overwrite (overwrite=True) to replace it"
            ) from error
        return
    _refuse_foreign(folder, final, marker)
    if exchange(partial, final):
        try:
            _refuse_foreign(folder, partial, marker)  # it may have changed in the last moment
        except OutputError:
            exchange(partial, final)
            raise
        return
    old = partial.with_suffix(".old")
    final.rename(old)
    try:
        partial.rename(final)
    except OSError:
        old.rename(final)
        raise
    remove(old)


def _refuse_foreign(folder: Path, place: Path, marker: str) -> None:
    """Refuse to replace what was not made by tsveil; an empty folder may be."""
    if (place.exists() or place.is_symlink()) and (
        not place.is_dir() or (any(place.iterdir()) and not (place / marker).is_file())
    ):
        raise OutputError(f"{folder} was not made by tsveil and is not overwritten\n  options: another folder")


def _final(folder: Path) -> Path:
    """Where the folder is: a link to a folder stays a link."""
    return folder.resolve() if folder.is_dir() else folder


def write_text(path: Path, text: str) -> None:
    """Write a small text file so that it is complete or absent."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a small file so that it is complete or absent."""
    partial = partial_name(path)
    try:
        partial.write_bytes(content)
        flush(partial)
        partial.replace(path)
        flush(path.parent)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
