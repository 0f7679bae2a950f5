"""One answer for all records of a person against the definition, written with loops; and where it is tried."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.attack.base import Shape
from tsveil.attack.one_answer import OneAnswer
from tsveil.core.types import Array


def expected(x: Array, y: Array, persons: list[int], series: bool) -> list[tuple[float, bool]]:
    """For each record the share of its person in the answer, and whether rounding cannot have decided it."""
    spread = np.full(y.shape[1], y.std(ddof=1)) if series else y.std(axis=0, ddof=1)
    a, b = (np.divide(table, spread, out=np.zeros_like(table), where=spread > 0) for table in (x, y))
    rows = [tuple(row) for row in b.tolist()]
    classes = sorted(set(rows))
    answers = {}
    for person in set(persons):
        records = [i for i, owner in enumerate(persons) if owner == person]
        away = {(i, g): math.fsum((p - q) ** 2 for p, q in zip(a[i], g, strict=True)) for i in records for g in classes}
        nearest = {i: min(away[i, g] for g in classes) for i in records}
        width = max(math.fsum(nearest.values()) / len(records) / x.shape[1], 1e-300)
        shares = dict.fromkeys(classes, 0.0)
        for i in records:
            bells = {g: math.exp(-(away[i, g] - nearest[i]) / (2 * width)) for g in classes}
            for g in classes:
                shares[g] += bells[g] / math.fsum(bells.values()) / rows.count(g)
        first, *others = sorted(shares.values(), reverse=True)
        best = max(classes, key=shares.__getitem__)
        right = sum(rows[i] == best for i in records) / rows.count(best)
        answers[person] = right, not others or first - others[0] > 1e-9 * first
    return [answers[person] for person in persons]


@given(
    seed=st.integers(0, 10**6), people=st.integers(2, 8), records=st.integers(1, 4), coarse=st.booleans(), series=st.booleans()
)  # fmt: skip
def test_answers_are_those_of_the_definition(seed: int, people: int, records: int, coarse: bool, series: bool) -> None:
    rng = np.random.default_rng(seed)
    persons = rng.permutation(np.repeat(np.arange(people), records + 1))
    x = rng.normal(size=(people, 3))[persons] * [1.0, 5.0, 1e3] + rng.normal(size=(len(persons), 3))
    x = x.round(0 if coarse else 6)
    group = rng.integers(0, max(1, len(x) // 3), len(x))
    y = np.stack([x[group == one].mean(axis=0) for one in group])
    names = [str(person) for person in persons]
    if series:
        original, released = tv.Dataset.from_arrays({"load": x}, persons=names), tv.Dataset.from_arrays({"load": y})
    else:
        columns = [{f"x{at}": table[:, [at]] for at in range(3)} for table in (x, y)]
        original, released = tv.Dataset.from_arrays(columns[0], persons=names), tv.Dataset.from_arrays(columns[1])
    found = OneAnswer().links(original, released)
    for chance, (right, clear) in zip(found.probability, expected(x, y, persons.tolist(), series), strict=True):
        if clear:
            assert chance == pytest.approx(right)


def test_it_is_tried_where_persons_may_have_several_records() -> None:
    assert OneAnswer.fit(Shape(10, []), None) is None
    assert OneAnswer.fit(Shape(10, [], persons=True), ()) == OneAnswer()
    rng = np.random.default_rng(1)
    persons = np.repeat(np.arange(60), 4)
    x = rng.normal(size=(60, 5))[persons] + 0.5 * rng.normal(size=(240, 5))
    data = tv.Dataset.from_arrays({"load": x}, persons=[str(person) for person in persons])
    release = tv.MDAV(k=3).protect(data)
    card = tv.evaluate(data, release)
    assert card["OALD"] > card["EULD"]
    assert "OALD" not in tv.evaluate(tv.Dataset.from_arrays({"load": x}), tv.Dataset.from_arrays({"load": x}))


def test_two_records_in_one_class_are_better_than_one_in_each_of_two() -> None:
    """The first person has two records between two classes and two in a third one: that is the answer for all four."""
    x = np.array([[0.0], [2.0], [10.0], [10.2], [-0.6], [2.6], [10.1]])
    y = np.array([[-0.2], [2.2], [10.1], [10.1], [-0.2], [2.2], [10.1]])
    data = tv.Dataset.from_arrays({"x": x}, persons=["a", "a", "a", "a", "b", "c", "d"])
    found = OneAnswer().links(data, tv.Dataset.from_arrays({"x": y}))
    assert found.probability[:4].tolist() == pytest.approx([2 / 3] * 4)
