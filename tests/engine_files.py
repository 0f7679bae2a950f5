"""Input files and a cluster for the tests of engines, and releases of several files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
import pytest

import tsveil as tv
from release_folders import contents
from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.data.source import Source
from tsveil.plan.plan import Evaluation, Input, Output, Plan, Running
from tsveil.protect import work
from tsveil.protect.base import Method
from tsveil.protect.partition import Unit
from tsveil.release.publish import Outcome
from tsveil.release.release import Release
from tsveil.release.reopen import reopen_release
from tsveil.report import figures

if TYPE_CHECKING:
    from distributed import Client

#: so little memory that all files are read in chunks
TINY = 1
#: methods whose records can be cut into parts
CUT = ("mdav", "v-mdav", "projected", "nlk", "optimal-univariate", "rank-swap", "noise", "kp", "k-envelopes")


def write_files(folder: Path, frame: pl.DataFrame, count: int) -> Path:
    """A data set in `count` files of unequal size."""
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


def undrawn(spec: str) -> str:
    """In the place of a chart: equal charts come from equal descriptions, and drawing them takes longer than all the rest of a small release."""
    return f"<svg>{hashlib.sha256(spec.encode()).hexdigest()}</svg>"


@contextmanager
def small_work(method: Method, part: int | None, file: int | None) -> Iterator[None]:
    """Parts and published files as small as asked for, which only large data have otherwise; nothing is drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "draw_svg", undrawn)
        if part is not None and method.name in CUT:
            units_of = work.units_of

            def cut(method: Method, source: Source) -> tuple[Unit, ...]:
                return tuple(msgspec.structs.replace(unit, size=part) for unit in units_of(method, source))

            patch.setattr(work, "units_of", cut)
        if file is not None:
            patch.setattr(work, "file_rows", lambda n, columns: file)
        yield


def protect_files(
    path: Path,
    method: Method,
    out: Path,
    *,
    engine: Any = "local",
    part: int | None = None,
    chunk: int | None = None,
    file: int | None = None,
    seed: int = 7,
    targets: Any = None,
    allow_unverified: bool = False,
    **roles: Any,
) -> Outcome:
    """Run a plan on files in chunks, or in memory without an engine; `part` and `file` are records of a part and of a published file."""
    plan = Plan(
        input=Input(path=str(path), **roles),
        method={"name": method.name, **{name: value for name, value in method.settings().items() if value is not None}},
        output=Output(folder=str(out)),
        evaluate=Evaluation(targets=targets),
        run=Running() if engine is None else Running(memory=str(TINY), chunk=chunk),
        seed=seed,
        secret="",
    )
    with small_work(method, part, file):
        return tv.run(plan, engine=engine, allow_unverified=allow_unverified)


def walks(n: int, points: int, seed: int = 1) -> Array:
    found: Array = np.random.default_rng(seed).normal(size=(n, points)).cumsum(axis=1)
    return found


def published(folder: Path) -> pl.DataFrame:
    """All published rows, in their order."""
    place = folder / "published"
    files = [place / "data.parquet"] if (place / "data.parquet").exists() else sorted(place.glob("data/*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files])


def private(folder: Path, what: str = "id_map") -> pl.DataFrame:
    """Who is who, or the risk of each record, of a release of several files: in the order of the published rows."""
    return pl.concat([pl.read_parquet(file) for file in sorted((folder / "private" / what).glob("*.parquet"))])


def again(outcome: Outcome, path: Path, **roles: Any) -> tuple[Dataset, Release]:
    """The original data, and the release as it stands in its folder, in their order."""
    data = tv.read(path, **roles)
    return data, reopen_release(outcome.folder, data)


def assert_same(one: Path, other: Path) -> None:
    """To the last bit, every file of two release folders; the hash of the input alone depends on how many files it comes in."""
    found = [contents(folder) for folder in (one, other)]
    for content in found:
        content["private/report.html"] = re.sub(rb"[0-9a-f]{64}", b"", content["private/report.html"])
    assert [path for path in {**found[0], **found[1]} if found[0].get(path) != found[1].get(path)] == []
