"""Of several that want one name one gets it, and nobody's folder is replaced unless that was asked for."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from engine_files import walks, write_files
from faults.arena import contents, hidden
from tsveil.core.errors import OutputError
from tsveil.data import disk, write
from tsveil.plan.plan import Evaluation, Input, Output, Plan, Running
from tsveil.plan.run import run
from tsveil.release import publish
from tsveil.report.release import report


def release(version: int) -> tv.Release:
    values = np.random.default_rng(version).gamma(2, 1, (12, 6))
    return tv.MDAV(k=3).protect(tv.Dataset.from_arrays({"load": values}), seed=version)


def without_renameat2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_rename", lambda *_: 38)


@pytest.fixture(params=["renameat2", "without it"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without it":
        without_renameat2(monkeypatch)


@pytest.mark.parametrize("engine", [None, "local", "dask"])
def test_a_folder_of_the_user_that_appears_during_a_run_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str | None
) -> None:
    write_files(tmp_path / "in", pl.DataFrame(walks(60, 4, 1), schema=list("1234")), 2)
    folder = tmp_path / "out"
    draw = report

    def meanwhile(*words: Any, **options: Any) -> str:
        folder.mkdir(exist_ok=True)
        (folder / "thesis.txt").write_text("years of work")
        return draw(*words, **options)

    monkeypatch.setattr(publish, "report", meanwhile)
    plan = Plan(
        input=Input(path="in"),
        method={"name": "mdav", "k": 3},
        output=Output(folder="out"),
        evaluate=Evaluation(models=["ses"]),
        run=Running(chunk=20) if engine else Running(),
    )
    for overwrite, why in ((False, "out appeared during the work"), (True, "was not made by tsveil")):
        with pytest.raises(OutputError, match=why):
            run(plan, base=tmp_path, overwrite=overwrite, engine=engine)
        assert [path.name for path in folder.iterdir()] == ["thesis.txt"]
        assert (folder / "thesis.txt").read_text() == "years of work"
        assert hidden(tmp_path) == []
        (folder / "thesis.txt").unlink()
        folder.rmdir()


@pytest.mark.usefixtures("system")
def test_of_two_writers_into_one_name_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    made = [release(1), release(2)]
    alone = [contents(one.write(tmp_path / f"alone{at}")) for at, one in enumerate(made)]
    for attempt in range(5):
        folder, start = tmp_path / f"release{attempt}", threading.Barrier(2)

        def race(one: tv.Release, folder: Path = folder, start: threading.Barrier = start) -> str:
            start.wait()
            try:
                one.write(folder)
            except OutputError as error:
                return str(error)
            return ""

        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(race, made))
        assert sorted(map(bool, said)) == [False, True]
        assert any(words in max(said) for words in ("appeared during the work", "exists already"))
        assert contents(folder) == alone[said.index("")]
        assert hidden(tmp_path) == []


def filled_while_something_appears(folder: Path, kind: str) -> None:
    with write.complete_folder(folder, overwrite=False, marker="mark") as partial:
        (partial / "mark").write_text("ours")
        appear(folder, kind)


def appear(folder: Path, kind: str) -> None:
    if kind == "a file":
        folder.write_text("mine")
    elif kind == "a link to nothing":
        folder.symlink_to(folder.with_name("nowhere"))
    else:
        folder.mkdir()
        if kind == "a folder":
            (folder / "mine.txt").write_text("mine")


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("kind", ["a folder", "an empty folder", "a file", "a link to nothing"])
def test_whatever_appears_under_the_name_stays(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "release"
    with pytest.raises(OutputError, match="appeared during the work"):
        filled_while_something_appears(folder, kind)
    assert os.path.lexists(folder)
    assert not (folder / "mark").exists()
    assert (kind == "a folder") == (folder / "mine.txt").exists()
    assert hidden(tmp_path) == []


def test_a_foreign_folder_that_appears_in_the_last_moment_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --overwrite: it is looked at before the exchange, and once more after it."""
    folder = release(1).write(tmp_path / "release")
    exchange: Callable[[Path, Path], bool] = disk.exchange
    calls: list[Path] = []

    def late(one: Path, other: Path) -> bool:
        if not calls:
            (folder / "private" / "release.json").unlink()
        calls.append(one)
        return exchange(one, other)

    monkeypatch.setattr(write, "exchange", late)
    with pytest.raises(OutputError, match="was not made by tsveil"):
        release(2).write(folder, overwrite=True)
    assert len(calls) == 2
    assert (folder / "published" / "data.csv").exists()
    assert not (folder / "private" / "release.json").exists()
    assert hidden(tmp_path) == []


def test_what_is_still_written_into_a_folder_does_not_keep_it(tmp_path: Path) -> None:
    """A worker of a cluster goes on with its task for a while after the run that asked for it has ended."""

    def keep_writing(folder: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            for number in range(100_000):
                (folder / f"{number}.npy").write_bytes(b"private")

    def interrupt(pool: ThreadPoolExecutor) -> None:
        with write.complete_folder(tmp_path / "release", overwrite=False, marker="mark") as folder:
            pool.submit(keep_writing, folder)
            while not (folder / "50.npy").exists():
                time.sleep(0.001)
            raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as pool:
        for _ in range(20):
            with pytest.raises(KeyboardInterrupt):
                interrupt(pool)
            assert hidden(tmp_path) == []
