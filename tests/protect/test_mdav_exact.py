from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from tsveil._kernels.mdav import fused_groups
from tsveil._types import Array, Indices
from tsveil.protect import _mdav_exact
from tsveil.protect._mdav_exact import exact_groups, running_sum

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


def test_ten_thousand_small_cases_with_ties_and_duplicates() -> None:
    rng = np.random.default_rng(1)
    for case in range(10_000):
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
