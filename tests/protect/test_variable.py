"""V-MDAV, p-sensitive MDAV and MDAV in parts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_variable
import tsveil as tv
from naive_parts import parts_of
from tsveil.core.errors import InputError, ParameterError
from tsveil.guarantee.p_sensitive import PSensitive
from tsveil.protect import vmdav
from tsveil.protect.sensitive import codes_of

seeds = st.integers(0, 10**6)


def table(seed: int, n: int, coarse: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    return rng.integers(0, 4, (n, d)).astype(float) if coarse else rng.normal(size=(n, d))


@given(seeds, st.integers(2, 40), st.integers(2, 6), st.sampled_from([0.0, 0.2, 1.0, 3.0]), st.booleans())
def test_vmdav_follows_its_definition(seed: int, n: int, k: int, gamma: float, coarse: bool) -> None:
    z = table(seed, n, coarse)
    k = min(k, n)
    release = tv.VMDAV(k=k, gamma=gamma).protect(tv.Dataset.from_arrays({"x": z}))
    assert np.array_equal(release.groups["x"], naive_variable.vmdav(z, k, gamma))
    assert release.verify().holds


def test_vmdav_groups_grow_with_gamma() -> None:
    data = tv.example("load-curves")
    sizes = [np.bincount(tv.VMDAV(k=5, gamma=g).protect(data).groups["load"]) for g in (0.0, 1.2)]
    assert len(sizes[1]) < len(sizes[0])
    assert sizes[0].min() >= 5


@given(seeds, st.integers(4, 40), st.integers(2, 6), st.integers(2, 3), st.booleans(), st.integers(1, 2))
def test_p_sensitive_follows_its_definition(seed: int, n: int, k: int, p: int, coarse: bool, columns: int) -> None:
    z = table(seed, n, coarse)
    rng = np.random.default_rng(seed)
    k = min(k, n)
    values = {f"c{c}": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]).tolist() for c in range(columns)}
    data = tv.Dataset.from_arrays({"x": z}, confidential=values)
    if any(len(set(column)) < p for column in values.values()):
        with pytest.raises(ParameterError, match="different values"):
            tv.SensitiveMDAV(k=k, p=p).protect(data)
        return
    release = tv.SensitiveMDAV(k=k, p=p).protect(data)
    codes = np.array([[ord(v) for v in row] for row in zip(*values.values(), strict=True)])
    assert np.array_equal(release.groups["x"], naive_variable.sensitive_mdav(z, k, p, codes))
    assert release.verify().holds


@given(seeds, st.integers(6, 40), st.integers(2, 5))
def test_p_sensitive_equals_mdav_when_every_group_is_various_anyway(seed: int, n: int, k: int) -> None:
    z = table(seed, n, False)
    data = tv.Dataset.from_arrays({"x": z}, confidential={"c": list(range(n))})  # all values differ
    plain = tv.MDAV(k=k, refine="none").protect(data)
    assert np.array_equal(tv.SensitiveMDAV(k=k, p=2).protect(data).groups["x"], plain.groups["x"])


def test_p_sensitive_needs_a_confidential_column() -> None:
    data = tv.Dataset.from_arrays({"x": np.ones((9, 2))})
    with pytest.raises(InputError, match="needs a confidential column"):
        tv.SensitiveMDAV(k=2).protect(data)
    carried = tv.Dataset.from_arrays({"x": np.ones((9, 2))}, confidential={"a": list("xyzxyzxyz")})
    with pytest.raises(InputError, match="'b' is not a confidential column"):
        tv.SensitiveMDAV(k=2, columns="b").protect(carried)


def test_p_may_be_the_number_of_values_and_no_more() -> None:
    x = np.random.default_rng(1).normal(size=(12, 2))
    data = tv.Dataset.from_arrays({"x": x}, confidential={"a": list("uvw" * 4), "b": list("xy" * 6)})
    assert tv.SensitiveMDAV(k=2, p=3, columns="a").protect(data).verify().holds
    with pytest.raises(
        ParameterError,
        match=r"^The 'p' parameter of SensitiveMDAV must be at most the number of different values in 'b' \(2\). Got 3.$",
    ):
        tv.SensitiveMDAV(k=2, p=3).protect(data)
    with pytest.raises(
        ParameterError, match=r"'k' parameter of SensitiveMDAV must be at most the number of records \(12\)"
    ):
        tv.SensitiveMDAV(k=13, p=2).protect(data)
    with pytest.raises(InputError, match=r"^'c', 'd' is not a confidential column\n  confidential columns: a, b$"):
        tv.SensitiveMDAV(k=2, columns="a, c ,d").protect(data)


def test_the_named_columns_are_promised() -> None:
    x = np.random.default_rng(1).normal(size=(12, 2))
    data = tv.Dataset.from_arrays({"x": x, "y": x}, confidential={"a": list("uvw" * 4), "b": list("xy" * 6)})
    apart = tv.SensitiveMDAV(k=3, grouping="per-block").protect(data)
    assert apart.guarantee == PSensitive(3, 2, ("a", "b"), "block", 2)
    joint = tv.SensitiveMDAV(k=3, p=2, columns=" b ").protect(data)
    assert joint.guarantee == PSensitive(3, 2, ("b",), "record", 2)
    assert joint.verify().holds


def test_missing_confidential_values_are_one_value_of_their_own() -> None:
    codes = codes_of(pl.Series(["b", None, "a", None, "b"]))
    assert len({codes[0], codes[1], codes[2]}) == 3
    assert codes[1] == codes[3]
    assert codes[0] == codes[4]
    assert sorted(set(codes.tolist())) == [0, 1, 2]
    assert codes_of(pl.Series([3, 10, 3])).tolist() in ([1, 0, 1], [0, 1, 0])


def test_gamma_at_its_ends() -> None:
    # 0: no record ever joins; a large one: groups grow to 2k - 1 while records are left.
    x = np.random.default_rng(2).normal(size=(20, 2))
    data = tv.Dataset.from_arrays({"x": x})
    assert np.bincount(tv.VMDAV(k=4, gamma=0).protect(data).groups["x"]).tolist() == [4] * 5
    assert np.bincount(tv.VMDAV(k=4, gamma=10).protect(data).groups["x"]).max() >= 7
    whole = tv.VMDAV(k=20).protect(data)
    assert whole.facts["x"] == {"groups": 1, "smallest group": 20, "largest group": 20}


def test_partitioned_mode_keeps_k_and_says_so() -> None:
    rng = np.random.default_rng(0)
    data = tv.Dataset.from_arrays({"x": rng.normal(size=(3000, 12)).cumsum(1)})
    exact = tv.MDAV(k=7, mode="exact").protect(data)
    parts = tv.MDAV(k=7, mode="partitioned", part=500).protect(data)
    assert parts.verify().holds
    assert np.bincount(parts.groups["x"]).max() <= 13
    assert parts.facts["x"]["mode"] == "partitioned"
    assert parts.facts["x"]["parts"] == 6
    assert exact.facts["x"]["mode"] == "exact"
    sse = [float(((data.values - r.data.values) ** 2).sum()) for r in (exact, parts)]
    assert sse[0] <= sse[1] <= 1.15 * sse[0]


def test_vmdav_works_in_parts_beyond_its_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vmdav, "WHOLE", 300)
    monkeypatch.setattr(vmdav, "PART", 100)
    x = np.random.default_rng(0).normal(size=(301, 4)).cumsum(1)
    whole = tv.VMDAV(k=4).protect(tv.Dataset.from_arrays({"x": x[:300]}))
    assert np.array_equal(whole.groups["x"], naive_variable.vmdav(x[:300], 4, 0.2))
    data = tv.Dataset.from_arrays({"x": x})
    release = tv.VMDAV(k=4).protect(data)
    assert release.verify().holds
    assert release.facts["x"]["parts"] == 3
    ((_, parts),) = parts_of(tv.VMDAV(k=4), data)
    for rows in parts:
        own = release.groups["x"][rows]
        assert np.array_equal(own - own.min(), naive_variable.vmdav(x[rows], 4, 0.2))
    assert tv.VMDAV(k=60).part_size(301, 4) == 120  # a part has room for two groups
