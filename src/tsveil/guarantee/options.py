"""Promises as they are asked for by options: `--k 5`, `--nlk 7,10,10`, or whatever a promise of another package declares.

The option of a promise takes its headline parameters in order, separated by commas; every other parameter has an option of its own, which
promises that have it share. `tsveil verify` offers these options and hands over the texts that were typed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tsveil.core.errors import InputError
from tsveil.core.registry import PROMISES
from tsveil.guarantee.base import Promise


class Option(NamedTuple):
    """An option: its name without the dashes, what to type (nothing for a switch), what it means, and all values if they are few."""

    name: str
    metavar: str
    help: str
    choices: tuple[str, ...] = ()


def _promises_by_option() -> dict[str, type[Promise]]:
    """The promises that can be checked, by their options."""
    return {kind.option or kind.name: kind for kind in PROMISES.values() if kind.claims}


def _headline(kind: type[Promise]) -> tuple[str, ...]:
    return kind.headline or tuple(p.name for p in kind.parameters()[:1])


def _example(kind: type[Promise]) -> str:
    defaults = {p.name: p.default for p in kind.parameters()}
    return ",".join(str(defaults[name]) for name in _headline(kind))


def options() -> list[Option]:
    """All options by which promises are asked for, then those of their other parameters.

    Examples
    --------
    >>> [(option.name, option.metavar) for option in options()][:3]
    [('k', 'K'), ('p-sensitive', 'K,P'), ('key-anonymity', 'K')]
    """
    found: dict[str, Option] = {}
    others: dict[str, Option] = {}
    for option, kind in _promises_by_option().items():
        headline, example = _headline(kind), _example(kind)
        like = f", for example {example}" if example else ""
        found[option] = Option(option, ",".join(headline).upper(), f"Check that {kind.summary}{like}.")
        for p in kind.parameters():
            if p.name not in headline:
                name = p.name.replace("_", "-")
                shared = others.get(name, Option(name, "VALUE", f"{p.doc[0].upper()}{p.doc[1:]}."))
                others[name] = shared._replace(choices=tuple(dict.fromkeys((*shared.choices, *p.choices))))
    return [*found.values(), *(other for name, other in others.items() if name not in found)]


def asks(typed: Mapping[str, Any]) -> list[str]:
    """The options of promises among those that were typed.

    Examples
    --------
    >>> asks({"k": "3", "scope": "record", "nlk": None})
    ['k']
    """
    return [name for name in _promises_by_option() if typed.get(name)]


def promise_of(typed: Mapping[str, Any]) -> Promise:
    """The promise that options ask for; those that were not typed are None or missing.

    Examples
    --------
    >>> print(promise_of({"k": "3", "scope": "record"}).words)
    3-anonymity: every published record, with all its series and attributes, is shared by at least 3 records.
    >>> promise_of({"nlk": "7,10"})
    Traceback (most recent call last):
    tsveil.core.errors.InputError: --nlk must look like 7,10,10. Got '7,10'.
    """
    offered, asked = _promises_by_option(), asks(typed)
    if len(asked) != 1:
        ways = (f"--{name} {_example(kind)}".rstrip() + f" ({kind.summary})" for name, kind in offered.items())
        raise InputError("say what to check: " + "\n  or ".join(ways))
    kind, text = offered[asked[0]], typed[asked[0]]
    headline = _headline(kind)
    parts = [part.strip() for part in text.split(",")] if headline else []
    if len(parts) != len(headline):
        raise InputError(f"--{asked[0]} must look like {_example(kind)}. Got {text!r}.")
    settings = {name.replace("-", "_"): value for name, value in typed.items() if value and name not in offered}
    return kind.from_settings({**dict(zip(headline, parts, strict=True)), **settings})
