"""Who swaps with whom in rank swapping, by ranks: partner[i] is the rank that rank i trades places with, or i itself.

Ranks are visited in ascending order, and a rank that has no partner yet takes a free one above it. So whoever is visited
finds no free rank below, and a rank that stays alone is never asked again.

Random numbers come in as arrays, drawn by the caller: the same draws give the same partners on every machine.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices

#: whole random numbers lie below this; a power of two that leaves int64 room for sums
DRAWS_BELOW = 1 << 62
#: how often a rank draws a partner from the normal distribution
TRIES = 200
#: buckets this far from the nearest possible one weigh less than the last digit of a float64
REACH = 53


@kernel
def _remove(slots: Indices, place: Indices, last: int, rank: int) -> None:
    """Take a rank out of a list of free ranks by moving the one in slot `last` into its slot."""
    slots[place[rank]] = slots[last]
    place[slots[last]] = place[rank]


@kernel
def window_partners(n: int, width: int, draws: Indices) -> Indices:
    """A uniformly random free partner within the next `width` ranks; at least n draws from 0 to DRAWS_BELOW - 1.

    The free ranks of the window are kept as a list in arbitrary order: a rank enters once, leaves once, and any of them is
    picked in one step. O(n), whatever the width.
    """
    width = min(width, n - 1)
    partner = np.arange(n)
    taken = np.zeros(n, dtype=np.bool_)
    slots = np.empty(width + 1, dtype=np.int64)
    place = np.empty(n, dtype=np.int64)
    count = 0
    at = 0
    for rank in range(width):
        slots[count] = rank
        place[rank] = count
        count += 1
    for i in range(n):
        if i + width < n:
            slots[count] = i + width
            place[i + width] = count
            count += 1
        if taken[i]:
            continue
        count -= 1
        _remove(slots, place, count, i)
        if count == 0:
            continue
        # A draw above the last whole multiple of `count` would favour the low slots, so it is skipped. A swap settles two
        # ranks, so half of the draws are spare; to run out of them takes n/2 skips, each of a chance below n / 2^62.
        fair = DRAWS_BELOW // count * count
        while draws[at] >= fair and at + 1 < len(draws):
            at += 1
        other = slots[draws[at] % count]
        at += 1
        count -= 1
        _remove(slots, place, count, other)
        taken[other] = True
        partner[i] = other
        partner[other] = i
    return partner


@kernel
def window_partners_once(n: int, width: int, draws: Indices) -> Indices:
    """The same, but a partner is drawn once among the next `width` ranks, free or not; a rank whose draw is taken keeps its place."""
    partner = np.arange(n)
    at = 0
    for i in range(n - 1):
        if partner[i] != i:
            continue
        count = min(width, n - 1 - i)
        fair = DRAWS_BELOW // count * count  # as in window_partners
        while draws[at] >= fair and at + 1 < len(draws):
            at += 1
        other = i + 1 + draws[at] % count
        # At most n - 1 ranks draw, so a skip can run out of draws in theory; the last one is then used again.
        at = min(at + 1, len(draws) - 1)
        if partner[other] == other:
            partner[i] = other
            partner[other] = i
    return partner


@kernel
def normal_partners(partner: Indices, start: int, mean: float, normals: Array) -> int:
    """Partner = rank + round(normal with mean and deviation `mean`), drawn again when it is taken, outside or the rank itself.

    After TRIES draws the nearest free higher rank is taken. Works on `partner` in place, with -1 for a free rank, from rank
    `start` on until all are done or fewer than TRIES of the standard normal draws are left, and gives the rank reached.
    """
    n = len(partner)
    used = 0
    for i in range(start, n):
        if partner[i] >= 0:
            continue
        if len(normals) - used < TRIES:
            return i
        other = -1
        for _ in range(TRIES):
            # Kept as a float until it is known to be a rank: a far draw must not overflow.
            to = np.floor(i + mean + mean * normals[used] + 0.5)
            used += 1
            if to > i and to < n and partner[int(to)] < 0:
                other = int(to)
                break
        if other < 0:
            other = i + 1
            while other < n and partner[other] >= 0:
                other += 1
        if other == n:
            partner[i] = i
        else:
            partner[i] = other
            partner[other] = i
    return n


@kernel
def bucket_partners(n: int, buckets: int, uniforms: Array, draws: Indices) -> Indices:
    """A bucket s at or after the own one, r, with a chance in proportion to 2^-(s-r+1), and a uniform free partner in it.

    A bucket without a free partner would be drawn again; so the draw is made at once among those that have one, which gives
    the same chances. Takes n uniforms in [0, 1) and at least n draws from 0 to DRAWS_BELOW - 1.
    """
    partner = np.arange(n)
    taken = np.zeros(n, dtype=np.bool_)
    # Bucket b holds the ranks from first[b] on; its free ranks stand in the slots from first[b], free[b] of them.
    first = np.empty(buckets + 1, dtype=np.int64)
    free = np.empty(buckets, dtype=np.int64)
    for b in range(buckets + 1):
        first[b] = b * n // buckets
    for b in range(buckets):
        free[b] = first[b + 1] - first[b]
    slots = np.arange(n)
    place = np.arange(n)
    at = 0
    own = 0
    for i in range(n):
        while i >= first[own + 1]:
            own += 1
        if taken[i]:
            continue
        free[own] -= 1
        _remove(slots, place, first[own] + free[own], i)
        nearest = own
        while nearest < buckets and free[nearest] == 0:
            nearest += 1
        if nearest == buckets:
            continue
        end = min(nearest + REACH, buckets)
        total = 0.0
        weight = 1.0
        for b in range(nearest, end):
            if free[b] > 0:
                total += weight
            weight *= 0.5
        left = uniforms[i] * total
        chosen = nearest
        weight = 1.0
        for b in range(nearest, end):
            if free[b] > 0:
                chosen = b
                left -= weight
                if left < 0.0:
                    break
            weight *= 0.5
        count = free[chosen]
        fair = DRAWS_BELOW // count * count  # as in window_partners
        while draws[at] >= fair and at + 1 < len(draws):
            at += 1
        other = slots[first[chosen] + draws[at] % count]
        at += 1
        free[chosen] -= 1
        _remove(slots, place, first[chosen] + free[chosen], other)
        taken[other] = True
        partner[i] = other
        partner[other] = i
    return partner
