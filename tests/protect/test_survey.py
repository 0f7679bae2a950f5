"""Figures of a whole data set, put together from chunks: the same to the last bit, however the records are cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.core.types import Array
from tsveil.data.dataset import Block
from tsveil.data.pieces import piece
from tsveil.data.store import Memory
from tsveil.engine.here import Here
from tsveil.protect.job import PlainSurvey
from tsveil.protect.survey import Scale, Survey, of_columns, of_squares, with_deviations, with_means
from tsveil.protect.work import protect_in_chunks, survey_of
from tsveil.transform.normalise import Ruler, normalise_one, ruler_of

BLOCKS = (Block("a", ("a0", "a1", "a2")), Block("b", ("b0",)), Block("c", ("c0", "c1")))
SCALES: tuple[Scale, ...] = (
    ("a", "component"), ("a", "global"), ("a", "products"), ("b", "component"), ("c", "global"), ("c", "products"),
)  # fmt: skip


def nasty(rng: np.random.Generator, n: int) -> Array:
    """A column with ties, constants, a huge offset, tiny or huge values, or one value far away."""
    kind = rng.integers(8)
    x: Array = rng.normal(size=n)
    if kind == 0:
        return rng.integers(0, 3, n).astype(float)
    if kind == 1:
        return np.full(n, rng.choice([0.1, 0.0, -1e300]))
    if kind == 2:
        return rng.integers(10**15, 10**15 + 9, n).astype(float)
    if kind == 3:
        x[rng.integers(n)] = 1e12
        return x
    if kind == 4:
        return rng.choice([-0.0, 0.0, 5e-324, 1e-300], n)
    return x * float(rng.choice([1.0, 1e-300, 1e299, 1e-9]))


tables = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 60)).map(
    lambda drawn: np.column_stack([nasty(np.random.default_rng([drawn[0], at]), drawn[1]) for at in range(6)])
)


def of(values: Array) -> Survey:
    return survey_of(tv.Dataset(values=values, blocks=BLOCKS, others=pl.DataFrame()))


def own(name: str, values: Array) -> Array:
    return np.ascontiguousarray(values[:, of(values[:1]).span(name)])


def in_passes(values: Array, chunks: list[tuple[int, int]], scales: tuple[Scale, ...] = SCALES) -> Survey:
    """The survey from chunks: bounds, means, deviations."""
    seen = [of(values[start:stop]) for start, stop in chunks]
    survey = replace(
        of(values), low=np.min([one.low for one in seen], axis=0), high=np.max([one.high for one in seen], axis=0)
    )
    for sums_of, merged in ((of_columns, with_means), (of_squares, with_deviations)):
        found = [sums_of(scales, survey, values[start:stop]) for start, stop in chunks]
        sums: Any = [
            tuple(np.sum([one[number][half] for one in found], axis=0) for half in (0, 1))
            for number in range(len(scales))
        ]
        survey = merged(survey, scales, sums)
    return survey


def assert_same_ruler(one: Ruler, two: Ruler) -> None:
    for name in ("low", "width", "mean", "deviation"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@given(tables, st.integers(0, 10**6))
def test_the_chunks_change_no_bit(values: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(values)
    places = np.unique(rng.integers(1, n, int(rng.integers(0, 9)))).tolist() if n > 1 else []
    survey = in_passes(values, list(pairwise([0, *places, n])))
    whole = in_passes(values, [(0, n)])
    for scale in SCALES:
        name, how = scale
        expected = ruler_of(own(name, values), "global" if how == "global" else "component")
        assert_same_ruler(survey.rulers[scale], expected)
        assert np.array_equal(
            survey.scale(own(name, values), name, how),
            normalise_one(own(name, values), "global" if how == "global" else "component"),
        )
    for name, products in survey.products.items():
        assert np.array_equal(products, whole.products[name])
    order = rng.permutation(n)
    shuffled = in_passes(values[order], [(0, n)])
    for scale in SCALES:
        assert_same_ruler(survey.rulers[scale], shuffled.rulers[scale])


@given(tables)
def test_products_are_those_of_centred_columns(values: Array) -> None:
    survey = in_passes(values, [(0, len(values))])
    assert set(survey.products) == {"a", "c"}
    for name, products in survey.products.items():
        ruler = ruler_of(own(name, values), "ranging")
        unit = ruler.measure(own(name, values))
        centred = unit - unit.mean(axis=0)
        assert np.array_equal(products, products.T)
        assert np.allclose(products, centred.T @ centred, rtol=1e-9, atol=1e-12 * len(values))
        deviation = np.sqrt(np.diagonal(products) / max(len(values) - 1, 1))
        assert np.array_equal(survey.rulers[name, "products"].deviation, np.where(deviation > 0, deviation, 1.0)[None])


def test_without_scales_nothing_is_summed() -> None:
    survey = in_passes(np.arange(12.0).reshape(2, 6), [(0, 1), (1, 2)], ())
    assert survey.rulers == {}
    assert survey.products == {}
    assert of_columns((), survey, np.ones((3, 6))) == of_squares((), survey, np.ones((3, 6))) == []


def test_places_and_sizes() -> None:
    values = np.array([[1.0, -9.0, 3.0, 4.0, 5.0, 6.0], [0.0, 8.0, 3.0, 4.0, 5.0, 7.0]])
    survey = of(values)
    assert (survey.n, survey.width, survey.largest) == (2, 6, 9.0)
    assert [survey.span(name) for name in "abc"] == [range(3), range(3, 4), range(4, 6)]
    assert survey.low.tolist() == [0, -9, 3, 4, 5, 6]
    assert survey.high.tolist() == [1, 8, 3, 4, 5, 7]
    assert survey.series == ()
    series = survey_of(tv.Dataset.from_arrays({"x": values}))
    assert [block.name for block in series.series] == ["x"]
    assert (survey.confidential, dict(survey.different), dict(survey.alone)) == ((), {}, {})


@given(tables)
def test_a_survey_in_plain_values_loses_no_bit(values: Array) -> None:
    survey = replace(in_passes(values, [(0, len(values))]), different={"town": 3}, alone={"town": 1})
    plain = PlainSurvey.of(survey)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(plain), type=PlainSurvey)
    assert again.low == tuple(survey.low.tolist())
    assert again.high == tuple(survey.high.tolist())
    assert (again.different, again.alone) == ({"town": 3}, {"town": 1})
    for name, how, (low, width, mean, deviation) in again.rulers:
        assert_same_ruler(
            Ruler(np.array(low), np.array(width), np.array(mean), np.array(deviation)), survey.rulers[name, how]
        )
    for name, products in again.products.items():
        assert np.array_equal(products, survey.products[name])


@pytest.mark.parametrize(
    "column", [[92148001954995.0, 0.125], [34280804238.74832, 0.123456], [1e300, 0.5], [0.1, 0.25]]
)
def test_decimals_do_not_depend_on_the_chunks(column: list[float]) -> None:
    # Rounding to more decimals than a large value has may change it: what fits each chunk by itself need not fit all of them.
    data = tv.Dataset.from_arrays({"x": np.array(column * 4)[:, None]})
    found = []
    for chunk in (8, 3, 1):
        store = Memory()
        protect_in_chunks(tv.Mic1D(kappa=3, rounding="input"), data, 5, store, Here(), chunk)
        found.append(piece(store, 0).made)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
