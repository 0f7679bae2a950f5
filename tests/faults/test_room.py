"""No space, no permission, no memory: a clear message, exit code 2, and the old release as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from faults.arena import Arena, contents, hidden
from tsveil.cli import main
from tsveil.core.errors import OutputError
from tsveil.data import disk


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with Arena(tmp_path_factory.mktemp("room")) as one:
        yield one


def meters(folder: Path) -> Path:
    values = np.random.default_rng(1).gamma(2, 1, (100, 6))
    frame = pl.DataFrame({"id": [f"h{i}" for i in range(100)]} | {f"v{t}": values[:, t] for t in range(6)})
    frame.write_csv(folder / "meters.csv")
    return folder / "meters.csv"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_that_does_not_fit(arena: Arena, tmp_path: Path, form: str) -> None:
    """A limit on the size of files fails like a full disk, and can be set anywhere."""
    out = tmp_path / "release"
    assert "cannot be written: " in arena.do("write", out, 1, form, file_size=1000).output
    assert list(tmp_path.iterdir()) == []
    assert arena.do("write", out, 1, form).code == 0
    before = contents(out)
    ended = arena.do("write", out, 2, form, file_size=1000)
    assert f"OutputError: {out} cannot be written: " in ended.output
    assert "File too large" in ended.output
    assert contents(out) == before
    assert arena.do("write", out, 2, form).code == 0
    assert hidden(tmp_path) == []


def test_a_file_that_does_not_fit_in_chunks(arena: Arena, tmp_path: Path) -> None:
    """Whichever of its many files it is; 1,500 bytes were too few for an array, and nothing was said of it."""
    out = tmp_path / "release"
    assert arena.do("chunks", out, 1).code == 0
    assert arena.do("chunks", tmp_path / "other", 2).code == 0  # so that the input is there
    before = contents(out)
    for size in (400, 1000, 1500, 2500):
        ended = arena.do("chunks", out, 2, file_size=size)
        assert ended.output.startswith(f"OutputError: {out} cannot be written: "), ended.output
        assert "File too large" in ended.output
        assert contents(out) == before
        assert hidden(tmp_path) == []
    assert arena.do("chunks", out, 2).code == 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_full_disk(arena: Arena, tmp_path: Path, form: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"mounting a small disk is not allowed here ({mounted.stderr.strip()}); see the test of file sizes")
    try:
        assert arena.do("write", disk / "release", 1, form).code == 0
        before = contents(disk / "release")
        room = shutil.disk_usage(disk)
        (disk / "other").write_bytes(bytes(room.free - room.used // 2))  # half a release fits
        ended = arena.do("write", disk / "release", 2, form)
        assert f"OutputError: {disk / 'release'} cannot be written: " in ended.output
        assert "No space left on device" in ended.output
        assert contents(disk / "release") == before
        (disk / "other").unlink()
        assert arena.do("write", disk / "release", 2, form).code == 0
        assert hidden(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_the_command_line_says_it_and_ends_with_code_2(arena: Arena, tmp_path: Path) -> None:
    plan = tmp_path / "meters.plan.toml"
    ended = arena.do("command", "plan", meters(tmp_path), file_size=400)
    assert ended.code == 2, ended.output
    assert f"error: {plan} cannot be written: File too large" in ended.output
    assert [path.name for path in tmp_path.iterdir()] == ["meters.csv"]


def test_a_full_disk_below_the_cache_of_compiled_code_stops_nothing(arena: Arena, tmp_path: Path) -> None:
    assert arena.do("compile", tmp_path, file_size=200).output == "42.0\n"


def test_a_folder_that_may_not_be_written(arena: Arena) -> None:
    # Not in tmp_path: its parents are closed to the other user.
    with tempfile.TemporaryDirectory() as place:
        locked = Path(place)
        assert arena.do("write", locked / "release", 1).code == 0
        before = contents(locked / "release")
        locked.chmod(0o555)
        # Root may write anywhere, so the job gives that right up first.
        other = ("csv", 65534) if os.geteuid() == 0 else ()
        ended = arena.do("write", locked / "release", 2, *other)
        locked.chmod(0o755)
        assert f"OutputError: {locked / 'release'} cannot be written: Permission denied" in ended.output
        assert contents(locked / "release") == before

        locked.chmod(0o555)
        ended = arena.do("write", locked / "new", 2, *other)
        locked.chmod(0o755)
        assert f"OutputError: {locked / 'new'} cannot be written: Permission denied" in ended.output
        assert [path.name for path in locked.iterdir()] == ["release"]
        assert arena.do("write", locked / "release", 2).code == 0


@pytest.mark.parametrize("memory", [20, 200, 500])
def test_too_little_memory_to_read(arena: Arena, tmp_path: Path, memory: int) -> None:
    ended = arena.do("command", "inspect", meters(tmp_path), memory=memory * 1_000_000)
    assert ended.code == 2, ended.output
    assert "error: meters.csv cannot be read: there is not enough memory for it\n  options: " in ended.output
    assert "Traceback" not in ended.output


def test_too_little_memory_to_draw(arena: Arena) -> None:
    ended = arena.do("draw", memory=1_000_000_000)
    assert "MemoryError: drawing the charts of a report needs 80 GB of addresses, though little memory" in ended.output


@pytest.mark.parametrize("error", [MemoryError("42 GB"), RuntimeError("can't start new thread")])
def test_too_little_memory_for_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def greedy(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tsveil.protect.noise.Noise.protect_part", greedy)
    ended = CliRunner().invoke(
        main, ["protect", str(meters(tmp_path)), "--out", str(tmp_path / "o"), "--method", "noise"]
    )
    assert ended.exit_code == 2
    assert f"error: there is not enough memory for this ({error}); nothing was written\n  options: " in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["meters.csv"]


# -- where two names cannot be exchanged in one step --------------------------------------------------------------------


def release(version: int) -> tv.Release:
    values = np.random.default_rng(version).gamma(2, 1, (12, 6))
    return tv.MDAV(k=3).protect(tv.Dataset.from_arrays({"load": values}), seed=version)


def test_a_release_that_was_moved_aside_comes_back(tmp_path: Path) -> None:
    """Without an exchange there is a moment with no release; a kill in it is mended by the next start."""
    folder = release(1).write(tmp_path / "release")
    before = contents(folder)
    folder.rename(tmp_path / ".release.0123abcd.old")
    (tmp_path / ".release.0123abcd.partial").mkdir()
    with pytest.raises(OutputError, match="exists already"):
        release(2).write(folder)
    assert contents(folder) == before
    assert hidden(tmp_path) == []


def test_the_exchange_in_two_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsveil.data.write.exchange", lambda one, other: False)
    folder = release(1).write(tmp_path / "release")
    before = contents(folder)
    release(2).write(folder, overwrite=True)
    assert contents(folder) != before
    assert hidden(tmp_path) == []

    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.suffix == ".partial":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    before = contents(folder)
    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OutputError, match="Input/output error"):
        release(1).write(folder, overwrite=True)
    assert contents(folder) == before
    assert hidden(tmp_path) == []


def test_exchange_says_when_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    assert not disk.exchange(tmp_path / "one", tmp_path / "missing")
    assert (tmp_path / "one").exists()


def test_what_another_run_is_filling_is_left_alone(tmp_path: Path) -> None:
    partial, lock = disk.claimed_folder(tmp_path / "release", [])
    release(1).write(tmp_path / "release")
    assert partial.exists()
    disk.unlock(lock)
    release(2).write(tmp_path / "release", overwrite=True)
    assert not partial.exists()


def test_a_folder_of_somebody_else_with_such_a_name_is_left_alone(tmp_path: Path) -> None:
    """Only `.NAME.xxxxxxxx.partial` and `.old` with eight hexadecimal digits are names that tsveil gives, and only to folders."""
    foreign = [
        ".release.partial", ".release.0123abcd.mine", ".other.0123abcd.old", ".release.0123abcd.partial.bak", ".release.0123abcde.partial",
        ".release.0123ABCD.partial", ".release.0123abc.old", ".release.0123abcg.old", "my.release.0123abcd.partial", ".releases.0123abcd.partial",
        ".xrelease.0123abcd.old", ".release-0123abcd.partial", "release.0123abcd.partial", ".my.release.0123abcd.partial", ".release.0123abcd.partials",
    ]  # fmt: skip
    for name in foreign:
        (tmp_path / name).mkdir()
    (tmp_path / ".release.0123abcd.partial").write_text("a file of the user's")
    (tmp_path / ".release.0123abcd.old").write_text("another one")
    (tmp_path / ".release.89abcdef.partial").mkdir()  # left behind by a killed run
    release(1).write(tmp_path / "release")
    files = [".release.0123abcd.partial", ".release.0123abcd.old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*foreign, *files, "release"])


def test_a_name_is_no_pattern_of_names(tmp_path: Path) -> None:
    for name in (".releaseX1.0123abcd.partial", ".release.1.0123abcd.partial"):
        (tmp_path / name).mkdir()
    release(1).write(tmp_path / "release.1")
    assert hidden(tmp_path) == [".releaseX1.0123abcd.partial"]


def test_a_link_to_a_release_stays_a_link(tmp_path: Path) -> None:
    release(1).write(tmp_path / "real" / "release")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "release")
    release(2).write(tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert '"seed": "2"' in (tmp_path / "real" / "release" / "private" / "release.json").read_text()
    assert hidden(tmp_path) == hidden(tmp_path / "real") == []


def test_private_files_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = release(1).write(tmp_path / "release")
    assert (folder / "private").stat().st_mode & 0o077 == 0
