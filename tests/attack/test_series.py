"""Time series linkage against the definition, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import tsveil as tv
from tsveil.core.errors import InputError, ParameterError


@given(
    st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 3), st.sampled_from(["euclidean", "sts"]), st.booleans()
)
def test_links_are_those_of_the_definition(seed: int, n: int, blocks: int, distance: Any, coarse: bool) -> None:
    rng = np.random.default_rng(seed)

    def table(points: int) -> np.ndarray:
        return rng.integers(0, 3, (n, points)).astype(float) if coarse else rng.normal(size=(n, points))

    original = {f"s{b}": table(b + 2) for b in range(blocks)}
    # Few distinct protected rows, as microaggregation leaves them.
    released = {name: x[rng.integers(0, max(1, n // 2), n)] for name, x in original.items()}
    data, protected = tv.Dataset.from_arrays(original), tv.Dataset.from_arrays(released)
    for j in range(1, blocks + 1):
        known = list(original)[:j]
        links = tv.attack.series(data, protected, known=known, distance=distance, normalise="none")
        tied, link, hit = naive.series_links([original[b] for b in known], [released[b] for b in known], distance)
        assert np.array_equal(links.candidates, tied)
        assert np.array_equal(links.link, link)
        assert np.array_equal(links.hit, hit)


def test_identical_data_are_linked_completely_and_constant_data_by_chance() -> None:
    rng = np.random.default_rng(0)
    data = tv.Dataset.from_arrays({"x": rng.normal(size=(300, 6))})
    assert tv.attack.series(data, data).rate == 100.0
    flat = data.with_values(np.ones_like(data.values))
    assert tv.attack.series(data, flat).correct == pytest.approx(1.0)
    assert tv.attack.series(data, flat, distance="sts").correct == pytest.approx(1.0)


def test_k_anonymity_bounds_the_rate() -> None:
    data = tv.example("load-curves")
    for k in (3, 10):
        assert tv.attack.series(data, tv.MDAV(k=k).protect(data)).rate <= 100.0 / k


def test_more_than_one_tile_of_candidates() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(700, 5))
    noisy = x + rng.normal(0, 0.3, x.shape)
    tied, link, hit = naive.series_links([x], [noisy], "euclidean")
    links = tv.attack.series(tv.Dataset.from_arrays({"x": x}), tv.Dataset.from_arrays({"x": noisy}), normalise="none")
    assert np.array_equal(links.candidates, tied)
    assert np.array_equal(links.link, link)
    assert np.array_equal(links.hit, hit)


@given(
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(1, 3),
    st.sampled_from(["euclidean", "sts"]),
    st.booleans(),
)
def test_files_of_different_people(seed: int, n: int, m: int, blocks: int, distance: Any, coarse: bool) -> None:
    rng = np.random.default_rng(seed)

    def files(count: int) -> dict[str, np.ndarray]:
        return {
            f"s{b}": rng.integers(0, 3, (count, b + 2)).astype(float) if coarse else rng.normal(size=(count, b + 2))
            for b in range(blocks)
        }

    one, other = files(n), files(m)
    # Person i of the original is row own[i] of the release, or was not released.
    own = [int(rng.integers(0, m)) if rng.random() < 0.7 else -1 for _ in range(n)]
    if max(own) < 0:
        own[0] = 0
    original = tv.Dataset.from_arrays(one, ids=[f"a{i}" for i in range(n)])
    released = tv.Dataset.from_arrays(other, ids=[f"b{i}" for i in range(m)])
    truth = {f"a{i}": f"b{row}" for i, row in enumerate(own) if row >= 0}
    for count in range(1, len(one) + 1):
        known = list(one)[:count]
        found = tv.attack.series(original, released, known=known, truth=truth, distance=distance, normalise="none")
        tables = [(one[name], other[name]) for name in list(one)[:count]]
        if distance == "sts":
            tables = [(np.diff(a, axis=1), np.diff(b, axis=1)) for a, b in tables]
        for i in range(n):
            total = sum(np.sqrt(naive.squared_distances(b, a[i])) for a, b in tables)
            best = np.flatnonzero(total == np.min(total)).tolist()
            assert found.candidates[i] == len(best)
            assert found.link[i] == best[0]
            assert found.hit[i] == (own[i] in best)
    # A neighbourhood that holds every record misses none; only the name tells that it might have.
    around = tv.attack.series(original, released, truth=truth, distance=distance, normalise="none", blocking=2 * m)
    assert around.approximate
    assert "nearest in sum" in around.attack
    for field in ("candidates", "link", "hit"):
        assert np.array_equal(getattr(around, field), getattr(found, field))


@pytest.mark.parametrize("distance", ["euclidean", "sts", "dtw"])
def test_one_to_one_has_the_least_sum(distance: Any) -> None:
    import itertools

    import naive_series

    rng = np.random.default_rng(3)
    for n, m in [(4, 5), (5, 5), (5, 4)]:
        x, y = rng.integers(0, 4, (n, 4)).astype(float), rng.integers(0, 4, (m, 4)).astype(float)
        original = tv.Dataset.from_arrays({"x": x}, ids=[f"a{i}" for i in range(n)])
        released = tv.Dataset.from_arrays({"x": y}, ids=[f"b{i}" for i in range(m)])
        found = tv.attack.series(
            original, released, truth={"a0": "b0"}, distance=distance, normalise="none", one_to_one=True
        )
        cost = np.empty((n, m))
        for i, j in itertools.product(range(n), range(m)):
            if distance == "dtw":
                cost[i, j] = naive_series.dtw(x[i].tolist(), y[j].tolist(), 1)
            else:
                a, b = (x[i], y[j]) if distance == "euclidean" else (np.diff(x[i]), np.diff(y[j]))
                cost[i, j] = np.sqrt(np.square(a - b).sum())
        few = min(n, m)
        least = min(
            sum(cost[i, j] for i, j in zip(people, places, strict=True))
            for people in itertools.combinations(range(n), few)
            for places in itertools.permutations(range(m), few)
        )
        linked = np.flatnonzero(found.link >= 0)
        assert len(linked) == len(set(found.link[linked].tolist())) == few
        assert sum(cost[i, found.link[i]] for i in linked) == pytest.approx(least)
        assert found.attack.startswith("one-to-one")


def test_a_neighbourhood_of_warped_series() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 20)).cumsum(axis=1)
    original, released = (
        tv.Dataset.from_arrays({"x": x}),
        tv.Dataset.from_arrays({"x": x + rng.normal(0, 0.2, x.shape)}),
    )
    whole = tv.attack.series(original, released, distance="dtw")
    near = tv.attack.series(original, released, distance="dtw", blocking=40)
    assert near.approximate
    assert not whole.approximate
    assert 0.5 * whole.correct < near.correct <= 200


def test_bad_requests_say_everything_at_once() -> None:
    data = tv.Dataset.from_arrays({"x": np.eye(4), "y": np.eye(4)})
    short = tv.Dataset.from_arrays({"x": np.eye(4)[:, :3]})
    with pytest.raises(
        InputError, match=r"4 points in the original and 3 in the release[\s\S]*no series 'y' in the release"
    ):
        tv.attack.series(data, short)
    with pytest.raises(ParameterError, match=r"'distance' parameter[\s\S]*'ties' parameter"):
        tv.attack.series(data, data, distance="cosine", ties="best")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rows cannot be aligned by position"):
        tv.attack.series(data, data.take(np.arange(3)))
    with pytest.raises(ParameterError, match="either 'one_to_one' or 'blocking'"):
        tv.attack.series(data, data, one_to_one=True, blocking=3)
