"""MDAV of mixed records (`transform.mixed`), where a person may have several records: no group holds two of the same one.

Groups are formed as in `_kernels.mdav_persons`; what is different is the distance, and the centre of the records that are left. Its numbers are
their mean; its ordinals the element floor((m - 1) / 2) of the sorted ranks; its nominal labels the most frequent; its label in a hierarchy the one
with the least sum of distances. Ties go to the label that is more frequent in the whole file, then to the first in the declared order. All of it
follows from counts, which are kept up as records are taken.

The records that are left lie side by side in tiles, and a removed one is overwritten by the last. Distances are summed over the coordinates
in their order and then over the units of labels, whose sums are whole numbers.

A column of labels is a row of `columns`: whether it is ordinal, its number of labels, where its counts begin, where its paths begin, the height of its
tree, and its first level (ordinal: its coordinate). `paths` has the nodes of all labels, one label of one column after the other.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import compact, kernel
from tsveil._kernels.mdav import keep_smallest, sort
from tsveil._kernels.mdav_persons import persons_after
from tsveil.core.types import AnyArray, Array, Indices

#: records that lie side by side
LANES = 64


@kernel
def measure(
    T: Array, U: AnyArray, n: int, q: Array, r: AnyArray, trees: Indices, factors: Array, work: AnyArray, found: Array
) -> None:
    """The squared distances of the n records in the tiles from a point: coordinates q, levels r."""
    for tile in range((n + LANES - 1) // LANES):
        base = tile * LANES
        for lane in range(LANES):
            found[base + lane] = 0.0
        for j in range(T.shape[1]):
            value = q[j]
            for lane in range(LANES):
                step = T[tile, j, lane] - value
                found[base + lane] += step * step
        for c in range(trees.shape[0]):
            height = trees[c, 2]
            for lane in range(LANES):
                work[0, lane] = 0
            at = trees[c, 0]
            if height == 1:
                for _ in range(trees[c, 1]):
                    label = r[at]
                    for lane in range(LANES):
                        work[0, lane] += np.int32(U[tile, at, lane] != label)
                    at += 1
            else:
                for _ in range(trees[c, 1]):
                    for lane in range(LANES):
                        work[1, lane] = 0
                    for _ in range(height):
                        label = r[at]
                        for lane in range(LANES):
                            work[1, lane] += np.int32(U[tile, at, lane] != label)
                        at += 1
                    for lane in range(LANES):
                        work[0, lane] += work[1, lane] * work[1, lane]
            factor = factors[c]
            for lane in range(LANES):
                found[base + lane] += factor * work[0, lane]


@kernel
def centre_label(column: Indices, counts: Indices, uses: Indices, paths: Indices, nodes: Indices, n: int) -> int:
    """The label that stands for n records, from the counts of a column's labels; `nodes` is work space, one entry for each node."""
    compact()
    labels, first, way, height = column[1], column[2], column[3], column[4]
    if column[0] == 1:
        wanted, seen = (n - 1) // 2, 0
        for label in range(labels):
            seen += counts[first + label]
            if seen > wanted:
                return label
    if height > 1:
        for label in range(labels):
            for level in range(height + 1):
                nodes[paths[way + label * (height + 1) + level]] = 0
        for label in range(labels):
            for level in range(height + 1):
                nodes[paths[way + label * (height + 1) + level]] += counts[first + label] * (
                    level == 0
                    or paths[way + label * (height + 1) + level] != paths[way + label * (height + 1) + level - 1]
                )
    best, chosen = -1, 0
    for label in range(labels):
        if uses[first + label] == 0:
            continue
        agree = counts[first + label]
        if height > 1:
            # The sum of distances is n minus, in units of the height, the records that agree at each level below the root.
            agree = 0
            for level in range(1, height + 1):
                agree += nodes[paths[way + label * (height + 1) + level]]
        if agree > best or (agree == best and uses[first + label] > uses[first + chosen]):
            best, chosen = agree, label
    return chosen


@kernel
def group_labels(
    codes: AnyArray, order: Indices, starts: Indices, columns: Indices, paths: Indices, uses: Indices, generalise: bool
) -> Indices:  # fmt: skip
    """The label of each column that stands for the records of each group, which are order[starts[g]:starts[g + 1]].

    `generalise`: the lowest common ancestor, but for ordinals.
    """
    compact()
    groups = starts.shape[0] - 1
    most, most_labels = 1, 1
    for at in range(paths.shape[0]):
        most = max(most, paths[at] + 1)
    for c in range(columns.shape[0]):
        most_labels = max(most_labels, columns[c, 1])
    nodes = np.zeros(most, dtype=np.int64)
    counts = np.zeros(most_labels, dtype=np.int64)
    found = np.empty((groups, columns.shape[0]), dtype=np.int64)
    for c in range(columns.shape[0]):
        column = columns[c].copy()
        column[2] = 0
        own = uses[columns[c, 2] : columns[c, 2] + columns[c, 1]]
        way, height = column[3], column[4]
        for g in range(groups):
            if generalise and column[0] == 0:
                first = codes[order[starts[g]], c]
                level = height
                for at in range(starts[g] + 1, starts[g + 1]):
                    label = codes[order[at], c]
                    while paths[way + label * (height + 1) + level] != paths[way + first * (height + 1) + level]:
                        level -= 1
                found[g, c] = paths[way + first * (height + 1) + level]
                continue
            for at in range(starts[g], starts[g + 1]):
                counts[codes[order[at], c]] += 1
            found[g, c] = centre_label(column, counts, own, paths, nodes, starts[g + 1] - starts[g])
            for at in range(starts[g], starts[g + 1]):
                counts[codes[order[at], c]] = 0
    return found


@kernel
def tiles_of(Z: Array, V: AnyArray) -> tuple[Array, AnyArray]:
    """Coordinates and levels of records, side by side in tiles."""
    n = Z.shape[0]
    tiles = (n + LANES - 1) // LANES
    T = np.zeros((tiles, Z.shape[1], LANES))
    U = np.zeros((tiles, V.shape[1], LANES), dtype=np.int32)
    for i in range(n):
        for j in range(Z.shape[1]):
            T[i // LANES, j, i % LANES] = Z[i, j]
        for j in range(V.shape[1]):
            U[i // LANES, j, i % LANES] = V[i, j]
    return T, U


@kernel
def set_centre(
    total: Array, n: int, columns: Indices, steps: Array, counts: Indices, uses: Indices, paths: Indices, nodes: Indices, q: Array, r: AnyArray
) -> None:  # fmt: skip
    """Put the centre of the n records that are left into q and r."""
    compact()
    for j in range(total.shape[0]):
        q[j] = total[j] / n
    for c in range(columns.shape[0]):
        label = centre_label(columns[c], counts, uses, paths, nodes, n)
        if columns[c, 0] == 1:
            if columns[c, 5] >= 0:
                q[columns[c, 5]] = label * steps[c]
        elif columns[c, 5] >= 0:
            for level in range(1, columns[c, 4] + 1):
                r[columns[c, 5] + level - 1] = paths[columns[c, 3] + label * (columns[c, 4] + 1) + level]


@kernel
def farthest(found: Array, ids: Indices, n: int, taken: AnyArray) -> int:
    """The record of the largest distance that is not taken, the lowest of equals; -1 if there is none."""
    compact()
    most, record = -1.0, -1
    for at in range(n):
        if found[at] >= most and not taken[ids[at]] and (found[at] > most or ids[at] < record):
            most, record = found[at], ids[at]
    return record


@kernel
def nearest_persons(
    found: Array, ids: Indices, n: int, taken: AnyArray, persons: Indices, alone: bool, most: int, best: Array, record: Indices
) -> Indices:  # fmt: skip
    """The first record of each person in the order (distance, index), for the `most` nearest persons; ascending.

    `alone`: each person has one record. `best` and `record` are work space, one entry for each person.
    """
    compact()
    many = n
    if not alone:
        many = 0
        for at in range(n):
            record[persons[ids[at]]] = -1
        for at in range(n):
            row, own = ids[at], persons[ids[at]]
            if taken[row]:
                continue
            many += record[own] < 0
            if record[own] < 0 or found[at] < best[own] or (found[at] == best[own] and row < record[own]):
                best[own], record[own] = found[at], row
    keys = np.empty(min(most, many))
    rows = np.empty(min(most, many), dtype=np.int64)
    size = 0
    limit = np.inf
    for at in range(n):
        if found[at] > limit:
            continue
        row = ids[at]
        if taken[row] or (not alone and record[persons[row]] != row):
            continue
        size = keep_smallest(keys, rows, size, rows.shape[0], found[at], row)
        if size == rows.shape[0]:
            limit = keys[0]
    rows = rows[:size]
    sort(rows)
    return rows


@kernel
def mixed_groups(
    Z: Array, V: AnyArray, codes: AnyArray, persons: Indices, k: int, trees: Indices, factors: Array, columns: Indices, steps: Array, paths: Indices,
    uses: Indices, labels: Indices, counter: Indices,
) -> int:  # fmt: skip
    """Group records with coordinates Z, levels V and labels `codes`, of persons numbered from 0. Gives the number of groups.

    `uses` counts the labels in the whole file. `labels` gets the group of each record, -1 for the records of fewer than k persons
    that are left in the end.
    """
    n, many = Z.shape[0], persons.max() + 1
    T, U = tiles_of(Z, V)
    tiles = T.shape[0]
    ids, where = np.arange(n), np.arange(n)
    own_records = np.zeros(many, dtype=np.int64)
    total = np.zeros(Z.shape[1])
    counts = np.zeros(uses.shape[0], dtype=np.int64)
    for i in range(n):
        for j in range(Z.shape[1]):
            total[j] += Z[i, j]
        for c in range(columns.shape[0]):
            counts[columns[c, 2] + codes[i, c]] += 1
        own_records[persons[i]] += 1
    here = 0
    for own in range(many):
        here += own_records[own] > 0
    alone = here == n
    found = np.empty(tiles * LANES)
    work = np.empty((2, LANES), dtype=np.int32)
    q, r = np.zeros(Z.shape[1]), np.zeros(V.shape[1], dtype=np.int32)
    most_nodes = 1
    for at in range(paths.shape[0]):
        most_nodes = max(most_nodes, paths[at] + 1)
    nodes = np.zeros(most_nodes, dtype=np.int64)
    best, record = np.empty(many), np.empty(many, dtype=np.int64)
    taken = np.zeros(n, dtype=np.bool_)
    nothing = np.empty(0, dtype=np.int64)
    second = nothing
    label, pairs, single = 0, True, True
    left = n
    while here >= k:
        set_centre(total, left, columns, steps, counts, uses, paths, nodes, q, r)
        measure(T, U, left, q, r, trees, factors, work, found)
        seed = farthest(found, ids, left, taken)
        set_point(Z, V, seed, q, r)
        measure(T, U, left, q, r, trees, factors, work, found)
        group = nearest_persons(found, ids, left, taken, persons, alone, k if single else here, best, record)
        if pairs:
            pairs = False
            if persons_after(persons, own_records, here, group, nothing) >= k:
                for at in range(group.shape[0]):
                    taken[group[at]] = True
                other = farthest(found, ids, left, taken)
                set_point(Z, V, other, q, r)
                measure(T, U, left, q, r, trees, factors, work, found)
                second = nearest_persons(found, ids, left, taken, persons, alone, k, best, record)
                pairs = persons_after(persons, own_records, here, group, second) >= k
                for at in range(group.shape[0]):
                    taken[group[at]] = False
            if not pairs:
                continue
        elif single and persons_after(persons, own_records, here, group, nothing) < k:
            single = False
            continue
        for turn in range(2 if pairs else 1):
            some = second if turn else group
            here = persons_after(persons, own_records, here, some, nothing)
            for at in range(some.shape[0]):
                row = some[at]
                labels[row] = label
                own_records[persons[row]] -= 1
                for j in range(Z.shape[1]):
                    total[j] -= Z[row, j]
                for c in range(columns.shape[0]):
                    counts[columns[c, 2] + codes[row, c]] -= 1
                left -= 1
                i = where[row]
                for j in range(Z.shape[1]):
                    T[i // LANES, j, i % LANES] = T[left // LANES, j, left % LANES]
                for j in range(V.shape[1]):
                    U[i // LANES, j, i % LANES] = U[left // LANES, j, left % LANES]
                ids[i] = ids[left]
                where[ids[i]] = i
            label += 1
            counter[0] += some.shape[0]
    return label


@kernel
def set_point(Z: Array, V: AnyArray, record: int, q: Array, r: AnyArray) -> None:
    """Put a record into q and r."""
    for j in range(Z.shape[1]):
        q[j] = Z[record, j]
    for j in range(V.shape[1]):
        r[j] = V[record, j]
