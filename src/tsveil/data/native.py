"""Frames of other libraries: to polars, and back as they came.

pandas, pyarrow and DuckDB hold the same table in ways of their own. What was read as a frame of polars goes back to the kind of frame that was given, with
the names and types of its columns. Types that list labels (categories, ENUM) list those that are in the table, for a list of all labels would tell of records that are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from tsveil.core.errors import InputError, some

#: the kinds of frames that are taken, in words
TAKEN = "a frame of polars, pandas, pyarrow (a Table) or DuckDB (a relation)"
_KINDS = {
    nw.Implementation.POLARS: "polars",
    nw.Implementation.PANDAS: "pandas",
    nw.Implementation.PYARROW: "pyarrow",
    nw.Implementation.DUCKDB: "duckdb",
}
#: those that are computed by a cluster, and are not read into memory
_CLUSTERS = {nw.Implementation.DASK: "dask", nw.Implementation.PYSPARK: "spark"}


def kind_of_frame(frame: Any) -> str:
    """The library that a frame is of: polars, pandas, pyarrow or duckdb.

    Examples
    --------
    >>> kind_of_frame(pl.DataFrame({"load": [1]}))
    'polars'
    >>> kind_of_frame([[1, 2]])
    Traceback (most recent call last):
    tsveil.core.errors.InputError: a frame of polars, pandas, pyarrow (a Table) or DuckDB (a relation) is needed. Got list.
      options: `Dataset.from_arrays` takes arrays, `tsveil.read` takes files
    """
    try:
        found = nw.from_native(frame, pass_through=True)
    except nw.exceptions.DuplicateError:
        _refuse_repeated([str(name) for name in frame.columns])
        raise
    except (ImportError, ValueError) as error:  # of a library that is too old, or half installed
        raise _foreign(frame, f" ({error})") from error
    if not isinstance(found, nw.DataFrame | nw.LazyFrame):
        raise InputError(
            f"{TAKEN} is needed. Got {type(frame).__name__}.\n  options: `Dataset.from_arrays` takes arrays, `tsveil.read` takes files"
        )
    if found.implementation not in _KINDS:
        raise _foreign(frame)
    return _KINDS[found.implementation]


def cluster_of_frame(frame: Any) -> str | None:
    """The cluster that a frame is computed by: dask or spark, or None.

    Examples
    --------
    >>> cluster_of_frame(pl.DataFrame({"load": [1]})) is None
    True
    """
    try:
        found = nw.from_native(frame, pass_through=True)
    except Exception:  # whatever is wrong with it is said where it is read
        return None
    return _CLUSTERS.get(found.implementation) if isinstance(found, nw.LazyFrame) else None


def _foreign(frame: Any, why: str = "") -> InputError:
    """The error about a frame of another library."""
    return InputError(
        f"{TAKEN} is needed. Got {type(frame).__module__.split('.')[0]}.{type(frame).__name__}{why}.\n"
        "  options: write it to Parquet files, which `tsveil.read` takes as a folder, in chunks if they are large; `tsveil.anonymise` takes frames of Dask and Spark"
    )


def as_polars(frame: Any) -> pl.DataFrame:
    """The frame as one of polars; a named index of a pandas frame becomes a column.

    Examples
    --------
    >>> import pyarrow
    >>> as_polars(pyarrow.table({"load": [1.5]})).rows()
    [(1.5,)]
    """
    kind = kind_of_frame(frame)
    if kind == "pandas":
        return _from_pandas(frame)
    names = list(frame.collect_schema() if isinstance(frame, pl.LazyFrame) else _names(frame))
    _refuse_repeated(names)
    try:
        narrow = nw.from_native(frame)
        return (narrow.collect("polars") if isinstance(narrow, nw.LazyFrame) else narrow).to_polars()
    except Exception as error:  # whatever library it is of, it may raise what it likes
        raise InputError(f"the frame of {kind} cannot be used: {str(error).strip()}") from error


def _names(frame: Any) -> list[str]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _refuse_repeated(names: list[str]) -> None:
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise InputError(f"the frame cannot be used: column named more than once: {some(twice)}")


def _from_pandas(frame: Any) -> pl.DataFrame:
    named = any(name is not None for name in frame.index.names)
    frame = frame.rename(columns=str)
    _refuse_repeated([*frame.columns, *(str(name) for name in frame.index.names if name is not None)])
    try:
        return pl.from_pandas(frame, include_index=named)
    except ImportError as error:
        raise InputError(f"the pandas frame cannot be read: {error}\n  options: pip install pyarrow") from error
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        wrong = [name for name in frame.columns if not _converts(frame[[name]])]
        raise InputError(
            f"the frame cannot be used: column {some(wrong)} holds values of several types, or of a type that no table has ({error})\n"
            "  options: give the column one type, such as frame['load'].astype(float)"
        ) from error


def _converts(frame: Any) -> bool:
    try:
        pl.from_pandas(frame)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return False
    return True


def like_given(frame: pl.DataFrame, given: Any) -> Any:
    """A table as the kind of frame that was given, with the types that its columns have there; rows are numbered anew in a pandas index without a name.

    Examples
    --------
    >>> import pyarrow
    >>> given = pyarrow.table({"load": pyarrow.array([1.5, 2.5], pyarrow.float32())})
    >>> like_given(pl.DataFrame({"load": [2.0]}), given).schema
    load: float
    """
    made: Callable[[pl.DataFrame, Any], Any] = {
        "polars": _to_polars,
        "pandas": _to_pandas,
        "pyarrow": _to_pyarrow,
        "duckdb": _to_duckdb,
    }[kind_of_frame(given)]
    return made(frame, given)


def _to_polars(frame: pl.DataFrame, given: Any) -> Any:
    types = given.collect_schema()
    plain = [name for name in frame.columns if types[name].base_type() not in (pl.Enum, pl.Categorical)]
    frame = frame.with_columns(pl.col(name).cast(types[name]) for name in plain)
    return frame.lazy() if isinstance(given, pl.LazyFrame) else frame


def _to_pandas(frame: pl.DataFrame, given: Any) -> Any:
    import pandas as pd

    labels = {str(label): label for label in given.columns}
    index = {str(name): name for name in given.index.names if name is not None and str(name) in frame.columns}
    made = {}
    for name in frame.columns:
        kind = given.index.get_level_values(index[name]).dtype if name in index else given[labels[name]].dtype
        column = frame[name]
        if isinstance(kind, pd.CategoricalDtype):
            present = set(column.cast(pl.String).drop_nulls().to_list())
            words = [word for word in kind.categories if str(word) in present]
            if len(words) < len(present):  # fresh identifiers
                words = column.unique(maintain_order=True).drop_nulls().to_list()
            back = {str(word): word for word in words}
            cells = [None if one is None else back[str(one)] for one in column.cast(pl.String).to_list()]
            made[name] = pd.Series(pd.Categorical(cells, categories=words, ordered=kind.ordered))
        else:
            made[name] = column.to_pandas().astype(kind)
    table = pd.DataFrame(made)
    if index:
        table = table.set_index([name for name in map(str, given.index.names) if name in index])
        table.index.names = list(index.values())
        if len(index) == 1:  # small whole numbers are widened on the way
            table.index = table.index.astype(given.index.get_level_values(0).dtype if given.index.nlevels == 1 else table.index.dtype)  # fmt: skip
    table.columns = pd.Index([labels[name] for name in table.columns], dtype=given.columns.dtype, name=given.columns.name)  # fmt: skip
    return table


def _to_pyarrow(frame: pl.DataFrame, given: Any) -> Any:
    import pyarrow as pa

    table = frame.to_arrow()
    columns = []
    for name in frame.columns:
        kind, column = given.schema.field(name).type, table[name]
        if pa.types.is_dictionary(kind):
            plain = column.cast(kind.value_type).combine_chunks()
            words = plain.drop_null().unique()
            places = pa.array([None if word is None else words.index(pa.scalar(word, kind.value_type)).as_py() for word in plain.to_pylist()], kind.index_type)  # fmt: skip
            columns.append(pa.DictionaryArray.from_arrays(places, words, ordered=kind.ordered))
        else:
            columns.append(column.cast(kind))
    fields = [pa.field(name, given.schema.field(name).type) for name in frame.columns]
    return pa.table(columns, schema=pa.schema(fields))


def _to_duckdb(frame: pl.DataFrame, given: Any) -> Any:
    import duckdb

    kinds = dict(zip(given.columns, given.types, strict=True))
    cells = []
    for name in frame.columns:
        kind, quoted = kinds[name], '"' + name.replace('"', '""') + '"'
        words = str(kind)
        if kind.id == "enum":
            present = set(frame[name].cast(pl.String).drop_nulls().to_list())
            own = [word for word in dict(kind.children)["values"] if word in present] or sorted(present)
            words = "ENUM({})".format(", ".join("'" + word.replace("'", "''") + "'" for word in own))
        cells.append(f"CAST({quoted} AS {words}) AS {quoted}")
    plain = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    return duckdb.from_arrow(plain.to_arrow()).project(", ".join(cells))
