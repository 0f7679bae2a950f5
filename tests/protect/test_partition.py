"""How records are cut into parts: each goes to one leaf by itself, parts have about the size wanted, and equal records stay together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from naive_parts import parts_of, small_parts
from tsveil.core.randomness import mix
from tsveil.core.types import Array
from tsveil.data.pieces import piece
from tsveil.data.store import Memory
from tsveil.engine.here import Here
from tsveil.protect import envelopes, projected
from tsveil.protect.base import Method
from tsveil.protect.partition import Tree, along, grow_tree, join_leaves, principal_direction, sample_mask
from tsveil.protect.work import protect_in_chunks, protect_in_memory

seeds = st.integers(0, 10**6)
KINDS = [
    "normal",
    "walks",
    "skewed",
    "coarse",
    "constant",
    "duplicates",
    "mostly equal",
    "offset",
    "tiny",
    "huge",
    "one enormous",
]


def table(seed: int, n: int, kind: str) -> Array:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    x: Array = rng.normal(size=(n, d))
    if kind == "walks":
        return x.cumsum(axis=1)
    if kind == "skewed":
        return np.exp(4 * x)
    if kind == "coarse":
        return rng.integers(0, 4, (n, d)).astype(float)
    if kind == "constant":
        return np.full((n, d), 0.1)
    if kind == "duplicates":
        return x[rng.integers(0, max(1, n // 9), n)]
    if kind == "mostly equal":
        return np.where(rng.random((n, 1)) < 0.8, 7.0, x)
    if kind == "one enormous":
        x[0] = 1e12
    return x * {"tiny": 1e-290, "huge": 1e149}.get(kind, 1.0) + (1e9 if kind == "offset" else 0.0)


def cut_anywhere(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Chunks of any sizes, some of a single record."""
    places = np.unique(rng.integers(1, n, int(rng.integers(0, 9)))).tolist() if n > 1 else []
    return list(pairwise([0, *places, n]))


# -- the tree ---------------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 400), st.integers(10, 60), st.sampled_from(KINDS))
def test_every_record_goes_to_one_leaf_whatever_its_neighbours(seed: int, n: int, size: int, kind: str) -> None:
    x = table(seed, n, kind)
    tree = grow_tree(x, n, size)
    leaf = tree.leaf(x)
    assert leaf.shape == (n,)
    assert np.array_equal(np.unique(leaf), np.arange(tree.leaves))  # the sample is all there is, so no leaf is empty
    rng = np.random.default_rng(seed)
    assert np.array_equal(np.concatenate([tree.leaf(x[start:stop]) for start, stop in cut_anywhere(n, rng)]), leaf)
    order = rng.permutation(n)
    assert np.array_equal(tree.leaf(x[order]), leaf[order])
    _, number = np.unique(x, axis=0, return_inverse=True)
    for same in range(int(number.max()) + 1):
        assert len(set(leaf[number.ravel() == same].tolist())) == 1


@given(seeds, st.integers(1, 400), st.integers(10, 60), st.sampled_from(KINDS))
def test_parts_are_as_large_as_wanted_unless_records_are_equal(seed: int, n: int, size: int, kind: str) -> None:
    x = table(seed, n, kind)
    leaf = grow_tree(x, n, size).leaf(x)
    counts = np.bincount(leaf)
    for number in np.flatnonzero(counts > 1.5 * size + 1).tolist():
        assert (x[leaf == number] == x[leaf == number][0]).all()
    if kind in ("normal", "walks", "tiny", "huge"):
        # A whole number of parts goes to either side, so all of them are full.
        assert len(counts) == max(1, round(n / size))
        assert counts.max() - counts.min() <= 2 * np.log2(len(counts)) + 2


def test_what_is_frequent_does_not_use_up_the_parts_of_the_others() -> None:
    # Nearly all records are equal in the column with by far the largest spread, and differ in the others.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3))
    x[:, 0] = 0.0
    x[:5, 0], x[5:10, 0] = -1e12, 1e12
    x = x[rng.permutation(4000)]
    assert np.bincount(grow_tree(x, 4000, 100).leaf(x)).max() <= 151
    data = tv.Dataset.from_arrays({"x": x})
    exact, parts = (tv.MDAV(k=5, mode=mode, part=100).protect(data) for mode in ("exact", "partitioned"))
    lost = [float(((release.data.values - x)[:, 1:] ** 2).sum()) for release in (exact, parts)]
    assert lost[1] < 2 * lost[0]


@given(seeds, st.integers(100, 400))
def test_leaves_are_numbered_from_left_to_right(seed: int, n: int) -> None:
    x = table(seed, n, "skewed")[:, :1]
    leaf = grow_tree(x, n, 20).leaf(x)
    assert (np.diff(leaf[np.argsort(x[:, 0], kind="stable")]) >= 0).all()


@pytest.mark.parametrize("columns", [1, 3, 300])
@pytest.mark.parametrize("exponent", [-1000, -500, 480, 900])
def test_a_power_of_two_changes_no_part(columns: int, exponent: int) -> None:
    if columns > 1 and exponent > 490:
        return  # methods that compare several columns take values up to 1e150
    x = np.random.default_rng(columns).normal(size=(200, columns))
    plain, moved = (grow_tree(z, 200, 20).leaf(z) for z in (x, np.ldexp(x, exponent)))
    assert plain.max() == 9
    assert np.array_equal(plain, moved)


@given(seeds, st.sampled_from([1, 2, 3, 8, 24, 1000, 8192, 8193, 20_000]))
def test_how_far_a_record_lies_does_not_depend_on_its_neighbours(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    x, direction = rng.normal(size=(7, columns)), rng.normal(size=columns)
    whole = along(x, direction)
    for start, stop in cut_anywhere(7, rng):
        assert np.array_equal(along(x[start:stop], direction), whole[start:stop])
    assert np.array_equal(np.concatenate([along(x[[at]], direction) for at in range(7)]), whole)
    assert np.allclose(whole, (x * direction).sum(axis=1))


def test_a_sample_stands_for_all_records() -> None:
    x = np.random.default_rng(1).normal(size=(20_000, 4)).cumsum(axis=1)
    sample = x[sample_mask(0, 20_000, 20_000, 2000)]
    tree = grow_tree(sample, 20_000, 500)
    counts = np.bincount(tree.leaf(x), minlength=tree.leaves)
    assert tree.leaves == 40
    assert counts.min() > 200
    assert counts.max() < 1000
    assert grow_tree(sample, 600, 500).leaves == 1
    assert grow_tree(sample[:1], 20_000, 500).leaves == 1  # one record has no direction


def test_parts_are_of_near_records() -> None:
    x = np.random.default_rng(2).normal(size=(2000, 4)) * [9, 1, 1, 1]
    leaf = grow_tree(x, 2000, 250).leaf(x)
    spread = [((x[leaf == at] - x[leaf == at].mean(axis=0)) ** 2).sum() for at in range(8)]
    assert sum(spread) < 0.15 * ((x - x.mean(axis=0)) ** 2).sum()


def test_a_tree_is_kept_in_a_store() -> None:
    x = np.random.default_rng(3).normal(size=(100, 2))
    store = Memory()
    for number, tree in enumerate((grow_tree(x, 100, 10), Tree.uncut(2))):
        tree.save(store, number)
        again = Tree.load(store, number)
        assert again.leaves == tree.leaves
        assert np.array_equal(again.leaf(x), tree.leaf(x))
    assert Tree.uncut(2).leaves == 1
    assert not Tree.uncut(2).leaf(x).any()


@pytest.mark.parametrize("columns", [3, 300])
def test_the_first_principal_direction(columns: int) -> None:
    rng = np.random.default_rng(4)
    expected = rng.normal(size=columns)
    expected /= np.linalg.norm(expected)
    expected *= np.sign(expected[np.argmax(np.abs(expected))])
    x = 50 * rng.normal(size=(500, 1)) * expected + 0.01 * rng.normal(size=(500, columns)) + 100
    for sign in (1, -1):
        assert np.allclose(principal_direction(sign * x), expected, atol=1e-3)
    assert np.isfinite(principal_direction(np.ones((5, columns)))).all()


# -- joining ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 20))
def test_leaves_are_joined_until_they_have_enough_records(counts: list[int], least: int) -> None:
    runs = join_leaves(np.array(counts), least)
    assert [first for first, _ in runs] == [0, *(last for _, last in runs[:-1])]
    assert runs[-1][1] == len(counts)
    sums = [sum(counts[first:last]) for first, last in runs]
    if sum(counts) < least:
        assert runs == [(0, len(counts))]
        return
    assert min(sums) >= least
    for first, last in runs[:-1]:
        assert sum(counts[first : last - 1]) < least  # no more than it needs
    first, last = runs[-1]
    rest = np.cumsum(counts[first:last])
    assert rest[-1] - rest[int(np.argmax(rest >= least))] < least  # what was left at the end


def test_full_leaves_stay_alone() -> None:
    assert join_leaves(np.array([5, 7, 3]), 3) == [(0, 1), (1, 2), (2, 3)]
    assert join_leaves(np.array([2, 0, 1]), 9) == [(0, 3)]
    assert join_leaves(np.array([4]), 1) == [(0, 1)]


# -- the sample -------------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 5000), st.integers(1, 6000))
def test_the_sample_does_not_depend_on_the_chunks(seed: int, n: int, wanted: int) -> None:
    whole = sample_mask(0, n, n, wanted)
    chunks = cut_anywhere(n, np.random.default_rng(seed))
    assert np.array_equal(np.concatenate([sample_mask(start, stop, n, wanted) for start, stop in chunks]), whole)
    if wanted >= n:
        assert whole.all()
    else:
        assert abs(int(whole.sum()) - wanted) <= 5 * np.sqrt(wanted) + 5


def test_no_rhythm_in_the_file_shows_in_the_sample() -> None:
    chosen = np.flatnonzero(sample_mask(0, 500_000, 500_000, 50_000))
    for period in (2, 7, 24, 96, 168):
        counts = np.bincount(chosen % period, minlength=period)
        assert np.abs(counts - 50_000 / period).max() < 5 * np.sqrt(50_000 / period)
    numbers = mix(np.arange(100_000, dtype=np.uint64))
    assert len(np.unique(numbers)) == 100_000
    assert abs(float(numbers.astype(np.float64).mean()) / 2.0**64 - 0.5) < 0.01


# -- methods in parts and chunks -------------------------------------------------------------------------------------------------


def in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> Method:
    """A method whose parts are small."""
    if name == "projected":
        monkeypatch.setattr(projected, "VALUES", 300)
        return tv.Projected(k=4)
    if name == "k-envelopes":
        monkeypatch.setattr(envelopes, "EXACT_RECORDS", 50)
        monkeypatch.setattr(envelopes, "PART", 40)
        return tv.KAnonymousEnvelopes(k=4)
    return tv.MDAV(k=4, mode="partitioned", part=100, distance="sts" if name == "slopes" else "euclidean")


@pytest.mark.parametrize("name", ["projected", "k-envelopes", "mdav", "slopes"])
def test_no_group_crosses_a_border(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method = in_parts(name, monkeypatch)
    data = tv.Dataset.from_arrays({"load": np.random.default_rng(6).normal(size=(500, 6)).cumsum(axis=1)})
    release = method.protect(data, seed=1)
    ((_, parts),) = parts_of(method, data)
    assert len(parts) == release.facts["load"]["parts"] > 3
    assert release.verify().holds
    groups = [set(release.groups["load"][rows].tolist()) for rows in parts]
    assert sum(map(len, groups)) == len(set().union(*groups)) == release.facts["load"]["groups"]
    if name == "projected":
        return  # its scales are those of the whole
    alone = type(method).from_settings(
        {**method.settings(), **({"mode": "exact"} if "mode" in method.settings() else {})}
    )
    for rows in parts:
        own = release.groups["load"][rows]
        assert np.array_equal(own - own.min(), alone.protect(data.take(rows)).groups["load"])


SMALL: list[Method] = [
    tv.MDAV(k=4),
    tv.MDAV(k=4, mode="partitioned", part=100),
    tv.MDAV(k=4, mode="partitioned", part=100, distance="sts", grouping="joint"),
    tv.MDAV(k=4, mode="partitioned", part=100, refine="search", iterations=40),
    tv.VMDAV(k=4),
    tv.SensitiveMDAV(k=4),
    tv.OptimalUnivariate(k=4, rounding="input"),
    tv.Mic1D(kappa=7),
    tv.Projected(k=4),
    tv.Projected(k=4, projection="zscores"),
    tv.RankSwap(p=2),
    tv.RankSwapDistribution(p=2),
    tv.RankSwapBuckets(buckets=9),
    tv.Noise(sd=0.1),
    tv.Noise(sd=0.1, correlated=True),
    tv.NLK(n=2, l=4, k=4),
    tv.NLK(n=2, l=4, k=4, grouping="joint"),
    tv.KP(k=8, P=2),
    tv.KAnonymousEnvelopes(k=4),
]


@pytest.mark.parametrize("parts", ["one", "many"])
@pytest.mark.parametrize("method", SMALL, ids=str)
def test_chunks_change_nothing(method: Method, parts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if parts == "many":
        small_parts(monkeypatch, 80)
    rng = np.random.default_rng(7)
    n, blocks = 300, ("load",) if method.width(6) != 6 else ("load", "gas")
    arrays = {name: rng.normal(size=(n, 6)).cumsum(axis=1).round(3) for name in blocks}
    data = tv.Dataset.from_arrays(arrays, confidential={"ill": rng.choice(["no", "yes", "maybe"], n).tolist()})
    whole, done = protect_in_memory(method, data, 5)
    expected = piece(whole, 0)
    assert len(expected.records) == n
    for chunk in (n, 77, 1):
        store = Memory()
        found = protect_in_chunks(method, data, 5, store, Here(), chunk)
        assert found == done
        one = piece(store, 0)
        for name in ("records", "original", "made", "groups"):
            assert np.array_equal(getattr(one, name), getattr(expected, name)), name
        assert one.others.equals(expected.others)
