"""One released record per person, so that the sum of the distances is the least: an option of the linkages by distance.

The linear sum assignment [1]_. Among equal records the choice is random, so a right link counts by its share.

References
----------
.. [1] D. F. Crouse, On implementing 2D rectangular assignment algorithms, IEEE Transactions on Aerospace and Electronic
   Systems 52 (2016).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from tsveil.attack.files import Ties
from tsveil.attack.links import Links
from tsveil.attack.nearest import distinct_rows, own_candidate
from tsveil.core import progress
from tsveil.core.errors import InputError
from tsveil.core.types import Array, Indices

#: the largest file for a one-to-one assignment: its table of distances takes 8 bytes per pair
ASSIGNED = 5000


def one_to_one(
    a: Array, b: Array, own: Indices, distances: Callable[[Array, Array], Array], ties: Ties, attack: str
) -> Links:
    """The links of two prepared files; `distances` gives the table of all distances between two such files."""
    from scipy.optimize import linear_sum_assignment

    n, m = len(a), len(b)
    if max(n, m) > ASSIGNED:
        raise InputError(
            f"one-to-one assignment takes files of at most {ASSIGNED} records, these have {n} and {m}\n"
            "  options: leave out one_to_one, or attack a sample of the records"
        )
    # Sorted by value, the files are the same whatever their order was, and so is the solution found among equals.
    by_a, by_b = np.lexsort(a.T[::-1]), np.lexsort(b.T[::-1])
    cost = distances(np.ascontiguousarray(a[by_a]), np.ascontiguousarray(b[by_b]))
    with progress.step("Assigning records one to one"):
        person, place = linear_sum_assignment(cost)
    link = np.full(n, -1, dtype=np.int64)
    link[by_a[person]] = by_b[place]
    same_a, same_b = distinct_rows(a)[2], distinct_rows(b)[2]
    mine = own_candidate(own, same_b)
    linked = own_candidate(link, same_b)
    copies = np.bincount(same_b)
    # Equal people are interchangeable, and so are equal released records: each gets the share of its kind.
    sizes = np.bincount(same_a)
    pairs, number = np.unique(np.stack([same_a, linked]), axis=1, return_counts=True)
    share: dict[tuple[int, int], float] = {}
    candidates = np.zeros(len(sizes), dtype=np.int64)
    for kind, other, count in zip(*pairs.tolist(), number.tolist(), strict=True):
        if other >= 0:
            share[kind, other] = count / (sizes[kind] * copies[other])
            candidates[kind] += copies[other]
    chance = np.array([share.get(kinds, 0.0) for kinds in zip(same_a.tolist(), mine.tolist(), strict=True)])
    first = ((link == own) & (link >= 0)).astype(np.float64)
    return Links(
        attack=f"one-to-one {attack}",
        candidates=candidates[same_a],
        link=link,
        hit=chance > 0,
        ties=ties,
        own=own,
        probability=first if ties == "first" else chance,
        released=m,
    )


def distances(a: Array, b: Array, factor: Array, starts: Indices, metric: str = "euclidean") -> Array:
    """The distances between all records of two files: the sum over blocks of columns starts[i]..starts[i+1], each Euclidean or "l1"."""
    total = np.zeros((len(a), len(b)))
    for low, high in pairwise(starts):
        block = np.zeros_like(total)
        for j in range(low, high):
            difference = np.abs(a[:, j, None] - b[None, :, j]) * factor[j]
            block += difference if metric == "l1" else difference * difference
        total += block if metric == "l1" else np.sqrt(block, out=block)
    return total
