"""Frames of Dask: their partitions written to files by the workers, and files given back as a frame that is read when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tsveil.core.errors import EngineError, InputError, TsveilError, some
from tsveil.engine.base import Engine
from tsveil.engine.threads import LocalEngine


def engine_of(frame: Any) -> Engine:
    """The cluster of the current client; without one Dask computes in threads of this process, and so do we."""
    client = _client()
    if client is None:
        return LocalEngine()
    from tsveil.engine.on_dask import DaskEngine

    return DaskEngine(client)


def _client() -> Any:
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):  # the latter: there is no client
        return None


def write_partitions(frame: Any, folder: Path, write: Callable[[Any, Path], None]) -> None:
    """Call `write` for each partition, where it is, with the path of its file: in the order of the partitions by name."""
    import dask

    todo = [
        dask.delayed(write, pure=False)(part, folder / f"part-{at:05d}.parquet")
        for at, part in enumerate(frame.to_delayed())
    ]
    client = _client()
    try:
        if client is None:
            dask.compute(*todo)
        else:
            client.gather(client.compute(todo))
    except TsveilError:
        raise
    except Exception as error:
        raise EngineError(f"the frame could not be computed by Dask: {type(error).__name__}: {error}") from error


def columns_of(frame: Any) -> list[str]:
    """The names of its columns, and of its index if that has one; ordered categories are refused, for the labels of several partitions have no order."""
    ordered = [str(name) for name, kind in frame.dtypes.items() if getattr(kind, "ordered", None)]
    if ordered:
        raise InputError(
            f"the frame cannot be protected: column {some(ordered)} is an ordered category, and the partitions of a frame of Dask may list its labels in different orders\n"
            "  options: frame[name].astype(str), or frame[name].cat.as_unordered()"
        )
    return [*([str(frame.index.name)] if frame.index.name is not None else []), *map(str, frame.columns)]


def frame_of_files(frame: Any, files: Sequence[Path], read: Callable[..., Any]) -> Any:
    """A frame like the one given, with a partition for each file; `read` gives the partition, by its path and an empty frame with its types, or with `empty` its columns."""
    import dask.dataframe as dd
    from dask.dataframe.utils import clear_known_categories

    given = frame._meta
    meta = clear_known_categories(read(files[0], given, empty=True))
    return dd.from_map(partial(read, given=given), list(files), meta=meta, enforce_metadata=False)
