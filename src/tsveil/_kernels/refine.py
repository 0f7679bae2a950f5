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

from tsveil._kernels.compiling import compact, kernel
from tsveil._kernels.mdav import keep_smallest, squared_distance
from tsveil.core.types import AnyArray, Array, Indices

#: a change must lower the SSE of the groups it touches by this share
LEAST = 1e-9
#: columns of `groups`: size, when the group changed last, and from here on its records
SIZE, CHANGED, MEMBERS = 0, 1, 2
#: rows of `slots`: slots that wait to be looked at, and whether each does; empty slots; slots changed by the present trial, and whether each is; the empty ones
#: before that trial
QUEUE, WAITS, EMPTY, TOUCHED, IS_TOUCHED, WERE_EMPTY = 0, 1, 2, 3, 4, 5
#: entries of `counts`: groups touched by the present trial, first of the queue, length of the queue, clock, empty slots
MANY_TOUCHED, HEAD, QUEUED, CLOCK, FREE = 0, 1, 2, 3, 4
#: after WINDOW changes a trial is given up if what is missing is more than PATIENCE times what they have brought
WINDOW, PATIENCE = 8, 3.0
#: what a step of a trial does
NOTHING, DISSOLVE, FORM = 0, 1, 2


class State(NamedTuple):
    """The groups as arrays; a slot is a place for a group, empty if its size is 0.

    `groups`, `near` and `centres` have a row per slot, and then again one per slot for what it was before the present trial. Few arrays with
    several things in each: numba takes all of them apart in every kernel, and twenty took twice as long to compile.
    """

    Z: Array
    #: record -> slot
    labels: Indices
    #: slot -> its size, when it changed last, and its records, ascending
    groups: Indices
    #: slot -> slots with near centres, -1 where there are no more; and when the pair with each was found to be at rest
    near: Indices
    #: slot -> its mean and its SSE
    centres: Array
    #: lists of slots, and marks of slots
    slots: Indices
    #: work space: squared distances of two groups' records to both centres
    reach: Array
    counts: Indices

    @property
    def sizes(self) -> Indices:
        """The size of each slot's group."""
        return self.groups[: self.slots.shape[1], SIZE]

    @property
    def changed(self) -> Indices:
        """When each slot's group changed last."""
        return self.groups[: self.slots.shape[1], CHANGED]

    @property
    def members(self) -> Indices:
        """The records of each slot's group, as many as its size says."""
        return self.groups[: self.slots.shape[1], MEMBERS:]

    @property
    def means(self) -> Array:
        """The mean of each slot's group."""
        return self.centres[: self.slots.shape[1], :-1]

    @property
    def sse(self) -> Array:
        """The SSE of each slot's group."""
        return self.centres[: self.slots.shape[1], -1]

    @property
    def near_slots(self) -> Indices:
        """The slots near each slot."""
        return self.near[: self.slots.shape[1], : self.near.shape[1] // 2]

    @property
    def rested(self) -> Indices:
        """When each slot was found to be at rest with each of the near ones."""
        return self.near[: self.slots.shape[1], self.near.shape[1] // 2 :]


@kernel
def compute(s: State, g: int) -> None:
    """The mean and the SSE of a group from its records, x0 + mean(x - x0) with x0 its first one."""
    compact()
    Z, groups, centres = s.Z, s.groups, s.centres
    end = MEMBERS + groups[g, SIZE]
    columns = Z.shape[1]
    first = groups[g, MEMBERS]
    for j in range(columns):
        total = 0.0
        for p in range(MEMBERS + 1, end):
            total += Z[groups[g, p], j] - Z[first, j]
        centres[g, j] = Z[first, j] + total / groups[g, SIZE]
    total = 0.0
    for p in range(MEMBERS, end):
        total += squared_distance(Z, groups[g, p], centres, g)
    centres[g, columns] = total


@kernel
def copy_row(rows: AnyArray, source: int, target: int) -> None:
    """Copy a row; a loop compiles ten times as fast as an assignment of rows."""
    compact()
    for j in range(rows.shape[1]):
        rows[target, j] = rows[source, j]


@kernel
def touch(s: State, g: int) -> None:
    """Remember a slot before its first change in the present trial."""
    compact()
    slots, counts = s.slots, s.counts
    if slots[IS_TOUCHED, g]:
        return
    slots[IS_TOUCHED, g] = 1
    slots[TOUCHED, counts[MANY_TOUCHED]] = g
    counts[MANY_TOUCHED] += 1
    old = g + slots.shape[1]
    copy_row(s.groups, g, old)
    copy_row(s.near, g, old)
    copy_row(s.centres, g, old)


@kernel
def mark(s: State, g: int) -> None:
    """Note that a group has changed, and queue it."""
    compact()
    slots, counts = s.slots, s.counts
    counts[CLOCK] += 1
    s.groups[g, CHANGED] = counts[CLOCK]
    if not slots[WAITS, g]:
        slots[WAITS, g] = 1
        slots[QUEUE, (counts[HEAD] + counts[QUEUED]) % slots.shape[1]] = g
        counts[QUEUED] += 1


@kernel
def next_waiting(s: State) -> int:
    """The first slot of the queue, taken from it."""
    compact()
    slots, counts = s.slots, s.counts
    g = slots[QUEUE, counts[HEAD]]
    counts[HEAD] = (counts[HEAD] + 1) % slots.shape[1]
    counts[QUEUED] -= 1
    slots[WAITS, g] = 0
    return int(g)


@kernel
def put(s: State, g: int, record: int) -> None:
    """Add a record to a group, in order."""
    compact()
    groups = s.groups
    at = MEMBERS + groups[g, SIZE]
    while at > MEMBERS and groups[g, at - 1] > record:
        groups[g, at] = groups[g, at - 1]
        at -= 1
    groups[g, at] = record
    groups[g, SIZE] += 1
    s.labels[record] = g


@kernel
def take(s: State, g: int, record: int) -> None:
    """Take a record out of a group."""
    compact()
    groups = s.groups
    at = MEMBERS
    while groups[g, at] != record:
        at += 1
    groups[g, SIZE] -= 1
    for p in range(at, MEMBERS + groups[g, SIZE]):
        groups[g, p] = groups[g, p + 1]


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
    Z, groups, centres, reach = s.Z, s.groups, s.centres, s.reach
    a, b = groups[g, SIZE], groups[h, SIZE]
    for p in range(a):
        reach[0, p] = squared_distance(Z, groups[g, MEMBERS + p], centres, g)
        reach[1, p] = squared_distance(Z, groups[g, MEMBERS + p], centres, h)
    for p in range(b):
        reach[2, p] = squared_distance(Z, groups[h, MEMBERS + p], centres, h)
        reach[3, p] = squared_distance(Z, groups[h, MEMBERS + p], centres, g)
    best, left, right = -LEAST * (centres[g, Z.shape[1]] + centres[h, Z.shape[1]]), -1, -1
    if a > k and b < 2 * k - 1:
        for p in range(a):
            change = changed_by_move(a, b, reach[0, p], reach[1, p])
            if change < best:
                best, left, right = change, groups[g, MEMBERS + p], -1
    if b > k and a < 2 * k - 1:
        for p in range(b):
            change = changed_by_move(b, a, reach[2, p], reach[3, p])
            if change < best:
                best, left, right = change, -1, groups[h, MEMBERS + p]
    weight = 1.0 / a + 1.0 / b
    for p in range(a):
        own, other = reach[0, p], reach[1, p]
        for q in range(b):
            own2, other2 = reach[2, q], reach[3, q]
            base = (other - own) + (other2 - own2)
            # (u + v)^2 <= 2 u^2 + 2 v^2, through either mean: a bound of |x - y|^2 without a square root
            most = 2.0 * min(own + other2, other + own2)
            if base - most * weight >= best:
                continue
            i, j = groups[g, MEMBERS + p], groups[h, MEMBERS + q]
            change = changed_by_swap(a, b, own, other, own2, other2, squared_distance(Z, i, Z, j))
            if change < best:
                best, left, right = change, i, j
    return best, left, right


@kernel
def exchange(s: State, g: int, h: int, left: int, right: int) -> float:
    """Record `left` goes from g to h and `right` from h to g; either may be -1. Gives the SSE of both groups afterwards."""
    compact()
    if left >= 0:
        take(s, g, left)
    if right >= 0:
        take(s, h, right)
        put(s, g, right)
    if left >= 0:
        put(s, h, left)
    compute(s, g)
    compute(s, h)
    return float(s.centres[g, s.Z.shape[1]] + s.centres[h, s.Z.shape[1]])


@kernel
def improve(s: State, k: int, g: int, h: int) -> tuple[int, float]:
    """Make the best changes between two groups until there is none: how many there were, and by how much the SSE fell."""
    compact()
    changes, fall = 0, 0.0
    while True:
        _, left, right = best_change(s, k, g, h)
        if left < 0 and right < 0:
            return changes, fall
        touch(s, g)
        touch(s, h)
        before = s.centres[g, s.Z.shape[1]] + s.centres[h, s.Z.shape[1]]
        after = exchange(s, g, h, left, right)
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
    compact()
    groups, near, counts = s.groups, s.near, s.counts
    width = near.shape[1] // 2
    changes, fall = 0, 0.0
    while counts[QUEUED] > 0:
        g = next_waiting(s)
        if groups[g, SIZE] == 0:
            continue
        for t in range(width):
            h = near[g, t]
            if h < 0 or h == g or groups[h, SIZE] == 0:
                continue
            if near[g, width + t] >= max(groups[g, CHANGED], groups[h, CHANGED]):
                continue
            made, less = improve(s, k, g, h)
            near[g, width + t] = counts[CLOCK]
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
    compact()
    for p in range(s.counts[MANY_TOUCHED]):
        s.slots[IS_TOUCHED, s.slots[TOUCHED, p]] = 0
    s.counts[MANY_TOUCHED] = 0


@kernel
def undo(s: State) -> None:
    """Put back every group as it was before the present trial."""
    compact()
    groups, slots, counts = s.groups, s.slots, s.counts
    many = slots.shape[1]
    for p in range(counts[MANY_TOUCHED]):
        g = slots[TOUCHED, p]
        if groups[g + many, SIZE] == 0 and groups[g, SIZE] > 0:
            release(s, g)
    for p in range(counts[MANY_TOUCHED]):
        g = slots[TOUCHED, p]
        if groups[g + many, SIZE] > 0 and groups[g, SIZE] == 0:
            # it is among the empty ones: take it out
            at = 0
            while slots[EMPTY, at] != g:
                at += 1
            counts[FREE] -= 1
            slots[EMPTY, at] = slots[EMPTY, counts[FREE]]
        copy_row(groups, g + many, g)
        copy_row(s.near, g + many, g)
        copy_row(s.centres, g + many, g)
        for q in range(MEMBERS, MEMBERS + groups[g, SIZE]):
            s.labels[groups[g, q]] = g
    while counts[QUEUED] > 0:
        next_waiting(s)
    settle(s)


@kernel
def gain(s: State) -> float:
    """By how much the present trial has lowered the SSE, less the share that a change must bring."""
    compact()
    groups, centres, slots = s.groups, s.centres, s.slots
    before, after = 0.0, 0.0
    for p in range(s.counts[MANY_TOUCHED]):
        g = slots[TOUCHED, p]
        if groups[g + slots.shape[1], SIZE] > 0:
            before += centres[g + slots.shape[1], s.Z.shape[1]]
        if groups[g, SIZE] > 0:
            after += centres[g, s.Z.shape[1]]
    return before * (1.0 - LEAST) - after


@kernel
def release(s: State, g: int) -> None:
    """Make a slot empty."""
    compact()
    s.groups[g, SIZE] = 0
    s.slots[EMPTY, s.counts[FREE]] = g
    s.counts[FREE] += 1


@kernel
def new_group(s: State, beside: int) -> int:
    """An empty slot with the neighbours of another group and that group itself."""
    compact()
    near = s.near
    width = near.shape[1] // 2
    s.counts[FREE] -= 1
    g = int(s.slots[EMPTY, s.counts[FREE]])
    touch(s, g)
    near[g, 0] = beside
    for t in range(1, width):
        near[g, t] = near[beside, t - 1]
    for t in range(width, 2 * width):
        near[g, t] = -1
    return g


@kernel
def farthest(s: State, g: int, points: Array, point: int) -> int:
    """The record of a group that is farthest from a row of points, the lowest of equally far ones."""
    compact()
    far, found = -1.0, s.groups[g, MEMBERS]
    for p in range(MEMBERS, MEMBERS + s.groups[g, SIZE]):
        away = squared_distance(s.Z, s.groups[g, p], points, point)
        if away > far:
            far, found = away, s.groups[g, p]
    return int(found)


@kernel
def split(s: State, k: int, g: int) -> None:
    """Cut a group of 2k or more in two: by the distances to its outermost record and to the one farthest from that."""
    compact()
    Z, groups, centres = s.Z, s.groups, s.centres
    size, columns = groups[g, SIZE], Z.shape[1]
    keys, records = np.empty(size), np.empty(size, dtype=np.int64)
    one = farthest(s, g, centres, g)
    two = farthest(s, g, Z, one)
    for p in range(size):  # sorted as they come: a group is small
        i = groups[g, MEMBERS + p]
        key, at = squared_distance(Z, i, Z, one) - squared_distance(Z, i, Z, two), p
        while at > 0 and keys[at - 1] > key:
            keys[at], records[at] = keys[at - 1], records[at - 1]
            at -= 1
        keys[at], records[at] = key, i
    # The best cut: of two parts with the means u and v and a and b records, a b / (a + b) |u - v|^2 is saved.
    head, tail = np.zeros(columns), np.zeros(columns)
    for p in range(MEMBERS, MEMBERS + size):
        for j in range(columns):
            tail[j] += Z[groups[g, p], j] - centres[g, j]
    cut, most = k, -1.0
    for p in range(size - k):
        saved = 0.0
        a, b = p + 1.0, size - p - 1.0
        for j in range(columns):
            step = Z[records[p], j] - centres[g, j]
            head[j] += step
            tail[j] -= step
            between = head[j] / a - tail[j] / b
            saved += between * between
        saved *= a * b / (a + b)
        if p + 1 >= k and saved > most:
            cut, most = p + 1, saved
    other = new_group(s, g)
    touch(s, g)
    groups[g, SIZE] = 0
    for p in range(size):
        put(s, g if p < cut else other, records[p])
    compute(s, g)
    compute(s, other)
    mark(s, g)
    mark(s, other)


@kernel
def scatter(s: State, k: int, g: int) -> bool:
    """Empty a group: each record goes where it costs least among the near groups; False if there is no room."""
    compact()
    groups, near = s.groups, s.near
    touch(s, g)
    size = groups[g, SIZE]
    records = np.empty(size, dtype=np.int64)
    for p in range(size):
        records[p] = groups[g, MEMBERS + p]
    release(s, g)
    for p in range(size):
        record = records[p]
        best, to = np.inf, -1
        for t in range(near.shape[1] // 2):
            h = near[g, t]
            if h >= 0 and h != g and 0 < groups[h, SIZE] < 2 * k:
                cost = groups[h, SIZE] / (groups[h, SIZE] + 1.0) * squared_distance(s.Z, record, s.centres, h)
                if cost < best:
                    best, to = cost, h
        if to < 0:
            s.labels[record] = -1
            return False
        touch(s, to)
        put(s, to, record)
        compute(s, to)
        mark(s, to)
        if groups[to, SIZE] >= 2 * k:
            split(s, k, to)
    return True


@kernel
def neighbourhood(s: State, g: int) -> Indices:
    """A group and its near groups, each once."""
    compact()
    width = s.near.shape[1] // 2
    found = np.empty(width + 1, dtype=np.int64)
    found[0] = g
    many = 1
    for t in range(width):
        h = s.near[g, t]
        known = h < 0 or s.groups[h, SIZE] == 0
        for p in range(many):
            known = known or found[p] == h
        if not known:
            found[many] = h
            many += 1
    return found[:many]


@kernel
def form(s: State, k: int, seed: int) -> bool:
    """A new group of a record and its k-1 nearest in the near groups; groups that become too small are emptied."""
    compact()
    Z, labels, groups = s.Z, s.labels, s.groups
    around = neighbourhood(s, labels[seed])
    room = 0
    for h in around:
        room += groups[h, SIZE]
    if room < 2 * k:
        return False
    keys, records = np.empty(k), np.empty(k, dtype=np.int64)
    filled = 0
    for h in around:
        for p in range(MEMBERS, MEMBERS + groups[h, SIZE]):
            i = groups[h, p]
            filled = keep_smallest(keys, records, filled, k, squared_distance(Z, i, Z, seed), i)
    other = new_group(s, labels[seed])
    for p in range(k):
        record = records[p]
        h = labels[record]
        touch(s, h)
        take(s, h, record)
        put(s, other, record)
    compute(s, other)
    mark(s, other)
    for h in around:
        if s.slots[IS_TOUCHED, h]:
            if groups[h, SIZE] == 0:
                release(s, h)
            else:
                compute(s, h)
                mark(s, h)
    possible = True
    for h in around:
        if possible and 0 < groups[h, SIZE] < k:
            possible = scatter(s, k, h)
    return possible


@kernel
def attempt(s: State, k: int, records: Indices, kinds: Indices, picks: Array, one: bool) -> int:
    """One trial per record: dissolve its group or form a new one around it, then go on nearby.

    A row of `kinds` says what the steps of a trial do (NOTHING ends it), a row of `picks` (numbers from 0 to 1) which record of which
    near group each further step takes. With `one` the trials end with the first that is worth while, and one that is not leaves no trace, not
    even in the order of the empty slots. Gives the row of the last that was worth while, -1 if there was none.
    """
    compact()
    slots, counts = s.slots, s.counts
    kept = -1
    for row in range(records.shape[0]):
        record = records[row]
        for p in range(counts[FREE]):
            slots[WERE_EMPTY, p] = slots[EMPTY, p]
        possible = True
        for step in range(kinds.shape[1]):
            if kinds[row, step] == NOTHING:
                break
            if step > 0:
                around = neighbourhood(s, s.labels[record])
                h = around[min(int(picks[row, 2 * step - 2] * around.shape[0]), around.shape[0] - 1)]
                size = s.groups[h, SIZE]
                record = s.groups[h, MEMBERS + min(int(picks[row, 2 * step - 1] * size), size - 1)]
            possible = form(s, k, record) if kinds[row, step] == FORM else scatter(s, k, s.labels[record])
            if not possible:
                break
        if possible and descend(s, k, -gain(s)) and gain(s) > 0.0:
            settle(s)
            kept = row
            if one:
                return kept
        else:
            undo(s)
            if one:
                for p in range(counts[FREE]):
                    slots[EMPTY, p] = slots[WERE_EMPTY, p]
    return kept


@kernel
def near_centres(centres: Array, start: int, stop: int, near: Indices) -> None:
    """The nearest other rows of each of a range of rows, by distance, then index."""
    compact()
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
    compact()
    groups, near = s.groups, s.near
    found = np.empty(s.slots.shape[1], dtype=np.int64)
    many = 0
    for g in range(s.slots.shape[1]):
        latest = groups[g, CHANGED]
        for t in range(near.shape[1] // 2):
            if near[g, t] >= 0:
                latest = max(latest, groups[near[g, t], CHANGED])
        if groups[g, SIZE] > 0 and latest > since:
            found[many] = farthest(s, g, s.centres, g)
            many += 1
    return found[:many]
