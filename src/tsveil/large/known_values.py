"""Who is singled out by known values in an (n,l,k)-anonymous release of many files: a few people, looked for in all of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tsveil._types import Indices
from tsveil.engine.base import Engine, Result, Task
from tsveil.large.job import Job, get_array, load
from tsveil.large.source import as_values

#: people of whom is asked whether known values single them out, and how often with other values
SINGLED, DRAWS = 200, 5


def known_points(T: int, n: int, person: int, draw: int) -> Indices:
    """The n of T time points that an intruder happens to know of a person; no secret."""
    return np.random.default_rng([person, draw]).choice(T, n, replace=False)


def agreeing(task: Task) -> Result:
    """How many records of one published file agree with a person at the time points known, for some people and draws."""
    spool, at = Path(task["spool"]), int(task["at"])
    job = load(spool)
    outs = [get_array(spool / f"people-{one}.out.npy", whole=True) for one in range(job.files)]
    persons = np.concatenate(outs)[:SINGLED]
    path = spool.parent / "published" / "data" / f"part-{at:05d}.parquet"
    released = as_values(pl.read_parquet(path, columns=list(job.source.columns), glob=False).select(job.source.columns))
    counts: dict[str, list[int]] = {}
    for role in job.source.series:
        span = job.source.span(role.name)
        columns = np.ascontiguousarray(released[:, span].T)
        counts[role.name] = []
        for person, own in enumerate(persons[:, span]):
            for draw in range(DRAWS):
                points = known_points(len(role.columns), int(job.settings["n"]), person, draw)
                same = np.logical_and.reduce([columns[point] == own[point] for point in points])
                counts[role.name].append(int(same.sum()))
    return {"counts": counts}


def singled_out(spool: Path, job: Job, engine: Engine) -> dict[str, float]:
    """For each series the share of people, in percent, whom n random known values single out in the whole release."""
    todo = [{"spool": str(spool), "at": at} for at in range(job.files)]
    found = engine.map(agreeing, todo, "Counting who is singled out")
    shares = {}
    for role in job.source.series:
        total = np.sum([one["counts"][role.name] for one in found], axis=0)
        shares[role.name] = 100 * float(np.mean(total == 1))
    return shares
