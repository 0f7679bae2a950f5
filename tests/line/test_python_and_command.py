"""The five lines of Python in the README leave the same release folder as the command line and as a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from release_folders import BLOCKS, contents, table
from tsveil.cli import main
from tsveil.core.randomness import release_seed
from tsveil.plan.plan import Input, Output, Plan, Running
from tsveil.plan.run import run
from tsveil.report.context import Context

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "mdav": (tv.MDAV(k=5, distance="sts", refine="swap"), {"k": 5, "distance": "sts", "refine": "swap"}),
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
