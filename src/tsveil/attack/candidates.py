"""The distinct rows of a release: what an intruder compares with, once for all records that look alike.

Protected records come in groups of equal ones, so a linkage against the distinct rows, with the number of copies of each, says the same as
one against all records and costs a k-th of it. Every piece of the release marks its rows with 128 bits; the process that runs the attacks finds equal
marks, 16 bytes for each record; every piece then keeps the rows that occur in it first. Two different rows share a mark with a chance
below n^2 / 2^128: 10^-25 for ten million records. Where persons have several records, only equal rows of one person are put together: then each
row has one owner, and a link to it is right for all records of that person.

An attack takes the distinct rows piece by piece (`candidates`): the least distance over all pieces, with all that are tied at it, is what one search
in all of them would find (`Best`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tsveil.attack.exact_ties import ExactTies
from tsveil.attack.files import Ties
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.pieces import Pieces, Targets
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data.store import Store

#: values that are compared with at a time, if a single piece of the release has no more
MANY = 2**24


def marks(values: Array) -> AnyArray:
    """Two numbers of 64 bits for each row, equal for equal rows.

    Examples
    --------
    >>> found = marks(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> (found[0] == found[2]).all(), (found[0] == found[1]).any()
    (np.True_, np.False_)
    """
    from tsveil._kernels.exact import row_marks

    bits = np.ascontiguousarray(values).view(np.uint64)
    return row_marks(bits if bits.flags.writeable else bits.copy())


def number_marks(every: AnyArray, *last: Indices) -> tuple[Indices, Indices]:
    """The number of each row's mark, in the order in which marks first occur, and where each occurs first.

    Which of equal marks counts as the first is decided by `last`, where it is given.

    Examples
    --------
    >>> number_marks(marks(np.array([[5.0], [2.0], [5.0]])))
    (array([0, 1, 0]), array([0, 1]))
    """
    order = np.lexsort((*last, *every.T[::-1]))
    every = every[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (every[1:] != every[:-1]).any(axis=1)
    first = order[begins]
    by_row = np.argsort(first)
    number = np.empty(len(first), dtype=np.int64)
    number[by_row] = np.arange(len(first))
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = number[np.cumsum(begins) - 1]
    return of_row, first[by_row]


def joined_marks(store: Store, name: str, pieces: int) -> AnyArray:
    """The marks of all pieces."""
    found = [store.get(f"{name}-{at}", whole=True) for at in range(pieces)]
    return found[0] if pieces == 1 else np.concatenate(found)


def tell_apart(store: Store, files: Pieces, ties: Ties) -> int:
    """Number the distinct rows of the release, and keep the number of each released row; gives how many there are."""
    # Where a tie goes to the first record, the lowest record of equal rows counts; where ties are shared, any of them.
    last = (files.numbers(store),) if files.numbered and ties == "first" else ()
    every = joined_marks(store, "marks", len(files.released))
    if files.persons:
        every = np.column_stack([every, store.get("owners").astype(np.uint64)])
    of_row, first = number_marks(every, *last)
    store.put("distinct.of_row", of_row)
    store.put("distinct.first", first)
    store.put("distinct.copies", np.bincount(of_row))
    return len(first)


def keep_distinct(store: Store, files: Pieces, at: int) -> None:
    """Keep the rows of one piece of the release that are the first of their kind."""
    first = store.get("distinct.first")
    start, stop = files.range("released", at)
    low, high = np.searchsorted(first, [start, stop])
    rows = np.asarray(first[low:high]) - start
    values = store.get(f"released-{at}").T
    store.put(f"distinct-{at}", values if len(rows) == stop - start else values[rows])


def candidates(targets: Targets, stem: str = "distinct") -> Iterator[Rows]:
    """All distinct rows, in pieces of a bounded size; `stem` begins the names under which the store has something of them in place of their values."""
    store, files = targets.store, targets.files
    of_row = np.where(targets.own >= 0, store.get("distinct.of_row")[targets.own], -1)
    first, copies = store.get("distinct.first"), store.get("distinct.copies")
    pieces = len(files.released)
    ends = np.searchsorted(first, np.cumsum([0, *files.released]))
    most = MANY // max(1, len(files.columns))
    begin = 0
    while begin < pieces:
        end = begin + 1
        while end < pieces and ends[end + 1] - ends[begin] <= most:
            end += 1
        if ends[end] > ends[begin]:
            found = [store.get(f"{stem}-{at}", whole=True) for at in range(begin, end)]
            span = slice(int(ends[begin]), int(ends[end]))
            rows = np.array(first[span])
            lowest = files.numbers(store)[rows] if files.numbered else rows
            values = found[0] if len(found) == 1 else np.concatenate(found)
            own = np.where((of_row >= span.start) & (of_row < span.stop), of_row - span.start, -1)
            owner = np.asarray(store.get("owners")[rows]) if files.persons else None
            yield Rows(values, lowest, np.array(copies[span]), own, owner, targets.mine if files.persons else None)
        begin = end


class Found(NamedTuple):
    """What an attack finds: a row for each number of known columns or blocks, and a column for each target."""

    #: how many released records fit best, the lowest of them (-1: none), and how many of the person's are among them
    tied: Indices
    link: Indices
    hit: AnyArray
    #: how many records are possible; those that fit best unless given
    possible: Indices | None = None
    #: the chance of a right link, if it does not depend on how ties count
    chance: Array | None = None
    #: whether the intruder can be sure
    certain: Mask | None = None

    @property
    def candidates(self) -> Indices:
        """How many records are possible."""
        return self.tied if self.possible is None else self.possible

    def chances(self, targets: Targets, ties: Ties) -> Array:
        """The chance of a right link: as it is given, or the share of the person's records in a tie, or the lowest one is taken."""
        if self.chance is not None:
            return self.chance
        if ties == "first":
            files, store = targets.files, targets.store
            owner = np.full(max(files.n, files.m) + 1, -2)  # the last: no link
            owner[files.numbers(store)[: files.m] if files.numbered else np.arange(files.m)] = files.owners(store)
            return np.asarray(owner[self.link] == targets.mine, dtype=np.float64)
        found: Array = self.hit / np.maximum(self.tied, 1)
        return found


class Best:
    """The records that fit best, found so far for each target and round: those in most ranges, if these count, and the nearest of them."""

    def __init__(self, targets: int, rounds: int) -> None:
        self.best = np.full((targets, rounds), np.inf)
        self.tied, self.link, self.hit, self.ranges, self.size = (
            np.full((targets, rounds), start, dtype=np.int64) for start in (0, -1, 0, 0, 0)
        )

    def add(self, near: Near, ranges: Indices | int = 0, size: Indices | int = 0) -> None:
        """What was found among other candidates; `ranges` says in how many ranges they are, and `size` how many are in as many."""
        best, tied, link, hit = near
        more, same = ranges > self.ranges, ranges == self.ranges
        closer, equal = more | (same & (best < self.best)), same & (best == self.best) & (link >= 0)
        lower = equal & ((self.link < 0) | (link < self.link))
        self.size = np.where(more, size, self.size + np.where(same, size, 0))
        self.tied = np.where(closer, tied, self.tied + np.where(equal, tied, 0))
        self.hit = np.where(closer, hit, self.hit + np.where(equal, hit, 0))
        self.link = np.where(closer | lower, link, self.link)
        self.best = np.where(closer, best, self.best)
        self.ranges = np.maximum(self.ranges, ranges)


def nearest_in_pieces(
    targets: Targets,
    rounds: int,
    search: Callable[[Rows], Near],
    stem: str = "distinct",
    exact: ExactTies | None = None,
) -> Found:
    """The nearest of all distinct rows; `search` looks among some of them, of which it gets the values of all columns, or what `stem` says.

    With `exact` it also marks near ties, which are decided in the end.
    """
    best = Best(len(targets), rounds)
    for some in candidates(targets, stem):
        if exact is None:
            best.add(search(some))
        else:
            exact.add(best, search(some))
    if exact is not None:
        exact.settle(best, candidates(targets, stem))
    return Found(best.tied.T, best.link.T, best.hit.T)
