"""(k,P)-anonymity and k-anonymous envelopes in parts: how parts are found and protected, and what is written.

A part holds series with the same beginning of their pattern, so (k,P) finds in it the records whose words it would compare; envelopes without
patterns are made in parts of near records. A part suppresses what it cannot publish by itself: fewer than P records, or all if fewer than k remain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from tsveil._types import Array, Indices
from tsveil.data.intervals import IntervalTable
from tsveil.guarantee.base import Guarantee, Verdict
from tsveil.large.job import Job
from tsveil.large.source import Source
from tsveil.protect.intervals import WORD_LENGTH, IntervalMethod, envelopes, rounded_outwards
from tsveil.protect.kp import KP
from tsveil.transform.sax import as_symbols, as_words, patterns, symbols
from tsveil.transform.scale import lifted


def letters_of(method: IntervalMethod, points: int) -> int:
    """The letters of a pattern; 0 without patterns."""
    return (method.word_length or min(points, WORD_LENGTH)) if isinstance(method, KP) else 0


def made_width(method: Any, points: int) -> int:
    """The columns that a method makes of a record: as many as there are values, or bounds, letters, level and a mark."""
    return 2 * points + letters_of(method, points) + 2 if isinstance(method, IntervalMethod) else points


def prefix_of(n: int, size: int, letters: int) -> tuple[int, int]:
    """Level and number of the leading letters that cut n records into parts of about `size`, if all words were equally frequent.

    Examples
    --------
    >>> prefix_of(1000, 2000, 8), prefix_of(100_000, 8000, 8), prefix_of(10_000_000, 8000, 8)
    ((1, 1), (2, 4), (4, 6))
    """
    for level in (1, 2, 4, 8):
        for count in range(1, letters + 1):
            if level**count * size >= n:
                return level, count
    return 8, letters


def prefix_leaf(x: Array, letters: int, level: int, count: int) -> Indices:
    """The number of each series' leading letters; neighbouring numbers begin alike."""
    found = symbols(patterns(x, letters), level)[:, :count].astype(np.int64)
    return found @ (level ** np.arange(count - 1, -1, -1))


def made_intervals(method: IntervalMethod, x: Array) -> tuple[Array, Indices, int]:
    """Bounds, letters, level and whether it is published for each series, as numbers; its group; and how many are suppressed."""
    n, points = x.shape
    out = np.zeros((n, made_width(method, points)))
    groups = np.full(n, -1, dtype=np.int64)
    made = method.group(lifted(np.ascontiguousarray(x)))
    if len(made.rows):
        lo, hi = envelopes(x[made.rows], made.groups)
        if method.round_to is not None:
            lo, hi = rounded_outwards(lo, hi, method.round_to)
        out[made.rows, :points], out[made.rows, points : 2 * points] = lo[made.groups], hi[made.groups]
        if made.words is not None and made.levels is not None:
            out[made.rows, 2 * points : -2] = as_symbols(made.words)
            out[made.rows, -2] = made.levels
        out[made.rows, -1] = 1.0
        groups[made.rows] = made.groups
    return out, groups, n - len(made.rows)


def table_of(job: Job, Y: Array, others: pl.DataFrame) -> IntervalTable:
    """The published records of a file."""
    points = len(job.source.columns)
    letters = Y[:, 2 * points : -2].astype(np.uint8)
    return IntervalTable(
        job.source.columns,
        Y[:, :points],
        Y[:, points : 2 * points],
        tuple(as_words(letters)) if letters.shape[1] else None,
        Y[:, -2].astype(np.int64) if letters.shape[1] else None,
        others,
    )


def interval_readme(source: Source, n: int, method: Any, guarantee: Guarantee, verdict: Verdict, letters: int) -> str:
    """What the users of the data should know; nothing private."""
    settings = ", ".join(f"{name} = {value}" for name, value in method.settings().items() if value is not None)
    first, last = source.columns[0], source.columns[-1]
    columns = f"- `lo_{first}`, `hi_{first}` to `lo_{last}`, `hi_{last}`: the record's value at that time lies between the two, both included\n"
    if letters:
        columns += f"- `pattern`, `level`: the shape of the series as a SAX word of {letters} letters, and the number of letters it chooses from\n"
    columns += "".join(f"- `{name}`: carried unchanged\n" for name in source.confidential)
    unverified = (
        f"\n**WARNING: THE GUARANTEE WAS NOT VERIFIED: {verdict.status.upper()}.**\n" if verdict.blocks_release else ""
    )
    return (
        f"# Protected time series\n\nThe files in `data/` hold {n} records. Instead of values they hold intervals, which a group of records has in "
        f"common. Rows are in random order and have no identifiers.\n{unverified}\n"
        f"## Method\n\n{method.name} ({settings}): {method.summary}.\n\nReference: {method.reference}.\n\n"
        f"## Guarantee\n\n{guarantee.words} {guarantee.limits}\n\nVerification of these files: {verdict.status}.\n\n"
        f"## Columns\n\n{columns}\nMade with tsveil.\n"
    )
