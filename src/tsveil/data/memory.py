"""Whether there is memory for what comes next, and how much of it.

Parsers and the drawing of charts are compiled programs that end the process when an allocation fails, without a word that helps. So
the room that they will need is asked for first and given back at once: it costs nothing, and its failure can be told.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator
from pathlib import Path


def half_of_memory() -> int:
    """Half of the bytes of memory that this machine has; what a small packed file may become at most."""
    if os.name != "posix":
        return 1 << 33
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def reserve(size: int) -> None:
    """Raise MemoryError now if `size` bytes of memory cannot be had."""
    try:
        mmap.mmap(-1, size).close()
    except OSError as error:
        raise MemoryError from error


def reserve_addresses(size: int, what: str) -> None:
    """Raise MemoryError now if the process may not have `size` bytes of addresses (ulimit -v), used or not."""
    if os.name != "posix":
        return
    try:
        # Without the right to read or write them, addresses take no memory, and only a limit on addresses refuses them.
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0).close()
    except OSError as error:
        gigabytes = size // 10**9
        raise MemoryError(
            f"{what} needs {gigabytes} GB of addresses, though little memory: raise `ulimit -v`"
        ) from error


def memory_for_us() -> int | None:
    """Bytes of memory that this process may have altogether, those that it has already among them; None where nobody can say.

    The least of what the machine has left and of the limits of the groups that this process is in (containers). Files that the system keeps
    in memory make room when it is needed, so they count as free.
    """
    return min(_available_bytes(), default=None)


def _available_bytes() -> Iterator[int]:
    """What the machine leaves to this process, and what each group does."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        own = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
        yield own + 1024 * _numbers(Path("/proc/meminfo"))["MemAvailable:"]
        for group, (limit, used, files) in _groups():
            with contextlib.suppress(OSError, ValueError, KeyError):
                # A group without a limit says "max", which is no number, or has no such file.
                most, taken = (int((group / name).read_text(encoding="ascii")) for name in (limit, used))
                yield own + max(0, most - taken + _numbers(group / "memory.stat")[files])


def _groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The control group of this process and those above it, with the names of a limit, what is used, and files among that."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, kinds, path = line.split(":", 2)
        root = Path("/sys/fs/cgroup")
        if not kinds:
            names = ("memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):
            root, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        place = root / path.lstrip("/")
        yield from ((one, names) for one in (place, *place.parents) if one.is_relative_to(root))


def _numbers(path: Path) -> dict[str, int]:
    """The numbers of a file of the system with a name and a number in each line."""
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}
