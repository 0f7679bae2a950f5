"""MDAV in parts: its loss against exact MDAV at 100,000 random walks, and its time and memory at a million.

python benchmarks/partitioned.py [RECORDS]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import tsveil as tv
from tsveil.core.types import Array
from tsveil.protect.mdav import MDAV


def walks(n: int) -> tv.Dataset:
    x: Array = np.random.default_rng(1).normal(size=(n, 24)).cumsum(axis=1)
    return tv.Dataset.from_arrays({"walk": x})


def timed(method: MDAV, data: tv.Dataset) -> tuple[float, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    release = method.protect(data)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert release.verify().holds
    return wall, cpu, float(((data.values - release.data.values) ** 2).sum())


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    timed(MDAV(k=10, mode="partitioned", refine="none"), walks(20_000))  # compiles
    data = walks(100_000)
    exact = timed(MDAV(k=10, mode="exact", refine="none"), data)
    print(
        "| records x points | mode | wall s | CPU s | SSE above exact | peak MB |\n| --- | --- | ---: | ---: | ---: | ---: |"
    )
    print(f"| 100,000 x 24 | exact | {exact[0]:.1f} | {exact[1]:.1f} | | |", flush=True)
    for part in (4000, 8000, 16000):
        wall, cpu, sse = timed(MDAV(k=10, mode="partitioned", part=part, refine="none"), data)
        print(
            f"| 100,000 x 24 | parts of {part:,} | {wall:.1f} | {cpu:.1f} | {100 * (sse / exact[2] - 1):.2f} % | |",
            flush=True,
        )
    wall, cpu, _ = timed(MDAV(k=10, mode="partitioned", refine="none"), walks(most))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {most:,} x 24 | parts of 8,000 | {wall:.1f} | {cpu:.1f} | | {peak:.0f} |")


if __name__ == "__main__":
    main()
