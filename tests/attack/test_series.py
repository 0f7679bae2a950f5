"""Time series linkage against the definition, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import tsveil as tv
from tsveil.attack.series import series_prefixes


@given(
    st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 3), st.sampled_from(["euclidean", "sts"]), st.booleans()
)
def test_links_are_those_of_the_definition(seed: int, n: int, blocks: int, distance: Any, coarse: bool) -> None:
    rng = np.random.default_rng(seed)

    def table(points: int) -> np.ndarray:
        return rng.integers(0, 3, (n, points)).astype(float) if coarse else rng.normal(size=(n, points))

    original = {f"s{b}": table(b + 2) for b in range(blocks)}
    # Few distinct protected rows, as microaggregation leaves them.
    released = {name: x[rng.integers(0, max(1, n // 2), n)] for name, x in original.items()}
    links = series_prefixes(
        tv.Dataset.from_arrays(original), tv.Dataset.from_arrays(released), distance=distance, normalise="none"
    )
    for j in range(1, blocks + 1):
        known = list(original)[:j]
        tied, link, hit = naive.series_links([original[b] for b in known], [released[b] for b in known], distance)
        assert np.array_equal(links[j - 1].candidates, tied)
        assert np.array_equal(links[j - 1].link, link)
        assert np.array_equal(links[j - 1].hit, hit)


def test_identical_data_are_linked_completely_and_constant_data_by_chance() -> None:
    rng = np.random.default_rng(0)
    data = tv.Dataset.from_arrays({"x": rng.normal(size=(300, 6))})
    assert tv.attack.series(data, data).rate == 100.0
    flat = data.with_values(np.ones_like(data.values))
    assert tv.attack.series(data, flat).correct == pytest.approx(1.0)
    assert tv.attack.series(data, flat, distance="sts").correct == pytest.approx(1.0)


def test_k_anonymity_bounds_the_rate() -> None:
    data = tv.example("load-curves")
    for k in (3, 10):
        assert tv.attack.series(data, tv.MDAV(k=k).protect(data)).rate <= 100.0 / k


def test_more_than_one_tile_of_candidates() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(700, 5))
    noisy = x + rng.normal(0, 0.3, x.shape)
    tied, link, hit = naive.series_links([x], [noisy], "euclidean")
    links = tv.attack.series(tv.Dataset.from_arrays({"x": x}), tv.Dataset.from_arrays({"x": noisy}), normalise="none")
    assert np.array_equal(links.candidates, tied)
    assert np.array_equal(links.link, link)
    assert np.array_equal(links.hit, hit)
