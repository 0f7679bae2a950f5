"""What must be true of projected microaggregation."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import naive_micro
import tsveil as tv
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array
from tsveil.protect.projected import Projected, fixed_groups
from tsveil.protect.univariate import OptimalUnivariate
from tsveil.transform.normalise import normalise_one
from tsveil.transform.projection import Projection, project

PROJECTIONS: list[Projection] = ["pcp", "zscores", "sugeno", "owa", "choquet", "twofold"]

Grouping = Literal["optimal", "fixed"]


@st.composite
def tables(draw: st.DrawFn, max_rows: int) -> Array:
    """Random and nasty tables: ties, constants, one column, offsets, tiny and huge values."""
    n = draw(st.integers(2, max_rows))
    d = draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["normal", "ties", "constant", "offset", "tiny", "huge"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "ties":
        return rng.integers(0, 3, (n, d)).astype(np.float64)
    if kind == "constant":
        return np.full((n, d), 0.1)
    return rng.normal(size=(n, d)) * {"tiny": 1e-300, "huge": 1e299}.get(kind, 1.0) + (1e9 if kind == "offset" else 0.0)


def attributes(x: Array, *widths: int) -> tv.Dataset:
    """Attribute blocks of these widths; one block of all columns when left out."""
    blocks, at = [], 0
    for number, width in enumerate(widths or (x.shape[1],)):
        blocks.append(tv.Block(f"b{number}", tuple(f"c{j}" for j in range(at, at + width))))
        at += width
    return tv.Dataset(values=x, blocks=tuple(blocks), others=tv.Dataset.from_arrays({"x": x}).others)


@given(tables(max_rows=60), st.integers(2, 9), st.sampled_from(PROJECTIONS), st.sampled_from(["optimal", "fixed"]))
def test_groups_have_k_members_and_means_are_kept(x: Array, k: int, projection: Projection, grouping: Grouping) -> None:
    k = min(k, len(x))
    release = Projected(k=k, projection=projection, grouping=grouping).protect(attributes(x))
    groups = release.groups["b0"]
    sizes = np.bincount(groups)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert release.verify().holds
    for g in range(len(sizes)):
        members = x[groups == g]
        assert np.allclose(
            release.data.values[groups == g], members[0] + (members - members[0]).mean(0), rtol=1e-12, atol=0
        )
    # groups are consecutive along the projection
    along = project(x, projection)
    assert np.all(np.diff(groups[np.argsort(along, kind="stable")]) >= 0)


@given(tables(max_rows=11), st.integers(2, 4), st.sampled_from(PROJECTIONS))
def test_the_optimal_cut_is_the_best_of_all(x: Array, k: int, projection: Projection) -> None:
    k = min(k, len(x))
    groups = Projected(k=k, projection=projection).protect(attributes(x)).groups["b0"]
    z = normalise_one(x, "component")
    order = np.argsort(project(x, projection), kind="stable")
    best = naive_micro.least_sse(z[order], k)
    assert naive_micro.exact_sse(z, naive_micro.as_groups(groups)) <= best * (1 + Fraction(1, 10**12))


@given(st.integers(0, 10**6), st.integers(2, 80), st.integers(2, 9))
def test_fixed_groups_are_those_of_mdav_on_the_projection(seed: int, n: int, k: int) -> None:
    k = min(k, n)
    along = np.random.default_rng(seed).exponential(size=n)  # skewed, so that the mean is not in the middle; no ties
    order = np.argsort(along)
    groups = np.empty(n, dtype=np.int64)
    groups[order] = fixed_groups(along[order], order, k)
    expected = naive_micro.as_groups(naive.mdav(along[:, None], k))
    assert sorted(naive_micro.as_groups(groups)) == sorted(expected)


def test_the_cut_is_the_one_that_was_asked_for() -> None:
    x = np.random.default_rng(6).exponential(size=(23, 3))
    along = project(x, "pcp")
    order = np.argsort(along, kind="stable")
    fixed = np.empty(23, dtype=np.int64)
    fixed[order] = fixed_groups(along[order], order, 4)
    release = Projected(k=4, grouping="fixed").protect(attributes(x))
    assert np.array_equal(release.groups["b0"], fixed)
    assert release.facts["b0"] == {"groups": 5, "smallest group": 4, "largest group": 7}
    best = Projected(k=4).protect(attributes(x))
    sizes = np.bincount(best.groups["b0"])
    assert not np.array_equal(best.groups["b0"], fixed)
    assert best.facts["b0"] == {"groups": len(sizes), "smallest group": sizes.min(), "largest group": sizes.max()}


def test_it_begins_at_k_records() -> None:
    x = np.arange(6.0).reshape(3, 2)
    for grouping in ("optimal", "fixed"):
        release = Projected(k=3, grouping=grouping).protect(attributes(x))
        assert np.array_equal(release.data.values, np.tile([2.0, 3.0], (3, 1)))
    assert release.guarantee == tv.KAnonymity(3, "block", 1)
    assert Projected(k=3).protect(attributes(x, 1, 1)).guarantee == tv.KAnonymity(3, "block", 2)


def test_the_lower_record_decides_when_both_ends_are_equally_far() -> None:
    along = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert fixed_groups(along, np.arange(5), 2).tolist() == [0, 0, 1, 1, 1]
    assert fixed_groups(along, np.arange(5)[::-1], 2).tolist() == [0, 0, 0, 1, 1]
    # The ends are those of what is left: here of the places 3 to 7, records 7 and 2.
    order = np.array([0, 1, 3, 7, 4, 5, 6, 2, 8, 9, 10])
    assert fixed_groups(np.arange(11.0), order, 3).tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    assert fixed_groups(np.arange(4.0), np.arange(4), 2).tolist() == [0, 0, 1, 1]
    assert fixed_groups(np.arange(10.0), np.arange(10), 4).tolist() == [0] * 4 + [1] * 6
    assert fixed_groups(np.arange(10.0), np.arange(10)[::-1], 4).tolist() == [0] * 6 + [1] * 4


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_one_column_is_protected_optimally(seed: int, k: int) -> None:
    x = np.random.default_rng(seed).normal(size=(50, 1))
    for projection in PROJECTIONS[:5]:
        projected = Projected(k=k, projection=projection).protect(attributes(x))
        assert np.array_equal(projected.data.values, OptimalUnivariate(k=k).protect(attributes(x)).data.values)


def test_blocks_are_protected_one_by_one() -> None:
    x = np.random.default_rng(4).normal(size=(60, 5))
    release = Projected(k=4).protect(attributes(x, 3, 2))
    assert np.array_equal(release.data.values[:, :3], Projected(k=4).protect(attributes(x[:, :3])).data.values)
    assert np.array_equal(release.data.values[:, 3:], Projected(k=4).protect(attributes(x[:, 3:])).data.values)
    assert release.verify().holds
    assert not tv.KAnonymity(4, scope="record").verify(release.data).holds


def test_scale_and_quantifier_are_used() -> None:
    x = np.random.default_rng(5).exponential(size=(80, 4)) * [1, 10, 100, 1000]

    def groups(**options: object) -> list[int]:
        found: list[int] = Projected(k=3, **options).protect(attributes(x)).groups["b0"].tolist()  # type: ignore[arg-type]
        return found

    assert groups() != groups(scale="range")
    assert groups(projection="owa") != groups(projection="owa", scale="standardise")
    assert groups(projection="owa") == groups(projection="choquet")
    assert groups(projection="owa", alpha=3.0) != groups(projection="owa", alpha=0.3)
    assert groups(projection="owa", quantifier="threshold", alpha=0.9) != groups(projection="owa")
    assert groups(projection="sugeno", quantifier="sigmoid", alpha=0.2) != groups(projection="sugeno")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"projection": "zscores", "scale": "range"}, "'scale' parameter of Projected must be 'auto' or 'standardise'"),
        ({"alpha": 0}, "'alpha' parameter of the exponent quantifier must be a number above 0. Got 0"),
        ({"quantifier": "threshold"}, "'alpha' parameter of the threshold quantifier must be at least 0 and below 1"),
        ({"projection": "pca"}, "'projection' parameter of Projected must be one of 'pcp'"),
        ({"k": 1}, "'k' parameter of Projected must be an integer of at least 2"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options: dict[str, object], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        Projected(**options)  # type: ignore[arg-type]


def test_k_above_the_number_of_records_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"'k' parameter of Projected must be at most the number of records \(3\)"):
        Projected(k=4).protect(attributes(np.ones((3, 2))))
