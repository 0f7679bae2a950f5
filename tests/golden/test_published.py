"""What every method publishes, bit by bit, as it was before small and large data went the same way.

The cases are in tests/published_cases.py, the stored values in published.json, and make_published.py wrote them. Where random numbers
come in another order, the cases that draw may be made anew (`make_published.py --draws`); the others must not move.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from published_cases import CASES, DATA, FIGURES, data_hash, figures, published_hash
from tsveil.core.registry import METHODS

STORED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


def test_every_method_and_case_is_stored() -> None:
    # These data have no labels, without which local suppression is MDAV.
    assert {case.method for case in CASES.values()} == set(METHODS) - {"local-suppression"}
    assert list(STORED["published"]) == list(CASES)
    assert list(STORED["figures"]) == list(FIGURES)


@pytest.mark.parametrize("name", DATA)
def test_the_data_are_the_same(name: str) -> None:
    assert data_hash(name) == STORED["data"][name]


@pytest.mark.parametrize("name", CASES)
def test_published_values_have_not_moved(name: str) -> None:
    assert published_hash(CASES[name]) == STORED["published"][name]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_not_moved(name: str) -> None:
    assert figures(FIGURES[name]) == pytest.approx(STORED["figures"][name], rel=1e-9, abs=1e-9)
