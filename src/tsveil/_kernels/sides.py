"""How likely values belong to runs of neighbours, summed over columns; see `tsveil.attack.runs`.

Each known value has two runs of its column, `low` and `high`, with a logarithm each; all other runs have `far`. Logarithms are in fixed point, so sums of them are exact.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.best_rows import best_rows
from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array, Indices

#: columns whose logarithms can be summed in 32 bits; one is at most 12 + log n, as a whole number of 1 / 2^16
COLUMNS = 1000


@kernel
def runs_beside(
    known: Array,
    values: Array,
    sizes: Indices,
    starts: Indices,
    pooled: bool,
    scale: int,
    far: int,
    border: float,
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """For each value of known records, columns by records: the run below it and that above it, and the logarithms for them."""
    low = np.empty(known.shape, np.int32)
    high = np.empty(known.shape, np.int32)
    of_low = np.empty(known.shape, np.int32)
    of_high = np.empty(known.shape, np.int32)
    most = np.diff(starts).max()
    runs = np.empty(most, np.int64)
    below = np.empty(most + 1, np.int64)
    rare = np.empty(most)
    for c in range(len(known)):
        shown, size = values[starts[c] : starts[c + 1]], sizes[starts[c] : starts[c + 1]]
        # The runs of several records, and how many of them are below each number: one that a single record shows is its own value, unless runs are pooled.
        several, everybody = 0, size.sum()
        for at in range(len(shown)):
            rare[at] = np.log(everybody / size[at])
            below[at] = several
            if pooled or size[at] > 1:
                runs[several] = at
                several += 1
        below[len(shown)] = several
        for a in range(known.shape[1]):
            x = known[c, a]
            place = _place(shown, x)
            own = min(place, len(shown) - 1)
            same = shown[own] == x and size[own] == 1 and not pooled
            if same or several == 0:
                low[c, a] = high[c, a] = own
                of_low[c, a] = of_high[c, a] = np.rint(scale * rare[own]) if same else far
                continue
            one, two = runs[max(below[place] - 1, 0)], runs[min(below[place], several - 1)]
            of_one = of_two = 0.0
            if one != two:
                part = (x - shown[one]) / (shown[two] - shown[one])
                middle = 0.25 + 0.5 * (size[one] / (size[one] + size[two]))
                away = (middle - part) / border
                of_two = -np.log(1 + np.exp(away))
                of_one = away + of_two
            low[c, a], high[c, a] = one, two
            of_low[c, a] = np.rint(scale * (of_one + rare[one]))
            of_high[c, a] = np.rint(scale * (of_two + rare[two]))
    return low, high, of_low, of_high


@kernel
def _place(ascending: Array, x: float) -> int:
    """How many numbers are below x; without branches, which would be guessed wrong half of the time."""
    first, left = 0, len(ascending)
    while left > 1:
        half = left // 2
        first += half * (ascending[first + half - 1] < x)
        left -= half
    return first + int(ascending[first] < x)


@kernel
def runs_of_rows(shown: Array, values: Array, starts: Indices) -> AnyArray:
    """The runs that published rows are in, columns by rows."""
    found = np.empty(shown.shape, np.int32)
    for c in range(len(shown)):
        runs = values[starts[c] : starts[c + 1]]
        for row in range(shown.shape[1]):
            found[c, row] = _place(runs, shown[c, row])
    return found


@kernel
def _add_columns(
    score: Indices,
    part: AnyArray,
    low: AnyArray,
    high: AnyArray,
    of_low: AnyArray,
    of_high: AnyArray,
    kind: AnyArray,
    far: int,
    a: int,
    start: int,
    stop: int,
) -> None:
    """Add the logarithms of the columns start..stop to the scores of all rows, for record a; `part` is room for sums of some columns."""
    far_away = np.int32(far)
    for first in range(start, stop, COLUMNS):
        part[:] = 0
        for c in range(first, min(first + COLUMNS, stop)):
            below, above, of_row = low[c, a], high[c, a], kind[c]
            of_below, of_above = of_low[c, a], of_high[c, a]
            for row in range(len(part)):
                run = of_row[row]
                part[row] += of_above if run == above else (of_below if run == below else far_away)
        for row in range(len(part)):
            score[row] += part[row]


@kernel
def likeliest_runs(
    low: AnyArray,
    high: AnyArray,
    of_low: AnyArray,
    of_high: AnyArray,
    first: int,
    stop: int,
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
    """For each known record first..stop and each round: the least distance (the logarithms with the sign turned), how many records are at it, the lowest, and how many are the person's.

    Row r is in the runs kind[:, r]. A round knows the first rounds[at] columns. The rest is as in `tsveil.attack.nearest.Rows`.
    """
    shape = (stop - first, len(rounds))
    best = np.empty(shape)
    tied = np.empty(shape, np.int64)
    link = np.empty(shape, np.int64)
    hit = np.empty(shape, np.int64)
    score = np.empty(kind.shape[1], np.int64)
    part = np.empty(kind.shape[1], np.int32)
    for a in range(first, stop):
        score[:] = 0
        done = 0
        for at in range(len(rounds)):
            _add_columns(score, part, low, high, of_low, of_high, kind, far, a, done, rounds[at])
            done = rounds[at]
            found = best_rows(-score, copies, number, owner, records, mine[a])
            best[a - first, at], tied[a - first, at], link[a - first, at], hit[a - first, at] = found
        counter[0] += 1
    return best, tied, link, hit


@kernel
def table_of_runs(
    low: AnyArray, high: AnyArray, of_low: AnyArray, of_high: AnyArray, kind: AnyArray, far: int
) -> Indices:
    """The sums of the logarithms for all pairs of a known record and a row, by all columns."""
    table = np.zeros((low.shape[1], kind.shape[1]), np.int64)
    part = np.empty(kind.shape[1], np.int32)
    for a in range(len(table)):
        _add_columns(table[a], part, low, high, of_low, of_high, kind, far, a, 0, len(kind))
    return table
