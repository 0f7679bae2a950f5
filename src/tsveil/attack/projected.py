"""Projected record linkage (Pro-RL): nearest in the space of projections, one number per block of attributes.

Microaggregation of a block moves records along all its attributes, but its projection onto one line much less, above all if the
groups were formed by that projection. So every block of both files is projected,

    pcp       sum_j a_j z_j, a the loadings of the first principal component
    zscores   sum_j z_j

with the means, deviations and loadings of the *released* file, and each original record is linked to the released one
whose projections are nearest (Euclidean). `projection="best"` takes the one of the two that gives more right links:
the intruder knows which projection a method used, or tries both.

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, On the disclosure risk of multivariate microaggregation, Data and Knowledge
   Engineering 67 (2008) 399-412, Algorithm 5 of the thesis of J. Nin (UAB 2008).

Examples
--------
>>> import numpy as np, tsveil as tv
>>> x = np.random.default_rng(0).normal(size=(100, 6))
>>> data = tv.Dataset.from_arrays({"a": x[:, :3], "b": x[:, 3:]})
>>> from tsveil.protect.projected import Projected
>>> release = Projected(k=5, projection="zscores").protect(data)
>>> tv.attack.distance(data, release)
Links: distance linkage, 6 attributes known: 30.5 of 100 records re-identified (30.5 %)
>>> tv.attack.projected(data, release)
Links: zscores projection linkage, 2 blocks known: 75.5 of 100 records re-identified (75.5 %)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from tsveil.attack.base import (
    Attack,
    Column,
    ProjectionsOfBlocks,
    Situation,
    Trace,
    Trial,
    centre_columns,
    released_scale,
)
from tsveil.attack.candidates import Found
from tsveil.attack.files import HasData, Ties, files, wrong_choices
from tsveil.attack.links import Links
from tsveil.attack.nearest_columns import compared_rows, nearest, nearest_of_targets
from tsveil.attack.pieces import Targets
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task
from tsveil.transform.exact import product_totals, products
from tsveil.transform.normalise import Ruler
from tsveil.transform.projection import loadings_of, weighted_sum

Projection = Literal["best", "pcp", "zscores"]
#: the projections that an intruder tries
WAYS = ("pcp", "zscores")


def projected(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    projection: Projection = "best",
    ties: Ties = "expected",
) -> Links:
    """Link originals to the released records whose projections are nearest.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The blocks or columns that the intruder knows; all by default. Of a block of which some columns are known only these are projected.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    projection
        The projection by which records were sorted before they were grouped.
    ties
        How ties count: "expected", the chance of guessing among them, or "first", the first one.

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
    if wrong := wrong_choices("projected", projection=(projection, Projection), ties=(ties, Ties)):
        raise ParameterError(wrong[0])
    pair = files(original, released, known, truth)
    scales = [released_scale(column) for column in pair.b.T]
    blocks = [(places, [scales[at] for at in places]) for places in _blocks(original, pair.names)]
    candidates = []
    for how in WAYS if projection == "best" else (projection,):
        directions = [
            Direction(places, own, weights_of(how, products(centre_columns(pair.b[:, places], own)), own))
            for places, own in blocks
        ]
        a, b = (projections(values, directions) for values in (pair.a, pair.b))
        links = nearest(pair, a, b, np.ones(len(blocks)), "euclidean", ties)
        words = f"{how} projection linkage, {len(blocks)} block{'s' * (len(blocks) != 1)} known"
        candidates.append(replace(links, attack=words, facts={"projection": how}))
    return max(candidates, key=lambda links: links.rate)


def _blocks(data: Dataset, names: Sequence[str]) -> list[list[int]]:
    """For each block with known columns the places of these, in the order in which the blocks become known."""
    home = {column: block.name for block in data.blocks for column in block.columns}
    blocks: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        blocks.setdefault(home[name], []).append(place)
    return list(blocks.values())


# -- projections ------------------------------------------------------------------------------------------------------

#: lowest value and width of a released column, and mean and deviation of what lies from 0 to 1 then
Scale = Sequence[float]


@dataclass(frozen=True)
class Direction:
    """How the columns of a block become one number: their places, scales and weights."""

    places: Sequence[int]
    scales: Sequence[Scale]
    weights: Sequence[float]


def weights_of(how: str, digits: Indices, scales: Sequence[Scale]) -> list[float]:
    """The weights of a block's columns, from the sums of products of its centred columns (see `transform.exact.products`)."""
    if how == "zscores":
        return [1.0] * len(scales)
    deviations = np.array([scale[3] for scale in scales])
    loadings: list[float] = loadings_of(product_totals(digits) / np.outer(deviations, deviations)).tolist()
    return loadings


def projections(table: Array, directions: Sequence[Direction]) -> Array:
    """The projection of each block, a column each."""
    found = []
    for direction in directions:
        low, width, mean, deviation = np.array(direction.scales).T
        z = Ruler(low, width, mean, deviation).measure(table[:, direction.places])
        found.append(weighted_sum(z, np.array(direction.weights)))
    return np.ascontiguousarray(np.stack(found, axis=1))


@dataclass(frozen=True, kw_only=True)
class NearestProjection(Attack):
    """Linkage to the nearest released record by the projections of the known blocks, by the better of two projections."""

    name: ClassVar[str] = "projected"
    figure: ClassVar[str] = "ProjLD"
    plain: ClassVar[str] = "linkage by projections"
    summary: ClassVar[str] = (
        "Share linked right by the nearest projection of each block of attributes, which microaggregation moves least."
    )
    reference: ClassVar[str] = "Nin, Herranz and Torra 2008"
    on_files: ClassVar[Callable[..., Links] | None] = partial(projected)
    trace: ClassVar[type[Trace] | None] = ProjectionsOfBlocks
    by_block: ClassVar[bool] = True

    def needs_products(self, blocks: Sequence[Sequence[int]]) -> bool:
        """For the loadings."""
        return True

    def of_column(self, column: Column) -> Result:
        """Its scale in the release."""
        return {"scale": column.released_scale}

    def plan(self, situation: Situation) -> list[Trial]:
        """Both projections: the intruder tries both, and takes the better."""
        targets = situation.affordable(compared_rows(situation.distinct, max(situation.counts)))
        blocks = [(list(places), [situation.of_columns[at]["scale"] for at in places]) for places in situation.blocks]
        trials = []
        for how in WAYS:
            each = zip(blocks, situation.products, strict=True)
            directions = [[places, scales, weights_of(how, digits, scales)] for (places, scales), digits in each]
            trials.append(Trial(targets, {"directions": directions}, way=how))
        return trials

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest by the projections of the first blocks."""
        directions = [Direction(*each) for each in task["directions"]]
        known = projections(targets.values(), directions)
        return nearest_of_targets(
            targets, known, lambda values: projections(values, directions), np.ones(len(directions)), task["counts"]
        )
