"""Losses, queries and breach probabilities of published envelopes are those of their definitions."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_kp
import tsveil as tv
from tsveil.attack.kp import Piece, envelope_linkages, targets_of
from tsveil.attack.pieces import Columns
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, Indices
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Folder, Memory, Store
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.engine.threads import LocalEngine
from tsveil.measure.base import Schema
from tsveil.measure.class_sizes import figures_of as class_figures
from tsveil.measure.envelope_loss import certainty_penalty, pattern_loss, value_loss
from tsveil.measure.envelope_queries import draw_queries
from tsveil.measure.evaluate import envelope_card, meanings_of, measure_pieces
from tsveil.measure.queries import Queries, RangeCount
from tsveil.measure.scorecard import Scorecard
from tsveil.protect.envelopes import KAnonymousEnvelopes
from tsveil.protect.kp import KP
from tsveil.transform.sax import cell_means, patterns, sax


def walks(n: int, T: int = 12, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, T)).cumsum(axis=1)


def released(x: Array, k: int = 6, P: int = 2, **options: object) -> tv.Release:
    confidential = {"tariff": ["day", "night", "solar", "gas", "wood"] * (len(x) // 5)}
    data = tv.Dataset.from_arrays({"load": x}, confidential=confidential if len(x) % 5 == 0 else None)
    return KP(k=k, P=P, **options).protect(data)  # type: ignore[arg-type]


def bare(lo: Array, hi: Array, words: tuple[str, ...] | None = None, levels: Indices | None = None) -> IntervalTable:
    return IntervalTable(tuple(str(t) for t in range(lo.shape[1])), lo, hi, words, levels)


# -- losses -----------------------------------------------------------------------------------------------------------


def test_value_loss() -> None:
    lo, hi = naive_kp.envelope([(1, 4, 2), (3, 4, 6)])
    assert value_loss(np.array([lo]), np.array([hi])) == pytest.approx([2.58199], abs=1e-5)
    assert naive_kp.value_loss([(1, 4, 2), (3, 4, 6)]) == pytest.approx(2.58199, abs=1e-5)


def test_certainty_penalty() -> None:
    x = np.array([[0.0, 5.0, 1.0], [10.0, 5.0, 3.0]])
    penalty = certainty_penalty(np.array([[0.0, 5.0, 1.0]]), np.array([[5.0, 5.0, 3.0]]), np.ptp(x, axis=0))
    assert penalty == pytest.approx([100 * (0.5 + 0 + 1) / 3])


def test_pattern_loss_by_hand() -> None:
    table = bare(np.zeros((3, 4)), np.ones((3, 4)), ("ab", "aa", "bb"), np.array([2, 1, 2]))
    x = np.array([[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [7.0, 7.0, 7.0, 7.0]])
    # The same direction; a word that says nothing; a constant, whose word is not zero.
    assert pattern_loss(x, table) == pytest.approx([0, 1, 1])
    # Neither a constant nor the word bb has differences.
    assert pattern_loss(x, table, features="differences") == pytest.approx([0, 1, 0])
    assert pattern_loss(x, table, features="signs") == pytest.approx([0, 1, 0])


@given(st.integers(0, 10_000), st.sampled_from(["means", "differences", "signs"]), st.sampled_from(["sax", "paa"]))
def test_pattern_loss_is_its_definition(seed: int, features: str, kind: str) -> None:
    x = walks(40, seed=seed)
    release = released(x, word_length=4, pattern=kind)
    assert release.words is not None
    assert release.levels is not None
    loss = pattern_loss(x[release.rows], release.table, features=features)  # type: ignore[arg-type]
    for at, row in enumerate(release.rows):
        p = naive_kp.segment_means(x[row].tolist(), 4)
        if kind == "paa":
            q = [float(value) for value in release.words[at].strip("[]").split()]
        else:
            q = [float(cell_means(int(release.levels[at]))[ord(letter) - ord("a")]) for letter in release.words[at]]
        if features == "differences":
            p, q = ([b - a for a, b in itertools.pairwise(v)] for v in (p, q))
        elif features == "signs":
            p, q = ([float(np.sign(v[j] - v[i])) for i in range(4) for j in range(i + 1, 4)] for v in (p, q))
        assert loss[at] == pytest.approx(naive_kp.cosine_loss(p, q), abs=1e-9)


def test_a_table_without_words_is_judged_by_its_midlines() -> None:
    x = walks(40)
    release = KAnonymousEnvelopes(k=5).protect(tv.Dataset.from_arrays({"load": x}))
    middle = (release.lo + release.hi) / 2
    expected = [
        naive_kp.cosine_loss(p, q) for p, q in zip(patterns(x, 8).tolist(), patterns(middle, 8).tolist(), strict=True)
    ]
    assert pattern_loss(x, release.table) == pytest.approx(expected, abs=1e-9)
    assert pattern_loss(x, release.table, word_length=3).sum() != pytest.approx(sum(expected))
    # Records published as they are lose nothing.
    assert pattern_loss(x, bare(x, x)).max() < 1e-9


def test_unknown_features_are_told() -> None:
    with pytest.raises(ParameterError, match=r"'features' .* one of 'means', 'differences', 'signs'. Got 'x'"):
        pattern_loss(walks(3), bare(walks(3), walks(3)), features="x")  # type: ignore[arg-type]


# -- queries ----------------------------------------------------------------------------------------------------------


def test_range_count_by_hand() -> None:
    query = Queries(
        bare(np.array([[0.0, 2.0], [0.0, 2.0], [4.0, 8.0]]), np.array([[2.0, 2.0], [2.0, 2.0], [6.0, 10.0]]))
    )
    assert query.range_count({"0": (0, 2)}) == RangeCount(2, 2, 2.0)
    assert query.range_count({"0": (1, 5)}) == RangeCount(0, 3, 1.5)
    assert query.range_count({"0": (1, 5), "1": (0, 9)}) == RangeCount(0, 3, 0.5 + 0.5 + 0.25)
    assert query.range_count({"1": (2, 2)}) == RangeCount(2, 2, 2.0)
    assert query.range_count({"1": (3, 4)}) == RangeCount(0, 0, 0.0)
    assert query.range_count({0: (None, None)}) == RangeCount(3, 3, 3.0)
    assert query.range_count({0: (5, None), 1: (None, 9)}) == RangeCount(0, 1, 0.25)
    assert query.range_count({0: (2, 3)}) == RangeCount(0, 2, 0.0)  # only the edge is met


@given(
    st.integers(0, 10_000),
    st.dictionaries(st.integers(0, 11), st.tuples(st.floats(-5, 5), st.floats(0, 5)), min_size=1, max_size=4),
)
def test_bounds_of_range_counts_are_certain(seed: int, asked: dict[int, tuple[float, float]]) -> None:
    x = walks(50, seed=seed).round(1)
    release = released(x)
    ranges = {t: (low, low + width) for t, (low, width) in asked.items()}
    count = release.query.range_count(ranges)
    published = x[release.rows]
    truth = sum(all(a <= row[t] <= b for t, (a, b) in ranges.items()) for row in published)
    assert count.least <= truth <= count.most
    assert count.least - 1e-9 <= count.estimate <= count.most + 1e-9


def test_the_most_similar_come_first() -> None:
    x = np.vstack([np.tile(np.arange(12.0), (10, 1)), np.tile(np.arange(12.0)[::-1], (10, 1))])
    query = released(x + walks(20, seed=1) / 100, k=10, P=5).query
    found = query.similar(np.arange(100.0, 150.0), top=10)
    assert found.columns == ["row", "pattern", "level", "distance", "at_least"]
    assert len(found) == 10
    assert all(word == "".join(sorted(word)) for word in found["pattern"])
    assert found["distance"].is_sorted()
    assert (found["at_least"] <= found["distance"] + 1e-9).all()
    assert len(query.similar(np.arange(12.0), top=500)) == 20


@given(st.integers(0, 10_000), st.floats(0.0, 6.0), st.sampled_from(["sax", "paa"]))
def test_nothing_within_a_distance_is_missed(seed: int, within: float, kind: str) -> None:
    x = walks(60, seed=seed)
    release = released(x, word_length=5, pattern=kind)
    order = release.store.get("records")
    original = order[~np.isin(order, release.suppressed)]  # suppressed records have no published row
    z = patterns(x, x.shape[1])
    for row in (0, 17, 59):
        rows = release.query.similar(x[row], within=within)["row"].to_numpy() - 1
        near = set(np.flatnonzero(((z - z[row]) ** 2).sum(axis=1) <= within**2).tolist())
        assert near - set(release.suppressed.tolist()) <= set(original[rows].tolist())


def test_within_leaves_something_out() -> None:
    x = walks(60)
    release = released(x, word_length=4)
    assert 0 < len(release.query.similar(x[0], within=1.0)) < release.n


@pytest.mark.parametrize("kind", ["sax", "paa"])
def test_rows_of_queries_are_those_of_the_file(tmp_path: Path, kind: str) -> None:
    x = walks(60)
    release = released(x, pattern=kind)
    folder = release.write(tmp_path / "out")
    from_file = Queries.of(folder / "published" / "data.csv")
    assert from_file.similar(x[3]).equals(release.query.similar(x[3]))
    assert from_file.range_count({"4": (-1, 1)}) == release.query.range_count({"4": (-1, 1)})


def test_wrong_queries_are_told() -> None:
    query = released(walks(40)).query
    with pytest.raises(ParameterError) as error:
        query.range_count({"99": (1, 2), "1": (3, 2), "2": (1,), "3": ("a", 2)})  # type: ignore[dict-item]
    assert len(error.value.problems) == 4
    with pytest.raises(ParameterError, match="names no time point"):
        query.range_count({})
    for pattern in ([1, 2, 3], [[1.0] * 12], [1.0] * 11 + [np.nan], ["a"] * 12):
        with pytest.raises(InputError, match="pattern must be a sequence"):
            query.similar(pattern)
    for top in (0, 1.5, True):
        with pytest.raises(ParameterError, match="'top'"):
            query.similar(walks(1)[0], top=top)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'within'"):
        query.similar(walks(1)[0], within=-1)
    with pytest.raises(InputError, match="no patterns"):
        Queries(bare(walks(3), walks(3))).similar(walks(1)[0])


def test_query_errors() -> None:
    x, ids, own = walks(100), pl.Series(range(100)), np.arange(100)
    exact = bare(x, x, tuple(sax(x, 12, 26)), np.full(100, 26))
    fine = envelope_card(x, exact, own, ids)
    assert fine["range_error"] == 0
    assert fine["range_gap"] == 0
    assert fine["similar_found"] > 80
    coarse = envelope_card(x, released(x).table, released(x).own, ids)
    assert coarse["range_error"] > 0
    assert coarse["range_gap"] > 0
    assert coarse["similar_found"] < fine["similar_found"]
    assert "similar_found" not in envelope_card(x, bare(x, x), own, ids)
    assert envelope_card(x, exact, own, ids, seed=1)["similar_found"] != fine["similar_found"]


# -- attacks ----------------------------------------------------------------------------------------------------------


@given(
    arrays(float, st.tuples(st.integers(8, 40), st.integers(2, 5)), elements=st.integers(0, 4).map(float)),
    st.integers(0, 3),
    st.sampled_from(["", "envelopes", "patterns"]),
    st.sampled_from(["sax", "paa"]),
)
def test_attacks_find_the_records_that_fit(x: Array, seed: int, tampered: str, kind: str) -> None:
    release = released(x, k=4, word_length=2, pattern=kind)
    table, own = release.table, release.own
    if tampered == "envelopes" and table.n:  # not those of their records
        other = table.take(np.random.default_rng(seed).permutation(table.n))
        table = replace(table, lo=other.lo, hi=other.hi)
    elif tampered == "patterns" and table.n:
        other = table.take(np.random.default_rng(seed).permutation(table.n))
        table = replace(table, words=other.words, levels=other.levels)
    assert table.words is not None
    assert table.levels is not None
    links = envelope_linkages(x, table, own)
    assert list(links) == ["values", "pattern", "both", "bounds"]
    for i, row in enumerate(x.tolist()):
        fitting = naive_kp.fitting(row, table.lo, table.hi, table.words, table.levels.tolist())
        for name, rows in fitting.items():
            found = links[name]
            assert found.candidates[i] == len(rows)
            assert found.link[i] == min(rows, default=-1)
            right = own[i] in rows
            assert found.hit[i] == right
            assert found.probability[i] == (1 / len(rows) if right else 0)
            assert found.certain[i] == (right and len(fitting["both"] if name == "bounds" else rows) == 1)


def test_bounds_tell_more_than_the_values() -> None:
    """Whoever touches a bound of one of several envelopes is found there; whoever touches none, in the narrowest."""
    lo, hi = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.5]]), np.array([[9.0, 9.0], [5.0, 8.0], [4.0, 4.0]])
    x = np.array([[2.0, 9.0], [1.0, 3.0], [3.0, 3.0]])
    found = envelope_linkages(x, bare(lo, hi))
    assert list(found) == ["values", "bounds"]
    assert found["values"].candidates.tolist() == [1, 3, 3]
    assert found["bounds"].candidates.tolist() == [1, 1, 1]
    assert found["bounds"].link.tolist() == [0, 1, 2]
    assert found["bounds"].certain.tolist() == [True, False, False]
    # Rounded outwards, nobody touches anything: the narrowest is left.
    rounded = envelope_linkages(x, bare(lo - 0.25, hi + 0.25))
    assert rounded["bounds"].link.tolist() == [0, 2, 2]


@pytest.mark.parametrize(
    "method",
    [KP(k=6, P=3), KP(k=6, P=3, pattern="paa"), KP(k=6, P=3, round_to=0.5), KAnonymousEnvelopes(k=6)],
    ids=str,
)
@pytest.mark.parametrize("name", ["ties", "constants", "duplicates", "walks"])
def test_bounds_stay_below_the_promise_and_replay(method: Any, name: str) -> None:
    x = nasty(name)
    release = method.protect(tv.Dataset.from_arrays({"load": x}), seed=1)
    card = release.evaluate()
    most = 1 / (3 if isinstance(method, KP) else 6)
    chances = card.links["bounds"].probability
    assert chances.max() <= most + 1e-12
    words = release.words or [""] * release.n
    levels = [0] * release.n if release.levels is None else release.levels.tolist()
    classes = set(zip(map(bytes, release.lo), map(bytes, release.hi), words, levels, strict=True))
    published = card.links["bounds"].own >= 0
    assert chances[published].mean() <= len(classes) / release.n + 1e-12
    assert card["breach_bounds_mean"] == pytest.approx(100 * chances.mean())


def test_bounds_find_more_in_smooth_data() -> None:
    card = KAnonymousEnvelopes(k=5).protect(tv.Dataset.from_arrays({"load": walks(300, 4)}), seed=1).evaluate()
    assert card["breach_bounds_mean"] > 1.2 * card["breach_values_mean"]


def test_fewer_known_values_leave_more_candidates() -> None:
    x = walks(60)
    release = released(x)
    known = envelope_linkages(x, release.table, release.own, known=["3", "4"])
    everything = envelope_linkages(x, release.table, release.own)
    assert (known["values"].candidates >= everything["values"].candidates).all()
    assert (known["values"].candidates > everything["values"].candidates).any()
    assert np.array_equal(known["pattern"].candidates, everything["pattern"].candidates)
    with pytest.raises(InputError, match="no such time point: '99'"):
        envelope_linkages(x, release.table, release.own, known=["99"])


@given(
    arrays(float, st.tuples(st.integers(8, 40), st.integers(3, 5)), elements=st.integers(0, 4).map(float)),
    st.lists(st.integers(0, 2), min_size=1, max_size=3),
    st.sampled_from(["sax", "paa"]),
)
def test_a_part_of_the_pattern_fits_what_agrees_there(x: Array, letters: list[int], kind: str) -> None:
    release = released(x, k=4, word_length=3, pattern=kind)
    table, own = release.table, release.own
    assert table.words is not None
    assert table.levels is not None
    links = envelope_linkages(x, table, own, letters=letters)
    for i, row in enumerate(x.tolist()):
        rows: dict[str, list[int]] = {"values": [], "pattern": [], "both": []}
        for at, (word, level) in enumerate(zip(table.words, table.levels.tolist(), strict=True)):
            mine = naive_kp.known_word(row, word, level)
            same = [
                a == b
                for a, b in zip(*(t.strip("[]").split() if kind == "paa" else t for t in (word, mine)), strict=True)
            ]
            by_values = all(low <= v <= high for low, v, high in zip(table.lo[at], row, table.hi[at], strict=True))
            by_pattern = all(same[place] for place in letters)
            for name, fits in (("values", by_values), ("pattern", by_pattern), ("both", by_values and by_pattern)):
                rows[name] += [at] if fits else []
        for name, found in rows.items():
            assert links[name].candidates[i] == len(found)
            assert links[name].hit[i] == (own[i] in found)
    whole = envelope_linkages(x, table, own)
    assert (links["pattern"].candidates >= whole["pattern"].candidates).all()
    assert np.array_equal(links["values"].candidates, whole["values"].candidates)


def test_letters_that_are_none_are_told() -> None:
    x = walks(60)
    release = released(x, word_length=4)
    everything = envelope_linkages(x, release.table, release.own)
    again = envelope_linkages(x, release.table, release.own, letters=range(4))
    assert all(np.array_equal(everything[name].candidates, again[name].candidates) for name in everything)
    for letters in ([], [4], [-1]):
        with pytest.raises(InputError, match="from 0 to 3"):
            envelope_linkages(x, release.table, release.own, letters=letters)
    with pytest.raises(InputError, match="this one has none"):
        envelope_linkages(x, bare(x, x), letters=[0])


# -- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ties", "constants", "duplicates", "walks"])
@pytest.mark.parametrize("k", [4, 7])
def test_class_sizes_are_those_of_equal_envelopes(name: str, k: int) -> None:
    x = nasty(name)
    release = KP(k=k, P=3, word_length=2).protect(tv.Dataset.from_arrays({"load": x}), seed=1)
    card = release.evaluate()
    sizes = Counter((tuple(lo), tuple(hi)) for lo, hi in zip(release.lo.tolist(), release.hi.tolist(), strict=True))
    of_each = [sizes[tuple(lo), tuple(hi)] for lo, hi in zip(release.lo.tolist(), release.hi.tolist(), strict=True)]
    suppressed = len(x) - release.n
    assert card["discernibility"] == sum(of_each) + suppressed * len(x)
    assert card["class_size"] == pytest.approx(release.n / len(sizes))
    assert card["class_size_normalised"] == pytest.approx(release.n / len(sizes) / min(sizes.values()))
    own = release.evaluate(measures={"class-sizes": {"k": k}})
    assert own["class_size_normalised"] == pytest.approx(release.n / len(sizes) / k)


def test_nothing_published_is_one_class_less() -> None:
    assert class_figures([], 5) == {"discernibility": 25.0, "class_size": 0.0, "class_size_normalised": 0.0}


def test_unprotected_words_single_records_out() -> None:
    x = walks(200)
    data = tv.Dataset.from_arrays({"load": x})
    card = KAnonymousEnvelopes(k=10, words="unprotected").protect(data).evaluate()
    assert card["breach_values"] <= 10
    assert card["breach_both"] == 100
    assert card["breach_both_mean"] > 90
    alone = KAnonymousEnvelopes(k=10).protect(data).evaluate()
    assert "breach_both" not in alone
    assert "similar_found" not in alone


def test_attacks_need_to_know_what_belongs_together() -> None:
    x = walks(60)
    release = released(x)
    with pytest.raises(InputError, match="12 points"):
        envelope_linkages(x[:, :5], release.table, release.own)
    with pytest.raises(InputError, match=r"own=\.\.\."):
        envelope_linkages(x[:5], release.table)
    with pytest.raises(InputError, match="or -1"):
        envelope_linkages(x, release.table, np.full(60, 60))


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = walks(2500, 4)
    release = released(x)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("TSVEIL_THREADS", threads)
        found.append(envelope_linkages(x, release.table, release.own)["both"].candidates)
    assert np.array_equal(found[0], found[1])


# -- the card ---------------------------------------------------------------------------------------------------------


def test_the_card() -> None:
    x = walks(100)
    release = released(x)
    card = release.evaluate()
    assert set(card) == set(card.meanings) == set(meanings_of("envelopes"))
    assert card["value_loss"] == pytest.approx(value_loss(release.lo, release.hi).sum())
    assert card["value_loss_mean"] == pytest.approx(card["value_loss"] / release.n)
    assert card["breach_both"] <= 50
    assert card["breach_values"] <= 100 / 6 + 1e-9
    assert len(card.per_record) == 100
    assert card.per_record["value_loss"].is_nan().sum() == len(release.suppressed)
    assert card.per_record["linked_by_both"].max() == card["breach_both"]
    assert card["value_loss"] in card.to_dict().values()
    assert "breach by both, worst" in str(card)
    assert repr(card).startswith("Scorecard: value loss")
    assert release.evaluate(features="signs")["pattern_loss"] != card["pattern_loss"]
    with pytest.raises(KeyError, match="no figure 'x'"):
        card["x"]


def test_homogeneous_classes_are_counted() -> None:
    x = walks(60)
    day = tv.Dataset.from_arrays({"load": x}, confidential={"tariff": ["day"] * 60, "odd": list(range(60))})
    release = KP(k=6, P=2).protect(day)
    card = release.evaluate()
    classes = pl.DataFrame(
        {"g": release.groups["load"][release.rows], "w": release.words, "l": release.levels}
    ).n_unique()
    assert card.homogeneous == {"tariff": (classes, release.n), "odd": (0, 0)}


# -- in pieces ----------------------------------------------------------------------------------------------------------


def nasty(name: str, n: int = 120) -> Array:
    rng = np.random.default_rng(7)
    if name == "ties":
        return rng.integers(0, 3, (n, 5)).astype(float)
    if name == "constants":
        return np.vstack([np.full((n // 3, 5), 0.1), np.full((n // 3, 5), 1e9), rng.normal(size=(n - 2 * (n // 3), 5))])
    if name == "duplicates":
        return np.repeat(walks(n // 4, 5), 4, axis=0) * 1e-3
    return walks(n, 9)


def in_pieces(
    release: tv.Release, order: Indices, ends: list[int], store: Store, engine: Engine, **options: Any
) -> Scorecard:
    """The records in some order, cut into pieces."""
    x, own = release.original.block(release.block.name), release.own
    for at, rows in enumerate(np.split(order, ends)):
        kept = own[rows] >= 0
        here = np.where(kept, np.cumsum(kept) - 1, -1)
        Piece.of(x[rows], release.table.take(own[rows][kept]), here, rows).save(store, at)
    block = Columns.of(release.block)
    schema = Schema.of_envelopes(store, block, len(ends) + 1, words=release.words is not None)
    card = measure_pieces(store, schema, engine, **options)
    return replace(card, per_record=card.per_record[np.argsort(order).tolist()])


@pytest.mark.parametrize("name", ["ties", "constants", "duplicates", "walks"])
@pytest.mark.parametrize("ends", [[50], [0, 1, 40, 119]])
@pytest.mark.parametrize(
    "method",
    [
        KP(k=7, P=4, word_length=4),
        KP(k=7, P=4, word_length=4, pattern="paa"),
        KAnonymousEnvelopes(k=5),
        KAnonymousEnvelopes(k=5, words="unprotected"),
    ],
    ids=str,
)
def test_pieces_change_nothing(name: str, ends: list[int], method: Any, tmp_path: Path) -> None:
    x = nasty(name)
    release = method.protect(tv.Dataset.from_arrays({"load": x}), seed=1)
    # In a secret order, the suppressed records first: the first pieces publish nothing.
    order = np.random.default_rng(2).permutation(len(x))
    order = order[np.argsort(release.own[order] >= 0, kind="stable")]
    every: tuple[dict[str, Any], ...] = ({}, {"features": "differences", "seed": 5, "targets": 17})
    for options in every:
        whole = envelope_card(x, release.table, release.own, release.original.ids, **options)
        one = in_pieces(release, order, [], Memory(), Here(), **options)
        assert list(one) == list(whole)
        assert one.options == whole.options
        for at, (store, engine) in enumerate(((Memory(), Here()), (Folder(tmp_path), LocalEngine()))):
            found = in_pieces(release, order, ends, store, engine, **options)
            for other in (whole, one):
                assert found.to_dict() == other.to_dict()
            assert found.per_record.equals(whole.per_record.drop("original"))
            assert list(found.links) == list(whole.links)
            for attack, links in found.links.items():
                for what in ("candidates", "link", "hit", "certain", "own", "probability", "released"):
                    assert np.array_equal(getattr(links, what), getattr(one.links[attack], what)), (at, attack, what)
                    if what not in ("link", "own"):  # rows of another order
                        assert np.array_equal(getattr(links, what), getattr(whole.links[attack], what))


def test_some_records_are_suppressed_in_these_tests() -> None:
    assert len(KP(k=7, P=4, word_length=4).protect(tv.Dataset.from_arrays({"load": nasty("walks")})).suppressed) > 1


def test_a_sample_is_attacked_like_all() -> None:
    x = walks(90)
    release = released(x)
    every = release.evaluate()
    some = envelope_card(x, release.table, release.own, release.original.ids, targets=20)
    chosen = targets_of(90, 20)
    assert len(set(chosen.tolist())) == 20
    assert some.options["targets"].startswith("a random sample of 20 of 90 records")
    for attack, links in some.links.items():
        assert np.array_equal(links.candidates, every.links[attack].candidates[chosen])
        assert some[f"breach_{attack}_mean"] == pytest.approx(100 * links.probability.mean())
    assert some.per_record["linked_by_both"].is_nan().sum() == 70
    assert every.options == {"targets": "all records"}


def test_similar_records_found_are_those_of_the_definition() -> None:
    """Ties are broken by the place in the original, truly and in what is published."""
    x = nasty("ties", 60)
    release = KP(k=6, P=3, word_length=3).protect(tv.Dataset.from_arrays({"load": x}), seed=1)
    assert release.words is not None
    assert release.levels is not None
    queries = draw_queries(*x.shape)
    z = patterns(x, 5)
    stands_for = [
        cell_means(int(level))[[ord(c) - 97 for c in word]]
        for word, level in zip(release.words, release.levels, strict=True)
    ]
    shares = []
    for record in queries.curves.tolist():
        near = sorted(range(60), key=lambda i: (((z[i] - z[record]) ** 2).sum(), i))[:20]
        means = patterns(x[[record]], 3)[0]
        rows = sorted(
            range(release.n), key=lambda row: (np.sqrt(((stands_for[row] - means) ** 2).sum()) * np.sqrt(5 / 3), row)
        )[:20]
        shares.append(len(set(near) & set(release.rows[rows].tolist())) / 20)
    assert release.evaluate()["similar_found"] == pytest.approx(100 * np.mean(shares))
