"""What reports say about (n,l,k)-anonymity, and the study page."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli import main
from tsveil.data.synthetic import random_series
from tsveil.measure.nlk import identification
from tsveil.report.nlk import model_section
from tsveil.report.release import report


def test_a_report_says_what_the_model_does_and_does_not() -> None:
    data = random_series(60, 20)
    release = tv.NLK(n=3, l=6, k=5).protect(data)
    card, verdict = tv.evaluate(data, release), release.verify()
    found = identification(release.data.block("random"), 3)
    for public in (True, False):
        text = report(release, card, verdict, public=public)
        assert "What (3,6,5)-anonymity means here" in text
        assert "at most 2 other values" in text
        assert "does not hide which record belongs to a person" in text
        assert f'<td class="number">{found.random:.1f} %</td>' in text
        assert "How far values moved, random" in text
    mdav = tv.MDAV(k=5).protect(data)
    assert "anonymity means here" not in report(mdav, tv.evaluate(data, mdav), mdav.verify(), public=True)


def test_measures_that_are_not_defined_are_left_open() -> None:
    data = tv.Dataset.from_arrays({"balance": random_series(30, 12).values - 100})
    section = model_section(tv.NLK(n=2, l=5, k=4).protect(data))
    assert section is not None
    figures = dict(zip(section.columns, section.rows[0][1], strict=True))
    assert figures["NormDiv"] == "–"
    assert figures["shift of the standard deviation"].endswith(" %")


def test_the_study_command(tmp_path: Path) -> None:
    source = tmp_path / "meters.csv"
    frame = pl.DataFrame(random_series(40, 12).values, schema=[f"h{t}" for t in range(12)])
    frame.insert_column(0, pl.Series("id", [f"m{i}" for i in range(40)])).write_csv(source)
    words = ["nlk-study", source, "--out", tmp_path / "study.html", "--pairs", "2,4 2,6", "--ks", "4,6"]
    words += ["--heuristics", "mil,mth,peel", "--layout", "wide", "--id", "id"]

    def tsveil(*more: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, [str(word) for word in (*words, *more)], catch_exceptions=False)
        return result.exit_code, result.output

    code, output = tsveil()
    assert code == 0, output
    assert "14 tables made and verified" in output
    table = pl.read_csv(tmp_path / "study.csv")
    assert set(table["status"]) == {"holds"}
    page = (tmp_path / "study.html").read_text()
    assert page.count("<svg") >= 5
    assert "http" not in page.replace("http://www.w3.org/", "")

    code, output = tsveil()
    assert code == 2
    assert "exists already" in output
    assert tsveil("--overwrite", "--ks", "4")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say what to study"),
        (["--synthetic", "sine", "--heuristics", "best"], "must be among mth, mil, gpe, peel"),
        (["--synthetic", "sine", "--pairs", "7"], "--pairs must look like 7,10"),
        (["--synthetic", "sine", "--ks", "ten"], "--ks must look like"),
        (["--synthetic", "sine", "--ks", "5000"], "at most the number of records (1000)"),
    ],
)
def test_wrong_words(words: list[str], said: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["nlk-study", "--out", str(tmp_path / "s.html"), *words], catch_exceptions=False)
    assert result.exit_code == 2
    assert said in result.output
    assert not list(tmp_path.iterdir())
