"""Linkage by keys of which cells were emptied: each original record is linked to the compatible released record with the fewest empty cells.

A released record is compatible with an original one if each of its labels is the original one, or stands above it, as an empty cell does. Local suppression empties as few cells
as possible, so what still shows the person's keys is more probably the person's than what lost them:

    d(x, y) = number of columns in which y stands above several labels + (columns + 1) * number of columns in which y does not stand above x

Of records at the same distance those with the fewest equal ones are taken: a guess in a small class is right more often. If t rows tie, the link is right with probability 1/t. Numbers and series are not looked at.

References
----------
.. [1] R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data publishing, VLDB (2007) 543-554: who knows that as
   little as possible was changed learns from what was changed.

Examples
--------
>>> import tsveil as tv
>>> from tsveil.protect.local_suppression import LocalSuppression
>>> data = tv.example("wages")
>>> FullestKeys().links(data, LocalSuppression(k=5).protect(data)).rate < 20
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import UNAIDED, Attack, EmptyCells, Knowledge, Situation, Trace, Trial
from tsveil.attack.candidates import Found, nearest_in_pieces
from tsveil.attack.files import HasData
from tsveil.attack.labels import features, spans
from tsveil.attack.links import Links
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.pieces import Pieces, Targets
from tsveil.attack.whole_records import links_of_whole_records
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Task

#: cells that are compared at a time
CELLS = 2**22


@dataclass(frozen=True, kw_only=True)
class FullestKeys(Attack):
    """Linkage to the compatible records with the fewest empty cells."""

    name: ClassVar[str] = "fullest-keys"
    figure: ClassVar[str] = "FKLD"
    plain: ClassVar[str] = "linkage by the keys that are left"
    summary: ClassVar[str] = (
        "Share of records linked right by taking the published record that shows most of a person's keys and none of others."
    )
    reference: ClassVar[str] = "after Wong et al. 2007"
    of_series: ClassVar[bool | None] = None
    of_labels: ClassVar[bool] = True
    trace: ClassVar[type[Trace] | None] = EmptyCells

    def links(self, original: Dataset, released: Dataset | HasData, **given: Any) -> Links:
        """With all columns of labels known that are no series."""
        return links_of_whole_records(self, original, released, **given)

    def knowledge(self, files: Pieces) -> Knowledge:
        """The columns of labels that are no series, from the first to all."""
        every = features(files.blocks)
        places = [one.columns.start for one in every if not one.in_time and one.categories is not None]
        return Knowledge(places, range(1, len(places) + 1), [places] if places else [], [1] if places else [])

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with all distinct rows."""
        return [Trial(situation.affordable(situation.distinct * UNAIDED), {})]

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest in each round of knowledge."""
        columns, rounds = list(task["columns"]), np.array(task["counts"]) - 1
        categories = {at: one.categories for one in features(targets.files.blocks) for at in one.columns}
        every = [spans(own) for at in columns if (own := categories[at]) is not None]
        codes = targets.values(columns).astype(np.int64)
        known = np.column_stack([place[codes[:, at]] for at, (place, _, _) in enumerate(every)])

        def search(some: Rows) -> Near:
            shown = some.values[:, columns].astype(np.int64)
            first = np.column_stack([low[shown[:, at]] for at, (_, low, _) in enumerate(every)])
            last = np.column_stack([high[shown[:, at]] for at, (_, _, high) in enumerate(every)])
            step = max(1, CELLS // max(1, shown.size))
            found = [
                _nearest(known[at : at + step], first, last, rounds, some, at) for at in range(0, len(known), step)
            ]
            if not found:
                empty = np.zeros((0, len(rounds)), dtype=np.int64)
                return Near(empty.astype(np.float64), empty, empty, empty)
            return Near(*(np.concatenate(each) for each in zip(*found, strict=True)))

        return nearest_in_pieces(targets, len(rounds), search)


def _nearest(known: Indices, first: Indices, last: Indices, rounds: Indices, some: Rows, start: int) -> Near:
    """The nearest of some distinct rows for some targets, of which the first is number `start`."""
    here = known[:, None, :]
    fits = (first <= here) & (here < last)
    cost = np.where(fits, last - first > 1, first.shape[1] + 1)
    # Less than any step of the distance, and the less the fewer records are equal.
    among = 0.5 * (1 - 1 / some.copies)
    distance = cost.cumsum(axis=2)[:, :, rounds] + among[:, None]
    best = distance.min(axis=1)
    tied = distance == best[:, None, :]
    owner, records, mine = some.whose
    right = np.where(owner == mine[start : start + len(known), None], records, 0)
    return Near(
        best,
        (tied * some.copies[:, None]).sum(axis=1),
        np.where(tied, some.first[:, None], np.iinfo(np.int64).max).min(axis=1),
        (tied * right[:, :, None]).sum(axis=1),
    )
