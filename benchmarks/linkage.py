"""Linkage of originals against their MDAV release, beside scipy's cdist in chunks and scikit-learn's brute force, in one run.

    python benchmarks/linkage.py [RECORDS]

Peers get the release as it is, and also only its distinct rows, which is our own first step. They give one nearest row; tsveil also
counts ties and says whether the own record is among them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

import tsveil as tv
from tsveil.core.types import Array


def made(kind: str, n: int) -> Array:
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(n, 24))
    return steps if kind == "iid normal" else steps.cumsum(axis=1)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def by_cdist(a: Array, b: Array) -> Array:
    return np.concatenate([cdist(a[low : low + 500], b).argmin(axis=1) for low in range(0, len(a), 500)])


def by_sklearn(a: Array, b: Array) -> Array:
    found: Array = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(b).kneighbors(a, return_distance=False)
    return found


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    small = tv.Dataset.from_arrays({"x": made("walks", 500)})
    tv.attack.series(small, small)  # compiles
    print("| data | who | against | wall s | CPU s | tsveil is faster by |\n| --- | --- | --- | ---: | ---: | ---: |")
    for kind in ("iid normal", "walks"):
        data = tv.Dataset.from_arrays({"x": made(kind, n)})
        release = tv.MDAV(k=10, refine="none").protect(data)
        x, y = data.values, release.data.values
        distinct = np.unique(y, axis=0)
        ours = min(timed(partial(tv.attack.series, data, release)) for _ in range(3))
        print(f"| {kind} | tsveil | release | {ours[0]:.2f} | {ours[1]:.2f} | |", flush=True)
        for name, work in (("scikit-learn brute", by_sklearn), ("scipy cdist", by_cdist)):
            for what, rows in (("distinct rows", distinct), ("release", y)):
                share = (
                    10 if name == "scipy cdist" else 1
                )  # cdist is slow and linear in the originals: a tenth is measured
                part = x[: max(1, n // share)]
                wall, cpu = timed(partial(work, part, rows))
                print(
                    f"| {kind} | {name} | {what} | {share * wall:.2f} | {share * cpu:.2f} | {share * wall / ours[0]:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
