"""Nearest released records by known attributes, with ties counted, for every number of known attributes in one pass."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices

#: distinct released records that are compared at a time: their running sums stay in the first-level cache
TILE = 512


@kernel
def nearest_by_columns(
    known: Array,
    candidates: Array,
    factor: Array,
    absolute: bool,
    wanted: Indices,
    copies: Indices,
    first: Indices,
    owner: Indices,
    records: Indices,
    mine: Indices,
    counter: Indices,
) -> tuple[Array, Indices, Indices, Indices]:
    """For each known record and each wanted number of known columns: least distance, size of the tie, lowest row tied, records of its person tied.

    `candidates` is (columns, distinct released records), `wanted` holds increasing numbers of columns. The distance is the
    sum over columns, in their order, of the squared (or absolute) differences times `factor`. `copies` and `first` give
    each candidate's number of records and lowest row, `owner` says whose it is and `records` how many of its records are that person's,
    `mine` whose each known record is.
    """
    n = known.shape[0]
    m = candidates.shape[1]
    best = np.full((n, len(wanted)), np.inf)
    tied = np.zeros((n, len(wanted)), np.int64)
    link = np.full((n, len(wanted)), -1, np.int64)
    hit = np.zeros((n, len(wanted)), np.int64)
    total = np.empty(TILE)
    # Sums of at least zero have the same order as their bits, whose minimum compiles to vector instructions.
    bits = total.view(np.int64)
    smallest = np.empty(1, np.int64)
    for low in range(0, m, TILE):
        width = min(TILE, m - low)
        for i in range(n):
            total[:width] = 0.0
            done = 0
            for w in range(len(wanted)):
                for j in range(done, wanted[w]):
                    value = known[i, j]
                    scale = factor[j]
                    # A slice of its own: the loops over it become vector instructions.
                    row = candidates[j, low : low + width]
                    if absolute:
                        for u in range(width):
                            total[u] += abs(value - row[u]) * scale
                    else:
                        for u in range(width):
                            difference = (value - row[u]) * scale
                            total[u] += difference * difference
                done = wanted[w]
                lowest = bits[0]
                for u in range(width):
                    lowest = min(lowest, bits[u])
                smallest[0] = lowest
                least = smallest.view(np.float64)[0]
                if least > best[i, w]:
                    continue
                if least < best[i, w]:
                    best[i, w] = least
                    tied[i, w] = 0
                    hit[i, w] = 0
                    link[i, w] = -1
                for u in range(width):
                    if total[u] == least:
                        at = low + u
                        tied[i, w] += copies[at]
                        if link[i, w] < 0 or first[at] < link[i, w]:
                            link[i, w] = first[at]
                        if owner[at] == mine[i]:
                            hit[i, w] += records[at]
            if low + TILE >= m:
                counter[0] += 1
    return best, tied, link, hit


@kernel
def nearer(
    total: float, best: float, i: int, at: int, copies: Indices, first: Indices, own: Indices, tied: Indices, link: Indices, hit: Indices
) -> float:  # fmt: skip
    """Take candidate `at` for record i if it is nearer than the best so far, or add it to the tie; gives the least distance."""
    if total > best:
        return best
    if total < best:
        best = total
        tied[i] = 0
        hit[i] = 0
        link[i] = first[at]
    tied[i] += copies[at]
    link[i] = min(link[i], first[at])
    if at == own[i]:
        hit[i] = 1
    return best


@kernel
def nearest_in_window(
    known: Array,
    candidates: Array,
    factor: Array,
    blocks: Indices,
    absolute: bool,
    rooted: bool,
    start: Indices,
    width: int,
    copies: Indices,
    first: Indices,
    own: Indices,
    counter: Indices,
) -> tuple[Indices, Indices, Indices]:
    """As above over all columns, but record i is compared with `width` candidates from start[i] on only.

    `candidates` is (distinct released records, columns) here. `rooted` sums the distances of blocks of columns
    (blocks[b]..blocks[b+1]), as the linkage of series does, and not their squares.
    """
    n = known.shape[0]
    tied = np.zeros(n, np.int64)
    link = np.full(n, -1, np.int64)
    hit = np.zeros(n, np.int64)
    for i in range(n):
        best = np.inf
        for at in range(start[i], min(start[i] + width, len(candidates))):
            total = 0.0
            for b in range(len(blocks) - 1):
                part = 0.0
                for j in range(blocks[b], blocks[b + 1]):
                    difference = abs(known[i, j] - candidates[at, j]) * factor[j]
                    part += difference if absolute else difference * difference
                total += np.sqrt(part) if rooted else part
            best = nearer(total, best, i, at, copies, first, own, tied, link, hit)
        counter[0] += 1
    return tied, link, hit


@kernel
def distance_table(known: Array, candidates: Array, starts: Indices) -> Array:
    """The distances between all known records and all candidates (columns, candidates): the sum over blocks of columns starts[b]..starts[b+1] of Euclidean distances.

    Sums of squares run in column order for each pair, and the inner loop runs over candidates.
    """
    n, m = known.shape[0], candidates.shape[1]
    out = np.zeros((n, m))
    total = np.empty(TILE)
    for low in range(0, m, TILE):
        width = min(TILE, m - low)
        for i in range(n):
            for b in range(len(starts) - 1):
                total[:width] = 0.0
                for j in range(starts[b], starts[b + 1]):
                    value = known[i, j]
                    row = candidates[j, low : low + width]
                    for u in range(width):
                        difference = value - row[u]
                        total[u] += difference * difference
                for u in range(width):
                    out[i, low + u] += np.sqrt(total[u])
    return out
