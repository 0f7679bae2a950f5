"""Files on which an earlier version said HOLDS in green although they protected nobody: each ends in a question, a refusal or a warning."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from tsveil.cli import main


def tsveil(*words: object) -> Result:
    return CliRunner().invoke(main, list(map(str, words)))


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Days of 33 users, a row each."""
    rng = np.random.default_rng(1)
    rows = []
    for user in range(33):
        usual = rng.gamma(2, 1000, 3)
        rows += [
            (4388161847 + user, f"4/{day}/2016", *np.round(usual * rng.gamma(5, 0.2, 3), 2)) for day in range(1, 29)
        ]
    path = tmp_path / "days.csv"
    pl.DataFrame(rows, schema=["Id", "ActivityDate", "Steps", "Calories", "Distance"], orient="row").write_csv(path)
    return path


@pytest.mark.parametrize("command", ["inspect", "plan", "protect"])
def test_days_of_users_are_asked_about(days: Path, tmp_path: Path, command: str) -> None:
    found = tsveil(
        command, days, "--leave-out", "ActivityDate", *(["-o", tmp_path / "out"] if command == "protect" else [])
    )
    assert found.exit_code == 2
    assert "has several rows for the same 'Id'" in found.output
    assert "--person Id" in found.output
    assert "HOLDS" not in found.output
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("*.plan.toml"))


def test_days_of_users_with_their_dates_are_series_of_the_users(days: Path) -> None:
    found = tsveil("inspect", days)
    assert found.exit_code == 0
    assert "Ready: Dataset: 33 records; series 'Steps' (28 points)" in found.output


def test_the_next_command_repeats_the_answer(days: Path) -> None:
    found = tsveil("inspect", days, "--person", "Id", "--leave-out", "ActivityDate")
    assert found.exit_code == 0
    assert "33 persons with 28.0 records each on average; k will count persons" in found.output
    assert f"Next: tsveil plan {days} --person Id --leave-out ActivityDate" in found.output


def test_a_table_with_a_column_per_person_is_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    hours = [f"2013-01-0{day}" for day in range(1, 9)]
    frame = pl.DataFrame({"day": hours, **{f"MAC{at:06d}": rng.gamma(2, 1, 8) for at in range(2, 547)}})
    frame.write_csv(tmp_path / "wide.csv")
    found = tsveil("protect", tmp_path / "wide.csv", "-o", tmp_path / "out")
    assert found.exit_code == 2
    assert "--transpose" in found.output
    assert not (tmp_path / "out").exists()
    assert "545 records" in tsveil("inspect", tmp_path / "wide.csv", "--transpose").output


@pytest.fixture
def two_series(tmp_path: Path) -> Path:
    """Two series of each of 60 households, which have little to do with each other."""
    rng = np.random.default_rng(3)
    columns = {f"{kind}.2020-01-0{day}": rng.normal(size=60) for kind in ("power", "gas") for day in range(1, 6)}
    path = tmp_path / "two.csv"
    pl.DataFrame({"household": [f"h{at}" for at in range(60)], **columns}).write_csv(path)
    return path


def test_two_series_grouped_one_by_one_end_in_a_warning(two_series: Path, tmp_path: Path) -> None:
    words = ("protect", two_series, "-o", tmp_path / "out", "--k", 5, "--grouping", "per-block")
    found = tsveil(*words)
    assert found.exit_code == 0
    first = next(line for line in found.output.splitlines() if line.startswith("HOLDS"))
    assert first.startswith("HOLDS, WITH WARNINGS: ")
    assert "of 60 records are unique over all protected columns together" in first
    strict = tsveil(*words, "--strict", "--overwrite")
    assert strict.exit_code == 1
    assert "whole-record" in strict.output


def test_a_plan_for_two_series_starts_with_whole_records(two_series: Path, tmp_path: Path) -> None:
    assert tsveil("plan", two_series).exit_code == 0
    plan = (tmp_path / "two.plan.toml").read_text()
    assert 'grouping = "joint"' in plan
    assert 'accepted_risk = "1/5"' in plan
    found = tsveil("run", tmp_path / "two.plan.toml", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["assessment"]["verdict"] == "holds"


def test_a_plan_whose_promise_bounds_nobody_asks_for_a_limit(two_series: Path, tmp_path: Path) -> None:
    assert tsveil("plan", two_series, "--method", "noise").exit_code == 0
    plan = (tmp_path / "two.plan.toml").read_text()
    assert "does not bound who is found" in plan
    assert "# accepted_risk = 10" in plan


def test_an_accepted_risk_that_is_exceeded_stops_the_release(two_series: Path, tmp_path: Path) -> None:
    tsveil("plan", two_series)
    plan = tmp_path / "two.plan.toml"
    plan.write_text(plan.read_text().replace('accepted_risk = "1/5"', "accepted_risk = 10.0"))
    found = tsveil("run", plan)
    assert found.exit_code == 1
    assert "accepted-risk: FAILS" in found.output
    assert "at most 10 % is accepted" in found.output
    assert not (tmp_path / "two-release").exists()
    refused = tsveil("run", plan, "--json")
    assert refused.exit_code == 1
    printed = json.loads(refused.stdout)
    assert printed["folder"] is None
    assert "accepted-risk: FAILS" in printed["error"]
    allowed = tsveil("run", plan, "--allow", "accepted-risk")
    assert allowed.exit_code == 0
    assert "NOT SAFE TO PUBLISH" in allowed.output
    assert "did not pass" in (tmp_path / "two-release" / "published" / "report.html").read_text()
    document = json.loads((tmp_path / "two-release" / "private" / "assessment.json").read_text())
    assert document["verdict"] == "fails"
    assert document["allowed"] == ["accepted-risk"]
    # The figures are those of the run that was refused; its numbers depend on a seed that was drawn, its checks do not.
    assert printed["assessment"]["verdict"] == "fails"
    assert [(one["name"], one["status"]) for one in printed["assessment"]["checks"]] == [
        (one["name"], one["status"]) for one in document["checks"]
    ]
    assert printed["assessment"]["allowed"] == []


def test_a_check_that_does_not_exist_cannot_be_allowed(two_series: Path, tmp_path: Path) -> None:
    found = tsveil("protect", two_series, "-o", tmp_path / "out", "--allow", "everything")
    assert found.exit_code == 2
    assert "there is no check 'everything'" in found.output


def test_an_intruder_who_knows_less_is_declared(two_series: Path, tmp_path: Path) -> None:
    found = tsveil("protect", two_series, "-o", tmp_path / "out", "--k", 5, "--intruder", "part", "--json")
    document = json.loads(found.stdout)["assessment"]
    assert document["risk"]["intruder"] == "part"
    assert {one["rung"] for one in document["ladder"]} == {"part", "person", "share", "file"}
    file = next(one for one in document["ladder"] if one["rung"] == "file")
    assert document["risk"]["rate"] <= file["rate"]


def test_replay_is_the_share_of_distinct_rows(two_series: Path, tmp_path: Path) -> None:
    for grouping in ("joint", "per-block"):
        out = tmp_path / grouping
        document = json.loads(
            tsveil("protect", two_series, "-o", out, "--k", 5, "--grouping", grouping, "--json").stdout
        )["assessment"]
        published = pl.read_csv(out / "published" / "data.csv").drop("household")
        replay = next(one for one in document["ladder"] if one["attack"] == "replay")
        assert replay["rate"] == pytest.approx(100 * published.n_unique() / published.height)
        assert all(one["rate"] <= replay["rate"] + 1e-9 for one in document["ladder"])
