"""A frame protected in one call: the same kind of frame with the same columns, verified before it is given back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tsveil.core.errors import GuaranteeError, InputError, Problems, some
from tsveil.core.randomness import fresh_seed
from tsveil.core.registry import METHODS, starting
from tsveil.data.column_types import types_of, with_types
from tsveil.data.dataset import Dataset, Layout
from tsveil.data.frames import BlockSpec, Times, dataset_from_long, dataset_from_wide
from tsveil.data.gaps import Missing
from tsveil.data.native import as_polars, like_given
from tsveil.data.table import as_list

_SUBJECT = "the frame cannot be protected"
#: ways to treat gaps after which no cell is empty
_CLOSED = ("refuse", "drop", "interpolate")


def anonymise(
    frame: Any,
    *,
    id: str | None = None,
    time: str | None = None,
    value: str | Sequence[str] | None = None,
    k: int = 5,
    blocks: Mapping[str, BlockSpec] | None = None,
    times: Times = None,
    confidential: str | Sequence[str] = (),
    leave_out: str | Sequence[str] = (),
    time_format: str | None = None,
    missing: Missing = "refuse",
    seed: int | None = None,
) -> Any:
    """A frame in which every row of values is shared by at least k records: MDAV with its defaults.

    The frame may be of pandas, polars (lazy, too), pyarrow or DuckDB, and what comes back is of the same kind, with the columns in the same order and of
    the same types. It is read into memory. Before it is given back it is read again as it is and its promise is checked by code that knows nothing of the method.

    What changes beside the values, as in a release: records come in random order, and identifiers are fresh, because the place of a row or a name that stayed would say
    whose it is. An identifier of texts gets random names, one of numbers 1, 2, ... in the random order. Means in columns of whole numbers or decimals are rounded to what the
    column holds. Types that list labels list the published ones only. An index of pandas without a name is numbered anew, and the metadata of pyarrow stay behind.

    Each record is taken for a person of its own. Columns without a role are refused, as they would say what the others hide. No attack is run, and nothing is measured:
    `Release.write` does that. A relation of DuckDB comes back on the default connection.

    Parameters
    ----------
    frame
        The data: a row per record and time, or with `blocks` a row per record.
    id, time, value
        The columns of a long frame: the record, the time, and one or several series; unless given those that forecasting libraries use: unique_id, ds and y.
        Of a wide frame only `id`, if it has one.
    k
        The fewest records that share a published row of values.
    blocks, times
        What is protected together in a wide frame, as for `Dataset.from_frame`.
    confidential
        Columns that are carried unchanged. They are not protected, and whoever knows a rare value can link by it.
    leave_out
        Columns that do not come back.
    time_format, missing
        As for `Dataset.from_long`; missing="mask" needs a release.
    seed
        For tests only: grouping, order and names then follow from it. It is drawn from the operating system and forgotten otherwise.

    Returns
    -------
    Any
        A new frame of the same kind.

    Raises
    ------
    InputError
        If the frame, its columns or k cannot be used; all problems at once.
    GuaranteeError
        If what was made does not keep its promise; nothing is given back then.

    Examples
    --------
    >>> import polars as pl, tsveil as tv
    >>> frame = pl.DataFrame({"unique_id": ["a", "a", "b", "b"], "ds": [1, 2, 1, 2], "y": [1.0, 3.0, 2.0, 5.0]})
    >>> safe = tv.anonymise(frame, k=2)
    >>> safe.drop("unique_id").rows()
    [(1, 1.5), (2, 4.0), (1, 1.5), (2, 4.0)]
    """
    given = as_polars(frame)
    roles = _Roles(id, time, value, blocks, times, confidential, leave_out, time_format, missing)
    roles.check(given)
    data = roles.dataset(given)
    release = METHODS[starting()](k=k).protect(data, seed=fresh_seed() if seed is None else seed)
    for text in release.warnings:
        warnings.warn(text, UserWarning, stacklevel=2)
    table = _with_given_types(release.to_polars(), given, data, roles)
    safe = like_given(table, frame)
    verdict = release.guarantee.verify(roles.dataset(as_polars(safe)))
    if not verdict.holds:
        raise GuaranteeError(f"what was made of the frame does not keep its promise and is not given back\n{verdict}")
    return safe


class _Roles:
    """What the columns of a frame are for."""

    def __init__(
        self,
        id: str | None,
        time: str | None,
        value: str | Sequence[str] | None,
        blocks: Mapping[str, BlockSpec] | None,
        times: Times,
        confidential: str | Sequence[str],
        leave_out: str | Sequence[str],
        time_format: str | None,
        missing: Missing,
    ) -> None:
        self.long = blocks is None
        self.given = {"time": time, "value": value} if blocks is not None else {"times": times}
        self.id = ("unique_id" if id is None else id) if self.long else id
        self.time = "ds" if time is None else time
        self.values = as_list("y" if value is None else value)
        self.blocks, self.times = blocks or {}, times
        self.confidential, self.leave_out = as_list(confidential), as_list(leave_out)
        self.time_format, self.missing = time_format, missing

    def check(self, given: pl.DataFrame) -> None:
        """Refuse what would otherwise fail late, or change a column quietly."""
        problems = Problems(_SUBJECT)
        for name, what in self.given.items():
            if what is not None:
                problems.add(f"{name}= is for a {'wide' if self.long else 'long'} frame, and blocks= {'was not given' if self.long else 'makes it a wide one'}")  # fmt: skip
        if self.missing not in _CLOSED:
            problems.add(f"missing must be one of {some(_CLOSED)}. Got {self.missing!r}.")
            if self.missing == "mask":
                problems.hint("options: Dataset.from_long(frame, missing='mask'), a method's protect, release.to_pandas() or to_polars()")  # fmt: skip
        if unknown := [name for name in self.leave_out if name not in given.columns]:
            problems.add(f"column {some(unknown)} is to be left out and does not exist")
            problems.hint(f"columns available: {some(given.columns, 20)}")
        if both := [name for name in self.leave_out if name in {self.id, *self.confidential, *(self._long_columns())}]:
            problems.add(f"column {some(both)} is to be left out and has a role")
        if self.id in given.columns and not _takes_names(given.schema[str(self.id)]):
            problems.add(f"the identifier {self.id!r} is of the type {given.schema[str(self.id)]}, which has no place for fresh identifiers")  # fmt: skip
            problems.hint("options: make it a column of texts or whole numbers first")
        problems.raise_if_any()

    def _long_columns(self) -> list[str]:
        return [self.time, *self.values] if self.long else []

    def dataset(self, table: pl.DataFrame) -> Dataset:
        """The records of a table that looks like the one given."""
        table = table.drop(self.leave_out, strict=False)
        if self.long:
            data = dataset_from_long(
                table,
                id=str(self.id),
                time=self.time,
                value=self.values,
                confidential=self.confidential,
                time_format=self.time_format,
                missing=self.missing,
                layout=Layout(),  # without types: they are given back here, identifiers and means among them
                subject=_SUBJECT,
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
                subject=_SUBJECT,
            )
        if data.dropped:
            raise InputError(
                f"{_SUBJECT}: column {some(data.dropped)} has no role\n"
                f"  options: leave_out={list(data.dropped)!r} leaves out what is not to be published, confidential= carries columns unchanged"
            )
        texts = [name for name in (self.values if self.long else data.columns) if not table.schema[name].is_numeric()]
        if texts:
            raise InputError(
                f"{_SUBJECT}: column {some(texts)} has values of the type {table.schema[texts[0]]}, which cannot hold a mean\n"
                "  options: make it a column of numbers first"
            )
        return data


def _takes_names(kind: pl.DataType) -> bool:
    return kind.is_integer() or kind.is_float() or kind.base_type() in (pl.String, pl.Categorical, pl.Enum)


def _with_given_types(made: pl.DataFrame, given: pl.DataFrame, data: Dataset, roles: _Roles) -> pl.DataFrame:
    """The published table with the columns of the frame that was given, in their order and of their types."""
    columns = {name: kind for name, kind in given.schema.items() if name in made.columns}
    values = roles.values if roles.long else list(data.columns)
    made = made.select(list(columns))
    if roles.id is not None:
        made = made.with_columns(_fresh_names(made[roles.id], columns[roles.id]))
    if roles.long:
        made = made.with_columns(_times(made[roles.time], given[roles.time], data))
    made = made.with_columns(_fitting(made[name], columns[name]) for name in values)
    return with_types(made, types_of(given))


def _fitting(column: pl.Series, kind: pl.DataType) -> pl.Series:
    """Means in the type of the column: whole numbers and decimals to the nearest."""
    if kind.is_integer():
        return column.round().cast(kind) if column.dtype.is_float() else column.cast(kind)
    if isinstance(kind, pl.Decimal):
        return column.cast(pl.Float64).round(kind.scale).cast(kind)
    return column.cast(kind)


def _fresh_names(names: pl.Series, kind: pl.DataType) -> pl.Series:
    """Fresh identifiers in the type of the column; numbers count the records in their random order."""
    if not kind.is_numeric():
        return names.cast(pl.Enum(names.unique(maintain_order=True)) if kind.base_type() is pl.Enum else kind)
    different = names.unique(maintain_order=True)
    bounds = pl.Series([0], dtype=kind)
    # As many identifiers as a small type has values start at the least of them.
    small = kind.is_integer() and len(different) > bounds.upper_bound().item()
    first = bounds.lower_bound().item() if small else 1
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
