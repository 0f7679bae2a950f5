"""Mixed records against the slow version: distances, scales, centres and groups, with ties, constants, unused labels and unbalanced trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_mixed as naive
import tsveil as tv
from cases import cases
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, Indices
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.protect.mixed import Mixed, join_nearest, mdav_groups, sensitive_groups, variable_groups
from tsveil.protect.partition import Unit
from tsveil.protect.survey import Scale, of_columns, of_squares, with_deviations, with_means
from tsveil.protect.work import survey_of
from tsveil.transform.mixed import Feature

WORDS = ["a", "b", "c", "1", "1.0"]
#: unbalanced, with a node that has one child, and labels that no record has; of height 4, so that shares of it are exact
TREE: dict[str, list[str]] = {
    "u": ["x", "p", "o", "*"], "v": ["x", "p", "o", "*"], "w": ["y", "p", "o", "*"], "short": ["*"], "s": ["q", "*"], "never": ["q", "*"],
}  # fmt: skip
KINDS: list[Any] = [
    "number",
    ("nominal", WORDS),
    ("ordinal", ["none", "low", "mid", "high", "top"]),
    ("hierarchy", TREE),
    ("nominal", ["one"]),
]
SEEN = {"nominal": WORDS[:4], "ordinal": ["low", "high", "top"], "hierarchy": ["u", "v", "w", "short", "s"]}


def spec(kind: Any) -> Any:
    """What a caller says of a column."""
    name, labels = kind
    return {"nominal": {"kind": "nominal", "order": labels}, "ordinal": labels, "hierarchy": {"hierarchy": labels}}[
        name
    ]


@st.composite
def tables(draw: st.DrawFn, most: int = 14) -> tuple[list[Any], list[list[Any]]]:
    """Kinds of columns and records; few different values, so that there are ties."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    n = draw(st.integers(2, most))
    number = st.integers(0, 3).map(float)
    cells = [
        number if kind == "number" else st.sampled_from(SEEN[kind[0]] if len(kind[1]) > 1 else kind[1])
        for kind in kinds
    ]
    return kinds, [[draw(cell) for cell in cells] for _ in range(n)]


def dataset(kinds: list[Any], rows: list[list[Any]]) -> tv.Dataset:
    """The records, each column a block."""
    names = [f"c{at}" for at in range(len(kinds))]
    frame = pl.DataFrame({name: [row[at] for row in rows] for at, name in enumerate(names)})
    categories = {name: spec(kind) for name, kind in zip(names, kinds, strict=True) if kind != "number"}
    blocks = {name: {"columns": [name], "kind": "attributes"} for name in names}
    return tv.Dataset.from_frame(frame, blocks=blocks, categories=categories)


def mixed_of(kinds: list[Any], rows: list[list[Any]], **options: Any) -> Mixed:
    """The records with what is known of the whole file, as MDAV sees them."""
    data = dataset(kinds, rows)
    method = tv.MDAV(k=2, **options)
    return method.mixed(data.values, Unit("all", "all", tuple(range(len(kinds)))), with_scales(method, data))


def with_scales(method: Any, data: tv.Dataset) -> Any:
    """The survey of some data with the scales that a method asks for."""
    survey = survey_of(data)
    scales: tuple[Scale, ...] = tuple((block.name, "component") for block in data.blocks if block.categories is None)
    if not scales:
        return survey
    survey = with_means(survey, scales, of_columns(scales, survey, data.values))
    return with_deviations(survey, scales, of_squares(scales, survey, data.values))


def with_even_roots(mixed: Mixed) -> Mixed:
    """The same with powers of two as scales: floats have no rounding then, and ties are ties in both versions."""
    features = [Feature(f.columns, 2.0 if f.root > 0 else 0.0, f.labels, 1.0, f.low) for f in mixed.features]
    return Mixed(mixed.values, features, mixed.uses)


def definition(kinds: list[Any], rows: list[list[Any]], mixed: Mixed) -> tuple[naive.Apart, naive.Middle]:
    """The squared distance in the order in which it is summed, coordinates first, and the centre."""
    used = [c for c, feature in enumerate(mixed.features) if feature.root > 0]
    ordered = sorted(used, key=lambda c: kinds[c] != "number" and kinds[c][0] != "ordinal")

    def apart(a: Any, b: Any) -> float:
        return sum((naive.distance(kinds[c], a[c], b[c]) / mixed.features[c].root) ** 2 for c in ordered)

    def middle(chosen: Any) -> list[Any]:
        return [
            naive.centre(kind, [rows[i][c] for i in chosen], [row[c] for row in rows]) for c, kind in enumerate(kinds)
        ]

    return apart, middle


@settings(max_examples=cases(40, 400))
@given(tables())
def test_scales_are_means_over_all_pairs(table: tuple[list[Any], list[list[Any]]]) -> None:
    kinds, rows = table
    for scale in ("auto", "gower"):
        for at, feature in enumerate(mixed_of(kinds, rows, scale=scale).features):
            expected = naive.mean_square(kinds, rows, [at], "gower" if scale == "gower" else "pairs")
            assert feature.root**2 == pytest.approx(expected, abs=1e-12)


@settings(max_examples=cases(40, 400))
@given(tables(), st.sampled_from([None, "c0=3", "c0=0"]))
def test_distances(table: tuple[list[Any], list[list[Any]]], weights: str | None) -> None:
    """Of the space, of its Euclidean coordinates, and of the compiled loop."""
    kinds, rows = table
    mixed = mixed_of(kinds, rows, weights=weights)
    weight = {0: float(weights[3:])} if weights else {}
    Z = mixed.embedding()
    assert Z is not None
    for i, one in enumerate(rows):
        expected = [
            sum(
                weight.get(c, 1.0) * naive.distance(kind, one[c], two[c]) ** 2 / mixed.features[c].root ** 2
                for c, kind in enumerate(kinds)
                if mixed.features[c].root > 0
            )
            for two in rows
        ]
        assert mixed.space.squared_distances(i) == pytest.approx(expected, abs=1e-12)
        assert mixed.from_record(i) == pytest.approx(expected, abs=1e-12)
        assert np.square(Z - Z[i]).sum(axis=1) == pytest.approx(expected, abs=1e-9)
    groups = np.arange(len(rows)) % 3
    pairs = [
        np.square(Z[groups == g][:, None] - Z[groups == g]).sum() / (2 * (groups == g).sum())
        for g in set(groups.tolist())
    ]
    assert mixed.space.spread_within(groups) == pytest.approx(sum(pairs), abs=1e-9)


@settings(max_examples=cases(40, 400))
@given(tables(), st.booleans())
def test_what_stands_for_a_group(table: tuple[list[Any], list[list[Any]]], generalise: bool) -> None:
    kinds, rows = table
    labels = [next(iter(dataset(kinds, rows).blocks[at].categories or ()), None) for at in range(len(kinds))]
    groups = np.arange(len(rows)) % 2
    shown = mixed_of(kinds, rows).representatives(groups, generalise=generalise)
    for group in set(groups.tolist()):
        for c, kind in enumerate(kinds):
            stands = naive.generalised if generalise else naive.centre
            own = [row[c] for i, row in enumerate(rows) if groups[i] == group]
            expected = stands(kind, own, [row[c] for row in rows])
            categories = labels[c]
            found = shown[group, c] if categories is None else categories.shown[int(shown[group, c])]
            assert found == (pytest.approx(expected) if kind == "number" else expected)


@settings(max_examples=cases(80, 800))
@given(tables(), st.integers(2, 4), st.integers(1, 3), st.sampled_from(["bounded", "told"]))
def test_groups_of_mdav(table: tuple[list[Any], list[list[Any]]], k: int, records: int, share: Any) -> None:
    kinds, rows = table
    mixed = with_even_roots(mixed_of(kinds, rows))
    persons = np.arange(len(rows)) // records
    if len(set(persons.tolist())) >= k:
        expected = naive.mdav(rows, persons, k, *definition(kinds, rows, mixed), share)
        groups = mdav_groups(mixed, persons, k, np.zeros(1, dtype=np.int64))
        assert join_nearest(mixed, persons, groups, share).tolist() == expected.tolist()


@settings(max_examples=cases(60, 600))
@given(tables(), st.integers(2, 3), st.sampled_from([0.2, 1.0, 2.5]))
def test_groups_of_v_mdav(table: tuple[list[Any], list[list[Any]]], k: int, gamma: float) -> None:
    kinds, rows = table
    mixed = with_even_roots(mixed_of(kinds, rows))
    if len(rows) >= k:
        found = variable_groups(mixed, k, gamma, np.zeros(1, dtype=np.int64))
        assert found.tolist() == naive.vmdav(rows, k, gamma, *definition(kinds, rows, mixed)).tolist()


@settings(max_examples=cases(60, 600))
@given(tables(), st.integers(2, 3), st.lists(st.integers(0, 2), min_size=14, max_size=14))
def test_p_sensitive_groups(table: tuple[list[Any], list[list[Any]]], k: int, secret: list[int]) -> None:
    kinds, rows = table
    mixed = with_even_roots(mixed_of(kinds, rows))

    def various(chosen: Any) -> bool:
        return len({secret[i] for i in chosen}) >= 2

    if len(rows) >= k and various(range(len(rows))):
        found = sensitive_groups(mixed, k, various, np.zeros(1, dtype=np.int64))
        assert found.tolist() == naive.sensitive(rows, k, various, *definition(kinds, rows, mixed)).tolist()


def households(n: int, seed: int = 0, labels: int = 4) -> tv.Dataset:
    """A curve, two keys and a number beside it, the labels in any numbers and order."""
    draw = np.random.default_rng(seed)
    curves: Array = draw.normal(size=(n, 6)).cumsum(axis=1)
    towns: Indices = draw.integers(labels, size=n)
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            **{f"2024-01-0{day}": curves[:, day - 1] for day in range(1, 7)},
            "town": [f"t{town}" for town in towns],
            "rooms": draw.integers(1, 5, size=n),
            "income": draw.lognormal(size=n),
        }
    )
    tree = {f"t{town}": [f"r{town % 3}", "*"] for town in range(labels)}
    blocks: dict[str, Any] = {"load": {"from": "2024-01-01", "to": "2024-01-06"}, "person": ["income"]}
    return tv.Dataset.from_frame(
        frame, id="id", blocks=blocks, categories={"town": {"hierarchy": tree}, "rooms": "ordinal"}
    )


@pytest.mark.parametrize("method", [tv.MDAV(k=4), tv.MDAV(k=4, refine="none", scale="gower", weights="load=2, town=0.5"), tv.MDAV(k=4, representative="generalise"), tv.VMDAV(k=4), tv.MDAV(k=4, mode="partitioned", part=100)], ids=str)  # fmt: skip
def test_releases_in_memory_and_in_chunks(method: Any) -> None:
    data = households(300)
    whole = method.protect(data, seed=1)
    chunked = method.protect(data, seed=1, chunk=70)
    assert np.array_equal(whole.data.values, chunked.data.values)
    assert whole.verify().holds
    again = KAnonymity(4, scope="record").verify(whole.data)
    assert again.holds, again
    classes = np.unique(whole.data.values, axis=0, return_counts=True)[1]
    assert classes.min() >= 4


def test_persons_are_counted() -> None:
    data = households(90)
    owned = tv.Dataset.from_frame(
        data.others.with_columns(town=pl.Series([f"t{i % 4}" for i in range(90)]), who=pl.Series(np.arange(90) // 2)).hstack(
            pl.DataFrame({"x": data.values[:, 0]})
        ),
        id="id", person="who", blocks={"x": ["x"]}, categories={"town": "nominal"},
    )  # fmt: skip
    release = tv.MDAV(k=3).protect(owned, seed=1)
    assert release.verify().holds
    groups = release.groups["x"]
    for group in set(groups[groups >= 0].tolist()):
        own = owned.persons[groups == group]
        assert len(set(own.tolist())) == len(own) >= 3


def test_refined_groups_are_tighter_and_ten_thousand_labels_do_no_harm() -> None:
    data = households(240, labels=10_000)
    assert len(data.labels["town"].labels) > 10_000
    release = tv.MDAV(k=3).protect(data, seed=1)
    assert release.verify().holds
    assert "SSE below plain MDAV" in release.facts["all blocks together"]


def test_other_methods_refuse_labels_by_name() -> None:
    data = households(20)
    for method in (tv.RankSwap(p=5), tv.Noise(), tv.OptimalUnivariate(k=3)):
        with pytest.raises(InputError, match=r"\('categories'\)\n  options: a method that protects labels"):
            method.protect(data)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scale": "none"}, "must be 'auto' or 'gower' where columns hold labels"),
        ({"variant": "paper"}, "must be 'standard' where columns hold labels"),
        ({"weights": "lod=2"}, "names 'lod', which is neither a block nor a column"),
    ],
)
def test_settings_that_do_not_go_with_labels(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        tv.MDAV(k=3, **settings).protect(households(20))
    with pytest.raises(ParameterError, match="where columns hold labels only"):
        tv.MDAV(k=2, representative="generalise").protect(tv.example("food-prices"))
    for wrong in ("load", "load=-1", "=2", "load=x"):
        with pytest.raises(ParameterError, match=r"a text such as 'load=2, dwelling=0\.5'"):
            tv.MDAV(weights=wrong)
