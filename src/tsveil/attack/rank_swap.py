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
>>> possible(a, b, 1, window=2)
array([1, 8])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from tsveil._types import Array, Indices
from tsveil.attack._files import Files, HasData, Ties, files
from tsveil.attack._ranges import nearest_in_all, nearest_in_most
from tsveil.attack.distance import checked_counts
from tsveil.attack.interval import ranks
from tsveil.attack.links import Links
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.errors import ParameterError

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
    """Link originals to the nearest released record that rank swapping with a window of p percent can have made of them.

    `window` gives the window as a number of ranks instead.
    """
    pair = files(original, released, known, truth)
    return _rounds(pair, [len(pair.names)], p, window, rule, ties)[0]


def rank_swap_prefixes(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    truth: Truth = None,
    p: float = UNKNOWN,
    window: int | None = None,
    rule: Rule = "intersection",
    ties: Ties = "expected",
) -> list[Links]:
    """The linkage with the first 1, 2, ..., all known attributes (or the given numbers of them)."""
    pair = files(original, released, known, truth)
    return _rounds(pair, checked_counts(counts, len(pair.names)), p, window, rule, ties)


def possible(
    original: Dataset,
    released: Dataset | HasData,
    row: int,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    p: float = UNKNOWN,
    window: int | None = None,
) -> Indices:
    """The rows of the released records that one original record can have become, in the order of the release."""
    pair = files(original, released, known, truth)
    low, high = _ranges(pair, _window(pair, p, window))
    inside = np.ones(len(pair.b), dtype=np.bool_)
    for j in range(len(pair.names)):
        order = np.argsort(pair.b[:, j], kind="stable")
        these = np.zeros(len(pair.b), dtype=np.bool_)
        these[order[low[row, j] : high[row, j]]] = True
        inside &= these
    return np.flatnonzero(inside)


def ranks_of(n: int, p: float) -> int:
    """The window in ranks for a percentage of n records: at least 1, halves up.

    Examples
    --------
    >>> ranks_of(1080, 2), ranks_of(10, 1)
    (22, 1)
    """
    return max(1, math.floor(n * p / 100 + 0.5))


def _rounds(pair: Files, counts: list[int], p: float, window: int | None, rule: Rule, ties: Ties) -> list[Links]:
    if rule not in ("intersection", "union"):
        raise ParameterError(
            f"The 'rule' parameter of the rank_swap attack must be 'intersection' or 'union'. Got {rule!r}."
        )
    if ties not in ("expected", "first"):
        raise ParameterError(
            f"The 'ties' parameter of the rank_swap attack must be 'expected' or 'first'. Got {ties!r}."
        )
    w = _window(pair, p, window)
    low, high = _ranges(pair, w)
    if rule == "union":
        return nearest_in_most(pair, low, high, counts, ties, f"rank linkage within {w} ranks most often")
    # Where fewer records are released than people are known, the right one may be missing.
    complete = len(pair.a) <= len(pair.b)
    return nearest_in_all(pair, low, high, counts, ties, f"rank linkage within {w} ranks", exact=complete)


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


def within_ranks(a: Array, released: Array, w: int) -> tuple[Indices, Indices]:
    """For each value of a column the positions in the sorted released column that are within w ranks: the first, and one after the last.

    Examples
    --------
    >>> within_ranks(np.array([10.0, 30.0, 20.0]), np.array([10.0, 20.0, 30.0]), 1)
    (array([0, 1, 0]), array([2, 3, 3]))
    """
    ruler = np.sort(a) if len(a) == len(released) else released
    first, last = ranks(ruler, a)
    their_first, their_last = ranks(ruler, released)
    return np.searchsorted(their_last, first - w, side="left"), np.searchsorted(their_first, last + w, side="right")
