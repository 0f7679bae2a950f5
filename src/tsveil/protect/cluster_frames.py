"""Frames of Dask and Spark protected where they are: no value of them comes to the process that asks for it.

    write      every partition: a file of its rows, written by the worker that has it
    prepare    every file: its records, a row each, checked as a frame in memory is
    protect    as files are protected (`tsveil.protect.work`)
    publish    every piece: a file with the columns and types of the frame
    verify     these files, read again

A long frame has the rows of a record in several partitions. So the records are numbered first, as they appear, by marks of 64 bits of their identifiers; the rows are
sorted into runs of records, and each run is brought together. What the asking process holds are the identifiers, a few numbers per record, and the times.
"""

from __future__ import annotations

import atexit
import importlib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec
import numpy as np
import polars as pl

from tsveil.core.errors import GuaranteeError, InputError, OutputError, Problems, some
from tsveil.core.registry import METHODS, starting
from tsveil.data.dataset import Dataset
from tsveil.data.disk import discard, remove
from tsveil.data.native import as_polars, like_given
from tsveil.data.pieces import contents
from tsveil.data.records import in_published_order
from tsveil.data.source import IN_PARTS, FileDataset, Source
from tsveil.data.store import Folder, open_store, put_file
from tsveil.data.write import as_frame, words_as_text
from tsveil.engine.base import Engine, Result, Task
from tsveil.guarantee.chunks import Chunk, Chunks, schema_of
from tsveil.protect.frame_roles import SUBJECT, Roles, with_given_types
from tsveil.protect.job import marks
from tsveil.protect.work import chunk_rows, protect_in_chunks
from tsveil.release.release import Release

#: the column of a long frame with the number of the record
NUMBER = "tsveil number of the record"


def protect_partitions(frame: Any, cluster: str, roles: Roles, k: int, seed: int, folder: str | Path | None) -> Any:
    """A frame of a cluster with every row of values shared by at least k records; `tsveil.anonymise` says the rest."""
    if roles.missing != "refuse":
        raise InputError(
            f"{SUBJECT}: missing={roles.missing!r} needs all rows of a record in memory, and the rows of a frame of {cluster} stay with the workers\n"
            "  options: close the gaps before, or convert the frame to one of pandas or polars"
        )
    frames: Any = importlib.import_module(f"tsveil.engine.{cluster}_frames")
    place = _own_folder(folder)
    try:
        with frames.engine_of(frame) as engine:
            files = _Work(place, roles.plain(), engine).protect(frame, frames, k, seed)
    except BaseException:
        # A worker that cannot be stopped may still write there.
        discard(place, place.with_name(f"{place.name}.old"))
        raise
    atexit.register(remove, place)
    return frames.frame_of_files(frame, files, read_partition)


def _own_folder(folder: str | Path | None) -> Path:
    """A new folder that only this user may open."""
    try:
        return Path(mkdtemp(prefix="tsveil-", dir=folder)).absolute()
    except OSError as error:
        raise OutputError(
            f"no folder for temporary files can be made in {folder or 'the folder for temporary files'}: {error.strerror or error}\n  options: folder=..."
        ) from error


class _Work:
    """The steps, and the folder in which they leave what later ones need."""

    def __init__(self, place: Path, roles: Roles, engine: Engine) -> None:
        self.place, self.roles, self.engine = place, roles, engine
        for name in ("given", "records", "spool", "prepared", "published"):
            (place / name).mkdir()
        self.store = Folder(place / "prepared")

    def protect(self, frame: Any, frames: Any, k: int, seed: int) -> list[Path]:
        """The published files; what holds original values is gone then."""
        given = _common_types(frames.columns_of(frame), self._write(frame, frames))
        self.roles.check(given)
        self.store.put_plain("roles", self.roles)
        self.store.put_frame("types", given)
        data = FileDataset.of(self._in_runs_of_records(given) if self.roles.long else self._in_partitions())
        method = METHODS[starting()](k=k)
        spool = Folder(self.place / "spool")
        done = protect_in_chunks(method, data, seed, spool, self.engine)
        release = method.make_release(data, spool, seed, done, self.engine)
        for text in release.warnings:
            warnings.warn(text, UserWarning, stacklevel=5)
        files = self._publish(release)
        for name in ("given", "records", "spool", "prepared"):
            remove(self.place / name)
        return files

    def _map(self, step: Any, count: int, text: str, **more: Any) -> list[Result]:
        tasks = [{"store": self.store.handle, "place": str(self.place), "at": at, **more} for at in range(count)]
        return self.engine.map(step, tasks, text)

    def _write(self, frame: Any, frames: Any) -> list[dict[str, Any]]:
        """The types of the columns in each file."""
        frames.write_partitions(frame, self.place / "given", write_partition)
        self.given = [file for file in sorted((self.place / "given").glob("part-*.parquet")) if _rows(file)]
        if not self.given:
            raise InputError(f"{SUBJECT}: there are no records")
        self.store.put_plain("given", [str(file) for file in self.given])
        return [dict(pl.read_parquet_schema(file)) for file in self.given]

    def _in_partitions(self) -> Source:
        """The records of a wide frame: one file of them for each partition."""
        return self._source(self._map(prepare, len(self.given), "Reading the partitions"))

    def _in_runs_of_records(self, given: pl.DataFrame) -> Source:
        """The records of a long frame, as they appear in it."""
        count = len(self.given)
        self._map(look, count, "Looking for the records")
        seen = np.concatenate([self.store.get(f"ids-{at}") for at in range(count)])
        different, first = np.unique(seen, return_index=True)
        numbers = np.empty(len(different), dtype=np.int64)
        numbers[np.argsort(first)] = np.arange(len(different))
        self.store.put("ids", different)
        self.store.put("numbers", numbers)
        times = pl.concat([self.store.get_frame(f"times-{at}") for at in range(count)]).unique(maintain_order=True)
        self.store.put_frame("times", times)
        size = chunk_rows(None, times.height * len(self.roles.values))
        runs = -(-len(different) // size)
        self._map(scatter, count, "Sorting the rows by record", size=size)
        found = self._map(gather, runs, "Bringing the records together", size=size, files=count, records=len(different))
        return self._source(found)

    def _source(self, found: Sequence[Result]) -> Source:
        """The files of records as one source."""
        sources = [self.store.get_plain(f"source-{at}", Source) for at in range(len(found))]
        first = sources[0]
        for one in sources:
            if one.blocks != first.blocks:
                raise InputError(f"{SUBJECT}: its partitions have different columns or types")
        return msgspec.structs.replace(
            first,
            files=tuple(str(self.place / "records" / f"part-{at:05d}.parquet") for at in range(len(found))),
            rows=tuple(int(one["rows"]) for one in found),
            integers=tuple(name for name in first.integers if all(name in one.integers for one in sources)),
            layout=replace(first.layout, format=IN_PARTS),
            notes=(),
        )

    def _publish(self, release: Release) -> list[Path]:
        """Write the published files, and refuse them unless they keep the promise as they were written."""
        kept = release.contents
        more = {"spool": release.store.handle}
        found = self._map(publish, kept.files, "Writing the protected frame", **more)
        files = [self.place / "published" / f"part-{at:05d}.parquet" for at in range(kept.files)]
        places = [
            {"reader": f"{__name__}:read_published", "store": self.store.handle, "path": str(file)} for file in files
        ]
        # One record is enough to know the columns.
        rows = self.store.get_frame("times").height if self.roles.long else 1
        schema = schema_of(self.roles.dataset(pl.scan_parquet(files[0], glob=False).head(rows).collect()))
        sizes = sum(int(one["records"]) for one in found)
        checked = release.guarantee.verify_chunks(Chunks(schema, places, self.engine, release.store, sizes))
        if not checked.verdict.holds:
            raise GuaranteeError(
                f"what was made of the frame does not keep its promise and is not given back\n{checked.verdict}"
            )
        return files


def _rows(file: Path) -> int:
    return int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())


def _common_types(names: Sequence[str], schemas: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """An empty frame with the columns of all files; a column that is empty in one of them has the type that it has in the others."""
    types: dict[str, Any] = dict.fromkeys(names, pl.Null)
    problems = Problems(SUBJECT)
    for schema in schemas:
        for name, kind in schema.items():
            if types[name] == pl.Null:
                types[name] = kind
            elif kind not in (types[name], pl.Null):
                problems.add(f"column {name!r} is of the type {types[name]} in one partition and of {kind} in another")
    problems.raise_if_any()
    return pl.DataFrame(schema=types)


# -- what workers do --------------------------------------------------------------------------------------------------


def write_partition(partition: Any, path: Path) -> None:
    """Write a partition, whatever kind of frame it is; texts in the place of types that list labels, for these may differ."""
    table = as_polars(partition).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    put_file(path, table.write_parquet)


def read_partition(path: Path, given: Any, *, empty: bool = False) -> Any:
    """A published file as a partition of the kind and types given, or its columns without rows."""
    table = pl.scan_parquet(path, glob=False)
    return like_given((table.head(0) if empty else table).collect(), given)


def _at(task: Task) -> tuple[Folder, Roles, pl.DataFrame, int]:
    """The store, the roles and the types of the frame, and the number of the task."""
    store = open_store(task["store"])
    assert isinstance(store, Folder)
    return store, store.get_plain("roles", Roles), store.get_frame("types"), int(task["at"])


def _given(store: Folder, types: pl.DataFrame, at: int) -> pl.DataFrame:
    """The rows of a partition."""
    return pl.read_parquet(store.get_plain("given", list)[at]).select(types.columns).cast(types.schema)


def _keep(task: Task, store: Folder, data: Dataset) -> Result:
    """Write records, a row each, with what is known of their columns."""
    values = pl.DataFrame({name: data.values[:, at] for at, name in enumerate(data.columns)})
    place = Path(task["place"]) / "records" / f"part-{int(task['at']):05d}.parquet"
    put_file(place, pl.DataFrame([*values, *data.others]).write_parquet)
    store.put_plain(f"source-{task['at']}", Source.of(data))
    return {"rows": data.n}


def prepare(task: Task) -> Result:
    """The records of a partition of a wide frame."""
    store, roles, types, at = _at(task)
    return _keep(task, store, roles.dataset(_given(store, types, at)))


def look(task: Task) -> Result:
    """The identifiers and times of a partition of a long frame, as they appear."""
    store, roles, types, at = _at(task)
    table = _given(store, types, at)
    for name in (str(roles.identifier), roles.clock):
        if name not in table.columns:
            roles.dataset(table)  # says which columns there are
        if empty := table[name].null_count():
            raise InputError(f"{SUBJECT}: column {name!r} has {empty} empty cell{'s' * (empty > 1)}")
    store.put(f"ids-{at}", marks(table[str(roles.identifier)].unique(maintain_order=True)))
    store.put_frame(f"times-{at}", table.select(pl.col(roles.clock).unique(maintain_order=True)))
    return {}


def scatter(task: Task) -> Result:
    """The rows of a partition of a long frame, sorted into runs of records."""
    store, roles, types, at = _at(task)
    table = _given(store, types, at)
    places = np.searchsorted(store.get("ids"), marks(table[str(roles.identifier)]))
    table = table.with_columns(pl.Series(NUMBER, store.get("numbers")[places]))
    for (run,), rows in table.group_by(pl.col(NUMBER) // int(task["size"]), maintain_order=True):
        store.put_frame(f"rows-{run}-{at}", rows)
    return {}


def gather(task: Task) -> Result:
    """The records of a run, from the rows of all partitions."""
    store, roles, _, at = _at(task)
    size = int(task["size"])
    paths = [f"rows-{at}-{file}" for file in range(int(task["files"]))]
    found = [store.get_frame(name) for name in paths if (store.path / f"{name}.arrow").exists()]
    table = pl.concat(found).sort(NUMBER, maintain_order=True)
    data = roles.dataset(table.drop(NUMBER))
    expected = min(size, int(task["records"]) - at * size)
    if data.n != expected:
        raise InputError(
            f"{SUBJECT}: two identifiers in column {roles.identifier!r} have the same mark of 64 bits\n  options: other identifiers, such as 1, 2, 3"
        )
    times = store.get_frame("times")[roles.clock]
    lacking = times.filter(~times.is_in(table[roles.clock].unique().implode()))
    if len(lacking):
        names = table[str(roles.identifier)].unique(maintain_order=True).head(3).to_list()
        raise InputError(
            f"{SUBJECT}: records have different times: {some(names)} lack {some(lacking.head(3).cast(pl.String).to_list())}\n"
            "  options: close the gaps before, or leave such records out"
        )
    return _keep(task, store, data)


def publish(task: Task) -> Result:
    """Write a published file: its columns and types are those of the frame."""
    store, roles, given, at = _at(task)
    spool = open_store(task["spool"])
    whole, data = contents(spool), in_published_order(spool, at).published
    assert isinstance(data, Dataset)
    if roles.long:
        times = store.get_frame("times")
        given = pl.DataFrame([times[name] if name == roles.clock else pl.Series(name, [None] * times.height, dtype=kind) for name, kind in given.schema.items()])  # fmt: skip
    made = words_as_text(as_frame(data))
    table = with_given_types(made, given, data, roles, before=whole.rows(at).start, records=whole.n)
    put_file(Path(task["place"]) / "published" / f"part-{at:05d}.parquet", table.write_parquet)
    return {"records": data.n}


def read_published(place: Task) -> Chunk:
    """A published file as it stands on the disk."""
    store = open_store(place["store"])
    return Chunk.of(store.get_plain("roles", Roles).dataset(pl.read_parquet(place["path"])))
