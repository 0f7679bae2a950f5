"""Linkage by sides against a slow twin, what it finds where the nearest is another, and that it looks at nobody else."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks
import naive_sides
import tsveil as tv
from tsveil.attack.base import RunsOfColumns, Shape
from tsveil.attack.runs import Runs, table_of_sides
from tsveil.core.types import Array
from tsveil.data.dataset import Block


def in_runs(x: Array, rng: np.random.Generator) -> Array:
    """Each column sorted and cut at random, runs of one among them; each run as its mean."""
    y = np.empty_like(x)
    for column, out in zip(x.T, y.T, strict=True):
        order = np.argsort(column, kind="stable")
        for run in np.split(order, np.flatnonzero(rng.random(len(order) - 1) < 0.4) + 1):
            out[run] = column[run].mean()
    return y


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
    columns=st.integers(1, 4),
    kind=st.sampled_from(["fine", "coarse", "constant", "huge", "as it was"]),
    pooled=st.booleans(),
)
def test_it_is_its_slow_twin(seed: int, n: int, columns: int, kind: str, pooled: bool) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, (n, columns)).astype(float) if kind == "coarse" else rng.normal(size=(n, columns))
    if kind == "constant":
        a[:, 0] = 4.0
    if kind == "huge":
        a *= 10.0 ** rng.integers(-200, 200, columns)
    order = rng.permutation(n)
    b, own = (a if kind == "as it was" else in_runs(a, rng))[order], np.argsort(order)
    if seed % 3 == 0:
        a = a[rng.integers(0, n, n)]  # others than those who were released
    expected = naive_sides.likeliest(a, b, pooled)
    original, released, truth = naive_attacks.pair_of_files(a, b, own.tolist())
    found = tv.attack.column_sides(original, released, truth=truth, pooled=pooled)
    assert found.tied.tolist() == [len(best) for best in expected]
    assert found.link.tolist() == [min(best) for best in expected]
    assert found.hit.tolist() == [own[i] in best for i, best in enumerate(expected)]
    assert np.array_equal(table_of_sides(Runs.of(b, pooled), a, b) * 2**16, naive_sides.scores(a, b, pooled))


def test_a_value_on_the_wrong_side_counts_more_than_a_near_one() -> None:
    """The nearest row is the second one; but 3.9 is in no run beyond 4."""
    b = np.array([[2.0, 0.0], [4.2, 5.0], [2.0, 0.0], [4.2, 5.0], [4.0, 9.0], [4.0, 9.0]])
    a = np.array([[3.9, 6.9]])
    original, released, truth = naive_attacks.pair_of_files(a, b, [4])
    assert ((a - b) ** 2).sum(axis=1).argmin() == 1
    assert tv.attack.column_sides(original, released, truth=truth).link.tolist() == [4]


def test_who_is_known_besides_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    x = np.exp(rng.normal(size=(60, 3)))
    y = in_runs(x, rng)
    together = tv.attack.column_sides(*naive_attacks.pair_of_files(x, y, list(range(60)))[:2])
    for person in (0, 17, 59):
        original, released, truth = naive_attacks.pair_of_files(x[[person]], y, [person])
        alone = tv.attack.column_sides(original, released, truth=truth)
        assert alone.link[0] == together.link[person]
        assert alone.probability[0] == together.probability[person]


@pytest.mark.parametrize(
    ("method", "series"), [(tv.Mic1D(kappa=400), False), (tv.NLK(n=1, l=3, k=30), True)], ids=["mic1d", "nlk"]
)
def test_it_finds_more_than_the_nearest_does(method: tv.Mic1D | tv.NLK, series: bool) -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(200, 4)).cumsum(axis=1).round(2) if series else np.exp(0.8 * rng.normal(size=(300, 4)))
    data = tv.Dataset.from_arrays({"load": x}) if series else naive_attacks.dataset(x)
    card = tv.evaluate(data, method.protect(data, seed=1), models="fitting" if series else None)
    assert card["SDLD"] > card["EULD" if series else "DLD"] + 2


def test_methods_say_whether_they_make_runs() -> None:
    one, two = Block("x", ("a", "b"), np.arange(2.0)), Block("y", ("c", "d"), np.arange(2.0))
    assert RunsOfColumns() in (tv.NLK().traces(Shape(100, [one])) or ())
    assert RunsOfColumns() in (tv.NLK(grouping="per-block").traces(Shape(100, [one, two])) or ())
    # Points of several dimensions are no runs.
    assert not tv.NLK(grouping="joint").traces(Shape(100, [one, two]))
    assert RunsOfColumns(pooled=True) in (tv.Mic1D().traces(Shape(100, [one])) or ())


@pytest.mark.parametrize("kappa", [2, 3, 7, 100])
def test_mic1d_keeps_the_order_of_all_values(kappa: int) -> None:
    """What the attack supposes of it: larger values never become smaller ones."""
    rng = np.random.default_rng(kappa)
    x = np.exp(rng.normal(size=(50, 3))).round(1)
    y = tv.Mic1D(kappa=kappa).protect(naive_attacks.dataset(x)).data.values
    order = np.argsort(x.ravel())
    groups = np.split(y.ravel()[order], np.flatnonzero(np.diff(x.ravel()[order])) + 1)
    assert all(low.max() <= high.min() + 1e-9 for low, high in pairwise(groups))
