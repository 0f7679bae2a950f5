"""Exponential smoothing of every row with the parameters that fit it."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array

#: the search for smoothing parameters: points of a grid per parameter, and how often it zooms in (0.1 / 5^6 < 1e-5)
GRID, ZOOMS = 11, 6
#: numbers that a processor handles at once, at most
LANES = 8


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
def fitted_smoothing(Z: Array, bounds: Array, trended: bool) -> Array:
    """Exponential smoothing with the alpha and beta, within bounds [[low, high], [low, high]], of least one-step error.

    The columns are alpha, beta, and the level and the trend that they end with. The error may have several minima, so a grid over the bounds
    comes first; then ever finer grids around the best point. The lowest of equally good parameters is taken.
    """
    n = len(Z)
    out = np.empty((n, 4))
    points_a = GRID if bounds[0, 1] > bounds[0, 0] else 1
    points_b = GRID if bounds[1, 1] > bounds[1, 0] else 1
    # Vectors have no remainder then; what is left over repeats the first point.
    lanes = -(-points_a * points_b // LANES) * LANES
    alpha, beta, level, trend, squares = np.empty((5, lanes))
    for i in range(n):
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
            _smooth(Z[i], alpha, beta, trended, level, trend, squares, lanes)
            for at in range(points_a * points_b):
                if squares[at] < best:
                    best = squares[at]
                    best_a, best_b, best_level, best_trend = alpha[at], beta[at], level[at], trend[at]
            # The next grid spans the neighbours of the best point.
            low_a = max(best_a - step_a, bounds[0, 0])
            low_b = max(best_b - step_b, bounds[1, 0])
            step_a *= 2.0 / (GRID - 1)
            step_b *= 2.0 / (GRID - 1)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = best_a, best_b, best_level, best_trend
    return out
