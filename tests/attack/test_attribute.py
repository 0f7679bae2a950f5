"""Attribute disclosure: groups that share their secret."""

from __future__ import annotations

import importlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import tsveil as tv
from tsveil.attack.attribute import SHARE, AttributeDisclosure, attribute, disclosure
from tsveil.core.errors import InputError, ParameterError
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Folder, Memory, Store
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine


def released(groups: list[int], **confidential: list[object]) -> tv.Dataset:
    values = np.array(groups, dtype=float)[:, None]
    return tv.Dataset.from_arrays({"x": values}, confidential=pl.DataFrame(confidential))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=25), st.floats(0, 1))
def test_groups_are_those_of_the_definition(records: list[tuple[int, int]], share: float) -> None:
    groups, secret = [g for g, _ in records], [s for _, s in records]
    data = released(groups, secret=list(secret))
    found = attribute(data, share=share)
    width = share * np.std(secret, ddof=1)
    expected = []
    for g in groups:
        members = [s for other, s in records if other == g]
        expected.append(len(members) >= 2 and (len(set(members)) == 1 or max(members) - min(members) <= width))
    assert found.disclosed["secret"].tolist() == expected
    assert found.counts == {"secret": sum(expected)}
    assert sum(found.groups["records"].to_list()) == sum(expected)


def test_texts_gaps_and_lonely_records() -> None:
    data = released(
        [1, 1, 2, 2, 3, 3, 4], word=["a", "a", "a", None, None, None, "z"], number=[1.0, 1.0, 2.0, None, 3, 9, 5]
    )
    found = attribute(data, share=0.0)
    assert found.disclosed["word"].tolist() == [True, True, False, False, True, True, False]
    assert found.disclosed["number"].tolist() == [True, True, False, False, False, False, False]
    assert attribute(data, columns=["word"], smallest=1).counts == {"word": 5}
    assert found.groups.filter(pl.col("column") == "word")["rows"].to_list() == [[0, 1], [4, 5]]


def test_minus_zero_is_zero() -> None:
    values = tv.Dataset.from_arrays({"x": [[0.0], [-0.0]]}, confidential={"s": ["a", "a"]})
    assert attribute(values).counts == {"s": 2}


def test_nothing_confidential() -> None:
    data = tv.Dataset.from_arrays({"x": [[1.0], [1.0]]})
    assert repr(attribute(data)) == "AttributeDisclosure: no confidential columns"


def test_bad_requests() -> None:
    data = released([1, 1], s=["a", "b"])
    with pytest.raises(InputError, match=r"no confidential column 't'\n  columns available: 's'"):
        attribute(data, columns=["t"])
    with pytest.raises(ParameterError, match="'share' parameter"):
        attribute(data, share=-1)
    with pytest.raises(ParameterError, match="'smallest' parameter"):
        attribute(data, smallest=0)


def test_the_list_names_the_records() -> None:
    data = released([1, 1, 2, 2], word=["a", "a", "a", "b"], number=[5.0, 90.0, 40.0, 40.1])
    found = attribute(data, share=0.1).rows_for_owner(pl.Series(["anna", "bert", "cora", "dirk"]))
    assert found.rows() == [
        ("anna", "word", 2, "a", "a", True),
        ("bert", "word", 2, "a", "a", True),
        ("cora", "number", 2, "40.0", "40.1", False),
        ("dirk", "number", 2, "40.0", "40.1", False),
    ]
    none = attribute(released([1, 1], word=["a", "b"])).rows_for_owner(pl.Series(["anna", "bert"]))
    assert none.columns == found.columns
    assert len(none) == 0


def test_envelopes_and_patterns_make_groups() -> None:
    table = IntervalTable(
        ("1", "2"), np.zeros((4, 2)), np.ones((4, 2)), words=("ab", "ab", "ba", "ba"), levels=np.array([2, 2, 2, 2]),
        others=pl.DataFrame({"tariff": ["day", "night", "day", "day"], "bill": [1.0, 1.01, 50.0, 90.0]}),
    )  # fmt: skip
    found = attribute(table)
    assert found.disclosed["tariff"].tolist() == [False, False, True, True]
    assert found.disclosed["bill"].tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    "method",
    [
        tv.MDAV(k=3),
        tv.VMDAV(k=3),
        tv.SensitiveMDAV(k=3, p=2, columns="tariff"),
        tv.OptimalUnivariate(k=3),
        tv.Projected(k=3),
        tv.Mic1D(kappa=20),
        tv.RankSwap(p=10),
        tv.RankSwapDistribution(p=10),
        tv.RankSwapBuckets(buckets=4),
        tv.Noise(),
        tv.KP(k=6, P=2),
        tv.KAnonymousEnvelopes(k=6),
        tv.NLK(n=1, l=3, k=3),
    ],
    ids=lambda method: method.name,
)
def test_every_release_lists_what_it_gives_away(method: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 6)).cumsum(axis=1).round(2)
    secret = pl.DataFrame({"tariff": rng.choice(["day", "night"], 40, p=[0.8, 0.2]), "bill": rng.normal(50, 20, 40)})
    data = tv.Dataset.from_arrays({"load": x}, ids=[f"house {i}" for i in range(40)], confidential=secret)
    folder = method.protect(data, seed=1).write(tmp_path / "out")
    told = json.loads((folder / "private" / "release.json").read_text())["attribute_disclosure"]
    rows = pl.read_csv(folder / "private" / "attribute_disclosure.csv")
    # Counted again from the published file alone: whatever protected columns there are, equal rows are a group.
    published = pl.read_csv(folder / "published" / "data.csv").drop("id", strict=False)
    groups = [name for name in published.columns if name not in secret.columns]
    sizes = published.with_columns(size=pl.len().over(groups), kinds=pl.col("tariff").n_unique().over(groups)).filter(
        (pl.col("size") >= 2) & (pl.col("kinds") == 1)
    )
    assert told["tariff"] == len(sizes) == (rows["column"] == "tariff").sum()
    assert told["bill"] == (rows["column"] == "bill").sum()
    assert "attribute_disclosure.csv" not in [path.name for path in (folder / "published").iterdir()]


@pytest.mark.parametrize("strange", [float("nan"), None, float("inf")])
def test_a_gap_or_an_infinite_value_makes_no_group_near(strange: float | None) -> None:
    """Polars takes NaN for the largest number, so that everything would be near a deviation of NaN."""
    released = tv.Dataset.from_arrays(
        {"age": [[30.0], [30.0], [50.0], [50.0], [70.0], [70.0]]},
        confidential={"income": [10.0, 90.0, 40.0, 41.0, strange, 40.0]},
    )
    assert (
        tv.attack.attribute(released, share=0.1).disclosed["income"].tolist() == [False] * 2 + [True] * 2 + [False] * 2
    )


# -- in pieces ----------------------------------------------------------------------------------------------------------


def odd_columns(n: int, seed: int = 3) -> pl.DataFrame:
    """Ties, gaps, NaN, infinities, both zeros, texts, and names that code might use for itself."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "len": rng.choice(["a", "b"], n, p=[0.9, 0.1]),
            "group": [["x", "y", None][at] for at in rng.choice(3, n, p=[0.8, 0.1, 0.1])],
            "class": np.round(np.arange(n) / 7) + 1e9,
            "value": rng.choice([0.0, -0.0, 1e-3], n, p=[0.5, 0.45, 0.05]),
            "row": rng.choice([np.nan, 1.0], n, p=[0.8, 0.2]),
            "records": pl.Series(rng.normal(size=n)).set(pl.Series(rng.random(n) < 0.2), None),
            "low": rng.choice([1.0, np.inf, 3.0], n, p=[0.9, 0.05, 0.05]),
            "small": pl.Series(rng.choice([-128, 127], n, p=[0.1, 0.9]), dtype=pl.Int8),
            "word": pl.Series(rng.choice(["p", "q"], n, p=[0.95, 0.05]), dtype=pl.Categorical),
            "nothing": pl.Series([None] * n, dtype=pl.Float64),
            "yes": rng.random(n) < 0.9,
            "huge": rng.choice([1e200, -1e200, 3.0], n),
            "flat": np.full(n, 0.1),
        }
    )


def in_pieces(
    carried: pl.DataFrame, of_row: Any, ends: list[int], store: Store, engine: Any, **options: Any
) -> AttributeDisclosure:
    for at, (start, stop) in enumerate(zip([0, *ends], [*ends, len(carried)], strict=True)):
        store.put_frame(f"confidential-{at}", carried[start:stop])
    return disclosure(store, engine, of_row, [0, *ends], carried.columns, **options)


@pytest.mark.parametrize("ends", [[1], [0, 100, 101, 250]])
@pytest.mark.parametrize("options", [{}, {"share": 0.0, "smallest": 1}, {"share": 0.7, "smallest": 4}])
def test_pieces_change_nothing(ends: list[int], options: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 300
    carried, groups = odd_columns(n), np.random.default_rng(1).integers(0, 70, n)
    data = tv.Dataset.from_arrays({"x": groups[:, None].astype(float)}, confidential=carried)
    whole = attribute(data, **options)
    assert sum(whole.counts.values()) > 0
    ids = pl.Series(range(n))
    for store, engine, classes in ((Memory(), Here(), 2**20), (Folder(tmp_path), LocalEngine(), 11)):
        monkeypatch.setattr(importlib.import_module("tsveil.attack.attribute"), "CLASSES", classes)
        found = in_pieces(carried, whole.of_row, ends, store, engine, **options)
        assert found.counts == whole.counts
        assert {name: mask.tolist() for name, mask in found.disclosed.items()} == {
            name: mask.tolist() for name, mask in whole.disclosed.items()
        }
        assert_frame_equal(found.groups, whole.groups, check_exact=True)
        bounds = [0, *ends, n]
        listed = [
            AttributeDisclosure.load(store, carried.columns).rows_for_owner(ids[start:stop], start)
            for start, stop in pairwise(bounds)
        ]
        assert_frame_equal(pl.concat(listed), whole.rows_for_owner(ids), check_exact=True)


def test_what_is_seen_is_what_the_definition_says() -> None:
    n = 300
    carried, groups = odd_columns(n), np.random.default_rng(1).integers(0, 70, n).tolist()
    found = attribute(tv.Dataset.from_arrays({"x": np.array(groups, dtype=float)[:, None]}, confidential=carried))
    for name in set(carried.columns) - {"huge"}:
        values = (
            carried[name].cast(pl.String if carried[name].dtype == pl.Categorical else carried[name].dtype).to_list()
        )
        numeric = carried[name].dtype.is_numeric()
        numbers = [v for v in values if numeric and v is not None and np.isfinite(v)]
        limit = SHARE * float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0
        for row, group in enumerate(groups):
            own = [v for v, other in zip(values, groups, strict=True) if other == group]
            constant = len({"nan" if v != v else v for v in own}) == 1
            near = numeric and all(v is not None and np.isfinite(v) for v in own) and max(own) - min(own) <= limit
            assert found.disclosed[name][row] == (len(own) >= 2 and (constant or near)), (name, row)


def test_the_deviation_does_not_depend_on_the_order() -> None:
    """Values near each other far from zero, where the order of a sum decides its last digits."""
    values = 1e8 + np.random.default_rng(0).normal(size=1001)
    data = [
        tv.Dataset.from_arrays({"x": np.zeros((1001, 1))}, confidential={"s": column.tolist()})
        for column in (values, values[::-1])
    ]
    assert attribute(data[0], share=6.5).counts == attribute(data[1], share=6.5).counts
    from tsveil.attack.attribute import _moments, deviation

    whole = deviation([_moments(pl.Series(values))])
    assert whole == deviation([_moments(pl.Series(values[:7])), _moments(pl.Series(values[:6:-1]))])
    assert whole == pytest.approx(np.std(values - 1e8, ddof=1), rel=1e-12)


def test_withheld_cells_disclose_nothing() -> None:
    frame = pl.DataFrame({"illness": [None, None, "flu", "flu", "flu", None]})
    store, of_row = Memory(), np.array([0, 0, 1, 1, 2, 2])
    store.put_frame("confidential-0", frame)
    found = {
        withheld: disclosure(store, Here(), of_row, [0], ["illness"], withheld=withheld).disclosed["illness"].tolist()
        for withheld in (False, True)
    }
    assert found[False] == [True, True, True, True, False, False]
    assert found[True] == [False, False, True, True, False, False]
