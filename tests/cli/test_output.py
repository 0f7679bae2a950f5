"""Where the answer of a command goes: a full disk or a reader that has seen enough gives no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("words", [("methods",), ("methods", "--json"), ("--help",)])
def test_a_full_disk_behind_standard_output_is_told(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([sys.executable, "-m", "tsveil", *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert "Traceback" not in ended.stderr
    assert "No space left on device" in ended.stderr
    assert ended.returncode != 0


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    ended = subprocess.run(
        f"{sys.executable} -m tsveil methods | head -n 1", shell=True, capture_output=True, text=True
    )
    assert ended.stdout.startswith("mdav")
    assert "Traceback" not in ended.stderr


def test_without_standard_output_a_command_still_works() -> None:
    ended = subprocess.run(f"{sys.executable} -m tsveil methods >&-", shell=True, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
