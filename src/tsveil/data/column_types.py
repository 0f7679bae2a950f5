"""The types of columns, kept from the file that was read to the file that is published.

What is published must not change by its type: a column gets the type that it had if every cell fits it exactly, and keeps 64 bits otherwise. A mean of whole
numbers is not whole, and a mean of numbers of 32 bits needs 64.
"""

from __future__ import annotations

import io
import re
from datetime import UTC, date, datetime, time
from typing import Any

import polars as pl

#: more digits of a second than Python keeps
_TOO_FINE = re.compile(r"\.\d{7}")


def types_of(frame: pl.DataFrame) -> bytes:
    """The types of the columns of a frame, in plain bytes.

    Examples
    --------
    >>> stored = types_of(pl.DataFrame({"load": [1]}, schema={"load": pl.Int16}))
    >>> with_types(pl.DataFrame({"load": [7]}), stored).dtypes
    [Int16]
    """
    made = io.BytesIO()
    frame.clear().write_ipc(made, compression="uncompressed")
    return made.getvalue()


def with_types(frame: pl.DataFrame, stored: bytes) -> pl.DataFrame:
    """A frame in which each column has the type that it had in the file that was read, where its cells fit it."""
    if not stored:
        return frame
    types = pl.read_ipc(io.BytesIO(stored)).schema
    return frame.with_columns(_with_type(column, types[column.name]) for column in frame if column.name in types)


def _with_type(column: pl.Series, kind: Any) -> pl.Series:
    if column.dtype == kind:
        return column
    if kind in (pl.Categorical, pl.Enum):
        return _categories(column, kind)
    if column.dtype == pl.String and kind.base_type() in (pl.Datetime, pl.Date, pl.Time):
        return _moments(column, kind)
    if not (column.dtype.is_numeric() and kind.is_numeric()):
        return column
    try:
        found = (
            column.round(kind.scale).cast(kind) if kind.is_decimal() and column.dtype.is_float() else column.cast(kind)
        )
        back = found.cast(column.dtype)
    except pl.exceptions.PolarsError:
        return column
    return found if bool((back == column).fill_null(True).all()) else column


def _categories(column: pl.Series, kind: Any) -> pl.Series:
    """Words as categories: only those that occur, in the order of the type, or else as they come. All words of the original would tell of records that are not published."""
    if column.dtype != pl.String:
        return column
    if not isinstance(kind, pl.Enum):
        return column.cast(pl.Categorical)
    present = set(column.drop_nulls().to_list())
    return column.cast(pl.Enum([word for word in kind.categories.to_list() if word in present]))


def _moments(column: pl.Series, kind: Any) -> pl.Series:
    """Times that were texts meanwhile; they stay texts where one does not fit the type."""
    zone = kind.time_zone if isinstance(kind, pl.Datetime) else None
    parse: Any = {pl.Date: date.fromisoformat, pl.Time: time.fromisoformat}.get(
        kind.base_type(), datetime.fromisoformat
    )
    moments: dict[str, Any] = {}
    try:
        for text in column.drop_nulls().unique().to_list():
            moments[text] = parse(text)
    except ValueError:
        return column
    aware = {
        one.tzinfo is not None for one in moments.values() if not isinstance(one, date) or isinstance(one, datetime)
    }
    if _TOO_FINE.search(" ".join(moments)) or (isinstance(kind, pl.Datetime) and aware - {zone is not None}):
        return column
    texts = list(moments)
    if zone is None:
        found = pl.Series(list(moments.values()), dtype=kind)
    else:
        universal = [one.astimezone(UTC).replace(tzinfo=None) for one in moments.values()]
        found = (
            pl.Series(universal, dtype=pl.Datetime(kind.time_unit))
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone(zone)
        )
    return column.replace_strict(pl.Series(texts), found, return_dtype=kind, default=None)
