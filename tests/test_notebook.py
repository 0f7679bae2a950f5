"""What a notebook shows of an object: a small table that is well formed, has no scripts, and shows neither secrets nor single records."""

from __future__ import annotations

import ast
import json
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.core.notebook import table_in_html
from tsveil.guarantee.base import Status, Verdict

EVIL = "<script>alert('&')</script>"


@cache
def shown() -> dict[str, tuple[Any, str]]:
    """Name -> the object and a text that its table must have."""
    values = np.random.default_rng(2).random((12, 2)) * 1000
    frame = pl.DataFrame({"who": [f"secret-{r}" for r in range(12)], "a": values[:, 0], EVIL: values[:, 1], "b": ["x", "y"] * 6})  # fmt: skip
    data = tv.Dataset.from_frame(frame, id="who", blocks={EVIL: ["a", EVIL]}, confidential=["b"])
    release = tv.MDAV(k=3).protect(data, seed=987654321)
    series = tv.example("food-prices")
    study = tv.sweep(series, ["mdav", "noise"], {"mdav": {"k": [2, 4]}, "noise": {"sd": [0.01]}}, seed=987654321)
    return {
        "data": (data, "2 attributes"),
        "release": (release, "promise, not checked here"),
        "noise": (tv.Noise(sd=0.1).protect(data, seed=987654321), "none"),
        "verdict": (release.verify(), "HOLDS"),
        "violated": (Verdict(Status.VIOLATED, "3-anonymity", EVIL), "VIOLATED"),
        "card": (tv.evaluate(data, release), "Share of records"),
        "study": (study, "mdav k=4"),
    }


@pytest.mark.parametrize("name", ["data", "release", "noise", "verdict", "violated", "card", "study"])
def test_objects_show_themselves_as_a_small_table(name: str) -> None:
    one, text = shown()[name]
    html = one._repr_html_()
    table = ET.fromstring(html)
    assert table.tag == "table"
    assert {node.tag for node in table.iter()} <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert all(not node.attrib for node in table.iter())
    assert text in "".join(table.itertext())
    assert "secret-" not in html
    assert "987654321" not in html
    assert len(html) < 10_000


def test_a_study_shows_its_front_alone_and_what_risk_and_loss_are() -> None:
    study, _ = shown()["study"]
    table = ET.fromstring(study._repr_html_())
    rows = [row[0].text for row in table.findall("tbody/tr")]
    assert rows == study.pareto()["label"].to_list()
    caption = table.findtext("caption")
    assert caption == f"{study!r}. {' '.join(study.definitions)}"


def test_names_of_columns_are_escaped() -> None:
    html = shown()["data"][0]._repr_html_()
    assert "<script" not in html
    assert ET.fromstring(html).findtext("tbody/tr/td") == EVIL
    assert ET.fromstring(table_in_html(EVIL, [EVIL], [[EVIL]])).findtext("caption") == EVIL


def test_a_card_shows_the_figures_it_has() -> None:
    card, _ = shown()["card"]
    rows = ET.fromstring(card._repr_html_()).findall("tbody/tr")
    assert [row[1].text for row in rows] == [f"{value:.2f} {words[1]}".strip() for _, value, words in card.rows()]


NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    """Each cell in its order, with the names of those before; the value of a last expression is shown as a notebook would show it."""
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown: list[str] = []
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # what is kept in the repository was made by nobody's data
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else str(value))
    assert len(shown) >= 5
    assert any("HOLDS" in text for text in shown)
    assert str(names["release"].seed) not in "".join(shown)
