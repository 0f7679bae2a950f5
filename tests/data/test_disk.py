"""Locks, flushing and names that are exchanged, where the operating system does not do what it does here."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from tsveil.core.errors import OutputError
from tsveil.data import disk, memory
from tsveil.data.write import disk_errors, refuse_existing, write_bytes


def test_a_lock_is_held_by_one_only(tmp_path: Path) -> None:
    held = disk.lock_on(tmp_path)
    assert held is not None
    assert disk.lock_on(tmp_path) is None
    disk.unlock(held)
    again = disk.lock_on(tmp_path)
    assert again is not None
    disk.unlock(again)
    assert disk.lock_on(tmp_path / "nowhere") is None


def test_without_locks_nothing_is_taken_for_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "fcntl", None)
    partial, lock = disk.claimed_folder(tmp_path / "release", [])
    assert lock is None
    disk.unlock(lock)
    disk.tidy(tmp_path / "release")
    assert partial.is_dir()


def test_a_folder_that_was_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_on = disk.lock_on
    seen: list[Path] = []

    def late(path: Path, *, wait: bool = False) -> int | None:
        found = lock_on(path, wait=wait)
        if not seen:
            shutil.rmtree(path)  # as another writer does that finds it without a lock
        seen.append(path)
        return found

    monkeypatch.setattr(disk, "lock_on", late)
    partial, lock = disk.claimed_folder(tmp_path / "release", [])
    disk.unlock(lock)
    assert len(seen) == 2
    assert [path.name for path in tmp_path.iterdir()] == [partial.name]
    assert partial == seen[1] != seen[0]


def test_names_are_exchanged_in_one_step_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    if disk.exchange(one, other):
        assert (one.read_text(), other.read_text()) == ("2", "1")
        assert disk.exchange(one, other)
    # A library of the system without that function.
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    assert not disk.exchange(one, other)
    assert (one.read_text(), other.read_text()) == ("1", "2")


def test_only_folders_may_refuse_to_be_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")

    def refused(handle: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refused)
    disk.flush(tmp_path)
    with pytest.raises(OSError, match="Invalid argument"):
        disk.flush(tmp_path / "file")
    with pytest.raises(OutputError, match=r"other cannot be written: Invalid argument"):
        write_bytes(tmp_path / "other", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_place_that_cannot_even_be_looked_at_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    name = "x" * 300
    with pytest.raises(OutputError, match=r"cannot be written: File name too long"):
        refuse_existing(tmp_path / name, overwrite=False)
    with pytest.raises(OutputError, match="exists already"):
        refuse_existing(tmp_path / "loop", overwrite=False)


def test_what_a_writer_of_tables_says_of_the_disk_is_an_error_of_the_disk() -> None:
    with pytest.raises(OSError, match="No space left on device"), disk_errors():
        raise pl.exceptions.ComputeError("No space left on device\nand more")


def test_memory_that_nobody_has_is_refused_before_it_is_needed() -> None:
    memory.reserve(1 << 20)
    with pytest.raises(MemoryError):
        memory.reserve(1 << 62)
    with pytest.raises(MemoryError, match=r"drawing needs 4611686018 GB of addresses, though little memory"):
        memory.reserve_addresses(1 << 62, "drawing")
