"""The search behind the verifier of (n,l,k)-anonymity, and how many series a few known points single out.

The question of `find_attack`: can an intruder who knows at most n values of a series f infer m others? A known point excludes the
series that differ from f there. Some series must be excluded in any attack, because beside them fewer than m points can be
inferred; so the known points must hit, for each of them, the points at which it differs: a hitting set, searched by branch
and bound on bit sets with an explicit stack.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._types import AnyArray, Indices, Mask

ZERO, ONE, SIX, WORD = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
TWO, FOUR, EIGHT, SIXTEEN, THIRTY_TWO = np.uint64(2), np.uint64(4), np.uint64(8), np.uint64(16), np.uint64(32)
PAIRS, NIBBLES, BYTES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
LAST_BYTE = np.uint64(0xFF)

#: what a search may find
NONE, FOUND, LIMIT = 0, 1, 2


@kernel
def ones(x: np.uint64) -> int:
    """The number of bits set; sums of halves, as a multiplication would overflow outside compiled code."""
    x = x - ((x >> ONE) & PAIRS)
    x = (x & NIBBLES) + ((x >> TWO) & NIBBLES)
    x = (x + (x >> FOUR)) & BYTES
    x = x + (x >> EIGHT)
    x = x + (x >> SIXTEEN)
    x = x + (x >> THIRTY_TWO)
    return np.int64(x & LAST_BYTE)


@kernel
def members(bits: AnyArray, first: int, last: int, out: Indices) -> int:
    """Write the positions of the bits set in first..last-1 to `out`; gives their number."""
    count = 0
    for w in range(first >> 6, (last + 63) >> 6):
        word = bits[w]
        while word != ZERO:
            at = 64 * w + ones((word & (~word + ONE)) - ONE)
            word &= word - ONE
            if first <= at < last:
                out[count] = at
                count += 1
    return count


@kernel
def inferable(
    who: Indices, count: int, code: Indices, size: Indices, need: Indices, spent: Mask, stamp: Indices, clock: Indices
) -> int:
    """The number of f's small, unknown points that stay inferable beside the series `who`.

    Point s is lost when the other clusters of these series have need[s] members or more; code -1 is f's own cluster.
    """
    found = 0
    for s in range(need.shape[0]):
        if spent[s]:
            continue
        clock[0] += 1
        total = 0
        for i in range(count):
            c = code[s, who[i]]
            if c >= 0 and stamp[c] != clock[0]:
                stamp[c] = clock[0]
                total += size[s, who[i]]
                if total >= need[s]:
                    break
        if total < need[s]:
            found += 1
    return found


@kernel
def conflict(
    who: Indices, count: int, m: int, code: Indices, size: Indices, need: Indices, spent: Mask, stamp: Indices, clock: Indices
) -> int:
    """Shrink `who` to a set of series that leaves fewer than m points inferable, none of which can be missed; gives its size."""
    # Doubling and halving finds the shortest sufficient beginning; then every member but the last is tried to be left out.
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if inferable(who, middle, code, size, need, spent, stamp, clock) < m:
            high = middle
        else:
            low = middle
    count = high
    at = count - 2
    while at >= 0:
        left_out = who[at]
        who[at] = who[count - 1]
        if inferable(who, count - 1, code, size, need, spent, stamp, clock) < m:
            count -= 1
        else:
            who[at] = left_out
        at -= 1
    return count


@kernel
def find_attack(
    excludes: AnyArray,
    differs: AnyArray,
    must: int,
    small: Indices,
    code: Indices,
    size: Indices,
    need: Indices,
    n: int,
    m: int,
    limit: int,
    picks: Indices,
) -> tuple[int, int, int]:
    """Search at most n points whose knowledge makes m others inferable; gives the outcome, the number of picks and of nodes.

    Of the series, 0..must-1 must be excluded in any attack and the rest may stay; of the points, small[p] is the row of point p
    in `code`, `size` and `need` if f's cluster is small there, else -1. `excludes[p]` is the set of series excluded by p,
    `differs[g]` the set of points that exclude g. `picks` gets the known points.
    """
    points, width = excludes.shape
    series, span = differs.shape
    alive = np.zeros((n + 1, width), dtype=np.uint64)
    open_points = np.zeros((n + 1, span), dtype=np.uint64)
    branch = np.empty((n + 1, points), dtype=np.int64)
    branches = np.zeros(n + 1, dtype=np.int64)
    tried = np.zeros(n + 1, dtype=np.int64)
    spent = np.zeros(need.shape[0], dtype=np.bool_)
    spare = need.shape[0] - m  # how many small points may be known: the others must be enough to infer m
    stamp = np.zeros(code.max() + 2 if code.size else 1, dtype=np.int64)
    clock = np.zeros(1, dtype=np.int64)
    who = np.empty(max(series, 1), dtype=np.int64)
    cover = np.empty(points, dtype=np.int64)
    best = np.empty(n + 1, dtype=np.int64)
    listed = np.empty(points, dtype=np.int64)
    used = np.empty(span, dtype=np.uint64)

    small_points = np.zeros(span, dtype=np.uint64)
    for g in range(series):
        alive[0, g >> 6] |= ONE << np.uint64(g & 63)
    for p in range(points):
        open_points[0, p >> 6] |= ONE << np.uint64(p & 63)
        if small[p] >= 0:
            small_points[p >> 6] |= ONE << np.uint64(p & 63)
    if spare == 0:
        for w in range(span):
            open_points[0, w] &= ~small_points[w]
    depth, nodes, fresh = 0, 0, True
    while True:
        if fresh:
            nodes += 1
            if nodes > limit:
                return LIMIT, depth, nodes
            left = n - depth
            branches[depth] = 0
            tried[depth] = 0
            count = members(alive[depth], 0, must, who)
            target = -1
            if count > 0:
                # Branch on the series with the fewest points that exclude it, unless the picks left cannot exclude all of them.
                fewest, separate = points + 1, 0
                for w in range(span):
                    used[w] = ZERO
                for i in range(count):
                    options, apart = 0, True
                    for w in range(span):
                        word = differs[who[i], w] & open_points[depth, w]
                        options += ones(word)
                        apart &= (word & used[w]) == ZERO
                    if options < fewest:
                        fewest, target = options, who[i]
                    if apart:
                        # Series without a common point need a pick each.
                        separate += 1
                        for w in range(span):
                            used[w] |= differs[who[i], w] & open_points[depth, w]
                if fewest > 0 and separate <= left:
                    for w in range(span):
                        used[w] = differs[target, w] & open_points[depth, w]
                    branches[depth] = members(used, 0, points, branch[depth])
            else:
                count = members(alive[depth], must, series, who)
                if inferable(who, count, code, size, need, spent, stamp, clock) >= m:
                    return FOUND, depth, nodes
                if left > 0:
                    count = conflict(who, count, m, code, size, need, spent, stamp, clock)
                    for w in range(span):
                        used[w] = ZERO
                        for i in range(count):
                            used[w] |= differs[who[i], w]
                        used[w] &= open_points[depth, w]
                    branches[depth] = members(used, 0, points, branch[depth])
                count = 0
            if branches[depth] > 0 and count > 0:
                # How many of the series that must go does each point exclude? The best `left` of them must suffice for all.
                for i in range(left):
                    best[i] = 0
                for i in range(members(open_points[depth], 0, points, listed)):
                    p = listed[i]
                    covered = 0
                    for w in range((must + 63) >> 6):
                        word = excludes[p, w] & alive[depth, w]
                        if w == must >> 6:
                            word &= (ONE << np.uint64(must & 63)) - ONE
                        covered += ones(word)
                    cover[p] = covered
                    at = left - 1
                    if covered > best[at]:
                        while at > 0 and best[at - 1] < covered:
                            best[at] = best[at - 1]
                            at -= 1
                        best[at] = covered
                covered = 0
                for i in range(left):
                    covered += best[i]
                if covered < count:
                    branches[depth] = 0
                # The widest points first; with one pick left only those that exclude everything that must go.
                kept = 0
                for i in range(branches[depth]):
                    p = branch[depth, i]
                    if left == 1 and cover[p] < count:
                        continue
                    at = kept
                    while at > 0 and cover[branch[depth, at - 1]] < cover[p]:
                        branch[depth, at] = branch[depth, at - 1]
                        at -= 1
                    branch[depth, at] = p
                    kept += 1
                branches[depth] = kept
        fresh = False
        if tried[depth] < branches[depth]:
            p = branch[depth, tried[depth]]
            tried[depth] += 1
            # Whatever comes later in this branch need not try p again: with it, everything was searched.
            open_points[depth, p >> 6] &= ~(ONE << np.uint64(p & 63))
            if small[p] >= 0:
                spare -= 1
                spent[small[p]] = True
            picks[depth] = p
            for w in range(width):
                alive[depth + 1, w] = alive[depth, w] & ~excludes[p, w]
            for w in range(span):
                open_points[depth + 1, w] = open_points[depth, w]
                if spare == 0:
                    open_points[depth + 1, w] &= ~small_points[w]
            depth += 1
            fresh = True
        else:
            if depth == 0:
                return NONE, 0, nodes
            depth -= 1
            p = picks[depth]
            if small[p] >= 0:
                spare += 1
                spent[small[p]] = False


@kernel
def narrow_down(
    codes: AnyArray, sizes: AnyArray, f: int, n: int, smallest: int, known: Indices, left: Indices
) -> tuple[int, int]:
    """Choose points greedily, each the one that leaves the fewest series; gives the number of points and of series left.

    Only points where f's cluster has at least `smallest` members are used. `left` gets the series that agree with f at all points
    chosen, f included.
    """
    T, N = codes.shape
    count, chosen = N, 0
    for g in range(N):
        left[g] = g
    taken = np.zeros(T, dtype=np.bool_)
    while chosen < n and count > 1:
        fewest, point = count, -1
        for t in range(T):
            if sizes[t, f] < smallest or taken[t]:
                continue
            if chosen == 0:
                if sizes[t, f] < fewest:
                    fewest, point = sizes[t, f], t
                continue
            agree = 0
            for i in range(count):
                if codes[t, left[i]] == codes[t, f]:
                    agree += 1
                    if agree >= fewest:
                        break
            if agree < fewest:
                fewest, point = agree, t
        if point < 0:
            break
        taken[point] = True
        known[chosen] = point
        chosen += 1
        kept = 0
        for i in range(count):
            if codes[point, left[i]] == codes[point, f]:
                left[kept] = left[i]
                kept += 1
        count = kept
    return chosen, count
