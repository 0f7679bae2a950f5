"""Slow, obvious versions of how likely values are in the runs next to them, and of linkage by sides."""

from __future__ import annotations

import math

import numpy as np

from tsveil.attack.runs import SCALE
from tsveil.core.types import Array


def evidence(x: float, shown: float, column: list[float], pooled: bool) -> int:
    """The logarithm of how much likelier a row that shows a number is than one at random, of who has the value x, in fixed point."""
    single = {number for number in column if column.count(number) == 1 and not pooled}
    if x in single:
        return round(SCALE * math.log(len(column))) if shown == x else -12 * SCALE
    runs = sorted(set(column) - single)
    if shown not in runs:
        return -12 * SCALE
    below = max((number for number in runs if number < x), default=None)
    above = min((number for number in runs if number >= x), default=None)
    if shown not in (below, above):
        return -12 * SCALE
    if below is None or above is None:
        chance = 1.0
    else:
        n_below, n_above = column.count(below), column.count(above)
        border = (0.5 + n_below / (n_below + n_above)) / 2
        upper = 1 / (1 + math.exp((border - (x - below) / (above - below)) / 0.09))
        chance = max(upper if shown == above else 1 - upper, math.exp(-12))
    return round(SCALE * math.log(chance * len(column) / column.count(shown)))


def scores(a: Array, b: Array, pooled: bool) -> list[list[int]]:
    """The sums over columns, for each pair of a known record and a released row."""
    columns = b.T.tolist()
    return [
        [sum(map(evidence, person, row, columns, [pooled] * len(columns))) for row in b.tolist()]
        for person in a.tolist()
    ]


def likeliest(a: Array, b: Array, pooled: bool) -> list[list[int]]:
    """For each known record the released rows with the highest score."""
    return [np.flatnonzero(np.array(each) == max(each)).tolist() for each in scores(a, b, pooled)]
