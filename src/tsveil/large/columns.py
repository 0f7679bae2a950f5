"""One column of both files at a time: what attacks on columns need to know of the whole of it.

Ranks, the nearest released value, a column's scale: all this is sorting, and one column of all records fits into a worker (16 bytes for each record).
What comes out stands in files in the order of the published rows, so that the attacks can take any people from it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tsveil._types import AnyArray, Array, Indices
from tsveil.attack._files import scale_of
from tsveil.attack.alignment import touched
from tsveil.attack.interval import rank_gaps, ranks
from tsveil.attack.probabilistic import nearest_values
from tsveil.attack.rank_swap import within_ranks
from tsveil.engine.base import Result, Task
from tsveil.large.job import Job, get_array, load, put_array
from tsveil.transform.normalise import ruler_of

#: interval widths, in percent
PERCENTS = tuple(range(1, 11))


def whole_column(spool: Path, job: Job, side: str, column: int) -> Array:
    """A column of the "original" or "released" records, in the order of the published rows."""
    return np.concatenate([get_array(spool / f"{side}-{at}.npy")[column] for at in range(job.files)])


def look_at_column(task: Task) -> Result:
    """Its scale, and what the attacks of the task need of it."""
    spool, column, figures = Path(task["spool"]), int(task["at"]), set(task["figures"])
    job = load(spool)
    x, y = (whole_column(spool, job, side, column) for side in ("original", "released"))
    power, factor = scale_of(x[:, None], y[:, None])
    found: Result = {"power": int(power[0]), "factor": float(factor[0])}
    if "ID" in figures:
        ordered = np.sort(x)
        gap = rank_gaps(ranks(ordered, x), ranks(ordered, y))
        hits = np.zeros(job.n, dtype=np.uint8)
        for width in PERCENTS:
            hits += gap * 100.0 <= width * job.n
        put_array(spool / f"hits-{column}.npy", hits)
        found["hits"] = int(hits.sum(dtype=np.int64))
    if "PLD" in figures:
        values, label = np.unique(y, return_inverse=True)
        put_array(spool / f"labels-{column}.npy", _small(nearest_values(values, x), label))
        found["size"] = len(values)
    if "ProjLD" in figures:
        ruler = ruler_of(y[:, None], "component")
        found["ruler"] = [float(np.ravel(each)[0]) for each in (ruler.low, ruler.width, ruler.mean, ruler.deviation)]
    if figures & {"RSLD", "ARLD"}:
        order = np.argsort(y, kind="stable")
        place = np.empty(job.n, dtype=np.int64)
        place[order] = np.arange(job.n)
        put_array(spool / f"places-{column}.npy", _small(place, order))
        y = y[order]
    for figure in sorted(figures & {"RSLD", "ARLD"}):
        low, high = within_ranks(x, y, int(task["window"])) if figure == "RSLD" else touched(np.sort(x), y, y, x)
        put_array(spool / f"{figure}-{column}.npy", _small(low, high))
        found[f"{figure} width"] = float(np.mean(np.maximum(high - low, 0)))
    return found


def _small(*arrays: Indices) -> AnyArray:
    """Row numbers and ranks in half the space."""
    return np.stack(arrays).astype(np.int32)
