"""Statistics of series, record by record: mean, autocorrelation, slopes.

A record's figures depend on its values alone, to the last bit: not on its neighbours, its place in the file, or the
number of threads.

References
----------
.. [1] P. Brockwell, R. Davis, Introduction to Time Series and Forecasting, Springer (2002), section 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, ArrayLike
from tsveil.engine.local import map_chunks
from tsveil.transform.ordered import sums

Divisor = Literal["T", "T-j"]

#: a standard deviation below this share of the largest value is rounding
CONSTANT = 1e-12
#: values that are worked on at a time: two megabytes, which stay in the cache
CHUNK = 2**18


def means(X: ArrayLike) -> Array:
    """The mean of each record.

    Computed as x_1 + mean(x - x_1): the mean of equal values is that value, and a large offset costs no digits.

    Examples
    --------
    >>> means([[0.1] * 24, [1.0] * 23 + [25.0]])
    array([0.1, 2. ])
    """
    X = series_table(X)
    return per_record(lambda rows: rows[:, 0] + (rows - rows[:, :1]).sum(axis=1) / rows.shape[1], X)


def acf(X: ArrayLike, lags: Sequence[int] | None = None, divisor: Divisor = "T") -> Array:
    """The autocorrelation of each record at the given lags, a column per lag (`default_lags` when left out).

        R(j) = sum_{i=1}^{T-j} (x_i - m)(x_{i+j} - m) / (T s^2)

    with the record's mean m and population variance s^2, so that |R| <= 1. The papers print the divisor T-j
    (`divisor="T-j"`), which can leave [-1, 1]. R(0) = 1. A constant series has R(j) = 0 for j > 0, where constant means
    s <= 1e-12 max|x|: beyond that the digits of the values are used up, and what is left is rounding.

    Examples
    --------
    >>> acf([[0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]).round(6)
    array([[ 1.      ,  0.412121, -0.257576, -0.421212]])
    """
    X = series_table(X)
    T = X.shape[1]
    wanted = default_lags(T) if lags is None else tuple(lags)
    if divisor not in ("T", "T-j"):
        raise ParameterError(f"The 'divisor' parameter of acf must be 'T' or 'T-j'. Got {divisor!r}.")
    if wrong := [lag for lag in wanted if not 0 <= lag < T]:
        raise ParameterError(f"The 'lags' parameter of acf must lie from 0 to {T - 1} for {T} points. Got {wrong}.")
    factors = [1.0 if divisor == "T" else T / (T - lag) for lag in wanted]
    return per_record(lambda rows: _autocorrelations(rows.T, wanted, factors).T, X)


def _autocorrelations(X: Array, lags: Sequence[int], factors: Sequence[float]) -> Array:
    """The autocorrelation of every column at every lag, times the lag's factor; zero for constant columns at lags above 0."""
    T = len(X)
    # Shifted by the first value (offsets cost no digits) and divided by the largest (squares stay in range).
    z = np.ascontiguousarray(X - X[0])
    widest = np.abs(z).max(axis=0)
    np.divide(z, widest, out=z, where=widest > 0)
    z -= sums(z) / T
    squares = sums(z * z)
    moving = widest * np.sqrt(squares / T) > CONSTANT * np.abs(X).max(axis=0)
    out = np.zeros((len(lags), X.shape[1]))
    for own, lag, factor in zip(out, lags, factors, strict=True):
        if lag == 0:
            own[:] = 1.0
        else:
            np.divide(sums(z[: T - lag] * z[lag:]), squares, out=own, where=moving)
            own *= factor
    return out


def default_lags(T: int) -> tuple[int, int, int, int]:
    """No shift and shifts by a quarter, a half and three quarters of the length.

    Examples
    --------
    >>> default_lags(10)
    (0, 2, 5, 7)
    """
    return 0, T // 4, T // 2, 3 * T // 4


def slopes(X: ArrayLike, times: ArrayLike | None = None, *, block: str | None = None) -> Array:
    """The slopes between neighbouring points, (x_{t+1} - x_t) / (s_{t+1} - s_t), at times s (0, 1, ... when left out).

    With a spacing of one they are exactly the first differences. `block` is the name to use in an error.

    Examples
    --------
    >>> slopes([[1.0, 3.0, 9.0]], times=[0, 1, 4])
    array([[2., 2.]])
    """
    X = series_table(X)
    T = X.shape[1]
    name = "the series" if block is None else f"block {block!r}"
    if T < 2:
        raise InputError(f"{name} has {T} point: slopes need at least 2 points per series")
    if times is None:
        return np.diff(X, axis=1)
    stamps = np.asarray(times, dtype=np.float64)
    if stamps.shape != (T,):
        raise InputError(f"{name} has {T} points, but times of the shape {stamps.shape} were given")
    steps = np.diff(stamps)
    if not (steps > 0).all():
        raise InputError(f"the times of {name} must increase from point to point")
    found: Array = np.diff(X, axis=1)
    if (steps != 1).any():
        found /= steps
    return found


def series_table(X: ArrayLike) -> Array:
    """The values as a (records, points) table, or an error."""
    table = np.asarray(X, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(f"series must come as a table of records by points. Got the shape {table.shape}.")
    return table


def per_record(work: Callable[..., Array], *tables: Array) -> Array:
    """Do the same work on chunks of records of one or more tables, with all cores, and put the results together.

    Chunks are contiguous and writable whatever the tables are: a kernel would be compiled anew for every other kind of
    array.

    Examples
    --------
    >>> import numpy as np
    >>> per_record(lambda a, b: (a * b).sum(axis=1), np.ones((3, 2)), np.full((3, 2), 4.0))
    array([8., 8., 8.])
    """

    def chunk(start: int, stop: int) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # whoever is interested checks the result
            return work(*(_own_rows(table, start, stop) for table in tables))

    n, T = tables[0].shape
    return np.concatenate(map_chunks(chunk, n, max(1, CHUNK // T)))


def _own_rows(table: Array, start: int, stop: int) -> Array:
    rows = np.ascontiguousarray(table[start:stop])
    return rows if rows.flags.writeable else rows.copy()
