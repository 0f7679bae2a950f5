"""The report of envelopes: the public version gives nothing away, the private one shows what its owner must see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tsveil.data.dataset import Dataset
from tsveil.guarantee.base import Status, Verdict
from tsveil.measure.scorecard import Scorecard
from tsveil.protect.envelopes import KAnonymousEnvelopes
from tsveil.protect.kp import KP
from tsveil.release.release import Release
from tsveil.report.release import report

SEED = 424242424243
N = 60


def release() -> Release:
    x = np.random.default_rng(3).normal(size=(N, 24)).cumsum(axis=1)
    data = Dataset.from_arrays(
        {"load": x},
        times=[f"2024-01-01T{hour:02d}:00" for hour in range(24)],
        ids=[f"PERSON-{number:03d}" for number in range(N)],
        confidential={"tariff": ["a"] * (N - 1) + ["b"]},
    )
    made = KP(k=6, P=2).protect(replace(data, notes=("PERSON-999 was left out",)), seed=SEED)
    return replace(made, warnings=(*made.warnings, "PERSON-007 stands alone"))


def card_of(made: Release) -> Scorecard:
    return made.evaluate()


def test_the_public_version_gives_nothing_away() -> None:
    made = release()
    page = report(made, card_of(made), made.verify(), public=True, title="Meters", source="secret.csv")
    for word in ("PERSON", "secret.csv", str(SEED), "Warnings", "highest risk", "#8a94a0"):
        assert word not in page.split("</style>")[1], word
    for word in (
        "Meters",
        "Verified: (6,2)-anonymity",
        "Envelope",
        "Pattern",
        "Fewer than 2 records are left out",
        "pattern loss",
    ):
        assert word in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_the_private_version_shows_what_its_owner_must_see() -> None:
    made = release()
    page = report(made, card_of(made), made.verify(), public=False, source="meters.csv")
    for word in (
        "PERSON-007 stands alone",
        "PERSON-999 was left out",
        "meters.csv",
        "tariff",
        "Attribute disclosure",
    ):
        assert word in page
    assert "#8a94a0" in page.split("</style>")[1]  # the curves of members


def test_envelopes_without_patterns() -> None:
    made = KAnonymousEnvelopes(k=6).protect(release().original)
    page = report(made, card_of(made), made.verify(), public=False)
    assert "Pattern " not in page
    assert "Verified: 6-anonymity of envelopes" in page


@pytest.mark.parametrize("public", [True, False])
def test_a_broken_promise_is_in_large_letters(public: bool) -> None:
    made = release()
    broken = Verdict(Status.VIOLATED, made.guarantee.words, "rows 3: witness of PERSON-003")
    page = report(made, card_of(made), broken, public=public)
    assert "NOT VERIFIED: the guarantee is violated" in page
    assert ("witness of PERSON-003" in page) is not public


def test_a_release_of_nothing() -> None:
    x = np.array([[2.0, 1.0], [4.0, 1.0], [3.0, 1.0], [5.0, 1.0], [1.0, 2.0]])
    made = KP(k=5, P=2).protect(Dataset.from_arrays({"load": x}))
    page = report(made, card_of(made), made.verify(), public=False)
    assert "nothing can be published" in page
