"""(n,l,k)-anonymity: losses of all heuristics on real households, and times for protecting and verifying.

    python benchmarks/nlk.py

Kernels are compiled first. Times are CPU seconds, the best of three rounds, of the heuristic alone (sorting, stage 1, cuts or
peeling, publishing) and of the verification of its table. Without the real data only the synthetic tables are measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from tsveil.core.types import Array
from tsveil.data.synthetic import random_series, sine_series
from tsveil.guarantee.nlk import find_violation
from tsveil.measure.nlk import identification
from tsveil.protect.nlk import NLK, Candidate, sorted_points

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "smart_meter.csv"
ROUNDS = 3
SETTINGS = ((3, 15, 4), (7, 10, 10), (10, 12, 10), (10, 20, 20))
HEURISTICS = ("mil", "mth", "gpe", "peel")


def cpu_seconds(work: Callable[[], object]) -> float:
    """The least CPU time of a few rounds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def made(X: Array, nlk: tuple[int, int, int], heuristic: str) -> Candidate:
    """The table by one heuristic, from the raw values on."""
    n, l, k = nlk
    return NLK(n=n, l=l, k=k)._run_heuristic(sorted_points(X[:, :, None]), heuristic, "the series")


def losses(X: Array) -> None:
    """NormDiv of all heuristics, and whom the best table identifies."""
    print(f"\nNormDiv in percent, {X.shape[0]} households x {X.shape[1]} hours\n")
    print(
        "| (n,l,k) | stage 1 | MIL | MTH | GPE | PEEL | verified | identified by n random / chosen values, PEEL |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |"
    )
    for nlk in SETTINGS:
        n, l, k = nlk
        tables = [made(X, nlk, heuristic) for heuristic in HEURISTICS]
        first = NLK(n=n, l=l, k=k)._stage1(sorted_points(X[:, :, None]))
        shares = " | ".join(f"{100 * table.loss / X.sum():.2f}" for table in (first, *tables))
        found = identification(tables[-1].published, n)
        status = ", ".join(sorted({find_violation(table.published, n, l, k).status for table in tables}))
        print(f"| ({n},{l},{k}) | {shares} | {status} | {found.random:.1f} % / {found.chosen:.1f} % |", flush=True)


def times(name: str, X: Array, settings: tuple[tuple[int, int, int], ...]) -> None:
    """Seconds for each heuristic, and for the slowest verification of their tables."""
    for nlk in settings:
        tables = [made(X, nlk, heuristic) for heuristic in HEURISTICS]
        protecting = [cpu_seconds(partial(made, X, nlk, heuristic)) for heuristic in HEURISTICS]
        verifying = max(cpu_seconds(partial(find_violation, table.published, *nlk)) for table in tables)
        shown = " | ".join(f"{taken:.2f}" for taken in protecting)
        print(f"| {name}, {X.shape[0]} x {X.shape[1]} | {nlk} | {shown} | {verifying:.3f} |", flush=True)


def correlated(noise: float) -> Array:
    """One level per series and a little noise: series are hard to single out, and cuts hard to decide."""
    rng = np.random.default_rng(1)
    X: Array = rng.uniform(10, 30, (180, 1)) + rng.normal(0, noise, (180, 336))
    return X


def main() -> None:
    for heuristic in HEURISTICS:
        made(sine_series(40, 12).values, (2, 5, 4), heuristic)
    real = pl.read_csv(REAL).drop("household").to_numpy().astype(np.float64) if REAL.is_file() else None
    if real is not None:
        losses(real[:180])
        losses(real)
    print("\nCPU seconds. Targets: MTH 0.5 (180 x 336) and 2 (1000 x 168), PEEL 1 and 5, verifying 0.2 and 1\n")
    print("| data | (n,l,k) | MIL | MTH | GPE | PEEL | verifying |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    if real is not None:
        times("households", real[:180], SETTINGS)
        times("households", real, SETTINGS[1:2])
    times("random", random_series().values, SETTINGS[1:])
    times("sine", sine_series().values, SETTINGS[1:2])
    print("\nCorrelated rows, 180 x 336, (5,10,20): target 60 s, undecided cuts are refused\n")
    print("| noise | heuristic | s | NormDiv % | accepted | undecided | verifying s | verdict | nodes |")
    print("| ---: | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |")
    for noise in (0.3, 0.1, 0.03, 0.003):
        X = correlated(noise)
        for heuristic in ("mth", "gpe", "peel"):
            start = time.process_time()
            table = made(X, (5, 10, 20), heuristic)
            middle = time.process_time()
            finding = find_violation(table.published, 5, 10, 20)
            print(
                f"| {noise} | {heuristic} | {middle - start:.2f} | {100 * table.loss / X.sum():.3f} | {table.accepted} | {table.undecided} "
                f"| {time.process_time() - middle:.2f} | {finding.status} | {finding.nodes} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
