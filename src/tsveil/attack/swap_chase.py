"""The swap chase: a value that traded places leads from one link to the next, and a wrong link contradicts itself.

Rank swapping exchanges the values of a column in pairs. So if person a has row r, then in column c

    the owner b of the value that r shows traded with a,      b -> the row that shows the value of a

and one supposed link implies a link in each column, these imply others, and so on. A wrong one soon contradicts itself: one person with two rows, one row with two
persons, or a move beyond the window in any column. Both values of a trade must occur only once in their column. A person who is not known ends a chain; a row
that must be such a person's cannot be that of a known one. **If a single hypothesis for a person survives, it is certain, and so is all that it implies**; among several
the one is taken whose links are likeliest together: the logarithms of how likely each of their values moved from its rank to the other (`attack.moves`) are summed over
all links that follow. If the method is not known, the one with the most links is taken. Then the nearest.

A file of n records is gone through link by link, most hypotheses end after a few steps, and a right one often settles everybody. The window is published with the
method. Kinds of swapping without a closed window leave nothing certain unless everybody is known and about four columns have no ties, but a right chain gathers evidence with each
link, and a wrong one soon implies unlikely moves. Of more than 48 columns 48 at most are weighed, evenly spread.

After 2^34 steps (a few minutes; no file that we tried came near) nothing more is chased, and the nearest of the rows that are left counts. One task holds both files, so
the chase is not tried above 2^27 values.

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, Rethinking rank swapping to decrease disclosure risk, Data and Knowledge Engineering 64
   (2008) 346-364: the method, and linkage within its window, from which the chase starts.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> x = np.random.default_rng(1).normal(size=(200, 4))
>>> data = tv.Dataset.from_arrays({f"x{at}": x[:, [at]] for at in range(4)})
>>> release = tv.RankSwap(p=30).protect(data, seed=1)
>>> tv.attack.rank_swap(data, release, p=30).correct
12.0
>>> tv.attack.swap_chase(data, release, window=60)
Links: linkage by swap chase, within 60, 4 attributes known: 200.0 of 200 records re-identified (100.0 %), 200 with certainty
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tsveil.attack.base import Column, DrawsTrades, Shape, Situation, Trace, TradesOfValues, Trial
from tsveil.attack.candidates import Found
from tsveil.attack.files import HasData, on_one_scale
from tsveil.attack.joint import Joint, both_files
from tsveil.attack.links import Links
from tsveil.attack.moves import KEPT, Weights, even_places, in_words, method_in_words
from tsveil.attack.nearest import by_bytes
from tsveil.attack.pieces import Targets
from tsveil.attack.run import links_in_memory
from tsveil.core import progress
from tsveil.core.params import at_least, optional, param
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.data.store import Store
from tsveil.engine.base import Result, Task

#: steps after which nothing more is chased
BUDGET = 2**34


def swap_chase(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    window: int | None = None,
    method: DrawsTrades | None = None,
) -> Links:
    """Link all originals to released records by chasing the values that rank swapping exchanged.

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
    window
        The number of ranks that a value may have moved; 20 percent of the records unless given.
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
    return links_in_memory(SwapChase(window=window, drawn_by=in_words(method)), original, released, known, truth)


class Trades(NamedTuple):
    """What the chase needs of all columns: a row for each of them."""

    #: the positions in the sorted released column that each known person can have become
    low: AnyArray
    high: AnyArray
    #: the row at each position, and the position of each row
    order: AnyArray
    place: AnyArray
    #: the known person whose value a row shows, and the row that shows a person's value; -1 where such values are several (-2: nobody known has it)
    owner: AnyArray
    holder: AnyArray

    @classmethod
    def of(cls, known: Array, shown: Array, window: int | None) -> Trades:
        """Those of a table of persons and one of published rows."""
        from tsveil._kernels.swap_chase import TIED, trades_of_column

        (persons, columns), rows = known.shape, len(shown)
        empty = np.empty((columns, rows), np.int32)
        found = cls(
            np.zeros((columns, persons), np.int32),
            np.full((columns, persons), rows, np.int32),
            empty,
            np.empty_like(empty),
            np.empty_like(empty),
            np.full((columns, persons), TIED, np.int32),
        )
        for c in range(columns):
            order, people = np.argsort(shown[:, c], kind="stable"), np.argsort(known[:, c], kind="stable")
            found.order[c] = order
            trades_of_column(
                shown[order, c], order, known[people, c], people, -1 if window is None else window,
                found.low[c], found.high[c], found.place[c], found.owner[c], found.holder[c],
            )  # fmt: skip
        return found


@dataclass(frozen=True, kw_only=True)
class SwapChase(Joint):
    """Links of all known persons at once, which follow from one another."""

    name: ClassVar[str] = "swap_chase"
    figure: ClassVar[str] = "SCLD"
    plain: ClassVar[str] = "linkage by swap chase"
    summary: ClassVar[str] = (
        "Share found by who knows many persons and follows the swapped values from one record to the next."
    )
    reference: ClassVar[str] = "tsveil; on rank swapping as in Nin, Herranz and Torra 2008"
    trace: ClassVar[type[Trace] | None] = TradesOfValues

    window: int | None = param(None, optional(at_least(0)), "how many ranks a value may have moved; any number")
    drawn_by: str | None = param(None, optional(method_in_words()), "how trades are drawn; any way")

    @classmethod
    def looking_for(cls, trace: Any, release: Shape) -> Self:
        """Within as many ranks as values move."""
        return cls() if trace is None else cls(window=trace.ranks, drawn_by=in_words(trace.drawn_by))

    def describe(self) -> str:
        """With the window."""
        return self.plain if self.window is None else f"{self.plain}, within {self.window}"

    def of_column(self, column: Column) -> Result:
        """Whether the release has just the values of the original."""
        x, y = column.x.ordered, column.y.ordered
        if len(x) > len(y):
            return {"traded": False}
        at = np.minimum(np.searchsorted(y, x), len(y) - 1)
        return {"traded": bool((y[at] == x).all())}

    def plan(self, situation: Situation) -> list[Trial]:
        """Nowhere to begin if values were changed."""
        situation.store.remove(f"{KEPT}-")  # of an evaluation before this one
        return super().plan(situation) if all(situation.from_columns("traded")) else []

    def link(self, targets: Targets, task: Task) -> Found:
        """The links of all targets, and which of them are certain."""
        from tsveil._kernels.swap_chase import chase

        known, shown = both_files(targets, task["columns"])
        # Sorted by their bytes, the files are gone through in the same order whatever theirs was.
        persons, rows = by_bytes(known), by_bytes(shown)
        known, shown = np.ascontiguousarray(known[persons]), np.ascontiguousarray(shown[rows])
        a, b, factor = on_one_scale(known, shown)
        whose = targets.files.owners(targets.store)
        with progress.step("Chasing swapped values", total=len(known)) as counter:
            found = chase(
                *Trades.of(known, shown, self.window),
                np.ascontiguousarray(a * factor),
                np.ascontiguousarray(b * factor),
                rows,
                whose[rows],
                targets.mine[persons],
                BUDGET,
                counter,
                self.drawn_by is not None,
                *self._weighing(targets.store, task["columns"], known, shown),
            )
        back = np.argsort(persons)
        tied, link, hit, certain, possible = (each[back][None] for each in found)
        return Found(
            tied, link, hit, possible=possible, chance=hit / np.maximum(tied, 1), certain=certain.astype(np.bool_)
        )

    def _weighing(
        self, store: Store, columns: Sequence[int], known: Array, shown: Array
    ) -> tuple[AnyArray, AnyArray, AnyArray, Indices]:
        """What the links of a chain are weighed by: the kinds of known and of published values, tables, and where their kinds begin; nothing if the method is not known."""
        if self.drawn_by is None:
            nothing = np.zeros((0, 0), dtype=np.int16)
            return nothing, nothing, np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
        some = even_places(shown.shape[1])
        weights = Weights.of(store, self.drawn_by, [columns[at] for at in some], list(np.sort(shown[:, some].T)))
        return weights.kinds(known[:, some]), weights.kinds(shown[:, some]), weights.tables, weights.begins
