"""Verdicts: what each outcome means for a release, and how it reads."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import tsveil as tv
from tsveil.guarantee.base import Promise, Status, Verdict
from tsveil.guarantee.envelopes import EnvelopeAnonymity
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.guarantee.kp import KPAnonymity
from tsveil.guarantee.nlk import Attack, Finding, NLKAnonymity
from tsveil.guarantee.none import NoGuarantee
from tsveil.guarantee.p_sensitive import PSensitive


@pytest.mark.parametrize(
    ("status", "word", "holds", "blocks"),
    [
        (Status.HOLDS, "holds", True, False),
        (Status.VIOLATED, "violated", False, True),
        (Status.UNKNOWN, "unknown", False, True),
        (Status.NONE_CLAIMED, "none-claimed", False, False),
    ],
)
def test_only_what_was_checked_holds_and_doubt_blocks(status: Status, word: str, holds: bool, blocks: bool) -> None:
    verdict = Verdict(status, "a promise")
    assert status == word
    assert Status(word) is status
    assert verdict.holds is holds
    assert verdict.blocks_release is blocks


def test_a_verdict_is_told_line_by_line() -> None:
    assert str(Verdict(Status.HOLDS, "a promise")) == "HOLDS: a promise"
    assert str(Verdict(Status.VIOLATED, "a promise", "row 3")) == "VIOLATED: a promise\n  row 3"
    assert str(Verdict(Status.HOLDS, "a promise", details=("one", "two"))) == "HOLDS: a promise\n  one\n  two"
    assert str(Verdict(Status.UNKNOWN, "a promise", "too long", ("one",))) == "UNKNOWN: a promise\n  too long\n  one"
    assert Verdict(Status.HOLDS, "a promise").witness == ""
    assert Verdict(Status.HOLDS, "a promise").details == ()


class Words(Promise):
    """The least that a promise must have."""

    @property
    def words(self) -> str:
        return "Nothing is older than today."

    def verify(self, published: tv.Dataset) -> Verdict:
        return Verdict(Status.HOLDS, self.words)


def test_a_promise_needs_words_and_a_check() -> None:
    assert Words().short == "Nothing is older than today."
    assert Words().limits == ""
    for missing in ("words", "verify"):
        lacking = type("Lacking", (Words,), {missing: getattr(Promise, missing)})
        with pytest.raises(TypeError, match=missing):
            lacking()


def test_no_guarantee_says_so_and_why() -> None:
    data = tv.Dataset.from_arrays({"x": np.ones((2, 1))})
    none = NoGuarantee("Values were guessed.")
    assert none.words == "No guarantee. Values were guessed."
    assert none.short == "none"
    assert none.verify(data) == Verdict(Status.NONE_CLAIMED, "No guarantee. Values were guessed.")
    assert NoGuarantee().words.startswith("No guarantee. This method")


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (Verdict(Status.HOLDS, "a promise"), "status"),
        (NoGuarantee(), "reason"),
        (KAnonymity(3), "k"),
        (PSensitive(3, 2, ("a",)), "p"),
        (KPAnonymity(3, 2), "P"),
        (EnvelopeAnonymity(3), "k"),
        (NLKAnonymity(1, 2, 3), "l"),
        (Attack(0, (1,), (2,)), "series"),
        (Finding(Status.HOLDS, None, 0, 0, (), 0), "status"),
    ],
)
def test_promises_and_verdicts_cannot_be_changed(made: object, field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(made, field, getattr(made, field))
    assert made == made.__class__(**made.__dict__)
