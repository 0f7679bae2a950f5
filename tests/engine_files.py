"""Input files and a cluster for the tests of engines, and what a release in files holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tsveil as tv
from tsveil._types import Array
from tsveil.data.dataset import Dataset
from tsveil.data.source import Source
from tsveil.large.protect import LargeRelease
from tsveil.protect import work
from tsveil.protect.base import Method
from tsveil.protect.partition import Unit

if TYPE_CHECKING:
    from distributed import Client


def write_files(folder: Path, frame: pl.DataFrame, count: int) -> Path:
    """A data set in so many files of unequal size."""
    folder.mkdir(parents=True)
    cuts = [round(frame.height * (at / count) ** 1.5) for at in range(count + 1)]
    for at in range(count):
        frame[cuts[at] : cuts[at + 1]].write_parquet(folder / f"{at:03d}.parquet")
    return folder


@contextmanager
def two_workers() -> Iterator[Client]:
    """A Dask cluster of two worker processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


#: methods whose records can be cut into parts
CUT = ("mdav", "v-mdav", "projected", "nlk", "optimal-univariate", "rank-swap", "noise", "kp", "k-envelopes")


def protect_files(
    source: Source, method: Method, out: Path, *, part: int | None = None, chunk: int | None = None, **options: Any
) -> LargeRelease:
    """A release in chunks, with small parts and published files as large as a chunk: what only large data have otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        if part is not None and method.name in CUT:
            units_of = work.units_of

            def cut(method: Method, source: Source) -> tuple[Unit, ...]:
                return tuple(msgspec.structs.replace(unit, size=part) for unit in units_of(method, source))

            patch.setattr(work, "units_of", cut)
        if chunk is not None:
            patch.setattr("tsveil.large.protect.file_rows", lambda n, width: chunk)
        return tv.protect_folder(source, method, out, chunk=chunk, **options)


def walks(n: int, points: int, seed: int = 1) -> Array:
    found: Array = np.random.default_rng(seed).normal(size=(n, points)).cumsum(axis=1)
    return found


def published(folder: Path) -> pl.DataFrame:
    """All published rows, in their order."""
    return pl.concat([pl.read_parquet(file) for file in sorted((folder / "published" / "data").glob("*.parquet"))])


def private(folder: Path, what: str = "id_map") -> pl.DataFrame:
    """Who is who, or the risk of each record, in the order of the published rows; empty if there are no such files."""
    files = sorted((folder / "private" / what).glob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]) if files else pl.DataFrame()


def assert_same(one: LargeRelease, other: LargeRelease) -> None:
    """To the last bit: published values, groups, scores, and what was found on the way."""
    assert_frame_equal(published(one.folder), published(other.folder), check_exact=True)
    assert_frame_equal(private(one.folder), private(other.folder))
    assert_frame_equal(private(one.folder, "risk"), private(other.folder, "risk"), check_exact=True)
    assert one.card.to_dict() == other.card.to_dict()
    assert one.verdict == other.verdict
    differ = ("engine", "input files")
    assert {k: v for k, v in one.facts.items() if k not in differ} == {
        k: v for k, v in other.facts.items() if k not in differ
    }


def as_protected(release: LargeRelease, frame: pl.DataFrame) -> tuple[Dataset, Dataset]:
    """Original and protected data in the order of the input, put together from the published files and the private map."""
    known = private(release.folder)
    rows = published(release.folder).hstack([known["original"]])
    if release.source.id is None:
        frame = frame.with_columns(original=pl.int_range(1, pl.len() + 1))
    else:
        frame = frame.with_columns(original=pl.col(release.source.id))
    rows = frame.select("original").join(rows, on="original", how="left", maintain_order="left")
    values = [table.select(release.source.columns).cast(pl.Float64).to_numpy() for table in (frame, rows)]
    original = release.source.dataset(np.ascontiguousarray(values[0]))
    return original, original.with_values(np.ascontiguousarray(values[1]))
