"""The experiments themselves: tables known to agree do, on bundled examples and on the public data where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import EXHAUSTIVE
from tsveil.core.errors import InputError
from tsveil.reproduce.run import EXPERIMENTS, Result, choose_experiments, reproduce
from tsveil.reproduce.source import FILES, Source


def one(name: str, data: Path | None = None) -> Result:
    (result,) = reproduce([name], data=data)
    assert len(result.cells) == len(result.experiment.table.rows) * len(result.experiment.table.columns)
    return result


def verdicts(result: Result, *row: str, column: str = "") -> set[str]:
    """Of the cells whose row begins so, in one column or in all."""
    chosen = [c for c in result.cells if c.row[: len(row)] == row and column in ("", c.column)]
    assert chosen
    return {cell.verdict for cell in chosen}


@pytest.mark.parametrize(
    "name", ["000-2", "000-3", "003-examples", "004-2.2", "004-2.3", "004-2.4", "004-2.SSE", "004-6.2"]
)
def test_examples_that_agree_in_every_cell(name: str) -> None:
    assert verdicts(one(name)) == {"equal"}


def test_the_other_examples() -> None:
    assert one("004-5.2").counts == {
        "equal": 96, "near": 0, "trend": 0, "differs": 0, "not compared": 4,
    }  # fmt: skip
    assert one("004-5.3").counts["equal"] == 26  # the last row is cut off after four digits, not rounded
    assert verdicts(one("004-6.3")) == {"not compared"}
    assert one("004-3.8").counts["equal"] == 19
    clusters = one("001-eu")
    assert [cell.row[0] for cell in clusters.cells if cell.verdict == "equal"] == ["2", "5"]
    circles = one("004-3.1.3")
    assert verdicts(circles, "circle", "correlated") == verdicts(circles, "sphere", "correlated") == {"equal"}
    links = one("004-4.2")
    assert verdicts(links, "P-RL") == {"equal"}
    assert [cell.ours for cell in links.cells if cell.row == ("RS-RL",)] == [0, 2, 7, 7, 40]


def test_without_data_nothing_is_guessed() -> None:
    for experiment in EXPERIMENTS.values():
        if experiment.needs:
            result = one(experiment.name)
            assert verdicts(result) == {"not compared"}
            assert all(cell.ours is None for cell in result.cells)
            assert experiment.needs[0] in result.cells[0].why


def test_the_files_that_are_needed_are_told() -> None:
    needed = {file for experiment in EXPERIMENTS.values() for file in experiment.needs}
    assert needed == set(FILES)
    assert all(experiment.how for experiment in EXPERIMENTS.values())


def test_names_of_experiments() -> None:
    assert [experiment.name for experiment in choose_experiments(["001"])] == ["001-eu", "001-sts"]
    assert [experiment.name for experiment in choose_experiments(["004-3.1"])] == ["004-3.1.1", "004-3.1.3"]
    assert {experiment.name for experiment in choose_experiments(["004", "003"])} == {
        e for e in EXPERIMENTS if e[:3] in ("003", "004")
    }
    with pytest.raises(InputError, match=r"no experiment 007\n.*no experiment 1\n.*--list"):
        choose_experiments(["007", "004-4.7", "1"])


def test_a_folder_that_is_not_there_and_a_file_that_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        reproduce(["004-2.2"], data=tmp_path / "nowhere")
    (tmp_path / "census.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"census\.csv has no column 'AFNLWGT'"):
        reproduce(["004-4.8"], data=tmp_path)


def test_a_file_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_text("a\n1\n")
    source = Source(tmp_path)
    assert source.frame("iris.csv") is source.frame("iris.csv")


# -- on the public data -----------------------------------------------------------------------------------------------


def test_univariate_microaggregation(shared_data: Path) -> None:
    result = one("004-4.7", shared_data)
    assert verdicts(result, column="MDAV") == {"equal"}
    assert verdicts(result, column="Optimal") == {"near", "trend"}


def test_zscores_microaggregation_of_water_treatment(shared_data: Path) -> None:
    result = one("004-3.5", shared_data)
    assert verdicts(result, "correlated", "Zscores", column="1G") == {"equal"}
    found = [c.verdict for c in result.cells if c.row[:2] == ("correlated", "Zscores") and c.column == "SSE"]
    assert found == ["equal", "equal", "near", "equal", "near"]  # 72.23 and 111.69 are printed for 72.22 and 111.71


def test_mic1d(shared_data: Path) -> None:
    result = one("004-3.10", shared_data)
    for kind in ("correlated", "scattered"):
        assert verdicts(result, kind, "Mic1D", column="SSE") <= {"equal", "near"}
    assert verdicts(result, "correlated", "Mic1D", column="1G") <= {"equal", "near"}


def test_projections_against_zscores_microaggregation(shared_data: Path) -> None:
    result = one("004-4.10", shared_data)
    cell = next(c for c in result.cells if c.row == ("Zscores", "2", "25") and c.column == "ProjLD")
    assert (cell.printed, cell.verdict) == ("90.65", "equal")


def test_sizes_of_the_data(shared_data: Path) -> None:
    assert verdicts(one("004-2.6", shared_data)) == {"equal"}


def test_forecasters(shared_data: Path) -> None:
    result = one("000-5", shared_data)
    for column in ("EULD", "STSLD", "IL3"):
        assert verdicts(result, "eu", "1", column=column) <= {"equal", "near", "trend"}
    assert "equal" not in verdicts(result, column="ID")


def test_other_data_never_count_as_the_papers(shared_data: Path) -> None:
    # The prices of 000-7 take half a minute.
    for name in ("000-6", "000-7", "003-10") if EXHAUSTIVE else ("000-6", "003-10"):
        assert verdicts(one(name, shared_data)) <= {"trend", "differs", "not compared"}
