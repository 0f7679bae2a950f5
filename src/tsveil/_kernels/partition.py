"""The least-SSE partition of ordered records into consecutive groups, by dynamic programming."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices


@kernel
def least_sse_runs(x: Array, k: int) -> Indices:
    """The group of each row of x when consecutive rows are cut into groups of k..2k-1 with the least sum of squared errors.

    least(j), the least SSE of the first j rows, is the least of least(j-m) + sse(rows j-m .. j-1) over the sizes m; equal sums go
    to the smallest last group. Groups are numbered in the order of the rows. There must be at least k rows.

    A group's SSE is sum(e^2) - (sum e)^2 / m with e the differences to its last row. Since that row is a member, sum(e^2) is at
    most m + 1 times the SSE, so the subtraction can cost no more than the last few bits, whatever the offset of the values.

    least(j) is kept as an unevaluated sum of two floats. One far outlier in the first group would otherwise put 10^20 into every
    later sum, where the differences between the later groups drown.
    """
    n, d = x.shape
    least = np.full(n + 1, np.inf)
    rest = np.zeros(n + 1)
    size = np.zeros(n + 1, np.int64)
    least[0] = 0.0
    total = np.empty(d)
    for j in range(k, n + 1):
        total[:] = 0.0
        squares = 0.0
        for m in range(1, min(2 * k - 1, j) + 1):
            i = j - m
            for c in range(d):
                e = x[i, c] - x[j - 1, c]
                total[c] += e
                squares += e * e
            if m < k or least[i] == np.inf:
                continue
            mean_part = 0.0
            for c in range(d):
                mean_part += total[c] * total[c]
            sse = squares - mean_part / m
            # The exact sum of least[i] and sse is high + low; with rest[i] it is brought to high + low, high rounded.
            high = least[i] + sse
            back = high - least[i]
            low = (least[i] - (high - back)) + (sse - back) + rest[i]
            whole = high + low
            low -= whole - high
            if whole < least[j] or (whole == least[j] and low < rest[j]):
                least[j] = whole
                rest[j] = low
                size[j] = m
    groups = np.empty(n, np.int64)
    count = 0
    j = n
    while j > 0:
        groups[j - size[j] : j] = count
        count += 1
        j -= size[j]
    return count - 1 - groups
