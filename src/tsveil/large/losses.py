"""What was lost in a release of many files: sums over published files, put together in the order of the files.

A published file holds fixed rows of the release, whatever files the input came in and wherever the work is done; its sums are computed
in one way only, and they are added in the order of the files. So the figures do not depend on engine, workers or input files, to the last bit.

Of attributes, means, covariances and fourth moments are sums around the original's mean. What the attacks need later is kept in the store:
the originals (and for attacks by columns the protected values) of the file by columns, and a mark of each protected row.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tsveil._types import Array
from tsveil.data.store import Store
from tsveil.engine.base import Result
from tsveil.large.distinct import marks
from tsveil.large.job import Job
from tsveil.measure import microdata
from tsveil.measure.disclosure_risk import interval_disclosure
from tsveil.measure.forecast import fitting_models
from tsveil.measure.information_loss import series_loss
from tsveil.transform.normalise import Ruler, exact_sums

#: what is summed over the records of a file
SUMS = ("lost", "counted", "first", "first2", "second", "second2", "fourth", "size2")
#: records whose products are summed at a time
ROWS = 4096


def file_figures(store: Store, job: Job, at: int, X: Array, Y: Array, *, by_columns: bool) -> Result:
    """The sums of one published file; what the attacks need of it is kept for later steps, both sides of it if they go `by_columns`."""
    store.put(f"original-{at}", np.ascontiguousarray(X.T))
    if by_columns or job.method == "nlk":
        store.put(f"released-{at}", np.ascontiguousarray(Y.T))
    store.put(f"marks-{at}", marks(Y))
    figures: Result = {"records": len(X), "sse": math.fsum(np.square(X - Y).sum(axis=1)), "series": {}, "units": []}
    disclosed, lost = [], []
    for role in job.source.series:
        span = job.source.span(role.name)
        x, y = np.ascontiguousarray(X[:, span]), np.ascontiguousarray(Y[:, span])
        loss = series_loss(x, y, models=fitting_models(len(role.columns)))
        by_percent, per_record = interval_disclosure(x, y)
        figures["series"][role.name] = {
            "IL1.1": loss.il1_1, "IL1.2": loss.il1_2, "IL2": loss.il2, "IL3": loss.il3, "ID": float(by_percent.mean()),
        }  # fmt: skip
        low, high = min(job.low[span]), max(job.high[span])
        unit = Ruler(low, high - low).measure(x)
        figures["units"].append([int(half.item()) for half in exact_sums(unit, None)])
        disclosed.append(per_record)
        lost.append(loss.per_record_il)
    if not job.source.series:
        lost.append(_attribute_sums(store, job, at, X, Y))
    store.put(f"lost-{at}", np.mean(lost, axis=0))
    if disclosed:
        store.put(f"disclosed-{at}", np.mean(disclosed, axis=0))
    return figures


def _attribute_sums(store: Store, job: Job, at: int, X: Array, Y: Array) -> Array:
    """Write sums of powers around the original's mean, in units of its range; gives the loss of each record in percent."""
    mean, width = np.array(job.mean), _width(job)
    c, c2 = (X - mean) / width, (Y - mean) / width
    counts = X != 0
    lost = np.divide(np.abs(X - Y), np.abs(X), out=np.zeros_like(X), where=counts)
    sums = {
        "lost": math.fsum(lost.sum(axis=1)),
        "counted": int(counts.sum()),
        "first": c.sum(axis=0),
        "first2": c2.sum(axis=0),
        "second": _products(c),
        "second2": _products(c2),
        "fourth": _products(np.square(c)),
        "size2": np.abs(Y).max(axis=0),
    }
    for name, total in sums.items():
        store.put(f"sums-{name}-{at}", np.asarray(total))
    per_record: Array = 100 * lost.sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return per_record


def _width(job: Job) -> Array:
    low, width = np.array(job.low), np.array(job.high) - np.array(job.low)
    found: Array = np.where(width > 0, width, np.maximum(np.abs(low), 1.0))
    return found


def _products(c: Array) -> Array:
    """The sums of products of all pairs of columns; not a matrix product, whose rounding may depend on the number of threads."""
    total = np.zeros((c.shape[1], c.shape[1]))
    for start in range(0, len(c), ROWS):
        part = c[start : start + ROWS]
        total += np.einsum("ij,ik->jk", part, part)
    return total


def _summed(store: Store, job: Job) -> dict[str, Any]:
    """The sums of all files."""
    total: dict[str, Any] = {}
    for at in range(job.files):
        for name in SUMS:
            part = store.get(f"sums-{name}-{at}", whole=True)
            if name not in total:
                total[name] = part
            else:
                total[name] = np.maximum(total[name], part) if name == "size2" else total[name] + part
    return total


def attribute_losses(store: Store, job: Job) -> dict[str, float]:
    """IL1 to IL5 and PIL from the sums of all files."""
    total = _summed(store, job)
    n, width, mean = job.n, _width(job), np.array(job.mean)
    size = np.maximum(np.abs(job.low), np.abs(job.high))
    # The sums were taken around the original's mean, up to rounding; what that leaves is taken off.
    d, d2 = total["first"] / n, total["first2"] / n
    v, v2 = (total[name] / n - np.outer(off, off) for name, off in (("second", d), ("second2", d2)))
    units = np.outer(width, width) * (n / max(n - 1, 1))
    before = microdata.Moments(mean + width * d, v * units, size)
    after = microdata.Moments(mean + width * d2, v2 * units, total["size2"])
    losses, _ = microdata.statistics_lost(before, after)
    figures = {"IL1": 100 * float(total["lost"]) / max(int(total["counted"]), 1), **losses}
    figures["IL"] = math.fsum(figures.values()) / 5
    bounded = microdata.probably_lost(n, d2 - d, v, v2, total["fourth"] / n, before.correlation, after.correlation)
    return {**figures, "PIL": bounded.mean}


def released_products(store: Store, job: Job, constant: Array) -> Array:
    """Sums of products of the released columns, each standardised, up to a factor; zero for those that are constant."""
    total = _summed(store, job)
    d2 = total["first2"] / job.n
    v2 = total["second2"] / job.n - np.outer(d2, d2)
    scale = np.where(constant, np.inf, np.sqrt(np.maximum(np.diag(v2), np.finfo(np.float64).tiny)))
    found: Array = v2 / np.outer(scale, scale)
    return found
