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
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tsveil.core import progress
from tsveil.core.params import at_least, optional, param
from tsveil.core.types import Array, ArrayLike, Indices
from tsveil.distance.base import Distance, series_pair
from tsveil.engine.local import map_chunks


@dataclass(frozen=True, kw_only=True)
class DTW(Distance):
    """Dynamic time warping; there is no space in which it is Euclidean."""

    name: ClassVar[str] = "dtw"
    label: ClassVar[str] = "dtw"
    plain: ClassVar[str] = "by time warping"
    summary: ClassVar[str] = "of the best alignment in time: near are series of which one runs a little ahead or behind"
    reference: ClassVar[str] = "Sakoe and Chiba 1978"
    fewest: ClassVar[int] = 1

    radius: int | None = param(None, optional(at_least(0)), "points that the alignment may stray from the diagonal")

    def between(self, x: ArrayLike, v: ArrayLike, times: ArrayLike | None = None) -> float:
        """In O(T T') time and O(T) memory, or O(T radius) time with a band; series may differ in length, and times play no part."""
        a, b = series_pair(self.name, x, v, same_length=False)
        from tsveil._kernels.dtw import warping_cost

        # A power of two is taken out, exactly: squares of huge or tiny values would leave the range of float64.
        exponent = int(np.frexp(max(np.abs(a).max(), np.abs(b).max()))[1])
        short, long = sorted((np.ldexp(a, -exponent), np.ldexp(b, -exponent)), key=len)
        with np.errstate(over="ignore"):  # a distance beyond float64 is infinite, as with the other distances
            return float(np.ldexp(math.sqrt(warping_cost(long, short, self._band(len(short)))), exponent))

    def _band(self, points: int) -> int:
        """The radius, or one that all paths keep to."""
        return points if self.radius is None else min(self.radius, points)

    def at_length(self, points: int) -> Self:
        """With a band of a tenth of the length, rounded up, unless one is given: no band at all makes most series alike."""
        return replace(self, radius=-(-points // 10)) if self.radius is None else self

    @property
    def words(self) -> str:
        """With the band."""
        return f"dtw within {self.radius} point{'s' * (self.radius != 1)}"

    def all_pairs(self, a: Array, b: Array, starts: Indices) -> Array:
        """By a kernel."""
        from tsveil._kernels.warped import warped_distances

        def work(low: int, high: int) -> Array:
            return warped_distances(a[low:high], b, starts, self._band(a.shape[1]), counter)

        with progress.step("Comparing records by time warping", total=len(a)) as counter:
            return np.concatenate(map_chunks(work, len(a), 64))

    def nearest(
        self, known: Array, candidates: Array, starts: Indices, copies: Indices, first: Indices, own: Indices,
        begin: Indices, width: int, counter: Indices,
    ) -> tuple[Indices, Indices, Indices]:  # fmt: skip
        """By a kernel with bounds that spare most pairs and change no result."""
        from tsveil._kernels.warped import nearest_by_warping

        return nearest_by_warping(
            known, candidates, starts, self._band(known.shape[1]), copies, first, own, begin, width, counter
        )  # fmt: skip


def dtw(x: ArrayLike, v: ArrayLike, radius: int | None = None) -> float:
    """The DTW distance of two series, which may differ in length.

    Parameters
    ----------
    x, v
        The two series.
    radius
        How many points the alignment may stray from the line between the corners; any number unless given.

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
    >>> dtw([0.0, 1.0, 5.0, 1.0, 0.0], [0.0, 0.0, 1.0, 5.0, 1.0])
    1.0
    >>> dtw([0.0, 1.0, 5.0, 1.0, 0.0], [0.0, 0.0, 1.0, 5.0, 1.0], radius=0)
    5.830951894845301
    """
    return DTW(radius=radius).between(x, v)
