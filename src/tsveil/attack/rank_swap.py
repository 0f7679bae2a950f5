"""Rank swapping record linkage (RS-RL): swapping moves a value by a few ranks, so only a few released records are possible.

Rank swapping with window w exchanges each value with one at most w ranks away. The released records whose value of attribute j
may come from an original record x are those within w ranks of it,

    B_j(x) = { x' : |rank(x'_j) - rank(x_j)| <= w },      x' in the intersection of B_1(x), ..., B_c(x)

and the person's own record is always among them: **if a single one is left, the link is certain**. Otherwise the nearest of them
is taken. Ranks are positions in the sorted original column; equal values share an interval of ranks, and the least
difference counts. If the files differ in size, ranks are taken in the released column, which a complete release of swapped
data leaves as it was. If the window is not known, an upper bound serves: 20 percent of the records by default.

Variants that swap a few values much farther (rank swapping p-distribution and p-buckets) empty the intersection. Against them
`rule="union"` counts for each released record in how many sets B_j it is and takes the nearest of those with the
highest count (the annotated union). On such data nothing is certain, whatever the rule: certainty presumes plain rank swapping,
a window at least as wide as the one used, and a complete release.

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, Rethinking rank swapping to decrease disclosure risk, Data and Knowledge Engineering 64
   (2008) 346-364.

Examples
--------
>>> import polars as pl, tsveil as tv
>>> original = pl.DataFrame({"x": [8, 6, 10, 7, 9, 2, 1, 4, 5, 3], "y": [9, 7, 3, 1, 4, 2, 10, 8, 5, 6]})
>>> swapped = pl.DataFrame({"x": [10, 5, 8, 9, 7, 4, 3, 2, 6, 1], "y": [10, 5, 4, 2, 3, 1, 9, 6, 7, 8]})
>>> a, b = (tv.Dataset.from_frame(frame, blocks={"all": ["x", "y"]}) for frame in (original, swapped))
>>> tv.attack.rank_swap(a, b, window=2)
Links: rank linkage within 2 ranks, 2 attributes known: 2.0 of 10 records re-identified (20.0 %), 1 with certainty
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tsveil.attack.base import RanksMostlyWithin, RanksWithin, Shape, Trace
from tsveil.attack.candidates import Found
from tsveil.attack.files import Files, HasData, Ties, files, wrong_choices
from tsveil.attack.links import Links
from tsveil.attack.pieces import Targets
from tsveil.attack.ranges import InRanges, in_most, nearest_in_ranges, within_ranks
from tsveil.core.errors import ParameterError
from tsveil.core.params import at_least, optional, param
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Task

Rule = Literal["intersection", "union"]

#: the upper bound for a window that is not known, in percent of the records
UNKNOWN = 20.0


def rank_swap(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    p: float = UNKNOWN,
    window: int | None = None,
    rule: Rule = "intersection",
    ties: Ties = "expected",
) -> Links:
    """Link originals to the nearest released record that rank swapping can have made of them.

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
    p
        The percent of the records by whose ranks a value may have moved.
    window
        The same as a number of ranks.
    rule
        What is done with the records that each attribute allows.
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
    if wrong := wrong_choices("rank_swap", rule=(rule, Rule), ties=(ties, Ties)):
        raise ParameterError(wrong[0])
    pair = files(original, released, known, truth)
    w = _window(pair, p, window)
    low, high = _ranges(pair, w)
    if rule == "union":
        return nearest_in_ranges(
            pair, low, high, ties, f"rank linkage within {w} ranks most often", most=True, exact=False
        )
    # Where fewer records are released than people are known, the right one may be missing.
    complete = len(pair.a) <= len(pair.b)
    return nearest_in_ranges(pair, low, high, ties, f"rank linkage within {w} ranks", exact=complete)


def ranks_of(n: int, p: float) -> int:
    """The window in ranks for a percentage of n records: at least 1, halves up.

    Examples
    --------
    >>> ranks_of(1080, 2), ranks_of(10, 1)
    (22, 1)
    """
    return max(1, math.floor(n * p / 100 + 0.5))


def _window(pair: Files, p: float, window: int | None) -> int:
    if window is None:
        if not 0 < p <= 100:
            raise ParameterError(f"The 'p' parameter of the rank_swap attack must be above 0 and at most 100. Got {p}.")
        return ranks_of(len(pair.b), p)
    if window < 0:
        raise ParameterError(f"The 'window' parameter of the rank_swap attack must be at least 0. Got {window}.")
    return window


def _ranges(pair: Files, w: int) -> tuple[Indices, Indices]:
    """For each original record and column the positions in the sorted released column that are within w ranks."""
    low = np.empty(pair.a.shape, dtype=np.int64)
    high = np.empty(pair.a.shape, dtype=np.int64)
    for j in range(len(pair.names)):
        low[:, j], high[:, j] = within_ranks(pair.a[:, j], np.sort(pair.b[:, j]), w)
    return low, high


# -- files in pieces --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RankLinkage(InRanges):
    """Linkage among the records within a few ranks in all known attributes."""

    name: ClassVar[str] = "rank_swap"
    figure: ClassVar[str] = "RSLD"
    plain: ClassVar[str] = "linkage by ranks"
    summary: ClassVar[str] = (
        "Share linked right among the published records whose values are only a few ranks away, as rank swapping leaves them."
    )
    reference: ClassVar[str] = "Nin, Herranz and Torra 2008"
    trace: ClassVar[type[Trace] | None] = RanksWithin
    on_files: ClassVar[Callable[..., Links] | None] = partial(rank_swap)

    window: int | None = param(
        None, optional(at_least(0)), f"how many ranks a value may have moved; {UNKNOWN:g} percent of the records"
    )

    @classmethod
    def looking_for(cls, trace: Any, release: Shape) -> Self:
        """Within as many ranks as values move."""
        return cls(window=ranks_of(release.n, UNKNOWN) if trace is None else trace.ranks)

    def describe(self) -> str:
        """With the window."""
        return self.plain if self.window is None else f"{self.plain.partition(',')[0]}, within {self.window}"

    def ranges(self, x: Array, released: Array) -> tuple[Indices, Indices]:
        """The positions within the window."""
        window = ranks_of(len(released), UNKNOWN) if self.window is None else self.window
        return within_ranks(x, released, window)


@dataclass(frozen=True, kw_only=True)
class MostRanks(RankLinkage):
    """Linkage among the records within a few ranks in most known attributes."""

    name: ClassVar[str] = "most_ranks"
    figure: ClassVar[str] = "RULD"
    plain: ClassVar[str] = "linkage by most ranks"
    summary: ClassVar[str] = (
        "Share linked right among the published records that are a few ranks away in as many attributes as any record is."
    )
    trace: ClassVar[type[Trace] | None] = RanksMostlyWithin
    usual: ClassVar[bool] = False
    on_files: ClassVar[Callable[..., Links] | None] = partial(rank_swap, rule="union")

    def records_per_target(self, widths: Sequence[float]) -> float:
        """All ranges are gone through."""
        return sum(widths) * len(widths)

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest of the records inside the ranges of most known columns."""
        return in_most(targets, task, self.figure)


@dataclass(frozen=True, kw_only=True)
class MostRanksWide(MostRanks):
    """The same within twice the number of ranks."""

    name: ClassVar[str] = "most_ranks_wide"
    figure: ClassVar[str] = "RULD2"
    plain: ClassVar[str] = "linkage by most ranks, wide"
    summary: ClassVar[str] = "Share linked right by most ranks with twice the number of ranks."

    @classmethod
    def looking_for(cls, trace: Any, release: Shape) -> Self:
        """Within as many ranks as most values move."""
        return cls(window=trace.wide)
