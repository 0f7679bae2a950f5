"""Clusters as people have them: schedulers and workers that are processes of their own, and `tsveil run` that is told their address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import polars as pl
import psutil
import pytest

import tsveil as tv
from engine_files import write_files
from tsveil.engine import base, on_dask, on_spark
from tsveil.engine.choose import chosen_engine

PLAN = """
seed = 7
secret = ""
[input]
path = "in"
confidential = ["town"]
[method]
name = "mdav"
k = 5
[output]
folder = "out"
[run]
chunk = 200
"""
#: seconds after which something that should have started has failed
PATIENCE = 240.0


@contextmanager
def started(log: Path, *command: str, **environment: str) -> Iterator[Callable[[], str]]:
    """A program that is gone at the end with everything it started; gives what it has written so far."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **environment})
    try:
        yield lambda: log.read_text(errors="replace")
    finally:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for one in family:
            try:
                one.kill()
            except psutil.NoSuchProcess:
                continue
        process.wait()
        psutil.wait_procs(family, timeout=20)


def found(what: Callable[[], str]) -> str:
    """What is there after a while."""
    end = time.monotonic() + PATIENCE
    while not (text := what()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return text


def line_with(log: Callable[[], str], mark: str) -> str:
    """A line that has been written."""
    return found(lambda: next((line for line in log().splitlines(keepends=True) if mark in line and "\n" in line), ""))


def ran(folder: Path, *options: str) -> tuple[int, str]:
    """The exit code of the command, in a process of its own, and what it said."""
    command = [sys.executable, "-m", "tsveil", "run", str(folder / "plan.toml"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout + done.stderr


def content(folder: Path) -> dict[str, bytes]:
    """Everything that may be published."""
    place = folder / "out" / "published"
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path, curves: pl.DataFrame) -> Path:
    write_files(tmp_path / "in", curves, 3)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture
def expected(folder: Path) -> dict[str, bytes]:
    """What is published by this machine alone."""
    tv.run(folder / "plan.toml", engine="local")
    files = content(folder)
    assert "data.parquet" in files
    return files


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    """The address of a Dask scheduler without workers."""
    file = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    with started(tmp_path / "scheduler.log", sys.executable, "-m", "dask", "scheduler", *options):

        def address() -> str:
            try:
                return str(msgspec.json.decode(file.read_bytes())["address"])
            except (OSError, msgspec.DecodeError):  # not there yet, or half of it
                return ""

        yield found(address)


@contextmanager
def worker(tmp_path: Path, scheduler: str, name: str, **environment: str) -> Iterator[None]:
    options = ["--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path / "scratch"), "--name", name]
    log = tmp_path / f"{name}.log"
    with started(log, sys.executable, "-m", "dask", "worker", scheduler, *options, **environment) as said:
        line_with(said, "Registered to")
        yield


def test_dask_workers_that_are_processes_of_their_own(
    folder: Path, scheduler: str, expected: dict[str, bytes], tmp_path: Path
) -> None:
    with ExitStack() as workers:
        for name in ("one", "two"):
            workers.enter_context(worker(tmp_path, scheduler, name))
        code, said = ran(folder, "--engine", "dask", "--scheduler", scheduler, "--overwrite")
        assert code == 0, said
        assert content(folder) == expected
        facts = msgspec.json.decode((folder / "out" / "private" / "release.json").read_bytes())
        assert facts["run"] == "The work was done in 4 chunks of 200 records on the engine dask."
        # A worker that has no tsveil would end as soon as it gets a task, and its tasks would go to the next one.
        (tmp_path / "bare").mkdir()
        (tmp_path / "bare" / "tsveil.py").write_text("raise ModuleNotFoundError('no tsveil', name='tsveil')\n")
        workers.enter_context(worker(tmp_path, scheduler, "bare", PYTHONPATH=str(tmp_path / "bare")))
        code, said = ran(folder, "--engine", "dask", "--scheduler", scheduler, "--overwrite")
        assert code == 2
        assert "error: 1 of 3 Dask workers have no tsveil: tcp://127.0.0.1:" in said
        assert "Traceback" not in said
    assert content(folder) == expected


def test_a_scheduler_without_workers_is_not_waited_for_forever(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "PATIENCE", 0.3)
    monkeypatch.setattr(on_dask, "PACE", 0.1)
    told = r"no worker of dask has taken up the work for 0 seconds\n  options: dask worker tcp://127"
    with chosen_engine("dask", scheduler=scheduler) as engine, pytest.raises(tv.errors.EngineError, match=told):
        engine.map(lambda task: {}, [{"at": 0}], "waiting")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("tcp://127.0.0.1:1", "the Dask scheduler at tcp://127.0.0.1:1 cannot be reached: Timed out trying to connect"),
        ("nonsense://x", "cannot be reached: unknown address scheme 'nonsense'"),
        ("tcp://", "missing port number"),
        ("", "missing port number"),
    ],
)
def test_addresses_without_a_dask_scheduler(address: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "ANSWER", 1)
    with pytest.raises(tv.errors.InputError, match=told):
        chosen_engine("dask", scheduler=address)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("spark://127.0.0.1:1", "the Spark master at spark://127.0.0.1:1 cannot be reached: Connection refused"),
        ("spark://127.0.0.1", "lacks a host or a port"),
        ("nonsense", "'nonsense' is not the address of a Spark cluster"),
    ],
)
def test_addresses_without_a_spark_master(address: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_spark, "ANSWER", 0.1)
    with pytest.raises(tv.errors.InputError, match=told):
        chosen_engine("spark", master=address)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"], ids=["silence", "web"]
)
def test_another_service_is_not_taken_for_a_scheduler(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "ANSWER", 1)
    monkeypatch.setattr(on_dask, "WORDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as service, ThreadPoolExecutor(1) as thread:

        def serve() -> socket.socket:
            visitor, _ = service.accept()
            visitor.sendall(answer)
            return visitor

        visit = thread.submit(serve)
        with pytest.raises(tv.errors.InputError, match="what listens there is not a Dask scheduler"):
            chosen_engine("dask", scheduler=f"tcp://127.0.0.1:{service.getsockname()[1]}")
        visit.result().close()
