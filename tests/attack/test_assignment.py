"""The one-to-one assignment of score cards against all assignments of tiny files, and how many persons it knows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import naive_attacks
import tsveil as tv
from tsveil.attack import assignment
from tsveil.attack.base import Finding, Rung, Shape
from tsveil.attack.files import on_one_scale
from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block


def ladder_of(card: tv.Scorecard) -> dict[Rung, Finding]:
    return {one.rung: one for one in card.ladder if one.attack == "one-to-one"}


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_least_of_all_assignments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    x = rng.normal(size=(n, 2)) if seed % 2 else rng.integers(0, 3, (n, 2)).astype(float)
    y = x + rng.normal(size=x.shape) if seed % 4 < 2 else rng.permutation(x)
    found = ladder_of(tv.evaluate(naive_attacks.dataset(x), naive_attacks.dataset(y)))[Rung.FILE]
    a, b, factor = on_one_scale(x, y)
    cost = np.sqrt((((a[:, None] - b[None]) * factor) ** 2).sum(axis=2))
    total = {rows: sum(cost[i, row] for i, row in enumerate(rows)) for rows in permutations(range(n))}
    least = [rows for rows in total if total[rows] <= min(total.values()) + 1e-9]
    alike = np.array([[np.array_equal(one, other) for other in y] for one in y])
    same = np.array([[np.array_equal(one, other) for other in x] for one in x])
    classes = {tuple(int(np.flatnonzero(alike[row])[0]) for row in rows) for rows in least}
    kinds = {tuple(sorted((int(np.flatnonzero(same[i])[0]), at) for i, at in enumerate(one))) for one in classes}
    assert found.targets == n
    if len(kinds) > 1:  # assignments that really differ cost the same: which one is found is not said
        return
    expected = np.zeros(n)
    for i in range(n):
        rows = [next(iter(classes))[j] for j in np.flatnonzero(same[i])]
        expected[i] = np.mean([alike[row, i] / alike[row].sum() for row in rows])
    assert found.scores == pytest.approx(expected)
    assert found.rate == pytest.approx(100 * expected.mean())


def noisy(n: int, columns: int = 5) -> tuple[tv.Dataset, tv.Dataset, Array]:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, columns))
    return naive_attacks.dataset(x), naive_attacks.dataset(x + rng.normal(size=x.shape) / 2), x


def test_it_finds_more_than_each_by_itself() -> None:
    original, released, _ = noisy(300)
    card = tv.evaluate(original, released)
    found, alone = ladder_of(card), card.by_known["DLD"][-1]
    assert found[Rung.FILE].rate > 1.2 * alone
    assert alone < found[Rung.SHARE].rate < found[Rung.FILE].rate
    assert found[Rung.SHARE].targets == 300  # each half by itself
    assert all(one.complete for one in found.values())


def test_of_many_records_a_sample_of_persons_is_given_any_of_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    original, released, _ = noisy(400)
    everybody = ladder_of(tv.evaluate(original, released))
    monkeypatch.setattr(assignment, "EVERYBODY", 399)
    monkeypatch.setattr(assignment, "PAIRS", 400 * 50)
    monkeypatch.setattr(assignment, "FEWEST", 50)
    some = ladder_of(tv.evaluate(original, released))
    assert some[Rung.SHARE].targets == some[Rung.FILE].targets == 50
    assert not some[Rung.FILE].complete
    assert np.array_equal(some[Rung.SHARE].scores, some[Rung.FILE].scores)
    # With fewer known there are fewer to rule out, never fewer to choose from.
    assert some[Rung.FILE].rate < everybody[Rung.FILE].rate
    monkeypatch.setattr(assignment, "FEWEST", 51)
    card = tv.evaluate(original, released)
    assert not ladder_of(card)
    assert "linkage one to one, which is not tried above" in card.options["not measured"]


def test_representatives_need_no_assignment_of_everybody() -> None:
    original, _, _ = noisy(60)
    found = ladder_of(tv.evaluate(original, tv.MDAV(k=4).protect(original)))
    assert list(found) == [Rung.SHARE]
    assert found[Rung.SHARE].rate <= 25


def right_links(cost: Array, known: Indices) -> int:
    """How many of some persons the best assignment links right."""
    person, row = linear_sum_assignment(cost)
    return int((known[person] == row).sum())


@pytest.mark.parametrize("deviations", [0.2, 0.9])
@pytest.mark.parametrize(("correlated", "columns"), [(False, [6]), (True, [6]), (False, [30, 3]), (True, [2, 4])])
def test_noise_of_a_known_size_is_assigned_by_likelihood_and_by_distance(
    correlated: bool, columns: list[int], deviations: float
) -> None:
    """The better of both counts, at each rung."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(100, sum(columns))) @ rng.normal(size=(sum(columns),) * 2)
    original = naive_attacks.dataset(x, blocks=columns)
    release = tv.Noise(sd=deviations, correlated=correlated).protect(original, seed=1)
    found, y = ladder_of(tv.evaluate(original, release)), release.data.values
    density = "normal" if max(columns) <= 25 else "none"
    likely = naive_attacks.likelihoods(x, y, columns, deviations, correlated, density)

    def apart(known: Indices) -> Array:
        if correlated:
            return np.sqrt(naive_attacks.likelihoods(x[known], y, columns, 1.0, True, "none"))
        a, b, factor = on_one_scale(x[known], y)
        found: Array = np.sqrt((((a[:, None] - b[None]) * factor) ** 2).sum(axis=2))
        return found

    first = chosen_rows(border_of(np.arange(100), 50), np.arange(100))
    for rung, parts in {
        Rung.FILE: [np.arange(100)],
        Rung.SHARE: [np.flatnonzero(first), np.flatnonzero(~first)],
    }.items():
        by_likelihood = sum(right_links(likely[part], part) for part in parts)
        by_distance = sum(right_links(apart(part), part) for part in parts)
        assert found[rung].rate == pytest.approx(max(by_likelihood, by_distance))


def test_correlations_are_taken_out_of_known_columns() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    original = naive_attacks.dataset(x)
    release = tv.Noise(sd=0.6, correlated=True).protect(original, seed=1)
    found = ladder_of(tv.evaluate(original, release))[Rung.FILE]
    plain = tv.attack.distance(original, release, one_to_one=True)
    assert found.rate > 1.5 * plain.rate
    # By hand: the inverse of the published covariance between all pairs, and the best assignment.
    y = release.data.values
    difference = x[:, None] - y[None]
    cost = np.sqrt(np.einsum("ijk,kl,ijl->ij", difference, np.linalg.inv(np.cov(y.T)), difference))
    person, row = linear_sum_assignment(cost)
    made = assignment.Assignment(correlated=True)
    assert made.links(original, release).rate == pytest.approx(100 * (person == row).mean())


def test_series_are_compared_one_by_one() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 12))
    y = x + rng.normal(size=x.shape)
    data = [tv.Dataset.from_arrays({"a": one[:, :6], "b": one[:, 6:]}) for one in (x, y)]
    found = ladder_of(tv.evaluate(*data))[Rung.FILE]
    assert found.rate == pytest.approx(tv.attack.series(*data, one_to_one=True).rate)


def test_it_fits_any_release() -> None:
    release = Shape(10, [Block("a", ("a",))])
    made = assignment.Assignment.fit(release, ())
    assert made is not None
    assert not made.everybody
    unknown = assignment.Assignment.fit(release, None)
    assert unknown is not None
    assert unknown.everybody
