"""What must be true of MDAV for any data, k and distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import tsveil as tv
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 30, min_points: int = 1) -> Array:
    """Random and nasty tables: ties, constants, duplicates, one column, offsets, tiny and huge values."""
    n = draw(st.integers(2, max_rows))
    d = draw(st.integers(min_points, 6))
    kind = draw(st.sampled_from(["normal", "ties", "constant", "duplicates", "offset", "tiny", "huge"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "ties":
        return rng.integers(0, 3, (n, d)).astype(np.float64)
    if kind == "constant":
        return np.full((n, d), 0.1)
    if kind == "duplicates":
        return rng.normal(size=(2, d))[rng.integers(0, 2, n)]
    return rng.normal(size=(n, d)) * {"tiny": 1e-150, "huge": 1e140}.get(kind, 1.0) + (1e9 if kind == "offset" else 0.0)


@given(tables(min_points=2), st.integers(2, 12), st.sampled_from(["euclidean", "sts"]))
def test_groups_are_those_of_the_definition_and_have_k_members(x: Array, k: int, distance: Any) -> None:
    k = min(k, len(x))
    release = tv.MDAV(k=k, distance=distance, refine="none").protect(tv.Dataset.from_arrays({"x": x}))
    groups = release.groups["x"]
    assert np.array_equal(groups, naive.mdav(np.diff(x, axis=1) if distance == "sts" else x, k, "standard"))
    sizes = np.bincount(groups)
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, k)
    assert release.verify().holds


@given(tables(), st.integers(2, 12), st.sampled_from(["mean", "median"]))
def test_members_are_bit_identical_and_means_are_kept(x: Array, k: int, representative: Any) -> None:
    k = min(k, len(x))
    release = tv.MDAV(k=k, representative=representative).protect(tv.Dataset.from_arrays({"x": x}))
    out, groups = release.data.block("x"), release.groups["x"]
    for g in set(groups.tolist()):
        members = np.ascontiguousarray(out[groups == g])
        assert len({row.tobytes() for row in members}) == 1
        if representative == "median":
            assert np.allclose(members[0], np.median(x[groups == g], axis=0))
    if representative == "mean":
        assert np.all(np.abs(out.mean(0) - x.mean(0)) <= 1e-9 * np.abs(x).max(0))


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from(["euclidean", "sts"]))
def test_the_order_of_rows_changes_no_score(seed: int, k: int, distance: Any) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(5, 1, (24, 8)).cumsum(1)  # continuous draws: no two distances tie
    data = tv.Dataset.from_arrays({"x": x})
    order = rng.permutation(len(x))
    method = tv.MDAV(k=k, distance=distance, refine="none")
    one = tv.evaluate(data, method.protect(data))
    two = tv.evaluate(data.take(order), method.protect(data.take(order)))
    for name in one:
        assert one[name] == pytest.approx(two[name], abs=1e-9), name


@given(st.integers(0, 10**6))
def test_uneven_times_are_used_by_sts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, times = rng.normal(size=(20, 6)), np.cumsum(rng.integers(1, 9, 6)).astype(float)
    release = tv.MDAV(k=3, distance="sts", refine="none").protect(tv.Dataset.from_arrays({"x": x}, times=times))
    assert np.array_equal(release.groups["x"], naive.mdav(np.diff(x, axis=1) / np.diff(times), 3, "standard"))


def test_joint_grouping_protects_whole_records() -> None:
    rng = np.random.default_rng(1)
    data = tv.Dataset.from_arrays({"power": 100 * rng.normal(size=(50, 5)), "gas": rng.normal(size=(50, 7))})
    joint = tv.MDAV(k=4).protect(data)
    assert np.array_equal(joint.groups["power"], joint.groups["gas"])
    assert tv.KAnonymity(4, scope="record").verify(joint.data).holds
    apart = tv.MDAV(k=4, grouping="per-block").protect(data)
    assert apart.verify().holds
    assert not tv.KAnonymity(4, scope="record").verify(apart.data).holds


def test_k_above_the_number_of_records_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"The 'k' parameter of MDAV must be at most the number of records \(3\). Got 9."
    ):
        tv.MDAV(k=9).protect(tv.Dataset.from_arrays({"x": np.ones((3, 2))}))


def test_values_whose_squares_overflow_are_refused() -> None:
    with pytest.raises(InputError, match="rescale"):
        tv.MDAV(k=2).protect(tv.Dataset.from_arrays({"x": [[1e300, 1.0], [1.0, 2.0]]}))


def test_sts_needs_a_series() -> None:
    with pytest.raises(InputError, match="distance='sts'"):
        tv.MDAV(k=2, distance="sts").protect(tv.Dataset.from_arrays({"x": [[1.0], [2.0]]}))
