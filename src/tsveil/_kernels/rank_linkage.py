"""Linkage among the released records that may be the person's: those inside a range of the sorted column, for each attribute.

Rank swapping moves a value a few ranks, and microaggregation of one column keeps its order: either way the released records
that may come from an original one form a range of the sorted released column, and with several known attributes the
intersection of such ranges. A file is given sorted by its first known column, so that the first range is a piece of it.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._types import Array, Indices


@kernel
def nearest_in_ranges(
    known: Array,
    low: Indices,
    high: Indices,
    candidates: Array,
    places: Indices,
    rows: Indices,
    factor: Array,
    own: Indices,
    counter: Indices,
) -> tuple[Indices, Indices, Indices, Indices]:
    """For each known record and each number of known columns: candidates, size of the tie, lowest row tied, own row tied or not.

    Candidate u is possible for record i if low[i, j] <= places[u, j] < high[i, j] for all known columns j, where places
    are positions in the sorted column and candidates come sorted by the first one (places[u, 0] = u). Of these the nearest
    counts, by the sum over columns, in their order, of squared differences times `factor`. `rows` are the candidates' row
    numbers, `own` each record's candidate (-1: none).
    """
    n, columns = known.shape
    size = np.zeros((n, columns), np.int64)
    tied = np.zeros((n, columns), np.int64)
    link = np.full((n, columns), -1, np.int64)
    hit = np.zeros((n, columns), np.int64)
    best = np.empty(columns)
    for i in range(n):
        best[:] = np.inf
        for u in range(low[i, 0], high[i, 0]):
            total = 0.0
            for j in range(columns):
                if places[u, j] < low[i, j] or places[u, j] >= high[i, j]:
                    break
                size[i, j] += 1
                difference = (known[i, j] - candidates[u, j]) * factor[j]
                total += difference * difference
                if total > best[j]:
                    continue
                if total < best[j]:
                    best[j] = total
                    tied[i, j] = 0
                    hit[i, j] = 0
                    link[i, j] = rows[u]
                tied[i, j] += 1
                link[i, j] = min(link[i, j], rows[u])
                if u == own[i]:
                    hit[i, j] = 1
        counter[0] += 1
    return size, tied, link, hit


@kernel
def nearest_in_most_ranges(
    known: Array,
    low: Indices,
    high: Indices,
    candidates: Array,
    places: Indices,
    order: Indices,
    factor: Array,
    own: Indices,
    counter: Indices,
) -> tuple[Indices, Indices, Indices, Indices]:
    """The nearest among the records that lie inside the ranges of most columns (the annotated union).

    As above for all columns at once, but candidates come in the order of the file and order[j] sorts them by column j. A
    record that is in none of the first s ranges is in at most columns - s of them, so the search ends as soon as that is
    less than the most found.
    """
    n, columns = known.shape
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
                if u == own[i]:
                    hit[i] = 1
        counter[0] += 1
    return size, tied, link, hit
