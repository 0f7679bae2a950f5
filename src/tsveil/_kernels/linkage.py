"""Nearest protected records, with ties counted, for every number of known blocks in one pass."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._types import Array, Indices

#: distinct protected records that are compared at a time: their running sums stay in the first-level cache
TILE = 256


@kernel
def nearest_rows(
    known: Array, candidates: Array, starts: Indices, copies: Indices, first: Indices, own: Indices, counter: Indices
) -> tuple[Array, Indices, Indices, Indices]:
    """For each known record and each number of known blocks: distance, size of the tie, lowest row tied, own row tied or not.

    `candidates` is (columns, distinct protected records): one candidate per lane, so that the inner loop runs over candidates
    while every sum still runs in column order. Block b has the columns starts[b]..starts[b+1]; the distance with j known blocks
    is the sum of the first j blocks' distances. `copies` and `first` give each candidate's number of records and lowest row, `own`
    each known record's candidate (-1: none).
    """
    n = known.shape[0]
    m = candidates.shape[1]
    blocks = len(starts) - 1
    best = np.full((n, blocks), np.inf)
    tied = np.zeros((n, blocks), np.int64)
    link = np.full((n, blocks), -1, np.int64)
    hit = np.zeros((n, blocks), np.int64)
    squares = np.empty(TILE)
    total = np.empty(TILE)
    for low in range(0, m, TILE):
        width = min(TILE, m - low)
        for i in range(n):
            total[:width] = 0.0
            for b in range(blocks):
                squares[:width] = 0.0
                for j in range(starts[b], starts[b + 1]):
                    value = known[i, j]
                    for u in range(width):
                        difference = value - candidates[j, low + u]
                        squares[u] += difference * difference
                least = np.inf
                for u in range(width):
                    total[u] += np.sqrt(squares[u])
                    least = min(least, total[u])
                if least > best[i, b]:
                    continue
                if least < best[i, b]:
                    best[i, b] = least
                    tied[i, b] = 0
                    hit[i, b] = 0
                    link[i, b] = -1
                for u in range(width):
                    if total[u] == least:
                        at = low + u
                        tied[i, b] += copies[at]
                        if link[i, b] < 0 or first[at] < link[i, b]:
                            link[i, b] = first[at]
                        if at == own[i]:
                            hit[i, b] = 1
            if low + TILE >= m:
                counter[0] += 1
    return best, tied, link, hit
