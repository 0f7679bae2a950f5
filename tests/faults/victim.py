"""A program that does what tsveil does, and is killed, starved or left without space while it does it.

It imports everything once, says that it is ready, and then runs each job of its input in a process of its own, so that a kill costs no
start of Python. A job is a line of JSON: what to do, and what happens to it. `at`: SIGKILL, or the signal `by`, at the i-th step, a step being a call to the
file system below the job's folder, or the moment when half of a small file is written. `after`: SIGKILL from outside after that many seconds. `file_size`, `memory`: limits of the
process, in bytes (of memory: beyond what it has).
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.optimize  # noqa: F401

sys.path.insert(0, str(Path(__file__).parents[1]))

import tsveil as tv
import tsveil.cli
import tsveil.plan.plan
import tsveil.plan.run
import tsveil.plan.sweep
import tsveil.report.figures
import tsveil.report.release
import tsveil.report.risk_map
from engine_files import walks, write_files
from tsveil.core.errors import TsveilError
from tsveil.data import disk
from tsveil.protect._mdav_exact import exact_groups
from tsveil.protect._refine import refined_groups

#: what Python tells of a program's dealings with files, before they happen
STEPS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.listdir", "shutil.rmtree")


def release(version: int) -> tv.Release:
    """A small release, different in every value from that of another version."""
    values = np.random.default_rng(version).gamma(2, 1, (24, 8)).round(3)
    data = tv.Dataset.from_arrays({"load": values}, ids=[f"h{i}" for i in range(24)])
    return tv.MDAV(k=3).protect(data, seed=version)


def write(folder: str, version: int, form: Any = "csv", uid: int | None = None) -> int:
    """Write a release over the one that is there; as another user, if one is given."""
    made = release(version)
    if uid is not None:
        os.setuid(uid)
    made.write(folder, overwrite=True, format=form, measures={"models": ["ses"]})
    return 0


def chunks(folder: str, version: int, scheduler: str | None = None) -> int:
    """Write a release in chunks over the one that is there; on Dask, if the address of a scheduler is given."""
    place = Path(folder).with_name(f"input{version}")
    if not place.exists():
        write_files(place, pl.DataFrame(walks(60, 4, version), schema=list("1234")), 2)
    plan = tsveil.plan.plan.Plan(
        input=tsveil.plan.plan.Input(path=str(place)),
        method={"name": "mdav", "k": 3},
        output=tsveil.plan.plan.Output(folder=folder),
        evaluate=tsveil.plan.plan.Evaluation(models=["ses"]),
        run=tsveil.plan.plan.Running(memory="1", chunk=20, engine="dask" if scheduler else None, scheduler=scheduler),
        seed=version,
        secret="",
    )
    tsveil.plan.run.run(plan, overwrite=True)
    return 0


def command(*words: str) -> int:
    """Run the command line."""
    try:
        tsveil.cli.main(words, prog_name="tsveil")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def draw() -> int:
    """Make the report of a release."""
    made = release(1)
    tsveil.report.release.report(made, tv.evaluate(made.original, made, models=["ses"]), made.verify(), public=True)
    return 0


def compile_anew(folder: str) -> int:
    """Compile a kernel whose cache is in a folder."""
    source = Path(folder) / "fresh.py"
    source.write_text("from tsveil._kernels.compiling import kernel\n@kernel\ndef twice(x):\n    return 2 * x\n")
    sys.path.insert(0, folder)
    print(__import__("fresh").twice(21.0))
    return 0


JOBS: dict[str, Callable[..., int]] = {
    "write": write,
    "chunks": chunks,
    "command": command,
    "draw": draw,
    "compile": compile_anew,
}


class Steps:
    """Counts calls to the file system below a folder, and ends the process at one of them."""

    def __init__(self, folder: str, at: int | None, by: int = signal.SIGKILL) -> None:
        self.folder, self.at, self.by, self.count = folder, at, by, 0
        #: the steps at which a file is half written
        self.halves: list[int] = []
        sys.addaudithook(self.heard)
        flush, exchange, rename_new = os.fsync, disk.exchange, disk.rename_new

        def counted_flush(fd: Any) -> None:
            self.step()
            flush(fd)

        def counted_exchange(one: Path, other: Path) -> bool:
            self.step()
            done = exchange(one, other)
            self.step()
            return done

        def counted_rename(folder: Path, final: Path) -> None:
            self.step()
            rename_new(folder, final)
            self.step()

        def in_halves(path: Path, content: bytes) -> int:
            with path.open("wb") as file:
                file.write(content[: len(content) // 2])
                file.flush()
                self.halves.append(self.count + 1)
                self.step()
                file.write(content[len(content) // 2 :])
            return len(content)

        Path.write_bytes = in_halves  # type: ignore[assignment]
        Path.write_text = lambda path, text, encoding="utf-8": in_halves(path, text.encode(encoding))  # type: ignore[assignment,misc]
        os.fsync = counted_flush
        tv.data.write.exchange = counted_exchange  # type: ignore[attr-defined]
        tv.data.write.rename_new = counted_rename  # type: ignore[attr-defined]

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit event."""
        if event in STEPS and (self.folder in str(arguments[0]) or (event == "os.remove" and arguments[-1] != -1)):
            self.step()

    def step(self) -> None:
        """One call."""
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), self.by)


def without_pictures() -> None:
    """Put words in the place of each picture: starting the program that draws them takes longer than all the rest of a job."""
    tsveil.report.figures.draw_svg = lambda spec: f"<svg><desc>{zlib.crc32(spec.encode())}</desc></svg>"  # type: ignore[assignment]


def do(job: dict[str, Any]) -> None:
    """Run a job in this process and end it."""
    if job["do"] != "draw":
        without_pictures()
    output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    code = 70
    try:
        steps = Steps(job["folder"], job.get("at"), job.get("by", signal.SIGKILL))
        if "file_size" in job:
            resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_size"], resource.RLIM_INFINITY))
        if "memory" in job:
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + job["memory"], resource.RLIM_INFINITY))
        code = JOBS[job["do"]](*job["words"])
        if "steps" in job:
            told = {"steps": steps.count, "halves": steps.halves}
            Path(job["steps"]).write_text(json.dumps(told))
    except TsveilError as error:
        print(f"{type(error).__name__}: {error}")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(child: int, after: float | None) -> int:
    """The exit code of a job, which is killed if it is still at work after `after` seconds."""
    until = None if after is None else time.monotonic() + after
    while until is not None:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if (left := until - time.monotonic()) <= 0:
            os.kill(child, signal.SIGKILL)
            break
        time.sleep(min(left, 0.01))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def load_kernels() -> None:
    """Load the machine code that every job needs; the first kernel of a process takes half a second."""
    values = np.random.default_rng(1).gamma(2, 1, (24, 8))
    refined_groups(values, exact_groups(values, 3), 3, "swap", np.random.default_rng(1))


def main() -> None:
    """Do job after job."""
    load_kernels()
    threads = {(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    # A fork keeps none of the threads: with a pool that has started, a job would wait for it for ever.
    assert not [name for name in threads if name.startswith("polars-") and not name.startswith("polars-ooc")], threads
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if not child:
            do(job)
        print(json.dumps(ended(child, job.get("after"))), flush=True)


if __name__ == "__main__":
    main()
