"""The verdict on a release as a whole: one object behind the terminal, --json, both reports and the web app.

    promise                the guarantee was verified on the written files, persons counted
    coverage               every published column is protected, declared as carried, or a fresh identifier
    whole-record           no record is unique over all its protected columns together
    carried                no record is unique with the carried columns that the intruder knows
    attribute-disclosure   no class gives away a carried value
    accepted-risk          the strongest attack by the declared intruder stays within the limit
    earlier-releases       with earlier releases of the same persons, where they are named, k persons remain

Each check holds, warns, fails, or cannot be decided; the worst of them is the verdict, and what fails or is not decided keeps the release from being written unless
somebody allows it by name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from tsveil.assess.classes import Classes
from tsveil.assess.limits import IN_WORDS, RUNGS, Intruder, Limits
from tsveil.core.errors import some
from tsveil.core.types import Array
from tsveil.guarantee.base import Status, Verdict

#: the checks, in the order in which they are shown
CHECKS = (
    "promise",
    "coverage",
    "whole-record",
    "carried",
    "attribute-disclosure",
    "accepted-risk",
    "earlier-releases",
)
#: what is said where the last of them was not tried
NOT_NAMED = "Earlier releases of the same persons were not named, so what they tell together was not judged."
#: the form of assessment.json
VERSION = 1
#: what a quantile of 1.96 stands for: intervals of 95 %
Z = 1.959963984540054


class Outcome(StrEnum):
    """What a check found, from the best to the worst."""

    HOLDS = "holds"
    WARNS = "warns"
    NOT_DECIDED = "not-decided"
    FAILS = "fails"

    @property
    def passes(self) -> bool:
        """Whether a release with it may be written."""
        return self in (Outcome.HOLDS, Outcome.WARNS)

    @property
    def words(self) -> str:
        """How a person reads it."""
        return {"holds": "HOLDS", "warns": "HOLDS, WITH WARNINGS", "not-decided": "NOT DECIDED", "fails": "FAILS"}[self]


@dataclass(frozen=True)
class Check:
    """One check: what it found, in a sentence and in figures."""

    name: str
    status: Outcome
    message: str
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    """What one attack finds at one rung of the ladder, in percent of the persons, beside what guessing finds."""

    rung: str
    attack: str
    rate: float
    low: float
    high: float
    guess: float
    targets: int

    @classmethod
    def of(
        cls, rung: str, attack: str, rate: float, guess: float, targets: int, n: int, bound: float = 100.0, scores: Array | None = None
    ) -> Attempt:  # fmt: skip
        """With its interval of 95 %: none if everybody was attacked, otherwise that of Wilson, which the bound of all linkages caps.

        `targets` of the `n` persons were attacked, and `scores` are their chances of being found. The number of trials in Wilson's formula is r (1 - r) / (s^2/m (1 - m/n)): with that
        many trials a share varies as much as the mean of these scores does. Without scores their largest possible variance, r (1 - r), is taken.

        Examples
        --------
        >>> Attempt.of("person", "distance", 10.0, 0.1, 1000, 1000).high
        10.0
        >>> round(Attempt.of("person", "distance", 10.0, 0.1, 100, 1000).high, 2)
        16.98
        """
        if targets >= n or targets < 1:
            return cls(rung, attack, rate, rate, rate, guess, targets)
        r = rate / 100
        spread = r * (1 - r) if scores is None else float(np.var(scores, ddof=1)) if targets > 1 else 0.0
        m = targets if spread < 1e-24 else r * (1 - r) / (spread / targets * (1 - targets / n))
        middle = (r + Z * Z / (2 * m)) / (1 + Z * Z / m)
        half = Z * math.sqrt(r * (1 - r) / m + Z * Z / (4 * m * m)) / (1 + Z * Z / m)
        low, high = 100 * max(middle - half, 0.0), 100 * min(middle + half, 1.0)
        return cls(rung, attack, rate, min(low, rate), max(min(high, bound), rate), guess, targets)


@dataclass(frozen=True)
class Assessment:
    """The verdict on a release."""

    checks: Sequence[Check]
    ladder: Sequence[Attempt]
    intruder: Intruder
    persons: int
    records: int
    #: the largest chance of finding any one person by the strongest attack, in percent
    largest: float
    #: records that were left out
    suppressed: int = 0
    #: the checks that somebody allowed to fail
    allowed: tuple[str, ...] = ()

    @property
    def verdict(self) -> Outcome:
        """The worst that any check found."""
        order = list(Outcome)
        return max((check.status for check in self.checks), key=order.index)

    @property
    def risk(self) -> Attempt:
        """The strongest attack of the rungs at or below the declared intruder."""
        return strongest(self.ladder, self.intruder)

    @property
    def subtraction(self) -> str:
        """What subtraction computes, as a sentence; nothing where no means are published."""
        found = [check.figures["subtraction"] for check in self.checks if "subtraction" in check.figures]
        return f"By subtraction, {in_words_of(found[0])}." if found else ""

    @property
    def over_time(self) -> bool:
        """Whether it was judged together with other releases of the same persons."""
        return any(check.name == CHECKS[-1] for check in self.checks)

    @property
    def headline(self) -> str:
        """The first line that a reader sees: the verdict and what decided it."""
        worst = [check for check in self.checks if check.status is self.verdict]
        if self.verdict is Outcome.HOLDS:
            risk = self.risk
            return f"{self.verdict.words}: {self.checks[0].message} The strongest attack finds {risk.rate:.1f} % ({risk.attack})."
        return f"{self.verdict.words}: {'; '.join(check.message.rstrip('.') for check in worst)}."

    def stopped_by(self, allow: Collection[str] = (), *, strict: bool = False) -> list[Check]:
        """The checks that keep the release from being written, unless they are allowed by name."""
        stops = {Outcome.FAILS, Outcome.NOT_DECIDED} | ({Outcome.WARNS} if strict else set())
        return [check for check in self.checks if check.status in stops and check.name not in allow]

    def to_dict(self) -> dict[str, Any]:
        """The document for machines, as private/assessment.json has it."""
        risk = self.risk
        return {
            "version": VERSION,
            "verdict": self.verdict.value,
            "checks": [
                {"name": c.name, "status": c.status.value, "message": c.message, "figures": dict(c.figures)}
                for c in self.checks
            ],
            "risk": {
                "intruder": self.intruder.knows,
                "attack": risk.attack,
                "rate": risk.rate,
                "low": risk.low,
                "high": risk.high,
                "largest": self.largest,
                "guess": risk.guess,
            },
            "ladder": [
                {
                    "rung": one.rung,
                    "attack": one.attack,
                    "rate": one.rate,
                    "low": one.low,
                    "high": one.high,
                    "guess": one.guess,
                    "targets": one.targets,
                }
                for one in self.ladder
            ],
            "persons": self.persons,
            "records": self.records,
            "suppressed": self.suppressed,
            "allowed": list(self.allowed),
        }

    def __str__(self) -> str:
        width = max(len(check.name) for check in self.checks)
        lines = [self.headline]
        lines += [f"  {check.name:<{width}}  {check.status.words:<21}{check.message}" for check in self.checks]
        return "\n".join(lines)


def strongest(ladder: Sequence[Attempt], intruder: Intruder) -> Attempt:
    """The attack that finds most, of those for which the intruder knows enough; the earlier of equals.

    Where none was tried with just what he knows, those with more count as well: a risk is never understated.
    """
    known = any(one.rung == intruder.knows for one in ladder)
    reached = [one for one in ladder if intruder.reaches(one.rung)] if known else list(ladder)
    return max(reached, key=lambda one: one.high)


def has_sufficient_attempt(ladder: Sequence[Attempt], intruder: Intruder) -> bool:
    """Whether any attack was tried that uses all that the intruder knows, or more."""
    return any(Intruder(knows=one.rung).reaches(intruder.knows) for one in ladder if one.rung in RUNGS)


# -- the checks -------------------------------------------------------------------------------------------------------


def promise_check(verdict: Verdict) -> Check:
    """Whether the guarantee was verified on what was written."""
    match verdict.status:
        case Status.HOLDS:
            return Check("promise", Outcome.HOLDS, verdict.guarantee, {"details": list(verdict.details)})
        case Status.VIOLATED:
            return Check("promise", Outcome.FAILS, f"{verdict.guarantee} It is violated: {verdict.witness}")
        case Status.UNKNOWN:
            return Check(
                "promise", Outcome.NOT_DECIDED, f"{verdict.guarantee} It could not be decided: {verdict.witness}"
            )
    return Check("promise", Outcome.WARNS, "this method promises nothing")


def coverage_check(unjudged: Sequence[str] = (), order: str = "") -> Check:
    """Whether every published column was judged, and whether the order of the rows says something; `order` says what it says."""
    if not unjudged and not order:
        return Check(
            "coverage",
            Outcome.HOLDS,
            "every published column is protected, carried by declaration, or a fresh identifier.",
        )
    named = ", ".join(repr(name) for name in unjudged)
    parts = [f"nobody judged the published column{'s' * (len(unjudged) > 1)} {named}"] if unjudged else []
    parts += [order] if order else []
    return Check("coverage", Outcome.NOT_DECIDED, f"{'; '.join(parts)}.", {"columns": list(unjudged)})


def whole_record_check(classes: Classes, limits: Limits, *, persons: bool = True) -> Check:
    """Whether a record is unique over all protected columns together, all blocks at once; `persons`: whether they are known, or records are counted."""
    figures = {
        "unique_records": classes.unique,
        "k": classes.fewest,
        "real_anonymity": classes.anonymity,
        "largest_share": classes.largest,
    }
    what = f"{classes.unique} of {classes.records} records are unique over all protected columns together"
    if not classes.unique:
        least = f"at least {classes.fewest} {'persons' if persons else 'records'} share every published row"
        return Check("whole-record", Outcome.HOLDS, f"{least}; k' is {classes.anonymity:.2f}.", figures)
    if limits.unique_records is not None:
        if classes.unique > limits.unique_records:
            return Check("whole-record", Outcome.FAILS, f"{what}, and at most {limits.unique_records} may be.", figures)
        return Check("whole-record", Outcome.HOLDS, f"{what}; up to {limits.unique_records} may be.", figures)
    return Check("whole-record", Outcome.WARNS, f"{what}.", figures)


def carried_check(carried: Sequence[str], known: Sequence[str], classes: Classes | None) -> Check:
    """Whether a record is unique with the carried columns that the intruder knows; the others are named as unprotected."""
    if not carried:
        return Check("carried", Outcome.HOLDS, "no column is carried unchanged.", {"columns": []})
    others = [name for name in carried if name not in known]
    plain = f"not protected, published unchanged: {', '.join(map(repr, others))}." if others else ""
    figures: dict[str, Any] = {"columns": list(carried), "known": list(known)}
    if classes is None:
        return Check("carried", Outcome.HOLDS, plain, figures)
    figures["unique_records"] = classes.unique
    words = f"{classes.unique} of {classes.records} records are unique with {', '.join(map(repr, known))}, which the intruder knows."
    if classes.unique:
        words += " Labels can be protected as keys instead (method local-suppression)."
    status = Outcome.WARNS if classes.unique else Outcome.HOLDS
    return Check("carried", status, f"{words} {plain}".strip(), figures)


def in_words_of(subtraction: float) -> str:
    """What subtraction computes, without the full stop."""
    return f"who knows half of the persons computes the values of up to {subtraction:.1f} % of the others from published means"


def disclosure_check(
    disclosed: Mapping[str, int], persons: int, limits: Limits, tied: Mapping[str, int], least: int, subtraction: float | None = None
) -> Check:  # fmt: skip
    """Whether classes disclose carried values: column -> persons concerned.

    `tied` has the carried columns that are the same in all records of each person -> the fewest persons with the same classes; there must be
    `least`. `subtraction` is the share of persons, in percent, whose values follow from a published mean for who knows half of the persons; None: nothing does.
    """
    figures: dict[str, Any] = {"persons": dict(disclosed), **({"tied": dict(tied)} if tied else {})}
    figures |= {} if subtraction is None else {"subtraction": subtraction}
    few = {name: alike for name, alike in tied.items() if alike < least}
    if few:
        name, alike = min(few.items(), key=lambda item: item[1])
        message = (
            f"{name!r} is the same in all records of a person and so ties them together: only {alike} "
            f"person{'s' * (alike != 1)} remain{'s' * (alike == 1)} possible, and {least} must. Make one record of each person, or leave the column out."
        )
        return Check("attribute-disclosure", Outcome.FAILS, message, figures)
    if subtraction is not None and limits.subtraction is not None and subtraction > limits.subtraction:
        message = f"{in_words_of(subtraction)}, and at most {limits.subtraction:g} % is accepted."
        return Check("attribute-disclosure", Outcome.FAILS, message, figures)
    worst = max(disclosed, key=lambda name: disclosed[name], default="")
    count = disclosed.get(worst, 0)
    if not count:
        message = "no class of equal records discloses a carried value."
        return Check("attribute-disclosure", Outcome.HOLDS, message, figures)
    message = f"{count} of {persons} persons are in classes that disclose {worst!r}"
    limit = limits.attribute_disclosure
    if limit is None:
        return Check("attribute-disclosure", Outcome.WARNS, f"{message}.", figures)
    status = Outcome.FAILS if count > limit else Outcome.HOLDS
    return Check("attribute-disclosure", status, f"{message}; the limit is {limit}.", figures)


def risk_check(
    ladder: Sequence[Attempt],
    intruder: Intruder,
    limits: Limits,
    *,
    spoken_of: str,
    promise: str,
    exposed: int | None,
    within: bool | None = None,
    untried: Sequence[str] = (),
) -> Check:
    """Whether the strongest attack of the declared intruder stays within the accepted risk.

    `spoken_of` is the strongest intruder that the promise covers ("none" if it covers nobody), `promise` its short words. `exposed` is the number of persons whose own chance of being found is
    above the limit, where it is known. `untried` are blocks of labels that the attacks did not know. `within` says whether the rate is within the limit where both are exact shares; otherwise percentages are compared.
    """
    risk = strongest(ladder, intruder)
    figures: dict[str, Any] = {"rate": risk.rate, "high": risk.high, "attack": risk.attack, "intruder": intruder.knows}
    found = f"the strongest attack ({risk.attack}) finds {risk.rate:.1f} % of the persons"
    enough = has_sufficient_attempt(ladder, intruder)
    if not enough:
        found += f"; of attacks by who knows {IN_WORDS[intruder.knows]}, none was tried, and they may find more"
    if untried:
        enough = False
        found += f"; no attack knows the labels in {some(untried)}, and one that does may find more"
    share = limits.share
    if share is None:
        if spoken_of != "none" and Intruder(knows=spoken_of).reaches(intruder.knows):  # type: ignore[arg-type]
            return Check("accepted-risk", Outcome.HOLDS, f"no limit was set; {found}.", figures)
        message = f"{promise} does not bound who is found: {found}, and no limit was set."
        return Check("accepted-risk", Outcome.WARNS, message, figures)
    limit = float(100 * share)
    figures |= {"limit": limit, **({} if exposed is None else {"exposed": exposed})}
    kept = risk.high <= limit * (1 + 1e-12) if within is None else within
    if not kept:
        return Check(
            "accepted-risk", Outcome.FAILS, f"{found}, and at most {round(limit, 2):g} % is accepted.", figures
        )
    most = limits.most_exposed
    if exposed is not None and most is not None and exposed > most:
        message = f"{exposed} persons are found with a chance above {limit:g} %, and at most {most} may be."
        return Check("accepted-risk", Outcome.FAILS, message, figures)
    status = Outcome.HOLDS if enough else Outcome.WARNS
    return Check("accepted-risk", status, f"{found}; up to {round(limit, 2):g} % is accepted.", figures)
