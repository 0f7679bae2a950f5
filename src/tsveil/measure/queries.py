"""Queries on a published table of envelopes and patterns.

**Range count**: how many records have values in given intervals at given time points? An envelope that lies inside all
intervals counts for certain; one that misses an interval cannot count; between the two bounds an estimate supposes that
values are spread evenly over the envelope, independently at each point:

    least     the records with [lo_t, hi_t] inside [a_t, b_t] at every named t
    most      the records with [lo_t, hi_t] meeting [a_t, b_t] at every named t
    estimate  the sum over the records of prod_t (length of the overlap / (hi_t - lo_t)); a bound of width 0 is in or out

**Similar patterns**: which records have the shape of a given curve? The curve is z-normalised and cut into segments as
the series were; records are ranked by the distance of its segment means to p*, what their patterns stand for. That may miss
a record whose pattern is coarse. With `within` no record is missed whose z-normalised series lies within that Euclidean
distance of the curve: the distance to a pattern's cells (SAX MINDIST) is never larger than the distance to the series
itself.

References
----------
.. [1] X. Shang, K. Chen, L. Shou, G. Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series
   data, CIKM (2010) 1333-1336.
.. [2] J. Lin, E. Keogh, S. Lonardi, B. Chiu, A symbolic representation of time series, DMKD workshop of SIGMOD (2003)
   2-11.

Examples
--------
>>> import polars as pl
>>> query = Queries.of(pl.DataFrame({
...     "lo_mon": [1, 1, 5], "hi_mon": [3, 3, 9], "lo_tue": [2, 2, 0], "hi_tue": [4, 4, 1],
...     "pattern": ["ab", "ab", "ba"], "level": [2, 2, 2],
... }))
>>> query.range_count({"mon": (0, 4), "tue": (3, 9)})
RangeCount(least=0, most=2, estimate=1.0)
>>> query.similar([10, 20], top=1)["pattern"].to_list()
['ab']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tsveil.core.errors import InputError, ParameterError, Problems, some
from tsveil.core.types import Array, ArrayLike, Mask
from tsveil.data.intervals import LEVEL, WORD, IntervalTable, read_table
from tsveil.transform.exact import parts, total
from tsveil.transform.pattern import as_symbols, mindist, read_back, segments
from tsveil.transform.sax import ROUNDING, patterns

Range = tuple[float | None, float | None]


def range_shares(lo: Array, hi: Array, low: Array, high: Array) -> tuple[Mask, Mask, Array]:
    """Which records lie in some ranges for certain, which may, and the estimated share of each; the first axis is that of the time points.

    Examples
    --------
    >>> range_shares(np.array([[1.0, 5.0]]), np.array([[3.0, 6.0]]), np.array([2.0]), np.array([4.0]))
    (array([False, False]), array([ True, False]), array([0.5, 0. ]))
    """
    inside, meets, estimate = np.ones(lo.shape[1:], np.bool_), np.ones(lo.shape[1:], np.bool_), np.ones(lo.shape[1:])
    for bottom, top, a, b in zip(lo, hi, low, high, strict=True):
        inside &= (bottom >= a) & (top <= b)
        meets &= (bottom <= b) & (top >= a)
        width = top - bottom
        overlap = np.minimum(top, b) - np.maximum(bottom, a)
        # A point inside the range counts whole; where the envelope misses the range nothing counts.
        estimate *= np.divide(overlap, width, out=np.ones_like(width), where=width > 0)
    return inside, meets, np.where(meets, estimate, 0.0)


def shape_distances(stands_for: Array, means: Array, points: int) -> Array:
    """How far what the words of some records stand for is from a curve, given by the means of its segments.

    Examples
    --------
    >>> shape_distances(np.array([[-1.0, 1.0], [1.0, 2.0]]), np.array([-1.0, 1.0]), points=8).round(3)
    array([0.   , 4.472])
    """
    distance: Array = np.sqrt(points / len(means)) * np.sqrt(((stands_for - means) ** 2).sum(axis=1))
    return distance


@dataclass(frozen=True)
class RangeCount:
    """How many records fit: certain bounds, and an estimate between them."""

    least: int
    most: int
    estimate: float


@dataclass(frozen=True)
class Queries:
    """The queries that a published table answers."""

    table: IntervalTable

    @classmethod
    def of(cls, table: Any) -> Queries:
        """Queries on a frame of polars, pandas, pyarrow or DuckDB, or on the CSV or Parquet file of a release.

        Parameters
        ----------
        table
            The frame, or the path of the file.

        Returns
        -------
        Queries
            What can be asked of it.

        Raises
        ------
        InputError
            If it is no table of envelopes.
        """
        return cls(read_table(table))

    def range_count(self, ranges: Mapping[Any, Range | Sequence[float | None]]) -> RangeCount:
        """How many records have values in these ranges.

        Parameters
        ----------
        ranges
            Time point to (from, to), both included; None leaves a side open.

        Returns
        -------
        RangeCount
            The bounds of the count, and what is expected.

        Raises
        ------
        InputError
            If a time point is not in the table, or a range is none.
        """
        at, low, high = self._ranges(ranges)
        inside, meets, share = range_shares(self.table.lo.T[at], self.table.hi.T[at], low, high)
        return RangeCount(int(inside.sum()), int(meets.sum()), total(parts(share)))

    def _ranges(self, ranges: Mapping[Any, Any]) -> tuple[list[int], Array, Array]:
        problems = Problems("the range query cannot be answered", ParameterError)
        places = {label: at for at, label in enumerate(self.table.labels)}
        at, low, high = [], [], []
        if not ranges:
            problems.add("it names no time point")
        for key, bounds in ranges.items():
            label = str(key)
            if label not in places:
                problems.add(f"there is no time point {label!r}")
                problems.hint(f"time points: {some(self.table.labels, 20)}")
                continue
            try:
                first, last = (None if bound is None else float(bound) for bound in bounds)
            except (TypeError, ValueError):
                problems.add(f"the range of {label!r} must be two numbers (None: open). Got {bounds!r}.")
                continue
            first, last = -np.inf if first is None else first, np.inf if last is None else last
            if not first <= last:
                problems.add(f"the range of {label!r} ends ({last:g}) before it begins ({first:g})")
            at.append(places[label])
            low.append(first)
            high.append(last)
        problems.raise_if_any()
        return at, np.array(low), np.array(high)

    def similar(self, pattern: ArrayLike, top: int = 20, *, within: float | None = None) -> pl.DataFrame:
        """The records whose published pattern is most like a curve.

        Parameters
        ----------
        pattern
            The curve: any number of values from the word length on, spread evenly over the time of the series; its level and scale do not matter.
        top
            How many records.
        within
            All records that may lie within this distance of the curve, in place of `top`: none which does is missed.

        Returns
        -------
        polars.DataFrame
            The nearest first: row (of the published table, from 1), pattern, level, distance (to what the word stands for) and at_least (the distance is certainly not less).

        Raises
        ------
        InputError
            If the table has no patterns, or the curve is too short.
        ParameterError
            If top or within is out of range.
        """
        table = self.table
        if not table.words or table.levels is None:
            raise InputError("the table has no patterns; it cannot say which series are similar")
        means = self._means(pattern, segments(table.words[0]))
        if within is None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
            raise ParameterError(f"The 'top' parameter of similar must be an integer of at least 1. Got {top!r}.")
        if within is not None and not within >= 0:
            raise ParameterError(f"The 'within' parameter of similar must be a number of at least 0. Got {within!r}.")
        letters = as_symbols(table.words)
        points = len(table.labels)
        distance = shape_distances(read_back(letters, table.levels), means, points)
        bound = mindist(means, letters, table.levels, points)
        order = np.argsort(distance, kind="stable")
        if within is None:
            order = order[:top]
        else:
            order = order[bound[order] <= within + ROUNDING * np.sqrt(points)]
        return pl.DataFrame(
            {
                "row": order + 1,
                WORD: [table.words[row] for row in order.tolist()],
                LEVEL: table.levels[order],
                "distance": distance[order],
                "at_least": bound[order],
            }
        )

    @staticmethod
    def _means(pattern: ArrayLike, w: int) -> Array:
        try:
            curve = np.asarray(pattern, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("the pattern must be a sequence of numbers") from None
        if curve.ndim != 1 or len(curve) < w or not np.isfinite(curve).all():
            raise InputError(
                f"the pattern must be a sequence of at least {w} finite numbers (the published patterns have {w} segments). Got the shape {curve.shape}."
            )
        means: Array = patterns(curve[None, :], w)[0]
        return means
