"""Releases over time: what is lost and withheld over twelve months, the second week of real households, and the time of a third release.

python benchmarks/over_time.py months [PERSONS] [CHURN]     twelve generated months: sticky, regrouped once, fresh each month
python benchmarks/over_time.py weeks                        two weeks of ../shared/data/smart_meter.csv
python benchmarks/over_time.py large [PERSONS]              CPU time of the third release, of the first one's
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import tsveil as tv
from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.data.examples import load_curves
from tsveil.release.release import Release

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "smart_meter.csv"
K = 5


def loss(data: Dataset, release: Release) -> float:
    """The information loss of the score card."""
    return float(tv.evaluate(release.original, release, models="fitting", targets=100)["IL"])


def least(releases: list[tuple[list[str], Release]]) -> int:
    """The fewest persons with one history, from what is published: equal rows are a class, empty carried cells are nothing."""
    everybody = sorted({name for names, _ in releases for name in names})
    entries: list[dict[str, Any]] = []
    for names, release in releases:
        withheld = dict(release.ledger.persons.select("person", "withheld").iter_rows())
        rows = [row.tobytes() for row in release.data.values]
        entries.append({name: None if withheld[name] else row for name, row in zip(names, rows, strict=True)})
    sizes = Counter(tuple(one.get(name) for one in entries) for name in everybody)
    return min(size for history, size in sizes.items() if any(entry is not None for entry in history))


def months(persons: int, churn: float) -> None:
    """Days of a month, one carried column that never changes, and moves in and out."""
    count = round(persons * churn)
    whole = load_curves(persons + 11 * count, 360, seed=2)
    days: Array = whole.values.reshape(whole.n, 360, 24).sum(axis=2)
    heating, rng = whole.others["heating"].to_list(), np.random.default_rng(5)
    here, after = np.arange(persons), persons
    data = []
    for month in range(12):
        data.append(
            Dataset.from_arrays(
                {"load": days[here, 30 * month : 30 * month + 30]},
                times=[30 * month + day for day in range(30)],
                ids=[f"h{row}" for row in here],
                confidential={"heating": [heating[row] for row in here]},
            )
        )
        here = np.append(np.delete(here, rng.choice(persons, count, replace=False)), np.arange(after, after + count))
        after += count
    print(f"{persons} persons, {count} leave and {count} come each month, k = {K}\n")
    print(
        "| release | sticky: loss | withheld | regrouped in month 7: loss | withheld | fresh each month: loss |\n| ---: | ---: | ---: | ---: | ---: | ---: |"
    )
    chains: dict[str, list[tuple[list[str], Release]]] = {"sticky": [], "regroup": []}
    for month, own in enumerate(data):
        cells = []
        for name, chain in chains.items():
            more: dict[str, Any] = {"after": chain[-1][1], "regroup": name == "regroup" and month == 6} if chain else {}
            made = tv.MDAV(k=K).protect(own, seed=month, **more)
            chain.append((own.ids.to_list(), made))
            figures = made.ledger.facts.figures
            cells += [f"{loss(own, made):.1f}", f"{100 * (figures['withheld'] or 0) / persons:.1f} %"]
        print(
            f"| {month + 1} | {' | '.join(cells)} | {loss(own, tv.MDAV(k=K).protect(own, seed=month)):.1f} |",
            flush=True,
        )
    for name, chain in chains.items():
        share = np.mean([(made.ledger.facts.figures["withheld"] or 0) / persons for _, made in chain])
        print(f"{name}: composed k of histories {least(chain)}; withheld on average {100 * share:.1f} %")


def weeks() -> None:
    """IL of the second week: groups of its own, groups of the first week, and both with a tenth of the households replaced."""
    if not REAL.exists():
        raise SystemExit(f"{REAL} is missing")
    both = tv.read(REAL)
    half = both.values.shape[1] // 2
    block = both.blocks[0]

    def week(number: int, rows: np.ndarray[Any, Any], *, carried: bool) -> Dataset:
        columns = slice(number * half, (number + 1) * half)
        assert block.times is not None
        return Dataset.from_arrays(
            {"load": both.values[rows, columns]},
            times=block.times[columns].tolist(),
            ids=[f"h{row}" for row in rows],
            confidential={"heating": [f"heating {row % 4}" for row in rows]} if carried else None,
        )

    every = np.arange(both.n)
    for k in (5, 10):
        first, second = week(0, every, carried=False), week(1, every, carried=False)
        one = tv.MDAV(k=k).protect(first, seed=1)
        own = loss(second, tv.MDAV(k=k).protect(second, seed=1))
        nothing_ties = loss(second, tv.MDAV(k=k).protect(second, seed=1, after=one))
        kept = tv.MDAV(k=k).protect(second, seed=1, after=one, ids="stable")
        same = bool((kept.groups["load"] == one.groups["load"]).all())
        print(
            f"k = {k}: IL of week 2: own groups {own:.2f}, after week 1 with fresh identifiers {nothing_ties:.2f}, with stable ones {loss(second, kept):.2f} (the groups of week 1: {same})"
        )
        gone = both.n // 10
        data = [week(0, every[:-gone], carried=True), week(1, every[gone:], carried=True)]
        one = tv.MDAV(k=k).protect(data[0], seed=1)
        two = tv.MDAV(k=k).protect(data[1], seed=1, after=one, ids="stable")
        chain = [(own.ids.to_list(), made) for own, made in zip(data, (one, two), strict=True)]
        figures = two.ledger.facts.figures
        print(
            f"  {gone} of {data[0].n} replaced, one carried column: composed k {least(chain)}, withheld {100 * (figures['withheld'] or 0) / data[1].n:.1f} %, IL {loss(data[1], two):.2f}"
        )


def large(persons: int) -> None:
    """CPU time of three releases of 24 points, 2 % of the persons replaced each time."""
    count = persons // 50
    rng = np.random.default_rng(1)
    base = rng.normal(size=(persons + 2 * count, 24)).cumsum(axis=1)
    before: Release | None = None
    first = 0.0
    for month in range(3):
        rows = np.arange(month * count, month * count + persons)
        data = Dataset.from_arrays(
            {"load": base[rows] + 0.3 * rng.normal(size=(persons, 24))},
            times=[24 * month + hour for hour in range(24)],
            ids=[f"h{row}" for row in rows],
            confidential={"heating": [f"heating {row % 4}" for row in rows]},
        )
        start = time.process_time()
        before = tv.MDAV(k=K).protect(data, seed=month, after=before)
        spent = time.process_time() - start
        first = first or spent
        print(
            f"release {month + 1}: {spent:.1f} s of CPU, {spent / first:.2f} of the first; {before.ledger.facts.figures}",
            flush=True,
        )


def main() -> None:
    what, *more = sys.argv[1:] or ["months"]
    match what:
        case "weeks":
            weeks()
        case "large":
            large(int(more[0]) if more else 1_000_000)
        case _:
            months(int(more[0]) if more else 2000, float(more[1]) if len(more) > 1 else 0.02)


if __name__ == "__main__":
    main()
