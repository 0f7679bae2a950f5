"""MDAV with lists of neighbours that are made ahead of time, many at once, from a compact picture of the records.

The picture holds every record in rotated, scaled float32 coordinates (most telling first), 64 records to a tile, one row of
a tile per coordinate, so that a loop over the 64 becomes vector instructions. Records that are near each other share a tile,
and each tile has a box in its leading coordinates. The picture only ever *excludes* records: whatever it cannot exclude is
measured in float64 as the definition says, so lists are exact, ties included.

Why a list stays right: it holds the first records by (distance, index) among all that were left when it was made. Records
are only ever removed; so those of the list that are still left come first among all that are still left.

Why excluding is right: let D be the distance of two records in units of the picture, d2 the defined float64 square of it, z
and z' their places in the picture. The places are off by at most `error` |z| each (see the driver), and the norms that
stand for the coordinates that are not leading, too, if they are used; |z'| <= |z| + |z - z'|; so for a given record z

    | |z - z'| - D | <= 2 error |z| + 2 error D,

of which the first part is the record's `margin` (plus 1e-19, as squares below 1e-45 vanish) and the second is in `stretch`,
together with the relative error of sqrt(d2) and of the rotation. A float32 sum of at most c squares has a relative error
below (c+4) 2^-24; `slack` is more. Hence d2 <= t implies sum <= (sqrt(t) (1+stretch) + margin)^2 (1+slack), and d2 >= t the
same with minus signs. The sum over the leading coordinates plus the square of the difference (sum) of the norms of the
others is a lower (upper) bound of the whole by the triangle inequality, and so is a box for all the records in it.
"""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil._kernels.mdav import assign, keep_smallest, squared_distance
from tsveil.core.types import AnyArray, Array, Indices

#: records per tile
LANES = 64
#: the most tiles that are visited out of turn, the most promising first
WARM_UP = 24
#: what `form_groups` asks for
DONE, CENTRE, BOTH_LISTS, NEAR_LIST, COMPACTION = 0, 1, 2, 3, 4
#: the entries of `state`
LEFT, LABEL, OTHER_SEED, EVALUATED, FIRST, WANTED, STORED, USED = 0, 1, 2, 3, 4, 5, 6, 7


@kernel
def nearby_order(Y: AnyArray, order: Indices) -> None:
    """Reorder records so that each run of 64 is close together: halves of halves along the direction of the largest range."""
    n, columns = Y.shape
    keys = np.empty(n, dtype=Y.dtype)
    low = np.empty(columns, dtype=Y.dtype)
    high = np.empty(columns, dtype=Y.dtype)
    starts = np.empty(64, dtype=np.int64)
    stops = np.empty(64, dtype=np.int64)
    starts[0], stops[0], waiting = 0, n, 1
    while waiting > 0:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        if stop - start <= 64:
            continue
        for c in range(columns):
            low[c] = high[c] = Y[order[start], c]
        for i in range(start + 1, stop):
            for c in range(columns):
                low[c] = min(low[c], Y[order[i], c])
                high[c] = max(high[c], Y[order[i], c])
        widest = 0
        for c in range(columns):
            if high[c] - low[c] > high[widest] - low[widest]:
                widest = c
        for i in range(start, stop):
            keys[i] = Y[order[i], widest]
        # Hoare's selection: afterwards nothing before `middle` is larger than anything from there on
        middle = start + (stop - start + 64) // 128 * 64
        left, right = start, stop - 1
        while left < right:
            pivot = keys[(left + right) // 2]
            i, j = left, right
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    keys[i], keys[j] = keys[j], keys[i]
                    order[i], order[j] = order[j], order[i]
                    i += 1
                    j -= 1
            if middle <= j:
                right = j
            elif middle >= i:
                left = i
            else:
                break
        starts[waiting], stops[waiting] = start, middle
        starts[waiting + 1], stops[waiting + 1] = middle, stop
        waiting += 2


@kernel
def measure_box(T: AnyArray, ids: Indices, tile: int, boxes: AnyArray, lead: int) -> None:
    """The smallest and largest leading coordinates of the records left in a tile.

    Row `lead` of the boxes is for the norm of the coordinates that are not leading, which is the last row of a tile.
    """
    for c in range(lead + 1):
        row = T.shape[1] - 1 if c == lead else c
        low, high = np.float32(np.inf), np.float32(-np.inf)
        for lane in range(64):
            if ids[tile * 64 + lane] >= 0:
                low = min(low, T[tile, row, lane])
                high = max(high, T[tile, row, lane])
        boxes[0, c, tile] = low
        boxes[1, c, tile] = high


@kernel
def compact(T: AnyArray, ids: Indices, where: Indices, alive: Indices, boxes: AnyArray, lead: int) -> int:
    """Close the gaps that removed records left in the tiles and measure the boxes anew; gives the number of tiles."""
    rows = T.shape[1]
    to = 0
    for at in range(ids.shape[0]):
        if ids[at] >= 0:
            if to != at:
                for c in range(rows):
                    T[to // 64, c, to % 64] = T[at // 64, c, at % 64]
                ids[to] = ids[at]
                where[ids[to]] = to
                ids[at] = -1
            to += 1
    tiles = (to + 63) // 64
    for at in range(to, min(tiles * 64, ids.shape[0])):
        T[at // 64, 0, at % 64] = np.nan
    for tile in range(tiles):
        alive[tile] = min(to - tile * 64, 64)
        measure_box(T, ids, tile, boxes, lead)
    return tiles


@kernel
def next_promising(
    T: AnyArray,
    start: int,
    stop: int,
    lead: int,
    q: AnyArray,
    lower: AnyArray,
    upper: AnyArray,
    below: float,
    above: float,
    sums: AnyArray,
) -> int:
    """The first tile from `start` on that may hold records near or far enough, or `stop`; `sums` has the sums of its records.

    One long function on purpose: a call with arrays costs as much as a good part of a tile.
    """
    rows = T.shape[1] - 1
    norm = q[rows]
    for tile in range(start, stop):
        if not (lower[tile] <= below or upper[tile] >= above):
            continue
        for lane in range(64):
            sums[lane] = np.float32(0.0)
        c = 0
        nears = np.int32(1)
        fars = np.int32(0)
        while c < rows and nears + fars > 0:
            q0, q1, q2, q3 = q[c], q[c + 1], q[c + 2], q[c + 3]
            for lane in range(64):
                total = sums[lane]
                step = T[tile, c, lane] - q0
                total += step * step
                step = T[tile, c + 1, lane] - q1
                total += step * step
                step = T[tile, c + 2, lane] - q2
                total += step * step
                step = T[tile, c + 3, lane] - q3
                total += step * step
                sums[lane] = total
            c += 4
            if c == lead:
                nears = np.int32(0)
                for lane in range(64):
                    less = T[tile, rows, lane] - norm
                    more = T[tile, rows, lane] + norm
                    nears += np.int32(sums[lane] + less * less <= below)
                    fars += np.int32(sums[lane] + more * more >= above)
            elif c > lead and (c - lead) % 16 == 0 and fars == 0:
                nears = np.int32(0)
                for lane in range(64):
                    nears += np.int32(sums[lane] <= below)
        if nears + fars > 0:
            nears = np.int32(0)
            for lane in range(64):
                nears += np.int32(sums[lane] <= below) | np.int32(sums[lane] >= above)
            if nears > 0:
                return tile
    return stop


@kernel
def offer(
    Z: Array,
    ids: Indices,
    tile: int,
    record: int,
    exact: bool,
    sums: AnyArray,
    margin: float,
    bound: Array,
    limits: AnyArray,
    near_key: Array,
    near_id: Indices,
    far_key: Array,
    far_id: Indices,
    size: Indices,
) -> None:
    """Offer the records of a tile to the two lists of a record, by their sums or by their defined distances.

    `limits` holds what a sum must not exceed to be near and must reach to be far; `size` the lengths of the two lists and the
    number of offers.
    """
    for lane in range(64):
        near = sums[lane] <= limits[0]
        far = sums[lane] >= limits[1]
        if not (near or far):
            continue
        other = ids[tile * 64 + lane]
        if other == record:
            continue
        d = squared_distance(Z, other, Z, record) if exact else np.float64(sums[lane])
        size[2] += 1
        if near:
            size[0] = keep_smallest(near_key, near_id, size[0], near_key.shape[0], d, other)
            if size[0] == near_key.shape[0]:
                limits[0] = picture_above(near_key[0], margin, bound) if exact else near_key[0]
        if far:
            size[1] = keep_smallest(far_key, far_id, size[1], far_key.shape[0], -d, other)
            if size[1] == far_key.shape[0]:
                limits[1] = picture_below(-far_key[0], margin, bound) if exact else -far_key[0]


@kernel
def look_through(
    Z: Array,
    T: AnyArray,
    ids: Indices,
    start: int,
    stop: int,
    lead: int,
    record: int,
    q: AnyArray,
    exact: bool,
    sums: AnyArray,
    margin: float,
    bound: Array,
    limits: AnyArray,
    lower: AnyArray,
    upper: AnyArray,
    near_key: Array,
    near_id: Indices,
    far_key: Array,
    far_id: Indices,
    size: Indices,
) -> None:
    """Offer the records of the tiles start..stop, as far as they may be near or far enough, to the lists of a record."""
    tile = start
    while True:
        tile = next_promising(T, tile, stop, lead, q, lower, upper, limits[0], limits[1], sums)
        if tile == stop:
            break
        offer(Z, ids, tile, record, exact, sums, margin, bound, limits, near_key, near_id, far_key, far_id, size)
        tile += 1


@kernel
def picture_above(d: float, margin: float, bound: Array) -> float:
    """What the sums of records at a squared distance of at most d do not exceed."""
    root: float = np.sqrt(d) * bound[0] * (1.0 + bound[2]) + margin
    return root * root * (1.0 + float(bound[3]))


@kernel
def picture_below(d: float, margin: float, bound: Array) -> float:
    """What the sums of records at a squared distance of at least d do not fall below."""
    root: float = max(np.sqrt(d) * bound[0] * (1.0 - bound[2]) - margin, 0.0)
    return root * root * (1.0 - float(bound[3]))


@kernel
def sort_heap(keys: Array, ids: Indices, size: int) -> None:
    """Put the pairs of a heap of `keep_smallest` into ascending order."""
    for last in range(size - 1, 0, -1):
        key, record = keys[0], ids[0]
        keep_smallest(keys, ids, last, last, keys[last], ids[last])
        keys[last], ids[last] = key, record


@kernel
def smallest(row: AnyArray) -> int:
    """The place of the smallest entry of some floats of at least zero, seen as integers: these have the same order.

    Unlike floats, integers have a minimum that compiles to vector instructions. NaN is larger than any number.
    """
    least = row[0]
    for i in range(row.shape[0]):
        least = min(least, row[i])
    for i in range(row.shape[0]):
        if row[i] == least:
            return i
    return 0


@kernel
def largest(row: AnyArray) -> int:
    """The place of the largest entry, as `smallest`; -1.0 is smaller than any number."""
    most = row[0]
    for i in range(row.shape[0]):
        most = max(most, row[i])
    for i in range(row.shape[0]):
        if row[i] == most:
            return i
    return 0


@kernel
def certify(
    Z: Array,
    record: int,
    far: bool,
    margin: float,
    bound: Array,
    keys: Array,
    ids: Indices,
    size: int,
    key: Array,
    idx: Indices,
) -> int:
    """Measure the records of a list made by sums, sort them, and keep those that surely come before all that are not in it.

    A full list tells how small (large) the sums of all others can be: hence, how near (far) these can be. Gives the length.
    """
    sign = -1.0 if far else 1.0
    last = keys[0]
    full = size == keys.shape[0]
    for p in range(size):
        key[p] = sign * squared_distance(Z, ids[p], Z, record)
        idx[p] = ids[p]
    kept = 0
    for p in range(size):
        if full and far and not picture_below(-key[p], margin, bound) > -last:
            continue
        if full and not far and not picture_above(key[p], margin, bound) < last:
            continue
        kept = keep_smallest(keys, ids, kept, size, key[p], idx[p])
    sort_heap(keys, ids, kept)
    return kept


@kernel
def make_lists(
    Z: Array,
    T: AnyArray,
    ids: Indices,
    where: Indices,
    alive: Indices,
    boxes: AnyArray,
    tiles: int,
    lead: int,
    bound: Array,
    records: Indices,
    slots: Indices,
    with_far: bool,
    exact: bool,
    near_key: Array,
    near_id: Indices,
    far_key: Array,
    far_id: Indices,
    size: Indices,
) -> None:
    """For each of some records that are left: its nearest and, if asked, its farthest records, in order, into its slot.

    Lists by sums (not `exact`) are quicker, but shorter where many records are as good as equally far.
    """
    count = records.shape[0]
    rows = T.shape[1] - 1
    sums = np.empty(64, dtype=np.float32)
    q = np.empty((count, rows + 1), dtype=np.float32)
    margins = np.empty(count)
    unfinished = np.empty(count, dtype=np.bool_)
    limits = np.empty((count, 2), dtype=np.float32)
    lower = np.zeros((count, tiles), dtype=np.float32)
    upper = np.zeros((count, tiles), dtype=np.float32)
    zero = np.float32(0.0)

    for a in range(count):
        home = where[records[a]]
        for c in range(rows + 1):
            q[a, c] = T[home // 64, c, home % 64]
        norm = 0.0
        for c in range(rows):
            norm += np.float64(q[a, c]) ** 2
        margins[a] = 2.0 * bound[1] * np.sqrt(norm) + 1e-19
        limits[a, 0] = np.inf
        limits[a, 1] = 0.0 if with_far else np.inf
        size[slots[a], 0] = 0
        size[slots[a], 1] = 0
        size[slots[a], 2] = 0
        if not with_far:
            for tile in range(tiles):
                upper[a, tile] = -1.0
        for c in range(lead + 1):
            x = q[a, rows] if c == lead else q[a, c]
            for tile in range(tiles):
                gap = max(max(boxes[0, c, tile] - x, x - boxes[1, c, tile]), zero)
                lower[a, tile] += gap * gap
            if with_far and c < lead:
                for tile in range(tiles):
                    reach = max(x - boxes[0, c, tile], boxes[1, c, tile] - x)
                    upper[a, tile] += reach * reach
            elif with_far:
                for tile in range(tiles):
                    reach = boxes[1, c, tile] + x
                    upper[a, tile] += reach * reach

        for tile in range(tiles):
            if alive[tile] == 0:
                lower[a, tile] = np.nan
                upper[a, tile] = -1.0
        # Good limits early save work: first the tiles that may hold the nearest, in turn with those that may hold the farthest.
        slot = slots[a]
        mine = q[a]
        more_near, more_far = True, with_far
        for turn in range(WARM_UP):
            far = turn % 2 == 1
            if far and more_far:
                tile = largest(upper[a].view(np.int32))
                more_far = upper[a, tile] >= limits[a, 1]
            elif more_near and not far:
                tile = smallest(lower[a].view(np.int32))
                more_near = lower[a, tile] <= limits[a, 0]
            else:
                continue
            if (far and more_far) or (more_near and not far):
                look_through(
                    Z, T, ids, tile, tile + 1, lead, records[a], mine, exact, sums, margins[a], bound, limits[a],
                    lower[a], upper[a], near_key[slot], near_id[slot], far_key[slot], far_id[slot], size[slot],
                )  # fmt: skip
                lower[a, tile] = np.nan
                upper[a, tile] = -1.0
        unfinished[a] = more_near or more_far

    # A block of tiles stays in the cache while all records look at it.
    block = max(1, (1 << 18) // (64 * (rows + 1)))
    for start in range(0, tiles, block):
        for a in range(count):
            if not unfinished[a]:
                continue
            slot = slots[a]
            look_through(
                Z, T, ids, start, min(start + block, tiles), lead, records[a], q[a], exact, sums, margins[a], bound,
                limits[a], lower[a], upper[a], near_key[slot], near_id[slot], far_key[slot], far_id[slot], size[slot],
            )  # fmt: skip

    longest = max(near_key.shape[1], far_key.shape[1])
    key = np.empty(longest)
    idx = np.empty(longest, dtype=np.int64)
    for a in range(count):
        slot = slots[a]
        if exact:
            sort_heap(near_key[slot], near_id[slot], size[slot, 0])
            sort_heap(far_key[slot], far_id[slot], size[slot, 1])
        else:
            for side in range(2):
                keys, names = (near_key[slot], near_id[slot]) if side == 0 else (far_key[slot], far_id[slot])
                size[slot, side] = certify(
                    Z, records[a], side == 1, margins[a], bound, keys, names, size[slot, side], key, idx
                )


@kernel
def gather(seed: int, near_id: Indices, size: int, labels: Indices, group: Indices) -> bool:
    """Fill the group with the seed and the first of its list that are left; False if the list is used up."""
    group[0] = seed
    filled = 1
    for p in range(size):
        if filled == group.shape[0]:
            break
        if labels[near_id[p]] < 0:
            group[filled] = near_id[p]
            filled += 1
    return bool(filled == group.shape[0])


@kernel
def remove(
    T: AnyArray, ids: Indices, where: Indices, alive: Indices, boxes: AnyArray, lead: int, group: Indices
) -> None:
    """Take records out of the picture: no comparison with NaN holds. A box is measured anew each time its tile has halved."""
    for p in range(group.shape[0]):
        at = where[group[p]]
        tile = at // 64
        T[tile, 0, at % 64] = np.nan
        ids[at] = -1
        alive[tile] -= 1
        if alive[tile] & (alive[tile] - 1) == 0:
            measure_box(T, ids, tile, boxes, lead)


@kernel
def form_groups(
    Z: Array,
    k: int,
    stop: int,
    T: AnyArray,
    ids: Indices,
    where: Indices,
    alive: Indices,
    boxes: AnyArray,
    lead: int,
    slot_of: Indices,
    near_key: Array,
    near_id: Indices,
    far_id: Indices,
    size: Indices,
    outer: Indices,
    outer_distance: Array,
    outside: float,
    old_centre: Array,
    stretch: float,
    total: Array,
    labels: Indices,
    state: Indices,
    radius: Array,
    counter: Indices,
) -> int:
    """Form pairs of groups while at least `stop` records are left and the lists last; gives what is needed to go on.

    `outer` lists the records farthest from `old_centre`, by distance, descending; all others are at most `outside` away.
    """
    n, columns = Z.shape
    centre = np.empty((1, columns))
    group = np.empty(k, dtype=np.int64)
    tiny = 1e-160 * np.sqrt(columns)  # squares below the smallest double vanish
    while state[LEFT] >= stop or state[OTHER_SEED] >= 0:
        if state[OTHER_SEED] < 0:
            if state[LEFT] * 5 < state[STORED] * 4:
                return COMPACTION
            if state[EVALUATED] > state[LEFT]:
                return CENTRE
            for j in range(columns):
                centre[0, j] = total[j] / state[LEFT]
            # |x - c| <= |x - c_old| + |c - c_old|: whoever is listed below the best one's reach need not be looked at.
            drift = np.sqrt(squared_distance(centre, 0, old_centre, 0)) + tiny
            best, seed = -1.0, -1
            certain = outside < 0.0
            while labels[outer[state[FIRST]]] >= 0 and state[FIRST] < outer.shape[0] - 1:
                state[FIRST] += 1
            for p in range(state[FIRST], outer.shape[0]):
                reach = (outer_distance[p] + drift) * (1.0 + stretch) + tiny
                if best > reach * reach * (1.0 + stretch):
                    certain = True
                    break
                if labels[outer[p]] < 0:
                    d = squared_distance(Z, outer[p], centre, 0)
                    state[EVALUATED] += 1
                    if d > best or (d == best and outer[p] < seed):
                        best, seed = d, outer[p]
            if not certain:
                reach = (outside + drift) * (1.0 + stretch) + tiny
                if not best > reach * reach * (1.0 + stretch):
                    return CENTRE

            slot = slot_of[seed]
            state[WANTED] = seed
            if slot < 0 or not gather(seed, near_id[slot], size[slot, 0], labels, group):
                return BOTH_LISTS
            for p in range(k):
                labels[group[p]] = state[LABEL]
            other = -1
            for p in range(size[slot, 1]):
                if labels[far_id[slot, p]] < 0:
                    other = far_id[slot, p]
                    break
            if other < 0:
                for p in range(k):
                    labels[group[p]] = -1
                return BOTH_LISTS
            radius[0] = squared_distance(Z, group[k - 1], Z, seed)
            state[OTHER_SEED] = other
        else:
            seed = state[OTHER_SEED]
            slot = slot_of[seed]
            state[WANTED] = seed
            if slot < 0 or not gather(seed, near_id[slot], size[slot, 0], labels, group):
                return NEAR_LIST
            state[OTHER_SEED] = -1
        slot_of[seed] = -1
        remove(T, ids, where, alive, boxes, lead, group)
        assign(Z, group, total, state[LABEL], labels)
        state[LABEL] += 1
        state[LEFT] -= k
        state[USED] += 1
        counter[0] = n - state[LEFT]
    return DONE


@kernel
def next_seeds(
    Z: Array, outer: Indices, first: int, wanted: int, radius: float, slot_of: Indices, labels: Indices, seeds: Indices
) -> int:
    """Guess the next seeds r, the wanted one first: the outermost records that will hardly join each other's groups."""
    seeds[0] = wanted
    found = 1
    for p in range(first, min(outer.shape[0], first + 16 * seeds.shape[0])):
        if found == seeds.shape[0]:
            break
        record = outer[p]
        if labels[record] >= 0 or slot_of[record] >= 0:
            continue
        alone = True
        for a in range(found):
            if squared_distance(Z, record, Z, seeds[a]) <= radius:
                alone = False
                break
        if alone:
            seeds[found] = record
            found += 1
    return found


@kernel
def next_other_seeds(
    Z: Array,
    radius: float,
    seeds: Indices,
    slot_of: Indices,
    labels: Indices,
    far_id: Indices,
    size: Indices,
    others: Indices,
) -> int:
    """Guess the seeds s that belong to some seeds r with lists, by the same rule; only those without a list."""
    found = 0
    for r in seeds:
        slot = slot_of[r]
        for p in range(size[slot, 1]):
            record = far_id[slot, p]
            if labels[record] >= 0:
                continue
            alone = True
            for a in range(found):
                if squared_distance(Z, record, Z, others[a]) <= radius:
                    alone = False
                    break
            if alone:
                others[found] = record
                found += 1
                break
    kept = 0
    for a in range(found):
        if slot_of[others[a]] < 0:
            others[kept] = others[a]
            kept += 1
    return kept


@kernel
def distances(Z: Array, records: Indices, centre: Array, away: Array) -> None:
    """The distances of some records to a centre."""
    for i in range(records.shape[0]):
        away[i] = np.sqrt(squared_distance(Z, records[i], centre, 0))
