"""p-sensitive k-anonymity: the verifier counts records and values of every published row, whatever the columns are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.k_anonymity import KAnonymity, Scope
from tsveil.guarantee.p_sensitive import PSensitive


def table(rows: list[float], **confidential: list[Any]) -> tv.Dataset:
    return tv.Dataset.from_arrays({"x": np.array(rows)[:, None]}, confidential=confidential)


@given(
    st.lists(st.tuples(st.sampled_from([1.0, 2.0]), st.sampled_from("ab"), st.sampled_from("abc")), min_size=1),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_it_is_the_definition(rows: list[tuple[float, str, str]], k: int, p: int) -> None:
    data = table([x for x, _, _ in rows], a=[a for _, a, _ in rows], b=[b for _, _, b in rows])
    groups = [[row for row in rows if row[0] == x] for x in {x for x, _, _ in rows}]
    holds = all(len(g) >= k and all(len({row[at] for row in g}) >= p for at in (1, 2)) for g in groups)
    assert PSensitive(k, p, ("a", "b")).verify(data).holds == holds


def test_the_witness_is_the_first_row_with_too_few_values() -> None:
    data = table(
        [7.0, 5.0, 5.0, 6.0, 7.0, 6.0, 6.0], ill=["no", "no", "yes", "no", "yes", "no", "no"], sex=list("mfmfmff")
    )
    verdict = PSensitive(2, 2, ("ill",)).verify(data)
    assert verdict.status is Status.VIOLATED
    assert verdict.guarantee == (
        "2-anonymity: in each block, every published row of values is shared by at least 2 records, and these hold at least 2 "
        "different values of 'ill'."
    )
    assert verdict.witness == "block 'x': the 3 records that share the values of row 4 have 1 of 2 values of 'ill'"
    # Of several groups the one that comes first in the table is told, of several columns the first that is named.
    several = PSensitive(2, 3, ("sex", "ill")).verify(data)
    assert several.witness == "block 'x': the 2 records that share the values of row 1 have 1 of 3 values of 'sex'"
    assert PSensitive(2, 1, ("ill", "sex")).verify(data) == Verdict(
        Status.HOLDS, PSensitive(2, 1, ("ill", "sex")).words, details=("the smallest group has 2 records",)
    )


def test_too_few_records_are_told_before_values() -> None:
    data = table([5.0, 5.0, 6.0], ill=["no", "no", "no"])
    assert PSensitive(2, 2, ("ill",)).verify(data).witness == KAnonymity(2).verify(data).witness
    assert PSensitive(2, 2, ("ill",)).verify(data).status is Status.VIOLATED


@pytest.mark.parametrize("name", ["len", "count", "row", "at", "value"])
def test_a_confidential_column_may_have_any_name(name: str) -> None:
    data = table([5.0, 5.0, 6.0, 6.0], **{name: ["a", "b", "a", "a"]})
    assert PSensitive(2, 1, (name,)).verify(data).holds
    assert PSensitive(2, 2, (name,)).verify(data).witness == (
        f"block 'x': the 2 records that share the values of row 3 have 1 of 2 values of {name!r}"
    )


@pytest.mark.parametrize(("scope", "holds"), [("block", True), ("record", False), ("column", True)])
def test_the_scope_says_what_makes_a_row(scope: Scope, holds: bool) -> None:
    # Each block by itself has groups of two with two values; the two together give every record a row of its own.
    data = tv.Dataset.from_arrays(
        {"a": np.array([[1.0], [1.0], [2.0], [2.0]]), "b": np.array([[1.0], [2.0], [2.0], [1.0]])},
        confidential={"ill": ["no", "yes", "no", "yes"]},
    )
    assert PSensitive(2, 2, ("ill",), scope=scope).verify(data).holds is holds
    assert PSensitive(1, 2, ("ill",), scope=scope).verify(data).holds is holds


def test_every_block_is_looked_at() -> None:
    data = tv.Dataset.from_arrays(
        {"a": np.ones((4, 1)), "b": np.array([[1.0], [1.0], [2.0], [2.0]])},
        confidential={"ill": ["no", "yes", "yes", "yes"]},
    )
    assert PSensitive(2, 2, ("ill",)).verify(data).witness == (
        "block 'b': the 2 records that share the values of row 3 have 1 of 2 values of 'ill'"
    )


def test_minus_zero_is_another_row_than_zero() -> None:
    data = table([0.0, -0.0, 0.0, -0.0], ill=["no", "yes", "no", "yes"])
    assert not PSensitive(2, 2, ("ill",)).verify(data).holds


def test_the_promise_in_words() -> None:
    promise = PSensitive(5, 3, ("ill", "income"), scope="record", blocks=2)
    assert promise.short == "3-sensitive 5-anonymity per record"
    assert promise.words == (
        "5-anonymity: every published record, with all its series and attributes, is shared by at least 5 records, and these hold "
        "at least 3 different values of 'ill', 'income'."
    )
    assert promise.limits == (
        f"{KAnonymity(5, 'record', 2).limits} The 3 values may be unevenly spread or close to each other."
    )
    assert "each block by itself" in PSensitive(5, 3, ("ill",), blocks=2).limits
    assert "each block by itself" not in PSensitive(5, 3, ("ill",)).limits


def test_empty_cells_are_one_value() -> None:
    """A class in which nobody has a value says of each of them that there is none."""
    nobody = table([5.0, 5.0, 5.0], ill=[None, None, None])
    assert PSensitive(2, 1, ("ill",)).verify(nobody).holds
    assert PSensitive(2, 2, ("ill",)).verify(nobody).status is Status.VIOLATED
    some = table([5.0, 5.0, 5.0], ill=[None, "yes", None])
    assert PSensitive(2, 2, ("ill",)).verify(some).holds
    assert PSensitive(2, 3, ("ill",)).verify(some).status is Status.VIOLATED
