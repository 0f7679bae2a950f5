"""Triangular factors of covariance matrices, and rows times them: every sum runs in one order, so that equal rows give equal bits."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array


@kernel
def factor_of(left: Array, nothing: Array) -> Array:
    """R with R'R = S for the matrix S in `left`, the upper half of which is used up; a row of zeros where what is left of the diagonal is not above `nothing`."""
    n = len(left)
    factor = np.zeros((n, n))
    for at in range(n):
        if left[at, at] > nothing[at]:
            root = np.sqrt(left[at, at])
            for c in range(at, n):
                factor[at, c] = left[at, c] / root
            for j in range(at, n):
                value, own, rest = factor[at, j], factor[at, j:], left[j, j:]
                for c in range(len(rest)):
                    rest[c] -= value * own[c]
    return factor


@kernel
def rows_times(rows: Array, factor: Array) -> Array:
    """Rows times an upper triangular factor, summed in the order of the columns.

    Four columns at a time: a sum is loaded once for them. What is below the diagonal of a factor adds zeros, which change nothing.
    """
    n, width = rows.shape
    out = np.zeros((n, width))
    whole = width - width % 4
    for i in range(n):
        for j in range(0, whole, 4):
            value0, value1, value2, value3 = rows[i, j], rows[i, j + 1], rows[i, j + 2], rows[i, j + 3]
            by0, by1, by2, by3 = factor[j, j:], factor[j + 1, j:], factor[j + 2, j:], factor[j + 3, j:]
            own = out[i, j:]
            for c in range(len(own)):
                own[c] = own[c] + value0 * by0[c] + value1 * by1[c] + value2 * by2[c] + value3 * by3[c]
        for j in range(whole, width):
            for c in range(j, width):
                out[i, c] += rows[i, j] * factor[j, c]
    return out
