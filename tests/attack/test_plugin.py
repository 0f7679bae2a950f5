"""An attack of another package is one file and one line: it is listed, and runs in memory, in chunks and on engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tsveil as tv

ATTACK = Path(__file__).parents[1] / "plugin" / "equal_values.py"


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that has the package."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "equal_values.py").write_text(ATTACK.read_text(encoding="utf-8"), encoding="utf-8")
    info = folder / "someones_attacks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: someones-attacks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tsveil.attacks]\nequal_values = equal_values:EqualValues\n")
    places = [str(folder), str(Path(tv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def run(installed: dict[str, str], *words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tsveil", *map(str, words)], capture_output=True, text=True, env=installed, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_listed_and_runs_everywhere(installed: dict[str, str], tmp_path: Path) -> None:
    listed = {row["name"]: row for row in json.loads(run(installed, "attacks", "--json"))}
    assert listed["equal_values"]["figure"] == "EQLD"
    assert listed["equal_values"]["parameters"]["near"]["default"] == 0.0

    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.integers(0, 30, 90) for name in "abc"}).with_row_index("id", 1)
    frame.write_csv(tmp_path / "people.csv")
    plan = '[input]\npath = "people.csv"\nid = "id"\nblocks = { all = ["a", "b", "c"] }\n[method]\nname = "noise"\n'
    scores = []
    for engine, chunk in ((None, ""), ("local", "[run]\nchunk = 25\n")):
        path = tmp_path / f"{engine}.toml"
        path.write_text(f'seed = 3\nsecret = ""\n{plan}[output]\nfolder = "{engine}"\n{chunk}')
        found = json.loads(run(installed, "run", path, "--json", *(("--engine", engine) if engine else ())))
        scores.append(found["scores"])
        assert "linkage by equal values" in Path(found["report"]).read_text(encoding="utf-8")
    assert "EQLD" in scores[0]
    assert scores[0] == scores[1]

    people = tmp_path / "people.csv"
    tried = json.loads(run(installed, "attack", people, people, "--truth", "id", "--id", "id", "--json"))["attacks"]
    assert tried["equal_values"]["rate"] == pytest.approx(100.0)
