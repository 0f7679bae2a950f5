"""What the attacks found of each record, for the owner: a file for each published one, like private/id_map and in its order.

private/risk has the risk of each record, with the columns of a small release's risk file. It is written when everybody was a person whom the intruder
knows; the risk of a sample says nothing of the others. private/attribute_disclosure lists the records whose carried values are given away.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from tsveil.engine.base import Engine, Result, Task
from tsveil.large.columns import PERCENTS
from tsveil.large.given_away import listed
from tsveil.large.job import Job, get_array, load, put
from tsveil.large.linkage import Attacked


def write_risks(spool: Path, job: Job, found: Attacked, engine: Engine) -> None:
    """Write the files, if there is something to write."""
    everybody = all(people == job.n for people in found.people.values())
    for folder, wanted in (("risk", everybody), ("attribute_disclosure", found.merges)):
        if wanted:
            (spool.parent / "private" / folder).mkdir()
    if everybody or found.merges:
        more = {"chances": found.files if everybody else {}, "merges": found.merges}
        todo = [{"spool": str(spool), "at": at, **more} for at in range(job.files)]
        engine.map(told_of_file, todo, "Writing the risk of each record")


def told_of_file(task: Task) -> Result:
    """What was found of the records of one published file."""
    spool, at = Path(task["spool"]), int(task["at"])
    job = load(spool)
    if task["chances"]:
        _write_risk(spool, job, at, task["chances"])
    if task["merges"]:
        listed(spool, job, at, int(task["merges"]))
    return {}


def _write_risk(spool: Path, job: Job, at: int, files: Mapping[str, tuple[str, int]]) -> None:
    start, stop = job.file_range(at)
    chances = {}
    for figure, (stem, tasks) in files.items():
        chance = np.full(stop - start, np.nan)
        for number in range(tasks):
            rows = get_array(spool / f"chance-{stem}-{number}.rows.npy")
            low, high = np.searchsorted(rows, [start, stop])
            chance[rows[low:high] - start] = get_array(spool / f"chance-{stem}-{number}.npy")[low:high]
        chances[figure] = chance
    if job.source.series:
        disclosed = get_array(spool / f"disclosed-{at}.npy")
    else:
        width = len(job.source.columns)
        hits = [get_array(spool / f"hits-{column}.npy")[start:stop] for column in range(width)]
        disclosed = 100.0 * np.sum(hits, axis=0, dtype=np.int64) / (width * len(PERCENTS))
    name = f"part-{at:05d}.parquet"
    private = spool.parent / "private"
    known = pl.read_parquet(private / "id_map" / name, columns=["original"], glob=False)
    risks = known.with_columns(
        risk=np.max(list(chances.values()), axis=0),
        **{f"linked_by_{figure}": pl.Series(chance) for figure, chance in chances.items()},
        values_disclosed=np.array(disclosed),
        loss=np.array(get_array(spool / f"lost-{at}.npy")),
    )
    put(private / "risk" / name, lambda path: risks.write_parquet(path))
