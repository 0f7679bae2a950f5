"""The check earlier-releases: every status it can have, its words and figures, and what it makes of the accepted risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.assess.assessment import CHECKS, Assessment, Attempt, Check, Outcome, risk_check
from tsveil.assess.limits import Intruder, Limits
from tsveil.assess.over_time import EarlierReleases, NamedRelease, OverTime, over_time, with_earlier_releases
from tsveil.core.errors import InputError
from tsveil.guarantee.chunks import Chunks
from tsveil.guarantee.k_anonymity import KAnonymity


def release(
    at: int,
    persons: Sequence[str],
    classes: Sequence[int],
    tariff: Sequence[Any] | None = None,
    *,
    column: str = "tariff",
    ids: Sequence[str] | None = None,
    time: str = "",
    k: int = 3,
) -> NamedRelease:
    """A release of a series of one time, with a carried column if it has values."""
    carried = {} if tariff is None else {column: list(tariff)}
    data = tv.Dataset.from_arrays(
        {"load": [[float(one)] for one in classes]}, times=[time or f"2026-0{at + 1}-01"], confidential=carried
    )
    names = [f"{at}.{row}" for row in range(len(persons))] if ids is None else ids
    chunks = Chunks.of(data)
    return NamedRelease(
        f"R{at}", chunks, list(carried), KAnonymity(k), pl.Series(persons), pl.Series(names), several=False
    )


ANN = ["ann", "bob", "cid", "dan", "eve", "fay"]
TWO = ["day", "night", "day", "night", "day", "night"]
HALVES = [0, 0, 0, 1, 1, 1]

#: status -> releases
CASES: dict[str, list[NamedRelease]] = {
    "holds": [release(0, ANN, HALVES, TWO), release(1, ANN[::-1], HALVES[::-1], TWO[::-1])],
    "warns": [release(0, ANN, HALVES, ["x"] * 3 + ["y"] * 3), release(1, ANN, HALVES, ["x"] * 3 + ["y"] * 3)],
    "not-decided": [release(0, ANN, HALVES, TWO), release(1, ["zoe", "yan", "xia"], [0] * 3, TWO[:3])],
    "fails": [release(0, ANN, HALVES, TWO), release(1, ANN, [0, 1, 0, 1, 0, 1], TWO)],
}


def judged(releases: Sequence[NamedRelease], **options: Any) -> Check:
    return over_time(releases, **options).check


@pytest.mark.parametrize("status", CASES)
def test_each_status_is_reached(status: str) -> None:
    check = judged(CASES[status])
    assert check.name == CHECKS[-1]
    assert check.status == status


def test_what_holds_is_said() -> None:
    assert judged(CASES["holds"]).message == (
        "2 releases with 6 persons in more than one: at least 3 persons share every history of 'tariff'."
    )
    plain = [release(0, ANN, HALVES), release(1, ANN, [0, 1, 0, 1, 0, 1])]
    assert judged(plain).message == (
        "2 releases with 6 persons in more than one: nothing ties their rows, for identifiers are new in each and no column without times is in two of them."
    )
    tied = [release(0, ANN, HALVES, ids=ANN), release(1, ANN, HALVES, ids=ANN)]
    assert "at least 3 persons share every sequence of rows under one identifier" in judged(tied).message


def test_what_fails_is_said_and_who_is_left_is_private() -> None:
    check = judged(CASES["fails"])
    assert check.message == (
        "'tariff' ties the releases, and 6 of 6 persons (100.0 %) are left among fewer than 3, 2 of them (33.3 %) alone."
    )
    assert not any(name in check.message for name in [*ANN, "R0", "R1"])
    figures = check.figures["histories"]["'tariff'"]
    assert figures["witness"] == {"persons": ["bob"], "releases": ["R0", "R1"], "left": 1}
    assert figures["alone"] == pytest.approx(100 / 3)
    assert figures["below_k"] == 100.0
    same = judged([release(0, ANN, HALVES, ids=ANN), release(1, ANN, [0, 1, 0, 1, 0, 1], ids=ANN)])
    assert same.message.startswith("identifiers that stay tie the releases, and 6 of 6 persons (100.0 %)")


def test_what_is_published_again_is_said() -> None:
    again = [release(0, ANN, [0] * 6, time="2026-01-01"), release(1, ANN[:5], [0] * 5, time="2026-01-01")]
    check = judged(again)
    assert check.status is Outcome.FAILS
    assert check.message == (
        "release 2 publishes '2026-01-01' of release 1 again from other members, and 5 persons can be set against that; "
        "columns of different times need different names."
    )
    assert check.figures["differences"] == [
        {"columns": ["2026-01-01"], "releases": ["R0", "R1"], "persons": 5, "left": ["fay"]}
    ]
    other = judged([release(0, ANN, [0] * 6, time="2026-01-01"), release(1, ANN, [1] * 6, time="2026-01-01")])
    assert "again with other values, and 6 persons" in other.message


def test_k_is_the_largest_that_is_promised_unless_it_is_given() -> None:
    both = [release(0, ANN, HALVES, TWO, k=2), release(1, ANN, HALVES, TWO, k=4)]
    assert judged(both).figures["k"] == 4
    assert judged(both).status is Outcome.FAILS
    assert judged(both, k=3).status is Outcome.HOLDS


def test_a_column_that_may_have_changed_its_name_is_a_warning() -> None:
    renamed = [release(0, ANN, HALVES, TWO), release(1, ANN, HALVES, TWO, column="rate")]
    check = judged(renamed)
    assert check.status is Outcome.WARNS
    assert "'tariff', 'rate' are carried in one release each" in check.message
    assert judged([CASES["holds"][0], release(1, ANN, HALVES)]).status is Outcome.HOLDS


def test_disclosure_over_time_is_counted() -> None:
    """Neither release discloses a value by itself: the histories do, three persons each."""
    everybody = [f"p{at}" for at in range(12)]
    first, second = np.arange(12) // 6, np.arange(12) // 3 % 2
    tariff = ["a"] * 3 + ["b"] * 3 + ["b"] * 3 + ["a"] * 3
    both = [release(0, everybody, first.tolist(), tariff), release(1, everybody, (second + 5).tolist(), tariff)]
    found = over_time(both)
    assert found.disclosed == {"tariff": 12}
    assert found.check.status is Outcome.WARNS
    assert (
        "12 of 12 persons have a history that only persons with one value of 'tariff', or nearly one, share"
        in found.check.message
    )
    for one in both:
        assert over_time([one]).disclosed == {}
    number = {"a": 10.0, "b": 200.0}
    near = [replace_column(one, [number[name] + at / 100 for at, name in enumerate(tariff)]) for one in both]
    assert over_time(near).disclosed == {"tariff": 12}


def replace_column(one: NamedRelease, values: list[float]) -> NamedRelease:
    [chunk] = one.chunks.places
    cells = replace(chunk, cells={**chunk.cells, "tariff": pl.Series("tariff", values)})
    return replace(one, chunks=replace(one.chunks, places=[cells]))


# -- the attack and the accepted risk -----------------------------------------------------------------------------------


def assessment(rate: float = 20.0, limit: str | None = "1/5") -> Assessment:
    ladder = [Attempt.of("file", "replay", rate, 1.0, 6, 6)]
    own = risk_check(ladder, Intruder(), Limits(accepted_risk=limit), spoken_of="file", promise="k", exposed=0)
    return Assessment([own], ladder, Intruder(), 6, 6, rate)


def test_the_attack_finds_one_of_the_smaller_set() -> None:
    """By histories bob is alone; by identifiers everybody is one of three, but for who has another segment."""
    found = over_time(CASES["fails"])
    assert found.scores.tolist() == pytest.approx([1 / 2, 1, 1 / 2, 1 / 2, 1, 1 / 2])
    [attempt] = found.attempts
    assert (attempt.rung, attempt.attack, attempt.targets) == ("releases", "releases", 6)
    assert attempt.rate == pytest.approx(100 * 4 / 6)
    tied = [release(0, ANN, HALVES, TWO, ids=ANN), release(1, ANN[:5], HALVES[:5], ids=ANN[:5])]
    assert over_time(tied).scores.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2, 1])
    assert over_time([release(0, ANN, HALVES), release(1, ANN, HALVES)]).attempts == []


def test_the_accepted_risk_counts_what_releases_tell_together() -> None:
    before, over = assessment(), over_time(CASES["fails"])
    limits = Limits(accepted_risk="1/5")
    after = with_earlier_releases(before, over, limits, KAnonymity(3))
    risk = {check.name: check for check in after.checks}["accepted-risk"]
    assert risk.status is Outcome.FAILS
    assert "the strongest attack (releases) finds 66.7 %" in risk.message
    assert after.risk.attack == "releases"
    assert after.largest == 100
    assert after.over_time
    assert not before.over_time
    assert [one.rung for one in after.ladder] == ["file", "releases"]
    again = with_earlier_releases(after, over, limits, KAnonymity(3))
    assert again.to_dict() == after.to_dict()


def test_no_promise_of_one_release_speaks_of_several() -> None:
    after = with_earlier_releases(assessment(limit=None), over_time(CASES["fails"]), Limits(), KAnonymity(3))
    risk = {check.name: check for check in after.checks}["accepted-risk"]
    assert risk.status is Outcome.WARNS
    assert "does not bound who is found" in risk.message


def test_where_k_persons_remain_the_promise_bounds_what_releases_tell() -> None:
    """Three of three remain in all releases, so who is found is bounded by the promise, whatever the attack is called."""
    after = with_earlier_releases(assessment(10.0, None), over_time(CASES["holds"]), Limits(), KAnonymity(3, "record"))
    risk = {check.name: check for check in after.checks}["accepted-risk"]
    assert after.risk.attack == "releases"
    assert after.risk.rate == pytest.approx(100 / 3)
    assert risk.status is Outcome.HOLDS
    assert risk.message.startswith("no limit was set; the strongest attack (releases)")


def test_a_weaker_attack_leaves_the_accepted_risk_alone() -> None:
    before = assessment(90.0, None)
    after = with_earlier_releases(before, over_time(CASES["holds"]), Limits(), KAnonymity(3))
    assert after.checks[0] == before.checks[0]
    assert after.largest == before.largest
    assert [check.name for check in after.checks] == ["accepted-risk", "earlier-releases"]


# -- persons ------------------------------------------------------------------------------------------------------------


def test_releases_that_name_persons_and_records_are_refused() -> None:
    both = [release(0, ANN, HALVES), replace(release(1, ANN, HALVES), several=True)]
    with pytest.raises(InputError, match="'R1' names persons"):
        over_time(both)


def test_earlier_releases_go_before_the_latest() -> None:
    first, second = CASES["fails"]
    found: OverTime = EarlierReleases([first], k=2).followed_by(second)
    assert found.composed.names == ("R0", "R1")
    assert found.composed.k == 2
