"""What an engine is: something that calls one function for many small task descriptions, anywhere.

This is the least that one machine, Dask and Spark all do well. Data never go through an engine: a task names files on a file system
that all workers share, reads its share of them, and writes its result under a name that depends on the task alone, first under a
temporary name. So a task that is run twice, because its worker died, writes the same file again; and what comes back to the caller
is a few figures.

Tasks and results are dictionaries of plain values and travel as MessagePack bytes, on every engine alike. A worker's complaint
about the data (`TsveilError`) comes back as a result and is raised again at the caller, with its own text; any other failure
becomes an `EngineError`. A result also says which version of tsveil made it: workers with another one would protect or verify
in another way without a word, so they are refused.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from tsveil import __version__
from tsveil.core import errors, progress
from tsveil.core.types import Indices
from tsveil.engine.blas import one_blas_thread

Task = Mapping[str, Any]
Result = dict[str, Any]
Work = Callable[[Task], Result]

#: seconds until somebody must have taken up the work; clusters that start workers on demand take a minute or two
PATIENCE = 120.0


class Engine(ABC):
    """Where tasks run; use it in a `with` statement, which closes what the engine itself has started."""

    name: ClassVar[str]

    @abstractmethod
    def results(self, work: Work, tasks: Sequence[bytes], counter: Indices) -> Iterator[tuple[int, bytes]]:
        """Number and packed result of every task, in any order; `counter` is raised as tasks are finished."""

    def map(self, work: Work, tasks: Sequence[Task], text: str) -> list[Result]:
        """The results of all tasks in the order of the tasks; `text` says what is going on."""
        packed = [msgspec.msgpack.encode(task) for task in tasks]
        found: list[Result | None] = [None] * len(packed)
        with progress.step(text, total=len(packed)) as counter, one_blas_thread():
            for at, answer in self.results(work, packed, counter):
                result = msgspec.msgpack.decode(answer)
                check_version(f"a worker of {self.name}", result.get("version"))
                if "refused" in result:
                    raise _again(result)
                found[at] = result["result"]
        if missing := [at for at, result in enumerate(found) if result is None]:
            raise errors.EngineError(f"{self.name} gave no result for {len(missing)} of {len(packed)} tasks ({text})")
        return [result for result in found if result is not None]

    @abstractmethod
    def close(self) -> None:
        """Stop what the engine has started; what the caller owns is left alone."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_version(where: str, version: object) -> None:
    """Refuse a place that has another version of tsveil.

    Examples
    --------
    >>> check_version("a worker", "0.0")
    Traceback (most recent call last):
    tsveil.core.errors.EngineError: a worker has tsveil 0.0, and this is tsveil ...
      options: install the same version on all machines
    """
    if version != __version__:
        raise errors.EngineError(
            f"{where} has tsveil {version}, and this is tsveil {__version__}\n"
            "  options: install the same version on all machines"
        )


class Patience:
    """Ends the waiting for a cluster on which nobody works.

    Examples
    --------
    >>> patience = Patience("dask", "start a worker", seconds=0.0)
    >>> patience.look(at_work=True)
    >>> patience.look(at_work=False)
    Traceback (most recent call last):
    tsveil.core.errors.EngineError: no worker of dask has taken up the work for 0 seconds
      options: start a worker
    """

    def __init__(self, engine: str, hint: str, seconds: float | None = None) -> None:
        self.engine, self.hint, self.seconds = engine, hint, PATIENCE if seconds is None else seconds
        self.since = time.monotonic()

    def look(self, *, at_work: bool) -> None:
        """Say whether there is somebody at work now."""
        now = time.monotonic()
        if at_work:
            self.since = now
        elif now - self.since >= self.seconds:
            raise errors.EngineError(
                f"no worker of {self.engine} has taken up the work for {self.seconds:.0f} seconds\n  options: {self.hint}"
            )


def perform_task(work: Work, task: bytes) -> bytes:
    """Unpack a task, do it, and pack its result; runs on the worker."""
    try:
        result: Result = {"result": work(msgspec.msgpack.decode(task))}
    except errors.TsveilError as error:
        problems = list(getattr(error, "problems", ()))
        result = {"refused": type(error).__name__, "message": str(error), "problems": problems}
    return msgspec.msgpack.encode(result | {"version": __version__})


def _again(result: Mapping[str, Any]) -> errors.TsveilError:
    """The error that a worker met, as the caller would have met it."""
    kind = getattr(errors, result["refused"], errors.EngineError)
    if issubclass(kind, errors.InputError):
        return kind(result["message"], result["problems"])
    return kind(result["message"])
