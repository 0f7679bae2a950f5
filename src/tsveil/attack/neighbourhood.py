"""Only the released records near in the sum of their values: an option of the linkages by distance for very large files.

The sorted neighbourhood [1]_: released records are sorted by the sum of their scaled values, and each original is compared with
the distinct ones around its own sum only. The nearest record may be missed, so such a result is marked as approximate.

References
----------
.. [1] M. A. Hernandez, S. J. Stolfo, The merge/purge problem for large databases, SIGMOD (1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tsveil.attack.links import Linked
from tsveil.attack.nearest import distinct_rows, own_candidate
from tsveil.core import progress
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array, Indices
from tsveil.engine.local import map_chunks


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The distinct released records in the order of their sums, and which of them each original is compared with."""

    candidates: Array
    #: each candidate's number of records and lowest row
    copies: Indices
    first: Indices
    #: each original's own candidate; -1: not released
    own: Indices
    #: each original is compared with the candidates start..start+width
    start: Indices
    width: int


def neighbourhood(a: Array, b: Array, own: Indices, factor: Array, width: int | None) -> Neighbourhood:
    """The candidates of two prepared files with a factor per column; all of them when no width is given."""
    if width is not None and width < 1:
        raise ParameterError(f"The 'blocking' parameter of an attack must be at least 1. Got {width}.")
    rows, first, label, copies = distinct_rows(b)
    if width is None:
        start = np.zeros(len(a), dtype=np.int64)
        return Neighbourhood(np.ascontiguousarray(rows), copies, first, own_candidate(own, label), start, len(rows))
    heights = _sums(rows, factor)
    # Equal sums are told apart by the values, so the order of the file does not matter.
    order = np.lexsort((*rows.T[::-1], heights))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    middle = np.searchsorted(heights[order], _sums(a, factor))
    start = np.clip(middle - (width + 1) // 2, 0, max(len(rows) - width, 0))
    mine = own_candidate(own, place[label])
    return Neighbourhood(np.ascontiguousarray(rows[order]), copies[order], first[order], mine, start, width)


def nearest_around(a: Array, near: Neighbourhood, factor: Array, starts: Indices, *, metric: str, text: str) -> Linked:
    """The nearest of the candidates of each original by a sum of distances in each series, or in all columns if there is one only.

    The metric is "norms" (of each series), "euclidean" (squared) or "l1".
    """
    from tsveil._kernels.attributes import nearest_in_window

    with progress.step(text, total=len(a)) as counter:
        parts = map_chunks(
            lambda low, high: nearest_in_window(
                a[low:high], near.candidates, factor, starts, metric == "l1", metric == "norms", near.start[low:high], near.width,
                near.copies, near.first, near.own[low:high], counter,
            ),
            len(a),
            4096,
        )  # fmt: skip
    tied, link, hit = (np.concatenate(each) for each in zip(*parts, strict=True))
    return tied, link, hit


def _sums(rows: Array, factor: Array) -> Array:
    """The sum of a record's scaled values, in the order of the columns: a matrix product may round by position."""
    total = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        total += rows[:, j] * factor[j]
    return total
