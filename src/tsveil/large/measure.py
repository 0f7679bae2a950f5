"""Loss and risk of a release in many files: sums over published files, put together in the order of the files.

A published file holds fixed rows of the release, whatever files the input came in and wherever the work is done; its sums are computed
in one way only, and they are added in the order of the files. So the figures do not depend on engine, workers or input files, to the last bit.

**Linkage of series.** The intruder's people are all records up to EXACT_SERIES, above that a sample of them. Each published file is attacked by itself: the
least distance of every person to its distinct rows, how many records have it, and whether the person's own is among them. The least over
all files, with the ties that have it, is exactly what an attack on the whole release would find for these people.

**Attributes.** Means, covariances and fourth moments are sums around the original's mean. Interval disclosure needs the ranks of whole columns: a
task has one column of both files. The linkages take the whole release in one task each, so they are left out beyond MOST_RELEASED records; the
people are all up to EXACT_ATTRIBUTES, above that a sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil._types import Array, Indices
from tsveil.attack._nearest import nearest_with_distance
from tsveil.attack.fits import Run, fitting, made_for_series
from tsveil.attack.interval import rank_gaps, ranks
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Engine, Result, Task
from tsveil.large.job import Job, get_array, load, put, put_array
from tsveil.large.parts import sampled
from tsveil.large.source import as_values
from tsveil.large.ways import scale_of, sized
from tsveil.measure import microdata, series
from tsveil.measure.disclosure_risk import interval_disclosure
from tsveil.measure.forecast import MODELS, fitting_models
from tsveil.measure.information_loss import series_loss
from tsveil.measure.scorecard import Scorecard
from tsveil.transform.statistics import slopes

#: up to so many records every one of them is a person whom the intruder knows; above, the people are a sample of about this many
EXACT_SERIES, SOME_SERIES = 100_000, 10_000
EXACT_ATTRIBUTES, SOME_ATTRIBUTES = 20_000, 2_000
#: the largest release that the linkages by attributes take
MOST_RELEASED = 1_000_000
#: sets the people apart from the sample that cuts are found from
SALT = 1
#: interval widths, in percent
PERCENTS = tuple(range(1, 11))
#: records whose products are summed at a time
ROWS = 4096


def people_of(n: int, *, of_series: bool) -> int:
    """About how many original records the intruder knows; n: all."""
    exact, some = (EXACT_SERIES, SOME_SERIES) if of_series else (EXACT_ATTRIBUTES, SOME_ATTRIBUTES)
    return n if n <= exact else some


# -- one published file -----------------------------------------------------------------------------------------------


def file_figures(spool: Path, job: Job, at: int, X: Array, Y: Array) -> Result:
    """The sums of one published file; its people, and the columns of attributes, are kept for later steps."""
    start, stop = job.file_range(at)
    chosen = sampled(start, stop, job.n, job.people, SALT)
    put_array(spool / f"people-{at}.npy", X[chosen])
    put_array(spool / f"people-{at}.rows.npy", start + np.flatnonzero(chosen))
    if job.method == "nlk":
        put_array(spool / f"people-{at}.out.npy", Y[chosen])
    figures: Result = {"records": len(X), "sse": math.fsum(np.square(X - Y).sum(axis=1)), "series": {}}
    for role in job.source.series:
        span = job.source.span(role.name)
        x, y = np.ascontiguousarray(X[:, span]), np.ascontiguousarray(Y[:, span])
        loss = series_loss(x, y, models=fitting_models(len(role.columns)))
        by_percent, _ = interval_disclosure(x, y)
        figures["series"][role.name] = {
            "IL1.1": loss.il1_1, "IL1.2": loss.il1_2, "IL2": loss.il2, "IL3": loss.il3, "ID": float(by_percent.mean()),
        }  # fmt: skip
    if not job.source.series:
        _attribute_sums(spool, job, at, X, Y)
    return figures


def _attribute_sums(spool: Path, job: Job, at: int, X: Array, Y: Array) -> None:
    """Sums of powers around the original's mean, in units of its range; and the columns, each in one piece."""
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
    put(spool / f"sums-{at}.npz", lambda path: _savez(path, sums))
    put_array(spool / f"columns-{at}.npy", np.stack([X.T, Y.T]))


def _savez(path: Path, arrays: Mapping[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


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


# -- linkage of series ------------------------------------------------------------------------------------------------


def people(spool: Path, job: Job) -> tuple[Array, Indices]:
    """The originals that the intruder knows, and their published rows."""
    found = [
        (get_array(spool / f"people-{at}.npy", whole=True), get_array(spool / f"people-{at}.rows.npy", whole=True))
        for at in range(job.files)
    ]
    return np.concatenate([values for values, _ in found]), np.concatenate([rows for _, rows in found])


def link(task: Task) -> Result:
    """Attack one published file: for each person the least distance, how many records have it, and whether the own is among them."""
    spool, at, distance = Path(task["spool"]), int(task["at"]), str(task["distance"])
    job = load(spool)
    known, rows = people(spool, job)
    start, stop = job.file_range(at)
    path = spool.parent / "published" / "data" / f"part-{at:05d}.parquet"
    released = as_values(pl.read_parquet(path, columns=list(job.source.columns), glob=False).select(job.source.columns))
    own = np.where((rows >= start) & (rows < stop), rows - start, -1)
    parts, starts = [], [0]
    for role in job.source.series:
        span = job.source.span(role.name)
        mean, deviation = scale_of(job, role, whole=True)
        both = [(table[:, span] - mean) / np.where(deviation > 0, deviation, np.inf) for table in (known, released)]
        if distance == "sts":
            both = [slopes(table, role.times) for table in both]
        parts.append(both)
        starts.append(starts[-1] + both[0].shape[1])
    a, b = (np.ascontiguousarray(np.hstack([part[side] for part in parts])) for side in (0, 1))
    best, tied, _, hit = nearest_with_distance(a, b, np.array(starts, dtype=np.int64), own)
    put_array(spool / f"link-{distance}-{at}.npy", np.stack([best, tied.astype(np.float64), hit.astype(np.float64)]))
    return {}


def linked(spool: Path, job: Job, distance: str) -> Array:
    """The chance of a right link, for each person and each number of known series."""
    best, tied, hit = get_array(spool / f"link-{distance}-0.npy", whole=True)
    for at in range(1, job.files):
        near, many, right = get_array(spool / f"link-{distance}-{at}.npy", whole=True)
        closer, equal = near < best, near == best
        tied = np.where(closer, many, np.where(equal, tied + many, tied))
        hit = np.where(closer, right, np.where(equal, np.maximum(hit, right), hit))
        best = np.minimum(best, near)
    chance: Array = hit / tied
    return chance


# -- attributes -------------------------------------------------------------------------------------------------------


def _column(spool: Path, job: Job, side: int, column: int) -> Array:
    return np.concatenate([get_array(spool / f"columns-{at}.npy")[side, column] for at in range(job.files)])


def disclosed(task: Task) -> Result:
    """Interval disclosure of one column: how many values lie within each of the widths."""
    spool, column = Path(task["spool"]), int(task["at"])
    job = load(spool)
    x, y = _column(spool, job, 0, column), _column(spool, job, 1, column)
    ordered = np.sort(x)
    gap = rank_gaps(ranks(ordered, x), ranks(ordered, y))
    return {"hits": [int(np.count_nonzero(gap * 100.0 <= width * job.n)) for width in PERCENTS]}


def _made_for(job: Job) -> list[Run]:
    """The attacks made for the method that need all of a release of series at once."""
    return made_for_series(job.method, job.settings, sized(job))


def _runs(job: Job) -> list[Run]:
    """The attacks that fit the method."""
    return fitting(job.method, job.settings, sized(job))


def attacked(task: Task) -> Result:
    """One linkage attack on the whole release: its rate for each number of known attributes."""
    spool, number = Path(task["spool"]), int(task["at"])
    job = load(spool)
    run = _runs(job)[number]
    width = len(job.source.columns)
    released = np.column_stack([_column(spool, job, 1, column) for column in range(width)])
    known, rows = people(spool, job)
    roles = tuple(role.block() for role in job.source.blocks)
    ids = [pl.DataFrame({"row": numbers}) for numbers in (rows, np.arange(job.n))]
    a, b = Dataset(known, roles, ids[0], id="row"), Dataset(released, roles, ids[1], id="row")
    counts = list(range(1, (len(roles) if run.by_block else width) + 1))
    possible = [count for count in counts if run.most is None or count <= run.most]
    truth = None if len(rows) == job.n else "id"
    links = run.rounds(a, b, known=job.source.columns, counts=possible, ties="expected", truth=truth)
    return {"rates": [found.rate for found in links], "left out": len(counts) - len(possible)}


# -- the score card ---------------------------------------------------------------------------------------------------


def scorecard(spool: Path, job: Job, files: Sequence[Result], engine: Engine) -> Scorecard:
    """Loss and risk of the whole release."""
    at = [{"spool": str(spool), "at": number} for number in range(job.files)]
    return _of_series(spool, job, files, engine, at) if job.source.series else _of_attributes(spool, job, engine)


def _told_people(job: Job, count: int) -> str:
    if count == job.n:
        return "all records"
    return f"a random sample of {count:,} of {job.n:,} records, each linked against the whole release"


def _of_series(spool: Path, job: Job, files: Sequence[Result], engine: Engine, at: list[dict[str, Any]]) -> Scorecard:
    def mean(name: str, figure: str) -> float:
        return math.fsum(one["series"][name][figure] * one["records"] for one in files) / job.n

    per_series = {}
    for role in job.source.series:
        one = {figure: mean(role.name, figure) for figure in ("IL1.1", "IL1.2", "IL2", "IL3", "ID")}
        one["IL1"] = (one["IL1.1"] + one["IL1.2"]) / 2
        one["IL"] = (one["IL1"] + one["IL2"] + one["IL3"]) / 3
        per_series[role.name] = one
    figures = {
        figure: float(np.mean([one[figure] for one in per_series.values()]))
        for figure in ("IL1", "IL2", "IL3", "IL", "IL1.1", "IL1.2")
    }
    by_known = {}
    count = 0
    options = {"ties": "expected", "dr1": "max", "normalise": "global", "scaling": "original", "variant": "default"}
    for figure, distance in (("EULD", "euclidean"), ("STSLD", "sts")):
        if distance == "sts" and min(len(role.columns) for role in job.source.series) < 2:
            options["not measured"] = "STSLD: a series of one point has no shape"
            continue
        engine.map(link, [{**task, "distance": distance} for task in at], f"Linking records ({figure})")
        chance = linked(spool, job, distance)
        count = len(chance)
        by_known[figure] = tuple(100 * math.fsum(column) / count for column in chance.T.tolist())
        figures[figure] = float(np.mean(by_known[figure]))
    figures["DR1"] = max(figures[figure] for figure in by_known)
    figures["ID"] = float(np.mean([one["ID"] for one in per_series.values()]))
    figures["DR"] = (figures["DR1"] + figures["ID"]) / 2
    figures["score"] = (figures["IL"] + figures["DR"]) / 2
    options["people"] = _told_people(job, count)
    shortest = min(len(role.columns) for role in job.source.series)
    if left_out := [name for name in MODELS if name not in fitting_models(shortest)]:
        options["models left out"] = f"{', '.join(left_out)} (series of {shortest} points are too short for them)"
    missing = [role.name for role in job.source.blocks if role.times is None]
    missing += [f"{run.title}, which is made for {job.method} and may find more" for run in _made_for(job)]
    if missing:
        options["not measured"] = ", ".join(missing)
    return Scorecard(figures, per_series, pl.DataFrame(), options, series.MEANINGS, by_known)


def _of_attributes(spool: Path, job: Job, engine: Engine) -> Scorecard:
    figures = _attribute_losses(spool, job)
    width = len(job.source.columns)
    found = engine.map(
        disclosed, [{"spool": str(spool), "at": at} for at in range(width)], "Measuring interval disclosure"
    )
    hits = sum(sum(one["hits"]) for one in found)
    options = {"score": "max", "known": f"1 to {width} attributes", "ties": "expected", "scaling": "original"}
    runs = _runs(job)
    by_known: dict[str, tuple[float, ...]] = {}
    if job.n <= MOST_RELEASED:
        done = engine.map(
            attacked, [{"spool": str(spool), "at": at} for at in range(len(runs))], "Attacking the release"
        )
        for run, one in zip(runs, done, strict=True):
            if one["rates"]:
                by_known[run.figure] = tuple(one["rates"])
                figures[run.figure] = math.fsum(one["rates"]) / len(one["rates"])
            if one["left out"]:
                options["skipped"] = (
                    f"{run.title} takes at most {run.most} known attributes: {one['left out']} rounds left out"
                )
        strongest = max(by_known, key=lambda figure: figures[figure])
        options["strongest"] = next(run.title for run in runs if run.figure == strongest)
        options["people"] = _told_people(job, len(people(spool, job)[1]))
        figures["DR1"] = figures[strongest]
    else:
        options["not measured"] = (
            f"{', '.join(run.figure for run in runs)}, DR, score: linkages by attributes take releases of up to {MOST_RELEASED:,} records"
        )
    figures["ID"] = 100 * hits / (job.n * width * len(PERCENTS))
    if "DR1" in figures:
        figures["DR"] = (figures["DR1"] + figures["ID"]) / 2
        figures["score"] = (figures["IL"] + figures["DR"]) / 2
    return Scorecard(figures, {}, pl.DataFrame(), options, microdata.MEANINGS, by_known)


def _attribute_losses(spool: Path, job: Job) -> dict[str, float]:
    """IL1 to IL5 and PIL from the sums of all files."""
    total: dict[str, Any] = {}
    for at in range(job.files):
        with np.load(spool / f"sums-{at}.npz") as sums:
            for name in sums.files:
                part = sums[name]
                if name not in total:
                    total[name] = part
                else:
                    total[name] = np.maximum(total[name], part) if name == "size2" else total[name] + part
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
