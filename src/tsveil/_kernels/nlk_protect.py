"""Making a table (n,l,k)-anonymous: clusters by gaps, cuts that are checked exactly, and peeled columns.

At each time point the series are sorted; a cluster is a run of neighbours, named by its first position. Everything is indexed
by time first. A cell is small when its cluster has fewer than k members; `small` counts the small cells of each series.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import Array, Indices, Mask

#: what became of a cut
ACCEPTED, REFUSED, UNDECIDED = 1, 0, 2
#: what a search for an attack may find
NONE, FOUND, LIMIT = 0, 1, 2


class Table(NamedTuple):
    """A clustered table, what it must satisfy, and what is known of its series."""

    #: (T, N) series by time and position in the sorted order
    order: Indices
    #: (T, N) first position of the cluster of a series
    label: Indices
    #: (T, N) position after the last one of the cluster that begins here
    stop: Indices
    #: (N,) number of small cells of a series
    small: Indices
    #: (N, n) the known points of the last attack on a series that was found or looked promising, and their number
    hints: Indices
    hinted: Indices
    #: (N,) whether they single out the series and are not small themselves: then all small points are inferred
    certain: Mask
    #: (N,) whether to look for better ones
    stale: Mask
    #: n known points, m = l-n inferred points too many, k series, smallest cluster allowed
    n: int
    m: int
    k: int
    smallest: int
    #: nodes that the search for an attack may take for one cut, and those left for all cuts
    node_limit: int
    nodes_left: Indices
    # scratch: candidate series by depth, points to branch on by depth, a stamp per cluster and the last stamp, rows of max(T, n+1)
    who: Indices
    branch: Indices
    stamp: Indices
    rows: Indices


@kernel
def first_clusters(gaps: Array, ranked: Indices, k: int, label: Indices, stop: Indices, order: Indices) -> None:
    """Stage 1: take the gaps in the order `ranked` and cut where both sides keep k; fills `label` and `stop`.

    gaps[t, p-1] lies between the positions p-1 and p. A cut at p keeps k on both sides iff no other cut is nearer than k.
    """
    T, N = order.shape
    near = np.empty(N + 1, dtype=np.bool_)
    begins = np.empty(N + 1, dtype=np.bool_)
    for t in range(T):
        for p in range(N + 1):
            near[p] = p < k or N - p < k
            begins[p] = p == 0 or p == N
        for i in range(N - 1):
            p = ranked[t, i] + 1
            if gaps[t, p - 1] > 0.0 and not near[p]:
                begins[p] = True
                for q in range(p - k + 1, p + k):
                    near[q] = True
        a = 0
        for p in range(1, N + 1):
            if begins[p]:
                stop[t, a] = p
                for q in range(a, p):
                    label[t, order[t, q]] = a
                a = p


@kernel
def run_loss(S: Array, t: int, a: int, b: int, median: bool) -> float:
    """The loss of a cluster of the positions a..b-1: distances to their mean or median, summed over dimensions."""
    size = b - a
    total = 0.0
    for d in range(S.shape[2]):
        if median:
            centre = middle(S, t, a, b, d)
        else:
            # Shifted by a member: the mean of equal values is that value, and an offset costs no digits.
            centre = 0.0
            for p in range(a, b):
                centre += S[t, p, d] - S[t, a, d]
            centre = S[t, a, d] + centre / size
        for p in range(a, b):
            total += abs(S[t, p, d] - centre)
    return total


@kernel
def middle(S: Array, t: int, a: int, b: int, d: int) -> float:
    """The median of dimension d over the positions a..b-1."""
    low, high = (b - a - 1) // 2, (b - a) // 2
    if S.shape[2] == 1:  # sorted
        return float(S[t, a + low, d] + (S[t, a + high, d] - S[t, a + low, d]) / 2)
    values = S[t, a:b, d].copy()
    for i in range(1, b - a):
        value, at = values[i], i
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
    return float(values[low] + (values[high] - values[low]) / 2)


# -- attacks on a series ---------------------------------------------------------------------------------------------------


@kernel
def size_of(table: Table, t: int, f: int) -> int:
    """The size of the cluster of a series."""
    return int(table.stop[t, table.label[t, f]] - table.label[t, f])


@kernel
def single_out(table: Table, f: int) -> None:
    """Make a hint of points where f's cluster is not small, each the one that leaves the fewest candidates."""
    T = table.order.shape[0]
    who = table.who[0]
    count, chosen = table.order.shape[1], 0
    while chosen < table.n and count > 0:
        point, fewest = -1, count
        for t in range(T):
            agree = size_of(table, t, f) - 1
            if agree < table.k - 1:
                continue
            if chosen > 0:
                agree = 0
                for i in range(count):
                    if table.label[t, who[i]] == table.label[t, f]:
                        agree += 1
                        if agree >= fewest:
                            break
            if agree < fewest:
                point, fewest = t, agree
        if point < 0:
            break
        table.hints[f, chosen] = point
        chosen += 1
        count = candidates(table, f, chosen, who)
    table.hinted[f] = chosen
    table.certain[f] = count == 0
    table.stale[f] = False


@kernel
def candidates(table: Table, f: int, chosen: int, who: Indices) -> int:
    """Write the series other than f that agree with it at the first points of its hint to `who`; gives their number."""
    count = 0
    t = table.hints[f, 0]
    a = table.label[t, f]
    for q in range(a, table.stop[t, a]):
        g = table.order[t, q]
        agrees = g != f
        for i in range(1, chosen):
            t2 = table.hints[f, i]
            if table.label[t2, g] != table.label[t2, f]:
                agrees = False
                break
        if agrees:
            who[count] = g
            count += 1
    return count


@kernel
def hints_at(table: Table, f: int, t: int) -> bool:
    """Whether the hint of f knows point t."""
    found = False
    for i in range(table.hinted[f]):
        found |= table.hints[f, i] == t
    return found


@kernel
def hint_works(table: Table, f: int, t: int) -> bool:
    """Whether the hint of f is an attack on the table after a cut at t; f has m small points or more."""
    if table.certain[f] and (size_of(table, t, f) >= table.k or not hints_at(table, f, t)):
        return True
    if table.hinted[f] == 0:
        return False
    who = table.who[0]
    count = candidates(table, f, table.hinted[f], who)
    found = 0
    for s in range(table.order.shape[0]):
        if size_of(table, s, f) < table.k and not hints_at(table, f, s) and infers_point(table, f, s, who, count):
            found += 1
            if found >= table.m:
                return True
    return False


@kernel
def stays(table: Table, f: int, g: int, s: int) -> bool:
    """Whether f's small point s stays inferable when g is a candidate, too."""
    return table.label[s, g] == table.label[s, f] or size_of(table, s, f) + size_of(table, s, g) < table.k


@kernel
def infers_point(table: Table, f: int, s: int, who: Indices, count: int) -> bool:
    """Whether point s is inferred when the candidates are f and the first of `who`."""
    table.stamp[-1] += 1
    total = size_of(table, s, f)
    for j in range(count):
        c = table.label[s, who[j]]
        if c != table.label[s, f] and table.stamp[c] != table.stamp[-1]:
            table.stamp[c] = table.stamp[-1]
            total += table.stop[s, c] - c
            if total >= table.k:
                break
    return total < table.k


@kernel
def too_many(table: Table, f: int, who: Indices, count: int, points: Indices, small: int, must_infer: int) -> bool:
    """Whether the candidates f and `who` leave fewer than m of f's small points (-1: known ones), or not the one that must be inferred."""
    if must_infer >= 0 and not infers_point(table, f, must_infer, who, count):
        return True
    found = 0
    for i in range(small):
        if points[i] >= 0 and infers_point(table, f, points[i], who, count):
            found += 1
            if found >= table.m:
                return False
    return True


@kernel
def attack_through(table: Table, f: int, t: int, known: bool, limit: int) -> tuple[int, int]:
    """Search an attack on f that knows point t, or that infers it; gives the outcome and the number of nodes, and leaves a hint.

    Candidates beside which fewer than m points (or not t) are inferred must be excluded. Branch on the points that exclude the one
    with the fewest of them, and never try a point again that was searched through.
    """
    T, N = table.order.shape
    who, branch, m = table.who, table.branch, table.m
    points, place = (
        table.rows[0],
        table.rows[1],
    )  # f's small points that are not known (-1: taken as known), and where they stand there
    open_at = table.rows[2]  # the depth at which a point was closed; n+1 when it is open
    picks, counts, branches, attempts, best = table.rows[3], table.rows[4], table.rows[5], table.rows[6], table.rows[7]
    cover = table.rows[8]
    found = 0
    for s in range(T):
        place[s] = -1
        open_at[s] = table.n + 1
        if size_of(table, s, f) < table.k and not (known and s == t):
            place[s] = found
            points[found] = s
            found += 1
    spare = found - m
    if spare < 0:
        return NONE, 0
    if limit <= 0:
        return LIMIT, 1  # before all series are gone through
    open_at[t] = -1
    must_infer = -1 if known else t
    first = 1 if known else 0
    depth, nodes, fresh = first, 0, True
    counts[depth] = 0
    for g in range(N):
        if g != f and not (known and table.label[t, g] != table.label[t, f]):
            who[depth, counts[depth]] = g
            counts[depth] += 1

    while True:
        if fresh:
            nodes += 1
            if nodes > limit:
                return LIMIT, nodes
            fresh = False
            left = table.n - depth
            here = who[depth]
            branches[depth] = 0
            attempts[depth] = 0
            # Those that must go come first in the list.
            must = 0
            for i in range(counts[depth]):
                g = here[i]
                beside = 0
                for j in range(found):
                    if points[j] >= 0 and stays(table, f, g, points[j]):
                        beside += 1
                if beside < m or (must_infer >= 0 and not stays(table, f, g, must_infer)):
                    here[i] = here[must]
                    here[must] = g
                    must += 1
            if must == 0:
                if not too_many(table, f, here, counts[depth], points, found, must_infer):
                    if known:
                        picks[0] = t
                    for i in range(depth):
                        table.hints[f, i] = picks[i]
                    table.hinted[f] = depth
                    table.certain[f] = False
                    return FOUND, nodes
                # Together they are too many: one of the first few that suffice for that must go.
                few = 0
                while few == 0 or not too_many(table, f, here, few, points, found, must_infer):
                    few += 1
            else:
                few = 1
            if left == 0:
                continue
            if must > 0:
                fewest = T + 1
                for i in range(must):
                    options = 0
                    for p in range(T):
                        if open_at[p] > depth and table.label[p, here[i]] != table.label[p, f]:
                            options += 1
                    if options < fewest:
                        fewest = options
                        g = here[i]
                        here[i] = here[0]
                        here[0] = g
            for i in range(left):
                best[i] = 0
            for p in range(T):
                cover[p] = 0
                if open_at[p] <= depth or (spare == 0 and place[p] >= 0):
                    continue
                for i in range(must):
                    if table.label[p, here[i]] != table.label[p, f]:
                        cover[p] += 1
                at = left - 1
                if cover[p] > best[at]:
                    while at > 0 and best[at - 1] < cover[p]:
                        best[at] = best[at - 1]
                        at -= 1
                    best[at] = cover[p]
            total = 0
            for i in range(left):
                total += best[i]
            if total < must:
                continue
            for p in range(T):
                if open_at[p] <= depth or (spare == 0 and place[p] >= 0) or (left == 1 and cover[p] < must):
                    continue
                for i in range(few):
                    if table.label[p, here[i]] != table.label[p, f]:
                        at = branches[depth]
                        while at > 0 and cover[branch[depth, at - 1]] < cover[p]:
                            branch[depth, at] = branch[depth, at - 1]
                            at -= 1
                        branch[depth, at] = p
                        branches[depth] += 1
                        break
        if attempts[depth] < branches[depth]:
            p = branch[depth, attempts[depth]]
            attempts[depth] += 1
            open_at[p] = depth
            picks[depth] = p
            if place[p] >= 0:
                points[place[p]] = -1
                spare -= 1
            kept = 0
            for i in range(counts[depth]):
                if table.label[p, who[depth, i]] == table.label[p, f]:
                    who[depth + 1, kept] = who[depth, i]
                    kept += 1
            depth += 1
            counts[depth] = kept
            fresh = True
        else:
            for i in range(branches[depth]):
                open_at[branch[depth, i]] = table.n + 1
            if depth == first:
                return NONE, nodes
            depth -= 1
            p = picks[depth]
            if place[p] >= 0:
                points[place[p]] = p
                spare += 1


# -- cuts ------------------------------------------------------------------------------------------------------------------


@kernel
def set_cut(table: Table, t: int, a: int, p: int, b: int) -> None:
    """Cut the cluster a..b-1 before position p, or undo that if it is cut there."""
    undo = table.stop[t, a] == p
    table.stop[t, a] = b if undo else p
    table.stop[t, p] = b
    for q in range(p, b):
        table.label[t, table.order[t, q]] = a if undo else p
    if b - a >= table.k:
        for q in range(a, b):
            if (p - a if q < p else b - p) < table.k:
                table.small[table.order[t, q]] += -1 if undo else 1


@kernel
def try_cut(table: Table, t: int, p: int) -> int:
    """Cut before position p at time t if the table, anonymous before, stays so."""
    a = table.label[t, table.order[t, p]]
    b = table.stop[t, a]
    if p - a < table.smallest or b - p < table.smallest:
        return REFUSED
    set_cut(table, t, a, p, b)
    outcome = ACCEPTED
    # An attack that the cut makes possible leaves a member of the cluster among the candidates: it is an attack on that member.
    for q in range(a, b):
        f = table.order[t, q]
        if table.small[f] >= table.m and hint_works(table, f, t):
            outcome = REFUSED
            break
    nodes, q = 0, a
    while outcome == ACCEPTED and q < b:
        f = table.order[t, q]
        q += 1
        if table.small[f] < table.m:
            continue
        if table.stale[f] or (table.certain[f] and hints_at(table, f, t)):
            single_out(table, f)
            if hint_works(table, f, t):
                outcome = REFUSED
                if hints_at(table, f, t):
                    # Singled out by the very cut that is refused: without it the hint need not hold.
                    table.certain[f], table.stale[f] = False, True
                break
        for known in (True, False):
            if known or size_of(table, t, f) < table.k:
                limit = min(table.node_limit - nodes, table.nodes_left[0])
                found, used = attack_through(table, f, t, known, limit)
                nodes += used
                table.nodes_left[0] = max(0, table.nodes_left[0] - used)
                if found != NONE:
                    outcome = REFUSED if found == FOUND else UNDECIDED
                    break
    if outcome != ACCEPTED:
        set_cut(table, t, a, p, b)
        return outcome
    for q in range(a, b):
        # A hint that relies on knowing t would now waste a point that could be inferred.
        f = table.order[t, q]
        if size_of(table, t, f) < table.k and hints_at(table, f, t):
            table.certain[f], table.stale[f] = False, True
    return outcome


@kernel
def rate_cuts(
    table: Table, S: Array, gaps: Array, median: bool, t: int, a: int, b: int, refused: Mask, rate: Array
) -> None:
    """Rate the cuts inside a cluster by the loss they save per cell that becomes small; 0 where none is possible."""
    N = S.shape[1]
    whole = run_loss(S, t, a, b, median)
    rate[t * N + a] = 0.0
    for p in range(a + 1, b):
        rate[t * N + p] = 0.0
        if gaps[t, p - 1] > 0.0 and p - a >= table.smallest and b - p >= table.smallest and not refused[t * N + p]:
            cells = 0
            if b - a >= table.k:
                cells = (p - a if p - a < table.k else 0) + (b - p if b - p < table.k else 0)
            rate[t * N + p] = (whole - run_loss(S, t, a, p, median) - run_loss(S, t, p, b, median)) / max(1, cells)


@kernel
def push(heap: Indices, size: int, rate: Array, first: int, last: int) -> int:
    """Put the best of the cells first..last-1 on the heap, whose top has the highest rate (the first cell of equal ones).

    Gives the new size of the heap; a cell without a rate is not put there.
    """
    cell = first
    for other in range(first + 1, last):
        if rate[other] > rate[cell]:
            cell = other
    if rate[cell] <= 0.0:
        return size
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        above = heap[parent]
        if rate[above] > rate[cell] or (rate[above] == rate[cell] and above < cell):
            break
        heap[at] = above
        at = parent
    heap[at] = cell
    return size + 1


@kernel
def pop(heap: Indices, size: int, rate: Array) -> int:
    """Take the top from a heap of this size."""
    top, cell = heap[0], heap[size - 1]
    at = 0
    while 2 * at + 1 < size - 1:
        child = 2 * at + 1
        if child + 1 < size - 1:
            one, two = heap[child], heap[child + 1]
            if rate[two] > rate[one] or (rate[two] == rate[one] and two < one):
                child += 1
        below = heap[child]
        if rate[cell] > rate[below] or (rate[cell] == rate[below] and cell < below):
            break
        heap[at] = below
        at = child
    heap[at] = cell
    return int(top)


@kernel
def make_cuts(
    table: Table, listed: Indices, S: Array, gaps: Array, median: bool, outcomes: Indices, counter: Indices
) -> None:
    """Try the listed cuts in their order, or without a list always the one with the highest rate; count what becomes of them.

    A cut before position p at time t is the cell t * N + p. By rate, the heap has the best cut of every cluster. A refused cut stays
    refused, because cutting never repairs a violation. (One entry for both: the search behind `try_cut` is compiled into it.)
    """
    T, N = table.order.shape
    by_rate = listed.shape[0] == 0
    rate = np.zeros(T * N if by_rate else 0)
    refused = np.zeros(rate.shape[0], dtype=np.bool_)
    heap = np.empty(rate.shape[0], dtype=np.int64)
    size = listed.shape[0]
    for a in range(N if by_rate else 0):
        for t in range(T):
            if table.label[t, table.order[t, a]] == a:
                rate_cuts(table, S, gaps, median, t, a, table.stop[t, a], refused, rate)
                size = push(heap, size, rate, t * N + a, t * N + table.stop[t, a])
    while size > 0:
        cell = pop(heap, size, rate) if by_rate else listed[listed.shape[0] - size]
        size -= 1
        t, p = cell // N, cell % N
        a = table.label[t, table.order[t, p]]
        b = table.stop[t, a]
        outcome = try_cut(table, t, p)
        outcomes[outcome] += 1
        counter[0] += 1
        if not by_rate:
            continue
        if outcome == ACCEPTED:
            rate_cuts(table, S, gaps, median, t, a, p, refused, rate)
            rate_cuts(table, S, gaps, median, t, p, b, refused, rate)
            size = push(heap, size, rate, cell, t * N + b)
            b = p
        else:
            refused[cell] = True
            rate[cell] = 0.0
        size = push(heap, size, rate, t * N + a, t * N + b)


# -- peeling ---------------------------------------------------------------------------------------------------------------

#: the loss of what cannot be grouped
HUGE = 1e300


class Columns(NamedTuple):
    """The columns of a table while cells are peeled off them; the cells left are grouped optimally.

    The cells left of a column, in sorted order, are numbered 0..r-1. before[t, j] is the least loss of grouping those below j,
    after[t, j] of those from j on, least[t] of all of them.
    """

    #: (T, N, dimensions) sorted values; for one dimension shifted, so that sums of them keep their digits
    S: Array
    #: (T, N) series by time and position
    order: Indices
    #: (T, N) whether the cell at a position was not peeled
    left: Mask
    #: (N,) how many cells of a series may still be peeled
    budget: Indices
    #: (T, N) how much less is lost when the cell at a position is peeled, with its next neighbours if several go together
    gain: Array
    before: Array
    after: Array
    least: Array
    #: (T,) the number of cells left when these were computed, -1 before
    counted: Indices
    #: (T,) what rounding may feign as a gain
    noise: Array
    k: int
    #: how many neighbours are peeled together
    together: int
    median: bool
    # scratch: the values left by dimension, their prefix sums and positions, a gain for each, earlier losses, a group's values in order
    x: Array
    sums: Array
    position: Indices
    gains: Array
    earlier: Array
    in_order: Array
    #: (N,) HUGE: the price of cells that are not to be peeled
    closed: Array


@kernel
def gather(cols: Columns, t: int) -> int:
    """Write values, prefix sums and positions of the cells left at t; gives their number."""
    S, left, x, sums, position = cols.S, cols.left, cols.x, cols.sums, cols.position
    count = 0
    sums[0] = 0.0
    for p in range(left.shape[1]):
        if left[t, p]:
            for d in range(S.shape[2]):
                x[d, count] = S[t, p, d]
            sums[count + 1] = sums[count] + S[t, p, 0]
            position[count] = p
            count += 1
    return count


@kernel
def group_loss(x: Array, sums: Array, median: bool, a: int, b: int, i: int, j: int) -> float:
    """The loss of a group of the gathered cells a..b-1 without i..j-1."""
    if x.shape[0] > 1:
        return spread_loss(x, median, a, b, i, j)
    gone = j - i
    size = b - a - gone
    total = sums[b] - sums[a] - (sums[j] - sums[i])
    if median:
        low = size // 2
        high = size - low
        below = sums[a + low] - sums[a] if a + low <= i else sums[a + low + gone] - sums[a] - (sums[j] - sums[i])
        upto = sums[a + high] - sums[a] if a + high <= i else sums[a + high + gone] - sums[a] - (sums[j] - sums[i])
        return float(total - upto - below)
    mean = total / size
    low, high = 0, size
    while low < high:
        at = (low + high) >> 1
        if x[0, a + at if a + at < i else a + at + gone] < mean:
            low = at + 1
        else:
            high = at
    below = sums[a + low] - sums[a] if a + low <= i else sums[a + low + gone] - sums[a] - (sums[j] - sums[i])
    return float(mean * (2 * low - size) + total - 2 * below)


@kernel
def spread_loss(x: Array, median: bool, a: int, b: int, i: int, j: int) -> float:
    """The loss of a group of points of several dimensions, which are not sorted in each of them."""
    size = b - a - (j - i)
    values = np.empty(size)
    loss = 0.0
    for d in range(x.shape[0]):
        count, centre = 0, 0.0
        for p in range(a, b):
            if p < i or p >= j:
                # Kept in order for the median.
                at = count
                while median and at > 0 and values[at - 1] > x[d, p]:
                    values[at] = values[at - 1]
                    at -= 1
                values[at] = x[d, p]
                centre += x[d, p]
                count += 1
        centre = (values[(size - 1) // 2] + values[size // 2]) / 2 if median else centre / size
        for q in range(size):
            loss += abs(values[q] - centre)
    return loss


@kernel
def fill_before(
    x: Array, sums: Array, price: Array, median: bool, k: int, start: int, count: int, before: Array, earlier: Array, gone: int,
    noise: float,
) -> int:  # fmt: skip
    """The least loss of the first j gathered cells, grouped into runs of k to 2k-1 or peeled at a price, for j from `start` on.

    `earlier` has the losses before `gone` cells below `start` were taken out. Where they differ from the new ones by the same
    amount for 2k-1 cells in a row, they do so for all that follow. Gives the j from which that is so.
    """
    same, difference = 0, HUGE
    for j in range(start, count + 1):
        before[j] = min(HUGE, before[j - 1] + price[j - 1]) if j else 0.0
        for size in range(k, min(2 * k - 1, j) + 1):
            rest = before[j - size]
            if rest + at_least(x, sums, j - size, j) < before[j]:
                before[j] = min(before[j], rest + group_loss(x, sums, median, j - size, j, j, j))
        if gone == 0:
            continue
        same = same + 1 if abs(before[j] - earlier[j + gone] - difference) <= noise else 1
        difference = before[j] - earlier[j + gone]
        if same == 2 * k - 1:
            for rest_of in range(j + 1, count + 1):
                before[rest_of] = earlier[rest_of + gone] + difference
            return j - same + 1
    return count


@kernel
def fill_after(
    x: Array, sums: Array, price: Array, median: bool, k: int, start: int, count: int, after: Array, earlier: Array, gone: int,
    noise: float,
) -> int:  # fmt: skip
    """The least loss of the gathered cells from j on, for j from `start` down; see `fill_before`."""
    same, difference = 0, HUGE
    for j in range(start, -1, -1):
        after[j] = min(HUGE, after[j + 1] + price[j]) if j < count else 0.0
        for size in range(k, min(2 * k - 1, count - j) + 1):
            rest = after[j + size]
            if rest + at_least(x, sums, j, j + size) < after[j]:
                after[j] = min(after[j], rest + group_loss(x, sums, median, j, j + size, j, j))
        if gone == 0:
            continue
        same = same + 1 if abs(after[j] - earlier[j] - difference) <= noise else 1
        difference = after[j] - earlier[j]
        if same == 2 * k - 1:
            for rest_of in range(j):
                after[rest_of] = earlier[rest_of] + difference
            return j + same - 1
    return 0


@kernel
def worth(cols: Columns, prices: Array, values: Array) -> None:
    """What it is worth to peel each cell when every other cell can be peeled at its series' price; `values` is by time and series.

    That is the least loss with the cell in a group, less that with the cell peeled. Only cells between groups are considered here.
    """
    T = cols.order.shape[0]
    x, sums, median, k, grouped, nothing = cols.x, cols.sums, cols.median, cols.k, cols.gains, cols.earlier
    price = np.zeros(cols.order.shape[1])
    for t in range(T):
        before, after = cols.before[t], cols.after[t]
        count = gather(cols, t)
        zero = 0 * count  # a literal 0 would compile the functions once more
        for i in range(count):
            price[i] = prices[cols.order[t, i]]
            grouped[i] = HUGE
        fill_before(x, sums, price, median, k, zero, count, before, nothing, zero, 0.0)
        fill_after(x, sums, price, median, k, count, count, after, nothing, zero, 0.0)
        for a in range(count):
            least = HUGE  # of the groups that begin at a and reach beyond i
            for i in range(min(a + 2 * k - 1, count) - 1, a - 1, -1):
                size = i + 1 - a
                if size >= k and before[a] + after[i + 1] + at_least(x, sums, a, i + 1) < least:
                    loss = group_loss(x, sums, median, a, i + 1, i + 1, i + 1)
                    least = min(least, before[a] + after[i + 1] + loss)
                grouped[i] = min(grouped[i], least)
        for i in range(count):
            values[t, cols.order[t, i]] = grouped[i] - (before[i] + after[i + 1])


@kernel
def peel_allowed(cols: Columns, allowed: Mask, owner: Indices) -> None:
    """Peel of the allowed cells (by time and position) those that lower the loss of their column most together."""
    T = cols.order.shape[0]
    x, sums, median, k = cols.x, cols.sums, cols.median, cols.k
    price = np.zeros(cols.order.shape[1])
    for t in range(T):
        before = cols.before[t]
        count = gather(cols, t)
        zero = 0 * count
        for i in range(count):
            price[i] = 0.0 if allowed[t, i] else HUGE
        fill_before(x, sums, price, median, k, zero, count, before, cols.earlier, zero, 0.0)
        j = count
        while j > 0:
            best, least = 0, HUGE
            for size in range(k, min(2 * k - 1, j) + 1):
                loss = before[j - size] + group_loss(x, sums, median, j - size, j, j, j)
                if loss < least:
                    best, least = size, loss
            if best > 0 and least <= before[j - 1] + price[j - 1] + cols.noise[t]:
                j -= best
            else:
                j -= 1
                cols.left[t, j] = False
                cols.budget[cols.order[t, j]] -= 1
                owner[t, j] = j


@kernel
def refresh(cols: Columns, t: int, changed: int) -> None:
    """Compute the least loss of a column and what every peeled cell would gain, after cells at position `changed` left or came back."""
    count, run, k, noise = gather(cols, t), cols.together, cols.k, cols.noise[t]
    x, sums, position, median = cols.x, cols.sums, cols.position, cols.median
    before, after, earlier = cols.before[t], cols.after[t], cols.earlier
    known = cols.counted[t]
    gone = known - count if known >= 0 else 0
    i = 0  # the first cell behind the change
    while i < count and known >= 0 and position[i] < changed + (gone < 0):
        i += 1
    # Below the change `before` is as it was, behind it `after` is; a cell that came back is i-1.
    for j in range(known + 1):
        earlier[j] = before[j]
    settled = fill_before(x, sums, cols.closed, median, k, i, count, before, earlier, gone, noise)
    last = min(count, settled + 2 * k + run)
    for j in range(known + 1):
        earlier[j] = after[j]
    for j in range(i, count + 1 if known >= 0 else 0):
        after[j] = earlier[j + gone]
    settled = fill_after(
        x, sums, cols.closed, median, k, i - 1 if known >= 0 else count, count, after, earlier, gone, noise
    )
    first = max(0, settled - 2 * k - run)
    cols.least[t] = before[count]
    cols.counted[t] = count
    find_gains(x, sums, median, k, run, first, last, count, before, after, cols.gains, cols.in_order)
    for i in range(first, last):
        own = group_loss(x, sums, median, i, i + run, i, i) if run > 1 and i + run <= count else 0.0
        cols.gain[t, position[i]] = max(0.0, cols.gains[i] - own)


@kernel
def find_gains(
    x: Array, sums: Array, median: bool, k: int, run: int, first: int, last: int, count: int, before: Array, after: Array,
    gains: Array, in_order: Array,
) -> None:  # fmt: skip
    """How much the least loss falls when the cells i..i+run-1 leave, for i from `first` to `last`-1."""
    least, dimensions = before[count], x.shape[0]
    for i in range(first, last):
        gains[i] = 0.0
        if i + run <= count and before[i] < HUGE and after[i + run] < HUGE:
            gains[i] = max(0.0, least - before[i] - after[i + run])
    # A group of the cells a..b-1 that loses i..i+run-1 takes the place of those that cover them now.
    for a in range(max(0, first - 2 * k - run), last):
        if before[a] >= HUGE:
            continue
        for b in range(a + 1, min(a + 2 * k - 1 + run, count) + 1):
            size = b - a
            if dimensions > 1:
                insert(x, in_order, a, b)
            if size < k + run or after[b] >= HUGE:
                continue
            spare = least - before[a] - after[b]
            # Without a cell a group's loss to its median falls by at most the cell's distance to where the median may move, and
            # the loss to the mean is no less: that rules out most groups.
            most = spare - median_loss(x, sums, in_order, a, b)
            low, high = max(0, (size - 1) // 2 - run + 1), min(size - 1, size // 2 + run - 1)
            # In one dimension the bound falls towards the middle of the group and rises behind it: come from both ends.
            begin, end, forward = max(a, first), min(b - run + 1, last), True
            while begin < end:
                i = begin if forward else end - 1
                bound = most
                for q in range(i, i + run):
                    if dimensions == 1:
                        bound += max(x[0, a + high] - x[0, q], x[0, q] - x[0, a + low])
                    else:
                        for d in range(dimensions):
                            bound += max(in_order[d, high] - x[d, q], x[d, q] - in_order[d, low])
                if bound <= 0.0 and dimensions == 1:
                    if not forward:
                        break
                    forward = False
                    continue
                if bound > gains[i]:
                    gains[i] = max(gains[i], spare - group_loss(x, sums, median, a, b, i, i + run))
                if forward:
                    begin += 1
                else:
                    end -= 1


@kernel
def at_least(x: Array, sums: Array, a: int, b: int) -> float:
    """A bound for the loss of the cells a..b-1 that is quick to compute: no representative loses less than the median."""
    if x.shape[0] > 1:
        return 0.0
    half = (b - a) // 2
    return float(sums[b] - sums[b - half] - (sums[a + half] - sums[a]))


@kernel
def insert(x: Array, in_order: Array, a: int, b: int) -> None:
    """Put cell b-1 into its place among the cells a..b-2, which are kept sorted in each dimension."""
    for d in range(x.shape[0]):
        at = b - a - 1
        while at > 0 and in_order[d, at - 1] > x[d, b - 1]:
            in_order[d, at] = in_order[d, at - 1]
            at -= 1
        in_order[d, at] = x[d, b - 1]


@kernel
def median_loss(x: Array, sums: Array, in_order: Array, a: int, b: int) -> float:
    """The distances of the cells a..b-1 to their median, summed; cells of several dimensions were inserted one by one."""
    if x.shape[0] == 1:
        return at_least(x, sums, a, b)
    loss = 0.0
    for d in range(x.shape[0]):
        for rank in range((b - a) // 2):
            loss += in_order[d, b - a - 1 - rank] - in_order[d, rank]
    return loss


@kernel
def cost_of_return(cols: Columns, t: int, p: int) -> float:
    """How much more the column at t loses when the peeled cell at position p comes back."""
    cols.left[t, p] = True
    count = gather(cols, t)
    cols.left[t, p] = False
    before, after, x, sums, median = cols.before[t], cols.after[t], cols.x, cols.sums, cols.median
    i = 0
    while cols.position[i] != p:
        i += 1
    most, k = 2 * cols.k - 1, cols.k
    least = HUGE
    for a in range(max(0, i - most + 1), i + 1):
        for b in range(max(a + k, i + 1), min(a + most, count) + 1):
            # Behind the cell the numbers are one less without it.
            rest = before[a] + after[b - 1]
            if rest + at_least(x, sums, a, b) < least:
                least = min(least, rest + group_loss(x, sums, median, a, b, b, b))
    return float(least - cols.least[t])


@kernel
def affordable(cols: Columns, t: int, p: int) -> bool:
    """Whether the series of this cell, and of the next ones left if several go together, may have one more peeled."""
    found = 0
    while found < cols.together:
        if cols.left[t, p]:
            if cols.budget[cols.order[t, p]] == 0:
                return False
            found += 1
        p += 1
    return True


@kernel
def best_cell(cols: Columns, t: int) -> int:
    """The position in column t whose peeling gains most among those that the budgets allow, or -1."""
    gain = cols.gain[t]
    best, most = -1, cols.noise[t]
    for p in range(gain.shape[0]):
        if gain[p] > most and affordable(cols, t, p):
            best, most = p, gain[p]
    return best


@kernel
def peel(cols: Columns, place: Indices, owner: Indices, rounds: int, counter: Indices) -> None:
    """Peel further, always the cells that lower the loss most; then move peeled cells of a series to other times while that helps.

    `place` has the position of a series at each time. `owner` gets for each peeled cell the position of the first one that was
    peeled together with it; it is -1 where a series has no value, and nothing can come back. Cells that are peeled in company are not moved.
    """
    T, N = cols.order.shape
    best = np.zeros(T, dtype=np.int64)
    for t in range(T):
        refresh(cols, t, best[t])
        best[t] = best_cell(cols, t)
    while True:
        column, most = T, 0.0
        for t in range(T):
            if best[t] >= 0 and not affordable(cols, t, best[t]):
                best[t] = best_cell(cols, t)
            if best[t] >= 0 and cols.gain[t, best[t]] > most:
                column, most = t, cols.gain[t, best[t]]
        if column == T:
            break
        first = int(best[column])
        p, found = first, 0
        while found < cols.together:
            if cols.left[column, p]:
                cols.left[column, p] = False
                cols.gain[column, p] = 0.0
                cols.budget[cols.order[column, p]] -= 1
                owner[column, p] = first
                found += 1
                counter[0] += 1
            p += 1
        refresh(cols, column, first)
        best[column] = best_cell(cols, column)

    moved = cols.together == 1
    while moved and rounds > 0:
        moved = False
        rounds -= 1
        for f in range(N):
            for t in range(T):
                p = place[t, f]
                if cols.left[t, p] or owner[t, p] < 0:
                    continue
                column, most = T, 0.0
                for other in range(T):
                    if cols.gain[other, place[other, f]] > most:
                        column, most = other, cols.gain[other, place[other, f]]
                if column == T or most <= cost_of_return(cols, t, p) + cols.noise[t] + cols.noise[column]:
                    continue
                q = place[column, f]
                cols.left[t, p] = True
                cols.left[column, q] = False
                cols.gain[column, q] = 0.0
                owner[column, q] = q
                refresh(cols, t, p)
                refresh(cols, column, q)
                moved = True


@kernel
def group_columns(cols: Columns, owner: Indices, group: Indices) -> None:
    """The clusters of all columns: peeled cells with their owner, the others in the optimal groups; named by their first position."""
    T, N = cols.order.shape
    x, sums, median, k = cols.x, cols.sums, cols.median, cols.k
    for t in range(T):
        before = cols.before[t]
        for p in range(N):
            group[t, p] = owner[t, p]
        j = gather(cols, t)
        while j > 0:
            best, least = k, HUGE
            for size in range(k, min(2 * k - 1, j) + 1):
                loss = before[j - size] + group_loss(x, sums, median, j - size, j, j, j)
                if loss < least:
                    best, least = size, loss
            for i in range(j - best, j):
                group[t, cols.position[i]] = cols.position[j - best]
            j -= best
