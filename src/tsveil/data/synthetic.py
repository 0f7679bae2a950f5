"""The synthetic time series of the (n,l,k)-anonymity paper: independent random values, and sine curves.

    random   x_t uniform in 10..30
    sine     x_t = a + b sin(c t),   a uniform in 30..50, b in 1..5, c in 0.2..2

1000 households with 168 points, a week of hourly readings, in the paper [1]_.

References
----------
.. [1] S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, Pattern-sensitive time-series anonymization and its application to
   energy-consumption data, Open Journal of Information Systems 1 (2014) 3-22, section 5.1.

Examples
--------
>>> random_series(4, 3)
Dataset: 4 records; series 'random' (3 points)
"""

from __future__ import annotations

import numpy as np

from tsveil.data.dataset import Dataset

Range = tuple[float, float]


def random_series(n: int = 1000, points: int = 168, *, values: Range = (10.0, 30.0), seed: int = 0) -> Dataset:
    """Series of independent values, uniform in a range; nothing secret depends on the seed.

    Examples
    --------
    >>> data = random_series(100, 24)
    >>> bool(data.values.min() >= 10 and data.values.max() <= 30)
    True
    """
    rng = np.random.default_rng(seed)
    return Dataset.from_arrays({"random": rng.uniform(*values, size=(n, points))})


def sine_series(
    n: int = 1000,
    points: int = 168,
    *,
    a: Range = (30.0, 50.0),
    b: Range = (1.0, 5.0),
    c: Range = (0.2, 2.0),
    seed: int = 0,
) -> Dataset:
    """Series a + b sin(c t), with a, b and c uniform in their ranges; nothing secret depends on the seed.

    Examples
    --------
    >>> data = sine_series(100, 24)
    >>> bool(data.values.min() >= 25 and data.values.max() <= 55)
    True
    """
    rng = np.random.default_rng(seed)
    level, height, speed = (rng.uniform(*bounds, size=(n, 1)) for bounds in (a, b, c))
    return Dataset.from_arrays({"sine": level + height * np.sin(speed * np.arange(points))})
