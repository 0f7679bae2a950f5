"""What every measure must do, those of other packages, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tsveil as tv
from tsveil.attack.kp import Piece
from tsveil.attack.pieces import Columns, Pieces
from tsveil.core.errors import ParameterError
from tsveil.core.registry import MEASURES, object_at
from tsveil.core.types import Array, Indices
from tsveil.data.categories import Categories
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Folder, Memory, Store
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine
from tsveil.measure.base import KINDS, Kind, Measure, Schema
from tsveil.measure.passes import kept_of_records, run

N, T = 90, 8
#: the measure of another package
PLACE = "peaks:Peaks"
#: figures that are not 0 where nothing was changed: the values are all disclosed, similar records found, and every record is a class
NOT_ZERO = {
    "ID": 100,
    "similar_found": 100,
    "LU": 100,
    "class_size": 1,
    "class_size_normalised": 1,
    "discernibility": N,
}
#: figures of forecasts, which are as good as they are
HITS = {"SH", "SH2"}


@pytest.fixture
def peaks(monkeypatch: pytest.MonkeyPatch) -> type[Measure]:
    """The measure of another package, installed."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "plugin")
    found: type[Measure] = object_at(PLACE)
    monkeypatch.setitem(MEASURES.__dict__, "_others", ({found.name: found}, {}))
    return found


NAMES = [*MEASURES.own, "peaks"]
CASES = [
    (name, kind) for name in NAMES for kind in KINDS if kind in (KINDS if name == "peaks" else MEASURES[name].kinds)
]


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest, peaks: type[Measure]) -> tuple[Measure, Kind]:
    name, kind = request.param
    return MEASURES.make(name, {"models": "fitting"} if name == "series-loss" else {}), kind


def walks(seed: int) -> Array:
    return 50 + np.round(3 * np.random.default_rng(seed).normal(size=(N, T)).cumsum(axis=1))


def release_of(kind: Kind) -> tuple[Array, Any, Indices]:
    """Original values, what is published of them, and the published row of each record."""
    x = walks(6)
    if kind == "envelopes":
        release = tv.KP(k=6, P=4, word_length=4).protect(tv.Dataset.from_arrays({"x": x}), seed=1)
        assert len(release.suppressed)
        return x, release.table, release.own
    if kind == "categories":
        return x % 3, (x + (np.random.default_rng(2).random(x.shape) < 0.2)) % 3, np.arange(N)
    return x, x + np.round(np.random.default_rng(2).normal(size=x.shape), 1), np.arange(N)


def saved(store: Store, kind: Kind, order: Indices, cuts: list[int], given: tuple[Array, Any, Indices]) -> Schema:
    """A release in pieces, its records in some order."""
    x, published, own = given
    blocks = (
        Columns("first", ("a", "b", "c"), (0.0, 1.0, 2.0)),
        Columns("second", ("d", "e", "f", "g", "h"), (0.0,) * 5),
    )
    pieces = np.split(order, cuts)
    if kind != "envelopes":
        for at, rows in enumerate(pieces):
            store.put(f"original-{at}", np.ascontiguousarray(x[rows].T))
            store.put(f"released-{at}", np.ascontiguousarray(published[rows].T))
        if kind == "attributes":
            blocks = (Columns("first", blocks[0].columns), Columns("second", blocks[1].columns))
        if kind == "categories":
            words = (
                Categories("nominal", ("p", "q", "r")),
                Categories("ordinal", ("p", "q", "r")),
                Categories("nominal", ("p", "q", "r")),
            )
            blocks = (
                Columns("first", ("a", "b", "c"), categories=words),
                Columns("second", ("d", "e", "f", "g", "h"), (0.0,) * 5, categories=words[:1]),
            )
        sizes = tuple(map(len, pieces))
        return Schema(Pieces(blocks, sizes, sizes))
    for at, rows in enumerate(pieces):
        kept = own[rows] >= 0
        here = np.where(kept, np.cumsum(kept) - 1, -1)
        Piece.of(x[rows], published.take(own[rows][kept]), here, rows).save(store, at)
    block = Columns("x", tuple("abcdefgh"), tuple(map(float, range(T))))
    return Schema.of_envelopes(store, block, len(pieces), words=published.words is not None)


def folded(measure: Measure, kind: Kind, order: Indices, cuts: list[int]) -> tuple[dict[str, float], dict[str, Array]]:
    """The figures in memory, and what is kept of each record in the order of the input."""
    store = Memory()
    schema = saved(store, kind, order, cuts, release_of(kind))
    found = run(store, schema, Here(), [measure])
    back = np.argsort(order)
    return found.figures, {column: kept(store, column, schema.pieces)[back] for column in found.columns}


def kept(store: Store, column: str, pieces: int) -> Array:
    """What is kept of each record, in the order of the pieces."""
    return np.concatenate([kept_of_records(store, [column], at)[column] for at in range(pieces)])


@pytest.mark.parametrize("name", NAMES)
def test_it_is_declared(name: str, peaks: type[Measure]) -> None:
    kind = MEASURES[name]
    assert MEASURES.faults(kind, name) == []
    assert issubclass(kind, Measure)
    assert set(kind.details) <= set(kind.meanings)
    assert not kind.loss or kind.loss in kind.meanings
    for title, unit, sentence in kind.meanings.values():
        assert title
        assert unit in ("", "%")
        assert sentence.endswith(".")
    again = kind.from_settings(kind().settings())
    assert again == kind()


@pytest.mark.parametrize("name", NAMES)
def test_wrong_parameters_are_refused_in_one_form(name: str, peaks: type[Measure]) -> None:
    for parameter in MEASURES[name].parameters():
        with pytest.raises(ParameterError, match=rf"The '{parameter.name}' parameter of \w+ must be .*\. Got -7\."):
            MEASURES.make(name, {parameter.name: -7})
    with pytest.raises(ParameterError, match="has no parameter 'whatever'"):
        MEASURES.make(name, {"whatever": 1})


def test_every_figure_has_a_meaning(case: tuple[Measure, Kind]) -> None:
    measure, kind = case
    figures, _ = folded(measure, kind, np.arange(N), [])
    assert set(figures) == set(measure.meanings)
    assert np.isfinite(list(figures.values())).all()


@pytest.mark.parametrize("cuts", [[], [20], [0, 1, 33, 59]], ids=str)
def test_neither_order_nor_chunks_change_a_bit(case: tuple[Measure, Kind], cuts: list[int]) -> None:
    measure, kind = case
    figures, records = folded(measure, kind, np.arange(N), [])
    other, again = folded(measure, kind, np.random.default_rng(7).permutation(N), cuts)
    assert other == figures
    assert list(again) == list(records)
    for column in records:
        assert np.array_equal(again[column], records[column], equal_nan=True)


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_engines_find_the_same(case: tuple[Measure, Kind], where: str, tmp_path: Path) -> None:
    measure, kind = case
    figures, records = folded(measure, kind, np.arange(N), [])
    ways: dict[str, tuple[Store, Engine]] = {
        "memory": (Memory(), Here()),
        "folder": (Folder(tmp_path), LocalEngine()),
    }
    store, engine = ways[where]
    schema = saved(store, kind, np.arange(N), [13, 40], release_of(kind))
    found = run(store, schema, engine, [measure, measure])  # twice: a pass serves all measures
    assert found.figures == figures
    assert found.columns == 2 * list(records)
    for column, values in records.items():
        assert np.array_equal(kept(store, column, 3), values, equal_nan=True)


def test_nothing_is_lost_where_nothing_changed(case: tuple[Measure, Kind]) -> None:
    measure, kind = case
    x = release_of(kind)[0]
    same = IntervalTable(tuple("abcdefgh"), x, x) if kind == "envelopes" else x
    store = Memory()
    schema = saved(store, kind, np.arange(N), [], (x, same, np.arange(N)))
    for figure, value in run(store, schema, Here(), [measure]).figures.items():
        if figure in HITS:
            continue
        assert value == pytest.approx(NOT_ZERO.get(figure, 0), abs=1e-9), figure


# -- a measure of another package ---------------------------------------------------------------------------------------


def test_its_figures_are_on_the_card_of_every_release(peaks: type[Measure]) -> None:
    for kind in KINDS:
        x, published, own = release_of(kind)
        data = tv.Dataset.from_arrays({"x": x}, times=None if kind == "attributes" else range(T))
        if kind == "envelopes":
            card = tv.KP(k=6, P=4, word_length=4).protect(data, seed=1).evaluate()
            published = (published.lo + published.hi) / 2
        else:
            card = tv.evaluate(data, data.with_values(published))
        kept = own >= 0
        moved = x[kept].argmax(axis=1) != published[own[kept]].argmax(axis=1)
        assert card["peaks_moved"] == pytest.approx(100 * moved.mean())
        assert card.meanings["peaks_moved"].title == "moved peaks"
        assert "moved peaks" in str(card)
        assert card.per_record["peak_moved"].to_numpy()[kept].tolist() == moved.tolist()


def test_it_takes_settings_and_is_reported(peaks: type[Measure], tmp_path: Path) -> None:
    data = tv.Dataset.from_arrays({"x": walks(6)})
    release = tv.MDAV(k=5).protect(data, seed=1)
    strict, loose = (tv.evaluate(data, release, measures={"peaks": {"tolerance": far}}) for far in (0, T))
    assert strict["peaks_moved"] > loose["peaks_moved"] == 0
    assert {name: value for name, value in strict.items() if name != "peaks_moved"}.items() <= dict(loose).items()
    with pytest.raises(ParameterError, match="there is no measure 'hills' for time series"):
        tv.evaluate(data, release, measures={"hills": {}})
    folder = release.write(tmp_path / "out")
    assert "moved peaks" in (folder / "private" / "report.html").read_text()
    assert '"peaks_moved"' in (folder / "private" / "release.json").read_text()


def test_workers_must_be_able_to_import_it(peaks: type[Measure], tmp_path: Path) -> None:
    class Hidden(peaks):  # type: ignore[misc, valid-type]
        pass

    store = Folder(tmp_path)
    schema = saved(store, "series", np.arange(N), [20], release_of("series"))
    with pytest.raises(ParameterError, match="cannot import the measure 'peaks'"):
        run(store, schema, LocalEngine(), [Hidden()])


def test_a_figure_may_not_be_there_already(peaks: type[Measure]) -> None:
    class Other(peaks):  # type: ignore[misc, valid-type]
        name = "other"
        meanings = {"IL": peaks.meanings["peaks_moved"]}  # noqa: RUF012
        kinds = ("tables",)

    faults = MEASURES.faults(Other, "other")
    assert "there is a figure 'IL' already" in faults
    assert any(fault.startswith("its kinds must be some of series") for fault in faults)
    Other.meanings = {}
    assert any("it needs meanings" in fault for fault in MEASURES.faults(Other, "other"))
