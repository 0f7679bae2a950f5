"""Linkage by profile: the definition, the stand-in for another period, learning from others, and what real households show."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.linalg import eigh

import naive_attacks
import naive_profile
import tsveil as tv
from tsveil.attack import habits
from tsveil.attack.base import Finding, OtherPeriod, Rung
from tsveil.attack.periods import whole_periods
from tsveil.attack.run import part_of
from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.errors import InputError
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.transform.features import DAY, WEEK, Times, common

LOUDEST = 1e300
#: the function of the same name hides the module
module = sys.modules["tsveil.attack.profile_learned"]


def stamps(points: int, first: str = "2018-10-29T00", step: int = 1) -> list[str]:
    return [str(np.datetime64(first) + step * hour) for hour in range(points)]


def curves(values: Array, first: str = "2018-10-29T00", step: int = 1, **more: Any) -> Dataset:
    return tv.Dataset.from_arrays({"load": values}, times=stamps(values.shape[1], first, step), **more)


def evenly(points: int, step: float) -> Array:
    return np.arange(points, dtype=np.float64) * step


def households(n: int, points: int, seed: int = 1) -> Array:
    rng = np.random.default_rng(seed)
    return (
        rng.lognormal(size=(n, 1))
        * np.exp(rng.normal(size=(n, 24)))[:, np.arange(points) % 24]
        * rng.gamma(4.0, 0.25, (n, points))
    )


def found_at(card: tv.Scorecard, attack: str = "profile") -> Finding:
    (found,) = [one for one in card.ladder if one.attack == attack]
    assert found.rung is Rung.OTHER_PERIOD
    return found


def cut(data: Dataset, low: int, high: int) -> Dataset:
    block = data.blocks[0]
    part = part_of(block, block.columns[low:high])
    return replace(data, values=data.values[:, low:high].copy(), blocks=(part,), integers=frozenset())


# -- the definition ---------------------------------------------------------------------------------------------------

NASTY: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "load curves": lambda rng, p: households(12, p, int(rng.integers(99))),
    "ties": lambda rng, p: rng.integers(0, 3, (12, p)).astype(float),
    "constant series": lambda rng, p: np.repeat(rng.normal(size=(12, 1)), p, axis=1),
    "all the same": lambda rng, p: np.full((12, p), 0.1),
    "below zero": lambda rng, p: rng.normal(size=(12, p)) - 5,
    "huge": lambda rng, p: rng.normal(size=(12, p)) * LOUDEST,
    "tiny": lambda rng, p: rng.gamma(1.0, 1e-12, (12, p)),
    "one record": lambda rng, p: rng.gamma(1.0, 1.0, (1, p)),
}


@pytest.mark.parametrize("kind", NASTY)
@pytest.mark.parametrize(("known", "shown"), [(48, 48), (72, 168), (24, 30)])
def test_it_is_the_definition(kind: str, known: int, shown: int) -> None:
    rng = np.random.default_rng(3)
    a, b = NASTY[kind](rng, known), NASTY[kind](rng, shown)
    first, second = curves(a, "2018-11-05T00"), curves(b)
    seconds = [3600.0 * hour for hour in range(7 * 24 + known)]
    ours, theirs = seconds[7 * 24 :], seconds[:shown]
    one, other = common(Times(known, np.array(ours)), Times(shown, np.array(theirs)))
    features = [naive_profile.features(x.tolist(), ours, theirs) for x in a]
    published = [naive_profile.features(x.tolist(), theirs, ours) for x in b]
    assert np.allclose(one.features(a), features, rtol=1e-9, atol=1e-12 * np.abs(features).max())
    assert np.allclose(other.features(b), published, rtol=1e-9, atol=1e-12 * np.abs(published).max())
    sizes = [naive_profile.sizes(x.tolist(), ours, theirs) for x in a]
    assert np.allclose(one.sizes(a), sizes, rtol=1e-9, atol=1e-12 * np.abs(sizes).max())
    expected = naive_profile.links(features, published)
    links = tv.attack.profile(second, second, other=first)
    assert links.candidates.tolist() == [len(rows) for rows in expected]
    assert links.hit.tolist() == [row in rows for row, rows in enumerate(expected)]


def test_constants_leave_everybody_to_guessing() -> None:
    data = curves(np.full((8, 48), 0.1))
    assert tv.attack.profile(data, data).rate == pytest.approx(100 / 8)
    many = curves(np.full((30, 48), 0.1))
    assert tv.attack.profile_learned(many, many).rate == pytest.approx(100 / 30)


def test_times_that_are_no_stamps_leave_hours_and_weekdays_out() -> None:
    one, other = common(Times(60, None), Times(30, evenly(30, 3600.0)))
    assert (one.hours, one.weekdays, one.harmonics) == (0, 0, 12)
    assert one.width == other.width == 13 + 13 + 12
    assert one.windows == 2  # the last 12 of 60 values are no whole window


def test_weekdays_count_where_both_periods_have_them() -> None:
    hours = evenly(24 * 14, 3600.0)
    one, other = common(Times(72, hours[:72]), Times(96, hours[72:168]))
    assert (one.weekdays, one.hours) == (0, 24)  # Monday to Wednesday, Thursday to Sunday
    one, other = common(Times(72, hours[:72]), Times(168, hours[168:]))
    assert (one.weekdays, other.weekdays) == (3, 3)
    daily = evenly(14, 86400.0)
    one, _ = common(Times(7, daily[:7]), Times(7, daily[7:]))
    assert (one.hours, one.weekdays, one.harmonics) == (0, 7, 3)


# -- the stand-in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "cut_at"),
    [(1, None), (2, (24, 1, DAY)), (3, (24, 1, DAY)), (13, (144, 6, DAY)), (14, (168, 1, WEEK)), (20, (168, 1, WEEK)), (21, (168, 1, WEEK)), (28, (336, 2, WEEK))],
)  # fmt: skip
def test_the_cut_is_at_whole_periods_next_to_the_middle(days: int, cut_at: Any) -> None:
    assert whole_periods(evenly(24 * days, 3600.0)) == cut_at


def test_days_of_one_time_are_cut_at_weeks_alone() -> None:
    assert whole_periods(evenly(14, 86400.0)) == (7, 1, WEEK)
    assert whole_periods(evenly(13, 86400.0)) is None
    assert whole_periods(evenly(50, 7 * 86400.0)) is None  # a week has one time only
    assert whole_periods([0.0]) is None


def test_the_stand_in_knows_the_first_part_and_sees_the_second() -> None:
    x = households(30, 48)
    rng = np.random.default_rng(5)
    y = x + rng.normal(0, 0.05, x.shape)
    whole = tv.attack.profile(curves(x), curves(y))
    parts = tv.attack.profile(curves(y[:, 24:], "2018-10-30T00"), curves(y[:, 24:], "2018-10-30T00"), other=curves(x[:, :24]))  # fmt: skip
    assert np.array_equal(whole.probability, parts.probability)
    # Nothing that is published of the first part matters, nor what was in the second before.
    y[:, :24], x[:, 24:] = rng.normal(size=(30, 24)), 0.0
    assert np.array_equal(tv.attack.profile(curves(x), curves(y)).probability, whole.probability)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (curves(households(30, 47)), "not tried: the series have fewer than two whole days or weeks"),
        (tv.Dataset.from_arrays({"load": households(30, 48)}), "not tried: the times of the series are no time stamps"),
    ],
    ids=["short", "no stamps"],
)
def test_what_cannot_be_cut_is_not_tried_and_never_zero(data: Dataset, why: str) -> None:
    card = tv.evaluate(data, data, models="fitting")
    assert card.options["other period"].startswith(why)
    assert not [one for one in card.ladder if one.rung is Rung.OTHER_PERIOD]
    with pytest.raises(InputError, match="the attack cannot run"):
        tv.attack.profile(data, data)


def test_a_card_has_both_and_says_that_it_is_a_lower_bound() -> None:
    data = curves(households(40, 72))
    card = tv.evaluate(data, tv.Noise(sd=0.05).protect(data, seed=1), models="fitting")
    assert "first 1 day looks" in card.options["other period"]
    assert "a lower bound" in card.options["other period"]
    for name in ("profile", "profile-learned"):
        found = found_at(card, name)
        assert (found.targets, found.complete, len(found.scores)) == (40, True, 40)
        assert found.rate == pytest.approx(100 * found.scores.mean())
        assert found.rate > 20
    assert np.nanmax(card.per_record["risk_other-period"].to_numpy()) == 100


# -- a file of another period -----------------------------------------------------------------------------------------


def test_a_file_may_have_other_persons_in_another_order() -> None:
    x = households(40, 48)
    ids = [f"h{row}" for row in range(40)]
    published = curves(x[:, 24:], "2018-10-30T00", ids=ids)
    everybody = tv.evaluate(published, published, models="fitting", other_period=curves(x[:, :24], ids=ids))
    order = np.random.default_rng(1).permutation(40)[:30]
    known = np.vstack([x[order, :24], households(5, 24, 9)])
    other = curves(known, ids=[*(ids[row] for row in order), *(f"new{row}" for row in range(5))])
    card = tv.evaluate(published, published, models="fitting", other_period=other)
    found = found_at(card)
    assert (found.targets, found.complete) == (30, True)
    assert np.array_equal(found.scores, found_at(everybody).scores[np.sort(order)])
    assert card.options["other period"] == "a file of another period, with 30 of the persons"
    risks = card.per_record["risk_other-period"].to_numpy()
    assert np.isnan(risks[np.setdiff1d(np.arange(40), order)]).all()
    links = tv.attack.profile(published, published, other=other)
    assert len(links.link) == 35
    assert links.probability[30:].sum() == 0
    assert np.array_equal(links.probability[:30], found_at(everybody).scores[order])


def test_a_sample_is_taken_of_persons_not_of_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    x = households(60, 48)
    data, released = curves(x), curves(x + np.random.default_rng(3).normal(0, 0.3, x.shape))
    every = {
        name: found_at(tv.evaluate(data, released, models="fitting"), name) for name in ("profile", "profile-learned")
    }
    monkeypatch.setattr(habits, "PAIRS", 60 * 20)
    card = tv.evaluate(data, released, models="fitting")
    for name, full in every.items():
        found = found_at(card, name)
        assert (found.targets, found.complete) == (20, False)
        chosen = border_of(np.arange(60), 20)
        assert np.array_equal(found.scores, full.scores[chosen_rows(chosen, np.arange(60))])


def test_files_that_do_not_fit_are_refused() -> None:
    data = curves(households(30, 24))
    with pytest.raises(InputError, match="none of the persons"):
        OtherPeriod.of(["somebody"], data)
    with pytest.raises(InputError, match="no time series"):
        OtherPeriod.of([0], naive_attacks.dataset(np.ones((3, 4)), blocks=[2, 2]))
    with pytest.raises(InputError, match="7200 seconds apart, the published ones 3600"):
        tv.evaluate(data, data, models="fitting", other_period=curves(households(30, 24), step=2))


def test_persons_with_several_records_are_one_target_each() -> None:
    x = households(30, 48)
    others = {"home": [f"p{row // 2}" for row in range(30)]}
    data = replace(curves(x), others=pl.DataFrame(others), person=("home",), id=None)
    card = tv.evaluate(data, replace(data, values=x + 0.01), models="fitting")
    assert found_at(card).targets == 15
    with pytest.raises(InputError, match="one record for each person"):
        tv.evaluate(data, data, models="fitting", other_period=curves(x[:, :24]))
    with pytest.raises(InputError, match="one record for each person"):
        OtherPeriod.of([0], data)


# -- learning ---------------------------------------------------------------------------------------------------------


def strangers(n: int = 80) -> tuple[Dataset, Dataset]:
    """Two periods that have nothing to do with each other: nobody can be found except by who was told."""
    rng = np.random.default_rng(11)
    return curves(rng.gamma(1.0, 1.0, (n, 24)), "2018-10-30T00"), curves(rng.gamma(1.0, 1.0, (n, 24)))


def test_nobody_is_attacked_by_what_was_learned_of_that_person(monkeypatch: pytest.MonkeyPatch) -> None:
    published, known = strangers()
    monkeypatch.setattr(module, "WEIGHT", 0.0)  # sizes are compared in few directions, which learn no person by heart
    honest = tv.attack.profile_learned(published, published, other=known).rate
    assert honest < 8
    monkeypatch.setattr(module, "learned_from", lambda folds, order, fold: order)
    # What would be seen if persons who are attacked were learned from.
    assert tv.attack.profile_learned(published, published, other=known).rate > 60


def test_lessons_are_of_other_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = np.random.default_rng(2).integers(0, 2**63, 500).astype(np.uint64)
    persons = np.random.default_rng(3).integers(0, 120, 500)
    folds = module.folds_of(marked, persons)
    order = np.argsort(marked)
    for fold in range(module.FOLDS):
        taught = module.learned_from(folds, order, fold)
        assert not set(persons[taught]) & set(persons[folds == fold])
        assert len(taught) == (folds != fold).sum()
    assert len(np.unique(folds)) == module.FOLDS
    monkeypatch.setattr(module, "LESSONS", 7)
    assert np.array_equal(module.learned_from(folds, order, 1), order[folds[order] != 1][:7])


def test_few_persons_teach_nothing() -> None:
    data = curves(households(19, 48))
    card = tv.evaluate(data, data, models="fitting")
    assert "linkage by learned profile, which takes at least 20 persons" in card.options["not measured"]
    assert [one.attack for one in card.ladder if one.rung is Rung.OTHER_PERIOD] == ["profile"]


def test_the_map_is_that_of_discriminant_analysis() -> None:
    rng = np.random.default_rng(4)
    person = rng.normal(size=(200, 6)) * [3, 2, 1, 1, 0.5, 0.1]
    known, shown = (person + rng.normal(size=person.shape) for _ in range(2))
    scale = 1 / shown.std(axis=0, ddof=1)
    shift, factor, middle, matrix = module.learn(known, (shown - shown.mean(axis=0)) * scale, scale)
    a, b = (known - shift) * factor, (shown - shown.mean(axis=0)) * scale
    within = np.cov((a - b).T)
    within += 0.1 * np.trace(within) / 6 * np.eye(6)
    ratio, directions = eigh(np.cov(((a + b) / 2).T), within)
    weighted = directions * np.sqrt(ratio / (1 + ratio))
    assert np.allclose(matrix @ matrix.T, weighted @ weighted.T, rtol=1e-6)
    assert np.allclose(middle, 0, atol=1e-12)


def test_sizes_are_weighed_by_their_changes() -> None:
    rng = np.random.default_rng(5)
    person = rng.normal(size=(300, 4)) * [3, 2, 1, 1]
    known, shown = person + rng.normal(size=person.shape) * [0.5, 1, 1, 2] + 7, person
    taken, found = module.learned_sizes(known, shown)
    within = np.cov((known - shown).T, ddof=0)
    level = 0.7 * np.diag(np.diag(within)) + 0.3 * np.trace(within) / 4 * np.eye(4)
    assert np.allclose(found @ found.T, 4 * np.linalg.inv(0.2 * within + 0.8 * level))
    assert np.allclose(taken, (known - shown).mean(axis=0) @ found)


def test_directions_are_those_in_which_records_differ_most() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(400, 30)) @ rng.normal(size=(30, 30))
    x[:, 3] = 2.5  # a constant counts for nothing
    middle, unit, directions = module.directions_of(x)
    assert unit[3] == 0
    standard = (x - middle) * unit
    values, vectors = np.linalg.eigh(standard.T @ standard)
    best = vectors[:, np.argsort(-values)[: module.DIRECTIONS]]
    assert directions.shape == best.shape
    assert np.allclose(directions @ directions.T, best @ best.T)


# -- what must be true ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weeks(shared_data: Path) -> tuple[Dataset, Dataset]:
    data = tv.read(shared_data / "smart_meter.csv", id="household")
    return cut(data, 0, 168), cut(data, 168, 336)


def test_real_households_are_found_by_their_habits(weeks: tuple[Dataset, Dataset]) -> None:
    published, known = weeks
    assert tv.attack.profile(published, published, other=known).rate >= 70
    assert tv.attack.profile_learned(published, published, other=known).rate >= 75


@pytest.mark.parametrize("k", [5, 20])
def test_a_promise_of_k_bounds_both(weeks: tuple[Dataset, Dataset], k: int) -> None:
    published, known = weeks
    release = tv.MDAV(k=k).protect(published, seed=1)
    for attack in (tv.attack.profile, tv.attack.profile_learned):
        links = attack(published, release, other=known)
        assert links.rate < 100 / k
        assert links.probability.max() <= 1 / k


def test_shuffled_persons_are_not_found(weeks: tuple[Dataset, Dataset]) -> None:
    published, known = weeks
    ids = published.ids.to_list()
    for seed in range(3):
        order: Indices = np.random.default_rng(seed).permutation(len(ids))
        truth = {ids[row]: ids[at] for row, at in enumerate(order)}
        for attack in (tv.attack.profile, tv.attack.profile_learned):
            assert attack(published, published, other=known, truth=truth).rate <= 2
