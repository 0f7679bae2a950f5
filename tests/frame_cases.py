"""The same table in the frames of several libraries, with types that are not the usual ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def long_frame(records: int = 23, points: int = 6, seed: int = 3) -> pl.DataFrame:
    """Load curves with a time stamp in the middle, whole numbers, small floats, and a column that is carried."""
    rng = np.random.default_rng(seed)
    hours = [datetime(2024, 1, 1) + timedelta(hours=h) for h in range(points)]
    cells = records * points
    return pl.DataFrame(
        {
            "y": pl.Series(rng.gamma(2, 1, cells), dtype=pl.Float32),
            "ds": pl.Series(hours * records, dtype=pl.Datetime("us")),
            "count": pl.Series(rng.integers(0, 90, cells), dtype=pl.Int16),
            "unique_id": [f"h{r}" for r in range(records) for _ in range(points)],
            "tariff": pl.Series([("day", "night")[r % 2] for r in range(records) for _ in range(points)]),
        }
    )


def wide_frame(records: int = 23, seed: int = 4) -> pl.DataFrame:
    """Microdata with an identifier of small whole numbers in the middle."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": pl.Series(rng.integers(18, 90, records), dtype=pl.Int8),
            "person": pl.Series(rng.permutation(records) + 100, dtype=pl.Int16),
            "pay": pl.Series(rng.gamma(2, 1000, records)),
            "ill": pl.Series([("no", "yes")[r % 2] for r in range(records)]),
        }
    )


def _pandas(frame: pl.DataFrame) -> Any:
    return frame.to_pandas()


def _indexed(frame: pl.DataFrame) -> Any:
    """With the identifier and the time in the index, as sktime has its panels."""
    names = [name for name in ("unique_id", "ds", "person") if name in frame.columns]
    return frame.to_pandas().set_index(names)


def _arrow(frame: pl.DataFrame) -> Any:
    return frame.to_arrow()


def _relation(frame: pl.DataFrame) -> Any:
    return duckdb.from_arrow(frame.to_arrow())


KINDS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": _pandas,
    "pandas-index": _indexed,
    "pyarrow": _arrow,
    "duckdb": _relation,
}


def types_of(frame: Any) -> list[tuple[str, str]]:
    """Columns in their order with their types, as the library itself tells them."""
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return [(name, str(kind)) for name, kind in frame.collect_schema().items()]
    if isinstance(frame, pd.DataFrame):
        index = [(str(name), str(frame.index.get_level_values(name).dtype)) for name in frame.index.names if name]
        return [*index, *((str(name), str(kind)) for name, kind in frame.dtypes.items())]
    if type(frame).__module__.startswith("dask"):
        own = [(frame.index.name, str(frame.index.dtype))] if frame.index.name else []
        return [*own, *((str(name), str(kind)) for name, kind in frame.dtypes.items())]
    if type(frame).__module__.startswith("pyspark"):
        return list(frame.dtypes)
    if isinstance(frame, pa.Table):
        return [(field.name, str(field.type)) for field in frame.schema]
    return [(name, str(kind)) for name, kind in zip(frame.columns, frame.types, strict=True)]


def plain(frame: Any) -> pl.DataFrame:
    """The cells by the library's own way to Python, not ours."""
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame.lazy().collect()
    if isinstance(frame, pd.DataFrame):
        frame = frame.reset_index() if frame.index.names[0] else frame
        return pl.DataFrame({str(name): frame[name].tolist() for name in frame.columns})
    if isinstance(frame, pa.Table):
        return pl.DataFrame(frame.to_pylist())
    if type(frame).__module__.startswith("dask"):
        return plain(frame.compute())
    if type(frame).__module__.startswith("pyspark"):
        rows = [row.asDict() for row in frame.collect()]
        return pl.DataFrame({name: [row[name] for row in rows] for name in frame.columns})
    cells: pl.DataFrame = frame.pl()  # Python times with a zone would need pytz
    return cells
