"""A short run of the fuzzing in every test run; `make fuzz` is the long one, and what it found is listed here.

Readers and verifiers are fed with mutated files, methods with random data and parameters. FUZZ_EXAMPLES sets how many, and lifts the fixed order of
examples.
"""

from __future__ import annotations

import os
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra.numpy import arrays

import tsveil as tv
from fuzz.targets import SNIPPETS, TARGETS
from naive_parts import small_parts
from tsveil.core.errors import TsveilError
from tsveil.core.params import Parameter
from tsveil.core.registry import METHODS
from tsveil.core.types import Array
from tsveil.protect.intervals import rounded_outwards

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))


def few(number: int) -> settings:
    return settings(
        max_examples=EXAMPLES or number,
        derandomize=not EXAMPLES,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize(
    ("name", "chosen", "values"),
    [
        # An input with one huge value and nine decimals: rounding to them left the range of numbers.
        ("mic1d", {"kappa": 2, "rounding": "input"}, [[1e300, 1.99804688e9], [1.0, 0.123456789]]),
        # The printed sigmoid of a large alpha is an exponential that leaves the range of numbers.
        ("projected", {"projection": "sugeno", "quantifier": "sigmoid", "alpha": 100.0}, [[0.0, 0.0]] * 6),
    ],
)
def test_what_was_found_stays_fixed(name: str, chosen: dict[str, Any], values: list[list[float]]) -> None:
    release = METHODS[name].from_settings(chosen).protect(tv.Dataset.from_arrays({"x": values}), seed=1)
    assert np.isfinite(release.data.values).all()


@pytest.mark.parametrize("step", [5e-324, 2.225e-311, 1e-300, 1e-17, 0.3, 1e17, 1e300])
def test_bounds_are_rounded_outwards_to_any_step(step: float) -> None:
    """A step finer than any digit of a bound left the range of numbers, and so did rounding to its decimals."""
    values = np.array([[0.0, 1.0, -1.0, 1e150, 1e-300, 1 / 3]] * 2 + [[0.0, 2.0, -2.0, 1e149, 1e-299, 0.25]] * 2)
    lo, hi = rounded_outwards(values, values, step)
    assert np.isfinite([lo, hi]).all()
    assert (lo <= values).all()
    assert (hi >= values).all()
    assert (hi - lo <= np.maximum(1.01 * step, 1e-15 * np.abs(values))).all()


@st.composite
def mutated(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A seed with some bytes replaced, removed, repeated or put in."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.integers(0, 8))
        match draw(st.sampled_from(["replace", "cut", "repeat"])):
            case "replace":
                data[at : at + size] = draw(st.sampled_from(SNIPPETS) | st.binary(max_size=4))
            case "cut":
                del data[at : at + size]
            case "repeat":
                data[at:at] = data[at : at + 4 * size]
    return bytes(data)


@pytest.mark.parametrize("name", list(TARGETS))
def test_readers_and_verifiers(name: str) -> None:
    target, seeds = TARGETS[name]

    @few(60)
    @given(mutated(seeds) if name != "tables" else st.binary(min_size=6, max_size=60))
    def hold(data: bytes) -> None:
        target(data)

    hold()


# -- methods ----------------------------------------------------------------------------------------------------------

NUMBERS = st.sampled_from(
    [0.0, -0.0, 1.0, 2.0, 1 / 3, -7.5, 1e9, 1e9 + 0.1, 5e-324, 1e-300, 1e300, -1e300, 1e150]
) | st.floats(-1e6, 1e6)


@st.composite
def some_data(draw: st.DrawFn) -> tv.Dataset:
    """Up to 24 records in one or two blocks, of series or attributes."""
    n = draw(st.integers(1, 24))
    kinds = draw(st.lists(st.sampled_from(["series", "attributes"]), min_size=1, max_size=2))
    pool = draw(st.lists(NUMBERS, min_size=1, max_size=6)) if draw(st.booleans()) else None
    cells = st.sampled_from(pool) if pool else NUMBERS
    blocks, tables = [], []
    for at, kind in enumerate(kinds):
        width = draw(st.integers(1, 12))
        columns = tuple(f"b{at}.{t}" for t in range(width))
        times = (
            np.cumsum(draw(arrays(np.float64, width, elements=st.sampled_from([1.0, 2.0, 0.001]))))
            if kind == "series"
            else None
        )
        blocks.append(tv.Block(f"b{at}", columns, times, columns if kind == "series" else ()))
        tables.append(draw(arrays(np.float64, (n, width), elements=cells)))
    import polars as pl

    others = pl.DataFrame({"tariff": draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))})
    return tv.Dataset(values=np.hstack(tables), blocks=tuple(blocks), others=others, confidential=("tariff",))


def values_of(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Values of a parameter: mostly allowed ones, near the ends of what it takes."""
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    if parameter.kind is bool:
        return st.booleans()
    if parameter.kind is int:
        return st.integers(0, 30)
    if parameter.kind is float:
        return st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1.0, 2.5, 50.0, 100.0, 1e300]) | st.floats(0, 100)
    return st.sampled_from(["tariff", "nothing", "1,2", ""])


@pytest.mark.parametrize("parts", ["one", "many"])
@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_with_random_data_and_parameters(name: str, parts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = METHODS[name]
    if parts == "many":
        small_parts(monkeypatch, 8)
    ranges = {parameter.name: values_of(parameter) for parameter in kind.parameters()}

    @few(25)
    @given(some_data(), st.fixed_dictionaries({}, optional=ranges))
    def hold(data: tv.Dataset, chosen: dict[str, Any]) -> None:
        before = data.values.copy()
        try:
            release = kind.from_settings(chosen).protect(data, seed=1)
        except TsveilError:
            return
        verdict = release.verify()
        assert np.array_equal(data.values, before)
        if chosen.get("variant") != "paper":
            assert verdict.status != "violated", str(verdict)
        if release.envelopes:
            assert inside(release)
        else:
            assert release.data.values.shape == data.values.shape
            assert np.isfinite(release.data.values).all()

    hold()


def inside(release: tv.Release) -> bool:
    """Every published record lies in its envelope."""
    values: Array = release.original.values[release.rows]
    return bool(((release.lo <= values) & (values <= release.hi)).all())
