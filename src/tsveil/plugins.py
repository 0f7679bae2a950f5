"""Methods of other packages: how they are found, and what is asked of them.

A package offers a method with one line in its pyproject.toml,

    [project.entry-points."tsveil.methods"]
    my-method = "my_package.my_method:MyMethod"

where the key is the method's name. The method then stands in the registry beside tsveil's own: on the command line, in plans,
sweeps and docs. A package that cannot be loaded, or whose class is not a method, is left out with a message; it never stops the
others. A method of another package cannot take the place of one of tsveil's own.

Examples
--------
>>> class Strange:
...     name = "strange"
>>> faults(Strange, "strange")
['it must be a class derived from tsveil.protect.base.Method']
"""

from __future__ import annotations

import inspect
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tsveil.protect.base import Method
from tsveil.technique import Technique

#: the group of entry points in which packages name their methods
GROUP = "tsveil.methods"

AnyMethod = type[Method]


@dataclass(frozen=True)
class Broken:
    """A method that another package offers and that cannot be used."""

    name: str
    package: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"the method {self.name!r} of the package {self.package} cannot be used: {'; '.join(self.reasons)}"


def methods_of_others(taken: Collection[str]) -> tuple[dict[str, AnyMethod], dict[str, Broken]]:
    """The methods of installed packages by name, and those that cannot be used; the names of `taken` are not free."""
    methods: dict[str, AnyMethod] = {}
    broken: dict[str, Broken] = {}
    offers: dict[tuple[str, str], EntryPoint] = {}
    for offer in entry_points(group=GROUP):
        # A folder that is on the path twice offers the same thing twice.
        offers.setdefault((offer.name, offer.value), offer)
    for _, offer in sorted(offers.items()):
        if offer.name in taken or offer.name in methods:
            reasons, made = ["there is a method of this name already"], None
        else:
            reasons, made = _loaded(offer)
        if reasons or made is None:
            package = offer.dist.name if offer.dist else offer.value.partition(".")[0]
            broken[offer.name] = Broken(offer.name, package, tuple(reasons))
        else:
            methods[offer.name] = made
    return methods, broken


def _loaded(offer: EntryPoint) -> tuple[list[str], AnyMethod | None]:
    """What is wrong with an offered method, and the method."""
    try:
        made: Any = offer.load()
    except (Exception, SystemExit) as error:  # whatever a stranger's module does, the others must go on
        return [f"{offer.value} cannot be loaded ({type(error).__name__}: {error})"], None
    return faults(made, offer.name), made


def faults(method: Any, name: str) -> list[str]:
    """What is wrong with a class that wants to be the method of this name; nothing: it can be used."""
    if not (inspect.isclass(method) and issubclass(method, Method)):
        return ["it must be a class derived from tsveil.protect.base.Method"]
    wrong = []
    if missing := [word for word in dir(method) if getattr(getattr(method, word), "__isabstractmethod__", False)]:
        wrong.append(f"it has to define {', '.join(missing)}")
    if (own := getattr(method, "name", None)) != name:
        wrong.append(f"its name must be {name!r}, as its entry point says, and is {own!r}")
    wrong += [
        f"it needs a {word}, a text of one line"
        for word in ("summary", "reference")
        if not isinstance(text := getattr(method, word, None), str) or not text.strip() or "\n" in text
    ]
    techniques = getattr(method, "techniques", None)
    if not (isinstance(techniques, tuple) and techniques and all(isinstance(t, Technique) for t in techniques)):
        wrong.append("it needs techniques, a tuple of tsveil.technique.Technique")
    if not wrong:
        try:
            method()
        except Exception as error:
            wrong.append(f"it cannot be made with its default parameters ({type(error).__name__}: {error})")
    return wrong
