"""MDAV by the fused loop: every distance is computed, each pass does as much as it can.

A pass from x_r finds its k-1 nearest records and the farthest one, x_s, together; a pass from x_s finds its neighbours; a
pass from the centroid finds the next x_r. The records that are left lie side by side: a removed row is overwritten by the
last one. This is the plain version of the definition, the yardstick of the benchmarks and the end game of the fast one.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices

#: records that lie side by side
LANES = 32


@kernel
def squared_distance(A: Array, a: int, B: Array, b: int) -> float:
    """The squared distance of row a of A and row b of B, summed in the order of the columns: the order is the definition."""
    total = 0.0
    for j in range(A.shape[1]):
        step = A[a, j] - B[b, j]
        total += step * step
    return total


@kernel
def keep_smallest(keys: Array, ids: Indices, size: int, most: int, key: float, record: int) -> int:
    """Offer (key, record) to a heap that keeps the `most` lexicographically smallest pairs, largest on top; gives its size."""
    if size < most:
        at = size
        size += 1
        while at > 0:  # sift up
            parent = (at - 1) >> 1
            if keys[parent] > key or (keys[parent] == key and ids[parent] > record):
                break
            keys[at] = keys[parent]
            ids[at] = ids[parent]
            at = parent
    else:
        if key > keys[0] or (key == keys[0] and record > ids[0]):
            return size
        at = 0
        while True:  # sift down
            child = 2 * at + 1
            if child >= size:
                break
            other = child + 1
            if other < size and (keys[other] > keys[child] or (keys[other] == keys[child] and ids[other] > ids[child])):
                child = other
            if key > keys[child] or (key == keys[child] and record > ids[child]):
                break
            keys[at] = keys[child]
            ids[at] = ids[child]
            at = child
    keys[at] = key
    ids[at] = record
    return size


@kernel
def sort(a: Indices) -> None:
    """Sort in place by Shell's method: numpy's sort takes seconds to compile."""
    gap = 1
    while gap < a.shape[0] // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, a.shape[0]):
            value, at = a[i], i
            while at >= gap and a[at - gap] > value:
                a[at] = a[at - gap]
                at -= gap
            a[at] = value
        gap //= 3


@kernel
def assign(Z: Array, group: Indices, total: Array, label: int, labels: Indices) -> None:
    """Label the records of a group (sorted in place) and take their rows out of the running sum, lowest index first."""
    sort(group)
    for p in range(group.shape[0]):
        labels[group[p]] = label
        for j in range(Z.shape[1]):
            total[j] -= Z[group[p], j]


@kernel
def add_rows(Z: Array, total: Array) -> None:
    """Add all rows to the total, in the order of their index."""
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            total[j] += Z[i, j]


@kernel
def measure_tile(T: Array, tile: int, q: Array, sums: Array) -> None:
    """The squared distances of the records of a tile from q: each is summed in the order of the columns, as `squared` does.

    Four columns at a time, so that the sums are fetched and put back a quarter as often; T has columns of zeros for the rest.
    """
    for lane in range(LANES):
        sums[lane] = 0.0
    for j in range(0, T.shape[1], 4):
        q0, q1, q2, q3 = q[j], q[j + 1], q[j + 2], q[j + 3]
        for lane in range(LANES):
            total = sums[lane]
            step = T[tile, j, lane] - q0
            total += step * step
            step = T[tile, j + 1, lane] - q1
            total += step * step
            step = T[tile, j + 2, lane] - q2
            total += step * step
            step = T[tile, j + 3, lane] - q3
            total += step * step
            sums[lane] = total


@kernel
def fused_groups(
    Z: Array, k: int, paper: bool, left: Indices, total: Array, label: int, labels: Indices, counter: Indices
) -> int:
    """Group the records `left` (ascending), whose running sum is `total`, from group number `label` on; gives the number of groups.

    `labels` gets the group of each record, `counter[0]` the number of records assigned so far.
    """
    n, columns = left.shape[0], Z.shape[1]
    T = np.zeros(((n + LANES - 1) // LANES, (columns + 3) // 4 * 4, LANES))
    T[:, 0, :] = np.nan  # where no record is no comparison holds
    ids = left.copy()
    where = np.empty(Z.shape[0], dtype=np.int64)
    for start in range(0, n, LANES):
        for j in range(columns):
            for i in range(start, min(start + LANES, n)):
                T[start // LANES, j, i - start] = Z[ids[i], j]
    for i in range(n):
        where[ids[i]] = i
    done = Z.shape[0] - n
    q = np.zeros(T.shape[1])
    sums = np.empty(LANES)
    keys = np.empty(max(k - 1, 0))
    near = np.empty(max(k - 1, 0), dtype=np.int64)
    group = np.empty(k, dtype=np.int64)

    while n > 0:
        pair = n >= 3 * k or (paper and n > k)
        if not pair and (paper or n < 2 * k):
            for i in range(n):
                labels[ids[i]] = label
            counter[0] = done + n
            return label + 1
        for j in range(columns):
            q[j] = total[j] / n
        farthest, record = -1.0, -1
        for tile in range((n + LANES - 1) // LANES):
            measure_tile(T, tile, q, sums)
            hits = np.int64(0)
            for lane in range(LANES):
                hits += np.int64(sums[lane] >= farthest)
            if hits > 0:
                for lane in range(LANES):
                    if sums[lane] >= farthest:
                        other = ids[tile * LANES + lane]
                        if sums[lane] > farthest or other < record:
                            farthest, record = sums[lane], other

        for turn in range(2 if pair else 1):
            if turn == 1 and paper and n <= k:
                break
            for j in range(columns):
                q[j] = Z[record, j]
            size = 0
            nearest = np.inf if k > 1 else -1.0
            farthest, other = -1.0, -1
            for tile in range((n + LANES - 1) // LANES):
                measure_tile(T, tile, q, sums)
                hits = np.int64(0)
                for lane in range(LANES):
                    hits += np.int64(sums[lane] <= nearest) | np.int64(sums[lane] >= farthest)
                if hits > 0:
                    for lane in range(LANES):
                        d = sums[lane]
                        if d <= nearest or d >= farthest:
                            candidate = ids[tile * LANES + lane]
                            if candidate == record:
                                continue
                            if d <= nearest:
                                size = keep_smallest(keys, near, size, k - 1, d, candidate)
                                if size == k - 1:
                                    nearest = keys[0]
                            if d > farthest or (d == farthest and candidate < other):
                                farthest, other = d, candidate
            group[0] = record
            for p in range(k - 1):
                group[p + 1] = near[p]
            assign(Z, group, total, label, labels)
            label += 1
            for p in range(k):
                n -= 1
                i = where[group[p]]
                for j in range(columns):
                    T[i // LANES, j, i % LANES] = T[n // LANES, j, n % LANES]
                T[n // LANES, 0, n % LANES] = np.nan
                ids[i] = ids[n]
                where[ids[i]] = i
            if other >= 0 and labels[other] == label - 1:
                # The farthest record is among the nearest: all the others are as far, and the lowest index takes the turn.
                other = ids[0]
                for i in range(n):
                    other = min(other, ids[i])
            record = other
            done += k
            counter[0] = done
    return label
