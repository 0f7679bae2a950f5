"""What a distance of two series is, for whatever offers a choice of distances: microaggregation, linkage and the command line.

Most distances are Euclidean in some space: that of the values, of the slopes, of whatever can be computed of one series alone. Such a distance
only says where a series lies in that space (`embedding`), and everything that works with Euclidean distances works with it. A distance without
such a space compares two series at a time (`between`); it can link series, but groups cannot be formed by it.
"""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from tsveil.core.declaration import Declaration
from tsveil.core.errors import Problems
from tsveil.core.params import Check, one_of
from tsveil.core.registry import DISTANCES
from tsveil.core.types import Array, ArrayLike, Indices

#: the distance that is meant unless another is named: the first of the table
USUAL = next(iter(DISTANCES.own))


@dataclass(frozen=True, kw_only=True)
class Distance(Declaration, ABC):
    """How far two series of the same length are apart.

    Examples
    --------
    >>> sts = DISTANCES.make("sts")
    >>> sts.between([0.0, 3.0, 3.0], [7.0, 7.0, 11.0]), sts.embedding(np.array([[0.0, 3.0, 3.0]])).tolist()
    (5.0, [[3.0, 0.0]])
    """

    #: the fewest points of a series; 0: it compares any blocks, attributes as well
    fewest: ClassVar[int] = 0
    #: what it needs, in words, where `fewest` is not 0
    needs: ClassVar[str] = "compares time series"
    #: whether a sweep tries it by itself
    in_sweeps: ClassVar[bool] = False

    def embedding(self, rows: Array, times: ArrayLike | None = None) -> Array | None:
        """The series as points between which the distance is Euclidean; None if there is no such space."""
        return None

    @classmethod
    def embeds(cls) -> bool:
        """Whether there is such a space."""
        return cls.embedding is not Distance.embedding

    def between(self, x: ArrayLike, v: ArrayLike, times: ArrayLike | None = None) -> float:
        """The distance of two series at the same times (0, 1, 2, ... when left out)."""
        points = self.embedding(np.stack(series_pair(self.name, x, v)), times)
        assert points is not None, "a distance defines its embedding, or how two series compare"
        return math.dist(*points)

    def to_all(self, x: ArrayLike, rows: Array, times: ArrayLike | None = None) -> Array:
        """The distances of one series to many."""
        return np.array([self.between(x, row, times) for row in rows])

    # -- linkage by a distance without an embedding -------------------------------------------------------------------

    def at_length(self, points: int) -> Self:
        """The distance as it links series of at most this many points."""
        return self

    @property
    def words(self) -> str:
        """What it is called in the description of an attack."""
        return self.name

    def all_pairs(self, a: Array, b: Array, starts: Indices) -> Array:
        """The distances of all records of two tables: sums over the series, which have the columns starts[i]..starts[i+1]."""
        spans = [slice(low, high) for low, high in pairwise(starts)]
        return np.array([sum(self.to_all(row[span], b[:, span]) for span in spans) for row in a])

    def nearest(
        self, known: Array, candidates: Array, starts: Indices, copies: Indices, first: Indices, own: Indices,
        begin: Indices, width: int, counter: Indices,
    ) -> tuple[Indices, Indices, Indices]:  # fmt: skip
        """For each known record: size of the tie, lowest row tied, own row tied or not; among `width` candidates from begin[i] on."""
        found = np.zeros((3, len(known)), dtype=np.int64)
        for i, start in enumerate(begin):
            apart = self.all_pairs(known[i : i + 1], candidates[start : start + width], starts)[0]
            best = start + np.flatnonzero((apart == apart.min()) & np.isfinite(apart))
            found[:, i] = copies[best].sum(), first[best].min() if len(best) else -1, own[i] in best
            counter[0] += 1
        return found[0], found[1], found[2]

    @classmethod
    def faults(cls) -> list[str]:
        """One of the two must be defined."""
        defined = cls.embeds() or cls.between is not Distance.between
        return [] if defined else ["it has to define embedding, or between if there is none"]


def embedding_distance() -> Check:
    """The name of a distance by which groups can be formed."""
    return one_of(*(name for name, kind in DISTANCES.items() if kind.embeds()))


def series_pair(distance: str, x: ArrayLike, v: ArrayLike, *, same_length: bool = True) -> tuple[Array, Array]:
    """Both series as arrays, or one error that says all that is wrong with them."""
    problems = Problems(f"the {distance} distance cannot be computed")
    pair = np.asarray(x, dtype=np.float64), np.asarray(v, dtype=np.float64)
    for which, series in zip(("first", "second"), pair, strict=True):
        if series.ndim != 1 or not series.size:
            problems.add(f"the {which} series must be a sequence of numbers. Got the shape {series.shape}.")
        elif not (finite := np.isfinite(series)).all():
            problems.add(f"the {which} series has a missing or infinite value at point {finite.argmin() + 1}")
    if same_length and not problems and len(pair[0]) != len(pair[1]):
        problems.add(f"the series have {len(pair[0])} and {len(pair[1])} points, but must have the same number")
        problems.hint("options: resample them to a common length, or use dtw")
    problems.raise_if_any()
    return pair
