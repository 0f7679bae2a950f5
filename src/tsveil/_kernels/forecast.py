"""Forecasts of the next three values of every row.

All kernels work on z = x - x_T: a large offset then costs no digits, and a constant row is forecast by exactly its
value. The last value is the one to take, because every forecast depends on it in earnest; a first value far off would
leave its rounding in forecasts that have long forgotten it.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array

#: rows whose spread lies outside these bounds are scaled, lest their squares leave the range of float64
TINY, HUGE = 1e-70, 1e70
#: singular values below this share of the largest count as zero
RANK = 1e-10
#: the search for smoothing parameters: points of a grid per parameter, and how often it zooms in (0.1 / 5^6 < 1e-5)
GRID, ZOOMS = 11, 6
#: numbers that a processor handles at once, at most
LANES = 8


@kernel
def weighted_sums(X: Array, weights: Array) -> Array:
    """The sums of the row times each column of (points, 3) weights, where a column's weights add up to one."""
    n, T = X.shape
    out = np.empty((n, 3))
    for i in range(n):
        last = X[i, T - 1]
        a = 0.0
        b = 0.0
        c = 0.0
        for t in range(T - 1):
            z = X[i, t] - last
            a += weights[t, 0] * z
            b += weights[t, 1] * z
            c += weights[t, 2] * z
        out[i, 0] = last + a
        out[i, 1] = last + b
        out[i, 2] = last + c
    return out


@kernel
def _shift(x: Array, z: Array) -> float:
    """Put x - x_T, scaled where its squares need it, into z and give the scale."""
    T = len(x)
    widest = 0.0
    for t in range(T):
        z[t] = x[t] - x[T - 1]
        widest = max(widest, abs(z[t]))
    if widest == 0.0 or TINY < widest < HUGE:
        return 1.0
    for t in range(T):
        z[t] /= widest
    return widest


@kernel
def _products(u: Array, v: Array, y: Array) -> tuple[float, float, float, float, float]:
    """The sums of uu, vv, uv, uy and vy, each in the order of the points."""
    uu = 0.0
    vv = 0.0
    uv = 0.0
    uy = 0.0
    vy = 0.0
    for t in range(len(y)):
        uu += u[t] * u[t]
        vv += v[t] * v[t]
        uv += u[t] * v[t]
        uy += u[t] * y[t]
        vy += v[t] * y[t]
    return uu, vv, uv, uy, vy


@kernel
def autoregression(X: Array, lags: int) -> Array:
    """Regression on the one or two values before, with intercept, applied again and again to its own forecasts.

    The columns of lags are centred and made orthogonal by plane rotations (one-sided Jacobi): their lengths then are
    the singular values, without the squared condition number of the normal equations.
    """
    n, T = X.shape
    N = T - lags
    out = np.empty((n, 3))
    z = np.empty(T)
    u = np.empty(N)
    v = np.zeros(N)
    y = np.empty(N)
    for i in range(n):
        scale = _shift(X[i], z)
        mean_u = 0.0
        mean_v = 0.0
        mean_y = 0.0
        for t in range(N):
            mean_v += z[t]  # with one lag this is not used
            mean_u += z[t + lags - 1]
            mean_y += z[t + lags]
        mean_u /= N
        mean_v /= N
        mean_y /= N
        for t in range(N):
            y[t] = z[t + lags] - mean_y
            u[t] = z[t + lags - 1] - mean_u
            if lags == 2:
                v[t] = z[t] - mean_v
        uu, vv, uv, uy, vy = _products(u, v, y)
        # The rotated columns are u cos - v sin and u sin + v cos.
        cos = 1.0
        sin = 0.0
        for _ in range(10):
            if abs(uv) <= 2.2e-16 * N * np.sqrt(uu * vv):
                break
            zeta = (vv - uu) / (2.0 * uv)
            tangent = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
            if zeta < 0.0:
                tangent = -tangent
            c = 1.0 / np.sqrt(1.0 + tangent * tangent)
            s = c * tangent
            cos, sin = c * cos - s * sin, s * cos + c * sin
            for t in range(N):
                u[t], v[t] = c * u[t] - s * v[t], s * u[t] + c * v[t]
            uu, vv, uv, uy, vy = _products(u, v, y)
        least = RANK * RANK * max(uu, vv)
        along_u = uy / uu if uu > least else 0.0
        along_v = vy / vv if vv > least else 0.0
        one = cos * along_u + sin * along_v
        two = cos * along_v - sin * along_u
        before = z[T - 2]
        now = 0.0
        for h in range(3):
            value = mean_y + one * (now - mean_u)
            if lags == 2:
                value += two * (before - mean_v)
            out[i, h] = X[i, T - 1] + scale * value
            before, now = now, value
    return out


@kernel
def _smooth(
    z: Array, alpha: Array, beta: Array, trended: bool, level: Array, trend: Array, squares: Array, lanes: int
) -> None:
    """The last level, the last trend and the sum of squared one-step errors of exponential smoothing, for several alphas and betas side by side.

    Each waits for its own last level; side by side they fill the waiting time.
    """
    for lane in range(lanes):
        level[lane] = z[0]
        trend[lane] = z[1] - z[0] if trended else 0.0
        squares[lane] = 0.0
    for t in range(1, len(z)):
        value = z[t]
        if trended:
            for lane in range(lanes):
                error = value - level[lane] - trend[lane]
                squares[lane] += error * error
                level[lane] += trend[lane] + alpha[lane] * error
                trend[lane] += alpha[lane] * beta[lane] * error
        else:
            for lane in range(lanes):
                error = value - level[lane]
                squares[lane] += error * error
                level[lane] += alpha[lane] * error


@kernel
def fitted_smoothing(X: Array, bounds: Array, trended: bool) -> Array:
    """Exponential smoothing with the alpha and beta, within bounds [[low, high], [low, high]], of least one-step error.

    The columns are alpha, beta and the three forecasts. The error may have several minima, so a grid over the bounds
    comes first; then ever finer grids around the best point. The lowest of equally good parameters is taken.
    """
    n, T = X.shape
    out = np.empty((n, 5))
    z = np.empty(T)
    points_a = GRID if bounds[0, 1] > bounds[0, 0] else 1
    points_b = GRID if bounds[1, 1] > bounds[1, 0] else 1
    # Vectors have no remainder then; what is left over repeats the first point.
    lanes = -(-points_a * points_b // LANES) * LANES
    alpha, beta, level, trend, squares = np.empty((5, lanes))
    for i in range(n):
        scale = _shift(X[i], z)
        step_a = (bounds[0, 1] - bounds[0, 0]) / (GRID - 1)
        step_b = (bounds[1, 1] - bounds[1, 0]) / (GRID - 1)
        low_a = bounds[0, 0]
        low_b = bounds[1, 0]
        best = np.inf
        best_a, best_b, best_level, best_trend = low_a, low_b, 0.0, 0.0
        for _ in range(ZOOMS + 1):
            alpha[:], beta[:] = low_a, low_b
            for j in range(points_a):
                for k in range(points_b):
                    alpha[j * points_b + k] = min(low_a + j * step_a, bounds[0, 1])
                    beta[j * points_b + k] = min(low_b + k * step_b, bounds[1, 1])
            _smooth(z, alpha, beta, trended, level, trend, squares, lanes)
            for at in range(points_a * points_b):
                if squares[at] < best:
                    best = squares[at]
                    best_a, best_b, best_level, best_trend = alpha[at], beta[at], level[at], trend[at]
            # The next grid spans the neighbours of the best point.
            low_a = max(best_a - step_a, bounds[0, 0])
            low_b = max(best_b - step_b, bounds[1, 0])
            step_a *= 2.0 / (GRID - 1)
            step_b *= 2.0 / (GRID - 1)
        out[i, 0] = best_a
        out[i, 1] = best_b
        for h in range(3):
            out[i, 2 + h] = X[i, T - 1] + scale * (best_level + (h + 1) * best_trend)
    return out
