"""docs/reading.md says how each kind of file is read: its tables are the test.

Each file is made (tests/shapes.py) and inspected. What was read must also be read so by the plan that the "Next:" line writes, and what was
asked or refused must be refused by every command.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

import tsveil as tv
from shapes import SHAPES, write
from tsveil.cli import main
from tsveil.core.errors import InputError, QuestionError
from tsveil.plan.plan import Plan

PAGE = (Path(__file__).parents[2] / "docs" / "reading.md").read_text(encoding="utf-8").split("\n## For programs")[0]


class Row(NamedTuple):
    """A row of the tables."""

    file: str
    options: list[str]
    outcome: str
    said: list[str]


ROWS = [
    Row(file, shlex.split(options.strip("` ")), outcome, re.findall(r"`([^`]+)`", said))
    for file, options, outcome, said in re.findall(
        r"^\| (\S+) \| [^|]* \|([^|]*)\| (read|asked|refused) \| (.*) \|$", PAGE, re.MULTILINE
    )
]
MADE = [row for row in ROWS if row.file in SHAPES]
REAL = [row for row in ROWS if row.file not in SHAPES]


def inspected(row: Row, place: Path) -> str:
    """What is said of a file, which must be what the row says."""
    found = CliRunner().invoke(main, ["inspect", str(place), *row.options])
    text = found.output.replace(f"{place.parent}/", "")
    assert row.said
    for sentence in row.said:
        # A reading is the whole line: nothing more was found in the file.
        assert sentence in (text.splitlines() if sentence.startswith("Read") else text), text
    assert ("Ready: " in text or "Readable, " in text) == (row.outcome == "read"), text
    assert bool(re.search(r"questions? first:", text)) == (row.outcome == "asked"), text
    assert found.exit_code == (0 if row.outcome == "read" else 2), text
    return found.output


def test_the_tables_have_every_kind_of_file() -> None:
    assert {row.file for row in MADE} == set(SHAPES)
    assert len(SHAPES) >= 60
    tables = [table for table in PAGE.split("\n\n") if table.startswith("| file |")]
    assert sum(table.count("\n| ") - 1 for table in tables) == len(ROWS)


def test_four_in_five_that_are_not_ambiguous_are_read_without_an_option() -> None:
    """Files that are asked about may mean several things; all others count, damaged ones and those that are no tables, too."""
    first = {row.file: row.outcome for row in reversed(ROWS) if not row.options}
    plain = [outcome for outcome in first.values() if outcome != "asked"]
    assert len(plain) >= 60
    assert plain.count("read") >= 0.8 * len(plain)


@pytest.mark.parametrize("row", MADE, ids=lambda row: " ".join([row.file, *row.options]))
def test_a_made_file(row: Row, tmp_path: Path) -> None:
    place = write(row.file, tmp_path)
    text = inspected(row, place)
    if row.outcome == "read":
        (line,) = re.findall(r"^Next: tsveil (.*)$", text, re.MULTILINE)
        assert CliRunner().invoke(main, shlex.split(line)).exit_code == 0
        (plan,) = tmp_path.glob("*.plan.toml")
        assert f": {Plan.load(plan).input.read(tmp_path)!r}" in text
    elif row.outcome == "asked":
        for command in (["plan", str(place)], ["protect", str(place), "--out", str(tmp_path / "release")]):
            refused = CliRunner().invoke(main, [*command, *row.options])
            assert (refused.exit_code, row.said[0] in refused.output) == (2, True)
        assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("row", REAL, ids=lambda row: row.file)
def test_a_real_file(row: Row, shared_data: Path) -> None:
    assert {file.name for file in shared_data.glob("*.csv*")} == {row.file for row in REAL}
    inspected(row, shared_data / row.file)


@pytest.mark.parametrize("name", ["visits", "turned-names", "people-sex", "long-two-meters", "folder-of-weeks"])
def test_a_run_refuses_what_is_asked(name: str, tmp_path: Path) -> None:
    place = write(name, tmp_path)
    (tmp_path / "plan.toml").write_text(
        f'[input]\npath = "{place.name}"\n[method]\nname = "mdav"\n[output]\nfolder = "out"\n'
    )
    for more in ([], ["--engine", "local"]):
        refused = CliRunner().invoke(main, ["run", str(tmp_path / "plan.toml"), *more])
        assert refused.exit_code == 2
        assert next(row for row in MADE if row.file == name).said[0] in refused.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options", [{}, {"chunks": True}, {"memory": "1KB"}])
def test_a_folder_is_asked_about_as_a_whole(options: dict[str, Any], tmp_path: Path) -> None:
    place = write("folder-of-weeks", tmp_path)
    with pytest.raises(QuestionError, match="several rows for the same 'household'"):
        tv.read(place, **options)
    assert tv.read(place, person="household", **options).person == ("household",)
    alone = tv.read(place, independent_rows=True, **options)
    assert (alone.id, alone.person, alone.n) == (None, (), 60)


def test_columns_that_do_not_exist_cannot_be_left_out(tmp_path: Path) -> None:
    place = write("people-sex", tmp_path)
    for option in ("leave_out", "numbers"):
        wrong: dict[str, Any] = {option: ["gender"]}
        with pytest.raises(InputError, match="there is no column 'gender'"):
            tv.read(place, **wrong)
