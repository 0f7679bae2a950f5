"""The schema of plans accepts every plan that reading accepts, and refuses what reading refuses."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from tsveil.cli import main
from tsveil.cli.making import plan_comments
from tsveil.core.errors import PlanError
from tsveil.core.registry import METHODS
from tsveil.plan.plan import Plan, TomlPlan
from tsveil.plan.run import demo_plan
from tsveil.plan.schema import schema
from tsveil.plan.sweep import SweepPlan

ROOT = Path(__file__).resolve().parents[1]
GOOD = {"input": {"path": "a.csv"}, "method": {"name": "mdav", "k": 3}, "output": {"folder": "out"}}
SWEEP = {"input": {"path": "a.csv"}, "sweep": {"grid": {"mdav": {"k": [3, 5]}}}, "output": {"folder": "out"}}


def accepts(plan: type[TomlPlan], tables: dict[str, Any]) -> bool:
    return not list(Draft202012Validator(schema(plan)).iter_errors(tables))


def plans_of_the_docs() -> list[tuple[str, str]]:
    found = []
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        for block in re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            if {"input", "method", "output"} <= set(tomllib.loads(block)):
                found.append((page.name, block))
    return found


def test_the_schema_is_one() -> None:
    for plan in (Plan, SweepPlan):
        Draft202012Validator.check_schema(schema(plan))


def test_real_plans_fit() -> None:
    found = plans_of_the_docs()
    assert found
    for page, text in found:
        assert accepts(Plan, tomllib.loads(text)), page
    _, demo = demo_plan()
    assert accepts(Plan, tomllib.loads(demo.to_toml(plan_comments(demo))))
    assert accepts(SweepPlan, SWEEP)
    assert accepts(SweepPlan, tomllib.loads(SweepPlan.from_toml(tomlish(SWEEP)).to_toml()))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_with_its_defaults(name: str) -> None:
    settings = {key: value for key, value in METHODS[name]().settings().items() if value is not None}
    tables = {**GOOD, "method": {"name": name, **settings}}
    assert accepts(Plan, tables)
    Plan.from_toml(tomlish(tables))
    assert not accepts(Plan, {**GOOD, "method": {"name": name, **settings, "no_parameter": 1}})


WRONG: dict[str, dict[str, Any]] = {
    "another version": {"version": 2},
    "a text for a version": {"version": "1"},
    "an unknown section": {"ouput": {"folder": "x"}},
    "an unknown key": {"output": {"folder": "out", "titel": "x"}},
    "a key of the wrong kind": {"input": {"path": 3}},
    "a word that is none of the choices": {"input": {"path": "a", "missing": "skip"}},
    "no path": {"input": {}},
    "no name": {"method": {"k": 3}},
    "no such method": {"method": {"name": "mdva"}},
    "a parameter of another method": {"method": {"name": "mdav", "sigma": 1.0}},
    "a parameter out of range": {"method": {"name": "mdav", "k": 1}},
    "a parameter that is none of the choices": {"method": {"name": "mdav", "distance": "far"}},
}


@pytest.mark.parametrize("what", WRONG)
def test_what_reading_refuses_does_not_fit(what: str) -> None:
    tables = {**GOOD, **WRONG[what]}
    assert not accepts(Plan, tables)
    with pytest.raises(PlanError):
        Plan.from_toml(tomlish(tables))


def test_wrong_plans_of_sweeps_do_not_fit() -> None:
    assert not accepts(SweepPlan, {**SWEEP, "sweep": {"method": "mdav"}})
    assert not accepts(SweepPlan, {**SWEEP, "output": {"folder": "b", "format": "csv"}})
    assert not accepts(SweepPlan, GOOD)


def tomlish(tables: dict[str, Any]) -> str:
    from tsveil.core.toml import toml_text

    return toml_text(tables)


def test_the_command_prints_it() -> None:
    for words, plan in ((["schema"], Plan), (["schema", "--sweep"], SweepPlan)):
        assert json.loads(CliRunner().invoke(main, words).output) == schema(plan)


def test_a_newer_plan_is_refused_before_its_keys_are_called_wrong() -> None:
    with pytest.raises(PlanError) as caught:
        Plan.from_toml("version = 2\n[wish]\nall = true\n", "plan.toml")
    assert str(caught.value).splitlines() == [
        "plan.toml cannot be used: it is a plan of version 2, and this tsveil reads version 1",
        "  options: the tsveil that the plan was written for, or a newer one",
    ]


def test_plans_are_written_with_their_version() -> None:
    assert Plan.from_toml(tomlish(GOOD)).to_toml().startswith("version = 1\n")
    assert Plan.from_toml(tomlish(GOOD)) == Plan.from_toml(tomlish({"version": 1, **GOOD}))


def test_sections_and_parameters_are_told_at_once() -> None:
    wrong = {
        **GOOD,
        "method": {"name": "mdav", "k": "many", "kk": 3, "distance": "far"},
        "limits": {"accepted_risk": 200, "exposed": 1},
        "run": {"memory": "much"},
        "titel": {"of": "x"},
    }
    with pytest.raises(PlanError) as caught:
        Plan.from_toml(tomlish(wrong), "plan.toml")
    told = "\n".join(caught.value.problems)
    for part in ("[titel]", "the 'k' parameter", "no parameter 'kk'", "[limits]: accepted_risk", "[run]: The 'memory'"):
        assert part in told
    with pytest.raises(PlanError, match="there is no method 'mdva'"):
        Plan.from_toml(tomlish({**GOOD, "method": {"name": "mdva"}}))
