"""What is computed of groups: their representatives and the sum of squared errors."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices


@kernel
def group_means(x: Array, labels: Indices, groups: int) -> Array:
    """Every value replaced by its group's mean in that column: x0 + mean(x - x0), x0 the group's first record.

    Shifting by a member makes the mean of equal values that value, bit for bit, and loses no digits to a large offset.
    """
    n, d = x.shape
    first = np.full(groups, -1, np.int64)
    count = np.zeros(groups, np.int64)
    total = np.zeros((groups, d))
    for i in range(n):
        g = labels[i]
        if first[g] < 0:
            first[g] = i
        count[g] += 1
        for j in range(d):
            total[g, j] += x[i, j] - x[first[g], j]
    for g in range(groups):
        for j in range(d):
            total[g, j] = x[first[g], j] + total[g, j] / count[g]
    out = np.empty_like(x)
    for i in range(n):
        for j in range(d):
            out[i, j] = total[labels[i], j]
    return out
