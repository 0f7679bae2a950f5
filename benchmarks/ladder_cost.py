"""What attacking and measuring costs: CPU time of `tsveil.evaluate` for each method, here and with the code of another checkout.

    python benchmarks/ladder_cost.py [--before CHECKOUT] [--rounds 2] [--file CSV] [--only WORDS] [--large [RECORDS]]

The file is ../shared/data/smart_meter.csv beside the project, or --file. Each measurement is a process of its own, with the checkout's src as PYTHONPATH and one thread: one
call to get warm, then the best of 5, by the CPU time of the process. The two checkouts take turns, and who is first changes from round to round; the best of all
rounds counts. --large measures 100,000 x 24 random walks, as series and as attributes, with this checkout alone and
one call each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

PROJECT = Path(__file__).resolve().parents[1]
#: calls in a process, after the first
CALLS = 5
POINTS = 24
#: the class of a method and its parameters, which checkouts of all ages know
CASES: list[tuple[str, dict[str, Any]]] = [
    ("MDAV", {"k": 5}),
    ("VMDAV", {"k": 5}),
    ("NLK", {"n": 7, "l": 10, "k": 10}),
    ("OptimalUnivariate", {"k": 5}),
    ("RankSwap", {"p": 5.0}),
    ("RankSwapDistribution", {"p": 10.0}),
    ("RankSwapBuckets", {"buckets": 10}),
    ("Noise", {"sd": 0.1}),
    ("Noise", {"sd": 0.5, "correlated": True}),
]
LARGE: list[tuple[str, dict[str, Any]]] = [
    ("Noise", {"sd": 0.5, "correlated": True}),
    ("Noise", {"sd": 0.1}),
    ("RankSwap", {"p": 5.0}),
    ("MDAV", {"k": 5}),
]


def words(case: tuple[str, dict[str, Any]]) -> str:
    """A method with its parameters."""
    return f"{case[0]}({', '.join(f'{name}={value}' for name, value in case[1].items())})"


def walks(n: int, kind: str) -> Any:
    """Random walks as series or as attributes."""
    import tsveil as tv

    table = np.random.default_rng(1).normal(size=(n, POINTS)).cumsum(axis=1)
    if kind == "series":
        return tv.Dataset.from_arrays({"walk": table})
    frame = pl.DataFrame(table, schema=[f"x{at}" for at in range(POINTS)])
    return tv.Dataset.from_frame(frame, blocks={"walk": frame.columns}, times={"walk": None})


def inside(file: str, name: str, settings: dict[str, Any], calls: int) -> None:
    """In a process of its own: protect, evaluate once to get warm, and tell the best of the further calls."""
    import tsveil as tv

    method = getattr(tv, name)(**settings)
    if file in ("series", "attributes"):
        small = walks(2000, file)
        tv.evaluate(small, method.protect(small, seed=1))
        data = walks(int(os.environ["RECORDS"]), file)
    else:
        data = tv.read(file)
    release = method.protect(data, seed=1)
    used = []
    for _ in range(1 + calls):
        start = time.process_time()
        tv.evaluate(data, release)
        used.append(time.process_time() - start)
    print(json.dumps({"cpu": min(used[1:] or used), "code": tv.__file__}))


def measured(checkout: Path, file: str, case: tuple[str, dict[str, Any]], calls: int, records: int = 0) -> float:
    """CPU seconds of a case with the code of a checkout."""
    alone = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    env = {**os.environ, **alone, "PYTHONPATH": str(checkout / "src"), "RECORDS": str(records)}
    command = [sys.executable, __file__, "--inside", json.dumps([file, *case, calls])]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{words(case)} failed with the code of {checkout}\n{done.stderr}")
    told = json.loads(done.stdout.splitlines()[-1])
    if not Path(told["code"]).is_relative_to(checkout):
        raise SystemExit(f"{told['code']} was measured instead of {checkout}")
    return float(told["cpu"])


def compare(checkouts: dict[str, Path], file: str, cases: list[tuple[str, dict[str, Any]]], rounds: int) -> None:
    """A row for each method."""
    print(f"| method | {' | '.join(f'{name}, CPU s' for name in checkouts)} | ratio |")
    print(f"| --- |{' ---: |' * len(checkouts)} ---: |", flush=True)
    for case in cases:
        best = dict.fromkeys(checkouts, float("inf"))
        for turn in range(rounds):
            for name in list(checkouts)[:: -1 if turn % 2 else 1]:
                best[name] = min(best[name], measured(checkouts[name], file, case, CALLS))
        ratio = best["here"] / next(iter(best.values()))
        print(f"| {words(case)} | {' | '.join(f'{cpu:.3f}' for cpu in best.values())} | {ratio:.2f} |", flush=True)


def main() -> None:
    """The comparison, or the large data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="the other checkout")
    parser.add_argument("--rounds", type=int, default=2, help="processes of each checkout and method; 2 when left out")
    parser.add_argument("--file", type=Path, metavar="CSV", help="another file")
    parser.add_argument("--only", default="", metavar="WORDS", help="only methods whose words have these")
    parser.add_argument("--large", type=int, nargs="?", const=100_000, metavar="RECORDS", help="large data instead")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(*json.loads(options.inside))
        return
    if options.large:
        print(f"| {options.large:,} x {POINTS} | method | CPU s |\n| --- | --- | ---: |", flush=True)
        for kind in ("series", "attributes"):
            for case in LARGE:
                if options.only in words(case):
                    spent = measured(PROJECT, kind, case, 0, options.large)
                    print(f"| {kind} | {words(case)} | {spent:.1f} |", flush=True)
        return
    file = options.file or PROJECT.parent / "shared" / "data" / "smart_meter.csv"
    if not file.exists():
        print(f"there is no {file}: name a file with --file")
        return
    checkouts = {"before": options.before.resolve()} if options.before else {}
    checkouts["here"] = PROJECT
    compare(checkouts, str(file.resolve()), [case for case in CASES if options.only in words(case)], options.rounds)


if __name__ == "__main__":
    main()
