"""The verdict: each check reaches every status that SPEC-2 section 13 gives it, and the worst one decides."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.assess import assessment as judging
from tsveil.assess.assessment import Assessment, Attempt, Check, Outcome
from tsveil.assess.classes import Classes
from tsveil.assess.disclosure import disclosing, fewest_alike, is_constant
from tsveil.assess.judge import Evidence, judge
from tsveil.assess.limits import Intruder, Limits
from tsveil.core.types import Indices
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.none import NoGuarantee

LADDER = [
    Attempt.of("part", "distance", 6.5, 0.1, 1000, 1000),
    Attempt.of("person", "distance", 12.0, 0.1, 1000, 1000),
    Attempt.of("file", "replay", 89.0, 0.1, 1000, 1000),
]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (Status.HOLDS, Outcome.HOLDS),
        (Status.VIOLATED, Outcome.FAILS),
        (Status.UNKNOWN, Outcome.NOT_DECIDED),
        (Status.NONE_CLAIMED, Outcome.WARNS),
    ],
)
def test_the_promise(status: Status, outcome: Outcome) -> None:
    check = judging.promise_check(Verdict(status, "5-anonymity.", "rows 3, 4"))
    assert check.status is outcome
    assert ("rows 3, 4" in check.message) is (status in (Status.VIOLATED, Status.UNKNOWN))


def test_coverage() -> None:
    assert judging.coverage_check().status is Outcome.HOLDS
    check = judging.coverage_check(["name", "income"])
    assert check.status is Outcome.NOT_DECIDED
    assert "'name', 'income'" in check.message
    assert judging.coverage_check(order="rows are in the order of the original").status is Outcome.NOT_DECIDED


@pytest.mark.parametrize(
    ("rows", "limits", "outcome"),
    [
        ([0, 0, 1, 1], Limits(), Outcome.HOLDS),
        ([0, 0, 1, 2], Limits(), Outcome.WARNS),
        ([0, 0, 1, 2], Limits(unique_records=1), Outcome.FAILS),
        ([0, 0, 1, 2], Limits(unique_records=2), Outcome.HOLDS),
    ],
)
def test_whole_records(rows: list[int], limits: Limits, outcome: Outcome) -> None:
    check = judging.whole_record_check(Classes.of(np.array(rows)), limits)
    assert check.status is outcome
    assert check.figures["unique_records"] == (0 if rows == [0, 0, 1, 1] else 2)


def test_carried_columns() -> None:
    assert judging.carried_check([], [], None).status is Outcome.HOLDS
    plain = judging.carried_check(["town", "pay"], [], None)
    assert plain.status is Outcome.HOLDS
    assert "not protected, published unchanged: 'town', 'pay'" in plain.message
    known = judging.carried_check(["town", "pay"], ["town"], Classes.of(np.array([0, 1, 1])))
    assert known.status is Outcome.WARNS
    assert "1 of 3 records are unique with 'town'" in known.message
    assert "'pay'" in known.message


def test_attribute_disclosure() -> None:
    def check(found: dict[str, int], limits: Limits | None = None, tied: dict[str, int] | None = None) -> Outcome:
        return judging.disclosure_check(found, 100, limits or Limits(), tied or {}, 5).status

    assert check({"ill": 0}) is Outcome.HOLDS
    assert check({"ill": 7}) is Outcome.WARNS
    assert check({"ill": 7}, Limits(attribute_disclosure=6)) is Outcome.FAILS
    assert check({"ill": 7}, Limits(attribute_disclosure=7)) is Outcome.HOLDS
    assert check({"ill": 0}, tied={"town": 5}) is Outcome.HOLDS
    assert check({"ill": 0}, tied={"town": 4}) is Outcome.FAILS


def risk(limits: Limits, knows: str = "file", spoken_of: str = "file", exposed: int | None = None) -> Check:
    intruder = msgspec.convert({"knows": knows}, Intruder)
    return judging.risk_check(LADDER, intruder, limits, spoken_of=spoken_of, promise="5-anonymity", exposed=exposed)


def test_accepted_risk() -> None:
    assert risk(Limits()).status is Outcome.HOLDS
    assert "no limit was set" in risk(Limits()).message
    warned = risk(Limits(), spoken_of="none")
    assert warned.status is Outcome.WARNS
    assert "does not bound who is found" in warned.message
    assert "89.0 %" in warned.message
    assert risk(Limits(), knows="person", spoken_of="part").status is Outcome.WARNS
    assert risk(Limits(accepted_risk=90.0)).status is Outcome.HOLDS
    assert risk(Limits(accepted_risk=10.0)).status is Outcome.FAILS
    assert risk(Limits(accepted_risk=12.5), knows="person").status is Outcome.HOLDS
    assert risk(Limits(accepted_risk=12.5), knows="person", exposed=3).status is Outcome.HOLDS
    assert risk(Limits(accepted_risk="1/8"), knows="person", exposed=3).status is Outcome.FAILS
    assert risk(Limits(accepted_risk=12.5, exposed=2), knows="person", exposed=3).status is Outcome.FAILS


def test_of_a_sample_the_upper_end_of_the_interval_counts() -> None:
    """A few persons who happen not to be found do not make a release safe: what may be true of all of them is held against the limit."""
    few = Attempt.of("file", "distance", 8.0, 0.1, 50, 1000)
    many = Attempt.of("file", "replay", 9.0, 0.1, 1000, 1000)
    assert few.rate < many.rate == many.high < few.high
    assert judging.strongest([many, few], Intruder()) is few
    said = {
        accepted: judging.risk_check(
            [many, few], Intruder(), Limits(accepted_risk=accepted), spoken_of="none", promise="", exposed=None
        ).status
        for accepted in (few.rate, many.rate, few.high - 0.01, few.high)
    }
    assert list(said.values()) == [Outcome.FAILS, Outcome.FAILS, Outcome.FAILS, Outcome.HOLDS]


def verdict_of(*outcomes: Outcome) -> Assessment:
    checks = [Check(f"check-{at}", outcome, "so it is.") for at, outcome in enumerate(outcomes)]
    return Assessment(checks, LADDER, Intruder(), persons=1000, records=1000, largest=100.0)


def test_the_worst_check_decides_and_stops() -> None:
    holds, warns, open_, fails = list(Outcome)
    assert [o.words for o in Outcome] == ["HOLDS", "HOLDS, WITH WARNINGS", "NOT DECIDED", "FAILS"]
    for outcomes, expected in [
        ((holds,), holds),
        ((holds, warns), warns),
        ((warns, open_), open_),
        ((open_, fails), fails),
    ]:
        assert verdict_of(*outcomes).verdict is expected
    mixed = verdict_of(holds, warns, open_, fails)
    assert [check.name for check in mixed.stopped_by()] == ["check-2", "check-3"]
    assert [check.name for check in mixed.stopped_by(["check-2"])] == ["check-3"]
    assert [check.name for check in mixed.stopped_by(strict=True)] == ["check-1", "check-2", "check-3"]
    assert verdict_of(warns).headline.startswith("HOLDS, WITH WARNINGS: so it is.")


def test_the_document_has_its_final_form() -> None:
    found = verdict_of(Outcome.HOLDS).to_dict()
    assert found["version"] == 1
    assert set(found) >= {"version", "verdict", "checks", "risk", "ladder", "persons", "records"}
    assert set(found["risk"]) == {"intruder", "attack", "rate", "low", "high", "largest", "guess"}
    assert set(found["ladder"][0]) == {"rung", "attack", "rate", "low", "high", "guess", "targets"}
    assert found["risk"]["attack"] == "replay"


# -- the counting behind it -------------------------------------------------------------------------------------------


def slow_shares(of_row: Indices, persons: Indices) -> tuple[float, float, int]:
    """Mean share over persons, largest share, fewest persons: by the definition."""
    share = [float(np.mean(persons[of_row == c] == p)) for c, p in zip(of_row, persons, strict=True)]
    rates = [float(np.mean([s for s, q in zip(share, persons, strict=True) if q == p])) for p in np.unique(persons)]
    return float(np.mean(rates)), max(share), min(len(np.unique(persons[of_row == c])) for c in np.unique(of_row))


def test_shares_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 30))
        of_row, persons = rng.integers(0, 6, n), rng.integers(0, 8, n)
        of_row = np.unique(of_row, return_inverse=True)[1]
        found, (rate, largest, fewest) = Classes.of(of_row, persons), slow_shares(of_row, persons)
        assert found.rate == pytest.approx(rate)
        assert found.largest == pytest.approx(largest)
        assert found.fewest == fewest
        alone = Classes.of(of_row)
        assert alone.rate == pytest.approx(len(np.unique(of_row)) / n)


def test_no_answer_finds_more_than_the_mean_of_the_largest_shares() -> None:
    """SPEC-2, section 14: 1 of 5 records in X and 4 of 10 in Y: the mean share is .36, always answering Y finds .40."""
    of_row = np.repeat([0, 1], [5, 10])
    persons = np.array([0, 1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8, 9, 10])
    found = Classes.of(of_row, persons)
    assert found.scores[0] == pytest.approx(0.36)
    assert found.most[0] == pytest.approx(0.40)
    # Any attack answers each target with whole classes, tied; the rate is the mean over persons of the mean over their records.
    rng = np.random.default_rng(3)
    for _ in range(300):
        n = int(rng.integers(1, 25))
        of_row = np.unique(rng.integers(0, 5, n), return_inverse=True)[1]
        persons = np.unique(rng.integers(0, 6, n), return_inverse=True)[1]
        found = Classes.of(of_row, persons)
        chosen = rng.random((n, found.classes)) < 0.4
        chosen[np.arange(n), rng.integers(0, found.classes, n)] = True
        score = np.array([np.mean(persons[one[of_row]] == own) for one, own in zip(chosen, persons, strict=True)])
        rate = np.mean([score[persons == own].mean() for own in range(found.persons)])
        assert rate <= found.bound + 1e-12
        # and it is reached by whoever answers each person with the best class of that person
        best = [max(np.mean(persons[of_row == c] == own) for c in range(found.classes)) for own in range(found.persons)]
        assert found.bound == pytest.approx(np.mean(best))
        assert found.rate <= found.bound + 1e-12 <= found.largest + 2e-12
        assert Classes.of(of_row).bound == Classes.of(of_row).rate


def test_five_persons_one_with_most_rows() -> None:
    """SPEC-2, section 12: five persons, one with 96 of 100 rows: k persons holds, the share is 96 %."""
    found = Classes.of(np.zeros(100, np.int64), np.append(np.zeros(96, np.int64), [1, 2, 3, 4]))
    assert found.fewest == 5
    assert found.largest == pytest.approx(0.96)


def test_values_that_most_of_a_class_has_are_disclosed() -> None:
    of_row = np.repeat([0, 1], 10)
    ill = pl.Series(["flu"] * 9 + ["gout"] + ["gout"] * 5 + ["none"] * 5)
    assert disclosing(of_row, ill, np.arange(20))[:10].all()
    assert not disclosing(of_row, ill, np.arange(20))[10:].any()
    everywhere = pl.Series(["no"] * 10 + ["no"] * 9 + ["yes"])
    assert not disclosing(of_row, everywhere, np.arange(20))[10:].any()  # 90 % of a class, 95 % of the file
    pay = pl.Series([100.0 + at / 1000 for at in range(10)] + [10.0 * at for at in range(10)])
    assert disclosing(of_row, pay, np.arange(20))[:10].all()
    assert not disclosing(of_row, pay, np.arange(20))[10:].any()


def test_values_that_tie_the_records_of_a_person() -> None:
    persons = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    assert is_constant(pl.Series(list("aabbccdd")), persons)
    assert not is_constant(pl.Series(list("abbbccdd")), persons)
    assert not is_constant(pl.Series(list("aaaaaaaa")), persons)
    assert fewest_alike(np.array([0, 1, 0, 1, 0, 2, 0, 2]), persons) == 2
    assert fewest_alike(np.array([0, 1, 0, 1, 0, 2, 0, 0]), persons) == 1


def test_limits_are_exact() -> None:
    assert Limits(accepted_risk="1/3").share == Fraction(1, 3)
    for wrong in ({"accepted_risk": 101.0}, {"accepted_risk": "x"}, {"accepted_risk": "1/0"}, {"exposed": -1}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, Limits)


def test_intervals_of_samples_are_wilsons_and_capped() -> None:
    one = Attempt.of("person", "distance", 10.0, 0.1, 100, 1000)
    assert one.low < 10.0 < one.high < 20.0
    assert Attempt.of("person", "distance", 10.0, 0.1, 100, 1000, bound=12.0).high == 12.0
    assert Attempt.of("person", "distance", 0.0, 0.1, 100, 1000).high > 0.0


def wilson(r: float, m: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf(0.975)
    middle, half = r + z * z / (2 * m), z * math.sqrt(r * (1 - r) / m + (z / (2 * m)) ** 2)
    return 100 * (middle - half) / (1 + z * z / m), 100 * (middle + half) / (1 + z * z / m)


def test_intervals_follow_the_spread_of_the_scores_of_persons() -> None:
    rng = np.random.default_rng(7)
    for scores in (rng.random(50) / 3, rng.integers(0, 2, 50).astype(float), np.array([0.2] * 49 + [0.9])):
        r = float(scores.mean())
        trials = r * (1 - r) / (scores.var(ddof=1) / 50 * (1 - 50 / 400))
        one = Attempt.of("person", "distance", 100 * r, 0.1, 50, 400, scores=scores)
        assert (one.low, one.high) == pytest.approx(wilson(r, trials))
    same = Attempt.of("person", "distance", 20.0, 0.1, 50, 400, scores=np.full(50, 0.2))
    assert (same.low, same.high) == pytest.approx(wilson(0.2, 50))
    alone = Attempt.of("person", "distance", 20.0, 0.1, 1, 400, scores=np.array([0.2]))
    assert (alone.low, alone.high) == pytest.approx(wilson(0.2, 1))
    assert Attempt.of("person", "distance", 20.0, 0.1, 400, 400, scores=np.full(400, 0.2)).high == 20.0


def test_intervals_hold_the_rate_of_all_persons() -> None:
    """At least nine in ten of 300 samples of 60 of 200 persons."""
    rng = np.random.default_rng(9)
    everyone = np.where(rng.random(200) < 0.3, rng.random(200), 0.05)
    held = 0
    for _ in range(300):
        scores = rng.choice(everyone, 60, replace=False)
        one = Attempt.of("person", "distance", 100 * float(scores.mean()), 0.5, 60, 200, scores=scores)
        held += one.low <= 100 * everyone.mean() <= one.high
    assert held >= 270


def test_the_ladder_of_a_release_with_persons() -> None:
    rng = np.random.default_rng(12)
    frame = pl.DataFrame({"who": rng.integers(0, 25, 150), **{name: rng.random(150) for name in "abc"}})
    data = tv.Dataset.from_frame(frame, person="who", blocks={"all": ["a", "b", "c"]})
    for asked in (None, 10):
        found = assessed(data, asked)
        classes = found["classes"]
        for row in found["assessment"].ladder[:-1]:
            joint = row.rung == "share"
            assert row.targets == (25 if joint else asked or 25)
            assert row.high <= 100 * classes.bound + 1e-9
            assert (row.low < row.high) is (asked is not None and not joint)
        assert found["assessment"].ladder[-1].targets == 25
        assert found["assessment"].persons == 25


def assessed(data: tv.Dataset, asked: int | None) -> dict[str, Any]:
    release = tv.MDAV(k=4, share="told").protect(data, seed=1)
    card = tv.evaluate(data, release, targets=asked)
    of_row = np.unique(release.data.values, axis=0, return_inverse=True)[1].ravel()
    evidence = Evidence(
        promise=release.guarantee,
        verdict=Verdict(Status.HOLDS, "4-anonymity."),
        of_row=of_row,
        carried=pl.DataFrame(),
        card=card,
        representatives=True,
        persons=data.persons,
    )
    return {"assessment": judge(evidence), "classes": Classes.of(of_row, data.persons)}


def test_who_runs_the_method_again_names_the_best_class_of_each_person() -> None:
    rng = np.random.default_rng(3)
    persons = np.repeat(np.arange(25), rng.integers(1, 9, 25))
    x = rng.normal(size=(25, 6))[persons] + 0.4 * rng.normal(size=(len(persons), 6))
    data = tv.Dataset.from_arrays({"load": x}, persons=[f"p{person:02}" for person in persons])
    release = tv.MDAV(k=4, share="told").protect(data, seed=1)
    rows = [tuple(row) for row in release.data.values.tolist()]
    shares = [
        max(sum(rows[i] == row and persons[i] == one for i in range(len(rows))) / rows.count(row) for row in set(rows))
        for one in range(25)
    ]
    found = assessed(data, None)["assessment"]
    (replay,) = (one for one in found.ladder if one.attack == "replay")
    assert replay.rate == pytest.approx(100 * np.mean(shares))
    assert found.risk.attack == "replay"
    assert found.largest == pytest.approx(100 * max(shares))
    assert all(one.rate <= replay.rate + 1e-9 for one in found.ladder)


def test_the_largest_chance_is_that_of_the_rung() -> None:
    """A person is found with the chance that all known values give, not with the mean over how many are known."""
    frame = pl.DataFrame({"a": [1.0, 1, 2, 2], "b": [1.0, 2, 1, 2]})
    data = tv.Dataset.from_frame(frame, blocks={"all": ["a", "b"]}, times={"all": None})
    card = tv.evaluate(data, data)
    evidence = Evidence(NoGuarantee(), Verdict(Status.NONE_CLAIMED, ""), np.arange(4), pl.DataFrame(), card, False)
    found = judge(evidence)
    assert found.risk.rung == "person"
    assert found.largest == 100.0


def test_whoever_is_suppressed_is_no_target(tmp_path: Path) -> None:
    """Counted as never found, suppressed records would make the risk of the others look smaller."""
    rows = [[4.0, 3, 2, 1]] * 4 + [[1.0, 2, 3, 4]]
    release = tv.KP(k=4, P=2).protect(tv.Dataset.from_arrays({"load": rows}), seed=1)
    assert release.suppressed.tolist() == [4]
    folder = release.write(tmp_path / "release", allow=["attribute-disclosure"])
    found = json.loads((folder / "private" / "assessment.json").read_text())
    assert (found["records"], found["suppressed"]) == (4, 1)
    assert {(row["rate"], row["targets"]) for row in found["ladder"]} == {(25.0, 4)}
