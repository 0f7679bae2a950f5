"""Frames of Spark: their partitions written to files by the executors, and files given back as a frame that is read when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tsveil.core.errors import EngineError
from tsveil.engine.base import Engine
from tsveil.engine.on_spark import ANOTHER_PYTHON, SparkEngine, reason_of


def engine_of(frame: Any) -> Engine:
    """The session of the frame."""
    return SparkEngine(frame.sparkSession)


def write_partitions(frame: Any, folder: Path, write: Callable[[Any, Path], None]) -> None:
    """Call `write` for each partition, where it is, with an Arrow table and the path of its file: in the order of the partitions by name."""
    place = str(folder)

    def written(batches: Any) -> Any:
        import pyarrow
        from pyspark import TaskContext

        if found := list(batches):  # a partition may have no rows
            table = pyarrow.Table.from_batches(found)
            write(table, Path(place) / f"part-{TaskContext.get().partitionId():05d}.parquet")
            yield pyarrow.RecordBatch.from_pydict({"rows": pyarrow.array([table.num_rows], "int64")})

    try:
        frame.mapInArrow(written, "rows long").collect()
    except Exception as error:
        reason = reason_of(error)
        hint = ANOTHER_PYTHON if "No module named" in reason else ""
        raise EngineError(
            f"the frame could not be computed by Spark: {type(error).__name__}: {reason}{hint}"
        ) from error


def columns_of(frame: Any) -> list[str]:
    """The names of its columns."""
    return list(frame.columns)


def frame_of_files(frame: Any, files: Sequence[Path], read: Callable[..., Any]) -> Any:
    """A frame like the one given that reads some files; Spark does that itself, so `read` is not needed."""
    import pyarrow.parquet
    from pyspark.sql.types import StructType

    names = pyarrow.parquet.read_schema(files[0]).names
    types = {field.name: field for field in frame.schema.fields}
    shape = StructType([types[name] for name in names])
    # A path without a scheme would be looked for where Spark's own files are.
    return frame.sparkSession.read.schema(shape).parquet(*(file.as_uri() for file in files))
