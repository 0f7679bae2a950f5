"""MDAV where several records may belong to one person: a group holds at most one record of each.

The loop is that of `_kernels.mdav`, but "the k nearest" are the nearest records of k different persons. Every distance is computed.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._kernels.mdav import assign, keep_smallest, sort, squared_distance
from tsveil.core.types import Array, Indices, Mask


@kernel
def farthest_from(Z: Array, left: Indices, taken: Mask, point: Array) -> int:
    """The record farthest from a point among those left and not taken, the lowest of equals."""
    most, record = -1.0, -1
    for at in range(left.shape[0]):
        if not taken[left[at]]:
            d = squared_distance(Z, left[at], point, 0)
            if d > most:
                most, record = d, left[at]
    return record


@kernel
def nearest_persons(
    Z: Array, persons: Indices, left: Indices, taken: Mask, seed: int, most: int, best: Array, record: Indices
) -> Indices:
    """The first record of each person in the order (distance to the seed, index), for the `most` nearest persons; ascending.

    `best` and `record` are work space, one entry for each person.
    """
    for at in range(left.shape[0]):
        record[persons[left[at]]] = -1
    found = 0
    for at in range(left.shape[0]):
        row = left[at]
        if taken[row]:
            continue
        d, own = squared_distance(Z, row, Z, seed), persons[row]
        if record[own] < 0:
            found += 1
        if record[own] < 0 or d < best[own]:
            best[own], record[own] = d, row
    keys = np.empty(min(most, found))
    rows = np.empty(min(most, found), dtype=np.int64)
    size = 0
    for at in range(left.shape[0]):
        row = left[at]
        if record[persons[row]] == row:
            size = keep_smallest(keys, rows, size, rows.shape[0], best[persons[row]], row)
    sort(rows)
    return rows


@kernel
def persons_after(persons: Indices, counts: Indices, here: int, group: Indices, second: Indices) -> int:
    """The number of persons left when two groups are taken; now there are `here`, with `counts` records each."""
    for at in range(group.shape[0] + second.shape[0]):
        own = persons[group[at] if at < group.shape[0] else second[at - group.shape[0]]]
        counts[own] -= 1
        here -= counts[own] == 0
    for at in range(group.shape[0] + second.shape[0]):
        counts[persons[group[at] if at < group.shape[0] else second[at - group.shape[0]]]] += 1
    return here


@kernel
def without(left: Indices, labels: Indices) -> Indices:
    """The records that are in no group."""
    size = 0
    for at in range(left.shape[0]):
        if labels[left[at]] < 0:
            left[size] = left[at]
            size += 1
    return left[:size]


@kernel
def person_groups(Z: Array, persons: Indices, k: int, total: Array, labels: Indices, counter: Indices) -> int:
    """Group records of persons numbered from 0; `total` is the running sum of all rows. Gives the number of groups.

    `labels` gets the group of each record, -1 for the records of fewer than k persons that are left in the end.
    """
    n, columns = Z.shape
    left = np.arange(n)
    many = persons.max() + 1
    counts = np.zeros(many, dtype=np.int64)
    for at in range(n):
        counts[persons[at]] += 1
    here = 0
    for own in range(many):
        here += counts[own] > 0
    best, record = np.empty(many), np.empty(many, dtype=np.int64)
    taken = np.zeros(n, dtype=np.bool_)
    centre = np.empty((1, columns))
    point = np.empty((1, columns))
    nothing = np.empty(0, dtype=np.int64)
    second = nothing
    label, pairs, single = 0, True, True
    while here >= k:
        for j in range(columns):
            centre[0, j] = total[j] / left.shape[0]
        r = farthest_from(Z, left, taken, centre)
        group = nearest_persons(Z, persons, left, taken, r, k if single else here, best, record)
        if pairs:
            pairs = False
            if persons_after(persons, counts, here, group, nothing) >= k:
                for at in range(group.shape[0]):
                    taken[group[at]] = True
                for j in range(columns):
                    point[0, j] = Z[r, j]
                s = farthest_from(Z, left, taken, point)
                second = nearest_persons(Z, persons, left, taken, s, k, best, record)
                pairs = persons_after(persons, counts, here, group, second) >= k
                for at in range(group.shape[0]):
                    taken[group[at]] = False
            if not pairs:
                continue
        elif single and persons_after(persons, counts, here, group, nothing) < k:
            single = False
            continue
        for turn in range(2 if pairs else 1):
            some = second if turn else group
            assign(Z, some, total, label, labels)
            label += 1
            here = persons_after(persons, counts, here, some, nothing)
            for at in range(some.shape[0]):
                counts[persons[some[at]]] -= 1
            counter[0] += some.shape[0]
        left = without(left, labels)
    return label


@kernel
def join_nearest(
    Z: Array, persons: Indices, order: Indices, starts: Indices, centres: Array, labels: Indices, anywhere: bool
) -> None:
    """Each record without a group joins the nearest one that has no record of its person, lowest index first.

    The records of person p are `order[starts[p]:starts[p + 1]]`. Where there is no such group the record stays alone, or joins
    the nearest one if `anywhere`.
    """
    has_own = np.full(centres.shape[0], -1)
    for row in range(Z.shape[0]):
        if labels[row] >= 0:
            continue
        own = persons[row]
        for at in range(starts[own], starts[own + 1]):
            if labels[order[at]] >= 0:
                has_own[labels[order[at]]] = row
        closest, chosen = np.inf, -1
        for turn in range(2 if anywhere else 1):
            if chosen >= 0:
                break
            for group in range(centres.shape[0]):
                if turn == 1 or has_own[group] != row:
                    d = squared_distance(Z, row, centres, group)
                    if d < closest:
                        closest, chosen = d, group
        labels[row] = chosen
