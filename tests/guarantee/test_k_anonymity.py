"""The verifier reads values alone and finds every group that is too small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.guarantee.base import NoGuarantee, Status
from tsveil.guarantee.k_anonymity import KAnonymity, shared_by


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
