"""What a message may say: columns, rows, identifiers, and the one cell that is wrong; never the cells that are right.

Messages go to the owner, who has the file open to repair it. They may still be pasted into a ticket or kept in a log: so a message about
one cell does not bring along the others, and what is told of a broken promise names rows, not values.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli import main
from tsveil.errors import GuaranteeError, InputError

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
        replace(release, data=release.data.with_values(values)).write("never")
    assert "row 8" in str(refused.value)
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
