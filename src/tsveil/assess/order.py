"""What the order of published rows says: a release stands in random order, so that the place of a row tells nothing.

Three orders tell something: that of the original (or the reverse), rows of one class side by side, rows of one person side by side. Small files look like that by chance,
so an order is only spoken of if chance is no explanation: each of the bounds below is the chance of a random order to look at least like that. There are at most six of
them for a file, each must be below `CHANCE`, so less than one random order in a million is taken for more.
"""

from __future__ import annotations

import math

import numpy as np

from tsveil.core.types import Indices

#: the chance of each kind of false alarm
CHANCE = 1e-7


def said_by_order(of_row: Indices, records: Indices | None = None, persons: Indices | None = None) -> str:
    """What the order of published rows says, in a sentence; nothing where it looks random.

    Parameters
    ----------
    of_row
        The class of each published row.
    records, persons
        The place of each published row in the original, and its person, where they are known.

    Examples
    --------
    >>> said_by_order(np.repeat(np.arange(10), 3))
    'rows that are alike stand together, in an order that may come from the original'
    >>> said_by_order(np.repeat(np.arange(2), 3)), said_by_order(np.tile(np.arange(10), 3))
    ('', '')
    """
    found = ["the rows stand in the order of the original"] if records is not None and _in_order(records) else []
    if _together(of_row):
        found.append("rows that are alike stand together, in an order that may come from the original")
    if persons is not None and _together(persons):
        found.append("the rows of a person stand together")
    return "; ".join(found)


def _in_order(records: Indices) -> bool:
    """Whether numbers, all different, go up or down more than chance explains.

    All of them do so in 2 of n! random orders. Of the m pairs of neighbours (1st and 2nd, 3rd and 4th, ...) each goes up or down by the toss of a coin, so by Hoeffding's inequality they
    differ from m/2 by t with a chance of at most 2 exp(-2 t^2 / m): that finds parts that are each in order.
    """
    n, steps = len(records), np.sign(np.diff(records))
    m = n // 2
    if n > 1 and abs(int(steps.sum())) == n - 1 and math.log(2) - math.lgamma(n + 1) < math.log(CHANCE):
        return True
    t = abs(int((steps[::2] > 0).sum()) - m / 2)
    return m > 0 and math.log(2) - 2 * t * t / m < math.log(CHANCE)


def _together(labels: Indices) -> bool:
    """Whether equal labels stand side by side more than chance explains.

    Of the n! orders of n rows with C labels, n_c rows each, C! prod(n_c!) have every label in one run. Parts may be sorted each by itself: then more neighbours are alike than in random
    orders. Seen from the first row on, the next one has the label of the present one with a chance of at most (m - 1) / r, whatever stood before, where m is the largest n_c and r rows are left. So the number of
    neighbours that are alike is at most that of independent successes with these chances, mu in the mean, and by Chernoff's bound it reaches a > mu with a chance of at most exp(a - mu - a log(a / mu)).
    """
    n, sizes = len(labels), np.unique(labels, return_counts=True)[1].astype(np.float64)
    alike = int((np.diff(labels) == 0).sum())
    if n - alike == len(sizes):
        ways = math.lgamma(len(sizes) + 1) + sum(map(math.lgamma, sizes + 1))
        return ways - math.lgamma(n + 1) < math.log(CHANCE)
    mean = float(np.minimum(1, (sizes.max() - 1) / np.arange(1, n)).sum())
    return alike > mean and alike - mean - alike * math.log(alike / mean) < math.log(CHANCE)
