"""Nothing public is called without its docstring saying what goes in, what comes out and what may go wrong."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tsveil as tv
from tsveil.core.declaration import Declaration
from tsveil.sklearn import Anonymiser

#: of methods and promises people call these; the others are for whoever writes one (docs/extending.md)
OF_DECLARATIONS = ("protect", "verify")
#: what has nothing to refuse: it looks something up in what was checked before
REFUSE_NOTHING = {
    "Dataset.from_files", "KAnonymity.verify", "KPAnonymity.verify", "Plan.to_toml", "Release.in_published_order", "Release.published", "Release.sample",
    "Study.against", "Study.of", "Study.release_seed_of", "Study.seed_of", "sklearn.Anonymiser.get_params",
}  # fmt: skip


def methods_of(name: str, thing: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods of a class that tsveil defines."""
    for own in dir(thing):
        raw = inspect.getattr_static(thing, own)
        function = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
        wanted = own in OF_DECLARATIONS or not issubclass(thing, Declaration)
        ours = inspect.isfunction(function) and function.__module__.startswith("tsveil")
        if wanted and ours and not own.startswith("_"):
            yield f"{name}.{own}", function


def public_callables() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for name in tv.__all__:
        thing = getattr(tv, name)
        if name in ("attack", "distance"):
            found |= {f"{name}.{own}": getattr(thing, own) for own in thing.__all__ if inspect.isfunction(getattr(thing, own))}  # fmt: skip
        elif inspect.isfunction(thing):
            found[name] = thing
        elif inspect.isclass(thing):
            found |= dict(methods_of(name, thing))
    return found | dict(methods_of("sklearn.Anonymiser", Anonymiser))


CALLABLES = public_callables()


def sections(doc: str) -> dict[str, str]:
    """The sections of a docstring by their heads."""
    parts = re.split(r"^(\w+)\n-{3,}\n", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def lacking(doc: str, parameters: list[str], *, returns: bool, raises: bool) -> list[str]:
    """What a docstring does not say."""
    found = sections(doc)
    told: dict[str, str] = {}
    for names, words in re.findall(r"^(\w[\w, ]*)\n((?:    .+\n?)+)", found.get("Parameters", ""), flags=re.MULTILINE):
        told |= dict.fromkeys(names.split(", "), words)
    wrong = [name for name in parameters if len(told.get(name, "").split()) < 2]
    wrong += [f"{name}, which is no parameter" for name in told if name not in parameters]
    wrong += ["Returns"] if returns and "Returns" not in found else []
    return wrong + (["Raises"] if raises and "Raises" not in found else [])


@pytest.mark.parametrize("name", CALLABLES)
def test_parameters_results_and_errors_are_described(name: str) -> None:
    function = CALLABLES[name]
    signature = inspect.signature(function)
    parameters = [one for one in signature.parameters if one not in ("self", "cls")]
    returns = bool(parameters) and signature.return_annotation not in (None, "None")
    raises = bool(parameters) and name not in REFUSE_NOTHING
    assert lacking(inspect.getdoc(function) or "", parameters, returns=returns, raises=raises) == []


def test_exceptions_are_needed() -> None:
    assert set(CALLABLES) >= REFUSE_NOTHING
    for name in REFUSE_NOTHING:
        assert "Raises" not in sections(inspect.getdoc(CALLABLES[name]) or ""), name


def test_the_classes_say_what_they_are() -> None:
    for name in tv.__all__:
        thing = getattr(tv, name)
        if inspect.isclass(thing):
            assert len((inspect.getdoc(thing) or "").split()) >= 3, name


def test_what_is_missing_would_be_found() -> None:
    doc = (
        "Do it.\n\nParameters\n----------\na, b\n    Two numbers.\nc\n    Sum.\n\nReturns\n-------\nint\n    The sum.\n"
    )
    assert lacking(doc, ["a", "b"], returns=True, raises=False) == ["c, which is no parameter"]
    assert lacking(doc, ["a", "b", "c", "d"], returns=True, raises=True) == ["c", "d", "Raises"]
    assert len(CALLABLES) > 60
