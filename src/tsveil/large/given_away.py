"""Carried values that groups of equal records of a release in many files have in common: `tsveil.attack.attribute`, put together from files.

    in_file    one published file: count, bounds and number of values of each carried column, for each distinct row in it
    merged     some distinct rows: the same over all files; which of them give a value away
    listed     one published file: its records whose values are given away, in private/attribute_disclosure

The definitions are those of `tsveil.attack.attribute`: a group of at least two records whose values are equal, or whose numbers lie within a
twentieth of the column's standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil._types import Array
from tsveil.attack.attribute import SHARE, SMALLEST, missing
from tsveil.data.source import as_values
from tsveil.data.store import Store, opened, put_file
from tsveil.engine.base import Result, Task
from tsveil.large.steps import carried_of
from tsveil.protect.job import Job, load

#: distinct rows that are put together at a time
GROUPS = 2**20


def in_file(store: Store, job: Job, at: int) -> list[list[float]]:
    """Write what the groups of one file carry; gives the moments of each numeric column, nothing for others."""
    if not job.source.confidential:
        return []
    start, stop = job.file_range(at)
    carried = carried_of(store, job, at).with_columns(group=np.array(store.get("distinct.of_row")[start:stop]))
    found = []
    for number, name in enumerate(job.source.confidential):
        value, numeric = pl.col(name), carried[name].dtype.is_numeric()
        groups = (
            carried.group_by("group")
            .agg(
                pl.len().cast(pl.Int64).alias("records"),
                value.min().alias("low"),
                value.max().alias("high"),
                (missing(value).sum().cast(pl.Int64) if numeric else pl.lit(0, pl.Int64)).alias("gaps"),
                value.n_unique().cast(pl.Int64).alias("values"),
                value.first().alias("one"),
            )
            .sort("group")
        )
        store.put_frame(f"given-{number}-{at}", groups)
        numbers = carried.filter(~missing(value)).select(name) if numeric else pl.DataFrame()
        found.append(moments(as_values(numbers)).ravel().tolist() if len(numbers) else [])
    return found


def deviations(job: Job, files: Sequence[list[list[float]]]) -> list[float]:
    """The standard deviation of each carried column; -1 for those that are no numbers."""
    found = []
    for number in range(len(job.source.confidential)):
        total: Array | None = None
        for one in files:
            if one[number]:
                part = np.array(one[number])[:, None]
                total = part if total is None else merged_moments(total, part)
        found.append(-1.0 if total is None else math.sqrt(total[4, 0] / max(total[0, 0] - 1, 1)))
    return found


def tasks(store: Store, job: Job, distinct: int, files: Sequence[list[list[float]]]) -> list[dict[str, Any]]:
    """What is to be put together."""
    if not job.source.confidential:
        return []
    near = deviations(job, files)
    return [
        {"store": store.handle, "at": at, "first": first, "last": min(first + GROUPS, distinct), "deviations": near}
        for at, first in enumerate(range(0, distinct, GROUPS))
    ]


def merged(task: Task) -> Result:
    """The groups, of some, that give a value away; and how many records that are, for each carried column."""
    store, at = opened(task["store"]), int(task["at"])
    job = load(store)
    inside = pl.col("group").is_between(int(task["first"]), int(task["last"]) - 1)
    counts = []
    for number, deviation in enumerate(task["deviations"]):
        parts = [store.get_frame(f"given-{number}-{one}").filter(inside) for one in range(job.files)]
        near = pl.lit(False)
        if deviation >= 0:
            width = (pl.col("high").max() - pl.col("low").min()).cast(pl.Float64)
            near = (pl.col("gaps").sum() == 0) & (width <= SHARE * deviation)
        found = (
            pl.concat(parts)
            .group_by("group")
            .agg(
                pl.col("records").sum(),
                pl.col("low").min().cast(pl.String),
                pl.col("high").max().cast(pl.String),
                ((pl.col("values").max() == 1) & (pl.col("one").n_unique() == 1)).alias("exactly"),
                near.alias("near"),
            )
            .filter((pl.col("records") >= SMALLEST) & (pl.col("exactly") | pl.col("near")))
            .drop("near")
            .sort("group")
        )
        store.put_frame(f"gives-{number}-{at}", found)
        counts.append(int(found["records"].sum()))
    return {"records": counts}


def listed(store: Store, job: Job, at: int, merges: int) -> None:
    """The records of one published file whose values are given away, for the owner; columns as in a small release's list."""
    start, stop = job.file_range(at)
    name = f"part-{at:05d}.parquet"
    private = Path(job.place) / "private"
    known = pl.read_parquet(private / "id_map" / name, columns=["original"], glob=False)
    known = known.with_columns(group=np.array(store.get("distinct.of_row")[start:stop]))
    parts = []
    for number, column in enumerate(job.source.confidential):
        gives = pl.concat([store.get_frame(f"gives-{number}-{one}") for one in range(merges)])
        found = known.join(gives, on="group", how="inner", maintain_order="left")
        parts.append(
            found.select(
                "original",
                pl.lit(column).alias("column"),
                pl.col("records").alias("group_size"),
                "low",
                "high",
                "exactly",
            )
        )
    put_file(private / "attribute_disclosure" / name, lambda path: pl.concat(parts).write_parquet(path))


def moments(values: Array) -> Array:
    """Count, lowest, highest, mean and sum of squared differences to the mean of each column, a row each."""
    low, high = values.min(axis=0), values.max(axis=0)
    from_low = values - low
    mean = from_low.sum(axis=0) / len(values)
    from_low -= mean
    with np.errstate(over="ignore"):  # such values are refused
        squares = np.square(from_low, out=from_low).sum(axis=0)
    return np.stack([np.full(len(low), float(len(values))), low, high, low + mean, squares])


def merged_moments(a: Array, b: Array) -> Array:
    """The moments of two sets of records together (Chan, Golub and LeVeque 1983).

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [6.0], [11.0]])
    >>> np.allclose(merged_moments(moments(x[:1]), moments(x[1:])), moments(x))
    True
    """
    n = a[0] + b[0]
    apart = b[3] - a[3]
    with np.errstate(over="ignore"):  # such values are refused
        squares = a[4] + b[4] + apart**2 * (a[0] * b[0] / n)
    return np.stack([n, np.minimum(a[1], b[1]), np.maximum(a[2], b[2]), a[3] + apart * (b[0] / n), squares])
