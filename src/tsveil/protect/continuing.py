"""The groups of a release that continues an earlier one: old groups stay together, for every change of them costs something.

    newcomers   k or more of them form groups of their own by the method; fewer join the nearest group, one by one. Where published values tie the releases, persons without anything published
                so far are grouped apart from the others
    small       an old group of which fewer than k persons are left joins its nearest group, and the next nearest until they are k
    refined     a group of 2k persons or more is parted by the method

Distances are those of means, in the space in which the method compares records: small groups go by the means of the old groups (of those who are still there) and of the newcomers' groups, newcomers
by the means after small groups have joined; ties go to the lower number. Where published values tie the releases (`tsveil.transform.histories`), persons with one history so far are kept together in sets of k or more, because what smaller sets carry
is withheld: a group is then parted between such sets, and inside one of 2k persons or more. The others of a group are those whose sets are too small in any case; k or more of
them are parted by the method, fewer stay with the nearest piece.

With persons who have several records, no group gets two records of one; a record for which there is no group is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tsveil.core.types import Array, Indices
from tsveil.protect._refine import MANY, NEAR, near_rows
from tsveil.protect.representative import represent

#: no old group; the groups of records that are left out
NONE = -1
#: groups the records at these places by the method: numbers from 0, or NONE
Make = Callable[[Indices], Indices]


@dataclass(frozen=True, eq=False)
class Earlier:
    """What a part has to go by where a release continues another one."""

    #: the group of each record in the release before; NONE: a newcomer, or free to join others
    groups: Indices
    #: the history of each record's person so far (NONE: nothing was published); None where nothing ties the releases
    histories: Indices | None = None
    #: the group of each record in this release, where that is settled; NONE: left out
    settled: Indices | None = None

    def take(self, rows: Indices) -> Earlier:
        """For some of the records."""
        histories = None if self.histories is None else self.histories[rows]
        settled = None if self.settled is None else self.settled[rows]
        return Earlier(self.groups[rows], histories, settled)


def continued_groups(Z: Array, earlier: Earlier, persons: Indices, k: int, make: Make) -> Indices:
    """The group of each record, numbered from 0; NONE: left out.

    Parameters
    ----------
    Z
        n records by d columns, the space of the distances.
    persons
        the person of each record; at least k different ones.
    make
        the method's own grouping of some of the records.

    Examples
    --------
    A group of which one is left joins the nearest one, and so does the newcomer.

    >>> Z = np.array([[0.0], [1.0], [5.0], [6.0], [7.0], [5.5]])
    >>> earlier = Earlier(np.array([7, 7, 8, 9, 9, -1]))
    >>> continued_groups(Z, earlier, np.arange(6), 2, lambda rows: np.zeros(len(rows), dtype=np.int64))
    array([0, 0, 1, 1, 1, 1])
    """
    if earlier.settled is not None:
        return _numbered(earlier.settled)
    labels = _numbered(earlier.groups)
    new = np.flatnonzero(labels == NONE)
    first = np.ones(len(new), dtype=np.bool_) if earlier.histories is None else earlier.histories[new] == NONE
    for pool in (new[first], new[~first]):
        if len(np.unique(persons[pool])) >= k:
            made = make(pool)
            labels[pool] = np.where(made >= 0, made + labels.max(initial=NONE) + 1, NONE)
    labels = _join_small(_means(Z, labels), labels, persons, k)
    labels = _join_one_by_one(Z, labels, persons)
    return _numbered(_refined(Z, labels, earlier.histories, persons, k, make))


def _numbered(groups: Indices) -> Indices:
    """Groups numbered from 0 in the order of their numbers."""
    found = np.full(len(groups), NONE, dtype=np.int64)
    there = groups >= 0
    found[there] = np.unique(groups[there], return_inverse=True)[1]
    return found


def _means(Z: Array, labels: Indices) -> Array:
    """The mean of each group, numbered without a gap."""
    rows = np.flatnonzero(labels >= 0)
    if not len(rows):
        return np.empty((0, Z.shape[1]))
    own = labels[rows]
    return represent(Z[rows], own, "mean")[np.unique(own, return_index=True)[1]]


def _join_small(means: Array, labels: Indices, persons: Indices, k: int) -> Indices:
    """Old groups of fewer than k persons with their nearest ones; the groups keep the lower number."""
    many = len(means)
    rows = np.flatnonzero(labels >= 0)
    pairs = np.unique(np.stack([labels[rows], persons[rows]], axis=1), axis=0)
    sizes = np.bincount(pairs[:, 0], minlength=many)
    small = np.flatnonzero(sizes < k)
    if not len(small) or many < 2:
        return labels
    several = len(rows) > len(np.unique(persons[rows]))
    starts = np.searchsorted(pairs[:, 0], np.arange(many + 1))
    members = {g: set(pairs[starts[g] : starts[g + 1], 1].tolist()) for g in range(many)} if several else {}
    near = near_rows(means, min(NEAR, many - 1)) if many > MANY else None
    root = np.arange(many)

    def find(group: int) -> int:
        while root[group] != group:
            root[group] = root[root[group]]
            group = int(root[group])
        return group

    for group in small.tolist():
        for other in _nearest(means, group, near):
            own, host = find(group), find(other)
            if sizes[own] >= k:
                break
            if own == host or (several and members[own] & members[host]):
                continue
            low, high = sorted((own, host))
            root[high] = low
            sizes[low] += sizes[high]
            if several:
                members[low] |= members[high]
    owner = np.array([find(group) for group in range(many)])
    found = np.where(labels >= 0, owner[labels], NONE)
    # What stays too small, because every other group has its persons already, is left over.
    return np.where((found >= 0) & (sizes[found] < k), NONE, found) if several else found


def _nearest(means: Array, group: int, near: Indices | None) -> Iterator[int]:
    """The other groups, the nearest first."""
    listed = [] if near is None else [other for other in near[group].tolist() if other >= 0]
    yield from listed
    for other in np.argsort(np.square(means - means[group]).sum(axis=1), kind="stable").tolist():
        if other != group and other not in listed:
            yield other


def _join_one_by_one(Z: Array, labels: Indices, persons: Indices) -> Indices:
    """Records without a group with the nearest group that has no record of their person."""
    waiting = np.flatnonzero(labels == NONE)
    if not len(waiting):
        return labels
    if (labels == NONE).all():  # every group is too small for itself: one for all, with a record of each person
        found = labels.copy()
        found[np.unique(persons, return_index=True)[1]] = 0
        return found
    found = _numbered(labels)
    centres = _means(Z, found)
    several = len(persons) > len(np.unique(persons))
    inside = set(zip(found.tolist(), persons.tolist(), strict=True)) if several else set()
    for row in waiting.tolist():
        distances = np.square(centres - Z[row]).sum(axis=1)
        nearest = np.argsort(distances, kind="stable").tolist() if several else [int(np.argmin(distances))]
        for group in nearest:
            if (group, int(persons[row])) not in inside:
                found[row] = group
                inside |= {(group, int(persons[row]))} if several else set()
                break
    return found


def _refined(Z: Array, labels: Indices, histories: Indices | None, persons: Indices, k: int, make: Make) -> Indices:
    """Groups of 2k persons or more in pieces."""
    sizes = np.bincount(labels[labels >= 0])
    found, many = labels.copy(), len(sizes)
    large = np.flatnonzero(sizes >= 2 * k)
    if not len(large):
        return found
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(many + 1))
    for group in large.tolist():
        members = np.sort(order[starts[group] : starts[group + 1]])
        pieces = _pieces(Z, members, None if histories is None else histories[members], persons, k, make)
        if pieces is not None and pieces.max() > 0:
            found[members] = np.where(pieces > 0, many + pieces - 1, group)
            many += int(pieces.max())
    return found


def _pieces(
    Z: Array, members: Indices, histories: Indices | None, persons: Indices, k: int, make: Make
) -> Indices | None:
    """The piece of each member of a group, numbered from 0; None: the group stays as it is."""
    if len(np.unique(persons[members])) < len(members):
        return None  # with several records of one person (share = "told") a piece may have too few persons
    pieces = np.full(len(members), NONE, dtype=np.int64)
    many = 0

    def part(rows: Indices) -> bool:
        nonlocal many
        made = make(members[rows]) if len(rows) >= 2 * k else np.zeros(len(rows), dtype=np.int64)
        if (made < 0).any() or np.bincount(made).min() < k:
            return False
        pieces[rows] = made + many
        many += int(made.max()) + 1
        return True

    cells = np.zeros(len(members), dtype=np.int64) if histories is None else histories
    for cell in np.unique(cells).tolist():
        rows = np.flatnonzero(cells == cell)
        if len(rows) >= k and not part(rows):
            return None
    rest = np.flatnonzero(pieces == NONE)
    if len(rest) >= k:
        return pieces if part(rest) else None
    if len(rest):
        centres = _means(Z[members], pieces)
        for row in rest.tolist():
            pieces[row] = int(np.argmin(np.square(centres - Z[members[row]]).sum(axis=1)))
    return pieces
