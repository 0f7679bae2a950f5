"""Loss and risk of a release, or of data protected by any other tool: time series and attributes have measures of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from tsveil.attack._files import HasData, Ties, released_data
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.errors import ParameterError
from tsveil.measure.microdata import By, Score, microdata_scorecard
from tsveil.measure.scorecard import Scorecard
from tsveil.measure.series import Models, series_scorecard
from tsveil.transform.normalise import How, Scaling

#: the options that only one kind of data knows
SERIES = ("dr1", "normalise", "models", "variant")
ATTRIBUTES = ("known", "counts", "by", "score")


def evaluate(
    original: Dataset,
    released: Dataset | HasData,
    *,
    truth: Truth = None,
    ties: Ties = "expected",
    scaling: Scaling = "original",
    dr1: Literal["max", "mean"] | None = None,
    normalise: How | None = None,
    models: Models = None,
    variant: Literal["default", "paper"] | None = None,
    known: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    by: By | None = None,
    score: Score | None = None,
) -> Scorecard:
    """Measure what was lost and what still leaks.

    `released` is a release, or a data set protected by any tool: rows aligned with the original, or `truth` says which released
    id belongs to which original id (a mapping, a frame or CSV file with the columns original and released, or "id" for equal
    ids). With the truth the files need not hold the same people: the intruder knows those of the original and looks for them in
    the whole release; losses are measured on the people who are in both. The options choose among the definitions of the literature.

    Any data: how ties count in a linkage (`ties`), and by which file's mean and sd values are scaled before linking (`scaling`).
    Time series: whether the better linkage or their mean counts (`dr1`), how series are normalised before linking (`normalise`),
    which forecasts IL3 compares (`models`: names of the five, name -> callable that takes records x T to records x 3, or "fitting"
    for those of the five that the series are long enough for), and whether differences are averaged with their sign, as
    printed (`variant="paper"`); a release is also attacked by what is made for its method. Attributes: which are known to the intruder and how many of them (`known`,
    `counts`, `by`), and how risks are combined (`score`); a release is attacked by all attacks that fit its method.

    Data with series and attributes are measured by their series; the card's options say so.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> print(tv.evaluate(data, tv.MDAV(k=2).protect(data)))
    IL1      38.86 %  loss in statistics
    ...
    """
    protected = released_data(released)
    given: dict[str, Any] = {"dr1": dr1, "normalise": normalise, "models": models, "variant": variant}
    given |= {"known": known, "counts": counts, "by": by, "score": score}
    given = {name: value for name, value in given.items() if value is not None}
    kind, foreign = ("time series", ATTRIBUTES) if original.series else ("attributes", SERIES)
    if wrong := [name for name in given if name in foreign]:
        raise ParameterError(f"The {wrong[0]!r} parameter of evaluate is not for {kind}. Got {given[wrong[0]]!r}.")
    made = getattr(released, "method", None)
    method: dict[str, Any] = {} if made is None else {"method": made.name, "settings": made.settings()}
    if original.series:
        card = series_scorecard(original, protected, truth=truth, ties=ties, scaling=scaling, **method, **given)
        attributes = [block.name for block in original.blocks if not block.is_series]
        return replace(card, options={**card.options, "not measured": ", ".join(attributes)}) if attributes else card
    return microdata_scorecard(original, protected, truth=truth, ties=ties, scaling=scaling, **method, **given)
