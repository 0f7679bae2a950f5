"""Interval disclosure: the share of values that the published ones give away, without any other knowledge.

Around each published value x' lies the interval of p percent of it; an original value inside counts as disclosed:

    ID_p = share of values with |x - x'| <= p |x'|

The printed condition [1]_ has r = p x', which is negative for negative values and never counts them; |x'| is meant.
DR2 is the mean of ID_p over p = 1 %, ..., 10 %.

**The edge counts, also after rounding.** 10.3 against 10 is exactly 3 percent on paper, but as float64 the difference
is 0.3000000000000007. Data are decimal numbers rounded to float64, published means carry some units in the last place,
too, and whether a value on the edge falls in or out would be chance. So the comparison has a slack of 4 units in the
last place (2^-50) of the larger of |x| and |x'|: more than the rounding of both values, their difference and p |x'|
together, far less than any difference that means something, and an error on the side of more risk.

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009)
   1663-1677, Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tsveil._types import Array, ArrayLike
from tsveil.errors import InputError, ParameterError
from tsveil.transform.statistics import per_record, series_table

#: of the larger value: what rounding may have added to a difference
SLACK = 2.0**-50
#: the usual widths of intervals: 1 to 10 percent
WIDTHS = tuple(percent / 100 for percent in range(1, 11))


class IntervalDisclosure(NamedTuple):
    """The share of disclosed values, in percent."""

    #: for each of the interval widths
    by_percent: Array
    #: for each record, over its values and all the widths
    per_record: Array


def interval_disclosure(
    X: ArrayLike, X2: ArrayLike, percents: Iterable[float] = tuple(range(1, 11))
) -> IntervalDisclosure:
    """The share of values of X within p percent of the published values X2, for each p.

    Examples
    --------
    >>> found = interval_disclosure([[-10.5, 10.5, 0.0]], [[-10.0, 10.0, 0.0]], percents=[4, 5])
    >>> found.by_percent
    array([ 33.33333333, 100.        ])
    >>> found.per_record
    array([66.66666667])
    """
    X, X2 = series_table(X), series_table(X2)
    if X.shape != X2.shape:
        raise InputError(
            f"the original values have the shape {X.shape}, the published ones {X2.shape}: both must agree"
        )
    if np.isnan(X.min()) or np.isnan(X2.min()):
        raise InputError("interval disclosure is not defined for missing values\n  options: drop or fill these records")
    widths = [float(percent) / 100 for percent in percents]
    if not widths or not all(0 <= width < np.inf for width in widths):
        raise ParameterError(
            "The 'percents' parameter of interval_disclosure must be one or more numbers of at least 0. "
            f"Got {[100 * width for width in widths]}."
        )

    counts = disclosed_values(X, X2, widths)
    return IntervalDisclosure(
        shares_disclosed(counts.sum(axis=0), X.size), 100 * counts.sum(axis=1) / (X.shape[1] * len(widths))
    )


def disclosed_values(X: Array, X2: Array, widths: Sequence[float] = WIDTHS) -> Array:
    """How many values of each record lie within the widths of the published ones, a column for each width."""

    def disclosed(original: Array, published: Array) -> Array:
        size = np.abs(published)
        difference = np.abs(original - published)
        difference -= SLACK * np.maximum(np.abs(original), size)
        return np.stack([(difference <= width * size).sum(axis=1) for width in widths], axis=1).astype(np.float64)

    return per_record(disclosed, X, X2)


def shares_disclosed(counts: Array, values: int) -> Array:
    """The share of disclosed values for each width, in percent, from their numbers."""
    return 100 * counts / values
