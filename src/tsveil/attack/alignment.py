"""Alignment record linkage (A-RL): microaggregation of a single column keeps its order, so its sorted values can be undone.

Groups of one column are runs of its sorted values, and their means come in the same order. The j-th smallest released value is
therefore the mean of the run that holds the j-th smallest original one: sorted next to each other the columns are aligned,
and the released records that an original value may have become are those with the centroid at its position. Equal original
values may fall into several runs: such a value may have become every centroid that its positions touch. With several
known attributes the possible records are the intersection

    x' in the intersection over j of { x' : x'_j is a centroid at a position of x_j }

**If a single one is left, the link is certain**; otherwise the nearest is taken. Two or three attributes often suffice to undo the
protection almost completely.

`align` says how the columns are aligned:

    counts      the released column tells how long each run is: position by position (default for files of equal size)
    runs        run lengths k..2k-1 only are known, and the runs are those of least squared distance to the centroids, by
                dynamic programming over centroids and positions, as in [1]_ (dynamic time warping with constraints); a centroid
                that occurs more than 2k-1 times stands for several runs. The printed attack; it needs k
    neighbours  the largest centroid <= x and the smallest >= x, farther ones for values that occur more than once: no farther
                than the farther of these two. For files that do not hold the same people

References
----------
.. [1] J. Nin, V. Torra, Analysis of the univariate microaggregation disclosure risk, New Generation Computing 27 (2009).
.. [2] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), section 4.2.

Examples
--------
>>> import polars as pl, tsveil as tv
>>> frame = pl.DataFrame({"a": [1.0, 2, 3, 6, 7, 8, 9], "b": [4.0, 15, 5, 17, 6, 18, 16]})
>>> data = tv.Dataset.from_frame(frame, blocks={"all": ["a", "b"]})
>>> means = [[2, 5], [2, 15.5], [2, 5], [6.5, 17.5], [6.5, 5], [8.5, 17.5], [8.5, 15.5]]
>>> tv.attack.alignment(data, data.with_values(means))
Links: alignment linkage, 2 attributes known: 6.0 of 7 records re-identified (85.7 %), 5 with certainty
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from tsveil.attack.base import OrderOfColumns, Trace
from tsveil.attack.files import FROM_RELEASE, Direction, Files, HasData, Ties, files, wrong_choices
from tsveil.attack.links import Links
from tsveil.attack.ranges import InRanges, nearest_in_ranges
from tsveil.core.errors import InputError, ParameterError, Problems
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset

Align = Literal["auto", "counts", "runs", "neighbours"]

#: the largest table of centroids by positions for the alignment by runs: two bytes each
TABLE = 2**30


def alignment(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    align: Align = "auto",
    k: int | None = None,
    direction: Direction = "original",
    ties: Ties = "expected",
) -> Links:
    """Link originals to the nearest released record that microaggregation column by column can have made of them.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The attributes that the intruder knows; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    align
        How columns are aligned: by "counts", "runs" or "neighbours"; "auto" takes counts for files of equal size.
    k
        The smallest run, for align="runs".
    direction
        "original": every original record is linked to a released one. "released": the other way round, as in the literature; the rows of the result are then those of the release.
    ties
        How ties count: "expected", the chance of guessing among them, or "first", the first one.

    Returns
    -------
    Links
        The record that each one is linked to, and how often that is right.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    pair = files(original, released, known, truth)
    _check(pair, align, k, direction, ties)
    equal = len(pair.a) == len(pair.b)
    if align == "auto":
        align = "counts" if equal else "neighbours"
    low, high = np.empty((2, len(pair.b if direction == "released" else pair.a), len(pair.names)), dtype=np.int64)
    for j in range(len(pair.names)):
        x, released_column = np.sort(pair.a[:, j]), np.sort(pair.b[:, j])
        if align == "neighbours":
            bounds = _neighbours(x, released_column, pair.a[:, j])
        else:
            at_position = released_column if align == "counts" else _runs(x, released_column, k or 2)
            if direction == "released":
                bounds = reachable_ranges(at_position, x, x, pair.b[:, j])
            else:
                bounds = reachable_ranges(x, released_column, at_position, pair.a[:, j])
        low[:, j], high[:, j] = bounds
    attack = "alignment linkage" + (FROM_RELEASE if direction == "released" else "")
    # Runs found by their distance to the centroids may be off by some positions, and a file of some people hides ties.
    exact = align == "counts" or (align == "neighbours" and equal)
    if direction == "released":
        pair = pair.reverse()
    return nearest_in_ranges(pair, low, high, ties, attack, exact=exact)


def _check(pair: Files, align: Align, k: int | None, direction: Direction, ties: Ties) -> None:
    problems = Problems("the alignment attack cannot run", ParameterError)
    problems.found += wrong_choices(align=(align, Align), direction=(direction, Direction), ties=(ties, Ties))
    if align in ("counts", "runs") and len(pair.a) != len(pair.b):
        problems.add(
            f"alignment by {align} needs files of equal size, these have {len(pair.a)} and {len(pair.b)} records: use 'neighbours'"
        )
    if align == "runs" and (k is None or k < 2):
        problems.add(f"The 'k' parameter must be an integer of at least 2 for alignment by runs. Got {k}.")
    if direction == "released" and (align == "neighbours" or len(pair.a) != len(pair.b)):
        problems.add("neighbour sets link originals to released records only: direction='original'")
    problems.raise_if_any()


@dataclass(frozen=True, kw_only=True)
class Alignment(InRanges):
    """Linkage among the records at the same place of the sorted columns."""

    name: ClassVar[str] = "alignment"
    figure: ClassVar[str] = "ARLD"
    plain: ClassVar[str] = "linkage by alignment"
    summary: ClassVar[str] = (
        "Share linked right among the published records that stand at the same place of the sorted columns, whose order "
        "microaggregation of single columns keeps."
    )
    reference: ClassVar[str] = "Nin and Torra 2009"
    on_files: ClassVar[Callable[..., Links] | None] = partial(alignment)
    trace: ClassVar[type[Trace] | None] = OrderOfColumns

    def ranges(self, x: Array, released: Array) -> tuple[Indices, Indices]:
        """Position by position, or from the centroid below to the centroid above if the files differ in size."""
        return reachable_ranges(x, released, released, x) if len(x) == len(released) else _neighbours(x, released, x)


def reachable_ranges(x: Array, released: Array, at_position: Array, values: Array) -> tuple[Indices, Indices]:
    """The range of the sorted released column that values can have become.

    `x` is the sorted column of the values, `at_position` the released value that stands at each of its positions.
    """
    first = at_position[np.searchsorted(x, values, side="left")]
    last = at_position[np.searchsorted(x, values, side="right") - 1]
    return np.searchsorted(released, first, side="left"), np.searchsorted(released, last, side="right")


def _neighbours(x: Array, released: Array, values: Array) -> tuple[Indices, Indices]:
    """The range of the sorted released column from the centroid below to the centroid above."""
    below, above = np.searchsorted(released, values, side="right") - 1, np.searchsorted(released, values, side="left")
    low, high = _at(released, below), _at(released, above)
    several = np.searchsorted(x, values, side="right") - np.searchsorted(x, values, side="left") > 1
    # A value that fills groups of its own may also be in the next one on either side.
    lower, upper = (
        _at(released, np.searchsorted(released, values, side="left") - 1),
        _at(released, np.searchsorted(released, values, side="right")),
    )
    far = np.fmax(values - lower, upper - values)
    low = np.where(several, np.fmin(values - far, low), low)
    high = np.where(several, np.fmax(values + far, high), high)
    return (
        np.where(np.isnan(low), 0, np.searchsorted(released, low, side="left")),
        np.where(np.isnan(high), len(released), np.searchsorted(released, high, side="right")),
    )


def _at(released: Array, place: Indices) -> Array:
    """The released values at some places; NaN beyond the ends."""
    inside = (place >= 0) & (place < len(released))
    return np.where(inside, released[np.clip(place, 0, len(released) - 1)], np.nan)


def _runs(x: Array, released: Array, k: int) -> Array:
    """The centroid at each position of the sorted originals, when run lengths of k..2k-1 only are known."""
    from tsveil._kernels.alignment import least_cost_runs

    centroids, sizes = np.unique(released, return_counts=True)
    if len(centroids) * len(x) > TABLE:
        raise InputError(
            f"alignment by runs takes at most {TABLE:,} pairs of centroids and records, here {len(centroids) * len(x):,}\n"
            "  options: align='counts', which needs no table"
        )
    shortest = np.minimum(k * -(-sizes // (2 * k - 1)), sizes)
    longest = np.maximum((2 * k - 1) * (sizes // k), sizes)
    # Costs are differences of sums of squares, so values are brought to 0..1 first.
    low, width = x[0], max(x[-1] - x[0], np.finfo(np.float64).tiny)
    lengths = least_cost_runs((x - low) / width, (centroids - low) / width, shortest, longest)
    return np.repeat(centroids, lengths)
