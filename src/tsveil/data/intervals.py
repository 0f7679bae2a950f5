"""Tables that publish intervals instead of values: envelopes of time series, with or without a pattern.

The layout, in CSV and Parquet alike, has a row per record and these columns:

    lo_T, hi_T     for every time point T, in the order of time: the record's value lies between the two, both included
    pattern        the shape of the record's series: a SAX word with a letter per segment (`tsveil.transform.sax`), `aabc`, or the value of PAA of each
                   segment (`tsveil.transform.paa`), `[-0.5 0.5 1.5 -1.5]`
    level          how fine the pattern is: a word of level 4 has the letters a to d, and values of level 4 are 1 apart
    any other      carried unchanged

`pattern` and `level` come together or not at all. Rows have no identifier and no meaningful order.

Examples
--------
>>> import polars as pl
>>> frame = pl.DataFrame({"lo_1": [1, 1], "hi_1": [3, 3], "lo_2": [5, 5], "hi_2": [9, 9], "pattern": ["ab", "ab"], "level": [2, 2]})
>>> table = IntervalTable.from_frame(frame)
>>> table
IntervalTable: 2 records; envelopes of 2 points; patterns of 2 letters
>>> table.hi
array([[3., 9.],
       [3., 9.]])
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil.core.errors import InputError, Problems, some
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.native import as_polars
from tsveil.data.read import look_at
from tsveil.data.table import as_numbers, tell
from tsveil.transform.pattern import segments

LOW, HIGH = "lo_", "hi_"
WORD, LEVEL = "pattern", "level"
#: how many problems of one kind are spelled out
MOST = 5


@dataclass(frozen=True, eq=False, repr=False)
class IntervalTable:
    """A published table of envelopes; make one with `from_frame` or `read_intervals`."""

    #: the time points as they are written
    labels: tuple[str, ...]
    #: (records, points)
    lo: Array
    hi: Array
    #: the pattern of each record as it is written, and its level; none in a table of envelopes alone
    words: tuple[str, ...] | None = None
    levels: Indices | None = None
    #: the carried columns
    others: pl.DataFrame = field(default_factory=pl.DataFrame)
    #: envelopes and patterns as they stand in the file, where numbers may be written in more than one way
    written: pl.DataFrame | None = None

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.lo.shape[0])

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        shape = (
            f"; patterns of {segments(self.words[0])} {'values' if self.words[0].startswith('[') else 'letters'}"
            if self.words
            else ""
        )
        carried = f"; carried {some(self.others.columns)}" if self.others.width else ""
        return f"IntervalTable: {self.n} records; envelopes of {len(self.labels)} points{shape}{carried}"

    def take(self, rows: Indices) -> IntervalTable:
        """The records at these rows, in this order."""
        chosen = rows.tolist()
        return IntervalTable(
            self.labels,
            self.lo[rows],
            self.hi[rows],
            None if self.words is None else tuple(self.words[row] for row in chosen),
            None if self.levels is None else self.levels[rows],
            self.others[chosen] if self.others.width else self.others,
            None if self.written is None else self.written[chosen],
        )

    def to_frame(self, whole: Collection[str] = ()) -> pl.DataFrame:
        """The table as it is written; the bounds at the `whole` time points as whole numbers.

        Examples
        --------
        >>> table = IntervalTable(("1",), np.array([[1.0]]), np.array([[2.0]]), ("a",), np.array([1]))
        >>> table.to_frame(whole={"1"}).row(0)
        (1, 2, 'a', 1)
        """
        columns = []
        for at, label in enumerate(self.labels):
            kind = pl.Int64 if label in whole else pl.Float64
            # Adding zero turns -0.0 into 0.0: the two are equal numbers, but would be published as different texts.
            columns.append(pl.Series(LOW + label, self.lo[:, at] + 0.0).cast(kind))
            columns.append(pl.Series(HIGH + label, self.hi[:, at] + 0.0).cast(kind))
        if self.words is not None and self.levels is not None:
            columns.append(pl.Series(WORD, self.words, dtype=pl.String))
            columns.append(pl.Series(LEVEL, self.levels, dtype=pl.Int64))
        return pl.DataFrame([*columns, *self.others.get_columns()])

    @classmethod
    def from_frame(cls, frame: Any, *, subject: str = "the table cannot be used") -> IntervalTable:
        """Read a frame of polars, pandas, pyarrow or DuckDB; the frame must have the layout, but nothing is promised of its contents.

        Examples
        --------
        >>> import polars as pl
        >>> IntervalTable.from_frame(pl.DataFrame({"lo_1": [1.0, None], "hi_1": [2.0, 3.0], "pattern": ["a", "b"]}))
        Traceback (most recent call last):
        tsveil.core.errors.InputError: the table cannot be used: 2 problems
          1. row 2, column 'lo_1': a number is missing
          2. there is a column 'pattern', but no column 'level'; a pattern means nothing without it
        """
        frame = as_polars(frame)
        problems = Problems(subject)
        labels = _labels(frame, problems)
        numbers = {name: _numbers(frame[name], problems) for label in labels for name in (LOW + label, HIGH + label)}
        given = [name for name in (WORD, LEVEL) if name in frame.columns]
        words = levels = None
        if len(given) == 1:
            other = LEVEL if given[0] == WORD else WORD
            problems.add(f"there is a column {given[0]!r}, but no column {other!r}; a pattern means nothing without it")
        elif given:
            words = _words(frame[WORD], problems)
            levels = _levels(frame[LEVEL], problems)
        if not frame.height:
            problems.add("there are no records")
        problems.raise_if_any()
        own = [*numbers, *given]
        return cls(
            labels,
            np.column_stack([numbers[LOW + label] for label in labels]),
            np.column_stack([numbers[HIGH + label] for label in labels]),
            words,
            levels,
            frame.drop(own),
            frame.select(own),
        )


def read_intervals(path: str | Path, *, separator: str | None = None, decimal: str | None = None) -> IntervalTable:
    """Read a CSV or Parquet file with the layout of this module, made by any tool.

    The separator and the decimal mark of a CSV file are detected unless they are given.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = path.write_text("lo_1,hi_1,pattern,level\\n0.5,0.7,b,2\\n0.5,0.7,b,2\\n")
    >>> read_intervals(path)
    IntervalTable: 2 records; envelopes of 1 points; patterns of 1 letters
    """
    source = look_at(path, separator=separator, decimal=decimal).source
    table = IntervalTable.from_frame(source.frame, subject=f"{Path(path).name} cannot be used")
    if source.texts is None or table.written is None:
        return table
    # 1 and 1.0 are one number, but not one text: whoever reads the file can tell such rows apart.
    texts = source.texts(table.written.columns)
    return IntervalTable(table.labels, table.lo, table.hi, table.words, table.levels, table.others, texts)


def clashes(names: Collection[str]) -> list[str]:
    """Names of carried columns that would be taken for envelopes or patterns."""
    return [name for name in names if name.startswith((LOW, HIGH)) or name in (WORD, LEVEL)]


def _labels(frame: pl.DataFrame, problems: Problems) -> tuple[str, ...]:
    low = [name.removeprefix(LOW) for name in frame.columns if name.startswith(LOW)]
    high = [name.removeprefix(HIGH) for name in frame.columns if name.startswith(HIGH)]
    if not low and not high:
        problems.add("it has no envelopes: columns lo_T and hi_T for every time point T are needed")
        problems.hint(f"columns available: {some(frame.columns, 20)}")
    for have, lack, labels, others in ((LOW, HIGH, low, high), (HIGH, LOW, high, low)):
        alone = [label for label in labels if label not in set(others)]
        tell(
            problems,
            [f"column {have + label!r} has no partner {lack + label!r}" for label in alone[:MOST]],
            len(alone),
            "columns without a partner",
        )
    return tuple(label for label in low if label in set(high))


def _tell_rows(problems: Problems, column: pl.Series, wrong: Mask, what: str) -> None:
    rows = np.flatnonzero(wrong)
    tell(
        problems,
        [f"row {row + 1}, column {column.name!r}: {what.format(column[row])}" for row in rows[:MOST].tolist()],
        len(rows),
        f"cells of column {column.name!r}",
    )


def _numbers(column: pl.Series, problems: Problems) -> Array:
    if column.dtype.is_numeric():
        values = column.cast(pl.Float64)
    else:
        values, wrong = as_numbers(column)
        _tell_rows(problems, column, wrong.to_numpy(), "{!r} is not a number")
        values = values.cast(pl.Float64).set(wrong, 0.0)
    numbers = values.to_numpy()  # null becomes NaN
    _tell_rows(problems, column, np.isnan(numbers), "a number is missing")
    _tell_rows(problems, column, np.isinf(numbers), "the number is infinite")
    return numbers


def _words(column: pl.Series, problems: Problems) -> tuple[str, ...]:
    if column.null_count():
        _tell_rows(problems, column, column.is_null().to_numpy(), "the pattern is missing")
    return tuple(column.cast(pl.String).to_list())


def _levels(column: pl.Series, problems: Problems) -> Indices:
    values = np.nan_to_num(_numbers(column, problems))
    _tell_rows(problems, column, values != np.floor(values), "the level {} is not a whole number")
    return np.clip(values, -1, 2**31).astype(np.int64)


def read_table(table: Any) -> IntervalTable:
    """A table of intervals from whatever holds one: the table itself, a frame, or the path of a file."""
    if isinstance(table, IntervalTable):
        return table
    if isinstance(table, (str, Path)):
        return read_intervals(table)
    if hasattr(table, "shape") and hasattr(table, "columns"):
        return IntervalTable.from_frame(table)
    raise InputError(f"a table of intervals is a frame or the path of a file. Got {type(table).__name__}.")
