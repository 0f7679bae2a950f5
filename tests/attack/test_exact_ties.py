"""Ties between distances of decimals, against exact arithmetic on the numbers as they are written."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.attack import nearest_columns
from tsveil.attack.base import Attack, Knowledge, Settings
from tsveil.attack.distance import NearestRecord
from tsveil.attack.files import DECIMAL, decimals_of, in_steps, scale_of
from tsveil.attack.nearest import Rows, nearest_distinct
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


def unrounded_file(seed: int) -> tuple[Array, Array]:
    """A file of decimals full of ties, and means of groups of it as they come, with all their digits; some files are far from zero."""
    rng = np.random.default_rng(1000 + seed)
    a, _ = decimal_file(seed)
    a = np.round(a + float(rng.choice([0, 0, 1, 1000, -54321])), 3)
    size, order = int(rng.integers(2, 8)), rng.permutation(N)
    b = np.empty_like(a)
    for at in range(0, N, size):
        b[order[at : at + size]] = a[order[at : at + size]].mean(axis=0)
    return a, b


#: files of decimals in both, and releases of unrounded means
FILES = [(decimal_file, seed) for seed in range(60)] + [(unrounded_file, seed) for seed in range(60)]
all_files = pytest.mark.parametrize(("made", "seed"), FILES, ids=lambda one: getattr(one, "__name__", str(one)))


def dataset(values: Array) -> Dataset:
    names = [f"c{at}" for at in range(values.shape[1])]
    return tv.Dataset.from_frame(pl.DataFrame(values, schema=names), blocks={"x": names})


@all_files
def test_no_link_differs_from_exact_arithmetic(made: Any, seed: int) -> None:
    a, b = made(seed)
    exact = nearest(a, b, "euclidean")
    original, released = dataset(a), dataset(b)
    every = N + len(np.unique(b, axis=0))  # no record is out of range, and none is passed over
    for found in (
        tv.attack.distance(original, released),
        links_in_memory(NearestRecord(), original, released),
        *(
            # Ranges and neighbourhoods are compared as whole numbers, and long fractions in floating point.
            tv.attack.rank_swap(original, released, window=every),
            tv.attack.distance(original, released, blocking=every),
        )[: 2 if made is decimal_file else 0],
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


@all_files
def test_no_link_of_series_differs_from_exact_arithmetic(made: Any, seed: int) -> None:
    a, b = made(seed)
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
@pytest.mark.parametrize(
    ("made", "seed"), [(decimal_file, 3), (unrounded_file, 0), (unrounded_file, 2), (unrounded_file, 6)]
)
def test_pieces_of_a_file_decide_alike(attack: Attack, cuts: list[int], made: Any, seed: int) -> None:
    """The number of decimals is that of all pieces of both files, though single ones have fewer; and near ties may lie in different pieces."""
    a, b = (np.hstack([table, table[::-1]]) for table in made(seed))
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
    assert found.ladder[-1].scores.tolist() == pytest.approx(scores, abs=1e-12)


def test_rounding_used_to_decide() -> None:
    """0.3 is as far from 0.2 as from 0.4, and a computer's 0.3 is nearer to 0.2."""
    assert 0.3 - 0.2 != 0.4 - 0.3
    original, released = dataset(np.array([[0.3], [0.7]])), dataset(np.array([[0.2], [0.4]]))
    assert tv.attack.distance(original, released).candidates.tolist() == [2, 1]
    assert nearest(original.values, released.values, "euclidean") == [[0, 1], [1]]


@pytest.mark.parametrize("cuts", [[], [13], [1, 17, 30]], ids=str)
@pytest.mark.parametrize("metric", ["euclidean", "l1"])
@pytest.mark.parametrize("seed", [0, 2, 4, 8, 12])
def test_pieces_of_a_file_of_columns_decide_alike(cuts: list[int], metric: Any, seed: int) -> None:
    """Near ties may lie in different pieces; absolute differences of columns with one spread."""
    a, b = unrounded_file(seed)
    if metric == "l1":
        a = np.random.default_rng(seed).permuted(np.tile(a[:, :1], (1, 3)), axis=0)
        b = np.repeat([a[at : at + 3].mean(axis=0) for at in range(0, N, 3)], 3, axis=0)
    store, width = Memory(), a.shape[1]
    for at, rows in enumerate(np.split(np.arange(N), cuts)):
        store.put(f"original-{at}", np.ascontiguousarray(a[rows].T))
        store.put(f"released-{at}", np.ascontiguousarray(b[rows].T))
    sizes = tuple(np.diff([0, *cuts, N]).tolist())
    blocks = tuple(map(Columns.of, dataset(a).blocks))
    known = Knowledge(range(width), [width], [range(width)], [width])
    found = run_attacks(store, Pieces(blocks, sizes, sizes), Here(), [NearestRecord(metric=metric)], known, Settings())
    exact = nearest(a, b, metric)
    scores = [1 / len(rows) if at in rows else 0.0 for at, rows in enumerate(exact)]
    assert found.ladder[-1].scores.tolist() == pytest.approx(scores, abs=1e-12)


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_options_are_decided_exactly_too(seed: int) -> None:
    """From the release back, by absolute differences of columns with one spread, by series whose times are uneven, and with weights."""
    a, b = unrounded_file(seed)  # every fourth file has columns of one spread
    original, released = dataset(a), dataset(b)
    found = tv.attack.distance(original, released, metric="l1")
    exact = nearest(a, b, "l1")
    assert found.tied.tolist() == [len(rows) for rows in exact]
    back = tv.attack.distance(original, released, direction="released")
    fractions = [[Fraction(repr(value)) for value in row] for row in np.vstack([a, b]).tolist()]
    x, y = fractions[:N], fractions[N:]
    spread = [len(x) * sum(v * v for v in column) - sum(column) ** 2 for column in zip(*x, strict=True)]

    def tied(one: list[Fraction], others: list[list[Fraction]], weights: list[int]) -> int:
        each = zip(*([p] * len(others) for p in one), strict=True)
        apart = [
            sum((w * (p - q) ** 2 / v for p, q, v, w in zip(mine, row, spread, weights, strict=True) if v), Fraction(0))
            for mine, row in zip(each, others, strict=True)
        ]
        return apart.count(min(apart))

    assert back.tied.tolist() == [tied(row, x, [1] * len(spread)) for row in y]
    weights = [1 + at % 2 * 3 for at in range(len(spread))]
    names = dict(zip(original.columns, map(float, weights), strict=True))
    weighted = tv.attack.distance(original, released, weights=names)
    assert weighted.tied.tolist() == [tied(row, y, weights) for row in x]


def test_uneven_times_are_fractions_too() -> None:
    times, gap = [0.0, 1.0, 3.0, 3.5], [Fraction(1), Fraction(2), Fraction(1, 2)]
    for seed in range(0, 60, 6):
        a, b = unrounded_file(seed)
        a, b = (np.resize(table, (N, 4)) for table in (a, b))
        original, released = (tv.Dataset.from_arrays({"x": table}, times=times) for table in (a, b))
        x, y = ([[Fraction(repr(value)) for value in row] for row in table.tolist()] for table in (a, b))
        x, y = (
            [[(q - p) / g for (p, q), g in zip(pairwise(row), gap, strict=True)] for row in table] for table in (x, y)
        )
        for found in (Shapes().links(original, released), links_in_memory(Shapes(), original, released)):
            for at, row in enumerate(x):
                apart = [sum(((p - q) ** 2 for p, q in zip(row, other, strict=True)), Fraction(0)) for other in y]
                assert found.tied[at] == apart.count(min(apart))


def test_a_last_digit_decides_where_rounding_would_tie() -> None:
    """Distances that differ by less than floating point can tell are different, and the nearer one is found."""
    original = dataset(np.array([[1000.0], [2000.0]]))
    near, far = 1000.3333333333333, 999.6666666666666  # .3333333333333 and .3333333333334 away
    assert 1000.0 - far != near - 1000.0
    released = dataset(np.array([[far], [near]]))
    found = tv.attack.distance(original, released)
    assert found.tied.tolist() == [1, 1]
    assert found.link.tolist() == [1, 1]
    # With a second column, the same difference is below what the sum of squares can hold.
    original, released = (
        dataset(np.array([[1.0, 0.0], [2.0, 3.0]])),
        dataset(np.array([[1.0 + 1e-16 * 3, 2.0], [1.0000000000000002, 2.0]])),
    )
    assert tv.attack.distance(original, released).tied.tolist() == [2, 2]
    shifted = dataset(np.array([[1.1, 0.0], [1.3, 2.0]]))
    both = dataset(np.array([[1.1000000000000001, 5.0], [1.1000000000000003, 5.0]]))
    assert tv.attack.distance(shifted, both).link.tolist() == [0, 1]
    assert tv.attack.distance(shifted, both).tied.tolist() == [1, 1]


@given(st.integers(0, 10**6), st.integers(2, 300), st.integers(1, 5), st.booleans())
def test_marks_are_where_another_row_is_as_near_but_for_rounding(
    seed: int, m: int, columns: int, pictured: bool
) -> None:
    rng = np.random.default_rng(seed)
    a, b = (
        rng.integers(0, 4, (20, columns)).astype(float),
        rng.integers(0, 4, (m, columns)) + rng.choice([0.0, 1e-14, 1e-9], (m, columns)),
    )
    rows, slack = Rows.of(b, np.arange(20) % m), float(rng.choice([0.0, 1e-13]))
    apart = np.sqrt(np.square(a[:, None, :] - rows.values).sum(axis=2))
    wide, narrow = (
        (apart <= (apart.min(axis=1, keepdims=True) + 2 * slack) * (1 + share)).sum(axis=1) > 1
        for share in (2.0**-38, 2.0**-42)
    )
    close = np.zeros((20, 1), dtype=np.bool_)
    nearest_distinct(a, rows, np.array([0, columns]), pictured=pictured, close=close, slack=np.array([slack]))
    assert (close[:, 0] <= wide).all()
    assert (close[:, 0] >= narrow).all()
    for many in (2**26, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(nearest_columns, "MANY", many)
            close = np.zeros((20, 1), dtype=np.bool_)
            nearest_columns.nearest_distinct(
                a, rows, np.ones(columns), "euclidean", [columns], close=close, slack=np.array([slack])
            )
        assert (close[:, 0] <= wide).all()
        assert (close[:, 0] >= narrow).all()


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
