"""What the operating system has to do so that a folder or file is complete or absent, also when the process is killed.

A writer fills a folder with a hidden name beside the final one and holds a lock on it. The lock ends with the process, whatever ends
it: so the next writer can tell a folder that was left behind from one that is being filled. A finished folder takes a name that nobody
has (`rename_new`), or the name of an older one in a single step (`exchange`) where the system can do that. Where it cannot, the older one is
moved aside first; a process killed between the two steps leaves it under a hidden name, and the next writer brings it back (`tidy`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: folders left behind cannot be told from those in use, so they stay
    fcntl = None  # type: ignore[assignment]

_AT_FDCWD = -100
_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2
#: what was written is not on the disk: it is broken, or full
_LOST = (errno.EIO, errno.ENOSPC, errno.EDQUOT)


def partial_name(final: Path) -> Path:
    """A fresh hidden name beside the final one for what is being filled."""
    return final.with_name(f".{final.name}.{secrets.token_hex(4)}.partial")


def claimed_folder(final: Path, names: list[Path]) -> tuple[Path, int | None]:
    """A new folder with a partial name, and the lock on it; its name is added to the list before it exists, so that whoever is stopped can remove it."""

    def make_folder() -> Path:
        names.append(partial_name(final))
        names[-1].mkdir()
        return names[-1]

    return make_and_lock(make_folder)


def make_and_lock(make: Callable[[], Path]) -> tuple[Path, int | None]:
    """A new folder, and the lock on it."""
    while True:
        folder = make()
        lock = lock_on(folder, wait=True)
        if folder.exists():
            return folder, lock
        unlock(lock)  # another process took it for one left behind in the moment before it was locked


def lock_on(path: Path, *, wait: bool = False) -> int | None:
    """A lock that ends with this process; None when somebody holds it, or where there are no locks."""
    if fcntl is None:
        return None
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def unlock(handle: int | None) -> None:
    """Give a lock back."""
    if handle is not None:
        os.close(handle)


def tidy(final: Path) -> None:
    """Remove what killed writers left beside a final name, and bring back the older folder if one was moved aside."""
    left_behind = re.compile(rf"\.{re.escape(final.name)}\.[0-9a-f]{{8}}\.(partial|old)")
    try:
        found = sorted(path for path in final.parent.iterdir() if left_behind.fullmatch(path.name) and path.is_dir())
    except OSError:
        return  # no such folder yet, or none that may be read: the writer will say so
    for path in found:
        if path.suffix == ".old" and not final.exists():
            path.rename(final)
        else:
            remove_unless_in_use(path)


def remove_unless_in_use(folder: Path) -> None:
    """Remove a folder unless the process that claimed it lives."""
    if (lock := lock_on(folder)) is not None:
        remove(folder)
        unlock(lock)


def remove(folder: Path) -> None:
    """Remove a folder, or what can be removed of it, also when somebody stops the program in the middle of that."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def discard(folder: Path, aside: Path) -> None:
    """Remove a folder into which somebody may still write by its name, such as a worker of a cluster, which cannot be stopped in the middle of a task.

    It is renamed first: what is written after that finds no folder, and nothing comes back between the last look and the removal.
    """
    try:
        # It is not there; or a file in it is open, and the system renames no such folder.
        with contextlib.suppress(OSError):
            folder.rename(aside)
    finally:
        for name in (aside, folder):
            remove(name)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system or its file system cannot, and then nothing was done."""
    return _rename(one, other, _RENAME_EXCHANGE) == 0


def rename_new(folder: Path, final: Path) -> None:
    """Give a folder a name that nobody has; FileExistsError if somebody has it, also since a moment ago.

    Where the system cannot rename without replacing, an empty folder takes the name first, which fails if it is taken. The folder then
    takes its place, which the system refuses once somebody has put a file into it.
    """
    match _rename(folder, final, _RENAME_NOREPLACE):
        case 0:
            return
        case errno.EEXIST:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(final))
    if os.name == "posix":
        final.mkdir()
    folder.rename(final)


def _rename(one: Path, other: Path, flag: int) -> int:
    """The system's renameat2: 0, or the number of the error; ENOSYS where there is none."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return errno.ENOSYS
    done = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), flag)
    return 0 if done == 0 else ctypes.get_errno()


def free_disk(path: Path) -> int | None:
    """Bytes that may still be written where a path is or will be; None where the system does not say."""
    place = path.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return None


def flush(path: Path) -> None:
    """Ask the operating system to put a file, or the names in a folder, on the disk now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems cannot flush folders; then there is nothing to do.
        if not path.is_dir() or error.errno in _LOST:
            raise
    finally:
        os.close(handle)


def flush_all(folder: Path) -> None:
    """Put a folder with all its files and folders on the disk, the innermost first."""
    for path in sorted(folder.rglob("*"), reverse=True):
        flush(path)
    flush(folder)
