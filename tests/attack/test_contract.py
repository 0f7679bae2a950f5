"""What every attack of the registry keeps, those of other packages included: declaration, parameters, row order, pieces, definition."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive
import naive_attacks
import naive_labels
import naive_moves
import naive_sides
import tsveil as tv
from label_cases import TREE, spec
from plugin.equal_values import EqualValues
from tsveil.attack.agreement import fellegi_sunter, plain_model
from tsveil.attack.agreement_trees import conditional_model
from tsveil.attack.base import Attack, Knowledge, OnRequest, Rung, Settings, TradesOfValues
from tsveil.attack.files import on_one_scale, relative
from tsveil.attack.moves import in_words
from tsveil.attack.pieces import Columns, Pieces
from tsveil.attack.run import AttackResults, chances_of, links_in_memory, run_attacks
from tsveil.core.errors import ParameterError
from tsveil.core.registry import ATTACKS
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.data.store import Folder, Memory, Store
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine

EVERY: dict[str, type[Attack]] = {**ATTACKS, "equal_values": EqualValues}
#: those that are part of score cards
IN_PIECES = {name: attack for name, attack in EVERY.items() if not issubclass(attack, OnRequest)}
#: a method that trades values, as attacks name it
SWAPPED = in_words(tv.RankSwap(p=15))
#: settings beside the defaults
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "distance": [{}, {"metric": "l1"}],
    "probabilistic": [{}, {"window": 3}, {"tolerance": 0.4}],
    "conditional": [{}, {"window": 3}, {"tolerance": 0.4}],
    "rank_swap": [{}, {"window": 3}],
    "most_ranks": [{"window": 3}],
    "most_ranks_wide": [{"window": 6}],
    "warping": [{}, {"radius": 0}],
    "equal_values": [{}, {"near": 1.0}],
    "likelihood": [{}, {"deviations": 2.0}, {"correlated": True}],
    "one-to-one": [
        {},
        {"correlated": True},
        {"deviations": 0.5},
        {"deviations": 0.5, "correlated": True},
        {"runs": "columns"},
        {"runs": "pooled"},
        {"runs": "pcp"},
    ],
    "likely_moves": [{}, {"drawn_by": SWAPPED}],
    "column_sides": [{}, {"pooled": True}],
    "projection_sides": [{}, {"projection": "zscores"}],
    "swap_chase": [{}, {"window": 6}, {"window": 6, "drawn_by": SWAPPED}],
}
CASES = [(name, given) for name in EVERY for given in SETTINGS.get(name, [{}])]
N = 40
#: columns of two series of two days, of which one is published and the other known
WIDTH = 32
#: labels of the attacks on these, and the kinds of four columns
WORDS = list(TREE)
LABELS: list[Any] = [("nominal", WORDS), ("ordinal", WORDS), ("hierarchy", TREE), ("nominal", WORDS)]


def tables(attack: type[Attack], n: int = N) -> tuple[Array, Array]:
    """Whole numbers, full of ties, in two blocks of two columns; protected in pairs, or values traded in pairs, column by column."""
    rng = np.random.default_rng(7)
    if attack.of_labels:  # mostly published as they are
        a = rng.integers(0, len(WORDS), (n, 4)).astype(float)
        return a, np.where(rng.random(a.shape) < 0.7, a, rng.integers(0, len(WORDS), a.shape).astype(float))
    a = rng.integers(0, 9, (n, WIDTH if attack.rung is Rung.OTHER_PERIOD else 4)).astype(float)
    if attack.trace is TradesOfValues:
        return a, naive_attacks.traded(a, 6, rng)
    return a, naive_attacks.grouped(a, 2, rng)


def dataset(values: Array, attack: type[Attack]) -> Dataset:
    if attack.of_labels:
        frame = pl.DataFrame({f"c{at}": np.array(WORDS)[column.astype(int)] for at, column in enumerate(values.T)})
        categories = {name: spec(kind) for name, kind in zip(frame.columns, LABELS, strict=True)}
        return tv.Dataset.from_frame(frame, blocks={"x": ["c0", "c1"], "y": ["c2", "c3"]}, categories=categories)
    if attack.rung is Rung.OTHER_PERIOD:
        times = [f"2018-10-{29 + day}T{hour:02}:00" for day in range(2) for hour in range(0, 24, 24 * 4 // WIDTH)]
        return tv.Dataset.from_arrays(dict(zip("xy", np.split(values, 2, axis=1), strict=True)), times=times)
    if attack.of_series:
        return tv.Dataset.from_arrays({"x": values[:, :2], "y": values[:, 2:]})
    return naive_attacks.dataset(values, blocks=[2, 2])


def in_pieces(
    store: Store, attack: Attack, cuts: list[int], order: Indices, engine: Engine
) -> tuple[AttackResults, Array]:
    """What the driver finds, and the chance of each record in the order of the input."""
    a, b = tables(type(attack))
    for at, part in enumerate(np.split(order, cuts)):
        store.put(f"original-{at}", np.ascontiguousarray(a[part].T))
        store.put(f"released-{at}", np.ascontiguousarray(b[part].T))
    store.put("records", order)
    sizes = tuple(np.diff([0, *cuts, N]).tolist())
    blocks = tuple(map(Columns.of_any, dataset(a, type(attack)).blocks))
    files = Pieces(blocks, sizes, sizes, numbered=True)
    width = a.shape[1]
    known = Knowledge(range(width), range(1, width + 1), [range(width // 2), range(width // 2, width)], [1, 2])
    found = run_attacks(store, files, engine, [attack], known, Settings(normalise="none"))
    if attack.rung not in (Rung.PART, Rung.PERSON):
        return found, 100 * found.ladder[-1].scores
    chance = np.empty(N)
    chance[order] = chances_of(store, found.places, 0, N)[attack.figure]
    return found, chance


@pytest.mark.parametrize("name", EVERY)
def test_it_declares_itself(name: str) -> None:
    attack = EVERY[name]
    assert ATTACKS.faults(attack, name) == []
    assert isinstance(attack.rung, Rung)
    assert attack.summary.endswith(".")
    assert attack().describe().startswith("linkage ")
    made = attack.from_settings(attack().settings())
    assert made == attack()
    assert hash(made) == hash(attack())


def test_figures_and_titles_differ() -> None:
    assert len({attack.figure for attack in EVERY.values()}) == len(EVERY)
    assert len({attack.plain for attack in EVERY.values()}) == len(EVERY)


@pytest.mark.parametrize(("name", "parameter"), [(name, p.name) for name in EVERY for p in EVERY[name].parameters()])
def test_bad_parameters_are_refused(name: str, parameter: str) -> None:
    attack = EVERY[name]
    for wrong in (-1, object(), "no such word"):
        with pytest.raises(
            ParameterError, match=rf"^The '{parameter}' parameter of {attack.__name__} must be .+\. Got .+\.$"
        ):
            attack(**{parameter: wrong})
    with pytest.raises(ParameterError, match="it has no parameter 'colour'"):
        attack.from_settings({"colour": 1})


@pytest.mark.parametrize(("name", "given"), CASES, ids=str)
def test_row_order_is_irrelevant(name: str, given: dict[str, Any]) -> None:
    attack, (a, b) = EVERY[name](**given), tables(EVERY[name])
    before = attack.links(dataset(a, EVERY[name]), dataset(b, EVERY[name]))
    order = np.random.default_rng(1).permutation(N)
    after = attack.links(dataset(a[order], EVERY[name]), dataset(b[order], EVERY[name]))
    assert np.array_equal(after.probability, before.probability[order])
    assert np.array_equal(after.candidates, before.candidates[order])


@pytest.mark.parametrize(("name", "given"), [(name, given) for name, given in CASES if name in IN_PIECES], ids=str)
def test_pieces_find_what_memory_finds(name: str, given: dict[str, Any], tmp_path: Path) -> None:
    attack = EVERY[name](**given)
    whole, chance = in_pieces(Memory(), attack, [], np.arange(N), Here())
    shuffled = np.random.default_rng(2).permutation(N)
    for store, cuts, order, engine in (
        (Memory(), [13], np.arange(N), Here()),
        (Folder(tmp_path), [1, 17, 30], shuffled, LocalEngine()),
    ):
        found, chances = in_pieces(store, attack, cuts, order, engine)
        assert found.by_known == whole.by_known
        assert [one[:5] for one in found.ladder] == [one[:5] for one in whole.ladder]
        assert np.array_equal(chances, chance)


@pytest.mark.parametrize(("name", "given"), [(name, given) for name, given in CASES if name in IN_PIECES], ids=str)
def test_the_last_round_is_the_attack_on_two_files(name: str, given: dict[str, Any]) -> None:
    attack, (a, b) = EVERY[name](**given), tables(EVERY[name])
    found, _ = in_pieces(Memory(), attack, [], np.arange(N), Here())
    original, released = dataset(a, EVERY[name]), dataset(b, EVERY[name])
    options = {"normalise": "none"} if attack.distance else {}
    rate = found.ladder[-1].rate
    assert attack.links(original, released, **options).rate == pytest.approx(rate)
    if not attack.of_series and not attack.of_labels:
        assert links_in_memory(attack, original, released).rate == pytest.approx(rate)


def nearest_rows(a: Array, b: Array, i: int, among: list[int], metric: str = "euclidean") -> list[int]:
    x, y, factor = on_one_scale(a, b)
    return naive_attacks.nearest(x[i].tolist(), y, among, relative(factor).tolist(), metric)


def tables_of(a: bytes, b: bytes, columns: int) -> tuple[Array, Array]:
    """Two tables of doubles from their bytes, which a cache can hold."""
    known, shown = (np.frombuffer(table).reshape(-1, columns) for table in (a, b))
    return known, shown


@cache
def heaviest_rows(name: str, key: str, value: float, a: bytes, b: bytes, columns: int) -> list[list[int]]:
    """Of all known records at once, which would be slow to do again for each; `key` is the setting that differs from the defaults, if there is one."""
    known, shown = tables_of(a, b, columns)
    if key == "window":
        sets = [naive_attacks.rank_sets(known, shown, row, int(value)) for row in range(len(known))]
        agreed = [[tuple(row in each for each in own) for row in range(len(shown))] for own in sets]
    elif key == "tolerance":
        near = np.abs(known[:, None] - shown[None]) / known.std(axis=0, ddof=1) <= value
        agreed = [[tuple(row) for row in rows] for rows in near.tolist()]
    else:
        agreed = naive_attacks.agreement(known, shown)
    pairs = [[sum(agreed << j for j, agreed in enumerate(pattern)) for pattern in row] for row in agreed]
    counts = np.bincount(np.ravel(pairs), minlength=1 << columns)
    n = len(known)
    model = fellegi_sunter(counts, 1 / n) if name == "probabilistic" else conditional_model(counts, n, n)
    weights = [model.weights[row] for row in pairs]
    return [np.flatnonzero(row == row.max()).tolist() for row in weights]


@cache
def likeliest(a: bytes, b: bytes, columns: int, method: str | None) -> list[list[int]]:
    """By all known records at once, which would be slow to do again for each."""
    return naive_moves.likeliest(*tables_of(a, b, columns), method)


@cache
def by_labels(name: str, a: bytes, b: bytes, columns: int) -> list[list[int]]:
    """The published rows that fit each known record best, by labels; the scale is that of all records."""
    before, after = ([[WORDS[int(code)] for code in row] for row in table] for table in tables_of(a, b, columns))
    kinds = LABELS[:columns]
    if name == "mixed-distance":
        return naive_labels.nearest(kinds, [[at] for at in range(columns)], before, after, columns)
    nothing = [[0.0]] * columns
    pairs = np.array([[naive_labels.agreements(kinds, x, y, nothing) for y in after] for x in before])
    counts, n = np.bincount(pairs.ravel(), minlength=1 << columns), len(before)
    weights = plain_model(counts).weights if name == "labels-probabilistic" else conditional_model(counts, n, n).weights
    return [np.flatnonzero(row == row.max()).tolist() for row in np.asarray(weights)[pairs]]


def by_definition(name: str, given: dict[str, Any], a: Array, b: Array, i: int) -> list[int]:
    """The released rows that fit original row i best, by the slow and obvious way."""
    everyone = list(range(len(b)))
    if EVERY[name].of_labels:
        return by_labels(name, a.tobytes(), b.tobytes(), a.shape[1])[i]
    if name == "distance":
        return nearest_rows(a, b, i, everyone, given.get("metric", "euclidean"))
    if name in ("probabilistic", "conditional"):
        [(key, value)] = given.items() or [("", 0.0)]
        return heaviest_rows(name, key, value, a.tobytes(), b.tobytes(), a.shape[1])[i]
    if name == "alignment":
        return nearest_rows(a, b, i, sorted(set.intersection(*naive_attacks.aligned_sets(a, b, i))))
    if name == "column_sides":
        return naive_sides.likeliest(a[[i]], b, given.get("pooled", False))[0]
    if name == "likely_moves":
        return likeliest(a.tobytes(), b.tobytes(), a.shape[1], given.get("drawn_by"))[i]
    if name == "common-points":  # here without gaps; `test_masked` has them
        return nearest_rows(a, b, i, everyone, "euclidean")
    if name == "gap-pattern":
        return everyone
    if name == "equal_values":
        differ = (np.abs(a[i] - b) > given.get("near", 0.0)).sum(axis=1)
        return np.flatnonzero(differ == differ.min()).tolist()
    sets = naive_attacks.rank_sets(a, b, i, given.get("window", 8))  # 20 percent of 40
    return nearest_rows(a, b, i, sorted(set.intersection(*sets)) if name == "rank_swap" else naive_attacks.in_most(sets))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (name, given)
        for name, given in CASES
        if name in IN_PIECES
        and name not in ("projected", "projection_sides", "mahalanobis", "likelihood", "one_answer", "fullest-keys")
        and EVERY[name].rung in (Rung.PART, Rung.PERSON)
    ],
    ids=str,
)
def test_it_is_the_definition(name: str, given: dict[str, Any]) -> None:
    """Projections, Mahalanobis distances and likelihoods are compared in files of their own, where rounding cannot decide who is nearest; so are answers for persons, keys that are left, and attacks at other rungs."""
    attack, (a, b) = EVERY[name](**given), tables(EVERY[name])
    _, chance = in_pieces(Memory(), attack, [], np.arange(N), Here())
    expected = np.zeros(N)
    if attack.of_series:
        for blocks in ([slice(0, 2)], [slice(0, 2), slice(2, 4)]):
            ours, theirs = ([table[:, own] for own in blocks] for table in (a, b))
            tied, _, hit = naive.series_links(ours, theirs, str(attack.distance))
            expected += hit / tied / 2
    else:
        for count in range(1, 5):
            for i in range(N):
                best = by_definition(name, given, a[:, :count], b[:, :count], i)
                expected[i] += (i in best) / max(len(best), 1) / 4
    assert chance == pytest.approx(100 * expected)
