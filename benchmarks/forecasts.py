"""The five forecasts against statsforecast's SESOptimized: CPU time for 100,000 series of 50 points.

Run with `python benchmarks/forecasts.py [series] [points]`. Both sides are warmed up (compiled, imported) first; CPU
time of the whole process counts, all threads included, and the best of three rounds is taken. statsforecast is called
in its lightest documented way, `model.forecast(y, h)` series by series on plain arrays, without frames or processes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from tsveil.core.types import Array
from tsveil.measure.forecast import MODELS

TARGET = 1 / 5
ROUNDS = 3


def random_series(n: int, T: int) -> Array:
    """Random walks with a trend and a season, seeded."""
    rng = np.random.default_rng(20240101)
    t = np.arange(T)
    walk: Array = rng.normal(size=(n, T)).cumsum(axis=1)
    walk += 100 + rng.normal(size=(n, 1)) * t / T * 10
    walk += rng.normal(size=(n, 1)) * np.sin(2 * np.pi * t / 12)
    return walk


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least CPU time of a few rounds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def theirs(series: Array) -> Callable[[], object]:
    from statsforecast.models import SimpleExponentialSmoothingOptimized

    model = SimpleExponentialSmoothingOptimized()
    return lambda: [model.forecast(y=y, h=3)["mean"] for y in series]


def main(n: int = 100_000, T: int = 50) -> None:
    series = random_series(n, T)
    few = series[:100]
    theirs(few)()
    rows = []
    for name, model in MODELS.items():
        start = time.perf_counter()
        model(few)
        first = time.perf_counter() - start
        rows.append((name, cpu_seconds(lambda model=model: model(series)), first))  # type: ignore[misc]
    ours = cpu_seconds(lambda: [model(series) for model in MODELS.values()])
    other = cpu_seconds(theirs(series))

    print(f"{n:,} series of {T} points, forecasts of 3 values, CPU seconds (best of {ROUNDS})\n")
    print("| model | CPU s | first call s |")
    print("| --- | ---: | ---: |")
    for name, seconds, first in rows:
        print(f"| {name} | {seconds:.3f} | {first:.2f} |")
    print(f"| all five | {ours:.3f} | |")
    print(f"| statsforecast SESOptimized | {other:.3f} | |")
    verdict = "met" if ours <= TARGET * other else "MISSED"
    print(f"\nratio {ours / other:.3f}, target at most {TARGET:.3f}: {verdict}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
