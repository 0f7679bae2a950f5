"""Signals that ask a program to end, as exceptions: whatever is under way is then cleaned up as after Ctrl+C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest(KeyboardInterrupt):
    """Somebody asked the program to end, by the signal of this number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """The first signal to end raises `StopRequest`; further ones do not disturb the cleaning up. What was before is put back.

    Examples
    --------
    >>> with stopped_by_signals():
    ...     print("signals that end the program are heard here")
    signals that end the program are heard here
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread hears signals
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

    def stop(number: int, frame: FrameType | None) -> None:
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        raise StopRequest(number)

    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
