"""Linkage by profile of generated load curves, one week published and another one known: time, and who is found.

    python benchmarks/habits.py [RECORDS]

Each household has a level, a daily pattern and a weekend of its own, with noise on top; the release is the first week as it is, so that all published rows are distinct.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import tsveil as tv
from tsveil.core.types import Array

HOURS = 168


def households(n: int) -> Array:
    """Two weeks of hours for each."""
    rng = np.random.default_rng(1)
    hours = np.arange(2 * HOURS)
    level = rng.lognormal(0.0, 0.6, (n, 1))
    shape = np.exp(0.6 * rng.normal(size=(n, 24)))[:, hours % 24]
    weekend = np.where(hours // 24 % 7 >= 5, rng.lognormal(0.0, 0.3, (n, 1)), 1.0)
    return level * shape * weekend * rng.gamma(2.0, 0.5, (n, 2 * HOURS))


def week(values: Array, first: int) -> tv.Dataset:
    """One week as a data set."""
    stamps = np.datetime64("2018-10-29T00") + np.arange(first, first + HOURS)
    return tv.Dataset.from_arrays({"load": values[:, first : first + HOURS]}, times=[str(stamp) for stamp in stamps])


def main() -> None:
    """Print a table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    small = households(100)
    for attack in (tv.attack.profile, tv.attack.profile_learned):
        attack(week(small, 0), week(small, 0), other=week(small, HOURS))  # compiles
    values = households(n)
    published, known = week(values, 0), week(values, HOURS)
    print("| attack | records | wall s | CPU s | found % |\n| --- | ---: | ---: | ---: | ---: |")
    for name in ("profile", "profile_learned"):
        wall, cpu = time.perf_counter(), time.process_time()
        found = getattr(tv.attack, name)(published, published, other=known)
        print(
            f"| {name} | {n} | {time.perf_counter() - wall:.1f} | {time.process_time() - cpu:.1f} | {found.rate:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
