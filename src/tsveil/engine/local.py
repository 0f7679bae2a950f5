"""The machine at hand: serial kernels over chunks of records, driven by a few threads.

Kernels release the interpreter's lock, so threads use all cores. A chunk's result depends on its records alone and results
are put together in the order of the chunks: the number of threads changes no figure.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from tsveil.engine.blas import one_blas_thread

R = TypeVar("R")


_thread = threading.local()


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep the enclosed work of this thread on one core, where other threads have work of their own for the others.

    Examples
    --------
    >>> with on_one_core():
    ...     cores()
    1
    """
    before, _thread.alone = getattr(_thread, "alone", False), True
    try:
        yield
    finally:
        _thread.alone = before


def cores() -> int:
    """The number of cores this thread may use; the environment variable TSVEIL_THREADS lowers or raises it."""
    if getattr(_thread, "alone", False):
        return 1
    asked = os.environ.get("TSVEIL_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def map_chunks(work: Callable[[int, int], R], n: int, chunk: int) -> list[R]:
    """Call work(start, stop) for consecutive ranges that cover 0..n, and give the results in that order.

    Examples
    --------
    >>> map_chunks(lambda start, stop: stop - start, 10, 4)
    [4, 4, 2]
    """
    ranges = [(start, min(start + chunk, n)) for start in range(0, n, chunk)]
    if len(ranges) <= 1 or cores() == 1:
        return [work(start, stop) for start, stop in ranges]
    with one_blas_thread(), ThreadPoolExecutor(max_workers=min(cores(), len(ranges))) as pool:
        return list(pool.map(lambda r: work(*r), ranges))
