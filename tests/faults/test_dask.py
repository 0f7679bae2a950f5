"""Runs on Dask that are killed, asked to end, or meet another one: as in memory and in chunks, nothing is lost and nothing is left behind.

The cluster is another program and lives on; what a worker still has in hand when its client is gone must not come back to the folder.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from engine_files import two_workers, walks, write_files
from faults.arena import KILLED, KILLS, PLAN, Arena, check_stops, contents, hidden, spread


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with two_workers() as client:
        yield client.scheduler.address


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with Arena(tmp_path_factory.mktemp("dask")) as one:
        yield one


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with Arena(tmp_path_factory.mktemp("other")) as one:
        yield one


def test_a_run_on_dask_killed_at_any_step_leaves_the_old_or_the_new_release(
    arena: Arena, tmp_path: Path, scheduler: str
) -> None:
    folder, versions = tmp_path / "release", {}
    for version in (2, 1):
        ended = arena.do("chunks", folder, version, scheduler, folder=str(tmp_path))
        assert ended.code == 0, ended.output
        versions[version] = contents(folder)
    assert versions[1] != versions[2]
    ended = arena.do("chunks", folder, 1, scheduler, folder=str(tmp_path))
    assert ended.steps is not None
    there = 1
    for step in spread(ended.steps, KILLS or 5):
        killed = arena.do("chunks", folder, 3 - there, scheduler, folder=str(tmp_path), at=step)
        assert killed.code == KILLED, killed.output
        found = contents(folder)
        assert found in versions.values(), f"killed at step {step} of {ended.steps}: {sorted(found or ())}"
        there = 1 if found == versions[1] else 2
    # The next run finds the workers at work and removes what the killed ones left, private values among it.
    assert arena.do("chunks", folder, 3 - there, scheduler).code == 0
    assert contents(folder) == versions[3 - there]
    assert hidden(tmp_path) == []


def test_a_run_on_dask_that_is_asked_to_end_leaves_nothing_behind(arena: Arena, tmp_path: Path, scheduler: str) -> None:
    write_files(tmp_path / "in", pl.DataFrame(walks(60, 4, 1), schema=list("1234")), 2)
    run = f'chunk = 20\nengine = "dask"\nscheduler = "{scheduler}"'
    check_stops(arena, tmp_path, signal.SIGTERM, "in", run)


# The suite has two writers of releases in memory among the races; `make faults` has whole runs of every way.
@pytest.mark.parametrize("how", ["memory", "chunks", "dask"] if KILLS else ["dask"])
def test_of_two_runs_at_once_into_one_name_one_wins(
    arena: Arena, other: Arena, tmp_path: Path, how: str, request: pytest.FixtureRequest
) -> None:
    write_files(tmp_path / "in", pl.DataFrame(walks(60, 4, 1), schema=list("1234")), 2)
    run = {"memory": "", "chunks": 'chunk = 20\nengine = "local"', "dask": "chunk = 20"}[how]
    if how == "dask":
        run += f'\nengine = "dask"\nscheduler = "{request.getfixturevalue("scheduler")}"'
    alone = {}
    for seed in (1, 2):
        (tmp_path / f"{seed}.toml").write_text(PLAN.format(seed=seed, path="in", run=run))
        ended = arena.do("command", "run", tmp_path / f"{seed}.toml", "--overwrite")
        assert ended.code == 0, ended.output
        alone[seed] = contents(tmp_path / "release")
    for overwrite in (False, True):
        if not overwrite:
            (tmp_path / "release").rename(tmp_path / "before")
        words = ["--overwrite"] if overwrite else []
        with ThreadPoolExecutor(2) as pool:
            runs = [
                pool.submit(place.do, "command", "run", tmp_path / f"{seed}.toml", *words)
                for seed, place in ((1, arena), (2, other))
            ]
            ends = [run.result() for run in runs]
        codes = [end.code for end in ends]
        told = "\n".join(end.output for end in ends)
        # Without --overwrite one finds the name taken, before the work or after it; with it both may write, one after the other.
        assert codes in (([0, 0],) if overwrite else ([0, 2], [2, 0])), told
        assert "Traceback" not in told
        found = contents(tmp_path / "release")
        assert found in ([alone[1 + codes.index(0)]] if not overwrite else list(alone.values()))
        assert hidden(tmp_path) == []
