"""In pipelines: --quiet prints nothing but errors, and shells complete commands and options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from tsveil.cli import main


def tsveil(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def meters(tmp_path: Path) -> Path:
    values = np.random.default_rng(8).gamma(3, 2, (12, 6)).round(3)
    frame = pl.DataFrame(values, schema=[f"2024-01-{day:02}" for day in range(1, 7)], orient="row")
    frame.insert_column(0, pl.Series("household", [f"h{i:02}" for i in range(12)])).write_csv(tmp_path / "meters.csv")
    return tmp_path / "meters.csv"


def test_quiet_commands_print_nothing_and_do_the_work(meters: Path, undrawn: None) -> None:
    out = meters.parent / "out"
    for words in (
        ("protect", meters, "--out", out, "--k", 3, "--quiet"),
        ("run", out / "private" / "plan.toml", "--dry-run", "--quiet", "--overwrite", "--anywhere"),
        ("sweep", meters, "--out", meters.parent / "study", "--methods", "optimal-univariate", "--quiet"),
    ):
        done = tsveil(*words)
        assert (done.exit_code, done.output) == (0, ""), words
    assert (out / "published" / "data.csv").exists()
    assert (meters.parent / "study" / "study.html").exists()


def test_quiet_checks_answer_by_their_exit_code(meters: Path) -> None:
    plan = meters.parent / "plan.toml"
    plan.write_text('[input]\npath = "meters.csv"\n[method]\nname = "mdav"\n[output]\nfolder = "release"\n')
    done = tsveil("check", plan, "--quiet")
    assert (done.exit_code, done.output) == (1, "")


def test_errors_are_told_all_the_same(meters: Path) -> None:
    done = tsveil("protect", meters, "--out", meters.parent / "out", "--k", 99, "--quiet")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: The 'k' parameter of MDAV")
    assert done.stdout == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how_to_complete(shell: str) -> None:
    # The variable has the name of the program, so it is started under this name.
    code = "import sys; sys.argv[0] = 'tsveil'; from tsveil.cli import main; main()"

    def ask(instruction: str, **more: str) -> str:
        given = {**os.environ, "_TSVEIL_COMPLETE": f"{shell}_{instruction}", **more}
        return subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True).stdout

    if shell != "bash":  # of bash it asks the one that is installed for its version
        assert "_TSVEIL_COMPLETE" in ask("source")
    words = {"COMP_WORDS": "tsveil rec", "COMP_CWORD": "rec" if shell == "fish" else "1"}
    assert "recommend" in ask("complete", **words)
