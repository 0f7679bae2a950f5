"""The attacks on microdata at their targets: seconds on the clock, CPU seconds of all threads, and peak memory.

Run with `python benchmarks/attacks.py [name ...]`. Every case runs in a process of its own (so that its peak memory is its
own) after a warm-up on a small file, which loads or compiles the kernels.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import tsveil as tv
from tsveil.core.types import Array


def people(n: int, columns: int, seed: int = 0) -> Array:
    """Skewed and correlated attributes, like incomes and taxes."""
    rng = np.random.default_rng(seed)
    return rng.lognormal(size=(n, columns)) + 2 * rng.lognormal(size=(n, 1))


def dataset(x: Array) -> tv.Dataset:
    return tv.Dataset.from_arrays({"a": x})


def grouped(x: Array, k: int) -> Array:
    """Each column in runs of k sorted values (the last longer), replaced by their means."""
    out = np.empty_like(x)
    for j in range(x.shape[1]):
        for members in np.array_split(np.argsort(x[:, j]), max(1, len(x) // k)):
            out[members, j] = x[members, j].mean()
    return out


def swapped(x: Array, p: float, seed: int = 1) -> Array:
    from tsveil.protect.rank_swap import RankSwap

    return RankSwap(p=p).protect(dataset(x), seed=seed).data.values


def probabilistic(n: int, columns: int) -> Callable[[], object]:
    from tsveil.attack.probabilistic import probabilistic

    x = people(n, columns)
    return partial(probabilistic, dataset(x), dataset(grouped(x, 50)))


def fine_probabilistic(n: int, columns: int) -> Callable[[], object]:
    from tsveil.attack.probabilistic import probabilistic

    x = people(n, columns)
    return partial(probabilistic, dataset(x), dataset(np.round(x, 1)))


def alignment(n: int, columns: int) -> Callable[[], object]:
    from tsveil.attack.alignment import alignment

    x = people(n, columns)
    return partial(alignment, dataset(x), dataset(grouped(x, 50)))


def runs(n: int, columns: int) -> Callable[[], object]:
    from tsveil.attack.alignment import alignment

    x = people(n, columns)
    return partial(alignment, dataset(x), dataset(grouped(x, 50)), align="runs", k=50)


def rank_swap(n: int, columns: int) -> Callable[[], object]:
    from tsveil.attack.rank_swap import rank_swap

    x = people(n, columns)
    return partial(rank_swap, dataset(x), dataset(swapped(x, 5.0)), p=5.0)


def union(n: int, columns: int) -> Callable[[], object]:
    from tsveil.attack.rank_swap import rank_swap

    x = people(n, columns)
    return partial(rank_swap, dataset(x), dataset(swapped(x, 5.0)), p=5.0, rule="union")


def distance(n: int, columns: int) -> Callable[[], object]:
    from tsveil.attack.distance import distance

    x = people(n, columns)
    return partial(distance, dataset(x), dataset(swapped(x, 5.0)))


def blocking(n: int, columns: int) -> Callable[[], object]:
    from tsveil.attack.distance import distance

    x = people(n, columns)
    return partial(distance, dataset(x), dataset(swapped(x, 5.0)), blocking=200)


#: case -> what is run, records, attributes, target in seconds
CASES: dict[str, tuple[Callable[[int, int], Callable[[], object]], int, int, float | None]] = {
    "probabilistic": (probabilistic, 4092, 10, 2),
    "probabilistic large": (fine_probabilistic, 100_000, 5, 120),
    "alignment": (alignment, 4092, 5, 1),
    "alignment by runs": (runs, 4092, 5, 1),
    "ranks": (rank_swap, 100_000, 10, 20),
    "most ranks": (union, 20_000, 10, None),
    "distance": (distance, 20_000, 10, None),
    "distance, blocking": (blocking, 100_000, 10, None),
}


def run(name: str) -> None:
    prepare, n, columns, _ = CASES[name]
    prepare(200, columns)()
    work = prepare(n, columns)
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    print(f"{clock:.2f} {cpu:.2f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")


def main(names: list[str]) -> None:
    print("| attack | records | attributes | s | CPU s | target | peak MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in names or CASES:
        _, n, columns, target = CASES[name]
        shown = subprocess.run(
            [sys.executable, __file__, "--run", name], capture_output=True, text=True, check=True
        ).stdout
        seconds, cpu, memory = shown.split()
        verdict = "" if target is None else f"{target:g}" + ("" if float(seconds) <= target else " MISSED")
        print(f"| {name} | {n:,} x {n:,} | {columns} | {seconds} | {cpu} | {verdict} | {memory} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2])
    else:
        main(sys.argv[1:])
