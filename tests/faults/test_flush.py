"""What is to be there after a crash of the machine is put on the disk before it takes its name, and a disk that cannot is told.

The machine is not crashed: the calls to the operating system are recorded in their order, or fail as a broken disk lets them fail.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from engine_files import walks, write_files
from faults.arena import contents, hidden
from tsveil.core.errors import OutputError
from tsveil.data import disk
from tsveil.data import write as writing
from tsveil.data.write import write_text
from tsveil.plan.plan import Evaluation, Input, Output, Plan, Running
from tsveil.plan.run import run

#: what was done, and with what; the name of what is being filled is NEW
Event = tuple[str, str]


def release(version: int) -> tv.Release:
    values = np.random.default_rng(version).gamma(2, 1, (12, 6))
    return tv.MDAV(k=3).protect(tv.Dataset.from_arrays({"load": values}), seed=version)


def in_one_step(folder: Path, version: int) -> None:
    made = release(version)
    made.write(folder, overwrite=True, measures={"models": ["ses"]}, extra={"private/x.txt": "x"})


def in_chunks(folder: Path, version: int) -> None:
    place = folder.with_name(f"input{version}")
    if not place.exists():
        write_files(place, pl.DataFrame(walks(30, 4, version), schema=list("1234")), 2)
    plan = Plan(
        input=Input(path=str(place)),
        method={"name": "mdav", "k": 3},
        output=Output(folder=str(folder)),
        evaluate=Evaluation(models=["ses"]),
        run=Running(memory="1", chunk=20),
        seed=version,
        secret="",
    )
    run(plan, overwrite=True)


def in_a_file(path: Path, version: int) -> None:
    write_text(path, str(version))


WRITERS: dict[str, Callable[[Path, int], None]] = {"one step": in_one_step, "chunks": in_chunks, "a file": in_a_file}


class Recorder:
    """The order in which things are flushed and take their names; one of the flushes may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, final: Path) -> None:
        self.final, self.events, self.fails, self.code = final, list[Event](), -1, errno.EIO
        fsync, rename, replace, exchange = os.fsync, Path.rename, Path.replace, disk.exchange

        def flushed(handle: int) -> None:
            if stat.S_ISREG(os.fstat(handle).st_mode) or stat.S_ISDIR(os.fstat(handle).st_mode):
                self.events.append(("flush", self.short(os.readlink(f"/proc/self/fd/{handle}"))))
                if len(self.flushes()) - 1 == self.fails:
                    raise OSError(self.code, os.strerror(self.code))
            fsync(handle)

        def named(old: Callable[..., Any]) -> Callable[..., Any]:
            def noted(one: Path, other: Path) -> Any:
                if other == final:
                    self.events.append(("name", self.short(str(one))))
                return old(one, other)

            return noted

        monkeypatch.setattr(os, "fsync", flushed)
        monkeypatch.setattr(Path, "rename", named(rename))
        monkeypatch.setattr(Path, "replace", named(replace))
        monkeypatch.setattr(writing, "exchange", named(exchange))
        monkeypatch.setattr(writing, "rename_new", named(disk.rename_new))

    def short(self, place: str) -> str:
        beside = str(self.final.parent)
        inside = place.removeprefix(beside).lstrip("/")
        first, _, rest = inside.partition("/")
        return ("NEW" if first.endswith(".partial") else first) + ("/" + rest if rest else "")

    def flushes(self) -> list[str]:
        return [place for what, place in self.events if what == "flush"]


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("writer", WRITERS)
def test_everything_is_flushed_before_it_takes_its_name_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str, replaced: bool
) -> None:
    final = tmp_path / "place" / "release"
    final.parent.mkdir()
    if replaced:
        WRITERS[writer](final, 1)
    recorder = Recorder(monkeypatch, final)
    WRITERS[writer](final, 2)
    monkeypatch.undo()
    events = recorder.events
    at = events.index(("name", "NEW"))
    before, after = events[:at], events[at + 1 :]
    inside = [path.relative_to(final) for path in sorted(final.rglob("*"))] if final.is_dir() else []
    expected = {"NEW", *(f"NEW/{path}" for path in inside)}
    assert {place for what, place in before if what == "flush"} >= expected
    assert ("flush", "") in after  # the folder in which the name stands
    # Names are on the disk after what they name: a folder comes after all that is in it.
    order = [place for _, place in before]
    for place in expected - {"NEW"}:
        assert order.index(place) < order.index(str(Path(place).parent))


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_flush_that_fails_is_told_and_the_old_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str, code: int
) -> None:
    final = tmp_path / "release"
    for place, version in ((final, 1), (tmp_path / "other", 2)):  # the latter for the input of chunks
        WRITERS[writer](place, version)
    before = contents(final) if final.is_dir() else final.read_bytes()
    recorder = Recorder(monkeypatch, final)
    WRITERS[writer](final, 1)
    flushes = recorder.events.index(("name", "NEW"))
    assert flushes == len(recorder.flushes()) - 1  # the last is that of the folder in which the name stands
    assert flushes >= (1 if writer == "a file" else 8)
    for fails in range(0, flushes, 1 + flushes // 8):
        recorder.events, recorder.fails, recorder.code = [], fails, code
        with pytest.raises(OutputError) as told:
            WRITERS[writer](final, 2)
        assert str(told.value) == f"{final} cannot be written: {os.strerror(code)}"
        assert ("name", "NEW") not in recorder.events
        assert (contents(final) if final.is_dir() else final.read_bytes()) == before
        assert hidden(tmp_path) == []
    recorder.events, recorder.fails = [], -1
    WRITERS[writer](final, 2)
    assert (contents(final) if final.is_dir() else final.read_bytes()) != before


def test_a_file_system_that_cannot_flush_folders_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def picky(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", picky)
    in_one_step(tmp_path / "release", 1)
    assert (tmp_path / "release" / "published").is_dir()
