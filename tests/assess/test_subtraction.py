"""Subtraction: what who knows half of the persons computes from published means."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.assess.limits import Limits
from tsveil.assess.subtraction import share_by_subtraction
from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.errors import GuaranteeError
from tsveil.core.types import Indices


def naive(of_row: Indices, persons: Indices, known: float) -> float:
    """Person by person: is there a class in which all others are known?"""
    everybody = sorted(set(persons.tolist()))
    numbers = np.arange(len(everybody))
    some = chosen_rows(border_of(numbers, round(known * len(everybody))), numbers)
    strangers = {person for person, chosen in zip(everybody, some, strict=True) if not chosen}
    found = 0
    for person in strangers:
        classes = set(of_row[persons == person].tolist())
        found += any(set(persons[of_row == one].tolist()) & strangers == {person} for one in classes)
    return 100 * found / len(strangers)


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 80))
    of_row = rng.integers(0, int(rng.integers(1, n)), n)
    persons = np.arange(n) if seed % 2 else rng.integers(0, max(3, n // 3), n)
    known = (0.5, 0.8, 0.9)[seed % 3]
    if 0 < round(known * len(np.unique(persons))) < len(np.unique(persons)):
        assert share_by_subtraction(of_row, persons, known) == pytest.approx(naive(of_row, persons, known))


def test_census_in_groups_of_five(shared_data: Path) -> None:
    """SPEC-2 section 14 has 6.1, 42.3 and 65.6 % for 50, 80 and 90 % known; the half that is known is another one here."""
    frame = pl.read_csv(shared_data / "census.csv")
    data = tv.Dataset.from_frame(frame, blocks={"all": frame.columns})
    release = tv.MDAV(k=5, refine="none").protect(data, seed=1)
    of_row = np.unique(release.data.values, axis=0, return_inverse=True)[1].ravel()
    for known, expected in ((0.5, 6.1), (0.8, 42.3), (0.9, 65.6)):
        assert share_by_subtraction(of_row, known=known) == pytest.approx(expected, abs=8)


def test_the_values_really_follow() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 3))
    data = tv.Dataset.from_arrays({"x": x})
    y = tv.MDAV(k=3, refine="none").protect(data, seed=1).data.values
    _, of_row, sizes = np.unique(y, axis=0, return_inverse=True, return_counts=True)
    of_row = of_row.ravel()
    people = np.arange(60)
    unknown = ~chosen_rows(border_of(people, 30), people)
    computed = 0
    for person in np.flatnonzero(unknown):
        others = np.flatnonzero((of_row == of_row[person]) & (people != person))
        if not unknown[others].any():
            computed += 1
            assert sizes[of_row[person]] * y[person] - x[others].sum(axis=0) == pytest.approx(x[person])
    assert share_by_subtraction(of_row) == pytest.approx(100 * computed / unknown.sum())
    assert computed > 0


def test_it_stands_beside_the_ladder_and_fails_only_by_a_limit(tmp_path: Path) -> None:
    data = tv.Dataset.from_arrays({"x": np.random.default_rng(1).normal(size=(40, 6))})
    means, medians = (tv.MDAV(k=4, representative=how).protect(data, seed=2) for how in ("mean", "median"))
    written = means.write(tmp_path / "means")
    (check,) = (one for one in _checks(written) if one["name"] == "attribute-disclosure")
    assert check["status"] == "holds"
    assert check["figures"]["subtraction"] > 1
    words = re.sub("<[^>]*>", " ", (written / "published" / "report.html").read_text(encoding="utf-8"))
    assert "By subtraction, who knows half of the persons computes the values of up to" in words
    (other,) = (one for one in _checks(medians.write(tmp_path / "medians")) if one["name"] == "attribute-disclosure")
    assert "subtraction" not in other["figures"]
    with pytest.raises(GuaranteeError, match="at most 1 % is accepted"):
        means.write(tmp_path / "limited", limits=Limits(subtraction=1))


def _checks(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "private" / "assessment.json").read_text())["checks"]
    return found
