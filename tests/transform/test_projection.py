"""What must be true of projections to one number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsveil.core.errors import ParameterError
from tsveil.core.types import Array
from tsveil.transform.aggregation import exponent, owa, threshold
from tsveil.transform.normalise import normalise_one
from tsveil.transform.projection import Projection, Scale, first_component, project

seeds = st.integers(0, 10**6)


def table(seed: int, n: int = 30, d: int = 4) -> Array:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d) * 100


@given(seeds)
def test_zscores_are_summed(seed: int) -> None:
    x = table(seed)
    expected = ((x - x.mean(0)) / x.std(0, ddof=1)).sum(1)
    assert np.allclose(project(x, "zscores"), expected, atol=1e-9)


@given(seeds, st.sampled_from(["standardise", "range"]))
def test_no_direction_has_more_variance_than_the_first_component(seed: int, scale: Scale) -> None:
    x = table(seed)
    z = normalise_one(x, "component" if scale == "standardise" else "ranging")
    along = project(x, "pcp", scale=scale)
    # the variance is the largest singular value, whatever way it is computed
    assert along.std() == pytest.approx(np.linalg.svd(z - z.mean(0))[1][0] / np.sqrt(len(x)), rel=1e-9)
    directions = np.random.default_rng(seed).normal(size=(4, 50))
    directions /= np.linalg.norm(directions, axis=0)
    assert np.all((z @ directions).std(axis=0) <= along.std() * (1 + 1e-9))


@given(seeds)
def test_the_sign_is_fixed(seed: int) -> None:
    x = table(seed)
    loadings = first_component(normalise_one(x, "component"))
    assert np.linalg.norm(loadings) == pytest.approx(1)
    assert loadings[np.abs(loadings).argmax()] > 0
    order = np.random.default_rng(seed).permutation(len(x))
    assert np.allclose(project(x[order], "pcp"), project(x, "pcp")[order], atol=1e-9)


@given(seeds)
def test_the_first_of_two_columns_decides_the_sign(seed: int) -> None:
    """Two standardised columns always have loadings of one size; with a negative correlation rounding would choose the sign."""
    x = np.random.default_rng(seed).normal(size=(20, 1)) * [1.0, -3.0] + np.random.default_rng(seed + 1).normal(
        size=(20, 2)
    )
    loadings = first_component(normalise_one(x, "component"))
    assert np.abs(loadings).tolist() == [pytest.approx(np.sqrt(0.5))] * 2
    assert loadings[0] > 0


@given(seeds, st.sampled_from(["pcp", "zscores", "sugeno", "owa", "choquet", "twofold"]))
def test_equal_records_have_equal_projections_and_units_do_not_matter(seed: int, how: Projection) -> None:
    x = table(seed)[np.random.default_rng(seed).integers(0, 8, 30)]
    along = project(x, how)
    for row in x:
        assert len(set(along[(x == row).all(axis=1)].tolist())) == 1
    assert np.allclose(project(x * [1.0, 100.0, 0.5, 3.0] + 7, how), along, atol=1e-9)


@given(seeds, st.sampled_from(["pcp", "zscores", "sugeno", "owa"]))
def test_one_file_can_be_projected_like_another(seed: int, how: Projection) -> None:
    x, other = table(seed), table(seed) * 1.1 + 3
    assert np.array_equal(project(x, how, like=x), project(x, how))
    both = project(np.vstack([other, x]), how, like=other)
    assert np.array_equal(both[: len(x)], project(other, how))
    assert np.array_equal(both[len(x) :], project(x, how, like=other))


def test_aggregation_functions_work_on_ranged_columns() -> None:
    x = table(3)
    assert np.array_equal(project(x, "owa"), owa(normalise_one(x, "ranging"), exponent(1.0)))
    lowest = project(x, "owa", quantifier=threshold(0.9))
    assert np.allclose(lowest, normalise_one(x, "ranging").min(axis=1))
    assert np.array_equal(project(x, "owa", scale="standardise"), owa(normalise_one(x, "component"), exponent(1.0)))


def test_constant_columns_count_nothing() -> None:
    assert project(np.full((4, 2), 0.1), "pcp").tolist() == [0.0] * 4
    x = table(1)
    assert np.allclose(project(np.hstack([x, np.full((30, 1), 5.0)]), "pcp"), project(x, "pcp"), atol=1e-9)


def test_an_unknown_projection_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"The 'how' parameter of project must be one of 'pcp', .* Got 'pca'"):
        project(np.ones((2, 2)), "pca")  # type: ignore[arg-type]
