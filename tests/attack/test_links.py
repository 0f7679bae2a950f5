"""What a result says, and how likely it is by guessing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.links import Links, chance_of_links


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 2), (5, 5), (6, 6), (3, 4), (4, 2), (5, 3), (4, 1)])
def test_chances_are_those_of_all_ways_to_guess(n: int, m: int) -> None:
    expected = naive.guessing(n, m)
    for r in range(n + 1):
        assert chance_of_links(r, n, m, exactly=True) == pytest.approx(expected.get(r, 0.0), abs=1e-14)
        at_least = sum(chance for count, chance in expected.items() if count >= r)
        assert chance_of_links(r, n, m) == pytest.approx(at_least, abs=1e-14)
    assert chance_of_links(n + 1, n, m) == 0.0


def test_large_files_are_quick_and_sane() -> None:
    assert chance_of_links(1, 10**6) == pytest.approx(1 - np.exp(-1))
    assert chance_of_links(100, 10**6) == pytest.approx(1.0816e-158, rel=1e-3)
    assert chance_of_links(500, 10**6) == 0.0
    assert chance_of_links(1000, 10**6, 1000) == pytest.approx(binom.sf(999, 10**6, 1 / 1000), rel=1e-9)
    assert chance_of_links(40, 3000, 1000) == pytest.approx(binom.sf(39, 3000, 1 / 1000), rel=1e-9)


def links(**changes: object) -> Links:
    given = {
        "attack": "test",
        "candidates": np.array([3, 1, 0, 4]),
        "link": np.array([2, 1, -1, 0]),
        "hit": np.array([True, True, False, False]),
    }
    return Links(**(given | changes))  # type: ignore[arg-type]


def test_a_tie_counts_by_its_share_and_no_link_counts_nothing() -> None:
    found = links()
    assert found.probability.tolist() == pytest.approx([1 / 3, 1, 0, 0])
    assert found.correct == pytest.approx(4 / 3)
    assert found.rate == pytest.approx(100 / 3)
    assert found.by_guessing == pytest.approx(chance_of_links(1, 4))


def test_the_nearest_of_several_candidates_counts_among_the_nearest() -> None:
    assert links(tied=np.array([1, 1, 0, 2])).correct == 2


def test_the_first_of_a_tie() -> None:
    assert links(ties="first").probability.tolist() == [0, 1, 0, 0]
    own = np.array([2, -1, -1, 0])
    assert links(ties="first", own=own).probability.tolist() == [1, 0, 0, 1]


def test_thirds_that_add_up_to_one_are_one_link() -> None:
    found = links(candidates=np.array([3, 3, 3, 4]), hit=np.array([True, True, True, False]))
    assert found.by_guessing == pytest.approx(chance_of_links(1, 4))


def test_the_table_has_the_sure_links_first() -> None:
    data = tv.Dataset.from_arrays({"x": np.zeros((4, 1))}, ids=list("abcd"))
    found = links(certain=np.array([False, True, False, False]))
    table = found.table(data, data)
    assert table["original"].to_list() == ["b", "a", "c", "d"]
    assert table["linked"].to_list() == ["b", "c", None, "a"]
    assert repr(found).endswith(", 1 with certainty")
    assert repr(links(certain=np.array([True, True, True, False]))).endswith(", 3 seem certain (2 of them right)")
