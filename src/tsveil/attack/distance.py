"""Distance based record linkage (DB-RL): each original record is linked to the nearest released one.

The distance over the known attributes is Euclidean on standardised values,

    d(a, b)^2 = sum_j w_j ((a_j - b_j) / s_j)^2

with the original's standard deviations s_j for both files: the strongest intruder, who knows them. `scaling="own"`
standardises each file by its own mean and deviation, as the literature did [1]_; `metric="l1"` sums absolute differences.
A tie among t released records counts 1/t right link if the own one is among them, so that the order of the files plays no
role; `ties="first"` takes the lowest row.

`one_to_one=True` gives every released record to at most one person, so that the sum of the distances is the least (linear sum
assignment [2]_). Among equal records the choice is random, so a right link counts by its share.

`blocking=b` compares each original only with the b distinct released records around it in the order of the sum of
standardised values (sorted neighbourhood [3]_): for very large files. The result may then miss the nearest record and is
marked as approximate.

References
----------
.. [1] D. Pagliuca, G. Seri, Some results of individual ranking method on the system of enterprise accounts annual
   survey, Esprit SDC Project, deliverable MI-3/D2 (1999).
.. [2] D. F. Crouse, On implementing 2D rectangular assignment algorithms, IEEE Transactions on Aerospace and Electronic
   Systems 52 (2016).
.. [3] M. A. Hernandez, S. J. Stolfo, The merge/purge problem for large databases, SIGMOD (1995).

Examples
--------
>>> import polars as pl, tsveil as tv
>>> people = pl.DataFrame({"age": [20, 31, 45, 60], "pay": [10, 25, 20, 40]})
>>> original = tv.Dataset.from_frame(people, blocks={"person": ["age", "pay"]})
>>> released = original.with_values(original.values + [[2, 1], [-2, 0], [1, 1], [0, -3]])
>>> tv.attack.distance(original, released, known=["age"])
Links: distance linkage, 1 attribute known: 4.0 of 4 records re-identified (100.0 %)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tsveil import progress
from tsveil._types import Array
from tsveil.attack._columns import Metric, nearest, own_candidate
from tsveil.attack._files import Files, files, on_one_scale
from tsveil.attack.links import Links
from tsveil.attack.series import HasData, Ties, distinct_rows
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.local import map_chunks
from tsveil.errors import InputError, ParameterError, Problems
from tsveil.transform.normalise import Scaling

#: the largest file for a one-to-one assignment: its table of distances takes 8 bytes per pair
ASSIGNED = 5000


def distance(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    scaling: Scaling = "original",
    metric: Metric = "euclidean",
    weights: Mapping[str, float] | None = None,
    ties: Ties = "expected",
    one_to_one: bool = False,
    blocking: int | None = None,
) -> Links:
    """Link originals to the nearest released records by the attributes that the intruder knows (all by default)."""
    pair = files(original, released, known, truth)
    if one_to_one and blocking is not None:
        raise ParameterError("The distance attack takes either 'one_to_one' or 'blocking', not both.")
    a, b, factor = _prepared(pair, scaling, metric, weights, ties)
    if one_to_one:
        return _assigned(pair, a, b, factor, metric, ties)
    if blocking is not None:
        return _blocked(pair, a, b, factor, metric, ties, blocking)
    return nearest(pair, a, b, factor, metric, ties, [len(pair.names)])[0]


def distance_prefixes(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    truth: Truth = None,
    scaling: Scaling = "original",
    metric: Metric = "euclidean",
    weights: Mapping[str, float] | None = None,
    ties: Ties = "expected",
) -> list[Links]:
    """The linkage with the first 1, 2, ..., all known attributes (or the given numbers of them), in one pass."""
    pair = files(original, released, known, truth)
    a, b, factor = _prepared(pair, scaling, metric, weights, ties)
    return nearest(pair, a, b, factor, metric, ties, checked_counts(counts, len(pair.names)))


def checked_counts(counts: Sequence[int] | None, most: int) -> list[int]:
    """Increasing numbers of known attributes (or blocks); 1, 2, ..., all unless given."""
    if counts is None:
        return list(range(1, most + 1))
    wanted = sorted({int(count) for count in counts})
    if not wanted or wanted[0] < 1 or wanted[-1] > most:
        raise ParameterError(
            f"The 'counts' parameter of an attack must be numbers of known attributes from 1 to {most}. Got {list(counts)}."
        )
    return wanted


def _prepared(
    pair: Files, scaling: Scaling, metric: Metric, weights: Mapping[str, float] | None, ties: Ties
) -> tuple[Array, Array, Array]:
    """Both files and the factor of each column, weights included."""
    problems = Problems("the distance attack cannot run", ParameterError)
    for name, value, allowed in (("metric", metric, ("euclidean", "l1")), ("ties", ties, ("expected", "first"))):
        if value not in allowed:
            problems.add(f"The {name!r} parameter must be {allowed[0]!r} or {allowed[1]!r}. Got {value!r}.")
    for name, weight in (weights or {}).items():
        if name not in pair.names:
            problems.add(f"the weight of {name!r} belongs to no known attribute")
        elif not 0 <= weight < np.inf:
            problems.add(f"the weight of {name!r} must be a number of at least 0. Got {weight}.")
    problems.raise_if_any()
    a, b, factor = on_one_scale(pair.a, pair.b, scaling)
    each = np.array([(weights or {}).get(name, 1.0) for name in pair.names])
    return a, b, factor * (each if metric == "l1" else np.sqrt(each))


def _assigned(pair: Files, a: Array, b: Array, factor: Array, metric: Metric, ties: Ties) -> Links:
    """One released record per person, with the least sum of distances."""
    from scipy.optimize import linear_sum_assignment

    n, m = len(a), len(b)
    if max(n, m) > ASSIGNED:
        raise InputError(
            f"one-to-one assignment takes files of at most {ASSIGNED} records, these have {n} and {m}\n"
            "  options: leave out one_to_one, or attack a sample of the records"
        )
    # Sorted by value, the files are the same whatever their order was, and so is the solution found among equals.
    by_a, by_b = np.lexsort(a.T[::-1]), np.lexsort(b.T[::-1])
    cost = np.zeros((n, m))
    for j in range(a.shape[1]):
        difference = np.abs(a[by_a, j, None] - b[None, by_b, j]) * factor[j]
        cost += difference if metric == "l1" else difference * difference
    if metric != "l1":
        np.sqrt(cost, out=cost)
    with progress.step("Assigning records one to one"):
        person, place = linear_sum_assignment(cost)
    link = np.full(n, -1, dtype=np.int64)
    link[by_a[person]] = by_b[place]
    same_a, same_b = distinct_rows(a)[2], distinct_rows(b)[2]
    own = own_candidate(pair.own, same_b)
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
    chance = np.array([share.get(kinds, 0.0) for kinds in zip(same_a.tolist(), own.tolist(), strict=True)])
    first = ((link == pair.own) & (link >= 0)).astype(np.float64)
    return Links(
        attack=pair.told("one-to-one distance linkage"),
        candidates=candidates[same_a],
        link=link,
        hit=chance > 0,
        ties=ties,
        own=pair.own,
        probability=first if ties == "first" else chance,
        released=m,
    )


def _blocked(pair: Files, a: Array, b: Array, factor: Array, metric: Metric, ties: Ties, width: int) -> Links:
    """The nearest among the distinct released records whose sum of standardised values is near."""
    from tsveil._kernels.attributes import nearest_in_window

    if width < 1:
        raise ParameterError(f"The 'blocking' parameter of the distance attack must be at least 1. Got {width}.")
    rows, first, label, copies = distinct_rows(b)
    heights = _sums(rows, factor)
    order = np.lexsort((*rows.T[::-1], heights))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    sums = heights[order]
    # As many below as above; equal sums are told apart by the values, so the order of the file does not matter.
    middle = np.searchsorted(sums, _sums(a, factor))
    start = np.clip(middle - (width + 1) // 2, 0, max(len(sums) - width, 0))
    own = own_candidate(pair.own, place[label])
    candidates = np.ascontiguousarray(rows[order])
    with progress.step("Linking records by distance", total=len(a)) as counter:
        parts = map_chunks(
            lambda low, high: nearest_in_window(
                a[low:high], candidates, factor, metric == "l1", start[low:high], width, copies[order], first[order],
                own[low:high], counter,
            ),
            len(a),
            4096,
        )  # fmt: skip
    tied, link, hit = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return Links(
        attack=pair.told(f"distance linkage among the {width} records nearest in sum"),
        candidates=tied,
        link=link,
        hit=hit.astype(np.bool_),
        ties=ties,
        own=pair.own,
        released=len(b),
        approximate=True,
    )


def _sums(rows: Array, factor: Array) -> Array:
    """The sum of a record's scaled values, in the order of the columns: a matrix product may round by position."""
    total = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        total += rows[:, j] * factor[j]
    return total
