"""Sums without rounding errors, and marks of rows."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array

#: more floats than this never have bits that do not overlap
MOST = 64


@kernel
def partial_sums(values: Array) -> Array:
    """A few floats whose exact sum is the exact sum of the values (Shewchuk 1997, grow-expansion)."""
    parts = np.empty(MOST)
    count = 0
    for i in range(len(values)):
        x = values[i]
        kept = 0
        for j in range(count):
            y = parts[j]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                parts[kept] = low
                kept += 1
            x = high
        parts[kept] = x
        count = kept + 1
    return parts[:count].copy()


@kernel
def row_marks(bits: AnyArray) -> AnyArray:
    """Two numbers of 64 bits for each row of numbers of 64 bits, by the finaliser of splitmix64."""
    found = np.empty((len(bits), 2), np.uint64)
    for i in range(len(bits)):
        for lane in range(2):
            mark = np.uint64(lane)
            for j in range(bits.shape[1]):
                z = (mark ^ bits[i, j]) + np.uint64(0x9E3779B97F4A7C15)
                z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                mark = z ^ (z >> np.uint64(31))
            found[i, lane] = mark
    return found
