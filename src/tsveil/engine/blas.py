"""Linear algebra on one thread while our own loops, or other people's programs, keep the cores busy.

NumPy's products of matrices start a thread per core, and threads that wait for one another burn time: on a busy machine a linkage took
up to 13 times its CPU. Our loops use the cores by themselves, so linear algebra inside them, and inside every task of an engine, takes
one thread. Results then do not depend on the number of cores either.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

#: held by the piece of work that has limited the libraries: their setting is one for the whole process
_held = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra takes one thread meanwhile, and afterwards as many as before.

    Where some work has that already, nothing more is done, and the limit ends with that work: several threads that set and
    restored it each for itself would in the end restore a wrong number.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_blas_thread():
    ...     {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    {1}
    """
    if not _held.acquire(blocking=False):
        yield
        return
    try:
        # SciPy brings a library of its own, which may be loaded later than NumPy's.
        with _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
            yield
    finally:
        _held.release()


@lru_cache(maxsize=2)
def _libraries(scipy: bool) -> ThreadpoolController:
    """The libraries that are loaded; looking for them takes a millisecond."""
    return ThreadpoolController()
