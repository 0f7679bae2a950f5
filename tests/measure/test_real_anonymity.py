"""Real anonymity and its expectation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_micro
import tsveil as tv
from tsveil.core.errors import ParameterError
from tsveil.measure.real_anonymity import expected_anonymity, printed_anonymity, real_anonymity
from tsveil.protect.mdav import MDAV


def released(seed: int = 0, n: int = 60) -> tv.Dataset:
    rng = np.random.default_rng(seed)
    return tv.Dataset.from_arrays({"x": rng.integers(0, 3, (n, 2)), "y": rng.integers(0, 2, (n, 3))})


@given(st.integers(0, 10**6), st.integers(1, 80))
def test_it_is_records_by_distinct_rows(seed: int, n: int) -> None:
    data = released(seed, n)
    assert real_anonymity(data) == pytest.approx(n / naive_micro.distinct_rows(data.values))
    for name in ("x", "y"):
        assert real_anonymity(data, [name]) == pytest.approx(n / naive_micro.distinct_rows(data.block(name)))
    assert real_anonymity(data, ["x.0", "y.2"]) == pytest.approx(n / naive_micro.distinct_rows(data.values[:, [0, 4]]))


def test_names_come_in_any_order_and_more_than_once() -> None:
    data = released()
    assert real_anonymity(data, ["y", "x.1", "x"]) == real_anonymity(data)


def test_a_release_can_be_given_and_keeps_its_k() -> None:
    data = tv.Dataset.from_arrays({"x": np.random.default_rng(1).normal(size=(47, 3)), "y": np.arange(47.0)[:, None]})
    release = MDAV(k=4, grouping="per-block", refine="none").protect(data)
    assert real_anonymity(release, ["x"]) == pytest.approx(47 / 11)
    assert 1 <= real_anonymity(release) < 4


def test_unknown_names_are_told_all_at_once() -> None:
    with pytest.raises(ParameterError, match="2 problems") as caught:
        real_anonymity(released(), ["x", "z", "w"])
    assert "blocks: 'x', 'y'" in str(caught.value)
    with pytest.raises(ParameterError, match="no column is known"):
        real_anonymity(released(), [])


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 2))
def test_the_expectation_is_exact(n: int, k: int, r: int) -> None:
    """Against the mean number of distinct values of all m^n draws, by inclusion and exclusion over the values missed."""
    m = (-(-n // k)) ** r
    s = m * (1 - Fraction(m - 1, m) ** n)
    assert expected_anonymity(n, k, r) == pytest.approx(float(n / s), rel=1e-12)


def test_the_expectation_is_that_of_random_blocks() -> None:
    rng = np.random.default_rng(3)
    n, k, r = 400, 20, 2
    draws = rng.integers(0, n // k, (2000, n, r))
    distinct = [len(np.unique(draw[:, 0] * n + draw[:, 1])) for draw in draws]
    assert n / expected_anonymity(n, k, r) == pytest.approx(np.mean(distinct), rel=0.005)


def test_the_case_of_the_thesis() -> None:
    assert round(expected_anonymity(380, 25, 2), 4) == 1.9178
    assert [round(bound, 4) for bound in printed_anonymity(380, 25, 2)] == [1.9158, 1.9176]


def test_extremes() -> None:
    assert expected_anonymity(50, 50, 3) == 50.0
    assert expected_anonymity(1000, 2, 400) == 1.0  # more combinations than there are numbers
    assert expected_anonymity(10**6, 5, 12) == pytest.approx(1.0)
    low, high = printed_anonymity(1000, 2, 400)
    assert low < high < 1.0  # one of the reasons why the printed bounds are for reproduction only


@pytest.mark.parametrize(("n", "k", "r"), [(0, 1, 1), (5, 0, 1), (5, 1, 0), (5, 2.5, 1)])
def test_impossible_numbers_are_refused(n: int, k: int, r: int) -> None:
    with pytest.raises(ParameterError, match="parameter of the expected anonymity must be an integer of at least 1"):
        expected_anonymity(n, k, r)


def test_persons_are_counted() -> None:
    """One over the mean over persons of the mean share of the person in the classes of the person's records."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        n = int(rng.integers(1, 40))
        x, persons = rng.integers(0, 3, (n, 2)), rng.integers(0, 6, n)
        share = np.array([np.mean(persons[(x == row).all(axis=1)] == own) for row, own in zip(x, persons, strict=True)])
        rate = np.mean([share[persons == own].mean() for own in np.unique(persons)])
        data = tv.Dataset.from_arrays({"x": x}, persons=persons.tolist())
        assert real_anonymity(data) == pytest.approx(1 / rate)
        alone = tv.Dataset.from_arrays({"x": x}, persons=list(range(n)))
        assert real_anonymity(alone) == pytest.approx(real_anonymity(tv.Dataset.from_arrays({"x": x})))
