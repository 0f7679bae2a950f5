"""What each method withstands: the rate of the strongest attack at each rung, as a table for docs/intruders.md.

    python benchmarks/ladder.py [FOLDER]

FOLDER has smart_meter.csv and census.csv; ../shared/data beside the project by default. Every method has one usual setting, seed 1. The last column is the CPU time of
attacking and measuring, with forecasts, in this process.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

import tsveil as tv
from tsveil.assess.assessment import Attempt
from tsveil.core.registry import METHODS
from tsveil.release.publish import judge_unwritten_release

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "shared" / "data"
RUNGS = ("part", "person", "other-period", "share", "file")
SERIES: list[tuple[str, dict[str, Any]]] = [
    ("mdav", {"k": 5}),
    ("v-mdav", {"k": 5}),
    ("nlk", {"n": 7, "l": 10, "k": 10}),
    ("optimal-univariate", {"k": 5}),
    ("rank-swap", {"p": 5.0}),
    ("rank-swap-distribution", {"p": 10.0}),
    ("rank-swap-buckets", {"buckets": 10}),
    ("noise", {"sd": 0.1}),
    ("noise", {"sd": 0.5, "correlated": True}),
    ("kp", {"k": 5, "P": 2}),
    ("k-envelopes", {"k": 5}),
]
ATTRIBUTES: list[tuple[str, dict[str, Any]]] = [
    ("mdav", {"k": 5, "grouping": "joint"}),
    ("mdav", {"k": 5, "grouping": "per-block"}),
    ("v-mdav", {"k": 5}),
    ("projected", {"k": 25}),
    ("optimal-univariate", {"k": 5}),
    ("mic1d", {"kappa": 100}),
    ("rank-swap", {"p": 10.0}),
    ("rank-swap-distribution", {"p": 10.0}),
    ("rank-swap-buckets", {"buckets": 10}),
    ("noise", {"sd": 0.1}),
    ("noise", {"sd": 0.5, "correlated": True}),
]


def best(ladder: list[Attempt], rung: str) -> str:
    """The strongest attack of a rung: its rate and its name."""
    tried = [one for one in ladder if one.rung == rung]
    if not tried:
        return ""
    one = max(tried, key=lambda one: one.high)
    return f"{one.rate:.1f} {one.attack}"


def show(data: tv.Dataset, cases: list[tuple[str, dict[str, Any]]]) -> None:
    """A row for each method."""
    print(f"| method | {' | '.join(RUNGS)} | CPU s |")
    print(f"| --- |{' --- |' * len(RUNGS)} ---: |")
    for name, settings in cases:
        release = METHODS.make(name, settings).protect(data, seed=1)
        start = time.process_time()
        found = judge_unwritten_release(release, release.verify())[1]
        spent = time.process_time() - start
        words = ", ".join(f"{key}={value}" for key, value in settings.items())
        cells = " | ".join(best(list(found.ladder), rung) for rung in RUNGS)
        print(f"| {name} {words} | {cells} | {spent:.1f} |", flush=True)
    print(f"\nguessing: {100 / data.n:.2f}\n")


def main() -> None:
    """Both files."""
    meters = tv.read(FOLDER / "smart_meter.csv")
    print(f"smart_meter.csv, {meters.n} x {len(meters.columns)}\n")
    show(meters, SERIES)
    frame = pl.read_csv(FOLDER / "census.csv")
    names = frame.columns
    census = tv.Dataset.from_frame(frame, blocks={"a": names[:4], "b": names[4:8], "c": names[8:13]})
    print(f"census.csv, {census.n} x {len(names)} in three blocks\n")
    show(census, ATTRIBUTES)


if __name__ == "__main__":
    main()
