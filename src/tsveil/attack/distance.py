"""Distance based record linkage (DB-RL): each original record is linked to the nearest released one.

The distance over the known attributes is Euclidean on standardised values,

    d(a, b)^2 = sum_j w_j ((a_j - b_j) / s_j)^2

with the original's standard deviations s_j for both files: the strongest intruder, who knows them. `scaling="own"`
standardises each file by its own mean and deviation, as the literature did [1]_; `metric="l1"` sums absolute differences.
A tie among t released records counts 1/t right link if the own one is among them, so that the order of the files plays no
role; `ties="first"` takes the lowest row.

`one_to_one=True` gives every released record to at most one person, so that the sum of the distances is the least.
`blocking=b` compares each original only with the b distinct released records around it in the order of the sum of
standardised values: for very large files. The result may then miss the nearest record and is marked as approximate.

References
----------
.. [1] D. Pagliuca, G. Seri, Some results of individual ranking method on the system of enterprise accounts annual
   survey, Esprit SDC Project, deliverable MI-3/D2 (1999).

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

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.attack._columns import Candidates as Columns
from tsveil.attack._columns import Metric, nearest, nearest_distinct
from tsveil.attack._files import Files, HasData, Ties, files, on_one_scale, relative
from tsveil.attack._neighbourhood import neighbourhood
from tsveil.attack._one_to_one import one_to_one as assigned
from tsveil.attack.candidates import Candidates, Found, nearest_in_pieces
from tsveil.attack.links import Links
from tsveil.attack.pieces import Side, Targets
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Task
from tsveil.engine.local import map_chunks
from tsveil.errors import ParameterError, Problems
from tsveil.transform.normalise import Scaling


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
        attack = pair.told("distance linkage")
        return assigned(a, b, pair.own, lambda x, y: _distances(x, y, factor, metric), ties, attack)
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
    return a, b, relative(factor * (each if metric == "l1" else np.sqrt(each)))


def _distances(a: Array, b: Array, factor: Array, metric: Metric) -> Array:
    """The distance of every pair."""
    total = np.zeros((len(a), len(b)))
    for j in range(a.shape[1]):
        difference = np.abs(a[:, j, None] - b[None, :, j]) * factor[j]
        total += difference if metric == "l1" else difference * difference
    return total if metric == "l1" else np.sqrt(total, out=total)


def _blocked(pair: Files, a: Array, b: Array, factor: Array, metric: Metric, ties: Ties, width: int) -> Links:
    """The nearest among the distinct released records whose sum of standardised values is near."""
    from tsveil._kernels.attributes import nearest_in_window

    near = neighbourhood(a, b, pair.own, factor, width)
    whole = np.array([0, a.shape[1]], dtype=np.int64)
    with progress.step("Linking records by distance", total=len(a)) as counter:
        parts = map_chunks(
            lambda low, high: nearest_in_window(
                a[low:high], near.candidates, factor, whole, metric == "l1", False, near.start[low:high], near.width,
                near.copies, near.first, near.own[low:high], counter,
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


# -- files in pieces --------------------------------------------------------------------------------------------------


def link_by_distance(targets: Targets, task: Task) -> Array:
    """The chances that some targets are linked right, with the first of some columns known.

    `scales` are those of the columns: power of two and factor, or mean and deviation of either file.
    """
    columns, scales = task["columns"], task["scales"]
    if task["scaling"] == "original":
        power, factor = np.array([scale[0] for scale in scales]), relative(np.array([scale[1] for scale in scales]))
    else:
        factor = np.ones(len(columns))

    def placed(table: Array, side: Side) -> Array:
        if task["scaling"] == "original":
            return np.asarray(np.ldexp(table, power))
        mean, deviation = np.array([scale[2 if side == "original" else 3] for scale in scales]).T
        return np.asarray(np.divide(table - mean, deviation, out=np.zeros_like(table), where=deviation > 0))

    known = np.ascontiguousarray(placed(targets.values(columns), "original"))
    return nearest_by_columns(
        targets, known, lambda values: placed(values[:, columns], "released"), factor, task
    )  # fmt: skip


def nearest_by_columns(
    targets: Targets, known: Array, placed: Callable[[Array], Array], factor: Array, task: Task
) -> Array:
    """The chances with the first columns known of where records are placed, for some numbers of columns."""
    counts = task["counts"]

    def search(some: Candidates, own: Indices) -> Found:
        rows = np.ascontiguousarray(placed(some.values))
        near = nearest_distinct(known, Columns(rows, some.lowest, some.copies, own), factor, "euclidean", counts)
        best, tied, link, hit = (
            np.stack(each, axis=1) for each in zip(*(near[count] for count in counts), strict=True)
        )
        return best, tied, link, hit

    return nearest_in_pieces(targets, len(counts), task["ties"], search)
