"""Files as one data set whose records are read when they are needed: a folder of Parquet or CSV files, or a large one.

Records are numbered through all files, in the order of the files' names: this number is a record's index, by which ties are broken. Work
is cut into chunks of consecutive records, wherever one file ends and the next begins; so nothing depends on how the records are spread
over files.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.core.types import Array
from tsveil.data.categories import Categories, CategorySpec, categories_of
from tsveil.data.column_types import types_of
from tsveil.data.dataset import Block, Dataset, Layout, Origin
from tsveil.data.file_table import FileTable, Wanted
from tsveil.data.files import opened_table
from tsveil.data.formats.known import FORMATS
from tsveil.data.frames import BlockSpec, dataset_from_wide
from tsveil.data.guess import guess, like_persons, questions_of_repeats
from tsveil.data.questions import ask
from tsveil.data.read import columns_of, layout_of
from tsveil.data.table import as_list, check_names
from tsveil.data.trial import Piece, parsing_problems

#: records that are looked at to find out what a column is
HEAD = 1000
#: the format of which some rows and columns are read alone
IN_PARTS = "parquet"
#: nobody said anything of how files are read
AS_IT_IS = Wanted()
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
    form: str = ""
    #: those of each column, or those that all points of a series have
    categories: tuple[Categories, ...] | None = None

    @classmethod
    def of(cls, block: Block) -> BlockRole:
        """The role of a block."""
        times = None if block.times is None else tuple(block.times.tolist())
        categories = block.categories and (block.categories if times is None else block.categories[:1])
        return cls(block.name, block.columns, times, block.labels, block.form, categories)

    def block(self) -> Block:
        """The block as a data set has it."""
        times = None if self.times is None else np.array(self.times)
        return Block(self.name, self.columns, times, self.labels, self.form, self.of_columns)

    @property
    def of_columns(self) -> tuple[Categories, ...] | None:
        """The categories of each column."""
        return self.categories and self.categories * (1 if self.times is None else len(self.columns))


class Source(msgspec.Struct, frozen=True):
    """Files, the number of records in each, and the roles of the columns; data in memory have no files."""

    files: tuple[str, ...]
    rows: tuple[int, ...]
    blocks: tuple[BlockRole, ...]
    id: str | None = None
    confidential: tuple[str, ...] = ()
    person: tuple[str, ...] = ()
    #: columns without a role, which are left out
    dropped: tuple[str, ...] = ()
    #: columns of whole numbers
    integers: tuple[str, ...] = ()
    #: how the file looks, so that a release can look the same
    layout: Layout = Layout(format=IN_PARTS)
    #: what reading did to the records, in sentences
    notes: tuple[str, ...] = ()
    #: gaps take part as gaps
    masked: bool = False
    #: what was said of how the files are read
    wanted: Wanted = AS_IT_IS

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
        """The blocks that are time series of numbers."""
        return tuple(block for block in self.blocks if block.times is not None and block.categories is None)

    @property
    def labels(self) -> dict[str, Categories]:
        """The categories of each column that has them."""
        return {
            name: categories
            for block in self.blocks
            for name, categories in zip(block.columns, block.of_columns or (), strict=block.categories is not None)
        }

    def span(self, name: str) -> slice:
        """The places of a block's columns among all columns."""
        at = 0
        for block in self.blocks:
            if block.name == name:
                break
            at += len(block.columns)
        return slice(at, at + len(block.columns))

    @classmethod
    def of(cls, data: Dataset) -> Source:
        """The roles of a data set in memory, which has no files."""
        return cls(
            files=(),
            rows=(data.n,),
            blocks=tuple(BlockRole.of(block) for block in data.blocks),
            id=data.id,
            confidential=data.confidential,
            person=data.person,
            dropped=data.dropped,
            integers=tuple(name for name in data.columns if name in data.integers),
            layout=data.layout,
            notes=data.notes,
            masked=data.masked,
        )

    @property
    def others(self) -> list[str]:
        """The columns beside the blocks that are read: the identifier, the person and the confidential ones."""
        return list(dict.fromkeys([*([self.id] if self.id else []), *self.person, *self.confidential]))

    def dataset(self, values: Array, others: pl.DataFrame | None = None) -> Dataset:
        """Some records as a data set: their values, and the identifier and confidential columns if these are given."""
        blocks = tuple(role.block() for role in self.blocks)
        if others is None:
            return Dataset(values, blocks, pl.DataFrame(), layout=self.layout, masked=self.masked)
        return Dataset(
            values,
            blocks,
            others,
            id=self.id,
            confidential=self.confidential,
            person=self.person,
            dropped=self.dropped,
            layout=self.layout,
            notes=self.notes,
            integers=frozenset(self.integers),
            masked=self.masked,
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
            if not self.in_parts:
                table = whole_table(file, self.wanted)
                found.append(
                    table.frame_with_texts(self.id, self.confidential, *self.person, *self.labels).select(wanted)[
                        first : first + count
                    ]
                )
                continue
            try:
                found.append(pl.scan_parquet(file, glob=False).select(wanted).slice(first, count).collect())
            except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                raise InputError(f"{unreadable(file, error)}\n  {SHARED}") from error
        return pl.concat(found)

    @property
    def in_parts(self) -> bool:
        """Whether some rows and columns of a file can be read alone; of others the whole table is."""
        return self.layout.format == IN_PARTS

    def values(self, start: int, stop: int) -> Array:
        """The values of the records start..stop; NaN where one is missing."""
        return self.coded(self.frame(start, stop, self.columns))

    def coded(self, frame: pl.DataFrame) -> Array:
        """The columns of all blocks as numbers: labels by their codes."""
        labels = self.labels
        return as_values(
            frame.select(
                pl.Series(name, labels[name].codes(frame[name])) if name in labels else frame[name]
                for name in self.columns
            )
        )

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


class FileDataset(Dataset):
    """A data set whose records stay in their files; `values` and `others` read all of them into memory, once.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> pl.DataFrame({"meter": ["a", "b"], "1": [1.0, 2.0], "2": [1.5, 2.5]}).write_parquet(folder / "x.parquet")
    >>> data = FileDataset.of(source_of([folder / "x.parquet"], "x"))
    >>> data
    Dataset: 2 records; series 'series' (2 points); identifier 'meter'
    >>> data.values
    array([[1. , 1.5],
           [2. , 2.5]])
    """

    _source: Source

    @classmethod
    def of(cls, source: Source) -> FileDataset:
        """The data set of some files."""
        data = object.__new__(cls)
        fields: dict[str, Any] = {
            "_source": source,
            "blocks": tuple(role.block() for role in source.blocks),
            "id": source.id,
            "confidential": source.confidential,
            "person": source.person,
            "dropped": source.dropped,
            "layout": source.layout,
            "notes": source.notes,
            "missing": source.masked,
            "masked": source.masked,
            "integers": frozenset(source.integers),
            "origin": None,
        }
        for name, value in fields.items():
            object.__setattr__(data, name, value)
        return data

    def __getattr__(self, name: str) -> Any:
        if name not in ("values", "others") or "_source" not in self.__dict__:
            raise AttributeError(name)
        whole = self.load()
        object.__setattr__(self, "values", whole.values)
        object.__setattr__(self, "others", whole.others)
        return getattr(whole, name)

    def from_files(self, origin: Origin) -> FileDataset:
        """The same data, which stay in their files."""
        data = FileDataset.of(self._source)
        object.__setattr__(data, "origin", origin)
        return data

    @property
    def source(self) -> Source | None:
        """The files."""
        return self.__dict__.get("_source")

    @property
    def n(self) -> int:
        """The number of records."""
        source = self.source
        return len(self.values) if source is None else source.n

    def load(self) -> Dataset:
        """The same records in memory."""
        source = self._source
        frame = source.frame(0, source.n, [*source.columns, *source.others])
        return source.dataset(source.coded(frame), frame.select(source.others))


def source_of(
    files: Sequence[Path],
    name: str,
    *,
    id: str | None = None,
    blocks: Mapping[str, BlockSpec] | None = None,
    confidential: str | Sequence[str] = (),
    person: str | Sequence[str] = (),
    categories: Mapping[str, CategorySpec] | None = None,
    leave_out: str | Sequence[str] = (),
    numbers: str | Sequence[str] = (),
    independent_rows: bool = False,
    transpose: bool | None = None,
    wanted: Wanted = AS_IT_IS,
    time_format: str | None = None,
    layout: Literal["wide"] | None = None,
    masked: bool = False,
) -> Source:
    """Files with a row per record as one source; what is not given is guessed from the first records. `name` is for messages."""
    problems = Problems(f"{name} cannot be used")
    parquet = [(str(file), (), 0, 0 if at else HEAD) for at, file in enumerate(files) if file.suffix == ".parquet"]
    _try(parquet, problems)
    shape = Layout(format=IN_PARTS)
    frames: dict[Path, pl.DataFrame] = {}
    tables: dict[Path, FileTable] = {}
    notes: tuple[str, ...] = ()
    if not parquet:
        first = opened_table(files[0], wanted)
        shape = layout_of(first)
        if FORMATS[first.format].lines:  # one file decides for all
            wanted = replace(wanted, separator=first.separator, decimal=first.decimal)
        tables = {file: whole_table(str(file), wanted) for file in files}
        frames = {file: table.frame for file, table in tables.items()}
        notes = tuple(dict.fromkeys(note for table in tables.values() for note in table.notes))
        ask(name, tuple(dict.fromkeys(question for table in tables.values() for question in table.questions)))
    schemas = {file: dict(frames[file].schema if frames else pl.read_parquet_schema(file)) for file in files}
    _check_schemas(schemas, problems)
    problems.raise_if_any()
    rows = [
        frames[file].height if frames else int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
        for file in files
    ]
    filled = next((file for file, count in zip(files, rows, strict=True) if count), None)
    if filled is None:
        problems.add("there are no records")
        problems.raise_if_any()
    assert filled is not None
    if parquet and filled != files[0]:
        _try([(str(filled), (), 0, HEAD)], problems)
    if parquet:
        shape = replace(shape, types=types_of(pl.scan_parquet(filled, glob=False).head(0).collect()))
    head = frames[filled].head(HEAD) if frames else pl.scan_parquet(filled, glob=False).head(HEAD).collect()
    answers = {
        "leave_out": as_list(leave_out),
        "numbers": as_list(numbers),
        "independent_rows": independent_rows,
        "transpose": transpose,
        "time_format": time_format,
        "masked": masked,
    }
    labels = _labels_of_files(categories or {}, blocks or {}, files, schemas[filled], frames, tables, problems)
    problems.raise_if_any()
    if frames and labels:
        head = tables[filled].frame_with_texts(None, (), *labels).head(HEAD)
    data = _roles(filled, head, id, blocks, confidential, person, shape, "wide" if blocks else layout, labels, answers)
    guessed = [data.id] if id is None and data.id is not None else []
    if not data.person:
        # What repeats in another file, or after the first records, repeats all the same.
        known = {*as_list(leave_out), *data.confidential, *data.columns, id}
        named = list(dict.fromkeys([*guessed, *(c for c in like_persons(schemas[filled]) if c not in known)]))
        if parquet and named:
            _try([(str(file), named, 0, count) for file, count in zip(files, rows, strict=True)], problems)
        lazy = [frames[file].lazy() if frames else pl.scan_parquet(file, glob=False) for file in files]
        names = pl.concat([table.select(named) for table in lazy], how="vertical_relaxed").collect()
        if not independent_rows:
            ask(name, questions_of_repeats(names, named))
        elif guessed and names[guessed[0]].is_duplicated().any():
            guessed = []
    for column in data.columns:
        kind = schemas[filled][column]
        if not kind.is_numeric() and column not in data.labels:
            problems.add(f"column {column!r} holds values of type {kind}, not numbers")
    problems.raise_if_any()
    return Source(
        files=tuple(str(file.absolute()) for file in files),
        rows=tuple(rows),
        blocks=tuple(BlockRole.of(block) for block in data.blocks),
        id=next(iter(guessed), id),
        confidential=data.confidential,
        person=data.person,
        dropped=data.dropped,
        integers=tuple(c for c in data.columns if schemas[filled][c].is_integer() and c not in data.labels),
        layout=data.layout,
        notes=notes,
        masked=masked,
        wanted=wanted,
    )


@lru_cache(maxsize=2)
def whole_table(file: str, wanted: Wanted) -> FileTable:
    """A file that is read at once; the last ones are kept, for several chunks may come from one."""
    return opened_table(Path(file), wanted)


def _try(pieces: Sequence[Piece], problems: Problems) -> None:
    """Refuse files that cannot be parsed: what follows would end with this process."""
    for (file, *_), problem in zip(pieces, parsing_problems(pieces), strict=True):
        if problem:
            problems.add(f"{Path(file).name} cannot be read as Parquet: {problem}")
    problems.raise_if_any()


def _check_schemas(schemas: Mapping[Path, Mapping[str, pl.DataType]], problems: Problems) -> None:
    """All files have the same columns."""
    first = next(iter(schemas))
    check_names(schemas[first], problems)
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


def _labels_of_files(
    categories: Mapping[str, CategorySpec], blocks: Mapping[str, BlockSpec], files: Sequence[Path], schema: Mapping[str, pl.DataType],
    frames: Mapping[Path, pl.DataFrame], tables: Mapping[Path, FileTable], problems: Problems,
) -> dict[str, Categories]:  # fmt: skip
    """Columns or blocks -> their categories, from the labels in all files."""
    found = {}
    for name, spec in categories.items():
        columns = (
            [name]
            if name in schema
            else sorted(columns_of({name: blocks[name]}, list(schema)) if name in blocks else ())
        )
        if not columns or any(column not in schema for column in columns):
            problems.add(f"categories names {name!r}, which is neither a block nor a column")
            problems.hint(f"columns available: {some(schema, 20)}")
            continue
        seen = [
            pl.concat(
                [
                    tables[file].frame_with_texts(None, (), column)[column].unique().to_frame()
                    if frames
                    else pl.scan_parquet(file, glob=False).select(pl.col(column).unique()).collect()
                    for file in files
                ],
                how="vertical_relaxed",
            ).to_series()
            for column in columns
        ]
        what = f"column {name!r}" if name in schema else f"block {name!r}"
        if (own := categories_of(seen, spec, what, problems)) is not None:
            found[name] = own
    return found


def _roles(
    file: Path, head: pl.DataFrame, id: str | None, blocks: Mapping[str, BlockSpec] | None,
    confidential: str | Sequence[str], person: str | Sequence[str], layout: Layout, wide: Literal["wide"] | None,
    categories: Mapping[str, Categories], answers: Mapping[str, Any],
) -> Dataset:  # fmt: skip
    """The first records, with their roles."""
    carried, owner = as_list(confidential), as_list(person)
    judged = columns_of(blocks, head.columns) if blocks else ()
    roles = {name: answer for name, answer in answers.items() if name != "masked"}
    found = guess(
        head,
        layout=wide,
        id=id,
        person=owner,
        confidential=carried,
        judged=judged,
        categories=list(categories),
        **roles,
    )
    ask(file.name, found.questions)
    if found.layout == "long":
        raise InputError(
            f"{file.name} looks like a table with a row per record and time, which is read at once, and it does not fit into the memory "
            "allowed\n  options: allow more memory, or layout='wide' if each row is a record of its own"
        )
    if blocks and id is None and found.id in columns_of(blocks, head.columns):
        found = replace(found, id=None)
    specs: Mapping[str, BlockSpec] = blocks or {
        name: {"columns": columns, "kind": found.kinds[name]} for name, columns in found.blocks.items()
    }
    if not specs and not categories:
        raise InputError(
            f"{file.name} cannot be used: no column holds numbers that could be protected\n"
            f"  columns available: {some(head.columns, 20)}"
        )
    return dataset_from_wide(
        head,
        blocks=specs,
        id=found.id,
        person=found.person,
        confidential=found.confidential,
        categories=categories,
        time_format=answers["time_format"],
        missing="mask" if answers["masked"] else "refuse",
        layout=layout,
        subject=f"{file.name} cannot be used",
    )
