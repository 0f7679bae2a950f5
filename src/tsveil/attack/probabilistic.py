"""Probabilistic record linkage (P-RL): which attributes of two records agree, weighed by how much their agreement tells.

Each pair of an original and a released record has a pattern of agreements over the c known attributes. In the model of Fellegi
and Sunter [1]_ attribute j agrees with probability m_j if both records belong to one person and u_j otherwise, independently of
the other attributes, and a pair is weighed by the log-ratio

    weight = sum_j log(m_j / u_j) where j agrees, log((1 - m_j) / (1 - u_j)) where not.

Each original record is linked to the released one of the largest weight. m, u and the share of matching pairs are estimated by
the EM algorithm [2]_ from the counts of the 2^c patterns among all pairs, which are counted without looking at the pairs.

When do two numbers agree? By default if the released value is the nearest released one to the original (the lower of two
equally near): every record then has a label per attribute, and equal labels agree. With `agree="within"`, if they
differ by at most `tolerance` standard deviations.

Given bounds on the probabilities of a false match and of a false non-match, pairs are linked, not linked or left undecided
as the theory has it; then only records whose best pair is linked have a link.

References
----------
.. [1] I. P. Fellegi, A. B. Sunter, A theory for record linkage, Journal of the American Statistical Association 64 (1969)
   1183-1210.
.. [2] W. E. Winkler, Advanced methods for record linkage, Proceedings of the Section on Survey Research Methods, American
   Statistical Association (1994).

Examples
--------
>>> import numpy as np, tsveil as tv
>>> rng = np.random.default_rng(0)
>>> x = rng.integers(0, 20, (1000, 4)).astype(float)
>>> noisy = np.where(rng.random(x.shape) < 0.9, x, rng.integers(0, 20, x.shape))
>>> data = tv.Dataset.from_arrays({"a": x})
>>> found = tv.attack.probabilistic(data, data.with_values(noisy))
>>> found
Links: probabilistic linkage, 4 attributes known: 904.8 of 1000 records re-identified (90.5 %)
>>> {name: round(m, 2) for name, m in found.facts["m"].items()}
{'0': 0.91, '1': 0.91, '2': 0.9, '3': 0.89}
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tsveil import progress
from tsveil._types import AnyArray, Array, Indices, Mask
from tsveil.attack._files import Files, HasData, Ties, files, on_one_scale
from tsveil.attack._nearest import distinct_rows
from tsveil.attack._sorted import Sorted
from tsveil.attack.candidates import chances
from tsveil.attack.distance import checked_counts
from tsveil.attack.links import Links
from tsveil.attack.pieces import Targets
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task
from tsveil.errors import ParameterError, Problems

Agree = Literal["nearest", "within"]

#: the most attributes: there are 2^12 patterns then
MOST = 12
#: cells of a table of records by patterns that is held at a time, and that are looked through at a time
CELLS, PIECE = 2**24, 2**20
#: probabilities are kept this far from 0 and 1
EDGE = 1e-6


def probabilistic(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    agree: Agree = "nearest",
    tolerance: float = 0.1,
    false_matches: float | None = None,
    false_non_matches: float | None = None,
    ties: Ties = "expected",
) -> Links:
    """Link originals to the released records of the largest weight, over at most 12 known attributes."""
    pair = files(original, released, known, truth)
    return probabilistic_rounds(
        pair, [len(pair.names)], agree, tolerance, false_matches, false_non_matches, ties
    )[0]  # fmt: skip


def probabilistic_prefixes(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    truth: Truth = None,
    agree: Agree = "nearest",
    tolerance: float = 0.1,
    ties: Ties = "expected",
) -> list[Links]:
    """The linkage with the first 1, 2, ..., all known attributes (or the given numbers of them), in one pass."""
    pair = files(original, released, known, truth)
    return probabilistic_rounds(pair, checked_counts(counts, len(pair.names)), agree, tolerance, None, None, ties)


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


def probabilistic_rounds(
    pair: Files,
    counts: Sequence[int],
    agree: Agree = "nearest",
    tolerance: float = 0.1,
    false_matches: float | None = None,
    false_non_matches: float | None = None,
    ties: Ties = "expected",
) -> list[Links]:
    """The linkage with the first so many columns of two files."""
    _check(counts, agree, tolerance, false_matches, false_non_matches, ties)
    most = max(counts)
    n, released = len(pair.a), len(pair.b)
    table = _Nearest(pair, most) if agree == "nearest" else _Within(pair, most, tolerance)
    total = np.zeros(1 << most, dtype=np.int64)
    for _, _, part in table.parts():
        total += part.sum(axis=0, dtype=np.int64)
    models = {}
    for count in counts:
        known = total.reshape(-1, 1 << count).sum(axis=0)
        models[count] = fellegi_sunter(known, 1 / math.sqrt(n * released))
    own = table.own_patterns()
    found = {count: _Found.empty(n) for count in counts}
    step = max(1, PIECE >> most)
    for begin, end, part in table.parts():
        for low in range(begin, end, step):
            piece = part[low - begin : low - begin + step]
            for count in counts:
                _find(piece, low, count, models[count].weights, table, found[count])
    return [
        _links(pair, count, models[count], found[count], own, false_matches, false_non_matches, ties)
        for count in counts
    ]


@dataclass(frozen=True, eq=False)
class _Found:
    """For each original record the largest weight, how many released records have it, and the lowest of them."""

    best: Array
    tied: Indices
    link: Indices

    @classmethod
    def empty(cls, n: int) -> _Found:
        return cls(np.empty(n), np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64))


def _find(piece: AnyArray, low: int, count: int, weights: Array, table: _Table, into: _Found) -> None:
    """The best pairs of some original records, from `low` on, with the first so many columns known."""
    high = low + len(piece)
    into.best[low:high], into.tied[low:high], at_best = heaviest(piece, count, weights)
    for pattern in np.flatnonzero(at_best.any(axis=0)).tolist():
        table.first_rows(pattern, count, low + np.flatnonzero(at_best[:, pattern]), into.link)


def heaviest(table: AnyArray, count: int, weights: Array) -> tuple[Array, Indices, Mask]:
    """The largest weight with the first so many columns known, how many released records have it, and by which patterns.

    `table` has the number of released records with each pattern, a row for each original record.
    """
    exact = table.reshape(len(table), -1, 1 << count).sum(axis=1, dtype=np.int64)
    best = np.where(exact > 0, weights, -np.inf).max(axis=1)
    at_best = (weights == best[:, None]) & (exact > 0)
    return best, np.where(at_best, exact, 0).sum(axis=1), at_best


def _links(
    pair: Files, count: int, model: FellegiSunter, found: _Found, own: Indices,
    false_matches: float | None, false_non_matches: float | None, ties: Ties,
) -> Links:  # fmt: skip
    weights = model.weights
    hit = (own >= 0) & (weights[own & ((1 << count) - 1)] == found.best)
    tied, link = found.tied, found.link
    names = pair.names[:count]
    facts = {
        "m": dict(zip(names, model.m.tolist(), strict=True)),
        "u": dict(zip(names, model.u.tolist(), strict=True)),
        "share": model.share,
        "rounds": model.rounds,
    }
    if false_matches is not None:
        upper, lower = model.thresholds(false_matches, false_non_matches or 0.0)
        linked = found.best >= upper
        hit, tied, link = hit & linked, np.where(linked, tied, 0), np.where(linked, link, -1)
        facts |= {"upper": upper, "lower": lower, "undecided": int(((found.best < upper) & (found.best > lower)).sum())}
    return Links(
        attack=pair.told("probabilistic linkage", count),
        candidates=tied,
        link=link,
        hit=hit,
        ties=ties,
        own=pair.own,
        released=len(pair.b),
        facts=facts,
    )


class _Table(ABC):
    """How many released records agree with each original one in each pattern, some originals at a time."""

    def __init__(self, pair: Files, columns: int) -> None:
        self.pair = pair
        self.columns = columns
        #: kept when all records fit at once, for they are gone through twice
        self.whole: AnyArray | None = None

    def parts(self) -> Iterator[tuple[int, int, AnyArray]]:
        """First and last original record, and their table."""
        n = len(self.pair.a)
        step = max(1, CELLS >> self.columns)
        with progress.step("Comparing records", total=n) as counter:
            for low in range(0, n, step):
                high = min(low + step, n)
                part = self.counted(low, high) if self.whole is None else self.whole
                if n <= step:
                    self.whole = part
                yield low, high, part
                counter[0] = high

    @abstractmethod
    def counted(self, low: int, high: int) -> AnyArray:
        """The table of the original records low..high."""

    @abstractmethod
    def own_patterns(self) -> Indices:
        """The pattern of each original with the person's own released record; -1: not released."""

    @abstractmethod
    def first_rows(self, pattern: int, columns: int, chosen: Indices, link: Indices) -> None:
        """Lower the links of some originals to the first released row with a pattern over the first columns."""

    def _numbers(self, agrees: Mask) -> Indices:
        numbers = (agrees << np.arange(self.columns)).sum(axis=1)
        return np.where(self.pair.own >= 0, numbers, -1)


class _Nearest(_Table):
    """Attributes agree where the released value is the nearest one."""

    def __init__(self, pair: Files, columns: int) -> None:
        super().__init__(pair, columns)
        self.labels = np.empty((len(pair.a), columns), dtype=np.int64)
        self.released = np.empty((len(pair.b), columns), dtype=np.int64)
        values = []
        for j in range(columns):
            self.labels[:, j], self.released[:, j], size = labels_of(Sorted(pair.a[:, j]), Sorted(pair.b[:, j]))
            values.append(size)
        self.sizes = np.array(values, dtype=np.int64)
        self.distinct, _, _, self.copies = distinct_rows(self.released)
        self.order, self.starts = by_label(self.released, self.sizes)

    def counted(self, low: int, high: int) -> AnyArray:
        from tsveil._kernels.agreement import pattern_counts

        return pattern_counts(self.labels[low:high], self.distinct, self.copies, self.sizes)

    def own_patterns(self) -> Indices:
        return self._numbers(self.labels == self.released[self.pair.own])

    def first_rows(self, pattern: int, columns: int, chosen: Indices, link: Indices) -> None:
        from tsveil._kernels.agreement import first_with_pattern

        first_with_pattern(self.labels, self.released, self.order, self.starts, pattern, columns, chosen, link)


class _Within(_Table):
    """Attributes agree where the values differ by at most some standard deviations."""

    def __init__(self, pair: Files, columns: int, tolerance: float) -> None:
        super().__init__(pair, columns)
        self.a, self.b, self.factor = on_one_scale(pair.a[:, :columns], pair.b[:, :columns])
        self.tolerance = float(tolerance)

    def counted(self, low: int, high: int) -> AnyArray:
        from tsveil._kernels.agreement import pattern_counts_within

        return pattern_counts_within(self.a[low:high], self.b, self.factor, self.tolerance)

    def own_patterns(self) -> Indices:
        return self._numbers(np.abs(self.a - self.b[self.pair.own]) * self.factor <= self.tolerance)

    def first_rows(self, pattern: int, columns: int, chosen: Indices, link: Indices) -> None:
        from tsveil._kernels.agreement import first_with_pattern_within

        first_with_pattern_within(self.a, self.b, self.factor, self.tolerance, pattern, columns, chosen, link)


def by_label(released: Indices, sizes: Indices) -> tuple[Indices, Indices]:
    """The rows in the order of their labels, column by column, and where each label begins there."""
    order = np.ascontiguousarray(np.argsort(released, axis=0, kind="stable").T)
    starts = np.zeros((released.shape[1], int(sizes.max()) + 1), dtype=np.int64)
    for j in range(released.shape[1]):
        starts[j, 1:] = np.cumsum(np.bincount(released[:, j], minlength=starts.shape[1] - 1))
    return order, starts


def labels_of(x: Sorted, y: Sorted) -> tuple[AnyArray, AnyArray, int]:
    """The labels of an original and of a released column, and their number: values agree where their labels are equal."""
    values = np.unique(y.ordered)
    ours, theirs = nearest_values(values, x.ordered), np.searchsorted(values, y.ordered)
    return x.back(ours.astype(np.int32)), y.back(theirs.astype(np.int32)), len(values)


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


def _check(
    counts: Sequence[int], agree: Agree, tolerance: float, false_matches: float | None, false_non_matches: float | None, ties: Ties
) -> None:  # fmt: skip
    problems = Problems("the probabilistic attack cannot run", ParameterError)
    if max(counts) > MOST:
        problems.add(f"it takes at most {MOST} known attributes. Got {max(counts)}.")
        problems.hint("options: name fewer in known=...")
    for name, value, allowed in (("agree", agree, get_args(Agree)), ("ties", ties, get_args(Ties))):
        if value not in allowed:
            problems.add(f"The {name!r} parameter must be one of {', '.join(map(repr, allowed))}. Got {value!r}.")
    if not 0 <= tolerance < math.inf:
        problems.add(f"The 'tolerance' parameter must be a number of at least 0. Got {tolerance}.")
    for name, bound in (("false_matches", false_matches), ("false_non_matches", false_non_matches)):
        if bound is not None and not 0 <= bound <= 1:
            problems.add(f"The {name!r} parameter must be a probability from 0 to 1. Got {bound}.")
    if false_non_matches is not None and false_matches is None:
        problems.add("The 'false_non_matches' parameter needs 'false_matches' as well.")
    problems.raise_if_any()


# -- files in pieces --------------------------------------------------------------------------------------------------
#
# The labels of all columns are in the store. Targets are gone through twice: agreements are counted, and weighed by how often they occur.

#: agreements that are kept between the two passes: 4 bytes each
KEPT = 2**28
#: distinct rows whose agreements are counted at a time
ROWS = 2**20


def count_agreements(targets: Targets, task: Task) -> Result:
    """How many pairs of the targets and released records agree in each pattern of columns."""
    total = np.zeros(1 << max(task["counts"]), dtype=np.int64)
    for low, _, table in _agreements(targets, task, stored=False):
        total += table.sum(axis=0, dtype=np.int64)
        if task["stored"]:
            targets.store.put(_name(task, low), table)
    return {"total": total.tolist()}


def weights_by_count(total: Indices, counts: Sequence[int], pairs: int) -> dict[int, Array]:
    """The weights of the patterns of the first so many columns, from the number of pairs with each pattern of all columns."""
    return {
        count: fellegi_sunter(total.reshape(-1, 1 << count).sum(axis=0), 1 / math.sqrt(pairs)).weights
        for count in counts
    }


def link_by_agreement(targets: Targets, task: Task) -> Array:
    """The chances that the targets are linked right to the released records of the largest weight."""
    counts = task["counts"]
    weights = {count: targets.store.get(f"weights-{count}", whole=True) for count in counts}
    found = np.zeros((len(counts), len(targets)))
    for low, high, table in _agreements(targets, task, stored=task["stored"]):
        some = targets.taken(slice(low, high))
        ours, theirs = (
            _labels(some, task, side, rows) for side, rows in (("original", some.rows), ("released", some.own))
        )
        own = np.where(some.own >= 0, ((ours == theirs) << np.arange(ours.shape[1])).sum(axis=1), -1)
        # Some at a time: a pattern more takes a float more for each of them.
        step = max(1, PIECE >> max(counts))
        for begin in range(0, high - low, step):
            part = slice(begin, min(begin + step, high - low))
            for at, count in enumerate(counts):
                best, tied, at_best = heaviest(table[part], count, weights[count])
                link = np.full(len(tied), -1, dtype=np.int64)
                if task["ties"] == "first":
                    _lower_links(some.taken(part), ours[part], at_best, count, task, link)
                hit = (own[part] >= 0) & (weights[count][own[part] & ((1 << count) - 1)] == best)
                found[at, low:high][part] = chances(tied, link, hit, some.taken(part), task["ties"])
    return found


def _name(task: Task, low: int) -> str:
    return f"agreements-{task['at']}-{low}"


def _labels(targets: Targets, task: Task, side: str, rows: Indices) -> Indices:
    """The labels of some rows of a file, by the columns that the intruder knows at most."""
    columns = task["columns"][: max(task["counts"])]
    return np.stack([targets.store.get(f"labels-{side}-{column}")[rows] for column in columns], axis=1).astype(np.int64)


def _agreements(targets: Targets, task: Task, *, stored: bool) -> Iterator[tuple[int, int, AnyArray]]:
    """First and last of some targets, and how many released records agree with each in each pattern."""
    from tsveil._kernels.agreement import pattern_counts

    columns = max(task["counts"])
    sizes = np.array(task["sizes"][:columns], dtype=np.int64)
    first, copies = (targets.store.get(f"distinct.{what}", whole=True) for what in ("first", "copies"))
    step = max(1, CELLS >> columns)
    for low in range(0, len(targets), step):
        high = min(low + step, len(targets))
        if stored:
            yield low, high, targets.store.get(_name(task, low), whole=True)
            continue
        ours = _labels(targets, task, "original", targets.rows[low:high])
        table: AnyArray = np.zeros((high - low, 1 << columns), dtype=np.int32)
        for begin in range(0, len(first), ROWS):
            theirs = _labels(targets, task, "released", first[begin : begin + ROWS])
            counted = pattern_counts(ours, theirs, copies[begin : begin + ROWS], sizes)
            table = counted if len(first) <= ROWS else table + counted
        yield low, high, table


def _lower_links(targets: Targets, ours: Indices, at_best: Mask, count: int, task: Task, link: Indices) -> None:
    """Find for each target the lowest released record among those of the largest weight."""
    from tsveil._kernels.agreement import first_with_pattern

    store, files = targets.store, targets.files
    sizes = np.array(task["sizes"][: max(task["counts"])], dtype=np.int64)
    first = store.get("distinct.first", whole=True)
    numbers = files.numbers(store)[first] if files.numbered else first
    in_order = np.argsort(numbers)
    for begin in range(0, len(first), ROWS):
        part = in_order[begin : begin + ROWS]
        theirs = _labels(targets, task, "released", first[part])
        order, starts = by_label(theirs, sizes)
        missing = np.flatnonzero(link < 0)
        place = np.full(len(link), -1, dtype=np.int64)
        for pattern in np.flatnonzero(at_best[missing].any(axis=0)).tolist():
            chosen = missing[at_best[missing, pattern]]
            first_with_pattern(ours, theirs, order, starts, pattern, count, chosen, place)
        link[place >= 0] = numbers[part][place[place >= 0]]
