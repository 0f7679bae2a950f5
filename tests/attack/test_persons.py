"""Attacks on two files whose persons have several records: a link to any of them is right, and rates are means over persons."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import binom

import naive_attacks as naive
import tsveil as tv
from tsveil.attack.base import Rung
from tsveil.attack.choose import links_by_attack
from tsveil.attack.links import Links
from tsveil.cli import main
from tsveil.core.errors import ParameterError
from tsveil.core.registry import ATTACKS
from tsveil.core.types import Array, Indices

RECORDS, PEOPLE = 90, 30


def values(kind: str, columns: int = 6) -> tuple[Array, Indices]:
    """Records that are like the others of their person, and whose they are; some persons have one record, some many."""
    rng = np.random.default_rng([*kind.encode()])
    persons = np.sort(rng.integers(0, PEOPLE, RECORDS))[rng.permutation(RECORDS)]
    x = rng.normal(size=(PEOPLE, columns))[persons] + 0.5 * rng.normal(size=(RECORDS, columns))
    if kind == "ties":
        x = np.round(x)
        x[:, -1] = 3.0
        x[:20] = x[20:40]
    return x, persons


def dataset(x: Array, persons: Indices | None, *, series: bool, ids: list[str] | None = None) -> tv.Dataset:
    half = x.shape[1] // 2
    if series:
        return tv.Dataset.from_arrays({"load": x[:, :half], "gas": x[:, half:]}, persons=persons, ids=ids)
    names = [f"c{at}" for at in range(x.shape[1])]
    frame = pl.DataFrame(x, schema=names, orient="row")
    if ids is not None:
        frame = frame.with_columns(id=pl.Series(ids))
    if persons is not None:
        frame = frame.with_columns(who=pl.Series([f"h{person}" for person in persons]))
    blocks = {"a": names[:half], "b": names[half:]}
    return tv.Dataset.from_frame(
        frame, blocks=blocks, person=[] if persons is None else ["who"], id=None if ids is None else "id"
    )


def mixed_up(kind: str, *, series: bool) -> tuple[tv.Dataset, tv.Dataset, dict[str, str]]:
    """An original, a release of five sixths of it in another order, with some records of its own, and the truth."""
    x, persons = values(kind)
    rng = np.random.default_rng(4)
    kept = rng.permutation(RECORDS)[: 5 * RECORDS // 6]
    shown = np.vstack([x[kept] + np.round(rng.normal(size=(len(kept), x.shape[1]))), x[:3] + 1])
    original = dataset(x, persons, series=series, ids=[f"o{at}" for at in range(RECORDS)])
    released = dataset(shown, None, series=series, ids=[f"r{at}" for at in range(len(shown))])
    return original, released, {f"o{record}": f"r{row}" for row, record in enumerate(kept)}


def by_hand(original: tv.Dataset, truth: dict[str, str], tied: Callable[[int], list[int]]) -> float:
    """The mean over persons of the mean over their released records of the share of theirs among those that fit best."""
    whose = {int(truth[f"o{at}"][1:]): person for at, person in enumerate(original.persons) if f"o{at}" in truth}
    shares: dict[int, list[float]] = {}
    for at, person in enumerate(original.persons):
        if f"o{at}" in truth:
            best = tied(at)
            right = sum(whose.get(row) == person for row in best)
            shares.setdefault(int(person), []).append(right / len(best) if best else 0.0)
    return 100 * float(np.mean([np.mean(each) for each in shares.values()]))


@pytest.mark.parametrize("kind", ["continuous", "ties"])
@pytest.mark.parametrize("series", [True, False], ids=["series", "attributes"])
@pytest.mark.parametrize("method", [tv.MDAV(k=3), tv.Noise(sd=0.3), None], ids=["mdav", "noise", "another tool"])
def test_every_rate_is_that_of_the_ladder(kind: str, series: bool, method: Any) -> None:
    x, persons = values(kind)
    data = dataset(x, persons, series=series)
    if isinstance(method, tv.MDAV):
        released = data.with_values(method.protect(dataset(x, None, series=series), seed=1).data.values)
    else:
        released = data.with_values(np.round(x + np.random.default_rng(2).normal(size=x.shape), 1))
    card = tv.evaluate(data, released, models="fitting" if series else None)
    known = {one.attack: one for one in card.ladder if one.rung is Rung.PERSON}
    known |= {one.attack: one for one in card.ladder if one.rung is Rung.FILE and one.attack not in known}
    tried = links_by_attack(data, released)
    assert set(tried) == set(known) - {"replay"}
    for name, links in tried.items():
        assert links.rate == pytest.approx(known[name].rate, abs=1e-9), name
        assert links.people == known[name].targets == len(np.unique(persons))
    alone = links_by_attack(dataset(x, None, series=series), released)
    assert any(links.rate > alone[name].rate + 1e-9 for name, links in tried.items())


@pytest.mark.parametrize(
    "name", [name for name, attack in ATTACKS.items() if not attack.of_series and not attack.of_labels]
)
def test_each_record_as_a_person_of_its_own_changes_nothing(name: str) -> None:
    x, _ = values("ties", 4)
    shown = x[np.random.default_rng(5).permutation(RECORDS)] if name == "swap_chase" else x + 1
    plain, own = dataset(x, None, series=False), dataset(x, np.arange(RECORDS), series=False)
    one, two = (links_by_attack(data, plain.with_values(shown), only=name)[name] for data in (plain, own))
    assert one.rate == pytest.approx(two.rate, abs=1e-12)
    for what in ("probability", "link", "candidates", "hit"):
        assert np.array_equal(getattr(one, what), getattr(two, what)), what


@pytest.mark.parametrize("kind", ["continuous", "ties"])
def test_some_records_are_not_released_and_rows_are_mixed_up(kind: str) -> None:
    original, released, truth = mixed_up(kind, series=False)
    a, b = original.values, released.values
    deviation = a.std(axis=0, ddof=1)
    factor = [1 / d if d > 0 else 0.0 for d in deviation.tolist()]
    every = range(len(b))
    rate = by_hand(original, truth, lambda at: naive.nearest(a[at].tolist(), b, every, factor))
    assert tv.attack.distance(original, released, truth=truth).rate == pytest.approx(rate)
    rate = by_hand(original, truth, lambda at: naive.nearest(a[at].tolist(), b, every, factor)[:1])
    assert tv.attack.distance(original, released, truth=truth, ties="first").rate == pytest.approx(rate)

    def inside(at: int) -> list[int]:
        sets = naive.rank_sets(a, b, at, 20)
        return naive.nearest(a[at].tolist(), b, sorted(set.intersection(*sets)), factor)

    found = tv.attack.rank_swap(original, released, truth=truth, window=20)
    assert found.rate == pytest.approx(by_hand(original, truth, inside))


def test_series_of_persons_that_are_not_all_released() -> None:
    original, released, truth = mixed_up("continuous", series=True)
    a, b = original.values, released.values
    scale = [1 / original.block(name).std(ddof=1) for name in ("load", "gas")]

    def tied(at: int) -> list[int]:
        apart = [
            sum(
                s * np.linalg.norm(a[at, span] - row[span])
                for s, span in zip(scale, (slice(0, 3), slice(3, 6)), strict=True)
            )
            for row in b
        ]
        return [row for row, each in enumerate(apart) if each <= min(apart) + 1e-9]

    assert tv.attack.series(original, released, truth=truth).rate == pytest.approx(by_hand(original, truth, tied))


@pytest.mark.parametrize("ties", ["expected", "first"])
def test_options_that_the_ladder_has_not(ties: Any) -> None:
    """Who gets the right record among all that were tried is counted by hand from the links themselves."""
    original, released, truth = mixed_up("continuous", series=False)
    tried: list[Links] = [
        tv.attack.distance(original, released, truth=truth, one_to_one=True, ties=ties),
        tv.attack.distance(original, released, truth=truth, metric="l1", ties=ties),
        tv.attack.distance(original, released, truth=truth, scaling="own", ties=ties),
        tv.attack.probabilistic(original, released, truth=truth, agree="within", ties=ties),
        tv.attack.fuzzy(original, released, truth=truth, ties=ties),
        tv.attack.projected(original, released, truth=truth, projection="zscores", ties=ties),
    ]
    for links in tried:
        if ties == "expected" and (links.tied > 1).any():
            continue  # the link is one of several
        rate = by_hand(original, truth, lambda at, links=links: [links.link[at]] if links.link[at] >= 0 else [])  # type: ignore[misc]
        assert links.rate == pytest.approx(rate), links.attack


def test_a_linkage_from_the_release_counts_persons_too() -> None:
    x, persons = values("continuous")
    data = dataset(x, persons, series=False)
    released = tv.OptimalUnivariate(k=3).protect(dataset(x, None, series=False), seed=1).data
    links = tv.attack.alignment(data, released, direction="released")
    alone = tv.attack.alignment(dataset(x, None, series=False), released, direction="released")
    assert links.people == len(np.unique(persons))
    assert np.array_equal(links.link, alone.link)
    assert (links.probability >= alone.probability).all()


def test_what_looks_for_single_records_refuses_persons() -> None:
    x, persons = values("continuous")
    for series, options, words in (
        (True, {"distance": "dtw"}, "distance='dtw' of the series attack"),
        (True, {"blocking": 5}, "'blocking' of the series attack"),
        (False, {"blocking": 5}, "'blocking' of the distance attack"),
    ):
        data, attack = dataset(x, persons, series=series), tv.attack.series if series else tv.attack.distance
        with pytest.raises(ParameterError, match=words) as told:
            attack(data, data, **options)
        assert "person=" in str(told.value)
        attack(dataset(x, None, series=series), data, **options)


def test_guessing_is_easier_where_more_records_are_right() -> None:
    x, persons = values("continuous")
    data = dataset(x, persons, series=False)
    links = tv.attack.distance(data, data.with_values(np.random.default_rng(0).normal(size=x.shape)))
    mine = np.bincount(persons)[persons]
    right = int(links.correct + 1e-9)
    assert links.by_guessing == pytest.approx(binom.sf(right - 1, RECORDS, mine.mean() / RECORDS), rel=1e-9)
    # At least as large as the true chance, beyond what guessing expects.
    drawn = np.random.default_rng(1).random((20_000, RECORDS)) < mine / RECORDS
    beyond = int(mine.sum() / RECORDS) + 4
    assert binom.sf(beyond - 1, RECORDS, mine.mean() / RECORDS) >= (drawn.sum(axis=1) >= beyond).mean() - 0.01


def test_the_command_line_has_the_persons(tmp_path: Path) -> None:
    x, persons = values("ties")
    data = dataset(x, persons, series=False)
    names = list(data.columns)
    frame = pl.DataFrame(x, schema=names, orient="row").with_columns(who=pl.Series([f"h{at}" for at in persons]))
    frame.write_csv(tmp_path / "original.csv")
    shown = np.round(x + 0.4 * np.random.default_rng(1).normal(size=x.shape), 1)
    pl.DataFrame(shown, schema=names, orient="row").write_csv(tmp_path / "released.csv")
    words = ["attack", str(tmp_path / "original.csv"), str(tmp_path / "released.csv"), "--person", "who"]
    words += [word for name in names for word in ("--number", name)]
    ended = CliRunner().invoke(main, [*words, "--json"])
    assert ended.exit_code == 0, ended.output
    told = json.loads(ended.stdout)["attacks"]
    for name in ("distance", "probabilistic", "rank_swap", "one-to-one"):
        links = links_by_attack(data, data.with_values(shown), only=name)[name]
        assert told[name]["rate"] == pytest.approx(links.rate)
        assert told[name]["persons"] == len(np.unique(persons))
    shown_words = CliRunner().invoke(main, words).stdout
    assert f"of {len(np.unique(persons))} persons)" in shown_words
