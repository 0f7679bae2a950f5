"""The five lines of Python in the README leave the same release folder as the command line and as a plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from release_folders import BLOCKS, contents, table
from tsveil.cli import main
from tsveil.core.randomness import release_seed
from tsveil.core.registry import METHODS as REGISTERED
from tsveil.plan.plan import Input, Output, Plan, Running
from tsveil.plan.run import run
from tsveil.release.reopen import reopen_release
from tsveil.report.context import Context
from tsveil.study.grids import choose_configurations

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "mdav": (tv.MDAV(k=5, distance="sts"), {"k": 5, "distance": "sts"}),
    "rank-swap": (tv.RankSwap(p=20.0), {"p": 20.0}),
    "kp": (tv.KP(k=5, P=2), {"k": 5, "P": 2}),
}


@pytest.fixture(scope="module")
def meters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of series with a carried column."""
    path = tmp_path_factory.mktemp("meters") / "meters.csv"
    days = BLOCKS["series"]["load"]
    frame = table("continuous")
    last = frame.columns.index(days["to"])
    frame[:, : last + 1].write_csv(path)
    return path


def by_hand(method: Any, data: tv.Dataset, folder: Path, seed: int = 7, **more: Any) -> Path:
    """The lines of the README."""
    release = method.protect(data, seed=seed, **more)
    assert release.verify().holds or not release.verify().blocks_release
    release.evaluate()
    written: Path = release.write(folder)
    return written


def differing(one: Path, other: Path) -> list[str]:
    """The files in which two release folders differ; the plan's own words on paths and running are not compared."""
    first, second = contents(one), contents(other)
    assert (one / "private" / "plan.toml").exists()
    assert (other / "private" / "plan.toml").exists()
    return [path for path in {**first, **second} if first.get(path) != second.get(path)]


@pytest.mark.parametrize("name", METHODS)
def test_python_leaves_what_a_plan_leaves(meters: Path, tmp_path: Path, name: str) -> None:
    method, settings = METHODS[name]
    plan = Plan(
        input=Input(path=str(meters), confidential=["town"]),
        method={"name": name, **settings},
        output=Output(folder="plan"),
        seed=7,
        secret="",
    )
    expected = run(plan, base=tmp_path).folder
    data = tv.read(meters, confidential=["town"])
    assert differing(expected, by_hand(method, data, tmp_path / "python")) == []
    assert differing(expected, by_hand(method, data, tmp_path / "chunks", chunk=17)) == []


def test_python_leaves_what_the_command_leaves(meters: Path, tmp_path: Path) -> None:
    method, settings = METHODS["mdav"]
    words = [word for key, value in settings.items() for word in (f"--{key}", str(value))]
    out = tmp_path / "command"
    ended = CliRunner().invoke(
        main, ["protect", str(meters), "--out", str(out), "--method", "mdav", "--confidential", "town", "--seed", "7", *words]
    )  # fmt: skip
    assert ended.exit_code == 0, ended.output
    data = tv.read(meters, confidential=["town"])
    # The command mixes a secret into the seed, which Python takes as it is.
    secret = (out / "private" / "secret.txt").read_text().strip()
    written = by_hand(method, data, tmp_path / "python", release_seed(7, secret))
    assert differing(out, written) == ["private/secret.txt"]


def test_data_that_stay_in_files_leave_the_same(meters: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(meters)
    frame.write_parquet(tmp_path / "meters.parquet")
    method, settings = METHODS["mdav"]
    plan = Plan(
        input=Input(path="meters.parquet", confidential=["town"]),
        method={"name": "mdav", **settings},
        output=Output(folder="plan"),
        run=Running(memory="1", chunk=17),
        seed=7,
        secret="",
    )
    expected = run(plan, base=tmp_path).folder
    data = tv.read(tmp_path / "meters.parquet", confidential=["town"], memory=1)
    assert data.source is not None
    assert differing(expected, by_hand(method, data, tmp_path / "python")) == []


def test_the_plan_that_python_leaves_makes_the_release_again(meters: Path, tmp_path: Path) -> None:
    data = tv.read(meters, confidential=["town"])
    folder = by_hand(METHODS["mdav"][0], data, tmp_path / "python")
    plan = Plan.load(folder / "private" / "plan.toml")
    plan.seed, plan.secret, plan.output.folder = 7, "", str(tmp_path / "again")
    assert differing(folder, run(plan).folder) == []


def test_options_of_writing_are_those_of_a_plan(meters: Path, tmp_path: Path) -> None:
    """Title, format, context and measures: the folder is the same, and the plan in it says them."""
    measures: dict[str, Any] = {"ties": "first", "models": ["ses"]}
    context = Context(purpose="research")
    tables = {
        "input": {"path": str(meters), "confidential": ["town"]},
        "method": {"name": "mdav", "k": 5},
        "output": {"folder": "plan", "title": "Meters", "format": "parquet"},
        "evaluate": measures,
        "context": {"purpose": "research"},
        "seed": 7,
        "secret": "",
    }
    expected = run(msgspec.convert(tables, Plan), base=tmp_path).folder
    release = tv.MDAV(k=5).protect(tv.read(meters, confidential=["town"]), seed=7)
    folder = release.write(tmp_path / "python", title="Meters", format="parquet", context=context, measures=measures)
    assert differing(expected, folder) == []
    told = Plan.load(folder / "private" / "plan.toml")
    assert (told.output.title, told.output.format) == ("Meters", "parquet")
    assert (told.evaluate.ties, told.evaluate.models) == ("first", ["ses"])
    assert told.context.purpose == "research"


@pytest.fixture(scope="module")
def two_series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of two series of one length, which can be grouped together or one by one."""
    path = tmp_path_factory.mktemp("two") / "two.csv"
    values = np.random.default_rng(5).normal(size=(60, 24)).cumsum(axis=1)
    frame = pl.DataFrame(values, schema=[f"2018-01-{day:02d}" for day in range(1, 25)], orient="row")
    frame.with_columns(town=pl.Series(["a", "b", "c"] * 20)).write_csv(path)
    return path


@pytest.mark.parametrize("name", REGISTERED)
def test_a_plan_starts_with_what_python_starts_with(two_series: Path, tmp_path: Path, name: str) -> None:
    place = tmp_path / "two.plan.toml"
    words = ["plan", str(two_series), "--out", str(place), "--method", name, "--confidential", "town"]
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 0, ended.output
    plan = Plan.load(place)
    made = REGISTERED.make(plan.method.pop("name"), plan.method)
    rounding = {"rounding": "input"} if "rounding" in made.settings() else {}  # plans keep whole numbers whole
    assert made == REGISTERED.make(name, rounding)


@pytest.mark.parametrize("name", ["mdav", "v-mdav", "nlk"])
def test_nothing_said_means_the_same_everywhere(two_series: Path, tmp_path: Path, name: str) -> None:
    """A method made in Python, a plan that leaves everything out, the command and a sweep make the same release of two series."""
    ends = {"first": ("2018-01-01", "2018-01-12"), "second": ("2018-01-13", "2018-01-24")}
    data = tv.read(two_series, blocks={block: {"from": low, "to": high} for block, (low, high) in ends.items()})
    assert data.series
    release = REGISTERED[name]().protect(data, seed=7)
    assert "per-block" not in release.method.settings().values()
    assert (
        np.array_equal(*release.groups.values()) if release.groups else list(release.facts) == ["all blocks together"]
    )

    words = ["protect", str(two_series), "--out", str(tmp_path / "out"), "--method", name, "--allow", "accepted-risk"]
    given = [word for block, (low, high) in ends.items() for word in ("--block", f"{block}={low}..{high}")]
    ended = CliRunner().invoke(main, [*words, *given])
    assert ended.exit_code == 0, ended.output
    told = json.loads((tmp_path / "out" / "private" / "release.json").read_text())
    assert told["settings"] == release.method.settings()
    assert np.array_equal(reopen_release(tmp_path / "out", data).data.values, release.data.values)

    (tried,) = choose_configurations(data, [name], {name: {}})
    assert tried.make_method() == release.method
