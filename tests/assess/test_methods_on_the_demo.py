"""Each method, planned with its defaults on the demo, ends in the verdict that the table in docs/verdict.md says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tsveil.assess.assessment import Outcome
from tsveil.cli import main
from tsveil.core.registry import METHODS
from tsveil.plan.run import demo_plan

PAGE = (Path(__file__).parents[2] / "docs" / "verdict.md").read_text(encoding="utf-8")
ROWS = {row[0]: row[1:] for row in re.findall(r"^\| (\S+) \| (HOLDS[^|]*?) \| ([^|]*?) \|$", PAGE, re.MULTILINE)}


def test_the_table_has_every_method() -> None:
    assert list(ROWS) == list(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_a_default_plan_ends_as_the_table_says(name: str, tmp_path: Path) -> None:
    raw, _ = demo_plan()
    raw.write_csv(tmp_path / "curves.csv")
    words = ["plan", str(tmp_path / "curves.csv"), "--method", name, "--confidential", "heating"]
    assert CliRunner().invoke(main, words).exit_code == 0
    made = CliRunner().invoke(main, ["run", str(tmp_path / "curves.plan.toml"), "--json"])
    assert made.exit_code == 0, made.output
    found = json.loads(made.stdout)["assessment"]
    verdict, checks = ROWS[name]
    assert Outcome(found["verdict"]).words == verdict
    assert ", ".join(check["name"] for check in found["checks"] if check["status"] != "holds") == checks
    assert all(check["status"] != "fails" for check in found["checks"])
