"""Groups made better without breaking k: records moved and swapped between near groups, groups dissolved and formed anew.

All changes go by the sum of squared errors, SSE = sum over groups g and their records x of |x - c_g|^2. With a and b the sizes of g and h
and c_g, c_h their means before the change, it changes by

    x moves from g to h      b/(b+1) |x - c_h|^2 - a/(a-1) |x - c_g|^2
    x of g, y of h swap      A + B - |x - y|^2 (1/a + 1/b),   A = |x - c_h|^2 - |x - c_g|^2,   B = |y - c_g|^2 - |y - c_h|^2

which takes one pass over the columns, and for most swaps none: |x - y| is at most the way through either mean. A change that looks good
is made, and both groups are computed anew from their records, in the order of their index: so the SSE of a group depends on nothing but
who is in it, nothing drifts, and as every change that stays lowers the SSE of its two groups by at least a billionth, the work ends.

Dissolving a group or forming one makes things worse at first. It is tried: the neighbourhood is brought to rest, and if the total did
not fall, every group that was touched is put back as it was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._kernels.mdav import keep_smallest, squared_distance
from tsveil.core.types import AnyArray, Array, Indices

#: a change must lower the SSE of the groups it touches by this share
LEAST = 1e-9
#: entries of `counts`: groups touched by the present trial, first of the queue, length of the queue, clock, free slots
TOUCHED, HEAD, QUEUED, CLOCK, FREE = 0, 1, 2, 3, 4
#: after WINDOW changes a trial is given up if what is missing is more than PATIENCE times what they have brought
WINDOW, PATIENCE = 8, 3.0
#: what a step of a trial does
NOTHING, DISSOLVE, FORM = 0, 1, 2


class State(NamedTuple):
    """The groups as arrays; a slot is a place for a group, empty if its size is 0."""

    Z: Array
    #: record -> slot
    labels: Indices
    #: slot -> its records, ascending; as many as `sizes` says
    members: Indices
    sizes: Indices
    centres: Array
    sse: Array
    #: slot -> slots with near centres, -1 where there are no more
    near: Indices
    #: slot -> when it changed last; slot and place in `near` -> when this pair was found to be at rest
    changed: Indices
    rested: Indices
    #: slots that wait to be looked at, and which those are
    queue: Indices
    waits: Indices
    #: empty slots
    free: Indices
    #: slots as they were before the present trial
    touched: Indices
    is_touched: Indices
    old_members: Indices
    old_sizes: Indices
    old_centres: Array
    old_sse: Array
    old_near: Indices
    old_changed: Indices
    old_rested: Indices
    #: work space: squared distances of two groups' records to both centres
    reach: Array
    counts: Indices


@kernel
def compute(s: State, g: int) -> None:
    """The mean and the SSE of a group from its records, x0 + mean(x - x0) with x0 its first one."""
    size = s.sizes[g]
    columns = s.Z.shape[1]
    first = s.members[g, 0]
    for j in range(columns):
        total = 0.0
        for p in range(1, size):
            total += s.Z[s.members[g, p], j] - s.Z[first, j]
        s.centres[g, j] = s.Z[first, j] + total / size
    total = 0.0
    for p in range(size):
        total += squared_distance(s.Z, s.members[g, p], s.centres, g)
    s.sse[g] = total


@kernel
def copy_row(source: AnyArray, target: AnyArray, row: int) -> None:
    """Copy a row; a loop compiles ten times as fast as an assignment of rows."""
    for j in range(source.shape[1]):
        target[row, j] = source[row, j]


@kernel
def touch(s: State, g: int) -> None:
    """Remember a slot before its first change in the present trial."""
    if s.is_touched[g]:
        return
    s.is_touched[g] = 1
    s.touched[s.counts[TOUCHED]] = g
    s.counts[TOUCHED] += 1
    s.old_sizes[g] = s.sizes[g]
    s.old_sse[g] = s.sse[g]
    s.old_changed[g] = s.changed[g]
    copy_row(s.rested, s.old_rested, g)
    copy_row(s.members, s.old_members, g)
    copy_row(s.centres, s.old_centres, g)
    copy_row(s.near, s.old_near, g)


@kernel
def mark(s: State, g: int) -> None:
    """Note that a group has changed, and queue it."""
    s.counts[CLOCK] += 1
    s.changed[g] = s.counts[CLOCK]
    if not s.waits[g]:
        s.waits[g] = 1
        s.queue[(s.counts[HEAD] + s.counts[QUEUED]) % s.queue.shape[0]] = g
        s.counts[QUEUED] += 1


@kernel
def put(s: State, g: int, record: int) -> None:
    """Add a record to a group, in order."""
    at = s.sizes[g]
    while at > 0 and s.members[g, at - 1] > record:
        s.members[g, at] = s.members[g, at - 1]
        at -= 1
    s.members[g, at] = record
    s.sizes[g] += 1
    s.labels[record] = g


@kernel
def take(s: State, g: int, record: int) -> None:
    """Take a record out of a group."""
    at = 0
    while s.members[g, at] != record:
        at += 1
    s.sizes[g] -= 1
    for p in range(at, s.sizes[g]):
        s.members[g, p] = s.members[g, p + 1]


@kernel
def changed_by_move(size: int, to_size: int, own: float, other: float) -> float:
    """What moving a record changes in the SSE, from the sizes and its squared distances to both means."""
    return to_size / (to_size + 1.0) * other - size / (size - 1.0) * own


@kernel
def changed_by_swap(
    size: int, other_size: int, own: float, other: float, own2: float, other2: float, apart: float
) -> float:
    """What swapping two records changes: each one's squared distances to its own and the other mean, and to each other."""
    return (other - own) + (other2 - own2) - apart * (1.0 / size + 1.0 / other_size)


@kernel
def best_change(s: State, k: int, g: int, h: int) -> tuple[float, int, int]:
    """The best move or swap between two groups: its change of SSE, the record that leaves g and the one that leaves h (-1: none)."""
    a, b = s.sizes[g], s.sizes[h]
    for p in range(a):
        s.reach[0, p] = squared_distance(s.Z, s.members[g, p], s.centres, g)
        s.reach[1, p] = squared_distance(s.Z, s.members[g, p], s.centres, h)
    for p in range(b):
        s.reach[2, p] = squared_distance(s.Z, s.members[h, p], s.centres, h)
        s.reach[3, p] = squared_distance(s.Z, s.members[h, p], s.centres, g)
    best, left, right = -LEAST * (s.sse[g] + s.sse[h]), -1, -1
    if a > k and b < 2 * k - 1:
        for p in range(a):
            change = changed_by_move(a, b, s.reach[0, p], s.reach[1, p])
            if change < best:
                best, left, right = change, s.members[g, p], -1
    if b > k and a < 2 * k - 1:
        for p in range(b):
            change = changed_by_move(b, a, s.reach[2, p], s.reach[3, p])
            if change < best:
                best, left, right = change, -1, s.members[h, p]
    weight = 1.0 / a + 1.0 / b
    for p in range(a):
        own, other = s.reach[0, p], s.reach[1, p]
        for q in range(b):
            own2, other2 = s.reach[2, q], s.reach[3, q]
            base = (other - own) + (other2 - own2)
            # (u + v)^2 <= 2 u^2 + 2 v^2, through either mean: a bound of |x - y|^2 without a square root
            most = 2.0 * min(own + other2, other + own2)
            if base - most * weight >= best:
                continue
            i, j = s.members[g, p], s.members[h, q]
            change = changed_by_swap(a, b, own, other, own2, other2, squared_distance(s.Z, i, s.Z, j))
            if change < best:
                best, left, right = change, i, j
    return best, left, right


@kernel
def exchange(s: State, g: int, h: int, left: int, right: int) -> None:
    """Record `left` goes from g to h and `right` from h to g; either may be -1."""
    if left >= 0:
        take(s, g, left)
    if right >= 0:
        take(s, h, right)
        put(s, g, right)
    if left >= 0:
        put(s, h, left)
    compute(s, g)
    compute(s, h)


@kernel
def improve(s: State, k: int, g: int, h: int) -> tuple[int, float]:
    """Make the best changes between two groups until there is none: how many there were, and by how much the SSE fell."""
    changes, fall = 0, 0.0
    while True:
        _, left, right = best_change(s, k, g, h)
        if left < 0 and right < 0:
            return changes, fall
        touch(s, g)
        touch(s, h)
        before = s.sse[g] + s.sse[h]
        exchange(s, g, h, left, right)
        after = s.sse[g] + s.sse[h]
        if not after < before * (1.0 - LEAST):  # it only looked good by rounding
            exchange(s, h, g, left, right)
            return changes, fall
        changes += 1
        fall += before - after
        mark(s, g)
        mark(s, h)


@kernel
def descend(s: State, k: int, debt: float) -> bool:
    """Improve pairs of near groups until all those that wait, and those that come to wait, are at rest.

    A trial has a debt, the SSE that it has added: False as soon as it is plain that this will not be made good, because the latest
    changes brought too small a part of what is still missing.
    """
    changes, fall = 0, 0.0
    while s.counts[QUEUED] > 0:
        g = s.queue[s.counts[HEAD]]
        s.counts[HEAD] = (s.counts[HEAD] + 1) % s.queue.shape[0]
        s.counts[QUEUED] -= 1
        s.waits[g] = 0
        if s.sizes[g] == 0:
            continue
        for t in range(s.near.shape[1]):
            h = s.near[g, t]
            if h < 0 or h == g or s.sizes[h] == 0:
                continue
            if s.rested[g, t] >= max(s.changed[g], s.changed[h]):
                continue
            made, less = improve(s, k, g, h)
            s.rested[g, t] = s.counts[CLOCK]
            changes += made
            fall += less
        if changes >= WINDOW:
            debt -= fall
            if debt > PATIENCE * fall:
                return False
            changes, fall = 0, 0.0
    return True


@kernel
def settle(s: State) -> None:
    """Keep what the present trial has changed."""
    for p in range(s.counts[TOUCHED]):
        s.is_touched[s.touched[p]] = 0
    s.counts[TOUCHED] = 0


@kernel
def undo(s: State) -> None:
    """Put back every group as it was before the present trial."""
    for p in range(s.counts[TOUCHED]):
        g = s.touched[p]
        if s.old_sizes[g] == 0 and s.sizes[g] > 0:
            s.free[s.counts[FREE]] = g
            s.counts[FREE] += 1
    for p in range(s.counts[TOUCHED]):
        g = s.touched[p]
        if s.old_sizes[g] > 0 and s.sizes[g] == 0:
            # it is among the free ones: take it out
            at = 0
            while s.free[at] != g:
                at += 1
            s.counts[FREE] -= 1
            s.free[at] = s.free[s.counts[FREE]]
        s.sizes[g] = s.old_sizes[g]
        s.sse[g] = s.old_sse[g]
        s.changed[g] = s.old_changed[g]
        copy_row(s.old_rested, s.rested, g)
        copy_row(s.old_members, s.members, g)
        copy_row(s.old_centres, s.centres, g)
        copy_row(s.old_near, s.near, g)
        for q in range(s.sizes[g]):
            s.labels[s.members[g, q]] = g
    while s.counts[QUEUED] > 0:
        s.waits[s.queue[s.counts[HEAD]]] = 0
        s.counts[HEAD] = (s.counts[HEAD] + 1) % s.queue.shape[0]
        s.counts[QUEUED] -= 1
    settle(s)


@kernel
def gain(s: State) -> float:
    """By how much the present trial has lowered the SSE, less the share that a change must bring."""
    before, after = 0.0, 0.0
    for p in range(s.counts[TOUCHED]):
        g = s.touched[p]
        if s.old_sizes[g] > 0:
            before += s.old_sse[g]
        if s.sizes[g] > 0:
            after += s.sse[g]
    return before * (1.0 - LEAST) - after


@kernel
def release(s: State, g: int) -> None:
    """Make a slot free."""
    s.sizes[g] = 0
    s.free[s.counts[FREE]] = g
    s.counts[FREE] += 1


@kernel
def new_group(s: State, beside: int) -> int:
    """An empty slot with the neighbours of another group and that group itself."""
    s.counts[FREE] -= 1
    g = int(s.free[s.counts[FREE]])
    touch(s, g)
    s.near[g, 0] = beside
    for t in range(1, s.near.shape[1]):
        s.near[g, t] = s.near[beside, t - 1]
    for t in range(s.near.shape[1]):
        s.rested[g, t] = -1
    return g


@kernel
def split(s: State, k: int, g: int) -> None:
    """Cut a group of 2k or more in two: by the distances to its outermost record and to the one farthest from that."""
    size = s.sizes[g]
    columns = s.Z.shape[1]
    ends = np.zeros(2, dtype=np.int64)
    for end in range(2):
        far, found = -1.0, s.members[g, 0]
        for p in range(size):
            i = s.members[g, p]
            away = squared_distance(s.Z, i, s.centres, g) if end == 0 else squared_distance(s.Z, i, s.Z, ends[0])
            if away > far:
                far, found = away, i
        ends[end] = found
    keys, records = np.empty(size), np.empty(size, dtype=np.int64)
    for p in range(size):  # sorted as they come: a group is small
        i = s.members[g, p]
        key, at = squared_distance(s.Z, i, s.Z, ends[0]) - squared_distance(s.Z, i, s.Z, ends[1]), p
        while at > 0 and keys[at - 1] > key:
            keys[at], records[at] = keys[at - 1], records[at - 1]
            at -= 1
        keys[at], records[at] = key, i
    # The best cut: of two parts with the means u and v and a and b records, a b / (a + b) |u - v|^2 is saved.
    head, tail = np.zeros(columns), np.zeros(columns)
    for p in range(size):
        for j in range(columns):
            tail[j] += s.Z[s.members[g, p], j] - s.centres[g, j]
    cut, most = k, -1.0
    for p in range(size - k):
        saved = 0.0
        a, b = p + 1.0, size - p - 1.0
        for j in range(columns):
            step = s.Z[records[p], j] - s.centres[g, j]
            head[j] += step
            tail[j] -= step
            between = head[j] / a - tail[j] / b
            saved += between * between
        saved *= a * b / (a + b)
        if p + 1 >= k and saved > most:
            cut, most = p + 1, saved
    other = new_group(s, g)
    touch(s, g)
    s.sizes[g] = 0
    for p in range(size):
        put(s, g if p < cut else other, records[p])
    compute(s, g)
    compute(s, other)
    mark(s, g)
    mark(s, other)


@kernel
def scatter(s: State, k: int, g: int) -> bool:
    """Empty a group: each record goes where it costs least among the near groups; False if there is no room."""
    touch(s, g)
    size = s.sizes[g]
    records = np.empty(size, dtype=np.int64)
    for p in range(size):
        records[p] = s.members[g, p]
    release(s, g)
    for record in records:
        best, to = np.inf, -1
        for t in range(s.near.shape[1]):
            h = s.near[g, t]
            if h >= 0 and h != g and 0 < s.sizes[h] < 2 * k:
                cost = s.sizes[h] / (s.sizes[h] + 1.0) * squared_distance(s.Z, record, s.centres, h)
                if cost < best:
                    best, to = cost, h
        if to < 0:
            s.labels[record] = -1
            return False
        touch(s, to)
        put(s, to, record)
        compute(s, to)
        mark(s, to)
        if s.sizes[to] >= 2 * k:
            split(s, k, to)
    return True


@kernel
def neighbourhood(s: State, g: int) -> Indices:
    """A group and its near groups, each once."""
    found = np.empty(s.near.shape[1] + 1, dtype=np.int64)
    found[0] = g
    many = 1
    for t in range(s.near.shape[1]):
        h = s.near[g, t]
        known = h < 0 or s.sizes[h] == 0
        for p in range(many):
            known = known or found[p] == h
        if not known:
            found[many] = h
            many += 1
    return found[:many]


@kernel
def form(s: State, k: int, seed: int) -> bool:
    """A new group of a record and its k-1 nearest in the near groups; groups that become too small are emptied."""
    around = neighbourhood(s, s.labels[seed])
    room = 0
    for h in around:
        room += s.sizes[h]
    if room < 2 * k:
        return False
    keys, records = np.empty(k), np.empty(k, dtype=np.int64)
    filled = 0
    for h in around:
        for p in range(s.sizes[h]):
            i = s.members[h, p]
            filled = keep_smallest(keys, records, filled, k, squared_distance(s.Z, i, s.Z, seed), i)
    other = new_group(s, s.labels[seed])
    for p in range(k):
        record = records[p]
        h = s.labels[record]
        touch(s, h)
        take(s, h, record)
        put(s, other, record)
    compute(s, other)
    mark(s, other)
    for h in around:
        if s.is_touched[h]:
            if s.sizes[h] == 0:
                release(s, h)
            else:
                compute(s, h)
                mark(s, h)
    possible = True
    for h in around:
        if possible and 0 < s.sizes[h] < k:
            possible = scatter(s, k, h)
    return possible


@kernel
def attempt(s: State, k: int, records: Indices, kinds: Indices, picks: Array) -> int:
    """One trial per record: dissolve its group or form a new one around it, then go on nearby; gives how many were worth while.

    A row of `kinds` says what the steps of a trial do (NOTHING ends it), a row of `picks` (numbers from 0 to 1) which record of which
    near group each further step takes.
    """
    kept = 0
    for row in range(records.shape[0]):
        record = records[row]
        possible = True
        for step in range(kinds.shape[1]):
            if kinds[row, step] == NOTHING:
                break
            if step > 0:
                around = neighbourhood(s, s.labels[record])
                h = around[min(int(picks[row, 2 * step - 2] * around.shape[0]), around.shape[0] - 1)]
                record = s.members[h, min(int(picks[row, 2 * step - 1] * s.sizes[h]), s.sizes[h] - 1)]
            possible = form(s, k, record) if kinds[row, step] == FORM else scatter(s, k, s.labels[record])
            if not possible:
                break
        if possible and descend(s, k, -gain(s)) and gain(s) > 0.0:
            settle(s)
            kept += 1
        else:
            undo(s)
    return kept


@kernel
def near_centres(centres: Array, start: int, stop: int, near: Indices) -> None:
    """The nearest other rows of each of a range of rows, by distance, then index."""
    width = min(near.shape[1], centres.shape[0] - 1)
    keys, found = np.empty(width), np.empty(width, dtype=np.int64)
    for g in range(start, stop):
        filled = 0
        for h in range(centres.shape[0]):
            if h != g:
                filled = keep_smallest(keys, found, filled, width, squared_distance(centres, g, centres, h), h)
        for t in range(width - 1, -1, -1):  # the top of the heap is the farthest
            top = 0
            for p in range(1, t + 1):
                if keys[p] > keys[top] or (keys[p] == keys[top] and found[p] > found[top]):
                    top = p
            near[g, t] = found[top]
            keys[top], found[top] = keys[t], found[t]


@kernel
def outermost(s: State, since: int) -> Indices:
    """The record farthest from its mean in each group that has changed after a time, or has near groups that have."""
    found = np.empty(s.sizes.shape[0], dtype=np.int64)
    many = 0
    for g in range(s.sizes.shape[0]):
        latest = s.changed[g]
        for t in range(s.near.shape[1]):
            if s.near[g, t] >= 0:
                latest = max(latest, s.changed[s.near[g, t]])
        if s.sizes[g] == 0 or latest <= since:
            continue
        far = -1.0
        for p in range(s.sizes[g]):
            away = squared_distance(s.Z, s.members[g, p], s.centres, g)
            if away > far:
                far, found[many] = away, s.members[g, p]
        many += 1
    return found[:many]
