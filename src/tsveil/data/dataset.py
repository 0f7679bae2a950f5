"""The one data type: records by numeric columns, the columns parted into blocks.

A **block** is what is protected together: a time series (columns ordered in time, with their times) or a group of
attributes. Beside the blocks stand the columns of other **roles**, in a frame and of any type: the identifier (replaced
in a release), the columns that say to which **person** a record belongs (never published), and the confidential columns
(carried unchanged). What has no role is dropped, and its name is kept for the report.

A **record** is a row; a **person** is whoever must not be found: a person, a household, a firm. Without person columns each
record is a person of its own.

A Dataset is checked when it is made and never changes afterwards; its arrays are read-only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.core.notebook import table_in_html
from tsveil.core.types import AnyArray, Array, ArrayLike, Indices
from tsveil.data.categories import Categories, CategorySpec
from tsveil.data.times import times_as_numbers

if TYPE_CHECKING:
    from tsveil.data.frames import BlockSpec, Times
    from tsveil.data.gaps import Missing
    from tsveil.data.source import Source


BlockKind = Literal["series", "categorical series", "attributes", "categories"]
#: what a block may be, in the order in which data sets name them
KINDS: tuple[BlockKind, ...] = ("series", "categorical series", "attributes", "categories")


def kind_of(in_time: bool, labels: bool) -> BlockKind:
    """What a block is whose columns are ordered in time or not, and hold labels or numbers."""
    return KINDS[2 * (not in_time) + labels]


@dataclass(frozen=True, eq=False)
class Block:
    """Columns that are protected together; a time series when it has times."""

    name: str
    #: the columns' names, unique in the data set
    columns: tuple[str, ...]
    #: strictly increasing times of the columns; None for attributes
    times: Array | None = None
    #: the times as they are written in the file
    labels: tuple[str, ...] = ()
    #: how these are read where they do not say it themselves (`time_forms`)
    form: str = ""
    #: the labels of each column whose values are codes of labels; None: numbers
    categories: tuple[Categories, ...] | None = None

    @property
    def is_series(self) -> bool:
        """Whether it is a time series of numbers."""
        return self.times is not None and self.categories is None

    @property
    def kind(self) -> BlockKind:
        """What it is."""
        return kind_of(self.times is not None, self.categories is not None)

    def __len__(self) -> int:
        return len(self.columns)


def block_in_words(block: Block) -> str:
    """What a block holds, for a reader of the release.

    Examples
    --------
    >>> block_in_words(Block("person", ("age", "pay")))
    '2 attributes'
    """
    count = f"{len(block):,}"
    return {
        "series": f"time series of {count} points",
        "categorical series": f"time series of labels at {count} points",
        "attributes": f"{count} attributes",
        "categories": f"{count} columns of labels" if len(block) > 1 else "a column of labels",
    }[block.kind]


@dataclass(frozen=True)
class Layout:
    """How the file of a data set looks, so that a release can look the same."""

    shape: Literal["wide", "long"] = "wide"
    format: str = "csv"
    separator: str = ","
    decimal: str = "."
    #: the sheet or table in the file
    place: str = ""
    #: the types of the columns, as a table without rows in the format of Arrow; empty where the format has none
    types: bytes = field(default=b"", repr=False)
    #: wide: the columns in the order of the file, as far as they matter
    order: tuple[str, ...] = ()
    #: long: the columns with the time, the series' name (None: one column per series) and the values
    time: str = "time"
    #: long: the columns with the date and the time of day, where these stand apart; `time` is then a name for both
    time_parts: tuple[str, ...] = ()
    variable: str | None = None
    values: tuple[str, ...] = ("value",)


@dataclass(frozen=True)
class Origin:
    """The files that a data set was read from."""

    #: the absolute path of the file, folder or pattern, and the options of `tsveil.read` that were given
    path: str
    options: Mapping[str, Any]
    #: the SHA-256 of the file; of several, that of the list of their hashes
    digest: str


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """n records by p numeric columns in blocks, with identifier and confidential columns beside them.

    Make one with `from_arrays`, `from_frame` or `tsveil.read`.

    Examples
    --------
    >>> import numpy as np, tsveil as tv
    >>> data = tv.Dataset.from_arrays({"load": np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]])}, times=[0, 1, 2])
    >>> data
    Dataset: 2 records; series 'load' (3 points)
    >>> data.block("load")
    array([[1., 2., 4.],
           [3., 5., 9.]])
    """

    values: Array
    blocks: tuple[Block, ...]
    #: the columns of other roles, a row per record: the identifier if there is one, the person and the confidential columns
    others: pl.DataFrame
    #: the name of the identifier column, or None
    id: str | None = None
    confidential: tuple[str, ...] = ()
    #: the columns whose values say to which person a record belongs; none: each record is a person of its own
    person: tuple[str, ...] = ()
    #: columns of the input that are in no block and have no role
    dropped: tuple[str, ...] = ()
    layout: Layout = field(default_factory=Layout)
    #: what reading did to the records (dropped, filled, resampled), in sentences
    notes: tuple[str, ...] = ()
    #: NaN is admitted; only the measures and attacks that define it take such data
    missing: bool = False
    #: gaps take part as gaps (missing="mask"): methods that know gaps protect them, and a published empty cell is a value of its own
    masked: bool = False
    #: columns that held whole numbers only
    integers: frozenset[str] = frozenset()
    #: what it was read from, if it was
    origin: Origin | None = None

    def __post_init__(self) -> None:
        values = np.ascontiguousarray(self.values, dtype=np.float64)
        if values is self.values:
            values = values.view()
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        if self.masked and not self.missing:
            object.__setattr__(self, "missing", True)
        self._check()

    # -- making one ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, ArrayLike],
        *,
        times: Sequence[Any] | AnyArray | Mapping[str, Sequence[Any] | AnyArray] | None = None,
        ids: Sequence[Any] | AnyArray | None = None,
        persons: Sequence[Any] | AnyArray | None = None,
        confidential: Mapping[str, Sequence[Any]] | pl.DataFrame | None = None,
    ) -> Dataset:
        """Series from (records, points) arrays, one per block.

        Parameters
        ----------
        arrays
            The name of a block to its array.
        times
            One sequence for all blocks, or one per block: numbers, time stamps or texts of either; 0, 1, 2, ... unless given.
        ids, persons
            A value per record: its identifier, and to whom it belongs.
        confidential
            The name of a column to a value per record.

        Returns
        -------
        Dataset
            A record per row.

        Raises
        ------
        InputError
            If anything is wrong with the data; all problems at once, with their places.

        Examples
        --------
        >>> import tsveil as tv
        >>> tv.Dataset.from_arrays({"gas": [[1, 2], [3, 4]], "power": [[5, 6], [7, 8]]}, ids=["a", "b"])
        Dataset: 2 records; series 'gas' (2 points), 'power' (2 points); identifier 'id'
        """
        problems = Problems("the arrays cannot be used")
        if not arrays:
            problems.add("no array was given")
        matrices: dict[str, Array] = {}
        for name, array in arrays.items():
            try:
                matrix = np.asarray(array, dtype=np.float64)
            except (TypeError, ValueError):
                problems.add(f"block {name!r} holds something other than numbers, or rows of unequal length")
                continue
            if matrix.ndim != 2 or 0 in matrix.shape:
                problems.add(f"block {name!r} must be a table of records by points. Got the shape {matrix.shape}.")
                continue
            matrices[name] = matrix
        lengths = {name: len(matrix) for name, matrix in matrices.items()}
        if len(set(lengths.values())) > 1:
            problems.add(f"the blocks have different numbers of records: {lengths}")
        problems.raise_if_any()
        n = next(iter(lengths.values()))

        blocks = []
        for name, matrix in matrices.items():
            given = times.get(name) if isinstance(times, Mapping) else times
            labels = tuple(str(label) for label in (given if given is not None else range(matrix.shape[1])))
            if len(labels) != matrix.shape[1]:
                problems.add(f"block {name!r} has {matrix.shape[1]} points, but {len(labels)} times were given")
                continue
            numbers = times_as_numbers(list(given)) if given is not None else np.arange(len(labels), dtype=np.float64)
            if numbers is None:
                problems.add(f"the times of block {name!r} are neither numbers nor time stamps: {some(labels, 3)}")
                continue
            columns = labels if len(matrices) == 1 else tuple(f"{name}.{label}" for label in labels)
            blocks.append(Block(name, columns, numbers, labels))

        carried = pl.DataFrame(dict(confidential) if isinstance(confidential, Mapping) else confidential)
        named = {"id": ids, "person": persons}
        own = [pl.Series(name, list(given)) for name, given in named.items() if given is not None]
        try:
            others = pl.DataFrame([*own, *carried.get_columns()])
        except pl.exceptions.PolarsError as error:
            problems.add(f"the ids, persons and confidential values do not fit together: {error}")
            others = pl.DataFrame()
        if others.width and len(others) != n:
            problems.add(f"there are {n} records, but {len(others)} ids, persons or confidential values")
        problems.raise_if_any()
        return cls(
            values=np.hstack([matrices[block.name] for block in blocks]),
            blocks=tuple(blocks),
            others=others,
            id="id" if ids is not None else None,
            person=("person",) if persons is not None else (),
            confidential=tuple(carried.columns),
        )

    @classmethod
    def from_aeon(
        cls,
        collection: AnyArray,
        *,
        channels: Sequence[str] | None = None,
        times: Sequence[Any] | AnyArray | None = None,
        ids: Sequence[Any] | AnyArray | None = None,
        persons: Sequence[Any] | AnyArray | None = None,
        confidential: Mapping[str, Sequence[Any]] | pl.DataFrame | None = None,
    ) -> Dataset:
        """Series from an array of cases by channels by points, as aeon and sktime have them; a case is a record, and each channel a series.

        Parameters
        ----------
        collection
            An array of three dimensions; one of two has a single channel.
        channels
            The names of the series, channel_0, channel_1, ... unless given.
        times, ids, persons, confidential
            As for `from_arrays`; all channels have the same times.

        Returns
        -------
        Dataset
            A record per case. Panels of sktime in frames are taken by `from_long`, which needs the levels of their index to have names.

        Raises
        ------
        InputError
            If it is no such array: cases of unequal length come as a list, which `from_long` and `resample` take.

        Examples
        --------
        >>> import numpy as np, tsveil as tv
        >>> tv.Dataset.from_aeon(np.zeros((4, 2, 24)), channels=["power", "gas"])
        Dataset: 4 records; series 'power' (24 points), 'gas' (24 points)
        """
        if not isinstance(collection, np.ndarray) or collection.ndim not in (2, 3):
            got = f"the shape {collection.shape}" if isinstance(collection, np.ndarray) else type(collection).__name__
            raise InputError(
                f"the array cannot be used: cases by channels by points are needed. Got {got}.\n"
                "  options: cases of unequal length go through `Dataset.from_long` with resample=m"
            )
        cube = collection if collection.ndim == 3 else collection[:, None, :]
        names = [f"channel_{at}" for at in range(cube.shape[1])] if channels is None else list(channels)
        if len(names) != cube.shape[1] or len(set(names)) < len(names):
            raise InputError(
                f"the array cannot be used: it has {cube.shape[1]} channels, and {some(names)} must be as many different names"
            )
        arrays = {name: cube[:, at] for at, name in enumerate(names)}
        return cls.from_arrays(arrays, times=times, ids=ids, persons=persons, confidential=confidential)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        blocks: Mapping[str, BlockSpec] | None = None,
        id: str | None = None,
        person: str | Sequence[str] = (),
        confidential: Sequence[str] = (),
        categories: Mapping[str, CategorySpec] | None = None,
        times: Times = None,
        time_format: str | None = None,
        missing: Missing = "refuse",
        resample: int | None = None,
    ) -> Dataset:
        """From a frame with a row per record.

        Parameters
        ----------
        frame
            A frame of polars, pandas, pyarrow or DuckDB.
        blocks
            The name of a block to its columns: a list, or {"from": first, "to": last} for all columns between two. It is a series when `times` has its times, or when its columns' names are numbers or time stamps (a word may stand before the stamps, as in load.2018-01-01).
        id
            The column with the identifier, if there is one.
        person
            The columns that say to whom a record belongs, where one person may have several records.
        confidential
            Columns that are carried unchanged.
        categories
            Columns, or blocks of them, whose values are labels: "nominal", "ordinal" (in the order of the data type), a list of labels in their order, or {"hierarchy": a CSV file with a line per label and its ancestors}. A block holds either numbers or labels; a series of labels has the same ones at all times. Columns that are in no block make one of their own.
        times
            The times of each block, or of all; times={"name": None} makes one a block of attributes in any case.
        time_format
            How times are written that do not say it themselves, as for `tsveil.read`.
        missing
            What to do with gaps: "refuse" them, "drop" the records, "interpolate" linearly in time (the ends take the nearest value), "mask" protects records with their gaps, "keep" admits NaN for measures and attacks that define it.
        resample
            Bring every series to this many points, from its first to its last value.

        Returns
        -------
        Dataset
            A record per row.

        Raises
        ------
        InputError
            If anything is wrong with the data; all problems at once, with their places.

        Examples
        --------
        >>> import polars as pl, tsveil as tv
        >>> frame = pl.DataFrame({"who": ["x", "y"], "age": [31, 44], "pay": [1.5, 2.5], "ill": ["no", "yes"]})
        >>> tv.Dataset.from_frame(frame, id="who", blocks={"person": ["age", "pay"]}, confidential=["ill"])
        Dataset: 2 records; attributes 'person' (2 columns); identifier 'who'; confidential 'ill'
        """
        from tsveil.data.frames import dataset_from_wide

        return dataset_from_wide(
            frame,
            blocks=blocks or {},
            id=id,
            person=person,
            confidential=confidential,
            categories=categories,
            times=times,
            time_format=time_format,
            missing=missing,
            resample=resample,
        )

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        id: str,
        time: str,
        value: str | Sequence[str],
        variable: str | None = None,
        person: str | Sequence[str] = (),
        confidential: Sequence[str] = (),
        categories: Mapping[str, CategorySpec] | None = None,
        time_format: str | None = None,
        missing: Missing = "refuse",
        resample: int | None = None,
    ) -> Dataset:
        """From a frame with a row per record and time, in any order.

        A series has the times that occur in any record; a record that lacks some of them has gaps.

        Parameters
        ----------
        frame
            A frame of polars, pandas, pyarrow or DuckDB.
        id, time
            The columns with the record and the time.
        value
            The columns with values: a series each.
        variable
            The column whose words name the series, where one column holds the values of several.
        person
            The columns that say to whom a record belongs, where one person may have several records. They have one value per record.
        confidential
            Columns that are carried unchanged; they have one value per record.
        categories
            Columns, or blocks of them, whose values are labels: "nominal", "ordinal" (in the order of the data type), a list of labels in their order, or {"hierarchy": a CSV file with a line per label and its ancestors}. A block holds either numbers or labels; a series of labels has the same ones at all times. Columns that are in no block make one of their own.
        time_format
            How times are written that do not say it themselves, as for `tsveil.read`.
        missing
            What to do with gaps: "refuse" them, "drop" the records, "interpolate" linearly in time (the ends take the nearest value), "mask" protects records with their gaps, "keep" admits NaN for measures and attacks that define it.
        resample
            Bring every series to this many points, from its first to its last value.

        Returns
        -------
        Dataset
            A record per identifier, in the order in which these appear.

        Raises
        ------
        InputError
            If anything is wrong with the data; all problems at once, with their places.

        Examples
        --------
        >>> import polars as pl, tsveil as tv
        >>> frame = pl.DataFrame({"who": ["x", "x", "y", "y"], "day": [1, 2, 1, 2], "load": [5.0, 6.0, 7.0, 8.0]})
        >>> data = tv.Dataset.from_long(frame, id="who", time="day", value="load")
        >>> data
        Dataset: 2 records; series 'load' (2 points); identifier 'who'
        >>> data.block("load")
        array([[5., 6.],
               [7., 8.]])
        """
        from tsveil.data.frames import dataset_from_long

        return dataset_from_long(
            frame,
            id=id,
            time=time,
            value=value,
            variable=variable,
            person=person,
            confidential=confidential,
            categories=categories,
            time_format=time_format,
            missing=missing,
            resample=resample,
        )

    @property
    def source(self) -> Source | None:
        """The files that the records are read from when they are needed; None: they are in memory."""
        return None

    def from_files(self, origin: Origin) -> Dataset:
        """The same data, read from some files.

        Parameters
        ----------
        origin
            The files, and the options of reading.

        Returns
        -------
        Dataset
            The same records.
        """
        return replace(self, origin=origin)

    def with_values(self, values: Array) -> Dataset:
        """The same records and roles with other values in the blocks.

        Parameters
        ----------
        values
            An array (records, columns).

        Returns
        -------
        Dataset
            A new data set.

        Raises
        ------
        InputError
            If the array has another shape, or a value is not a finite number.
        """
        return replace(self, values=values)

    def take(self, rows: Indices | Sequence[int]) -> Dataset:
        """The records at these rows, in this order.

        Parameters
        ----------
        rows
            Numbers of records, from 0.

        Returns
        -------
        Dataset
            A new data set.

        Raises
        ------
        IndexError
            If there is no such record.
        """
        rows = np.asarray(rows, dtype=np.int64)
        others = self.others[rows.tolist()] if self.others.width else self.others
        return replace(self, values=self.values[rows], others=others, origin=None)

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.values.shape[0])

    def __len__(self) -> int:
        return self.n

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in blocks, in the order of `values`."""
        return tuple(column for block in self.blocks for column in block.columns)

    @property
    def series(self) -> tuple[Block, ...]:
        """The blocks that are time series of numbers."""
        return tuple(block for block in self.blocks if block.is_series)

    @property
    def labels(self) -> dict[str, Categories]:
        """The categories of each column that has them."""
        return {
            name: categories
            for block in self.blocks
            for name, categories in zip(block.columns, block.categories or (), strict=block.categories is not None)
        }

    @property
    def ids(self) -> pl.Series:
        """The identifier column; where there is none the numbers of the rows, from 1 as messages count them."""
        if self.id is None:
            return pl.Series("row", np.arange(1, self.n + 1))
        return self.others[self.id]

    @property
    def persons(self) -> Indices:
        """The person of each record, numbered from 0 in the order of their first records."""
        return person_numbers(self.others, self.person) if self.person else np.arange(self.n)

    def block_named(self, name: str) -> Block:
        """The block with this name.

        Parameters
        ----------
        name
            The name of the block.

        Returns
        -------
        Block
            The block.

        Raises
        ------
        InputError
            If there is no block of this name.
        """
        for block in self.blocks:
            if block.name == name:
                return block
        raise InputError(f"there is no block {name!r}\n  blocks available: {', '.join(b.name for b in self.blocks)}")

    def span(self, name: str) -> slice:
        """The columns of `values` that a block occupies.

        Parameters
        ----------
        name
            The name of the block.

        Returns
        -------
        slice
            Its places.

        Raises
        ------
        InputError
            If there is no block of this name.
        """
        start = 0
        for block in self.blocks:
            if block.name == name:
                return slice(start, start + len(block))
            start += len(block)
        self.block_named(name)  # raises, with the names that exist
        raise AssertionError

    def block(self, name: str) -> Array:
        """The (records, columns) array of a block, read-only.

        Parameters
        ----------
        name
            The name of the block.

        Returns
        -------
        numpy.ndarray
            A view.

        Raises
        ------
        InputError
            If there is no block of this name.

        Examples
        --------
        >>> import tsveil as tv
        >>> tv.Dataset.from_arrays({"load": [[1.0, 2.0]]}).block("gas")
        Traceback (most recent call last):
        tsveil.core.errors.InputError: there is no block 'gas'
          blocks available: load
        """
        return self.values[:, self.span(name)]

    def __repr__(self) -> str:
        kinds: dict[str, list[str]] = {}
        for b in self.blocks:
            kinds.setdefault(b.kind, []).append(f"{b.name!r} ({len(b)} {'columns' if b.times is None else 'points'})")
        parts = [f"{self.n} records"]
        parts += [f"{kind} {', '.join(kinds[kind])}" for kind in KINDS if kind in kinds]
        parts += [f"identifier {self.id!r}"] if self.id else []
        parts += [f"persons by {some(self.person)}"] if self.person else []
        parts += [f"confidential {some(self.confidential)}"] if self.confidential else []
        return "Dataset: " + "; ".join(parts)

    def _repr_html_(self) -> str:
        """The blocks and roles, for notebooks; no value of any record."""
        roles = [("identifier", [self.id] if self.id else []), ("person", self.person), ("confidential", self.confidential), ("left out", self.dropped)]  # fmt: skip
        rows = [(block.name, block_in_words(block)) for block in self.blocks]
        rows += [(what, some(names)) for what, names in roles if names]
        return table_in_html(f"Dataset: {self.n:,} records", (), rows)

    # -- what must hold -----------------------------------------------------------------------------------------------

    def _check(self) -> None:
        problems = Problems("the data cannot be used")
        columns = self.columns
        if self.values.ndim != 2 or self.values.shape[1] != len(columns):
            problems.add(f"the values have the shape {self.values.shape}, but the blocks name {len(columns)} columns")
        if not self.values.size:
            problems.add("there are no records" if len(columns) else "there are no blocks")
        _check_unique("block", [block.name for block in self.blocks], problems)
        _check_unique("column", list(columns), problems)
        for block in self.blocks:
            check_times(block, problems)
        problems.raise_if_any()
        self._check_cells(problems)
        if self.id is not None and self.id in self.others.columns:
            check_ids(self.others[self.id], problems)
        check_persons(self.others, self.person, problems)
        problems.raise_if_any()

    def _check_cells(self, problems: Problems) -> None:
        bad = ~np.isfinite(self.values)
        if self.missing:
            bad &= ~np.isnan(self.values)
        if not bad.any():
            return
        columns = self.columns
        cells = np.argwhere(bad)
        for row, column in cells[:5]:
            value = self.values[row, column]
            what = "missing (NaN)" if np.isnan(value) else "infinite"
            problems.add(f"row {row + 1}, column {columns[column]!r}: the value is {what}")
        if len(cells) > 5:
            records = int(bad.any(1).sum())
            problems.add(f"... and {len(cells) - 5} more cells that are missing or infinite, in {records} records")
        problems.hint(
            "options: drop these records, fill the gaps or protect them as gaps (missing='drop', missing='interpolate', missing='mask' when reading)"
        )


def _check_unique(what: str, names: list[str], problems: Problems) -> None:
    seen: set[str] = set()
    twice = [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    if twice:
        problems.add(f"{what} named more than once: {some(twice)}")


def check_times(block: Block, problems: Problems) -> None:
    """The points of a series come in the order of time."""
    if block.times is None:
        return
    if len(block.times) != len(block):
        problems.add(f"block {block.name!r} has {len(block)} columns and {len(block.times)} times")
    elif not np.isfinite(block.times).all():
        problems.add(f"block {block.name!r} has a time that is not a finite number")
    elif (backwards := np.flatnonzero(np.diff(block.times) <= 0)).size:
        at = int(backwards[0])
        shown = block.labels or tuple(f"{t:g}" for t in block.times)
        problems.add(
            f"the times of block {block.name!r} must increase, but {shown[at]!r} is followed by "
            f"{shown[at + 1]!r} (points {at + 1} and {at + 2})"
        )


def check_ids(ids: pl.Series, problems: Problems, rows: Indices | None = None) -> None:
    """An identifier names one record: refuse missing and repeated ones, with their rows (1, 2, ... unless given)."""
    numbers = np.arange(1, len(ids) + 1) if rows is None else rows
    if ids.null_count():
        empty = numbers[ids.is_null().to_numpy()].tolist()
        problems.add(f"column {ids.name!r}: the id is missing in {len(empty)} records (rows {some(empty)})")
    if ids.n_unique() < len(ids):
        places: dict[Any, list[int]] = {}
        for row, value in zip(numbers.tolist(), ids.to_list(), strict=True):
            places.setdefault(value, []).append(row)
        repeated = {value: found for value, found in places.items() if len(found) > 1 and value is not None}
        for value, found in list(repeated.items())[:5]:
            problems.add(f"column {ids.name!r}: the id {value!r} occurs {len(found)} times (rows {some(found)})")
        if len(repeated) > 5:
            problems.add(f"... and {len(repeated) - 5} more ids that occur more than once")
    _check_lookalikes(ids, problems, numbers)


def check_persons(others: pl.DataFrame, person: Sequence[str], problems: Problems, rows: Indices | None = None) -> None:
    """Everybody's records must be known to be theirs: refuse missing names, and names that look alike but differ."""
    numbers = np.arange(1, len(others) + 1) if rows is None else rows
    for name in person:
        column = others[name]
        if column.null_count():
            empty = numbers[column.is_null().to_numpy()].tolist()
            problems.add(f"column {name!r}: the person is missing in {len(empty)} records (rows {some(empty)})")
        distinct = pl.DataFrame({name: column, "row": numbers}).unique(name, maintain_order=True)
        _check_lookalikes(distinct[name], problems, distinct["row"].to_numpy())


def person_numbers(others: pl.DataFrame, person: Sequence[str]) -> Indices:
    """The person of each row, numbered from 0 in the order of their first rows.

    Examples
    --------
    >>> person_numbers(pl.DataFrame({"home": ["b", "a", "b"], "flat": [1, 1, 2]}), ["home"])
    array([0, 1, 0])
    """
    own = others.select(person)
    every = own.unique(maintain_order=True).with_row_index("number")
    return own.join(every, on=list(person), how="left", maintain_order="left")["number"].to_numpy().astype(np.int64)


def visible_text(text: str) -> str:
    """What a reader sees of an id: one form for each accented letter, no invisible characters, no spaces around.

    Examples
    --------
    >>> visible_text("h1 ")
    'h1'
    """
    return "".join(c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c) != "Cf").strip()


def _check_lookalikes(ids: pl.Series, problems: Problems, rows: Indices) -> None:
    """Refuse ids that a reader cannot tell apart: one person counted twice would make a group seem larger than it is."""
    if ids.dtype != pl.String:
        return
    odd = ids.str.contains(r"[^\x21-\x7e]").fill_null(False)
    if not odd.any():
        return
    seen: dict[str, str] = {}
    first: dict[str, int] = {}
    found = []
    for row, text in zip(rows.tolist(), ids.to_list(), strict=True):
        if text is None:
            continue
        shown = visible_text(text)
        if seen.setdefault(shown, text) != text:
            found.append(
                f"column {ids.name!r}: the ids in rows {first[shown]} and {row} look the same ({shown!r}) but are written differently"
            )
        first.setdefault(shown, row)
    for text in found[:5]:
        problems.add(text)
    if len(found) > 5:
        problems.add(f"... and {len(found) - 5} more ids that look like another one")
    if found:
        problems.hint(
            "options: write each id in one way (Unicode NFC, without invisible characters and spaces around it)"
        )
