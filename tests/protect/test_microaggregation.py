"""What the methods with groups have in common: the space in which records are compared, and what replaces their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import naive
import tsveil as tv
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, Indices
from tsveil.protect import mdav
from tsveil.protect.base import EXACT_RECORDS, EXACT_VALUES
from tsveil.protect.mdav import MDAV, equal_records
from tsveil.protect.representative import represent
from tsveil.protect.vmdav import VMDAV
from tsveil.study.grids import configurations
from tsveil.transform.statistics import slopes


def same(one: Indices, two: Indices) -> bool:
    """Whether two labellings make the same groups."""
    return bool(np.array_equal(one[:, None] == one, two[:, None] == two))


def attributes(*blocks: Array) -> tv.Dataset:
    made, at = [], 0
    for number, values in enumerate(blocks):
        made.append(tv.Block(f"b{number}", tuple(f"c{at + j}" for j in range(values.shape[1]))))
        at += values.shape[1]
    return tv.Dataset(values=np.hstack(blocks), blocks=tuple(made), others=pl.DataFrame())


def standardised(x: Array) -> Array:
    out: Array = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    return out


@pytest.fixture
def x() -> Array:
    """Columns of very different units."""
    return np.random.default_rng(8).normal(size=(30, 3)) * [1, 40, 0.05] + 7


@pytest.mark.parametrize(
    ("scale", "of_series", "of_attributes"),
    [("auto", False, True), ("standardise", True, True), ("none", False, False)],
)
def test_attributes_are_standardised_and_series_are_not(
    x: Array, scale: Any, of_series: bool, of_attributes: bool
) -> None:
    for data, wanted in ((tv.Dataset.from_arrays({"b0": x}), of_series), (attributes(x), of_attributes)):
        groups = MDAV(k=4, scale=scale, refine="none").protect(data).groups["b0"]
        assert same(groups, naive.mdav(standardised(x) if wanted else x, 4))
        assert not same(groups, naive.mdav(x if wanted else standardised(x), 4))


def test_shapes_are_compared_by_slopes() -> None:
    x = np.random.default_rng(8).normal(size=(30, 3))
    data = tv.Dataset.from_arrays({"load": x}, times=["2020-01-01", "2020-01-02", "2020-01-04"])
    groups = MDAV(k=4, distance="sts", refine="none").protect(data).groups["load"]
    times = data.blocks[0].times
    assert times is not None
    assert same(groups, naive.mdav(slopes(x, times), 4))
    assert not same(groups, naive.mdav(x, 4))


def test_joint_groups_weigh_blocks_alike(x: Array) -> None:
    # A series is standardised by its one mean and spread, attributes column by column.
    y = np.random.default_rng(9).normal(size=(30, 2)) * [1, 1000]
    data = tv.Dataset(
        values=np.hstack([x, y]),
        blocks=(tv.Dataset.from_arrays({"load": x}).blocks[0], tv.Block("income", ("p", "q"))),
        others=pl.DataFrame(),
    )
    release = MDAV(k=5, refine="none").protect(data)
    assert np.array_equal(release.groups["load"], release.groups["income"])
    assert same(release.groups["load"], naive.mdav(np.hstack([(x - x.mean()) / x.std(ddof=1), standardised(y)]), 5))
    assert release.guarantee == tv.KAnonymity(5, scope="record", blocks=2)
    apart = MDAV(k=5, grouping="per-block").protect(data)
    assert not np.array_equal(apart.groups["load"], apart.groups["income"])
    assert apart.guarantee == tv.KAnonymity(5, scope="block", blocks=2)


@pytest.mark.parametrize("scale", ["standardise", "none"])
def test_a_scale_that_is_asked_for_holds_for_joint_groups_too(x: Array, scale: Any) -> None:
    y = np.random.default_rng(9).normal(size=(30, 2)) * [1, 1000]
    release = MDAV(k=5, scale=scale, refine="none").protect(tv.Dataset.from_arrays({"load": x, "gas": y}))
    both = np.hstack([x, y])
    assert same(release.groups["load"], naive.mdav(standardised(both) if scale == "standardise" else both, 5))


@pytest.mark.parametrize("kind", [MDAV, VMDAV])
def test_a_single_block_is_the_whole_record(x: Array, kind: Any) -> None:
    for data in (tv.Dataset.from_arrays({"load": x}), attributes(np.round(x))):
        joint, apart = (kind(k=4, grouping=grouping).protect(data, seed=1) for grouping in ("joint", "per-block"))
        assert np.array_equal(joint.data.values, apart.data.values)
        assert (joint.guarantee, joint.facts) == (apart.guarantee, apart.facts)


def test_groups_are_refined_unless_the_printed_loop_is_asked_for() -> None:
    assert MDAV() == MDAV(refine="swap", grouping="joint")
    assert MDAV(variant="paper") == MDAV(variant="paper", refine="none")
    assert MDAV.from_settings({"variant": "paper"}).settings()["refine"] == "none"
    assert [str(one) for one in (MDAV(), MDAV(variant="paper"), MDAV(refine="none"))] == [
        "MDAV(k=5)",
        "MDAV(k=5, variant='paper')",
        "MDAV(k=5, refine='none')",
    ]
    tried = configurations("mdav", {"k": [3], "variant": ["standard", "paper"]})
    assert [one.settings["refine"] for one in tried] == ["swap", "none"]
    assert [one.make_method().settings() for one in tried] == [one.settings for one in tried]


@pytest.mark.parametrize("how", ["mean", "median"])
def test_values_are_those_of_their_group(x: Array, how: Any) -> None:
    release = MDAV(k=4, representative=how, refine="none").protect(tv.Dataset.from_arrays({"load": x}))
    groups = release.groups["load"]
    for g in range(groups.max() + 1):
        expected = getattr(np, how)(x[groups == g], axis=0)
        assert np.allclose(release.data.values[groups == g], expected, rtol=1e-13, atol=0)
        assert len(np.unique(release.data.values[groups == g], axis=0)) == 1
    sizes = np.bincount(groups)
    assert release.facts["load"] == {
        "groups": len(sizes),
        "smallest group": sizes.min(),
        "largest group": sizes.max(),
        "mode": "exact",
    }
    assert release.warnings == ()


def test_medians_of_groups_in_any_order() -> None:
    values = np.array([[5.0, 0.0], [1.0, 9.0], [7.0, 3.0], [3.0, 1.0], [9.0, 8.0]])
    found = represent(values, np.array([1, 0, 1, 0, 1]), "median")
    assert found.tolist() == [[7.0, 3.0], [2.0, 5.0], [7.0, 3.0], [2.0, 5.0], [7.0, 3.0]]
    assert represent(values, np.zeros(5, dtype=np.int64), "median").tolist() == [[5.0, 3.0]] * 5
    assert represent(values[:2], np.array([0, 1]), "median").tolist() == values[:2].tolist()


def test_k_records_are_one_group_and_fewer_are_none(x: Array) -> None:
    data = tv.Dataset.from_arrays({"load": x})
    assert set(MDAV(k=30).protect(data).groups["load"].tolist()) == {0}
    assert set(MDAV(k=16).protect(data).groups["load"].tolist()) == {0}  # fewer than 2k
    assert np.bincount(MDAV(k=15).protect(data).groups["load"]).tolist() == [15, 15]
    with pytest.raises(ParameterError, match=r"'k' parameter of MDAV must be at most the number of records \(30\)"):
        MDAV(k=31).protect(data)


def test_slopes_need_series_of_two_points(x: Array) -> None:
    two = tv.Dataset.from_arrays({"load": x[:, :2]})
    assert MDAV(k=3, distance="sts").protect(two).verify().holds
    short = tv.Dataset.from_arrays({"load": x[:, :2], "one": x[:, :1]})
    with pytest.raises(InputError, match=r"needs at least two points, but 'one' is not such a series\n  options: "):
        MDAV(k=3, distance="sts").protect(short)
    with pytest.raises(InputError, match="but 'b0', 'b1' is not such a series"):
        MDAV(k=3, distance="sts").protect(attributes(x, x[:, :2]))
    assert MDAV(k=3).protect(short).verify().holds


@pytest.mark.parametrize("sign", [1, -1])
def test_values_up_to_1e150_are_taken(sign: int) -> None:
    values = np.array([[sign * 1e150], [0.0], [1.0], [2.0]])
    assert MDAV(k=2).protect(tv.Dataset.from_arrays({"load": values})).verify().holds
    values[0, 0] = np.nextafter(values[0, 0], sign * np.inf)
    with pytest.raises(InputError, match=r"values beyond 1e\+150 cannot be compared by squared distances"):
        MDAV(k=2).protect(tv.Dataset.from_arrays({"load": values}))


# -- MDAV's own settings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refine", ["swap", "search"])
def test_the_printed_loop_is_not_refined(refine: Any) -> None:
    with pytest.raises(
        ParameterError, match=f"'refine' parameter .* must be 'none' with variant='paper'.* Got '{refine}'"
    ):
        MDAV(variant="paper", refine=refine)
    assert MDAV(variant="paper").refine == "none"
    assert MDAV(refine=refine).variant == "standard"


@pytest.mark.parametrize("budget", [{"iterations": 1}, {"seconds": 1.0}, {"iterations": 1, "seconds": 1.0}])
def test_a_budget_is_for_the_search_only(budget: dict[str, Any]) -> None:
    for refine in ("none", "swap"):
        with pytest.raises(ParameterError, match=f"are the budget of refine='search'. Got refine='{refine}'"):
            MDAV(refine=refine, **budget)
    assert MDAV(refine="search", **budget).settings().items() >= budget.items()


def test_the_printed_loop_warns_of_each_group_that_is_too_small() -> None:
    x = np.random.default_rng(3).normal(size=(11, 2))
    release = MDAV(k=3, variant="paper").protect(tv.Dataset.from_arrays({"load": x}))
    sizes = np.bincount(release.groups["load"])
    small = np.flatnonzero(sizes < 3).tolist()
    assert small
    assert list(release.warnings) == [
        f"the printed loop (variant='paper') left group {g} with {sizes[g]} of the 3 records that k-anonymity needs"
        for g in small
    ]
    assert not release.verify().holds
    assert MDAV(k=3).warnings(np.array([3, 4, 5])) == ()
    assert len(MDAV(k=3).warnings(np.array([2, 3, 1, 1, 1, 1, 1]))) == 5  # no more than five are told


def test_parts_are_used_when_asked_for_or_beyond_reach() -> None:
    x = np.random.default_rng(4).normal(size=(300, 2))
    data = tv.Dataset.from_arrays({"load": x})
    assert MDAV(k=3).protect(data).facts["load"]["mode"] == "exact"
    assert MDAV(k=3, mode="exact").protect(data).facts["load"]["mode"] == "exact"
    release = MDAV(k=3, mode="partitioned", part=100).protect(data)
    assert release.facts["load"]["mode"] == "partitioned"
    assert release.facts["load"]["parts"] == 3
    assert (EXACT_RECORDS, EXACT_VALUES) == (200_000, 2**27)
    plain = MDAV(k=3, refine="none").protect(data)
    assert set(plain.facts["load"]) == {"groups", "smallest group", "largest group", "mode"}
    refined = MDAV(k=3).protect(data)
    assert len(refined.facts["load"]) > 4


def test_auto_changes_to_parts_beyond_its_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(4).normal(size=(301, 2))

    def mode(n: int) -> str:
        return str(MDAV(k=3).protect(tv.Dataset.from_arrays({"load": x[:n]})).facts["load"]["mode"])

    for border, value in (("EXACT_RECORDS", 300), ("EXACT_VALUES", 600)):
        with monkeypatch.context() as context:
            context.setattr(mdav, border, value)
            assert (mode(300), mode(301)) == ("exact", "partitioned")


def test_a_part_has_room_for_one_group() -> None:
    assert MDAV(k=3, mode="partitioned", part=100).part_size(10, 1) == 100
    assert MDAV(k=50, mode="partitioned", part=100).part_size(10, 1) == 100
    assert MDAV(k=51, mode="partitioned", part=100).part_size(10, 1) == 101
    assert MDAV(k=51, mode="exact", part=100).part_size(10**9, 1) is None


def test_equal_records_are_grouped_in_their_order() -> None:
    for n in range(2, 30):
        for k in range(2, n + 1):
            groups = equal_records(n, k)
            sizes = np.bincount(groups)
            assert sizes.min() >= k
            assert sizes.max() < 2 * k
            assert (np.diff(groups) >= 0).all()
    # Half of the records are equal, far more than a part should have.
    x = np.zeros((1000, 2))
    x[500:] = np.random.default_rng(1).normal(5, 1, (500, 2))
    release = MDAV(k=3, mode="partitioned", part=100).protect(tv.Dataset.from_arrays({"load": x}))
    assert release.verify().holds
    assert np.array_equal(release.data.values[:500], x[:500])
    assert release.facts["load"]["largest group"] < 6


def test_one_part_is_what_exact_mdav_makes() -> None:
    # Few records, or records that cannot be told apart: there is nothing to cut.
    x = np.random.default_rng(4).normal(size=(60, 2))
    for values in (x, np.ones((500, 2))):
        data = tv.Dataset.from_arrays({"load": values})
        release = MDAV(k=3, mode="partitioned", part=100).protect(data)
        assert release.verify().holds
        assert np.array_equal(release.data.values, MDAV(k=3, mode="exact").protect(data).data.values)
        assert release.facts["load"]["mode"] == "partitioned"
        assert "parts" not in release.facts["load"]
