"""What all methods do before and after their own work: refuse, round, warn, and keep the figures of the run."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from datetime import date, timedelta
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block
from tsveil.guarantee.none import NoGuarantee
from tsveil.protect.base import (
    Described,
    Method,
    Part,
    Protected,
    ValueMethod,
    check_k,
    column_units,
    fitting_decimals,
    linking_warnings,
    merged_facts,
    round_columns,
    sizes_of,
)
from tsveil.protect.partition import Unit
from tsveil.protect.survey import Survey
from tsveil.protect.work import survey_of


@dataclass(frozen=True, kw_only=True)
class Shift(ValueMethod):
    """Adds a fixed number; its blocks say what the test wants to hear."""

    takes: ClassVar[frozenset[str]] = frozenset({"series"})
    name: ClassVar[str] = "shift"

    def guarantee(self, data: Described) -> NoGuarantee:
        return NoGuarantee()

    def protect_part(self, part: Part) -> Protected:
        name = part.unit.name
        if name == "plain":
            return Protected(part.values + 0.25)
        groups = np.arange(len(part.values)) // 2
        return Protected(part.values + 0.25, groups, ("look out", f"{name} was moved"), {"moved by": 0.25})


def series(**blocks: Any) -> tv.Dataset:
    return tv.Dataset.from_arrays({name: np.asarray(values, dtype=float) for name, values in blocks.items()})


def attributes(values: Array, missing: bool = False) -> tv.Dataset:
    block = Block("all", tuple(f"c{at}" for at in range(values.shape[1])))
    return tv.Dataset(values=values, blocks=(block,), others=pl.DataFrame(), missing=missing)


def test_a_release_keeps_what_its_blocks_say() -> None:
    data = series(a=[[1, 2], [3, 4]], plain=[[5, 6], [7, 8]], b=[[9, 9], [9, 9]])
    release = Shift().protect(data, seed=12)
    assert np.array_equal(release.data.values, data.values + 0.25)
    assert {name: groups.tolist() for name, groups in release.groups.items()} == {"a": [0, 0], "b": [0, 0]}
    assert release.facts == {"a": {"moved by": 0.25}, "b": {"moved by": 0.25}}
    assert release.warnings == ("look out", "a was moved", "b was moved")  # each once
    assert release.seed == 12
    assert release.original is data
    assert release.method == Shift()
    assert Shift().protect(data).seed != Shift().protect(data).seed


def test_the_seed_is_given_by_name() -> None:
    data = series(a=[[1, 2], [3, 4]])
    for method in (Shift(), tv.MDAV(k=2), tv.KAnonymousEnvelopes(k=2)):
        with pytest.raises(TypeError, match="positional"):
            method.protect(data, 5)  # type: ignore[call-arg]


def test_minus_zero_is_published_as_zero() -> None:
    released = Shift().protect(series(a=[[-0.25, -0.25], [-0.5, -0.25]])).data.values
    assert not np.signbit(released[released == 0]).any()
    flat = tv.MDAV(k=2).protect(series(a=[[-0.0, -0.0], [-0.0, -0.0]])).data.values
    assert not np.signbit(flat).any()


def test_only_the_kinds_that_it_takes() -> None:
    with pytest.raises(InputError, match=r"^Shift protects series; this data set has attributes$"):
        Shift().protect(attributes(np.ones((3, 2))))
    assert Method.takes == {"series", "attributes"}


def test_missing_values_are_looked_for_where_there_may_be_some() -> None:
    gap = np.array([[1.0, np.nan], [1.0, 2.0]])
    with pytest.raises(InputError, match="MDAV cannot protect missing values\n  options: read the data with missing="):
        tv.MDAV(k=2).protect(attributes(gap, missing=True))
    assert tv.MDAV(k=2).protect(attributes(np.ones((2, 2)), missing=True)).verify().holds


@pytest.mark.parametrize("sign", [1, -1])
def test_values_up_to_1e300_are_taken(sign: int) -> None:
    Shift().protect(series(a=[[sign * 1e300, 1.0], [1.0, 1.0]]))
    with pytest.raises(InputError, match=r"^Shift cannot protect values beyond 1e\+300: "):
        Shift().protect(series(a=[[np.nextafter(sign * 1e300, sign * np.inf), 1.0], [1.0, 1.0]]))


def test_a_method_must_promise_and_protect() -> None:
    class Idle(ValueMethod):
        def guarantee(self, data: Described) -> NoGuarantee:
            return NoGuarantee()

    with pytest.raises(TypeError, match="protect_part"):
        Idle()  # type: ignore[abstract]
    with pytest.raises(TypeError, match="guarantee"):
        type("Silent", (ValueMethod,), {})()


def test_decimals_are_those_of_the_value_with_most() -> None:
    assert fitting_decimals(np.array([1.0, 200.0]))[0] == 0
    assert fitting_decimals(np.array([1.0, 0.5]))[0] == 1
    assert fitting_decimals(np.array([1e-11]))[0] == 11
    assert fitting_decimals(np.array([1e-12]))[0] == 12
    assert fitting_decimals(np.array([1e-13])) == []
    assert fitting_decimals(np.array([1e300]))[0] == 0


def test_columns_are_rounded_one_by_one() -> None:
    values = np.array([[1.234567, 1.234567, 1.234567], [2.345678, 2.345678, 2.345678]])
    before = values.copy()
    assert round_columns(values, [0, 2, None]).tolist() == [[1.0, 1.23, 1.234567], [2.0, 2.35, 2.345678]]
    assert np.array_equal(values, before)
    huge = np.array([[1e300], [1.23]])
    assert round_columns(huge, [1]).tolist() == [[1e300], [1.2]]


def test_rounding_is_done_only_when_asked_for() -> None:
    data = series(a=[[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(Shift().protect(data).data.values, data.values + 0.25)
    assert np.array_equal(Shift(rounding="input").protect(data).data.values, data.values)
    # Each column has the decimals of its own value with most.
    mixed = series(a=[[1.0, 0.25, 1 / 3], [2.0, 0.5, 0.5]])
    expected = np.column_stack([[1.0, 2.0], [0.5, 0.75], mixed.values[:, 2] + 0.25])
    assert np.array_equal(Shift(rounding="input").protect(mixed).data.values, expected)


def test_k_may_be_the_number_of_records_and_no_more() -> None:
    check_k("MDAV", 3, 3)
    with pytest.raises(
        ParameterError, match=r"^The 'k' parameter of MDAV must be at most the number of records \(3\). Got 4.$"
    ):
        check_k("MDAV", 4, 3)


@pytest.mark.parametrize(("n", "alone", "warned"), [(40, 2, False), (40, 3, True), (20, 0, False), (20, 2, True)])
def test_a_column_that_singles_out_more_than_a_twentieth_is_told(n: int, alone: int, warned: bool) -> None:
    town = [f"town {at}" if at < alone else "elsewhere" for at in range(n)]
    data = tv.Dataset.from_arrays({"x": np.ones((n, 2))}, confidential={"same": ["a"] * n, "town": town})
    told = (
        f"the carried column 'town' has a value of its own in {alone} of {n} records: whoever knows it can link by it; "
        "if it holds labels, they can be protected as keys (method local-suppression)"
    )
    expected = [told] if warned else []
    survey = survey_of(data)
    assert survey.alone == {"same": 0, "town": alone}
    assert survey.different == {"same": 1, "town": alone + 1}
    assert linking_warnings(survey) == expected
    assert list(Shift().protect(data).warnings)[2:] == expected


def test_carried_values_of_every_kind_are_counted() -> None:
    carried: dict[str, list[Any]] = {
        "text": ["a", None, "b", None],
        "number": [0.1 + 0.2, 0.3, 0.3, 1e22],
        "day": [date(2020, 1, day) for day in (1, 1, 2, 3)],
        "flag": [True, False, True, True],
        "span": [timedelta(days=day) for day in (1, 1, 2, 3)],
        "zero": [0.0, -0.0, 1.0, 2.0],
    }
    survey = survey_of(tv.Dataset.from_arrays({"x": np.ones((4, 2))}, confidential=carried))
    assert survey.different == {"text": 3, "number": 3, "day": 3, "flag": 2, "span": 3, "zero": 3}
    assert survey.alone == {"text": 2, "number": 2, "day": 2, "flag": 1, "span": 2, "zero": 2}


# -- parts and their figures ------------------------------------------------------------------------------------------


def test_facts_of_parts_become_those_of_the_whole() -> None:
    parts: list[dict[str, Any]] = [
        {
            "groups": 2,
            "smallest group": 5,
            "largest group": 6,
            "mode": "exact",
            "by level": {"4": 1, "8": 2},
            "loss": 0.5,
        },
        {"groups": 0, "mode": "exact", "by level": {"8": 5, "2": 1}, "loss": 0.25, "heuristic": "gpe"},
        {"groups": 3, "smallest group": 4, "largest group": 4, "mode": "none", "heuristic": "gpe"},
    ]
    assert merged_facts(parts) == {
        "groups": 5,
        "smallest group": 4,
        "largest group": 6,
        "by level": {"4": 1, "8": 7, "2": 1},
        "loss": 0.75,
        "heuristic": "gpe",
    }
    assert merged_facts(parts[:1]) == parts[0]
    assert merged_facts([]) == merged_facts([{}, {}]) == {}


@given(st.lists(st.lists(st.integers(-1, 4), min_size=1, max_size=20), min_size=1, max_size=5))
def test_the_sizes_of_merged_groups_are_those_of_all(parts: list[list[int]]) -> None:
    def numbered(groups: list[int]) -> Indices:
        found: Indices = np.unique([-1, *groups], return_inverse=True)[1][1:] - 1
        return found

    own = [numbered(groups) for groups in parts]
    starts = np.cumsum([0, *(groups.max() + 1 for groups in own)])
    together = np.concatenate([np.where(g >= 0, g + at, -1) for g, at in zip(own, starts, strict=False)])
    assert merged_facts([sizes_of(groups) for groups in own]) == sizes_of(together)


@dataclass(frozen=True, kw_only=True)
class Means(ValueMethod):
    """The mean of each part, and all that a part is told."""

    name: ClassVar[str] = "means"
    looks_at_carried: ClassVar[bool] = True
    told: ClassVar[list[Part]] = []
    by: ClassVar[str] = "blocks"

    def guarantee(self, data: Described) -> NoGuarantee:
        return NoGuarantee()

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        assert np.isnan(survey.low).all()  # no value is known yet
        if self.by == "columns":
            return column_units(survey, 10)
        return (Unit("whole", "all of it", tuple(range(survey.width)), 10),)

    def least(self, unit: Unit) -> int:
        return 3

    def constants(self, survey: Survey, home: str) -> dict[str, Any]:
        return {"records": survey.n}

    def remarks(self, survey: Survey, facts: Any) -> list[str]:
        return [f"{home} has {own['groups']} parts" for home, own in facts.items()]

    def protect_part(self, part: Part) -> Protected:
        Means.told.append(part)
        groups = np.zeros(len(part.values), dtype=np.int64)
        means = np.repeat(part.values.mean(axis=0, keepdims=True), len(groups), axis=0)
        return Protected(means, groups, ("a part",), sizes_of(groups))


@pytest.mark.parametrize("by", ["blocks", "columns"])
def test_a_part_is_told_what_it_needs(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Means, "by", by)
    monkeypatch.setattr(Means, "told", [])
    rng = np.random.default_rng(4)
    kinds = rng.choice(["u", "v"], 60).tolist()
    data = tv.Dataset.from_arrays(
        {"a": rng.normal(size=(60, 2)), "b": rng.normal(size=(60, 1))}, confidential={"c": kinds}
    )
    release = Means().protect(data, seed=3)
    parts = Means.told
    units = list(dict.fromkeys(part.unit for part in parts))
    assert [unit.columns for unit in units] == ([(0,), (1,), (2,)] if by == "columns" else [(0, 1, 2)])
    draws = []
    for unit in units:
        own = [part for part in parts if part.unit == unit]
        assert len(own) > 3
        assert sorted(np.concatenate([part.records for part in own]).tolist()) == list(range(60))
        assert sorted(np.concatenate([part.rows for part in own]).tolist()) == list(range(60))
        for part in own:
            assert len(part.values) >= 3
            assert (np.diff(part.records) > 0).all()
            columns = list(unit.columns)
            assert np.array_equal(part.values, data.values[part.records][:, columns])
            assert part.carried["c"].to_list() == [kinds[record] for record in part.records.tolist()]
            assert part.survey.n == 60
            assert np.array_equal(part.survey.low, data.values.min(axis=0))
            assert np.array_equal(part.survey.high, data.values.max(axis=0))
            assert np.array_equal(
                release.data.values[part.records][:, columns], np.tile(part.values.mean(axis=0), (len(part.records), 1))
            )
            draws.append(int(part.rng.integers(2**60)))
    assert len(set(draws)) == len(parts)  # random numbers of its own
    # The rows at which records are published are those of the written release.
    order = np.concatenate([part.records for part in parts if part.unit == units[0]])
    rows = np.concatenate([part.rows for part in parts if part.unit == units[0]])
    published = np.empty((60, 3))
    published[rows] = release.data.values[order]
    shown = release.published()
    assert isinstance(shown, tv.Dataset)
    assert np.array_equal(shown.values, published)

    homes = {"a": (0, 1), "b": (2,)} if by == "columns" else {"all of it": (0,)}
    assert set(release.facts) == set(homes)
    for home, at in homes.items():
        counts = [sum(part.unit == units[number] for part in parts) for number in at]
        assert release.facts[home]["groups"] == sum(counts)
        assert release.facts[home]["parts"] == max(counts)
        assert release.facts[home]["records"] == 60
    told = [f"{home} has {own['groups']} parts" for home, own in release.facts.items()]
    assert release.warnings == ("a part", *told)  # of all parts once, and then of the whole
    if by == "columns":
        assert release.groups["a"].shape == (60, 2)
        assert release.groups["b"].shape == (60,)
    else:
        assert np.array_equal(release.groups["a"], release.groups["b"])
    for name, groups in release.groups.items():
        block = release.data.block(name)
        for number, labels in enumerate(groups.reshape(60, -1).T):
            assert np.array_equal(np.unique(labels), np.arange(labels.max() + 1))
            shared = block[:, number] if by == "columns" else block
            for group in range(labels.max() + 1):
                assert len(np.unique(shared[labels == group], axis=0)) == 1


def test_a_class_of_ones_own_protects_as_itself() -> None:
    class Backwards(tv.MDAV):
        """Publishes the values of the mirrored record."""

        def protect_part(self, part: Part) -> Protected:
            done = super().protect_part(part)
            return Protected(done.values[::-1].copy(), done.groups[::-1].copy() if done.groups is not None else None)

    data = series(a=np.random.default_rng(1).normal(size=(30, 3)))
    release = Backwards(k=4).protect(data, seed=1)
    plain = tv.MDAV(k=4).protect(data, seed=1)
    assert type(release.method) is Backwards
    assert np.array_equal(release.data.values, plain.data.values[::-1])
    assert np.array_equal(release.groups["a"], plain.groups["a"][::-1])
    assert release.facts == {}
    assert np.array_equal(tv.MDAV(k=4).protect(data, seed=1).data.values, plain.data.values)


def test_of_two_classes_of_one_name_each_protects_as_itself() -> None:
    def moving(by: float) -> Method:
        class Moving(Shift):
            def protect_part(self, part: Part) -> Protected:
                return Protected(part.values + by)

        return Moving()

    data = series(a=[[1, 2], [3, 4]])
    one, two = moving(1.0), moving(2.0)
    for method, by in ((one, 1.0), (two, 2.0), (one, 1.0)):
        assert np.array_equal(method.protect(data).data.values, data.values + by)


def test_what_a_part_became_cannot_be_changed() -> None:
    one, two = Protected(np.ones((1, 1))), Protected(np.ones((1, 1)))
    assert (one.groups, one.warnings, one.facts) == (None, (), {})
    assert one.facts is not two.facts
    with pytest.raises(FrozenInstanceError):
        one.groups = None  # type: ignore[misc]
