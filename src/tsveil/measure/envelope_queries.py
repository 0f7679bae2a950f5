"""How well published envelopes and patterns answer queries.

**Range counts**: how many records have values between two bounds at two time points? The estimate of `tsveil.measure.queries` is compared with
the true count, and its certain bounds with each other.

    range_error     |estimate - truth| / max(truth, 1 % of the records), mean over random queries
    range_gap       (most - least) / records, mean over the same

**Similar records**: of the records truly nearest to a random curve (z-normalised, Euclidean distance), the share that is found by what the
published words stand for; where two are equally near the one that comes first in the original counts.

The queries name records by their numbers. A first pass finds their values, a second one asks.

References
----------
.. [1] X. Shang, K. Chen, L. Shou, G. Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series
   data, CIKM (2010) 1333-1336.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from tsveil.attack.kp import Piece
from tsveil.core.params import at_least, param
from tsveil.core.types import Array, Indices
from tsveil.engine.base import Result
from tsveil.measure.base import Chunk, Kind, Meaning, Measure, Schema
from tsveil.measure.queries import range_shares, shape_distances
from tsveil.transform.normalise import exact_sums, exact_total
from tsveil.transform.pattern import read_back
from tsveil.transform.sax import patterns

#: random range queries, the time points each of them names, random curves, and the nearest records that are looked for
RANGES, POINTS, CURVES, NEAREST = 200, 2, 50, 20


@dataclass(frozen=True, kw_only=True)
class EnvelopeQueries(Measure):
    """Errors of range counts, and similar records found; see the top of this file."""

    name: ClassVar[str] = "envelope-queries"
    plain: ClassVar[str] = "queries on envelopes"
    label: ClassVar[str] = "evaluate"
    summary: ClassVar[str] = "how well published envelopes and patterns answer random queries"
    reference: ClassVar[str] = (
        "X. Shang et al., (k,P)-anonymity: towards pattern-preserving anonymity of time-series data, CIKM (2010)"
    )
    kinds: ClassVar[tuple[Kind, ...]] = ("envelopes",)
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "range_error": Meaning("error of range counts", "%", "How far estimated counts of random range queries are from the true ones, on average."),
        "range_gap": Meaning("gap of range counts", "%", "How far the certain bounds of these counts are apart, against all records."),
        "similar_found": Meaning("similar records found", "%", f"Of the {NEAREST} records most similar to a curve, the share that a query finds."),
    }  # fmt: skip

    seed: int = param(0, at_least(0), "chooses the random queries; it is no secret")

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """First the values of the records that queries name, then the answers."""
        piece, n = chunk.piece, chunk.schema.n
        queries = draw_queries(n, piece.x.shape[1], seed=self.seed)
        if not known:
            rows = np.flatnonzero(np.isin(piece.records, queries.records))
            return {"published": piece.n, "named": piece.records[rows], "x": piece.x[rows]}
        found: Result = {"answers": _range_answers(piece, queries, known["x"])}
        if piece.letters is not None:
            curves = known["x"][np.searchsorted(queries.records, queries.curves)]
            found["near"], found["found"] = _all_nearest(piece, curves, n)
        return found

    def merge(self, chunks: Sequence[Result]) -> Result:
        """The named records in their order, and the nearest of all."""
        if "named" in chunks[0]:
            named, x = (np.concatenate([one[name] for one in chunks]) for name in ("named", "x"))
            return {"published": sum(one["published"] for one in chunks), "x": x[np.argsort(named)]}
        found: Result = {"answers": np.sum([one["answers"] for one in chunks], axis=0)}
        for name in ("near", "found"):
            if name in chunks[0]:
                found[name] = np.concatenate([one[name] for one in chunks], axis=2)
        return found

    def next_pass(self, sums: Result) -> Result | None:
        """The values that queries name, unless nothing is published."""
        return None if "answers" in sums or not sums["published"] else sums

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """Means over the queries; nothing if nothing is published."""
        if "answers" not in sums:
            return {}
        truth, least, most, *halves = sums["answers"].T
        error = np.abs(exact_total(*halves) - truth) / np.maximum(truth, schema.n / 100)
        figures = {
            "range_error": 100 * float(error.mean()),
            "range_gap": 100 * float(((most - least) / schema.n).mean()),
        }
        if schema.words:
            both = zip(sums["near"], sums["found"], strict=True)
            shares = [np.isin(_nearest(*near)[1], _nearest(*found)[1]).mean() for near, found in both]
            figures["similar_found"] = 100 * float(np.mean(shares))
        return figures


@dataclass(frozen=True)
class RandomQueries:
    """Random queries by numbers of records and time points, so that they can be asked of data in many files as well."""

    #: (queries, named) the time points that a range query names
    points: Indices
    #: (queries, 2, named) the records between whose values the range lies there
    ends: Indices
    #: the records whose curves are looked for
    curves: Indices

    @cached_property
    def records(self) -> Indices:
        """All records that the queries name, ascending."""
        return np.unique(np.concatenate([self.ends.ravel(), self.curves]))


@lru_cache(maxsize=4)
def draw_queries(n: int, T: int, *, seed: int = 0) -> RandomQueries:
    """The queries that are asked of n series of T points.

    A range query names two random time points and at each the interval between the values of two random records. A
    similarity query asks for the 20 records nearest to a random one's z-normalised series, by Euclidean distance.
    """
    rng = np.random.default_rng(seed)
    drawn = [
        (rng.choice(T, min(POINTS, T), replace=False), rng.integers(n, size=(2, min(POINTS, T)))) for _ in range(RANGES)
    ]
    curves = rng.choice(n, min(CURVES, n), replace=False)
    return RandomQueries(np.array([at for at, _ in drawn]), np.array([ends for _, ends in drawn]), curves)


def _range_answers(piece: Piece, queries: RandomQueries, values: Array) -> Indices:
    """For each range query: the true count, the certain bounds, and the estimate as two whole numbers (`exact_sums`)."""
    ends = values[np.searchsorted(queries.records, queries.ends), queries.points[:, None, :]]
    low, high = ends.min(axis=1), ends.max(axis=1)
    x, lo, hi = (np.ascontiguousarray(side.T) for side in (piece.x, piece.lo, piece.hi))
    answers = np.empty((len(queries.points), 5), dtype=np.int64)
    for row, (at, a, b) in enumerate(zip(queries.points, low, high, strict=True)):
        true = ((x[at] >= a[:, None]) & (x[at] <= b[:, None])).all(axis=0)
        inside, meets, share = range_shares(lo[at], hi[at], a, b)
        answers[row] = true.sum(), inside.sum(), meets.sum(), *(half.item() for half in exact_sums(share, None))
    return answers


def _all_nearest(piece: Piece, curves: Array, n: int) -> tuple[Array, Array]:
    """The records of one piece nearest to each curve, truly (z-normalised) and by what the published words stand for."""
    assert piece.letters is not None
    assert piece.levels is not None
    points = piece.x.shape[1]
    # Segments of one point: the z-normalised series itself.
    z, wanted = patterns(piece.x, points), patterns(curves, points)
    near = [_nearest(((z - curve) ** 2).sum(axis=1), piece.records) for curve in wanted]
    numbers = n + np.arange(piece.n)  # of records that are none of the original
    numbers[piece.own[piece.own >= 0]] = piece.records[piece.own >= 0]
    stands_for, means = read_back(piece.letters, piece.levels), patterns(curves, piece.letters.shape[1])
    found = [_nearest(shape_distances(stands_for, mean, points), numbers) for mean in means]
    return np.array(near), np.array(found)


def _nearest(distance: Array, numbers: Array | Indices) -> tuple[Array, Array]:
    """Distances and numbers of the nearest records, the lower number first where two are equally near."""
    rows = np.arange(len(distance))
    if len(distance) > NEAREST:
        rows = np.flatnonzero(distance <= np.partition(distance, NEAREST - 1)[NEAREST - 1])
    order = rows[np.lexsort((numbers[rows], distance[rows]))[:NEAREST]]
    return distance[order], numbers[order].astype(np.float64)
