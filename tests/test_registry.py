"""The contract of every registered method, and of one of another package; a new method gets these tests for free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from plugin.top_coding import TopCoding
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import METHODS
from tsveil.core.technique import Technique, techniques_in_words
from tsveil.data.intervals import IntervalTable, read_intervals
from tsveil.data.published import read_like
from tsveil.protect.base import Method, ValueMethod
from tsveil.protect.intervals import IntervalMethod

EVERY: dict[str, type[Method]] = {**METHODS, TopCoding.name: TopCoding}
VALUES = {name: made for name, made in EVERY.items() if issubclass(made, ValueMethod)}
every_method = pytest.mark.parametrize("made", [m() for m in EVERY.values()], ids=list(EVERY))
every_value_method = pytest.mark.parametrize("made", [m() for m in VALUES.values()], ids=list(VALUES))


def some_data(made: Method, n: int = 40) -> tv.Dataset:
    """Two series for each record, or one if only one can be published; of one length where they are the dimensions of points."""
    rng = np.random.default_rng(3)
    length = 12 if isinstance(made, tv.NLK) else 10
    blocks = {"load": rng.normal(10, 3, (n, 12)).cumsum(1), "gas": rng.gamma(2, 1, (n, length))}
    return tv.Dataset.from_arrays(
        {"load": blocks["load"]} if isinstance(made, IntervalMethod) else blocks,
        ids=[f"person {i}" for i in range(n)],
        confidential={"group": ["a", "b", "c", "d"] * (n // 4)},
    )


def made_of(release: tv.Release) -> np.ndarray[Any, Any]:
    """What was made of each record, in the order of the original: values, or the bounds of its envelope (NaN: not published)."""
    if not release.envelopes:
        return release.data.values
    bounds = np.hstack([release.table.lo, release.table.hi])
    return np.where(release.own[:, None] >= 0, bounds[release.own], np.nan)


def frame_of(published: tv.Dataset | IntervalTable) -> pl.DataFrame:
    """All cells of what is published."""
    if isinstance(published, IntervalTable):
        return published.to_frame()
    return pl.DataFrame(published.values, schema=list(published.columns), orient="row").hstack(published.others)


def published_by(release: tv.Release) -> pl.DataFrame:
    """What is published, shuffled and renamed."""
    return frame_of(release.published())


@every_method
def test_its_release_is_verified_after_a_round_trip(made: Method, tmp_path: Path) -> None:
    data = some_data(made)
    before = data.values.copy()
    for form in ("csv", "parquet"):
        release = made.protect(data)
        folder = release.write(tmp_path / form, format=form)
        file = folder / "published" / f"data.{form}"
        like = release.published()
        published = read_like(file, like) if isinstance(like, tv.Dataset) else read_intervals(file)
        verdict = release.guarantee.verify(published)
        assert not verdict.blocks_release
        assert frame_of(published).equals(frame_of(like))
    assert np.array_equal(data.values, before)


@every_method
def test_the_same_seed_gives_the_same_release(made: Method) -> None:
    data = some_data(made)
    one, two = made.protect(data, seed=5), made.protect(data, seed=5)
    assert np.array_equal(made_of(one), made_of(two), equal_nan=True)
    assert published_by(one).equals(published_by(two))
    first, other = one.published(), made.protect(data, seed=6).published()
    if isinstance(first, tv.Dataset) and isinstance(other, tv.Dataset):
        assert first.ids.to_list() != other.ids.to_list()
    else:  # envelopes have no identifiers, but an order
        assert not frame_of(first).equals(frame_of(other))


@every_method
def test_chunks_change_nothing(made: Method) -> None:
    data = some_data(made)
    whole, cut = made.protect(data, seed=5), made.protect(data, seed=5, engine="local", chunk=13)
    assert published_by(cut).equals(published_by(whole))
    assert np.array_equal(made_of(cut), made_of(whole), equal_nan=True)
    assert cut.verify() == whole.verify()
    assert cut.facts == whole.facts
    assert cut.warnings == whole.warnings


@every_method
def test_rows_may_come_in_any_order(made: Method) -> None:
    data = some_data(made)
    order = np.random.default_rng(0).permutation(data.n)
    if made.protect(data, seed=1).groups:  # a method with groups is deterministic
        assert np.allclose(
            made_of(made.protect(data.take(order))), made_of(made.protect(data))[order], rtol=1e-12, equal_nan=True
        )


@every_method
def test_missing_values_are_refused(made: Method) -> None:
    values = np.ones((10, 4))
    values[2, 1] = np.nan
    data = tv.Dataset(
        values=values,
        blocks=(tv.Block("a", ("p", "q", "r", "s")),),
        others=some_data(made).others[:10].clear(),
        missing=True,
    )
    with pytest.raises(InputError, match="missing"):
        made.protect(data)


@every_method
def test_it_is_described(made: Method) -> None:
    assert EVERY[made.name] is type(made)
    assert made.summary
    assert made.reference
    assert METHODS.faults(type(made), made.name) == []
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
        type(made).from_settings({"nonsense": 1})


@every_value_method
def test_rounding_keeps_the_promise(made: Method) -> None:
    data = some_data(made)
    data = data.with_values(data.values.round(2))
    rounded = type(made).from_settings({**made.settings(), "rounding": "input"}).protect(data, seed=2)
    assert np.array_equal(rounded.data.values, rounded.data.values.round(2))
    assert not rounded.verify().blocks_release
    assert np.allclose(rounded.data.values, made.protect(data, seed=2).data.values, atol=0.0051)


@every_method
def test_its_technique_has_a_name_in_the_standard(made: Method) -> None:
    techniques = made.techniques
    assert techniques
    assert all(isinstance(technique, Technique) for technique in techniques)
    assert "technique" in techniques_in_words(techniques)
