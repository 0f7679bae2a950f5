"""`tsveil check`: whether the release of a plan is still in order; and errors as documents for programs."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from tsveil.cli import main
from tsveil.plan.check import check_plan
from tsveil.plan.run import run

PLAN = """
seed = 3
[input]
path = "meters.csv"
id = "meter"
[method]
name = "mdav"
k = 4
[output]
folder = "out"
[context]
review_date = "2027-01-31"
[evaluate]
models = ["ses"]
"""


def tsveil(*words: object) -> Any:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    values = np.random.default_rng(1).normal(size=(24, 5)).round(3)
    frame = pl.DataFrame(values, schema=[f"2026-01-0{day}" for day in range(1, 6)])
    frame.insert_column(0, pl.Series("meter", [f"m{row}" for row in range(24)])).write_csv(folder / "meters.csv")
    (folder / "plan.toml").write_text(PLAN)
    run(folder / "plan.toml")
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "place")
    return tmp_path / "place"


def problems(place: Path, **options: Any) -> list[str]:
    return check_plan(place / "plan.toml", today=date(2026, 11, 19), **options).problems


def test_a_release_in_order(place: Path) -> None:
    assert problems(place) == []
    shown = tsveil("check", place / "plan.toml")
    assert shown.exit_code == 0
    assert "In order." in shown.output
    found = json.loads(tsveil("check", place / "plan.toml", "--json").stdout)
    assert found["in_order"]
    assert found["assessment"]["verdict"] in ("holds", "warns")


def test_there_is_no_release_yet(place: Path) -> None:
    shutil.rmtree(place / "out")
    assert problems(place) == ["there is no release yet"]
    shown = tsveil("check", place / "plan.toml", "--json")
    assert shown.exit_code == 1
    assert json.loads(shown.stdout)["assessment"] is None


def test_a_review_that_is_due(place: Path) -> None:
    assert check_plan(place / "plan.toml", today=date(2027, 1, 30)).problems == []
    assert check_plan(place / "plan.toml", today=date(2027, 1, 31)).problems == ["review on 2027-01-31, today"]
    assert check_plan(place / "plan.toml", today=date(2027, 2, 1)).problems == [
        "review was due on 2027-01-31, 1 day ago"
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("k = 4", "k = 5"),
        ('id = "meter"', 'id = "meter"\nmissing = "drop"'),
        ("[context]", "[limits]\naccepted_risk = 0.5\n[context]"),
    ],
)
def test_a_plan_that_was_changed(place: Path, before: str, after: str) -> None:
    (place / "plan.toml").write_text(PLAN.replace(before, after))
    assert "the plan was changed since the release was made" in problems(place)


def test_what_the_report_says_may_change(place: Path) -> None:
    (place / "plan.toml").write_text(
        PLAN.replace("2027-01-31", "2028-01-31").replace("[context]", '[context]\npurpose = "research"')
    )
    assert problems(place) == []


def test_other_data(place: Path) -> None:
    text = (place / "meters.csv").read_text()
    (place / "meters.csv").write_text(text.replace("m3,", "m33,"))
    assert problems(place) == ["the data in meters.csv are not those that the release was made from"]
    (place / "meters.csv").unlink()
    assert problems(place) == ["the data are not at meters.csv"]


def test_published_files_that_were_changed(place: Path) -> None:
    data = place / "out" / "published" / "data.csv"
    lines = data.read_text().splitlines()
    name, _, *rest = lines[1].split(",")
    data.write_text("\n".join([lines[0], ",".join([name, "99.5", *rest]), *lines[2:]]) + "\n")
    found = problems(place)
    assert any(problem.startswith("promise: FAILS") for problem in found)
    assert tsveil("check", place / "plan.toml").exit_code == 1
    data.write_text("meter\n")
    assert problems(place)
    data.unlink()
    assert problems(place)


def test_nothing_is_written(place: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    problems(place)
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


# -- errors as documents ------------------------------------------------------------------------------------------------


def test_errors_are_documents_with_json(place: Path) -> None:
    (place / "bad.toml").write_text(PLAN.replace("[output]", "[ouput]").replace("path =", "paht ="))
    for words in (["run", place / "bad.toml", "--json"], ["check", "--json", place / "bad.toml"]):
        shown = tsveil(*words)
        assert shown.exit_code == 2
        found = json.loads(shown.stdout)
        assert found["exit_code"] == 2
        assert found["kind"] == "PlanError"
        assert len(found["problems"]) >= 3
        assert "error: " in shown.stderr
    assert tsveil("run", place / "bad.toml").stdout == ""


def test_a_verdict_that_stops_a_release_is_a_document(place: Path) -> None:
    (place / "bad.toml").write_text(PLAN.replace("[context]", "[limits]\naccepted_risk = 0.001\n[context]"))
    shown = tsveil("run", place / "bad.toml", "--overwrite", "--json")
    assert shown.exit_code == 1
    assert json.loads(shown.stdout)["folder"] is None
