"""The Euclidean distance of two series.

    d(x, v) = sqrt(sum_t (x_t - v_t)^2)

It compares values: two series are near when they run at the same level at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tsveil.core.types import Array, ArrayLike
from tsveil.distance.base import Distance


@dataclass(frozen=True, kw_only=True)
class Euclidean(Distance):
    """The Euclidean distance: its space is that of the values."""

    name: ClassVar[str] = "euclidean"
    plain: ClassVar[str] = "by values"
    summary: ClassVar[str] = "point by point: near are series that run at the same level at the same time"
    reference: ClassVar[str] = "Nin and Torra 2006"

    def embedding(self, rows: Array, times: ArrayLike | None = None) -> Array:
        """The values themselves."""
        return rows


def euclidean(x: ArrayLike, v: ArrayLike) -> float:
    """The Euclidean distance of two series of the same length.

    Parameters
    ----------
    x, v
        The two series.

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
    >>> euclidean([0.0, 0.0], [3.0, 4.0])
    5.0
    """
    return Euclidean().between(x, v)
