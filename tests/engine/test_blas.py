"""Linear algebra takes one thread inside our loops and tasks, and what it had before and after them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its library must be limited too
from threadpoolctl import threadpool_info, threadpool_limits

import tsveil as tv
from tsveil.attack.nearest import draw
from tsveil.engine import local
from tsveil.engine.blas import one_blas_thread
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine


def threads() -> set[int]:
    """The numbers of threads that the libraries of linear algebra would use now."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads() -> Any:
    """As on a machine of two cores, whatever this one has."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield
        assert threads() == {2}


def test_both_libraries_are_seen() -> None:
    assert threads() == {2}
    assert len([library for library in threadpool_info() if library["user_api"] == "blas"]) >= 2


def test_loops_take_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSVEIL_THREADS", "3")
    assert local.map_chunks(lambda start, stop: threads(), 9, 3) == [{1}, {1}, {1}]


def test_tasks_take_one_thread() -> None:
    seen = [result["threads"] for result in Here().map(lambda task: {"threads": threads()}, [{}, {}], "looking")]
    seen += [set(r["threads"]) for r in LocalEngine().map(lambda task: {"threads": [*threads()]}, [{}] * 3, "looking")]
    assert seen == [{1}] * 5


def test_pictures_are_drawn_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    product = np.linalg.eigh

    def look(matrix: Any) -> Any:
        seen.append(threads())
        return product(matrix)

    monkeypatch.setattr(np.linalg, "eigh", look)
    rows = np.random.default_rng(0).normal(size=(300, 8))
    assert draw(rows, rows, np.array([0, 8])) is not None
    assert seen == [{1}]


def test_attacks_learn_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads took 70 times the CPU of one for the matrices of the learned profile."""
    seen = []
    product = np.linalg.eigh

    def look(matrix: Any) -> Any:
        seen.append(threads())
        return product(matrix)

    hours = [str(np.datetime64("2018-10-29T00") + hour) for hour in range(96)]
    data = tv.Dataset.from_arrays({"load": np.random.default_rng(0).lognormal(size=(40, 96))}, times=hours)
    release = tv.MDAV(k=2).protect(data)
    monkeypatch.setattr(np.linalg, "eigh", look)
    card = tv.evaluate(data, release)
    assert "profile-learned" in {finding.attack for finding in card.ladder}
    assert seen
    assert all(one == {1} for one in seen)


def test_a_failure_gives_the_threads_back() -> None:
    def fail(task: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Here().map(fail, [{}], "failing")
    assert threads() == {2}


def test_work_in_two_threads_gives_the_threads_back() -> None:
    """The one that comes second must not take the limit for what was there before."""
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            entered.set()
            leave.wait(60)

    other = threading.Thread(target=hold)
    with one_blas_thread():
        other.start()
        assert entered.wait(60)
        assert threads() == {1}
    leave.set()
    other.join()
    assert threads() == {2}
