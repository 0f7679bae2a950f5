"""Key anonymity against its definition: rows compared one by one, with both readings of an empty cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from naive_suppression import Row, kept
from tsveil.core.errors import InputError
from tsveil.guarantee.base import Status
from tsveil.guarantee.chunks import Chunk, Chunks, schema_of
from tsveil.guarantee.key_anonymity import KeyAnonymity

KEYS = ("count", "row", "person")  # names that are used inside as well


def table(rows: Sequence[Row], persons: Sequence[int] | None = None) -> tv.Dataset:
    """A published table of labels; None is an empty cell."""
    columns = [
        pl.Series(name, cells, dtype=pl.String) for name, cells in zip(KEYS, zip(*rows, strict=True), strict=False)
    ]
    frame = pl.DataFrame(columns)
    spec = {name: {"kind": "nominal", "empty": True} for name in frame.columns}
    frame = frame if persons is None else frame.with_columns(who=pl.Series([str(p) for p in persons]))
    frame = frame.with_columns(id=pl.Series(range(frame.height)))  # without it a row of empty cells is an empty row
    return tv.Dataset.from_frame(frame, id="id", categories=spec, person=() if persons is None else "who")


@st.composite
def cases(draw: Any) -> tuple[list[Row], list[Row], list[int], dict[str, Any]]:
    """Original rows, what is published of them, their persons, and the parameters of a promise."""
    n, width = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    cell = st.sampled_from(["a", "b", "1", None])
    original = [tuple(draw(cell) for _ in range(width)) for _ in range(n)]
    shown = [tuple(None if draw(st.booleans()) else key for key in row) for row in original]
    persons = draw(st.one_of(st.just(list(range(n))), st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    size = draw(st.integers(1, width))
    settings = {"k": draw(st.integers(1, 4)), "subsets": None if size == width else size}
    return original, shown, persons, {**settings, "keys": KEYS[:width]}


@given(cases())
def test_the_strict_reading_compares_rows(case: Any) -> None:
    _, shown, persons, settings = case
    several = len(set(persons)) < len(persons)
    data = table(shown, persons if several else None)
    promise = KeyAnonymity(**settings, counts="persons" if several else "records")
    size = settings["subsets"] or len(settings["keys"])
    assert promise.verify(data).holds == kept(shown, shown, persons, settings["k"], size, wildcard=False)


@given(cases(), st.lists(st.integers(0, 9), max_size=3))
def test_the_wildcard_reading_compares_with_the_original_rows(case: Any, cuts: list[int]) -> None:
    original, shown, persons, settings = case
    several = len(set(persons)) < len(persons)
    data = table(shown, persons if several else None)
    promise = KeyAnonymity(**settings, empty="wildcard", counts="persons" if several else "records")
    size = settings["subsets"] or len(settings["keys"])
    truth = kept(original, shown, persons, settings["k"], size, wildcard=True)
    known = pl.DataFrame(
        [pl.Series(n, c, dtype=pl.String) for n, c in zip(settings["keys"], zip(*original, strict=True), strict=True)]
    )
    verdict = promise.verify_with(data, known)
    assert verdict.holds == truth
    assert truth or "compatible with the original combination of row" in verdict.witness
    ends = [0, *sorted({c for c in cuts if 0 < c < data.n}), data.n]
    chunks = [Chunk.of(data.take(np.arange(a, b))) for a, b in pairwise(ends)]
    whole = Chunks(schema_of(data), chunks, persons=data.persons if several else None, originals=known)
    assert promise.verify_chunks(whole).verdict == verdict
    # The file alone says so, or that it cannot tell; it is never wrong.
    alone = promise.verify(data)
    assert alone.status is Status.UNKNOWN or alone.holds == truth


def test_the_file_alone_decides_where_nothing_hangs_on_the_original() -> None:
    promise = KeyAnonymity(2, KEYS[:2], empty="wildcard")
    assert promise.verify(table([("a", "b"), ("a", "b"), ("c", None), ("c", None)])).holds
    violated = promise.verify(table([("a", "b"), ("a", "c"), ("c", None)]))
    assert (violated.status, "row 1" in violated.witness) == (Status.VIOLATED, True)
    unknown = promise.verify(table([("a", None), ("a", "c")]))
    assert (unknown.status, "file alone" in unknown.witness) == (Status.UNKNOWN, True)


def test_a_witness_names_the_cells() -> None:
    verdict = KeyAnonymity(2, KEYS[:2]).verify(table([("a", "x"), ("a", None), ("a", None)]))
    assert verdict.witness.endswith("row 1: count = a, row = x")


def test_it_says_which_intruder_it_bounds() -> None:
    all_keys, some = KeyAnonymity(5, ("a", "b")), KeyAnonymity(5, ("a", "b"), 1)
    assert (all_keys.intruder, all_keys.bound) == ("file", "1/5")
    assert (some.intruder, some.bound) == ("part", "1/5")
    for loose in (KeyAnonymity(5, empty="wildcard"), KeyAnonymity(5, counts="persons")):
        assert (loose.intruder, loose.bound) == ("none", "")


def test_empty_records_satisfy_the_wildcard_reading_of_any_file() -> None:
    rows: list[Row] = [(str(at), str(at)) for at in range(20)] + [(None, None)] * 5
    known = pl.DataFrame({KEYS[0]: [str(at) for at in range(25)], KEYS[1]: [str(at) for at in range(25)]})
    promise = KeyAnonymity(5, KEYS[:2], empty="wildcard")
    assert promise.verify_with(table(rows), known).holds
    assert "5 empty records would keep it" in promise.limits
    assert not KeyAnonymity(2, KEYS[:2]).verify(table(rows)).holds


def test_persons_of_a_file_alone_are_not_known() -> None:
    for empty in ("strict", "wildcard"):
        verdict = KeyAnonymity(2, KEYS[:1], empty=empty, counts="persons").verify(table([("a",), ("a",)]))
        assert verdict.status is Status.UNKNOWN


def test_keys_must_be_there() -> None:
    with pytest.raises(InputError, match="no column 'age'"):
        KeyAnonymity(2, ("age",)).verify(table([("a",)]))
    with pytest.raises(InputError, match="needs keys"):
        KeyAnonymity(2).verify(tv.Dataset.from_arrays({"load": [[1.0]]}))
