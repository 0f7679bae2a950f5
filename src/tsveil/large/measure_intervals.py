"""What a release of envelopes in many files loses and leaks: each file gives its share, and the shares are put together in the order of the files.

**Losses** add up. **Queries** are drawn by numbers of records and time points before anything is read; the first pass keeps the values
that they ask about. Counts of range queries add up; of similarity queries each file gives its nearest records, truly and by the published words, and the
nearest of all are among them. **Breach**: the people are all records or a sample (`people`); how many records fit a person's values, pattern or both
is counted in each file and added up. So every figure is the one that the whole release would give for these people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from tsveil._types import AnyArray, Array, Indices, Mask
from tsveil.attack.kp import envelope_linkages
from tsveil.attack.targets import affordable, border_of, in_words, rows_of
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Store, opened
from tsveil.engine.base import Engine, Result, Task
from tsveil.large.job import Job, load
from tsveil.measure.kp import (
    NEAREST,
    IntervalCard,
    QueryError,
    asked,
    breach_figures,
    certainty_penalty,
    nearest_series,
    pattern_loss,
    range_answers,
    range_figures,
    similar_series,
    value_loss,
)

#: a person and an envelope cost as much as so many pairs of the linkages by distance, about
COST = 4
LOSSES = ("value_loss", "ncp", "pattern_loss")
#: the nearest records to each curve, truly and by the published words
NEAR = ("true", "found")


# -- queries ----------------------------------------------------------------------------------------------------------


def asked_records(job: Job, start: int, stop: int) -> Indices:
    """Which of the records start..stop queries ask about."""
    queries = asked(job.n, len(job.source.columns))
    wanted = np.unique(np.concatenate([queries.ends.ravel(), queries.curves]))
    return wanted[(wanted >= start) & (wanted < stop)].astype(np.int64)


def _queries(store: Store, job: Job) -> tuple[Indices, Array, Array, Array]:
    """The time points that range queries name, their lower and upper ends, and the curves that are looked for."""
    queries = asked(job.n, len(job.source.columns))
    values = np.concatenate([store.get(f"asked-{at}", whole=True) for at in range(job.chunks)])
    place = np.searchsorted(asked_records(job, 0, job.n), queries.ends)
    low, high = queries.ranges(values[place, queries.points[:, None, :]])
    return queries.points, low, high, values[np.searchsorted(asked_records(job, 0, job.n), queries.curves)]


def _query_error(store: Store, job: Job, files: Sequence[Result]) -> QueryError:
    answers = [store.get(f"ranges-{one['at']}", whole=True) for one in files]
    total = np.array([[math.fsum(cell) for cell in zip(*rows, strict=True)] for rows in zip(*answers, strict=True)])
    if job.method != "kp":
        return QueryError(*range_figures(total, job.n), None)
    near, got = (_nearest_of_all(store, files, side) for side in NEAR)
    found = [np.isin(a, b).mean() for a, b in zip(near, got, strict=True)]
    return QueryError(*range_figures(total, job.n), 100 * float(np.mean(found)))


def _nearest_of_all(store: Store, files: Sequence[Result], side: str) -> Indices:
    """For each curve the numbers of the nearest records of all files, the lower number first where two are equally near."""
    parts = [store.get(f"near-{side}-{one['at']}", whole=True) for one in files]
    distance, record = np.concatenate(parts, axis=2)
    order = np.lexsort((record, distance), axis=1)[:, :NEAREST]
    return np.take_along_axis(record, order, axis=1).astype(np.int64)


# -- one published file -----------------------------------------------------------------------------------------------


def _people(job: Job) -> int:
    """How many people are looked for: each is compared with the different envelopes of every file."""
    envelopes = job.files * min(job.file_rows, job.n // int(job.settings["k"]))
    return affordable(job.n, COST * envelopes, job.people)


@lru_cache(maxsize=4)
def _border(n: int, people: int) -> int:
    return border_of(n, people)


def file_figures(store: Store, job: Job, at: int, X: Array, kept: Mask, table: IntervalTable) -> Result:
    """The share of one published file; `kept` are the records that the table holds, in its order, and its people are kept for later."""
    start, stop = job.file_range(at)
    chosen = rows_of(_border(job.n, _people(job)), start, stop) - start
    store.put(f"people-{at}", X[chosen])
    store.put(f"people-{at}.rows", np.where(kept, np.cumsum(kept) - 1, -1)[chosen])
    x = np.ascontiguousarray(X[kept])
    points, low, high, curves = _queries(store, job)
    store.put(f"ranges-{at}", range_answers(X, table, points, low, high))
    if table.words is not None:
        _nearest_of_file(store, job, at, X, kept, table, curves)
    shapes = pattern_loss(x, table) if len(x) else np.zeros(0)
    ranges = np.array(job.high) - np.array(job.low)
    losses = (value_loss(table.lo, table.hi), certainty_penalty(table.lo, table.hi, ranges), shapes)
    return {
        "at": at,
        "records": len(x),
        **{name: math.fsum(loss) for name, loss in zip(LOSSES, losses, strict=True)},
    }


def _nearest_of_file(
    store: Store, job: Job, at: int, X: Array, kept: Mask, table: IntervalTable, curves: Array
) -> None:
    records = np.asarray(store.get("records")[slice(*job.file_range(at))])

    def put_near(side: str, distance: Array, found: AnyArray) -> None:
        store.put(f"near-{side}-{at}", np.stack([distance, found.astype(np.float64)]))

    # In the order of the records: where several are equally near, those with the lowest numbers are taken, as in one piece.
    order = np.argsort(records)
    distance, rows = nearest_series(np.ascontiguousarray(X[order]), curves)
    put_near("true", distance, records[order][rows])
    own = np.argsort(records[kept])
    if len(own):
        distance, rows = similar_series(table.take(own), curves)
        put_near("found", distance, records[kept][own][rows])
    else:
        put_near("found", np.zeros((len(curves), 0)), np.zeros((len(curves), 0)))


# -- linkage ----------------------------------------------------------------------------------------------------------


def fitting(task: Task) -> Result:
    """How many records of one published file fit each person, by values, by pattern and by both, and whether the own one does."""
    store, at = opened(task["store"]), int(task["at"])
    job = load(store)
    people = np.concatenate([store.get(f"people-{one}", whole=True) for one in range(job.files)])
    rows = [store.get(f"people-{one}.rows", whole=True) for one in range(job.files)]
    own = np.concatenate([mine if one == at else np.full_like(mine, -1) for one, mine in enumerate(rows)])
    path = job.published_file(at)
    table = IntervalTable.from_frame(pl.read_parquet(path, glob=False))
    links = envelope_linkages(people, table, own)
    for name, found in links.items():
        store.put(f"fits-{name}-{at}", np.stack([found.candidates, found.hit]))
    return {"attacks": list(links)}


def _breach(store: Store, files: Sequence[Result], engine: Engine) -> dict[str, Array]:
    """For each attack the chance of finding the own record, for each person."""
    places = [int(one["at"]) for one in files if one["records"]]
    done = engine.map(fitting, [{"store": store.handle, "at": at} for at in places], "Linking by values and patterns")
    chances = {}
    for name in done[0]["attacks"]:
        fits, hit = np.sum([store.get(f"fits-{name}-{at}", whole=True) for at in places], axis=0)
        chances[name] = np.where(hit > 0, 1.0 / np.maximum(fits, 1), 0.0)
    return chances


# -- the score card ---------------------------------------------------------------------------------------------------


def interval_card(
    store: Store, job: Job, files: Sequence[Result], engine: Engine, homogeneous: Mapping[str, tuple[int, int]]
) -> IntervalCard:
    """Losses and risks of the whole release; `homogeneous` is what the verification found."""
    published = sum(int(one["records"]) for one in files)
    total = {name: math.fsum(one[name] for one in files) for name in LOSSES}
    chances = _breach(store, files, engine)
    figures = {
        "value_loss": total["value_loss"],
        "value_loss_mean": total["value_loss"] / published,
        "ncp": total["ncp"] / published,
        "pattern_loss": total["pattern_loss"],
        "pattern_loss_mean": total["pattern_loss"] / published,
        "suppressed": float(job.n - published),
        **_query_error(store, job, files).figures,
        **breach_figures(chances),
    }
    people = in_words(job.n, {name: len(chance) for name, chance in chances.items()})
    if people != "all records":
        people += "; the worst is the worst of these"
    return IntervalCard(figures, pl.DataFrame(), homogeneous, options={"people": people})
