"""What refining MDAV's groups saves, what it costs in time, and what it does to the risk.

Run with `python benchmarks/refine.py [SECONDS]`, the budget of `search` (30 by default). Loss is 100 SSE/SST: on standardised columns for
attributes, on the values (Euclidean) or on the slopes (STS) for series. Links are the share of records whose nearest published record is
their own, with all attributes (or the whole series) known to the intruder and ties counted as 1/t; DLD is the mean of that over the first 1,
2, ... all attributes. Times are CPU seconds of whole releases, compiled code warmed up. Real data come from ../shared/data, where present.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tsveil as tv
from tsveil.attack.distance import distance as by_distance
from tsveil.attack.series import series
from tsveil.core.types import Array
from tsveil.measure.sse import sse_share
from tsveil.protect.mdav import MDAV
from tsveil.release.release import Release
from tsveil.reproduce.microdata import rounds

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
#: Mortazavi, Jalili, Gohargazi 2013, IMHM, k = 3, 5, 10; their EIA has another number of columns
IMHM = {"Census": (5.3668, 8.4165, 12.2284), "Tarragona": (16.9305, 22.1861, 30.7841)}
KS = (3, 5, 10)


def released(method: MDAV, data: tv.Dataset) -> tuple[Release, float]:
    cpu = time.process_time()
    release = method.protect(data, seed=1)
    cpu = time.process_time() - cpu
    if not release.verify().holds:
        raise SystemExit(f"the promise of {method} does not hold")
    return release, cpu


def attributes(name: str, columns: slice) -> tv.Dataset:
    frame = pl.read_csv(DATA / name)[:, columns]
    return tv.Dataset.from_frame(frame, blocks={"all": frame.columns}, times={"all": None})


def casc(seconds: float) -> None:
    tables = {
        "Census": attributes("census.csv", slice(0, None)),
        "EIA": attributes("eia.csv", slice(5, None)),
        "Tarragona": attributes("tarragona.csv", slice(0, None)),
    }
    print(f"| data | k | MDAV | swap | search, {seconds:g} s | IMHM | swap below MDAV | MDAV CPU s | swap CPU s |")
    print("| --- | ---: " + "| ---: " * 7 + "|")
    risks: list[tuple[str, int, list[float]]] = []
    for name, data in tables.items():
        for at, k in enumerate(KS):
            methods = (MDAV(k=k, refine="none"), MDAV(k=k, refine="swap"), MDAV(k=k, refine="search", seconds=seconds))
            made = [released(method, data) for method in methods]
            loss = [sse_share(data.values, release.data.values) for release, _ in made]
            published = f"{IMHM[name][at]:.2f}" if name in IMHM else ""
            print(
                f"| {name} | {k} | {loss[0]:.3f} | {loss[1]:.3f} | {loss[2]:.3f} | {published} | {100 * (1 - loss[1] / loss[0]):.0f} % "
                f"| {made[0][1]:.2f} | {made[1][1]:.2f} |",
                flush=True,
            )
            risks.append((name, k, [figure for release, _ in made for figure in links(data, release)]))
    print("\n| data | k | bound 100/k | links: MDAV | swap | search | DLD: MDAV | swap | search |")
    print("| --- | ---: " + "| ---: " * 7 + "|")
    for name, k, figures in risks:
        shown = " | ".join(f"{x:.1f}" for x in (100 / k, *figures[0::2], *figures[1::2]))
        print(f"| {name} | {k} | {shown} |")


def links(data: tv.Dataset, release: Release) -> tuple[float, float]:
    rates = [linked.rate for linked in rounds(by_distance, data, release)]
    return rates[-1], float(np.mean(rates))


def share(space: Array, groups: Any) -> float:
    sizes = np.bincount(groups)
    means = np.array([np.bincount(groups, weights=column) / sizes for column in space.T]).T
    return float(100 * ((space - means[groups]) ** 2).sum() / ((space - space.mean(axis=0)) ** 2).sum())


def meters(seconds: float) -> None:
    data = tv.read(DATA / "smart_meter.csv")
    name = data.blocks[0].name
    values = data.block(name)
    print(f"\n| smart meters {len(values)} x {values.shape[1]}, k = 5 | loss | CPU s | links by value | by shape |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for distance, space in (("euclidean", values), ("sts", np.diff(values, axis=1))):
        for refine in ("none", "swap", "search"):
            budget = {"seconds": seconds} if refine == "search" else {}
            method: MDAV = MDAV.from_settings({"k": 5, "distance": distance, "refine": refine, **budget})
            release, cpu = released(method, data)
            rates = [series(data, release, distance=how).rate for how in ("euclidean", "sts")]
            print(
                f"| {distance}, {refine} | {share(space, release.groups[name]):.2f} | {cpu:.2f} | {rates[0]:.1f} | {rates[1]:.1f} |",
                flush=True,
            )


def walks() -> None:
    print("\n| walks, k = 10 | loss: MDAV | swap | MDAV CPU s | swap CPU s |\n| --- | ---: | ---: | ---: | ---: |")
    for n in (10_000, 100_000):
        data = tv.Dataset.from_arrays({"walk": np.random.default_rng(1).normal(size=(n, 24)).cumsum(axis=1)})
        made = [released(MDAV.from_settings({"k": 10, "refine": how}), data) for how in ("none", "swap")]
        loss = [share(data.block("walk"), release.groups["walk"]) for release, _ in made]
        print(f"| {n:,} x 24 | {loss[0]:.3f} | {loss[1]:.3f} | {made[0][1]:.1f} | {made[1][1]:.1f} |", flush=True)


def main(seconds: float) -> None:
    warm = tv.Dataset.from_arrays({"walk": np.random.default_rng(0).normal(size=(30_000, 24)).cumsum(axis=1)})
    released(MDAV(k=10, refine="search", iterations=300), warm)
    if DATA.is_dir():
        casc(seconds)
        meters(seconds)
    walks()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
