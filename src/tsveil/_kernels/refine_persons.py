"""Groups made tighter where no group may hold two records of one person: moves and swaps between near groups.

The changes of the sum of squared errors are those of `_kernels.refine`; a change is made only if it keeps at least k records in every group, all
of different persons. Groups are not dissolved or formed anew.
"""

from __future__ import annotations

from tsveil._kernels.compiling import kernel
from tsveil._kernels.mdav import squared_distance
from tsveil.core.types import Array, Indices

#: a change must lower the SSE by this share of what the two records contribute
LEAST = 1e-9


@kernel
def has_person(members: Indices, size: int, persons: Indices, own: int, but: int) -> bool:
    """Whether a person has a record in a group, one place of it left aside."""
    found = False
    for place in range(size):
        found |= place != but and persons[members[place]] == own
    return found


@kernel
def centre_of(Z: Array, members: Indices, size: int, centre: Array) -> None:
    """The mean of a group, x0 + mean(x - x0) with x0 its first record."""
    first = members[0]
    for j in range(Z.shape[1]):
        total = 0.0
        for place in range(1, size):
            total += Z[members[place], j] - Z[first, j]
        centre[j] = Z[first, j] + total / size


@kernel
def improve(
    Z: Array, persons: Indices, k: int, labels: Indices, members: Indices, sizes: Indices, centres: Array, near: Indices
) -> float:
    """Go through all records once and make the best change for each; gives what the SSE fell by.

    `members` has the records of each group, as many as `sizes` says; `near` has the groups to try for each group, -1 at the end.
    """
    saved = 0.0
    for x in range(Z.shape[0]):
        g = labels[x]
        a = sizes[g]
        at = 0
        while members[g, at] != x:
            at += 1
        here = squared_distance(Z, x, centres, g)
        best, chosen, other = LEAST * here, -1, -1
        for place in range(near.shape[1]):
            h = near[g, place]
            if h < 0:
                break
            b = sizes[h]
            there = squared_distance(Z, x, centres, h)
            if a > k and b < members.shape[1] and not has_person(members[h], b, persons, persons[x], -1):
                gain = a / (a - 1) * here - b / (b + 1) * there
                if gain > best:
                    best, chosen, other = gain, h, -1
            for seat in range(b):
                y = members[h, seat]
                gain = here - there + squared_distance(Z, y, centres, h) - squared_distance(Z, y, centres, g)
                gain += squared_distance(Z, x, Z, y) * (1 / a + 1 / b)
                if (
                    gain > best
                    and not has_person(members[h], b, persons, persons[x], seat)
                    and not has_person(members[g], a, persons, persons[y], at)
                ):
                    best, chosen, other = gain, h, seat
        if chosen < 0:
            continue
        if other < 0:
            members[g, at] = members[g, a - 1]
            members[chosen, sizes[chosen]] = x
            sizes[g] -= 1
            sizes[chosen] += 1
        else:
            y = members[chosen, other]
            members[g, at], members[chosen, other] = y, x
            labels[y] = g
        labels[x] = chosen
        centre_of(Z, members[g], sizes[g], centres[g])
        centre_of(Z, members[chosen], sizes[chosen], centres[chosen])
        saved += best
    return saved
