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

from tsveil._types import Array, Indices
from tsveil.attack._nearest import distinct_rows, own_candidate
from tsveil.errors import ParameterError


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


def _sums(rows: Array, factor: Array) -> Array:
    """The sum of a record's scaled values, in the order of the columns: a matrix product may round by position."""
    total = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        total += rows[:, j] * factor[j]
    return total
