"""A run that is asked to end, by SIGTERM or SIGHUP, cleans up as after Ctrl+C: nothing private stays behind, and the old release is intact."""

from __future__ import annotations

import random
import signal
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from faults.arena import KILLS, Arena, contents, hidden

PLAN = """
seed = {seed}
secret = ""
[input]
path = "meters.parquet"
[method]
name = "mdav"
k = 3
[evaluate]
models = ["ses"]
[output]
folder = "release"
{run}
"""
RUNS = {"memory": "", "chunks": '[run]\nmemory = "1"\nchunk = 20\n'}


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with Arena(tmp_path_factory.mktemp("stops")) as one:
        yield one


@pytest.mark.parametrize("how", RUNS)
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_leaves_nothing_behind(
    arena: Arena, tmp_path: Path, how: str, by: signal.Signals
) -> None:
    values = np.random.default_rng(4).gamma(2, 1, (60, 6)).round(3)
    pl.DataFrame(values, schema=[str(t) for t in range(6)]).write_parquet(tmp_path / "meters.parquet")
    plan, folder = tmp_path / "plan.toml", tmp_path / "release"
    plan.write_text(PLAN.format(seed=1, run=RUNS[how]))
    assert tomllib.loads(plan.read_text())["seed"] == 1
    assert arena.do("command", "run", plan).code == 0
    old = contents(folder)
    plan.write_text(PLAN.format(seed=2, run=RUNS[how]))
    whole = arena.do("command", "run", plan, "--overwrite", folder=str(tmp_path))
    assert whole.code == 0, whole.output
    assert whole.steps is not None
    new = contents(folder)
    plan.write_text(PLAN.format(seed=1, run=RUNS[how]))
    assert arena.do("command", "run", plan, "--overwrite").code == 0
    assert contents(folder) == old
    plan.write_text(PLAN.format(seed=2, run=RUNS[how]))
    codes = set()
    moments = sorted(random.Random(by).sample(range(2, whole.steps + 1), min(30 if KILLS else 3, whole.steps - 1)))
    for step in moments:
        ended = arena.do("command", "run", plan, "--overwrite", folder=str(tmp_path), at=step, by=by)
        codes.add(ended.code)
        assert ended.code in (128 + by, 0), (step, ended.output)
        assert "Traceback" not in ended.output, ended.output
        assert contents(folder) in (old, new), f"stopped at step {step} of {whole.steps}"
        assert hidden(tmp_path) == [], f"stopped at step {step} of {whole.steps}"
        if ended.code and contents(folder) == old:
            assert "stopped; nothing was written" in ended.output
    assert 128 + by in codes
