"""How many released records agree with an original one on which attributes, without looking at pairs."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array, Indices

#: an odd number near 2^23 / golden ratio: its product spreads keys over the table, without overflow for keys below 2^40 (the square
#: of a million records)
SPREAD = 5184547
#: released rows whose patterns are found at a time: they stay in the cache
TILE = 4096


@kernel
def _slot(keys: Indices, size: int, key: int) -> int:
    """Where a key stands in a table of `size` slots, a power of two; a slot with -1 is free, and the place for it."""
    at = key * SPREAD
    at = (at ^ (at >> 21)) & (size - 1)
    while keys[at] != -1 and keys[at] != key:
        at = (at + 1) & (size - 1)
    return at


@kernel
def pattern_counts(labels: Indices, released: Indices, copies: Indices, sizes: Indices) -> AnyArray:
    """For each original record and each pattern the number of released records that agree in exactly that way.

    `released` has the different rows of labels, and `copies` says how many released records have each row.

    Attribute j agrees where the labels (original records by attributes, released records by attributes; sizes[j] labels) are
    equal; bit j of a pattern is set where it agrees.

    First the number that agree at least on a set S of attributes, for all S: sets are walked through depth first, and
    each set adds an attribute to the one before, so that a record's labels on it are one number again (its place among the
    joint labels that occur in both files). Records without a partner on a set have none on a larger one and are dropped. Then
    inclusion and exclusion: exactly T = sum over S containing T of (-1)^|S - T| (at least S).
    """
    n, columns = labels.shape
    m = len(released)
    counts = np.zeros((n, 1 << columns), np.int32)
    # Depth d of the walk: the records that still have partners, and the number of their joint label.
    ours = np.empty((columns + 1, n), np.int64)
    our_code = np.zeros((columns + 1, n), np.int64)
    theirs = np.empty((columns + 1, m), np.int64)
    their_code = np.zeros((columns + 1, m), np.int64)
    alive = np.zeros((columns + 1, 2), np.int64)
    added = np.full(columns + 1, -1, np.int64)
    ours[0] = np.arange(n)
    theirs[0] = np.arange(m)
    alive[0] = n, m
    counts[:, 0] = copies.sum()
    slots = 4
    while slots < 2 * m:
        slots *= 2
    keys = np.empty(slots, np.int64)
    codes = np.empty(slots, np.int64)
    members = np.empty(m, np.int64)
    used = np.empty(m, np.int64)
    depth = 0
    mask = 0
    candidate = 0
    while True:
        if candidate == columns:
            if depth == 0:
                break
            mask ^= 1 << added[depth]
            candidate = added[depth] + 1
            depth -= 1
            continue
        j = candidate
        a_alive, b_alive = alive[depth]
        size = 4
        while size < 2 * b_alive:
            size *= 2
        keys[:size] = -1
        found = 0
        for r in range(b_alive):
            row = theirs[depth, r]
            key = their_code[depth, r] * sizes[j] + released[row, j]
            at = _slot(keys, size, key)
            if keys[at] == -1:
                keys[at] = key
                codes[at] = found
                members[found] = 0
                used[found] = 0
                found += 1
            members[codes[at]] += copies[row]
            their_code[depth + 1, r] = codes[at]
        kept = 0
        for r in range(a_alive):
            row = ours[depth, r]
            key = our_code[depth, r] * sizes[j] + labels[row, j]
            at = _slot(keys, size, key)
            if keys[at] == key:
                counts[row, mask | (1 << j)] = members[codes[at]]
                used[codes[at]] = 1
                ours[depth + 1, kept] = row
                our_code[depth + 1, kept] = codes[at]
                kept += 1
        candidate = j + 1
        if kept == 0 or candidate == columns:
            continue
        partners = 0
        for r in range(b_alive):
            code = their_code[depth + 1, r]
            if used[code]:
                theirs[depth + 1, partners] = theirs[depth, r]
                their_code[depth + 1, partners] = code
                partners += 1
        depth += 1
        alive[depth] = kept, partners
        added[depth] = j
        mask |= 1 << j
    for i in range(n):
        for j in range(columns):
            bit = 1 << j
            for pattern in range(1 << columns):
                if not pattern & bit:
                    counts[i, pattern] -= counts[i, pattern | bit]
    return counts


@kernel
def pattern_counts_in_ranges(low: AnyArray, high: AnyArray, places: AnyArray, copies: Indices) -> AnyArray:
    """The same where attribute j agrees if the place of the released value (attributes by rows) is in low[i, j] .. high[i, j] - 1: pair by pair."""
    n, columns = low.shape
    m = len(copies)
    counts = np.zeros((n, 1 << columns), np.int32)
    patterns = np.empty(TILE, np.int32)
    for i in range(n):
        for begin in range(0, m, TILE):
            size = min(TILE, m - begin)
            patterns[:size] = 0
            for j in range(columns):
                first, last, bit = low[i, j], high[i, j], np.int32(1 << j)
                column = places[j, begin : begin + size]
                for r in range(size):
                    if column[r] >= first and column[r] < last:
                        patterns[r] += bit
            for r in range(size):
                counts[i, patterns[r]] += copies[begin + r]
    return counts


@kernel
def _agree_by_labels(labels: Indices, i: int, released: Indices, row: int, pattern: int, columns: int) -> bool:
    """Whether a record and a row have the same labels in exactly the attributes of a pattern."""
    for j in range(columns):
        if (labels[i, j] == released[row, j]) != ((pattern & (1 << j)) != 0):
            return False
    return True


@kernel
def _agree_in_ranges(
    low: AnyArray, high: AnyArray, i: int, places: AnyArray, row: int, pattern: int, columns: int
) -> bool:
    """Whether a row is in the ranges of a record in exactly the attributes of a pattern."""
    for j in range(columns):
        if (low[i, j] <= places[j, row] < high[i, j]) != ((pattern & (1 << j)) != 0):
            return False
    return True


@kernel
def first_with_pattern(
    labels: Indices,
    released: Indices,
    order: Indices,
    starts: Indices,
    pattern: int,
    columns: int,
    chosen: Indices,
    link: Indices,
) -> None:
    """The lowest row of the release with exactly this pattern over the first columns, for the chosen records; lowers `link` to it.

    order[j] lists the released rows by their label of attribute j, and label v stands at starts[j, v]..starts[j, v + 1]. Of the
    attributes that agree the one with the fewest rows is searched; all rows if none agrees.
    """
    for i in chosen:
        rarest = -1
        fewest = len(released) + 1
        for j in range(columns):
            if pattern & (1 << j):
                size = starts[j, labels[i, j] + 1] - starts[j, labels[i, j]]
                if size < fewest:
                    rarest = j
                    fewest = size
        begin = 0
        end = len(released)
        if rarest >= 0:
            begin = starts[rarest, labels[i, rarest]]
            end = starts[rarest, labels[i, rarest] + 1]
        for at in range(begin, end):
            row = order[rarest, at] if rarest >= 0 else at
            if _agree_by_labels(labels, i, released, row, pattern, columns):
                link[i] = row if link[i] < 0 else min(link[i], row)
                break


@kernel
def first_with_pattern_in_ranges(
    low: AnyArray, high: AnyArray, places: AnyArray, pattern: int, columns: int, chosen: Indices, link: Indices
) -> None:
    """The same where attributes agree in ranges: rows are searched from the first on."""
    for i in chosen:
        for row in range(places.shape[1]):
            if _agree_in_ranges(low, high, i, places, row, pattern, columns):
                link[i] = row if link[i] < 0 else min(link[i], row)
                break


@kernel
def own_with_weight(
    low: AnyArray,
    high: AnyArray,
    places: AnyArray,
    first: Indices,
    last: Indices,
    wanted: Indices,
    weights: Array,
    best: Array,
) -> Indices:
    """For each wanted number of columns and each known record: how many of the released records first[i]..last[i] have the weight `best`.

    Column j agrees where the place of the released record is in low[i, j] .. high[i, j] - 1; `weights` has a row of all patterns for each number of columns.
    """
    n, columns = low.shape
    hit = np.zeros((len(wanted), n), np.int64)
    for i in range(n):
        for u in range(first[i], last[i]):
            pattern = 0
            for j in range(columns):
                if low[i, j] <= places[j, u] < high[i, j]:
                    pattern |= 1 << j
            for at in range(len(wanted)):
                hit[at, i] += weights[at, pattern & ((1 << wanted[at]) - 1)] == best[at, i]
    return hit


@kernel
def _agree_in_spans(known: Indices, i: int, low: Indices, high: Indices, row: int, columns: int) -> int:
    """The pattern of the first columns in which the places of a record are inside the spans of a row."""
    pattern = 0
    for j in range(columns):
        if low[j, row] <= known[i, j] < high[j, row]:
            pattern |= 1 << j
    return pattern


@kernel
def pattern_counts_in_spans(known: Indices, low: Indices, high: Indices, copies: Indices) -> AnyArray:
    """As `pattern_counts_in_ranges`, where it is the released rows that have ranges (columns by rows), and the known records (by columns) that have places."""
    n, columns = known.shape
    counts = np.zeros((n, 1 << columns), np.int32)
    for i in range(n):
        for row in range(copies.shape[0]):
            counts[i, _agree_in_spans(known, i, low, high, row, columns)] += copies[row]
    return counts


@kernel
def own_with_weight_in_spans(
    known: Indices,
    low: Indices,
    high: Indices,
    first: Indices,
    last: Indices,
    wanted: Indices,
    weights: Array,
    best: Array,
) -> Indices:
    """As `own_with_weight`, where the released rows have ranges."""
    n, columns = known.shape
    hit = np.zeros((len(wanted), n), np.int64)
    for i in range(n):
        for row in range(first[i], last[i]):
            pattern = _agree_in_spans(known, i, low, high, row, columns)
            for at in range(len(wanted)):
                hit[at, i] += weights[at, pattern & ((1 << wanted[at]) - 1)] == best[at, i]
    return hit


@kernel
def first_with_pattern_in_spans(
    known: Indices, low: Indices, high: Indices, pattern: int, columns: int, chosen: Indices, link: Indices
) -> None:
    """As `first_with_pattern_in_ranges`, where the released rows have ranges."""
    for i in chosen:
        for row in range(low.shape[1]):
            if _agree_in_spans(known, i, low, high, row, columns) == pattern:
                link[i] = row if link[i] < 0 else min(link[i], row)
                break
