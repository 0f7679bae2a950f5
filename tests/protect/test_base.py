"""What all methods do before and after their own work: refuse, round, warn, and keep the figures of the run."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil._types import Array
from tsveil.data.dataset import Block, Dataset
from tsveil.errors import InputError, ParameterError
from tsveil.guarantee.base import NoGuarantee
from tsveil.protect.base import (
    Method,
    Protected,
    as_precise_as,
    check_k,
    decimals_of,
    linking_columns,
    linking_warning,
)


@dataclass(frozen=True, kw_only=True)
class Shift(Method):
    """Adds a fixed number; its blocks say what the test wants to hear."""

    takes: ClassVar[frozenset[str]] = frozenset({"series"})

    def guarantee(self, data: Dataset) -> NoGuarantee:
        return NoGuarantee()

    def protect_block(self, values: Array, block: Block, rng: np.random.Generator) -> Protected:
        if block.name == "plain":
            return Protected(values + 0.25)
        groups = np.arange(len(values)) // 2
        return Protected(values + 0.25, groups, ("look out", f"{block.name} was moved"), {"moved by": 0.25})


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


def test_a_method_without_blocks_says_so() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Idle(Method):
        def guarantee(self, data: Dataset) -> NoGuarantee:
            return NoGuarantee()

    with pytest.raises(InputError, match=r"^Idle does not protect blocks one by one$"):
        Idle().protect(series(a=[[1, 2]]))
    with pytest.raises(TypeError, match="guarantee"):
        type("Silent", (Method,), {})()


def test_decimals_are_those_of_the_value_with_most() -> None:
    assert decimals_of(np.array([1.0, 200.0])) == 0
    assert decimals_of(np.array([1.0, 0.5])) == 1
    assert decimals_of(np.array([1e-11])) == 11
    assert decimals_of(np.array([1e-12])) == 12
    assert decimals_of(np.array([1e-13])) is None
    assert decimals_of(np.array([1e300])) == 0


def test_columns_are_rounded_one_by_one() -> None:
    values = np.array([[1.234567, 1.234567, 1.234567], [2.345678, 2.345678, 2.345678]])
    original = np.array([[1.0, 0.25, 1 / 3], [2.0, 0.5, 0.5]])
    before = values.copy()
    assert as_precise_as(values, original).tolist() == [[1.0, 1.23, 1.234567], [2.0, 2.35, 2.345678]]
    assert np.array_equal(values, before)
    huge = np.array([[1e300], [1.23]])
    assert as_precise_as(huge, np.array([[0.5], [0.5]])).tolist() == [[1e300], [1.2]]


def test_rounding_is_done_only_when_asked_for() -> None:
    data = series(a=[[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(Shift().protect(data).data.values, data.values + 0.25)
    assert np.array_equal(Shift(rounding="input").protect(data).data.values, data.values)


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
    expected = [linking_warning("town", alone, n)] if warned else []
    assert linking_columns(data) == expected
    assert list(Shift().protect(data).warnings)[2:] == expected
    assert linking_warning("town", alone, n) == (
        f"the carried column 'town' has a value of its own in {alone} of {n} records: whoever knows it can link by it"
    )


def test_what_a_block_became_cannot_be_changed() -> None:
    one, two = Protected(np.ones((1, 1))), Protected(np.ones((1, 1)))
    assert (one.groups, one.warnings, one.facts) == (None, (), {})
    assert one.facts is not two.facts
    with pytest.raises(FrozenInstanceError):
        one.groups = None  # type: ignore[misc]
