"""The definitions that `tsveil evaluate` and plans let people choose: they give what the same options give in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli import main
from tsveil.cli.judging import EVALUATION, evaluate
from tsveil.measure.score import LINKAGES
from tsveil.plan.plan import Evaluation
from tsveil.transform.normalise import How


def tsveil(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def series(tmp_path: Path) -> tuple[Path, Path]:
    return _files(tmp_path, np.random.default_rng(1).normal(size=(12, 20)).cumsum(axis=1), "2024-01-", 20)


@pytest.fixture
def attributes(tmp_path: Path) -> tuple[Path, Path]:
    return _files(tmp_path, np.random.default_rng(2).normal(size=(30, 4)) * [1, 5, 20, 100], "x", 4)


def _files(folder: Path, values: Any, names: str, count: int) -> tuple[Path, Path]:
    columns = [f"{names}{at:02}" for at in range(1, count + 1)]
    ids = pl.Series("id", [f"p{at}" for at in range(len(values))])
    noisy = values + np.random.default_rng(3).normal(size=values.shape) * values.std() / 3
    places = folder / "original.csv", folder / "published.csv"
    for place, table in zip(places, (values, noisy), strict=True):
        pl.DataFrame(table, schema=columns).insert_column(0, ids).write_csv(place)
    return places


def scored(original: Path, published: Path, *options: object) -> dict[str, float]:
    shown = tsveil("evaluate", original, published, "--id", "id", "--truth", "id", "--json", *options)
    assert shown.exit_code == 0, shown.output
    return dict(json.loads(shown.stdout))


def card(original: Path, published: Path, **options: Any) -> tv.Scorecard:
    first, second = (tv.read(place, id="id") for place in (original, published))
    return tv.evaluate(first, second, truth="id", **options)


@pytest.mark.parametrize(
    ("words", "options", "figure"),
    [
        (["--model", "lags(lags=4)", "--model", "ses"], {"models": ["lags(lags=4)", "ses"]}, "IL3"),
        (["--model", "polynomial(order=3)"], {"models": ["polynomial(order=3)"]}, "IL3"),
        (["--normalise", "per-record"], {"normalise": "per-record"}, "EULD"),
        (["--scaling", "own"], {"scaling": "own"}, "EULD"),
    ],
)
def test_options_of_series(series: tuple[Path, Path], words: list[str], options: dict[str, Any], figure: str) -> None:
    found = scored(*series, *words)
    ours = card(*series, **{"models": "fitting"} | options)
    assert found[figure] == pytest.approx(ours[figure])
    if figure == "IL3":
        assert found[figure] != pytest.approx(card(*series, models="fitting")[figure])


@pytest.mark.parametrize(
    ("words", "options", "figure"),
    [
        (["--score", "classic"], {"score": "classic"}, "DR1"),
        (["--known", "x01,x02"], {"known": ["x01", "x02"]}, "DLD"),
        (["--matched", "nearest"], {"matched": "nearest"}, "IL1"),
        (["--counts", "1,3"], {"counts": [1, 3]}, "DLD"),
        (["--scaling", "own", "--ties", "first"], {"scaling": "own", "ties": "first"}, "DLD"),
    ],
)
def test_options_of_attributes(
    attributes: tuple[Path, Path], words: list[str], options: dict[str, Any], figure: str
) -> None:
    found = scored(*attributes, *words)
    assert found[figure] == pytest.approx(card(*attributes, **options)[figure])


def test_a_choice_changes_the_figures(attributes: tuple[Path, Path]) -> None:
    assert scored(*attributes, "--known", "x01")["DLD"] != scored(*attributes)["DLD"]
    assert scored(*attributes, "--score", "classic")["DR1"] <= scored(*attributes)["DR1"]


def test_an_option_for_other_data_is_refused_in_words(attributes: tuple[Path, Path], series: tuple[Path, Path]) -> None:
    shown = tsveil("evaluate", *series, "--id", "id", "--truth", "id", "--score", "classic")
    assert shown.exit_code == 2
    assert "'score' parameter of evaluate is not for time series" in shown.output


@pytest.mark.parametrize("numbers", ["0", "1,two", "1,,2", ""])
def test_counts_are_numbers(attributes: tuple[Path, Path], numbers: str) -> None:
    shown = tsveil("evaluate", *attributes, "--id", "id", "--counts", numbers)
    assert shown.exit_code == 2
    assert "no list of numbers such as 1,2,4" in shown.output


def test_the_command_line_and_plans_have_the_same_choices() -> None:
    found = evaluate.get_params(click.Context(evaluate))
    options = {option.name: option for option in found if isinstance(option, click.Option)}
    assert set(EVALUATION) <= set(options)
    assert set(EVALUATION) == set(Evaluation.__struct_fields__) - {"targets"}
    for name, choices in {"score": tuple(LINKAGES), "normalise": get_args(How)}.items():
        kind = options[name].type
        assert isinstance(kind, click.Choice)
        assert tuple(kind.choices) == choices


def test_a_plan_names_models_with_parameters(series: tuple[Path, Path], tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    assert tsveil("plan", series[0], "--id", "id", "--out", plan).exit_code == 0
    text = plan.read_text()
    plan.write_text(text + '\n[evaluate]\nmodels = ["lags(lags=4)", "holt(alpha=optimised)"]\n')
    assert tsveil("run", plan).exit_code in (0, 1)
    plan.write_text(text + '\n[evaluate]\nmodels = ["lags(lags=0)"]\n')
    shown = tsveil("run", plan, "--overwrite")
    assert shown.exit_code == 2
    assert "an integer from 1 to 50" in shown.output
