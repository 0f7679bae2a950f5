"""A folder of Parquet files as one data set that is never read at once.

Records are numbered through all files, in the order of the files' names: this number is a record's index, by which ties are broken. Work
is cut into chunks of consecutive records, wherever one file ends and the next begins; so nothing depends on how the records are spread
over files.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from tsveil._types import Array
from tsveil.data._trial import Piece, parsing_problems
from tsveil.data.dataset import Block, Dataset, Layout
from tsveil.data.frames import BlockSpec, dataset_from_wide
from tsveil.data.guess import guess
from tsveil.data.read import columns_of
from tsveil.errors import InputError, Problems, some

#: records that are looked at to find out what a column is
HEAD = 1000
#: how many problems of one kind are spelled out
MOST = 5
#: whole numbers up to here have a float64 of their own
EXACT = 2**53
#: what helps with a file that a worker cannot read
SHARED = "options: write the file again; workers must see the input under the same path, and nobody may change it during a run"


class BlockRole(msgspec.Struct, frozen=True):
    """A block of columns, in plain values."""

    name: str
    columns: tuple[str, ...]
    times: tuple[float, ...] | None
    labels: tuple[str, ...]

    def block(self) -> Block:
        """The block as a data set has it."""
        return Block(self.name, self.columns, None if self.times is None else np.array(self.times), self.labels)


class Source(msgspec.Struct, frozen=True):
    """Files, the number of records in each, and the roles of the columns; make one with `tsveil.source`."""

    files: tuple[str, ...]
    rows: tuple[int, ...]
    blocks: tuple[BlockRole, ...]
    id: str | None = None
    confidential: tuple[str, ...] = ()
    #: columns without a role, which are left out
    dropped: tuple[str, ...] = ()
    #: columns of whole numbers
    integers: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of records."""
        return sum(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all blocks."""
        return tuple(column for block in self.blocks for column in block.columns)

    @property
    def series(self) -> tuple[BlockRole, ...]:
        """The blocks that are time series."""
        return tuple(block for block in self.blocks if block.times is not None)

    def span(self, name: str) -> slice:
        """The places of a block's columns among all columns."""
        at = 0
        for block in self.blocks:
            if block.name == name:
                break
            at += len(block.columns)
        return slice(at, at + len(block.columns))

    def dataset(self, values: Array) -> Dataset:
        """Values of some records as a data set."""
        return Dataset(
            values=values,
            blocks=tuple(role.block() for role in self.blocks),
            others=pl.DataFrame(),
            layout=Layout(format="parquet"),
        )

    def pieces(self, start: int, stop: int) -> list[tuple[str, int, int]]:
        """File, first row and number of rows that hold the records start..stop.

        Examples
        --------
        >>> Source(("a", "b"), (3, 4), ()).pieces(2, 5)
        [('a', 2, 1), ('b', 0, 2)]
        """
        found = []
        begin = 0
        for file, rows in zip(self.files, self.rows, strict=True):
            low, high = max(start, begin), min(stop, begin + rows)
            if low < high:
                found.append((file, low - begin, high - low))
            begin += rows
        return found

    def frame(self, start: int, stop: int, columns: Sequence[str]) -> pl.DataFrame:
        """Columns of the records start..stop."""
        wanted = list(columns)
        found = []
        for file, first, count in self.pieces(start, stop):
            try:
                found.append(pl.scan_parquet(file, glob=False).select(wanted).slice(first, count).collect())
            except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                raise InputError(f"{unreadable(file, error)}\n  {SHARED}") from error
        return pl.concat(found)

    def values(self, start: int, stop: int) -> Array:
        """The values of the records start..stop; NaN where one is missing."""
        return as_values(self.frame(start, stop, self.columns))

    def place(self, record: int) -> str:
        """Where a record stands, for a message."""
        file, row, _ = self.pieces(record, record + 1)[0]
        return f"{Path(file).name}, row {row + 1}"


def unreadable(file: str | Path, problem: object) -> str:
    """What is wrong with a file, and where it was found out."""
    return f"{Path(file).name} cannot be read on {platform.node()}: {str(problem).strip().splitlines()[0]}"


def as_values(frame: pl.DataFrame) -> Array:
    """A frame of numbers as a contiguous array."""
    return np.ascontiguousarray(frame.cast(pl.Float64).to_numpy(), dtype=np.float64)


def source(
    path: str | Path,
    *,
    id: str | None = None,
    blocks: Mapping[str, BlockSpec] | None = None,
    confidential: str | Sequence[str] = (),
) -> Source:
    """A data set in Parquet files with a row per record: a folder of them, or a single one.

    `id`, `blocks` and `confidential` are those of `tsveil.read`; what is left out is guessed from the first records. Hidden files and
    folders and those that begin with an underscore are passed over.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> pl.DataFrame({"meter": ["a", "b"], "1": [1.0, 2.0], "2": [1.5, 2.5]}).write_parquet(folder / "x.parquet")
    >>> found = source(folder)
    >>> found.n, found.id, found.columns
    (2, 'meter', ('1', '2'))
    """
    place = Path(path)
    problems = Problems(f"{place.name} cannot be used")
    files = _files(place, problems)
    _try([(str(file), (), 0, 0 if at else HEAD) for at, file in enumerate(files)], problems)
    schemas = {file: dict(pl.read_parquet_schema(file)) for file in files}
    _check_schemas(schemas, problems)
    problems.raise_if_any()
    rows = [int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()) for file in files]
    filled = next((file for file, count in zip(files, rows, strict=True) if count), None)
    if filled is None:
        problems.add("there are no records")
        problems.raise_if_any()
    assert filled is not None
    if filled != files[0]:
        _try([(str(filled), (), 0, HEAD)], problems)
    data = _head(filled, id, blocks, confidential)
    for column in data.columns:
        kind = schemas[filled][column]
        if not kind.is_numeric():
            problems.add(f"column {column!r} holds values of type {kind}, not numbers")
    problems.raise_if_any()
    return Source(
        files=tuple(str(file.absolute()) for file in files),
        rows=tuple(rows),
        blocks=tuple(
            BlockRole(b.name, b.columns, None if b.times is None else tuple(b.times.tolist()), b.labels)
            for b in data.blocks
        ),
        id=data.id,
        confidential=data.confidential,
        dropped=data.dropped,
        integers=tuple(column for column in data.columns if schemas[filled][column].is_integer()),
    )


def _files(place: Path, problems: Problems) -> list[Path]:
    if place.is_file():
        return [place]
    if not place.is_dir():
        problems.add("there is no such file or folder")
    else:
        found = [
            file
            for file in sorted(place.rglob("*.parquet"))
            if not any(part.startswith((".", "_")) for part in file.relative_to(place).parts)
        ]
        if found:
            return found
        problems.add("the folder holds no file that ends with .parquet")
    problems.raise_if_any()
    return []


def _try(pieces: Sequence[Piece], problems: Problems) -> None:
    """Refuse files that cannot be parsed: what follows would end with this process."""
    for (file, *_), problem in zip(pieces, parsing_problems(pieces), strict=True):
        if problem:
            problems.add(f"{Path(file).name} cannot be read as Parquet: {problem}")
    problems.raise_if_any()


def _check_schemas(schemas: Mapping[Path, Mapping[str, pl.DataType]], problems: Problems) -> None:
    """All files have the same columns."""
    first = next(iter(schemas))
    for file, schema in schemas.items():
        if lacking := [name for name in schemas[first] if name not in schema]:
            problems.add(f"{file.name} lacks the column {some(lacking)}, which {first.name} has")
        if strange := [name for name in schema if name not in schemas[first]]:
            problems.add(f"{file.name} has the column {some(strange)}, which {first.name} lacks")
        for name in schema:
            kinds = (schema[name], schemas[first].get(name, schema[name]))
            if kinds[0] != kinds[1] and not all(kind.is_numeric() for kind in kinds):
                problems.add(
                    f"column {name!r} is of type {kinds[0]} in {file.name} and of type {kinds[1]} in {first.name}"
                )


def _head(
    file: Path, id: str | None, blocks: Mapping[str, BlockSpec] | None, confidential: str | Sequence[str]
) -> Dataset:
    """The first records, with their roles."""
    frame = pl.scan_parquet(file, glob=False).head(HEAD).collect()
    carried = [confidential] if isinstance(confidential, str) else list(confidential)
    found = guess(frame, layout="wide", id=id, confidential=carried)
    if blocks and id is None and found.id in columns_of(blocks, frame.columns):
        found = replace(found, id=None)
    specs: Mapping[str, BlockSpec] = blocks or {
        name: {"columns": columns, "kind": found.kinds[name]} for name, columns in found.blocks.items()
    }
    if not specs:
        raise InputError(
            f"{file.name} cannot be used: no column holds numbers that could be protected\n"
            f"  columns available: {some(frame.columns, 20)}"
        )
    return dataset_from_wide(
        frame,
        blocks=specs,
        id=found.id,
        confidential=found.confidential,
        layout=Layout(format="parquet"),
        subject=f"{file.name} cannot be used",
    )
