"""The red team: attacks that were written without looking at those of tsveil, to find out whether its reports say enough.

For each method and each amount of knowledge the best attack that its authors could think of is run on the published values, and must not find more than the ladder says of
that much knowledge (the largest rate of the rungs at or below it: who knows more can forget it). Where it does, the product needs an attack that is as good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from cases import cases
from red_team import envelopes, groups, noise, profiles, swapping
from red_team.common import RUNGS, Attack, Knowledge, Published, Report, beats, classes_of, matched, scores_of
from red_team.replaying import run_again
from tsveil.core.registry import METHODS
from tsveil.core.types import Array, Indices
from tsveil.release.publish import judge_unwritten_release

# -- data -----------------------------------------------------------------------------------------------------------------


def attributes_of(x: Array, blocks: int = 1, confidential: bool = False) -> tv.Dataset:
    names = [f"x{at}" for at in range(x.shape[1])]
    frame, width = pl.DataFrame(x, schema=names), x.shape[1] // blocks
    parts = {f"b{at}": names[at * width : (at + 1) * width] for at in range(blocks)}
    if confidential:
        frame = frame.with_columns(ill=pl.Series(np.random.default_rng(3).choice(["no", "yes"], len(x), p=[0.7, 0.3])))
    return tv.Dataset.from_frame(
        frame, blocks=parts, times=dict.fromkeys(parts), confidential=["ill"] if confidential else []
    )


def skewed(n: int = 300, columns: int = 4) -> Array:
    """Positive numbers with a long tail that have much in common."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(n, 1))
    found: Array = 100 * np.exp(0.8 * (0.7 * common + 0.7 * rng.normal(size=(n, columns)))).round(3)
    return found


def walks(n: int, points: int, digits: int = 2) -> tv.Dataset:
    return tv.Dataset.from_arrays(
        {"load": np.random.default_rng(8).normal(size=(n, points)).cumsum(axis=1).round(digits)}
    )


def census(folder: Path, n: int = 300) -> tv.Dataset:
    frame = pl.read_csv(folder / "census.csv")
    return attributes_of(frame.select(frame.columns[:4]).sample(n, seed=5).to_numpy().astype(float))


GENERATED = {
    "skewed": lambda: attributes_of(skewed()),
    "skewed-1000": lambda: attributes_of(skewed(1000)),
    "skewed-blocks": lambda: attributes_of(skewed(), blocks=2),
    "skewed-confidential": lambda: attributes_of(skewed(), confidential=True),
    "tied": lambda: attributes_of(np.floor(skewed() / 8)),
    "walks-4": lambda: walks(200, 4),
    "walks-8": lambda: walks(200, 8),
    "walks-24": lambda: walks(200, 24),
    "walks-coarse": lambda: walks(200, 8, digits=0),
}
FROM_FILES = {"census": census, "census-whole": lambda folder: census(folder, 1080)}

# -- attacks --------------------------------------------------------------------------------------------------------------

NEAR = (groups.nearest, groups.nearest_for_its_width, groups.nearest_shape)
NEAR_TOGETHER = (
    groups.matched_nearest,
    groups.matched_plain,
    groups.fitted_groups,
    groups.matched_fitted_groups,
)
SWAPPED = (swapping.likeliest_move, swapping.likeliest_move_rare_row)
NOISY = (noise.likeliest_noise, noise.likeliest_noise_rare_row, noise.likeliest_noise_far_row)
INSIDE = (envelopes.likeliest_envelope, envelopes.narrowest_envelope, envelopes.most_touched_envelope)
INSIDE_TOGETHER = (envelopes.matched_envelopes, envelopes.matched_touches)


@dataclass(frozen=True)
class Attacks:
    """What the red team tries on a method: on one person, all or some of whose values are known; on all known persons at once; on everybody."""

    one: tuple[Attack, ...]
    share: tuple[Attack, ...]
    file: tuple[Attack, ...]


ATTACKS: Mapping[str, Attacks] = {
    "mdav": Attacks(NEAR, NEAR_TOGETHER, (run_again,)),
    "v-mdav": Attacks(NEAR, NEAR_TOGETHER, (run_again,)),
    # Who does not know the confidential column cannot run it again.
    "p-sensitive": Attacks(NEAR, NEAR_TOGETHER, NEAR_TOGETHER),
    "nlk": Attacks((*NEAR, groups.sides), (groups.matched_sides, groups.matched_plain), (run_again,)),
    "optimal-univariate": Attacks((*NEAR, groups.sides), (groups.matched_sides, groups.matched_plain), (run_again,)),
    "projected": Attacks(
        (*NEAR, groups.published_projection, groups.rebuilt_projection),
        (groups.rank_of_projection, groups.matched_projection, groups.fitted_borders),
        (run_again,),
    ),
    "mic1d": Attacks(
        (*NEAR, groups.sides, groups.pooled_sides), (groups.matched_sides, groups.matched_nearest), (run_again,)
    ),
    "rank-swap": Attacks(SWAPPED, (swapping.chain_of_trades,), (swapping.chain_of_trades,)),
    "rank-swap-distribution": Attacks(SWAPPED, (swapping.chain_of_trades,), (swapping.chain_of_trades,)),
    "rank-swap-buckets": Attacks(SWAPPED, (swapping.chain_of_trades,), (swapping.chain_of_trades,)),
    "noise": Attacks(NOISY, (noise.matched_noise, noise.matched_far_noise), (noise.matched_noise, noise.matched_far_noise)),
    "kp": Attacks(INSIDE, INSIDE_TOGETHER, (run_again,)),
    "k-envelopes": Attacks(INSIDE, INSIDE_TOGETHER, (run_again,)),
    # Without keys it is MDAV; `test_keys` attacks keys.
    "local-suppression": Attacks(NEAR, NEAR_TOGETHER, (run_again,)),
}  # fmt: skip

# -- cases ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A method, its settings and a data set; `make exhaustive` runs methods that draw at random with several seeds."""

    method: str
    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (1,)
    #: large files show small differences, but attacks on all persons at once take long there
    rungs: tuple[str, ...] = RUNGS

    def __str__(self) -> str:
        settings = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.method}({settings}) {self.data}"

    def __hash__(self) -> int:
        return hash(str(self))


DRAWN = cases((1,), (1, 2, 3))
ONE = ("part", "person")

CASES = [
    Case("mdav", "skewed"),
    Case("mdav", "skewed", {"representative": "median"}),
    Case("mdav", "skewed-blocks", {"k": 15, "grouping": "per-block"}),
    Case("mdav", "walks-8"),
    Case("mdav", "walks-8", {"distance": "sts"}),
    Case("mdav", "census"),
    Case("mdav", "skewed-1000", {}, rungs=ONE),
    Case("v-mdav", "skewed-1000", {}, rungs=ONE),
    Case("local-suppression", "skewed"),
    Case("mic1d", "skewed-1000", {"kappa": 1500}, rungs=ONE),
    Case("projected", "census-whole", {}, rungs=ONE),
    Case("noise", "census-whole", {"sd": 0.4, "correlated": False}, DRAWN, ONE),
    Case("noise", "census-whole", {"sd": 0.4, "correlated": True}, DRAWN, ONE),
    Case("v-mdav", "skewed", {"gamma": 1.0}),
    Case("v-mdav", "walks-8"),
    Case("v-mdav", "census"),
    Case("p-sensitive", "skewed-confidential"),
    Case("nlk", "walks-4", {"n": 1, "l": 3, "k": 30}),
    Case("nlk", "walks-8", {"n": 2, "l": 4, "k": 20}),
    Case("optimal-univariate", "skewed", {"k": 25}),
    Case("optimal-univariate", "skewed", {"k": 25, "rounding": "input"}),
    Case("optimal-univariate", "walks-4", {"k": 40}),
    Case("optimal-univariate", "census", {"k": 50}),
    Case("projected", "skewed"),
    Case("projected", "skewed-blocks", {"k": 25}),
    Case("projected", "walks-8", {"projection": "zscores"}),
    Case("projected", "walks-24"),
    Case("projected", "census"),
    Case("projected", "census", {"projection": "zscores"}),
    Case("mic1d", "skewed", {"kappa": 400}),
    Case("mic1d", "walks-4", {"kappa": 200}),
    Case("mic1d", "census", {"kappa": 400}),
    Case("rank-swap", "skewed", {"p": 10.0}, DRAWN),
    Case("rank-swap", "tied", {"p": 10.0}, DRAWN),
    Case("rank-swap", "walks-8", {"p": 30.0}, DRAWN),
    Case("rank-swap", "census", {"p": 10.0}, DRAWN),
    Case("rank-swap-distribution", "skewed", {"p": 10.0}, DRAWN),
    Case("rank-swap-distribution", "walks-8", {"p": 20.0}, DRAWN),
    Case("rank-swap-distribution", "census", {"p": 10.0}, DRAWN),
    Case("rank-swap-buckets", "skewed", {"buckets": 20}, DRAWN),
    Case("rank-swap-buckets", "walks-8", {"buckets": 5}, DRAWN),
    Case("rank-swap-buckets", "census", {"buckets": 20}, DRAWN),
    Case("noise", "skewed", {"sd": 0.5, "correlated": False}, DRAWN),
    Case("noise", "skewed", {"sd": 0.25, "correlated": True}, DRAWN),
    Case("noise", "walks-24", {"sd": 0.5, "correlated": False}, DRAWN),
    Case("noise", "walks-24", {"sd": 2.0, "correlated": True}, DRAWN),
    Case("noise", "census", {"sd": 0.5, "correlated": False}, DRAWN),
    Case("noise", "census", {"sd": 0.5, "correlated": True}, DRAWN),
    Case("kp", "walks-24"),
    Case("kp", "walks-8", {"k": 6, "P": 2}),
    Case("kp", "walks-8", {"round_to": 0.5}),
    Case("k-envelopes", "walks-24"),
    Case("k-envelopes", "walks-coarse", {"k": 5}),
    Case("k-envelopes", "walks-8", {"round_to": 0.5}),
]


@dataclass(frozen=True)
class Round:
    """One release, as the red team sees it, and what its report says."""

    published: Published
    #: the originals of the published persons, and the published row of each of them
    originals: Array
    own: Indices
    report: Report


@cache
def rounds_of(case: Case, folder: Path | None) -> tuple[Round, ...]:
    """The releases of a case. Their rows are put in a random order, which the red team does not know."""
    if case.data in GENERATED:
        data = GENERATED[case.data]()
    else:
        assert folder is not None
        data = FROM_FILES[case.data](folder)
    method = METHODS.make(case.method, dict(case.settings))
    settings = {one.name: getattr(method, one.name) for one in fields(method)}
    blocks, start = [], 0
    for block in data.blocks:
        blocks.append((range(start, start + len(block)), block.is_series))
        start += len(block)
    found = []
    for seed in case.seeds:
        release = method.protect(data, seed=seed)
        card, verdict = judge_unwritten_release(release, release.verify())
        row_of = release.own if release.envelopes else np.arange(data.n)
        rows = len(release.table.lo) if release.envelopes else data.n
        order = np.random.default_rng(900 + seed).permutation(rows)
        there = np.flatnonzero(row_of >= 0)
        own = np.argsort(order)[row_of[there]]
        if release.envelopes:
            table = release.table
            words = None if table.words is None else tuple(table.words[row] for row in order.tolist())
            levels = None if table.levels is None else table.levels[order]
            shown = Published(
                case.method, settings, np.empty((0, 0)), blocks, table.lo[order], table.hi[order], words, levels
            )
        else:
            shown = Published(case.method, settings, release.data.values[order], blocks)
        sizes = np.bincount(classes_of(shown))[classes_of(shown)]
        report = Report.of(card, verdict.ladder, there, 1 / sizes[own])
        found.append(Round(shown, data.values[there], own, report))
    return tuple(found)  # fmt: skip


def parts_known(columns: int, series: bool) -> list[int]:
    """How many columns are known at the rung *part*, each counted once: one, two, ... attributes, quarters of a series."""
    return sorted({max(1, columns * part // 4) for part in range(1, 5)}) if series else list(range(1, columns + 1))


def scores(attack: Attack, rung: str, one: Round) -> Array:
    """The chance of each person to be found by an attack with the knowledge of a rung."""
    classes, x = classes_of(one.published), one.originals
    columns = tuple(range(x.shape[1]))
    if rung == "part":
        many = parts_known(len(columns), any(series for _, series in one.published.blocks))
        each = [
            scores_of(attack(one.published, Knowledge(x[:, :known], columns[:known])), one.own, classes)
            for known in many
        ]
        mean: Array = np.mean(each, axis=0)
        return mean
    if rung != "share":
        return scores_of(attack(one.published, Knowledge(x, columns)), one.own, classes)
    # A random half of the persons is known, and they are the targets; then the other half, so that everybody is a target once.
    half = np.random.default_rng(7).permutation(len(x)) < len(x) // 2
    found = np.empty(len(x))
    for known in (half, ~half):
        found[known] = scores_of(attack(one.published, Knowledge(x[known], columns)), one.own[known], classes)
    return found  # fmt: skip


def tried(case: Case, rung: str) -> tuple[Attack, ...]:
    """The attacks of a rung; envelopes need whole series."""
    attacks = ATTACKS[case.method]
    if rung in ("part", "person"):
        return (
            () if rung == "part" and METHODS[case.method].takes == {"series"} and case.method != "nlk" else attacks.one
        )
    return attacks.share if rung == "share" else attacks.file


def best(case: Case, rung: str, folder: Path | None) -> tuple[str, Array, Array]:
    """The red team's best attack at a rung, and for each person its score and that of the report, means over the seeds."""
    releases = rounds_of(case, folder)
    theirs = np.mean([one.report.at(rung) for one in releases], axis=0)
    found = {
        attack.__name__: np.mean([scores(attack, rung, one) for one in releases], axis=0)
        for attack in tried(case, rung)
    }
    name = max(found, key=lambda name: float(found[name].mean()))
    return name, found[name], theirs  # fmt: skip


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path | None:
    """The folder of public data where the case needs it; the case is skipped where there is none."""
    case = request.getfixturevalue("case")
    return None if case.data in GENERATED else request.getfixturevalue("shared_data")


@pytest.mark.parametrize(
    ("case", "rung"),
    [pytest.param(case, rung, id=f"{case} {rung}") for case in CASES for rung in case.rungs if tried(case, rung)],
)
def test_the_report_says_as_much_as_the_red_team_finds(case: Case, rung: str, folder: Path | None) -> None:
    name, ours, theirs = best(case, rung, folder)
    assert not beats(ours, theirs), (
        f"{name} finds {100 * ours.mean():.2f} % with the knowledge of the rung {rung!r}, and the report says {100 * theirs.mean():.2f} %: "
        "the product needs an attack that is as good"
    )


# -- other periods --------------------------------------------------------------------------------------------------------

HOURS = 7 * 24


def households(n: int = 150) -> Array:
    """Two weeks of hours: a level, a smooth day and a weekend of its own for each household, and what happens from hour to hour."""
    rng = np.random.default_rng(4)
    hours = np.arange(24)[:, None] * np.arange(1, 5)[None, :] * 2 * np.pi / 24
    waves = np.hstack([np.sin(hours), np.cos(hours)]) * 0.35
    work, rest = ((waves @ rng.normal(size=(8, n))).T for _ in range(2))
    days = [work if day % 7 < 5 else 0.7 * work + 0.3 * rest for day in range(14)]
    drift = rng.normal(size=(n, 2 * HOURS))
    for hour in range(1, 2 * HOURS):
        drift[:, hour] = 0.6 * drift[:, hour - 1] + 0.8 * drift[:, hour]
    logs = rng.normal(0, 0.5, (n, 1)) + np.hstack(days) + 0.8 * drift
    found: Array = np.exp(logs).round(3)
    return found


def meters(folder: Path) -> Array:
    """Two weeks of 150 real households, none of which was looked at when the attacks were written."""
    found: Array = pl.read_csv(folder / "smart_meter.csv").drop("household").to_numpy()[300:450].astype(float)
    return found


#: methods, with settings that leave something to find; who has the second week looks for the persons in the published first one
PERIODS = [
    Case(method, data, settings)
    for data in ("households", "meters")
    for method, settings in (
        ("mdav", {"k": 3}),
        ("v-mdav", {"k": 3}),
        ("nlk", {"n": 2, "l": 4, "k": 10, "heuristic": "stage1"}),
        ("optimal-univariate", {"k": 25}),
        ("projected", {"k": 3}),
        ("mic1d", {"kappa": 5000}),
        ("rank-swap", {"p": 10.0}),
        ("rank-swap-distribution", {"p": 10.0}),
        ("rank-swap-buckets", {"buckets": 10}),
        ("noise", {"sd": 0.5}),
        ("kp", {"k": 6, "P": 2}),
        ("k-envelopes", {"k": 3}),
    )
]


def other_period(case: Case, folder: Path | None) -> tuple[str, Array, Array | None]:
    """The red team's best attack with another week, and the scores of both; None where the report tried nothing."""
    weeks = meters(folder) if folder is not None else households()
    start = np.datetime64("2018-10-29T00")
    times, ids = start + np.arange(2 * HOURS).astype("timedelta64[h]"), [f"p{at}" for at in range(len(weeks))]
    data, other = (
        tv.Dataset.from_arrays({"load": weeks[:, span]}, times=[str(time) for time in times[span]], ids=ids)
        for span in (slice(0, HOURS), slice(HOURS, None))
    )
    release = METHODS.make(case.method, dict(case.settings)).protect(data, seed=1)
    card, verdict = judge_unwritten_release(release, release.verify(), {"other_period": other})
    row_of = release.own if release.envelopes else np.arange(data.n)
    order = np.random.default_rng(901).permutation(int(row_of.max()) + 1)
    there = np.flatnonzero(row_of >= 0)
    own = np.argsort(order)[row_of[there]]
    none = np.empty((0, 0))
    if release.envelopes:
        table = release.table
        words = None if table.words is None else tuple(table.words[row] for row in order.tolist())
        levels = None if table.levels is None else table.levels[order]
        published = Published(
            case.method, {}, none, [(range(HOURS), True)], table.lo[order], table.hi[order], words, levels
        )
    else:
        published = Published(case.method, {}, release.data.values[order], [(range(HOURS), True)])
    classes, second = classes_of(published), weeks[there, HOURS:]
    learned = np.empty(len(there))
    half = np.random.default_rng(7).permutation(len(there)) < len(there) // 2
    for target in (half, ~half):
        # The pairs that teach are those of the persons who are not attacked.
        pairs = second[~target], profiles.shown(published)[own[~target]]
        weights = profiles.learned_hours(published, second[target], *pairs)
        learned[target] = scores_of(weights, own[target], classes)
    found = {
        "same_days": scores_of(profiles.same_days(published, second), own, classes),
        "learned_hours": learned,
    }
    name = max(found, key=lambda name: float(found[name].mean()))
    theirs = [one.scores for one in card.ladder if one.rung == "other-period"]
    rates = [one.rate for one in verdict.ladder if one.rung == "other-period"]
    assert len(rates) == len(theirs)
    return name, found[name], max(theirs, key=lambda scores: float(scores.mean()), default=None)  # fmt: skip


@pytest.fixture
def week_folder(request: pytest.FixtureRequest) -> Path | None:
    """The folder of public data where the case needs it."""
    return request.getfixturevalue("shared_data") if request.getfixturevalue("case").data == "meters" else None


@pytest.mark.parametrize("case", PERIODS, ids=str)
def test_the_report_says_as_much_of_other_periods(case: Case, week_folder: Path | None) -> None:
    name, ours, theirs = other_period(case, week_folder)
    if theirs is None:
        pytest.skip(f"the report says that no attack was tried; {name} finds {100 * ours.mean():.1f} %")
    assert not beats(ours, theirs), (
        f"{name} finds {100 * ours.mean():.2f} %, and the report says {100 * theirs.mean():.2f} %"
    )


# -- persons with several records ---------------------------------------------------------------------------------------------


def visits(heavy: int) -> tuple[tv.Dataset, Indices]:
    """Series of 150 persons with one to six of them each, near to one another, `heavy` more of ten of the persons; and the person of each."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 7, 150)
    counts[:10] += heavy
    persons = np.repeat(np.arange(150), counts)
    middle = 1.2 * rng.normal(size=(150, 6)).cumsum(axis=1)
    x = (middle[persons] + 0.7 * rng.normal(size=(len(persons), 6))).round(2)
    return tv.Dataset.from_arrays({"load": x}, persons=[f"p{person:03d}" for person in persons]), persons


#: (share, records that some persons have more than others, rung)
WITH_PERSONS = [("bounded", 0, "person"), ("bounded", 0, "file"), ("told", 150, "person"), ("told", 150, "file")]


def several_records(share: str, heavy: int, rung: str) -> tuple[Array, Array]:
    """What one answer for all records of a person finds, and what the report says, person by person."""
    data, persons = visits(heavy)
    release = METHODS.make("mdav", {"k": 4, "share": share}).protect(data, seed=1)
    card, verdict = judge_unwritten_release(release, release.verify())
    there = np.flatnonzero(~np.isnan(release.data.values).any(axis=1))
    order = np.random.default_rng(901).permutation(len(there))
    published = Published("mdav", {}, release.data.values[there][order], [(range(6), True)])
    classes, owners = classes_of(published), persons[there][order]
    counts = np.zeros((int(persons.max()) + 1, int(classes.max()) + 1))
    np.add.at(counts, (owners, classes), 1)
    shares = counts / np.bincount(classes)
    published_persons = np.unique(persons[there])
    if rung == "file":
        # Whoever can run the method again is granted the class of each record, as the replay of the report is.
        guess = shares.argmax(axis=1)
    else:
        known = Knowledge(data.values[there], tuple(range(6)))
        guess = classes[groups.one_answer_for_all(published, known, persons[there]).argmax(axis=1)]
    ours = shares[np.arange(len(shares)), guess][published_persons]
    return ours, Report.of(card, verdict.ladder, published_persons, shares.max(axis=1)[published_persons]).at(rung)


@pytest.mark.parametrize(("share", "heavy", "rung"), WITH_PERSONS)
def test_the_report_says_as_much_of_persons_with_several_records(share: str, heavy: int, rung: str) -> None:
    ours, theirs = several_records(share, heavy, rung)
    assert not beats(ours, theirs), (
        f"one answer for all records finds {100 * ours.mean():.2f} %, and the report says {100 * theirs.mean():.2f} %"
    )


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_has_a_red_team(name: str) -> None:
    assert name in ATTACKS, f"nobody attacked {name!r}: add the best attacks you can think of to ATTACKS"
    assert any(case.method == name for case in CASES), f"no release of {name!r} is attacked: add one to CASES"


# -- whether the red team plays fair, and whether its test would notice anything ------------------------------------------------


#: a case for each way in which a method is attacked
KINDS = [
    next(case for case in CASES if case.method == name and case.data in GENERATED and set(case.rungs) == set(RUNGS))
    for name in ("mdav", "nlk", "projected", "mic1d", "rank-swap-buckets", "noise", "kp")
]


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_who_knows_one_person_looks_at_no_other(case: Case) -> None:
    one = rounds_of(case, None)[0]
    columns = tuple(range(one.originals.shape[1]))
    for attack in ATTACKS[case.method].one:
        together = attack(one.published, Knowledge(one.originals[:5], columns))
        for person in range(5):
            alone = attack(one.published, Knowledge(one.originals[person : person + 1], columns))[0]
            assert np.allclose(alone, together[person], rtol=1e-9, atol=1e-6), attack.__name__


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_the_order_of_the_published_rows_says_nothing(case: Case) -> None:
    one = rounds_of(case, None)[0]
    shown, rows = one.published, one.published.rows
    order = np.random.default_rng(5).permutation(rows)
    other = replace(
        shown,
        values=shown.values[order] if len(shown.values) else shown.values,
        lo=shown.lo[order] if len(shown.lo) else shown.lo,
        hi=shown.hi[order] if len(shown.hi) else shown.hi,
        words=None if shown.words is None else tuple(shown.words[row] for row in order.tolist()),
        levels=None if shown.levels is None else shown.levels[order],
    )
    again = replace(one, published=other, own=np.argsort(order)[one.own])
    for rung in ("person", "share"):
        for attack in tried(case, rung)[:3] if rung == "person" else tried(case, rung)[:1]:
            before, after = scores(attack, rung, one), scores(attack, rung, again)
            assert before.mean() == pytest.approx(after.mean(), abs=0.02), attack.__name__


def test_a_guess_counts_as_its_class() -> None:
    classes = np.array([0, 0, 1, 2])
    weights = np.array([[9.0, 0, 0, 0], [9, 9, 0, 0], [0, 9, 9, 0], [1, 1, 1, 1], [0, 0, 9, 0]])
    own = np.array([1, 0, 2, 3, 3])
    assert scores_of(weights, own, classes).tolist() == [0.5, 0.5, 0.5, 0.25, 0.0]


@pytest.mark.parametrize("rung", RUNGS)
def test_a_report_of_one_weak_attack_would_be_noticed(rung: str) -> None:
    """Of a report that tried nothing but the nearest value of the first column, on a release of which nearly everybody is found."""
    case = Case("noise", "skewed", {"sd": 0.05, "correlated": False})
    (one,) = rounds_of(case, None)
    first = scores_of(
        groups.nearest(one.published, Knowledge(one.originals[:, :1], (0,))), one.own, classes_of(one.published)
    )
    honest = one.report
    weak = Report([("part", "first column", 100 * float(first.mean()), first)])
    ours = max((scores(attack, rung, one) for attack in tried(case, rung)), key=lambda found: float(found.mean()))
    assert beats(ours, weak.at(rung))
    assert not beats(ours, honest.at(rung))
    assert not beats(ours, ours)


def test_luck_is_no_better_attack() -> None:
    """Two attacks that find as much on average beat each other in about one of a thousand draws, and a better one in most."""
    rng = np.random.default_rng(6)
    drawn = [((rng.random(300) < 0.3).astype(float), (rng.random(300) < 0.3).astype(float)) for _ in range(2000)]
    assert sum(beats(a, b) for a, b in drawn) <= 8
    assert sum(beats((rng.random(300) < 0.5).astype(float), b) for _, b in drawn) > 1600


def test_assignments_are_weighed_as_they_are() -> None:
    """The chances of pairs on three persons and four rows, over all assignments one by one."""
    logs = np.random.default_rng(2).normal(size=(3, 4))
    exact = np.zeros_like(logs)
    for rows in permutations(range(4), 3):
        exact[np.arange(3), list(rows)] += np.exp(logs[np.arange(3), list(rows)].sum())
    found = 1 / (1 + np.exp(-matched(logs)))
    assert np.allclose(found, exact / exact.sum(axis=1, keepdims=True), atol=0.06)


@pytest.mark.parametrize(
    ("method", "setting"), [("rank-swap", 10.0), ("rank-swap-distribution", 10.0), ("rank-swap-buckets", 8.0)]
)
def test_trades_are_drawn_as_the_method_draws_them(method: str, setting: float) -> None:
    """The red team's own draws of trades move values as far as those of the method do, in each part of the ranks."""
    n, rng = 120, np.random.default_rng(3)
    data = attributes_of(np.arange(n, dtype=float)[:, None])
    kind = METHODS.make(method, {"buckets": int(setting)} if method == "rank-swap-buckets" else {"p": setting})
    theirs = np.array([kind.protect(data, seed=seed).data.values[:, 0] - np.arange(n) for seed in range(60)])
    drawn = np.array([swapping.partners(method, n, setting, rng) for _ in range(60)])
    assert all((one[one] == np.arange(n)).all() for one in drawn)
    ours = drawn - np.arange(n)
    for part in np.array_split(np.arange(n), 4):
        places = np.arange(-n, n + 1)
        below = [
            np.searchsorted(np.sort(moves[:, part].ravel()), places) / moves[:, part].size for moves in (theirs, ours)
        ]
        # 1,800 moves each, which come in pairs: by the law of Kolmogorov and Smirnov 0.09 is passed once in a thousand times.
        assert np.abs(below[0] - below[1]).max() < 0.09, part[0]
    # Other settings would be noticed.
    other = np.array([swapping.partners(method, n, setting / 2, rng) for _ in range(60)]) - np.arange(n)
    assert (
        np.abs(np.abs(other).mean() / np.abs(theirs).mean() - 1)
        > 0.2
        > np.abs(np.abs(ours).mean() / np.abs(theirs).mean() - 1)
    )
