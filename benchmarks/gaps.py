"""What gaps cost: records dropped, gaps filled, or records protected with their gaps (`missing`), by MDAV.

    python benchmarks/gaps.py [FILE]

FILE has a complete series for each record (`smart_meter.csv` of the reference data unless given). Values are taken out of it: 5 % of them at random, or a day of each record
(its first 24 points, the next 24, ...). The loss is the share of the squared deviations from the columns' means that publishing loses, over the values that are left; a value that is not
published, because its record was dropped or its point is empty, counts as the mean of its column. Whole releases are judged for the other columns of the second table.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import tsveil as tv
from tsveil.core.errors import InputError
from tsveil.core.types import Array

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
WAYS = ("drop", "interpolate", "mask")
SIZES = (3, 5, 10)


def with_gaps(values: Array, kind: str, rng: np.random.Generator) -> Array:
    """The values without some of them."""
    found = values.copy()
    if kind == "5 % at random":
        found[rng.random(values.shape) < 0.05] = np.nan
        return found
    for row in found:
        day = int(rng.integers(values.shape[1] // 24))
        row[24 * day : 24 * day + 24] = np.nan
    return found


def read_with(values: Array, data: tv.Dataset, missing: Any) -> tv.Dataset | None:
    """The data set with gaps dealt with in one way; None: nobody is left."""
    import polars as pl

    block = data.series[0]
    columns = {name: values[:, at] for at, name in enumerate(block.columns)}
    frame = pl.DataFrame({"row": np.arange(len(values)), **columns}).fill_nan(None)
    try:
        return tv.Dataset.from_frame(frame, id="row", blocks={block.name: list(block.columns)}, missing=missing)
    except InputError:
        return None


def lost(x: Array, y: Array) -> float:
    """The loss in percent."""
    there, mean = ~np.isnan(x), np.nanmean(x, axis=0)
    away = (np.where(np.isnan(y), mean, y) - x)[there]
    return 100 * float(np.square(away).sum() / np.square(x - mean)[there].sum())


def main() -> None:
    """Print both tables."""
    data = tv.read(sys.argv[1] if len(sys.argv) > 1 else DATA / "smart_meter.csv")
    values = data.block(data.series[0].name)
    if few := read_with(with_gaps(values[:40], "5 % at random", np.random.default_rng(1)), data, "mask"):
        tv.MDAV(k=3).protect(few)  # compiles
    print("| gaps | k | refine | drop | interpolate | mask |\n| --- | ---: | --- | ---: | ---: | ---: |")
    told = []
    for kind in ("5 % at random", "a day of each record"):
        x = with_gaps(values, kind, np.random.default_rng(5))
        for k in SIZES:
            for refine in ("none", "swap"):
                row = []
                for missing in WAYS:
                    some = read_with(x, data, missing)
                    y = np.full(x.shape, np.nan)
                    if some is not None and some.n >= k:
                        before = time.process_time()
                        release = tv.MDAV(k=k, refine=refine).protect(some, seed=1)
                        seconds = time.process_time() - before
                        y[some.others["row"].to_numpy()] = release.data.values
                    row.append(f"{lost(x, y):.1f}")
                print(f"| {kind} | {k} | {refine} | {' | '.join(row)} |", flush=True)
                if refine == "swap" and some is not None:
                    facts, card = (
                        release.facts[data.series[0].name],
                        tv.evaluate(some, release, models=["ses"]),
                    )
                    empty = 100 * facts["points left empty"] / facts["points"]
                    told.append(
                        f"| {kind} | {k} | {empty:.2f} | {facts['smallest number of persons behind a value']} | {card['GVLD']:.1f} | {card['GPLD']:.1f} | {seconds:.1f} |"
                    )
    print("\n| gaps | k | points empty % | fewest persons | found by values % | by gaps alone % | CPU s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    print("\n".join(told))


if __name__ == "__main__":
    main()
