"""One risk and one loss for every method, both from 0 to 100, so that all of them fit on one map.

    risk = rate of the best attack                the share of records that the strongest of the attacks tried links right
    loss = IL      for time series                statistics, values and forecasts
           PIL     for attributes                 what protection moved against what sampling moves, bounded by 100

Envelopes have no values; their midlines (lo + hi) / 2 are measured by the same IL, and linked by the same attacks as
published values are, next to the linkages to envelopes and patterns. A suppressed record is lost entirely and never
found: it counts with a loss of 100 and a risk of 0, which puts complete suppression at the corner (0, 100) as the
original data are at (100, 0). IL can exceed 100; what does counts as 100, and the figures keep the true value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tsveil.assess.protected import ProtectedRecords
from tsveil.core.errors import InputError
from tsveil.data.dataset import Dataset
from tsveil.measure.evaluate import evaluate

Kind = Literal["series", "attributes"]

RISK = (
    "Risk is the share of records that the best attack links to the right published record, in percent: the strongest of all "
    "attacks that fit the method, by an intruder who knows the original values, averaged over how much of a record is known."
)
LOSS: dict[Kind, str] = {
    "series": "Loss is the information loss IL in percent: how far statistics, values and forecasts of the series moved. Envelopes "
    "are judged by their midlines, a suppressed record counts as lost entirely, and a loss above 100 counts as 100.",
    "attributes": "Loss is the probabilistic information loss PIL in percent: how far means, variances, covariances and correlations "
    "moved, measured by what sampling alone would do; it is at most 100.",
}


@dataclass(frozen=True)
class Measured:
    """The figures of a release."""

    risk: float
    loss: float
    #: the figure of the best attack
    attack: str
    figures: dict[str, float]


def kind_of(data: Dataset) -> Kind:
    """By what the data are measured: their series if they have any."""
    return "series" if data.series else "attributes"


def measured(data: Dataset, release: ProtectedRecords, options: Mapping[str, Any]) -> Measured:
    """The risk and the loss of a release, with all other figures.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> found = measured(data, tv.MDAV(k=4).protect(data), {"ties": "expected"})
    >>> found.risk, found.attack
    (25.0, 'EULD')
    """
    fitting = {"models": "fitting"} if data.series else {}
    if release.envelopes:
        return _of_envelopes(data, release, fitting | dict(options))
    card = evaluate(data, release, **fitting | dict(options))
    attack, risk = card.best_attack
    return Measured(_percent(risk), _percent(card[card.loss]), attack, card.to_dict())


def _of_envelopes(data: Dataset, release: ProtectedRecords, options: Mapping[str, Any]) -> Measured:
    if not release.n:
        raise InputError(
            f"there is nothing to publish: all {data.n} records would be suppressed\n  options: a smaller k or P, a shorter word"
        )
    card = release.evaluate()
    published = data.take(release.rows)
    lines = evaluate(published, published.with_values((release.lo + release.hi) / 2), **options)
    share = release.n / data.n
    # An attack on the published records alone finds none of the others.
    risks = {name: share * lines[name] for name in lines.linkages} | {name: card[name] for name in card.linkages}
    attack = max(risks, key=risks.__getitem__)
    loss = share * min(lines[lines.loss], 100.0) + (1 - share) * 100.0
    # The combined figures of the midlines know nothing of the linkages to envelopes: they would show too little risk.
    losses = {name: value for name, value in lines.items() if name not in ("DR1", "DR", "score")}
    return Measured(_percent(risks[attack]), _percent(loss), attack, card.to_dict() | losses | risks)


def _percent(value: float) -> float:
    return min(max(value, 0.0), 100.0)
