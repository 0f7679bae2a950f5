"""How kernels are compiled: said here and nowhere else.

Serial (threads are driven from `engine.local`), cached on disk, without the interpreter's lock, and without fast-math: it
would let the compiler assume that there is no NaN and reorder sums, and sums in a fixed order are part of our definitions.

Compiling is most of what a first run takes, so as little as possible is compiled: docs/decisions/0020-compiling.md.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar, cast

import numba
from numba import extending as numba_extending
from numba.core import caching as numba_caching
from numba.core import event as numba_events

from tsveil.core.progress import step

#: numba's own types leave out what is used here
njit: Any = numba.njit
unliteral: Any = numba.types.unliteral
caching: Any = numba_caching
events: Any = numba_events
extending: Any = numba_extending

F = TypeVar("F", bound=Callable[..., object])

#: every kernel that was imported, as numba's dispatcher for calls from Python and the one for calls from other kernels
KERNELS: list[tuple[Any, Any]] = []


def kernel(function: F) -> F:
    """Compile a function at its first call, or load it from the cache."""
    compiled = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    if hasattr(compiled, "enable_caching"):  # not when compiling is switched off
        _cache(compiled)
        _call_from_kernels(compiled)
    return cast(F, compiled)


def compact() -> None:
    """At the top of a kernel: LLVM shall not multiply its loops (the attribute `optsize`), which takes it half as long to compile.

    For kernels that gain nothing from unrolled loops and vector instructions. No bit of a result depends on it.
    """


@extending.type_callable(compact)  # type: ignore[untyped-decorator]
def _type_compact(context: Any) -> Callable[[], Any]:
    return lambda: numba.types.none


@extending.lower_builtin(compact)  # type: ignore[untyped-decorator]
def _lower_compact(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.function.attributes.add("optsize")
    return context.get_dummy_value()


def writable_folders() -> list[str]:
    """The folders in which machine code of the imported kernels is kept, if all of them can be written to; else none."""
    folders = {compiled._cache.cache_path for compiled, _ in KERNELS}
    try:
        for folder in folders:
            tempfile.TemporaryFile(dir=folder or os.devnull).close()
    except OSError:
        return []
    return sorted(folders)


# -- the cache --------------------------------------------------------------------------------------------------------


def _cache(compiled: Any) -> None:
    """Keep machine code on disk: where numba may write, else where somebody left it, else not at all."""
    try:
        compiled.enable_caching()
    except RuntimeError:
        with suppress(RuntimeError), _reading_suffices():
            compiled.enable_caching()
    compiled._cache.save_overload = _if_there_is_room(compiled._cache.save_overload)


@contextmanager
def _reading_suffices() -> Iterator[None]:
    """Let numba take a folder that it cannot write to: `tsveil warm` may have filled it when a container was built."""

    def exists(locator: Any) -> None:
        os.listdir(locator.get_cache_path())

    writable = caching._CacheLocator.ensure_cache_path
    caching._CacheLocator.ensure_cache_path = exists
    try:
        yield
    finally:
        caching._CacheLocator.ensure_cache_path = writable


def _if_there_is_room(save: Callable[..., None]) -> Callable[..., None]:
    """A full disk below the cache, or one that is read-only, costs time at the next start, and nothing else."""

    def save_if_possible(*arguments: object) -> None:
        with suppress(OSError):
            save(*arguments)

    return save_if_possible


# -- calls from kernel to kernel --------------------------------------------------------------------------------------


def _call_from_kernels(compiled: Any) -> None:
    """Compile what kernels call without a door for Python and without a place in the cache, and once for all constants.

    Numba would compile it anew for every constant among the arguments, even for one that a variable has only at first.
    """
    inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(compiled.py_func)
    KERNELS.append((compiled, inner))

    def template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        kinds = tuple(unliteral(kind) for kind in args)
        found = compiled if kinds in compiled.overloads else inner
        return type(found).get_call_template(found, kinds, kws)

    def overload(sig: Any) -> Any:
        found = compiled if tuple(sig) in compiled.overloads else inner
        return type(found).get_overload(found, sig)

    compiled.get_call_template, compiled.get_overload = template, overload


# -- what is being compiled -------------------------------------------------------------------------------------------


class _Announcer(events.Listener):  # type: ignore[misc]
    """Announces a kernel that is being compiled as a step; what it calls is part of it. Numba compiles one at a time.

    Meanwhile no garbage is collected: numba makes objects in such numbers that all of the program's are looked through again and again.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.steps = ExitStack()

    def on_start(self, event: Any) -> None:
        """Begin the step."""
        self.depth += 1
        if self.depth == 1:
            function = event.data["dispatcher"].py_func
            where = function.__module__.rpartition(".")[2]
            self.steps.enter_context(step(f"compiling {where}.{function.__name__}, this once"))
            if gc.isenabled():
                gc.disable()
                self.steps.callback(gc.enable)

    def on_end(self, event: Any) -> None:
        """End it."""
        self.depth -= 1
        if self.depth == 0:
            self.steps.close()


events.register("numba:compile", _Announcer())
