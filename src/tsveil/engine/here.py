"""The engine of data in memory: tasks are called one after the other where they stand.

Nothing is packed, so a task may carry a store in memory. Kernels use all cores by themselves (`engine.local`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from tsveil.core import progress
from tsveil.core.types import Indices
from tsveil.engine.base import Engine, Result, Task, Work
from tsveil.engine.blas import one_blas_thread


class Here(Engine):
    """Tasks in this thread.

    Examples
    --------
    >>> Here().map(lambda task: {"twice": 2 * task["x"]}, [{"x": 1}, {"x": 4}], "doubling")
    [{'twice': 2}, {'twice': 8}]
    """

    name: ClassVar[str] = "memory"

    def map(self, work: Work, tasks: Sequence[Task], text: str) -> list[Result]:
        """The results of all tasks, in their order."""
        found = []
        with progress.step(text, total=len(tasks)) as counter, one_blas_thread():
            for task in tasks:
                found.append(work(task))
                counter[0] += 1
        return found

    def results(self, work: Work, tasks: Sequence[bytes], counter: Indices) -> Iterator[tuple[int, bytes]]:
        """Nothing is ever packed here."""
        raise AssertionError("tasks in memory are not packed")

    def close(self) -> None:
        """Nothing was started."""
