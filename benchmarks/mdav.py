"""Exact MDAV against an explicit-vector loop in C++ on one thread (peers/mdav.cpp), in the same run.

Run with `python benchmarks/mdav.py [sizes]`, for example `python benchmarks/mdav.py 10000 50000 100000`. The loop computes every distance:
one pass for the neighbours of x_r and for x_s, a running sum, removed records overwritten by the last. Both must give the same groups, or the run
ends with an error. Small data are timed alternately, the best of several runs counts; large data once. The naive version, one vectorised
pass per step, is timed on 5,000 records. Compiled code is warmed up first. Memory is the largest resident size of the process so far, less its
size before the first call.

Data: N(0,1) values; random walks; levelled walks (a level from N(0,10) per record plus a walk with N(0,.3) steps); and, where ../shared/data has
smart_meter.csv, the first week of load curves drawn with replacement times lognormal(0,.1) noise (168 columns, half the records).

Targets: up to 10,000 records at most 1.5 times the CPU time of the loop.
"""

from __future__ import annotations

import ctypes
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import peers
from tsveil.core.types import Array, Indices
from tsveil.engine.local import cores
from tsveil.protect._mdav_exact import exact_groups

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import naive

#: records, columns, k
SMALL = ((200, 12, 3), (526, 336, 5), (2_000, 24, 5), (2_000, 336, 5), (5_000, 24, 3), (5_000, 168, 10), (10_000, 12, 5), (10_000, 168, 10))  # fmt: skip
K = 10
METERS = Path(__file__).resolve().parents[2] / "shared" / "data" / "smart_meter.csv"


def normal(n: int, rng: np.random.Generator, columns: int = 24) -> Array:
    return rng.normal(size=(n, columns))


def walks(n: int, rng: np.random.Generator, columns: int = 24) -> Array:
    return rng.normal(size=(n, columns)).cumsum(axis=1)


def levelled(n: int, rng: np.random.Generator) -> Array:
    return np.asarray(rng.normal(0, 10, (n, 1)) + rng.normal(0, 0.3, (n, 24)).cumsum(axis=1))


def load_curves(n: int, rng: np.random.Generator) -> Array:
    week = pl.read_csv(METERS)[:, 1:169].to_numpy()
    return np.asarray(week[rng.integers(0, len(week), n // 2)] * rng.lognormal(0, 0.1, (n // 2, 168)))


def time_of(work: Callable[[], Indices]) -> tuple[Indices, float, float]:
    """What the work gives, its wall time and its CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def loss(Z: Array, groups: Indices) -> float:
    """100 SSE/SST on standardised columns."""
    z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    sizes = np.bincount(groups)
    means = np.array([np.bincount(groups, weights=column) / sizes for column in z.T]).T
    return float(100 * np.sum((z - means[groups]) ** 2) / np.sum(z**2))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def small(library: ctypes.CDLL) -> None:
    print(f"{'data':12}{'shape':>14}{'k':>4}{'CPU ms':>9}{'loop ms':>9}{'of the loop':>13}")
    for n, columns, k in SMALL:
        for kind in (normal, walks):
            Z = kind(n, np.random.default_rng(20240101), columns)
            times: list[tuple[float, float]] = []
            while len(times) < 3 or (len(times) < 40 and sum(map(sum, times)) < 1.0):
                groups, _, cpu = time_of(lambda Z=Z, k=k: exact_groups(Z, k))  # type: ignore[misc]
                plain, _, plain_cpu = time_of(lambda Z=Z, k=k: peers.mdav(library, Z, k))  # type: ignore[misc]
                check(groups, plain, f"{kind.__name__}, {n} records")
                times.append((cpu, plain_cpu))
            mine, loop = (1000 * min(column) for column in zip(*times, strict=True))
            print(
                f"{kind.__name__:12}{n:>9,}x{columns:<4}{k:4}{mine:9.2f}{loop:9.2f}{mine / loop:13.2f}",
                flush=True,
            )


def large(library: ctypes.CDLL | None, sizes: list[int]) -> None:
    before = peak_mb()
    print(
        f"{'data':12}{'shape':>14}{'wall':>8}{'CPU':>8}{'loop':>8}{'ratio':>7}{'CPU ratio':>10}{'SSE/SST':>9}{'MB':>6}"
    )
    for n in sizes:
        for kind in [normal, walks, levelled] + ([load_curves] if METERS.exists() else []):
            Z = kind(n, np.random.default_rng(20240101))
            groups, wall, cpu = time_of(lambda Z=Z: exact_groups(Z, K))  # type: ignore[misc]
            used = peak_mb() - before
            plain_wall = plain_cpu = float("nan")
            if library is not None:
                plain, plain_wall, plain_cpu = time_of(lambda Z=Z: peers.mdav(library, Z, K))  # type: ignore[misc]
                check(groups, plain, f"{kind.__name__}, {n} records")
            print(
                f"{kind.__name__:12}{len(Z):>9,}x{Z.shape[1]:<4}{wall:8.2f}{cpu:8.2f}{plain_wall:8.2f}{plain_wall / wall:7.1f}"
                f"{plain_cpu / cpu:10.1f}{loss(Z, groups):9.4f}{used:6.0f}",
                flush=True,
            )


def check(groups: Indices, others: Indices, where: str) -> None:
    if not np.array_equal(groups, others):
        raise SystemExit(f"the groups differ: {where}")


def main(sizes: list[int]) -> None:
    library = peers.build("mdav")
    exact_groups(normal(3000, np.random.default_rng(0)), K, few=0)
    if library is not None:
        print("exact MDAV, small data, all in CPU time")
        small(library)
    print(f"\nexact MDAV, k={K}, {cores()} cores; times in seconds")
    large(library, sizes)
    Z = normal(5000, np.random.default_rng(20240101))
    groups, wall, _ = time_of(lambda: exact_groups(Z, K))
    slow, slow_wall, _ = time_of(lambda: naive.mdav(Z, K))
    check(groups, slow, "the naive version")
    print(f"naive, normal, 5,000 x 24: {slow_wall:.2f} s, {slow_wall / wall:.0f} times as long as exact ({wall:.3f} s)")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10_000, 50_000, 100_000])
