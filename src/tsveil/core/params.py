"""Parameters as data: what a method accepts, said once, checked once, shown everywhere.

A method, attack or measure with settings is a frozen dataclass that inherits from `Parameters`; each field is made with `param`.
The check runs when the object is made, the message has one form, and the command line, the plan and the docs read the
same description.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tsveil.core.errors import ParameterError, Problems


@dataclass(frozen=True)
class Check:
    """A condition on a value, in words and as a test; `choices` lists the values when they are few."""

    words: str
    accepts: Callable[[Any], bool]
    kind: type
    choices: tuple[str, ...] = ()
    optional: bool = False


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def at_least(low: int) -> Check:
    """An integer of at least `low`."""
    return Check(f"an integer of at least {low}", lambda v: _is_int(v) and v >= low, int)


def whole(low: int, high: int) -> Check:
    """An integer in a range."""
    return Check(f"an integer from {low} to {high}", lambda v: _is_int(v) and low <= v <= high, int)


def number(low: float, high: float, *, open_low: bool = False) -> Check:
    """A number between two bounds."""
    words = f"a number above {low:g} and at most {high:g}" if open_low else f"a number from {low:g} to {high:g}"
    return Check(words, lambda v: _is_number(v) and (low < v if open_low else low <= v) and v <= high, float)


def one_of(*choices: str) -> Check:
    """One of a few words."""
    words = "one of " + ", ".join(repr(c) for c in choices)
    return Check(words, lambda v: isinstance(v, str) and v in choices, str, choices)


def text() -> Check:
    """A text that is not empty."""
    return Check("a text", lambda v: isinstance(v, str) and bool(v.strip()), str)


class Names(tuple[str, ...]):
    """Names as they are typed, separated by commas.

    Examples
    --------
    >>> Names("ill, income")
    ('ill', 'income')
    """

    __slots__ = ()

    def __new__(cls, typed: str) -> Self:
        """Split the text at its commas."""
        return super().__new__(cls, (name.strip() for name in typed.split(",")))


def names() -> Check:
    """Names of columns."""

    def accepts(value: object) -> bool:
        return isinstance(value, tuple) and all(isinstance(name, str) and name for name in value)

    return Check("names of columns", accepts, Names)


def true_or_false() -> Check:
    """A switch."""
    return Check("true or false", lambda v: isinstance(v, bool), bool)


def optional(check: Check) -> Check:
    """The same check, with None allowed."""
    return dataclasses.replace(
        check, words=f"{check.words}, or left out", accepts=lambda v: v is None or check.accepts(v), optional=True
    )


def param(
    default: Any, check: Check | Callable[[], Check], doc: str, *, last: bool = False, depends: bool = False
) -> Any:
    """A field of a `Parameters` class: its default, what it accepts, and one line on what it means.

    A function that makes the check is called when it is needed: for names to which other packages may add. `last` is for what a base class gives to all: it is listed after the parameters of the class itself. `depends` is for a default that other parameters may rule out: `Parameters.with_defaults` says what it is then.
    """
    metadata = {"check": check, "doc": doc, "last": last, "default": default, "depends": depends}
    return dataclasses.field(default=None if depends else default, metadata=metadata)


@dataclass(frozen=True)
class Parameter:
    """The description of one parameter, as the command line and the docs show it."""

    name: str
    default: Any
    words: str
    doc: str
    kind: type
    choices: tuple[str, ...]
    accepts: Callable[[Any], bool]


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Base of everything with parameters; checks them all when the object is made.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Toy(Parameters):
    ...     k: int = param(3, at_least(2), "smallest group")
    >>> Toy(k=1)
    Traceback (most recent call last):
    tsveil.core.errors.ParameterError: The 'k' parameter of Toy must be an integer of at least 2. Got 1.
    >>> Toy().settings()
    {'k': 3}
    """

    #: the name in messages; the class name unless set
    label: ClassVar[str] = ""
    #: the parameters that its text always shows; the first one unless set
    headline: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in (f.name for f in dataclasses.fields(self) if f.metadata.get("depends")):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self._without(self.settings(), name))
        wrong = [
            f"The {p.name!r} parameter of {self._label()} must be {p.words}. Got {value!r}."
            for p in self.parameters()
            if not p.accepts(value := getattr(self, p.name))
        ]
        if wrong:
            raise ParameterError("\n".join(wrong), wrong)

    @classmethod
    def _label(cls) -> str:
        return cls.label or cls.__name__

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """The parameters with their defaults and meaning, in the order of the class."""
        found = []
        for f in sorted(dataclasses.fields(cls), key=lambda f: bool(f.metadata.get("last"))):
            if "check" in f.metadata:
                given = f.metadata["check"]
                check = given if isinstance(given, Check) else given()
                own = check.words, f.metadata["doc"], check.kind, check.choices, check.accepts
                found.append(Parameter(f.name, f.metadata["default"], *own))
        return tuple(found)

    @classmethod
    def with_defaults(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters: those given, and the defaults of the others."""
        return {p.name: given.get(p.name, p.default) for p in cls.parameters()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Make one from plain values, as a plan or the command line has them; texts are converted to the kind expected.

        Examples
        --------
        >>> from tsveil.protect.mdav import MDAV
        >>> MDAV.from_settings({"k": "7"}).k
        7
        """
        known = {p.name: p for p in cls.parameters()}
        problems = Problems(f"{cls._label()} cannot be set up", ParameterError)
        values: dict[str, Any] = {}
        for name, value in settings.items():
            if name not in known:
                problems.add(f"it has no parameter {name!r}")
                problems.hint(f"its parameters: {', '.join(known)}")
                continue
            try:
                values[name] = value if known[name].accepts(value) else _convert(value, known[name].kind)
            except ValueError:
                problems.add(f"the {name!r} parameter must be {known[name].words}. Got {value!r}.")
        problems.raise_if_any()
        return cls(**values)

    def settings(self) -> dict[str, Any]:
        """The parameters as plain values; what `from_settings` takes."""
        return {p.name: getattr(self, p.name) for p in self.parameters()}

    @classmethod
    def worth_showing(cls, settings: Mapping[str, Any]) -> list[str]:
        """The parameters by which people know it: some are always asked for, of the others only what differs from the default.

        Examples
        --------
        >>> from tsveil.protect.kp import KP
        >>> KP.worth_showing(KP(k=10, P=3).settings()), KP.worth_showing(KP(levels="paper").settings())
        (['k', 'P'], ['k', 'P', 'levels'])
        """
        names = [p.name for p in cls.parameters()]
        always = cls.headline or names[:1]
        return [name for name in names if name in always or settings[name] != cls._without(settings, name)]

    @classmethod
    def _without(cls, settings: Mapping[str, Any], name: str) -> Any:
        """What a parameter would be if it were not given."""
        return cls.with_defaults({other: value for other, value in settings.items() if other != name})[name]

    def __str__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self.worth_showing(self.settings()))
        return f"{self._label()}({', '.join(shown)})"


def _convert(value: Any, kind: type) -> Any:
    """Texts (from a command line) become what the parameter wants; everything else is left to its check."""
    if isinstance(value, str) and kind is not str:
        if kind is bool:
            if value.lower() in {"true", "yes", "1"}:
                return True
            if value.lower() in {"false", "no", "0"}:
                return False
            raise ValueError(value)
        return kind(value)
    if kind is float and _is_int(value):
        return float(value)
    return value
