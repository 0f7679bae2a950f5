"""Reading CSV files against polars doing the same: wide tables, and long ones, which polars reads, sorts and pivots. CPU and wall time, and the peak of memory.

    python benchmarks/reading.py [--long ROWS] [--rounds 3] [--large]

Each reading is a process of its own, so that its peak of memory is its own; the two take turns and the best round counts. A long
file has hourly values of a week for ROWS / 168 meters. --large: a wide file of 1 GB and a long one of 50,000,000 rows instead, which want 16 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

HOURS = 168


def write_wide(path: Path, records: int, columns: int) -> None:
    """Records by columns of random numbers, with an identifier."""
    values = np.random.default_rng(1).gamma(2, 1, (records, columns)).round(3)
    frame = pl.DataFrame(values, schema=[f"{at}" for at in range(columns)])
    frame.insert_column(0, pl.Series("id", [f"m{at}" for at in range(records)])).write_csv(path)


def write_long(path: Path, rows: int) -> None:
    """A row per meter and hour, in the order of the hours."""
    meters = max(2, rows // HOURS)
    hours = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 7, 23), "1h", eager=True)
    frame = pl.DataFrame(
        {
            "time": np.repeat(hours.dt.strftime("%Y-%m-%dT%H:%M").to_numpy(), meters),
            "meter": np.tile(np.array([f"m{at}" for at in range(meters)]), HOURS),
            "load": np.random.default_rng(1).gamma(2, 1, meters * HOURS).round(3),
        }
    )
    frame.write_csv(path)


def read(who: str, path: Path) -> None:
    """Read a file by tsveil or by polars."""
    import tsveil as tv

    if who == "tsveil":
        assert tv.read(path, memory="1TB").n
    elif path.name.startswith("wide"):
        assert pl.read_csv(path).height
    else:
        table = pl.read_csv(path, try_parse_dates=True).sort("meter", "time")
        assert table.pivot(on="time", index="meter", values="load").height


def inside(who: str, path: Path) -> None:
    """In a process of its own: read a small file to get warm, then the file, and tell what that took."""
    kind = path.name.split("_")[0]
    read(who, path.with_name(f"{kind}_warm.csv"))
    start, wall = time.process_time(), time.perf_counter()
    read(who, path)
    print(json.dumps([time.process_time() - start, time.perf_counter() - wall, peak()]))


def peak() -> float:
    """The most memory that this process has had, in MB; unlike the figure of the system, without that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measured(who: str, path: Path) -> list[float]:
    """CPU and wall seconds, and the peak in MB."""
    done = subprocess.run([sys.executable, __file__, "--inside", who, str(path)], capture_output=True, check=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--long", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--inside", nargs=2)
    given = parser.parse_args()
    if given.inside:
        inside(given.inside[0], Path(given.inside[1]))
        return
    print(
        "| file | who | CPU s | wall s | peak MB | CPU, wall and peak, of polars |\n| --- | --- | ---: | ---: | ---: | ---: |"
    )
    with tempfile.TemporaryDirectory() as place:
        write_wide(Path(place, "wide_warm.csv"), 20, 20)
        write_long(Path(place, "long_warm.csv"), 20 * HOURS)
        wide = [(1_000_000, 168)] if given.large else [(200, 4000), (200, 8760)]
        rows = 50_000_000 if given.large else given.long
        files = {f"wide, {n:,} x {columns:,}": Path(place, f"wide_{columns}.csv") for n, columns in wide}
        for (n, columns), path in zip(wide, files.values(), strict=True):
            write_wide(path, n, columns)
        files[f"long, {rows:,} rows"] = Path(place, "long_file.csv")
        write_long(files[f"long, {rows:,} rows"], rows)
        for words, path in files.items():
            rounds = [[measured(who, path) for who in ("polars", "tsveil")] for _ in range(given.rounds)]
            theirs, ours = np.array(rounds).min(axis=0)
            print(f"| {words} | polars | {theirs[0]:.2f} | {theirs[1]:.2f} | {theirs[2]:,.0f} | |")
            ratios = ", ".join(f"{ratio:.2f}" for ratio in ours / theirs)
            print(f"| {words} | tsveil | {ours[0]:.2f} | {ours[1]:.2f} | {ours[2]:,.0f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
