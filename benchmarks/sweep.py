"""A sweep of all methods on 1000 series of 168 points: its time, whether it survives SIGKILL, and how well threads fill the cores.

    python benchmarks/sweep.py [RECORDS] [POINTS]

The sweep runs in a process of its own that is killed half-way and started again. CPU seconds divided by the cores are what an idle
machine needs at best; wall seconds include whatever else runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tsveil as tv
from tsveil.data.examples import load_curves
from tsveil.engine.local import cores
from tsveil.study.grids import choose_configurations


def data(n: int, points: int) -> tv.Dataset:
    return tv.Dataset.from_arrays({"load": load_curves(n).values[:, :points]})


def swept(n: int, points: int, folder: str, workers: int | None) -> None:
    """In a process of its own: tell every finished configuration."""
    tv.sweep(
        data(n, points), folder=folder, seed=1, workers=workers,
        on_progress=lambda done, total, label, left: print(done, total, label, flush=True),
    )  # fmt: skip


def run(
    n: int, points: int, folder: Path, workers: int | None = None, kill_at: int | None = None
) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and configurations that ran."""
    command = [sys.executable, __file__, str(n), str(points), str(folder), str(workers or 0)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ran = -1  # the first line tells what was there before
    for line in process.stdout:
        ran += 1
        if kill_at is not None and int(line.split()[0]) >= kill_at:
            process.send_signal(signal.SIGKILL)
            break
    process.stdout.close()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # waited for already
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, ran


def main() -> None:
    n, points = (int(word) for word in (sys.argv[1:3] or ("1000", "168")))
    if len(sys.argv) > 3:
        swept(n, points, sys.argv[3], int(sys.argv[4]) or None)
        return
    count = len(choose_configurations(data(n, points)))
    print(f"{count} configurations of all methods on {n} series of {points} points, {cores()} cores\n")
    print("| run | configurations run | wall s | CPU s | CPU s / cores |\n| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        def row(name: str, where: str, workers: int | None = None, kill_at: int | None = None) -> int:
            wall, cpu, ran = run(n, points, folder / where, workers, kill_at)
            print(f"| {name} | {ran} | {wall:.1f} | {cpu:.1f} | {cpu / cores():.1f} |", flush=True)
            return ran

        row("whole", "whole")
        row("killed half-way (SIGKILL)", "killed", kill_at=count // 2)
        kept = len(list((folder / "killed" / "results").glob("*.json")))
        again = row("the same again", "killed")
        row("once more: nothing left to do", "killed")
        row("whole, one thread", "single", workers=1)
        whole, resumed = (tv.Study.load(folder / name).table.drop("seconds") for name in ("whole", "killed"))
        print(
            f"\nkept {kept} + run again {again} = {count}: {'none repeated' if kept + again == count else 'REPEATED'}"
        )
        print(f"tables of the whole and of the killed sweep: {'equal' if whole.equals(resumed) else 'DIFFERENT'}")


if __name__ == "__main__":
    main()
