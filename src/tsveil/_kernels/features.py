"""Features of series, record by record: every record gives the same bits wherever it stands."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices


@kernel
def features_of_rows(
    x: Array,
    hour: Indices,
    hours: int,
    weekday: Indices,
    weekdays: int,
    window: Indices,
    windows: int,
    cosines: Array,
    sines: Array,
    levels: Array,
    steps: bool,
    counter: Indices,
) -> Array:
    """A row of features for each row of x, as `transform.features` defines them.

    `hour`, `weekday` and `window` have the number of each column's hour, weekday and window (-1: none that counts); `cosines` and `sines` are
    (harmonics, columns).
    """
    n, points = x.shape
    harmonics = cosines.shape[0]
    width = 2 * hours + 2 * weekdays + len(levels) * (2 if steps else 1) + harmonics
    out = np.empty((n, width))
    y = np.empty(points)
    step = np.empty(max(points - 1, 0))
    for i in range(n):
        for t in range(points):
            y[t] = np.copysign(np.log1p(abs(x[i, t])), x[i, t])
        at = 0
        put_bins(y, hour, hours, out[i], at)
        at += 2 * hours
        put_bins(y, weekday, weekdays, out[i], at)
        at += 2 * weekdays
        put_quantiles(np.sort(y), levels, out[i], at)
        at += len(levels)
        if steps:
            for t in range(points - 1):
                step[t] = y[t + 1] - y[t]
            put_quantiles(np.sort(step), levels, out[i], at)
            at += len(levels)
        put_magnitudes(y, window, windows, cosines, sines, out[i], at)
        counter[0] += 1
    return out


@kernel
def put_bins(y: Array, bins: Indices, count: int, out: Array, at: int) -> None:
    """The mean of each bin, then the deviation of each; values that are all equal have the deviation 0, whatever rounding says."""
    size = np.zeros(count, np.int64)
    total = np.zeros(count)
    low = np.full(count, np.inf)
    high = np.full(count, -np.inf)
    for t in range(len(y)):
        b = bins[t]
        if b >= 0:
            size[b] += 1
            total[b] += y[t]
            low[b] = min(low[b], y[t])
            high[b] = max(high[b], y[t])
    for b in range(count):
        out[at + b] = low[b] if low[b] == high[b] else total[b] / size[b]
        total[b] = 0.0
    for t in range(len(y)):
        b = bins[t]
        if b >= 0:
            total[b] += (y[t] - out[at + b]) ** 2
    for b in range(count):
        out[at + count + b] = np.sqrt(total[b] / size[b])


@kernel
def put_quantiles(ordered: Array, levels: Array, out: Array, at: int) -> None:
    """Quantiles of sorted values, by linear interpolation."""
    last = len(ordered) - 1
    for q in range(len(levels)):
        place = levels[q] * last
        below = int(place)
        above = min(below + 1, last)
        out[at + q] = ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@kernel
def put_magnitudes(y: Array, window: Indices, windows: int, cosines: Array, sines: Array, out: Array, at: int) -> None:
    """The magnitude of each harmonic, on average over the windows."""
    real = np.empty(windows)
    imaginary = np.empty(windows)
    size = np.zeros(windows, np.int64)
    for t in range(len(y)):
        if window[t] >= 0:
            size[window[t]] += 1
    for h in range(cosines.shape[0]):
        real[:] = 0.0
        imaginary[:] = 0.0
        for t in range(len(y)):
            w = window[t]
            if w >= 0:
                real[w] += y[t] * cosines[h, t]
                imaginary[w] += y[t] * sines[h, t]
        total = 0.0
        for w in range(windows):
            total += np.hypot(real[w], imaginary[w]) / size[w]
        out[at + h] = total / windows


@kernel
def mapped_rows(x: Array, shift: Array, factor: Array, matrix: Array) -> Array:
    """((x - shift) * factor) @ matrix, record by record: equal records give equal bits, which a product of whole tables does not promise."""
    n, width = x.shape
    out = np.zeros((n, matrix.shape[1]))
    for i in range(n):
        for j in range(width):
            value = (x[i, j] - shift[j]) * factor[j]
            for c in range(matrix.shape[1]):
                out[i, c] += value * matrix[j, c]
    return out


@kernel
def inverse_of_triangle(x: Array) -> Array:
    """The inverse of a lower triangular matrix, column by column."""
    n = len(x)
    out = np.zeros((n, n))
    for c in range(n):
        out[c, c] = 1.0 / x[c, c]
        for i in range(c + 1, n):
            total = 0.0
            for j in range(c, i):
                total += x[i, j] * out[j, c]
            out[i, c] = -total / x[i, i]
    return out
