"""Loss, risk and score do not depend on how the files come in pieces, to the last bit: not on their number, their sizes, the store or the engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tsveil as tv
from tsveil.attack.pieces import Columns, Pieces, measurable
from tsveil.core.errors import ParameterError
from tsveil.core.registry import METHODS
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.data.store import Folder, Memory, Store
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine
from tsveil.measure.base import Schema
from tsveil.measure.evaluate import measure_pieces, scorecard
from tsveil.measure.scorecard import Scorecard
from tsveil.release.release import Release

N = 120


def whole_numbers() -> pl.DataFrame:
    """Attributes full of ties, two of them of equal spread, one constant; equal records."""
    rng = np.random.default_rng(3)
    table = {f"a{at}": rng.integers(0, 3 + 9 * at, N).astype(float) for at in range(3)}
    frame = pl.DataFrame({**table, "again": rng.permutation(table["a0"]), "flat": np.full(N, 7.0)})
    return pl.concat([frame[:110], frame[:10]])


def walks(points: int, seed: int) -> Array:
    values = np.round(3 * np.random.default_rng(seed).normal(size=(N, points)).cumsum(axis=1))
    values[::7] = values[0]
    return values


FRAME = whole_numbers()
DATA = {
    "attributes": Dataset.from_frame(FRAME, blocks={"first": ["a0", "a1"], "second": ["a2", "again", "flat"]}),
    "columns": Dataset.from_frame(FRAME, blocks={name: [name] for name in FRAME.columns}),
    "fine attributes": Dataset.from_arrays({"b": np.random.default_rng(1).lognormal(size=(N, 3))}, times=None),
    "series": tv.Dataset.from_arrays({"x": walks(9, 1)}),
    "two series": tv.Dataset.from_arrays({"x": walks(9, 1) / 7, "y": 100 + walks(6, 2)}),
    "series of a point": tv.Dataset.from_arrays(
        {"x": walks(9, 1), "y": walks(1, 2)}, times={"y": [0.0], "x": range(9)}
    ),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "mdav": {"k": 3},
    "v-mdav": {"k": 3},
    "optimal-univariate": {"k": 3},
    "projected": {"k": 4},
    "rank-swap": {"p": 4.0},
    "rank-swap-distribution": {"p": 4.0},
    "rank-swap-buckets": {"buckets": 10},
    "noise": {},
    "mic1d": {},
}


def sizes(cuts: list[int], n: int) -> tuple[int, ...]:
    return tuple(np.diff([0, *cuts, n]).tolist())


def in_pieces(store: Store, original: Dataset, released: Array, cuts: list[int], order: Indices | None) -> Pieces:
    """Files in pieces, in the order of the input or in another one."""
    rows = np.arange(original.n) if order is None else order
    for at, part in enumerate(np.split(rows, cuts)):
        store.put(f"original-{at}", np.ascontiguousarray(original.values[part].T))
        store.put(f"released-{at}", np.ascontiguousarray(released[part].T))
    if order is not None:
        store.put("records", order)
    found = sizes(cuts, original.n)
    return Pieces(tuple(map(Columns.of, original.blocks)), found, found, numbered=order is not None)


def ways(folder: Path) -> Iterator[tuple[Store, Engine, list[int], Indices | None]]:
    """Stores, engines, cuts and orders."""
    shuffled = np.random.default_rng(9).permutation(N)
    yield Memory(), Here(), [50], None
    yield Memory(), Here(), [1, 30, 31, 100], shuffled
    yield Folder(folder), LocalEngine(), [7, 40, 90, 119], shuffled


def check(data: Dataset, released: Dataset, folder: Path, made: dict[str, Any], options: dict[str, Any]) -> Scorecard:
    """The card in memory, and the same in pieces, is the same."""
    whole = scorecard(data, released, **made, **options)
    folder.mkdir(exist_ok=True)
    left_out = [block.name for block in data.blocks if block not in measurable(data.blocks)]
    for store, engine, cuts, order in ways(folder):
        files = in_pieces(store, data, released.values, cuts, order)
        card = measure_pieces(store, Schema(files), engine, left_out=left_out, **made, **options)
        assert card.to_dict() == whole.to_dict()
        assert card.by_known == whole.by_known
        assert card.per_series == whole.per_series
        assert card.options == whole.options
        assert card.meanings == whole.meanings
        mine = card.per_record[np.argsort(files.numbers(store)).tolist()]
        assert_frame_equal(mine, whole.per_record.drop("original"), check_exact=True)
    return whole


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few candidates at a time, few targets in a task, and trees as for many records."""
    for module, name, value in (
        ("candidates", "MANY", 150), ("ranges", "MANY", 150), ("base", "AT_ONCE", 20), ("by_agreement", "KEPT", 0), ("by_agreement", "CELLS", 500), ("agreement", "CELLS", 500),
        ("agreement", "ROWS", 30), ("nearest_columns", "MANY", 1),
    ):  # fmt: skip
        # Attacks are named like the modules that they are in.
        monkeypatch.setattr(sys.modules[f"tsveil.attack.{module}"], name, value)


def made_by(name: str, data: Dataset) -> tuple[Dataset, dict[str, Any]]:
    chosen = METHODS.make(name, SETTINGS[name])
    release = chosen.protect(data, seed=3)
    assert isinstance(release, Release)
    return release.data, {"method": chosen}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", DATA)
def test_every_method(kind: str, name: str, tmp_path: Path) -> None:
    data = DATA[kind]
    released, made = made_by(name, data)
    models = {"models": "fitting"} if data.series else {}
    card = check(data, released, tmp_path, made, models)
    assert card.options["targets"] == "all records"
    if kind == "series of a point":
        assert "STSLD" not in card
        assert "STSLD: a series of one point has no shape" in card.options["not measured"]


@pytest.mark.parametrize("ties", ["expected", "first"])
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in ("attributes", "two series") for name in SETTINGS])
def test_small_pieces_of_work(kind: str, name: str, ties: str, tmp_path: Path, small: None) -> None:
    released, made = made_by(name, DATA[kind])
    models = {"models": "fitting"} if DATA[kind].series else {}
    check(DATA[kind], released, tmp_path, made, {"ties": ties, **models})


def test_small_pieces_of_work_change_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    released, made = made_by("rank-swap-buckets", DATA["attributes"])
    before = check(DATA["attributes"], released, tmp_path, made, {})
    request.getfixturevalue("small")
    assert check(DATA["attributes"], released, tmp_path / "again", made, {}).to_dict() == before.to_dict()


def test_a_release_of_unknown_making(tmp_path: Path) -> None:
    released, _ = made_by("mdav", DATA["columns"])
    card = check(DATA["columns"], released, tmp_path, {}, {})
    assert set(card.by_known) == {"DLD", "PLD", "CPLD", "RSLD", "ARLD", "ProjLD", "MALD"}


def test_microaggregated_patterns(tmp_path: Path) -> None:
    release = METHODS.make("nlk", {"n": 2, "l": 4, "k": 3, "grouping": "per-block"}).protect(DATA["two series"], seed=3)
    assert isinstance(release, Release)
    check(DATA["two series"], release.data, tmp_path, {"method": release.method}, {"models": "fitting"})


@pytest.mark.parametrize(
    "options",
    [
        {"ties": "first"},
        {"scaling": "own"},
        {"score": "classic"},
        {"score": "rank-swap"},
        {"score": "new"},
        {"by": "blocks"},
        {"by": "blocks", "counts": [2]},
        {"known": ["again", "first"]},
        {"known": ["a2", "a0"], "counts": [2]},
        {"targets": "all"},
        {"targets": 31},
        {"targets": 2, "ties": "first"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["projected", "rank-swap-distribution"])
def test_options_of_attributes(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    released, made = made_by(name, DATA["attributes"])
    check(DATA["attributes"], released, tmp_path, made, options)


@pytest.mark.parametrize(
    "options",
    [
        {"ties": "first"},
        {"dr1": "mean"},
        {"variant": "paper"},
        {"models": ["ses"]},
        {"targets": 31},
        *({"normalise": how, "scaling": scaling} for how in ("global", "per-record", "component", "ranging", "none") for scaling in ("original", "own")),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["mdav", "optimal-univariate"])
def test_options_of_series(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    released, made = made_by(name, DATA["two series"])
    check(DATA["two series"], released, tmp_path, made, {"models": "fitting", **options})


def test_models_of_ones_own_are_for_data_in_memory(tmp_path: Path) -> None:
    data = DATA["series"]
    own: dict[str, Any] = {"models": {"last": lambda rows: np.repeat(rows[:, -1:], 3, axis=1)}}
    assert scorecard(data, data, **own)["IL3"] == 0.0
    files = in_pieces(store := Folder(tmp_path), data, data.values, [60], None)
    with pytest.raises(ParameterError, match="a function of your own runs on data in memory only"):
        measure_pieces(store, Schema(files), LocalEngine(), **own)


def test_series_beside_attributes(tmp_path: Path) -> None:
    frame = pl.DataFrame(walks(9, 1), schema=[f"x{at}" for at in range(9)]).hstack(FRAME.select("a0", "a1"))
    blocks: dict[str, Any] = {"x": {"columns": frame.columns[:9], "kind": "series"}, "a": ["a0", "a1"]}
    data = Dataset.from_frame(frame, blocks=blocks)
    released, made = made_by("mdav", data)
    card = check(data, released, tmp_path, made, {"models": "fitting"})
    assert card.options["not measured"] == "a"


def test_files_of_different_records_in_pieces() -> None:
    data = DATA["attributes"]
    released, made = made_by("mdav", data)
    own = np.where(np.arange(80) < 20, -1, np.arange(80) - 20)
    known, out = data.values[:80], released.values[20:]
    cards = []
    for cuts, their_cuts in ([[], []], [[13, 70], [60]]):
        store = Memory()
        for at, part in enumerate(np.split(known, cuts)):
            store.put(f"original-{at}", part.T)
        for at, part in enumerate(np.split(out, their_cuts)):
            store.put(f"released-{at}", part.T)
        store.put("own", own)
        blocks = tuple(map(Columns.of, data.blocks))
        files = Pieces(blocks, sizes(cuts, 80), sizes(their_cuts, 100), aligned=False)
        cards.append(measure_pieces(store, Schema(files), Here(), **made))
    assert cards[0].to_dict() == cards[1].to_dict()
    assert cards[0].options == cards[1].options
    assert cards[0].options["targets"] == "80 known, 100 released, 60 in both"


def test_huge_and_tiny_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(N, 3)) * [1e-250, 1.0, 1e250] + [0, 2.0**40, 0]
    data = Dataset.from_frame(pl.DataFrame(values, schema=["a", "b", "c"]), blocks={"all": ["a", "b", "c"]})
    released = data.with_values(values * (1 + 0.1 * rng.normal(size=values.shape)))
    assert np.isfinite(
        list(check(data, released, tmp_path, {"method": METHODS.make("noise")}, {}).to_dict().values())
    ).all()


@pytest.mark.parametrize("targets", [0, -1, True, 1.5, "some"])
def test_other_numbers_of_targets_are_refused(targets: Any) -> None:
    with pytest.raises(ParameterError, match=r"'targets' parameter .* must be 'all' or an integer of at least 1"):
        tv.evaluate(DATA["series"], DATA["series"], targets=targets)
