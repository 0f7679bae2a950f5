"""What the attacks found of each record, for the owner: a file for each published one, like private/id_map and in its order.

private/risk has the risk of each record, with the columns of a small release's risk file. It is written when everybody was a person whom the intruder
knows; the risk of a sample says nothing of the others. private/attribute_disclosure lists the records whose carried values are disclosed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from tsveil.attack.attribute import AttributeDisclosure
from tsveil.data.store import Store, opened, put_file
from tsveil.engine.base import Engine, Result, Task
from tsveil.large.columns import PERCENTS
from tsveil.large.job import Job, load
from tsveil.large.linkage import Attacked


def write_risks(store: Store, job: Job, found: Attacked, engine: Engine) -> None:
    """Write the files, if there is something to write."""
    everybody = all(people == job.n for people in found.people.values())
    for folder, wanted in (("risk", everybody), ("attribute_disclosure", found.disclosed)):
        if wanted:
            (Path(job.place) / "private" / folder).mkdir()
    if everybody or found.disclosed:
        more = {"chances": found.files if everybody else {}}
        todo = [{"store": store.handle, "at": at, **more} for at in range(job.files)]
        engine.map(told_of_file, todo, "Writing the risk of each record")


def told_of_file(task: Task) -> Result:
    """What was found of the records of one published file."""
    store, at = opened(task["store"]), int(task["at"])
    job = load(store)
    if task["chances"]:
        _write_risk(store, job, at, task["chances"])
    if job.source.confidential:
        _write_disclosed(store, job, at)
    return {}


def _write_risk(store: Store, job: Job, at: int, files: Mapping[str, tuple[str, int]]) -> None:
    start, stop = job.file_range(at)
    chances = {}
    for figure, (stem, tasks) in files.items():
        chance = np.full(stop - start, np.nan)
        for number in range(tasks):
            rows = store.get(f"chance-{stem}-{number}.rows")
            low, high = np.searchsorted(rows, [start, stop])
            chance[rows[low:high] - start] = store.get(f"chance-{stem}-{number}")[low:high]
        chances[figure] = chance
    if job.source.series:
        disclosed = store.get(f"disclosed-{at}")
    else:
        width = len(job.source.columns)
        hits = [store.get(f"hits-{column}")[start:stop] for column in range(width)]
        disclosed = 100.0 * np.sum(hits, axis=0, dtype=np.int64) / (width * len(PERCENTS))
    name = f"part-{at:05d}.parquet"
    private = Path(job.place) / "private"
    known = pl.read_parquet(private / "id_map" / name, columns=["original"], glob=False)
    risks = known.with_columns(
        risk=np.max(list(chances.values()), axis=0),
        **{f"linked_by_{figure}": pl.Series(chance) for figure, chance in chances.items()},
        values_disclosed=np.array(disclosed),
        loss=np.array(store.get(f"lost-{at}")),
    )
    put_file(private / "risk" / name, lambda path: risks.write_parquet(path))


def _write_disclosed(store: Store, job: Job, at: int) -> None:
    name, private = f"part-{at:05d}.parquet", Path(job.place) / "private"
    known = pl.read_parquet(private / "id_map" / name, columns=["original"], glob=False)["original"]
    found = AttributeDisclosure.load(store, job.source.confidential).listed(known, job.file_range(at)[0])
    put_file(private / "attribute_disclosure" / name, lambda path: found.write_parquet(path))
