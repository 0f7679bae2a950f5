"""Linkage among the released records that may be the person's: those inside a range of the sorted column, for each attribute.

Rank swapping moves a value a few ranks, and microaggregation of one column keeps its order: either way the released records
that may come from an original one form a range of the sorted released column, and with several known attributes the
intersection of such ranges. A file is given sorted by its first known column, so that the first range is a piece of it.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array, Indices


@kernel
def nearest_in_ranges(
    known: Array,
    low: Indices,
    high: Indices,
    candidates: Array,
    places: AnyArray,
    rows: Indices,
    factor: Array,
    owner: Indices,
    mine: Indices,
    counter: Indices,
) -> tuple[Indices, Indices, Indices, Indices]:
    """For each known record and each number of known columns: candidates, size of the tie, lowest row tied, records of its person tied.

    Candidate u is possible for record i if low[i, j] <= places[j, u] < high[i, j] for all known columns j, where places
    (int32) are positions in the sorted column and candidates (columns, records) come sorted by the first one. Of these the
    nearest counts, by the sum over columns, in their order, of squared differences times `factor`. `rows` are the
    candidates' row numbers, `owner` says whose each of them is, `mine` whose each known record is.

    Candidates of the first column are a piece of the file; those that are left after each further column are gathered in a
    list, and most of the work is to look at one place per candidate of the first.
    """
    n, columns = known.shape
    size = np.zeros((n, columns), np.int64)
    tied = np.zeros((n, columns), np.int64)
    link = np.full((n, columns), -1, np.int64)
    hit = np.zeros((n, columns), np.int64)
    left = np.empty(candidates.shape[1] + 1, np.int64)
    total = np.empty(candidates.shape[1] + 1)
    for i in range(n):
        begin = low[i, 0]
        end = max(high[i, 0], begin)
        size[i, 0] = end - begin
        _nearest_in_order(known[i, 0], candidates[0], begin, end, factor[0], rows, owner, mine[i], i, tied, link, hit)
        kept = 0
        if columns > 1:
            bottom = low[i, 1]
            top = high[i, 1]
            place = places[1]
            for u in range(begin, end):
                left[kept] = u
                kept += (place[u] >= bottom) & (place[u] < top)
            value = known[i, 0]
            for t in range(kept):
                difference = (value - candidates[0, left[t]]) * factor[0]
                total[t] = difference * difference
        for j in range(1, columns):
            size[i, j] = kept
            value = known[i, j]
            best = np.inf
            for t in range(kept):
                u = left[t]
                difference = (value - candidates[j, u]) * factor[j]
                total[t] += difference * difference
                if total[t] > best:
                    continue
                if total[t] < best:
                    best = total[t]
                    tied[i, j] = 0
                    hit[i, j] = 0
                    link[i, j] = rows[u]
                tied[i, j] += 1
                link[i, j] = min(link[i, j], rows[u])
                if owner[u] == mine[i]:
                    hit[i, j] += 1
            if j + 1 == columns:
                break
            bottom = low[i, j + 1]
            top = high[i, j + 1]
            still = 0
            for t in range(kept):
                u = left[t]
                left[still] = u
                total[still] = total[t]
                still += (places[j + 1, u] >= bottom) & (places[j + 1, u] < top)
            kept = still
        counter[0] += 1
    return size, tied, link, hit


@kernel
def _nearest_in_order(
    value: float,
    column: Array,
    begin: int,
    end: int,
    factor: float,
    rows: Indices,
    owner: Indices,
    mine: int,
    i: int,
    tied: Indices,
    link: Indices,
    hit: Indices,
) -> None:
    """With one column known the nearest stand together in the sorted column: on both sides of where the value would stand."""
    if begin >= end:
        return
    middle = begin + int(np.searchsorted(column[begin:end], value))
    best = np.inf
    for u in (max(middle - 1, begin), min(middle, end - 1)):
        difference = (value - column[u]) * factor
        best = min(best, difference * difference)
    for step in (-1, 1):
        u = middle - 1 if step < 0 else middle
        while begin <= u < end:
            difference = (value - column[u]) * factor
            if difference * difference != best:
                break
            tied[i, 0] += 1
            if link[i, 0] < 0 or rows[u] < link[i, 0]:
                link[i, 0] = rows[u]
            if owner[u] == mine:
                hit[i, 0] += 1
            u += step


@kernel
def nearest_in_most_ranges(
    known: Array,
    low: Indices,
    high: Indices,
    candidates: Array,
    places: Indices,
    order: Indices,
    factor: Array,
    owner: Indices,
    mine: Indices,
    counter: Indices,
) -> tuple[Indices, Array, Indices, Indices, Indices, Indices]:
    """The nearest among the records that lie inside the ranges of most columns (the annotated union).

    As above for all columns at once, but candidates come in the order of the file and order[j] sorts them by column j. A
    record that is in none of the first s ranges is in at most columns - s of them, so the search ends as soon as that is
    less than the most found. Gives the number of ranges and the distance as well, so that candidates may come in pieces.
    """
    n, columns = known.shape
    ranges = np.zeros(n, np.int64)
    least = np.full(n, np.inf)
    size = np.zeros(n, np.int64)
    tied = np.zeros(n, np.int64)
    link = np.full(n, -1, np.int64)
    hit = np.zeros(n, np.int64)
    for i in range(n):
        most = 1
        best = np.inf
        for s in range(columns):
            if columns - s < most:
                break
            for at in range(low[i, s], high[i, s]):
                u = order[s, at]
                inside = 1
                seen = False
                for j in range(s):
                    if low[i, j] <= places[u, j] < high[i, j]:
                        seen = True
                        break
                if seen:
                    continue
                for j in range(s + 1, columns):
                    if low[i, j] <= places[u, j] < high[i, j]:
                        inside += 1
                if inside < most:
                    continue
                if inside > most:
                    most = inside
                    best = np.inf
                    size[i] = 0
                size[i] += 1
                total = 0.0
                for j in range(columns):
                    difference = (known[i, j] - candidates[u, j]) * factor[j]
                    total += difference * difference
                if total > best:
                    continue
                if total < best:
                    best = total
                    tied[i] = 0
                    hit[i] = 0
                    link[i] = u
                tied[i] += 1
                link[i] = min(link[i], u)
                if owner[u] == mine[i]:
                    hit[i] += 1
        if size[i] > 0:
            ranges[i] = most
            least[i] = best
        counter[0] += 1
    return ranges, least, size, tied, link, hit
