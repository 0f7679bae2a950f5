"""How kernels are compiled: said here and nowhere else.

Serial (threads are driven from `engine.local`), cached on disk, without the interpreter's lock, and without fast-math: it
would let the compiler assume that there is no NaN and reorder sums, and sums in a fixed order are part of our definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a function at its first call, or load it from the cache."""
    compiled = njit(cache=True, nogil=True, error_model="numpy")(function)
    if hasattr(compiled, "_cache"):  # not when compiling is switched off
        compiled._cache.save_overload = _if_there_is_room(compiled._cache.save_overload)
    return cast(F, compiled)


def _if_there_is_room(save: Callable[..., None]) -> Callable[..., None]:
    """A full disk below the cache costs time at the next start, and nothing else."""

    def saved(*arguments: object) -> None:
        with suppress(OSError):
            save(*arguments)

    return saved
