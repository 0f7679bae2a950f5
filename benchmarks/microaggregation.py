"""Microaggregation of microdata: CPU time of whole `protect` calls, against their targets.

Run with `python benchmarks/microaggregation.py [values] [records]`. Compiled code is warmed up first; CPU time of the whole process
counts, all threads included, and the best of three rounds is taken. The release is made from a ready data set: reading and writing do
not count, checking the result does (`verify` is timed by itself).

Targets: optimal univariate microaggregation of 1,000,000 values with k=10 within 3 times one `numpy.sort` of them plus 0.5 s; projected
microaggregation of 100,000 records by 12 attributes in under 2 s.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import tsveil as tv
from tsveil.core.types import Array
from tsveil.protect.base import Method
from tsveil.protect.mic1d import Mic1D
from tsveil.protect.projected import Projected
from tsveil.protect.univariate import OptimalUnivariate
from tsveil.transform.projection import Projection

ROUNDS = 3
PROJECTIONS: tuple[Projection, ...] = ("pcp", "zscores", "sugeno", "owa", "choquet", "twofold")


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least CPU time of a few rounds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def attributes(values: Array) -> tv.Dataset:
    """One block of attributes."""
    others = tv.Dataset.from_arrays({"x": values[:1]}).others
    return tv.Dataset(
        values=values, blocks=(tv.Block("all", tuple(f"a{j}" for j in range(values.shape[1]))),), others=others
    )


def main(values: int = 1_000_000, records: int = 100_000) -> None:
    rng = np.random.default_rng(20240101)
    column = rng.lognormal(10, 1, values)
    table = rng.lognormal(3, 1, (records, 3)) @ rng.random((3, 12)) + rng.lognormal(0, 1, (records, 12))
    one, many = attributes(column[:, None]), attributes(table)

    runs: list[tuple[str, Method, tv.Dataset, float]] = []
    sort = cpu_seconds(lambda: np.sort(column))
    runs.append((f"optimal univariate, {values:,} values, k=10", OptimalUnivariate(k=10), one, 3 * sort + 0.5))
    runs.append((f"optimal univariate, {values:,} values, k=50", OptimalUnivariate(k=50), one, np.inf))
    for grouping in ("optimal", "fixed"):
        runs += [
            (
                f"projected {name}, {grouping}, {records:,} x 12, k=10",
                Projected(k=10, projection=name, grouping=grouping),
                many,
                2.0,
            )
            for name in PROJECTIONS
        ]
    runs.append((f"mic1d, {records:,} x 12, kappa=5000", Mic1D(kappa=5000), many, np.inf))

    print(f"CPU seconds, best of {ROUNDS}; numpy.sort of {values:,} values takes {sort:.3f}\n")
    print("| what | protect | verify | target for protect | |")
    print("| --- | ---: | ---: | ---: | --- |")
    for what, method, data, target in runs:
        method.protect(data.take(np.arange(7000)))
        release = method.protect(data)
        seconds = cpu_seconds(lambda method=method, data=data: method.protect(data))  # type: ignore[misc]
        check = cpu_seconds(release.verify)
        verdict = "" if target == np.inf else ("met" if seconds <= target else "MISSED")
        print(f"| {what} | {seconds:.3f} | {check:.3f} | {'' if target == np.inf else f'{target:.3f}'} | {verdict} |")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
