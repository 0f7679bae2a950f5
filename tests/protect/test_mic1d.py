"""What must be true of Mic1D, and the worked example of the thesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_micro
import tsveil as tv
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array
from tsveil.guarantee.base import Status
from tsveil.protect.mic1d import Mic1D, mixed_means

#: Table 3.8: age, height, weight, income
PEOPLE = np.array(
    [[23, 159, 52, 12000], [23, 177, 75, 7000], [55, 173, 79, 50000], [80, 155, 55, 5000], [30, 180, 70, 30000]],
    dtype=float,
)


@st.composite
def tables(draw: st.DrawFn) -> Array:
    n, d = draw(st.integers(1, 20)), draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["normal", "ties", "constant", "offset", "tiny", "huge"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "ties":
        return rng.integers(0, 3, (n, d)).astype(np.float64)
    if kind == "constant":
        return np.full((n, d), 0.1)
    return rng.normal(size=(n, d)) * {"tiny": 1e-300, "huge": 1e299}.get(kind, 1.0) + (1e9 if kind == "offset" else 0.0)


@given(tables(), st.integers(2, 30))
def test_it_follows_the_definition(x: Array, kappa: int) -> None:
    assert np.allclose(mixed_means(x, kappa), naive_micro.mic1d(x, kappa), rtol=1e-12, atol=1e-12 * np.abs(x).max())


@given(tables(), st.integers(2, 30))
def test_values_stay_in_their_first_chunk(x: Array, kappa: int) -> None:
    order = np.argsort(x.ravel(order="F"), kind="stable")
    before, after = x.ravel(order="F")[order], mixed_means(x, kappa).ravel(order="F")[order]
    slack = 1e-12 * np.abs(x).max()
    for a in range(0, len(before), kappa):
        chunk = slice(a, a + kappa)
        assert after[chunk].min() >= before[chunk][0] - slack
        assert after[chunk].max() <= before[chunk][-1] + slack


def test_the_worked_example() -> None:
    """Examples 3.1 to 3.4: the vector, its order, its chunks of 8, and their normalisation to the printed digits."""
    vector = PEOPLE.ravel(order="F")
    assert vector.tolist() == [*[23, 23, 55, 80, 30], *[159, 177, 173, 155, 180], *[52, 75, 79, 55, 70], *PEOPLE[:, 3]]
    chunks = [
        [0, 0, 0.13, 0.56, 0.62, 0.62, 0.90, 1],
        [0, 0.0002, 0.015, 0.016, 0.019, 0.020, 0.020, 1],
        [0, 0.12, 0.53, 1],
    ]
    ordered = np.sort(vector)
    for number, printed in enumerate(chunks):
        chunk = ordered[8 * number : 8 * number + 8]
        units = (chunk - chunk[0]) / (chunk[-1] - chunk[0])
        # printed figures are cut off or rounded at two or three digits
        assert np.allclose(units, printed, atol=0.0101 if number != 1 else 0.00101)

    # Computed by hand from there. The 20 normalised values in order, in chunks of 8: the three zeros, 1/4921, 76/4921, 80/4921,
    # 94/4921 and the fourth zero form the first; so 79 kg and 5 000 of income end up together.
    out = mixed_means(PEOPLE, 8)
    first = (0 + 0 + 0 + 0 + 1 + 76 + 80 + 94) / 4921 / 8
    assert out[0, 0] == pytest.approx(23 + 52 * first)  # 23 years: a zero of the first chunk
    assert out[2, 2] == pytest.approx(79 + 4921 * first)  # 79 kg: a zero of the second chunk
    assert out[1, 3] == pytest.approx(7000 + 43000 * first)  # 7 000 of income: the zero of the last chunk
    assert out[3, 0] == pytest.approx(79 + 4921 * first)  # 80 years: 1/4921 of the second chunk
    last = (47 / 52 + 1 + 1 + 1) / 4
    assert out[1, 2] == pytest.approx(23 + 52 * last)  # 75 kg: a one, with the other ones and the largest value below
    assert out[2, 3] == pytest.approx(7000 + 43000 * last)  # 50 000 of income


def test_it_claims_nothing_and_says_why() -> None:
    release = Mic1D(kappa=8).protect(tv.Dataset.from_arrays({"x": PEOPLE}))
    verdict = release.verify()
    assert verdict.status is Status.NONE_CLAIMED
    assert "only by chance" in verdict.guarantee
    assert not release.groups
    assert release.facts["all blocks together"] == {"chunks": 3, "values in the last chunk": 4}
    assert not release.warnings


def test_all_blocks_are_mixed() -> None:
    together = Mic1D(kappa=6).protect(tv.Dataset.from_arrays({"x": PEOPLE}))
    apart = Mic1D(kappa=6).protect(tv.Dataset.from_arrays({"x": PEOPLE[:, :3], "y": PEOPLE[:, 3:]}))
    assert np.array_equal(apart.data.values, together.data.values)
    assert np.array_equal(apart.data.block("y"), together.data.values[:, 3:])


def test_the_last_chunk_is_told() -> None:
    data = tv.Dataset.from_arrays({"x": PEOPLE})
    for kappa, chunks, last in ((20, 1, 20), (10, 2, 10), (3, 7, 2), (9, 3, 2), (2, 10, 2)):
        release = Mic1D(kappa=kappa).protect(data)
        assert release.facts["all blocks together"] == {"chunks": chunks, "values in the last chunk": last}
        assert release.warnings == ()
    alone = Mic1D(kappa=19).protect(data)
    assert alone.facts["all blocks together"] == {"chunks": 2, "values in the last chunk": 1}
    assert alone.warnings == (
        "the last chunk holds a single value, which is published unchanged; another kappa avoids that",
    )


def test_a_value_left_alone_gets_a_warning() -> None:
    release = Mic1D(kappa=19).protect(tv.Dataset.from_arrays({"x": PEOPLE}))
    assert "single value, which is published unchanged" in release.warnings[0]
    assert (release.data.values == PEOPLE).sum() >= 1


def test_kappa_above_the_number_of_values_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"The 'kappa' parameter of Mic1D must be at most the number of values \(20\). Got 21."
    ):
        Mic1D(kappa=21).protect(tv.Dataset.from_arrays({"x": PEOPLE}))
