"""Features of series, record by record: every record gives the same bits wherever it stands."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import compact, kernel
from tsveil.core.types import Array, Indices


@kernel
def put_logs(x: Array, y: Array) -> None:
    """Put sign(x) log(1 + |x|) into y."""
    for i in range(x.shape[0]):
        for t in range(x.shape[1]):
            y[i, t] = np.copysign(np.log1p(abs(x[i, t])), x[i, t])


@kernel
def features_of_rows(
    y: Array,
    ordered: Array,
    steps: Array,
    hour: Indices,
    hours: int,
    weekday: Indices,
    weekdays: int,
    window: Indices,
    windows: int,
    cosines: Array,
    sines: Array,
    levels: Array,
    work: Array,
    out: Array,
    counter: Indices,
) -> None:
    """A row of features for each row of y, as `transform.features` defines them.

    `ordered` has the values of each row in their order, `steps` the differences of successive values in theirs, or no columns. `hour`,
    `weekday` and `window` have the number of each column's hour, weekday and window (-1: none that counts); `cosines` and `sines` are
    (harmonics, columns). `work` is space, 4 rows as long as there are hours, weekdays or windows.
    """
    compact()
    for i in range(y.shape[0]):
        at = 0
        put_bins(y[i], hour, hours, work, out[i], at)
        at += 2 * hours
        put_bins(y[i], weekday, weekdays, work, out[i], at)
        at += 2 * weekdays
        put_quantiles(ordered[i], levels, out[i], at)
        at += len(levels)
        if steps.shape[1] > 0:
            put_quantiles(steps[i], levels, out[i], at)
            at += len(levels)
        put_magnitudes(y[i], window, windows, cosines, sines, work, out[i], at)
        counter[0] += 1


@kernel
def put_bins(y: Array, bins: Indices, count: int, work: Array, out: Array, at: int) -> None:
    """The mean of each bin, then the deviation of each; values that are all equal have the deviation 0, whatever rounding says."""
    compact()
    size, total, low, high = work[0], work[1], work[2], work[3]
    for b in range(count):
        size[b] = total[b] = 0.0
        low[b], high[b] = np.inf, -np.inf
    for t in range(len(y)):
        b = bins[t]
        if b >= 0:
            size[b] += 1.0
            total[b] += y[t]
            low[b] = min(low[b], y[t])
            high[b] = max(high[b], y[t])
    for b in range(count):
        out[at + b] = low[b] if low[b] == high[b] else total[b] / size[b]
        total[b] = 0.0
    for t in range(len(y)):
        b = bins[t]
        if b >= 0:
            away = y[t] - out[at + b]
            total[b] += away * away
    for b in range(count):
        out[at + count + b] = np.sqrt(total[b] / size[b])


@kernel
def put_quantiles(ordered: Array, levels: Array, out: Array, at: int) -> None:
    """Quantiles of sorted values, by linear interpolation."""
    compact()
    last = len(ordered) - 1
    for q in range(len(levels)):
        place = levels[q] * last
        below = int(place)
        above = min(below + 1, last)
        out[at + q] = ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@kernel
def put_magnitudes(
    y: Array, window: Indices, windows: int, cosines: Array, sines: Array, work: Array, out: Array, at: int
) -> None:
    """The magnitude of each harmonic, on average over the windows."""
    compact()
    size, real, imaginary = work[0], work[1], work[2]
    for w in range(windows):
        size[w] = 0.0
    for t in range(len(y)):
        if window[t] >= 0:
            size[window[t]] += 1.0
    for h in range(cosines.shape[0]):
        for w in range(windows):
            real[w] = imaginary[w] = 0.0
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
    whole = width - width % 4
    unit = np.empty(width)
    for i in range(n):
        for j in range(width):
            unit[j] = (x[i, j] - shift[j]) * factor[j]
        own = out[i]
        for j in range(0, whole, 4):
            value0, value1, value2, value3 = unit[j], unit[j + 1], unit[j + 2], unit[j + 3]
            by0, by1, by2, by3 = matrix[j], matrix[j + 1], matrix[j + 2], matrix[j + 3]
            for c in range(len(own)):
                own[c] = own[c] + value0 * by0[c] + value1 * by1[c] + value2 * by2[c] + value3 * by3[c]
        for j in range(whole, width):
            value, by = unit[j], matrix[j]
            for c in range(len(own)):
                own[c] += value * by[c]
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


@kernel
def products_of_columns(x: Array) -> Array:
    """The products of all pairs of columns, summed over the rows in their order.

    Four rows at a time: a sum is loaded once for them, and still runs from row to row. Loops over slices of their own become vector instructions.
    """
    n, width = x.shape
    out = np.zeros((width, width))
    whole = n - n % 4
    for i in range(0, whole, 4):
        for j in range(width):
            value0, value1, value2, value3 = x[i, j], x[i + 1, j], x[i + 2, j], x[i + 3, j]
            row0, row1, row2, row3 = x[i, j:], x[i + 1, j:], x[i + 2, j:], x[i + 3, j:]
            own = out[j, j:]
            for c in range(len(own)):
                own[c] = own[c] + value0 * row0[c] + value1 * row1[c] + value2 * row2[c] + value3 * row3[c]
    for i in range(whole, n):
        for j in range(width):
            value, row, own = x[i, j], x[i, j:], out[j, j:]
            for c in range(len(own)):
                own[c] += value * row[c]
    for j in range(width):
        for c in range(j):
            out[j, c] = out[c, j]
    return out
