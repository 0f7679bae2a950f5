"""The verifier reads values alone and finds every group that is too small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.counting import shared_by
from tsveil.guarantee.k_anonymity import KAnonymity, Scope
from tsveil.guarantee.none import NoGuarantee


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, -1.0, 1e-300]), min_size=2, max_size=2), min_size=1, max_size=30))
def test_counts_are_those_of_comparing_all_pairs(rows: list[list[float]]) -> None:
    assert shared_by(np.array(rows)).tolist() == [sum(a == b for b in rows) for a in rows]


def test_minus_zero_is_another_text_than_zero() -> None:
    assert shared_by(np.array([[0.0], [-0.0]])).tolist() == [1, 1]


@pytest.mark.parametrize("scope", ["block", "record", "column"])
def test_it_refuses_each_tampered_table(scope: str) -> None:
    values = np.repeat(np.arange(12.0).reshape(4, 3), 3, axis=0)
    good = tv.Dataset.from_arrays({"a": values, "b": values})
    promise = KAnonymity(3, scope=scope)  # type: ignore[arg-type]
    assert promise.verify(good).holds
    for row in range(12):
        for column in range(6):
            broken = good.values.copy()
            broken[row, column] = np.nextafter(broken[row, column], np.inf)
            verdict = promise.verify(good.with_values(broken))
            assert verdict.status is Status.VIOLATED
            assert f"{row + 1}" in verdict.witness


def test_the_witness_names_the_block_and_the_rows() -> None:
    verdict = KAnonymity(2).verify(tv.Dataset.from_arrays({"load": [[1.0], [1.0], [2.0]]}))
    assert (
        verdict.witness
        == "block 'load': 1 record shares its values with fewer than 2 records; the smallest group has 1 (row 3)"
    )


def test_nothing_claimed_is_not_a_pass() -> None:
    verdict = NoGuarantee().verify(tv.example("food-prices"))
    assert verdict.status is Status.NONE_CLAIMED
    assert not verdict.holds
    assert not verdict.blocks_release


def test_one_record_less_than_k_is_too_few() -> None:
    data = tv.Dataset.from_arrays({"x": [[1.0]] * 3 + [[2.0]] * 4})
    assert KAnonymity(3).verify(data) == Verdict(
        Status.HOLDS, KAnonymity(3).words, details=("the smallest group has 3 records",)
    )
    assert KAnonymity(4).verify(data).witness == (
        "block 'x': 3 records share their values with fewer than 4 records; the smallest group has 3 (rows 1, 2, 3)"
    )
    everybody = tv.Dataset.from_arrays({"x": [[1.0]] * 3})
    assert KAnonymity(3).verify(everybody).details == ("the smallest group has 3 records",)
    assert KAnonymity(1).verify(tv.Dataset.from_arrays({"x": [[1.0], [2.0]]})).holds


def test_the_smallest_group_of_all_blocks_is_told() -> None:
    # Three records that are too few, of which one is alone: it is the witness, and the first five of its kind are named.
    small = tv.Dataset.from_arrays({"x": [[1.0], [2.0], [1.0], [3.0], [3.0], [3.0]]})
    assert KAnonymity(3).verify(small).witness == (
        "block 'x': 3 records share their values with fewer than 3 records; the smallest group has 1 (row 2)"
    )
    alone = tv.Dataset.from_arrays({"x": [[float(row)] for row in range(7)]})
    assert KAnonymity(2).verify(alone).witness.endswith("the smallest group has 1 (rows 1, 2, 3, 4, 5 and 2 more)")
    two = tv.Dataset.from_arrays({"a": [[1.0]] * 4, "b": [[1.0], [1.0], [2.0], [2.0]]})
    assert KAnonymity(2).verify(two).details == ("the smallest group has 2 records",)
    assert KAnonymity(2, scope="column").verify(two).details == ("the smallest group has 2 records",)


def test_the_first_five_tables_are_told() -> None:
    values = np.array([[0.0, 0, 0, 0, 0, 0, 0], [1.0, 1, 1, 0, 1, 1, 1]])
    data = tv.Dataset.from_arrays({"x": values})
    told = KAnonymity(2, scope="column").verify(data).witness.split("\n  ")
    assert [line.split(":")[0] for line in told] == [f"column '{at}'" for at in (0, 1, 2, 4, 5)]


def test_the_promise_in_words() -> None:
    assert KAnonymity(4).words == (
        "4-anonymity: in each block, every published row of values is shared by at least 4 records."
    )
    assert "in each column by itself, every published value is shared" in KAnonymity(4, scope="column").words
    assert "every published record, with all its series and attributes, is" in KAnonymity(4, scope="record").words
    assert KAnonymity(4, scope="column").short == "4-anonymity per column"


@pytest.mark.parametrize(
    ("scope", "blocks", "alone"),
    [
        ("block", 1, False),
        ("block", 2, True),
        ("record", 1, False),
        ("record", 2, False),
        ("column", 1, True),
        ("column", 2, True),
    ],
)
def test_what_several_blocks_give_together_is_not_promised(scope: Scope, blocks: int, alone: bool) -> None:
    limits = KAnonymity(4, scope, blocks).limits
    assert (f"holds for each {scope} by itself" in limits) is alone
    assert ("bounds linking by the published values at 1 in 4" in limits) is not alone


def test_one_block_is_meant_unless_said_otherwise() -> None:
    assert KAnonymity(4) == KAnonymity(4, "block", 1)


@given(
    st.lists(st.tuples(st.sampled_from([1.0, 2.0]), st.sampled_from("abcd")), min_size=1, max_size=16),
    st.integers(1, 4),
)
def test_persons_are_counted_and_not_their_records(rows: list[tuple[float, str]], k: int) -> None:
    data = tv.Dataset.from_arrays({"x": np.array([[x] for x, _ in rows])}, persons=[who for _, who in rows])
    classes = [[who for x, who in rows if x == value] for value in {x for x, _ in rows}]
    enough = all(len(set(owners)) >= k for owners in classes)
    # Nobody has more than 1/k of the records of a class: in whole numbers, k times as many would be more than all.
    shared = all(k * max(map(owners.count, owners)) <= len(owners) for owners in classes)
    assert KAnonymity(k).verify(data).holds == all(len(owners) >= k for owners in classes)
    assert KAnonymity(k, counts="persons").verify(data).holds == enough
    assert KAnonymity(k, counts="share").verify(data).holds == (enough and shared)
