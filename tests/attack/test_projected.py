"""Projected linkage against the definition."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
from tsveil.attack.distance import distance
from tsveil.attack.files import checked_counts
from tsveil.attack.projected import projected
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array


def by_definition(a: Array, b: Array, how: str) -> tuple[Array, Array]:
    """One number per record, by the released file's parameters."""
    mean, sd = b.mean(axis=0), b.std(axis=0, ddof=1)
    za, zb = (a - mean) / sd, (b - mean) / sd
    if how == "zscores":
        return za.sum(axis=1), zb.sum(axis=1)
    loadings = np.linalg.svd(zb)[2][0]
    return za @ loadings, zb @ loadings


@given(st.integers(0, 10**6), st.integers(6, 40), st.sampled_from(["pcp", "zscores"]))
def test_links_are_those_of_the_definition(seed: int, n: int, how: Literal["pcp", "zscores"]) -> None:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 5))
    a[:, 1] += a[:, 0]
    a[:, 4] -= a[:, 3]
    b = a + rng.normal(0, 0.3, a.shape)
    original, released = naive.dataset(a, blocks=[2, 3]), naive.dataset(b, blocks=[2, 3])
    found = naive.block_rounds(original, released, projection=how)
    assert len(found) == 2
    parts = [by_definition(a[:, s], b[:, s], how) for s in (slice(0, 2), slice(2, 5))]
    pa, pb = (np.stack([part[side] for part in parts], axis=1) for side in (0, 1))
    for count, links in enumerate(found, 1):
        apart = ((pa[:, None, :count] - pb[None, :, :count]) ** 2).sum(axis=2)
        nearest = np.argmin(apart, axis=1)
        clear = np.sort(apart, axis=1)[:, 1] - apart.min(axis=1) > 1e-9
        assert np.array_equal(links.link[clear], nearest[clear])
        assert np.array_equal(links.hit[clear], (nearest == np.arange(n))[clear])


def test_equal_released_records_are_a_tie() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(40, 4))
    b = np.repeat(a[::4], 4, axis=0)
    found = projected(naive.dataset(a, blocks=[2, 2]), naive.dataset(b, blocks=[2, 2]))
    assert (found.candidates % 4 == 0).all()
    assert found.rate <= 25


def test_the_better_projection_is_taken_and_named() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(200, 6))
    # Only the sums of the blocks are kept.
    b = rng.normal(size=a.shape)
    for s in (slice(0, 3), slice(3, 6)):
        b[:, s] += (a[:, s].sum(axis=1) - b[:, s].sum(axis=1))[:, None] / 3
    original, released = naive.dataset(a, blocks=[3, 3]), naive.dataset(b, blocks=[3, 3])
    best = projected(original, released)
    assert best.facts["projection"] == "zscores"
    assert best.correct == projected(original, released, projection="zscores").correct
    assert best.correct > projected(original, released, projection="pcp").correct
    assert best.correct > 3 * distance(original, released).correct


def test_part_of_a_block_may_be_known() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=(60, 4))
    b = a + rng.normal(0, 0.2, a.shape)
    original, released = naive.dataset(a, blocks=[2, 2]), naive.dataset(b, blocks=[2, 2])
    found = projected(original, released, known=["x0", "b1"], projection="zscores")
    assert found.attack == "zscores projection linkage, 2 blocks known"
    alone = projected(original, released, known=["x0"])
    assert alone.correct == distance(original, released, known=["x0"]).correct


def test_bad_requests() -> None:
    data = naive.dataset(np.eye(4), blocks=[2, 2])
    with pytest.raises(ParameterError, match="'projection' parameter of the projected attack"):
        projected(data, data, projection="sugeno")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="from 1 to 2"):
        checked_counts([3], 2)
