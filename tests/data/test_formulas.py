"""Texts that a spreadsheet would run leave the house as texts, and the promise of the file still holds."""

from __future__ import annotations

import csv
from pathlib import Path

import hypothesis.strategies as st
import msgspec
import polars as pl
import pytest
from hypothesis import given

import tsveil as tv
from tsveil.data.formulas import harmless, harmless_frame
from tsveil.plan.plan import Input, Output, Plan

NASTY = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "\t=1", "\r=1", " =1", "＝1+1", "--5", "-x", "+"]
PLAIN = ["-1.5", "+2", "-1e5", "1,5", "-1,5", "-.5", "a=b", "", "r00ff", "2018-01-01", "<script>", "x-1"]


@pytest.mark.parametrize("text", NASTY)
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert harmless(text) == "'" + text


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_and_words_stay(text: str) -> None:
    assert harmless(text) == text


@given(st.lists(st.text(st.sampled_from("=+-@\t\r\n 1.,eEx'＝－"), max_size=6), min_size=1, max_size=20))
def test_a_frame_is_made_harmless_cell_by_cell(texts: list[str]) -> None:
    assert harmless_frame(pl.DataFrame({"a": texts}))["a"].to_list() == [harmless(text) for text in texts]


@pytest.mark.parametrize("method", ["mdav", "p-sensitive", "k-envelopes"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_a_release_full_of_formulas_is_written_harmless(tmp_path: Path, method: str, layout: str) -> None:
    rows = [["=id", "@group", *(str(t) for t in range(1, 7))]]
    rows += [[f"+{i}x", "=A1" if i % 2 else "-b", *(str(i + t / 10) for t in range(6))] for i in range(12)]
    options: dict[str, object] = {"id": "=id", "confidential": ["@group"], "missing": "drop"}
    if layout == "long":
        rows = [["=id", "@group", "@t", "=v"]] + [[r[0], r[1], str(t), r[t + 1]] for r in rows[1:] for t in range(1, 7)]
        options |= {"layout": "long", "time": "@t", "value": "=v"}
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    plan = Plan(
        input=Input(path="in.csv", **options),  # type: ignore[arg-type]
        method={"name": method, "k": 3},
        output=Output(folder="out"),
        seed=5,
    )
    outcome = tv.run(Plan.from_toml(plan.to_toml()), base=tmp_path)
    with (outcome.folder / "published" / "data.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert "'=A1" in cells
    assert "'@group" in cells
    assert [cell for cell in cells if harmless(cell) != cell] == []
    told = "Texts that a spreadsheet would run as formulas have an apostrophe in front."
    assert told in (outcome.folder / "published" / "README.md").read_text()
    kept = msgspec.structs.replace(plan, output=Output(folder="kept", formulas="keep"))
    folder = tv.run(kept, base=tmp_path).folder / "published"
    assert '"\'=A1"' not in (folder / "data.csv").read_text()
    assert "=A1" in (folder / "data.csv").read_text()
    assert told not in (folder / "README.md").read_text()
