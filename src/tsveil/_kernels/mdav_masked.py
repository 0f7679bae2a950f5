"""MDAV of records with gaps, which are NaN: distances over the points that both records have.

    d(a, b)^2 = T / m * sum over the m points that both have of (a_t - b_t)^2,    `apart` where m = 0

This is no metric, so nothing is left out by the triangle inequality: every distance is computed. The loop is that of `_kernels.mdav_persons`, where
each record may be a person of its own.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._kernels.mdav import keep_smallest, sort
from tsveil._kernels.mdav_persons import persons_after, without
from tsveil.core.types import Array, Indices, Mask


@kernel
def masked_distance(A: Array, i: int, B: Array, j: int, apart: float) -> float:
    """The squared distance of two rows over the points that both have."""
    total, both = 0.0, 0
    for t in range(A.shape[1]):
        d = A[i, t] - B[j, t]
        if d == d:
            total += d * d
            both += 1
    return total * (A.shape[1] / both) if both else apart


@kernel
def masked_mean(Z: Array, rows: Indices, found: Array) -> None:
    """The mean of some rows at each point, over those that have a value; NaN where none has."""
    count = np.zeros(Z.shape[1], dtype=np.int64)
    found[0] = 0.0
    for at in range(rows.shape[0]):
        for t in range(Z.shape[1]):
            x = Z[rows[at], t]
            if x == x:
                found[0, t] += x
                count[t] += 1
    for t in range(Z.shape[1]):
        found[0, t] = found[0, t] / count[t] if count[t] else np.nan


@kernel
def farthest(Z: Array, left: Indices, taken: Mask, point: Array, apart: float) -> int:
    """The record farthest from a point among those left and not taken, the lowest of equals."""
    most, record = -1.0, -1
    for at in range(left.shape[0]):
        if not taken[left[at]]:
            d = masked_distance(Z, left[at], point, 0, apart)
            if d > most:
                most, record = d, left[at]
    return record


@kernel
def nearest_persons(
    Z: Array,
    persons: Indices,
    left: Indices,
    taken: Mask,
    seed: int,
    most: int,
    apart: float,
    best: Array,
    record: Indices,
) -> Indices:
    """The first record of each person in the order (distance to the seed, index), the seed itself first, for the `most` nearest persons; ascending.

    `best` and `record` are work space, one entry for each person.
    """
    for at in range(left.shape[0]):
        record[persons[left[at]]] = -1
    found = 0
    for at in range(left.shape[0]):
        row = left[at]
        if taken[row]:
            continue
        d, own = masked_distance(Z, row, Z, seed, apart), persons[row]
        if row == seed:  # without a value in this space it would be far from itself
            d = -1.0
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
def masked_groups(Z: Array, persons: Indices, k: int, apart: float, labels: Indices, counter: Indices) -> int:
    """Group records of persons numbered from 0; gives the number of groups.

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
        masked_mean(Z, left, centre)
        r = farthest(Z, left, taken, centre, apart)
        group = nearest_persons(Z, persons, left, taken, r, k if single else here, apart, best, record)
        if pairs:
            pairs = False
            if persons_after(persons, counts, here, group, nothing) >= k:
                for at in range(group.shape[0]):
                    taken[group[at]] = True
                for t in range(columns):
                    point[0, t] = Z[r, t]
                s = farthest(Z, left, taken, point, apart)
                second = nearest_persons(Z, persons, left, taken, s, k, apart, best, record)
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
            here = persons_after(persons, counts, here, some, nothing)
            for at in range(some.shape[0]):
                labels[some[at]] = label
                counts[persons[some[at]]] -= 1
            label += 1
            counter[0] += some.shape[0]
        left = without(left, labels)
    return label


@kernel
def join_nearest(
    Z: Array,
    persons: Indices,
    order: Indices,
    starts: Indices,
    centres: Array,
    labels: Indices,
    apart: float,
    anywhere: bool,
) -> None:
    """Each record without a group joins the nearest one that has no record of its person, lowest index first; see `_kernels.mdav_persons`."""
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
                    d = masked_distance(Z, row, centres, group, apart)
                    if d < closest:
                        closest, chosen = d, group
        labels[row] = chosen


@kernel
def published_means(
    X: Array, persons: Indices, labels: Indices, order: Indices, groups: int, least: int, out: Array, behind: Indices
) -> None:
    """Every value replaced by the mean of its group's values in that column, where at least `least` persons have one; elsewhere NaN.

    `order` lists the records by group and person. `behind` gets the number of persons with a value, for each group and column.
    The mean is x0 + mean(x - x0), x0 the group's first value: the mean of equal values is that value, bit for bit.
    """
    columns = X.shape[1]
    first, total = np.empty((groups, columns)), np.zeros((groups, columns))
    count = np.zeros((groups, columns), dtype=np.int64)
    last = np.full((groups, columns), -1, dtype=np.int64)
    behind[:] = 0
    for at in range(order.shape[0]):
        row = order[at]
        g = labels[row]
        for t in range(columns):
            x = X[row, t]
            if x != x:
                continue
            if count[g, t] == 0:
                first[g, t] = x
            total[g, t] += x - first[g, t]
            count[g, t] += 1
            if last[g, t] != persons[row]:
                last[g, t] = persons[row]
                behind[g, t] += 1
    for row in range(X.shape[0]):
        g = labels[row]
        for t in range(columns):
            if g >= 0 and behind[g, t] >= least:
                out[row, t] = first[g, t] + total[g, t] / count[g, t]
            else:
                out[row, t] = np.nan


# -- groups made better -----------------------------------------------------------------------------------------------


@kernel
def gain(sums: Array, counts: Indices, g: int, least: int) -> float:
    """What publishing the means of a group explains of the squares around the columns' means, which are zero."""
    found = 0.0
    for t in range(sums.shape[1]):
        if counts[g, t] >= least:
            found += sums[g, t] * sums[g, t] / counts[g, t]
    return found


@kernel
def gain_with(Z: Array, sums: Array, counts: Indices, g: int, out: int, into: int, least: int) -> float:
    """The same when one record (-1: none) leaves the group and another one comes in."""
    found = 0.0
    for t in range(Z.shape[1]):
        s, c = sums[g, t], counts[g, t]
        if out >= 0 and Z[out, t] == Z[out, t]:
            s -= Z[out, t]
            c -= 1
        if into >= 0 and Z[into, t] == Z[into, t]:
            s += Z[into, t]
            c += 1
        if c >= least:
            found += s * s / c
    return found


@kernel
def sum_group(Z: Array, members: Indices, sizes: Indices, sums: Array, counts: Indices, g: int) -> None:
    """The sum and the number of the values of a group in each column, anew."""
    for t in range(Z.shape[1]):
        sums[g, t] = 0.0
        counts[g, t] = 0
    for at in range(sizes[g]):
        row = members[g, at]
        for t in range(Z.shape[1]):
            if Z[row, t] == Z[row, t]:
                sums[g, t] += Z[row, t]
                counts[g, t] += 1


@kernel
def holds_person(persons: Indices, members: Indices, sizes: Indices, g: int, own: int, but: int) -> bool:
    """Whether a group has a record of a person, another one than `but`."""
    for at in range(sizes[g]):
        if members[g, at] != but and persons[members[g, at]] == own:
            return True
    return False


@kernel
def improve(
    Z: Array, persons: Indices, k: int, least: int, zero: float, labels: Indices, members: Indices, sizes: Indices,
    sums: Array, counts: Indices, near: Indices,
) -> float:  # fmt: skip
    """Move each record to the near group, or swap it with the record of one, where that explains most; gives by how much more is explained.

    A group keeps at least k members, has fewer than 2k after a record came in, and holds at most one record of each person. `near` has the near groups of each group, -1 where there are no more.
    """
    saved = 0.0
    own = np.empty(sizes.shape[0])
    for g in range(sizes.shape[0]):
        sum_group(Z, members, sizes, sums, counts, g)
        own[g] = gain(sums, counts, g, least)
    for row in range(Z.shape[0]):
        g = labels[row]
        alone = gain_with(Z, sums, counts, g, row, -1, least) if sizes[g] > k else 0.0
        most, chosen, place = zero, -1, -1
        for at in range(near.shape[1]):
            h = near[g, at]
            if h < 0:
                break
            if sizes[g] > k and sizes[h] + 1 < 2 * k and not holds_person(persons, members, sizes, h, persons[row], -1):
                more = alone + gain_with(Z, sums, counts, h, -1, row, least) - own[g] - own[h]
                if more > most:
                    most, chosen, place = more, h, -1
            for other in range(sizes[h]):
                into = members[h, other]
                if holds_person(persons, members, sizes, h, persons[row], into) or holds_person(
                    persons, members, sizes, g, persons[into], row
                ):
                    continue
                more = gain_with(Z, sums, counts, g, row, into, least) + gain_with(Z, sums, counts, h, into, row, least)
                more -= own[g] + own[h]
                if more > most:
                    most, chosen, place = more, h, other
        if chosen < 0:
            continue
        here = 0
        while members[g, here] != row:
            here += 1
        if place < 0:
            sizes[g] -= 1
            members[g, here] = members[g, sizes[g]]
            members[chosen, sizes[chosen]] = row
            sizes[chosen] += 1
        else:
            into = members[chosen, place]
            members[g, here], members[chosen, place] = into, row
            labels[into] = g
        labels[row] = chosen
        saved += most
        for one in (g, chosen):
            sum_group(Z, members, sizes, sums, counts, one)
            own[one] = gain(sums, counts, one, least)
    return saved


@kernel
def near_groups(centres: Array, apart: float, near: Indices) -> None:
    """The nearest other groups of each group, in the order of their numbers; -1 where there are no more."""
    width = near.shape[1]
    keys, rows = np.empty(width), np.empty(width, dtype=np.int64)
    for g in range(centres.shape[0]):
        size = 0
        for h in range(centres.shape[0]):
            if h != g:
                size = keep_smallest(keys, rows, size, width, masked_distance(centres, g, centres, h, apart), h)
        sort(rows[:size])
        near[g] = -1
        near[g, :size] = rows[:size]
