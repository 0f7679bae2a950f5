"""Whether there is memory for what comes next.

Parsers and the drawing of charts are compiled programs that end the process when an allocation fails, without a word that helps. So
the room that they will need is asked for first and given back at once: it costs nothing, and its failure can be told.
"""

from __future__ import annotations

import mmap
import os


def half_of_memory() -> int:
    """Half of the bytes of memory that this machine has; what a small packed file may become at most."""
    if os.name != "posix":
        return 1 << 33
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def reserve(size: int) -> None:
    """Raise MemoryError now if so many bytes of memory cannot be had."""
    try:
        mmap.mmap(-1, size).close()
    except OSError as error:
        raise MemoryError from error


def reserve_addresses(size: int, what: str) -> None:
    """Raise MemoryError now if the process may not have so many bytes of addresses (ulimit -v), used or not."""
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
