"""Ties between distances of decimals, against exact arithmetic on the numbers as they are written."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.attack.base import Attack, Knowledge, Settings
from tsveil.attack.distance import NearestRecord
from tsveil.attack.files import DECIMAL, decimals_of, in_steps, scale_of
from tsveil.attack.pieces import Columns, Pieces
from tsveil.attack.run import links_in_memory, run_attacks
from tsveil.attack.series import Shapes, Values
from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.data.store import Memory
from tsveil.engine.here import Here

N = 60


def nearest(a: Array, b: Array, metric: str) -> list[list[int]]:
    """The nearest rows by d^2 = sum (a_j - b_j)^2 / v_j, v_j the variance of the original, in fractions; for l1 the absolute differences, of columns with one variance."""
    x, y = ([[Fraction(repr(value)) for value in row] for row in table.tolist()] for table in (a, b))
    variance = [len(x) * sum(v * v for v in column) - sum(column) ** 2 for column in zip(*x, strict=True)]
    power = 2 if metric == "euclidean" else 1
    found = []
    for row in x:
        apart = [
            sum((abs(p - q) ** power / v for p, q, v in zip(row, other, variance, strict=True) if v), Fraction(0))
            for other in y
        ]
        least = min(apart)
        found.append([at for at, one in enumerate(apart) if one == least])
    return found


def decimal_file(seed: int) -> tuple[Array, Array]:
    """A file of decimals full of ties, and one of decimals that was made of it: moved, shuffled, or by rounded means of three."""
    rng = np.random.default_rng(seed)
    columns, decimals = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    a = rng.integers(0, int(rng.choice([5, 10, 30, 100])), (N, columns)) / 10**decimals
    if seed % 4 == 0:
        a = rng.permuted(np.tile(a[:, :1], (1, columns)), axis=0)
    if seed % 4 == 1:
        return a, a[rng.permutation(N)]
    if seed % 4 == 2:
        means = [np.round(a[at : at + 3].mean(axis=0), decimals + 1) for at in range(0, N, 3)]
        return a, np.repeat(means, 3, axis=0)
    return a, np.round(a + rng.integers(-2, 3, (N, columns)) / 10**decimals, decimals)


def dataset(values: Array) -> Dataset:
    names = [f"c{at}" for at in range(values.shape[1])]
    return tv.Dataset.from_frame(pl.DataFrame(values, schema=names), blocks={"x": names})


@pytest.mark.parametrize("seed", range(60))
def test_no_link_differs_from_exact_arithmetic(seed: int) -> None:
    a, b = decimal_file(seed)
    exact = nearest(a, b, "euclidean")
    original, released = dataset(a), dataset(b)
    every = N + len(np.unique(b, axis=0))  # no record is out of range, and none is passed over
    for found in (
        tv.attack.distance(original, released),
        links_in_memory(NearestRecord(), original, released),
        tv.attack.rank_swap(original, released, window=every),
        tv.attack.distance(original, released, blocking=every),
    ):
        assert found.tied.tolist() == [len(rows) for rows in exact]
        assert found.link.tolist() == [rows[0] for rows in exact]
        assert found.hit.tolist() == [at in rows for at, rows in enumerate(exact)]


def nearest_series(a: Array, b: Array, *, shape: bool) -> list[list[int]]:
    """The nearest series by their values, or by their slopes at times 0, 1, 2, ..., in fractions."""
    x, y = ([[Fraction(repr(value)) for value in row] for row in table.tolist()] for table in (a, b))
    if shape:
        x, y = ([[q - p for p, q in pairwise(row)] for row in table] for table in (x, y))
    found = []
    for row in x:
        apart = [sum(((p - q) ** 2 for p, q in zip(row, other, strict=True)), Fraction(0)) for other in y]
        found.append([at for at, one in enumerate(apart) if one == min(apart)])
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_link_of_series_differs_from_exact_arithmetic(seed: int) -> None:
    a, b = decimal_file(seed)
    if a.shape[1] < 2:
        a, b = np.hstack([a, a[::-1]]), np.hstack([b, b[::-1]])
    original, released = (tv.Dataset.from_arrays({"x": table}) for table in (a, b))
    for attack, shape in ((Values(), False), (Shapes(), True)):
        exact = nearest_series(a, b, shape=shape)
        for found in (attack.links(original, released), links_in_memory(attack, original, released)):
            assert found.tied.tolist() == [len(rows) for rows in exact]
            assert found.hit.tolist() == [at in rows for at, rows in enumerate(exact)]


@pytest.mark.parametrize("cuts", [[], [13], [1, 17, 30]], ids=str)
@pytest.mark.parametrize("attack", [Values(), Shapes()], ids=lambda one: one.name)
def test_pieces_of_a_file_decide_alike(attack: Attack, cuts: list[int]) -> None:
    """The number of decimals is that of all pieces of both files, though single ones have fewer."""
    a, b = (np.hstack([table, table[::-1]]) for table in decimal_file(3))
    a[:20], store = np.round(a[:20]), Memory()
    for at, rows in enumerate(np.split(np.arange(N), cuts)):
        store.put(f"original-{at}", np.ascontiguousarray(a[rows].T))
        store.put(f"released-{at}", np.ascontiguousarray(b[rows].T))
    sizes, width = tuple(np.diff([0, *cuts, N]).tolist()), a.shape[1]
    blocks = tuple(map(Columns.of, tv.Dataset.from_arrays({"x": a}).blocks))
    known = Knowledge(range(width), [width], [range(width)], [1])
    found = run_attacks(store, Pieces(blocks, sizes, sizes), Here(), [attack], known, Settings())
    exact = nearest_series(a, b, shape=attack == Shapes())
    scores = [1 / len(rows) if at in rows else 0.0 for at, rows in enumerate(exact)]
    assert found.ladder[-1].scores.tolist() == scores


def test_rounding_used_to_decide() -> None:
    """0.3 is as far from 0.2 as from 0.4, and a computer's 0.3 is nearer to 0.2."""
    assert 0.3 - 0.2 != 0.4 - 0.3
    original, released = dataset(np.array([[0.3], [0.7]])), dataset(np.array([[0.2], [0.4]]))
    assert tv.attack.distance(original, released).candidates.tolist() == [2, 1]
    assert nearest(original.values, released.values, "euclidean") == [[0, 1], [1]]


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20), st.integers(0, 6), st.integers(-(10**9), 10**9))
def test_steps_are_the_whole_numbers_that_are_written(whole: list[int], decimals: int, other: int) -> None:
    values = np.array([[float(f"{number}e-{decimals}")] for number in whole])
    found = int(decimals_of(values, values)[0])
    assert 0 <= found <= decimals
    steps = in_steps(values, np.array([DECIMAL + found])).ravel().tolist()
    assert [Fraction(int(step), 10**found) for step in steps] == [Fraction(number, 10**decimals) for number in whole]


def test_what_is_no_short_decimal_keeps_its_bits() -> None:
    values = np.array([[1 / 3, 0.1, 1e300, 5e-324, -0.0]])
    assert decimals_of(values).tolist() == [-1, 1, -1, -1, 0]
    power, _ = scale_of(values, values)
    steps = in_steps(values, power)
    assert np.array_equal(np.ldexp(steps[:, [0, 2, 3]], -power[[0, 2, 3]]), values[:, [0, 2, 3]])
    assert steps[0, 1] == 1.0


def test_equal_spreads_have_equal_factors() -> None:
    """Not the same values: moved, turned round, and with other decimals in the release only."""
    rng = np.random.default_rng(1)
    column = rng.integers(0, 1000, 500) / 100
    a = np.column_stack([column, rng.permutation(column), 10 - column, column + 3.21])
    a = np.round(a, 2)
    _, factor = scale_of(a, a)
    assert len(set(factor.tolist())) == 1
