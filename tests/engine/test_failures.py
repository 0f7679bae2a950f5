"""Workers that die and tasks that fail: the right result or a clear error, never a wrong or partial release."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import tsveil as tv
from engine_files import TINY, assert_same, protect_files, two_workers, write_files
from tsveil.core import progress
from tsveil.core.types import Indices
from tsveil.engine import on_dask
from tsveil.engine.base import Engine, Result, Task, Work
from tsveil.engine.choose import chosen_engine
from tsveil.engine.on_dask import DaskEngine
from tsveil.engine.on_spark import SparkEngine
from tsveil.engine.threads import LocalEngine
from tsveil.protect import work
from tsveil.release import publish

if TYPE_CHECKING:
    from distributed import Client
    from pyspark.sql import SparkSession


def dying(marker: Path, times: int, work: Work) -> Work:
    """The same work, but the worker kills itself with SIGKILL after doing the second task, `times` times."""
    # Everything it needs comes along by value: a worker cannot import the tests.
    path, kill = str(marker), int(signal.SIGKILL)

    def doing(task: Task) -> Result:
        result = work(task)
        if task["at"] == 1:
            killed = len(os.listdir(path))
            if killed < times:
                with open(os.path.join(path, str(killed)), "w"):
                    pass
                os.kill(os.getpid(), kill)
        return result

    return doing


def protect(engine: Engine, folder: Path, frame: pl.DataFrame) -> Path:
    place = write_files(folder / "in", frame, 2)
    outcome = protect_files(
        place, tv.MDAV(k=5), folder / "out", engine=engine, part=220, chunk=230, file=250, confidential=["town"]
    )
    assert outcome.verdict.holds
    return outcome.folder


@pytest.fixture(params=["dask", "spark"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The engines whose workers are processes of their own; of Dask a cluster that no other test needs, for it may not come to again."""
    if request.param == "spark":
        yield SparkEngine(request.getfixturevalue("spark"))
        return
    with two_workers() as client:
        yield DaskEngine(client)


def test_a_worker_killed_while_it_protects_changes_nothing(
    cluster: Engine, tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = protect(LocalEngine(), tmp_path / "whole", curves)
    (tmp_path / "killed").mkdir()
    monkeypatch.setattr(work, "protect_part", dying(tmp_path / "killed", 1, work.protect_part))
    found = protect(cluster, tmp_path / "dying", curves)
    assert len(list((tmp_path / "killed").iterdir())) == 1
    assert_same(found, expected)


def test_workers_that_keep_dying_end_the_run_with_an_error(
    cluster: Engine, tmp_path: Path, curves: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "killed").mkdir()
    monkeypatch.setattr(publish, "write_piece", dying(tmp_path / "killed", 99, publish.write_piece))
    with pytest.raises(tv.errors.EngineError, match="could not be finished on"):
        protect(cluster, tmp_path / "dying", curves)
    assert [path.name for path in (tmp_path / "dying").iterdir()] == ["in"]


def test_a_task_that_fails_ends_the_run_with_its_reason(engine: Engine) -> None:
    def failing(task: Task) -> Result:
        if task["at"] == 2:
            raise ZeroDivisionError("no such luck")
        return {}

    with pytest.raises((tv.errors.EngineError, ZeroDivisionError), match="no such luck"):
        engine.map(failing, [{"at": at} for at in range(3)], "failing")


def test_complaints_about_the_data_come_back_as_they_are(engine: Engine) -> None:
    def refusing(task: Task) -> Result:
        from tsveil.core.errors import InputError

        raise InputError("2 problems: a, b", ["a", "b"])

    with pytest.raises(tv.errors.InputError, match="2 problems: a, b") as caught:
        engine.map(refusing, [{"at": 0}], "refusing")
    assert caught.value.problems == ("a", "b")


def test_results_come_in_the_order_of_the_tasks_and_progress_is_told(engine: Engine) -> None:
    counters: list[Indices] = []

    class Listener:
        def begin(self, text: str, total: int, counter: Indices) -> None:
            assert (text, total) == ("squaring", 9)
            counters.append(counter)

        def end(self) -> None:
            pass

    def squared(task: Task) -> Result:
        return {"square": task["x"] ** 2, "bytes": b"\x00\xff", "tiny": 5e-324}

    with progress.listening(Listener()):
        found = engine.map(squared, [{"x": x} for x in range(9)], "squaring")
    assert [one["square"] for one in found] == [x**2 for x in range(9)]
    assert found[0]["bytes"] == b"\x00\xff"
    assert found[0]["tiny"] == 5e-324
    assert counters[0][0] == 9
    assert engine.map(squared, [], "nothing") == []


def test_the_caller_keeps_what_is_the_callers(client: Client, spark: SparkSession) -> None:
    for given in (client, spark):
        with chosen_engine(given) as engine:
            assert engine.map(lambda task: {"x": 1}, [{"at": 0}], "counting") == [{"x": 1}]
    assert client.status == "running"
    assert spark.range(3).count() == 3


def test_a_worker_that_does_not_see_the_files_says_so(engine: Engine, tmp_path: Path, curves: pl.DataFrame) -> None:
    with pytest.raises(
        tv.errors.EngineError, match=r"the worker on \S+ cannot read \S+/nowhere: No such file"
    ) as caught:
        engine.map(work.look, [{"store": str(tmp_path / "nowhere"), "at": 0}], "looking")
    assert "an output folder that all workers see under the same path" in str(caught.value)
    data = tv.read(write_files(tmp_path / "in", curves, 2), confidential=["town"], memory=TINY)
    (tmp_path / "in" / "001.parquet").unlink()
    with pytest.raises(tv.errors.InputError, match=r"001\.parquet cannot be read on \S+: .*No such file") as other:
        tv.MDAV(k=5).protect(data, engine=engine)
    assert "workers must see the input under the same path" in str(other.value)


def test_workers_with_another_version_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DaskEngine(client)
    monkeypatch.setattr("tsveil.engine.base.__version__", "99.0")
    with pytest.raises(
        tv.errors.EngineError, match=rf"a worker of dask has tsveil {tv.__version__}, and this is tsveil 99"
    ):
        engine.map(lambda task: {}, [{"at": 0}], "counting")
    with pytest.raises(tv.errors.EngineError, match=rf"tcp://\S+ has tsveil {tv.__version__}, and this is tsveil 99"):
        DaskEngine(client)


def test_addresses_belong_to_their_engine() -> None:
    with pytest.raises(tv.errors.ParameterError, match="'scheduler' parameter is for the engine 'dask'"):
        chosen_engine("local", scheduler="tcp://127.0.0.1:1")
    with pytest.raises(tv.errors.ParameterError, match="'master' parameter is for the engine 'spark'"):
        chosen_engine("dask", master="local[1]")


def test_packages_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask", "spark"):
        monkeypatch.setitem(__import__("sys").modules, {"dask": "distributed", "spark": "pyspark.sql"}[name], None)
        with pytest.raises(tv.errors.InputError, match=rf"pip install 'tsveil\[{name}\]'"):
            chosen_engine(name)


def test_a_caller_interrupted_while_a_thread_starts_leaves_nobody_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    start, done = threading.Thread.start, []

    def start_and_stop(thread: threading.Thread) -> None:
        start(thread)
        time.sleep(0.05)  # enough for a thread that does not wait to take up its task
        raise KeyboardInterrupt

    def working(task: Task) -> Result:
        done.append(task["at"])
        return {}

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start_and_stop)
        with pytest.raises(KeyboardInterrupt):
            LocalEngine().map(working, [{"at": at} for at in range(3)], "working")
    time.sleep(0.05)
    assert done == []


def test_a_scheduler_whose_welcome_comes_with_other_news_is_asked_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    connect, tries = distributed.Client, []

    def connect_at_the_third_try(*words: object, **options: object) -> Client:
        tries.append(words)
        assert len(tries) >= 3
        return connect(*words, **options)

    monkeypatch.setattr(distributed, "Client", connect_at_the_third_try)
    with chosen_engine("dask", scheduler=client.scheduler.address) as engine:
        assert engine.map(lambda task: {"x": 1}, [{"at": 0}], "counting") == [{"x": 1}]
    tries = []
    monkeypatch.setattr(on_dask, "TRIES", 2)
    with pytest.raises(tv.errors.InputError, match="does not answer as this version of Dask expects"):
        chosen_engine("dask", scheduler=client.scheduler.address)
