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

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import UNAIDED, Attack, Column, Knowledge, Situation, Trial
from tsveil.attack.candidates import Found, nearest_in_pieces
from tsveil.attack.files import HasData
from tsveil.attack.labels import features
from tsveil.attack.links import Links
from tsveil.attack.mixed_space import Space, facts_of
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.pieces import Pieces, Targets
from tsveil.attack.whole_records import links_of_whole_records
from tsveil.core.types import AnyArray, Array
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task
from tsveil.engine.local import map_chunks

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
        return facts_of(column)

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
