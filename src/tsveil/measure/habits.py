r"""What a release still shows of appliances and habits: steps, and the daily routine.

An appliance that is switched on or off is a **step** of the series, and what repeats day by day is a habit [1]_. With x the original series of a
person, y the published one and z that of the next record (of the first for the last),

    step          |x_t - x_{t-1}| >= c,   c the threshold: the 0.95 quantile of all |x_t - x_{t-1}| > 0 of the file unless it is given
    steps         share of the original steps for which y has a step of the same direction at the same time
    routine       mean correlation of the average day of x with that of y: the mean at each time of day, less the mean of the day
    peak          share of persons whose average day is highest at the same time of day in x and y (the first, if there are several)

each in percent, and the same with z in the place of y: what anybody's series would show. Only the difference says something of the person. A series that is constant
within the day has no routine and is left out; without two whole days there is none at all.

References
----------
.. [1] S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, Pattern-sensitive time-series anonymization and its application to
   energy-consumption data, Open Journal of Information Systems 1 (2014) 3-22, section 2.2.

Examples
--------
>>> x = np.array([[0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 5.0, 0.0]])
>>> found = habits_left(x, x, threshold=2.0)
>>> found.steps, found.steps_of_another, found.threshold
(100.0, 0.0, 2.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tsveil.core.errors import InputError
from tsveil.core.types import Array, ArrayLike, Indices
from tsveil.transform.features import DAY

#: the share of steps that are below the threshold
QUANTILE = 0.95


class Habits(NamedTuple):
    """How much is left, in percent; NaN where there is nothing to compare."""

    threshold: float
    #: the number of original steps
    changes: int
    steps: float
    steps_of_another: float
    routine: float
    routine_of_another: float
    peak: float
    peak_of_another: float


def habits_left(
    X: ArrayLike, Y: ArrayLike, seconds: Sequence[float] | Array | None = None, *, threshold: float | None = None
) -> Habits:
    """Compare the published series `Y` with the original ones `X`, row by row; `seconds` are their times, without which there is no routine."""
    x, y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2 or not x.size:
        raise InputError(f"the original series have the shape {x.shape}, the published ones {y.shape}: both must agree")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("habits are not defined for missing or infinite values\n  options: drop or fill these records")
    another = np.roll(y, -1, axis=0)
    moves = np.diff(x, axis=1)
    limit = _threshold(moves) if threshold is None else float(threshold)
    if not limit > 0:
        raise InputError(f"the threshold of a step must be above 0. Got {limit:g}.")
    steps = np.where(np.abs(moves) >= limit, np.sign(moves), 0.0)
    own, other = (_steps_shown(steps, published, limit) for published in (y, another))
    days = None if seconds is None else _times_of_day(np.asarray(seconds, dtype=np.float64))
    routines = [
        _routine(x, published, days) if days is not None else (math.nan, math.nan) for published in (y, another)
    ]
    (routine, peak), (others_routine, others_peak) = routines
    return Habits(limit, int(np.count_nonzero(steps)), own, other, routine, others_routine, peak, others_peak)


def _threshold(moves: Array) -> float:
    """That of the file; above everything if nothing moves."""
    sizes = np.abs(moves[moves != 0])
    return float(np.quantile(sizes, QUANTILE, method="higher")) if sizes.size else math.inf


def _steps_shown(steps: Array, published: Array, limit: float) -> float:
    moves = np.diff(published, axis=1)
    shown = (steps != 0) & (np.abs(moves) >= limit) & (np.sign(moves) == steps)
    return _percent(int(np.count_nonzero(shown)), int(np.count_nonzero(steps)))


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else math.nan


def _times_of_day(seconds: Array) -> Indices | None:
    """The number of the time of day of each point; None without two whole days, or with one point a day."""
    if len(seconds) < 2:
        return None
    step = float(np.diff(seconds).min())
    if seconds[-1] - seconds[0] + step < 2 * DAY or step > DAY / 2:
        return None
    _, number = np.unique(np.floor(seconds % DAY / step + 1e-6), return_inverse=True)
    return number.astype(np.int64)


def _routine(x: Array, published: Array, days: Indices) -> tuple[float, float]:
    """The mean correlation of average days, and the share whose peak stands at the same time."""
    before, after = _average_day(x, days), _average_day(published, days)
    lengths = [np.sqrt((day**2).sum(axis=1)) for day in (before, after)]
    there = lengths[0] > 0
    if not there.any():
        return math.nan, math.nan
    product = (before * after).sum(axis=1)
    correlation = np.divide(product, lengths[0] * lengths[1], out=np.zeros(len(x)), where=there & (lengths[1] > 0))
    # A published day without any course has no peak.
    same = there & (lengths[1] > 0) & (before.argmax(axis=1) == after.argmax(axis=1))
    return 100 * math.fsum(correlation[there].tolist()) / int(there.sum()), _percent(int(same.sum()), int(there.sum()))


def _average_day(x: Array, days: Indices) -> Array:
    """The mean at each time of day, less the mean of these; what is left of a constant by rounding is zero."""
    sums = np.stack([x[:, days == number].mean(axis=1) for number in range(int(days.max()) + 1)], axis=1)
    centred: Array = sums - sums.mean(axis=1, keepdims=True)
    centred[np.abs(centred) <= 1e-12 * np.abs(sums).max(axis=1, keepdims=True)] = 0.0
    return centred
