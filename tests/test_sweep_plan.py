"""Sweeps from the command line: from a file, from a plan, again, and the plan of the winner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli import main
from tsveil.plan.plan import Plan
from tsveil.plan.sweep import SweepPlan


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(30, 8)).cumsum(axis=1) + 20).round(2)
    frame = pl.DataFrame({"who": [f"p{i}" for i in range(30)], **{str(t): x[:, t] for t in range(8)}})
    (tmp_path / "raw").mkdir()
    frame.write_csv(tmp_path / "raw" / "m.csv")
    return tmp_path


def tsveil(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == code, result.output
    return result.output


PLAN = """
[input]
path = "raw/m.csv"
id = "who"

[sweep]
methods = ["mdav", "rank-swap", "nlk"]

[sweep.grid.mdav]
k = [2, 3, 5]

[[sweep.grid.nlk]]
n = [2]
l = [4]
k = [3]

[sweep.grid.rank-swap]
p = [20]

[evaluate]
dr1 = "mean"

[output]
folder = "study"
title = "Which of these"
"""


def test_a_plan_is_swept_and_can_be_continued(here: Path) -> None:
    (here / "sweep.toml").write_text(PLAN)
    shown = tsveil("sweep", "sweep.toml")
    assert "5 configurations of 3 methods" in shown
    assert "tsveil recommend study" in shown
    study = tv.Study.load(here / "study")
    assert study.about["evaluate"] == {"dr1": "mean"}
    assert "Which of these" in (here / "study" / "study.html").read_text(encoding="utf-8")
    # The plan in the folder does the same from there, and finds everything done.
    before = {path: path.stat().st_mtime_ns for path in (here / "study" / "results").iterdir()}
    again = json.loads(tsveil("sweep", "study/sweep.toml", "--json"))
    assert again["configurations"] == 5
    assert {path: path.stat().st_mtime_ns for path in (here / "study" / "results").iterdir()} == before
    assert SweepPlan.load(here / "study" / "sweep.toml").input.path == "../raw/m.csv"


def test_a_file_is_swept_without_a_plan(here: Path) -> None:
    found = json.loads(tsveil("sweep", "raw/m.csv", "--out", "s", "--methods", "mdav,p-sensitive", "--json"))
    assert {row["label"].split()[0] for row in found["front"]} == {"mdav"}
    assert [row["label"] for row in found["failed"]] == ["p-sensitive k=5"]
    assert "confidential column" in found["failed"][0]["problem"]


def test_the_winner_has_a_plan_whose_release_has_the_figures_of_the_study(here: Path) -> None:
    tsveil("sweep", "raw/m.csv", "--out", "s", "--methods", "rank-swap")
    study = tv.Study.load("s")
    limit = float(study.table["risk"].median() or 0)  # type: ignore[arg-type]
    (here / "plans").mkdir()
    shown = tsveil("recommend", "s", "--max-risk", str(limit), "--plan", "plans/win.toml")
    best = study.recommend(max_risk=limit).best
    assert best is not None
    assert shown.startswith(best["label"])
    plan = Plan.load("plans/win.toml")
    assert plan.input.path == "../raw/m.csv"
    outcome = tv.run("plans/win.toml")
    figures: dict[str, Any] = json.loads(best["figures"])
    assert outcome.card.to_dict() == figures
    assert "exists already" in tsveil("recommend", "s", "--max-risk", str(limit), "--plan", "plans/win.toml", code=2)
    tsveil("recommend", "s", "--max-risk", str(limit), "--plan", "plans/win.toml", "--overwrite")


def test_nothing_fits_is_said_with_the_nearest_and_an_exit_code(here: Path) -> None:
    tsveil("sweep", "raw/m.csv", "--out", "s", "--methods", "mdav")
    shown = tsveil("recommend", "s", "--max-risk", "0", "--plan", "win.toml", code=1)
    assert shown.startswith("Nothing fits.")
    assert "Nearest comes mdav" in shown
    assert not (here / "win.toml").exists()
    found = json.loads(tsveil("recommend", "s", "--max-loss", "0", "--json", code=1))
    assert found["best"] is None
    assert found["nearest"]["method"] == "mdav"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "raw/m.csv"], "--out FOLDER"),
        (["sweep", "raw/m.csv", "--out", "s", "--methods", "mdva"], "there is no method 'mdva'"),
        (["sweep", "sweep.toml", "--out", "s"], "is a plan"),
        (["sweep", "raw/m.csv", "--out", "raw"], "other files and no study"),
        (["sweep", "bad.toml"], "puts its plan into the folder"),
        (["sweep", "nothing.csv", "--out", "s"], "nothing.csv"),
        (["recommend", "raw", "--max-risk", "5"], "no study in raw"),
        (["recommend", "raw"], "no study in raw"),
    ],
)
def test_what_cannot_be_done_is_told(here: Path, words: list[str], message: str) -> None:
    (here / "sweep.toml").write_text(PLAN)
    (here / "bad.toml").write_text(PLAN + "colour = 3\n")
    assert message in tsveil(*words, code=2)
    assert not (here / "s").exists()


def test_a_study_from_python_has_no_input_for_a_plan(here: Path) -> None:
    data = tv.read("raw/m.csv")
    tv.sweep(data, ["mdav"], {"mdav": {"k": [3]}}, folder="s")
    assert "does not say which file was swept" in tsveil(
        "recommend", "s", "--max-risk", "100", "--plan", "p.toml", code=2
    )
    assert not (here / "p.toml").exists()
    assert "needs a limit" in tsveil("recommend", "s", code=2)
