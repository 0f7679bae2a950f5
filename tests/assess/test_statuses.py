"""Every status that a check can have, reached from what is known of a release; and what `--allow` and `--strict` make of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from assess.test_over_time import CASES as OVER_TIME
from tsveil.assess.assessment import CHECKS, Assessment, Check, Outcome
from tsveil.assess.judge import Evidence, judge
from tsveil.assess.limits import Intruder, Limits
from tsveil.cli import main
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.measure.scorecard import Scorecard

CARRIED = pl.DataFrame({"town": ["Bath", "Cork"] * 6, "pay": np.arange(12.0) ** 2})
GOOD = Evidence(
    promise=KAnonymity(4),
    verdict=Verdict(Status.HOLDS, "4-anonymity."),
    of_row=np.arange(12) % 3,
    carried=pl.DataFrame(),
    card=Scorecard({}, {}, pl.DataFrame(), {}, {}),
    representatives=True,
)
UNIQUE = replace(GOOD, of_row=np.array([0, *np.arange(11) % 3 + 1]), carried=CARRIED)
TOLD = replace(GOOD, carried=pl.DataFrame({"town": ["Bath", "Cork", "Cork"] * 4}))
#: three persons with four records each, and a column that never changes for one of them
TIED = replace(GOOD, of_row=np.array([0, 0, 1, 1] * 3), persons=np.repeat([0, 1, 2], 4), carried=pl.DataFrame({"town": list("aaaabbbbcccc")}))  # fmt: skip

#: check, status -> what is known, the limits, and the intruder
CASES: dict[tuple[str, str], tuple[Evidence, Limits, Intruder]] = {
    ("promise", "holds"): (GOOD, Limits(), Intruder()),
    ("promise", "warns"): (replace(GOOD, verdict=Verdict(Status.NONE_CLAIMED, "none")), Limits(), Intruder()),
    ("promise", "not-decided"): (replace(GOOD, verdict=Verdict(Status.UNKNOWN, "x", "y")), Limits(), Intruder()),
    ("promise", "fails"): (replace(GOOD, verdict=Verdict(Status.VIOLATED, "x", "y")), Limits(), Intruder()),
    ("coverage", "holds"): (GOOD, Limits(), Intruder()),
    ("coverage", "not-decided"): (replace(GOOD, unjudged=["surname"]), Limits(), Intruder()),
    ("whole-record", "holds"): (GOOD, Limits(), Intruder()),
    ("whole-record", "warns"): (UNIQUE, Limits(), Intruder()),
    ("whole-record", "fails"): (UNIQUE, Limits(unique_records=0), Intruder()),
    ("carried", "holds"): (replace(GOOD, carried=CARRIED), Limits(), Intruder()),
    ("carried", "warns"): (replace(GOOD, carried=CARRIED), Limits(), Intruder(knows_carried=["pay"])),
    ("attribute-disclosure", "holds"): (replace(GOOD, carried=CARRIED), Limits(), Intruder()),
    ("attribute-disclosure", "warns"): (TOLD, Limits(), Intruder()),
    ("attribute-disclosure", "fails"): (TOLD, Limits(attribute_disclosure=0), Intruder()),
    ("accepted-risk", "holds"): (GOOD, Limits(accepted_risk="1/4"), Intruder()),
    ("accepted-risk", "warns"): (replace(GOOD, promise=KAnonymity(4, scope="column")), Limits(), Intruder()),
    ("accepted-risk", "fails"): (GOOD, Limits(accepted_risk="1/5"), Intruder()),
}


def found(case: tuple[Evidence, Limits, Intruder]) -> dict[str, Check]:
    return {check.name: check for check in judge(*case).checks}


@pytest.mark.parametrize("name", CASES, ids=" ".join)
def test_each_status_is_reached(name: tuple[str, str]) -> None:
    check, status = name
    assert found(CASES[name])[check].status == status


def test_the_table_is_complete() -> None:
    """As docs/verdict.md has it: of the four statuses, each check has those that stand there."""
    page = (Path(__file__).parents[2] / "docs" / "verdict.md").read_text(encoding="utf-8")
    section = page.partition("## The checks")[2].partition("\n## ")[0]
    words = {"warns": "warns", "not decided": "not-decided", "fails": "fails"}
    for name in CHECKS:
        row = next(line for line in section.splitlines() if line.startswith(f"| {name} |"))
        told = {status for word, status in words.items() if word in row.split("|")[3]}
        reached = {status for check, status in CASES if check == name} or set(OVER_TIME)
        assert reached == told | {"holds"}, name


def test_other_reasons() -> None:
    assert found((replace(GOOD, order="sorted"), Limits(), Intruder()))["coverage"].status == "not-decided"
    assert found((TIED, Limits(), Intruder()))["attribute-disclosure"].status == "fails"
    assert found((replace(GOOD, carried=CARRIED), Limits(), Intruder(knows_carried=["town"])))["carried"].status == "holds"  # fmt: skip
    assert found((GOOD, Limits(), Intruder()))["accepted-risk"].message.startswith("no limit was set")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", CASES, ids=" ".join)
def test_what_stops_a_release_is_allowed_by_its_name_only(name: tuple[str, str], strict: bool) -> None:
    check, status = name
    assessment: Assessment = judge(*CASES[name])
    stops = {one.name for one in assessment.stopped_by(strict=strict)}
    assert (check in stops) == (status in ("fails", "not-decided") or (strict and status == "warns"))
    assert check not in {one.name for one in assessment.stopped_by([check], strict=strict)}
    others = [one for one in CHECKS if one != check]
    assert {one.name for one in assessment.stopped_by(others, strict=strict)} == stops & {check}
    assert assessment.to_dict()["checks"] == judge(*CASES[name]).to_dict()["checks"]  # strict or not


@pytest.mark.parametrize("options", [["--strict"], ["--strict", "--allow", "whole-record"]])
def test_warnings_that_stop_are_all_named(tmp_path: Path, options: list[str]) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"who": [f"h{at}" for at in range(40)], **{f"2020-01-0{t}": rng.normal(size=40) for t in range(1, 6)}})  # fmt: skip
    frame.write_csv(tmp_path / "days.csv")
    words: list[Any] = ["protect", tmp_path / "days.csv", "-o", tmp_path / "out", "--method", "noise"]

    def run(*more: str) -> Any:
        return CliRunner().invoke(main, [*map(str, words), *more])

    stopped = run(*options)
    assert stopped.exit_code == 1
    assert "promise: HOLDS, WITH WARNINGS: this method promises nothing" in stopped.output
    assert ("whole-record: " in stopped.output) == ("whole-record" not in options)
    assert not (tmp_path / "out").exists()
    every = [word for name in ("promise", "whole-record", "accepted-risk") for word in ("--allow", name)]
    assert run("--strict", *every).exit_code == 0
    told = json.loads((tmp_path / "out" / "private" / "assessment.json").read_text())
    assert told["verdict"] == Outcome.WARNS
    assert CliRunner().invoke(main, ["verify", str(tmp_path / "out")]).exit_code == 0
    assert CliRunner().invoke(main, ["verify", str(tmp_path / "out"), "--strict"]).exit_code == 1
