"""The three kinds of rank swapping: who is swapped with whom, how likely, and what comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency

from naive_parts import parts_of
from naive_swap import (
    bucket_chances,
    bucket_sample,
    normal_sample,
    once_chances,
    once_sample,
    window_chances,
    window_sample,
)
from tsveil._kernels.rank_swap import (
    DRAWS_BELOW,
    TRIES,
    bucket_partners,
    normal_partners,
    window_partners,
    window_partners_once,
)
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.randomness import generator, secret_integers, secret_normals, secret_uniforms, sub_seed
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block, Dataset
from tsveil.protect import rank_swap, rank_swap_distribution
from tsveil.protect.base import Method
from tsveil.protect.rank_swap import RankSwap
from tsveil.protect.rank_swap_buckets import RankSwapBuckets
from tsveil.protect.rank_swap_distribution import BATCH, RankSwapDistribution
from tsveil.protect.swapping import window
from tsveil.protect.work import survey_of

#: below this a chi-square test fails; draws are seeded, so a test that passes goes on passing
UNLIKELY = 1e-3

SWAPPERS: list[Method] = [
    RankSwap(p=0.5),
    RankSwap(p=10),
    RankSwap(p=100),
    RankSwap(p=10, taken="skip"),
    RankSwapDistribution(p=0.5),
    RankSwapDistribution(p=30),
    RankSwapDistribution(p=100),
    RankSwapBuckets(buckets=1),
    RankSwapBuckets(buckets=2),
]
every_swapper = pytest.mark.parametrize("method", SWAPPERS, ids=str)


def attributes(values: Array) -> Dataset:
    block = Block("all", tuple(f"c{j}" for j in range(values.shape[1])))
    return Dataset(values=values, blocks=(block,), others=pl.DataFrame())


def ranks_of(original: Array, released: Array) -> Indices:
    """The rank from which each rank's value came, for a column of different values."""
    return np.searchsorted(np.sort(original), released[np.argsort(original)])


# nasty columns: ties, constants, zeros of both signs, huge and tiny values
tables = st.tuples(st.integers(2, 40), st.integers(1, 4)).flatmap(
    lambda shape: arrays(
        np.float64, shape, elements=st.sampled_from([-1e300, -2.5, -0.0, 0.0, 1e-300, 1.0, 2.0, 7.0, 1e300])
    )
)


# -- what every kind must do ------------------------------------------------------------------------------------------


@every_swapper
@given(values=tables, seed=st.integers(0, 2**64))
def test_every_column_is_a_permutation(method: Method, values: Array, seed: int) -> None:
    release = method.protect(attributes(values), seed=seed)
    assert np.array_equal(np.sort(release.data.values, axis=0), np.sort(values, axis=0))


@every_swapper
@pytest.mark.parametrize("n", [2, 3, 10, 101])
def test_values_are_swapped_in_pairs_and_the_others_counted(method: Method, n: int) -> None:
    values = np.random.default_rng(n).permuted(np.tile(np.arange(float(n)), (5, 1)), axis=1).T
    release = method.protect(attributes(values), seed=1)
    kept = 0
    for before, after in zip(values.T, release.data.values.T, strict=True):
        came_from = ranks_of(before, after)
        assert np.array_equal(came_from[came_from], np.arange(n))  # i has l's value, l has i's
        kept += int((came_from == np.arange(n)).sum())
    facts = release.facts["all"]
    assert facts["kept their place"] == facts["same value as before"] == kept
    assert facts["values"] == 5 * n
    if isinstance(method, RankSwapDistribution | RankSwapBuckets):
        assert kept == 5 * (n % 2)  # every higher rank can be reached, so at most the last one is left alone


@every_swapper
def test_the_seed_decides_and_threads_do_not(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    data = attributes(np.random.default_rng(0).normal(size=(500, 7)))
    one = method.protect(data, seed=3).data.values
    monkeypatch.setenv("TSVEIL_THREADS", "1")
    assert np.array_equal(one, method.protect(data, seed=3).data.values)
    monkeypatch.setenv("TSVEIL_THREADS", "5")
    assert np.array_equal(one, method.protect(data, seed=3).data.values)
    assert not np.array_equal(one, method.protect(data, seed=4).data.values)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (RankSwap(p=25), [1, 0, 5, 4, 3, 2, 9, 10, 11, 6, 7, 8]),
        (RankSwapDistribution(p=25), [3, 5, 6, 0, 8, 1, 2, 9, 4, 7, 11, 10]),
        (RankSwapBuckets(buckets=4), [7, 2, 1, 4, 3, 6, 5, 0, 10, 11, 8, 9]),
    ],
    ids=str,
)
def test_results_are_the_same_everywhere(method: Method, expected: list[int]) -> None:
    # Written down once, of the draws of unit 0 and part 0: another machine or a newer numba must give the same release for the same seed.
    data = attributes(np.arange(12.0)[:, None])
    assert method.protect(data, seed=7).data.values.ravel().tolist() == expected


def test_equal_values_are_sorted_in_the_order_of_the_file() -> None:
    column = np.random.default_rng(0).integers(0, 3, 1000).astype(float)
    released = RankSwap(p=2).protect(attributes(column[:, None]), seed=9).data.values[:, 0]
    partner = rank_swap.window_partners(1000, 20, generator(sub_seed(9, 0, 0)))
    order = sorted(range(1000), key=lambda row: (column[row], row))
    for rank, row in enumerate(order):
        assert released[row] == column[order[partner[rank]]]


@every_swapper
def test_equal_columns_are_swapped_independently(method: Method) -> None:
    column = np.arange(300.0)
    released = method.protect(attributes(np.column_stack([column, column])), seed=0).data.values
    assert not np.array_equal(released[:, 0], released[:, 1])


@every_swapper
def test_series_are_swapped_with_a_warning(method: Method) -> None:
    data = Dataset.from_arrays({"load": np.random.default_rng(0).normal(size=(30, 4))})
    assert any("one by one" in warning for warning in method.protect(data).warnings)


@every_swapper
def test_nothing_is_promised(method: Method) -> None:
    verdict = method.protect(attributes(np.arange(20.0).reshape(10, 2))).verify()
    assert verdict.status == "none-claimed"
    assert "true value of some record" in verdict.guarantee


@every_swapper
def test_one_record_is_refused(method: Method) -> None:
    with pytest.raises(InputError, match="only one record"):
        method.protect(attributes(np.ones((1, 2))))


# -- the window -------------------------------------------------------------------------------------------------------


def test_the_window_in_ranks() -> None:
    assert [window(1080, p) for p in (2, 10, 20, 100)] == [22, 108, 216, 1080]
    assert [window(n, 5) for n in (1, 9, 10, 29, 30, 50)] == [1, 1, 1, 1, 2, 3]


@given(n=st.integers(2, 120), p=st.floats(0.1, 100), seed=st.integers(0, 2**32))
def test_no_value_leaves_its_window(n: int, p: float, seed: int) -> None:
    values = np.random.default_rng(seed).permutation(n).astype(float)[:, None]
    released = RankSwap(p=p).protect(attributes(values), seed=seed).data.values
    assert np.abs(released - values).max() <= window(n, p)


@given(n=st.integers(2, 120), w=st.integers(1, 130), seed=st.integers(0, 2**32))
def test_who_keeps_its_place_had_no_free_partner(n: int, w: int, seed: int) -> None:
    partner = rank_swap.window_partners(n, w, np.random.default_rng(seed))
    for i in np.flatnonzero(partner == np.arange(n)).tolist():
        above = np.arange(i + 1, min(i + w + 1, n))
        assert (partner[above] < i).all()  # all of them went to lower ranks


@pytest.mark.parametrize("p", [0, -1, 100.1, float("nan"), float("inf"), "5", True])
@pytest.mark.parametrize("method", [RankSwap, RankSwapDistribution])
def test_p_is_a_percentage(method: type[RankSwap], p: object) -> None:
    with pytest.raises(
        ParameterError, match=f"The 'p' parameter of {method.__name__} must be a number above 0 and at most 100"
    ):
        method(p=p)  # type: ignore[arg-type]


def test_a_share_given_for_a_percentage_is_told() -> None:
    few, many = attributes(np.arange(40.0)[:, None]), attributes(np.arange(10_000.0)[:, None])
    for method in (RankSwap, RankSwapDistribution):
        assert "window of one rank" in method(p=0.05).protect(few).warnings[0]
        assert "5 of 10000 ranks" in method(p=0.05).protect(many).warnings[0]
        assert "5 means 5 %" in method(p=0.05).protect(many).warnings[0]
        assert method(p=5).protect(many).warnings == ()


def test_buckets_too_small_or_too_many() -> None:
    data = attributes(np.arange(400.0)[:, None])
    assert RankSwapBuckets(buckets=100).protect(data).warnings == ()
    assert "hold 2 of them" in RankSwapBuckets(buckets=150).protect(data).warnings[0]
    assert "hold 1 of them" in RankSwapBuckets(buckets=9).protect(attributes(np.arange(10.0)[:, None])).warnings[0]
    with pytest.raises(ParameterError, match=r"must be at most the number of records \(400\). Got 401"):
        RankSwapBuckets(buckets=401).protect(data)
    with pytest.raises(ParameterError, match="'buckets' parameter of RankSwapBuckets must be an integer of at least 1"):
        RankSwapBuckets(buckets=0)


@pytest.mark.parametrize("method", [RankSwap, RankSwapDistribution])
def test_what_a_narrow_window_is_told_with(method: type[RankSwap]) -> None:
    def told(n: int, p: float) -> tuple[str, ...]:
        return method(p=p).protect(attributes(np.arange(float(n))[:, None])).warnings

    assert told(20, 5) == (
        "p=5 of 20 records is a window of one rank: values trade places with their neighbours, which can be undone; take a larger p "
        "(it is a percentage: 5 means 5 %)",
    )
    assert told(20, 10) == ()
    assert told(2000, 0.5) == (
        "p=0.5 is a window of 10 of 2000 ranks, which hardly hinders linkage; take a larger p (it is a percentage: 5 means 5 %)",
    )
    assert told(2000, 1) == ()


def test_series_of_one_point_have_no_course_to_lose() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2))
    told = "the time points of 'load' were swapped one by one: the course of single series is not kept"
    for method in (RankSwap(p=20), RankSwapDistribution(p=20), RankSwapBuckets(buckets=3)):
        assert method.protect(Dataset.from_arrays({"load": x})).warnings == (told,)
        assert method.protect(Dataset.from_arrays({"load": x[:, :1]})).warnings == ()
        assert method.protect(attributes(x)).warnings == ()


def test_the_distances_that_are_told() -> None:
    data = attributes(np.arange(2 * 90.0).reshape(90, 2))
    for method, words, fact in (
        (RankSwap(p=10), "at most 9 of 90 ranks from its owner", ("window", 9)),
        (RankSwapDistribution(p=10), "most are within 13 of 90 ranks from their owner", ("mean distance", 4.5)),
        (RankSwapBuckets(buckets=20), "mostly within 9 of 90 ranks from its owner", ("smallest bucket", 4)),
    ):
        release = method.protect(data, seed=3)
        assert words in release.guarantee.words
        facts = release.facts["all"]
        assert list(facts.items())[-1] == fact
        assert list(facts)[:-1] == ["values", "kept their place", "same value as before"]
        assert facts["same value as before"] == (release.data.values == data.values).sum()


def test_two_records_are_enough() -> None:
    data = attributes(np.array([[1.0], [2.0]]))
    for method in (RankSwap(p=1), RankSwapDistribution(p=1), RankSwapBuckets(buckets=1), RankSwapBuckets(buckets=2)):
        assert method.protect(data).data.values.ravel().tolist() == [2.0, 1.0]


def test_a_hundred_buckets_of_two_are_enough() -> None:
    def told(n: int, buckets: int) -> tuple[str, ...]:
        return RankSwapBuckets(buckets=buckets).protect(attributes(np.arange(float(n))[:, None])).warnings

    assert told(200, 100) == told(4, 2) == told(2, 1) == ()
    assert told(199, 100) == (
        "100 buckets of 199 records hold 1 of them each, which hardly hinders linkage; take fewer buckets",
    )
    assert told(505, 101) == (
        "101 buckets of 505 records hold 5 of them each, which hardly hinders linkage; take fewer buckets",
    )
    assert RankSwapBuckets(buckets=9).protect(attributes(np.arange(9.0)[:, None])).data.n == 9


def test_ranges_of_ranks_are_swapped_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.permutation(np.arange(400.0)), rng.integers(0, 9, 400), np.ones(400)])
    data, method = attributes(values), RankSwap(p=1)
    monkeypatch.setattr(rank_swap, "RANGE", 100)
    release = method.protect(data, seed=4)
    cut = parts_of(method, data)
    assert [len(parts) for _, parts in cut] == [4, 4, 1]  # equal values are not parted
    assert release.facts["all"]["parts"] == 4
    assert release.facts["all"]["values"] == 1200
    for at, (_, parts) in enumerate(cut):
        for number, rows in enumerate(parts):
            own = values[rows, at]
            assert own.size >= 2
            # The window of the whole file, and draws of its own.
            partner = rank_swap.window_partners(len(rows), 4, generator(sub_seed(4, at, number)))
            order = np.argsort(own, kind="stable")
            expected = np.empty_like(own)
            expected[order] = own[order[partner]]
            assert np.array_equal(release.data.values[rows, at], expected)
        highs = [values[rows, at].max() for rows in parts]
        lows = [values[rows, at].min() for rows in parts]
        assert all(high < low for high, low in zip(highs[:-1], lows[1:], strict=True))
    moved = np.abs(ranks_of(values[:, 0], release.data.values[:, 0]) - np.arange(400))
    assert moved.max() <= 4


def test_a_range_is_at_least_eight_windows_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_swap, "RANGE", 100)

    def size(n: int, p: float) -> int | None:
        (unit,) = RankSwap(p=p).units(survey_of(attributes(np.arange(float(n))[:, None])))
        return unit.size

    assert size(100, 1) is None
    assert size(101, 1) == 100
    assert size(1000, 1) == 100
    assert size(1000, 2) == 160
    assert size(1000, 12.5) is None
    # The other two kinds have no closed window, so a column is one part however long it is.
    for method in (RankSwapDistribution(p=1), RankSwapBuckets(buckets=2)):
        (unit,) = method.units(survey_of(attributes(np.arange(5000.0)[:, None])))
        assert unit.size is None


# -- how likely each result is ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "w"), [(2, 1), (3, 2), (4, 3), (5, 2), (6, 2), (6, 3), (6, 5), (6, 100), (8, 2)])
def test_the_window_gives_every_result_its_exact_chance(n: int, w: int) -> None:
    # All draws below 60 in all combinations: 60 is a multiple of 1 to 6, so every choice is offered equally often.
    below = 60 if w > 2 else 2
    found: Counter[tuple[int, ...]] = Counter()
    for used in product(range(below), repeat=n // 2):
        draws = np.zeros(n, dtype=np.int64)
        draws[: n // 2] = used
        found[tuple(window_partners(n, w, draws).tolist())] += 1
    total = found.total()
    assert {result: Fraction(count, total) for result, count in found.items()} == window_chances(n, w)


@pytest.mark.parametrize(("n", "w"), [(2, 1), (3, 2), (4, 3), (5, 2), (5, 4), (4, 100)])
def test_one_draw_gives_every_result_its_exact_chance(n: int, w: int) -> None:
    # A rank that is swapped already does not draw, so draws at the end may stay unused: they change nothing.
    below = 12 if w > 2 else 2
    found: Counter[tuple[int, ...]] = Counter()
    for used in product(range(below), repeat=n - 1):
        found[tuple(window_partners_once(n, w, np.array([*used, 0], dtype=np.int64)).tolist())] += 1
    total = found.total()
    assert {result: Fraction(count, total) for result, count in found.items()} == once_chances(n, w)


@given(n=st.integers(2, 120), w=st.integers(1, 130), seed=st.integers(0, 2**32))
def test_one_draw_trades_in_pairs_within_the_window(n: int, w: int, seed: int) -> None:
    partner = rank_swap.window_partners(n, w, np.random.default_rng(seed), "skip")
    ranks = np.arange(n)
    assert np.array_equal(partner[partner], ranks)
    assert np.abs(partner - ranks).max() <= w


def test_one_value_in_seven_keeps_its_place_when_taken_partners_are_skipped() -> None:
    data = attributes(np.random.default_rng(1).normal(size=(2000, 2)))
    kept = {taken: RankSwap(p=5, taken=taken).protect(data, seed=1) for taken in ("redraw", "skip")}
    shares = {taken: float(np.mean(release.data.values == data.values)) for taken, release in kept.items()}
    assert shares["redraw"] < 0.001
    assert 0.12 < shares["skip"] < 0.16


def test_an_unfair_draw_is_skipped_when_one_draw_is_made() -> None:
    unfair = DRAWS_BELOW - 1
    for draw in range(3):
        fair = window_partners_once(4, 3, np.array([draw, 0, 0, 0]))
        assert np.array_equal(window_partners_once(4, 3, np.array([unfair, draw, 0, 0])), fair)


@pytest.mark.parametrize(
    ("n", "buckets", "steps"),
    [
        (2, 1, [1]),
        (4, 1, [1, 1, 1]),
        (6, 1, [1, 1, 1, 1, 1]),
        (2, 2, [1]),
        (4, 2, [3, 1, 1]),
        (5, 2, [3, 1, 1, 1]),
        (6, 2, [3, 3, 1, 1, 1]),
        (3, 3, [3, 1]),
        (4, 3, [3, 1, 1]),
        (6, 3, [7, 3, 3, 1, 1]),
    ],
)
def test_the_buckets_give_every_result_its_exact_chance(n: int, buckets: int, steps: list[int]) -> None:
    # Two buckets weigh 2 : 1 and three 4 : 2 : 1, so the draw of a rank is decided in thirds or sevenths; where one bucket is
    # left there is nothing to decide. All combinations of these with all draws of a place, which has at most 3 or 5 options:
    below = 60 if buckets == 1 else 6
    found: Counter[tuple[int, ...]] = Counter()
    for used in product(*map(range, steps), *[range(below)] * (n // 2)):
        uniforms, draws = np.full(n, 0.5), np.zeros(n, dtype=np.int64)
        uniforms[: n - 1] = (np.array(used[: n - 1]) + 0.5) / steps
        draws[: n // 2] = used[n - 1 :]
        found[tuple(bucket_partners(n, buckets, uniforms, draws).tolist())] += 1
    total = found.total()
    assert {result: Fraction(count, total) for result, count in found.items()} == bucket_chances(n, buckets)


def test_a_draw_that_would_favour_low_slots_is_skipped() -> None:
    # 2^62 = 1 modulo 3: of three free partners the draw 2^62 - 1 would come once too often.
    unfair = 2**62 - 1
    for draw in range(3):
        fair = window_partners(4, 3, np.array([draw, 0, 0, 0]))
        assert np.array_equal(window_partners(4, 3, np.array([unfair, unfair, draw, 0])), fair)


def batches(seed: int) -> Callable[[], Array]:
    """Batches of standard normal numbers."""
    rng = np.random.default_rng(seed)
    return lambda: secret_normals(rng, BATCH)


@given(n=st.integers(2, 60), w=st.integers(1, 80), seed=st.integers(0, 2**32))
def test_the_distribution_follows_the_definition_draw_by_draw(n: int, w: int, seed: int) -> None:
    normals = secret_normals(np.random.default_rng(seed), BATCH)
    expected = normal_sample(n, w, iter(normals.tolist()))
    assert rank_swap_distribution._partners(n, w / 2, batches(seed)).tolist() == expected


def test_the_distribution_goes_on_where_a_batch_of_draws_ends() -> None:
    # More values than a batch has draws; a batch of which fewer than 200 are left is not begun.
    n, w = 3 * BATCH, 40
    partner = rank_swap_distribution._partners(n, w / 2, batches(5))
    assert np.array_equal(partner[partner], np.arange(n))
    assert (partner == np.arange(n)).sum() == 0
    distance = np.abs(partner - np.arange(n))
    assert distance.max() > w
    assert np.quantile(distance, 0.9) < 1.5 * w


def test_a_rank_is_not_begun_without_all_its_draws() -> None:
    partner = np.full(10, -1)
    far = np.full(TRIES, 1e300)  # outside the file: all draws are used up, then the nearest rank is taken
    assert normal_partners(partner, 0, 1.0, far[1:]) == 0
    assert (partner == -1).all()
    assert normal_partners(partner, 0, 1.0, far) == 2
    assert partner.tolist() == [1, 0, *[-1] * 8]


def agree(one: list[int], other: list[int]) -> float:
    """How likely two samples of the same distribution differ as much; rare values are taken together."""
    both = Counter(one) + Counter(other)
    frequent = [value for value, count in both.items() if count >= 20]
    rows = [[Counter(sample)[value] for value in frequent] for sample in (one, other)]
    rows = [[*row, len(sample) - sum(row)] for row, sample in zip(rows, (one, other), strict=True)]
    table = np.array(rows)
    return float(chi2_contingency(table[:, table.sum(0) > 0]).pvalue)


def drawn_buckets(n: int, buckets: int, rng: np.random.Generator) -> Indices:
    """Partners as the method draws them."""
    return bucket_partners(n, buckets, secret_uniforms(rng, n), secret_integers(rng, n))


Draw = Callable[[int, int, np.random.Generator], "list[int] | Indices"]


@pytest.mark.parametrize(
    ("fast", "slow", "n", "width"),
    [
        (rank_swap.window_partners, window_sample, 30, 6),
        (rank_swap.window_partners, window_sample, 25, 25),
        (partial(rank_swap.window_partners, taken="skip"), once_sample, 30, 6),
        (partial(rank_swap.window_partners, taken="skip"), once_sample, 25, 25),
        (drawn_buckets, bucket_sample, 30, 5),
        (drawn_buckets, bucket_sample, 24, 24),
    ],
)
def test_partners_are_as_likely_as_in_the_slow_version(fast: Draw, slow: Draw, n: int, width: int) -> None:
    ours = [list(map(int, fast(n, width, np.random.default_rng([1, seed])))) for seed in range(1500)]
    theirs = [list(map(int, slow(n, width, np.random.default_rng([2, seed])))) for seed in range(1500)]
    for rank in (0, 1, n // 3, n // 2, n - 3, n - 1):
        assert agree([o[rank] for o in ours], [t[rank] for t in theirs]) > UNLIKELY


# -- published figures ------------------------------------------------------------------------------------------------

ORIGINAL = np.array(
    [
        [8, 9, 1, 3], [6, 7, 10, 2], [10, 3, 4, 1], [7, 1, 2, 6], [9, 4, 6, 4],
        [2, 2, 8, 8], [1, 10, 3, 9], [4, 8, 7, 10], [5, 5, 5, 5], [3, 6, 9, 7],
    ],
    dtype=float,
)  # fmt: skip
RELEASED = np.array(
    [
        [10, 10, 3, 5], [5, 5, 8, 1], [8, 4, 2, 2], [9, 2, 4, 4], [7, 3, 5, 6],
        [4, 1, 10, 10], [3, 9, 1, 7], [2, 6, 9, 8], [6, 7, 6, 3], [1, 8, 7, 9],
    ],
    dtype=float,
)  # fmt: skip


def test_table_2_1_of_the_thesis_can_come_out() -> None:
    possible = set()
    for used in product(range(2), repeat=5):
        possible.add(tuple(window_partners(10, 2, np.array([*used, 0, 0, 0, 0, 0])).tolist()))
    for before, after in zip(ORIGINAL.T, RELEASED.T, strict=True):
        assert tuple(ranks_of(before, after).tolist()) in possible


def linked_by_distance(original: Array, released: Array, known: int) -> float:
    """Percent of records whose nearest released record is their own, ties 1/t; the mean over 1..known attributes."""
    mean, sd = original.mean(0), original.std(0)
    x, y = (original - mean) / sd, (released - mean) / sd
    squared = np.zeros((len(x), len(y)))
    shares = []
    for j in range(known):
        squared += (x[:, j, None] - y[None, :, j]) ** 2
        nearest = squared == squared.min(axis=1, keepdims=True)
        shares.append(100 * float(np.mean(np.diagonal(nearest) / nearest.sum(axis=1))))
    return float(np.mean(shares))


@pytest.mark.parametrize(("p", "expected"), [(2, 67.8), (10, 14.5), (20, 2.1)])
def test_linkage_of_census(p: float, expected: float, shared_data: Path) -> None:
    frame = pl.read_csv(shared_data / "census.csv")
    order = ["AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX"]  # the order of the thesis
    data = Dataset.from_frame(frame, blocks={"all": order})
    linked = [linked_by_distance(data.values, RankSwap(p=p).protect(data, seed=s).data.values, 6) for s in range(8)]
    assert np.mean(linked) == pytest.approx(expected, rel=0.15)
