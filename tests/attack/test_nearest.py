"""Nearest released records against the definition: with the picture forced on few records, and without it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from tsveil.attack import nearest as searching
from tsveil.attack.nearest import draw, nearest
from tsveil.core.types import Array


def check(known: Array, released: Array, widths: list[int], pictured: bool | None = True) -> None:
    starts = np.cumsum([0, *widths])
    tied, link, hit = nearest(known, released, starts, pictured=pictured)
    for j in range(1, len(widths) + 1):
        pieces = [slice(starts[b], starts[b + 1]) for b in range(j)]
        # overflowing squares are part of the definition: infinite distances are ties
        with np.errstate(over="ignore", under="ignore"):
            wanted = naive.series_links([known[:, p] for p in pieces], [released[:, p] for p in pieces], "euclidean")
        assert np.array_equal(tied[:, j - 1], wanted[0])
        assert np.array_equal(link[:, j - 1], wanted[1])
        assert np.array_equal(hit[:, j - 1], wanted[2])


def made(kind: str, rng: np.random.Generator, n: int, d: int) -> Array:
    if kind == "coarse":
        return rng.integers(0, 3, (n, d)).astype(float)
    if kind == "constant":
        return np.full((n, d), 0.1)
    if kind == "outlier":
        x = rng.normal(size=(n, d))
        x[rng.integers(n)] *= 1e12
        return x
    if kind == "mixed":
        return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-20, 20, (n, 1))
    x = rng.normal(size=(n, d)).cumsum(axis=1)
    factors = {"walks": 1.0, "huge": 1e150, "overflowing": 1e200, "tiny": 1e-150, "vanishing": 1e-170}
    return x + 1e8 if kind == "offset" else x * factors[kind]


KINDS = ["coarse", "constant", "outlier", "mixed", "walks", "huge", "overflowing", "tiny", "vanishing", "offset"]


@given(
    st.integers(0, 10**6),
    st.integers(2, 300),
    st.lists(st.integers(1, 30), min_size=1, max_size=3),
    st.sampled_from(KINDS),
    st.sampled_from(["aggregated", "noisy", "swapped", "rounded"]),
    st.booleans(),
)
def test_links_are_those_of_the_definition(
    seed: int, n: int, widths: list[int], kind: str, how: str, pictured: bool
) -> None:
    rng = np.random.default_rng(seed)
    x = made(kind, rng, n, sum(widths))
    if how == "aggregated":
        released = x[rng.integers(0, max(1, n // 3), n)]
    elif how == "swapped":
        released = np.column_stack([rng.permutation(column) for column in x.T])
    elif how == "noisy":
        released = x * (1.0 + rng.normal(0, 1e-3, x.shape))
    else:  # very near each other: float32 cannot tell them apart
        released = x * (1.0 + rng.integers(-2, 3, x.shape) * 2.0**-50)
    check(x, released, widths, pictured)


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_ties_of_points_on_a_sphere(seed: int, d: int) -> None:
    # Known records at the centre of released ones that are equally far in exact arithmetic, more than a tile of them.
    rng = np.random.default_rng(seed)
    released = np.repeat(np.eye(d), 20, axis=0) * rng.choice([-3.0, 3.0], (20 * d, 1))
    known = np.vstack([np.zeros((10 * d, d)), released[: 10 * d] / 3])
    check(known + 7, released + 7, [d])


def test_wide_blocks_and_more_than_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 600)).cumsum(axis=1)
    check(x, x[rng.integers(0, 150, 200)] + 0.0, [600])
    monkeypatch.setattr(searching, "CHUNK", 64)
    check(x[:, :90], x[rng.integers(0, 150, 200), :90] + rng.normal(size=(200, 90)), [70, 20])


def test_more_candidates_than_few_get_a_picture() -> None:
    x = np.random.default_rng(1).normal(size=(1000, 6))
    check(x, x + 0.5, [6], pictured=None)
    starts = np.array([0, 6])
    assert draw(x, x, starts) is not None
    assert draw(x * 1e160, x * 1e160, starts) is None
    assert draw(x * 1e-160, x * 1e-160, starts) is None
    assert draw(x * 0, x * 0, starts) is None


def test_known_records_far_from_all_released_ones() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 8))
    check(x + 1e6, x, [8])
    check(x, x + 1e6, [3, 5])


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.sampled_from(["mixed", "walks", "offset"]),
)
def test_the_picture_never_overstates_a_distance(seed: int, widths: list[int], kind: str) -> None:
    rng = np.random.default_rng(seed)
    rows, known = made(kind, rng, 70, sum(widths)), made(kind, rng, 30, sum(widths))
    starts = np.cumsum([0, *widths])
    picture = draw(rows, known, starts)
    assert picture is not None
    places, _, _ = picture.of_known(known)
    for b, (low, high) in enumerate(zip(picture.parts[:-1], picture.parts[1:], strict=True)):
        tiles = np.hstack(list(picture.tiles))[low:high, : len(rows)]
        bounds = (places[:, low : high - 2] @ tiles[:-2] + tiles[-1]) + places[:, high - 1 : high]
        columns = slice(starts[b], starts[b + 1])
        steps = (known[:, None, columns] - rows[None, picture.order, columns]) * picture.scale
        assert (bounds <= (steps**2).sum(axis=2) * (1 + picture.stretch)).all()
