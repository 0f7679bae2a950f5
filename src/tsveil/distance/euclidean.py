"""The Euclidean distance of two series.

    d(x, v) = sqrt(sum_t (x_t - v_t)^2)

It compares values: two series are near when they run at the same level at the same time.
"""

from __future__ import annotations

import math

import numpy as np

from tsveil._types import Array, ArrayLike
from tsveil.errors import Problems


def euclidean(x: ArrayLike, v: ArrayLike) -> float:
    """The Euclidean distance of two series of the same length.

    Examples
    --------
    >>> euclidean([0.0, 0.0], [3.0, 4.0])
    5.0
    """
    a, b = series_pair("euclidean", x, v)
    return math.dist(a, b)


def series_pair(distance: str, x: ArrayLike, v: ArrayLike, *, same_length: bool = True) -> tuple[Array, Array]:
    """Both series as arrays, or one error that says all that is wrong with them."""
    problems = Problems(f"the {distance} distance cannot be computed")
    pair = np.asarray(x, dtype=np.float64), np.asarray(v, dtype=np.float64)
    for which, series in zip(("first", "second"), pair, strict=True):
        if series.ndim != 1 or not series.size:
            problems.add(f"the {which} series must be a sequence of numbers. Got the shape {series.shape}.")
        elif not (finite := np.isfinite(series)).all():
            problems.add(f"the {which} series has a missing or infinite value at point {finite.argmin() + 1}")
    if same_length and not problems and len(pair[0]) != len(pair[1]):
        problems.add(f"the series have {len(pair[0])} and {len(pair[1])} points, but must have the same number")
        problems.hint("options: resample them to a common length, or use dtw")
    problems.raise_if_any()
    return pair
