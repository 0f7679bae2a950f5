"""Kernels of (k,P)-anonymity: segment means, dividing and merging by value loss, and linking by envelopes."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices, Mask

#: rounds of walking from a record to the one farthest from it, where all pairs are too many
WALKS = 4


@kernel
def segment_means(x: Array, w: int) -> Array:
    """The means of w equal segments of each z-normalised row."""
    n, T = x.shape
    out = np.zeros((n, w))
    d = np.empty(T)
    for i in range(n):
        largest = 0.0
        for t in range(T):
            largest = max(largest, abs(x[i, t]))
        if largest == 0.0:
            continue
        # Shifted by the first value and scaled by the largest: neither an offset nor huge or tiny values cost digits.
        mean = 0.0
        for t in range(T):
            d[t] = (x[i, t] - x[i, 0]) / largest
            mean += d[t]
        mean /= T
        variance = 0.0
        for t in range(T):
            variance += (d[t] - mean) ** 2
        deviation = np.sqrt(variance / T)
        if deviation <= 1e-12:
            continue
        # Point t covers t*w .. (t+1)*w and segment s covers s*T .. (s+1)*T: the shares are whole numbers.
        for t in range(T):
            z = (d[t] - mean) / deviation
            start, stop = t * w, (t + 1) * w
            s = start // T
            while start < stop:
                end = min(stop, (s + 1) * T)
                out[i, s] += z * (end - start)
                start = end
                s += 1
        for s in range(w):
            out[i, s] /= T
    return out


@kernel
def _square_distance(x: Array, a: int, b: int) -> float:
    total = 0.0
    for t in range(x.shape[1]):
        total += (x[a, t] - x[b, t]) ** 2
    return total


@kernel
def _farthest_from(x: Array, rows: Indices, a: int) -> int:
    """The place in rows of the record farthest from record a; the first of several."""
    best, place = -1.0, 0
    for i in range(len(rows)):
        d = _square_distance(x, a, rows[i])
        if d > best:
            best, place = d, i
    return place


@kernel
def _walked_pair(x: Array, rows: Indices) -> tuple[int, int]:
    """Two records far apart: from the one farthest from the mean to the one farthest from it, and on."""
    T = x.shape[1]
    mean = np.zeros(T)
    for i in range(len(rows)):
        for t in range(T):
            mean[t] += x[rows[i], t]
    mean /= len(rows)
    best, a = -1.0, 0
    for i in range(len(rows)):
        d = 0.0
        for t in range(T):
            d += (x[rows[i], t] - mean[t]) ** 2
        if d > best:
            best, a = d, i
    b = _farthest_from(x, rows, rows[a])
    for _ in range(WALKS):
        c = _farthest_from(x, rows, rows[b])
        if _square_distance(x, rows[b], rows[c]) <= _square_distance(x, rows[a], rows[b]):
            break
        a, b = b, c
    return min(a, b), max(a, b)


@kernel
def _ascending(keys: Array) -> Indices:
    """The places of the keys from the least to the greatest, equal ones in their order.

    A merge sort of our own, because numpy's takes seconds to compile.
    """
    n = len(keys)
    order, other = np.arange(n), np.empty(n, np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for at in range(start, stop):
                if i < middle and (j >= stop or keys[order[i]] <= keys[order[j]]):
                    other[at] = order[i]
                    i += 1
                else:
                    other[at] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


@kernel
def _growth(lo: Array, hi: Array, side: int, x: Array, row: int) -> tuple[float, float]:
    """The value loss of an envelope as it is and with a further record."""
    T = x.shape[1]
    now, then = 0.0, 0.0
    for t in range(T):
        low, high, v = lo[side, t], hi[side, t], x[row, t]
        now += (high - low) ** 2
        then += (max(high, v) - min(low, v)) ** 2
    return np.sqrt(now / T), np.sqrt(then / T)


@kernel
def _goes_with_second(x: Array, rows: Indices, a: int, b: int, smallest: int) -> Mask:
    """Which records go with seed b, the others with seed a (both places in rows)."""
    size, T = len(rows), x.shape[1]
    to_a, to_b, nearer = np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        to_a[i] = _square_distance(x, rows[a], rows[i])
        to_b[i] = _square_distance(x, rows[b], rows[i])
        nearer[i] = min(to_a[i], to_b[i])
    order = _ascending(nearer)
    lo, hi = np.empty((2, T)), np.empty((2, T))
    for t in range(T):
        lo[0, t], hi[0, t] = x[rows[a], t], x[rows[a], t]
        lo[1, t], hi[1, t] = x[rows[b], t], x[rows[b], t]
    count = np.ones(2, np.int64)
    second = np.zeros(size, np.bool_)
    second[b] = True
    left = size - 2
    for place in range(size):
        i = order[place]
        if i in (a, b):
            continue
        if count[0] + left <= smallest:
            side = 0
        elif count[1] + left <= smallest:
            side = 1
        else:
            now0, then0 = _growth(lo, hi, 0, x, rows[i])
            now1, then1 = _growth(lo, hi, 1, x, rows[i])
            grows0, grows1 = then0 - now0, then1 - now1
            # Where both envelopes grow alike, the nearer seed takes the record.
            side = 0 if grows0 < grows1 or (grows0 == grows1 and to_a[i] <= to_b[i]) else 1
        for t in range(T):
            lo[side, t] = min(lo[side, t], x[rows[i], t])
            hi[side, t] = max(hi[side, t], x[rows[i], t])
        count[side] += 1
        left -= 1
        second[i] = side == 1
    return second


@kernel
def divide(x: Array, members: Indices, smallest: int, reach: int) -> Indices:
    """Parts of at least `smallest` and fewer than twice as many members, by value loss: the part of each member.

    Members are ascending. The farthest pair of a part is exact up to `reach` members.
    """
    n = len(members)
    order = np.arange(n)
    part = np.empty(n, np.int64)
    parts = 0
    distance = np.empty((0, 0))
    held_from, held_to = 0, 0
    local = np.empty(n, np.int64)
    starts, stops = np.empty(n, np.int64), np.empty(n, np.int64)
    starts[0], stops[0] = 0, n
    waiting = 1
    while waiting:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        size = stop - start
        rows = members[order[start:stop]]
        a, b = 0, 0
        if size >= 2 * smallest and size <= reach:
            if not (held_from <= start and stop <= held_to):
                # All distances in this part serve the parts that it is divided into as well.
                held_from, held_to = start, stop
                distance = np.empty((size, size))
                for i in range(size):
                    local[order[start + i]] = i
                    distance[i, i] = 0.0
                    for j in range(i):
                        distance[j, i] = _square_distance(x, rows[j], rows[i])
                        distance[i, j] = distance[j, i]
            best = 0.0
            for i in range(size):
                row = distance[local[order[start + i]]]
                for j in range(i + 1, size):
                    d = row[local[order[start + j]]]
                    if d > best:
                        best, a, b = d, i, j
        elif size >= 2 * smallest:
            a, b = _walked_pair(x, rows)
            if _square_distance(x, rows[a], rows[b]) == 0.0:
                a, b = 0, 0
        if a == b:  # small enough, or all records are equal and dividing them wins nothing
            part[order[start:stop]] = parts
            parts += 1
            continue
        second = _goes_with_second(x, rows, a, b, smallest)
        here = order[start:stop].copy()
        at = start
        for side in range(2):
            for i in range(size):
                if second[i] == (side == 1):
                    order[at] = here[i]
                    at += 1
            if side == 0:
                middle = at
        starts[waiting], stops[waiting] = middle, stop
        starts[waiting + 1], stops[waiting + 1] = start, middle
        waiting += 2
    return part


@kernel
def _joint_squares(lo: Array, hi: Array, i: int, low: Array, high: Array, g: int, limit: float) -> float:
    """The sum of squared widths of subgroup i joined with group g; given up once it passes the limit."""
    total = 0.0
    for t in range(lo.shape[1]):
        total += (max(hi[i, t], high[g, t]) - min(lo[i, t], low[g, t])) ** 2
        if total > limit:
            break
    return total


@kernel
def _take_in(lo: Array, hi: Array, size: Indices, i: int, low: Array, high: Array, count: Indices, g: int) -> None:
    """Subgroup i joins group g."""
    for t in range(lo.shape[1]):
        low[g, t] = min(low[g, t], lo[i, t])
        high[g, t] = max(high[g, t], hi[i, t])
    count[g] += size[i]


@kernel
def merge(lo: Array, hi: Array, size: Indices, k: int) -> Indices:
    """The group of each subgroup: groups of at least k records, by value loss."""
    m, T = lo.shape
    group = np.full(m, -1, np.int64)
    low, high, count = np.full((m, T), np.inf), np.full((m, T), -np.inf), np.zeros(m, np.int64)  # of groups
    own = np.empty(m)
    free, frees = np.empty(m, np.int64), 0  # the subgroups that may still be taken in, ascending
    groups, left = 0, 0
    for i in range(m):
        own[i] = _joint_squares(lo, hi, i, lo, hi, i, np.inf)
        if size[i] >= k:
            group[i] = groups
            _take_in(lo, hi, size, i, low, high, count, groups)
            groups += 1
        else:
            free[frees] = i
            frees += 1
            left += size[i]
    order = _ascending(own)  # seeds, the tightest first
    at = 0
    while left >= k:
        while group[order[at]] >= 0:
            at += 1
        chosen = order[at]
        while True:
            group[chosen] = groups
            _take_in(lo, hi, size, chosen, low, high, count, groups)
            if count[groups] >= k:
                break
            best = np.inf
            kept = 0
            for place in range(frees):
                i = free[place]
                if group[i] >= 0:
                    continue
                free[kept] = i
                kept += 1
                squares = _joint_squares(lo, hi, i, low, high, groups, best)
                if squares < best:
                    best, chosen = squares, i
            frees = kept
        left -= count[groups]
        groups += 1
    for place in range(at, m):
        i = order[place]
        if group[i] >= 0:
            continue
        best, chosen = np.inf, 0
        for g in range(groups):
            before = np.sqrt(_joint_squares(low, high, g, low, high, g, np.inf) / T)
            after = np.sqrt(_joint_squares(lo, hi, i, low, high, g, np.inf) / T)
            rise = after * (count[g] + size[i]) - before * count[g]
            if rise < best:
                best, chosen = rise, g
        group[i] = chosen
        _take_in(lo, hi, size, i, low, high, count, chosen)
    return group


@kernel
def fitting_records(
    x: Array,
    lo: Array,
    hi: Array,
    start: Indices,
    kind: Indices,
    pattern: Indices,
    count: Indices,
    first: Indices,
    mine: Indices,
) -> Indices:
    """For each record the published records whose envelope holds it, and those that also have its pattern.

    Envelope g has the classes start[g] .. start[g+1]: published records of one pattern (`pattern`, at the level of
    number `kind`), `count` of them, the first of them in row `first`. `mine` has the number of each record's
    own pattern at each level, -1 where nobody has it. The columns of the result: how many fit by values, the first of
    them (-1: none), and the same by values and pattern.
    """
    n, T = x.shape
    out = np.zeros((n, 4), np.int64)
    for i in range(n):
        out[i, 1], out[i, 3] = -1, -1
        for g in range(len(lo)):
            inside = True
            for t in range(T):
                if x[i, t] < lo[g, t] or x[i, t] > hi[g, t]:
                    inside = False
                    break
            if not inside:
                continue
            for c in range(start[g], start[g + 1]):
                out[i, 0] += count[c]
                if out[i, 1] < 0 or first[c] < out[i, 1]:
                    out[i, 1] = first[c]
                if mine[i, kind[c]] == pattern[c]:
                    out[i, 2] += count[c]
                    if out[i, 3] < 0 or first[c] < out[i, 3]:
                        out[i, 3] = first[c]
    return out


@kernel
def touching_records(
    x: Array,
    lo: Array,
    hi: Array,
    width: Array,
    levels: Indices,
    start: Indices,
    kind: Indices,
    pattern: Indices,
    count: Indices,
    first: Indices,
    mine: Indices,
) -> Array:
    """For each record the published records that hold it and have its pattern: those of the finest level, of the envelopes that it touches, and of the narrowest, in this order.

    Classes are those of `fitting_records`, and `levels` has the level of each `kind`. The columns of the result: twice the level, plus 1 if the envelope is touched (-1: none
    holds the record), its width, how many records are alike in both, and the first of them (-1: none).
    """
    n, T = x.shape
    out = np.empty((n, 4))
    for i in range(n):
        best, narrowest, found, lowest = -1, np.inf, 0, -1
        for g in range(len(lo)):
            inside, touched = True, 0
            for t in range(T):
                if x[i, t] < lo[g, t] or x[i, t] > hi[g, t]:
                    inside = False
                    break
                if x[i, t] == lo[g, t] or x[i, t] == hi[g, t]:
                    touched = 1
            if not inside:
                continue
            for c in range(start[g], start[g + 1]):
                rank = 2 * levels[kind[c]] + touched
                if mine[i, kind[c]] != pattern[c] or rank < best or (rank == best and width[g] > narrowest):
                    continue
                if rank > best or width[g] < narrowest:
                    best, narrowest, found, lowest = rank, width[g], 0, -1
                found += count[c]
                if lowest < 0 or first[c] < lowest:
                    lowest = first[c]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = best, narrowest, found, lowest
    return out
