"""No result depends on the order of the records in either file: ties are shared out, never resolved by position."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.alignment import alignment
from tsveil.attack.conditional import conditional
from tsveil.attack.distance import distance
from tsveil.attack.fuzzy import fuzzy
from tsveil.attack.interval import interval
from tsveil.attack.likelihood import likelihood
from tsveil.attack.links import Links
from tsveil.attack.mahalanobis import mahalanobis
from tsveil.attack.probabilistic import probabilistic
from tsveil.attack.projected import projected
from tsveil.attack.rank_swap import rank_swap
from tsveil.attack.series import series

ATTACKS: dict[str, Callable[..., Links]] = {
    "distance": distance,
    "distance-own": partial(distance, scaling="own"),
    "distance-l1": partial(distance, metric="l1"),
    "one-to-one": partial(distance, one_to_one=True),
    "blocking": partial(distance, blocking=4),
    "probabilistic": probabilistic,
    "probabilistic-within": partial(probabilistic, agree="within", tolerance=0.3),
    "probabilistic-ranks": partial(probabilistic, window=3),
    "conditional": conditional,
    "conditional-ranks": partial(conditional, window=3),
    "rank_swap": partial(rank_swap, p=15.0),
    "rank_swap-union": partial(rank_swap, p=10.0, rule="union"),
    "alignment": alignment,
    "mahalanobis": mahalanobis,
    "likelihood": partial(likelihood, deviations=0.5),
    "likelihood-correlated": partial(likelihood, deviations=0.5, correlated=True),
    "pcp": partial(projected, projection="pcp"),
    "zscores": partial(projected, projection="zscores"),
    "series": series,
    "series-own": partial(series, scaling="own"),
    "series-component": partial(series, normalise="component"),
    "series-one-to-one": partial(series, one_to_one=True),
    "series-blocking": partial(series, blocking=4),
    "sts": partial(series, distance="sts"),
    "dtw": partial(series, distance="dtw"),
    "fuzzy": fuzzy,
    "fuzzy-twofold": partial(fuzzy, aggregation="twofold", normalise="ranging"),
    "fuzzy-probabilistic": partial(fuzzy, linkage="probabilistic", quantifier="sigmoid"),
}


@pytest.mark.parametrize("name", list(ATTACKS))
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 25),
    sample=st.booleans(),
    kind=st.sampled_from(["coarse", "fine", "decimal"]),
)
def test_shuffled_files_give_the_same(name: str, seed: int, n: int, sample: bool, kind: str) -> None:
    rng = np.random.default_rng(seed)
    a = (
        rng.normal(size=(n, 4))
        if kind == "fine"
        else rng.integers(0, 4 if kind == "coarse" else 9, (n, 4)).astype(float)
    )
    if kind == "decimal":
        a /= 10
    b = naive.grouped(a, 2, rng)
    own = np.arange(n)
    if sample:
        kept = rng.permutation(n)[: max(1, n - 3)]
        b, own = b[kept], np.array([int(np.flatnonzero(kept == i)[0]) if i in kept else -1 for i in range(n)])
    attack = ATTACKS[name]
    before = _attacked(attack, a, b, own)
    order_a, order_b = rng.permutation(n), rng.permutation(len(b))
    place = np.argsort(order_b)
    after = _attacked(
        attack, a[order_a], b[order_b], np.array([place[row] if row >= 0 else -1 for row in own[order_a]])
    )
    for field in ("probability", "candidates", "tied", "hit", "certain"):
        assert np.array_equal(getattr(after, field), getattr(before, field)[order_a]), field


def _attacked(attack: Callable[..., Links], a: Any, b: Any, own: Any) -> Links:
    original, released, truth = naive.pair_of_files(a, b, own.tolist(), blocks=[2, 2])
    if getattr(attack, "func", attack) is series:
        original, released = (
            tv.Dataset.from_arrays(
                {block.name: data.block(block.name) for block in data.blocks}, ids=data.ids.to_list()
            )
            for data in (original, released)
        )
    return attack(original, released, truth=truth)


@given(st.integers(0, 10**6))
def test_interval_disclosure_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 6, (20, 3)).astype(float)
    b = rng.integers(0, 6, (20, 3)).astype(float)
    order = rng.permutation(20)
    before = interval(naive.dataset(a), naive.dataset(b))
    after = interval(naive.dataset(a[order]), naive.dataset(b[order]))
    assert np.array_equal(after.per_record, before.per_record[order])
    assert after.rate == before.rate


def test_order_gives_nothing_away() -> None:
    """Both files in their order or one of them shuffled: as many records are found."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, (300, 2)).astype(float)
    original, released, truth = naive.pair_of_files(a, a, range(300))
    shuffled = released.take(rng.permutation(300))
    assert distance(original, released, truth=truth).correct == distance(original, shuffled, truth=truth).correct
    # Taking the first of equals would make the order of the files an attack of its own.
    assert distance(original, released, truth=truth).correct == pytest.approx(len(np.unique(a, axis=0)))
