"""Distance based record linkage (DB-RL): each original record is linked to the nearest released one.

The distance over the known attributes is Euclidean on standardised values,

    d(a, b)^2 = sum_j w_j ((a_j - b_j) / s_j)^2

with the original's standard deviations s_j for both files: the strongest intruder, who knows them. `scaling="own"`
standardises each file by its own mean and deviation, as the literature did [1]_; `metric="l1"` sums absolute differences.
A tie among t released records counts 1/t right link if the own one is among them, so that the order of the files plays no
role; `ties="first"` takes the lowest row.

`one_to_one=True` gives every released record to at most one person, so that the sum of the distances is the least.
`blocking=b` compares each original only with the b distinct released records around it in the order of the sum of
standardised values: for very large files. The result may then miss the nearest record and is marked as approximate.
`direction="released"` links every released record to the nearest original one instead; the rows of the result are then those of the release.

References
----------
.. [1] D. Pagliuca, G. Seri, Some results of individual ranking method on the system of enterprise accounts annual
   survey, Esprit SDC Project, deliverable MI-3/D2 (1999).

Examples
--------
>>> import polars as pl, tsveil as tv
>>> people = pl.DataFrame({"age": [20, 31, 45, 60], "pay": [10, 25, 20, 40]})
>>> original = tv.Dataset.from_frame(people, blocks={"person": ["age", "pay"]})
>>> released = original.with_values(original.values + [[2, 1], [-2, 0], [1, 1], [0, -3]])
>>> tv.attack.distance(original, released, known=["age"])
Links: distance linkage, 1 attribute known: 4.0 of 4 records re-identified (100.0 %)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from tsveil.attack.base import Attack, Column, Situation, Trial
from tsveil.attack.candidates import Found
from tsveil.attack.exact_ties import ExactTies, exact_weight, slack_of
from tsveil.attack.files import (
    FROM_RELEASE,
    Direction,
    Files,
    HasData,
    Ties,
    files,
    in_steps,
    on_one_scale,
    refuse_persons,
    refuse_together,
    relative,
    scale_of,
    wrong_choices,
)
from tsveil.attack.links import Links
from tsveil.attack.nearest_columns import Metric, compared_rows, nearest, nearest_of_targets
from tsveil.attack.neighbourhood import nearest_around, neighbourhood
from tsveil.attack.one_to_one import distances
from tsveil.attack.one_to_one import one_to_one as assigned
from tsveil.attack.pieces import Side, Targets
from tsveil.core.errors import ParameterError, Problems
from tsveil.core.params import one_of, param
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task
from tsveil.transform.normalise import Scaling


def distance(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    scaling: Scaling = "original",
    metric: Metric = "euclidean",
    weights: Mapping[str, float] | None = None,
    ties: Ties = "expected",
    one_to_one: bool = False,
    blocking: int | None = None,
    direction: Direction = "original",
) -> Links:
    """Link originals to the nearest released records by the attributes that the intruder knows.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The attributes that the intruder knows; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    scaling
        By which file's mean and deviation values are scaled: "original", or each file by its "own".
    metric
        "euclidean" or "l1": whether squared or absolute differences are summed.
    weights
        Attribute to its weight; 1 unless given.
    ties
        How ties count: "expected", the chance of guessing among them, or "first", the first one.
    one_to_one
        Each released record is linked to one person at most, so that the sum of all distances is the least.
    blocking
        For very large files: compare each original record only with this many distinct released ones, those nearest to it in the sum of their standardised values. The result may miss the nearest one.
    direction
        "original": every original record is linked to a released one. "released": the other way round, as in the literature; the rows of the result are then those of the release.

    Returns
    -------
    Links
        The record that each one is linked to, and how often that is right.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    pair = files(original, released, known, truth)
    refuse_together("distance", one_to_one=one_to_one, blocking=blocking, direction=direction)
    a, b, factor, power = _prepare(pair, scaling, metric, weights, ties)
    exact = partial(_exact, factor=factor, power=power, metric=metric, original=pair.a, weights=weights)
    if direction == "released":
        way = pair.reverse()
        return nearest(way, b, a, factor, metric, ties, FROM_RELEASE, exact(way, b))
    if one_to_one:
        attack, whole = pair.describe("distance linkage"), np.array([0, a.shape[1]])
        return assigned(a, b, pair.own, pair.persons, lambda x, y: distances(x, y, factor, whole, metric), ties, attack)
    if blocking is not None:
        refuse_persons(pair.persons, "the option 'blocking' of the distance attack")
        around = neighbourhood(a, b, pair.own, factor, blocking)
        starts, text = np.array([0, a.shape[1]], dtype=np.int64), "Linking records by distance"
        found = nearest_around(a, around, factor, starts, metric=metric, text=text)
        attack = pair.describe(f"distance linkage among the {blocking} records nearest in sum")
        return Links.of(attack, found, ties, pair.own, len(b), approximate=True)
    return nearest(pair, a, b, factor, metric, ties, exact=exact(pair, a))


def _exact(
    pair: Files, placed: Array, *, factor: Array, power: Indices | None, metric: Metric, original: Array, weights: Mapping[str, float] | None,
) -> ExactTies | None:  # fmt: skip
    """What decides near ties; None where no column has long fractions, or where each file has a scale of its own."""
    slack = None if power is None else slack_of(power, factor, [len(factor)], absolute=metric == "l1")
    if power is None or slack is None:
        return None

    def exact_weights() -> list[Fraction]:
        each = [Fraction((weights or {}).get(name, 1.0)) for name in pair.names]
        return [
            exact_weight(column) * (w * w if metric == "l1" else w) for column, w in zip(original.T, each, strict=True)
        ]

    place = partial(in_steps, power=power)
    return ExactTies(pair.a, placed, factor, place, [len(factor)], slack, exact_weights, metric == "l1")


def _prepare(
    pair: Files, scaling: Scaling, metric: Metric, weights: Mapping[str, float] | None, ties: Ties
) -> tuple[Array, Array, Array, Indices | None]:
    """Both files and the factor of each column, weights included; and the steps in which they are measured, if both are on the original's scale."""
    problems = Problems("the distance attack cannot run", ParameterError)
    problems.found += wrong_choices(metric=(metric, Metric), ties=(ties, Ties))
    for name, weight in (weights or {}).items():
        if name not in pair.names:
            problems.add(f"the weight of {name!r} belongs to no known attribute")
        elif not 0 <= weight < np.inf:
            problems.add(f"the weight of {name!r} must be a number of at least 0. Got {weight}.")
    problems.raise_if_any()
    each = np.array([(weights or {}).get(name, 1.0) for name in pair.names])
    if scaling == "original":
        power, factor = scale_of(pair.a, pair.b)
        a, b = in_steps(pair.a, power), in_steps(pair.b, power)
    else:
        power = None
        a, b, factor = on_one_scale(pair.a, pair.b, scaling)
    return a, b, relative(factor * (each if metric == "l1" else np.sqrt(each))), power


# -- files in pieces --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NearestRecord(Attack):
    """Linkage to the nearest released record by the known attributes."""

    name: ClassVar[str] = "distance"
    figure: ClassVar[str] = "DLD"
    plain: ClassVar[str] = "linkage by distance"
    summary: ClassVar[str] = "Share of records that an intruder links right by taking the nearest published record."
    reference: ClassVar[str] = "Pagliuca and Seri 1999"
    on_files: ClassVar[Callable[..., Links] | None] = partial(distance)
    options: ClassVar[tuple[str, ...]] = ("one_to_one", "blocking", "direction")

    metric: Metric = param("euclidean", one_of("euclidean", "l1"), "whether squared or absolute differences are summed")

    def of_column(self, column: Column) -> Result:
        """Its scale."""
        return {"scale": column.scale}

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with all distinct rows."""
        compared = compared_rows(situation.distinct, max(situation.counts))
        return [Trial(situation.affordable(compared), {"scales": situation.from_columns("scale")})]

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest by the first of some columns."""
        columns, scales = task["columns"], task["scales"]
        if task["scaling"] == "original":
            power, factor = np.array([scale[0] for scale in scales]), relative(np.array([scale[1] for scale in scales]))
        else:
            factor = np.ones(len(columns))

        def place(table: Array, side: Side) -> Array:
            if task["scaling"] == "original":
                return in_steps(table, power)
            mean, deviation = np.array([scale[2 if side == "original" else 3] for scale in scales]).T
            return np.asarray(np.divide(table - mean, deviation, out=np.zeros_like(table), where=deviation > 0))

        written = targets.values(columns)
        known = np.ascontiguousarray(place(written, "original"))

        def placed(values: Array) -> Array:
            return place(values[:, columns], "released")

        absolute, counts, exact = self.metric == "l1", task["counts"], None
        slack = None if task["scaling"] != "original" else slack_of(power, factor, counts, absolute=absolute)
        if slack is not None:
            files, store = targets.files, targets.store

            def exact_weights() -> list[Fraction]:
                return [exact_weight(files.column(store, "original", at)) for at in columns]

            exact = ExactTies(written, known, factor, placed, counts, slack, exact_weights, absolute, columns)
        return nearest_of_targets(targets, known, placed, factor, counts, self.metric, exact=exact)
