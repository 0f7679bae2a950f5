"""One released record per person, so that the sum of the distances is the least: an option of the linkages by distance.

The linear sum assignment [1]_. Among equal records the choice is random, so a right link counts by its share.

References
----------
.. [1] D. F. Crouse, On implementing 2D rectangular assignment algorithms, IEEE Transactions on Aerospace and Electronic
   Systems 52 (2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tsveil.attack.files import Ties
from tsveil.attack.links import Links, linked_right, whose
from tsveil.attack.nearest import by_bytes, distinct_rows
from tsveil.core import progress
from tsveil.core.errors import InputError
from tsveil.core.types import Array, Indices

#: the largest file for a one-to-one assignment: its table of distances takes 8 bytes per pair
ASSIGNED = 5000
#: records that are all assigned in a score card, pairs of a person and a record in one table, and the fewest persons that are worth assigning
EVERYBODY, PAIRS, FEWEST = 2500, 2**25, 200


def one_to_one(
    a: Array, b: Array, own: Indices, persons: Indices | None, distances: Callable[[Array, Array], Array], ties: Ties, attack: str
) -> Links:  # fmt: skip
    """The links of two prepared files, whose records belong to some persons or each to its own; `distances` gives the table of all distances between two such files."""
    n, m = len(a), len(b)
    if max(n, m) > ASSIGNED:
        raise InputError(
            f"one-to-one assignment takes files of at most {ASSIGNED} records, these have {n} and {m}\n"
            "  options: leave out one_to_one, or attack a sample of the records"
        )
    mine, owner = whose(own, persons, m)
    found = assign(Costs.of(a, b, distances), owner, mine)
    chance = found.chance[0]
    return Links(
        attack=f"one-to-one {attack}",
        candidates=found.tied[0],
        link=found.link[0],
        hit=chance > 0,
        ties=ties,
        own=own,
        persons=persons,
        probability=linked_right(found.link[0], own, persons, m) if ties == "first" else chance,
        released=m,
    )


class LinksOneToOne(NamedTuple):
    """What a one-to-one assignment gives, with one round."""

    #: the row of each person, and how many rows are like those that persons like this one get
    link: Indices
    tied: Indices
    #: the chance that it is right
    chance: Array


class Costs(NamedTuple):
    """What it costs to give a person a record, for all kinds of persons and of records: equal ones are of one kind."""

    table: Array
    #: the kind of each person, and that of each record
    people: Indices
    records: Indices

    @classmethod
    def of(cls, a: Array, b: Array, distances: Callable[[Array, Array], Array]) -> Costs:
        """Those of two prepared files. Kinds are in the order of their bytes, which is the same whatever the order of the files is."""
        (people, kind), (records, of_row) = _sorted_kinds(a), _sorted_kinds(b)
        return cls(distances(people, records), kind, of_row)

    def subset(self, people: Indices) -> Costs:
        """Those of some of the persons."""
        return self._replace(people=self.people[people])


def assign(costs: Costs, whose: Indices, mine: Indices) -> LinksOneToOne:
    """The assignment that costs least; `whose` and `mine` say which rows are right for whom.

    Equal people are interchangeable, and so are equal released records: what each gets is the mean over those of its kind of the person's share in the class
    of the row.
    """
    from scipy.optimize import linear_sum_assignment

    kind, of_row = costs.people, costs.records
    # Sorted by kind, the files are the same whatever their order was, and so is the solution found among equals.
    by_a, by_b = (np.argsort(each, kind="stable") for each in (kind, of_row))
    with progress.step("Assigning records one to one"):
        person, place = linear_sum_assignment(costs.table[np.ix_(kind[by_a], of_row[by_b])])
    link = np.full(len(kind), -1, dtype=np.int64)
    link[by_a[person]] = by_b[place]
    copies, sizes, got = np.bincount(of_row), np.bincount(kind), link >= 0
    # Which kinds of persons get which kinds of records, and what share of them each person of the kind has.
    code, number = np.unique(kind[got] * len(copies) + of_row[link[got]], return_counts=True)
    one, other = np.divmod(code, len(copies))
    share = number / (sizes[one] * copies[other])
    tied = np.bincount(one, weights=copies[other], minlength=len(sizes)).astype(np.int64)
    # A row for each person and each kind of records that persons of this kind get.
    first, last = (np.searchsorted(one, kind, side=side) for side in ("left", "right"))
    ends = np.cumsum(last - first)
    person = np.repeat(np.arange(len(kind)), last - first)
    at = np.arange(len(person)) + (last - ends)[person]
    owned, rows = np.unique(whose * len(copies) + of_row, return_counts=True)
    wanted = mine[person] * len(copies) + other[at]
    place = np.minimum(np.searchsorted(owned, wanted), len(owned) - 1)
    each = np.where(owned[place] == wanted, rows[place], 0) * share[at]
    chance = np.zeros(len(kind))
    single = last - first == 1
    chance[single] = each[ends[single] - 1]
    for several in np.flatnonzero(last - first > 1).tolist():
        chance[several] = math.fsum(each[ends[several] - (last - first)[several] : ends[several]])
    return LinksOneToOne(link[None], tied[kind][None], chance[None])


def _sorted_kinds(rows: Array) -> tuple[Array, Indices]:
    """The distinct rows in the order of their bytes, and the number of each row among them."""
    found, _, label, _ = distinct_rows(rows + 0.0)  # both zeros are one
    order = by_bytes(found)
    return found[order], np.argsort(order)[label]


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
