"""The distance of moving averages: two series are near when they run alike, apart from short peaks.

    d(x, v) = sqrt(sum_t (a_t(x) - a_t(v))^2)        a_t(x) = (x_t + ... + x_{t+w-1}) / w

Averages can be computed of one series alone, so the distance is Euclidean in the space of the averages, and groups can be formed by it.

References
----------
.. [1] D. Rafiei, A. Mendelzon, Similarity-based queries for time series data, SIGMOD (1997) 13-25.

Examples
--------
>>> MovingAverage(window=2).between([0.0, 4.0, 0.0], [4.0, 0.0, 4.0])
0.0
>>> MovingAverage(window=1).between([0.0, 4.0, 0.0], [4.0, 4.0, 3.0])
5.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.core.params import at_least, param
from tsveil.core.types import Array, ArrayLike
from tsveil.distance.base import Distance


@dataclass(frozen=True, kw_only=True)
class MovingAverage(Distance):
    """The Euclidean distance of moving averages."""

    name: ClassVar[str] = "moving-average"
    plain: ClassVar[str] = "by moving averages"
    summary: ClassVar[str] = "of the averages over a few points: near are series that run alike, apart from short peaks"
    reference: ClassVar[str] = "Rafiei and Mendelzon 1997"
    fewest: ClassVar[int] = 1

    window: int = param(3, at_least(1), "the number of points of an average; a shorter series has one average")

    def embedding(self, rows: Array, times: ArrayLike | None = None) -> Array:
        """The averages of each series, from left to right."""
        points = rows.shape[1]
        window = min(self.window, points)
        starts = range(points - window + 1)
        return np.column_stack([rows[:, start : start + window].mean(axis=1) for start in starts])
