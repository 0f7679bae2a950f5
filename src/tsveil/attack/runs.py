"""How likely values belong to runs of neighbours, each of which is published as one number: what linkages by sides add up.

Where a sorted column is cut into runs and each run is published as its mean, a known value can only be in one of the two runs whose numbers are next to it: that below and that above. Where
between them the border is, is not published. If values lie evenly there it divides the gap as the sizes of the runs say, and otherwise it may be anywhere; so it is supposed midway between
that place and the middle, give or take a tenth of the gap. With v_c < v_d the published numbers on both sides of a known value x, n_c and n_d the records that show them, and n all of them,

    t = (x - v_c) / (v_d - v_c)         b = 1/4 + n_c / (2 (n_c + n_d))         p(d) = 1 / (1 + exp((b - t) / 0.09))         p(c) = 1 - p(d)

and a row of run c counts by log(p(c) n / n_c), how much likelier it is than a row at random; rows of all other runs count -12. Where runs are made column by column, a
run of one record is the value itself: the value is equal to it, and then it is there, or it is not.

References
----------
None. That only two neighbours are possible is also used by J. Nin, V. Torra, Analysis of the univariate microaggregation disclosure risk, New Generation Computing 27 (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tsveil.attack.nearest import Near, Rows
from tsveil.core import progress
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.engine.local import map_chunks

#: logarithms are whole numbers of 1 / SCALE
SCALE = 1 << 16
#: the logarithm for a run that is not next to the value
FAR = -12 * SCALE
#: how much the border between two runs varies, as a part of their distance
BORDER = 0.09
#: targets that are linked at a time
CHUNK = 256


class Sides(NamedTuple):
    """The runs on both sides of known values, and the logarithms for them: tables of columns by records."""

    low: AnyArray
    high: AnyArray
    of_low: AnyArray
    of_high: AnyArray


class Runs(NamedTuple):
    """The runs of columns: the numbers published for them, ascending, and how many records show each; those of column c are at starts[c] to starts[c + 1].

    Examples
    --------
    >>> runs = Runs.of(np.array([[1.0], [1.0], [5.0], [5.0], [7.0]]))
    >>> runs.values, runs.sizes
    (array([1., 5., 7.]), array([2, 2, 1]))
    >>> found = runs.sides(np.array([[2.0], [4.5], [7.0]]))
    >>> found.low, found.high, found.of_low > found.of_high
    (array([[0, 0, 2]], dtype=int32), array([[1, 1, 2]], dtype=int32), array([[ True, False, False]]))
    """

    values: Array
    sizes: Indices
    starts: Indices
    #: whether runs go through several columns, so that a number which one record shows in one may stand for others
    pooled: bool

    @classmethod
    def of(cls, shown: Array, pooled: bool = False) -> Runs:
        """Those of published columns."""
        return cls.together([count_equal(column) for column in np.sort(shown.T)], pooled)

    @classmethod
    def together(cls, columns: Sequence[tuple[Array, Indices]], pooled: bool) -> Runs:
        """From the numbers of each column and how many records show them."""
        values, sizes = zip(*columns, strict=True)
        starts = np.cumsum([0, *map(len, values)])
        return cls(np.concatenate(values), np.concatenate(sizes), starts, pooled)

    def sides(self, known: Array) -> Sides:
        """The runs next to each value of known records."""
        from tsveil._kernels.sides import runs_beside

        known = np.ascontiguousarray(known.T)
        return Sides(*runs_beside(known, self.values, self.sizes, self.starts, self.pooled, SCALE, FAR, BORDER))

    def of_rows(self, shown: Array) -> AnyArray:
        """The runs that published rows are in: columns by rows."""
        from tsveil._kernels.sides import runs_of_rows

        return runs_of_rows(np.ascontiguousarray(shown.T), self.values, self.starts)


def count_equal(ordered: Array) -> tuple[Array, Indices]:
    """The different numbers of a column in ascending order, and how often each is there.

    Examples
    --------
    >>> count_equal(np.array([1.0, 1.0, 5.0]))
    (array([1., 5.]), array([2, 1]))
    """
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return ordered[first], np.append(first[1:], len(ordered)) - first


def table_of_sides(runs: Runs, known: Array, shown: Array) -> Array:
    """The logarithms for all pairs of a known record and a published row, summed over columns."""
    from tsveil._kernels.sides import table_of_runs

    found: Array = table_of_runs(*runs.sides(known), runs.of_rows(shown), FAR) / SCALE
    return found


def likeliest(runs: Runs, sides: Sides, rows: Rows, rounds: Sequence[int]) -> Near:
    """The likeliest of some rows for known records with these sides, by the first columns of each round."""
    from tsveil._kernels.sides import likeliest_runs

    of_rows, whose, first = runs.of_rows(rows.values), rows.whose, np.array(rounds, dtype=np.int64)

    def work(start: int, stop: int) -> tuple[Array, Indices, Indices, Indices]:
        return likeliest_runs(
            *sides, start, stop, of_rows, FAR, first,
            rows.copies, rows.first, whose.owner, whose.records, whose.mine, counter,
        )  # fmt: skip

    known = sides.low.shape[1]
    with progress.step("Linking records by sides", total=known) as counter:
        parts = map_chunks(work, known, CHUNK)
    return Near(*(np.concatenate(each) for each in zip(*parts, strict=True)))
