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


#: names beside release/ that a careless pattern would take for what a killed run left
OTHERS = [
    ".release.partial", ".release.old", ".release.1234567.partial", ".release.123456789.partial", ".release.1234567g.partial", ".release.1234567A.old", ".release.backup.old",
    ".release.12345678.partial.bak", ".release.12345678.older", ".release.12345678.partial2", "x.release.12345678.partial", "release.12345678.partial", ".release2.12345678.partial",
    ".Release.12345678.old", ".releaseX12345678.partial", ".release.12345678.12345678.partial", ".release.12345678", ".other.12345678.partial",
]  # fmt: skip


def test_tidy_removes_nothing_but_what_tsveil_made(tmp_path: Path) -> None:
    final = tmp_path / "release"
    left = [disk.partial_name(final), disk.partial_name(final), disk.partial_name(final).with_suffix(".old")]
    assert len(set(left)) == 3  # every writer has a name of its own
    for path in [final, *left, *(tmp_path / name for name in OTHERS)]:
        path.mkdir()
        (path / "file.txt").write_text(path.name)
    (tmp_path / ".release.87654321.partial").write_text("a file is no folder of tsveil's")
    disk.tidy(final)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["release", *OTHERS, ".release.87654321.partial"])
    assert all((tmp_path / name / "file.txt").read_text() == name for name in ["release", *OTHERS])


def test_tidy_takes_the_signs_of_a_name_as_they_are(tmp_path: Path) -> None:
    """A dot in the name of a release is a dot, and not any sign."""
    (tmp_path / ".aXb.12345678.partial").mkdir()
    disk.tidy(tmp_path / "a.b")
    assert (tmp_path / ".aXb.12345678.partial").is_dir()


def test_tidy_leaves_what_somebody_is_filling(tmp_path: Path) -> None:
    partial, lock = disk.claimed_folder(tmp_path / "release", [])
    (partial / "half.csv").write_text("1,2")
    disk.tidy(tmp_path / "release")
    assert (partial / "half.csv").read_text() == "1,2"
    disk.unlock(lock)
    disk.tidy(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_tidy_brings_back_what_was_moved_aside(tmp_path: Path) -> None:
    """A run that cannot exchange names and is killed between two renames leaves the old release under a hidden name."""
    final = tmp_path / "release"
    old = disk.partial_name(final).with_suffix(".old")
    old.mkdir()
    (old / "data.csv").write_text("1,2")
    disk.tidy(final)
    assert (final / "data.csv").read_text() == "1,2"
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
