"""The contract of every registered promise, and of one of another package; a new promise gets these tests for free once it has a table that keeps it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from plugin.shared_extremes import SharedExtremes
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import PROMISES
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.guarantee.base import Counted, Promise, Status
from tsveil.guarantee.chunks import Chunk, Chunks, schema_of
from tsveil.guarantee.options import options, promise_of

Table = Dataset | IntervalTable


def values() -> Dataset:
    """Four groups of three equal records, with three confidential values in each."""
    rows = np.repeat(np.arange(8.0).reshape(4, 2), 3, axis=0)
    return tv.Dataset.from_arrays({"load": rows}, confidential={"ill": ["no", "yes", "perhaps"] * 4})


def two_values() -> Dataset:
    """Six equal records at either end."""
    return tv.Dataset.from_arrays({"load": np.repeat(np.arange(4.0).reshape(2, 2), 6, axis=0)})


def envelopes() -> IntervalTable:
    """Two envelopes of six records, with two patterns in each."""
    return IntervalTable.from_frame(
        pl.DataFrame(
            {"lo_1": [1.0] * 6 + [4.0] * 6, "hi_1": [2.0] * 6 + [5.0] * 6, "pattern": ["a", "b"] * 6, "level": [2] * 12}
            | {"town": [f"town {row % 4}" for row in range(12)]}
        )
    )


def keys() -> Dataset:
    """Four combinations of keys with three records each; in one of them a cell is empty."""
    frame = pl.DataFrame({"sex": ["f", "f", "m", "m"] * 3, "region": ["north", None, "north", "south"] * 3})
    return tv.Dataset.from_frame(frame, categories={name: {"kind": "nominal", "empty": True} for name in frame.columns})


#: parameters that a table keeps
CASES: dict[str, tuple[dict[str, Any], Table]] = {
    "k-anonymity": ({"k": 3}, values()),
    "p-sensitive": ({"k": 3, "p": 3, "columns": ("ill",)}, values()),
    "key-anonymity": ({"k": 3, "keys": ("sex", "region")}, keys()),
    "nlk": ({"n": 1, "l": 2, "k": 3}, values()),
    "kp": ({"k": 6, "P": 3}, envelopes()),
    "envelopes": ({"k": 6}, envelopes()),
    "none": ({}, values()),
    SharedExtremes.name: ({"k": 6}, two_values()),
}

EVERY: dict[str, type[Promise]] = {**PROMISES, SharedExtremes.name: SharedExtremes}
every = pytest.mark.parametrize("name", list(EVERY))
checked = pytest.mark.parametrize("name", [name for name, kind in EVERY.items() if kind.claims])


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise of another package."""
    monkeypatch.setitem(PROMISES.__dict__, "_others", ({SharedExtremes.name: SharedExtremes}, {}))


def case(name: str) -> tuple[Promise, Table]:
    settings, table = CASES.get(name, ({}, values()))
    return PROMISES.make(name, settings), table


def rows_of(table: Table, rows: Any) -> Table:
    return table.take(np.asarray(rows))


def in_chunks(table: Table, cuts: list[int]) -> Chunks:
    places = [Chunk.of(rows_of(table, np.arange(a, b))) for a, b in pairwise([0, *cuts, table.n])]
    return Chunks(schema_of(table), places)


@every
def test_it_declares_itself(name: str) -> None:
    kind = PROMISES[name]
    assert issubclass(kind, Promise)
    assert PROMISES.faults(kind, name) == []
    assert kind.plain_name()
    assert all(p.doc and p.words and p.accepts(p.default) for p in kind.parameters())


@every
def test_it_refuses_bad_parameters(name: str) -> None:
    kind = PROMISES[name]
    label = kind.label or kind.__name__
    for p in kind.parameters():
        for wrong in (-1, True, None, "?", 0.5, ("",), object()):
            if not p.accepts(wrong):
                with pytest.raises(ParameterError) as error:
                    kind(**{p.name: wrong})
                assert str(error.value) == f"The {p.name!r} parameter of {label} must be {p.words}. Got {wrong!r}."
    with pytest.raises(ParameterError, match="it has no parameter 'nonsense'"):
        PROMISES.make(name, {"nonsense": 1})


@every
def test_it_is_made_again_from_its_settings(name: str) -> None:
    promise, _ = case(name)
    assert type(promise).from_settings(promise.settings()) == promise
    assert type(promise).from_settings({}) == type(promise)()


@every
def test_its_words_are_sentences(name: str) -> None:
    promise, _ = case(name)
    assert promise.words.endswith(".")
    assert promise.words.strip() == promise.words
    assert promise.short
    assert "\n" not in promise.short
    assert not promise.limits or promise.limits.endswith(".")
    assert all(paragraph.endswith(".") for paragraph in promise.meaning)
    assert bool(promise.meaning) == bool(promise.known)


@every
def test_it_judges_chunks_as_it_judges_the_whole(name: str) -> None:
    promise, table = case(name)
    broken = rows_of(table, np.arange(table.n - 1))
    for shown in (table, broken):
        whole = promise.verify(shown)
        for cuts in ([], [1], [3, 7], list(range(1, shown.n))):
            assert promise.verify_chunks(in_chunks(shown, cuts)).verdict == whole


@every
def test_the_order_of_rows_plays_no_part(name: str) -> None:
    promise, table = case(name)
    for seed in range(5):
        mixed = rows_of(table, np.random.default_rng(seed).permutation(table.n))
        assert promise.verify(mixed) == promise.verify(table)


@checked
def test_a_broken_table_gives_a_witness(name: str) -> None:
    promise, table = case(name)
    kept = promise.verify(table)
    assert (kept.status, kept.witness, kept.guarantee) == (Status.HOLDS, "", promise.words)
    for without in range(table.n):
        verdict = promise.verify(rows_of(table, [row for row in range(table.n) if row != without]))
        assert verdict.status is Status.VIOLATED
        assert "row" in verdict.witness
        assert verdict.details == ()


@checked
def test_records_that_are_missing_break_it(name: str) -> None:
    promise, table = case(name)
    more = replace(in_chunks(table, [4]), records=table.n + 1)
    verdict = promise.verify_chunks(more).verdict
    assert verdict.status is Status.VIOLATED
    assert verdict.witness == "13 records were to be written, 12 are in the files"


def test_what_is_not_claimed_is_never_checked() -> None:
    for name, kind in PROMISES.items():
        promise, table = case(name)
        assert (promise.verify(table).status is Status.NONE_CLAIMED) is not kind.claims
        assert kind.claims or promise.tile is None


@checked
def test_it_is_asked_for_by_its_option(name: str) -> None:
    kind = PROMISES[name]
    option = next(one for one in options() if one.name == (kind.option or name))
    assert option.help.startswith("Check that ")
    headline = kind.headline or tuple(p.name for p in kind.parameters()[:1])
    assert option.metavar == ",".join(headline).upper()
    text = ",".join(str(getattr(kind(), parameter)) for parameter in headline)
    assert promise_of({option.name: text}) == kind()
    with pytest.raises(InputError, match=rf"--{option.name} must look like {text}\. Got '1,2,3,4'"):
        promise_of({option.name: "1,2,3,4"})


def test_one_promise_is_asked_for_at_a_time() -> None:
    for typed in ({}, {"k": "3", "kp": "3,2"}, {"scope": "record"}):
        with pytest.raises(InputError, match=r"say what to check: --k 5 \(every published row"):
            promise_of(typed)
    with pytest.raises(ParameterError, match=r"\(k,P\)-anonymity cannot be set up.*it has no parameter 'scope'"):
        promise_of({"kp": "3,2", "scope": "record"})
    assert promise_of({"p-sensitive": "3, 2", "columns": "ill, income", "scope": None}).settings() == {
        "k": 3, "p": 2, "columns": ("ill", "income"), "scope": "block",
    }  # fmt: skip
    names = [option.name for option in options()]
    assert len(names) == len(set(names))
    assert next(option.choices for option in options() if option.name == "scope") == ("block", "record", "column")


def test_a_promise_may_name_columns_that_are_not_there() -> None:
    for columns, message in ((("income",), "no column 'income'"), ((), "no confidential column")):
        bare = values() if columns else tv.Dataset.from_arrays({"load": np.ones((4, 1))})
        with pytest.raises(InputError, match=message):
            PROMISES.make("p-sensitive", {"columns": columns}).verify(bare)
    assert PROMISES.make("p-sensitive", {"k": 3, "p": 3}).verify(values()).holds  # all of them


def test_all_promises_of_tsveil_have_a_case() -> None:
    assert set(CASES) == set(PROMISES)
    assert sum(issubclass(kind, Counted) for kind in PROMISES.values()) >= 5
