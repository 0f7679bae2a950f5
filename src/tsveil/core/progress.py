"""What is going on, for whoever wants to show it.

Work announces its steps with `step`; nothing is shown unless somebody listens. The command line listens on a terminal and
the web app will; a library caller sees nothing. A step may carry a counter, a one-element array that a compiled kernel
raises while it runs without the interpreter's lock, so a bar can move during a single long call.

The logger `tsveil` has a line for each step that is over, at level INFO; nothing is shown unless the caller sets logging up. Steps name the work and the blocks, never values,
identifiers or secrets.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Protocol

import numpy as np

from tsveil.core.types import Indices

LOG = logging.getLogger("tsveil")
LOG.addHandler(logging.NullHandler())


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
    start = perf_counter()
    try:
        yield counter
        LOG.info("%s: done in %.2f s", text, perf_counter() - start)
    finally:
        if listener is not None:
            listener.end()
