"""What an (n,l,k)-anonymous table lost, and how many of its series a few known values still single out.

    IL      = sum |x - y|                           information loss, x original and y published
    NormDiv = 100 IL / sum x                        the loss against the values, in percent
    shift   = 100 |S(X) - S(Y)| / S(X)              S the standard deviation of all values of the table

and the pointwise divergence 100 |x - y| / |x| in classes up to 2, 5, 10, 20, 30, 50 percent and above [1]_.

**Identification.** (n,l,k)-anonymity bounds what can be inferred, not who can be found: a published series is a combination of
clusters, and few combinations occur twice. `identification` measures the share of series that n known values single out: n
random ones, averaged over many draws, and n chosen by an intruder who always takes the point that leaves the fewest series. The
greedy choice is a lower bound of the worst case; the true worst case is a set cover problem. Of many series a sample is looked for among all.

Where series have values at different times, the times count as known: a series is singled out when no other with the same times has its values. The
random values are then the first n, in a random order of all times, that the series has (all if it has fewer), and there are fewer draws.

`alone_by_windows` does the same for an intruder who knows the values of some consecutive times, over all windows of a length.

A release in pieces is gone through three times. Every published value of a time point is marked with 64 random bits, and a combination of
values with the sum of its marks, so that equal sums are equal combinations (but for a chance of 2^-64).

    mark       the marks of the targets
    count      how many series share the values that were drawn, and each single value, with each target
    suspect    the series that share the first value that an intruder would choose, and where else they agree with the target

References
----------
.. [1] S. Kessler, E. Buchmann, T. Burghardt, K. Böhm, Pattern-sensitive time-series anonymization and its application to
   energy-consumption data, Open Journal of Information Systems 1 (2014) 3-22, section 5.

Examples
--------
>>> X = [[1.0, 2.0], [2.0, 5.0]]
>>> Y = [[1.5, 2.0], [1.5, 5.0]]
>>> euclidean_loss(X, Y), normalised_divergence(X, Y)
(1.0, 10.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.randomness import mix
from tsveil.core.types import AnyArray, Array, ArrayLike, Indices, Mask
from tsveil.data.store import Memory, Store, open_store
from tsveil.engine.base import Engine, Result, Task
from tsveil.engine.here import Here
from tsveil.guarantee.counting import clusters_of

#: upper ends of the classes of divergence, in percent; the last class is open
CLASSES = (2, 5, 10, 20, 30, 50)

#: random sets of known points for one table
DRAWS = 1000
#: for larger tables there are fewer draws, so that draws times series stay below this, and no fewer than FEWEST
DRAWN_SERIES = 20_000_000
FEWEST = 50
#: consecutive known points
WINDOWS = (1, 2, 3, 6, 12, 24)
#: series that are looked for, when there are more
SAMPLE = 2000
#: sums of marks that are compared at a time
CELLS = 2**16
#: agreements of suspects with their targets that are looked through; beyond, a target counts as not found by choice
AGREEMENTS = 2**28


def _both(X: ArrayLike, Y: ArrayLike) -> tuple[Array, Array]:
    x, y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    if x.shape != y.shape or not x.size:
        raise InputError(f"the original values have the shape {x.shape}, the published ones {y.shape}: both must agree")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(
            "the loss is not defined for missing or infinite values\n  options: drop or fill these records"
        )
    return x, y


def euclidean_loss(X: ArrayLike, Y: ArrayLike) -> float:
    """The information loss: all absolute differences, summed.

    Examples
    --------
    >>> euclidean_loss([[1.0, 3.0]], [[2.0, 1.0]])
    3.0
    """
    x, y = _both(X, Y)
    return float(np.abs(x - y).sum())


def normalised_divergence(X: ArrayLike, Y: ArrayLike) -> float:
    """The information loss in percent of the sum of the original values, which must be positive.

    Examples
    --------
    >>> normalised_divergence([[1.0, 3.0]], [[1.0, 2.0]])
    25.0
    >>> normalised_divergence([[1.0, -3.0]], [[1.0, 2.0]])
    Traceback (most recent call last):
    tsveil.core.errors.InputError: the normalised divergence needs original values with a positive sum. Got -2.
    """
    x, y = _both(X, Y)
    total = float(x.sum())
    if total <= 0:
        raise InputError(f"the normalised divergence needs original values with a positive sum. Got {total:g}.")
    return 100 * float(np.abs(x - y).sum()) / total


def std_shift(X: ArrayLike, Y: ArrayLike) -> float:
    """How much the standard deviation of all values changed, in percent; 0 for a constant table that stays constant.

    Examples
    --------
    >>> std_shift([[0.0, 4.0]], [[1.0, 3.0]])
    50.0
    """
    x, y = _both(X, Y)
    before, after = float(x.std()), float(y.std())
    if before == after:
        return 0.0
    if before == 0:
        raise InputError("the shift of the standard deviation is not defined: the original values are all equal")
    return 100 * abs(before - after) / before


def divergence_classes() -> tuple[str, ...]:
    """The names of the classes of divergence.

    Examples
    --------
    >>> divergence_classes()
    ('0-2', '2-5', '5-10', '10-20', '20-30', '30-50', '>50')
    """
    return (*(f"{low}-{high}" for low, high in zip((0, *CLASSES), CLASSES, strict=False)), f">{CLASSES[-1]}")


def divergence_histogram(X: ArrayLike, Y: ArrayLike) -> dict[str, float]:
    """The share of values, in percent, whose divergence 100 |x - y| / |x| lies in each class; a class includes its upper end.

    A value of 0 that was changed diverges without bound.

    Examples
    --------
    >>> divergence_histogram([[100.0, 100.0, 0.0, 0.0]], [[98.0, 60.0, 0.0, 1.0]])
    {'0-2': 50.0, '2-5': 0.0, '5-10': 0.0, '10-20': 0.0, '20-30': 0.0, '30-50': 25.0, '>50': 25.0}
    """
    x, y = _both(X, Y)
    change, size = 100 * np.abs(x - y), np.abs(x)
    # Compared without dividing: no value is too small for it.
    beyond = np.array([(change > limit * size).sum() for limit in CLASSES])
    counts = np.diff(np.concatenate([[x.size], beyond, [0]])) * -1
    return dict(zip(divergence_classes(), (100 * counts / x.size).tolist(), strict=True))


def clusters_per_point(Y: ArrayLike) -> Indices:
    """The number of different published values at each time point; an empty cell is none.

    Examples
    --------
    >>> clusters_per_point([[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]])
    array([1, 3])
    """
    y = np.asarray(Y, dtype=np.float64)
    codes, _ = clusters_of(y)
    cells = y.transpose(1, 0, *range(2, y.ndim)).reshape(y.shape[1], -1)
    counts: Indices = codes.max(axis=1).astype(np.int64) + 1 - np.isnan(cells).any(axis=1)
    return counts


@dataclass(frozen=True, eq=False)
class Identification:
    """How many series n known values single out, in percent."""

    n: int
    #: by n random points, averaged over draws and targets
    random: float
    #: by n points chosen for the target, greedily or among the draws: a lower bound of the worst case
    chosen: float
    #: for each target the share of draws that single it out: of all series, or of a sample
    per_series: Array
    draws: int
    #: the number of published series
    series: int

    def __str__(self) -> str:
        targets = len(self.per_series)
        sample = f" (of a sample of {targets:,})" if targets < self.series else ""
        return (
            f"{self.n} random known values single out {self.random:.1f} % of the series, "
            f"{self.n} chosen ones at least {self.chosen:.1f} %{sample}"
        )

    def warning(self, what: str) -> str:
        """What the owner of a release should know of some series."""
        return f"{what}: (n,l,k)-anonymity does not stop re-identification: {self}"


def identification(Y: ArrayLike, n: int, *, seed: int = 0) -> Identification:
    """The share of published series that n known values single out.

    `Y` are series by time points, or by time points and dimensions. The same random points are drawn for all series. `seed` makes the
    draws repeatable; nothing secret depends on it.

    Examples
    --------
    >>> print(identification([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 5.0]], n=2))
    2 random known values single out 50.0 % of the series, 2 chosen ones at least 50.0 %
    """
    y = np.asarray(Y, dtype=np.float64)
    columns = np.arange(y[0].size).reshape(y.shape[1], -1)
    store = Memory()
    store.put("released-0", y.reshape(len(y), -1).T)
    return singled_out(store, Here(), [len(y)], columns.tolist(), n, seed=seed, gaps=bool(np.isnan(y).any()))


def singled_out(
    store: Store,
    engine: Engine,
    sizes: Sequence[int],
    points: Sequence[Sequence[int]],
    n: int,
    *,
    seed: int = 0,
    rows: Indices | None = None,
    gaps: bool = False,
) -> Identification:
    """The same for a release in pieces of these sizes, whose values are in the store as "released-0", ...: columns by records.

    `points` are the columns of each time point, several where series are protected together. `rows` is the released row of each
    record of the input, if records are released in another order: a sample is one of the input. `gaps` says that cells may be empty.
    """
    T, N = len(points), sum(sizes)
    if not 1 <= n <= T:
        raise ParameterError(
            f"The 'n' parameter of identification must be at least 1 and at most the number of time points ({T}). Got {n}."
        )
    rng = np.random.default_rng(seed)
    targets = np.arange(N) if N <= SAMPLE else np.sort(rng.choice(N, SAMPLE, replace=False))
    targets = targets if rows is None else np.asarray(rows)[targets]
    draws = int(np.clip(DRAWN_SERIES // max(N * (T if gaps else 1), 1), FEWEST, DRAWS))
    store.put("known.drawn", np.array([rng.choice(T, size=T if gaps else n, replace=False) for _ in range(draws)]))
    starts = np.cumsum([0, *sizes])
    inside = [np.flatnonzero((targets >= a) & (targets < b)) for a, b in pairwise(starts)]
    every = {"store": store.handle, "points": [list(point) for point in points], "n": n, "gaps": gaps}
    todo = [{**every, "at": at, "rows": (targets[own] - starts[at]).tolist()} for at, own in enumerate(inside)]
    engine.map(mark, todo, "Marking known values")
    mine, there = np.empty((T, len(targets)), dtype=np.uint64), np.ones((T, len(targets)), dtype=np.bool_)
    for at, own in enumerate(inside):
        mine[:, own] = store.get(f"known-{at}")
        if gaps:
            there[:, own] = store.get(f"known-there-{at}")
    store.put("known", mine)
    store.put("known.there", there)
    engine.map(count, todo, "Counting who is singled out")
    drawn, shared = (
        np.sum([store.get(f"{name}-{at}") for at in range(len(sizes))], axis=0) for name in ("drawn", "shared")
    )
    alone = (drawn == 1).sum(axis=0)
    # A set of points that was drawn and worked is a choice, too.
    chosen = (alone > 0) | (shared.min(axis=0) == 1)
    if n > 1:
        chosen |= _narrowed_down(store, engine, todo, shared, np.flatnonzero(~chosen), n)
    return Identification(
        n, 100 * int(alone.sum()) / drawn.size, 100 * int(chosen.sum()) / len(targets), 100 * alone / draws, draws, N
    )


def _narrowed_down(store: Store, engine: Engine, todo: Sequence[Task], shared: Indices, who: Indices, n: int) -> Mask:
    """Which of some targets an intruder singles out who always takes the point that leaves the fewest series."""
    found = np.zeros(shared.shape[1], dtype=np.bool_)
    first = shared.argmin(axis=0)
    # Those with the fewest suspects, as many as can be looked through.
    fewest = np.argsort(shared.min(axis=0)[who], kind="stable")
    who = who[fewest[np.cumsum(shared.min(axis=0)[who][fewest]) * len(shared) <= AGREEMENTS]]
    if not len(who):
        return found
    more = {"who": who.tolist(), "first": first[who].tolist()}
    engine.map(suspect, [{**task, **more} for task in todo], "Choosing values that single out")
    suspects = [store.get(f"suspects-{task['at']}", whole=True) for task in todo]
    ends = [store.get(f"suspects-{task['at']}.ends") for task in todo]
    for at, target in enumerate(who.tolist()):
        agree = np.concatenate([part[end[at] : end[at + 1]] for part, end in zip(suspects, ends, strict=True)])
        found[target] = alone_after(agree, n - 1)
    return found


def alone_after(agree: Mask, n: int) -> bool:
    """Whether n more points, each the one that leaves the fewest suspects, single a target out.

    `agree` says which suspects (the target among them) have the target's values at which points.

    Examples
    --------
    >>> agree = np.array([[True, True, True], [True, False, True], [True, True, False]])
    >>> alone_after(agree, 1), alone_after(agree, 2)
    (False, True)
    """
    for _ in range(n):
        left = agree.sum(axis=0)
        if left.min() == len(agree):
            break
        agree = agree[agree[:, left.argmin()]]
    return len(agree) == 1


# -- one piece --------------------------------------------------------------------------------------------------------


def _marks(task: Task) -> AnyArray:
    """A number of 64 bits for each time point and series of a piece, equal for equal values of one point."""
    values = open_store(task["store"]).get(f"released-{task['at']}")
    found = mix(np.arange(len(task["points"]), dtype=np.uint64))[:, None]
    for columns in zip(*task["points"], strict=True):
        found = mix(found ^ np.ascontiguousarray(values[list(columns)]).view(np.uint64))
    if task["gaps"]:
        # The times of a series are a part of each of its marks: only series with the same times can agree.
        times = mix(np.arange(len(found), dtype=np.uint64) + np.uint64(len(found)))[:, None] * _there(task)
        found = mix(found ^ times.sum(axis=0, dtype=np.uint64))
    return found


def _there(task: Task) -> Mask:
    """Where the series of a piece have a value: a point of several dimensions needs all of them."""
    values = open_store(task["store"]).get(f"released-{task['at']}")
    return np.stack([~np.isnan(values[point]).any(axis=0) for point in task["points"]])


def mark(task: Task) -> Result:
    """Keep the marks of the targets of one piece, and where they have values."""
    store, at, rows = open_store(task["store"]), task["at"], task["rows"]
    store.put(f"known-{at}", _marks(task)[:, rows])
    if task["gaps"]:
        store.put(f"known-there-{at}", _there(task)[:, rows])
    return {}


def _of_drawn(marks: AnyArray, there: Mask | None, drawn: Indices, n: int) -> AnyArray:
    """The sums of the marks of drawn points, draws by series; beside gaps of the first n, in the drawn order, at which a series has a value.

    Examples
    --------
    >>> marks = np.array([[1, 10], [2, 20], [4, 40]], dtype=np.uint64)
    >>> there = np.array([[True, True], [False, True], [True, True]])
    >>> _of_drawn(marks, there, np.array([[1, 2, 0]]), 2).tolist()
    [[5, 60]]
    """
    if there is None:
        return np.asarray(marks[drawn].sum(axis=1))
    found = np.empty((len(drawn), marks.shape[1]), dtype=np.uint64)
    for at, order in enumerate(drawn):
        known = there[order] & (np.cumsum(there[order], axis=0) <= n)
        found[at] = (marks[order] * known).sum(axis=0, dtype=np.uint64)
    return found


def count(task: Task) -> Result:
    """Keep how many series of one piece share the drawn values with each target (2: more than one), and each single value."""
    store = open_store(task["store"])
    marks, mine, drawn = _marks(task), store.get("known", whole=True), store.get("known.drawn")
    there, known, n = _there(task) if task["gaps"] else None, store.get("known.there", whole=True), task["n"]
    rows = np.array(task["rows"], dtype=np.int64)
    found = np.empty((len(drawn), mine.shape[1]), dtype=np.int8)
    together = max(1, CELLS // max(marks.shape[1], 1))
    for start in range(0, len(drawn), together):
        some = slice(start, start + together)
        sums = _of_drawn(marks, there, drawn[some], n)
        if len(rows) == mine.shape[1] and marks.shape[1] <= 4 * len(rows):  # all targets are here, and most series are
            found[some] = _occurrences_up_to_two(sums)[:, rows]
        else:
            own = _of_drawn(mine, known if task["gaps"] else None, drawn[some], n)
            found[some] = [_agreeing(*both).clip(max=2) for both in zip(sums, own, strict=True)]
    store.put(f"drawn-{task['at']}", found)
    store.put(f"shared-{task['at']}", np.array([_agreeing(*both) for both in zip(marks, mine, strict=True)]))
    return {}


def _occurrences_up_to_two(marks: AnyArray) -> AnyArray:
    """In each row 1 for every mark that occurs once, and 2 for the others."""
    order = np.argsort(marks, axis=1)
    ordered = np.take_along_axis(marks, order, axis=1)
    differs = np.ones((len(marks), marks.shape[1] + 1), dtype=np.bool_)
    differs[:, 1:-1] = ordered[:, 1:] != ordered[:, :-1]
    found = np.empty(marks.shape, dtype=np.int8)
    np.put_along_axis(found, order, 2 - (differs[:, 1:] & differs[:, :-1]), axis=1)
    return found


def _agreeing(marks: AnyArray, mine: AnyArray) -> Indices:
    """How many of some marks are equal to each of the targets'."""
    # Of many marks only those are sorted that agree with one of the targets' in a few bits.
    mask = np.uint64((1 << (16 * len(mine)).bit_length()) - 1)
    seen = np.zeros(int(mask) + 1, dtype=np.bool_)
    seen[mine & mask] = True
    near = np.sort(marks[seen[marks & mask]])
    return np.searchsorted(near, mine, side="right") - np.searchsorted(near, mine)


def suspect(task: Task) -> Result:
    """Keep at which points the series of one piece agree with a target whose first value they share, for some targets."""
    store = open_store(task["store"])
    marks, mine = _marks(task), store.get("known", whole=True)
    found, ends = [np.zeros((0, len(marks)), dtype=np.bool_)], [0]
    for target, first in zip(task["who"], task["first"], strict=True):
        near = np.flatnonzero(marks[first] == mine[first, target])
        found.append((marks[:, near] == mine[:, target, None]).T)
        ends.append(ends[-1] + len(near))
    store.put(f"suspects-{task['at']}", np.concatenate(found))
    store.put(f"suspects-{task['at']}.ends", np.array(ends))
    return {}


def alone_by_windows(Y: ArrayLike, lengths: Sequence[int] = WINDOWS) -> dict[int, float]:
    """Length of a window -> the share of series, in percent, that nobody else shares the published values in it with, averaged over all windows.

    Lengths above that of the series are left out. Of many series some of the windows count, evenly spread.

    Examples
    --------
    >>> alone_by_windows([[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 5.0]], (1, 2, 3))
    {1: 12.5, 2: 50.0}
    """
    y = np.asarray(Y, dtype=np.float64) + 0.0  # no minus zero
    n, T = y.shape
    marks = mix(mix(np.arange(T, dtype=np.uint64))[:, None] ^ np.ascontiguousarray(y.T).view(np.uint64))
    sums = np.concatenate([np.zeros((1, n), dtype=np.uint64), np.cumsum(marks, axis=0)])
    found = {}
    for length in lengths:
        if length > T:
            continue
        windows = T - length + 1
        starts = np.unique(np.linspace(0, windows - 1, min(windows, max(FEWEST, DRAWN_SERIES // n))).astype(np.int64))
        alone = sum(
            int((_occurrences_up_to_two((sums[at + length] - sums[at])[None]) == 1).sum()) for at in starts.tolist()
        )
        found[length] = 100 * alone / (n * len(starts))
    return found


def nlk_figures(X: ArrayLike, Y: ArrayLike, n: int, *, seed: int = 0) -> dict[str, float]:
    """All figures of a published table by name: losses, histogram, clusters, identification.

    Examples
    --------
    >>> figures = nlk_figures([[1.0, 2.0], [2.0, 5.0]], [[1.5, 2.0], [1.5, 5.0]], n=1)
    >>> figures["NormDiv"], figures["clusters per point"], figures["identified by chosen values"]
    (10.0, 1.5, 100.0)
    """
    found = identification(Y, n, seed=seed)
    return {
        "IL": euclidean_loss(X, Y),
        "NormDiv": normalised_divergence(X, Y),
        "std shift": std_shift(X, Y),
        **{f"divergence {name} %": share for name, share in divergence_histogram(X, Y).items()},
        "clusters per point": float(clusters_per_point(Y).mean()),
        "identified by random values": found.random,
        "identified by chosen values": found.chosen,
    }
