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

from dataclasses import dataclass
from typing import ClassVar

from tsveil.core.types import Array, ArrayLike
from tsveil.distance.base import Distance
from tsveil.transform.statistics import slopes


@dataclass(frozen=True, kw_only=True)
class STS(Distance):
    """The short time series distance: its space is that of the slopes."""

    name: ClassVar[str] = "sts"
    plain: ClassVar[str] = "by shape"
    summary: ClassVar[str] = "of the slopes between points: near are series that rise and fall alike, at whatever level"
    reference: ClassVar[str] = "Moeller-Levet, Klawonn, Cho and Wolkenhauer 2003"
    fewest: ClassVar[int] = 2
    needs: ClassVar[str] = "compares the slopes of time series and needs at least two points"
    in_sweeps: ClassVar[bool] = True

    def embedding(self, rows: Array, times: ArrayLike | None = None) -> Array:
        """The slopes."""
        return slopes(rows, times)


def sts(x: ArrayLike, v: ArrayLike, times: ArrayLike | None = None) -> float:
    """The STS distance of two series at the same times.

    Parameters
    ----------
    x, v
        The two series.
    times
        The times; 0, 1, 2, ... unless given.

    Returns
    -------
    float
        The distance.

    Raises
    ------
    InputError
        If the series hold anything but numbers, or do not fit each other.

    Examples
    --------
    >>> sts([0.0, 3.0, 3.0], [7.0, 7.0, 11.0])
    5.0
    >>> sts([0.0, 3.0, 3.0], [7.0, 7.0, 11.0], times=[0, 1, 3])
    3.605551275463989
    """
    return STS().between(x, v, times)
