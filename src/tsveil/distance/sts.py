"""The short time series (STS) distance: the Euclidean distance of the slopes.

    d(x, v) = sqrt(sum_{t<T} ((v_{t+1} - v_t) / (s_{t+1} - s_t) - (x_{t+1} - x_t) / (s_{t+1} - s_t))^2)

with the time stamps s. It compares shapes: a series and the same series at another level have the distance 0. (The
printed sum runs to T, one value too far: there are T-1 slopes.)

References
----------
.. [1] C. S. Moeller-Levet, F. Klawonn, K.-H. Cho, O. Wolkenhauer, Fuzzy clustering of short time-series and unevenly
   distributed sampling points, LNCS 2810 (2003) 330-340.
"""

from __future__ import annotations

import math

from tsveil._types import ArrayLike
from tsveil.distance.euclidean import series_pair
from tsveil.transform.statistics import slopes


def sts(x: ArrayLike, v: ArrayLike, times: ArrayLike | None = None) -> float:
    """The STS distance of two series at the same times (0, 1, 2, ... when left out).

    Examples
    --------
    >>> sts([0.0, 3.0, 3.0], [7.0, 7.0, 11.0])
    5.0
    >>> sts([0.0, 3.0, 3.0], [7.0, 7.0, 11.0], times=[0, 1, 3])
    3.605551275463989
    """
    a, b = series_pair("sts", x, v)
    return math.dist(slopes(a[None], times)[0], slopes(b[None], times)[0])
