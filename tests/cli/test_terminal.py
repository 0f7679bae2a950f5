"""What a person sees on a terminal: bars while something runs, and tables at the end."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tsveil as tv
from tsveil.cli import main, terminal
from tsveil.core import progress
from tsveil.reproduce.run import reproduce


class Screen(io.StringIO):
    """A terminal that remembers what was written on it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def open_screen(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Screen]:
    """Puts a terminal in the place of an output; to be called in the test, since pytest sets its own before each."""

    def opened(name: str) -> Screen:
        found = Screen()
        monkeypatch.setattr(sys, name, found)
        return found

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return opened


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def soon(true: Callable[[], bool]) -> bool:
    """Whether something becomes true before long; a thread draws in its own time."""
    for _ in range(500):
        if true():
            return True
        time.sleep(0.02)
    return False


# -- bars -------------------------------------------------------------------------------------------------------------


def test_a_bar_follows_the_counter_of_a_step_and_goes_away(open_screen: Callable[[str], Screen]) -> None:
    screen = open_screen("stderr")
    with terminal.Bars() as bars:
        with progress.step("Counting sheep", total=8) as done:
            done[0] = 6
            assert soon(lambda: "Counting sheep" in screen.getvalue())
            assert soon(lambda: [task.completed for task in bars._progress.tasks] == [6])
            with progress.step("Shearing one of them"):
                assert len(bars._progress.tasks) == 2
        assert bars._progress.tasks == []
    # Nobody listens any more, and the cursor is shown again.
    with progress.step("Unheard"):
        pass
    assert "Unheard" not in screen.getvalue()
    assert screen.getvalue().rindex("\x1b[?25h") > screen.getvalue().rindex("\x1b[?25l")


def test_an_error_ends_the_bars_too(open_screen: Callable[[str], Screen]) -> None:
    open_screen("stderr")
    with pytest.raises(ZeroDivisionError), terminal.Bars() as bars, progress.step("Dividing"):
        raise ZeroDivisionError
    assert not bars._thread.is_alive()


def test_commands_show_bars_on_a_terminal_and_nothing_in_a_pipe(
    open_screen: Callable[[str], Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = open_screen("stderr")
    with terminal.show_progress(True), progress.step("On a terminal"):
        assert soon(lambda: "On a terminal" in screen.getvalue())
    with terminal.show_progress(False), progress.step("With --json"):
        time.sleep(0.15)
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with terminal.show_progress(True), progress.step("In a pipe"):
        time.sleep(0.15)
    assert "With --json" not in screen.getvalue()
    assert pipe.getvalue() == ""


def test_a_whole_command_on_a_terminal(
    open_screen: Callable[[str], Screen], capsys: pytest.CaptureFixture[str]
) -> None:
    screen = open_screen("stderr")
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "004-2.SSE"])
    assert ended.value.code == 0
    assert "SSE of the examples 2.2 to 2.4" in capsys.readouterr().out
    assert "Reproducing" in screen.getvalue()


# -- tables -----------------------------------------------------------------------------------------------------------


def words(text: str) -> list[list[str]]:
    """The cells of each line, which stand at least two spaces apart."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]


def test_configurations_of_a_study(wide: None, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.study_table(
        [
            {"label": "MDAV k=5", "risk": 12.345, "attack": "replay", "loss": 3.0, "guarantee": "5-anonymity"},
            {"label": "noise", "risk": 99.96, "attack": "values", "loss": 0.04, "guarantee": ""},
        ]
    )
    assert words(capsys.readouterr().out) == [
        ["configuration", "risk", "attack", "loss", "promise"],
        ["MDAV k=5", "12.3 %", "replay", "3.0 %", "5-anonymity"],
        ["noise", "100.0 %", "values", "0.0 %"],
    ]


def test_the_better_of_two_releases_is_green(open_screen: Callable[[str], Screen]) -> None:
    screen = open_screen("stdout")
    terminal.comparison_table(
        [
            {"figure": "risk", "title": "risk", "unit": "%", "a": 12.0, "b": 34.5, "better": "a"},
            {"figure": "EULD", "title": "linkage by values", "unit": "%", "a": None, "b": 2.0, "better": None},
            {"figure": "VL", "title": "value loss", "unit": "", "a": 1234.5, "b": 1234.5, "better": None},
        ],
        "one",
        "other",
    )
    shown = screen.getvalue()
    assert re.findall(r"\x1b\[32m\s*([^\x1b]*?)\s*\x1b", shown) == ["12.00 %"]
    plain = words(re.sub(r"\x1b\[[0-9;]*m", "", shown))
    assert plain == [
        ["figure", "one", "other"],
        ["risk", "12.00 %", "34.50 %"],
        ["linkage by values", "2.00 %"],
        ["value loss", "1,234.50", "1,234.50"],
    ]


@pytest.fixture(scope="module")
def series() -> tv.Dataset:
    rng = np.random.default_rng(3)
    return tv.Dataset.from_arrays({"load": 9 + rng.normal(size=(12, 6)).cumsum(axis=1)})


def test_sentences_are_shown_only_where_they_fit(
    series: tv.Dataset, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    card = tv.evaluate(series, tv.MDAV(k=3).protect(series, seed=1), models="fitting")
    title, _, sentence = card.meanings["EULD"]
    shown = {}
    for columns in ("80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        terminal.show_card(card)
        shown[columns] = capsys.readouterr().out
    assert f"{card['EULD']:.2f} %" in shown["80"]
    assert title in shown["80"]
    assert sentence.split(".")[0] not in shown["80"]
    assert sentence.split(".")[0][:40] in shown["200"]
    name, rate = card.best_attack
    assert (
        f"Best on average over what is known: {card.options.get('strongest', card.meanings[name][0])}, {rate:.2f} %"
        in shown["80"]
    )


def test_the_card_of_envelopes(series: tv.Dataset, wide: None, capsys: pytest.CaptureFixture[str]) -> None:
    card = tv.KP(k=4, P=2).protect(series, seed=1).evaluate()
    terminal.show_card(card)
    shown = capsys.readouterr().out
    for name, value in card.to_dict().items():
        assert f"{value:,.2f} {card.meanings[name].unit}".rstrip() in shown
        assert card.meanings[name].title in shown
    assert "Best on average" not in shown


def test_cells_and_counts_of_reproduced_tables(capsys: pytest.CaptureFixture[str], wide: None) -> None:
    results = reproduce(["004-2.SSE", "004-4.7"])
    terminal.verdict_tables(results, cells=True)
    shown = capsys.readouterr().out
    assert results[0].experiment.table.title in shown
    assert shown.count("needs census.csv, eia.csv (--data)") == len(results[1].cells)
    assert "4 printed figures, each counted once." in shown
    assert "40 cells more were not computed" in shown
    counted = {line[0]: line[1:] for line in words(shown[shown.rindex("reason known") :]) if line}
    assert counted["none"] == counted["all"] == ["4", "4", "100.0 %"]


def test_narrow_terminals_get_no_titles(capsys: pytest.CaptureFixture[str], narrow: None) -> None:
    results = reproduce(["004-2.SSE"])
    terminal.verdict_tables(results, cells=False)
    shown = capsys.readouterr().out
    assert results[0].experiment.table.title not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_only_one_module_prints() -> None:
    for path in Path(terminal.__file__).parent.glob("*.py"):
        calls = re.findall(r"\b(?:click\.echo|click\.secho|print)\(", path.read_text(encoding="utf-8"))
        assert not calls or path.name == "terminal.py", path.name
