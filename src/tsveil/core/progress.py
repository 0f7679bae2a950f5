"""What is going on, for whoever wants to show it.

Work announces its steps with `step`; nothing is shown unless somebody listens. The command line listens on a terminal and
the web app will; a library caller sees nothing. A step may carry a counter, a one-element array that a compiled kernel
raises while it runs without the interpreter's lock, so a bar can move during a single long call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np

from tsveil.core.types import Indices


class Listener(Protocol):
    """Something that shows steps."""

    def begin(self, text: str, total: int, counter: Indices) -> None:
        """Call at the start of a step of `total` units (0: unknown)."""

    def end(self) -> None:
        """Call when the step that began last is over."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the steps of the enclosed work to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def step(text: str, total: int = 0) -> Iterator[Indices]:
    """Announce a step; gives the counter to raise from 0 to `total`.

    Examples
    --------
    >>> with step("counting", total=2) as done:
    ...     done[0] += 2
    """
    counter = np.zeros(1, dtype=np.int64)
    listener = _listener.get()
    if listener is not None:
        listener.begin(text, total, counter)
    try:
        yield counter
    finally:
        if listener is not None:
            listener.end()
