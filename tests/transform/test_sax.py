"""SAX agrees with its definition, with scipy and with an independent library; levels nest; bounds hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

import naive_kp
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.transform.pattern import as_symbols, as_words, mindist, read_back
from tsveil.transform.sax import breakpoints, cell_means, levels_up_to, patterns, sax, symbols

LEVELS = range(2, 17)


def walks(n: int, T: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, T)).cumsum(axis=1)


def test_the_examples() -> None:
    series = np.arange(1.0, 9.0)[None, :]
    assert [sax(series, 4, level)[0] for level in (1, 2, 3, 4, 5)] == ["aaaa", "aabb", "aacc", "abcd", "abde"]
    means = np.array([[-0.2, 0.2]])
    assert [as_words(symbols(means, level))[0] for level in (2, 3, 4)] == ["ab", "bb", "bc"]


def test_a_value_on_a_breakpoint_goes_up() -> None:
    for level in LEVELS:
        assert symbols(breakpoints(level)[None, :], level)[0].tolist() == list(range(1, level))
    assert sax(np.array([[1.0, 2.0, 3.0]]), 3, 2) == ["abb"]
    # 0.1 + 0.2 + 0.3 is not 0.6: the middle is on the breakpoint all the same.
    assert sax(np.array([[0.1, 0.2, 0.3]]), 3, 2) == ["abb"]


@pytest.mark.parametrize(("T", "w"), [(48, 8), (52, 5), (7, 7), (10, 3), (24, 1)])
def test_words_are_those_of_an_independent_computation(T: int, w: int) -> None:
    x = walks(300, T)
    z = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    means = np.repeat(z, w, axis=1).reshape(len(x), w, T).mean(axis=2)
    assert np.allclose(patterns(x, w), means, atol=1e-12)
    for level in LEVELS:
        cells = np.floor(norm.cdf(means) * level + 1e-9).astype(int)
        assert sax(x, w, level) == ["".join(chr(97 + c) for c in row) for row in cells]


@pytest.mark.filterwarnings("ignore:h5py not installed")  # tslearn says so on import; nothing here needs it
@pytest.mark.parametrize("level", LEVELS)
def test_words_are_those_of_tslearn(level: int) -> None:
    from tslearn import piecewise

    x = walks(500, 48, seed=level)
    z = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    theirs = piecewise.SymbolicAggregateApproximation(n_segments=8, alphabet_size_avg=level).fit_transform(
        z[:, :, None]
    )
    assert np.array_equal(theirs[:, :, 0], symbols(patterns(x, 8), level))


@given(
    arrays(float, (5, 12), elements=st.sampled_from([0.0, 0.1, 1.0, 2.0, -3.0, 1e9, 1e9 + 1, 1e-9, 1e140])),
    st.integers(1, 12),
    st.integers(1, 26),
)
def test_it_is_the_definition(x: Array, w: int, level: int) -> None:
    means = patterns(x, w)
    for row, mine in zip(x.tolist(), means, strict=True):
        assert np.allclose(mine, naive_kp.segment_means(row, w), atol=1e-6)
    assert as_words(symbols(means, level)) == [
        "".join(naive_kp.letter(m, level) for m in row) for row in means.tolist()
    ]


@given(
    arrays(float, (4, 9), elements=st.integers(-20, 20).map(float)), st.sampled_from([1, 3, 4]), st.sampled_from(LEVELS)
)
def test_scale_and_offset_do_not_matter(x: Array, w: int, level: int) -> None:
    words = sax(x, w, level)
    for scaled in (x * 0.1, x * 7.3 + 100, x * 1e100, x * 1e-200, x + 1e6):
        assert sax(scaled, w, level) == words


def test_constants_have_no_shape() -> None:
    x = np.array([[0.1] * 24, [0.0] * 24, [1e9] * 24, [-7.3] * 24])
    assert not patterns(x, 5).any()


@given(arrays(float, (6, 4), elements=st.floats(-4, 4)))
def test_nested_levels_determine_the_coarser_ones(means: Array) -> None:
    levels = levels_up_to(16)
    assert levels == (1, 2, 4, 8, 16)
    for coarse, fine in itertools.pairwise(levels):
        assert np.array_equal(symbols(means, fine) // 2, symbols(means, coarse))


def test_levels() -> None:
    assert levels_up_to(1) == (1,)
    assert levels_up_to(15) == (1, 2, 4, 8)
    assert levels_up_to(4, "paper") == (1, 2, 3, 4)


@pytest.mark.parametrize("level", [1, 2, 3, 5, 16, 26])
def test_cells_read_back_as_their_means(level: int) -> None:
    means = cell_means(level)
    assert means == pytest.approx([naive_kp.cell_mean(level, at) for at in range(level)], abs=2e-3)
    assert means.sum() == pytest.approx(0, abs=1e-12)  # the cells are equally likely
    edges = np.concatenate([[-np.inf], breakpoints(level), [np.inf]])
    assert ((edges[:-1] < means) & (means < edges[1:])).all()


@given(
    arrays(float, (8, 10), elements=st.integers(-9, 9).map(float)),
    st.integers(1, 10),
    st.lists(st.sampled_from(LEVELS), min_size=8, max_size=8),
)
def test_mindist_is_a_lower_bound(x: Array, w: int, levels: list[int]) -> None:
    z, means = patterns(x, x.shape[1]), patterns(x, w)
    letters = np.array([symbols(means[[i]], level)[0] for i, level in enumerate(levels)])
    for i in range(len(x)):
        bound = mindist(means[i], letters, np.array(levels), x.shape[1])
        distance = np.sqrt(((z - z[i]) ** 2).sum(axis=1))
        assert (bound <= distance + 1e-8).all()
        assert bound[i] <= 1e-8


def test_mindist_finds_something() -> None:
    bound = mindist(np.array([2.0, -2.0]), as_symbols(["ad", "da"]), np.array([4, 4]), 10)
    # Both means are 2 + 0.674 away from the cell at the other end.
    assert bound == pytest.approx([np.sqrt(10 / 2 * 2) * (2 + norm.ppf(0.75)), 0.0], abs=1e-6)


def test_words_and_letters() -> None:
    letters = np.array([[0, 15, 3], [2, 2, 25]], dtype=np.uint8)
    assert as_words(letters) == ["apd", "ccz"]
    assert np.array_equal(as_symbols(as_words(letters)), letters)
    assert as_words(letters[:0]) == []
    assert read_back(as_symbols(["ab"]), np.array([2])).round(4).tolist() == [[-0.7979, 0.7979]]


def test_what_cannot_be_is_refused() -> None:
    x = walks(3, 6)
    for w in (0, 7):
        with pytest.raises(ParameterError, match=r"'word_length' .* at most the number of points \(6\)"):
            patterns(x, w)
    for level in (0, 27):
        with pytest.raises(ParameterError, match="from 1 to 26"):
            sax(x, 2, level)
    with pytest.raises(InputError, match="same number of letters"):
        as_symbols(["ab", "abc"])
    with pytest.raises(InputError, match="letters a to z"):
        as_symbols(["aB"])
    with pytest.raises(InputError, match="letters a to z"):
        as_symbols(["aé"])
    with pytest.raises(InputError, match="records by points"):
        patterns(x[0], 2)
