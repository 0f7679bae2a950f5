"""Attribute disclosure: groups that share their secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.attack.attribute import attribute
from tsveil.data.intervals import IntervalTable
from tsveil.errors import InputError, ParameterError


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
    found = attribute(data, share=0.1).listed(pl.Series(["anna", "bert", "cora", "dirk"]))
    assert found.rows() == [
        ("anna", "word", 2, "a", "a", True),
        ("bert", "word", 2, "a", "a", True),
        ("cora", "number", 2, "40.0", "40.1", False),
        ("dirk", "number", 2, "40.0", "40.1", False),
    ]
    none = attribute(released([1, 1], word=["a", "b"])).listed(pl.Series(["anna", "bert"]))
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
