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
from tsveil.assess.limits import Intruder
from tsveil.cli import main
from tsveil.plan.plan import Input, Output, Plan
from tsveil.plan.sweep import StudyFolder, SweepOptions, SweepPlan, plan_of, run_sweep


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


# -- the risk of a study is the risk of the verdict --------------------------------------------------------------------

METHODS_OF = {
    "series": ["mdav", "nlk", "kp", "k-envelopes", "noise", "rank-swap"],
    "blocks": ["mdav", "projected", "optimal-univariate", "mic1d", "v-mdav", "rank-swap", "noise"],
    "persons": ["mdav"],
}


def table_of(kind: str) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    if kind == "series":
        x = (rng.normal(size=(60, 14)).cumsum(axis=1) + 20).round(2)
        return pl.DataFrame({"who": [f"p{i}" for i in range(60)], **{str(t): x[:, t] for t in range(14)}})
    values = {name: rng.gamma(2.0, 10.0, size=60).round(2) for name in ("a", "b", "c", "d")}
    named = {"who": [f"p{i // 3}" for i in range(60)]} if kind == "persons" else {}
    return pl.DataFrame(named | values | {"ill": rng.choice(["yes", "no", "unknown"], size=60)})


INPUTS: dict[str, dict[str, Any]] = {
    "series": {"id": "who"},
    "blocks": {"blocks": {"x": ["a", "b"], "y": ["c", "d"]}, "confidential": ["ill"]},
    "persons": {"person": ["who"], "blocks": {"x": ["a", "b", "c", "d"]}, "confidential": ["ill"]},
}


@pytest.mark.parametrize("kind", METHODS_OF)
@pytest.mark.parametrize("knows", ["part", "person", "file"])
def test_a_study_has_the_risk_that_a_run_of_its_plan_writes(tmp_path: Path, kind: str, knows: Any) -> None:
    table_of(kind).write_csv(tmp_path / "m.csv")
    made = SweepPlan(
        input=Input(path="m.csv", **INPUTS[kind]),
        sweep=SweepOptions(methods=METHODS_OF[kind]),
        output=StudyFolder(folder="study"),
        intruder=Intruder(knows=knows, knows_carried=["ill"] if kind == "blocks" else []),
    )
    made.sweep.grid = {name: {} for name in made.sweep.methods}
    study = run_sweep(made, base=tmp_path)
    for row in study.table.to_dicts():
        assert row["problem"] is None, row["problem"]
        plan = plan_of(study, row, None, input=made.input, output=Output(folder=row["method"]))
        outcome = tv.run(plan, base=tmp_path)
        written = json.loads((outcome.folder / "private" / "assessment.json").read_text())
        risk = written["risk"]
        assert (risk["rate"], risk["high"], risk["attack"]) == (row["risk"], row["high"], row["attack"])
        assert risk["intruder"] == row["intruder"] == knows
        assert written["ladder"] == json.loads(row["ladder"])
        assert written["verdict"] in ("holds", "warns")


def test_another_intruder_needs_no_other_sweep(here: Path) -> None:
    tsveil("sweep", "raw/m.csv", "--out", "s", "--methods", "noise,mdav", "--intruder", "person", "--seed", "5")
    weak = tv.Study.load("s")
    assert set(weak.table["intruder"]) == {"person"}
    strong = json.loads(tsveil("recommend", "s", "--max-loss", "100", "--intruder", "file", "--json"))
    assert strong["best"]["intruder"] == "file"
    assert tv.Study.load("s").against("file").recommend(max_loss=100).best == strong["best"]
    before = {path: path.stat().st_mtime_ns for path in (here / "s" / "results").iterdir()}
    tsveil("sweep", "raw/m.csv", "--out", "s", "--methods", "noise,mdav", "--intruder", "file")
    assert {path: path.stat().st_mtime_ns for path in (here / "s" / "results").iterdir()} == before
    assert tv.Study.load("s").table.equals(weak.against("file").table)
    shown = tsveil("recommend", "s", "--max-risk", "100", "--intruder", "part")
    assert "against an intruder who knows some values of a person" in " ".join(shown.split())


@pytest.mark.parametrize(("k", "limit", "written"), [(5, "50", "1/5"), (5, "20", "1/5"), (4, "24.5", 24.5)])
def test_the_plan_of_the_winner_accepts_the_stricter_of_limit_and_promise(
    here: Path, k: int, limit: str, written: Any
) -> None:
    (here / "sweep.toml").write_text(
        f'[input]\npath = "raw/m.csv"\n[sweep]\nmethods = ["mdav"]\n[sweep.grid.mdav]\nk = [{k}]\n[output]\nfolder = "s"\n'
    )
    tsveil("sweep", "sweep.toml")
    tsveil("recommend", "s", "--max-risk", limit, "--plan", "win.toml")
    plan = Plan.load("win.toml")
    assert plan.limits.accepted_risk == written
    found = json.loads(tsveil("run", "win.toml", "--json"))["assessment"]
    assert found["verdict"] == "holds"
    assert found["risk"]["rate"] == tv.Study.load("s").table["risk"][0]


def test_without_a_bound_the_plan_has_the_limit_that_was_asked_for(here: Path) -> None:
    tsveil("sweep", "raw/m.csv", "--out", "s", "--methods", "noise", "--seed", "5")
    tsveil("recommend", "s", "--max-risk", "99.5", "--plan", "win.toml")
    assert Plan.load("win.toml").limits.accepted_risk == 99.5
    checks = {c["name"]: c for c in json.loads(tsveil("run", "win.toml", "--json"))["assessment"]["checks"]}
    assert checks["accepted-risk"]["status"] == "holds"


def test_an_intruder_who_knows_no_carried_column_is_refused_before_the_work(here: Path) -> None:
    (here / "sweep.toml").write_text(PLAN + '[intruder]\nknows_carried = ["town"]\n')
    assert "knows_carried names 'town', which is no carried column" in tsveil("sweep", "sweep.toml", code=2)


def test_a_study_with_the_risk_of_an_earlier_version_is_not_mixed_with_new_rows(here: Path) -> None:
    words = ("sweep", "raw/m.csv", "--out", "s", "--methods", "mdav", "--seed", "5")
    tsveil(*words)
    new = tv.Study.load("s").table.drop("seconds")
    # As version 0.1 left it: no intruder, no ladder, another risk.
    about = json.loads((here / "s" / "study.json").read_text())
    del about["intruder"]
    (here / "s" / "study.json").write_text(json.dumps(about))
    gone = ("high", "intruder", "bound", "stopped", "ladder")
    for path in (here / "s" / "results").iterdir():
        row = {name: value for name, value in json.loads(path.read_text()).items() if name not in gone}
        path.write_text(json.dumps(row | {"risk": 1.0}))
    pl.read_parquet("s/study.parquet").drop(gone).with_columns(risk=1.0).write_parquet("s/study.parquet")
    assert "an earlier version, whose risk was a mean" in tsveil("recommend", "s", "--max-risk", "20", code=2)
    tsveil(*words)
    assert tv.Study.load("s").table.drop("seconds").equals(new)
