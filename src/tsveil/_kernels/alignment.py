"""Sorted values cut into runs, one per centroid, at the least squared distance."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices


@kernel
def least_cost_runs(x: Array, centroids: Array, shortest: Indices, longest: Indices) -> Indices:
    """The lengths of consecutive runs of sorted x, run g between shortest[g] and longest[g], that fit the centroids best.

    The cost of a run is the sum of squared distances of its values to its centroid. cost[p] is the least one with the first
    p values in the first g runs; of equal costs the shorter last run is taken.
    """
    n = len(x)
    groups = len(centroids)
    sums = np.zeros(n + 1)
    squares = np.zeros(n + 1)
    for i in range(n):
        sums[i + 1] = sums[i] + x[i]
        squares[i + 1] = squares[i] + x[i] * x[i]
    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    chosen = np.zeros((groups, n + 1), np.int32)
    least = 0
    most = 0
    for g in range(groups):
        c = centroids[g]
        after = np.full(n + 1, np.inf)
        for p in range(least + shortest[g], min(most + longest[g], n) + 1):
            for length in range(shortest[g], min(longest[g], p) + 1):
                q = p - length
                if cost[q] == np.inf:
                    continue
                run = squares[p] - squares[q] - 2.0 * c * (sums[p] - sums[q]) + length * c * c
                if cost[q] + run < after[p]:
                    after[p] = cost[q] + run
                    chosen[g, p] = length
        cost = after
        least += shortest[g]
        most += longest[g]
    lengths = np.zeros(groups, np.int64)
    p = n
    for g in range(groups - 1, -1, -1):
        lengths[g] = chosen[g, p]
        p -= lengths[g]
    return lengths
