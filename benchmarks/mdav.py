"""Exact MDAV: wall and CPU time against the fused loop and the naive version, in the same run.

Run with `python benchmarks/mdav.py [sizes]`, for example `python benchmarks/mdav.py 10000 50000 100000`. k is 10. The fused loop (one
pass for x_r's neighbours and x_s, running sum, removed rows overwritten by the last) runs on one thread; the groups of both must be the
same, or the run ends with an error. The naive version, one vectorised pass per step, is timed on 5,000 records. Compiled code is warmed
up first. Memory is the largest resident size of the process so far, less its size before the first call.

Data: N(0,1) values; random walks; levelled walks (a level from N(0,10) per record plus a walk with N(0,.3) steps), all with 24 columns;
and, where ../shared/data has smart_meter.csv, the first week of load curves drawn with replacement times lognormal(0,.1) noise
(168 columns, half the records).

Targets at 100,000 records, in wall time against the fused loop: normal 2.5, walks 4, levelled walks 10, load curves 5 times.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from tsveil._kernels.mdav import fused_groups
from tsveil.core.types import Array, Indices
from tsveil.engine.local import cores
from tsveil.protect._mdav_exact import exact_groups, running_sum

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import naive

K = 10


def normal(n: int, rng: np.random.Generator) -> Array:
    return rng.normal(size=(n, 24))


def walks(n: int, rng: np.random.Generator) -> Array:
    return rng.normal(size=(n, 24)).cumsum(axis=1)


METERS = Path(__file__).resolve().parents[2] / "shared" / "data" / "smart_meter.csv"


def levelled(n: int, rng: np.random.Generator) -> Array:
    return np.asarray(rng.normal(0, 10, (n, 1)) + rng.normal(0, 0.3, (n, 24)).cumsum(axis=1))


def load_curves(n: int, rng: np.random.Generator) -> Array:
    week = pl.read_csv(METERS)[:, 1:169].to_numpy()
    return np.asarray(week[rng.integers(0, len(week), n // 2)] * rng.lognormal(0, 0.1, (n // 2, 168)))


def fused(Z: Array) -> Indices:
    labels = np.full(len(Z), -1, dtype=np.int64)
    fused_groups(Z, K, False, np.arange(len(Z)), running_sum(Z), 0, labels, np.zeros(1, dtype=np.int64))
    return labels


def timed(work: Callable[[], Indices]) -> tuple[Indices, float, float]:
    """What the work gives, its wall time and its CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def lost(Z: Array, groups: Indices) -> float:
    """100 SSE/SST on standardised columns."""
    z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    sizes = np.bincount(groups)
    means = np.array([np.bincount(groups, weights=column) / sizes for column in z.T]).T
    return float(100 * np.sum((z - means[groups]) ** 2) / np.sum(z**2))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(sizes: list[int]) -> None:
    warm = normal(3000, np.random.default_rng(0))
    exact_groups(warm, K, few=0)
    before = peak_mb()
    kinds = [normal, walks, levelled] + ([load_curves] if METERS.exists() else [])
    print(f"exact MDAV, k={K}, {cores()} cores; times in seconds")
    print(
        f"{'data':12}{'shape':>14}{'wall':>8}{'CPU':>8}{'fused':>8}{'ratio':>7}{'CPU ratio':>10}{'SSE/SST':>9}{'MB':>6}"
    )
    for n in sizes:
        for kind in kinds:
            Z = kind(n, np.random.default_rng(20240101))
            groups, wall, cpu = timed(lambda Z=Z: exact_groups(Z, K))  # type: ignore[misc]
            used = peak_mb() - before
            plain, plain_wall, plain_cpu = timed(lambda Z=Z: fused(Z))  # type: ignore[misc]
            if not np.array_equal(groups, plain):
                raise SystemExit(f"the groups differ: {kind.__name__}, {n} records")
            print(
                f"{kind.__name__:12}{len(Z):>9,}x{Z.shape[1]:<4}{wall:8.2f}{cpu:8.2f}{plain_wall:8.2f}{plain_wall / wall:7.1f}"
                f"{plain_cpu / cpu:10.1f}{lost(Z, groups):9.4f}{used:6.0f}",
                flush=True,
            )
    Z = normal(5000, np.random.default_rng(20240101))
    groups, wall, _ = timed(lambda: exact_groups(Z, K))
    slow, slow_wall, _ = timed(lambda: naive.mdav(Z, K))
    if not np.array_equal(groups, slow):
        raise SystemExit("the groups differ from the naive version's")
    print(f"naive, normal, 5,000 x 24: {slow_wall:.2f} s, {slow_wall / wall:.0f} times as long as exact ({wall:.3f} s)")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10_000, 50_000, 100_000])
