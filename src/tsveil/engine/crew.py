"""A few threads that stay together for many small pieces of work.

`local.map_chunks` starts its threads anew each time, which is right for long work. Where thousands of rounds of a millisecond
follow one another, starting threads would take longer than the work: a crew starts once, and the caller works along.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from tsveil.engine.local import cores


class Crew:
    """As many threads as there are cores, the caller's among them; to be used in a `with` statement.

    Examples
    --------
    >>> parts = []
    >>> with Crew() as crew:
    ...     crew.share(lambda start, stop: parts.append(stop - start), 10)
    >>> sum(parts)
    10
    """

    def __init__(self) -> None:
        self.size = cores()
        self.others = ThreadPoolExecutor(max_workers=self.size - 1) if self.size > 1 else None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        if self.others is not None:
            self.others.shutdown()

    def share(self, work: Callable[[int, int], object], n: int) -> None:
        """Call work(start, stop) for as many ranges as there are threads, which together cover 0..n."""
        parts = max(1, min(self.size, n))
        ranges = list(pairwise(n * part // parts for part in range(parts + 1)))
        waiting = [self.others.submit(work, *r) for r in ranges[1:]] if self.others is not None else []
        work(*ranges[0])
        for future in waiting:
            future.result()
