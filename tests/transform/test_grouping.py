"""Attributes in blocks by their correlations."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from naive_swap import families
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.data.dataset import Block, Dataset
from tsveil.data.grouping import correlated_blocks, group_attributes, scattered_blocks

# few different values: equal, constant and opposite columns are common
tables = st.tuples(st.integers(1, 8), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([-1.0, 0.0, 1.0, 2.0, 5.5]))
)


def coefficients(table: Array) -> Array:
    """Correlations by their definition; 0 where a column is constant."""
    centred = table - table.mean(axis=0)
    covariance = centred.T @ centred
    width = np.sqrt(np.outer(np.diagonal(covariance), np.diagonal(covariance)))
    varies = np.ptp(table, axis=0) > 0
    r: Array = np.where(np.outer(varies, varies), covariance / np.where(width > 0, width, 1.0), 0.0)
    return r


@given(tables, st.data())
def test_correlated_as_defined(table: Array, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, table.shape[1]))
    expected = families(coefficients(table), size)
    assert correlated_blocks(table, size) == expected
    assert correlated_blocks(table, size, leftover="drop") == [block for block in expected if len(block) == size]


@given(tables, st.data())
def test_scattered_as_defined(table: Array, data: st.DataObject) -> None:
    count = table.shape[1]
    size = data.draw(st.integers(1, count))
    blocks = scattered_blocks(table, size)
    similar = families(coefficients(table), ceil(count / size))
    assert blocks == [[f[i] for f in similar if i < len(f)] for i in range(len(similar[0]))]
    assert sorted(a for block in blocks for a in block) == list(range(count))
    assert len(blocks) == ceil(count / size)
    assert max(map(len, blocks)) <= size
    whole = scattered_blocks(table, size, leftover="drop")
    assert [len(block) for block in whole] == [size] * (count // size)


def test_three_families() -> None:
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(500, 3))
    table = hidden[:, [0, 1, 2, 0, 1, 2, 0, 1, 2]] + rng.normal(0, 0.2, (500, 9))
    assert sorted(sorted(block) for block in correlated_blocks(table, 3)) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    for block in scattered_blocks(table, 3):
        assert {a % 3 for a in block} == {0, 1, 2}
    similar = list(zip(*scattered_blocks(table, 3), strict=True))  # the j-th attributes of all blocks
    assert all(len({a % 3 for a in family}) == 1 for family in similar)


def test_ties_go_to_the_lowest_index() -> None:
    x = np.array([0.1, 0.7, 0.3, 1e-9])
    table = np.column_stack([x, 3 * x, -x, x + 1e3, 0 * x])  # all |r| are 1, up to rounding
    assert correlated_blocks(table, 2) == [[0, 1], [2, 3], [4]]
    assert correlated_blocks(table, 5) == [[0, 1, 2, 3, 4]]
    assert scattered_blocks(table, 2) == [[0, 3], [1, 4], [2]]
    assert correlated_blocks(table, 1) == scattered_blocks(table, 1) == [[0], [1], [2], [3], [4]]


def test_sign_offset_and_scale_do_not_matter() -> None:
    table = np.random.default_rng(3).normal(size=(50, 7)).cumsum(axis=1)
    other = table * np.array([1, -1, 1e-9, 1e9, 5, -2, 1]) + np.array([0, 1e5, 0, 0, -7, 0, 0])
    assert correlated_blocks(table, 3) == correlated_blocks(other, 3)
    assert scattered_blocks(table, 3) == scattered_blocks(other, 3)


def people() -> Dataset:
    rng = np.random.default_rng(1)
    age = rng.integers(20, 60, 40)
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(40)],
            "age": age,
            "2020": rng.normal(size=40),
            "2021": rng.normal(size=40),
            "rooms": rng.integers(1, 9, 40),
            "years": age - 18,
            "ill": ["yes", "no"] * 20,
        }
    )
    blocks = {"person": ["age", "rooms"], "load": ["2020", "2021"], "more": ["years"]}
    return Dataset.from_frame(frame, id="who", blocks=blocks, confidential=["ill"])


def test_a_data_set_in_new_blocks() -> None:
    data = people()
    new = group_attributes(data, 2, "correlated")
    assert [block.name for block in new.blocks] == ["load", "block 1", "block 2"]
    assert [block.columns for block in new.blocks] == [("2020", "2021"), ("age", "years"), ("rooms",)]
    assert new.series[0] is data.series[0]
    for name in data.columns:
        assert np.array_equal(new.values[:, new.columns.index(name)], data.values[:, data.columns.index(name)])
    assert new.others.equals(data.others)
    assert (new.id, new.confidential, new.dropped, new.integers) == (data.id, data.confidential, (), data.integers)
    assert correlated_blocks(data, 2) == [["age", "years"], ["rooms"]]
    assert scattered_blocks(data, 2) == [["age", "rooms"], ["years"]]
    assert [block.columns for block in group_attributes(data, 2, "scattered").blocks[1:]] == [
        ("age", "rooms"),
        ("years",),
    ]


def test_left_over_attributes_can_be_dropped() -> None:
    new = group_attributes(people(), 2, "correlated", leftover="drop")
    assert [block.columns for block in new.blocks] == [("2020", "2021"), ("age", "years")]
    assert new.dropped == ("rooms",)
    assert "rooms" not in new.integers


def test_the_blocks_of_the_water_treatment_plant(shared_data: Path) -> None:
    # Thesis Table 3.1 (a4 is COND-E): the three families and the blocks across them are found again from the data.
    ph, cond, out = ["PH-E", "PH-P", "PH-D"], ["COND-E", "COND-P", "COND-D"], ["DBO-S", "SS-S", "SED-S"]
    frame = pl.read_csv(shared_data / "water_treatment.csv").drop_nulls()
    data = Dataset.from_frame(frame, blocks={"all": [*ph, *cond, *out]})
    assert correlated_blocks(data, 3) == [cond, ph, out]
    assert scattered_blocks(data, 3) == [list(block) for block in zip(cond, ph, out, strict=True)]


def test_wrong_arguments_are_told_together() -> None:
    table = np.arange(12.0).reshape(4, 3)
    for size in (0, 4, True, 2.0):
        with pytest.raises(
            ParameterError, match=r"'size' parameter of grouping must be an integer from 1 to .* \(3\). Got "
        ):
            correlated_blocks(table, size)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"'size' .*\n.*'how' .* 'correlated' or 'scattered'. Got 'near'"):
        group_attributes(people(), 0, "near")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'leftover' parameter"):
        scattered_blocks(table, 2, leftover="keep")  # type: ignore[call-overload]


def test_data_without_correlations_are_refused() -> None:
    with pytest.raises(InputError, match="every block is a time series"):
        group_attributes(Dataset.from_arrays({"load": np.ones((3, 2))}), 1, "correlated")
    gaps = Dataset(
        values=np.array([[1.0, np.nan], [2.0, 3.0]]),
        blocks=(Block("a", ("p", "q")),),
        others=pl.DataFrame(),
        missing=True,
    )
    with pytest.raises(InputError, match="missing"):
        correlated_blocks(gaps, 2)
    with pytest.raises(InputError, match="shape"):
        correlated_blocks(np.ones(3), 2)
