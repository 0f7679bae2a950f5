"""What ties the releases of the same persons together, and what has to be withheld so that it does not.

Values that do not change from release to release (carried columns, and protected columns without times) tie the classes in which a person is
published, whatever the identifiers are. The **history** of a person lists, for each release, the class in which such values of that person
are published, or "-" where they are not: the person is absent, or the values are withheld. *Composed k of histories*: every history that is not
all "-" is shared by at least k persons. Then two persons of one history may exchange these values without changing a published file, so nobody who
knows everything else can tell them apart.

It is kept release by release. Within each set of persons with the same history so far,

    parts = the persons of the set by class now, "-" for those who are absent
    1. the values of parts with fewer than k persons are withheld;
    2. if then 1 to k - 1 persons are "-", those of further persons are withheld, smallest part first, until k are "-"; what would be left of a part
       with fewer than k persons is withheld as well.

Persons who were "-" in all earlier releases need only the first rule: their history stays all "-". Conditions on pairs of releases do not suffice: {1..10}, {6..15} and
{1..4, 10..14, 16} have intersections and differences of 5 persons, two by two, and all three together single out person 10.

Decisions are made from memberships and the order of persons alone, never from values: else what is missing would tell something about them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsveil.core.types import Indices, Mask

#: in place of a class: the release publishes nothing about the person; in place of a history: no release did
NOTHING = -1


class Continued(NamedTuple):
    """What a release adds to the histories of all persons."""

    #: whether the values of each person are withheld, who would have been published
    withheld: Mask
    #: the history of each person from now on; NOTHING: nothing was published so far
    history: Indices


def continue_histories(history: Indices, entry: Indices, k: int) -> Continued:
    """Decide what is withheld in a release, and continue the histories of all persons, those who are absent included.

    `history` numbers the history of each person so far (`NOTHING`: all "-"), `entry` the class in which the release would publish that person (`NOTHING`: absent).

    Examples
    --------
    Ten persons were published together. Now one of them is missing, so four more have to be: the mean of ten minus the mean of nine would be the tenth.

    >>> found = continue_histories(np.zeros(10, dtype=np.int64), np.array([3] * 9 + [-1]), k=5)
    >>> found.withheld.astype(int)
    array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    >>> found.history
    array([0, 0, 0, 0, 1, 1, 1, 1, 1, 0])
    """
    if not len(history):
        return Continued(np.empty(0, dtype=np.bool_), history)
    order = np.lexsort((entry, history))  # stable: persons keep their order inside a part
    old, now = history[order], entry[order]
    starts = np.flatnonzero(np.append(True, (old[1:] != old[:-1]) | (now[1:] != now[:-1])))
    sizes = np.diff(np.append(starts, len(old)))
    shown = (now[starts] != NOTHING) & (sizes >= k)
    hidden = np.repeat(~shown, sizes)
    # Sets of persons with a history of which some, but fewer than k, are "-" need further ones.
    sets = np.flatnonzero(np.append(True, old[starts][1:] != old[starts][:-1]))
    ends = np.append(sets[1:], len(starts))
    missing = np.add.reduceat(np.where(shown, 0, sizes), sets)
    few = (missing > 0) & (missing < k) & (old[starts[sets]] != NOTHING)
    for first, end, gone in zip(sets[few].tolist(), ends[few].tolist(), missing[few].tolist(), strict=True):
        parts, needed = [part for part in range(first, end) if shown[part]], k - gone
        for part in sorted(parts, key=lambda part: (sizes[part], part)):
            if needed <= 0:
                break
            taken = needed if sizes[part] - needed >= k else int(sizes[part])
            hidden[starts[part] : starts[part] + taken] = True
            needed -= taken
    withheld = np.empty(len(old), dtype=np.bool_)
    withheld[order] = hidden & (now != NOTHING)
    return Continued(withheld, _numbered(history, np.where(withheld, NOTHING, entry)))


def _numbered(history: Indices, entry: Indices) -> Indices:
    """Histories with one more entry, numbered anew in the order of the old number and the class; all "-" stays so."""
    both = (history + 1) * (entry.max() + 2) + entry + 1  # 0 if both are NOTHING
    classes, found = np.unique(both, return_inverse=True)
    numbers: Indices = (found - (classes[0] == 0)).astype(np.int64)
    return numbers


def history_sizes(history: Indices) -> Indices:
    """How many persons share the history of each person; 0 where nothing was published about a person.

    Examples
    --------
    >>> history_sizes(np.array([0, 0, 1, -1]))
    array([2, 2, 1, 0])
    """
    counts = np.bincount(history[history != NOTHING], minlength=int(history.max(initial=0)) + 1)
    return np.where(history == NOTHING, 0, counts[np.maximum(history, 0)]).astype(np.int64)
