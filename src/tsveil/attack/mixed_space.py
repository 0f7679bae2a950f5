"""The space of mixed distances, as attacks on records with labels need it: the scale of each feature from what is found of its columns, and where records lie.

The formula stands in `tsveil.attack.mixed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tsveil.attack.base import Column
from tsveil.attack.files import mean_and_deviation
from tsveil.attack.labels import LabelFeature, features, ways
from tsveil.attack.pieces import Columns
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.categories import Categories
from tsveil.engine.base import Result
from tsveil.engine.local import map_chunks
from tsveil.transform.mixed import Feature, Labels, MixedSpace, in_use, mean_square, root_of_numbers

#: coordinates beyond this are as far as can be
FARTHEST = 1e150


def facts_of(column: Column) -> Result:
    """The mean squared distance of a column over all pairs of originals, or what that follows from; and whether nodes above labels are published."""
    one = next(one for one in features(column.files.blocks) if column.at in one.columns)
    x = column.x.ordered
    if one.categories is None:
        deviation = float(mean_and_deviation(x[:, None])[1][0]) * np.sqrt((len(x) - 1) / len(x))
        return {"low": float(x[0]), "range": float(x[-1] - x[0]), "deviation": float(deviation)}
    labels = labels_of(one.categories)
    square = mean_square(labels, np.bincount(x.astype(np.int64), minlength=labels.leaves))
    return {"square": square, "above": bool(column.y.ordered[-1] >= labels.leaves)}


def labels_of(categories: Categories) -> Labels:
    """What distances need of the labels of a column, and of the nodes above them."""
    return Labels(categories.kind == "ordinal", ways(categories), categories.leaves)


@dataclass(frozen=True, eq=False)
class Space:
    """Where records lie, and which features are known in each round."""

    features: Sequence[Feature]
    #: for each feature the height of its tree (0: coordinates), and its first column and one after the last among coordinates or levels
    spans: Indices
    factors: Array
    #: for each round its last feature; -1: none
    ends: Indices

    @classmethod
    def of(cls, blocks: Sequence[Columns], facts: Sequence[Result], counts: Sequence[int]) -> Space:
        """From what was found of each column, for the rounds that know this many of the columns."""
        used = [one for one in (feature_of(each, facts) for each in features(blocks)) if in_use(one)]
        spans, factors, at = [], [], {True: 0, False: 0}
        for one in used:
            tree = one.labels is not None and not one.labels.ordinal
            height = one.labels.height if one.labels is not None and tree else 0
            width = len(one.columns) * max(height, 1)
            spans.append((height, at[tree], at[tree] + width))
            factors.append(1 / (one.root * height) ** 2 if height else 0.0)
            at[tree] += width
        ends = [sum(one.columns.stop <= count for one in used) - 1 for count in counts]
        return cls(used, np.array(spans, dtype=np.int64).reshape(-1, 3), np.array(factors), np.array(ends))

    def place(self, values: Array, *, possible: bool = False) -> tuple[Array, AnyArray]:
        """Coordinates and levels of some records; `possible`: what is below a node may be anything."""
        space = MixedSpace.of(values, self.features)
        levels = space.levels
        if possible:
            levels, at = levels.copy(), 0
            for one in self.features:
                if one.labels is None or one.labels.ordinal:
                    continue
                below = np.zeros(one.labels.paths.shape, dtype=np.bool_)
                below[:, 1:] = one.labels.paths[:, 1:] == one.labels.paths[:, :-1]
                below[: one.labels.leaves] = False
                codes = values[:, one.columns.start : one.columns.stop].astype(np.int64)
                width = len(one.columns) * one.labels.height
                levels[:, at : at + width][below[codes][:, :, 1:].reshape(len(values), width)] = -1
                at += width
        return np.clip(space.coordinates, -FARTHEST, FARTHEST), levels


def feature_of(one: LabelFeature, facts: Sequence[Result]) -> Feature:
    """A feature with its scale."""
    own = [facts[at] for at in one.columns]
    if one.categories is not None:
        return Feature(one.columns, float(np.sqrt(sum(each["square"] for each in own))), labels_of(one.categories))
    deviations, ranges, low = (np.array([each[what] for each in own]) for what in ("deviation", "range", "low"))
    return Feature(one.columns, root_of_numbers(deviations, ranges), low=low)


def distance_table(space: Space, x: Array, y: Array) -> Array:
    """The distances of all pairs of some known and some published records, by all features."""
    from tsveil._kernels.nearest_mixed import mixed_table

    (Z, V), (T, U) = space.place(x), (np.ascontiguousarray(each.T) for each in space.place(y))
    found = np.empty((len(x), len(y)))
    map_chunks(lambda i, j: mixed_table(Z[i:j], V[i:j], T, U, space.spans, space.factors, found[i:j]), len(x), 64)
    return np.asarray(np.sqrt(found))
