"""Nearest released records by known attributes, with ties counted, for every number of known attributes in one pass."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._kernels.linkage import widened
from tsveil.core.types import Array, Indices, Mask

#: candidates that lie side by side in a tile
LANES = 64
#: candidates whose distances are summed at a time in a table: the running sums stay in the first-level cache
TILE = 512


@kernel
def widened_total(total: float, slack: float, absolute: bool) -> float:
    """The sum of squared (or absolute) differences up to which a candidate is as near as one with this sum but for rounding."""
    if absolute:
        return float(widened(total, slack))
    root = widened(np.sqrt(total), slack)
    return float(root * root)


@kernel
def nearest_by_columns(
    known: Array,
    by_column: Array,
    candidates: Array,
    boxes: Array,
    factor: Array,
    absolute: bool,
    wanted: Indices,
    copies: Indices,
    first: Indices,
    owner: Indices,
    records: Indices,
    mine: Indices,
    own: Indices,
    best: Array,
    tied: Indices,
    link: Indices,
    hit: Indices,
    close: Mask,
    slack: Array,
    counter: Indices,
) -> None:
    """For each known record and each wanted number of known columns: least distance, size of the tie, lowest row tied, records of its person tied.

    `by_column` has the known records as columns. `candidates` is (tiles, columns, 64), with anything after the last of the distinct released records; `boxes` has the least and the largest
    value of each column in each tile. `wanted` holds increasing numbers of columns. The distance is the sum over columns, in their order, of the
    squared (or absolute) differences times `factor`. `copies` and `first` give each candidate's number of records and lowest row, `owner` says
    whose it is and `records` how many of its records are that person's, `mine` whose each known record is, `own` its candidate (-1: none). The
    results begin as infinity, 0, -1 and 0. `close` says where another candidate is as near but for rounding, by which scaled records may be off by `slack`.

    A tile is left out if its box is farther away than the best candidate so far, the own one to begin with, and all that may be as near. The distance to the box takes the
    same steps in the same order, and each of them, rounded, grows with what goes into it: so it is at most the distance to any candidate inside,
    to the last bit.
    """
    n = known.shape[0]
    total = np.empty(LANES)
    away = np.empty(n)
    near = np.empty(n, np.int64)
    upto = np.full(best.shape, np.inf)
    for i in range(n):
        if own[i] >= 0:
            so_far = 0.0
            done = 0
            for w in range(wanted.shape[0]):
                for j in range(done, wanted[w]):
                    step = abs(known[i, j] - candidates[own[i] // LANES, j, own[i] % LANES]) * factor[j]
                    so_far += step if absolute else step * step
                done = wanted[w]
                best[i, w] = so_far
                upto[i, w] = widened_total(so_far, slack[w], absolute)
    for tile in range(candidates.shape[0]):
        for i in range(n):
            away[i] = 0.0
            near[i] = 0
        done = 0
        for w in range(wanted.shape[0]):
            for j in range(done, wanted[w]):
                low, high, scale = boxes[0, j, tile], boxes[1, j, tile], factor[j]
                for i in range(n):
                    below = low - by_column[j, i]
                    above = by_column[j, i] - high
                    step = (below if below > above else above) * scale
                    step = step if step > 0.0 else 0.0
                    away[i] += step if absolute else step * step
            done = wanted[w]
            for i in range(n):
                near[i] |= np.int64(away[i] <= upto[i, w])
        for i in range(n):
            if near[i] == 0:
                continue
            for lane in range(LANES):
                total[lane] = 0.0
            done = 0
            for w in range(wanted.shape[0]):
                for j in range(done, wanted[w]):
                    value, scale = known[i, j], factor[j]
                    for lane in range(LANES):
                        step = abs(value - candidates[tile, j, lane]) * scale
                        total[lane] += step if absolute else step * step
                done = wanted[w]
                limit = upto[i, w]
                hits = np.int64(0)
                for lane in range(LANES):
                    hits += np.int64(total[lane] <= limit)
                if hits == 0:
                    continue
                for lane in range(min(LANES, copies.shape[0] - tile * LANES)):
                    if total[lane] <= upto[i, w]:
                        at = tile * LANES + lane
                        if total[lane] > best[i, w]:
                            close[i, w] = True
                            continue
                        if total[lane] < best[i, w]:
                            upto[i, w] = widened_total(total[lane], slack[w], absolute)
                            close[i, w] = best[i, w] <= upto[i, w]
                            best[i, w] = total[lane]
                            tied[i, w] = hit[i, w] = 0
                            link[i, w] = -1
                        close[i, w] |= tied[i, w] > 0
                        tied[i, w] += copies[at]
                        if link[i, w] < 0 or first[at] < link[i, w]:
                            link[i, w] = first[at]
                        if owner[at] == mine[i]:
                            hit[i, w] += records[at]
    counter[0] += n


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
