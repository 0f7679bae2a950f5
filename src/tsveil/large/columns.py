"""One column of both files at a time: what attacks on columns need to know of the whole of it.

Ranks, the nearest released value, a column's scale: all this is sorting, and one column of all records fits into a worker (16 bytes for each record).
What comes out stands in files in the order of the published rows, so that the attacks can take any people from it.
"""

from __future__ import annotations

import numpy as np

from tsveil._types import AnyArray, Array, Indices
from tsveil.attack._files import scale_of
from tsveil.attack.alignment import touched
from tsveil.attack.interval import rank_gaps, ranks
from tsveil.attack.probabilistic import nearest_values
from tsveil.attack.rank_swap import within_ranks
from tsveil.data.store import Store, opened
from tsveil.engine.base import Result, Task
from tsveil.protect.job import Job, load
from tsveil.transform.normalise import ruler_of

#: interval widths, in percent
PERCENTS = tuple(range(1, 11))


def whole_column(store: Store, job: Job, side: str, column: int) -> Array:
    """A column of the "original" or "released" records, in the order of the published rows."""
    return np.concatenate([store.get(f"{side}-{at}")[column] for at in range(job.files)])


def look_at_column(task: Task) -> Result:
    """Its scale, and what the attacks of the task need of it."""
    store, column, figures = opened(task["store"]), int(task["at"]), set(task["figures"])
    job = load(store)
    x, y = (whole_column(store, job, side, column) for side in ("original", "released"))
    power, factor = scale_of(x[:, None], y[:, None])
    # Whatever is looked up in a sorted column is looked up in order, and put back into its place: that is much faster.
    by_x, by_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    a, b = x[by_x], y[by_y]
    found: Result = {"power": int(power[0]), "factor": float(factor[0])}
    if "ID" in figures:
        (first, last), (their_first, their_last) = ranks(a, a), ranks(a, b)
        gap = rank_gaps((_back(first, by_x), _back(last, by_x)), (_back(their_first, by_y), _back(their_last, by_y)))
        hits = np.zeros(job.n, dtype=np.uint8)
        for width in PERCENTS:
            hits += gap * 100.0 <= width * job.n
        store.put(f"hits-{column}", hits)
        found["hits"] = int(hits.sum(dtype=np.int64))
    if "PLD" in figures:
        values = np.unique(b)
        labels = _back(nearest_values(values, a), by_x), _back(np.searchsorted(values, b), by_y)
        store.put(f"labels-{column}", _small(*labels))
        found["size"] = len(values)
    if "ProjLD" in figures:
        ruler = ruler_of(y[:, None], "component")
        found["ruler"] = [float(np.ravel(each)[0]) for each in (ruler.low, ruler.width, ruler.mean, ruler.deviation)]
    if figures & {"RSLD", "ARLD"}:
        store.put(f"places-{column}", _small(_back(np.arange(job.n), by_y), by_y))
    for figure in sorted(figures & {"RSLD", "ARLD"}):
        low, high = within_ranks(a, b, int(task["window"])) if figure == "RSLD" else touched(a, b, b, a)
        store.put(f"{figure}-{column}", _small(_back(low, by_x), _back(high, by_x)))
        found[f"{figure} width"] = float(np.mean(np.maximum(high - low, 0)))
    return found


def _back(found: Indices, order: Indices) -> Indices:
    """What was found for sorted values, in the order of the rows."""
    out = np.empty_like(found)
    out[order] = found
    return out


def _small(*arrays: Indices) -> AnyArray:
    """Row numbers and ranks in half the space."""
    return np.stack(arrays).astype(np.int32)
