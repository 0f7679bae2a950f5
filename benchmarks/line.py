"""The whole line as a user runs it: raw file to report, in a fresh process, with its time and peak memory.

    python benchmarks/line.py [FILE]

FILE is a file of time series; the bundled load curves (526 households, 336 hours) when left out and ../shared/data is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tsveil.data.examples import load_curves
from tsveil.data.write import as_frame

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "smart_meter.csv"


def measured(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory in MB of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(sys.argv[1]) if len(sys.argv) > 1 else REAL
        if not file.exists():
            file = Path(folder) / "load_curves.csv"
            as_frame(load_curves(526)).write_csv(file)
        run = [
            sys.executable,
            "-m",
            "tsveil",
            "protect",
            str(file),
            "--out",
            f"{folder}/out",
            "--k",
            "5",
            "--overwrite",
        ]
        print(f"tsveil protect {file.name} --k 5, from start to report\n")
        print("| run | wall s | CPU s | peak MB |\n| --- | ---: | ---: | ---: |")
        for name in ("first", "second", "third"):
            wall, cpu, memory = measured(run)
            print(f"| {name} | {wall:.2f} | {cpu:.2f} | {memory:.0f} |")
        wall, cpu, memory = measured([sys.executable, "-m", "tsveil", "--help"])
        print(f"| `tsveil --help` | {wall:.2f} | {cpu:.2f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
