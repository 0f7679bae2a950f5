"""Linkage of records with labels, against the slow version: distances, agreements, nodes above labels, persons, chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_labels as naive
import tsveil as tv
from cases import cases
from label_cases import Case, label_cases
from tsveil.attack.agreement import first_columns, plain_model
from tsveil.attack.agreement_trees import conditional_model
from tsveil.attack.base import Rung
from tsveil.attack.choose import links_by_attack
from tsveil.core.errors import ParameterError


def card_of(case: Case, **options: Any) -> Any:
    return tv.evaluate(
        case.original, case.released, **{**({"models": "fitting"} if case.original.series else {}), **options}
    )


@settings(max_examples=cases(40, 400), deadline=None)
@given(label_cases())
def test_the_nearest_by_numbers_and_labels(case: Case) -> None:
    rates = card_of(case).by_known["LDLD"]
    every = []
    for wild in (False, True):
        found = []
        for known in range(1, len(case.features) + 1):
            near = naive.nearest(case.kinds, case.features, case.before, case.after, known, wild=wild)
            found.append(100 * np.mean([(at in own) / len(own) for at, own in enumerate(near)]))
        every.append(found)
    above = any(
        node not in kind[1] for kind, own in case.label_features for row in case.after for node in (row[c] for c in own)
    )
    best = max(every, key=sum) if above else every[0]
    assert any(np.allclose(rates, one) for one in every if sum(one) >= sum(best) - 1e-9)


@settings(max_examples=cases(30, 300), deadline=None)
@given(label_cases(), st.sampled_from(["expected", "first"]))
def test_the_heaviest_agreements(case: Case, ties: Any) -> None:
    alone = [own[0] for own in case.features if len(own) == 1]
    kinds = [case.kinds[c] for c in alone]
    card = card_of(case, ties=ties)
    if not any(kind != "number" for kind in kinds):
        assert "LPLD" not in card
        assert "by conditional probability, with labels (all labels are in series)" in card.options["skipped"]
        return
    before, after = ([[row[c] for c in alone] for row in rows] for rows in (case.before, case.after))
    values = [[row[c] for row in after] for c in range(len(alone))]
    pattern = np.array([[naive.agreements(kinds, x, y, values) for y in after] for x in before])
    total = np.bincount(pattern.ravel(), minlength=1 << len(alone))
    for figure in ("LPLD", "LCPLD"):
        for known in range(1, len(alone) + 1):
            counts = first_columns(total, known)
            n = len(before)
            model = plain_model(counts).weights if figure == "LPLD" else conditional_model(counts, n, n).weights
            weight = np.asarray(model)[pattern & ((1 << known) - 1)]
            best = weight == weight.max(axis=1, keepdims=True)
            right = np.diag(best) / best.sum(axis=1) if ties == "expected" else best.argmax(axis=1) == np.arange(n)
            assert card.by_known[figure][known - 1] == pytest.approx(100 * right.mean()), (figure, known)


def keys(rows: list[tuple[str, str, int]], **roles: Any) -> tv.Dataset:
    frame = pl.DataFrame(rows, schema=["home", "town", "who"], orient="row")
    tree = {"Lyon": ["France", "*"], "Nice": ["France", "*"], "Rome": ["Italy", "*"], "Pisa": ["Italy", "*"]}
    return tv.Dataset.from_frame(
        frame if roles else frame.drop("who"), blocks={"keys": ["home", "town"]}, categories={"home": "nominal", "town": {"hierarchy": tree}}, **roles
    )  # fmt: skip


ROWS = [
    ("flat", "Lyon", 1),
    ("flat", "Lyon", 1),
    ("villa", "Rome", 1),
    ("flat", "Nice", 2),
    ("house", "Pisa", 2),
    ("flat", "Rome", 3),
]


def test_any_record_of_a_person_is_right() -> None:
    data = keys(ROWS, person="who")
    alone = tv.evaluate(keys(ROWS), keys(ROWS))
    card = tv.evaluate(data, data)
    assert alone["LDLD"] < card["LDLD"]
    person = {one.attack: one for one in card.ladder if one.rung is Rung.PERSON}
    assert set(person) == {"mixed-distance", "labels-probabilistic", "labels-conditional"}
    assert person["mixed-distance"].rate == 100
    assert person["mixed-distance"].targets == 3
    for name, links in links_by_attack(data, data).items():
        assert links.rate == pytest.approx(person[name].rate), name
        assert links.people == 3


def test_the_attacks_by_name() -> None:
    data = keys(ROWS)
    found = links_by_attack(data, data)
    assert set(found) == {"mixed-distance", "labels-probabilistic", "labels-conditional"}
    assert found["mixed-distance"].rate == pytest.approx(100 * 5 / 6)  # two of the six are alike
    assert links_by_attack(data, data, only="mixed-distance")["mixed-distance"].rate == found["mixed-distance"].rate
    with pytest.raises(ParameterError, match="looks at whole records, so what is known cannot be chosen"):
        links_by_attack(data, data, only="mixed-distance", known=["home"])
    mixed = tv.example("households")
    assert {"values", "shape", "mixed-distance"} <= set(links_by_attack(mixed, mixed))


def test_the_samples_are_those_of_the_other_attacks() -> None:
    data = tv.example("households")
    release = tv.MDAV(k=5).protect(data, seed=1)
    card = tv.evaluate(data, release, models="fitting", targets=50)
    assert "risk" not in card.per_record.columns
    assert {one.targets for one in card.ladder if one.rung is Rung.PERSON} == {50}
    assert all(not one.complete for one in card.ladder if one.rung is Rung.PERSON)


def test_the_risk_of_a_record_is_the_larger_one() -> None:
    """Equal curves hide everybody, and the labels tell them apart."""
    data = tv.example("households")
    span = data.span("load")
    values = data.values.copy()
    values[:, span] = values[:, span].mean(axis=0)
    card = tv.evaluate(data, data.with_values(values), models="fitting")
    risk = card.per_record["risk"].to_numpy()
    each = [card.per_record[f"linked_by_{figure}"].to_numpy() for figure in card.by_known]
    assert np.array_equal(risk, np.max(each, axis=0))
    assert risk.mean() > 30
    assert card["EULD"] < 1
    assert card.best_attack[0] in ("LDLD", "LPLD", "LCPLD")
