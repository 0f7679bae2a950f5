"""The score card of a release in many files, and what was found of each record, for the owner: a file for each published one.

private/risk has the risk of each record, with the columns of a small release's risk file. It is written when all records were attacked;
the risk of a sample says nothing of the others. private/attribute_disclosure lists the records whose carried values are given away.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from tsveil.attack.pieces import Columns, Pieces, opened_files
from tsveil.data.store import Store, opened, put_file
from tsveil.engine.base import Engine, Result, Task
from tsveil.large import given_away
from tsveil.large.job import Job, load
from tsveil.measure.evaluate import measured
from tsveil.measure.scorecard import Measured, Scorecard, record_risks


def files_of(job: Job) -> Pieces:
    """The published files and their originals."""
    sizes = tuple(stop - start for start, stop in map(job.file_range, range(job.files)))
    blocks = tuple(Columns(role.name, role.columns, role.times) for role in job.source.blocks)
    return Pieces(blocks, sizes, sizes, numbered=True)


def scorecard(store: Store, job: Job, engine: Engine) -> tuple[Scorecard, dict[str, int]]:
    """Loss and risk of the whole release, and for each carried column the number of records whose value is given away."""
    files = files_of(job)
    options: dict[str, Any] = {"models": "fitting"} if files.series else {}
    found = measured(
        store, files, engine, method=job.method, settings=job.settings, targets="all" if job.people == 0 else job.people, **options
    )  # fmt: skip
    counts = _given_away(store, job, found, engine)
    if found.of_all:
        (Path(job.place) / "private" / "risk").mkdir()
        more = {"places": found.attacked.places, "disclosed": list(found.attacked.disclosed)}
        tasks = [{"store": store.handle, "at": at, **more} for at in range(job.files)]
        engine.map(write_risk, tasks, "Writing the risk of each record")
    return found.card(store, files), counts


def _given_away(store: Store, job: Job, found: Measured, engine: Engine) -> dict[str, int]:
    if not job.source.confidential:
        return {}
    every = [{"store": store.handle, "at": at} for at in range(job.files)]
    carried = engine.map(carried_by_file, every, "Looking at what is carried")
    tasks = given_away.tasks(store, job, found.attacked.distinct, [one["carried"] for one in carried])
    counts = [one["records"] for one in engine.map(given_away.merged, tasks, "Comparing what is carried")]
    (Path(job.place) / "private" / "attribute_disclosure").mkdir()
    engine.map(list_given_away, [{**task, "merges": len(tasks)} for task in every], "Writing what is given away")
    return {name: sum(each) for name, each in zip(job.source.confidential, zip(*counts, strict=True), strict=True)}


def carried_by_file(task: Task) -> Result:
    """What the groups of one published file carry."""
    store = opened(task["store"])
    return {"carried": given_away.in_file(store, load(store), int(task["at"]))}


def list_given_away(task: Task) -> Result:
    """The records of one published file whose carried values are given away."""
    store = opened(task["store"])
    given_away.listed(store, load(store), int(task["at"]), int(task["merges"]))
    return {}


def write_risk(task: Task) -> Result:
    """The risk of the records of one published file."""
    store, files = opened_files(task)
    name = f"part-{int(task['at']):05d}.parquet"
    private = Path(load(store).place) / "private"
    known = pl.read_parquet(private / "id_map" / name, columns=["original"], glob=False)
    risks = known.hstack(record_risks(store, files, int(task["at"]), task["places"], task["disclosed"]))
    put_file(private / "risk" / name, lambda path: risks.write_parquet(path))
    return {}
