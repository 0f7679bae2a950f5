"""The side of the fault tests that gives the jobs to `victim` and looks at what is left of them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from release_folders import ledger_without_times

#: how many kills each kill test makes, if not its own number; `make faults` sets it
KILLS = int(os.environ.get("TSVEIL_KILLS", "0"))
KILLED = -9

PLAN = """
seed = {seed}
secret = ""
[input]
path = "{path}"
[method]
name = "mdav"
k = 3
[evaluate]
models = ["ses"]
[output]
folder = "release"
[run]
{run}
"""


@dataclass(frozen=True)
class Ended:
    """How a job ended: its exit code (KILLED when it was), and what it printed."""

    code: int
    output: str
    #: calls to the file system, when it came to its end
    steps: int | None = None
    #: those at which a small file is half written
    halves: tuple[int, ...] = ()


class Arena:
    """A victim at work in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "COLUMNS": "200"}
        environment |= {"TSVEIL_THREADS": "1"}  # so that steps come in one order
        self.victim = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("victim.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.victim.stdin is not None
        assert self.victim.stdout is not None
        self.victim.stdin.close()
        self.victim.wait(timeout=60)
        self.victim.stdout.close()

    def _answer(self) -> Any:
        assert self.victim.stdout is not None
        return json.loads(self.victim.stdout.readline())

    def do(self, what: str, *words: object, **fate: Any) -> Ended:
        """Run a job to its end."""
        output, steps = self.folder / "output.txt", self.folder / "steps.txt"
        for old in (output, steps):
            old.unlink(missing_ok=True)
        job = {"do": what, "words": [str(w) if isinstance(w, Path) else w for w in words], "folder": str(self.folder)}
        assert self.victim.stdin is not None
        self.victim.stdin.write(json.dumps({**job, "output": str(output), "steps": str(steps), **fate}) + "\n")
        self.victim.stdin.flush()
        code = self._answer()
        said = output.read_text() if output.exists() else ""
        if not steps.exists():
            return Ended(code, said)
        told = json.loads(steps.read_text())
        return Ended(code, said, told["steps"], tuple(told["halves"]))


def contents(folder: Path) -> dict[str, object] | None:
    """Everything in a folder, except for who wrote it when; None when there is no folder."""
    if not folder.exists():
        return None
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "release.json":
            facts = json.loads(path.read_text())
            facts.pop("written")
            found[str(path.relative_to(folder))] = facts
        elif path.name == "ledger.json":
            found[str(path.relative_to(folder))] = ledger_without_times(path.read_bytes())
        elif path.is_file() and path.name != "record.jsonl":
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def hidden(folder: Path) -> list[str]:
    """What was left beside the release."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def spread(steps: int, count: int) -> list[int]:
    """`count` steps of 1..steps, evenly, with the last ones (where names change) among them; over and over if there are more."""
    if count >= steps:
        return [1 + at % steps for at in range(count)]
    last = count // 2
    return sorted(
        {*np.linspace(1, steps - last, count - last).astype(int).tolist(), *range(steps - last + 1, steps + 1)}
    )


def check_stops(arena: Arena, folder: Path, by: signal.Signals, path: str, run: str) -> None:
    """A run that replaces a release is asked to end at random steps: the old or the new release is there, and nothing else."""
    plan, release = folder / "plan.toml", folder / "release"
    versions = {}
    for seed in (2, 1):
        plan.write_text(PLAN.format(seed=seed, path=path, run=run))
        whole = arena.do("command", "run", plan, "--overwrite", folder=str(folder))
        assert whole.code == 0, whole.output
        versions[seed] = contents(release)
    assert versions[1] != versions[2]
    assert whole.steps is not None
    plan.write_text(PLAN.format(seed=2, path=path, run=run))
    codes = set()
    for step in sorted(random.Random(by).sample(range(2, whole.steps + 1), min(30 if KILLS else 3, whole.steps - 1))):
        ended = arena.do("command", "run", plan, "--overwrite", folder=str(folder), at=step, by=by)
        codes.add(ended.code)
        assert ended.code in (128 + by, 0), (step, ended.output)
        assert "Traceback" not in ended.output, ended.output
        assert contents(release) in versions.values(), f"stopped at step {step} of {whole.steps}"
        assert hidden(folder) == [], f"stopped at step {step} of {whole.steps}"
        if ended.code and contents(release) == versions[1]:
            assert "stopped; nothing was written" in ended.output
    assert 128 + by in codes
