"""Linkage of originals with their MDAV release, beside other programs in the same run, in turns.

    python benchmarks/linkage.py [RECORDS]

Series: faiss (exact search in float32), scikit-learn's brute force, and scipy's cdist in chunks. Attributes: scipy's cKDTree. All get the distinct rows of the release, which is our own first
step and takes part of our time. They give one nearest row; tsveil decides by float64, counts ties and says whether the own record is among them. CPU time, the least of the rounds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import faiss
import numpy as np
import polars as pl
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

import tsveil as tv
from tsveil.attack.nearest import nearest
from tsveil.core.types import Array, Indices

ROUNDS = 5
#: cdist is slow and linear in the originals: a tenth of them is measured
SHARE = 10


def made(kind: str, n: int, columns: int = 24) -> Array:
    """Independent normal values, or random walks."""
    steps = np.random.default_rng(1).normal(size=(n, columns))
    return steps if kind == "iid normal" else steps.cumsum(axis=1)


def by_faiss(a: Array, b: Array) -> Indices:
    """The nearest row by faiss, without an index that would be approximate."""
    index = faiss.IndexFlatL2(b.shape[1])
    index.add(b.astype(np.float32))
    found: Indices = index.search(a.astype(np.float32), 1)[1]
    return found


def by_cdist(a: Array, b: Array) -> Indices:
    """By all distances, 500 records at a time; a tenth of the records."""
    part = a[: max(1, len(a) // SHARE)]
    return np.concatenate([cdist(part[low : low + 500], b).argmin(axis=1) for low in range(0, len(part), 500)])


def by_sklearn(a: Array, b: Array) -> Indices:
    """By scikit-learn without a tree."""
    found: Indices = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(b).kneighbors(a, return_distance=False)
    return found


def by_tree(a: Array, b: Array) -> Indices:
    """By a tree of the rows, built anew as ours is."""
    found: Indices = cKDTree(b).query(a)[1]
    return found


def in_turns(works: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """The least CPU seconds of each, after a first run that is not counted."""
    best = dict.fromkeys(works, np.inf)
    for turn in range(rounds + 1):
        for name, work in works.items():
            before = time.process_time()
            work()
            if turn:
                best[name] = min(best[name], time.process_time() - before)
    return {name: seconds * (SHARE if name == "scipy cdist" else 1) for name, seconds in best.items()}


def show(what: str, best: dict[str, float]) -> None:
    """A line of the table for each program."""
    for name, seconds in best.items():
        print(f"| {what} | {name} | {seconds:.4f} | {seconds / best['tsveil']:.2f} |", flush=True)


def main() -> None:
    """Print the table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"CPU seconds, the least of {ROUNDS} rounds in turns\n")
    print("| data | who | CPU s | times tsveil's |\n| --- | --- | ---: | ---: |")
    for kind in ("iid normal", "walks"):
        x = made(kind, n)
        y = tv.MDAV(k=10, refine="none").protect(tv.Dataset.from_arrays({"x": x})).data.values
        rows = np.unique(y, axis=0)
        show(
            f"{kind}, {n:,} x 24",
            in_turns(
                {
                    "tsveil": partial(nearest, x, y, np.array([0, 24])),
                    "faiss": partial(by_faiss, x, rows),
                    "scikit-learn brute": partial(by_sklearn, x, rows),
                    "scipy cdist": partial(by_cdist, x, rows),
                }
            ),
        )
    columns = [f"c{at}" for at in range(13)]
    table = pl.DataFrame(made("iid normal", 4092, 13), schema=columns)
    data = tv.Dataset.from_frame(table, blocks={"all": columns})
    release = tv.MDAV(k=5, refine="none").protect(data)
    spread = data.values.std(axis=0)
    rows = np.unique(release.data.values, axis=0) / spread
    works: dict[str, Callable[[], object]] = {
        "tsveil": partial(tv.attack.distance, data, release),
        "scipy cKDTree": partial(by_tree, data.values / spread, rows),
    }
    show("attributes, 4,092 x 13", in_turns(works, 4 * ROUNDS))


if __name__ == "__main__":
    main()
