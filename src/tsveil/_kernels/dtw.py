"""Dynamic time warping."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array


@kernel
def warping_cost(long: Array, short: Array, radius: int) -> float:
    """The least sum of squared differences along a warping path; `long` has at least as many points as `short`.

    Two rows of the cost table are kept. Point a of the long series may meet point b of the short one when b is at most
    max(radius, 1/2) away from a (M-1)/(N-1), the straight line between the corners; half a point is the least that
    leaves a path for every pair of lengths.
    """
    N = len(long)
    M = len(short)
    # |b (N-1) - a (M-1)| <= reach / 2, in whole numbers
    reach = max(2 * radius, 1) * (N - 1)
    before = np.full(M + 1, np.inf)
    now = np.full(M + 1, np.inf)
    before[0] = 0.0  # the only way in is through the first pair
    low = 0
    high = -1
    for a in range(N):
        while 2 * (a * (M - 1) - low * (N - 1)) > reach:
            low += 1
        while high + 1 < M and 2 * ((high + 1) * (N - 1) - a * (M - 1)) <= reach:
            high += 1
        # Column b is kept at b + 1. Left of the band stand older costs; right of it nothing was ever written.
        now[low] = np.inf
        for b in range(low, high + 1):
            difference = long[a] - short[b]
            now[b + 1] = difference * difference + min(before[b], before[b + 1], now[b])
        before, now = now, before
    return float(before[M])
