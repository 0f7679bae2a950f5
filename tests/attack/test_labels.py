"""Linkage of records with labels, against the slow version: distances, agreements, nodes above labels, persons, chunks."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations
from pathlib import Path
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
from tsveil.assess.judge import Evidence, judge
from tsveil.assess.limits import Intruder, Knows, Limits
from tsveil.attack.agreement import first_columns, plain_model
from tsveil.attack.agreement_trees import conditional_model
from tsveil.attack.base import Rung
from tsveil.attack.choose import links_by_attack
from tsveil.core.errors import ParameterError
from tsveil.release.publish import publish


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


@settings(max_examples=cases(20, 200), deadline=None)
@given(label_cases(most=5))
def test_one_to_one_has_the_least_total_distance(case: Case) -> None:
    links = links_by_attack(case.original, case.released, only="mixed-one-to-one")["mixed-one-to-one"]
    squares = naive.scales(case.kinds, case.features, case.before)

    def apart(x: int, y: int) -> float:
        return math.sqrt(
            sum(
                sum(naive.distance(case.kinds[c], case.before[x][c], case.after[y][c]) ** 2 for c in own) / square
                for own, square in zip(case.features, squares, strict=True)
                if square > 1e-12
            )
        )

    n = len(case.before)
    least = min(sum(apart(x, y) for x, y in enumerate(order)) for order in permutations(range(n)))
    assert sorted(links.link) == list(range(n))
    assert sum(apart(x, int(y)) for x, y in enumerate(links.link)) == pytest.approx(least, abs=1e-9)


def test_every_rung_of_who_knows_many(tmp_path: Path) -> None:
    """Half of the persons are known where the method can be run again; everybody where nothing is known of it."""
    data = tv.example("households")
    release = tv.MDAV(k=5).protect(data, seed=1)
    made, found = (tv.evaluate(data, one, models="fitting") for one in (release, release.data))
    rungs = [{one.rung for one in card.ladder if one.attack == "mixed-one-to-one"} for card in (made, found)]
    assert rungs == [{Rung.SHARE}, {Rung.SHARE, Rung.FILE}]
    assert "LOLD" not in made
    judged = publish(
        release, tmp_path / "out", intruder=Intruder(knows="share"), limits=Limits(accepted_risk="1/5")
    ).assessment
    assert judged is not None
    assert judged.risk.attack == "mixed-distance"
    assert "no attack knows the labels" not in str(judged)


def test_a_limit_is_not_kept_where_labels_were_not_tried() -> None:
    """Attacks on numbers alone do not make up for the labels, and neither do those on labels by who knows less."""
    data = tv.example("households")
    release = tv.MDAV(k=5).protect(data, seed=1)
    card = tv.evaluate(data, release, models="fitting")
    given: dict[str, Any] = {"promise": release.guarantee, "verdict": release.verify(), "of_row": np.arange(300) // 5, "carried": pl.DataFrame(), "representatives": False, "labels": ["home"]}  # fmt: skip
    cases_of: list[tuple[Knows, tuple[str, ...], str]] = [
        ("person", (), "holds"),
        ("person", ("mixed-distance", "labels-probabilistic", "labels-conditional"), "warns"),
        ("share", (), "holds"),
        ("share", ("mixed-one-to-one",), "warns"),
    ]
    for knows, left_out, status in cases_of:
        ladder = tuple(one for one in card.ladder if one.attack not in left_out)
        if knows == "person":
            ladder = tuple(one for one in ladder if one.rung in (Rung.PART, Rung.PERSON))
        found = judge(
            Evidence(card=replace(card, ladder=ladder), **given), Limits(accepted_risk="9/10"), Intruder(knows=knows)
        )
        check = next(one for one in found.checks if one.name == "accepted-risk")
        assert check.status == status, (knows, left_out)
        assert ("no attack knows the labels" in check.message) == (status == "warns")


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
    assert set(person) == {"mixed-distance", "fullest-keys", "labels-probabilistic", "labels-conditional"}
    assert person["mixed-distance"].rate == 100
    assert person["mixed-distance"].targets == 3
    person |= {one.attack: one for one in card.ladder if one.rung is Rung.FILE}
    for name, links in links_by_attack(data, data).items():
        assert links.rate == pytest.approx(person[name].rate), name
        assert links.people == 3


def test_the_attacks_by_name() -> None:
    data = keys(ROWS)
    found = links_by_attack(data, data)
    assert set(found) == {
        "mixed-distance",
        "mixed-one-to-one",
        "fullest-keys",
        "labels-probabilistic",
        "labels-conditional",
    }
    assert all(links.link.tolist() == [0, 0, 2, 3, 4, 5] for name, links in found.items() if name != "mixed-one-to-one")
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
    assert card.best_attack[0] in ("LDLD", "FKLD", "LPLD", "LCPLD")


@pytest.mark.parametrize(
    "numbers", [[1e300, -1e300, 1e300, 0.0], [1e-300, 2e-300, 0.0, 0.0], [5.0] * 4, [1e16, 1e16 + 2, 1e16 + 4, 1e16]]
)
def test_huge_tiny_and_constant_numbers_beside_labels(numbers: list[float]) -> None:
    frame = pl.DataFrame({"x": numbers, "home": ["flat", "flat", "house", "house"]})
    data = tv.Dataset.from_frame(frame, blocks={"x": ["x"], "keys": ["home"]}, categories={"home": "nominal"})
    links = links_by_attack(data, data)
    alike = [sum((x, home) == (y, other) for y, other in frame.rows()) for x, home in frame.rows()]
    assert links["mixed-distance"].probability == pytest.approx([1 / count for count in alike])
    moved = data.with_values(np.column_stack([data.values[:, 0] * 0.5, data.values[:, 1]]))
    assert all(np.isfinite(one.rate) for one in links_by_attack(data, moved, only="mixed-distance").values())


def test_labels_that_all_records_share_leave_a_guess() -> None:
    data = tv.Dataset.from_frame(
        pl.DataFrame({"home": ["flat"] * 5}), blocks={"keys": ["home"]}, categories={"home": "nominal"}
    )
    card = tv.evaluate(data, data)
    assert card["LDLD"] == pytest.approx(20)
    assert (card["KU1"], card["KU2"], card["LL4"]) == (0, 0, 0)
