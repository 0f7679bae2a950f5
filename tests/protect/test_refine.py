from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_refine
import tsveil as tv
from naive_parts import parts_of
from tsveil._kernels import refine as kernels
from tsveil.core.errors import ParameterError
from tsveil.core.randomness import generator, sub_seed
from tsveil.core.types import Array, Indices
from tsveil.protect import _refine, mdav
from tsveil.protect._mdav_exact import exact_groups
from tsveil.protect._refine import Budget, list_near, make_state, near_rows, refined_groups
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
    # means of values that are large against their differences are only known to a few digits
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
    state = make_state(Z, groups, k)
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
    state = make_state(Z, exact_groups(Z, 4), 4)
    _refine.at_rest(state, 4)
    kept = {name: getattr(state, name).copy() for name in ("labels", "sizes", "changed", "means", "sse", "near_slots")}
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
            assert not used[state.slots[kernels.EMPTY, : state.counts[kernels.FREE]]].any()


def searched(Z: Array, k: int, trials: int) -> Indices:
    state = make_state(Z, exact_groups(Z, k), k)
    _refine.at_rest(state, k)
    _refine.search(state, k, np.random.default_rng(0), Budget(None, trials))
    return state.labels


@pytest.mark.parametrize(("n", "columns", "k"), [(300, 3, 3), (90, 2, 5), (700, 8, 2)])
def test_a_search_finds_the_same_with_any_number_of_threads(
    n: int, columns: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the same as one trial after another."""
    Z = np.random.default_rng(n).normal(size=(n, columns))
    made, kept = _refine.make_trials, 0

    def one_by_one(states: Any, k: int, records: Indices, kinds: Indices, picks: Array, crew: Any) -> None:
        nonlocal kept
        for row in range(len(records)):
            one = slice(row, row + 1)
            kept += kernels.attempt(states[0], k, records[one], kinds[one], picks[one], True) == 0

    monkeypatch.setenv("TSVEIL_THREADS", "1")
    monkeypatch.setattr(_refine, "make_trials", one_by_one)
    plain = searched(Z, k, 1500)
    assert kept > 5
    monkeypatch.setattr(_refine, "make_trials", made)
    for threads, ahead in ((1, 32), (2, 32), (3, 5), (7, 1), (2, 200)):
        monkeypatch.setenv("TSVEIL_THREADS", str(threads))
        monkeypatch.setattr(_refine, "AHEAD", ahead)
        np.testing.assert_array_equal(searched(Z, k, 1500), plain)


def test_the_state_is_consistent_after_a_search() -> None:
    Z = np.random.default_rng(4).normal(size=(400, 3))
    state = make_state(Z, exact_groups(Z, 3), 3)
    _refine.at_rest(state, 3)
    _refine.search(state, 3, np.random.default_rng(0), Budget(None, 2000))
    for g in np.flatnonzero(state.sizes):
        members = np.flatnonzero(state.labels == g)
        np.testing.assert_array_equal(state.members[g, : state.sizes[g]], members)
        np.testing.assert_allclose(state.means[g], Z[members].mean(axis=0), rtol=1e-12, atol=1e-14)
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


def test_near_rows_end_where_there_are_no_more() -> None:
    C = np.array([[0.0], [1.0], [3.0]])
    assert near_rows(C, 4).tolist() == [[1, 2, -1, -1], [0, 2, -1, -1], [1, 0, -1, -1]]


def test_the_state_begins_with_the_given_groups() -> None:
    Z = np.random.default_rng(4).normal(size=(50, 3))
    groups = exact_groups(Z, 4)
    state = make_state(Z, groups, 4)
    many = groups.max() + 1
    assert state.sizes[:many].tolist() == np.bincount(groups).tolist()
    assert not state.sizes[many:].any()
    for g in range(many):
        members = np.flatnonzero(groups == g)
        assert state.members[g, : len(members)].tolist() == members.tolist()
        assert np.allclose(state.means[g], Z[members].mean(axis=0))
        assert state.sse[g] == pytest.approx(((Z[members] - Z[members].mean(axis=0)) ** 2).sum())
    assert state.labels is not groups
    free = state.slots[kernels.EMPTY, : state.counts[kernels.FREE]].tolist()
    assert sorted(free) == list(range(many, len(state.sizes)))
    # Room for every group that k allows, and for the small ones of a trial.
    assert len(state.sizes) >= 50 // 4 + state.near_slots.shape[1] + 1
    assert state.members.shape[1] >= 8
    assert state.near_slots.shape[1] == min(10, many - 1)
    list_near(state)
    assert sorted(state.slots[kernels.QUEUE, :many].tolist()) == list(range(many))
    assert state.counts[kernels.QUEUED] == many
    assert state.counts[kernels.HEAD] == 0
    assert state.slots[kernels.WAITS, :many].tolist() == [1] * many
    assert not state.slots[kernels.WAITS, many:].any()
    assert np.array_equal(state.near_slots[:many], near_rows(state.means[:many], state.near_slots.shape[1]))
    assert (state.near_slots[many:] == -1).all()
    assert (state.rested == -1).all()


def test_a_part_gets_its_share_of_the_budget() -> None:
    assert Budget(10.0, 100).share(25, 100, 2) == Budget(5.0, 25)
    assert Budget(10.0, 100).share(60, 100, 2) == Budget(10.0, 60)  # no more than the whole
    assert Budget(10.0, 100).share(50, 100, 2) == Budget(10.0, 50)
    assert Budget(None, 7).share(1, 3, 1) == Budget(None, 3)  # rounded up: no part goes without
    assert Budget(None, 6).share(1, 3, 1) == Budget(None, 2)
    assert Budget(None, 1).share(1, 1000, 1) == Budget(None, 1)
    assert Budget().share(25, 100, 2) == Budget()
    assert Budget(3.0).share(1, 6, 1) == Budget(0.5)


class SweepOptions:
    """Stands for the kernel of trials and notes what it is asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.records: list[list[int]] = []
        self.kinds: list[Indices] = []
        self.rests = 0
        monkeypatch.setattr(kernels, "attempt", self.attempt)
        rest = _refine.at_rest

        def resting(state: Any, k: int) -> float:
            self.rests += 1
            return rest(state, k)

        monkeypatch.setattr(_refine, "at_rest", resting)

    def attempt(self, state: Any, k: int, records: Indices, kinds: Indices, picks: Array, one: bool) -> int:
        assert one
        assert len(records) == len(kinds) == len(picks)
        assert picks.shape[1] == 2 * (kinds.shape[1] - 1)  # where each step after the first begins
        self.records.append(records.tolist())
        self.kinds.append(kinds)
        return -1

    def __len__(self) -> int:
        return sum(map(len, self.records))


def searched_with(monkeypatch: pytest.MonkeyPatch, budget: Budget, n: int = 60, k: int = 3) -> SweepOptions:
    Z = np.random.default_rng(4).normal(size=(n, 3))
    state = make_state(Z, exact_groups(Z, k), k)
    trials = SweepOptions(monkeypatch)
    monkeypatch.setenv("TSVEIL_THREADS", "1")
    _refine.search(state, k, np.random.default_rng(0), budget)
    return trials


def test_the_budget_is_used_up_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    short = searched_with(monkeypatch, Budget(None, 300))
    assert list(map(len, short.records)) == [256, 44]
    assert short.rests == 1  # fresh lists after as many trials as there are groups, or a batch of them
    assert searched_with(monkeypatch, Budget(None, 256)).rests == 0
    many = searched_with(monkeypatch, Budget(None, 1024), n=1200)
    assert list(map(len, many.records)) == [256] * 4
    assert many.rests == 1  # 400 groups: after 512 trials
    # A longer search begins as a shorter one.
    longer = searched_with(monkeypatch, Budget(None, 600))
    assert [row for part in longer.records for row in part][:300] == [row for part in short.records for row in part]
    assert len(searched_with(monkeypatch, Budget())) == 50 * 20  # 50 for each of the 20 groups


def test_trials_have_up_to_three_steps_of_both_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = searched_with(monkeypatch, Budget(None, 1024))
    kinds = np.concatenate(trials.kinds)
    assert kinds.shape == (1024, 3)
    steps = (kinds > 0).sum(axis=1)
    assert np.array_equal(np.unique(steps), [1, 2, 3])
    assert np.bincount(steps)[1:].min() > 280
    assert (np.diff((kinds > 0).astype(int), axis=1) <= 0).all()  # what comes after the last step is none
    shares = np.bincount(kinds[kinds > 0], minlength=3)
    assert set(np.unique(kinds[kinds > 0]).tolist()) == {kernels.DISSOLVE, kernels.FORM}
    assert shares[shares > 0].min() > 0.45 * shares.sum()
    assert set(np.unique([row for part in trials.records for row in part])) == set(range(60))


def test_a_search_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100, 200))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    assert len(searched_with(monkeypatch, Budget(3.0))) == 2 * 256  # begun at 0, looked at 1, 2 and 3
    assert len(searched_with(monkeypatch, Budget(3.0, 300))) == 300
    assert len(searched_with(monkeypatch, Budget(1.0, 300))) == 0


def test_rounds_of_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    Z = np.random.default_rng(4).normal(size=(300, 2))
    groups = exact_groups(Z, 3)
    calls: list[int] = []
    attempt = kernels.attempt

    def counted(state: Any, k: int, records: Indices, kinds: Indices, picks: Array, one: bool) -> int:
        assert not one
        calls.append(int(kinds[0, 0]) if len(kinds) else 0)
        return int(attempt(state, k, records, kinds, picks, one))

    monkeypatch.setattr(kernels, "attempt", counted)

    def rounds(hurried: bool = False) -> int:
        calls.clear()
        found = refined_groups(Z, groups, 3, "swap", np.random.default_rng(), hurried=hurried)
        check(Z, 3, found)
        assert len(calls) % 2 == 0
        assert calls[:2] == [kernels.DISSOLVE, kernels.FORM]
        return len(calls) // 2

    assert rounds(hurried=True) == 1
    several = rounds()
    assert 1 < several <= _refine.ROUNDS
    monkeypatch.setattr(_refine, "LARGE", 300)
    assert rounds() == several
    monkeypatch.setattr(_refine, "LARGE", 299)
    assert rounds() == 1


def test_one_group_or_no_wish_leaves_all_as_it_is() -> None:
    Z = np.random.default_rng(4).normal(size=(9, 2))
    for k, how in ((5, "swap"), (5, "search"), (2, "none")):
        groups = exact_groups(Z, k)
        assert refined_groups(Z, groups, k, how, np.random.default_rng()) is groups  # type: ignore[arg-type]
    better = refined_groups(
        np.array([[0.0], [9.0], [9.0], [0.0]]), np.array([0, 1, 0, 1]), 2, "swap", np.random.default_rng()
    )
    assert better.tolist() in ([0, 1, 1, 0], [1, 0, 0, 1])


def walks(n: int = 400) -> Array:
    return np.random.default_rng(5).normal(size=(n, 3)).cumsum(axis=1)


def cuts_of(method: tv.MDAV, space: Array) -> list[Indices]:
    """The records of each part."""
    ((_, parts),) = parts_of(method, tv.Dataset.from_arrays({"x": space}))
    return parts


def in_parts(space: Array, k: int = 4, **settings: Any) -> tv.Release:
    return tv.MDAV(k=k, mode="partitioned", part=100, **settings).protect(tv.Dataset.from_arrays({"x": space}), seed=8)


def test_parts_are_numbered_one_after_the_other() -> None:
    space = walks()
    release = in_parts(space, refine="none")
    groups = release.groups["x"]
    cuts = cuts_of(tv.MDAV(k=4, mode="partitioned", part=100), space)
    assert release.facts["x"]["parts"] == len(cuts) > 1
    label = 0
    for rows in cuts:
        own = exact_groups(space[rows], 4)
        assert np.array_equal(groups[rows], label + own)
        label += own.max() + 1
    assert np.array_equal(np.unique(groups), np.arange(label))
    paper = in_parts(space, variant="paper").groups["x"]
    assert np.array_equal(paper[cuts[0]], exact_groups(space[cuts[0]], 4, variant="paper"))
    # A part holds at least the 2k - 1 records that one group may have.
    wide = cuts_of(tv.MDAV(k=80, mode="partitioned", part=100), space)
    assert len(wide) == in_parts(space, k=80).facts["x"]["parts"] == round(400 / 159)


def test_parts_are_refined_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    space = walks()
    cuts = cuts_of(tv.MDAV(k=4, mode="partitioned", part=100), space)
    for how, iterations in (("swap", None), ("search", 90)):
        found = in_parts(space, refine=how, iterations=iterations).groups["x"]
        label = 0
        for at, rows in enumerate(cuts):
            # Random numbers and a share of the budget of its own.
            draws, budget = generator(sub_seed(8, 0, at)), Budget(None, iterations)
            own = refined_groups(
                space[rows], exact_groups(space[rows], 4), 4, how, draws, budget.share(len(rows), 400, 1)  # type: ignore[arg-type]
            )  # fmt: skip
            assert np.array_equal(found[rows], label + own)
            label += own.max() + 1
    told: list[bool] = []

    def noted(Z: Array, groups: Indices, *_: Any, hurried: bool) -> Indices:
        told.append(hurried)
        return groups

    monkeypatch.setattr(mdav, "refined_groups", noted)
    for large, expected in ((400, False), (399, True)):
        told.clear()
        monkeypatch.setattr(mdav, "LARGE", large)
        in_parts(space, refine="swap")
        assert told == [expected] * len(cuts)


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
    plain = tv.MDAV(k=4, distance=distance, grouping=grouping, mode=mode, part=100, refine="none")
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
    plain, better = (tv.MDAV(k=4, grouping="per-block", refine=how).protect(data) for how in ("none", "swap"))
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
