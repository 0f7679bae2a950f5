"""Slow, obvious versions of the building blocks and measures for series: the definitions, nothing else."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from tsveil.core.types import Array

Series = Sequence[float]

#: index of prices of four foods in nine years, 1993 to 2001 (Nin and Torra 2009, Table 1)
FOODS = np.array(
    [
        [106.5, 110.3, 114.9, 117.9, 119.3, 121.0, 122.2, 124.1, 129.0],
        [102.7, 119.8, 147.8, 178.7, 130.8, 116.2, 133.6, 123.5, 114.4],
        [95.6, 101.9, 110.8, 116.4, 114.2, 119.0, 124.6, 126.4, 133.9],
        [101.1, 133.6, 162.8, 123.8, 121.3, 140.4, 149.8, 148.6, 177.6],
    ]
)


# -- normalisation ----------------------------------------------------------------------------------------------------


def standardised(values: Series, by: Series) -> list[float]:
    """Values by the mean and the standard deviation of others; zeros where those do not vary."""
    if len(set(by)) == 1:
        return [0.0] * len(values)
    mean, deviation = statistics.mean(by), statistics.stdev(by)
    return [(value - mean) / deviation for value in values]


def ranged(values: Series, by: Series) -> list[float]:
    """Values by the range of others; zeros where those do not vary."""
    low, high = min(by), max(by)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]


def normalised(X: Array, by: Array, how: str) -> Array:
    """X on the scale of another table."""
    if how == "global":
        return np.array(standardised(X.ravel().tolist(), by.ravel().tolist())).reshape(X.shape)
    if how == "per-record":
        return np.array([standardised(row, row) for row in X.tolist()])
    one = ranged if how == "ranging" else standardised
    return np.array([one(x, b) for x, b in zip(X.T.tolist(), by.T.tolist(), strict=True)]).T


# -- statistics -------------------------------------------------------------------------------------------------------


def mean(x: Series) -> float:
    return float(statistics.mean(x))  # exact sum, rounded once


def acf(x: Series, lag: int, divisor: str = "T") -> float:
    T, m = len(x), mean(x)
    if lag == 0:
        return 1.0
    variance = math.fsum((value - m) ** 2 for value in x) / T
    if math.sqrt(variance) <= 1e-12 * max(abs(value) for value in x):
        return 0.0
    products = math.fsum((x[i] - m) * (x[i + lag] - m) for i in range(T - lag))
    return products / ((T if divisor == "T" else T - lag) * variance)


# -- distances --------------------------------------------------------------------------------------------------------


def sts(x: Series, v: Series, times: Series) -> float:
    total = 0.0
    for t in range(len(x) - 1):
        step = times[t + 1] - times[t]
        total += ((v[t + 1] - v[t]) / step - (x[t + 1] - x[t]) / step) ** 2
    return math.sqrt(total)


def in_band(i: int, j: int, n: int, m: int, radius: int | None) -> bool:
    """Whether point i of n may meet point j of m: near the line between the corners, along the shorter series."""
    if radius is None:
        return True
    if n < m:
        return in_band(j, i, m, n, radius)
    line = i * (m - 1) / (n - 1) if n > 1 else 0.0
    return abs(j - line) <= max(radius, 0.5) + 1e-9


def dtw(x: Series, v: Series, radius: int | None = None) -> float:
    """The full table of path costs."""
    n, m = len(x), len(v)
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            if in_band(i, j, n, m, radius):
                cost[i + 1, j + 1] = (x[i] - v[j]) ** 2 + min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
    return math.sqrt(cost[n, m])


# -- forecasts --------------------------------------------------------------------------------------------------------


def ses(x: Series, alpha: float) -> list[float]:
    level = x[0]
    for value in x[1:]:
        level = alpha * value + (1 - alpha) * level
    return [level] * 3


def holt(x: Series, alpha: float, beta: float) -> list[float]:
    level, trend = x[0], x[1] - x[0]
    for value in x[1:]:
        before = level
        level = alpha * value + (1 - alpha) * (level + trend)
        trend = beta * (level - before) + (1 - beta) * trend
    return [level + h * trend for h in (1, 2, 3)]


def one_step_error(x: Series, alpha: float, beta: float | None = None) -> float:
    """The sum of squared errors when each value is forecast from those before; SES without beta, Holt with it."""
    if beta is None:
        return math.fsum((x[t] - ses(x[:t], alpha)[0]) ** 2 for t in range(1, len(x)))
    return math.fsum((x[t] - holt(x[:t], alpha, beta)[0]) ** 2 for t in range(2, len(x)))


def polynomial(x: Series, degree: int) -> list[float]:
    T = len(x)
    u = (np.arange(T + 3) - (T - 1) / 2) / T
    powers = np.stack([u**d for d in range(degree + 1)], axis=1)
    coefficients = np.linalg.lstsq(powers[:T], np.array(x) - x[0], rcond=None)[0]
    return [float(x[0] + row @ coefficients) for row in powers[T:]]


def lags(x: Series, count: int) -> list[float]:
    """Centred least squares on the last values; singular values below 1e-10 of the largest count as zero."""
    z = np.array(x) - x[0]
    columns = np.stack([z[count - 1 - k : len(z) - 1 - k] for k in range(count)], axis=1)
    target = z[count:]
    coefficients = np.linalg.lstsq(columns - columns.mean(0), target - target.mean(), rcond=1e-10)[0]
    known = z.tolist()
    for _ in range(3):
        last = np.array([known[-1 - k] for k in range(count)])
        known.append(float(target.mean() + (last - columns.mean(0)) @ coefficients))
    return [float(x[0] + value) for value in known[-3:]]


def five_forecasts(x: Series) -> list[list[float]]:
    return [ses(x, 0.3), holt(x, 0.3, 0.1), polynomial(x, 1), lags(x, 2), polynomial(x, 2)]


# -- measures ---------------------------------------------------------------------------------------------------------


def rel(a: float, b: float) -> float:
    largest = max(abs(a), abs(b))
    return abs(a - b) / largest if largest else 0.0


def signed_rel(a: float, b: float) -> float:
    largest = max(abs(a), abs(b))
    return (abs(a) - abs(b)) / largest if largest else 0.0


def series_loss(X: Array, X2: Array, variant: str = "default", divisor: str = "T") -> dict[str, float]:
    """The losses in percent, record by record and value by value."""
    statistic = rel if variant == "default" else signed_rel
    T = X.shape[1]
    parts: dict[str, list[float]] = {"il1_1": [], "il1_2": [], "il2": [], "il3": []}
    for x, y in zip(X.tolist(), X2.tolist(), strict=True):
        parts["il1_1"].append(statistic(mean(x), mean(y)))
        for lag in (0, T // 4, T // 2, 3 * T // 4):
            parts["il1_2"].append(statistic(acf(x, lag, divisor), acf(y, lag, divisor)))
        parts["il2"].extend(rel(a, b) for a, b in zip(x, y, strict=True))
        for f, g in zip(five_forecasts(x), five_forecasts(y), strict=True):
            parts["il3"].extend(rel(a, b) for a, b in zip(f, g, strict=True))
    loss = {name: 100 * math.fsum(values) / len(values) for name, values in parts.items()}
    loss["il1"] = (loss["il1_1"] + loss["il1_2"]) / 2
    loss["il"] = (loss["il1"] + loss["il2"] + loss["il3"]) / 3
    return loss


def interval_disclosure(X: Array, X2: Array, percents: Sequence[int]) -> list[float]:
    """In decimal arithmetic, as one would do it on paper with the numbers as they are written."""
    pairs = [(Decimal(repr(a)), Decimal(repr(b))) for a, b in zip(X.ravel().tolist(), X2.ravel().tolist(), strict=True)]
    return [100 * sum(abs(a - b) <= p * abs(b) / 100 for a, b in pairs) / len(pairs) for p in percents]
