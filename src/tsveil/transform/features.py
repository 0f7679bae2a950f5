"""Fixed features of a series, by which a person is known again at other times.

All are taken of y = sign(x) log(1 + |x|): consumption, prices and counts spread over orders of magnitude, and values below zero have their place.

    hours       mean and deviation of y in each hour of the day
    weekdays    mean and deviation of y on each weekday
    quantiles   of y, at 13 levels, by linear interpolation
    steps       the same quantiles of the differences of successive values
    Fourier     magnitudes of the first 12 harmonics of a day, |sum_t y(t) exp(-2 pi i h t / day)| / (number of t), on average over the days

Beside these there are **sizes**: quantiles of y in each hour of the day, at 7 levels, and of all y at 42. They say what a day's hours look like whatever happened on which day, are many,
and are of use to who has learned which of them stay.

Two periods have a feature in common, or neither has it. An hour or a weekday counts if it occurs in both periods, and if at least two do. Harmonics are those that the
times can show (two times for each), of the day where it has four times or more, else of the week; a day or a week that lacks times is left out of them. Where times are no
time stamps, nothing is known of hours and weekdays, and the windows of the Fourier transform are 24 successive values each, or as many as the shorter series has.

Examples
--------
>>> import numpy as np
>>> hours = 3600.0 * np.arange(48)
>>> first, second = common(Times(24, hours[:24]), Times(24, hours[24:]))
>>> x = np.sin(np.arange(48) / 24 * 2 * np.pi)[None]
>>> bool(np.allclose(first.features(x[:, :24]), second.features(x[:, 24:])))
True
>>> first.features(x[:, :24]).shape[1] == 2 * 24 + 13 + 13 + 12
True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tsveil.core import progress
from tsveil.core.types import Array, Indices
from tsveil.engine.local import map_chunks
from tsveil.transform.ordered import sums

DAY, WEEK = 86400.0, 7 * 86400.0
#: the levels of quantiles
LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98])
#: how many quantiles there are of each hour, and of all times, among the sizes
BY_HOUR, OF_ALL = 7, 42
#: harmonics, the fewest times of a window that is worth its transform, and the width of windows without time stamps
HARMONICS, FEWEST, WINDOW = 12, 4, 24
#: values of a piece of work, which stay in the cache; and its fewest records, because a few at a time take as long as many
CHUNK, LEAST = 2**16, 32


class Times(NamedTuple):
    """The times of a series: how many, and in seconds from a Monday's midnight where they are time stamps."""

    points: int
    seconds: Array | None

    @property
    def step(self) -> float:
        """The smallest time between two values, in seconds; infinite where there is none."""
        return float(np.diff(self.seconds).min()) if self.seconds is not None and self.points > 1 else np.inf


@dataclass(frozen=True, eq=False)
class Profile:
    """Which features a series has, and how they are taken of its times."""

    #: of each time: the number of its hour, weekday and window, or -1; and how many of them there are
    hour: Indices
    hours: int
    weekday: Indices
    weekdays: int
    window: Indices
    windows: int
    #: of each time its share of the window that has passed, and the number of harmonics
    phase: Array
    harmonics: int
    #: whether there are steps
    steps: bool

    @cached_property
    def waves(self) -> tuple[Array, Array]:
        """Cosines and sines of all harmonics at all times."""
        angles = 2 * np.pi * np.arange(1, self.harmonics + 1)[:, None] * self.phase
        return np.cos(angles), -np.sin(angles)

    @property
    def width(self) -> int:
        """The number of features."""
        return 2 * self.hours + 2 * self.weekdays + len(LEVELS) * (1 + self.steps) + self.harmonics

    def features(self, x: Array) -> Array:
        """A row of features for each record."""
        x = np.ascontiguousarray(x)
        out = np.empty((len(x), self.width))

        def describe(low: int, high: int) -> None:
            y = _logs(x[low:high])
            by_time = np.ascontiguousarray(y.T)
            found = [*_of_bins(by_time, self.hour, self.hours), *_of_bins(by_time, self.weekday, self.weekdays)]
            found.append(_quantiles(y, LEVELS).T)
            if self.steps:
                found.append(_quantiles(np.diff(y, axis=1), LEVELS).T)
            found += self._magnitudes(by_time)
            out[low:high] = np.concatenate(found).T
            counter[0] += high - low

        with progress.step("Describing series", total=len(x)) as counter:
            map_chunks(describe, len(x), max(LEAST, CHUNK // x.shape[1]))
        return out

    def _magnitudes(self, by_time: Array) -> Iterator[Array]:
        """The magnitude of each harmonic, on average over the windows; windows have equally many times."""
        of_windows = np.argsort(self.window, kind="stable")[(self.window < 0).sum() :].reshape(self.windows, -1)
        y = by_time[of_windows]
        for waves in zip(*self.waves, strict=True):
            real, imaginary = (sums(y * wave[of_windows][..., None]) for wave in waves)
            yield sums(np.hypot(real, imaginary) / of_windows.shape[1])[None] / self.windows

    def sizes(self, x: Array) -> Array:
        """A row of sizes for each record: quantiles in each hour, then of all times."""
        x = np.ascontiguousarray(x)
        out = np.empty((len(x), BY_HOUR * self.hours + OF_ALL))
        by_hour, of_all = ((np.arange(count) + 0.5) / count for count in (BY_HOUR, OF_ALL))

        def describe(low: int, high: int) -> None:
            y = _logs(x[low:high])
            for hour in range(self.hours):
                own = out[low:high, BY_HOUR * hour : BY_HOUR * (hour + 1)]
                own[:] = _quantiles(y[:, self.hour == hour], by_hour)
            out[low:high, BY_HOUR * self.hours :] = _quantiles(y, of_all)

        map_chunks(describe, len(x), max(LEAST, CHUNK // x.shape[1]))
        return out


def _logs(x: Array) -> Array:
    """sign(x) log(1 + |x|)."""
    from tsveil._kernels.features import put_logs

    y = np.empty_like(x)
    put_logs(x, y)
    return y


def _of_bins(by_time: Array, bins: Indices, count: int) -> tuple[Array, Array]:
    """The mean of each bin, then the deviation of each; values that are all equal have the deviation 0, whatever rounding says."""
    means, deviations = np.empty((2, count, by_time.shape[1]))
    for b in range(count):
        own = by_time[bins == b]
        low = own.min(axis=0)
        means[b] = np.where(low == own.max(axis=0), low, sums(own) / len(own))
        deviations[b] = np.sqrt(sums((own - means[b]) ** 2) / len(own))
    return means, deviations


def _quantiles(y: Array, levels: Array) -> Array:
    """Quantiles of each row, by linear interpolation."""
    ordered = np.sort(y, axis=1)
    place = levels * (y.shape[1] - 1)
    below = place.astype(np.int64)
    above = np.minimum(below + 1, y.shape[1] - 1)
    low = ordered[:, below]
    found: Array = low + (ordered[:, above] - low) * (place - below)
    return found


def common(one: Times, other: Times) -> tuple[Profile, Profile]:
    """The features that two periods have in common, for each of them."""
    both = (one, other)
    if one.seconds is None or other.seconds is None:
        nowhere = [(np.full(each.points, -1), 0) for each in both]
        hours = weekdays = nowhere
        length = min(WINDOW, one.points, other.points)
        phases = [np.arange(each.points) / length for each in both]
        harmonics = length // 2 if length >= FEWEST else 0
    else:
        seconds = (one.seconds, other.seconds)
        hours = _bins(*(each % DAY // 3600 for each in seconds))
        weekdays = _bins(*(each % WEEK // DAY for each in seconds))
        step = max(each.step for each in both)
        period = DAY if step * FEWEST <= DAY else WEEK
        phases = [each / period for each in seconds]
        harmonics = int(period / step / 2) if step * FEWEST <= period else 0
    harmonics = min(harmonics, HARMONICS)
    steps = one.points > 1 and other.points > 1
    first, second = (
        Profile(*hour, *weekday, *_windows(phase), phase % 1.0, harmonics, steps)
        for hour, weekday, phase in zip(hours, weekdays, phases, strict=True)
    )
    return first, second


def _bins(*both: Array) -> list[tuple[Indices, int]]:
    """The numbers of the bins that occur in both, and how many there are; none, if it is a single one."""
    shared = np.intersect1d(both[0], both[1])
    if len(shared) < 2:
        shared = shared[:0]
    found = []
    for each in both:
        number = np.searchsorted(shared, each)
        found.append((np.where(np.isin(each, shared), number, -1).astype(np.int64), len(shared)))
    return found


def _windows(phase: Array) -> tuple[Indices, int]:
    """The number of each time's window, -1 in windows that have fewer times than the fullest; and how many are left."""
    _, window, sizes = np.unique(np.floor(phase), return_inverse=True, return_counts=True)
    full = sizes == sizes.max()
    number = np.where(full, np.cumsum(full) - 1, -1)
    return number[window].astype(np.int64), int(full.sum())
