"""Pairs of records and which attributes of them agree: the model of Fellegi and Sunter, and the pairs that weigh most by it.

The formulas and references stand in `tsveil.attack.probabilistic`. The model is a file of its own because linkage without common attributes uses it
as well, on other columns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from tsveil.attack.base import Column
from tsveil.attack.candidates import marks, tell_apart
from tsveil.attack.files import Files, Ties, in_steps, wrong_choices
from tsveil.attack.links import Links, whose
from tsveil.attack.pieces import Pieces, Side, Targets
from tsveil.attack.ranges import within_ranks
from tsveil.attack.sorted_column import SortedColumn
from tsveil.core import progress
from tsveil.core.errors import ParameterError, Problems
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data.dataset import Block
from tsveil.data.store import Memory, Store
from tsveil.engine.local import map_chunks

Agree = Literal["nearest", "within"]
#: the positions of a sorted released column that agree with each value of a sorted original one: the first, and one after the last
Reach = Callable[[Column], tuple[Indices, Indices]]

#: the most attributes: there are 2^12 patterns then
MOST = 12
#: cells of a table of records by patterns that is held at a time, and that are looked through at a time
CELLS, PIECE = 2**24, 2**20
#: distinct rows whose agreements are counted at a time
ROWS = 2**20
#: the most patterns whose model is kept for the next attack that asks for it
REMEMBERED = 2**10
#: probabilities are kept this far from 0 and 1
EDGE = 1e-6


@dataclass(frozen=True, eq=False)
class FellegiSunter:
    """The estimated model."""

    #: probability that an attribute agrees, for records of one person and of two
    m: Array
    u: Array
    #: share of pairs that belong to one person
    share: float
    #: rounds of the EM algorithm
    rounds: int

    @property
    def weights(self) -> Array:
        """The log-ratio of every pattern."""
        bits = patterns(len(self.m))
        found: Array = np.where(bits, np.log(self.m / self.u), np.log((1 - self.m) / (1 - self.u))).sum(axis=1)
        return found

    def thresholds(self, false_matches: float, false_non_matches: float) -> tuple[float, float]:
        """The least weight of a linked pair and the largest weight of one that is not.

        Patterns are linked from the largest weight down while their total probability among pairs of two people stays within
        `false_matches`, and not linked from the smallest up while that among pairs of one person stays within
        `false_non_matches`. Infinite where no pattern qualifies; a pattern that is linked is not also refused.
        """
        bits, weights = patterns(len(self.m)), self.weights
        order = np.argsort(-weights, kind="stable")
        apart = np.cumsum(np.where(bits, self.u, 1 - self.u).prod(axis=1)[order])
        same = np.cumsum(np.where(bits, self.m, 1 - self.m).prod(axis=1)[order][::-1])
        linked = int(np.searchsorted(apart, false_matches, side="right"))
        refused = min(int(np.searchsorted(same, false_non_matches, side="right")), len(weights) - linked)
        return (
            float(weights[order[linked - 1]]) if linked else math.inf,
            float(weights[order[::-1][refused - 1]]) if refused else -math.inf,
        )


def fellegi_sunter(counts: Array | Indices, share: float) -> FellegiSunter:
    """The model that fits the counts of the 2^c patterns best, by EM from m = 0.9, u = 0.1 and a first share of matches.

    Bit j of a pattern's number is set where attribute j agrees.

    Examples
    --------
    >>> import numpy as np
    >>> bits = patterns(3)
    >>> model = lambda p: np.where(bits, p, 1 - np.asarray(p)).prod(axis=1)
    >>> counts = 1e6 * (0.01 * model([0.9, 0.8, 0.95]) + 0.99 * model([0.1, 0.05, 0.2]))
    >>> fellegi_sunter(counts, 0.001).m.round(2)
    array([0.9 , 0.8 , 0.95])
    """
    bits = patterns(len(counts).bit_length() - 1).astype(np.float64)
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum()
    columns = bits.shape[1]
    m, u = np.full(columns, 0.9), np.full(columns, 0.1)
    share = min(max(share, EDGE * EDGE), 1 - EDGE)
    change, rounds = math.inf, 0
    while change >= 1e-8 and rounds < 1000:
        ratio = bits @ np.log(m / u) + (1 - bits) @ np.log((1 - m) / (1 - u)) + math.log(share / (1 - share))
        matching = counts / (1 + np.exp(-np.clip(ratio, -700, 700)))
        matches = matching.sum()
        new_m = np.clip(matching @ bits / matches, EDGE, 1 - EDGE) if matches > 0 else m
        new_u = np.clip((counts - matching) @ bits / max(total - matches, EDGE), EDGE, 1 - EDGE)
        new_share = min(max(matches / total, EDGE * EDGE), 1 - EDGE)
        change = max(np.abs(new_m - m).max(), np.abs(new_u - u).max(), abs(new_share - share))
        m, u, share = new_m, new_u, new_share
        rounds += 1
    return FellegiSunter(m, u, float(share), rounds)


def patterns(columns: int) -> Mask:
    """All patterns of agreement, a row each; pattern number p agrees on column j where its bit j is set.

    Examples
    --------
    >>> patterns(2).astype(int)
    array([[0, 0],
           [1, 0],
           [0, 1],
           [1, 1]])
    """
    numbers = np.arange(1 << columns)[:, None]
    found: Mask = (numbers >> np.arange(columns)) & 1 == 1
    return found


def heaviest_links(
    pair: Files,
    agree: Agree = "nearest",
    tolerance: float = 0.1,
    false_matches: float | None = None,
    false_non_matches: float | None = None,
    ties: Ties = "expected",
    window: int | None = None,
) -> Links:
    """The linkage by all columns of two files."""
    count = len(pair.names)
    check_agreement("probabilistic", count, agree, tolerance, window, ties, false_matches, false_non_matches)
    table = table_of(pair, agree, tolerance, window)
    model = plain_model(table.total())
    best, tied, link, hit = (each[0] for each in heaviest_pairs(table, {count: model.weights}, lowest=True))
    facts = {
        "m": dict(zip(pair.names, model.m.tolist(), strict=True)),
        "u": dict(zip(pair.names, model.u.tolist(), strict=True)),
        "share": model.share,
        "rounds": model.rounds,
    }
    if false_matches is not None:
        upper, lower = model.thresholds(false_matches, false_non_matches or 0.0)
        linked = best >= upper
        hit, tied, link = np.where(linked, hit, 0), np.where(linked, tied, 0), np.where(linked, link, -1)
        facts |= {"upper": upper, "lower": lower, "undecided": int(((best < upper) & (best > lower)).sum())}
    words, linked = pair.describe("probabilistic linkage"), (tied, link, hit)
    return Links.of(words, linked, ties, pair.own, len(pair.b), persons=pair.persons, facts=facts)


def first_columns(total: Indices, count: int) -> Indices:
    """The number of pairs with each pattern of the first columns, from that with each pattern of all."""
    found: Indices = total.reshape(-1, 1 << count).sum(axis=0)
    return found


def plain_model(counts: Indices) -> FellegiSunter:
    """The model of some pairs, of which a match is one in as many as a record has pairs, at first."""
    if len(counts) > REMEMBERED:
        return fellegi_sunter(counts, 1 / math.sqrt(int(counts.sum())))
    return _small_model(np.asarray(counts, dtype=np.int64).tobytes())


@lru_cache(maxsize=32)
def _small_model(counts: bytes) -> FellegiSunter:
    """That of few patterns, which attacks with and without dependences between columns fit to the same counts."""
    found = np.frombuffer(counts, dtype=np.int64)
    return fellegi_sunter(found, 1 / math.sqrt(int(found.sum())))


class Heaviest(NamedTuple):
    """For each number of known columns, and each target: largest weight, released records that have it, the lowest of them, how many of the person's have it."""

    best: Array
    tied: Indices
    link: Indices
    hit: Indices


def heaviest_pairs(table: Table, weights: Mapping[int, Array], *, lowest: bool) -> Heaviest:
    """The pairs of the largest weight for each target; the `lowest` of equal records is looked for if asked for."""
    shape = len(weights), table.n
    found = Heaviest(
        np.empty(shape), np.empty(shape, np.int64), np.full(shape, -1, np.int64), np.empty(shape, np.int64)
    )
    # Some at a time: a pattern more takes a float more for each of them.
    step = max(1, PIECE >> table.columns)
    for low, high, part in table.parts():
        for at, (count, weight) in enumerate(weights.items()):
            best, tied = found.best[at, low:high], found.tied[at, low:high]
            at_best = np.empty((high - low if lowest else 0, len(weight)), dtype=np.bool_)
            for begin in range(0, high - low, step):
                some = slice(begin, begin + step)
                best[some], tied[some], these = heaviest(part[some], count, weight)
                if lowest:
                    at_best[some] = these
            if lowest:
                table.lower_links(low, high, at_best, count, found.link[at, low:high])
        found.hit[:, low:high] = table.right(low, high, weights, found.best[:, low:high])
    return found


def heaviest(table: AnyArray, count: int, weights: Array) -> tuple[Array, Indices, Mask]:
    """The largest weight when the first `count` columns are known, the number of released records that have it, and their patterns.

    `table` has the number of released records with each pattern, a row for each original record.
    """
    exact = table.reshape(len(table), -1, 1 << count).sum(axis=1, dtype=np.int64)
    best = np.where(exact > 0, weights, -np.inf).max(axis=1)
    at_best = (weights == best[:, None]) & (exact > 0)
    return best, np.where(at_best, exact, 0).sum(axis=1), at_best


# -- who agrees with whom ---------------------------------------------------------------------------------------------


#: the first and last of some targets, and their largest weights -> how many of their own released records have it
OwnWithWeight = Callable[[int, int, Array], Indices]


class Comparison(NamedTuple):
    """Some targets and some released records: column j agrees where the place of the released value is in low[i, j] .. high[i, j] - 1."""

    low: AnyArray
    high: AnyArray
    #: columns by records
    places: AnyArray


class Table(ABC):
    """How many released records agree with each target in each pattern, some targets at a time."""

    def __init__(
        self, targets: Targets, columns: Sequence[int], *, store: Store | None = None, name: str = "agreements", counted: bool = False
    ) -> None:  # fmt: skip
        self.targets, self.places = targets, columns
        self.n, self.columns = len(targets), len(columns)
        #: the person of each target, and of each released record
        self.mine, self.owner = targets.mine, SortedColumn(targets.files.owners(targets.store))
        #: tables are kept between the two passes if there is a store for them; whether they are there
        self.store, self.name, self.kept = store, name, counted and store is not None
        self.first, self.copies = (targets.store.get(f"distinct.{what}", whole=True) for what in ("first", "copies"))

    def parts(self) -> Iterator[tuple[int, int, AnyArray]]:
        """First and last target, and their table."""
        step = max(1, CELLS >> self.columns)
        with progress.step("Comparing records", total=self.n) as counter:
            for low in range(0, self.n, step):
                high = min(low + step, self.n)
                kept = (
                    self.store.get(f"{self.name}-{low}", whole=True) if self.store is not None and self.kept else None
                )
                yield low, high, self.count_patterns(low, high) if kept is None else kept
                counter[0] = high

    def total(self) -> Indices:
        """How many pairs agree in each pattern."""
        total = np.zeros(1 << self.columns, dtype=np.int64)
        for low, _, part in self.parts():
            total += part.sum(axis=0, dtype=np.int64)
            if self.store is not None:
                self.store.put(f"{self.name}-{low}", part)
        self.kept = self.store is not None
        return total

    @abstractmethod
    def count_patterns(self, low: int, high: int) -> AnyArray:
        """The table of the targets low..high."""

    def right(self, low: int, high: int, weights: Mapping[int, Array], best: Array) -> Indices:
        """For each number of columns and some targets: how many released records of the target's person have the largest weight."""
        persons, which = np.unique(self.mine[low:high], return_inverse=True)
        start, stop = (np.searchsorted(self.owner.ordered, persons, side) for side in ("left", "right"))
        ends = np.cumsum(stop - start)
        begins = ends - (stop - start)
        rows = self.owner.order[np.arange(ends[-1]) + np.repeat(start - begins, stop - start)]
        of_pattern = np.zeros((len(weights), 1 << self.columns))
        for at, weight in enumerate(weights.values()):
            of_pattern[at, : len(weight)] = weight
        counts = np.array(list(weights), dtype=np.int64)
        own = self.own_with_weight(low, high, rows, begins[which], ends[which], counts, of_pattern)
        return np.concatenate(map_chunks(lambda i, j: own(i, j, best[:, i:j]), high - low, 256), axis=1)

    @abstractmethod
    def own_with_weight(
        self, low: int, high: int, rows: Indices, first: Indices, last: Indices, counts: Indices, weights: Array
    ) -> OwnWithWeight:
        """What counts, for some of the targets low..high, those of the released records first..last of `rows` that have the largest weight."""

    def lower_links(self, low: int, high: int, at_best: Mask, columns: int, link: Indices) -> None:
        """Give some targets the first released record with one of some patterns over the first columns."""
        files = self.targets.files
        numbers = files.numbers(self.targets.store)[self.first] if files.numbered else self.first
        in_order = np.argsort(numbers)
        for begin in range(0, len(in_order), ROWS):
            part = in_order[begin : begin + ROWS]
            search = self.searching(low, high, self.first[part], columns)
            missing = np.flatnonzero(link < 0)
            place = np.full(len(link), -1, dtype=np.int64)
            for pattern in np.flatnonzero(at_best[missing].any(axis=0)).tolist():
                search(pattern, missing[at_best[missing, pattern]], place)
            link[place >= 0] = numbers[part][place[place >= 0]]

    @abstractmethod
    def searching(self, low: int, high: int, rows: Indices, columns: int) -> Callable[[int, Indices, Indices], None]:
        """What lowers, for a pattern and some of the targets low..high, their places to that of the first of some released records that has it."""


class Compared(Table):
    """The tables in which targets have ranges, and released records places."""

    @abstractmethod
    def compare(self, low: int, high: int, rows: Indices) -> Comparison:
        """Some targets and some released records."""

    def own_with_weight(
        self, low: int, high: int, rows: Indices, first: Indices, last: Indices, counts: Indices, weights: Array
    ) -> OwnWithWeight:
        """By the ranges of the targets."""
        from tsveil._kernels.agreement import own_with_weight

        pairs = self.compare(low, high, rows)
        return lambda i, j, best: own_with_weight(
            pairs.low[i:j], pairs.high[i:j], pairs.places, first[i:j], last[i:j], counts, weights, best
        )


class Labels(Compared):
    """Attributes agree where the released value is the nearest one: where labels are equal, which are in the store for every column."""

    def __init__(self, targets: Targets, columns: Sequence[int], sizes: Sequence[int], **kept: Any) -> None:
        super().__init__(targets, columns, **kept)
        self.sizes = np.array(sizes, dtype=np.int64)

    def labels(self, side: Side, rows: Indices) -> Indices:
        """The labels of some rows of a file."""
        each = [self.targets.store.get(f"labels-{side}-{column}")[rows] for column in self.places]
        return np.stack(each, axis=1).astype(np.int64)

    def count_patterns(self, low: int, high: int) -> AnyArray:
        """Counted by labels, some distinct rows at a time."""
        from tsveil._kernels.agreement import pattern_counts

        ours = self.labels("original", self.targets.rows[low:high])
        table: AnyArray = np.zeros((high - low, 1 << self.columns), dtype=np.int32)
        for begin in range(0, len(self.first), ROWS):
            theirs = self.labels("released", self.first[begin : begin + ROWS])
            table += pattern_counts(ours, theirs, self.copies[begin : begin + ROWS], self.sizes)
        return table

    def compare(self, low: int, high: int, rows: Indices) -> Comparison:
        """By labels, which agree where they are equal."""
        ours = self.labels("original", self.targets.rows[low:high])
        return Comparison(ours, ours + 1, np.ascontiguousarray(self.labels("released", rows).T))

    def searching(self, low: int, high: int, rows: Indices, columns: int) -> Callable[[int, Indices, Indices], None]:
        """By labels, in the order of the released records."""
        from tsveil._kernels.agreement import first_with_pattern

        ours, theirs = self.labels("original", self.targets.rows[low:high]), self.labels("released", rows)
        order, starts = by_label(theirs, self.sizes)
        return lambda pattern, chosen, place: first_with_pattern(
            ours, theirs, order, starts, pattern, columns, chosen, place
        )


class Ranges(Compared):
    """Attributes agree where the released value stands inside a range of the sorted released column; ranges and places are in the store for every column."""

    def __init__(self, targets: Targets, columns: Sequence[int], ranges: str, **kept: Any) -> None:
        super().__init__(targets, columns, **kept)
        self.ranges = ranges

    def count_patterns(self, low: int, high: int) -> AnyArray:
        """Counted pair by pair, some distinct rows at a time."""
        table: AnyArray = np.zeros((high - low, 1 << self.columns), dtype=np.int32)
        for begin in range(0, len(self.first), ROWS):
            pairs = self.compare(low, high, self.first[begin : begin + ROWS])
            count = partial(_pairs_with_patterns, pairs, self.copies[begin : begin + ROWS])
            table += np.concatenate(map_chunks(count, high - low, 256))
        return table

    def compare(self, low: int, high: int, rows: Indices) -> Comparison:
        """By the ranges of the targets and the places of the records."""
        store = self.targets.store
        each = [store.get(f"{self.ranges}-{column}")[:, self.targets.rows[low:high]] for column in self.places]
        places = np.stack([store.get(f"places-{column}")[rows] for column in self.places])
        first, last = (np.stack([one[side] for one in each], axis=1) for side in (0, 1))
        return Comparison(first, last, places)

    def searching(self, low: int, high: int, rows: Indices, columns: int) -> Callable[[int, Indices, Indices], None]:
        """From the first of the released records on."""
        from tsveil._kernels.agreement import first_with_pattern_in_ranges

        pairs = self.compare(low, high, rows)
        return lambda pattern, chosen, place: first_with_pattern_in_ranges(*pairs, pattern, columns, chosen, place)


def _pairs_with_patterns(pairs: Comparison, copies: Indices, begin: int, end: int) -> AnyArray:
    from tsveil._kernels.agreement import pattern_counts_in_ranges

    return pattern_counts_in_ranges(pairs.low[begin:end], pairs.high[begin:end], pairs.places, copies)


def table_of(pair: Files, agree: Agree = "nearest", tolerance: float = 0.1, window: int | None = None) -> Table:
    """Which values of two files in memory agree. If a `window` is given, those within that many ranks of each other; otherwise as `agree` says: the nearest value, or all within `tolerance`."""
    store, columns = Memory(), range(len(pair.names))
    files = Pieces.of(store, [Block("known", pair.names)], pair.a, pair.b, pair.own, pair.persons)
    store.put("marks-0", marks(pair.b))
    tell_apart(store, files, "first")
    everyone = Targets(store, files, np.arange(len(pair.a)), pair.own, whose(pair.own, pair.persons, len(pair.b))[0])
    each = [Column(store, files, at) for at in columns]
    if window is None and agree == "nearest":
        return Labels(everyone, columns, [keep_labels(column) for column in each], store=_place_for_agreements(pair))
    for column in each:
        keep_ranges(
            column, "ranges", partial(near_enough, tolerance=tolerance) if window is None else ranks_within(window)
        )
    return Ranges(everyone, columns, "ranges", store=_place_for_agreements(pair))


def _place_for_agreements(pair: Files) -> Store | None:
    """A place for the agreements of two files in memory, if they are not too many."""
    return Memory() if len(pair.a) << len(pair.names) <= CELLS else None


def by_label(released: Indices, sizes: Indices) -> tuple[Indices, Indices]:
    """The rows in the order of their labels, column by column, and where each label begins there."""
    order = np.ascontiguousarray(np.argsort(released, axis=0, kind="stable").T)
    starts = np.zeros((released.shape[1], int(sizes.max()) + 1), dtype=np.int64)
    for j in range(released.shape[1]):
        starts[j, 1:] = np.cumsum(np.bincount(released[:, j], minlength=starts.shape[1] - 1))
    return order, starts


def keep_labels(column: Column) -> int:
    """Keep the labels of an original and of a released column, which are equal where values agree; gives their number."""
    x, y = column.x, column.y
    values = np.unique(y.ordered)
    ours, theirs = nearest_values(values, x.ordered), np.searchsorted(values, y.ordered)
    column.keep("labels-original", x.back(ours.astype(np.int32)))
    column.keep("labels-released", y.back(theirs.astype(np.int32)))
    return len(values)


def keep_ranges(column: Column, name: str, reach: Reach) -> None:
    """Keep the places of the released records of a column, and under a name those that agree with each original value."""
    low, high = reach(column)
    _ = column.places
    column.keep(name, column.x.back(np.stack([low, high], axis=1).astype(np.int32)).T)


def ranks_within(window: int) -> Reach:
    """Values agree if they are within a number of ranks of each other; `tsveil.attack.rank_swap` says how ranks are counted."""
    return lambda column: within_ranks(column.x.ordered, column.y.ordered, window)


def near_enough(column: Column, tolerance: float) -> tuple[Indices, Indices]:
    """Values agree if they differ by at most `tolerance` standard deviations of the original."""
    power, factor = column.scale[:2]
    x, y = in_steps(column.x.ordered, power), in_steps(column.y.ordered, power)

    def near(at: Indices) -> Mask:
        found: Mask = np.abs(x - y[np.minimum(at, len(y) - 1)]) * factor <= tolerance
        return found

    middle, ends = np.searchsorted(y, x), np.zeros((2, len(x)), dtype=np.int64)
    ends[1] = len(y)
    # A value that is farther off on the same side never is nearer, rounded or not.
    return _first(near, ends[0], middle), _first(lambda at: ~near(at), middle, ends[1])


def _first(holds: Callable[[Indices], Mask], begin: Indices, end: Indices) -> Indices:
    """For each range the first place from which on something holds, its end if it never does."""
    while (begin < end).any():
        middle = (begin + end) // 2
        yes, looking = holds(middle), begin < end
        begin, end = np.where(looking & ~yes, middle + 1, begin), np.where(looking & yes, middle, end)
    return begin


def nearest_values(distinct: Array, x: Array) -> Indices:
    """The place of the nearest of some sorted values, the lower of two equally near.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_values(np.array([1.0, 3.0, 7.0]), np.array([0.0, 2.0, 5.5, 9.0]))
    array([0, 0, 2, 2])
    """
    above = np.clip(np.searchsorted(distinct, x), 1, max(len(distinct) - 1, 1))
    if len(distinct) == 1:
        return np.zeros(len(x), dtype=np.int64)
    return above - (x - distinct[above - 1] <= distinct[above] - x)


def check_agreement(
    attack: str,
    count: int,
    agree: Agree,
    tolerance: float,
    window: int | None,
    ties: Ties,
    false_matches: float | None = None,
    false_non_matches: float | None = None,
) -> None:
    """Refuse what a linkage by agreements cannot take."""
    problems = Problems(f"the {attack} attack cannot run", ParameterError)
    if count > MOST:
        problems.add(f"it takes at most {MOST} known attributes. Got {count}.")
        problems.hint("options: name fewer in known=...")
    problems.found += wrong_choices(agree=(agree, Agree), ties=(ties, Ties))
    if not 0 <= tolerance < math.inf:
        problems.add(f"The 'tolerance' parameter must be a number of at least 0. Got {tolerance}.")
    if window is not None and window < 0:
        problems.add(f"The 'window' parameter must be at least 0. Got {window}.")
    for name, bound in (("false_matches", false_matches), ("false_non_matches", false_non_matches)):
        if bound is not None and not 0 <= bound <= 1:
            problems.add(f"The {name!r} parameter must be a probability from 0 to 1. Got {bound}.")
    if false_non_matches is not None and false_matches is None:
        problems.add("The 'false_non_matches' parameter needs 'false_matches' as well.")
    problems.raise_if_any()
