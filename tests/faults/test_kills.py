"""A run that is killed at any moment leaves the old release intact or the new one complete, and the next run succeeds.

First at every chosen step (each call to the file system is one), so that every moment between two steps is met; then at random moments.
Five kills each in the suite; `make faults` makes more of the same: TSVEIL_KILLS of each kind, and half as many of sweeps, each of which takes a second and is run twice.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from faults.arena import KILLED, KILLS, Arena, contents, hidden, spread
from test_ledger import write_months
from tsveil.release.ledger import LEDGER, read_ledger


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with Arena(tmp_path_factory.mktemp("kills")) as one:
        yield one


def written(arena: Arena, folder: Path, version: int, how: str = "write") -> dict[str, object]:
    """The release of a version, from a run that was left alone."""
    ended = arena.do(how, folder, version)
    assert ended.code == 0, ended.output
    found = contents(folder)
    assert found is not None
    return found


def meters(folder: Path) -> None:
    """A small file to be protected."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"id": [f"h{i}" for i in range(24)]} | {str(t): rng.gamma(2, 1, 24).round(3) for t in range(8)}
    )
    frame.write_csv(folder / "meters.csv")


def test_write_killed_at_any_step_leaves_the_old_or_the_new_release(arena: Arena, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    new, old = written(arena, folder, 2), written(arena, folder, 1)
    assert new.keys() == old.keys()
    assert new != old
    steps = arena.do("write", folder, 1, folder=str(tmp_path)).steps
    assert steps is not None
    assert steps > 15
    seen = []
    for step in spread(steps, KILLS or 5):
        ended = arena.do("write", folder, 2, folder=str(tmp_path), at=step)
        assert ended.code == KILLED, ended.output
        found = contents(folder)
        assert found in (old, new), f"killed at step {step} of {steps}: {sorted(found or ())}"
        seen.append(found == new)
        if found == new:
            assert written(arena, folder, 1) == old
    assert set(seen) == {False, True}  # some kills left the old release, some the new one
    assert written(arena, folder, 2) == new
    assert hidden(tmp_path) == []


def test_the_first_write_killed_at_any_step_leaves_nothing_or_all(arena: Arena, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    new = written(arena, tmp_path / "other", 2)
    steps = arena.do("write", folder, 2, folder=str(tmp_path)).steps
    assert steps is not None
    for number, step in enumerate(spread(steps, KILLS or 5)):
        folder = tmp_path / f"release{number}"
        assert arena.do("write", folder, 2, folder=str(tmp_path), at=step).code == KILLED
        assert contents(folder) in (None, new), f"killed at step {step} of {steps}"
        assert written(arena, folder, 2) == new
    assert hidden(tmp_path) == []


def test_a_release_in_chunks_killed_at_any_step(arena: Arena, tmp_path: Path) -> None:
    """All original values lie in files while it is made: of those, too, nothing is left after the next run."""
    folder = tmp_path / "release"
    new, old = written(arena, folder, 2, "chunks"), written(arena, folder, 1, "chunks")
    assert new.keys() == old.keys()
    assert new != old
    steps = arena.do("chunks", folder, 1, folder=str(tmp_path)).steps
    assert steps is not None
    for step in spread(steps, KILLS or 5):
        assert arena.do("chunks", folder, 2, folder=str(tmp_path), at=step).code == KILLED
        found = contents(folder)
        assert found in (old, new), f"killed at step {step} of {steps}: {sorted(found or ())}"
        if found == new:
            assert written(arena, folder, 1, "chunks") == old
    assert written(arena, folder, 2, "chunks") == new
    assert hidden(tmp_path) == []


def test_run_killed_at_random_moments(arena: Arena, tmp_path: Path) -> None:
    meters(tmp_path)
    versions: list[dict[str, object] | None] = []
    for version in (1, 2):
        (tmp_path / f"{version}.toml").write_text(
            f'seed = {version}\nsecret = ""\n[input]\npath = "meters.csv"\n[method]\nname = "mdav"\nk = 3\n[output]\nfolder = "release"\n'
        )
        start = time.perf_counter()
        ended = arena.do("command", "run", tmp_path / f"{version}.toml", "--overwrite", folder=str(tmp_path))
        duration = time.perf_counter() - start
        assert ended.code == 0, ended.output
        versions.append(contents(tmp_path / "release"))
    # Where the moment falls depends on how busy the machine is; whatever it is, the release must be whole. Half of the
    # kills come at steps, which do not depend on it: without them most moments would lie before the writing.
    moments = random.Random(7)
    for number in range(KILLS or 5):
        fate = (
            {"after": moments.uniform(0, 1.1 * duration)}
            if number % 2
            else {"at": moments.randrange(1, ended.steps or 2)}
        )
        ended_so = arena.do("command", "run", tmp_path / "1.toml", "--overwrite", folder=str(tmp_path), **fate)
        assert ended_so.code in (KILLED, 0), ended_so.output
        assert contents(tmp_path / "release") in versions, fate
    assert arena.do("command", "run", tmp_path / "2.toml", "--overwrite", folder=str(tmp_path)).code == 0
    assert contents(tmp_path / "release") == versions[1]
    assert hidden(tmp_path) == []


def test_a_run_that_continues_a_release_killed_at_any_step(arena: Arena, tmp_path: Path) -> None:
    """The ledger and all releases are whole, and the next run continues."""
    write_months(tmp_path)
    for month in (1, 2):
        assert arena.do("command", "run", tmp_path / f"{month}.toml", folder=str(tmp_path)).code == 0
    before = [contents(tmp_path / f"2026-{month:02d}") for month in (1, 2)]
    whole = arena.do("command", "run", tmp_path / "3.toml", folder=str(tmp_path))
    assert whole.code == 0, whole.output
    assert whole.steps is not None
    new = contents(tmp_path / "2026-03")
    for step in spread(whole.steps, KILLS or 5):
        shutil.rmtree(tmp_path / "2026-03")
        assert arena.do("command", "run", tmp_path / "3.toml", folder=str(tmp_path), at=step).code == KILLED
        assert contents(tmp_path / "2026-03") in (None, new), f"killed at step {step} of {whole.steps}"
        assert [contents(tmp_path / f"2026-{month:02d}") for month in (1, 2)] == before
        again = arena.do("command", "run", tmp_path / "3.toml", "--overwrite", folder=str(tmp_path))
        assert again.code == 0, again.output
        assert contents(tmp_path / "2026-03") == new
        assert [one.path for one in read_ledger(tmp_path / "2026-03").releases] == ["../2026-01", "../2026-02", "."]
    assert hidden(tmp_path) == []


def test_a_ledger_killed_while_it_is_begun_or_marked(arena: Arena, tmp_path: Path) -> None:
    """A ledger that is begun is there or not; one that is marked says the old or the new."""
    write_months(tmp_path, 1)
    assert arena.do("command", "run", tmp_path / "1.toml", folder=str(tmp_path)).code == 0
    folder = tmp_path / "2026-01"
    files = [folder / LEDGER, folder / "private" / "ledger.parquet"]
    kept = [path.read_bytes() for path in files]
    mark = ("command", "ledger", "withdraw", folder, "--reason", "wrong")
    steps = arena.do(*mark, folder=str(tmp_path)).steps
    assert steps is not None
    for step in spread(steps, KILLS or 3):
        files[0].write_bytes(kept[0])
        arena.do(*mark, folder=str(tmp_path), at=step)
        assert read_ledger(folder).releases[-1].withdrawn in (None, "wrong")
    begin = ("command", "ledger", "adopt", folder, "--original", tmp_path / "1.csv")
    for path in files:
        path.unlink()
    steps = arena.do(*begin, folder=str(tmp_path)).steps
    assert steps is not None
    for step in spread(steps, KILLS or 3):
        files[0].unlink(missing_ok=True)
        arena.do(*begin, folder=str(tmp_path), at=step)
        if not files[0].exists():
            assert arena.do(*begin, folder=str(tmp_path)).code == 0
        assert len(read_ledger(folder).persons) == 60


SWEEP = """seed = 5
secret = ""
[input]
path = "meters.csv"
[sweep]
methods = ["mdav", "noise"]
[sweep.grid.mdav]
k = [3, 4]
[sweep.grid.noise]
sd = [0.1]
[evaluate]
models = ["ses"]
[output]
folder = "study"
"""


def results(folder: Path) -> dict[str, bytes]:
    """The finished configurations of a study."""
    return {path.name: path.read_bytes() for path in (folder / "results").glob("*.json")}


def figures(rows: dict[str, bytes]) -> dict[str, object]:
    """What finished configurations say, except for the time they took."""
    return {name: json.loads(row) | {"seconds": None} for name, row in rows.items()}


def test_sweep_killed_at_any_step_loses_nothing_that_was_finished(arena: Arena, tmp_path: Path) -> None:
    meters(tmp_path)
    study, plan = tmp_path / "study", tmp_path / "sweep.toml"
    plan.write_text(SWEEP)
    left_alone = arena.do("command", "sweep", plan, folder=str(study))
    assert left_alone.code == 0, left_alone.output
    assert left_alone.steps is not None
    whole, names = results(study), {path.name for path in study.rglob("*")}
    table = pl.read_parquet(study / "study.parquet").drop("seconds")
    assert len(whole) == len(table) == 3
    finished = set()
    half_written = left_alone.halves[:: max(1, len(left_alone.halves) // 2)]
    for step in sorted({*spread(left_alone.steps, KILLS // 2 or 4), *half_written}):
        shutil.rmtree(study)
        assert arena.do("command", "sweep", plan, folder=str(study), at=step).code == KILLED
        kept = results(study)
        finished.add(len(kept))
        # What has its name is whole; what was being written has none yet.
        assert figures(kept).items() <= figures(whole).items(), f"killed at step {step} of {left_alone.steps}"
        assert not (study / "study.json").exists() or json.loads((study / "study.json").read_text())["asked"] == 3
        if (study / "study.parquet").exists():
            assert pl.read_parquet(study / "study.parquet").drop("seconds").equals(table)
        if (study / "study.html").exists():
            assert (study / "study.html").read_text().rstrip().endswith("</html>")
        again = arena.do("command", "sweep", plan, folder=str(study))
        assert again.code == 0, again.output
        assert kept.items() <= results(study).items()  # to the byte, with the time it took: none was made twice
        assert pl.read_parquet(study / "study.parquet").drop("seconds").equals(table)
        assert {path.name for path in study.rglob("*")} == names  # nothing is left of the killed one
    assert len(finished) > 1
