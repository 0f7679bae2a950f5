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


def test_a_script_whose_work_every_worker_would_do_again_is_told(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from tsveil.engine.choose import chosen_engine\nchosen_engine('dask')\n")
    there = os.environ | {"TSVEIL_THREADS": "1"}
    ended = subprocess.run([sys.executable, str(script)], env=there, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "tsveil.core.errors.EngineError: no Dask cluster could be started on this machine" in ended.stderr
    assert 'put the work under `if __name__ == "__main__":`' in ended.stderr


def test_workers_of_spark_that_run_another_python_are_told(java: str, tmp_path: Path) -> None:
    bare = tmp_path / "python"  # one without packages
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    code = """
from tsveil.engine.choose import chosen_engine
with chosen_engine("spark", master="local[1]") as engine:
    engine.map(lambda task: task, [{"x": 2}], "doing nothing")
"""
    there = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(bare)}
    ended = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "Spark's workers run another Python than this one" in ended.stderr
    assert "PYSPARK_PYTHON" in ended.stderr
