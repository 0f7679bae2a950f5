"""Where a class can be imported from, so that a worker on another machine makes the very same method or attack."""

from __future__ import annotations

import importlib
from typing import Any

from tsveil.core.declaration import Declaration
from tsveil.core.errors import EngineError, ParameterError

#: classes at hand in this process by their place; those that a user defined in a script or notebook are found nowhere else
_AT_HAND: dict[str, type] = {}


def place_of(made: object) -> str:
    """The importable place of an object's class, module:name, which is also found in this process if nowhere else.

    Examples
    --------
    >>> from tsveil.protect.mdav import MDAV
    >>> place_of(MDAV())
    'tsveil.protect.mdav:MDAV'
    """
    place = f"{type(made).__module__}:{type(made).__qualname__}"
    _AT_HAND[place] = type(made)
    return place


def class_at(place: str) -> Any:
    """The class at a place."""
    return _AT_HAND[place] if place in _AT_HAND else _import_place(place)


def check_importable(made: Declaration, engine: str) -> None:
    """Refuse a class that the workers of an engine cannot import."""
    place = place_of(made)
    module, _, name = place.partition(":")
    if module == "__main__" or "<locals>" in name or _import_place(place) is not type(made):
        raise ParameterError(
            f"the workers of {engine} cannot import {name}, which is defined in {module}\n"
            "  options: put the class into a module that is installed on all workers, or the engine 'local'"
        )


def _import_place(place: str) -> Any:
    module, _, name = place.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise EngineError(
            f"{name} cannot be imported from {module} here: {error}\n"
            "  options: install its package on all workers, or the engine 'local'"
        ) from error
    return found
