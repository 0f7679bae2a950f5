"""Rates where persons have several records, against the definition: all rows of the person count as right, persons count once each.

SPEC: the score of a target record is the share of its person among the tied best rows, a person's score the mean over that person's records, the rate the mean over persons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive_attacks as naive
import tsveil as tv
from tsveil.attack import nearest_columns
from tsveil.attack.agreement import fellegi_sunter
from tsveil.attack.files import on_one_scale, relative
from tsveil.attack.pieces import Columns, Pieces
from tsveil.attack.rank_swap import ranks_of
from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.types import Array, Indices
from tsveil.data.store import Folder, Memory, Store
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine
from tsveil.measure.base import Schema
from tsveil.measure.evaluate import measure_pieces
from tsveil.release.publish import publish

#: target -> the released rows that fit it best
Best = Callable[[Any], Indices]


def rate(best: Best, persons: Indices, own: Indices, among: Indices | None = None) -> float:
    """The definition; `own` is the released row of each record, and persons are `among` some."""
    owner = np.full(own.max() + 1, -1)
    owner[own[own >= 0]] = persons[own >= 0]
    everyone = np.unique(persons[own >= 0]) if among is None else among
    score = [
        np.mean([np.mean(owner[best(t)] == p) for t in np.flatnonzero((persons == p) & (own >= 0))]) for p in everyone
    ]
    return 100 * float(np.mean(score))


def nearest(x: Array, y: Array, factor: Array) -> Best:
    def best(t: int) -> Indices:
        apart = np.zeros(len(y))
        for j in range(x.shape[1]):
            apart += ((x[t, j] - y[:, j]) * factor[j]) ** 2
        return np.flatnonzero(apart == apart.min())

    return best


def cases() -> Iterator[tuple[str, Array, Array, Indices, Indices]]:
    """Originals, released rows, persons and the released row of each record (-1: suppressed)."""
    rng = np.random.default_rng(5)
    for seed in range(24):
        n, columns = int(rng.integers(6, 60)), int(rng.integers(1, 4))
        x = rng.integers(0, 2 ** int(rng.integers(1, 7)), (n, columns)).astype(float)
        x[0] += 1  # no column is constant
        few = np.round(x / 3) * 3
        y = [few, x + rng.integers(-2, 3, x.shape), x[rng.permutation(n)], np.zeros_like(x)][seed % 4]
        persons = [rng.integers(0, n // 3 + 1, n), np.where(np.arange(n) < 0.8 * n, 7, np.arange(n))][seed // 4 % 2]
        own = rng.permutation(n)
        if seed % 3 == 0:
            own[rng.random(n) < 0.3] = -1
            own[own >= 0] = rng.permutation(np.count_nonzero(own >= 0))
        released = np.empty((np.count_nonzero(own >= 0), columns))
        released[own[own >= 0]] = y[own >= 0]
        yield f"{seed}", x, released, persons, own


def attributes(x: Any, letter: str = "o", persons: Any = None) -> tv.Dataset:
    table = np.array(x, dtype=float)
    names = [f"x{j}" for j in range(table.shape[1])]
    frame = pl.DataFrame(table, schema=names, orient="row").with_row_index("id")
    frame = frame.with_columns(pl.col("id").map_elements(lambda at: f"{letter}{at}", pl.String))
    if persons is None:
        return tv.Dataset.from_frame(frame, id="id", blocks={"a": names}, times={"a": None})
    frame = frame.with_columns(who=pl.Series(persons))
    return tv.Dataset.from_frame(frame, id="id", person="who", blocks={"a": names}, times={"a": None})


def datasets(x: Array, y: Array, persons: Indices, own: Indices) -> tuple[tv.Dataset, tv.Dataset, dict[str, str]]:
    truth = {f"o{at}": f"r{row}" for at, row in enumerate(own) if row >= 0}
    return attributes(x, "o", persons), attributes(y, "r"), truth


@pytest.mark.parametrize(("x", "y", "persons", "own"), [pytest.param(*case[1:], id=case[0]) for case in cases()])
def test_linkages_of_attributes(x: Array, y: Array, persons: Indices, own: Indices) -> None:
    original, released, truth = datasets(x, y, persons, own)
    card = tv.evaluate(original, released, truth=truth)
    a, b, factor = on_one_scale(x, y)
    factor = relative(factor)
    for at in range(x.shape[1]):
        part, their = a[:, : at + 1], b[:, : at + 1]
        expected = rate(nearest(part, their, factor), persons, own)
        assert card.by_known["DLD"][at] == pytest.approx(expected, abs=1e-9)
        if len(x) == len(y):
            sets = [naive.rank_sets(part, their, t, ranks_of(len(y), 20)) for t in range(len(x))]
            inside = [sorted(set.intersection(*each)) for each in sets]

            def among(t: int, inside: list[list[int]] = inside, part: Array = part, their: Array = their) -> Indices:
                some = np.array(inside[t], dtype=np.int64)
                return some[nearest(part[t : t + 1], their[some], factor)(0)] if len(some) else some

            if all(map(len, inside)):
                assert card.by_known["RSLD"][at] == pytest.approx(rate(among, persons, own), abs=1e-9)
        weight = weights(x[:, : at + 1], y[:, : at + 1], own)
        expected = rate(partial(heaviest, weight), persons, own)
        assert card.by_known["PLD"][at] == pytest.approx(expected, abs=1e-9)
    some, everything = (one for one in card.ladder if one.figure == "DLD")
    assert 100 * everything.scores.mean() == pytest.approx(card.by_known["DLD"][-1])
    assert 100 * some.scores.mean() == pytest.approx(card["DLD"])
    assert some.targets == len(everything.scores) == len(np.unique(persons[own >= 0]))


def heaviest(weight: Array, t: int) -> Indices:
    return np.flatnonzero(weight[t] == weight[t].max())


def weights(x: Array, y: Array, own: Indices) -> Array:
    """The weight of every pair, by the model of the pairs of targets, which are the released records."""
    pattern = np.array(naive.agreement(x, y)) @ (1 << np.arange(x.shape[1]))
    counts = np.bincount(pattern[own >= 0].ravel(), minlength=1 << x.shape[1])
    found: Array = fellegi_sunter(counts, 1 / np.sqrt(counts.sum())).weights[pattern]
    return found


@pytest.mark.parametrize(("x", "y", "persons", "own"), [pytest.param(*case[1:], id=case[0]) for case in cases()])
def test_a_search_by_trees_says_the_same(
    x: Array, y: Array, persons: Indices, own: Indices, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, released, truth = datasets(x, y, persons, own)
    plain = tv.evaluate(original, released, truth=truth)
    monkeypatch.setattr(nearest_columns, "MANY", 1)
    assert tv.evaluate(original, released, truth=truth).by_known["DLD"] == plain.by_known["DLD"]


@pytest.mark.parametrize(("x", "y", "persons", "own"), [pytest.param(*case[1:], id=case[0]) for case in cases()])
def test_persons_are_sampled_with_all_their_records(x: Array, y: Array, persons: Indices, own: Indices) -> None:
    original, released, truth = datasets(x, y, persons, own)
    numbers = original.persons
    there = np.unique(numbers[own >= 0])
    asked = max(1, len(there) // 2)
    card = tv.evaluate(original, released, truth=truth, targets=asked)
    chosen = there[chosen_rows(border_of(there, asked), there)]
    a, b, factor = on_one_scale(x, y)
    expected = rate(nearest(a, b, relative(factor)), numbers, own, chosen)
    assert card.by_known["DLD"][-1] == pytest.approx(expected, abs=1e-9)
    assert {one.targets for one in card.ladder if one.rung in ("part", "person")} == {asked}
    if asked < len(there):
        assert f"a random sample of {asked} of {len(there)} persons" in card.options["targets"]


@pytest.mark.parametrize("few", [1, 10**9])
def test_linkage_of_series(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsveil.attack.nearest.FEW", few)
    rng = np.random.default_rng(8)
    for _ in range(10):
        n = int(rng.integers(8, 70))
        x = rng.integers(0, 4, (n, 5)).astype(float)
        y = np.round(x / 2) * 2
        persons = rng.integers(0, n // 3 + 1, n)
        original = tv.Dataset.from_arrays({"s": x}, persons=persons.tolist())
        card = tv.evaluate(original, tv.Dataset.from_arrays({"s": y}), normalise="none", models="fitting")
        expected = rate(nearest(x, y, np.ones(5)), persons, np.arange(n))
        assert card["EULD"] == pytest.approx(expected, abs=1e-9)
        slopes = rate(nearest(np.diff(x), np.diff(y), np.ones(4)), persons, np.arange(n))
        assert card["STSLD"] == pytest.approx(slopes, abs=1e-9)


def test_one_record_a_person_is_as_without_persons() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 9, (80, 6)).astype(float)
    for made in (attributes, lambda x, _="", persons=None: tv.Dataset.from_arrays({"a": x}, persons=persons)):
        y = made(np.round(x / 4) * 4)
        plain, each = (tv.evaluate(made(x, "o", whose), y) for whose in (None, rng.permutation(80).tolist()))
        assert plain.to_dict() == each.to_dict()
        assert plain.by_known == each.by_known


def test_ties_that_go_to_the_first_record() -> None:
    x, y = [[0.0], [1.0], [2.0], [9.0]], attributes([[0.5], [0.5], [5.0], [5.0]])
    # Three go to row 0, the last one to row 2.
    original = attributes(x, persons=["p", "q", "p", "q"])
    assert tv.evaluate(original, y, ties="first")["DLD"] == 50.0
    assert tv.evaluate(original, y)["DLD"] == 50.0
    other = attributes(x, persons=["p", "q", "q", "q"])
    assert tv.evaluate(other, y, ties="first").by_known["DLD"][0] == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert tv.evaluate(other, y).by_known["DLD"][0] == pytest.approx(100 * (1 / 2 + (1 / 2 + 1 / 2 + 1) / 3) / 2)


@pytest.mark.parametrize("engine", [Here(), LocalEngine()], ids=lambda engine: engine.name)
@pytest.mark.parametrize("targets", [None, 9])
def test_pieces_and_engines_change_no_bit(engine: Engine, targets: int | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    n, m = 90, 80
    x = rng.integers(0, 12, (n, 3)).astype(float)
    persons = np.where(rng.random(n) < 0.4, 3, rng.integers(0, 30, n))
    number = rng.permutation(n)
    own = np.append(np.arange(m), np.full(n - m, -1))[np.argsort(rng.permutation(n))]
    own[own >= 0] = np.arange(m)
    y = np.round(x[number][own >= 0] / 3) * 3
    cards = []
    for pieces in (1, 4):
        (tmp_path / str(pieces)).mkdir()
        store: Store = Memory() if engine.name == Here.name else Folder(tmp_path / str(pieces))
        ends, published = np.linspace(0, n, pieces + 1).astype(int), [0]
        store.put("records", number)
        store.put("own", own)
        store.put("persons", persons)
        for at in range(pieces):
            store.put(f"original-{at}", np.ascontiguousarray(x[number][ends[at] : ends[at + 1]].T))
            published.append(int((own[: ends[at + 1]] >= 0).sum()))
            store.put(f"released-{at}", np.ascontiguousarray(y[published[at] : published[at + 1]].T))
        files = Pieces(
            (Columns("a", ("a", "b", "c")),),
            tuple(np.diff(ends).tolist()),
            tuple(np.diff(published).tolist()),
            aligned=False,
            numbered=True,
        )
        cards.append(measure_pieces(store, Schema(files.of_persons(store)), engine, targets=targets))
    assert cards[0].to_dict() == cards[1].to_dict()
    assert cards[0].by_known == cards[1].by_known
    for one, other in zip(cards[0].ladder, cards[1].ladder, strict=True):
        assert one[:5] == other[:5]
        assert np.array_equal(one.scores, other.scores)
    assert cards[0].options["targets"] == cards[1].options["targets"]


def test_a_release_is_measured_like_its_two_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    frame = pl.DataFrame({"day": range(120), "who": rng.integers(0, 20, 120), **{c: rng.random(120) for c in "abc"}})
    data = tv.Dataset.from_frame(frame, id="day", person="who", blocks={"all": ["a", "b", "c"]})
    for share in ("bounded", "told"):
        method = tv.MDAV(k=4, share=share)
        whole = publish(method.protect(data, seed=1), tmp_path / f"memory {share}")
        parts = publish(method.protect(data, seed=1, engine="local", chunk=25), tmp_path / f"chunks {share}")
        assert whole.card.to_dict() == parts.card.to_dict()
        names = pl.read_csv(whole.folder / "private" / "id_map.csv")
        published = tv.read(whole.folder / "published" / "data.csv", id="day", blocks={"all": ["a", "b", "c"]})
        truth = dict(zip(names["original"].cast(str), names["released"].cast(str), strict=True))
        assert tv.evaluate(data, published, truth=truth).by_known["DLD"] == whole.card.by_known["DLD"]
