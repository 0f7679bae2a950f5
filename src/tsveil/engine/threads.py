"""The engine of one machine: a few threads, so at most as many chunks in memory as there are cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import ClassVar

from tsveil.core.types import Indices
from tsveil.engine.base import Engine, Work, perform_task
from tsveil.engine.local import cores


class LocalEngine(Engine):
    """Tasks in threads of this process; kernels release the interpreter's lock.

    Examples
    --------
    >>> LocalEngine().map(lambda task: {"twice": 2 * task["x"]}, [{"x": 1}, {"x": 4}], "doubling")
    [{'twice': 2}, {'twice': 8}]
    """

    name: ClassVar[str] = "local"

    def results(self, work: Work, tasks: Sequence[bytes], counter: Indices) -> Iterator[tuple[int, bytes]]:
        """In threads; the first failure stops what has not begun."""
        pool, begun, ended = ThreadPoolExecutor(max_workers=cores()), threading.Event(), threading.Event()

        def perform(task: bytes) -> bytes:
            begun.wait()
            return b"" if ended.is_set() else perform_task(work, task)

        try:
            waiting = {pool.submit(perform, task): at for at, task in enumerate(tasks)}
            # The pool does not wait for a thread in whose start the caller was interrupted: until all have started, none may work.
            begun.set()
            for future in as_completed(waiting):
                counter[0] += 1
                yield waiting[future], future.result()
        finally:
            ended.set()
            begun.set()
            pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """Threads end with each map."""
