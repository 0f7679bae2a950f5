"""Loss and risk of a release, or of data protected by any other tool: everything that fits it is measured, and put on one card."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from tsveil.attack.base import LeavesTraces, OtherPeriod
from tsveil.attack.files import HasData, Ties, own_rows, released_data
from tsveil.attack.files import files as attribute_files
from tsveil.attack.gaps import in_words as gaps_in_words
from tsveil.attack.gaps import pieces_with_gaps
from tsveil.attack.kp import Piece
from tsveil.attack.labels import PART as LABELS
from tsveil.attack.labels import has_labels, pieces_with_labels
from tsveil.attack.pieces import Columns, Pieces, measurable
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import MEASURES
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Block, Dataset
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Memory, Store
from tsveil.engine.base import Engine
from tsveil.engine.here import Here
from tsveil.guarantee.counting import classes_of, homogeneous
from tsveil.measure.base import Kind, Meaning, Measure, Schema
from tsveil.measure.forecast import Models
from tsveil.measure.passes import kept_of_records, run
from tsveil.measure.risk import RISKS, By, Release, Risk
from tsveil.measure.score import Score
from tsveil.measure.scorecard import Scorecard
from tsveil.transform.normalise import How, Scaling


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
    matched: Literal["own", "nearest"] | None = None,
    targets: int | Literal["all"] | None = None,
    other_period: Dataset | None = None,
    measures: Mapping[str, Mapping[str, Any]] | None = None,
) -> Scorecard:
    """Measure what was lost and what still leaks.

    All measures that fit are run, those of other packages, too. Data with series and attributes are measured by their series; the card's options say so.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool: rows aligned with the original, or `truth` says who is who.
    truth
        Which released identifier belongs to which original one: a mapping, a frame or CSV file with the columns original and released, or "id" for equal ones. The files then need not hold the same people: the intruder knows those of the original and looks for them in the whole release, and losses are measured on those who are in both.
    ties
        How ties count: "expected", the chance of guessing among them, or "first", the first one.
    scaling
        By which file's mean and deviation values are scaled: "original", or each file by its "own".
    dr1
        Series: whether the better linkage counts ("max") or their mean ("mean").
    normalise
        Series: how they are normalised before linking.
    models
        Series: which forecasts IL3 compares: names of the five, name to a callable that takes records x T to records x 3, or "fitting" for those of the five that the series are long enough for.
    variant
        Series: "paper" averages differences with their sign, as printed.
    known, counts, by
        Attributes: which are known to the intruder, how many of them, and whether single attributes or blocks are counted.
    score
        Attributes: how risks are combined.
    matched
        Attributes: whether IL1 compares with the "own" or the "nearest" published record.
    targets
        How many records are attacked: "all", a number, or, unless given, as many as cost no more than the rest, which are all of 100,000. Where persons may have several records it counts persons, any record of theirs is a right link, and rates are means over persons.
    other_period
        Series: a data set of the same persons at other times, with the same identifiers. Without it the first part of the series stands in for one where they have two whole weeks or days (`tsveil.attack.periods`).
    measures
        Settings of measures: name to parameter to value.

    Returns
    -------
    Scorecard
        All figures, and the options they were measured by.

    Raises
    ------
    InputError
        If the files do not fit each other.
    ParameterError
        If an option is out of range, or for data of another kind.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> print(tv.evaluate(data, tv.MDAV(k=2).protect(data)))
    IL1      17.71 %  loss in statistics
    ...
    """
    protected = released_data(released)
    given: dict[str, Any] = {"dr1": dr1, "normalise": normalise, "models": models, "variant": variant}
    given |= {
        "known": known,
        "counts": counts,
        "by": by,
        "score": score,
        "matched": matched,
        "other_period": other_period,
    }
    given = {name: value for name, value in given.items() if value is not None}
    given |= {"ties": ties, "scaling": scaling, "targets": targets, "measures": measures}
    return scorecard(original, protected, truth=truth, method=getattr(released, "method", None), **given)


def scorecard(
    original: Dataset, protected: Dataset, *, truth: Truth = None, method: LeavesTraces | None = None, **options: Any
) -> Scorecard:
    """The score card of two data sets, with the risk of each record; `method` is the one that made the release.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> card = scorecard(data, tv.MDAV(k=2).protect(data).data, dr1="mean")
    >>> card["EULD"], card.best_attack
    (50.0, ('EULD', 50.0))
    """
    store = Memory()
    schema = Schema(_files(store, original, protected, truth))
    labels = label_schema(store, original, protected, truth)
    left_out = blocks_left_out(original, measured=labels is not None)
    if (other := options.get("other_period")) is not None:
        options["other_period"] = OtherPeriod.of(original.ids.to_list(), other)
    card = measure_pieces(store, schema, Here(), method=method, left_out=left_out, labels=labels, **options)
    return with_ids(card, original.ids)


def label_schema(store: Store, original: Dataset, protected: Dataset, truth: Truth = None) -> Schema | None:
    """The files with the labels, in a part of the store; None where there are none, or gaps beside them, which no attack on labels knows."""
    if not has_labels(original.blocks) or original.masked:
        return None
    return Schema(pieces_with_labels(store.part(LABELS), original, protected, truth))


def blocks_left_out(original: Dataset, *, measured: bool) -> list[str]:
    """The blocks that nothing measures: attributes beside series, and labels if these are not measured."""
    numbers = measurable(original.blocks)
    return [
        block.name for block in original.blocks if block not in numbers and (block.categories is None or not measured)
    ]


def envelope_card(
    x: Array, table: IntervalTable, own: Indices, ids: pl.Series, block: Block | None = None, **options: Any
) -> Scorecard:
    """The score card of a published table of envelopes, against the original series `x`.

    `own` is the published row of each of them, -1 if it was suppressed. The options are `features`, `seed` and `targets`.
    """
    store = Memory()
    Piece.of(x, table, own).save(store, 0)
    times = tuple(map(float, range(len(table.labels))))
    columns = Columns("series", table.labels, times) if block is None else Columns.of(block)
    schema = Schema.of_envelopes(store, columns, 1, words=table.words is not None)
    classes = classes_of(table)[1]
    shared = {}
    for name in table.others.columns:
        same = homogeneous(classes, table.others[name])
        shared[name] = (len(np.unique(classes[same])), int(same.sum()))
    return with_ids(measure_pieces(store, schema, Here(), homogeneous=shared, **options), ids)


def with_ids(card: Scorecard, ids: pl.Series) -> Scorecard:
    """A card with the identifiers of the original records."""
    return replace(card, per_record=pl.DataFrame([ids.alias("original"), *card.per_record]))


def measure_pieces(
    store: Store,
    schema: Schema,
    engine: Engine,
    *,
    method: LeavesTraces | None = None,
    left_out: Sequence[str] = (),
    homogeneous: Mapping[str, tuple[int, int]] | None = None,
    labels: Schema | None = None,
    **options: Any,
) -> Scorecard:
    """The score card of files in pieces, on any engine; records stand in the order of the pieces, without their identifiers.

    The options are those of `evaluate`; `left_out` are the names of blocks that are not measured, `homogeneous` says which carried values
    classes of envelopes have in common. `labels` are the files with the labels, in a part of the store, where records hold any.
    """
    more: dict[str, Any] = {"engine": engine, "method": method, "left_out": left_out, "homogeneous": homogeneous}
    if labels is None:
        return _card(store, schema, options, **more)
    part = store.part(LABELS)
    if not schema.files.blocks:
        return _card(part, labels, options, **more)
    own = set(_fitting(labels)) - set(_fitting(schema))
    given = dict(options.pop("measures", None) or {})
    of_labels = {name: options[name] for name in ("targets", "ties") if name in options}
    card = _card(store, schema, options | {"measures": {n: v for n, v in given.items() if n not in own}}, **more)
    other = _card(
        part, labels, of_labels | {"measures": {n: v for n, v in given.items() if n in own}}, only=own, **more
    )
    return joined(card, other)


def joined(card: Scorecard, other: Scorecard) -> Scorecard:
    """The card of the numbers, and that of the labels of the same records, as one: the risk of a record is the larger one."""
    mine, theirs = card.per_record, other.per_record
    both = [name for name in theirs.columns if name in mine.columns]
    columns = {column.name: column for column in (*mine, *theirs)}
    columns |= {name: pl.Series(name, np.fmax(mine[name].to_numpy(), theirs[name].to_numpy())) for name in both}
    # Whoever was no target of one of them has no risk that could be told.
    risks = {"risk"} & (set(mine.columns) ^ set(theirs.columns))
    options = {**other.options, **card.options}
    for name, between in (("targets", "; with labels "), ("skipped", "; "), ("not measured", ", ")):
        said = list(dict.fromkeys(words for one in (card, other) if (words := one.options.get(name))))
        options |= {name: between.join(said)} if said else {}
    return replace(
        card,
        figures={**card.figures, **other.figures},
        per_series={**card.per_series, **other.per_series},
        per_record=pl.DataFrame([column for name, column in columns.items() if name not in risks]),
        options=options,
        meanings={**card.meanings, **other.meanings},
        by_known={**card.by_known, **other.by_known},
        linkages=(*card.linkages, *other.linkages),
        ladder=(*card.ladder, *other.ladder),
    )


def _card(
    store: Store,
    schema: Schema,
    options: Mapping[str, Any],
    *,
    engine: Engine,
    method: LeavesTraces | None,
    left_out: Sequence[str],
    homogeneous: Mapping[str, tuple[int, int]] | None,
    only: Collection[str] | None = None,
) -> Scorecard:
    """The card of files of one kind, by all measures that fit or some of them."""
    measures, risk = choose_measures(schema, options)
    measures = [measure for measure in measures if only is None or measure.name in only]
    found = run(store, schema, engine, measures)
    risks = risk.attack(Release(store, schema, engine, method, left_out), found.figures)
    frames = [
        pl.DataFrame(risks.columns(at) | kept_of_records(store, found.columns, at)) for at in range(schema.pieces)
    ]
    losses = {figure: value for figure, value in found.figures.items() if figure not in risks.figures}
    return Scorecard(
        {**losses, **risks.figures},
        found.per_series,
        pl.concat(frames),
        {
            **risks.options,
            **found.notes,
            **risks.notes,
            **({"gaps": gaps_in_words(schema.files)} if schema.gaps else {}),
        },
        _meanings_in_order(map(type, measures), risks.meanings),
        risks.by_known,
        tuple(risks.by_known or (f"breach_{name}_mean" for name in risks.links)),
        risk.short_names,
        risk.main,
        next((measure.loss for measure in measures if measure.loss), ""),
        persons=schema.files.persons,
        ladder=tuple(risks.ladder),
        links=risks.links,
        homogeneous=homogeneous or {},
    )


def choose_measures(schema: Schema, options: Mapping[str, Any]) -> tuple[list[Measure], Risk]:
    """The measures that fit a release and how it is attacked, with the options of `evaluate` that each of them knows."""
    given = {name: value for name, value in options.items() if value is not None}
    more: dict[str, dict[str, Any]] = {name: dict(own) for name, own in given.pop("measures", {}).items()}
    fitting = _fitting(schema)
    if unknown := [name for name in more if name not in fitting]:
        raise ParameterError(f"there is no measure {unknown[0]!r} for {RISKS[schema.kind].words}")
    known = set()
    for name in MEASURES.own:
        if name in fitting:
            its = {p.name for p in fitting[name].parameters()} & set(given)
            more[name] = {**more.get(name, {}), **{option: given[option] for option in its}}
            known |= its
    attacks = RISKS[schema.kind]
    for option, value in given.items():
        if option not in known and option not in {p.name for p in attacks.parameters()}:
            raise ParameterError(f"The {option!r} parameter of evaluate is not for {attacks.words}. Got {value!r}.")
    measures = [kind.from_settings(more.get(name, {})) for name, kind in fitting.items()]
    return measures, attacks(**{option: value for option, value in given.items() if option not in known})


def _fitting(schema: Schema) -> dict[str, type[Measure]]:
    """The measures that fit a release."""
    return {name: kind for name, kind in MEASURES.items() if kind.fits(schema)}


def _meanings_in_order(measures: Iterable[type[Measure]], of_risk: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """What the figures of a card mean, in the order in which to show them: losses, then risks."""
    losses = {
        figure: Meaning(*meaning)
        for measure in measures
        for figure, meaning in measure.meanings.items()
        if figure not in measure.details and figure not in of_risk
    }
    return {**losses, **of_risk}


def meanings_of(kind: Kind) -> dict[str, Meaning]:
    """What the figures of a kind of release mean, in the order in which to show them.

    Examples
    --------
    >>> meanings_of("attributes")["PIL"].title
    'probabilistic loss'
    """
    return _meanings_in_order((measure for measure in MEASURES.values() if kind in measure.kinds), RISKS[kind].meanings)


def _files(store: Store, original: Dataset, protected: Dataset, truth: Truth) -> Pieces:
    """Two data sets as files of one piece: their series, or if there are none their attributes."""
    persons = original.persons if original.person else None
    if not original.series:
        blocks = measurable(original.blocks)
        if not blocks:
            nothing = np.empty((original.n, 0)), np.empty((protected.n, 0))
            return Pieces.of(store, (), *nothing, own_rows(original, protected, truth), persons)
        names = [name for block in blocks for name in block.columns]
        pair = attribute_files(original, protected, names, truth, gaps=original.masked)
        if original.masked:
            return pieces_with_gaps(store, blocks, pair.a, pair.b, pair.own, persons)
        return Pieces.of(store, blocks, pair.a, pair.b, pair.own, persons)
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
    if original.masked:
        return pieces_with_gaps(store, original.series, x, y, own, persons)
    return Pieces.of(store, original.series, x, y, own, persons)
