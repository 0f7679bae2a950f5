"""Distance linkage against the definition: ties, unequal files, one-to-one, blocking."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.distance import distance
from tsveil.attack.files import checked_counts, on_one_scale, relative
from tsveil.attack.nearest import Rows
from tsveil.attack.nearest_columns import nearest_distinct
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array

dataset = naive.dataset


def table(rng: np.random.Generator, n: int, columns: int, coarse: bool) -> Array:
    return rng.integers(0, 4, (n, columns)).astype(float) if coarse else rng.normal(size=(n, columns))


@given(
    st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30), st.integers(1, 4), st.booleans(),
    st.sampled_from(["euclidean", "l1"]), st.sampled_from(["original", "own"]), st.booleans(),
)  # fmt: skip
def test_links_are_those_of_the_definition(
    seed: int, n: int, m: int, columns: int, coarse: bool, metric: Any, scaling: Any, tree: bool
) -> None:
    rng = np.random.default_rng(seed)
    a, b = table(rng, n, columns, coarse), table(rng, m, columns, coarse)
    own = rng.permutation(max(n, m))[:n]
    own = np.where(own < m, own, -1)
    if (own < 0).all():
        own[0] = 0
    original, released, truth = naive.pair_of_files(a, b, own.tolist())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tsveil.attack.nearest_columns.MANY", 0 if tree else 2**60)
        found = naive.rounds(distance, original, released, truth=truth, metric=metric, scaling=scaling)
    x, y, factor = on_one_scale(a, b, scaling)
    factor = relative(factor)
    for count, links in enumerate(found, 1):
        for i in range(n):
            best = naive.nearest(x[i, :count], y[:, :count], range(m), factor[:count].tolist(), metric)  # type: ignore[arg-type]
            assert links.candidates[i] == len(best)
            assert links.link[i] == best[0]
            assert links.hit[i] == (own[i] in best)
        assert links.released == m
    assert distance(original, released, truth=truth, metric=metric, scaling=scaling).correct == found[-1].correct


def test_scales() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(50, 3)) * [1, 100, 1e-8] + [0, 1e6, 0], rng.normal(size=(40, 3))
    sd = a.std(axis=0, ddof=1)
    x, y, factor = on_one_scale(a, b)
    assert np.allclose((x[:40] - y) * factor, (a[:40] - b) / sd, rtol=1e-9)
    x, y, factor = on_one_scale(a, b, "own")
    assert np.allclose(x, (a - a.mean(axis=0)) / sd)
    assert np.allclose(y, (b - b.mean(axis=0)) / b.std(axis=0, ddof=1))


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 1e9]), st.sampled_from(["euclidean", "l1"]), st.booleans())
def test_a_tree_finds_what_comparing_finds(seed: int, offset: float, metric: Any, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    a = offset + table(rng, 300, 5, coarse)
    a[:, 4] = 7.0
    b = naive.grouped(a, 3, rng)
    original, released = dataset(a), dataset(b)
    compared = naive.rounds(distance, original, released, metric=metric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tsveil.attack.nearest_columns.MANY", 0)
        patch.setattr("tsveil.attack.nearest_columns.CHUNK", 77)
        searched = naive.rounds(distance, original, released, metric=metric)
    for one, other in zip(compared, searched, strict=True):
        for field in ("candidates", "link", "hit"):
            assert np.array_equal(getattr(one, field), getattr(other, field))


@given(
    st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 400), st.integers(1, 6), st.booleans(), st.sampled_from(["euclidean", "l1"]),
    st.sampled_from([1e-160, 1.0, 1e160, 1e305]), st.sampled_from([0.0, 1e9]), st.booleans(),
)  # fmt: skip
def test_tiles_that_are_left_out_hold_no_link(
    seed: int, n: int, m: int, columns: int, coarse: bool, metric: Any, unit: float, offset: float, every: bool
) -> None:
    """Against all pairs, each summed in the order of the columns: the same distances to the last bit, and the same ties."""
    rng = np.random.default_rng(seed)
    a, b = (unit * (offset / max(unit, 1.0) + table(rng, rows, columns, coarse)) for rows in (n, m))
    factor = rng.choice([0.0, 0.3, 1.0, 7.0], size=columns)
    own = np.where(rng.random(n) < 0.7, rng.integers(0, m, n), -1)
    counts = list(range(1, columns + 1)) if every else [columns]
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):
        patch.setattr("tsveil.attack.nearest_columns.FEW", 2)
        found = nearest_distinct(a, Rows.of(b, own), factor, metric, counts)
        for at, count in enumerate(counts):
            total = np.zeros((n, m))
            for j in range(count):
                step = np.abs(a[:, j, None] - b[:, j]) * factor[j]
                total += step if metric == "l1" else step * step
            least = total == total.min(axis=1, keepdims=True)
            assert np.array_equal(found.best[:, at], total.min(axis=1))
            assert np.array_equal(found.tied[:, at], least.sum(axis=1))
            assert np.array_equal(found.link[:, at], least.argmax(axis=1))
            assert np.array_equal(found.hit[:, at] > 0, (own >= 0) & least[np.arange(n), own])


@given(st.integers(-300, 300), st.integers(0, 10**6), st.booleans())
def test_units_do_not_matter(power: int, seed: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    a, b = table(rng, 20, 3, coarse), table(rng, 20, 3, coarse)
    # Ties between different columns survive a change of units only if that does not round.
    scale = np.array([1.0, 2.0**power if coarse else 10.0**power, 1.0])
    assert distance(dataset(a * scale), dataset(b * scale)).correct == distance(dataset(a), dataset(b)).correct


def test_a_constant_attribute_tells_nothing() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    with_constant = np.column_stack([a, np.full(30, 7.0)]), np.column_stack([b, rng.normal(size=30)])
    assert distance(*map(dataset, with_constant)).correct == distance(dataset(a), dataset(b)).correct


def test_equally_near_is_a_tie_whatever_the_scale() -> None:
    # 5 is as far from 4 as from 6; standardised values would differ in their last bits.
    a = np.array([[5.0], [17.3], [9.1], [2.7]])
    b = np.array([[4.0], [6.0], [100.0], [200.0]])
    found = distance(dataset(a), dataset(b))
    assert found.candidates[0] == 2
    assert found.probability[0] == 0.5


def test_weights() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=(40, 3))
    b = a + rng.normal(size=a.shape) * [0.01, 5, 5]
    plain = distance(dataset(a), dataset(b))
    first = distance(dataset(a), dataset(b), weights={"x0": 1, "x1": 0, "x2": 0})
    assert first.correct > plain.correct
    assert first.correct == distance(dataset(a), dataset(b), known=["x0"]).correct
    heavy = distance(dataset(a), dataset(b), weights={"x1": 4.0})
    x, y, factor = on_one_scale(a, b)
    expected = [naive.nearest(row, y, range(40), (factor * [1, 2, 1]).tolist())[0] for row in x.tolist()]
    assert heavy.link.tolist() == expected


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.booleans())
def test_one_to_one_has_the_least_total(seed: int, n: int, m: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    a, b = table(rng, n, 2, coarse), table(rng, m, 2, coarse)
    ids = [str(i) for i in range(max(n, m))]
    found = distance(dataset(a, ids[:n]), dataset(b, ids[:m]), truth="id", one_to_one=True)
    linked = found.link[found.link >= 0]
    assert len(set(linked.tolist())) == len(linked) == min(n, m)
    x, y, factor = on_one_scale(a, b)
    cost = np.array([[np.sqrt(naive.apart(p, q, factor.tolist())) for q in y.tolist()] for p in x.tolist()])
    if n <= m:
        totals = [sum(cost[i, j] for i, j in enumerate(way)) for way in itertools.permutations(range(m), n)]
    else:
        totals = [sum(cost[i, j] for j, i in enumerate(way)) for way in itertools.permutations(range(n), m)]
    ours = sum(cost[i, found.link[i]] for i in range(n) if found.link[i] >= 0)
    assert ours == pytest.approx(min(totals), abs=1e-9)
    assert found.correct <= min(n, m) + 1e-9


def test_one_to_one_shares_among_equals() -> None:
    a = np.array([[1.0], [1.0], [5.0], [6.0]])
    b = np.array([[1.0], [1.0], [5.5], [5.5]])
    found = distance(dataset(a), dataset(b), one_to_one=True)
    assert found.probability.tolist() == [0.5, 0.5, 0.5, 0.5]
    assert found.candidates.tolist() == [2, 2, 2, 2]


def test_one_to_one_says_how_large_files_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsveil.attack.one_to_one.ASSIGNED", 3)
    with pytest.raises(InputError, match="at most 3 records"):
        distance(dataset(np.zeros((4, 1))), dataset(np.zeros((4, 1))), one_to_one=True)


def test_blocking_is_approximate_and_says_so() -> None:
    rng = np.random.default_rng(4)
    a = rng.normal(size=(400, 3))
    b = a + rng.normal(0, 0.05, a.shape)
    exact = distance(dataset(a), dataset(b))
    some = distance(dataset(a), dataset(b), blocking=60)
    assert some.approximate
    assert "approximate" in repr(some)
    assert not exact.approximate
    assert 0.8 * exact.correct < some.correct
    everything = distance(dataset(a), dataset(b), blocking=400)
    assert np.array_equal(everything.link, exact.link)
    assert everything.correct == exact.correct


def test_bad_requests_are_refused_with_what_to_do() -> None:
    data = dataset(np.eye(3))
    with pytest.raises(ParameterError, match=r"no column or block 'y'[\s\S]*columns available: 'x0'"):
        distance(data, data, known=["y"])
    with pytest.raises(ParameterError, match="known more than once: 'x0'"):
        distance(data, data, known=["b0", "x0"])
    with pytest.raises(ParameterError, match="at least one attribute"):
        distance(data, data, known=[])
    with pytest.raises(InputError, match="truth"):
        distance(data, dataset(np.eye(4)[:, :3]))
    with pytest.raises(ParameterError, match=r"'metric' parameter[\s\S]*weight of 'z'"):
        distance(data, data, metric="l7", weights={"z": 1.0})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="numbers of known attributes from 1 to 3"):
        checked_counts([4], 3)
    other = tv.Dataset.from_arrays({"y": np.eye(3)})
    with pytest.raises(InputError, match="the release has no column 'x0'"):
        distance(data, other)
