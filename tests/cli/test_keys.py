"""From a file with keys to a verdict, on the command line: local suppression of keys alone, and beside load curves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from tsveil.cli import main
from tsveil.data.examples import example_frame

LABELS = ["--nominal", "dwelling,postcode,tariff"]
KEYS = ["--nominal", "sex,region,education", "--confidential", "wage"]


def run(*words: str, code: int = 0) -> str:
    """What a command prints."""
    found = CliRunner().invoke(main, [*map(str, words)])
    assert found.exit_code == code, found.output
    return found.output


def verdict_of(*words: str, code: int = 0) -> dict[str, Any]:
    """The verdict that a command gives to machines."""
    found = CliRunner().invoke(main, [*words, "--json"])
    assert found.exit_code == code, found.output
    assessment: dict[str, Any] = json.loads(found.stdout)["assessment"]
    return assessment


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated files as a user has them."""
    place = tmp_path_factory.mktemp("keys")
    example_frame("households").drop("heating").write_csv(place / "households.csv")
    example_frame("wages").write_csv(place / "wages.csv")
    return place


@pytest.mark.parametrize("method", ["local-suppression", "mdav"])
def test_households_with_keys_hold_by_one_command(folder: Path, method: str) -> None:
    out = folder / method
    found = verdict_of(
        "protect", str(folder / "households.csv"), "--out", str(out), "--method", method, "--k", "5", *LABELS
    )
    assert found["verdict"] == "holds"
    assert {check["status"] for check in found["checks"]} == {"holds"}
    facts = json.loads((out / "private/release.json").read_text())
    assert not facts["warnings"]
    table = pl.read_csv(out / "published/data.csv", infer_schema=False)
    assert table.group_by("dwelling", "postcode", "tariff").len()["len"].min() >= 5  # type: ignore[operator]


def test_wages_lose_the_least_number_of_cells(folder: Path) -> None:
    out = folder / "wages"
    words = run(
        "protect", str(folder / "wages.csv"), "--out", str(out), "--method", "local-suppression", "--k", "5", *KEYS
    )
    assert "239 of 9000 cells of keys were emptied, the least number" in words
    assert "HOLDS: Key anonymity" in words
    published = str(out / "published/data.csv")
    asked = ["--keys", "sex,region,education", "--confidential", "wage"]
    assert verdict_of("verify", published, "--key-anonymity", "5", *asked)["verdict"] == "holds"
    assert "at least 5 records" in run("verify", str(out))
    violated = run("verify", published, "--key-anonymity", "6", *asked, code=1)
    assert "shares their values with fewer than 6" in violated.replace("share their", "shares their")
    wildcards = run("verify", published, "--key-anonymity", "5", "--empty", "wildcard", *asked)
    assert "an empty cell may be anything" in wildcards


def test_the_plan_of_a_file_with_keys_accepts_what_the_promise_bounds(folder: Path) -> None:
    plan = folder / "keys.plan.toml"
    run("plan", str(folder / "wages.csv"), "-o", str(plan), "--method", "local-suppression", *KEYS)
    text = plan.read_text()
    assert 'accepted_risk = "1/5"' in text
    assert 'name = "local-suppression"' in text
    run("run", str(plan))
    loose = folder / "loose.plan.toml"
    loose.write_text(text.replace('empty = "strict"', 'empty = "wildcard"').replace("keys-release", "loose-release"))
    # Whoever is alone with their keys is found with a chance above the limit.
    assert verdict_of("run", str(loose), code=1)["verdict"] == "fails"


def test_inspect_names_the_cure(folder: Path) -> None:
    assert "together they single out 30 of 3000 rows; as labels, method local-suppression" in run(
        "inspect", str(folder / "wages.csv")
    )
