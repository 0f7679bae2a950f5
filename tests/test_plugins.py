"""One of each kind in a package of its own: it is seen everywhere, runs on every engine, and a broken one stops nobody.

The package is tests/plugin; nothing of tsveil knows it. A process that has it on its path, with the metadata that `pip install` would leave beside
it, has all five.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.attack.base import Shape
from tsveil.attack.choose import fitting
from tsveil.core.registry import ATTACKS, DISTANCES, MEASURES, METHODS, PROMISES, Registry
from tsveil.data.dataset import Block

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "tests" / "plugin"
#: the entry points of the package, by group
OFFERED: dict[str, dict[str, str]] = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]["entry-points"]
KINDS = {kind.group: kind for kind in (METHODS, PROMISES, ATTACKS, MEASURES, DISTANCES)}

Run = Callable[..., "subprocess.CompletedProcess[str]"]
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


def offer(package: Path, groups: dict[str, dict[str, str]]) -> None:
    """Write the entry points of the package."""
    lines = [line for group, named in groups.items() for line in (f"[{group}]", *(f"{a} = {b}" for a, b in named.items()))]  # fmt: skip
    (next(package.glob("*.dist-info")) / "entry_points.txt").write_text("\n".join(lines) + "\n")


def installed(folder: Path) -> Path:
    """The folder, with the package and the metadata that `pip install` would leave beside it."""
    shutil.copytree(PLUGIN, folder / "plugin", ignore=shutil.ignore_patterns("__pycache__"))
    info = folder / "someones_plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: someones-plugins\nVersion: 1.0\n")
    offer(folder, OFFERED)
    return folder


def python_with(package: Path) -> Run:
    """Python in a new process, with the package installed."""

    def run(*words: object, good: bool = True) -> subprocess.CompletedProcess[str]:
        places = [str(package), str(Path(tv.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
            check=False,
        )
        assert (done.returncode == 0) is good, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package as it is installed, which a test may change."""
    return installed(tmp_path / "site")


@pytest.fixture
def python(package: Path) -> Run:
    return python_with(package)


# -- found ------------------------------------------------------------------------------------------------------------


def test_the_package_has_one_of_each_kind() -> None:
    assert set(OFFERED) == set(KINDS)
    assert all(len(named) == 1 for named in OFFERED.values())


@every_kind
def test_the_command_line_lists_it(python: Run, kind: Registry) -> None:
    ((name, _),) = OFFERED[kind.group].items()
    listed = json.loads(python("-m", "tsveil", f"{kind.kind}s", "--json").stdout)
    own = next(row for row in listed if row["name"] == name)
    assert own["summary"]
    assert own["reference"]
    assert all(p["meaning"] and p["accepts"] for p in own["parameters"].values())
    # tsveil's own come first, in their order.
    assert [row["name"] for row in listed[: len(kind.own)]] == list(kind.own)
    assert name in python("-m", "tsveil", f"{kind.kind}s").stdout


def test_a_method_says_what_it_is(python: Run, tmp_path: Path) -> None:
    listed = json.loads(python("-m", "tsveil", "methods", "--json").stdout)
    own = next(row for row in listed if row["name"] == "top-coding")
    assert own["techniques"] == ["local generalization"]
    assert own["parameters"]["share"]["default"] == 5.0
    (tmp_path / "m.csv").write_text("id,a,b\n" + "".join(f"x{i},{i},{i * 2.5}\n" for i in range(20)))
    python("-m", "tsveil", "plan", tmp_path / "m.csv", "--method", "top-coding")
    assert "# the share of the records at each end" in (tmp_path / "m.plan.toml").read_text()
    refused = python("-m", "tsveil", "protect", tmp_path / "m.csv", "--out", tmp_path / "r", "--method", "top-coding", "--share", "-1", good=False)  # fmt: skip
    assert "The 'share' parameter of TopCoding must be" in refused.stderr


def test_a_promise_is_an_option_of_verify(python: Run, tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text("id,a\n" + "".join(f"x{i},{min(max(i * 7 % 20, 1), 17)}.5\n" for i in range(20)))
    said = python("-m", "tsveil", "verify", file, "--id", "id", "--shared-extremes", "2").stdout
    assert "In each column, the smallest and the largest published value are shared by at least 2 records." in said
    said = python("-m", "tsveil", "verify", file, "--id", "id", "--shared-extremes", "3", good=False).stdout
    assert "column 'a': 2 records have the smallest value (row 1)" in said


def test_it_is_swept_and_has_pages_in_the_docs(python: Run) -> None:
    code = f"""
import json, runpy, numpy as np, tsveil as tv
pages = runpy.run_path({str(ROOT / "docs" / "make.py")!r})["kind_pages"]()
data = tv.Dataset.from_arrays({{"load": np.random.default_rng(1).gamma(2, 1, (40, 12))}})
study = tv.sweep(data, ["top-coding", "mdav"], {{"top-coding": {{"share": [5.0, 20.0]}}, "mdav": {{"k": [5]}}}}, seed=1)
print(json.dumps([pages, study.table["label"].to_list(), study.table["risk"].to_list()]))
"""
    pages, labels, risks = json.loads(python("-c", code).stdout)
    for group, named in OFFERED.items():
        folder = group.removeprefix("tsveil.")
        for name, place in named.items():
            module = (PLUGIN / f"{place.partition(':')[0].rpartition('.')[2]}.py").read_text()
            idea = module.partition('"""')[2].partition("\n")[0]
            assert idea in pages[f"{folder}/{name}.md"]
            assert f"[{name}]({name}.md)" in pages[f"{folder}/index.md"]
    assert "Rare, extreme values identify" in pages["methods/top-coding.md"]
    assert "| `share` | `5.0` |" in pages["methods/top-coding.md"]
    assert "| `window` | `3` |" in pages["distances/moving-average.md"]
    assert {"top-coding share=5", "top-coding share=20", "mdav k=5"} == {label.replace(".0", "") for label in labels}
    assert None not in risks


# -- run --------------------------------------------------------------------------------------------------------------

#: a method of the package with its promise, attacked and measured by those of the package
PEOPLE = """seed = 3
secret = ""
[input]
path = "people.csv"
id = "person"
blocks = { all = ["age", "income", "rent"] }
[method]
name = "top-coding"
share = 10
[output]
folder = "people-{engine}"
[run]
chunk = 25
"""
#: groups formed by the distance of the package
CURVES = """seed = 4
secret = ""
[input]
path = "curves.csv"
id = "meter"
blocks = { load = { from = "h0", to = "h5", kind = "series" } }
[method]
name = "mdav"
k = 4
distance = "moving-average"
[output]
folder = "curves-{engine}"
[run]
chunk = 25
"""
#: with one thread, so that a cluster is one worker, whose start takes longer than its work
BOTH = """
import os, sys
os.environ["TSVEIL_THREADS"] = "1"
from tsveil.cli import main

engine, *plans = sys.argv[1:]
for plan in plans:
    if code := main(["run", plan, "--json", *(["--engine", engine] if engine != "memory" else [])], standalone_mode=False):
        sys.exit(code)
"""


def published(folder: Path) -> pl.DataFrame:
    files = sorted((folder / "published").rglob("*.csv"))
    return pl.concat([pl.read_csv(file) for file in files])


def documents(text: str) -> list[dict[str, Any]]:
    """The JSON documents that were printed one after the other."""
    found, reader = [], json.JSONDecoder()
    while text := text.strip():
        document, end = reader.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found


def both(python: Run, folder: Path, engine: str) -> list[dict[str, Any]]:
    """What both plans print, run on an engine or in memory."""
    rng = np.random.default_rng(1)
    people = pl.DataFrame({"person": [f"p{at}" for at in range(90)], "age": rng.integers(18, 90, 90)})
    people.with_columns(
        income=pl.Series(rng.lognormal(8, 1, 90).round()), rent=pl.Series(rng.gamma(2, 300, 90).round(1))
    ).write_csv(folder / "people.csv")
    walks = rng.normal(size=(60, 6)).cumsum(axis=1).round(2)
    pl.DataFrame({"meter": [f"m{at}" for at in range(60)]} | {f"h{at}": walks[:, at] for at in range(6)}).write_csv(
        folder / "curves.csv"
    )
    plans = [folder / f"{name}-{engine}.toml" for name in ("people", "curves")]
    for plan, text in zip(plans, (PEOPLE, CURVES), strict=True):
        plan.write_text(text.replace("{engine}", engine))
    return documents(python("-c", BOTH, engine, *plans).stdout)


class InMemory(NamedTuple):
    """What both plans print and leave when they run in memory."""

    folder: Path
    printed: list[dict[str, Any]]


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> InMemory:
    folder = tmp_path_factory.mktemp("in_memory")
    return InMemory(folder, both(python_with(installed(folder / "site")), folder, "memory"))


def test_they_run_in_memory_and_are_in_the_report(in_memory: InMemory) -> None:
    people, curves = in_memory.printed
    assert people["status"] == curves["status"] == "holds"
    assert people["guarantee"].startswith(
        "In each column, the smallest and the largest published value are shared by at least 9"
    )
    # Nothing is known of how it works, so every attack is tried, that of the package too.
    assert {"DLD", "PLD", "RSLD", "ARLD", "ProjLD", "EQLD"} <= set(people["scores"])
    assert "peaks_moved" in people["scores"]
    assert "peaks_moved" in curves["scores"]
    page = Path(people["report"]).read_text(encoding="utf-8")
    for words in ("top-coding", "are shared by at least 9 records", "linkage by equal values", "moved peaks"):
        assert words in page
    assert "moving-average" in Path(curves["report"]).read_text(encoding="utf-8")
    # The distance is the one that was asked for: by values, other groups are formed.
    blocks = {"load": {"from": "h0", "to": "h5", "kind": "series"}}
    data = tv.read(in_memory.folder / "curves.csv", id="meter", blocks=blocks)
    by_values = tv.MDAV(k=4).protect(data, seed=4).data
    by_distance = published(in_memory.folder / "curves-memory").select(data.columns)
    assert set(map(tuple, by_values.values)) != set(by_distance.rows())


@pytest.mark.parametrize("engine", ["local", "dask", "spark"])
def test_they_run_in_chunks_on_every_engine(
    python: Run, tmp_path: Path, in_memory: InMemory, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("java")
    for here, there in zip(in_memory.printed, both(python, tmp_path, engine), strict=True):
        for key in ("status", "guarantee", "scores"):
            assert there[key] == here[key]
        assert f"on the engine {engine}" in (tmp_path / there["report"]).with_name("release.json").read_text()
    for name in ("people", "curves"):
        assert published(tmp_path / f"{name}-{engine}").equals(published(in_memory.folder / f"{name}-memory"))


# -- broken -----------------------------------------------------------------------------------------------------------

#: what a package may get wrong: the module, and what is said of it
BROKEN = {
    "raises": ("raise RuntimeError('no licence')", "cannot be loaded (RuntimeError: no licence)"),
    "leaves": ("import sys; sys.exit(3)", "cannot be loaded (SystemExit: 3)"),
    "garbled": ("def broken(:", "cannot be loaded (SyntaxError: "),
    "nowhere": (None, "cannot be loaded (ModuleNotFoundError: No module named 'nowhere')"),
    "stranger": ("class Boom: pass", "it must be a class derived from {base}"),
    "unfinished": (
        "from {module} import {name}\nclass Boom({name}): name = 'bang'",
        "its name must be 'unfinished', as its entry point says, and is 'bang'; it needs a summary",
    ),
}
#: what an unfinished one of each kind lacks besides
LACKS = {
    "method": "it has to define guarantee, protect_part; ",
    "promise": "it has to define verify, words; ",
    "attack": "it has to define link; ",
    "measure": "it has to define figures, of_chunk; ",
    "distance": "it has to define embedding, or between if there is none",
}


@every_kind
def test_a_broken_one_is_told_and_stops_nobody(python: Run, package: Path, kind: Registry) -> None:
    good = OFFERED[kind.group]
    offer(package, {**OFFERED, kind.group: {**good, **{name: f"{name}:Boom" for name in BROKEN}}})
    module, _, base = kind.base.partition(":")
    for name, (code, _) in BROKEN.items():
        if code is not None:
            (package / f"{name}.py").write_text(code.replace("{module}", module).replace("{name}", base) + "\n")
    listed = python("-m", "tsveil", f"{kind.kind}s", "--json")
    names = [row["name"] for row in json.loads(listed.stdout)]
    assert set(good) <= set(names)
    assert not set(BROKEN) & set(names)
    for name, (_, said) in BROKEN.items():
        line = next(line for line in listed.stderr.splitlines() if f"the {kind.kind} {name!r}" in line)
        assert f"left out: the {kind.kind} {name!r} of the package someones-plugins cannot be used: " in line
        assert said.replace("{base}", f"{module}.{base}") in line
        assert name != "unfinished" or LACKS[kind.kind] in line
    # The others go on: here those that a run needs.
    made = "from tsveil.core import registry\nregistry.METHODS.make('top-coding')\n"
    asked = python("-c", f"{made}registry.{kind.kind.upper()}S.make('raises')", good=False)
    assert "no licence" in asked.stderr
    assert "repair or remove that package" in asked.stderr


@every_kind
def test_a_name_of_ours_is_not_free(python: Run, package: Path, kind: Registry) -> None:
    ours, (place,) = next(iter(kind.own)), OFFERED[kind.group].values()
    offer(package, {kind.group: {ours: place}})
    code = f"from tsveil.core import registry; kind = registry.{kind.kind.upper()}S; print(kind[{ours!r}].__module__, kind.unusable_offers[{ours!r}])"
    said = python("-c", code).stdout
    assert said.startswith("tsveil.")
    assert f"there is a {kind.kind} of this name already" in said


def test_a_method_must_work_with_its_defaults() -> None:
    class Needy(tv.MDAV):
        def __post_init__(self) -> None:
            raise ValueError("I need more")

    assert METHODS.faults(Needy, "mdav") == ["it cannot be made with its default parameters (ValueError: I need more)"]


def test_it_is_known_which_attacks_fit_our_own_methods() -> None:
    release = Shape(20, [Block("a", ("x", "y"))])
    # What attacks envelopes does not go by traces.
    assert {name for name, method in METHODS.items() if method().traces(release) is None} == {"kp", "k-envelopes"}
    assert [attack.figure for attack in fitting(release)] == [
        "DLD",
        "PLD",
        "CPLD",
        "RSLD",
        "ARLD",
        "ProjLD",
        "MALD",
        "SCLD",
        "OOLD",
    ]
