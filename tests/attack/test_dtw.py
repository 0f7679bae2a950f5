"""Time warping linkage against the definition."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_series
import tsveil as tv
from tsveil.attack.series import series
from tsveil.core.errors import InputError, ParameterError

dtw = partial(series, distance="dtw")


@given(
    st.integers(0, 10**6), st.integers(1, 14), st.integers(1, 14), st.integers(1, 2), st.integers(0, 6), st.booleans()
)
def test_links_are_those_of_the_definition(seed: int, n: int, m: int, blocks: int, radius: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)

    def files(count: int) -> dict[str, np.ndarray]:
        return {
            f"s{b}": rng.integers(0, 3, (count, b + 4)).astype(float) if coarse else rng.normal(size=(count, b + 4))
            for b in range(blocks)
        }

    one, other = files(n), files(m)
    # Some equal released records, as microaggregation leaves them.
    rows = rng.integers(0, max(1, m // 2), m)
    other = {name: x[rows] for name, x in other.items()}
    original = tv.Dataset.from_arrays(one, ids=[f"a{i}" for i in range(n)])
    released = tv.Dataset.from_arrays(other, ids=[f"b{i}" for i in range(m)])
    truth = {f"a{i}": f"b{i}" for i in range(min(n, m))}
    found = dtw(original, released, truth=truth, radius=radius, normalise="none")
    for i in range(n):
        apart = [
            sum(naive_series.dtw(one[name][i].tolist(), other[name][row].tolist(), radius) for name in one)
            for row in range(m)
        ]
        best = [row for row in range(m) if apart[row] == min(apart)]
        assert found.candidates[i] == len(best)
        assert found.link[i] == best[0]
        assert found.hit[i] == (i in best and i < min(n, m))


def test_a_delay_hides_a_record_from_the_eye_but_not_from_warping() -> None:
    rng = np.random.default_rng(0)
    walk = rng.normal(size=(80, 40)).cumsum(axis=1)
    late = np.column_stack([walk[:, :1], walk[:, :1], walk[:, :-2]]) + rng.normal(0, 0.3, walk.shape)
    original, released = tv.Dataset.from_arrays({"x": walk}), tv.Dataset.from_arrays({"x": late})
    assert dtw(original, released).correct > series(original, released).correct
    assert dtw(original, released, radius=0).correct == series(original, released).correct


def test_bad_requests() -> None:
    data = tv.Dataset.from_arrays({"x": np.eye(4)})
    with pytest.raises(ParameterError, match="'radius' parameter must be at least 0"):
        dtw(data, data, radius=-1)
    with pytest.raises(InputError, match="4 points in the original and 3 in the release"):
        dtw(data, tv.Dataset.from_arrays({"x": np.eye(4)[:, :3]}))
    with pytest.raises(InputError, match="there is no series 'y'"):
        dtw(data, data, known=["y"])
    with pytest.raises(ParameterError, match="'radius' parameter is for distance='dtw' only"):
        series(data, data, radius=2)
