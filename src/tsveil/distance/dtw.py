"""Dynamic time warping (DTW): the distance of two series that may run at different speeds.

A warping path pairs the points of both series: it starts at the first pair, ends at the last, and goes on by one point
in the one series, in the other, or in both. With the squared difference as the cost of a pair,

    d(x, v) = sqrt(min over paths of sum over pairs (i, j) of (x_i - v_j)^2)

The series may differ in length. A Sakoe-Chiba band keeps the path within `radius` points of the straight line between
the corners, measured along the shorter series (with series of equal length: |i - j| <= radius); it prevents absurd
alignments and saves time. Between series of different length the straight line itself needs half a point to either
side: radius 0 means that.

References
----------
.. [1] H. Sakoe, S. Chiba, Dynamic programming algorithm optimization for spoken word recognition, IEEE Transactions on
   Acoustics, Speech and Signal Processing 26 (1978) 43-49.
"""

from __future__ import annotations

import math

import numpy as np

from tsveil._types import ArrayLike
from tsveil.distance.euclidean import series_pair
from tsveil.errors import ParameterError
from tsveil.params import at_least, optional


def dtw(x: ArrayLike, v: ArrayLike, radius: int | None = None) -> float:
    """The DTW distance of two series, in O(T T') time and O(T) memory, or O(T radius) time with a band.

    Examples
    --------
    >>> dtw([0.0, 1.0, 5.0, 1.0, 0.0], [0.0, 0.0, 1.0, 5.0, 1.0])
    1.0
    >>> dtw([0.0, 1.0, 5.0, 1.0, 0.0], [0.0, 0.0, 1.0, 5.0, 1.0], radius=0)
    5.830951894845301
    """
    check = optional(at_least(0))
    if not check.accepts(radius):
        raise ParameterError(f"The 'radius' parameter of dtw must be {check.words}. Got {radius!r}.")
    a, b = series_pair("dtw", x, v, same_length=False)
    from tsveil._kernels.dtw import warping_cost

    # A power of two is taken out, exactly: squares of huge or tiny values would leave the range of float64.
    exponent = int(np.frexp(max(np.abs(a).max(), np.abs(b).max()))[1])
    short, long = sorted((np.ldexp(a, -exponent), np.ldexp(b, -exponent)), key=len)
    width = len(short) if radius is None else min(radius, len(short))
    with np.errstate(over="ignore"):  # a distance beyond float64 is infinite, as with the other distances
        return float(np.ldexp(math.sqrt(warping_cost(long, short, width)), exponent))
