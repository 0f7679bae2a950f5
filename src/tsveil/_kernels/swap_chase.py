"""The chase after swapped values: one link implies others, and a wrong one contradicts itself; see `tsveil.attack.swap_chase`."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array, Indices

#: what `owner` says of a value that occurs more than once, and of one that nobody known has
TIED, NOBODY = -1, -2
#: whose a row is when it belongs to somebody who is not known; no row yet, nobody yet
STRANGER, NONE = -2, -1
#: less than any weight of a hypothesis
NO_WEIGHT = -(1 << 62)


@kernel
def chase(
    low: AnyArray,
    high: AnyArray,
    order: AnyArray,
    place: AnyArray,
    owner: AnyArray,
    holder: AnyArray,
    known: Array,
    shown: Array,
    number: Indices,
    whose: Indices,
    mine: Indices,
    budget: int,
    counter: Indices,
    weighed: bool,
    kind_known: AnyArray,
    kind_shown: AnyArray,
    tables: AnyArray,
    begins: Indices,
) -> tuple[Indices, Indices, Indices, AnyArray, Indices]:
    """For each known person: how many rows fit best, the lowest of them, how many of these are right, whether the link is certain, and how many were possible.

    In column c row r is at position place[c, r] of the sorted column, order[c] has the rows by position, and person a can have become the positions
    low[c, a]..high[c, a]. owner[c, r] is the person whose value row r shows, holder[c, a] the row that shows the value of person a (-1: such values are
    several). `known` and `shown` are the values of persons and rows on one scale, `number` has the numbers of the rows, `whose` and `mine` say which rows are right for
    whom. After `budget` steps nothing more is chased, and the nearest of the possible rows is taken.

    Of the rows of a person whose link is not certain those fit best that imply most links, or if it is `weighed` those whose links are likeliest together: in column c person a has a
    value of the kind kind_known[c, a], row r one of kind_shown[c, r], and `tables` has the logarithms for all pairs (`tsveil._kernels.moves.ratio_tables`).
    """
    columns, persons = low.shape
    rows = order.shape[1]
    row_of = np.full(persons, NONE, np.int64)
    person_of = np.full(rows, NONE, np.int64)
    certain = np.zeros(persons, np.bool_)
    seen_person = np.zeros(persons, np.int64)
    seen_row = np.zeros(rows, np.int64)
    trial_row = np.empty(persons, np.int64)
    trial_person = np.empty(rows, np.int64)
    queue = np.empty(persons + 1, np.int64)
    marked = np.empty(rows, np.int64)
    possible = np.empty(rows, np.int64)
    stamp = 0
    steps = 0
    changed = True
    while changed and steps < budget:
        changed = False
        for a in range(persons):
            if row_of[a] != NONE or steps >= budget:
                continue
            many, passes = _possible_rows(a, low, high, order, place, person_of, possible)
            steps += passes
            survivors = 0
            survivor = NONE
            for t in range(many):
                stamp += 1
                links, done = _closure(
                    a, possible[t], stamp, low, high, place, owner, holder, row_of, person_of,
                    seen_person, seen_row, trial_row, trial_person, queue, marked,
                )  # fmt: skip
                steps += done
                if links > 0:
                    survivors += 1
                    survivor = possible[t]
                    if survivors > 1:
                        break
            if survivors == 1:
                stamp += 1
                links, done = _closure(
                    a, survivor, stamp, low, high, place, owner, holder, row_of, person_of,
                    seen_person, seen_row, trial_row, trial_person, queue, marked,
                )  # fmt: skip
                steps += done
                for t in range(links):
                    b = queue[t]
                    row_of[b] = trial_row[b]
                    person_of[trial_row[b]] = b
                    certain[b] = True
                for t in range(done - links):
                    person_of[marked[t]] = STRANGER
                counter[0] += links
                changed = True
    tied = np.zeros(persons, np.int64)
    link = np.full(persons, -1, np.int64)
    hit = np.zeros(persons, np.int64)
    size = np.zeros(persons, np.int64)
    for a in range(persons):
        if certain[a]:
            tied[a] = 1
            size[a] = 1
            link[a] = number[row_of[a]]
            hit[a] = whose[row_of[a]] == mine[a]
            continue
        many, passes = _possible_rows(a, low, high, order, place, person_of, possible)
        steps += passes
        most = NO_WEIGHT
        nearest = np.inf
        for t in range(many):
            r = possible[t]
            links = 1
            queue[0] = a
            trial_row[a] = r
            if steps < budget:
                stamp += 1
                links, done = _closure(
                    a, r, stamp, low, high, place, owner, holder, row_of, person_of,
                    seen_person, seen_row, trial_row, trial_person, queue, marked,
                )  # fmt: skip
                steps += done
            if links == 0:
                continue
            size[a] += 1
            weight = links
            if weighed:
                weight = 0
                for q in range(links):
                    b = queue[q]
                    weight += _evidence(b, trial_row[b], kind_known, kind_shown, tables, begins)
            if weight < most:
                continue
            total = 0.0
            for c in range(columns):
                difference = known[a, c] - shown[r, c]
                total += difference * difference
            if weight > most or total < nearest:
                most = weight
                nearest = total
                tied[a] = 0
                link[a] = number[r]
                hit[a] = 0
            if total == nearest:
                tied[a] += 1
                link[a] = min(link[a], number[r])
                hit[a] += whose[r] == mine[a]
        counter[0] += 1
    return tied, link, hit, certain, size


@kernel
def _evidence(b: int, s: int, kind_known: AnyArray, kind_shown: AnyArray, tables: AnyArray, begins: Indices) -> int:
    """The logarithm of how likely row s is person b's, summed over all columns."""
    total = 0
    at = 0
    for c in range(len(kind_known)):
        many = begins[c + 1] - begins[c]
        total += tables[at + kind_known[c, b] * many + kind_shown[c, s]]
        at += many * many
    return total


@kernel
def _possible_rows(
    a: int, low: AnyArray, high: AnyArray, order: AnyArray, place: AnyArray, person_of: Indices, possible: Indices
) -> tuple[int, int]:
    """Gather the rows within the ranges of person a in all columns that are nobody's yet: how many, and how many were looked at."""
    columns = len(low)
    best = 0
    for c in range(1, columns):
        if high[c, a] - low[c, a] < high[best, a] - low[best, a]:
            best = c
    many = 0
    for at in range(low[best, a], high[best, a]):
        r = order[best, at]
        fits = person_of[r] == NONE
        for c in range(columns):
            if not fits:
                break
            fits = low[c, a] <= place[c, r] < high[c, a]
        if fits:
            possible[many] = r
            many += 1
    return many, max(high[best, a] - low[best, a], 0)


@kernel
def _closure(
    a: int,
    r: int,
    stamp: int,
    low: AnyArray,
    high: AnyArray,
    place: AnyArray,
    owner: AnyArray,
    holder: AnyArray,
    row_of: Indices,
    person_of: Indices,
    seen_person: Indices,
    seen_row: Indices,
    trial_row: Indices,
    trial_person: Indices,
    queue: Indices,
    marked: Indices,
) -> tuple[int, int]:
    """All links that follow from a -> r: how many, 0 if they contradict each other; and the number of steps.

    The persons linked stand in `queue`, their rows in `trial_row`. Rows that must be strangers' stand in `marked`; there are steps - links of them.
    """
    columns = len(low)
    queue[0] = a
    seen_person[a] = stamp
    trial_row[a] = r
    seen_row[r] = stamp
    trial_person[r] = a
    many = 1
    strangers = 0
    at = 0
    while at < many:
        b = queue[at]
        s = trial_row[b]
        at += 1
        for c in range(columns):
            other = owner[c, s]
            row = holder[c, b]
            if other == TIED or row < 0:
                continue
            if other == NOBODY:
                if person_of[row] >= 0 or (seen_row[row] == stamp and trial_person[row] >= 0):
                    return 0, at + strangers
                if seen_row[row] != stamp and person_of[row] == NONE:
                    seen_row[row] = stamp
                    trial_person[row] = STRANGER
                    marked[strangers] = row
                    strangers += 1
                continue
            if row_of[other] >= 0 or person_of[row] != NONE:
                if row_of[other] != row:
                    return 0, at + strangers
                continue
            if seen_person[other] == stamp or seen_row[row] == stamp:
                if seen_person[other] != stamp or seen_row[row] != stamp or trial_row[other] != row:
                    return 0, at + strangers
                continue
            for j in range(columns):
                if not low[j, other] <= place[j, row] < high[j, other]:
                    return 0, at + strangers
            queue[many] = other
            many += 1
            seen_person[other] = stamp
            trial_row[other] = row
            seen_row[row] = stamp
            trial_person[row] = other
    return many, many + strangers


@kernel
def trades_of_column(
    ordered: Array,
    order: Indices,
    values: Array,
    people: Indices,
    window: int,
    low: AnyArray,
    high: AnyArray,
    place: AnyArray,
    owner: AnyArray,
    holder: AnyArray,
) -> None:
    """What the chase needs of one column (`tsveil.attack.swap_chase.Trades`), of released and known values in order with their rows and persons.

    A window below zero is none. Everything asked for grows with the value, so that both columns are gone through once.
    """
    rows = len(ordered)
    first = np.empty(rows, np.int64)
    last = np.empty(rows, np.int64)
    begin = 0
    for at in range(rows):
        place[order[at]] = at
        if at + 1 == rows or ordered[at + 1] != ordered[at]:
            for p in range(begin, at + 1):
                first[p] = begin
                last[p] = at
                owner[order[p]] = NOBODY if begin == at else TIED
            begin = at + 1
    start = 0
    end = 0
    lowest = 0
    highest = 0
    for t in range(len(values)):
        a = people[t]
        while start < rows and ordered[start] < values[t]:
            start += 1
        end = max(end, start)
        while end < rows and ordered[end] == values[t]:
            end += 1
        if end - start == 1:
            holder[a] = order[start]
            owner[order[start]] = a
        if window >= 0:
            while lowest < rows and last[lowest] < start - window:
                lowest += 1
            while highest < rows and first[highest] <= end - 1 + window:
                highest += 1
            low[a] = lowest
            high[a] = highest
