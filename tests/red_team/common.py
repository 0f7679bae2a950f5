"""How a guess of the red team is judged, and when it beats a report.

The red team knows what SPEC calls the intruder's knowledge and what is published, nothing else: its functions take these two and return
weights, the higher the likelier, for each person and published row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tsveil.assess.assessment import Attempt
from tsveil.core.types import Array, Indices
from tsveil.measure.scorecard import Scorecard

#: from the least knowledge to the most
RUNGS = ("part", "person", "share", "file")
#: one-sided 99.9 % of the normal distribution
Z = 3.0902


@dataclass(frozen=True)
class Published:
    """What anybody can read: the published table, the method and its parameters. Its rows are in no order."""

    method: str
    settings: Mapping[str, Any]
    values: Array
    #: the columns of each block, and whether it is a series
    blocks: Sequence[tuple[range, bool]]
    #: of envelopes: the bounds are lo, hi; patterns and their levels where there are any
    lo: Array = field(default_factory=lambda: np.empty((0, 0)))
    hi: Array = field(default_factory=lambda: np.empty((0, 0)))
    words: tuple[str, ...] | None = None
    levels: Indices | None = None

    @property
    def rows(self) -> int:
        """The number of published rows."""
        return max(len(self.values), len(self.lo))


@dataclass(frozen=True)
class Knowledge:
    """Original values of persons in some columns."""

    values: Array
    columns: Sequence[int]


Attack = Callable[[Published, Knowledge], Array]


def classes_of(published: Published) -> Indices:
    """The class of each row: rows of a class differ in nothing."""
    if not len(published.lo):
        return np.unique(published.values, axis=0, return_inverse=True)[1].ravel()
    table = np.hstack([published.lo, published.hi])
    if published.words is not None and published.levels is not None:
        words = np.unique(np.array(published.words), return_inverse=True)[1].ravel()
        table = np.column_stack([table, words, published.levels])
    return np.unique(table, axis=0, return_inverse=True)[1].ravel()


def scores_of(weights: Array, own: Indices, classes: Indices) -> Array:
    """The chance that each person is found by who takes one of the best rows at random.

    A row counts as its class: with one record a person the person's share in it is 1 / its size, and the best rows may belong to several
    classes. `own` is the published row of each person.
    """
    sizes = np.bincount(classes)
    best = weights >= weights.max(axis=1, keepdims=True) - 1e-9
    same = classes[None, :] == classes[own][:, None]
    found: Array = (best & same).sum(axis=1) / best.sum(axis=1) / sizes[classes[own]]
    return found


def log_mean(logs: Array, axis: int, floor: float = -math.inf) -> Array:
    """Log of the mean of what these are logs of, plus exp(floor)."""
    top = logs.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    mean: Array = np.log(np.exp(logs - top).mean(axis=axis)) + np.squeeze(top, axis=axis)
    return np.logaddexp(mean, floor)


def matched(logs: Array, rounds: int = 30) -> Array:
    """Log odds of each pair when nobody has two rows and no row two persons: belief propagation over all assignments.

    `logs` are log-likelihood ratios of (person, row) against a row of somebody unknown; a row may stay with nobody that is known where
    there are more rows than persons.
    """
    persons, rows = logs.shape
    nobody = np.full((1, rows), 0.0 if rows > persons else -np.inf)
    to_person = np.zeros((persons, rows))
    to_row = np.zeros((persons, rows))
    for _ in range(rounds):
        # What a person says to a row: how much it is preferred to all others; what a row says to a person: how free it is of the others.
        to_row = 0.5 * (to_row - _others(logs + to_person, axis=1))
        to_person = -np.logaddexp(_others(logs + to_row, axis=0), nobody)
    return logs + to_row + to_person


def _others(logs: Array, axis: int) -> Array:
    """Log of the sum over all others than oneself, along an axis."""
    top = logs.argmax(axis=axis, keepdims=True)
    highest = np.take_along_axis(logs, top, axis)
    rest = logs.copy()
    np.put_along_axis(rest, top, -np.inf, axis)
    second = rest.max(axis=axis, keepdims=True)
    of_top = second + np.log(np.exp(rest - second).sum(axis=axis, keepdims=True))
    total = np.logaddexp(highest, of_top)
    with np.errstate(divide="ignore"):
        found: Array = total + np.log1p(-np.exp(np.minimum(logs - total, 0.0)))
    np.put_along_axis(found, top, of_top, axis)
    return found.clip(min=-1e6)


@dataclass(frozen=True)
class Report:
    """What the ladder of a release says, person by person."""

    #: rung and rate of each attack, in percent, with the score of each published person in the order of the original
    entries: Sequence[tuple[str, str, float, Array]]

    @classmethod
    def of(cls, card: Scorecard, ladder: Sequence[Attempt], there: Indices, shares: Array) -> Report:
        """The ladder with the scores behind it; `there` are the published persons, and `shares` their shares in their classes."""
        behind = {(str(one.rung), one.attack): one.scores for one in card.ladder}
        behind |= {("person", f"envelope-{name}"): links.probability[there] for name, links in card.links.items()}
        behind[("file", "replay")] = shares
        entries = []
        for one in ladder:
            scores = behind[(str(one.rung), one.attack)]
            assert len(scores) == len(there), f"only a sample of the persons was attacked by {one.attack!r}"
            assert math.isclose(100 * float(scores.mean()), one.rate, abs_tol=1e-6), (
                f"these are not the scores of {one.attack!r}"
            )
            entries.append((str(one.rung), one.attack, one.rate, scores))
        return cls(entries)

    def at(self, rung: str) -> Array:
        """The scores of the best attack of the rungs at or below one: who knows more can forget it. No attack: nobody is found."""
        reached = RUNGS[: RUNGS.index(rung) + 1]
        known = [entry for entry in self.entries if entry[0] in reached]
        return max(known, key=lambda entry: entry[2])[3]


def beats(ours: Array, theirs: Array) -> bool:
    """Whether the red team finds more than the report says, beyond what chance explains at 99.9 %.

    Both attack all persons of the release, so the two rates are no samples of it, and the interval of a rate of the release has no width. What is asked here is whether the red team's
    attack is the better one, and not better by accident on these persons and this draw of the protection. So the persons are a sample of those whom the method may have to protect, and as
    both attack the same ones the interval is that of the mean difference of their scores: mean - z s / sqrt(n), one-sided, without the factor for finite populations. Scores of several
    seeds are averaged person by person first, so that n stays the number of persons. Attacks on many persons at once make scores depend a little on one another.
    """
    gain = ours - theirs
    deviation = float(gain.std(ddof=1))
    return float(gain.mean()) > Z * deviation / math.sqrt(len(gain)) + 1e-9
