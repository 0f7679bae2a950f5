"""The logger of the package."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import tsveil as tv


def test_steps_of_the_work_are_logged_without_identifiers_and_secrets(caplog: pytest.LogCaptureFixture) -> None:
    data = tv.Dataset.from_arrays({"load": [[1.0, 2.0], [3.0, 5.0]]}, ids=["secret-1", "secret-2"])
    with caplog.at_level(logging.INFO, "tsveil"):
        tv.MDAV(k=2).protect(data, seed=987654321)
    lines = [record.getMessage() for record in caplog.records if record.name == "tsveil"]
    assert any(line.startswith("Grouping load: done in ") for line in lines)
    assert not [line for line in lines if "secret-" in line or "987654321" in line]


def test_a_step_that_fails_is_not_done(caplog: pytest.LogCaptureFixture) -> None:
    from tsveil.core.progress import step

    with caplog.at_level(logging.INFO, "tsveil"), pytest.raises(ZeroDivisionError), step("Dividing"):
        raise ZeroDivisionError
    assert caplog.records == []


def test_nothing_is_shown_unless_logging_is_set_up() -> None:
    code = "import tsveil as tv; tv.MDAV(k=2).protect(tv.example('food-prices'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
