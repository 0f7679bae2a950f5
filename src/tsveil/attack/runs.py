"""How likely values belong to runs of neighbours, each of which is published as one number: what linkages by sides add up.

Where a sorted column is cut into runs and each run is published as its mean, a known value can only be in one of the two runs whose numbers are next to it: that below and that above. Where
between them the border is, is not published. If values lie evenly there it divides the gap as the sizes of the runs say, and otherwise it may be anywhere; so it is supposed midway between
that place and the middle, give or take a tenth of the gap. With v_c < v_d the published numbers on both sides of a known value x, n_c and n_d the records that show them, and n all of them,

    t = (x - v_c) / (v_d - v_c)         b = 1/4 + n_c / (2 (n_c + n_d))         p(d) = 1 / (1 + exp((b - t) / 0.09))         p(c) = 1 - p(d)

and a row of run c counts by log(p(c) n / n_c), how much likelier it is than a row at random; p is at least e^-12, and rows of all other runs count -12. Where runs are made column by column, a
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
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.engine.local import map_chunks

#: logarithms are whole numbers of 1 / SCALE
SCALE = 1 << 16
#: the logarithm for a run that is not next to the value
FAR = -12 * SCALE
#: the least chance of a run that is next to it, and how much the border between two varies, as a part of their distance
LEAST, BORDER = float(np.exp(FAR / SCALE)), 0.09
#: targets that are linked at a time
CHUNK = 256


class Sides(NamedTuple):
    """The runs on both sides of known values, and the logarithms for them: arrays with an item for each value, or tables with a column for each column."""

    low: Indices
    high: Indices
    of_low: Indices
    of_high: Indices

    def some(self, start: int, stop: int) -> Sides:
        """Those of some known records."""
        return Sides(*(each[start:stop] for each in self))


class Runs(NamedTuple):
    """The runs of one column: the numbers published for them, ascending, and how many records show each.

    Examples
    --------
    >>> runs = Runs.of(np.array([1.0, 1.0, 5.0, 5.0, 7.0]))
    >>> runs.values, runs.sizes, runs.exact
    (array([1., 5., 7.]), array([2, 2, 1]), array([False, False,  True]))
    >>> found = runs.sides(np.array([2.0, 4.5, 7.0]))
    >>> found.low, found.high, (found.of_low > found.of_high).tolist()
    (array([0, 0, 2]), array([1, 1, 2]), [True, False, False])
    """

    values: Array
    sizes: Indices
    #: whether runs go through several columns, so that a number which one record shows here may stand for others
    pooled: bool = False

    @classmethod
    def of(cls, shown: Array, pooled: bool = False) -> Runs:
        """Those of a published column."""
        return cls(*np.unique(shown, return_counts=True), pooled)

    @property
    def exact(self) -> Mask:
        """Which numbers are values as they were."""
        found: Mask = (self.sizes == 1) & (not self.pooled)
        return found

    def sides(self, known: Array) -> Sides:
        """The runs next to each known value."""
        exact, rare = self.exact, self.sizes.sum() / self.sizes
        place = np.searchsorted(self.values, known)
        at = np.minimum(place, len(self.values) - 1)
        same = (self.values[at] == known) & exact[at]
        if exact.all():
            found = np.where(same, _fixed_point(rare[at]), FAR)
            return Sides(at, at, found, found)
        runs = np.flatnonzero(~exact)
        above = np.cumsum(np.append(0, ~exact))[place]  # how many runs are below
        low, high = runs[np.maximum(above - 1, 0)], runs[np.minimum(above, len(runs) - 1)]
        gap = self.values[high] - self.values[low]
        part = np.divide(known - self.values[low], gap, out=np.zeros(len(known)), where=gap > 0)
        border = 0.25 + 0.5 * (self.sizes[low] / (self.sizes[low] + self.sizes[high]))
        upper = np.where(low == high, 1.0, 1 / (1 + np.exp((border - part) / BORDER)))
        low, high, upper = np.where(same, at, low), np.where(same, at, high), np.where(same, 1.0, upper)
        of_low, of_high = (
            _fixed_point(np.maximum(p, LEAST) * rare[run]) for p, run in ((1 - upper, low), (upper, high))
        )
        return Sides(low, high, of_low, of_high)


def _fixed_point(ratio: Array) -> Indices:
    """A logarithm in fixed point."""
    found: Indices = np.rint(SCALE * np.log(ratio)).astype(np.int64)
    return found


def sides_of(columns: Sequence[Runs], known: Array) -> Sides:
    """The runs of each column that are next to the values of known records."""
    each = [one.sides(column) for one, column in zip(columns, known.T, strict=True)]
    return Sides(*(np.stack(some, axis=1) for some in zip(*each, strict=True)))


def _kinds(columns: Sequence[Runs], shown: Array) -> AnyArray:
    """The runs that published rows are in: columns by rows."""
    each = [np.searchsorted(one.values, column) for one, column in zip(columns, shown.T, strict=True)]
    return np.stack(each).astype(np.int32)


def table_of_sides(columns: Sequence[Runs], known: Array, shown: Array) -> Array:
    """The logarithms for all pairs of a known record and a published row, summed over columns."""
    from tsveil._kernels.sides import table_of_runs

    found: Array = table_of_runs(*sides_of(columns, known), _kinds(columns, shown), FAR) / SCALE
    return found


def likeliest(columns: Sequence[Runs], sides: Sides, rows: Rows, rounds: Sequence[int]) -> Near:
    """The likeliest of some rows for known records with these sides, by the first columns of each round."""
    from tsveil._kernels.sides import likeliest_runs

    kinds, whose, first = _kinds(columns, rows.values), rows.whose, np.array(rounds, dtype=np.int64)

    def work(start: int, stop: int) -> tuple[Array, Indices, Indices, Indices]:
        return likeliest_runs(
            *sides.some(start, stop), kinds, FAR, first,
            rows.copies, rows.first, whose.owner, whose.records, whose.mine[start:stop], counter,
        )  # fmt: skip

    with progress.step("Linking records by sides", total=len(sides.low)) as counter:
        parts = map_chunks(work, len(sides.low), CHUNK)
    return Near(*(np.concatenate(each) for each in zip(*parts, strict=True)))
