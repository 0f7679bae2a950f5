"""What was found of a release, put together into its verdict.

The ladder has a row for each attack and each amount of knowledge: *part* is the mean over how much of a person is known (the papers' figures), *person* the rate when all
protected values of the person are known. Who has the originals of everybody (*file*) can run a method that publishes representatives of groups again; then nothing is left to guess but the
place inside a class (*replay*). Any record of a person is a right link, so one answer is given for all of them: the class in which the person's share is largest, and the rate is the mean of that over
persons. Rows of a class differ in nothing, so no linkage finds more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tsveil.assess.assessment import (
    Assessment,
    Attempt,
    carried_check,
    coverage_check,
    disclosure_check,
    has_sufficient_attempt,
    promise_check,
    risk_check,
    strongest,
    whole_record_check,
)
from tsveil.assess.classes import Classes
from tsveil.assess.disclosure import disclosing, fewest_alike, is_constant
from tsveil.assess.limits import Intruder, Limits
from tsveil.assess.subtraction import share_by_subtraction
from tsveil.attack.links import Links
from tsveil.core.registry import ATTACKS
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import person_numbers
from tsveil.guarantee.base import Promise, Verdict
from tsveil.measure.scorecard import Scorecard

#: the attack of who has the originals of everybody
REPLAY = "replay"
#: what the names of attacks on envelopes begin with
ENVELOPE = "envelope-"


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of a written release."""

    promise: Promise
    verdict: Verdict
    #: the class of each published row over all protected columns, numbered from 0
    of_row: Indices
    #: the carried columns of the published rows
    carried: pl.DataFrame
    card: Scorecard
    #: whether the method publishes representatives of groups, and whether these are their means
    representatives: bool
    means: bool = False
    #: the person of each published row; each row its own person where they are not declared
    persons: Indices | None = None
    #: what subtraction finds where records have gaps; otherwise it follows from the classes
    subtraction: float | None = None
    suppressed: int = 0
    #: whether carried cells were emptied because of earlier releases
    withheld: bool = False
    #: blocks of labels, which attacks on numbers do not know
    labels: Sequence[str] = ()
    #: published columns that nobody judged
    unjudged: Sequence[str] = ()
    #: what the order of the published rows says, if it says anything
    order: str = ""
    allowed: tuple[str, ...] = field(default=())

    @property
    def owners(self) -> Indices:
        """The person of each published row."""
        return np.arange(len(self.of_row)) if self.persons is None else self.persons


def judge(found: Evidence, limits: Limits | None = None, intruder: Intruder | None = None) -> Assessment:
    """The verdict on a release, within these limits and against this intruder."""
    limits, intruder = limits or Limits(), intruder or Intruder()
    known = [name for name in intruder.knows_carried if name in found.carried.columns]
    classes = Classes.of(_classes_with_known_columns(found, known) if known else found.of_row, found.persons)
    ladder = _ladder(found, classes)
    risk = strongest(ladder, intruder)
    scores = _scores(found, classes, risk)
    share = limits.share
    # Where only a sample of the persons was attacked, this counts those in the sample: in truth there may be more.
    exposed = None if share is None else int((scores > float(share) * (1 + 1e-12)).sum())
    exact = risk.attack == REPLAY and found.persons is None and share is not None
    within = classes.classes * share.denominator <= classes.records * share.numerator if exact and share else None
    protected = Classes.of(found.of_row, found.persons) if known else classes
    disclosed, tied = _disclosures(found)
    checks = [
        promise_check(found.verdict),
        coverage_check(found.unjudged, found.order),
        whole_record_check(protected, limits, persons=found.persons is not None),
        carried_check(found.carried.columns, known, classes if known else None),
        disclosure_check(
            disclosed,
            classes.persons,
            limits,
            tied,
            found.promise.k,
            _subtraction(found),
        ),
        risk_check(
            ladder,
            intruder,
            limits,
            spoken_of=found.promise.intruder,
            promise=found.promise.short,
            exposed=exposed,
            within=within,
            untried=[] if risk.attack == REPLAY or _labels_were_tried(ladder, intruder) else found.labels,
        ),
    ]
    largest = 100 * float(scores.max(initial=0.0))
    return Assessment(
        checks, ladder, intruder, classes.persons, classes.records, largest, found.suppressed, found.allowed
    )


def _labels_were_tried(ladder: Sequence[Attempt], intruder: Intruder) -> bool:
    """Whether an attack on labels was tried that uses all that the intruder knows, or more."""
    tried = [one for one in ladder if one.attack in ATTACKS and ATTACKS[one.attack].of_labels]
    return has_sufficient_attempt(tried, intruder)


def _subtraction(found: Evidence) -> float | None:
    """The share of persons whose values subtraction computes; None where no means are published."""
    if not found.means or found.subtraction is not None:
        return found.subtraction
    return share_by_subtraction(found.of_row, found.persons)


def _classes_with_known_columns(found: Evidence, known: Sequence[str]) -> Indices:
    """The classes over the protected columns and some carried ones."""
    rows = found.carried.select(pl.col(known).cast(pl.String).fill_null("")).insert_column(
        0, pl.Series("class of the protected columns", found.of_row)
    )
    return person_numbers(rows, rows.columns)


def _ladder(found: Evidence, classes: Classes) -> list[Attempt]:
    """What each attack finds at each rung."""
    card, n = found.card, classes.persons
    guess, bound = 100 / n if n else 0.0, 100 * classes.bound
    ladder = [
        Attempt.of(one.rung, one.attack, one.rate, guess, one.targets, one.targets if one.complete else n, bound, one.scores)
        for one in card.ladder
    ]  # fmt: skip
    for name, links in card.links.items():
        scores = _chances_of_targets(links)
        rate = 100 * float(scores.mean()) if len(scores) else 0.0
        ladder.append(Attempt.of("person", f"{ENVELOPE}{name}", rate, guess, len(scores), n, bound, scores))
    if found.representatives or not ladder:
        ladder.append(Attempt.of("file", REPLAY, bound, guess, n, n))
    return ladder


def _chances_of_targets(links: Links) -> Array:
    """The chances of finding those who are published: whoever is suppressed is no target."""
    return np.asarray(links.probability[links.own >= 0])


def _scores(found: Evidence, classes: Classes, risk: Attempt) -> Array:
    """The chance of finding each person attacked."""
    if risk.attack == REPLAY:
        return classes.most
    if risk.attack.startswith(ENVELOPE):
        return _chances_of_targets(found.card.links[risk.attack.removeprefix(ENVELOPE)])
    return next(one.scores for one in found.card.ladder if (one.rung, one.attack) == (risk.rung, risk.attack))


def _disclosures(found: Evidence) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Carried column -> persons whose value their class discloses; and the columns that tie the records of persons -> the fewest persons left."""
    owners = found.owners
    disclosed = {
        column.name: len(np.unique(owners[disclosing(found.of_row, column, owners, withheld=found.withheld)]))
        for column in found.carried
    }
    several = found.persons is not None and len(np.unique(owners)) < len(owners)
    tying = [column.name for column in found.carried if several and is_constant(column, owners)]
    return disclosed, dict.fromkeys(tying, fewest_alike(found.of_row, owners)) if tying else {}
