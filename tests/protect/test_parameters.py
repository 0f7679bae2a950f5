"""What every method can be told: names, defaults and ranges, as users' plans rely on them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from tsveil.core.errors import ParameterError
from tsveil.core.registry import METHODS

GROUPS = {
    "k": (5, "an integer of at least 2"),
    "distance": ("euclidean", "one of 'euclidean', 'sts'"),
    "grouping": ("joint", "one of 'per-block', 'joint'"),
    "representative": ("mean", "one of 'mean', 'median', 'generalise'"),
    "scale": ("auto", "one of 'auto', 'standardise', 'none', 'gower'"),
    "weights": (None, "a text such as 'load=2, dwelling=0.5', or left out"),
}
ROUNDING = {"rounding": ("none", "one of 'none', 'input'")}
ENVELOPES = {
    "k": (10, "an integer of at least 2"),
    "round_to": (None, "a number above 0 and at most 1e+300, or left out"),
}
SHARE = (10.0, "a number above 0 and at most 100")

#: method -> parameter -> default and range, in the order in which they are listed
PARAMETERS: dict[str, dict[str, tuple[Any, str]]] = {
    "mdav": {
        **GROUPS,
        "variant": ("standard", "one of 'standard', 'paper'"),
        "mode": ("auto", "one of 'auto', 'exact', 'partitioned'"),
        "refine": ("swap", "one of 'none', 'swap', 'search'"),
        "iterations": (None, "an integer of at least 1, or left out"),
        "seconds": (None, "a number above 0 and at most 1e+06, or left out"),
        "part": (8000, "an integer of at least 100"),
        "share": ("bounded", "one of 'bounded', 'told'"),
        "max_records": (None, "an integer of at least 1, or left out"),
        **ROUNDING,
    },
    "v-mdav": {**GROUPS, "gamma": (0.2, "a number from 0 to 10"), **ROUNDING},
    "p-sensitive": {
        **GROUPS,
        "p": (2, "an integer of at least 2"),
        "columns": (None, "a text, or left out"),
        **ROUNDING,
    },
    "nlk": {
        "n": (7, "an integer of at least 1"),
        "l": (10, "an integer of at least 2"),
        "k": (10, "an integer of at least 2"),
        "heuristic": ("auto", "one of 'auto', 'stage1', 'mth', 'mil', 'gpe', 'peel'"),
        "representative": ("mean", "one of 'mean', 'median'"),
        "smallest_cluster": (1, "an integer of at least 1"),
        "grouping": ("joint", "one of 'per-block', 'joint'"),
        **ROUNDING,
    },
    "optimal-univariate": {"k": (5, "an integer of at least 2"), **ROUNDING},
    "projected": {
        "k": (5, "an integer of at least 2"),
        "projection": ("pcp", "one of 'pcp', 'zscores', 'sugeno', 'owa', 'choquet', 'twofold'"),
        "grouping": ("optimal", "one of 'optimal', 'fixed'"),
        "scale": ("auto", "one of 'auto', 'standardise', 'range'"),
        "quantifier": ("exponent", "one of 'exponent', 'sigmoid', 'threshold'"),
        "alpha": (1.0, "a number from 0 to 100"),
        **ROUNDING,
    },
    "mic1d": {"kappa": (100, "an integer of at least 2"), **ROUNDING},
    "rank-swap": {"p": SHARE, "taken": ("redraw", "one of 'redraw', 'skip'"), **ROUNDING},
    "rank-swap-distribution": {"p": SHARE, **ROUNDING},
    "rank-swap-buckets": {"buckets": (20, "an integer of at least 1"), **ROUNDING},
    "noise": {"sd": (0.1, "a number above 0 and at most 100"), "correlated": (False, "true or false"), **ROUNDING},
    "kp": {
        **ENVELOPES,
        "P": (3, "an integer of at least 2"),
        "pattern": ("sax", "one of 'sax', 'paa'"),
        "word_length": (None, "an integer of at least 1, or left out"),
        "levels": ("nested", "one of 'nested', 'paper'"),
        "max_level": (16, "an integer from 1 to 26"),
    },
    "k-envelopes": {**ENVELOPES, "words": ("none", "one of 'none', 'unprotected'")},
    "local-suppression": {
        "k": (5, "an integer of at least 2"),
        "keys": (None, "a text, or left out"),
        "subsets": (None, "an integer of at least 1, or left out"),
        "empty": ("strict", "one of 'strict', 'wildcard'"),
        "search": ("auto", "one of 'auto', 'exact', 'greedy'"),
        **ROUNDING,
    },
}

every_method = pytest.mark.parametrize("name", PARAMETERS)


def test_no_method_is_forgotten() -> None:
    assert list(METHODS) == list(PARAMETERS)


@every_method
def test_its_parameters_are_those_that_plans_rely_on(name: str) -> None:
    listed = {p.name: (p.default, p.words) for p in METHODS[name].parameters()}
    assert list(listed.items()) == list(PARAMETERS[name].items())


@every_method
def test_it_cannot_be_changed_after_its_check(name: str) -> None:
    made = METHODS[name]()
    for p in made.parameters():
        with pytest.raises(FrozenInstanceError):
            setattr(made, p.name, p.default)
    assert made == METHODS[name]()
    assert hash(made) == hash(METHODS[name]())


@every_method
def test_parameters_are_given_by_name(name: str) -> None:
    first = next(iter(PARAMETERS[name]))
    with pytest.raises(TypeError, match="positional"):
        METHODS[name](PARAMETERS[name][first][0])


@pytest.mark.parametrize(
    ("name", "parameter", "accepted", "refused"),
    [
        ("mdav", "k", 2, 1),
        ("mdav", "part", 100, 99),
        ("v-mdav", "gamma", 0, -0.001),
        ("v-mdav", "gamma", 10, 10.001),
        ("p-sensitive", "p", 2, 1),
        ("nlk", "n", 1, 0),
        ("mic1d", "kappa", 2, 1),
        ("rank-swap", "p", 100, 100.001),
        ("rank-swap", "p", 1e-9, 0),
        ("rank-swap-buckets", "buckets", 1, 0),
        ("noise", "sd", 100, 100.001),
        ("kp", "max_level", 26, 27),
        ("kp", "max_level", 1, 0),
        ("kp", "word_length", 1, 0),
        ("k-envelopes", "k", 2, 1),
        ("local-suppression", "k", 2, 1),
        ("local-suppression", "subsets", 1, 0),
    ],
)
def test_ranges_end_where_they_say(name: str, parameter: str, accepted: Any, refused: Any) -> None:
    assert getattr(METHODS[name](**{parameter: accepted}), parameter) == accepted
    with pytest.raises(ParameterError, match=f"The '{parameter}' parameter of .* must be .* Got {refused}"):
        METHODS[name](**{parameter: refused})
