"""What the columns of a frame are for, and its columns and types after protection: for frames in memory and for those of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.data.column_types import types_of, with_types
from tsveil.data.dataset import Dataset, Layout
from tsveil.data.frames import dataset_from_long, dataset_from_wide
from tsveil.data.table import as_list

SUBJECT = "the frame cannot be protected"
#: ways to treat gaps after which no cell is empty
_CLOSED = ("refuse", "drop", "interpolate")


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """What the columns of a frame are for, as `tsveil.anonymise` was asked; with blocks it is a wide frame."""

    id: Any = None
    time: Any = None
    value: Any = None
    blocks: Any = None
    times: Any = None
    confidential: Any = ()
    leave_out: Any = ()
    time_format: Any = None
    missing: Any = "refuse"

    @property
    def long(self) -> bool:
        """Whether the frame has a row per record and time."""
        return self.blocks is None

    @property
    def identifier(self) -> str | None:
        """The column that names the record; a wide frame may have none."""
        found: str | None = "unique_id" if self.long and self.id is None else self.id
        return found

    @property
    def clock(self) -> str:
        """The column with the time of a long frame."""
        return "ds" if self.time is None else str(self.time)

    @property
    def values(self) -> list[str]:
        """The columns with the values of a long frame."""
        return as_list("y" if self.value is None else self.value)

    def plain(self) -> Roles:
        """The same in values that can travel to a worker."""
        return msgspec.structs.replace(self, **{name: _plain(getattr(self, name)) for name in self.__struct_fields__})

    def check(self, given: pl.DataFrame) -> None:
        """Refuse what would otherwise fail late, or change a column quietly."""
        problems = Problems(SUBJECT)
        foreign = {"times": self.times} if self.long else {"time": self.time, "value": self.value}
        for name, what in foreign.items():
            if what is not None:
                problems.add(f"{name}= is for a {'wide' if self.long else 'long'} frame, and blocks= {'was not given' if self.long else 'makes it a wide one'}")  # fmt: skip
        if self.missing not in _CLOSED:
            problems.add(f"missing must be one of {some(_CLOSED)}. Got {self.missing!r}.")
            if self.missing == "mask":
                problems.hint("options: Dataset.from_long(frame, missing='mask'), a method's protect, release.to_pandas() or to_polars()")  # fmt: skip
        if unknown := [name for name in as_list(self.leave_out) if name not in given.columns]:
            problems.add(f"column {some(unknown)} is to be left out and does not exist")
            problems.hint(f"columns available: {some(given.columns, 20)}")
        if both := [name for name in as_list(self.leave_out) if name in self._taken()]:
            problems.add(f"column {some(both)} is to be left out and has a role")
        if self.identifier in given.columns and not _takes_names(given.schema[str(self.identifier)]):
            problems.add(f"the identifier {self.identifier!r} is of the type {given.schema[str(self.identifier)]}, which has no place for fresh identifiers")  # fmt: skip
            problems.hint("options: make it a column of texts or whole numbers first")
        problems.raise_if_any()

    def _taken(self) -> set[str | None]:
        return {self.identifier, *as_list(self.confidential), *([self.clock, *self.values] if self.long else [])}

    def dataset(self, table: pl.DataFrame) -> Dataset:
        """The records of a table that looks like the one given."""
        table = table.drop(as_list(self.leave_out), strict=False)
        if self.long:
            data = dataset_from_long(
                table,
                id=str(self.identifier),
                time=self.clock,
                value=self.values,
                confidential=self.confidential,
                time_format=self.time_format,
                missing=self.missing,
                layout=Layout(),  # without types: they are given back here, identifiers and means among them
                subject=SUBJECT,
            )
        else:
            data = dataset_from_wide(
                table,
                blocks=self.blocks,
                id=self.id,
                confidential=self.confidential,
                times=self.times,
                time_format=self.time_format,
                missing=self.missing,
                layout=Layout(),
                subject=SUBJECT,
            )
        if data.dropped:
            raise InputError(
                f"{SUBJECT}: column {some(data.dropped)} has no role\n"
                f"  options: leave_out={list(data.dropped)!r} leaves out what is not to be published, confidential= carries columns unchanged"
            )
        texts = [name for name in (self.values if self.long else data.columns) if not table.schema[name].is_numeric()]
        if texts:
            raise InputError(
                f"{SUBJECT}: column {some(texts)} has values of the type {table.schema[texts[0]]}, which cannot hold a mean\n"
                "  options: make it a column of numbers first"
            )
        return data


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _takes_names(kind: pl.DataType) -> bool:
    return kind.is_integer() or kind.is_float() or kind.base_type() in (pl.String, pl.Categorical, pl.Enum)


def with_given_types(
    made: pl.DataFrame, given: pl.DataFrame, data: Dataset, roles: Roles, *, before: int = 0, records: int | None = None
) -> pl.DataFrame:
    """The published table with the columns of the frame that was given, in their order and of their types.

    Of `given` only the types and the times matter. `made` may be a piece of the table: `before` records are in earlier pieces, and `records` in all of them.
    """
    columns = {name: kind for name, kind in given.schema.items() if name in made.columns}
    values = roles.values if roles.long else list(data.columns)
    made = made.select(list(columns))
    if roles.identifier is not None:
        made = made.with_columns(_fresh_names(made[roles.identifier], columns[roles.identifier], before, records))
    if roles.long:
        made = made.with_columns(_times(made[roles.clock], given[roles.clock], data))
    made = made.with_columns(_fitting(made[name], columns[name]) for name in values)
    return with_types(made, types_of(given))


def _fitting(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Means in the type of the column: whole numbers and decimals to the nearest."""
    if kind.is_integer():
        return column.round().cast(kind) if column.dtype.is_float() else column.cast(kind)
    if isinstance(kind, pl.Decimal):
        return column.cast(pl.Float64).round(kind.scale).cast(kind)
    return column.cast(kind)


def _fresh_names(names: pl.Series, kind: pl.DataType, before: int, records: int | None) -> pl.Series:
    """Fresh identifiers in the type of the column; numbers count the records in their random order, after those in earlier pieces."""
    if not kind.is_numeric():
        return names.cast(pl.Enum(names.unique(maintain_order=True)) if kind.base_type() is pl.Enum else kind)
    different = names.unique(maintain_order=True)
    bounds = pl.Series([0], dtype=kind)
    # As many identifiers as a small type has values start at the least of them.
    small = kind.is_integer() and (records or len(different)) > bounds.upper_bound().item()
    first = before + (bounds.lower_bound().item() if small else 1)
    numbers = pl.Series(range(first, first + len(different)), dtype=pl.Int64)
    return names.replace_strict(different, numbers, return_dtype=pl.Int64).cast(kind)


def _times(texts: pl.Series, given: pl.Series, data: Dataset) -> pl.Series:
    """The times as they were given, instead of as texts."""
    different = given.unique(maintain_order=True)
    place: dict[str, int] = {}
    for at, one in enumerate(different.to_list()):
        place.setdefault(one.isoformat() if hasattr(one, "isoformat") else str(one), at)
    labels = list(dict.fromkeys(label for block in data.blocks for label in block.labels))
    keys = pl.Series([int(label) for label in labels] if texts.dtype.is_integer() else labels)
    places = texts.replace_strict(keys, pl.Series([place[label] for label in labels]), return_dtype=pl.Int64)
    return different.gather(places).rename(given.name)
