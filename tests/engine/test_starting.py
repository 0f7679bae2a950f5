"""Clusters that are started for a run, and what is told when that fails; without data, so that it runs without compiled kernels too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tsveil as tv
from tsveil.engine.choose import chosen_engine


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(tv.errors.InputError) as caught:
        chosen_engine("dask", scheduler="carrier-pigeon://roof:1")
    assert "the Dask scheduler at carrier-pigeon://roof:1 cannot be reached" in str(caught.value)
    assert "options: check the address (tcp://HOST:PORT)" in str(caught.value)


def test_without_java_spark_is_not_started(tmp_path: Path) -> None:
    """In a process of its own: here a session may be running."""
    code = "from tsveil.engine.choose import chosen_engine; chosen_engine('spark')"
    there = os.environ | {"JAVA_HOME": str(tmp_path), "PATH": os.path.dirname(sys.executable) + ":/usr/bin:/bin"}
    ended = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "tsveil.core.errors.InputError: Spark cannot be started at this machine" in ended.stderr
    assert "that Java is installed" in ended.stderr


def test_a_session_that_was_started_for_a_run_is_stopped(java: str) -> None:
    code = """
from tsveil.engine.choose import chosen_engine

def doubled(task):
    return {"twice": 2 * task["x"]}

with chosen_engine("spark", master="local[1]") as engine:
    print(engine.map(doubled, [{"x": 2}, {"x": 5}], "doubling"))
    session = engine.session
print("stopped:", session.sparkContext._jsc is None)
"""
    there = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    ended = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-2:] == ["[{'twice': 4}, {'twice': 10}]", "stopped: True"]
