"""V-MDAV and p-sensitive MDAV: groups that grow beyond k."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._kernels.mdav import squared_distance
from tsveil.core.types import Array, Indices


@kernel
def variable_groups(z: Array, k: int, gamma: float, counter: Indices) -> Indices:
    """The groups of V-MDAV, in order of formation; `protect.vmdav` has the definition."""
    n, d = z.shape
    centre = np.zeros((1, d))
    for i in range(n):
        for c in range(d):
            centre[0, c] += z[i, c]
    centre /= n
    away = np.empty(n)
    for i in range(n):
        away[i] = squared_distance(z, i, centre, 0)
    outermost = np.argsort(-away, kind="mergesort")  # stable: of equally far records the first comes first
    labels = np.full(n, -1, np.int64)
    # `left` holds the unassigned records in ascending order; `near` their distance to the group that grows
    left = np.arange(n)
    near = np.empty(n)
    many = n
    label = 0
    at = 0
    while many >= k:
        while labels[outermost[at]] >= 0:
            at += 1
        seed = outermost[at]
        for u in range(many):
            near[u] = squared_distance(z, left[u], z, seed)
            if left[u] == seed:
                near[u] = -1.0  # the seed itself comes first, also among duplicates
        order = np.argsort(near[:many], kind="mergesort")[:k]
        members = left[order]
        for member in members:
            labels[member] = label
        size = k
        many = _drop_assigned(left, near, labels, many)
        for u in range(many):
            near[u] = np.inf
        newest = members
        while size < 2 * k - 1 and many > 0:
            best = -1
            for u in range(many):
                for member in newest:
                    near[u] = min(near[u], squared_distance(z, left[u], z, member))
                if best < 0 or near[u] < near[best]:
                    best = u
            record = left[best]
            outside = np.inf
            for u in range(many):
                if u != best:
                    outside = min(outside, squared_distance(z, left[u], z, record))
            if not np.sqrt(near[best]) < gamma * np.sqrt(outside):
                break
            labels[record] = label
            newest = np.array([record])
            size += 1
            many = _drop_assigned(left, near, labels, many)
        label += 1
        counter[0] = n - many
    chosen = np.full(many, -1, np.int64)
    for u in range(many):
        least = np.inf
        for i in range(n):
            if labels[i] >= 0:
                distance = squared_distance(z, left[u], z, i)
                if distance < least:
                    least = distance
                    chosen[u] = labels[i]
    for u in range(many):
        labels[left[u]] = chosen[u]
    counter[0] = n
    return labels


@kernel
def _drop_assigned(left: Indices, near: Array, labels: Indices, many: int) -> int:
    """Close the ranks of the unassigned records, in order, and give their number."""
    kept = 0
    for u in range(many):
        if labels[left[u]] < 0:
            left[kept] = left[u]
            near[kept] = near[u]
            kept += 1
    return kept


@kernel
def sensitive_groups(z: Array, k: int, p: int, codes: Indices, kinds: Indices, counter: Indices) -> Indices:
    """The groups of p-sensitive MDAV; `codes` is (records, columns) with values 0..kinds[column]-1."""
    n, d = z.shape
    labels = np.full(n, -1, np.int64)
    left = np.arange(n)
    near = np.empty(n)
    many = n
    total = np.zeros((1, d))
    for i in range(n):
        for c in range(d):
            total[0, c] += z[i, c]
    label = 0
    stage = 0  # 0: pairs of groups while 3k remain, 1: the second of a pair, 2: one more while 2k remain
    seed = -1
    while True:
        if stage == 2 and many < 2 * k:
            break
        if stage == 0 and many < 3 * k:
            stage = 2
            continue
        if not _various(codes, kinds, left[:many], p):
            break
        # the farthest from the mean of the remaining, or from the last seed
        point = z[seed : seed + 1].copy() if stage == 1 else total / many
        far = -1.0
        for u in range(many):
            distance = squared_distance(z, left[u], point, 0)
            if distance > far:
                far = distance
                seed = left[u]
        for u in range(many):
            near[u] = squared_distance(z, left[u], z, seed)
            if left[u] == seed:
                near[u] = -1.0
        order = np.argsort(near[:many], kind="mergesort")
        size = min(k, many)
        while not _various(codes, kinds, left[order[:size]], p):
            size += 1
        for u in order[:size]:
            labels[left[u]] = label
        for u in range(many):
            if labels[left[u]] == label:
                for c in range(d):
                    total[0, c] -= z[left[u], c]
        many = _drop_assigned(left, near, labels, many)
        label += 1
        counter[0] = n - many
        if stage == 2:
            break
        stage = 1 - stage if many >= k else 2
    if many >= k and _various(codes, kinds, left[:many], p):
        labels[left[:many]] = label
    elif many > 0:
        _join_nearest(z, labels, left[:many].copy(), label)
    counter[0] = n
    return labels


@kernel
def _various(codes: Indices, kinds: Indices, rows: Indices, p: int) -> bool:
    """Whether these records have at least p different values in each column."""
    for column in range(codes.shape[1]):
        seen = np.zeros(kinds[column], np.bool_)
        found = 0
        for row in rows:
            if not seen[codes[row, column]]:
                seen[codes[row, column]] = True
                found += 1
                if found >= p:
                    break
        if found < p:
            return False
    return True


@kernel
def _join_nearest(z: Array, labels: Indices, rows: Indices, groups: int) -> None:
    """Put each of these records into the group whose mean is nearest; the means are those before anyone joins."""
    means = np.zeros((groups, z.shape[1]))
    sizes = np.zeros(groups)
    for i in range(len(labels)):
        if labels[i] >= 0:
            means[labels[i]] += z[i]
            sizes[labels[i]] += 1
    for g in range(groups):
        means[g] /= sizes[g]
    for row in rows:
        least = np.inf
        for g in range(groups):
            distance = squared_distance(z, row, means, g)
            if distance < least:
                least = distance
                labels[row] = g
