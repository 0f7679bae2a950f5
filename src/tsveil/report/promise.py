"""What a report says about the guarantee: its words, its limits, its verification, and what the model means."""

from __future__ import annotations

from markupsafe import Markup

from tsveil.report.nlk import model_section
from tsveil.report.pages import section
from tsveil.report.subject import Subject


def guarantee(subject: Subject) -> Markup:
    """The guarantee and its verification; what was found may name records and is for the owner only."""
    verdict = subject.verdict
    found = [] if subject.public else [*(line.strip() for line in verdict.witness.splitlines()), *verdict.details]
    persons = subject.card.persons > 0
    return section("guarantee", guarantee=subject.release.guarantee, verdict=verdict, found=found, persons=persons)


def model(subject: Subject) -> Markup | None:
    """What the model of the guarantee means for this release, where it is easily taken for more than it is."""
    found = model_section(subject.release)
    return section("model", model=found) if found else None
