"""Nearest released series by dynamic time warping, with ties counted; what cannot be nearest is given up early."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.attributes import nearer
from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices

#: bounds have this share of the least distance to spare, so that rounding never gives up a tie
SPARE = 1e-9


@kernel
def nearest_by_warping(
    known: Array,
    candidates: Array,
    starts: Indices,
    radius: int,
    copies: Indices,
    first: Indices,
    own: Indices,
    begin: Indices,
    width: int,
    counter: Indices,
) -> tuple[Indices, Indices, Indices]:
    """For each known record: size of the tie, lowest row tied, own row tied or not; among `width` candidates from begin[i] on.

    The distance is the sum over blocks (columns starts[b]..starts[b+1]) of the square roots of the warping costs within a band
    of `radius` points. The candidate nearest without warping is measured first; any other is given up as soon as a bound
    exceeds the least distance so far: the cost of leaving the known record's envelope (LB_Keogh), or the least cost of a row of
    the table of paths.
    """
    n = known.shape[0]
    blocks = len(starts) - 1
    tied = np.zeros(n, np.int64)
    link = np.full(n, -1, np.int64)
    hit = np.zeros(n, np.int64)
    lowest = np.empty(known.shape[1])
    highest = np.empty(known.shape[1])
    for i in range(n):
        _envelope(known[i], starts, radius, lowest, highest)
        end = min(begin[i] + width, candidates.shape[0])
        start = begin[i]
        least = np.inf
        for c in range(begin[i], end):
            straight = 0.0
            for t in range(known.shape[1]):
                difference = known[i, t] - candidates[c, t]
                straight += difference * difference
            if straight < least:
                least = straight
                start = c
        best = np.inf
        for turn in range(begin[i], end):
            # The promising one first, then all others in order.
            c = start if turn == begin[i] else (turn - 1 if turn <= start else turn)
            total = 0.0
            for b in range(blocks):
                low = starts[b]
                high = starts[b + 1]
                left = (best - total) + best * SPARE if best < np.inf else np.inf
                left *= left
                outside = 0.0
                for t in range(low, high):
                    value = candidates[c, t]
                    if value > highest[t]:
                        outside += (value - highest[t]) * (value - highest[t])
                    elif value < lowest[t]:
                        outside += (lowest[t] - value) * (lowest[t] - value)
                if outside > left:
                    total = np.inf
                    break
                total += np.sqrt(_cost(known[i, low:high], candidates[c, low:high], radius, left))
                if total > best:
                    break
            if total != np.inf:
                best = nearer(total, best, i, c, copies, first, own, tied, link, hit)
        counter[0] += 1
    return tied, link, hit


@kernel
def _envelope(x: Array, starts: Indices, radius: int, lowest: Array, highest: Array) -> None:
    """The least and largest value within the band around each point, block by block."""
    for b in range(len(starts) - 1):
        for t in range(starts[b], starts[b + 1]):
            begin = max(t - radius, starts[b])
            end = min(t + radius, starts[b + 1] - 1)
            lowest[t] = x[begin]
            highest[t] = x[begin]
            for s in range(begin + 1, end + 1):
                lowest[t] = min(lowest[t], x[s])
                highest[t] = max(highest[t], x[s])


@kernel
def _cost(x: Array, v: Array, radius: int, limit: float) -> float:
    """The least sum of squared differences along a path within the band; infinite once every path exceeds the limit."""
    T = len(x)
    before = np.full(T + 1, np.inf)
    now = np.full(T + 1, np.inf)
    before[0] = 0.0
    for a in range(T):
        low = max(a - radius, 0)
        high = min(a + radius, T - 1)
        now[low] = np.inf
        least = np.inf
        for b in range(low, high + 1):
            difference = x[a] - v[b]
            now[b + 1] = difference * difference + min(before[b], before[b + 1], now[b])
            least = min(least, now[b + 1])
        if least > limit:
            return np.inf
        before, now = now, before
    return float(before[T])


@kernel
def warped_distances(known: Array, candidates: Array, starts: Indices, radius: int, counter: Indices) -> Array:
    """The distance of every known record from every candidate."""
    out = np.zeros((known.shape[0], candidates.shape[0]))
    for i in range(known.shape[0]):
        for c in range(candidates.shape[0]):
            for b in range(len(starts) - 1):
                low, high = starts[b], starts[b + 1]
                out[i, c] += np.sqrt(_cost(known[i, low:high], candidates[c, low:high], radius, np.inf))
        counter[0] += 1
    return out
