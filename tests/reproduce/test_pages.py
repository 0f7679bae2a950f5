"""The pages and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tsveil.cli import main
from tsveil.reproduce.page import claims, html, listing, markdown, reasons
from tsveil.reproduce.run import ALL, EXPERIMENTS, NO_REASON, Result, reproduce, summary
from tsveil.reproduce.source import Source

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ["000-3", "001-eu", "004-2.3", "004-4.2", "004-4.7"]


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return reproduce(NAMES)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["reproduce", *arguments])
    return result.exit_code, result.output


def test_markdown_has_the_counts_and_the_reasons(results: list[Result]) -> None:
    page = markdown(results, "tsveil reproduce")
    assert "| 000-3 | Food prices normalised as time series | 36 |  | 36 |  |  |  |  |" in page
    assert "| all | 85 | " in page
    assert "- 40 cells more were not computed: their data are not there (--data)." in page
    assert "- needs census.csv, eia.csv (--data) (40 cells: 004-4.7)" in page
    assert "Spearman" in page
    assert "more than 20 % away" in page


def test_the_page_shows_every_cell_and_loads_nothing(results: list[Result], tmp_path: Path, browser: Browser) -> None:
    place = tmp_path / "page.html"
    place.write_text(html(results, "tsveil reproduce"), encoding="utf-8")
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(place.as_uri())
    cells = page.locator("section[id] td")
    assert cells.count() == sum(len(result.cells) for result in results)
    assert page.locator("#t004-4\\.2 td.v-differs").first.get_attribute("title") is not None
    assert requests == [place.as_uri()]
    page.close()


def test_reasons_are_counted_the_most_frequent_first(results: list[Result]) -> None:
    why, count, tables = reasons(results, "differs")[0]
    assert (count, tables) == (4, ["001-eu"])
    assert "220 days" in why


def test_a_figure_that_is_printed_twice_counts_once() -> None:
    first, second = reproduce(["000-2"]), reproduce(["004-6.2"])
    both = [*first, *second]
    assert summary(first)[ALL].cells == summary(second)[ALL].cells == summary(both)[ALL].cells == 36
    assert sum(len(result.cells) for result in both) == 72
    assert claims(both)[0] == "36 printed figures, each counted once (36 more are printed a second time)."


def test_the_summary_holds_right_lines_against_wrong_ones(results: list[Result]) -> None:
    found = summary(results)
    free, every = found[NO_REASON], found[ALL]
    assert sum(counted.cells for name, counted in found.items() if name != ALL) == every.cells == 85
    assert free.agreeing > 0.8
    assert free.agreeing_wrongly < 0.3
    shown = " ".join(claims(results))
    assert f"{100 * free.agreeing:.1f} % of them agree" in shown
    assert f"{100 * free.agreeing_wrongly:.1f} % would then agree" in shown


def test_the_list_names_every_experiment_and_what_it_needs(tmp_path: Path) -> None:
    code, shown = run("--list")
    assert code == 0
    assert all(name in shown for name in EXPERIMENTS)
    assert "(missing)" not in shown
    (tmp_path / "eia.csv").touch()
    assert "needs census.csv (missing), eia.csv;" in listing(Source(tmp_path))


def test_the_command_shows_the_cells_of_what_was_asked_for() -> None:
    code, shown = run("004-2.SSE")
    assert code == 0
    assert "Optimal" in shown
    assert "0.14" in shown
    assert "equal" in shown


def test_json(tmp_path: Path) -> None:
    code, shown = run("004-2.4", "001-eu", "--json", "--data", str(tmp_path))
    assert code == 0
    document = json.loads(shown)
    assert document["summary"]["all"]["verdicts"]["equal"] == 16
    first = document["experiments"][0]["cells"][0]
    assert first == {
        "row": {"method": "MDAV", "record": "1"}, "column": "attr1", "published": "1.5", "ours": 1.5, "verdict": "equal", "reason": None, "why": "",
        "printed_before": False, "wrong_lines": first["wrong_lines"],
    }  # fmt: skip
    assert sum(first["wrong_lines"].values()) == pytest.approx(1)


def test_pages_are_written_and_not_overwritten(tmp_path: Path) -> None:
    for name in ("page.html", "page.md"):
        out = tmp_path / name
        assert run("000-2", "--out", str(out))[0] == 0
        assert "000-2" in out.read_text(encoding="utf-8")
        code, shown = run("000-2", "--out", str(out))
        assert (code, "exists already" in shown) == (2, True)
        assert run("000-2", "--out", str(out), "--overwrite")[0] == 0
    code, shown = run("000-2", "--out", str(tmp_path / "page.pdf"))
    assert (code, ".html" in shown) == (2, True)


def test_bad_names_and_folders_are_refused() -> None:
    assert run("005")[0] == 2
    assert run("--data", "nowhere")[0] == 2
