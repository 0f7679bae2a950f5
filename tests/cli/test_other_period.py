"""A file of another period, by every door: commands, plans, and a release alone."""

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
from tsveil.cli.program import main
from tsveil.core.errors import ParameterError
from tsveil.plan.plan import Input, Output, Plan


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two days of 40 households in two files; the second lacks ten of them, and is in another order."""
    rng = np.random.default_rng(1)
    values = rng.lognormal(size=(40, 1)) * np.exp(rng.normal(size=(40, 24)))[:, np.arange(48) % 24]
    values = np.round(values * rng.gamma(9.0, 1 / 9, values.shape), 3)
    stamps = [str(np.datetime64("2018-10-29T00:00") + 60 * hour) for hour in range(48)]
    frame = pl.DataFrame({"household": [f"h{row}" for row in range(40)], **dict(zip(stamps, values.T, strict=True))})
    first, second = tmp_path / "monday.csv", tmp_path / "tuesday.csv"
    frame.select("household", *stamps[:24]).write_csv(first)
    frame.select("household", *stamps[24:])[rng.permutation(40)[:30].tolist()].write_csv(second)
    return first, second


def said(*words: object) -> dict[str, object]:
    result = CliRunner().invoke(main, [*map(str, words), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.output)
    return found


def test_a_plan_names_it_and_the_release_alone_is_attacked_like_both_files(files: tuple[Path, Path]) -> None:
    first, second = files
    plan = Plan(
        input=Input(path=first.name, id="household", blocks={"load": {"from": "2018-10-29T00:00", "to": "2018-10-29T23:00"}}),
        method={"name": "noise", "sd": 0.05},
        output=Output(folder="release"),
        intruder=Intruder(other_period=second.name),
        seed=1,
    )  # fmt: skip
    assert Plan.from_toml(plan.to_toml()).intruder.other_period == "tuesday.csv"
    outcome = tv.run(plan, base=first.parent)
    assert outcome.assessment is not None
    rates = {one.attack: one.rate for one in outcome.assessment.ladder if one.rung == "other-period"}
    assert rates.keys() == {"profile", "profile-learned"}
    assert [one.targets for one in outcome.card.ladder if one.rung == "other-period"] == [30, 30]
    assert outcome.card.options["other period"] == "a file of another period, with 30 of the persons"
    folder = first.parent / "release"
    alone = said("attack", folder, "--other-period", second)["attacks"]
    with_original = said(
        "attack", first, folder / "published" / "data.csv", "--truth", folder / "private" / "id_map.csv",
        "--other-period", second, "--id", "household",
    )["attacks"]  # fmt: skip
    assert isinstance(alone, dict)
    assert {name: found["rate"] for name, found in alone.items()} == pytest.approx(rates)
    assert alone == with_original
    assert "EULD" in said("evaluate", first, first, "--id", "household", "--other-period", second)


def test_without_a_second_file_the_first_must_be_a_release(files: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(main, ["attack", str(files[0])])
    assert result.exit_code != 0
    assert "is not a release with its private side" in (result.output + str(result.exception))
    result = CliRunner().invoke(main, ["attack", str(files[0].parent), "--other-period", str(files[1])])
    assert result.exit_code != 0


def test_chunks_find_what_memory_finds(files: tuple[Path, Path]) -> None:
    first, second = files
    data, other = tv.read(first, id="household"), tv.read(second, id="household")
    ladders = []
    several: list[dict[str, Any]] = [{}, {"chunk": 11, "engine": "local"}]
    for more in several:
        release = tv.Noise(sd=0.05).protect(data, seed=1, **more)
        outcome = tv.release.publish.publish(
            release, first.parent / f"out{len(more)}", measures={"other_period": other}
        )
        ladders.append([one[:5] for one in outcome.card.ladder])
    assert ladders[0] == ladders[1]


def test_sweeps_refuse_it(files: tuple[Path, Path]) -> None:
    data = tv.read(files[0], id="household")
    with pytest.raises(ParameterError, match="takes no file of another period yet"):
        tv.sweep(data, ["mdav"], intruder=Intruder(other_period="tuesday.csv"))


@pytest.mark.parametrize("option", [["--one-to-one"], ["--blocking", "3"]])
def test_options_that_no_attack_by_another_period_knows_are_told(files: tuple[Path, Path], option: list[str]) -> None:
    first, second = files
    result = CliRunner().invoke(main, ["attack", str(first), str(first), "--id", "household", "--other-period", str(second), *option])  # fmt: skip
    assert result.exit_code == 2
    assert "and a file of another period: leave one of them out" in result.output
