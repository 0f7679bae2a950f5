"""What must be true of optimal univariate microaggregation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_micro
import tsveil as tv
from naive_parts import parts_of
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array
from tsveil.protect import univariate
from tsveil.protect.mdav import MDAV
from tsveil.protect.univariate import OptimalUnivariate, least_sse_groups

KINDS = ["normal", "ties", "constant", "offset", "huge", "tiny", "skewed", "outliers"]


@st.composite
def columns(draw: st.DrawFn, max_size: int) -> Array:
    """Random and nasty columns; more than one scale in the last two kinds."""
    n = draw(st.integers(2, max_size))
    kind = draw(st.sampled_from(KINDS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "ties":
        return rng.integers(0, 4, n).astype(np.float64)
    if kind == "constant":
        return np.full(n, 0.1)
    if kind == "skewed":
        return np.exp(rng.normal(0, 10, n))
    x = rng.normal(size=n)
    if kind == "outliers":
        x[:2] = [-1e12, 1e9]
        return rng.permutation(x)
    return x * {"huge": 1e299, "tiny": 1e-300}.get(kind, 1.0) + (1e9 if kind == "offset" else 0.0)


def one_column(x: Array) -> tv.Dataset:
    return tv.Dataset.from_arrays({"x": x[:, None]})


@given(columns(max_size=12), st.integers(2, 4))
def test_it_is_the_best_of_all_cuts(x: Array, k: int) -> None:
    k = min(k, len(x))
    best = naive_micro.least_sse(np.sort(x)[:, None], k)
    found = naive_micro.exact_sse(x[:, None], naive_micro.as_groups(least_sse_groups(x, k)))
    assert best <= found <= best * (1 + Fraction(1, 10**12))


@given(columns(max_size=8), st.integers(2, 3))
def test_no_other_partition_is_better(x: Array, k: int) -> None:
    k = min(k, len(x))
    best = min(naive_micro.exact_sse(x[:, None], groups) for groups in naive_micro.all_partitions(len(x), k))
    found = naive_micro.exact_sse(x[:, None], naive_micro.as_groups(least_sse_groups(x, k)))
    assert found <= best * (1 + Fraction(1, 10**12))


@given(columns(max_size=200), st.integers(2, 20))
def test_groups_have_k_members_and_means_are_kept(x: Array, k: int) -> None:
    k = min(k, len(x))
    release = OptimalUnivariate(k=k).protect(one_column(x))
    groups = release.groups["x"]
    assert groups.shape == (len(x),)
    sizes = np.bincount(groups)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert release.verify().holds
    assert release.guarantee == tv.KAnonymity(k, scope="column")
    for g in range(len(sizes)):
        members = groups == g
        assert len(set(release.data.values[members, 0].tolist())) == 1
        x0 = x[members][0]
        assert release.data.values[members, 0][0] == pytest.approx(x0 + np.mean(x[members] - x0), rel=1e-12)
    # groups are numbered by rising values
    assert np.all(np.diff(groups[np.argsort(x, kind="stable")]) >= 0)


@given(st.integers(0, 10**6), st.integers(2, 15), st.sampled_from(["normal", "ties", "skewed"]))
def test_it_never_loses_more_than_mdav(seed: int, k: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k, 150))
    x = {"normal": rng.normal(size=n), "ties": rng.integers(0, 9, n) * 1.0, "skewed": np.exp(rng.normal(0, 4, n))}[kind]
    loss = [
        float(((x - m.protect(one_column(x)).data.values[:, 0]) ** 2).sum())
        for m in (OptimalUnivariate(k=k), MDAV(k=k))
    ]
    assert loss[0] <= loss[1] * (1 + 1e-9)


@pytest.mark.parametrize("offset", [1e6, -1e9, 1e12])
def test_a_large_offset_changes_nothing(offset: float) -> None:
    x = np.random.default_rng(1).integers(0, 2**20, 500) / 2**10  # so that adding the offset rounds nothing
    assert np.array_equal(x + offset - offset, x)
    assert np.array_equal(least_sse_groups(x + offset, 7), least_sse_groups(x, 7))
    plain = OptimalUnivariate(k=7).protect(one_column(x)).data.values
    moved = OptimalUnivariate(k=7).protect(one_column(x + offset)).data.values
    assert np.allclose(moved - offset, plain, rtol=0, atol=1e-15 * abs(offset))


@pytest.mark.parametrize("exponent", [-1000, -530, 530, 1000])
@pytest.mark.parametrize(
    "column", [[8, 9, 11, 11.5, 12], [8, 8.5, 9, 11, 12], [-12, -11, -9, -8.5, -8], [0, 1, 7, 8, 9]]
)
def test_a_power_of_two_changes_nothing(column: list[float], exponent: int) -> None:
    x = np.array(column, dtype=float)
    expected = [0, 0, 1, 1, 1] if abs(x[1] - x[2]) > abs(x[2] - x[3]) else [0, 0, 0, 1, 1]
    assert least_sse_groups(x, 2).tolist() == expected
    assert least_sse_groups(np.ldexp(x, exponent), 2).tolist() == expected


@pytest.mark.parametrize("far", [-1e12, -1e20, 1e20])
def test_an_outlier_does_not_spoil_the_other_groups(far: float) -> None:
    x = np.sort(np.random.default_rng(2).normal(size=60))
    groups = least_sse_groups(np.append(x, far), 3)
    # The outlier takes the least company it may have, and the others are grouped as if they were alone.
    company = 2
    assert (groups == groups[-1]).sum() == 1 + company
    others = x[company:] if far < 0 else x[:-company]
    alone = least_sse_groups(others, 3)
    together = groups[:-1][company:] - 1 if far < 0 else groups[:-1][:-company]
    assert np.array_equal(together, alone)


def test_the_thesis_example() -> None:
    X = np.array([[1, 4], [2, 15], [3, 5], [6, 17], [7, 6], [8, 18], [9, 16]], dtype=float)
    data = tv.Dataset(values=X, blocks=(tv.Block("both", ("a", "b")),), others=one_column(X[:, 0]).others)
    release = OptimalUnivariate(k=2).protect(data)
    assert release.data.values.T.tolist() == [[2, 2, 2, 6.5, 6.5, 8.5, 8.5], [5, 15.5, 5, 17.5, 5, 17.5, 15.5]]
    assert release.groups["both"].T.tolist() == [[0, 0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 0, 2, 1]]
    assert release.verify().holds
    assert not tv.KAnonymity(2).verify(release.data).holds
    assert "several columns" in release.guarantee.limits


def test_columns_are_counted_together() -> None:
    x = np.array([[1.0, 5.0], [1.0, 5.0], [9.0, 5.0], [9.0, 5.0], [9.0, 5.0]])
    data = tv.Dataset.from_arrays({"a": x, "b": x[:, :1]})
    release = OptimalUnivariate(k=2).protect(data)
    assert release.facts["a"] == {"groups": 4, "smallest group": 2, "largest group": 3}
    assert release.facts["b"] == {"groups": 2, "smallest group": 2, "largest group": 3}
    assert release.guarantee == tv.KAnonymity(2, "column", 2)
    whole = OptimalUnivariate(k=5).protect(data)
    assert whole.facts["b"] == {"groups": 1, "smallest group": 5, "largest group": 5}


def test_few_records_form_one_group() -> None:
    assert set(least_sse_groups(np.array([5.0, 1.0, 3.0]), 2).tolist()) == {0}
    assert set(least_sse_groups(np.array([5.0, 1.0]), 2).tolist()) == {0}


@given(st.integers(0, 10**6))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=40)
    order = rng.permutation(40)
    assert np.array_equal(least_sse_groups(x[order], 4), least_sse_groups(x, 4)[order])


def test_k_above_the_number_of_records_is_refused() -> None:
    with pytest.raises(
        ParameterError,
        match=r"The 'k' parameter of OptimalUnivariate must be at most the number of records \(3\). Got 9.",
    ):
        OptimalUnivariate(k=9).protect(one_column(np.ones(3)))


@given(columns(max_size=200), st.integers(2, 6))
def test_ranges_of_values_are_grouped_by_themselves(x: Array, k: int) -> None:
    k = min(k, len(x))
    with pytest.MonkeyPatch.context() as context:
        context.setattr(univariate, "RANGE", 20)
        release = OptimalUnivariate(k=k).protect(one_column(x))
        ((_, parts),) = parts_of(OptimalUnivariate(k=k), one_column(x))
    assert release.verify().holds
    groups, first = release.groups["x"], 0
    for rows in parts:
        own = least_sse_groups(x[rows], k)
        assert np.array_equal(groups[rows], first + own)
        first += own.max() + 1
    # A range is a run of ranks, and ranges are numbered by rising values.
    order = np.argsort(x, kind="stable")
    assert (np.diff(groups[order]) >= 0).all()
    assert release.facts["x"].get("parts", 1) == len(parts)
    if len(np.unique(x)) == len(x) > 40:
        assert len(parts) == round(len(x) / 20)
