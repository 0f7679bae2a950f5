"""Linkage of records with labels by distance: each original record is linked to the nearest released one, numbers, series and labels together.

    d(x, y)^2 = sum over features c of d_c(x, y)^2 / m_c

A feature is a column, or a series as one. d_c is |x - y| for numbers; 0 or 1 for nominal labels; |difference of ranks| / (levels - 1) for ordinals; for hierarchies
the height of the lowest common ancestor over that of the tree. m_c is the mean of d_c^2 over all pairs of originals, so that each feature weighs
the same; a feature without spread is left out. It is the distance by which records are grouped (`tsveil.transform.mixed`). A published node that stands above several labels has the
distance of any two nodes: '*' is at 1 from every label. Where such nodes are published, a second distance is tried, and the better one counts: a node may be any label below it
(*possible*), so it is at 0 from all of these.

The intruder knows the first feature, the first two, and so on up to all; a series is known as a whole. A tie among t released records counts 1/t right link if the own
one is among them.

References
----------
.. [1] J. Domingo-Ferrer, V. Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation, DMKD 11 (2005).
.. [2] D. Pagliuca, G. Seri, Some results of individual ranking method on the system of enterprise accounts annual survey, Esprit SDC Project (1999).

Examples
--------
>>> import tsveil as tv
>>> data = tv.example("device-states")
>>> NearestMixed().links(data, data).rate
100.0
>>> NearestMixed().links(data, tv.MDAV(k=5).protect(data)).rate < 20
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import UNAIDED, Attack, Column, Knowledge, Situation, Trial
from tsveil.attack.candidates import Found, nearest_in_pieces
from tsveil.attack.files import HasData, mean_and_deviation
from tsveil.attack.labels import LabelFeature, features, ways
from tsveil.attack.links import Links
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.pieces import Columns, Pieces, Targets
from tsveil.attack.whole_records import links_of_whole_records
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.categories import Categories
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task
from tsveil.engine.local import map_chunks
from tsveil.transform.mixed import Feature, Labels, MixedSpace, in_use, mean_square, root_of_numbers

#: coordinates beyond this are as far as can be
FARTHEST = 1e150
#: the way in which a published node may be any label below it
POSSIBLE = "possible"


@dataclass(frozen=True, kw_only=True)
class NearestMixed(Attack):
    """Linkage to the nearest released record by numbers, series and labels together."""

    name: ClassVar[str] = "mixed-distance"
    figure: ClassVar[str] = "LDLD"
    plain: ClassVar[str] = "linkage by distance, with labels"
    summary: ClassVar[str] = (
        "Share of records that an intruder links right by taking the nearest published record, labels counted."
    )
    reference: ClassVar[str] = "Domingo-Ferrer and Torra 2005"
    of_series: ClassVar[bool | None] = None
    of_labels: ClassVar[bool] = True

    def links(self, original: Dataset, released: Dataset | HasData, **given: Any) -> Links:
        """With whole records known."""
        return links_of_whole_records(self, original, released, **given)

    def knowledge(self, files: Pieces) -> Knowledge:
        """All features, from the first to all."""
        ends = [one.columns.stop for one in features(files.blocks)]
        blocks = [list(range(len(files.columns))[files.span(block.name)]) for block in files.blocks]
        return Knowledge(range(len(files.columns)), ends, blocks, list(range(1, len(blocks) + 1)))

    def of_column(self, column: Column) -> Result:
        """Its mean squared distance over all pairs of originals, or what that follows from."""
        one = next(one for one in features(column.files.blocks) if column.at in one.columns)
        x = column.x.ordered
        if one.categories is None:
            deviation = float(mean_and_deviation(x[:, None])[1][0]) * np.sqrt((len(x) - 1) / len(x))
            return {"low": float(x[0]), "range": float(x[-1] - x[0]), "deviation": float(deviation)}
        labels = labels_of(one.categories)
        square = mean_square(labels, np.bincount(x.astype(np.int64), minlength=labels.leaves))
        return {"square": square, "above": bool(column.y.ordered[-1] >= labels.leaves)}

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with all distinct rows."""
        facts = [dict(situation.of_columns[at]) for at in situation.columns]
        targets = situation.affordable(situation.distinct * UNAIDED)
        ways = ["", POSSIBLE] if any(each.get("above") for each in facts) else [""]
        return [Trial(targets, {"facts": facts, "possible": way == POSSIBLE}, way) for way in ways]

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest by the first of the features."""
        space = Space.of(targets.files.blocks, task["facts"], task["counts"])
        Z, V = space.place(targets.values())

        def search(rows: Rows) -> Near:
            return nearest_rows(space, Z, V, rows, possible=task["possible"])

        return nearest_in_pieces(targets, len(task["counts"]), search)


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


def nearest_rows(space: Space, Z: Array, V: AnyArray, rows: Rows, *, possible: bool = False) -> Near:
    """The nearest of some distinct rows for each known record and round; `possible`: a published node may be any label below it."""
    from tsveil._kernels.nearest_mixed import nearest_mixed

    T, U = (np.ascontiguousarray(each.T) for each in space.place(rows.values, possible=possible))
    shape, whose = (len(Z), len(space.ends)), rows.whose
    best, (tied, link, hit) = np.full(shape, np.inf), (np.full(shape, start, dtype=np.int64) for start in (0, -1, 0))

    def work(low: int, high: int) -> None:
        nearest_mixed(
            Z[low:high], V[low:high], T, U, space.spans, space.factors, space.ends,
            rows.copies, rows.first, whose.owner, whose.records, whose.mine[low:high],
            best[low:high], tied[low:high], link[low:high], hit[low:high],
        )  # fmt: skip

    map_chunks(work, len(Z), 256)
    return Near(best, tied, link, hit)
