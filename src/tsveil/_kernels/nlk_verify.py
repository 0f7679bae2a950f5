"""The search behind the verifier of (n,l,k)-anonymity, and a greedy intruder.

The question of `find_attack`: can an intruder who knows at most n values of a series f infer m others? A known point excludes the
series that differ from f there. Some series must be excluded in any attack, because beside them fewer than m points can be
inferred; so the known points must hit, for each of them, the points at which it differs: a hitting set, searched by branch
and bound on bit sets with an explicit stack. The others may stay as long as they leave m points together.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Indices, Mask

ZERO, ONE, TWO, FOUR, EIGHT = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(8)
SIXTEEN, THIRTY_TWO, LAST_BYTE = np.uint64(16), np.uint64(32), np.uint64(0xFF)
PAIRS, NIBBLES, BYTES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)

#: what a search may find
NONE, FOUND, LIMIT = 0, 1, 2


@kernel
def ones(x: np.uint64) -> int:
    """The number of bits set; by sums of halves, as a multiplication would overflow outside compiled code."""
    x = x - ((x >> ONE) & PAIRS)
    x = (x & NIBBLES) + ((x >> TWO) & NIBBLES)
    x = (x + (x >> FOUR)) & BYTES
    x = x + (x >> EIGHT)
    x = x + (x >> SIXTEEN)
    x = x + (x >> THIRTY_TWO)
    return int(x & LAST_BYTE)


@kernel
def bit(at: int) -> np.uint64:
    """The word with this bit (of 64) set."""
    return ONE << np.uint64(at & 63)


@kernel
def members(bits: AnyArray, out: Indices) -> int:
    """Write the positions of the bits set to `out`; gives their number."""
    count = 0
    for w in range(bits.shape[0]):
        word = bits[w]
        while word != ZERO:
            lowest = word & (~word + ONE)
            out[count] = 64 * w + ones(lowest - ONE)
            count += 1
            word ^= lowest
    return count


@kernel
def inferable(
    who: Indices, count: int, code: Indices, size: Indices, need: Indices, known: Mask, stamp: Indices
) -> int:
    """The number of f's small, unknown points that stay inferable beside the first `count` of the series `who`.

    Point s is lost when the other clusters of these series have need[s] members or more; code -1 is f's own cluster.
    """
    found = 0
    for s in range(need.shape[0]):
        if known[s]:
            continue
        stamp[-1] += 1
        total = 0
        for i in range(count):
            c = code[s, who[i]]
            if c >= 0 and stamp[c] != stamp[-1]:
                stamp[c] = stamp[-1]
                total += size[s, who[i]]
                if total >= need[s]:
                    break
        if total < need[s]:
            found += 1
    return found


@kernel
def conflict(
    who: Indices, count: int, m: int, code: Indices, size: Indices, need: Indices, known: Mask, stamp: Indices
) -> int:
    """Shrink `who` to a set of series that leaves fewer than m points inferable, hardly any of which can be missed; gives its size."""
    # Halving finds the shortest beginning that is too much; then every member but its last is tried to be left out.
    enough = 0
    while count - enough > 1:
        middle = (enough + count) // 2
        if inferable(who, middle, code, size, need, known, stamp) < m:
            count = middle
        else:
            enough = middle
    at = count - 2
    while at >= 0:
        left_out = who[at]
        who[at] = who[count - 1]
        if inferable(who, count - 1, code, size, need, known, stamp) < m:
            count -= 1
        else:
            who[at] = left_out
        at -= 1
    return count


@kernel
def find_attack(
    must_differ: AnyArray,
    may_differ: AnyArray,
    must_go: AnyArray,
    may_go: AnyArray,
    small: Indices,
    code: Indices,
    size: Indices,
    need: Indices,
    n: int,
    m: int,
    limit: int,
    stamp: Indices,
    picks: Indices,
) -> tuple[int, int, int]:
    """Search at most n points whose knowledge makes m others inferable; gives the outcome, the number of picks and of nodes.

    `must_differ[g]` is the set of points at which the g-th series that must be excluded differs from f, `must_go[p]` the set of those
    that point p excludes; `may_differ` and `may_go` say the same of the series that may stay. small[p] is the row of point p in
    `code`, `size` and `need` if f's cluster is small there, else -1. `picks` gets the known points.
    """
    points, width = must_go.shape
    wide, span = may_go.shape[1], must_differ.shape[1]
    must = np.zeros((n + 1, width), dtype=np.uint64)
    may = np.zeros((n + 1, wide), dtype=np.uint64)
    untried = np.zeros((n + 1, span), dtype=np.uint64)
    small_points = np.zeros(span, dtype=np.uint64)
    choice = np.zeros(span, dtype=np.uint64)
    branch = np.zeros((n + 1, points), dtype=np.int64)
    branches = np.zeros(n + 1, dtype=np.int64)
    attempts = np.zeros(n + 1, dtype=np.int64)
    cover = np.zeros(points, dtype=np.int64)
    best = np.zeros(n + 1, dtype=np.int64)
    who = np.zeros(max(must_differ.shape[0], may_differ.shape[0], points), dtype=np.int64)
    known = np.zeros(need.shape[0], dtype=np.bool_)
    spare = need.shape[0] - m  # how many small points may be known: the others must be enough to infer m
    for g in range(must_differ.shape[0]):
        must[0, g >> 6] |= bit(g)
    for g in range(may_differ.shape[0]):
        may[0, g >> 6] |= bit(g)
    for p in range(points):
        if small[p] >= 0:
            small_points[p >> 6] |= bit(p)
        if small[p] < 0 or spare > 0:
            untried[0, p >> 6] |= bit(p)

    depth, nodes, fresh = 0, 0, True
    while True:
        if fresh:
            fresh = False
            nodes += 1
            if nodes > limit:
                return LIMIT, depth, nodes
            left = n - depth
            branches[depth] = 0
            attempts[depth] = 0
            for w in range(span):
                choice[w] = ZERO
            going = members(must[depth], who)
            if going > 0:
                # Branch on the series with the fewest points that exclude it. Series without a common point need a pick each.
                fewest, target, separate = points + 1, 0, 0
                for i in range(going):
                    options, apart = 0, True
                    for w in range(span):
                        word = must_differ[who[i], w] & untried[depth, w]
                        options += ones(word)
                        apart &= (word & choice[w]) == ZERO
                    if options < fewest:
                        fewest, target = options, who[i]
                    if apart:
                        separate += 1
                        for w in range(span):
                            choice[w] |= must_differ[who[i], w] & untried[depth, w]
                possible = fewest > 0 and separate <= left
                for w in range(span):
                    choice[w] = must_differ[target, w] & untried[depth, w] if possible else ZERO
            else:
                count = members(may[depth], who)
                if inferable(who, count, code, size, need, known, stamp) >= m:
                    return FOUND, depth, nodes
                if left > 0:
                    count = conflict(who, count, m, code, size, need, known, stamp)
                    for i in range(count):
                        for w in range(span):
                            choice[w] |= may_differ[who[i], w] & untried[depth, w]
            branches[depth] = members(choice, branch[depth])
            if branches[depth] > 0 and going > 0:
                # How many of the series that must go does each point exclude? The best of them must suffice for all.
                for i in range(left):
                    best[i] = 0
                for i in range(members(untried[depth], who)):
                    p = who[i]
                    cover[p] = 0
                    for w in range(width):
                        cover[p] += ones(must_go[p, w] & must[depth, w])
                    at = left - 1
                    if cover[p] > best[at]:
                        while at > 0 and best[at - 1] < cover[p]:
                            best[at] = best[at - 1]
                            at -= 1
                        best[at] = cover[p]
                most = 0
                for i in range(left):
                    most += best[i]
                # The widest points first; with one pick left only those that exclude everything that must go.
                kept = 0
                for i in range(branches[depth] if most >= going else 0):
                    p = branch[depth, i]
                    if left == 1 and cover[p] < going:
                        continue
                    at = kept
                    while at > 0 and cover[branch[depth, at - 1]] < cover[p]:
                        branch[depth, at] = branch[depth, at - 1]
                        at -= 1
                    branch[depth, at] = p
                    kept += 1
                branches[depth] = kept
        if attempts[depth] < branches[depth]:
            p = branch[depth, attempts[depth]]
            attempts[depth] += 1
            # Whatever comes later here need not know p: with it, everything was searched.
            untried[depth, p >> 6] &= ~bit(p)
            if small[p] >= 0:
                spare -= 1
                known[small[p]] = True
            picks[depth] = p
            for w in range(width):
                must[depth + 1, w] = must[depth, w] & ~must_go[p, w]
            for w in range(wide):
                may[depth + 1, w] = may[depth, w] & ~may_go[p, w]
            for w in range(span):
                untried[depth + 1, w] = untried[depth, w]
                if spare == 0:
                    untried[depth + 1, w] &= ~small_points[w]
            depth += 1
            fresh = True
        else:
            if depth == 0:
                return NONE, depth, nodes
            depth -= 1
            p = picks[depth]
            if small[p] >= 0:
                spare += 1
                known[small[p]] = False


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
    while chosen < n and count > 1:
        # A point chosen before leaves as many as there are, so it is never chosen again.
        fewest, point = count, -1
        for t in range(T):
            if sizes[t, f] < smallest:
                continue
            agree = 0
            if chosen == 0:
                agree = int(sizes[t, f])
            else:
                for i in range(count):
                    if codes[t, left[i]] == codes[t, f]:
                        agree += 1
                        if agree >= fewest:
                            break
            if agree < fewest:
                fewest, point = agree, t
        if point < 0:
            break
        known[chosen] = point
        chosen += 1
        kept = 0
        for i in range(count):
            if codes[point, left[i]] == codes[point, f]:
                left[kept] = left[i]
                kept += 1
        count = kept
    return chosen, count
