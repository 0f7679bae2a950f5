"""Subtraction: who knows all members of a group but one computes the values of the last from the mean that is published.

    x_last = |class| mean - sum of the members that are known

The figure is the share of the persons who are not known and whose class has no other such person, when a random half of the persons is known. Classes are those of
the whole published row, as who runs the method again finds them, so it is an upper bound where blocks were grouped one by one. Medians and envelopes are not open to
it. It tells values, not records, and stands beside the ladder.

Where records have gaps, a published value is the mean of the members that have one: whoever knows all of these but one computes that one's. A person counts if that is so at any point.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tsveil.attack.targets import border_of, chosen_rows
from tsveil.core.types import Indices, Mask

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
    who, strange = _unknown(of_row, persons, known)
    if strange is None:
        return 0.0
    alone = _alone(of_row, who, np.flatnonzero(strange[who]))
    return 100 * len(np.unique(alone)) / int(strange.sum())


def share_with_gaps(
    of_row: Indices, there: Iterable[Mask], persons: Indices | None = None, known: float = KNOWN
) -> float:
    """The same of records with gaps: the share of the unknown persons who have a point whose value can be computed, in percent.

    `there` has for each column the published rows whose records had a value in it, where the mean of these is published.

    Examples
    --------
    >>> of_row, full = np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.bool_)
    >>> share_with_gaps(of_row, [full]), share_with_gaps(of_row, [full, np.array([True, True, False, False])])
    (0.0, 50.0)
    """
    who, strange = _unknown(of_row, persons, known)
    if strange is None:
        return 0.0
    found = np.zeros(len(strange), dtype=np.bool_)
    for column in there:
        found[_alone(of_row, who, np.flatnonzero(strange[who] & column))] = True
    return 100 * int(found.sum()) / int(strange.sum())


def _unknown(of_row: Indices, persons: Indices | None, known: float) -> tuple[Indices, Mask | None]:
    """The person of each row, and which persons are not known; None if all of them are known, or nobody."""
    who = np.arange(len(of_row)) if persons is None else np.unique(persons, return_inverse=True)[1].astype(np.int64)
    people = np.arange(int(who.max(initial=-1)) + 1)
    count = round(known * len(people))
    return who, None if count in (0, len(people)) else ~chosen_rows(border_of(people, count), people)


def _alone(of_row: Indices, who: Indices, rows: Indices) -> Indices:
    """The persons of some rows who are the only ones of these in a class."""
    pairs = np.unique(np.stack([of_row[rows], who[rows]]), axis=1)
    found: Indices = pairs[1][np.bincount(pairs[0])[pairs[0]] == 1]
    return found
