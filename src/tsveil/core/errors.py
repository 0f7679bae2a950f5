"""Every error that tsveil raises on purpose, in one tree.

    TsveilError
     ├── InputError            data, a parameter or a plan that cannot be used       (exit code 2)
     │    ├── ParameterError   a parameter of a method, attack or measure
     │    ├── PlanError        a plan file
     │    └── QuestionError    a table that may mean several things                  (exit code 2)
     ├── EngineError           work that could not be finished where it ran          (exit code 2)
     ├── RoomError             work for which there is too little disk or memory     (exit code 2)
     ├── OutputError           a place that cannot be written, or would be overwritten (exit code 2)
     └── GuaranteeError        a release that does not keep its promise              (exit code 1)

A message says what is wrong, where, and what to do. An input with several problems gets one error that lists them all:
nobody should have to run a command five times to learn of five problems. `Problems` collects them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class TsveilError(Exception):
    """The root of all errors that tsveil raises on purpose."""


class InputError(TsveilError, ValueError):
    """Data, a parameter or a plan that cannot be used as it is."""

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        #: the single problems, without the frame of the message
        self.problems: tuple[str, ...] = tuple(problems) or (message,)


class ParameterError(InputError):
    """A parameter outside its range."""


class PlanError(InputError):
    """A plan file that cannot be understood."""


class QuestionError(InputError):
    """A table that may mean several things, until somebody says which."""


class OutputError(TsveilError):
    """A place that cannot be written, or that would be overwritten without being asked."""


class RoomError(TsveilError):
    """Work for which there is too little disk space or memory, said before it begins."""


class EngineError(TsveilError):
    """Work that could not be finished where it ran: workers that died, a cluster that went away."""


class GuaranteeError(TsveilError):
    """A release whose guarantee is violated or could not be decided."""

    def __init__(self, message: str, assessment: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        #: the verdict as it stands in `assessment.json`; None if the promise stopped the release before anything else was judged
        self.assessment = assessment


class Problems:
    """Collects what is wrong with an input, to be told in one error.

    Examples
    --------
    >>> problems = Problems("meters.csv cannot be used")
    >>> problems.add("row 3, column 'load': 'abc' is not a number")
    >>> problems.add("the id '17' occurs 2 times (rows 4, 9)")
    >>> problems.raise_if_any()
    Traceback (most recent call last):
    tsveil.core.errors.InputError: meters.csv cannot be used: 2 problems
      1. row 3, column 'load': 'abc' is not a number
      2. the id '17' occurs 2 times (rows 4, 9)
    """

    def __init__(self, subject: str, error: type[InputError] = InputError) -> None:
        self.subject = subject
        self.error = error
        self.found: list[str] = []
        self.hints: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, problem: str) -> None:
        """Note one problem."""
        self.found.append(problem)

    def hint(self, text: str) -> None:
        """Note what may help with any of the problems (the available columns, say); shown once, at the end."""
        if text not in self.hints:
            self.hints.append(text)

    def raise_if_any(self) -> None:
        """Raise one error with everything that was found."""
        if not self.found:
            return
        if len(self.found) == 1:
            text = f"{self.subject}: {self.found[0]}"
        else:
            lines = [f"  {number}. {problem}" for number, problem in enumerate(self.found, 1)]
            text = "\n".join([f"{self.subject}: {len(self.found)} problems", *lines])
        raise self.error("\n".join([text, *(f"  {hint}" for hint in self.hints)]), self.found)


def some(items: Iterable[object], most: int = 5) -> str:
    """The first few items as text, with the count of the others.

    Examples
    --------
    >>> some(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    listed = list(items)
    text = ", ".join(repr(item) if isinstance(item, str) else str(item) for item in listed[:most])
    return text if len(listed) <= most else f"{text} and {len(listed) - most} more"
