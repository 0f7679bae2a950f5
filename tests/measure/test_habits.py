"""Steps and daily routines that a release still shows, against a slow version with loops."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tsveil as tv
from tsveil.core.errors import InputError
from tsveil.measure.habits import Habits, habits_left
from tsveil.measure.nlk import alone_by_windows

HOUR = 3600.0


def hours(points: int, step: int = 1) -> list[float]:
    """Times in seconds."""
    return [HOUR * step * at for at in range(points)]


def slow(x: list[list[float]], y: list[list[float]], hours: list[float], threshold: float) -> Habits:
    """The definition, cell by cell."""
    n, T = len(x), len(x[0])
    of_another = [y[(i + 1) % n] for i in range(n)]

    def steps(of: list[list[float]]) -> tuple[int, int]:
        count = shown = 0
        for i in range(n):
            for t in range(1, T):
                move, seen = x[i][t] - x[i][t - 1], of[i][t] - of[i][t - 1]
                if abs(move) >= threshold:
                    count += 1
                    shown += abs(seen) >= threshold and (seen > 0) == (move > 0)
        return count, shown

    def day(row: list[float]) -> list[float]:
        times = sorted({hour % 24 for hour in hours})
        means = [np.mean([v for v, hour in zip(row, hours, strict=True) if hour % 24 == time]) for time in times]
        return [float(mean - np.mean(means)) for mean in means]

    def routine(of: list[list[float]]) -> tuple[float, float]:
        found, peaks = [], []
        for i in range(n):
            a, b = day(x[i]), day(of[i])
            if max(map(abs, a)) <= 1e-9:
                continue
            flat = max(map(abs, b)) <= 1e-9
            found.append(0.0 if flat else float(np.corrcoef(a, b)[0, 1]))
            peaks.append(not flat and a.index(max(a)) == b.index(max(b)))
        return (100 * float(np.mean(found)), 100 * float(np.mean(peaks))) if found else (math.nan, math.nan)

    (count, own), (_, other) = steps(y), steps(of_another)
    shares = [100 * part / count if count else math.nan for part in (own, other)]
    days = hours[-1] - hours[0] + hours[1] - hours[0] >= 48
    (r, p), (r2, p2) = (routine(y), routine(of_another)) if days else ((math.nan, math.nan), (math.nan, math.nan))
    return Habits(threshold, count, shares[0], shares[1], r, r2, p, p2)


#: eighths: their sums and differences are exact, and a peak is the highest value beyond doubt
values = st.integers(-8, 8).map(lambda v: v / 8)
tables = st.tuples(st.integers(1, 5), st.sampled_from([4, 8, 12, 16])).flatmap(
    lambda shape: st.tuples(arrays(np.float64, shape, elements=values), arrays(np.float64, shape, elements=values))
)


@given(tables, st.sampled_from([0.125, 0.5, 1.0, 3.0]))
def test_habits_equal_the_slow_version(pair: tuple[np.ndarray, np.ndarray], threshold: float) -> None:
    x, y = pair
    found = habits_left(x, y, hours(x.shape[1], 6), threshold=threshold)
    clock = [6.0 * t for t in range(x.shape[1])]
    assert found == pytest.approx(slow(x.tolist(), y.tolist(), clock, threshold), nan_ok=True)


def test_the_threshold_of_a_file_leaves_one_step_in_twenty() -> None:
    x = np.random.default_rng(1).normal(size=(50, 41)).cumsum(axis=1)
    found = habits_left(x, x)
    assert found.changes == pytest.approx(0.05 * 50 * 40, abs=1)
    assert (found.steps, found.steps_of_another < 20) == (100.0, True)
    assert math.isnan(found.routine)


def test_constants_have_no_steps_and_no_routine() -> None:
    x = np.full((3, 48), 7.1)
    found = habits_left(x, x + 1, hours(48))
    assert found.changes == 0
    assert all(math.isnan(value) for value in found[2:])


@pytest.mark.parametrize(("points", "step", "there"), [(48, 1, True), (47, 1, False), (4, 12, True), (30, 24, False)])
def test_a_routine_needs_two_whole_days_and_more_than_one_point_a_day(points: int, step: int, there: bool) -> None:
    x = np.random.default_rng(2).normal(size=(5, points))
    found = habits_left(x, x, hours(points, step))
    assert math.isnan(found.routine) != there
    if there:
        assert found.routine == pytest.approx(100)
        assert found.peak == 100


@pytest.mark.parametrize("threshold", [0.0, -1.0, math.nan])
def test_a_threshold_is_above_zero(threshold: float) -> None:
    with pytest.raises(InputError, match="must be above 0"):
        habits_left([[1.0, 2.0]], [[1.0, 2.0]], threshold=threshold)


def test_gaps_and_other_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="missing or infinite"):
        habits_left([[1.0, math.nan]], [[1.0, 2.0]])
    with pytest.raises(InputError, match="both must agree"):
        habits_left([[1.0, 2.0]], [[1.0, 2.0, 3.0]])


def test_swapped_households_show_no_habits_of_their_own() -> None:
    x = np.random.default_rng(3).normal(size=(200, 72))
    found = habits_left(x, np.roll(x, 7, axis=0), hours(72))
    assert found.steps == pytest.approx(found.steps_of_another, abs=3)
    assert found.peak == pytest.approx(found.peak_of_another, abs=6)


# -- windows ----------------------------------------------------------------------------------------------------------


def slow_windows(y: list[list[float]], length: int) -> float:
    n, T = len(y), len(y[0])
    alone = 0
    for start in range(T - length + 1):
        seen = [tuple(row[start : start + length]) for row in y]
        alone += sum(seen.count(own) == 1 for own in seen)
    return 100 * alone / (n * (T - length + 1))


@given(arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 2).map(float)))
def test_windows_equal_the_slow_version(y: np.ndarray) -> None:
    found = alone_by_windows(y, (1, 2, 3, 6, 12))
    lengths = [length for length in (1, 2, 3, 6, 12) if length <= y.shape[1]]
    assert list(found) == lengths
    assert found == pytest.approx({length: slow_windows(y.tolist(), length) for length in lengths})


def test_zero_and_minus_zero_are_one_value() -> None:
    assert alone_by_windows([[0.0], [-0.0]], (1,)) == {1: 0.0}


def test_windows_of_the_smart_meters(shared_data: Path) -> None:
    """SPEC-2, section 17: (7,10,10) on the 526 households leaves 1.1, 66.3 and 92.0 % alone by 1, 2 and 3 consecutive points.

    Which series share a cluster depends on the heuristic, so our figures differ a little from these.
    """
    data = tv.read(shared_data / "smart_meter.csv")
    release = tv.NLK(n=7, l=10, k=10).protect(data, seed=1)
    found = alone_by_windows(release.data.values, (1, 2, 3))
    assert [round(share, 1) for share in found.values()] == pytest.approx([1.1, 66.3, 92.0], abs=1)
