"""Nearest protected records, with ties counted, for every number of known blocks in one pass.

The distance with j known blocks is the sum of the first j blocks' Euclidean distances; sums of squares run in column order, and
equal float64 totals are ties. Candidates (the distinct protected records) lie in tiles of 64, one row of a tile per column,
so that the inner loops run over candidates and become vector instructions while every sum still runs in column order.

A picture of both files in float32, in rotated and scaled coordinates (most telling first in each block), excludes nearly all
candidates beforehand; what it cannot exclude is measured as defined, so the result is exact, ties included.

Why excluding is right. Let a and c be the places of two records in one block, with K coordinates, A and C their squared lengths,
and v = A + C - 2 a.c the square of their distance. The picture has a and c rounded to float32 (coordinates off by a share of
2^-24) and A and C lowered by a share `theta`. A float32 sum of K + 2 terms, in whatever order, is off by at most
(K+3) 2^-24 times the sum of their sizes, which is at most 2 (A + C); the products by 4 2^-24 |a||c| more. Hence, with theta =
4 (K+8) 2^-24, the sum from the picture is at most v: a lower bound, and so is what results if the products of the coordinates
that are not leading are replaced by the product of their lengths, by Cauchy and Schwarz. Products below 1e-38 may vanish;
1e-30 is taken off the bound for them. Roots and sums of such bounds err by shares of 2^-24, which `stretch` covers with the
rotation's deviation from orthogonality and the float64 rounding of the distances themselves.

A box holds the leading coordinates of a tile's candidates (and the lengths of the others). If g is the distance from the known
record's place to the box, rounding moves a by at most 2^-23 |a| and c by at most 2^-23 |c| <= 2^-23 (|a| + v^(1/2)): so g is at
most v^(1/2) (1 + 2^-23) + 2^-22 |a|; the last part is the record's `margin`, doubled.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array, Indices, Mask

#: candidates per tile, and known records that are compared with a tile at once
LANES = 64
AT_ONCE = 4
#: distances that differ by less than this share may be equal but for rounding
ALIKE = 1.0 + 2.0**-40


@kernel
def widened(best: float, slack: float) -> float:
    """What the distance of a candidate may be that is as near as the best one but for rounding; `slack` is what values may be off by."""
    return float((best + 2.0 * slack) * ALIKE)


@kernel
def nearest_rows(
    known: Array,
    starts: Indices,
    candidates: Array,
    copies: Indices,
    first: Indices,
    owner: Indices,
    records: Indices,
    mine: Indices,
    best: Array,
    tied: Indices,
    link: Indices,
    hit: Indices,
    close: Mask,
    slack: Array,
    counter: Indices,
) -> None:
    """For each known record and each number of known blocks: distance, size of the tie, lowest row tied, records of its person tied.

    `close` says where another candidate is as near but for rounding, by which the values of the first blocks may be off by `slack`.

    `candidates` is (tiles, columns, 64). Block b has the columns starts[b]..starts[b+1]. `copies` and `first` give each
    candidate's number of records and lowest row. `owner` says whose each candidate is and `records` how many of its records are that
    person's, `mine` whose each known record is. The results begin as infinity, 0, -1, 0 and no.
    """
    squares = np.empty(LANES)
    totals = np.empty(LANES)
    upto = np.full(best.shape, np.inf)
    for tile in range(candidates.shape[0]):
        for i in range(known.shape[0]):
            compare(
                i, tile, known, starts, candidates, copies, first, owner, records, mine, squares, totals,
                best, upto, tied, link, hit, close, slack,
            )  # fmt: skip
    counter[0] += known.shape[0]


@kernel
def nearest_rows_by_picture(
    known: Array,
    starts: Indices,
    candidates: Array,
    copies: Indices,
    first: Indices,
    owner: Indices,
    records: Indices,
    mine: Indices,
    best: Array,
    tied: Indices,
    link: Indices,
    hit: Indices,
    close: Mask,
    slack: Array,
    counter: Indices,
    own: Indices,
    parts: Indices,
    lead: Indices,
    tiles: AnyArray,
    boxes: AnyArray,
    places: AnyArray,
    ahead: AnyArray,
    margin: Array,
    scale: float,
    stretch: float,
) -> None:
    """The same as `nearest_rows` with a picture. A kernel of its own: small files do without, and it takes long to compile.

    `own` has each known record's candidate (-1: none).
    Block b of the picture has the rows parts[b]..parts[b+1], its coordinates (a multiple of four, `lead[b]`
    leading ones first), the length of those that are not leading, and the squared length. `tiles` has them for the
    candidates; `places` for the known records, with coordinates and lengths times -2; `ahead` the known records' leading
    coordinates and lengths of the others, block after block, one row each; `boxes` the least and largest of each of those
    per tile; `margin` the first j blocks' margins.
    """
    n = known.shape[0]
    blocks = starts.shape[0] - 1
    limits = np.empty((n, blocks), np.float32)
    reach = np.empty((blocks, n), np.float32)
    wanted = np.empty(n, np.int64)
    gaps = np.empty(n, np.float32)
    away = np.empty(n, np.float32)
    near = np.empty(n, np.int32)
    squares = np.empty(LANES)
    totals = np.empty(LANES)
    products = np.empty((AT_ONCE, LANES), np.float32)
    lengths = np.empty((AT_ONCE, LANES), np.float32)
    checks = np.empty(2, np.int64)
    checks[0] = checks[1] = 0
    upto = np.full(best.shape, np.inf)
    for i in range(n):
        if own[i] >= 0:
            start_with_own(known, i, starts, candidates, own[i], best)
            for b in range(blocks):
                upto[i, b] = widened(best[i, b], slack[b])
        set_limits(i, upto, margin, scale, stretch, limits, reach)
    for tile in range(candidates.shape[0]):
        many = choose(boxes[:, :, tile], lead, ahead, reach, gaps, away, near, wanted)
        many = keep_promising(tiles[tile], parts, lead, places, limits, wanted, many, products, lengths, checks)
        for at in range(many):
            i = wanted[at]
            compare(
                i, tile, known, starts, candidates, copies, first, owner, records, mine, squares, totals,
                best, upto, tied, link, hit, close, slack,
            )  # fmt: skip
            set_limits(i, upto, margin, scale, stretch, limits, reach)
    counter[0] += n


@kernel
def compare(
    i: int, tile: int, known: Array, starts: Indices, candidates: Array, copies: Indices, first: Indices, owner: Indices, records: Indices,
    mine: Indices, squares: Array, totals: Array, best: Array, upto: Array, tied: Indices, link: Indices, hit: Indices, close: Mask,
    slack: Array,
) -> None:  # fmt: skip
    """Measure the distances of a known record to the candidates of a tile, and take the nearest; `upto` has the best distances, widened."""
    for lane in range(LANES):
        totals[lane] = 0.0
    for b in range(starts.shape[0] - 1):
        for lane in range(LANES):
            squares[lane] = 0.0
        for j in range(starts[b], starts[b + 1]):
            value = known[i, j]
            for lane in range(LANES):
                step = value - candidates[tile, j, lane]
                squares[lane] += step * step
        for lane in range(LANES):
            totals[lane] += np.sqrt(squares[lane])
        for lane in range(min(LANES, copies.shape[0] - tile * LANES)):
            total = totals[lane]
            if total <= upto[i, b]:
                c = tile * LANES + lane
                if total > best[i, b]:
                    close[i, b] = True
                    continue
                if total < best[i, b]:
                    upto[i, b] = widened(total, slack[b])
                    close[i, b] = best[i, b] <= upto[i, b]
                    best[i, b] = total
                    tied[i, b] = hit[i, b] = 0
                    link[i, b] = -1
                close[i, b] |= tied[i, b] > 0
                tied[i, b] += copies[c]
                if link[i, b] < 0 or first[c] < link[i, b]:
                    link[i, b] = first[c]
                if owner[c] == mine[i]:
                    hit[i, b] += records[c]


@kernel
def start_with_own(known: Array, i: int, starts: Indices, candidates: Array, own: int, best: Array) -> None:
    """Take the distances from the own protected record, which is a likely link, as bounds from the start."""
    total = 0.0
    for b in range(starts.shape[0] - 1):
        square = 0.0
        for j in range(starts[b], starts[b + 1]):
            step = known[i, j] - candidates[own // LANES, j, own % LANES]
            square += step * step
        total += np.sqrt(square)
        best[i, b] = total


@kernel
def set_limits(
    i: int, upto: Array, margin: Array, scale: float, stretch: float, limits: AnyArray, reach: AnyArray
) -> None:
    """What the bounds from the picture and from the boxes do not exceed for a candidate at the best distance, widened, or nearer.

    The first block's limit is for the square of the distance: with one block no roots are needed.
    """
    for b in range(upto.shape[1]):
        limit = upto[i, b] * scale * (1.0 + stretch)
        reach[b, i] = (limit + margin[i, b]) * (1.0 + stretch)
        limits[i, b] = limit
    limits[i, 0] *= limits[i, 0] * np.float32(1.0 + stretch)


@kernel
def choose(
    box: AnyArray,
    lead: Indices,
    ahead: AnyArray,
    reach: AnyArray,
    gaps: AnyArray,
    away: AnyArray,
    near: AnyArray,
    wanted: Indices,
) -> int:
    """List the known records that may have a link in a tile, by their distances to its box; gives their number."""
    n = wanted.shape[0]
    zero = np.float32(0.0)
    for i in range(n):
        near[i] = 0
        away[i] = zero
    row = 0
    for b in range(lead.shape[0]):
        for i in range(n):
            gaps[i] = zero
        for _ in range(lead[b] + 1):
            low, high = box[0, row], box[1, row]
            for i in range(n):
                below = low - ahead[row, i]
                above = ahead[row, i] - high
                gap = below if below > above else above
                gap = gap if gap > zero else zero
                gaps[i] += gap * gap
            row += 1
        for i in range(n):
            away[i] += np.sqrt(gaps[i])
            near[i] |= np.int32(away[i] <= reach[b, i])
    many = 0
    for i in range(n):
        wanted[many] = i
        many += near[i]
    return many


@kernel
def keep_promising(
    tile: AnyArray,
    parts: Indices,
    lead: Indices,
    places: AnyArray,
    limits: AnyArray,
    wanted: Indices,
    many: int,
    sums: AnyArray,
    lengths: AnyArray,
    checks: Indices,
) -> int:
    """Keep those of the listed known records that may have a link in a tile, by the picture; gives their number.

    Four records at a time share what is loaded of the tile. One long function on purpose: a call with arrays costs as much as
    a good part of a tile. `checks` counts how often the leading coordinates were looked at first, and with success: where that
    seldom helps it is no longer done.
    """
    blocks = lead.shape[0]
    zero = np.float32(0.0)
    group = np.empty(AT_ONCE, np.int64)
    near = np.empty(AT_ONCE, np.int64)
    worth = checks[0] < 1000 or 4 * checks[1] > checks[0]
    kept = 0
    for at in range(0, many, AT_ONCE):
        for k in range(AT_ONCE):
            group[k] = wanted[min(at + k, many - 1)]
            near[k] = 0
        g, h, i, j = group[0], group[1], group[2], group[3]
        for b in range(blocks):
            c, end = parts[b], parts[b + 1] - 2
            # only the last block can be left half-way: the others are needed for the next ones
            check = c + lead[b] if worth and b == blocks - 1 and near.max() == 0 else end
            for k in range(AT_ONCE):
                square = places[group[k], end + 1]
                for lane in range(LANES):
                    sums[k, lane] = tile[end + 1, lane] + square
            while c < end:
                p0, p1, p2, p3 = places[g, c], places[g, c + 1], places[g, c + 2], places[g, c + 3]
                q0, q1, q2, q3 = places[h, c], places[h, c + 1], places[h, c + 2], places[h, c + 3]
                r0, r1, r2, r3 = places[i, c], places[i, c + 1], places[i, c + 2], places[i, c + 3]
                s0, s1, s2, s3 = places[j, c], places[j, c + 1], places[j, c + 2], places[j, c + 3]
                for lane in range(LANES):
                    t0, t1, t2, t3 = tile[c, lane], tile[c + 1, lane], tile[c + 2, lane], tile[c + 3, lane]
                    sums[0, lane] = sums[0, lane] + p0 * t0 + p1 * t1 + p2 * t2 + p3 * t3
                    sums[1, lane] = sums[1, lane] + q0 * t0 + q1 * t1 + q2 * t2 + q3 * t3
                    sums[2, lane] = sums[2, lane] + r0 * t0 + r1 * t1 + r2 * t2 + r3 * t3
                    sums[3, lane] = sums[3, lane] + s0 * t0 + s1 * t1 + s2 * t2 + s3 * t3
                c += 4
                if c == check and c < end:
                    hopeful = np.int32(0)
                    for k in range(AT_ONCE):
                        limit = limits[group[k], b]
                        other = places[group[k], end]
                        if b == 0:
                            for lane in range(LANES):
                                hopeful += np.int32(sums[k, lane] + other * tile[end, lane] <= limit)
                        else:
                            for lane in range(LANES):
                                square = sums[k, lane] + other * tile[end, lane]
                                length = lengths[k, lane] + np.sqrt(square if square > zero else zero)
                                hopeful += np.int32(length <= limit)
                    checks[0] += 1
                    if hopeful == 0:
                        checks[1] += 1
                        break
            if c < end:
                break
            for k in range(AT_ONCE):
                limit = limits[group[k], b]
                found = np.int32(0)
                if b == 0:
                    for lane in range(LANES):
                        found += np.int32(sums[k, lane] <= limit)
                if blocks > 1:
                    for lane in range(LANES):
                        length = np.sqrt(sums[k, lane] if sums[k, lane] > zero else zero)
                        lengths[k, lane] = length if b == 0 else lengths[k, lane] + length
                if b > 0:
                    for lane in range(LANES):
                        found += np.int32(lengths[k, lane] <= limit)
                near[k] += found
        for k in range(min(AT_ONCE, many - at)):
            if near[k] > 0:
                wanted[kept] = group[k]
                kept += 1
    return kept
