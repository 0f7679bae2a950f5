"""Linkage by likely moves: the row to which a person's values are likeliest to have been moved, where values trade places.

A swapped column is a permutation of itself, so the release says at which rank a known value was, and the method and its parameters say how likely each move is
(`attack.moves`). With ratio_j the chance that the value of attribute j moved from the person's rank to that of a row, over the chance of a random value,

    score(x, y) = sum_j log ratio_j(x_j, y_j) - log(1 + crowd(y)),      crowd(y) = mean over rows z of prod_j ratio_j(z_j, y_j)

and the row with the highest score is taken. The crowd is how likely somebody else would come out as that row, by the rows around it: attributes that have
much in common make some rows likely for many persons, and the product says so only if it is divided by that. It is a mean over all other rows, or over 256 rows that
are as good as random: the same ones whatever the order of the file.

More than a window: near moves and far ones are not alike, and neither are ranks at the ends of a column. Of more than 48 known columns 48 at most are used, evenly
spread. If the method is not known, trades within 20 percent of the ranks are supposed.

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, Rethinking rank swapping to decrease disclosure risk, Data and Knowledge Engineering 64
   (2008) 346-364: the methods, and linkage within a window.
.. [2] I. P. Fellegi, A. B. Sunter, A theory for record linkage, Journal of the American Statistical Association 64 (1969) 1183-1210: likelihood ratios, summed over
   attributes.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> x = np.random.default_rng(1).normal(size=(200, 4))
>>> data = tv.Dataset.from_arrays({f"x{at}": x[:, [at]] for at in range(4)})
>>> method = tv.RankSwapDistribution(p=10)
>>> release = method.protect(data, seed=1)
>>> tv.attack.rank_swap(data, release, p=10, rule="union").correct
96.0
>>> tv.attack.likely_moves(data, release, method=method).correct
125.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tsveil.attack.base import Attack, Column, DrawsTrades, Shape, Situation, Trace, TradesOfValues, Trial
from tsveil.attack.candidates import Found, joined_marks, nearest_in_pieces
from tsveil.attack.files import HasData
from tsveil.attack.links import Links
from tsveil.attack.moves import BLOCKS, KEPT, Weights, even_places, in_words, method_in_words
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.pieces import Targets
from tsveil.attack.run import links_in_memory
from tsveil.core import progress
from tsveil.core.params import optional, param
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task
from tsveil.engine.local import map_chunks

#: published rows that say how crowded it is around a row
AROUND = 256
#: what weighing one move costs, in comparisons of series
MOVE = 2
#: targets that are linked at a time
CHUNK = 256


def likely_moves(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    method: DrawsTrades | None = None,
) -> Links:
    """Link all originals to the released records to which the method is likeliest to have moved their values.

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
    method
        The method that made the release, which says how likely each move is; without it trades within 20 percent of the ranks are supposed.

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
    return links_in_memory(LikelyMoves(drawn_by=in_words(method)), original, released, known, truth)


@dataclass(frozen=True, kw_only=True)
class LikelyMoves(Attack):
    """Linkage to the released record whose values are likeliest to have traded places with those that are known."""

    name: ClassVar[str] = "likely_moves"
    figure: ClassVar[str] = "LMLD"
    plain: ClassVar[str] = "linkage by likely moves"
    summary: ClassVar[str] = (
        "Share linked right by how likely each value moved from its rank to another, which follows from the method of swapping."
    )
    reference: ClassVar[str] = "tsveil; on rank swapping as in Nin, Herranz and Torra 2008"
    of_series: ClassVar[bool | None] = None
    trace: ClassVar[type[Trace] | None] = TradesOfValues
    usual: ClassVar[bool] = False

    drawn_by: str | None = param(
        None, optional(method_in_words()), "how trades are drawn; uniformly within 20 percent of the ranks"
    )

    @classmethod
    def looking_for(cls, trace: Any, release: Shape) -> Self:
        """As the method draws trades."""
        return cls(drawn_by=None if trace is None else in_words(trace.drawn_by))

    def of_column(self, column: Column) -> Result:
        """Keep the sorted released column, in which ranks are found."""
        column.store.put(f"{self.figure}-{column.at}", column.y.ordered)
        return {}

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with all distinct rows."""
        used = len(even_places(len(situation.columns)))
        situation.store.remove(f"{KEPT}-")  # of an evaluation before this one
        return [Trial(situation.affordable(MOVE * situation.distinct * used), {})]

    def kept_bytes(self, release: Shape) -> int:
        """The tables of the moves of each column."""
        return 4 * min(release.n, BLOCKS) ** 2 * len(even_places(sum(map(len, release.blocks))))

    def link(self, targets: Targets, task: Task) -> Found:
        """The likeliest of all distinct rows."""
        store, files = targets.store, targets.files
        every = task["columns"]
        places = even_places(len(every))
        columns = [every[place] for place in places]
        rounds = np.searchsorted(places, np.array(task["counts"]))
        ordered = [store.get(f"{self.figure}-{column}", whole=True) for column in columns]
        weights = Weights.of(store, self.drawn_by, columns, ordered)
        # The marks of rows are as good as random, and the same in any order of the file.
        marks = joined_marks(store, "marks", len(files.released))
        around = np.lexsort(marks.T[::-1])[:AROUND]
        tables = weights.tables, weights.begins, rounds
        others = weights.kinds(files.rows(store, "released", around, columns)).T.copy()
        known = weights.kinds(targets.values(columns)).T.copy()

        def search(some: Rows) -> Near:
            return _likeliest(known, others, weights.kinds(some.values[:, columns]), tables, some)

        return nearest_in_pieces(targets, len(rounds), search)


def _likeliest(
    known: AnyArray, others: AnyArray, shown: AnyArray, tables: tuple[AnyArray, Indices, Indices], rows: Rows
) -> Near:
    """The likeliest of some rows for known records; all are given by the kinds of their values. `others` are those who crowd around a row."""
    from tsveil._kernels.moves import SCALE, crowd_of_rows, likeliest_rows

    crowd = np.rint(SCALE * np.log1p(crowd_of_rows(others, shown, *tables))).astype(np.int32)
    whose = rows.whose

    def work(start: int, stop: int) -> tuple[Array, Indices, Indices, Indices]:
        return likeliest_rows(
            known[start:stop], shown, *tables, crowd,
            rows.copies, rows.first, whose.owner, whose.records, whose.mine[start:stop], counter,
        )  # fmt: skip

    with progress.step("Linking records by likely moves", total=len(known)) as counter:
        parts = map_chunks(work, len(known), CHUNK)
    return Near(*(np.concatenate(each) for each in zip(*parts, strict=True)))
