"""Weighted sums of series, and regressions of their values on the values before.

All work on z = x - x_T: a large offset then costs no digits, and a constant series is continued by exactly its value. The last value is the one to take,
because every forecast depends on it in earnest; a first value far off would leave its rounding in forecasts that have long forgotten it.
"""

from __future__ import annotations

import numpy as np

from tsveil.core.types import Array
from tsveil.transform.ordered import sums

#: series whose spread lies outside these bounds are scaled, lest their squares leave the range of float64
TINY, HUGE = 1e-70, 1e70
#: singular values below this share of the largest count as zero
RANK = 1e-10


def shifted(X: Array) -> tuple[Array, Array]:
    """The series as z = x - x_T, scaled where its squares need it, and the scale of each series.

    Examples
    --------
    >>> z, scale = shifted(np.array([[1.0, 3.0], [1e90, 0.0]]))
    >>> z.tolist(), scale.tolist()
    ([[-2.0, 0.0], [1.0, 0.0]], [1.0, 1e+90])
    """
    z = X - X[:, -1:]
    widest = np.abs(z).max(axis=1)
    scale = np.where((widest == 0) | ((widest > TINY) & (widest < HUGE)), 1.0, widest)
    return z / scale[:, None], scale


def weighted_sums(X: Array, weights: Array) -> Array:
    """The sums of each series times each column of (points, sums) weights, where a column's weights add up to one.

    Examples
    --------
    >>> weighted_sums(np.array([[1.0, 2.0, 6.0]]), np.array([[0.5], [0.25], [0.25]]))
    array([[2.5]])
    """
    last = X[:, -1]
    z = np.ascontiguousarray((X[:, :-1] - last[:, None]).T)
    return np.stack([last + sums(own[:-1, None] * z) for own in weights.T], axis=1)


def autoregression(X: Array, lags: int) -> Array:
    """The next three values by the regression on the one or two values before, with intercept, applied again and again to its own forecasts.

    The columns of lags are centred and made orthogonal by plane rotations (one-sided Jacobi): their lengths then are the singular values, without the
    squared condition number of the normal equations.

    Examples
    --------
    >>> autoregression(np.array([[1.0, 2.0, 3.0, 5.0, 8.0, 13.0]]), 2).round(6)
    array([[21., 34., 55.]])
    """
    z, scale = shifted(X)
    z = np.ascontiguousarray(z.T)
    N = len(z) - lags
    (u, mean_u), (y, mean_y) = (_centred(z[start : start + N]) for start in (lags - 1, lags))
    v, mean_v = _centred(z[:N]) if lags == 2 else (np.zeros_like(u), np.zeros_like(mean_u))
    products = _products(u, v, y)
    # The rotated columns are u cos - v sin and u sin + v cos.
    cos, sin = np.ones_like(scale), np.zeros_like(scale)
    for _ in range(10):
        uu, vv, uv = products[:3]
        at = np.flatnonzero(~(np.abs(uv) <= 2.2e-16 * N * np.sqrt(uu * vv)))
        if len(at) == 0:
            break
        zeta = (vv[at] - uu[at]) / (2.0 * uv[at])
        tangent = 1.0 / (np.abs(zeta) + np.sqrt(1.0 + zeta * zeta))
        tangent = np.where(zeta < 0, -tangent, tangent)
        c = 1.0 / np.sqrt(1.0 + tangent * tangent)
        s = c * tangent
        cos[at], sin[at] = c * cos[at] - s * sin[at], s * cos[at] + c * sin[at]
        u[:, at], v[:, at] = c * u[:, at] - s * v[:, at], s * u[:, at] + c * v[:, at]
        products[:, at] = _products(u[:, at], v[:, at], y[:, at])
    uu, vv, _, uy, vy = products
    least = RANK * RANK * np.maximum(uu, vv)
    along_u, along_v = (np.divide(ay, aa, out=np.zeros_like(aa), where=aa > least) for ay, aa in ((uy, uu), (vy, vv)))
    one, two = cos * along_u + sin * along_v, cos * along_v - sin * along_u
    out = np.empty((len(X), 3))
    before, now = z[-2], np.zeros_like(scale)
    for h in range(3):
        value = mean_y + one * (now - mean_u)
        if lags == 2:
            value = value + two * (before - mean_v)
        out[:, h] = X[:, -1] + scale * value
        before, now = now, value
    return out


def _centred(z: Array) -> tuple[Array, Array]:
    """The values less their mean, and the mean, column by column."""
    mean = sums(z) / len(z)
    return z - mean, mean


def _products(u: Array, v: Array, y: Array) -> Array:
    """The sums of uu, vv, uv, uy and vy, each in the order of the points."""
    return np.stack([sums(a * b) for a, b in ((u, u), (v, v), (u, v), (u, y), (v, y))])
