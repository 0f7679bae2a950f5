"""Attribute disclosure: groups that share their secret."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.attack.attribute import attribute
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
