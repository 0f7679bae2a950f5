"""Values of PAA agree with their definition; levels nest; texts read back; bounds hold."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_kp
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.guarantee.faults import faults_of
from tsveil.transform import paa
from tsveil.transform.pattern import as_symbols, as_words, mindist, pattern_of, read_back, segments, symbols
from tsveil.transform.sax import patterns

LEVELS = (1, 2, 4, 8, 16)
nasty = st.sampled_from([0.0, 0.1, 1.0, 2.0, -3.0, 1e9, 1e9 + 1, 1e-9, 1e140])


@given(arrays(float, (5, 12), elements=nasty), st.integers(1, 12), st.sampled_from(LEVELS))
def test_it_is_the_definition(x: Array, w: int, level: int) -> None:
    means = patterns(x, w)
    words = as_words(symbols(means, level, "paa"))
    expected = [[naive_kp.middle(mean, level) for mean in row] for row in means.tolist()]
    assert words == ["[" + " ".join(str(v).removesuffix(".0") for v in row) + "]" for row in expected]
    assert read_back(as_symbols(words), np.full(5, level)).tolist() == expected
    assert {segments(word) for word in words} == {w}


def test_by_hand() -> None:
    # Mean 2 and deviation 1: the z-values are -1, -1, 1, 1.
    assert as_words(symbols(patterns(np.array([[1.0, 1.0, 3.0, 3.0]]), 2), 4, "paa")) == ["[-0.5 1.5]"]
    # A peak of three deviations among ten points keeps its height.
    peak = np.array([[0.0] * 9 + [1.0]])
    assert as_words(symbols(patterns(peak, 10), 4, "paa")) == ["[-0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5 3.5]"]
    # A constant has no shape, and 0 is a border: it goes up.
    assert as_words(symbols(patterns(np.array([[7.0] * 4]), 2), 8, "paa")) == ["[0.25 0.25]"]
    assert as_words(symbols(patterns(np.array([[7.0] * 4]), 2), 1, "paa")) == ["[0 0]"]


@given(arrays(float, (6, 4), elements=st.floats(-40, 40)))
def test_levels_determine_the_coarser_ones(means: Array) -> None:
    for coarse, fine in itertools.pairwise(LEVELS):
        again = symbols(read_back(symbols(means, fine, "paa"), np.full(6, fine)), coarse, "paa")
        assert np.array_equal(again, symbols(means, coarse, "paa"))


@given(
    arrays(float, (8, 10), elements=st.integers(-9, 9).map(float)),
    st.integers(1, 10),
    st.lists(st.sampled_from(LEVELS), min_size=8, max_size=8),
)
def test_mindist_is_a_lower_bound(x: Array, w: int, levels: list[int]) -> None:
    z, means = patterns(x, x.shape[1]), patterns(x, w)
    found = np.array([symbols(means[[i]], level, "paa")[0] for i, level in enumerate(levels)])
    for i in range(len(x)):
        bound = mindist(means[i], found, np.array(levels), x.shape[1])
        assert (bound <= np.sqrt(((z - z[i]) ** 2).sum(axis=1)) + 1e-8).all()
        assert bound[i] <= 1e-8


def test_mindist_finds_something() -> None:
    bound = mindist(np.array([2.0, -2.0]), as_symbols(["[-0.5 0.5]", "[1.5 -1.5]", "[0 0]"]), np.array([4, 4, 1]), 10)
    # Both means are 2 away from the cells of the first, whose borders are -1, 0 and 1; and on the border of the second.
    assert bound == pytest.approx([np.sqrt(10 / 2 * 2 * 4), 0.0, 0.0], abs=1e-6)


@given(arrays(float, (6, 12), elements=nasty), st.integers(1, 12), st.sampled_from(LEVELS))
def test_the_verifier_takes_what_series_can_have(x: Array, w: int, level: int) -> None:
    from tsveil.data.intervals import IntervalTable

    words = tuple(as_words(symbols(patterns(x, w), level, "paa")))
    table = IntervalTable(("1",), np.zeros((6, 1)), np.zeros((6, 1)), words, np.full(6, level))
    assert faults_of(table)["words"] == []


def test_the_highest_peak_is_the_bound_of_the_verifier() -> None:
    for w in range(1, 60):
        peak = patterns(np.eye(1, w), w).max()
        assert peak <= np.sqrt(w - 1) + 1e-9
        for level in LEVELS[1:]:
            value = Fraction(as_words(symbols(np.array([[peak]]), level, "paa"))[0].strip("[]"))
            assert max(value - Fraction(2, level), Fraction()) ** 2 <= w - 1


def test_what_cannot_be_is_refused() -> None:
    for level in (0, 3, 32):
        with pytest.raises(ParameterError, match=r"A level of PAA must be one of \(1, 2, 4, 8, 16\)"):
            symbols(np.zeros((1, 2)), level, "paa")
    for text in ("[1 x]", "[0.3]", "[]", "[1 1", "[nan 1]", "[inf]"):
        with pytest.raises(InputError, match="between brackets"):
            as_symbols([text])
    with pytest.raises(InputError, match="between brackets"):
        as_symbols(["[1 1]", "ab"])
    with pytest.raises(InputError, match="same number of values"):
        as_symbols(["[1 1]", "[1]"])
    with pytest.raises(InputError, match="no series can have"):
        as_symbols(["[1e9]"])
    assert pattern_of(as_symbols(["ab"])) == "sax"
    assert paa.as_text([2**17 + 1]) == "[16384.125]"
