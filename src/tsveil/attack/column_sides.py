"""Linkage by sides: a published value stands for a run of neighbouring values, so a known value can only be in the run below or in the run above.

Nearness adds up what is near in one column and far in another. Here a row that is on the wrong side in a single column is out, however near it is in the others:

    score(x, y) = sum_j log( p_j(run of y_j | x_j) / (share of the records that show y_j) )

and the row with the highest score is taken. `attack.runs` has the chances p: they follow from the two numbers next to the known value and from how many records show them. Unlike linkage by
alignment it knows one person and the release, and no ranks among the originals.

References
----------
.. [1] J. Nin, V. Torra, Analysis of the univariate microaggregation disclosure risk, New Generation Computing 27 (2009): the two neighbours of a value.
.. [2] I. P. Fellegi, A. B. Sunter, A theory for record linkage, Journal of the American Statistical Association 64 (1969) 1183-1210: likelihood ratios, summed over attributes.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> x = np.exp(np.random.default_rng(1).normal(size=(300, 4)))
>>> data = tv.Dataset.from_arrays({f"x{at}": x[:, [at]] for at in range(4)})
>>> release = tv.Mic1D(kappa=400).protect(data)
>>> tv.attack.distance(data, release).rate < tv.attack.column_sides(data, release, pooled=True).rate
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from tsveil.attack.base import Attack, Column, RunsOfColumns, Shape, Situation, Trace, Trial
from tsveil.attack.candidates import Found, nearest_in_pieces
from tsveil.attack.files import HasData
from tsveil.attack.links import Links
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.pieces import Targets
from tsveil.attack.run import links_in_memory
from tsveil.attack.runs import Runs, count_equal, likeliest
from tsveil.core.params import param, true_or_false
from tsveil.core.types import AnyArray
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task

#: what weighing one column costs, in comparisons of series
COLUMN = 2


def column_sides(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    pooled: bool = False,
) -> Links:
    """Link originals to the released records whose runs are likeliest to hold their values.

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
    pooled
        Runs go through several columns.

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
    return links_in_memory(ColumnSides(pooled=pooled), original, released, known, truth)


@dataclass(frozen=True, kw_only=True)
class ColumnSides(Attack):
    """Linkage to the released record whose runs of neighbouring values are likeliest to hold those that are known."""

    name: ClassVar[str] = "column_sides"
    figure: ClassVar[str] = "SDLD"
    plain: ClassVar[str] = "linkage by sides"
    summary: ClassVar[str] = (
        "Share linked right by who knows that a published value stands for neighbouring values, so that a known one can only be in the run below or above."
    )
    reference: ClassVar[str] = "tsveil; on neighbours as in Nin and Torra 2009"
    of_series: ClassVar[bool | None] = None
    trace: ClassVar[type[Trace] | None] = RunsOfColumns
    usual: ClassVar[bool] = False

    pooled: bool = param(
        False, true_or_false(), "whether runs go through several columns; else a value that one record shows is its own"
    )

    @classmethod
    def looking_for(cls, trace: Any, release: Shape) -> Self:
        """As the method makes runs."""
        return cls() if trace is None else cls(pooled=trace.pooled)

    def of_column(self, column: Column) -> Result:
        """Keep the runs of the released column."""
        values, sizes = count_equal(column.y.ordered)
        column.keep(f"{self.figure}.values", values)
        column.keep(f"{self.figure}.sizes", sizes)
        return {}

    def plan(self, situation: Situation) -> list[Trial]:
        """Each target is compared with all distinct rows."""
        return [Trial(situation.affordable(COLUMN * situation.distinct * len(situation.columns)), {})]

    def link(self, targets: Targets, task: Task) -> Found:
        """The likeliest of all distinct rows."""
        columns = task["columns"]

        def kept(what: str, column: int) -> AnyArray:
            found: AnyArray = targets.store.get(f"{self.figure}.{what}-{column}", whole=True)
            return found

        runs = Runs.together([(kept("values", column), kept("sizes", column)) for column in columns], self.pooled)
        known = runs.sides(targets.values(columns))

        def search(some: Rows) -> Near:
            return likeliest(runs, known, replace(some, values=some.values[:, columns]), task["counts"])

        return nearest_in_pieces(targets, len(task["counts"]), search)
