"""private/record.jsonl: who wrote a release, when, from what, with what verdict; and where a plan may write."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli import main
from tsveil.core.errors import PlanError

PLAN = '[input]\npath = "meters.csv"\n[method]\nname = "mdav"\nk = 3\n[evaluate]\nmodels = ["ses"]\n[output]\nfolder = "{folder}"\n'


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {"id": [f"Mx{i}q" for i in range(12)]} | {str(t): [i * 7 + t for i in range(12)] for t in range(4)}
    )
    place = tmp_path / "work"
    place.mkdir()
    frame.write_csv(place / "meters.csv")
    (place / "plan.toml").write_text(PLAN.format(folder="out"))
    return place / "plan.toml"


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "private" / "record.jsonl").read_text().splitlines()]


def test_each_release_adds_a_line(plan: Path) -> None:
    outcome = tv.run(plan)
    (first,) = lines(outcome.folder)
    published = outcome.folder / "published"
    assert first["input"] == "meters.csv"
    assert first["input_sha256"] == hashlib.sha256((plan.parent / "meters.csv").read_bytes()).hexdigest()
    assert first["plan_sha256"] == hashlib.sha256((outcome.folder / "private" / "plan.toml").read_bytes()).hexdigest()
    assert first["published_sha256"] == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in published.iterdir()
    }
    assert first["verdict"] == json.loads((outcome.folder / "private" / "assessment.json").read_text())["verdict"]
    assert first["version"] == tv.__version__
    again = tv.run(plan, overwrite=True)
    assert lines(again.folder)[0] == first
    assert len(lines(again.folder)) == 2
    data = tv.read(plan.parent / "meters.csv")
    tv.MDAV(k=3).protect(data).write(again.folder, overwrite=True, measures={"models": ["ses"]})
    assert len(lines(again.folder)) == 3


def test_the_record_has_no_data(plan: Path) -> None:
    text = (tv.run(plan).folder / "private" / "record.jsonl").read_text()
    assert not [i for i in range(12) if f"Mx{i}q" in text]
    assert "record.jsonl" not in str(list((plan.parent / "out" / "published").iterdir()))


@pytest.mark.parametrize("folder", ["../out", "/{base}/elsewhere", "x/../../out", "link/out"])
def test_a_plan_writes_inside_its_own_folder(plan: Path, folder: str) -> None:
    (plan.parent / "link").symlink_to(plan.parent.parent)
    plan.write_text(PLAN.format(folder=folder.format(base=str(plan.parent.parent).lstrip("/"))))
    with pytest.raises(PlanError, match="outside its own folder"):
        tv.run(plan)
    ended = CliRunner().invoke(main, ["run", str(plan)])
    assert ended.exit_code == 2
    assert "--anywhere" in ended.output
    assert sorted(path.name for path in plan.parent.parent.iterdir()) == ["work"]
    assert CliRunner().invoke(main, ["run", str(plan), "--anywhere"]).exit_code == 0


def test_a_path_that_was_typed_goes_anywhere(plan: Path) -> None:
    out = plan.parent.parent / "typed"
    ended = CliRunner().invoke(main, ["protect", str(plan.parent / "meters.csv"), "--out", str(out), "--k", "3"])
    assert ended.exit_code == 0
    assert out.is_dir()
