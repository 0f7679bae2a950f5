"""Linkage by profile, slow and obvious: features with plain loops, and every pair compared."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from itertools import pairwise

LEVELS = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98]


def on_log_scale(x: float) -> float:
    return math.copysign(math.log(1 + abs(x)) if abs(x) > 1e-8 else abs(x) - x * x / 2, x)


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    if len(set(values)) == 1:
        return values[0], 0.0
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def quantiles(values: Sequence[float], levels: Sequence[float] = LEVELS) -> list[float]:
    ordered, found = sorted(values), []
    for level in levels:
        place = level * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (ordered[above] - ordered[below]) * (place - below))
    return found


def by_bin(y: Sequence[float], bins: Sequence[int], shared: Sequence[int]) -> list[float]:
    each = [mean_and_deviation([value for value, own in zip(y, bins, strict=True) if own == one]) for one in shared]
    return [mean for mean, _ in each] + [deviation for _, deviation in each]


def shared_bins(one: Sequence[int], other: Sequence[int]) -> list[int]:
    found = sorted(set(one) & set(other))
    return found if len(found) > 1 else []


def features(x: Sequence[float], seconds: Sequence[float], others: Sequence[float]) -> list[float]:
    """Those of one series with these times, where the other period has those: time stamps in steps of an hour, in whole days and more."""
    y = [on_log_scale(value) for value in x]
    hours, their_hours = ([int(t % 86400 // 3600) for t in times] for times in (seconds, others))
    days, their_days = ([int(t // 86400 % 7) for t in times] for times in (seconds, others))
    found = by_bin(y, hours, shared_bins(hours, their_hours)) + by_bin(y, days, shared_bins(days, their_days))
    found += quantiles(y) + quantiles([later - earlier for earlier, later in pairwise(y)])
    by_day: dict[int, list[tuple[float, float]]] = {}
    for t, value in zip(seconds, y, strict=True):
        by_day.setdefault(int(t // 86400), []).append((t, value))
    most = max(map(len, by_day.values()))
    full = [day for day in by_day.values() if len(day) == most]
    for harmonic in range(1, 13):
        sizes = [
            abs(sum(value * cmath.exp(-2j * math.pi * harmonic * t / 86400) for t, value in day)) / len(day)
            for day in full
        ]
        found.append(sum(sizes) / len(sizes))
    return found


def sizes(x: Sequence[float], seconds: Sequence[float], others: Sequence[float]) -> list[float]:
    """Quantiles in each hour that both periods have, at 7 levels, then of all values at 42."""
    y = [on_log_scale(value) for value in x]
    hours, their_hours = ([int(t % 86400 // 3600) for t in times] for times in (seconds, others))
    found = []
    for hour in shared_bins(hours, their_hours):
        own = [value for value, when in zip(y, hours, strict=True) if when == hour]
        found += quantiles(own, [(i + 0.5) / 7 for i in range(7)])
    return found + quantiles(y, [(i + 0.5) / 42 for i in range(42)])


def links(known: Sequence[Sequence[float]], shown: Sequence[Sequence[float]]) -> list[list[int]]:
    """The nearest published rows of each known one, from their features."""
    columns = list(zip(*shown, strict=True))
    largest = max(abs(value) for column in columns for value in column)
    factors = []
    for column in columns:
        mean = math.fsum(column) / len(column)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in column) / (len(column) - 1)) if len(column) > 1 else 0
        factors.append(1 / deviation if deviation > 1e-9 * largest else 0.0)
    found = []
    for a in known:
        distances = [sum(f * abs(p - q) for f, p, q in zip(factors, a, b, strict=True)) for b in shown]
        least = min(distances)
        found.append([row for row, distance in enumerate(distances) if distance <= least * (1 + 1e-9) + 1e-12])
    return found
