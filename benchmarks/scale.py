"""More records than memory should hold: random walks in Parquet, protected in chunks; time, memory, and the loss against exact MDAV.

python benchmarks/scale.py [RECORDS] [local|dask|spark]

Peak memory is that of this process, which does all the work with the local engine; CPU seconds count all threads and child processes. The last
row protects the first 100,000 of the records in parts by themselves and compares with exact MDAV.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import tsveil as tv
from tsveil.plan.plan import Input, Output, Plan

FIRST = 100_000
POINTS = 24
#: records per input file
ROWS = 500_000


def write_walks(folder: Path, n: int) -> None:
    """The first 100,000 records are the same for any n."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for at, start in enumerate(range(0, n, ROWS)):
        x = rng.normal(size=(min(ROWS, n - start), POINTS)).cumsum(axis=1)
        pl.DataFrame(x, schema=[str(point) for point in range(POINTS)]).write_parquet(folder / f"{at:04d}.parquet")


def cpu() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    engine = sys.argv[2] if len(sys.argv) > 2 else "local"
    work = Path(tempfile.mkdtemp(prefix="tsveil-scale-"))
    try:
        write_walks(work / "in", n)
        print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
        wall, used = time.perf_counter(), cpu()
        plan = Plan(
            input=Input(path="in"), method={"name": "mdav", "k": 10, "refine": "none"}, output=Output(folder="out")
        )
        outcome = tv.run(plan, base=work, engine=engine)
        wall, used = time.perf_counter() - wall, cpu() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        parts = outcome.release.facts["series"].get("parts", 1)
        print("| records x points | engine | parts | wall s | CPU s | CPU s per million | peak MB | verdict |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
        print(
            f"| {n:,} x {POINTS} | {engine} | {parts} | {wall:.0f} | {used:.0f} | {used / n * 1e6:.0f} | {peak:.0f} | "
            f"{outcome.verdict.status} |",
            flush=True,
        )
        print(outcome.run)
        print(outcome.card)

        values = pl.read_parquet(work / "in" / "0000.parquet")[:FIRST].to_numpy()
        data = tv.Dataset.from_arrays({"series": values})
        methods = {
            "partitioned": tv.MDAV(k=10, mode="partitioned", refine="none"),
            "exact": tv.MDAV(k=10, mode="exact", refine="none"),
        }
        loss = {
            mode: float(np.square(values - method.protect(data).data.values).sum()) for mode, method in methods.items()
        }
        above = 100 * (loss["partitioned"] / loss["exact"] - 1)
        print(f"SSE of the first {len(values):,} in parts: {above:.2f} % above exact MDAV's")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
