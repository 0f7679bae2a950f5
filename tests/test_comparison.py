"""Two releases side by side: written ones are opened again, measured in the same way, and shown in one page."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli import main
from tsveil.release.reopen import reopen_release

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def curves(n: int = 30, ids: bool = True) -> tv.Dataset:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(n, 10)).cumsum(axis=1) + 20
    return tv.Dataset.from_arrays({"load": x}, ids=[f"house {i}" for i in range(n)] if ids else None)


def people() -> tv.Dataset:
    rng = np.random.default_rng(6)
    frame = pl.DataFrame({name: rng.normal(50, 10, size=30).round(1) for name in ("age", "pay", "tax")})
    return tv.Dataset.from_frame(frame, blocks={"a": ["age", "pay", "tax"]})


@pytest.mark.parametrize("data", [curves(), curves(ids=False), people()], ids=["ids", "no ids", "attributes"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_written_release_can_be_opened_again(tmp_path: Path, data: tv.Dataset, form: Any) -> None:
    made = tv.MDAV(k=3).protect(data)
    again = reopen_release(made.write(tmp_path / "r", format=form), data)
    assert isinstance(again, tv.Release)
    assert np.array_equal(again.data.values, made.data.values)
    assert again.method == made.method
    assert again.verify().holds
    both = tv.compare(made, again)
    assert both.a.figures == both.b.figures


def test_envelopes_can_be_opened_again_with_suppressed_records(tmp_path: Path) -> None:
    falling = np.linspace(9, 1, 12) + np.random.default_rng(2).uniform(size=(20, 1))
    x = np.vstack([np.linspace(1, 9, 12), falling])
    data = tv.Dataset.from_arrays({"load": x}, ids=[f"h{i}" for i in range(21)])
    made = tv.KP(k=4, P=2).protect(data)
    again = reopen_release(made.write(tmp_path / "r"), data)
    assert again.envelopes
    assert again.suppressed.tolist() == made.suppressed.tolist() == [0]
    assert np.array_equal(again.lo, made.lo)
    assert np.array_equal(again.hi, made.hi)
    assert again.words == made.words
    both = tv.compare(made, again)
    assert both.a.figures == both.b.figures


def test_figures_are_those_of_the_releases_and_the_lower_one_is_better() -> None:
    data = curves()
    few, many = tv.MDAV(k=2).protect(data), tv.MDAV(k=6).protect(data)
    both = tv.compare(few, many)
    rows = {row["figure"]: row for row in both.table.to_dicts()}
    for name, value in few.evaluate(models="fitting").items():
        if name in rows:
            assert rows[name]["a"] == value
    assert (rows["loss"]["better"], rows["risk"]["better"]) == ("a", "b")
    assert both.summary.startswith("B has less risk")
    assert "every gain has its price" in both.summary
    same = tv.compare(few, few)
    assert same.summary.startswith("Both have the same risk")
    assert set(same.table["better"]) == {""}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ((20.0, 40.0), "Both have the same risk (20.0 %) and the same loss (40.0 %)."),
        ((25.0, 41.0), "A is better in both: less risk (20.0 % against 25.0 %) and less loss (40.0 % against 41.0 %)."),
        ((15.0, 40.0), "B has less risk (15.0 % against 20.0 %); the loss is the same (40.0 %)."),
        ((20.0, 50.0), "A has less loss (40.0 % against 50.0 %); the risk is the same (20.0 %)."),
        ((30.0, 10.0), "A has less risk (20.0 % against 30.0 %), B less loss (10.0 % against 40.0 %): every gain has its price."),
    ],
)  # fmt: skip
def test_the_outcome_in_words(other: tuple[float, float], words: str) -> None:
    release = tv.MDAV(k=3).protect(curves())
    both = tv.compare(release, release)
    sides = [
        replace(side, figures=replace(side.figures, risk=risk, loss=loss))
        for side, (risk, loss) in zip((both.a, both.b), ((20.0, 40.0), other), strict=True)
    ]
    assert replace(both, a=sides[0], b=sides[1]).summary == words


def test_the_page_shows_both_and_nothing_from_elsewhere(tmp_path: Path, browser: Browser) -> None:
    data = curves()
    both = tv.compare(tv.MDAV(k=3).protect(data), tv.KAnonymousEnvelopes(k=4).protect(data), title="Two <ways>")
    place = both.write(tmp_path / "both.html")
    for width in (420, 1280):
        context = browser.new_context(viewport={"width": width, "height": 900})
        page = context.new_page()
        page.goto(place.as_uri())
        assert page.locator("h1").inner_text() == "Two <ways>"
        assert "Do not pass on" in page.locator(".private").inner_text()
        assert page.locator(".chart svg").count() in (6, 8)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("performance.getEntriesByType('resource').length") == 0
        context.close()


def test_attributes_have_means_instead_of_curves() -> None:
    data = people()
    text = tv.compare(tv.MDAV(k=3).protect(data), tv.RankSwap(p=20).protect(data, seed=1)).html()
    assert "Attributes before and after" in text
    assert "Curves before and after" not in text
    assert f"{data.values[:, 0].mean():,.4g}" in text


# -- from folders, on the command line --------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    x = curves().values.round(2)
    pl.DataFrame({"who": [f"p{i}" for i in range(30)], **{str(t): x[:, t] for t in range(10)}}).write_csv("m.csv")
    for name, k in (("mild", "3"), ("strong", "8")):
        tsveil("protect", "m.csv", "--out", name, "--k", k)
    return tmp_path


def tsveil(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == code, result.output
    return result.output


def test_two_folders_are_compared_and_the_original_is_found(here: Path) -> None:
    shown = tsveil("compare", "mild", "strong", "--out", "both.html")
    assert shown.startswith("strong has less risk")
    assert "mild and strong compared" in (here / "both.html").read_text(encoding="utf-8")
    found = json.loads(tsveil("compare", "mild", "strong", "--json"))
    stored = json.loads((here / "mild" / "private" / "release.json").read_text())["scores"]
    figures = {row["figure"]: row["a"] for row in found["figures"]}
    assert figures["EULD"] == pytest.approx(stored["EULD"])
    assert figures["IL"] == pytest.approx(stored["IL"])
    assert "exists already" in tsveil("compare", "mild", "strong", "--out", "both.html", code=2)
    tsveil("compare", "mild", "strong", "--out", "both.html", "--overwrite")


def test_a_plan_with_relative_paths_finds_its_original_from_anywhere(here: Path, tmp_path: Path) -> None:
    (here / "plan.toml").write_text(
        '[input]\npath = "m.csv"\n[method]\nname = "mdav"\nk = 4\n[output]\nfolder = "out/deep"\n'
    )
    (here / "out").mkdir()
    tsveil("run", "plan.toml")
    assert "less" in tsveil("compare", "out/deep", "mild")


def test_what_cannot_be_compared_is_told(here: Path) -> None:
    assert "not a release with its private side" in tsveil("compare", "mild", "nothing", code=2)
    assert "must be a page" in tsveil("compare", "mild", "strong", "--out", "both.pdf", code=2)
    assert "need --original" in tsveil("compare", "mild", "strong", "--id", "who", code=2)
    pl.read_csv("m.csv").head(20).write_csv("other.csv")
    assert "not a release of these data" in tsveil("compare", "mild", "strong", "--original", "other.csv", code=2)
    shutil.move("m.csv", "gone.csv")
    assert "--original FILE" in tsveil("compare", "mild", "strong", code=2)
    assert "strong has less risk" in tsveil("compare", "mild", "strong", "--original", "gone.csv")
    with pytest.raises(tv.errors.InputError, match="not releases of the same data"):
        tv.compare(tv.MDAV(k=3).protect(curves()), tv.MDAV(k=3).protect(curves(31)))
