"""What is lost of labels, against the slow version: values, tables, uncertainty, states in time; persons, chunks, and what is published above labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import naive_labels as naive
import tsveil as tv
from cases import cases
from label_cases import Case, label_cases
from tsveil.core.errors import InputError, ParameterError
from tsveil.data.categories import Categories
from tsveil.measure.label_counts import difference_of_columns
from tsveil.measure.label_loss import LabelLoss


def card_of(case: Case, **options: Any) -> Any:
    return tv.evaluate(
        case.original, case.released, **{**({"models": "fitting"} if case.original.series else {}), **options}
    )


@settings(max_examples=cases(40, 400), deadline=None)
@given(label_cases())
def test_figures_are_those_of_the_definition(case: Case) -> None:
    card = card_of(case)
    expected = naive.label_loss(case.label_features, case.before, case.after)
    series = [(kind, own) for kind, own in case.label_features if len(own) > 1]
    each = [
        naive.state_loss(kind, *([[row[c] for c in own] for row in rows] for rows in (case.before, case.after)))
        for kind, own in series
    ]
    expected |= {figure: sum(one[figure] for one in each) / len(each) for figure in (each[0] if each else {})}
    for figure, value in expected.items():
        assert card[figure] == pytest.approx(value, abs=1e-9), figure
    missing = {"LL1", "LL2", "LL3", "LL4", "LU", "SL1", "SL2", "SL3", "SL4", "SH", "SH2"} - set(expected)
    assert not missing & set(card)


@settings(max_examples=cases(20, 200), deadline=None)
@given(label_cases())
def test_who_is_alone_with_labels(case: Case) -> None:
    own = [c for _, columns in case.label_features if len(columns) == 1 for c in columns]
    own = own or [c for _, columns in case.label_features for c in columns]
    card = card_of(case)
    for figure, rows in (("KU1", case.before), ("KU2", case.after)):
        keys = [[row[c] for c in own] for row in rows]
        assert card[figure] == pytest.approx(naive.unique(keys, range(len(rows))))


def test_persons_are_counted_by_who_is_alone() -> None:
    frame = pl.DataFrame({"who": [1, 1, 2, 2, 3], "home": ["flat", "flat", "flat", "villa", "house"]})
    data = tv.Dataset.from_frame(frame, person="who", categories={"home": "nominal"})
    card = tv.evaluate(data, data)
    assert card["KU1"] == pytest.approx(naive.unique([[home] for home in frame["home"]], frame["who"].to_list()))
    assert card["KU1"] == pytest.approx(200 / 3)
    assert card.persons == 3


def test_a_label_that_nobody_has_changes_no_table() -> None:
    """A mean over the cells of a table would: it falls with each cell that is empty in both files."""
    before, after = np.array([[0, 1], [6, 4]]), np.array([[0, 1], [4, 6]])
    few, many = (Categories("nominal", tuple("abcdefgh"[:count])) for count in (2, 8))
    assert difference_of_columns(before, after, few) == difference_of_columns(before, after, many) == 20
    assert [abs(np.array([6, 4, *[0] * more]) - [4, 6, *[0] * more]).mean() / 10 for more in (0, 6)] == [0.2, 0.05]


def test_ten_thousand_labels_and_nodes_above_them() -> None:
    draw = np.random.default_rng(1)
    tree = {f"town {at}": [f"region {at % 100}", "*"] for at in range(10_000)}
    frame = pl.DataFrame(
        {"town": [f"town {at}" for at in draw.integers(0, 10_000, 3000)], "home": ["flat", "house"] * 1500}
    )
    data = tv.Dataset.from_frame(
        frame, blocks={"keys": ["town", "home"]}, categories={"town": {"hierarchy": tree}, "home": "nominal"}
    )
    release = tv.MDAV(k=3, representative="generalise").protect(data, seed=1)
    card = release.evaluate()
    nodes = [
        release.data.labels[name].texts(release.data.values[:, at]).to_list() for at, name in enumerate(data.columns)
    ]
    assert not set(nodes[0]) <= set(tree)
    kinds = [("hierarchy", tree), ("nominal", ["flat", "house"])]
    pairs = [list(zip(frame[name].to_list(), own, strict=True)) for name, own in zip(data.columns, nodes, strict=True)]
    heights = {"*": 1.0, **{f"region {at}": 0.5 for at in range(100)}}
    far = [
        heights[node] if node in heights else float(tree[node][0] != tree[label][0]) if node != label else 0.0
        for label, node in pairs[0]
    ]
    moved = [naive.distance(kinds[1], label, node) for label, node in pairs[1]]
    assert card["LL1"] == pytest.approx(100 * (np.mean(far) + np.mean(moved)) / 2)
    assert card["LU"] == pytest.approx(100 * np.mean([a == b for own in pairs for a, b in own]))


def test_codes_of_a_file_that_was_read_by_itself() -> None:
    data = tv.example("households")
    release = tv.MDAV(k=5, representative="generalise").protect(data, seed=3)
    shown = pl.DataFrame(
        {name: own.texts(release.data.values[:, data.columns.index(name)]) for name, own in data.labels.items()}
    )
    again = tv.Dataset.from_frame(
        shown, blocks={"home": list(data.labels)}, categories=dict.fromkeys(data.labels, "nominal")
    )
    keys = tv.Dataset.from_frame(
        pl.DataFrame({name: own.texts(data.values[:, data.columns.index(name)]) for name, own in data.labels.items()}),
        blocks={"home": list(data.labels)}, categories=dict(data.labels),
    )  # fmt: skip
    alike = keys.with_values(release.data.values[:, [data.columns.index(name) for name in data.labels]])
    assert tv.evaluate(keys, again).to_dict() == tv.evaluate(keys, alike).to_dict()
    strange = again.with_values(np.zeros_like(again.values))
    assert tv.evaluate(keys, strange)["LL1"] > 0
    wrong = tv.Dataset.from_frame(shown.with_columns(tariff=pl.lit("none of them")), blocks={"home": list(data.labels)}, categories=dict.fromkeys(data.labels, "nominal"))  # fmt: skip
    with pytest.raises(
        InputError, match="'tariff' of the release has labels that the original cannot have: 'none of them'"
    ):
        tv.evaluate(keys, wrong)
    with pytest.raises(InputError, match="holds labels in one file and numbers in the other"):
        tv.evaluate(
            keys, tv.Dataset.from_arrays({"x": np.zeros((keys.n, 3))}).take(range(keys.n)) if False else _numbers(keys)
        )
    with pytest.raises(ParameterError, match="there is no measure 'attribute-loss' for categories"):
        tv.evaluate(keys, alike, measures={"attribute-loss": {}})


def _numbers(data: tv.Dataset) -> tv.Dataset:
    """The same columns as numbers."""
    frame = pl.DataFrame(dict(zip(data.columns, data.values.T, strict=True)))
    return tv.Dataset.from_frame(frame, blocks={"home": list(data.columns)})


def test_beside_gaps_labels_are_named_as_not_measured() -> None:
    frame = pl.DataFrame(
        {"home": ["flat", "house", None, "flat"], "a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, None, 3.0, 1.0]}
    )
    given: dict[str, Any] = {"categories": {"home": "nominal"}, "missing": "mask"}
    alone = tv.Dataset.from_frame(frame.select("home"), blocks={"keys": ["home"]}, **given)
    card = tv.evaluate(alone, alone)
    assert (card.to_dict(), dict(card.options)) == ({}, {"not measured": "keys"})
    both = tv.Dataset.from_frame(frame, blocks={"keys": ["home"], "x": ["a", "b"]}, **given)
    card = tv.evaluate(both, both)
    assert card.options["not measured"].startswith("keys")
    assert not {"LL1", "LDLD"} & set(card)
    kept = tv.Dataset.from_frame(frame, blocks={"keys": ["home"], "x": ["a", "b"]}, **(given | {"missing": "keep"}))
    with pytest.raises(InputError, match="missing values in"):
        tv.evaluate(kept, kept)


def test_numbers_beside_labels_are_measured_as_without_them() -> None:
    data = tv.example("households")
    release = tv.MDAV(k=5).protect(data, seed=1)
    card = tv.evaluate(data, release.data, models="fitting")
    curves = [
        tv.Dataset.from_arrays({"load": one.block("load")}, times=list(one.block_named("load").labels))
        for one in (data, release.data)
    ]
    alone = tv.evaluate(*curves, models="fitting")
    assert {name: card[name] for name in alone} == alone.to_dict()
    assert set(card) - set(alone) == {"LL1", "LL2", "LL3", "LL4", "LU", "LDLD", "FKLD", "LPLD", "LCPLD", "KU1", "KU2"}
    assert LabelLoss.loss == "LL1"
    assert card.loss == alone.loss


def test_series_of_one_and_two_points() -> None:
    draw = np.random.default_rng(2)
    for points in (1, 2):
        before, after = ([list(row) for row in draw.choice(["on", "off"], (9, points))] for _ in range(2))
        frame = pl.DataFrame({f"t{at}": [row[at] for row in before] for at in range(points)})
        kind = ("nominal", ["off", "on"])
        data = tv.Dataset.from_frame(
            frame, blocks={"state": frame.columns}, categories={"state": {"kind": "nominal", "order": kind[1]}}, times={"state": list(range(points))}
        )  # fmt: skip
        codes = np.array([[kind[1].index(state) for state in row] for row in after], dtype=float)
        card = tv.evaluate(data, data.with_values(codes))
        for figure, value in naive.state_loss(kind, before, after).items():
            assert card[figure] == pytest.approx(value), (points, figure)
        assert card["SL2"] == 0 or points == 2
