"""What a sweep tries: the parameters worth trying of every method, and the configurations of a grid.

A grid maps a parameter to its values and stands for all combinations; a list of such grids stands for all of theirs. The values tried
when nobody says otherwise, from mild to strong, stand in the method's own file (`Method.grid`).

Examples
--------
>>> [c.label for c in configurations("mdav", {"k": [3, 5], "distance": ["sts"]})]
['mdav k=3, distance=sts', 'mdav k=5, distance=sts']
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tsveil.core.errors import ParameterError, Problems
from tsveil.core.registry import METHODS
from tsveil.data.dataset import Dataset
from tsveil.protect.base import Method

#: parameter -> values, for all combinations; or several of these
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class Configuration:
    """A method with parameters."""

    method: str
    #: all parameters, also those left at their default
    settings: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The method with the parameters that tell it from others."""
        shown = METHODS[self.method].worth_showing(self.settings)
        words = (f"{name}={_plain(self.settings[name])}" for name in shown)
        return f"{self.method} {', '.join(words)}".rstrip()

    @property
    def text(self) -> str:
        """The parameters as JSON text, the same for equal ones."""
        return json.dumps(dict(self.settings), sort_keys=True)

    @property
    def order(self) -> tuple[Any, ...]:
        """By method in the order of the registry, then by parameters, numbers by their size."""
        names = list(METHODS)
        # A study may hold a method of a package that is no longer installed: it comes last.
        place = names.index(self.method) if self.method in names else len(names)
        order = [p.name for p in METHODS[self.method].parameters()] if self.method in names else []
        values = [self.settings[name] for name in dict.fromkeys([*order, *self.settings]) if name in self.settings]
        return (
            place,
            self.method,
            tuple(
                (0, 0.0, "") if v is None else (2, 0.0, v) if isinstance(v, str) else (1, float(v), "") for v in values
            ),
        )

    def make_method(self) -> Method:
        """The method, ready to protect."""
        made: Method = METHODS.make(self.method, self.settings)
        return made


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def default_grid(name: str, data: Dataset) -> list[dict[str, list[Any]]]:
    """The grids tried for a method on these data; a single one without values: its default parameters.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> default_grid("k-envelopes", data), default_grid("optimal-univariate", data)
    ([{'k': [3]}], [{}])
    """
    kinds = {block.kind for block in data.blocks}
    if not kinds <= METHODS[name].takes:
        return [{}]
    # Records that are alike in each block are unique in all of them: several blocks are also tried as one.
    ways = next((p.choices for p in METHODS[name].parameters() if p.name == "grouping"), ())
    jointly: dict[str, list[Any]] = {"grouping": list(ways)} if len(data.blocks) > 1 and "joint" in ways else {}
    fitting: list[dict[str, list[Any]]] = []
    for grid in METHODS[name].grid(data):
        # Groups of all persons are no choice, and series cannot be known at more points than they have.
        most = {"k": int(data.persons.max()), "buckets": data.n, "l": min(map(len, data.blocks))}
        kept = {p: [v for v in values if p not in most or v <= most[p]] for p, values in grid.items()}
        if all(kept.values()):
            fitting.append(jointly | kept)
    return fitting or [{}]


def configurations(name: str, grid: Grid, problems: Problems | None = None) -> list[Configuration]:
    """All combinations of a method's grid.

    A value that the parameter can never have is an error, or is added to `problems`; values that do not go together make a
    configuration that fails when it is tried.
    """
    own = Problems("the grid cannot be used", ParameterError) if problems is None else problems
    parameters = {p.name: p for p in METHODS[name].parameters()}
    found: dict[str, Configuration] = {}
    for one in [grid] if isinstance(grid, Mapping) else grid:
        choices = {p: _as_list(values) for p, values in one.items()}
        for parameter, values in choices.items():
            if parameter not in parameters:
                own.add(f"{name} has no parameter {parameter!r}; its parameters: {', '.join(parameters)}")
                continue
            accepts, words = parameters[parameter].accepts, parameters[parameter].words
            wrong = [value for value in values if not accepts(value)]
            own.found += [f"the {parameter!r} parameter of {name} must be {words}. Got {value!r}." for value in wrong]
            if not values:
                own.add(f"the {parameter!r} parameter of {name} has no values")
        if own:
            continue
        for combination in itertools.product(*choices.values()):
            given = {
                p: float(v) if parameters[p].kind is float and v is not None else v
                for p, v in zip(choices, combination, strict=True)
            }
            made = Configuration(name, METHODS[name].with_defaults(given))
            found.setdefault(made.text, made)
    if problems is None:
        own.raise_if_any()
    return list(found.values())


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) else [values]


def choose_configurations(
    data: Dataset, methods: str | Sequence[str] = "all", grid: Mapping[str, Grid] | None = None
) -> list[Configuration]:
    """The configurations of a sweep, in the order of the registry and of their parameters.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> [c.label for c in choose_configurations(data, ["noise", "mdav"], {"noise": {"sd": [0.5]}})]
    ['mdav k=3, refine=none', 'mdav k=3', 'mdav k=3, distance=sts', 'noise sd=0.5']
    >>> choose_configurations(data, ["mdva"], {"mdav": {"k": [1]}})
    Traceback (most recent call last):
    tsveil.core.errors.ParameterError: the sweep cannot be run: 2 problems
      1. there is no method 'mdva'
      2. the grid names 'mdav', which is not among the methods to try
      methods available: mdav, ...
    """
    grid = grid or {}
    problems = Problems("the sweep cannot be run", ParameterError)
    names = list(METHODS) if methods == "all" else [methods] if isinstance(methods, str) else list(methods)
    if not names:
        problems.add("there is no method to try")
    for name in names:
        if name not in METHODS:
            problems.add(f"there is no method {name!r}")
    for name in grid:
        if name not in names:
            problems.add(f"the grid names {name!r}, which is not among the methods to try")
    if problems:
        problems.hint(f"methods available: {', '.join(METHODS)}")
    found: list[Configuration] = []
    for name in dict.fromkeys(names):
        if name in METHODS:
            found += configurations(name, grid[name] if name in grid else default_grid(name, data), problems)
    problems.raise_if_any()
    return sorted(found, key=lambda one: one.order)
