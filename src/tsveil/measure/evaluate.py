"""Loss and risk of a release, or of data protected by any other tool: time series and attributes have measures of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tsveil.attack._files import HasData, Ties, own_rows, released_data
from tsveil.attack._files import files as attribute_files
from tsveil.attack.pieces import Pieces
from tsveil.attack.targets import checked_targets
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.data.store import Memory, Store
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.errors import InputError, ParameterError
from tsveil.measure.microdata import AttributeOptions, By, Score, measured_attributes
from tsveil.measure.scorecard import Measured, Scorecard
from tsveil.measure.series import Models, SeriesOptions, measured_series
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
    targets: int | Literal["all"] | None = None,
) -> Scorecard:
    """Measure what was lost and what still leaks.

    `released` is a release, or a data set protected by any tool: rows aligned with the original, or `truth` says which released
    id belongs to which original id (a mapping, a frame or CSV file with the columns original and released, or "id" for equal
    ids). With the truth the files need not hold the same people: the intruder knows those of the original and looks for them in
    the whole release; losses are measured on the people who are in both. The options choose among the definitions of the literature.

    Any data: how ties count in a linkage (`ties`), by which file's mean and sd values are scaled before linking (`scaling`), and
    how many records are attacked (`targets`: "all", a number, or as many as cost no more than the rest, which are all of 100,000).
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
    given |= {"ties": ties, "scaling": scaling, "targets": targets}
    made = getattr(released, "method", None)
    method: dict[str, Any] = {} if made is None else {"method": made.name, "settings": made.settings()}
    return scorecard(original, protected, truth=truth, **method, **given)


def scorecard(
    original: Dataset,
    protected: Dataset,
    *,
    truth: Truth = None,
    method: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Scorecard:
    """The score card of two data sets, with the risk of each record; `method` and `settings` are those of the method that made the release.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> card = scorecard(data, tv.MDAV(k=2).protect(data).data, dr1="mean")
    >>> card["EULD"], card.best_attack
    (37.5, ('EULD', 37.5))
    """
    store = Memory()
    files = _files(store, original, protected, truth)
    found = measured(store, files, Here(), method=method, settings=settings, **options)
    left_out = [block.name for block in original.blocks if not block.is_series] if original.series else []
    frame = found.risks(store, files, 0).insert_column(0, original.ids.alias("original"))
    return replace(found, left_out=left_out).card(store, files, frame)


def measured(
    store: Store,
    files: Pieces,
    engine: Engine,
    *,
    method: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Measured:
    """Measure files in pieces on any engine: time series if there are any, or attributes. The options are those of `evaluate`."""
    kind, foreign = ("time series", ATTRIBUTES) if files.series else ("attributes", SERIES)
    if wrong := [name for name in options if name in foreign]:
        raise ParameterError(f"The {wrong[0]!r} parameter of evaluate is not for {kind}. Got {options[wrong[0]]!r}.")
    options["targets"] = checked_targets(options.get("targets"))
    if files.series:
        return measured_series(store, files, engine, SeriesOptions(**options), method, settings)
    return measured_attributes(store, files, engine, AttributeOptions(**options), method, settings)


def _files(store: Store, original: Dataset, protected: Dataset, truth: Truth) -> Pieces:
    """Two data sets as files of one piece: their series, or if there are none their attributes."""
    if not original.series:
        pair = attribute_files(original, protected, original.columns, truth)
        return Pieces.of(store, original.blocks, pair.a, pair.b, pair.own)
    theirs = {block.name: len(block) for block in protected.blocks}
    wrong = [
        f"series {block.name!r} has {len(block)} points, the release {theirs.get(block.name, 'does not have it')}"
        for block in original.series
        if theirs.get(block.name) != len(block)
    ]
    if wrong:
        raise InputError("the release does not fit the original:\n  " + "\n  ".join(wrong), wrong)
    own = own_rows(original, protected, truth)
    names = [block.name for block in original.series]
    x, y = (np.hstack([data.block(name) for name in names]) for data in (original, protected))
    return Pieces.of(store, original.series, x, y, own)
