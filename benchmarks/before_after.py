"""CPU time of this checkout against another one, in one run: small data, a whole run of the command line and, if asked, large data.

    python benchmarks/before_after.py [--before CHECKOUT] [--rounds 7] [--file CSV] [--large [RECORDS]]

CHECKOUT is another checkout of the project; without it this one is measured alone. Each measurement is a process of its own, with the
checkout's src as PYTHONPATH. The first process of each checkout is thrown away: it compiles kernels and leaves them in the cache. Then the
two take turns, and who is first changes from round to round. CPU seconds are user and system time of all threads.

    small     protect and evaluate 2,000 random walks of 12 points (MDAV, k = 5, refine = swap): the best of 5 after one such call in
              the same process
    run       the same from a CSV file to a release folder with its reports, by `tsveil.run` of a plan: measured in the same way
    command   `tsveil run` of a plan on ../shared/data/smart_meter.csv, or on --file: the whole process
    large     `tsveil run --engine local` of 1,000,000 random walks of 24 points in Parquet files: the whole process, and its peak memory
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import polars as pl

PROJECT = Path(__file__).resolve().parents[1]
#: calls with small data in a process, after the first
CALLS = 5
#: rounds with large data, where scatter is small beside the work
LARGE_ROUNDS = 3
POINTS = 24
#: the command line, also of checkouts without `python -m tsveil`
PROGRAM = "from tsveil.cli import main; main(prog_name='tsveil')"
#: records per input file
ROWS = 500_000

SMALL_PLAN = """
seed = 7
[input]
path = "small.csv"
[method]
name = "mdav"
k = 5
refine = "swap"
[output]
folder = "small-release"
"""
LARGE_PLAN = """
seed = 7
[input]
path = "{path}"
[method]
name = "mdav"
k = 10
refine = "none"
[output]
folder = "{path}-release"
"""


class Used(NamedTuple):
    """CPU seconds and peak memory in MB of a measurement."""

    cpu: float
    memory: float


def child(checkout: Path, command: list[str], cwd: Path) -> tuple[str, Used]:
    """What a command prints and uses with the code of a checkout."""
    env = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryFile() as shown:
        process = subprocess.Popen([sys.executable, *command], stdout=shown, env=env, cwd=cwd)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        shown.seek(0)
        text = shown.read().decode()
    if status:
        raise SystemExit(f"{' '.join(command)} failed with the code of {checkout}\n{text}")
    return text, Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


# -- what is measured ----------------------------------------------------------------------------------------------------


def inside(folder: Path, what: str) -> None:
    """In a process of its own: the small data, once to get warm; the best of the further calls is told, and whose code it was."""
    import tsveil as tv

    walks = np.random.default_rng(1).normal(size=(2000, 12)).cumsum(axis=1)
    data, plan = tv.Dataset.from_arrays({"series": walks}), folder / "small.toml"
    pl.DataFrame(walks, schema=[str(point) for point in range(12)]).write_csv(folder / "small.csv")
    plan.write_text(SMALL_PLAN, encoding="utf-8")

    def measure() -> None:
        if what == "run":
            tv.run(plan, overwrite=True)
        else:
            tv.evaluate(data, tv.MDAV(k=5, refine="swap").protect(data, seed=7))

    used = []
    for _ in range(1 + CALLS):
        start = time.process_time()
        measure()
        used.append(time.process_time() - start)
    print(json.dumps({"cpu": min(used[1:]), "code": tv.__file__}))


def small(checkout: Path, work: Path, what: str) -> Used:
    text, used = child(checkout, [__file__, "--inside", str(work), "--what", what], work)
    told = json.loads(text)
    if not Path(told["code"]).is_relative_to(checkout):
        raise SystemExit(f"{told['code']} was measured instead of {checkout}")
    return Used(told["cpu"], used.memory)


def tsveil(checkout: Path, work: Path, *words: str) -> Used:
    return child(checkout, ["-c", PROGRAM, *words], work)[1]


def write_walks(folder: Path, n: int) -> None:
    folder.mkdir()
    rng = np.random.default_rng(1)
    for at, start in enumerate(range(0, n, ROWS)):
        x = rng.normal(size=(min(ROWS, n - start), POINTS)).cumsum(axis=1)
        pl.DataFrame(x, schema=[str(point) for point in range(POINTS)]).write_parquet(folder / f"{at:04d}.parquet")


# -- how it is compared --------------------------------------------------------------------------------------------------


def compared(
    what: str, checkouts: Mapping[str, Path], rounds: int, measure: Callable[[Path], Used], warm: Callable[[Path], Used]
) -> None:
    """Measure all checkouts in turn and print a row for each."""
    for checkout in checkouts.values():
        warm(checkout)
    found: dict[str, list[Used]] = {name: [] for name in checkouts}
    for turn in range(rounds):
        for name in list(checkouts)[:: -1 if turn % 2 else 1]:
            found[name].append(measure(checkouts[name]))
    best = {name: min(used.cpu for used in measured) for name, measured in found.items()}
    for name, measured in found.items():
        cpu = [used.cpu for used in measured]
        memory = min(used.memory for used in measured)
        ratio = best[name] / next(iter(best.values()))
        print(
            f"| {what} | {name} | {min(cpu):.3f} | {median(cpu):.3f} | {max(cpu):.3f} | {memory:.0f} | {ratio:.3f} |",
            flush=True,
        )


def compare_command(checkouts: Mapping[str, Path], rounds: int, work: Path, file: Path | None) -> None:
    beside = [checkout.parent / "shared" / "data" / "smart_meter.csv" for checkout in (PROJECT, *checkouts.values())]
    found = next((path for path in ([file] if file else beside) if path.exists()), None)
    if found is None:
        missing = file or "../shared/data/smart_meter.csv beside the project"
        print(f"\ncommand is left out: there is no {missing}", flush=True)
        return
    # The plan of the first checkout is run by both, as a user's old plan would be.
    tsveil(next(iter(checkouts.values())), work, "plan", str(found.resolve()), "--out", "command.toml")

    def run(checkout: Path) -> Used:
        return tsveil(checkout, work, "run", "command.toml", "--overwrite")

    compared(f"command: {found.name}", checkouts, rounds, run, run)


def compare_large(checkouts: Mapping[str, Path], rounds: int, work: Path, n: int) -> None:
    for name, records in (("large", n), ("first", min(n, 20_000))):
        write_walks(work / name, records)
        (work / f"{name}.toml").write_text(LARGE_PLAN.format(path=name), encoding="utf-8")

    def run(checkout: Path, name: str = "large") -> Used:
        return tsveil(checkout, work, "run", f"{name}.toml", "--engine", "local", "--overwrite")

    compared(f"large: {n:,} x {POINTS}", checkouts, rounds, run, lambda checkout: run(checkout, "first"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="the other checkout")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each checkout; 7 when left out")
    parser.add_argument("--file", type=Path, metavar="CSV", help="another file for `command`")
    parser.add_argument("--large", type=int, nargs="?", const=1_000_000, metavar="RECORDS", help="large data too")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--what", choices=["small", "run"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(options.inside, options.what)
        return
    checkouts = {"before": options.before.resolve()} if options.before else {}
    checkouts["this checkout"] = PROJECT
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}; {options.rounds} rounds\n")
    print("| what | code | best CPU s | median | worst | peak MB | best / best before |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory(prefix="tsveil-before-after-") as folder:
        work = Path(folder)

        for what in ("small", "run"):

            def run(checkout: Path, what: str = what) -> Used:
                return small(checkout, work, what)

            compared(f"{what}: 2,000 x 12", checkouts, options.rounds, run, run)
        if options.large:
            compare_large(checkouts, min(options.rounds, LARGE_ROUNDS), work, options.large)
        compare_command(checkouts, options.rounds, work, options.file)


if __name__ == "__main__":
    main()
