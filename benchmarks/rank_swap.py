"""Rank swapping: time for 100,000 records of 24 columns, and how it grows with the records.

Run with `python benchmarks/rank_swap.py [records] [columns]`. Kernels are compiled first; the best of three rounds counts,
in seconds on the clock and in CPU seconds of all threads. Growth is the CPU time for four times the records over that
for once: 16 would be quadratic, and sorting and larger arrays in slower memory make it a little more than 4.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

from tsveil.data.dataset import Block, Dataset
from tsveil.protect.base import Method
from tsveil.protect.noise import Noise
from tsveil.protect.rank_swap import RankSwap
from tsveil.protect.rank_swap_buckets import RankSwapBuckets
from tsveil.protect.rank_swap_distribution import RankSwapDistribution

#: seconds for RankSwap(p=5) of 100,000 x 24
TARGET = 2.0
ROUNDS = 3
METHODS: tuple[Method, ...] = (
    RankSwap(p=5),
    RankSwap(p=100),
    RankSwapDistribution(p=5),
    RankSwapDistribution(p=100),
    RankSwapBuckets(buckets=20),
    RankSwapBuckets(buckets=5000),
    Noise(sd=0.1),
    Noise(sd=0.1, correlated=True),
)


def random_data(n: int, columns: int) -> Dataset:
    """Skewed columns, seeded; half of them with many ties."""
    values = np.random.default_rng(1).gamma(2, 10, (n, columns))
    values[:, ::2] = np.floor(values[:, ::2])
    return Dataset(values=values, blocks=(Block("all", tuple(f"c{j}" for j in range(columns))),), others=pl.DataFrame())


def seconds(method: Method, data: Dataset) -> tuple[float, float]:
    """The least time on the clock and of the processor."""
    rounds = []
    for _ in range(ROUNDS):
        clock, cpu = time.perf_counter(), time.process_time()
        method.protect(data, seed=1)
        rounds.append((time.perf_counter() - clock, time.process_time() - cpu))
    return min(r[0] for r in rounds), min(r[1] for r in rounds)


def main(n: int = 100_000, columns: int = 24) -> None:
    once, four = random_data(n, columns), random_data(4 * n, columns)
    print(f"{n:,} records of {columns} columns, and four times as many; best of {ROUNDS}\n")
    print("| method | s | CPU s | s for 4n | CPU s for 4n | growth |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    verdict = ""
    for method in METHODS:
        method.protect(once.take(range(5000)), seed=1)
        (clock, cpu), (clock4, cpu4) = seconds(method, once), seconds(method, four)
        print(f"| {method} | {clock:.2f} | {cpu:.2f} | {clock4:.2f} | {cpu4:.2f} | {cpu4 / cpu:.1f} |")
        if method == METHODS[0]:
            verdict = f"{method}: {clock:.2f} s, target below {TARGET:g} s: {'met' if clock < TARGET else 'MISSED'}"
    print(f"\n{verdict}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
