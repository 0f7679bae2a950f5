"""Linkage by sides of projections and the assignment along them against slow twins, and what they find where the published line is another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import naive_attacks
import naive_sides
import tsveil as tv
from tsveil.attack.assignment import AlongLine
from tsveil.attack.base import Rung, RunsOfProjections, Shape
from tsveil.attack.lines import Line, variance_inside
from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.types import Array
from tsveil.data.dataset import Block


def drawn(seed: int, n: int, columns: int) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, 1)) + rng.normal(size=(n, columns))) * 10.0 ** rng.integers(-3, 4, columns) + 5


@given(
    seed=st.integers(0, 10**6), n=st.integers(12, 40), blocks=st.lists(st.integers(2, 4), min_size=1, max_size=2), projection=st.sampled_from(["pcp", "zscores"])
)  # fmt: skip
@settings(max_examples=40)
def test_it_is_its_slow_twin(seed: int, n: int, blocks: list[int], projection: str) -> None:
    x = drawn(seed, n, sum(blocks))
    data = naive_attacks.dataset(x, blocks=blocks)
    release = tv.Projected(k=3, projection=projection).protect(data)  # type: ignore[arg-type]
    y = release.data.values
    scores = np.zeros((n, n))
    for start, stop in zip(np.cumsum([0, *blocks]), np.cumsum(blocks), strict=False):
        mean, deviation, vector = naive_sides.rebuilt(y[:, start:stop], projection)
        a, b = (((table[:, start:stop] - mean) / deviation @ vector).round(9)[:, None] for table in (x, y))
        scores += np.array(naive_sides.scores(a, b, True)) / 2**16
    found = tv.attack.projection_sides(data, release, projection=projection)  # type: ignore[arg-type]
    for i in range(n):
        best = np.flatnonzero(scores[i] == scores[i].max())
        # Rounding decides between rows that are about as likely.
        if len(best) == (scores[i] > scores[i].max() - 0.001).sum():
            assert found.link[i] in best
            assert found.probability[i] == pytest.approx((i in best) / len(best))


@given(seed=st.integers(0, 10**6), n=st.integers(16, 30), projection=st.sampled_from(["pcp", "zscores"]))
@settings(max_examples=15)
def test_who_knows_many_weighs_as_the_slow_twin_does(seed: int, n: int, projection: str) -> None:
    x = drawn(seed, n, 3)
    y = tv.Projected(k=3, projection=projection).protect(naive_attacks.dataset(x, blocks=[3])).data.values  # type: ignore[arg-type]
    known = x[: n - 3]
    found = AlongLine.of(known, y, projection).table(known, y)
    z, rows = ((table - known.mean(axis=0)) / known.std(axis=0, ddof=1) for table in (known, y))
    vector = np.linalg.eigh(z.T @ z)[1][:, -1] if projection == "pcp" else np.ones(3)
    a, b = ((table @ vector).round(9)[:, None] for table in (z, rows))
    expected = np.array(naive_sides.scores(a, b, True)) / 2**16 - naive_sides.bell(known, y) / 2
    assert found == pytest.approx(expected, abs=0.01, rel=1e-6)


def test_few_known_persons_fit_no_bell() -> None:
    x = drawn(3, 60, 5)
    y = tv.Projected(k=5).protect(naive_attacks.dataset(x, blocks=[5])).data.values
    assert AlongLine.of(x[:19], y, "pcp").bell is None
    assert AlongLine.of(x[:20], y, "pcp").bell is not None


@pytest.mark.parametrize("projection", ["pcp", "zscores"])
def test_the_assignment_is_by_distance_or_along_the_line_whichever_finds_more(projection: str) -> None:
    x = drawn(9, 120, 4)
    data = naive_attacks.dataset(x, blocks=[4])
    release = tv.Projected(k=4, projection=projection).protect(data)  # type: ignore[arg-type]
    y = release.data.values
    (found,) = (one for one in tv.evaluate(data, release).ladder if one.attack == "one-to-one")
    assert found.rung is Rung.SHARE
    first = chosen_rows(border_of(np.arange(120), 60), np.arange(120))
    right = {"line": 0.0, "distance": 0.0}
    alike = (y[:, None] == y[None]).all(axis=2)
    wide = x.std(axis=0, ddof=1)
    for half in (np.flatnonzero(first), np.flatnonzero(~first)):
        away = (((x[half, None] - y[None]) / wide) ** 2).sum(axis=2) ** 0.5
        for name, cost in (("line", -AlongLine.of(x[half], y, projection).table(x[half], y)), ("distance", away)):
            person, row = linear_sum_assignment(cost)
            right[name] += float((alike[half[person], row] / alike[row].sum(axis=1)).sum())
    assert right["line"] > 1.3 * right["distance"]
    assert found.rate == pytest.approx(right["line"] / 1.2, rel=0.02)


def test_the_line_is_rebuilt_where_columns_lose_different_parts_of_their_deviation() -> None:
    """Two columns follow the line and four do not: these lose most of their deviation in groups, and the published line gives them too much weight."""
    rng = np.random.default_rng(2)
    common = rng.normal(size=(800, 1))
    x = np.hstack([common + 0.3 * rng.normal(size=(800, 3)), 0.5 * common + rng.normal(size=(800, 4))])
    data = naive_attacks.dataset(x, blocks=[7])
    y = tv.Projected(k=6, projection="zscores").protect(data).data.values
    true = Line.of(x, "zscores").place(x)
    rebuilt, published = (np.corrcoef(line.place(x), true)[0, 1] for line in (Line.rebuilt(y, "zscores"), Line.of(y, "zscores")))  # fmt: skip
    assert 1 - rebuilt < (1 - published) / 2
    inside = variance_inside(np.zeros((2, 3)), np.array([4, 4]))
    assert inside.tolist() == [0, 0, 0]


def test_it_looks_at_no_other_person() -> None:
    x = drawn(5, 90, 4)
    y = tv.Projected(k=5).protect(naive_attacks.dataset(x, blocks=[4])).data.values
    together = tv.attack.projection_sides(*naive_attacks.pair_of_files(x, y, list(range(90)))[:2])
    for person in (0, 44, 89):
        original, released, truth = naive_attacks.pair_of_files(x[[person]], y, [person])
        alone = tv.attack.projection_sides(original, released, truth=truth)
        assert alone.link[0] == together.link[person]


def test_the_method_says_by_what_it_sorts() -> None:
    release = Shape(100, [Block("a", ("x", "y"))])
    assert RunsOfProjections("zscores") in (tv.Projected(projection="zscores").traces(release) or ())
    for other in (tv.Projected(projection="owa"), tv.Projected(scale="range")):
        assert not any(isinstance(trace, RunsOfProjections) for trace in other.traces(release) or ())
