"""Fitted exponential smoothing against statsforecast's SESOptimized, which also looks for the alpha of least one-step error; and the five forecasts. CPU time.

Run with `python benchmarks/forecasts.py [series] [points]`; 20,000 series of 50 points by default. Both sides are warmed up (compiled, imported) first and take turns; CPU
time of the whole process counts, all threads included, and the best round is taken. statsforecast is called
in its lightest documented way, `model.forecast(y, h)` series by series on plain arrays, without frames or processes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from tsveil.core.types import Array
from tsveil.measure.forecast import MODELS, SES

ROUNDS = 5


def random_series(n: int, T: int) -> Array:
    """Random walks with a trend and a season, seeded."""
    rng = np.random.default_rng(20240101)
    t = np.arange(T)
    walk: Array = rng.normal(size=(n, T)).cumsum(axis=1)
    walk += 100 + rng.normal(size=(n, 1)) * t / T * 10
    walk += rng.normal(size=(n, 1)) * np.sin(2 * np.pi * t / 12)
    return walk


def cpu_seconds(*works: Callable[[], object]) -> list[float]:
    """The least CPU time of each, which take turns."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for times, work in zip(taken, works, strict=True):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return [min(times) for times in taken]


def theirs(series: Array) -> Callable[[], object]:
    from statsforecast.models import SimpleExponentialSmoothingOptimized

    model = SimpleExponentialSmoothingOptimized()
    return lambda: [model.forecast(y=y, h=3)["mean"] for y in series]


def main(n: int = 20_000, T: int = 50) -> None:
    """Print the tables."""
    series = random_series(n, T)
    few, fitted = series[:100], SES(alpha="optimised")
    for warm in (theirs(few), *(lambda model=model: model(few) for model in (fitted, *MODELS.values()))):
        warm()
    ours, other = cpu_seconds(lambda: fitted(series), theirs(series))
    each = cpu_seconds(*(lambda model=model: model(series) for model in MODELS.values()))

    print(f"{n:,} series of {T} points, forecasts of 3 values, CPU seconds (best of {ROUNDS})\n")
    print("| model | CPU s | of statsforecast's time |")
    print("| --- | ---: | ---: |")
    print(f"| ses, alpha fitted | {ours:.3f} | {ours / other:.2f} |")
    print(f"| statsforecast SESOptimized | {other:.3f} | 1 |")
    for name, seconds in zip(MODELS, each, strict=True):
        print(f"| {name}, parameters given | {seconds:.4f} | |")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
