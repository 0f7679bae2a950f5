"""One risk and one loss for every method, both from 0 to 100, so that all of them fit on one map.

    risk = that of the verdict                    the strongest attack when all that the declared intruder may know is known
    loss = IL      for time series                statistics, values and forecasts
           PIL     for attributes                 what protection moved against what sampling moves, bounded by 100
           LL1     for labels alone               how far published labels are from the original ones

Where numbers and labels stand side by side, the loss is that of the numbers, and the figures have that of the labels beside it. Envelopes have no values; their midlines (lo + hi) / 2 are measured by the same IL. A suppressed record is lost entirely: it counts with a loss of 100.
IL can exceed 100; what does counts as 100, and the figures keep the true value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tsveil.assess.assessment import Assessment
from tsveil.assess.classes import Classes
from tsveil.assess.limits import IN_WORDS, Intruder
from tsveil.assess.protected import ProtectedRecords
from tsveil.data.dataset import Dataset, person_numbers
from tsveil.guarantee.counting import classes_of_rows, number_rows
from tsveil.measure.evaluate import evaluate
from tsveil.measure.scorecard import Scorecard

Kind = Literal["series", "attributes", "categories"]

LOSS: dict[Kind, str] = {
    "series": "Loss is the information loss IL in percent: how far statistics, values and forecasts of the series moved. Envelopes "
    "are judged by their midlines, a suppressed record counts as lost entirely, and a loss above 100 counts as 100.",
    "attributes": "Loss is the probabilistic information loss PIL in percent: how far means, variances, covariances and correlations "
    "moved, measured by what sampling alone would do; it is at most 100.",
    "categories": "Loss is the loss in labels LL1 in percent: how far the published labels are from the original ones, on average; it is at most 100.",
}


@dataclass(frozen=True)
class ReleaseFigures:
    """The figures of a release."""

    risk: float
    loss: float
    #: the strongest attack
    attack: str
    figures: dict[str, float]


def kind_of(data: Dataset) -> Kind:
    """By what the loss of the data is measured: their series of numbers if they have any, their labels if they hold nothing else."""
    if len(data.labels) == len(data.columns):
        return "categories"
    return "series" if data.series else "attributes"


@dataclass(frozen=True)
class Baseline:
    """What any release is compared with, in percent of the persons."""

    #: found in the original data by who knows all protected values of a person
    original: float
    #: found by guessing, with no data at all
    guess: float

    @property
    def words(self) -> str:
        """Both, in a sentence."""
        return (
            f"In the original data, published as they are, {self.original:.1f} % of the persons would be found by who knows all their protected values; "
            f"guessing finds {self.guess:.1f} %."
        )


def baseline(data: Dataset, intruder: Intruder) -> Baseline:
    """The risk of publishing the data as they are, and that of publishing nothing.

    Records with equal values cannot be told apart: the share of a person in the class of equal rows is what the best attack finds.

    Examples
    --------
    >>> baseline(Dataset.from_arrays({"x": [[1.0], [1.0], [1.0], [2.0]]}), Intruder())
    Baseline(original=50.0, guess=25.0)
    """
    of_row = classes_of_rows(data.values)
    if intruder.knows_carried:
        of_row = number_rows(np.column_stack([of_row, person_numbers(data.others, intruder.knows_carried)])).of_row
    found = Classes.of(of_row, data.persons if data.person else None)
    return Baseline(100 * found.bound, 100 / found.persons if found.persons else 0.0)


def risk_in_words(intruder: Intruder) -> str:
    """What the risk is.

    Examples
    --------
    >>> print(risk_in_words(Intruder(knows="person")))
    Risk is the share of persons that the strongest attack finds, in percent, by an intruder who knows all protected values of a person. It is the risk of the verdict.
    """
    carried = f" and of the carried columns {', '.join(intruder.knows_carried)}" if intruder.knows_carried else ""
    return (
        f"Risk is the share of persons that the strongest attack finds, in percent, by an intruder who knows {IN_WORDS[intruder.knows]}{carried}. "
        "It is the risk of the verdict."
    )


def summed_up(
    release: ProtectedRecords, card: Scorecard, assessment: Assessment, options: Mapping[str, Any]
) -> ReleaseFigures:
    """The risk and the loss of a release that was measured and judged, with all other figures; `options` are those of `tsveil.evaluate`."""
    risk = assessment.risk
    if not release.envelopes:
        return ReleaseFigures(risk.rate, _percent(card[card.loss]), risk.attack, card.to_dict())
    published = release.original.take(release.rows)
    middle = published.with_values((release.lo + release.hi) / 2)
    lines = evaluate(published, middle, **{"models": "fitting"} | dict(options))
    share = release.n / release.original.n
    # An attack on the published records alone finds none of the others.
    risks = {name: share * lines[name] for name in lines.linkages} | {name: card[name] for name in card.linkages}
    loss = share * min(lines[lines.loss], 100.0) + (1 - share) * 100.0
    # The combined figures of the midlines know nothing of the linkages to envelopes: they would show too little risk.
    losses = {name: value for name, value in lines.items() if name not in ("DR1", "DR", "score")}
    return ReleaseFigures(risk.rate, _percent(loss), risk.attack, card.to_dict() | losses | risks)


def _percent(value: float) -> float:
    return min(max(value, 0.0), 100.0)
