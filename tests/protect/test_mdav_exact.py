from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from cases import cases
from tsveil._kernels.mdav import fused_groups
from tsveil.core.types import Array, Indices
from tsveil.engine.crew import Crew
from tsveil.protect import _mdav_exact
from tsveil.protect._mdav_exact import cosines, draw, exact_groups, in_range, outermost, running_sum

VARIANTS = ("standard", "paper")


def fast(Z: Array, k: int, variant: str = "standard") -> Indices:
    """The version with lists, however few the records are."""
    return exact_groups(Z, k, variant=variant, few=0)


def fused(Z: Array, k: int, variant: str = "standard") -> Indices:
    labels = np.full(len(Z), -1, dtype=np.int64)
    counter = np.zeros(1, dtype=np.int64)
    fused_groups(Z, k, variant == "paper", np.arange(len(Z)), running_sum(Z), 0, labels, counter)
    return labels


def standardised(Z: Array) -> Array:
    return np.asarray((Z - Z.mean(axis=0)) / Z.std(axis=0, ddof=1))


def test_small_cases_with_ties_and_duplicates() -> None:
    rng = np.random.default_rng(1)
    for case in range(cases(2_000, 10_000)):
        n, d = int(rng.integers(1, 26)), int(rng.integers(1, 4))
        k = int(rng.integers(1, n + 1)) if case % 3 == 0 else min(n, int(rng.integers(2, 5)))
        Z = rng.integers(0, (2, 3, 6, 100)[case % 4], size=(n, d)).astype(float)
        variant = VARIANTS[case % 2]
        expected = naive.mdav(Z, k, variant)
        np.testing.assert_array_equal(fused(Z, k, variant), expected, err_msg=f"fused, case {case}")
        np.testing.assert_array_equal(fast(Z, k, variant), expected, err_msg=f"fast, case {case}")


# Tenths are not exact in binary; thirds of the values differ by rounding only; the extremes square to 1e300 and to nothing.
values = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-30, 30).map(lambda i: i / 10),
    st.sampled_from([0.0, 1 / 3, 1 - 2 / 3, 5e-324, 1e-300, 1e-150, 1e150, -1e150]),
    st.floats(-1e6, 1e6),
)
tables = st.tuples(st.integers(1, 40), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=values)
)


@given(tables, st.integers(1, 12), st.sampled_from(VARIANTS))
def test_it_is_the_definition_on_any_values(Z: Array, k: int, variant: str) -> None:
    k = min(k, len(Z))
    expected = naive.mdav(Z, k, variant)
    np.testing.assert_array_equal(fused(Z, k, variant), expected)
    np.testing.assert_array_equal(fast(Z, k, variant), expected)


@given(tables, st.integers(2, 5), st.sampled_from([600, -700, -1000]))
def test_a_power_of_two_changes_nothing(Z: Array, k: int, power: int) -> None:
    Z = np.where(np.abs(Z) < 1e-10, 0.0, np.clip(Z, -1e7, 1e7))
    k = min(k, len(Z))
    np.testing.assert_array_equal(fast(np.ldexp(np.ldexp(Z, power), 0), k), fast(Z, k))


def kinds(rng: np.random.Generator, n: int, d: int) -> dict[str, Array]:
    """Data of every sort that may mislead bounds, boxes or float32."""
    normal = rng.normal(size=(n, d))
    return {
        "normal": normal,
        "walks": normal.cumsum(axis=1),
        "levelled walks": rng.normal(0, 10, (n, 1)) + 0.3 * normal.cumsum(axis=1),
        "heavy tails": rng.standard_cauchy((n, d)) ** 3,
        "one enormous record": np.vstack([normal[1:], np.full(d, 1e14)]),
        "on a sphere": normal / np.linalg.norm(normal, axis=1, keepdims=True),
        "two far clusters": 1e9 * rng.integers(0, 2, (n, 1)) + normal,
        "an offset": 1e12 + normal,
        "small integers": rng.integers(0, 3, (n, d)).astype(float),
        "duplicates": normal[rng.integers(0, n // 5, n)],
        "constant": np.full((n, d), 0.1),
        "constant but for rounding": 1.0 + rng.integers(0, 3, (n, d)) * 2.0**-52,
        "tiny": 1e-140 * normal,
        "huge": 1e140 * normal,
    }


@pytest.mark.parametrize("shape", [(1100, 1), (900, 3), (1300, 24), (400, 70), (300, 600)])
@pytest.mark.parametrize("kind", kinds(np.random.default_rng(0), 10, 1))
def test_lists_and_loop_agree(kind: str, shape: tuple[int, int]) -> None:
    Z = kinds(np.random.default_rng(5), *shape)[kind]
    for k, variant in ((2, "standard"), (5, "paper"), (10, "standard"), (60, "standard")):
        np.testing.assert_array_equal(fast(Z, k, variant), fused(Z, k, variant))


def test_the_usual_way_to_call_it() -> None:
    Z = np.random.default_rng(2).normal(size=(6000, 5)).cumsum(axis=1)  # lists first, the loop for the rest
    counter = np.zeros(1, dtype=np.int64)
    groups = exact_groups(Z, 7, counter=counter)
    np.testing.assert_array_equal(groups, fused(Z, 7))
    assert counter[0] == len(Z)
    sizes = np.bincount(groups)
    assert sizes.min() >= 7
    assert sizes.max() < 14


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_number_of_threads_changes_nothing(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSVEIL_THREADS", threads)
    rng = np.random.default_rng(3)
    for Z in (rng.normal(size=(1500, 8)), rng.integers(0, 4, (1500, 4)).astype(float)):
        np.testing.assert_array_equal(fast(Z, 3), fused(Z, 3))


def test_lists_ahead_are_only_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    Z = np.random.default_rng(4).normal(size=(1500, 6))
    expected = fused(Z, 4)
    for most in (1, 3, 32):
        monkeypatch.setattr(_mdav_exact, "MOST_AHEAD", most)
        np.testing.assert_array_equal(fast(Z, 4), expected)


# -- the parts of it --------------------------------------------------------------------------------------------------


def test_rows_are_added_in_their_order() -> None:
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(9000, 2)) * 10.0 ** rng.integers(-8, 8, (9000, 1))
    total = np.zeros(2)
    for row in Z:
        total = total + row
    assert running_sum(Z).tolist() == total.tolist()
    assert running_sum(Z[:0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_only_values_whose_squares_leave_the_range_are_scaled(sign: float) -> None:
    for exponent in (-400, -100, 0, 500):  # the largest value is in [2^(e-1), 2^e)
        Z = np.array([[sign * 0.75], [0.0]]) * 2.0**exponent
        assert in_range(Z) is Z
    for exponent in (-1000, -401, 501, 1000):
        Z = np.array([[sign * 0.75, 0.0], [sign * 0.25, sign * 0.5]]) * 2.0**exponent
        assert np.array_equal(in_range(Z), np.array([[sign * 0.75, 0.0], [sign * 0.25, sign * 0.5]]))
    zero = np.zeros((2, 2))
    assert in_range(zero) is zero


@pytest.mark.parametrize("d", [1, 3, 4, 5, 9, 30, 63, 64, 100, 513])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_picture_shows_every_record_where_it_is(d: int, offset: float) -> None:
    n = 150
    Z = np.random.default_rng(d).normal(size=(n, d)) * np.linspace(3, 0.1, d) + offset
    picture = draw(Z)
    assert picture is not None
    rows = 4 * -(-d // 4)
    assert picture.T.shape == (3, rows + 1, 64)
    assert picture.lead == min(rows, 8 if d < 64 else 24)
    # Every record has one place, and the places that are left have none.
    assert np.array_equal(picture.ids[picture.where], np.arange(n))
    assert np.array_equal(np.sort(picture.ids), np.concatenate([np.full(192 - n, -1), np.arange(n)]))
    assert picture.ids[n:].tolist() == [-1] * (192 - n)
    places = picture.T.transpose(0, 2, 1).reshape(192, rows + 1)
    assert not places[n:].any()
    Y = places[picture.where].astype(float)
    # The last row has the length of what is not leading.
    assert np.allclose(Y[:, rows], np.linalg.norm(Y[:, picture.lead : rows], axis=1), rtol=1e-5, atol=1e-7)
    # Distances are those of the records, in units of a power of two that brings the farthest value below 1.
    scale, error, stretch, slack = picture.bound.tolist()
    assert np.frexp(scale)[0] == 0.5
    farthest = np.abs(Z - np.median(Z, axis=0)).max() * scale
    assert 0.5 <= farthest < 1
    seen = np.linalg.norm(Y[:, None, :rows] - Y[None, :, :rows], axis=2)
    true = np.linalg.norm(Z[:, None] - Z[None], axis=2) * scale
    away = np.linalg.norm(Y[:, :rows], axis=1)
    rounding = 1e-15 * offset * scale * d
    off = np.abs(seen - true) - rounding
    assert (off <= 2 * error * away[:, None] + stretch * true).all()
    # The bounds hold with room to spare, but they are of float32's precision: a wide one would exclude nobody.
    assert 2.0**-23 <= error < 1e-6
    assert 3 * error <= stretch < 1e-5
    assert (rows + 8) * 2.0**-24 <= slack < 1e-3
    if d <= 512:
        # The leading coordinates are those that tell most.
        spread = Y[:, :rows].var(axis=0)
        assert spread[: picture.lead].sum() >= 0.99 * np.sort(spread)[::-1][: picture.lead].sum()


def test_equal_records_have_no_picture() -> None:
    assert draw(np.full((70, 3), 7.5)) is None
    assert draw(np.array([[1.0], [1.0], [1.0], [2.0]])) is not None


def test_the_middle_is_that_of_most_records() -> None:
    # One record far out: the scale follows it, the middle does not.
    Z = np.vstack([np.random.default_rng(1).normal(size=(99, 2)), [[1e6, 0.0]]])
    picture = draw(Z)
    assert picture is not None
    Y = picture.T.transpose(0, 2, 1).reshape(-1, 5)[picture.where]
    assert np.abs(Y[:99, :2]).max() < 1e-5
    assert np.abs(Y[99, :2]).max() > 0.4


def test_cosines_rotate() -> None:
    X = np.random.default_rng(1).normal(size=(5, 20))
    assert np.allclose(np.linalg.norm(cosines(X), axis=1), np.linalg.norm(X, axis=1))
    smooth = cosines(np.ones((1, 20)))
    assert np.allclose(smooth[0], [np.sqrt(20), *[0] * 19])


@pytest.mark.parametrize("most", [1, 7, 39, 40, 99])
def test_the_outermost_records_come_first(most: int) -> None:
    Z = np.random.default_rng(3).normal(size=(60, 2))
    left = np.random.default_rng(4).permutation(60)[:40]
    centre = np.array([0.25, -0.5])
    with Crew() as crew:
        rows, away, outside, row = outermost(Z, left, centre, most, crew)
    distance = np.sqrt(((Z[left] - centre) ** 2).sum(axis=1))
    order = np.argsort(-distance)
    assert rows.tolist() == left[order][:most].tolist()
    assert np.allclose(away, distance[order][:most])
    assert outside == pytest.approx(-1.0 if most >= 40 else distance[order][most])
    assert row.tolist() == [centre.tolist()]


def test_progress_reaches_all_records() -> None:
    for n, few in ((50, 2000), (700, 0)):
        counter = np.zeros(1, dtype=np.int64)
        exact_groups(np.random.default_rng(1).normal(size=(n, 3)), 3, counter=counter, few=few)
        assert counter[0] == n


def test_lists_are_used_where_they_are_worth_while(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    monkeypatch.setattr(_mdav_exact, "draw", lambda Z: drawn.append(len(Z)))
    rng = np.random.default_rng(1)
    monkeypatch.setattr(_mdav_exact, "least_for_lists", lambda k, columns: 100 * k + 86 * columns)
    for n, k, few, used in (
        (372, 2, 300, False),
        (373, 2, 300, True),
        (380, 2, 381, False),  # fewer than `few`
        (380, 2, 380, True),
        (380, 1, 100, False),  # groups of one
        (12, 4, 0, True),
        (11, 4, 0, False),  # fewer than 3k
    ):
        drawn.clear()
        Z = rng.normal(size=(n, 2))
        assert np.array_equal(exact_groups(Z, k, few=few), fused(Z, k))  # without a picture the loop does it all
        assert drawn == ([n] if used else []), (n, k, few)


def test_the_input_stays_as_it_is() -> None:
    Z = np.random.default_rng(6).normal(size=(300, 4))
    before = Z.copy()
    fast(Z, 3)
    np.testing.assert_array_equal(Z, before)


def m3(folder: Path) -> Array:
    long = (
        pl.read_csv(folder / "m3_long.csv.gz")
        .filter(pl.col("part") == "in")
        .sort("series_id", "t", maintain_order=True)
    )
    series = [np.asarray(group["value"], dtype=float) for _, group in long.group_by("series_id", maintain_order=True)]
    return np.array([np.interp(np.linspace(0, len(x) - 1, 10), np.arange(len(x)), x) for x in series])


def eia(folder: Path) -> Array:
    return standardised(pl.read_csv(folder / "eia.csv")[:, 5:].to_numpy().astype(float))


def census(folder: Path) -> Array:
    return standardised(pl.read_csv(folder / "census.csv").to_numpy().astype(float))


@pytest.mark.parametrize(("read", "shape"), [(m3, (3003, 10)), (eia, (4092, 10)), (census, (1080, 13))])
@pytest.mark.parametrize(("k", "variant"), [(3, "standard"), (10, "standard"), (10, "paper")])
def test_real_data(read, shape: tuple[int, int], k: int, variant: str, shared_data: Path) -> None:  # type: ignore[no-untyped-def]
    Z = np.ascontiguousarray(read(shared_data))
    assert Z.shape == shape
    expected = naive.mdav(Z, k, variant)
    np.testing.assert_array_equal(fast(Z, k, variant), expected)
    np.testing.assert_array_equal(exact_groups(Z, k, variant=variant), expected)
