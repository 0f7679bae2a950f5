"""The contract of every registered method; a new method gets these tests for free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tsveil as tv
from tsveil.data.published import read_like
from tsveil.errors import InputError, ParameterError
from tsveil.plugins import faults
from tsveil.protect.base import Method
from tsveil.registry import ALL_METHODS, METHODS, method
from tsveil.technique import Technique, named


def some_data(n: int = 40) -> tv.Dataset:
    rng = np.random.default_rng(3)
    return tv.Dataset.from_arrays(
        {"load": rng.normal(10, 3, (n, 12)).cumsum(1), "gas": rng.gamma(2, 1, (n, 10))},
        ids=[f"person {i}" for i in range(n)],
        confidential={"group": ["a", "b", "c", "d"] * (n // 4)},
    )


def published_of(release: tv.Release) -> tv.Dataset:
    """What is published, shuffled and renamed."""
    found = release.published()
    assert isinstance(found, tv.Dataset)
    return found


every_method = pytest.mark.parametrize("made", [m() for m in METHODS.values()], ids=list(METHODS))


@every_method
def test_its_release_is_verified_after_a_round_trip(made: Method, tmp_path: Path) -> None:
    data = some_data()
    before = data.values.copy()
    for form in ("csv", "parquet"):
        release = made.protect(data)
        folder = release.write(tmp_path / form, format=form)
        published = read_like(folder / "published" / f"data.{form}", published_of(release))
        verdict = release.guarantee.verify(published)
        assert not verdict.blocks_release
        assert np.array_equal(published.values, published_of(release).values)
    assert np.array_equal(data.values, before)


@every_method
def test_the_same_seed_gives_the_same_release(made: Method) -> None:
    data = some_data()
    one, two = made.protect(data, seed=5), made.protect(data, seed=5)
    assert np.array_equal(one.data.values, two.data.values)
    assert published_of(one).ids.to_list() == published_of(two).ids.to_list()
    assert published_of(one).ids.to_list() != published_of(made.protect(data, seed=6)).ids.to_list()


@every_method
def test_rows_may_come_in_any_order(made: Method) -> None:
    data = some_data()
    order = np.random.default_rng(0).permutation(data.n)
    if made.protect(data, seed=1).groups:  # a method with groups is deterministic
        assert np.allclose(
            made.protect(data.take(order)).data.values, made.protect(data).data.values[order], rtol=1e-12
        )


@every_method
def test_missing_values_are_refused(made: Method) -> None:
    values = np.ones((10, 4))
    values[2, 1] = np.nan
    data = tv.Dataset(
        values=values,
        blocks=(tv.Block("a", ("p", "q", "r", "s")),),
        others=some_data().others[:10].clear(),
        missing=True,
    )
    with pytest.raises(InputError, match="missing"):
        made.protect(data)


@every_method
def test_it_is_described(made: Method) -> None:
    assert made.name in METHODS
    assert made.summary
    assert made.reference
    assert faults(type(made), made.name) == []
    assert type(made).from_settings(made.settings()) == made
    module = __import__(type(made).__module__, fromlist=["x"])
    for word in ("References", "Examples", ">>>", "uarantee"):
        assert word in str(module.__doc__)
    for p in made.parameters():
        assert p.doc
        assert p.words


@every_method
def test_a_wrong_parameter_is_told_in_one_form(made: Method) -> None:
    for p in made.parameters():
        wrong: dict[str, Any] = {p.name: object()}
        with pytest.raises(ParameterError, match=f"The '{p.name}' parameter of .* must be .* Got "):
            type(made)(**wrong)
    with pytest.raises(ParameterError, match="has no parameter 'nonsense'"):
        method(made.name, {"nonsense": 1})


@every_method
def test_rounding_keeps_the_promise(made: Method) -> None:
    data = some_data()
    data = data.with_values(data.values.round(2))
    rounded = type(made).from_settings({**made.settings(), "rounding": "input"}).protect(data, seed=2)
    assert np.array_equal(rounded.data.values, rounded.data.values.round(2))
    assert not rounded.verify().blocks_release
    assert np.allclose(rounded.data.values, made.protect(data, seed=2).data.values, atol=0.0051)


@pytest.mark.parametrize("name", ALL_METHODS)
def test_its_technique_has_a_name_in_the_standard(name: str) -> None:
    techniques = ALL_METHODS[name].techniques
    assert techniques
    assert all(isinstance(technique, Technique) for technique in techniques)
    assert "technique" in named(techniques)
