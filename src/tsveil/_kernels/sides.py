"""How likely values belong to runs of neighbours, summed over columns; see `tsveil.attack.runs`.

Each known value has two runs of its column, `low` and `high`, with a logarithm each; all other runs have `far`. Logarithms are in fixed point, so sums of them are exact.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.best_rows import best_rows
from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array, Indices


@kernel
def _add_columns(
    score: Indices,
    low: AnyArray,
    high: AnyArray,
    of_low: AnyArray,
    of_high: AnyArray,
    kind: AnyArray,
    far: int,
    start: int,
    stop: int,
) -> None:
    """Add the logarithms of the columns start..stop to the scores of all rows, for one record."""
    for c in range(start, stop):
        below, above, of_row = low[c], high[c], kind[c]
        of_below, of_above = of_low[c], of_high[c]
        for row in range(len(score)):
            run = of_row[row]
            score[row] += of_above if run == above else (of_below if run == below else far)


@kernel
def likeliest_runs(
    low: AnyArray,
    high: AnyArray,
    of_low: AnyArray,
    of_high: AnyArray,
    kind: AnyArray,
    far: int,
    rounds: Indices,
    copies: Indices,
    number: Indices,
    owner: Indices,
    records: Indices,
    mine: Indices,
    counter: Indices,
) -> tuple[Array, Indices, Indices, Indices]:
    """For each known record and round: the least distance (the logarithms with the sign turned), how many records are at it, the lowest, and how many are the person's.

    Row r is in the runs kind[:, r]. A round knows the first rounds[at] columns. The rest is as in `tsveil.attack.nearest.Rows`.
    """
    shape = (len(low), len(rounds))
    best = np.empty(shape)
    tied = np.empty(shape, np.int64)
    link = np.empty(shape, np.int64)
    hit = np.empty(shape, np.int64)
    score = np.empty(kind.shape[1], np.int64)
    for a in range(len(low)):
        score[:] = 0
        done = 0
        for at in range(len(rounds)):
            _add_columns(score, low[a], high[a], of_low[a], of_high[a], kind, far, done, rounds[at])
            done = rounds[at]
            best[a, at], tied[a, at], link[a, at], hit[a, at] = best_rows(
                -score, copies, number, owner, records, mine[a]
            )
        counter[0] += 1
    return best, tied, link, hit


@kernel
def table_of_runs(
    low: AnyArray, high: AnyArray, of_low: AnyArray, of_high: AnyArray, kind: AnyArray, far: int
) -> Indices:
    """The sums of the logarithms for all pairs of a known record and a row, by all columns."""
    table = np.zeros((len(low), kind.shape[1]), np.int64)
    for a in range(len(low)):
        _add_columns(table[a], low[a], high[a], of_low[a], of_high[a], kind, far, 0, len(kind))
    return table
