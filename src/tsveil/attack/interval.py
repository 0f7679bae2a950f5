"""Interval disclosure of microdata: values that the released ones give away to within a few ranks.

Around the rank of each released value x' lies an interval of w percent of the records; an original value x whose rank falls
inside counts as disclosed. Ranks are positions in the sorted original column. Equal values share an interval of ranks,

    [searchsorted(column, x, left), searchsorted(column, x, right) - 1]

and the gap between the intervals of x and x' counts: 0 where they overlap. ID is the share of values with

    gap <= w n / 100

averaged over w = 1, ..., 10. A released file that equals the original has ID 100.

References
----------
.. [1] J. Domingo-Ferrer, V. Torra, A quantitative comparison of disclosure control methods for microdata, in
   Confidentiality, Disclosure and Data Access, North-Holland (2001) 111-133.

Examples
--------
>>> import tsveil as tv
>>> data = tv.Dataset.from_arrays({"pay": [[v] for v in range(100)]})
>>> found = tv.attack.interval(data, data.with_values(data.values + 5))
>>> found.rate, found.by_percent
(61.0, array([  1.,   2.,   3.,   4., 100., 100., 100., 100., 100., 100.]))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tsveil.attack.files import HasData, files
from tsveil.attack.sorted_column import SortedColumn
from tsveil.core.errors import ParameterError
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset

#: interval widths, in percent of the records
PERCENTS = tuple(range(1, 11))


@dataclass(frozen=True, eq=False, repr=False)
class Intervals:
    """The share of disclosed values, in percent."""

    #: for each interval width
    by_percent: Array
    #: for each original record over its known values and all widths; 0 where it was not released
    per_record: Array
    #: for each known attribute
    per_attribute: Mapping[str, float]

    @property
    def rate(self) -> float:
        """The mean over the interval widths: ID."""
        return float(self.by_percent.mean())

    def __repr__(self) -> str:
        return f"Intervals: {self.rate:.1f} % of the values disclosed"


def interval(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    percents: Iterable[float] = PERCENTS,
) -> Intervals:
    """The share of values of the known attributes within w percent of the ranks around the released ones, for each w.

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
    percents
        The widths w, in percent of the records.

    Returns
    -------
    Intervals
        The shares, by width and attribute.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    widths = [float(percent) for percent in percents]
    if not widths or not all(0 <= width < np.inf for width in widths):
        raise ParameterError(
            f"The 'percents' parameter of the interval attack must be one or more numbers of at least 0. Got {widths}."
        )
    pair = files(original, released, known, truth)
    linked = pair.own >= 0
    own = pair.own[linked]
    n = len(pair.a)
    hits = np.zeros((len(widths), len(own), len(pair.names)), dtype=np.bool_)
    for j in range(len(pair.names)):
        x, y = SortedColumn(pair.a[:, j]), SortedColumn(pair.b[:, j])
        gap = rank_gaps(x, y, linked, own)
        for w, width in enumerate(widths):
            hits[w, :, j] = gap * 100.0 <= width * n
    per_record = np.zeros(n)
    per_record[linked] = 100.0 * hits.mean(axis=(0, 2))
    per_attribute = 100.0 * hits.mean(axis=(0, 1))
    return Intervals(
        100.0 * hits.mean(axis=(1, 2)), per_record, dict(zip(pair.names, per_attribute.tolist(), strict=True))
    )


def ranks(ordered: Array, x: Array) -> tuple[Indices, Indices]:
    """The first and last rank of values in a sorted column; last = first - 1 for a value that does not occur.

    Examples
    --------
    >>> import numpy as np
    >>> ranks(np.array([1.0, 3.0, 3.0, 7.0]), np.array([3.0, 5.0]))
    (array([1, 3]), array([2, 2]))
    """
    return (
        np.searchsorted(ordered, x, side="left").astype(np.int64),
        np.searchsorted(ordered, x, side="right").astype(np.int64) - 1,
    )


def rank_gaps(x: SortedColumn, y: SortedColumn, linked: Mask | slice, own: Indices | slice) -> Indices:
    """The least differences between the ranks of some original values and of their released ones; 0 where their intervals of ranks overlap."""
    first, last = (x.back(rank)[linked] for rank in ranks(x.ordered, x.ordered))
    their_first, their_last = (y.back(rank)[own] for rank in ranks(x.ordered, y.ordered))
    gap: Indices = np.maximum(0, np.maximum(first - their_last, their_first - last))
    return gap


def disclosed_widths(x: SortedColumn, y: SortedColumn, own: Indices | None = None) -> AnyArray:
    """How many of the interval widths 1, ..., 10 percent around its released value disclose each original value of a column.

    `own` are the rows of the released values; 0 widths disclose a value that was not released (-1).
    """
    n = len(x.values)
    linked: Mask | slice = slice(None) if own is None else own >= 0
    gap = rank_gaps(x, y, linked, slice(None) if own is None else own[own >= 0]) * 100.0
    hits = np.zeros(n, dtype=np.uint8)
    for width in PERCENTS:
        hits[linked] += gap <= width * n
    return hits
