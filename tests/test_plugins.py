"""A method of another package is one file and one line: it is seen everywhere, and a broken one stops nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tsveil as tv
from tsveil.attack.fits import FIGURES, KNOWN, fitting
from tsveil.plugins import faults
from tsveil.registry import METHODS

#: the method of the tutorial: the text between the marks is what a reader copies
METHOD = Path(__file__).parent / "plugin" / "top_coding.py"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with one module and the metadata that `pip install` would leave beside it."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "top_coding.py").write_text(METHOD.read_text(encoding="utf-8"), encoding="utf-8")
    info = folder / "someones_methods-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: someones-methods\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tsveil.methods]\ntop-coding = top_coding:TopCoding\n")
    return folder


@pytest.fixture
def python(package: Path) -> Run:
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


def test_it_is_listed_and_runs_from_a_plan(python: Run, tmp_path: Path) -> None:
    listed = json.loads(python("-m", "tsveil.cli", "methods", "--json").stdout)
    own = next(row for row in listed if row["name"] == "top-coding")
    assert own["techniques"] == ["local generalization"]
    assert own["parameters"]["share"]["default"] == 5.0
    assert [row["name"] for row in listed[: len(METHODS)]] == list(METHODS)

    rows = "\n".join(f"p{i},{i},{i * i % 37},{100 - i}" for i in range(1, 41))
    (tmp_path / "people.csv").write_text(f"person,age,income,rent\n{rows}\n")
    (tmp_path / "plan.toml").write_text(
        '[input]\npath = "people.csv"\nid = "person"\nblocks = { all = ["age", "income", "rent"] }\n'
        '[method]\nname = "top-coding"\nshare = 10\n[output]\nfolder = "release"\n'
    )
    outcome = json.loads(python("-m", "tsveil.cli", "run", tmp_path / "plan.toml", "--json").stdout)
    assert outcome["status"] == "none-claimed"
    # Nothing is known of how it works, so every attack is tried.
    assert {"DLD", "PLD", "RSLD", "ARLD", "ProjLD"} <= set(outcome["scores"])
    page = Path(outcome["report"]).read_text(encoding="utf-8")
    assert "top-coding" in page
    refused = python("-m", "tsveil.cli", "protect", tmp_path / "people.csv", "--out", tmp_path / "r", "--method", "top-coding", "--share", "-1", good=False)  # fmt: skip
    assert "The 'share' parameter of TopCoding must be" in refused.stderr


def test_it_is_swept_and_has_a_page_in_the_docs(python: Run) -> None:
    make = Path(__file__).parents[1] / "docs" / "make.py"
    code = f"""
import json, runpy, numpy as np, tsveil as tv
pages = runpy.run_path({str(make)!r})["method_pages"]()
data = tv.Dataset.from_arrays({{"load": np.random.default_rng(1).gamma(2, 1, (40, 12))}})
study = tv.sweep(data, ["top-coding", "mdav"], {{"top-coding": {{"share": [5.0, 20.0]}}, "mdav": {{"k": [5]}}}}, seed=1)
print(json.dumps([pages["methods/top-coding.md"], pages["methods/index.md"], study.table["label"].to_list(), study.table["risk"].to_list()]))
"""
    page, index, labels, risks = json.loads(python("-c", code).stdout)
    assert "Rare, extreme values identify" in page
    assert "| `share` | `5.0` |" in page
    assert "[top-coding](top-coding.md)" in index
    assert {"top-coding share=5", "top-coding share=20", "mdav k=5"} == {label.replace(".0", "") for label in labels}
    assert None not in risks


def test_a_starting_plan_explains_it(python: Run, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("id,a,b\n" + "".join(f"x{i},{i},{i * 2.5}\n" for i in range(20)))
    python("-m", "tsveil.cli", "plan", tmp_path / "m.csv", "--method", "top-coding")
    assert "# the share of the records at each end" in (tmp_path / "m.plan.toml").read_text()


#: what a package may get wrong: the module, and what is said of it
BROKEN = {
    "raises": ("raise RuntimeError('no licence')", "cannot be loaded (RuntimeError: no licence)"),
    "leaves": ("import sys; sys.exit(3)", "cannot be loaded (SystemExit: 3)"),
    "garbled": ("def broken(:", "cannot be loaded (SyntaxError: "),
    "nowhere": (None, "cannot be loaded (ModuleNotFoundError: No module named 'nowhere')"),
    "stranger": ("class Boom: pass", "it must be a class derived from tsveil.protect.base.Method"),
    "unfinished": (
        "from tsveil.protect.base import ValueMethod\nclass Boom(ValueMethod): name = 'bang'",
        "it has to define guarantee, protect_part; its name must be 'unfinished', as its entry point says, and is 'bang'; it needs a summary",
    ),
}


def test_a_broken_one_is_told_and_stops_nobody(python: Run, package: Path) -> None:
    offers = ["[tsveil.methods]", "top-coding = top_coding:TopCoding", *(f"{name} = {name}:Boom" for name in BROKEN)]
    (next(package.glob("*.dist-info")) / "entry_points.txt").write_text("\n".join(offers) + "\n")
    for name, (module, _) in BROKEN.items():
        if module is not None:
            (package / f"{name}.py").write_text(module + "\n")
    listed = python("-m", "tsveil.cli", "methods", "--json")
    names = [row["name"] for row in json.loads(listed.stdout)]
    assert "top-coding" in names
    assert not set(BROKEN) & set(names)
    for name, (_, said) in BROKEN.items():
        line = next(line for line in listed.stderr.splitlines() if f"the method {name!r}" in line)
        assert f"left out: the method {name!r} of the package someones-methods cannot be used: " in line
        assert said in line
    asked = python("-c", "from tsveil.registry import method; method('raises')", good=False)
    assert "no licence" in asked.stderr
    assert "repair or remove that package" in asked.stderr


def test_a_name_of_ours_is_not_free(python: Run, package: Path) -> None:
    points = next(package.glob("*.dist-info")) / "entry_points.txt"
    points.write_text("[tsveil.methods]\nmdav = top_coding:TopCoding\n")
    code = "from tsveil.registry import method, BROKEN; print(type(method('mdav')).__name__, BROKEN['mdav'])"
    said = python("-c", code).stdout
    assert said.startswith("MDAV ")
    assert "there is a method of this name already" in said


def test_a_method_must_work_with_its_defaults() -> None:
    class Needy(tv.MDAV):
        def __post_init__(self) -> None:
            raise ValueError("I need more")

    assert faults(Needy, "mdav") == ["it cannot be made with its default parameters (ValueError: I need more)"]


def test_it_is_known_which_attacks_fit_our_own_methods() -> None:
    assert {name for name, method in METHODS.items() if "attributes" in method.takes} == KNOWN
    data = tv.Dataset.from_arrays({"a": [[1.0, 2.0]] * 20})
    assert {run.figure for run in fitting("of somebody", {}, data)} == set(FIGURES) - {"RULD", "RULD2"}
