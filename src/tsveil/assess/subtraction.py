"""Subtraction: who knows all members of a group but one computes the values of the last from the mean that is published.

    x_last = |class| mean - sum of the members that are known

The figure is the share of the persons who are not known and whose class has no other such person, when a random half of the persons is known. Classes are those of
the whole published row, as who runs the method again finds them, so it is an upper bound where blocks were grouped one by one. Medians and envelopes are not open to
it. It tells values, not records, and stands beside the ladder.
"""

from __future__ import annotations

import numpy as np

from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.types import Indices

#: the share of the persons who are known
KNOWN = 0.5


def share_by_subtraction(of_row: Indices, persons: Indices | None = None, known: float = KNOWN) -> float:
    """The share of the unknown persons whose values can be computed, in percent.

    `of_row` is the class of each published row, `persons` whose row it is; each its own person unless given.

    Examples
    --------
    >>> share_by_subtraction(np.zeros(100, dtype=np.int64))
    0.0
    >>> share_by_subtraction(np.arange(100))
    100.0
    """
    who = np.arange(len(of_row)) if persons is None else np.unique(persons, return_inverse=True)[1].astype(np.int64)
    people = np.arange(int(who.max(initial=-1)) + 1)
    count = round(known * len(people))
    if count in (0, len(people)):
        return 0.0
    strange = ~chosen_rows(border_of(people, count), people)
    rows = np.flatnonzero(strange[who])
    pairs = np.unique(np.stack([of_row[rows], who[rows]]), axis=1)
    alone = np.bincount(pairs[0])[pairs[0]] == 1
    return 100 * len(np.unique(pairs[1][alone])) / int(strange.sum())
