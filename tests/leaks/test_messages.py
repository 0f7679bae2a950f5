"""What a message may say: columns, rows, identifiers, and the one cell that is wrong; never the cells that are right.

Messages go to the owner, who has the file open to repair it. They may still be pasted into a ticket or kept in a log: so a message about
one cell does not bring along the others, and what is told of a broken promise names rows, not values.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tsveil as tv
from leaks.marks import POINTS, SEED, found_in, marked_frame, markers
from release_folders import with_values
from tsveil.cli import main
from tsveil.core.errors import GuaranteeError, InputError
from tsveil.protect.base import Part, Protected

GOOD = "98765.4321"


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ("h1,abc,{0},{0}\n", "'abc' is not a number"),
        ("h1,,{0},{0}\n", "the value is missing"),
        ("h1,inf,{0},{0}\n", "the value is infinite"),
        ("h1,9007199254740993,{0},{0}\n", "beyond 2^53"),
        ("h1,{0},{0}\n", "the value is missing"),
        ("h1,{0},{0},{0},{0}\n", "has 5 cells"),
        ("h0,1.5,{0},{0}\n", "the id 'h0' occurs 2 times"),
    ],
)
def test_a_message_quotes_the_cell_that_is_wrong_and_no_other(tmp_path: Path, bad: str, named: str) -> None:
    path = tmp_path / "meters.csv"
    path.write_text(f"id,a,b,c\nh0,987651,{GOOD},{GOOD}\n" + bad.format(GOOD) + f"h9,987652,{GOOD},{GOOD}\n")
    with pytest.raises(InputError) as refused:
        tv.read(path, id="id", blocks={"x": ["a", "b", "c"]})
    assert named in str(refused.value)
    assert "98765" not in str(refused.value)
    for words in (["inspect", str(path)], ["protect", str(path), "--out", str(tmp_path / "out"), "--block", "x=a..c"]):
        ended = CliRunner().invoke(main, words)
        assert ended.exit_code == (2 if words[0] == "protect" else ended.exit_code)
        assert "98765" not in ended.output + ended.stderr


def test_a_broken_promise_is_told_by_rows_not_by_values() -> None:
    data = tv.Dataset.from_arrays(
        {"load": np.random.default_rng(0).gamma(2, 1, (20, 4))}, ids=[f"markedid{i}" for i in range(20)]
    )
    release = tv.MDAV(k=3).protect(data)
    values = release.data.values.copy()
    values[7, 3] = 98765.4321
    with pytest.raises(GuaranteeError) as refused:
        with_values(release, values).write("never")
    row = int(np.flatnonzero(release.store.get("records") == 7)[0]) + 1  # of the published file
    assert f"(row {row})" in str(refused.value)
    assert "98765" not in str(refused.value)
    assert "markedid" not in str(refused.value)


def test_what_is_printed_has_no_seed_and_no_values(tmp_path: Path) -> None:
    values = 98765.4321 + np.random.default_rng(0).gamma(2, 1, (20, 6))
    path = tmp_path / "meters.csv"
    path.write_text(
        "id,1,2,3,4,5,6\n" + "".join(f"h{i},{','.join(map(str, row))}\n" for i, row in enumerate(values.tolist()))
    )
    for extra in ([], ["--json"]):
        words = [
            "protect",
            str(path),
            "--out",
            str(tmp_path / "out"),
            "--k",
            "3",
            "--seed",
            "918273645",
            "--overwrite",
            *extra,
        ]
        ended = CliRunner().invoke(main, words)
        assert ended.exit_code == 0, ended.output
        assert "918273645" not in ended.output + ended.stderr
        assert "9876" not in ended.output + ended.stderr


# -- tsveil run ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan for marked data."""
    marked_frame().write_csv(tmp_path / "input.csv")
    (tmp_path / "plan.toml").write_text(
        f'seed = {SEED}\n[input]\npath = "input.csv"\nid = "person"\nconfidential = ["tariff"]\n[input.blocks]\n'
        f'load = {{ from = "load.0", to = "load.{POINTS - 1}", kind = "series" }}\n'
        '[method]\nname = "mdav"\nk = 4\n[output]\nfolder = "out"\n'
    )
    return tmp_path / "plan.toml"


def told(plan: Path, caplog: pytest.LogCaptureFixture, *more: str) -> tuple[int, str]:
    """The exit code of `tsveil run`, and everything that it says, also to whoever listens to Python's logging."""
    with caplog.at_level(logging.DEBUG):
        ended = CliRunner().invoke(main, ["run", str(plan), *more])
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    return ended.exit_code, ended.output + ended.stderr + caplog.text


def marked_in(text: str, folder: Path) -> list[str]:
    (folder / "told").mkdir()
    (folder / "told" / "text.txt").write_text(text)
    wanted = markers(Path("no file of this name"), cells=True)
    return found_in(folder / "told", {what: wanted[what] for what in SECRETS})


SECRETS = ("an identifier", "a column without a role", "the seed", "a cell")


@pytest.mark.parametrize("extra", [[], ["--json"], ["--engine", "local"]])
def test_a_run_says_nothing_of_people_values_or_the_seed(
    plan: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, extra: list[str]
) -> None:
    code, text = told(plan, caplog, *extra)
    assert code == 0, text
    assert marked_in(text, tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("k = 4", "k = 400", "400"),
        ("k = 4", "k = 4\ncolour = 3", "colour"),
        ('id = "person"', 'id = "nobody"', "nobody"),
        ('"load.0"', '"remark"', "remark"),
        ('"load.0"', '"tariff"', "tariff"),
        ('"mdav"\nk = 4', '"nlk"\nn = 2\nl = 90\nk = 4', "l"),
        ('folder = "out"', 'folder = "input.csv/out"', "cannot be written"),
    ],
)
def test_a_run_that_is_refused_says_nothing_of_them_either(
    plan: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, old: str, new: str, reason: str
) -> None:
    text = plan.read_text()
    assert old in text
    plan.write_text(text.replace(old, new))
    code, said = told(plan, caplog)
    assert code == 2, said
    assert reason in said
    # The one cell that is wrong may be quoted, and is when a column of words is taken for numbers.
    quoted = {"a column without a role"} if "remark" in new else set()
    assert {one.split(" in ")[0] for one in marked_in(said, tmp_path)} <= quoted


@pytest.mark.parametrize("chunks", [[], ["--engine", "local"]])
def test_a_promise_that_does_not_hold_is_refused_without_values(
    plan: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, chunks: list[str]
) -> None:
    """As if a method were wrong: it leaves one record as it was."""
    honest = tv.MDAV.protect_part

    def wrong(self: tv.MDAV, part: Part) -> Protected:
        done = honest(self, part)
        done.values[5] = part.values[5]
        return done

    monkeypatch.setattr(tv.MDAV, "protect_part", wrong)
    code, said = told(plan, caplog, *chunks)
    assert code == 1, said
    assert "violated" in said
    assert marked_in(said, tmp_path) == []
    assert not (tmp_path / "out").exists()
