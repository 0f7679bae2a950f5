from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_refine
import tsveil as tv
from tsveil._kernels import refine as kernels
from tsveil._types import Array, Indices
from tsveil.errors import ParameterError
from tsveil.protect import _refine
from tsveil.protect._mdav_exact import exact_groups
from tsveil.protect._refine import Budget, near_rows, opened, refined_groups
from tsveil.transform.statistics import slopes

values = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-30, 30).map(lambda i: i / 10),
    st.sampled_from([0.0, 1 / 3, 1 - 2 / 3, 1e-150, 1e9, 1e9 + 1, 1e140, -1e140]),
    st.floats(-1e6, 1e6),
)
tables = st.tuples(st.integers(2, 40), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=values)
)


def refined(Z: Array, k: int, how: Any = "swap", iterations: int = 60, seed: int = 1) -> Indices:
    return refined_groups(
        Z,
        exact_groups(Z, k),
        k,
        how,
        np.random.default_rng(seed),
        Budget(None, iterations if how == "search" else None),
    )


def check(Z: Array, k: int, groups: Indices) -> None:
    """Numbered from 0, none too small or needlessly large, and no worse than MDAV."""
    sizes = np.bincount(groups)
    assert len(groups) == len(Z)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    scale = max(1.0, float(np.abs(Z).max()))
    mdav = naive_refine.sse(Z / scale, exact_groups(Z, k))
    # means of values that are large against their differences are only known to so many digits
    assert naive_refine.sse(Z / scale, groups) <= mdav * (1 + 1e-9) + len(Z) * 1e-28


@given(tables, st.integers(2, 9), st.sampled_from(["swap", "search"]))
def test_any_input_keeps_k_and_loses_no_more_than_mdav(Z: Array, k: int, how: str) -> None:
    k = min(k, len(Z))
    check(Z, k, refined(Z, k, how))


def kinds(rng: np.random.Generator, n: int, d: int) -> dict[str, Array]:
    normal = rng.normal(size=(n, d))
    return {
        "normal": normal,
        "walks": normal.cumsum(axis=1),
        "heavy tails": rng.standard_cauchy((n, d)),
        "one enormous record": np.vstack([normal[1:], np.full(d, 1e14)]),
        "two far clusters": 1e9 * rng.integers(0, 2, (n, 1)) + normal,
        "an offset": 1e12 + normal,
        "small integers": rng.integers(0, 3, (n, d)).astype(float),
        "duplicates": normal[rng.integers(0, n // 5, n)],
        "constant": np.full((n, d), 0.1),
        "constant but for rounding": 1.0 + rng.integers(0, 3, (n, d)) * 2.0**-52,
        "tiny": 1e-140 * normal,
        "huge": 1e140 * normal,
    }


@pytest.mark.parametrize("shape", [(150, 1), (200, 3), (120, 30)])
@pytest.mark.parametrize("kind", kinds(np.random.default_rng(0), 10, 1))
def test_data_of_every_sort(kind: str, shape: tuple[int, int]) -> None:
    Z = kinds(np.random.default_rng(5), *shape)[kind]
    for k in (2, 3, 10, 74, 75, 119, 120):
        for how in ("swap", "search"):
            check(Z, k, refined(Z, k, how))


def test_tight_groups_of_real_size() -> None:
    Z = np.random.default_rng(2).normal(size=(1000, 4))
    before = naive_refine.sse(Z, exact_groups(Z, 5))
    swap = naive_refine.sse(Z, refined(Z, 5))
    search = naive_refine.sse(Z, refined(Z, 5, "search", 3000))
    assert search < swap < 0.9 * before


@settings(max_examples=25)
@given(arrays(np.float64, (8, 2), elements=st.integers(-9, 9).map(float)), st.integers(2, 4))
def test_never_below_the_optimum(Z: Array, k: int) -> None:
    best = naive_refine.optimum(Z, k)
    found = naive_refine.sse(Z, refined(Z, k, "search", 300))
    assert found >= best * (1 - 1e-12)


def test_the_optimum_is_found_for_few_records() -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(10):
        Z = rng.normal(size=(8, 2))
        hits += naive_refine.sse(Z, refined(Z, 2, "search", 300)) <= naive_refine.optimum(Z, 2) * (1 + 1e-12)
    assert hits >= 9


# -- the change of SSE, predicted and recomputed ------------------------------------------------------------------------


@given(tables, st.integers(2, 6), st.randoms(use_true_random=False))
def test_the_predicted_change_is_the_recomputed_one(Z: Array, k: int, random: Any) -> None:
    Z = np.clip(Z, -1e6, 1e6)
    k = min(k, len(Z) // 2)
    if k < 2:
        return
    groups = exact_groups(Z, k)
    sizes = np.bincount(groups)
    means = np.array([Z[groups == g].mean(axis=0) for g in range(len(sizes))])
    before = naive_refine.sse(Z, groups)
    scale = max(before, float((Z**2).sum()))

    def away(i: int, g: int) -> float:
        return float(((Z[i] - means[g]) ** 2).sum())

    for _ in range(10):
        i, j = random.randrange(len(Z)), random.randrange(len(Z))
        g, h = int(groups[i]), int(groups[j])
        if g == h:
            continue
        moved, swapped = groups.copy(), groups.copy()
        moved[i], swapped[i], swapped[j] = h, h, g
        predicted = kernels.changed_by_move(int(sizes[g]), int(sizes[h]), away(i, g), away(i, h))
        assert predicted == pytest.approx(naive_refine.sse(Z, moved) - before, rel=1e-9, abs=1e-11 * scale)
        apart = float(((Z[i] - Z[j]) ** 2).sum())
        predicted = kernels.changed_by_swap(
            int(sizes[g]), int(sizes[h]), away(i, g), away(i, h), away(j, h), away(j, g), apart
        )
        assert predicted == pytest.approx(naive_refine.sse(Z, swapped) - before, rel=1e-9, abs=1e-11 * scale)


@given(tables, st.integers(2, 5))
def test_the_best_change_of_two_groups(Z: Array, k: int) -> None:
    """The kernel with its bounds finds what trying all moves and swaps finds, and what it says is what is recomputed."""
    Z = np.clip(Z, -1e3, 1e3)
    k = min(k, len(Z) // 2)
    if k < 2:
        return
    groups = exact_groups(Z, k)
    if groups.max() < 1:
        return
    state = opened(Z, groups, k)
    before = naive_refine.sse(Z, groups)
    best, left, right = kernels.best_change(state, k, 0, 1)
    changes = [0.0]
    first, second = np.flatnonzero(groups == 0), np.flatnonzero(groups == 1)
    trials = [({int(i): 1, int(j): 0}) for i in first for j in second]
    if len(first) > k and len(second) < 2 * k - 1:
        trials += [{int(i): 1} for i in first]
    if len(second) > k and len(first) < 2 * k - 1:
        trials += [{int(j): 0} for j in second]
    for trial in trials:
        changed = groups.copy()
        changed[list(trial)] = list(trial.values())
        changes.append(naive_refine.sse(Z, changed) - before)
    slack = 1e-8 * max(1.0, before)
    if left < 0 and right < 0:
        assert min(changes) >= -slack
        return
    assert best == pytest.approx(min(changes), abs=slack)
    kernels.exchange(state, 0, 1, left, right)
    assert state.sse.sum() - before == pytest.approx(best, abs=slack)


def test_a_trial_that_fails_leaves_no_trace() -> None:
    Z = np.random.default_rng(3).normal(size=(300, 3))
    state = opened(Z, exact_groups(Z, 4), 4)
    _refine.at_rest(state, 4)
    kept = {name: getattr(state, name).copy() for name in ("labels", "sizes", "centres", "sse", "near", "changed")}
    for record in range(0, 300, 7):
        for forms in (True, False):
            if forms:
                kernels.form(state, 4, record)
            else:
                kernels.scatter(state, 4, int(state.labels[record]))
            kernels.undo(state)
            for name, old in kept.items():
                np.testing.assert_array_equal(getattr(state, name), old, err_msg=name)
            used = state.sizes > 0
            assert state.counts[kernels.FREE] == (~used).sum()
            assert not used[state.free[: state.counts[kernels.FREE]]].any()


def test_the_state_is_consistent_after_a_search() -> None:
    Z = np.random.default_rng(4).normal(size=(400, 3))
    state = opened(Z, exact_groups(Z, 3), 3)
    _refine.at_rest(state, 3)
    _refine.searched(state, 3, np.random.default_rng(0), Budget(None, 2000))
    for g in np.flatnonzero(state.sizes):
        members = np.flatnonzero(state.labels == g)
        np.testing.assert_array_equal(state.members[g, : state.sizes[g]], members)
        np.testing.assert_allclose(state.centres[g], Z[members].mean(axis=0), rtol=1e-12, atol=1e-14)
    assert state.sse[state.sizes > 0].sum() == pytest.approx(naive_refine.sse(Z, state.labels), rel=1e-12)


def test_lists_of_near_rows_are_the_same_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    C = np.random.default_rng(6).normal(size=(700, 5))
    plain = near_rows(C, 10)
    monkeypatch.setattr(_refine, "MANY", 100)
    np.testing.assert_array_equal(near_rows(C, 10), plain)
    away = ((C[:, None] - C[None]) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    np.testing.assert_array_equal(plain, np.argsort(away, axis=1, kind="stable")[:, :10])
    ties = np.repeat(np.arange(20.0), 40)[:, None]
    assert (near_rows(ties, 10) != np.arange(800)[:, None]).all()


# -- as a method -----------------------------------------------------------------------------------------------------------


def some_data(n: int = 120) -> tv.Dataset:
    rng = np.random.default_rng(3)
    return tv.Dataset.from_arrays({"load": rng.normal(10, 3, (n, 12)).cumsum(1), "gas": rng.gamma(2, 1, (n, 10))})


@pytest.mark.parametrize("distance", ["euclidean", "sts"])
@pytest.mark.parametrize("grouping", ["per-block", "joint"])
@pytest.mark.parametrize("mode", ["exact", "partitioned"])
@pytest.mark.parametrize("how", ["swap", "search"])
def test_releases_hold_and_repeat(distance: Any, grouping: Any, mode: Any, how: Any) -> None:
    data = some_data()
    budget: dict[str, Any] = {"iterations": 80} if how == "search" else {}
    plain = tv.MDAV(k=4, distance=distance, grouping=grouping, mode=mode, part=100)
    made = tv.MDAV(k=4, distance=distance, grouping=grouping, mode=mode, part=100, refine=how, **budget)
    one, two = made.protect(data, seed=5), made.protect(data, seed=5)
    assert one.verify().holds
    np.testing.assert_array_equal(one.data.values, two.data.values)
    if grouping == "per-block":
        for block in data.blocks:
            values = data.block(block.name)
            space = slopes(values, block.times) if distance == "sts" and block.times is not None else values
            before = naive_refine.sse(space, plain.protect(data).groups[block.name])
            assert naive_refine.sse(space, one.groups[block.name]) < before


@pytest.mark.parametrize("mode", ["exact", "partitioned"])
def test_the_number_of_threads_changes_nothing(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = some_data(600)
    made = tv.MDAV(k=3, mode=mode, part=150, refine="search", iterations=300)
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("TSVEIL_THREADS", threads)
        found.append(made.protect(data, seed=9).data.values)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_seeds_matter_for_search_alone() -> None:
    data = some_data(400)
    swap, search = tv.MDAV(k=3, refine="swap"), tv.MDAV(k=3, refine="search", iterations=300)
    assert np.array_equal(swap.protect(data, seed=1).data.values, swap.protect(data, seed=2).data.values)
    assert not np.array_equal(search.protect(data, seed=1).data.values, search.protect(data, seed=2).data.values)


def test_the_report_says_what_was_saved() -> None:
    data = some_data()
    plain, better = tv.MDAV(k=4).protect(data), tv.MDAV(k=4, refine="swap").protect(data)
    assert "SSE below plain MDAV" not in plain.facts["load"]
    values = data.block("load")
    share = 1 - naive_refine.sse(values, better.groups["load"]) / naive_refine.sse(values, plain.groups["load"])
    assert better.facts["load"]["SSE below plain MDAV"] == f"{100 * share:.1f} %"
    constant = tv.Dataset.from_arrays({"x": np.ones((9, 3))})
    assert "SSE below plain MDAV" not in tv.MDAV(k=2, refine="swap").protect(constant).facts["x"]


def test_a_budget_in_seconds_ends_the_search() -> None:
    data = some_data(60)
    release = tv.MDAV(k=3, refine="search", seconds=0.05).protect(data)
    assert release.verify().holds


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"refine": "swap", "variant": "paper"}, "The 'refine' parameter of MDAV must be 'none' with variant='paper'"),
        ({"refine": "swap", "seconds": 3}, "are the budget of refine='search'"),
        ({"iterations": 3}, "are the budget of refine='search'"),
        ({"refine": "search", "seconds": 0}, "The 'seconds' parameter of MDAV must be a number above 0"),
        ({"refine": "search", "iterations": 0}, "The 'iterations' parameter of MDAV must be an integer of at least 1"),
    ],
)
def test_wrong_settings_are_told(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        tv.MDAV(k=3, **wrong)
