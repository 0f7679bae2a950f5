"""What envelopes and patterns lose.

**Value loss** of a record, the root mean square width of its envelope, and the same against the range of each time
point (normalised certainty penalty):

    VL = sqrt(sum_t (hi_t - lo_t)^2 / T)                  NCP = mean_t (hi_t - lo_t) / (max_t - min_t)

**Pattern loss** of a record: 1 - cosine(p, p*), where p are the segment means of the z-normalised series and p* is what
the published pattern stands for (0 when both are zero, 1 when one is). Instead of the means, p may be their consecutive
differences, or the signs of all pairwise differences: who is higher than whom. A table without words is judged by the
pattern of its midlines (lo + hi) / 2.

References
----------
.. [1] X. Shang, K. Chen, L. Shou, G. Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series
   data, CIKM (2010) 1333-1336.
.. [2] J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. Fu, Utility-based anonymization using local recoding, KDD (2006)
   785-790.

Examples
--------
>>> import numpy as np
>>> value_loss(np.array([[1.0, 4.0, 2.0]]), np.array([[3.0, 4.0, 6.0]])).round(5)
array([2.58199])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tsveil.attack.kp import Piece
from tsveil.core.params import one_of, param
from tsveil.core.types import Array
from tsveil.data.intervals import IntervalTable
from tsveil.engine.base import Result
from tsveil.measure.base import RECORDS, Chunk, Kind, Meaning, Measure, Schema
from tsveil.transform.exact import parts, total
from tsveil.transform.pattern import read_back
from tsveil.transform.sax import patterns

Features = Literal["means", "differences", "signs"]

#: means and differences below this are zero: rounding has no pattern
NOTHING = 1e-9


@dataclass(frozen=True, kw_only=True)
class EnvelopeLoss(Measure):
    """Widths of envelopes, lost patterns and suppressed records; see the top of this file."""

    name: ClassVar[str] = "envelope-loss"
    plain: ClassVar[str] = "the loss of envelopes"
    label: ClassVar[str] = "evaluate"
    summary: ClassVar[str] = "how wide the envelopes are, and how far the published patterns are from the true ones"
    reference: ClassVar[str] = (
        "X. Shang et al., (k,P)-anonymity: towards pattern-preserving anonymity of time-series data, CIKM (2010)"
    )
    kinds: ClassVar[tuple[Kind, ...]] = ("envelopes",)
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "value_loss": Meaning("value loss", "", "The widths of the envelopes (root mean square over time), summed over the published records."),
        "value_loss_mean": Meaning("value loss per record", "", "The same, on average: the width of a typical envelope, in the unit of the data."),
        "ncp": Meaning("relative width", "%", "The width of an envelope against the range of all values at that time, on average."),
        "pattern_loss": Meaning("pattern loss", "", "How far the published patterns are from the true ones (1 - cosine), summed."),
        "pattern_loss_mean": Meaning("pattern loss per record", "", "The same, on average: 0 means that the shape is kept, 1 that nothing of it is left."),
        "suppressed": Meaning("suppressed", "", "Records that are not published because too few others share their pattern."),
    }  # fmt: skip

    features: Features = param(
        "means",
        one_of("means", "differences", "signs"),
        "what of the patterns is compared: see the definition of pattern loss",
    )

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """First the losses and the range of each time point, then the relative widths."""
        piece = chunk.piece
        if known:
            penalty = certainty_penalty(piece.lo, piece.hi, known["high"] - known["low"])
            return {"widths": parts(penalty[piece.own[chunk.places]])}
        values, shapes = np.zeros(0), np.zeros(0)
        if len(chunk.places):
            published = piece.published()
            values, shapes = value_loss(published.lo, published.hi), _shape_loss(published, self.features)
        return {
            "count": len(values),
            "values": parts(values),
            "shapes": parts(shapes),
            "low": piece.x.min(axis=0, initial=np.inf),
            "high": piece.x.max(axis=0, initial=-np.inf),
            RECORDS: {"value_loss": values, "pattern_loss": shapes},
        }

    def merge(self, chunks: Sequence[Result]) -> Result:
        """Sums, and the extremes of extremes."""
        found = super().merge(chunks)
        if "low" in found:
            found["low"] = np.min([one["low"] for one in chunks], axis=0)
            found["high"] = np.max([one["high"] for one in chunks], axis=0)
        return found

    def next_pass(self, sums: Result) -> Result | None:
        """The ranges, unless nothing is published."""
        return None if "widths" in sums or not sums["count"] else sums

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """Sums and means over the published records."""
        values, shapes, widths = (total(sums.get(name, ())) for name in ("values", "shapes", "widths"))
        count = max(sums["count"], 1)
        return {
            "value_loss": values,
            "value_loss_mean": values / count,
            "ncp": widths / count,
            "pattern_loss": shapes,
            "pattern_loss_mean": shapes / count,
            "suppressed": float(schema.n - sums["count"]),
        }


def value_loss(lo: Array, hi: Array) -> Array:
    """VL of each record."""
    loss: Array = np.sqrt(((hi - lo) ** 2).mean(axis=1))
    return loss


def certainty_penalty(lo: Array, hi: Array, ranges: Array) -> Array:
    """NCP of each record in percent; `ranges` are those of the original values at each time point.

    Where nothing varies nothing is lost.

    Examples
    --------
    >>> certainty_penalty(np.array([[1.0, 5.0]]), np.array([[2.0, 5.0]]), ranges=np.array([4.0, 0.0]))
    array([12.5])
    """
    share = np.divide(hi - lo, ranges, out=np.zeros_like(lo), where=ranges > 0)
    penalty: Array = 100.0 * share.mean(axis=1)
    return penalty


def pattern_loss(
    x: Array, table: IntervalTable, *, features: Features = "means", word_length: int | None = None
) -> Array:
    """PL of each published record, whose original series are the rows of `x`.

    `word_length` cuts the midlines of a table without words; min(points, 8) when left out.

    Examples
    --------
    >>> table = IntervalTable(("1", "2"), np.zeros((2, 2)), np.full((2, 2), 9.0), ("ab", "ab"), np.array([2, 2]))
    >>> pattern_loss(np.array([[1.0, 2.0], [2.0, 1.0]]), table).round(6)
    array([0., 2.])
    """
    return _shape_loss(Piece.of(x, table), EnvelopeLoss(features=features).features, word_length)


def _shape_loss(piece: Piece, features: Features, word_length: int | None = None) -> Array:
    if piece.letters is not None and piece.levels is not None:
        true, published = patterns(piece.x, piece.letters.shape[1]), read_back(piece.letters, piece.levels)
    else:
        w = word_length or min(piece.x.shape[1], 8)
        true, published = patterns(piece.x, w), patterns((piece.lo + piece.hi) / 2, w)
    return _cosine_loss(_features(true, features), _features(published, features))


def _features(means: Array, kind: Features) -> Array:
    if kind == "means":
        return means
    if kind == "differences":
        return np.diff(means, axis=1)
    first, second = np.triu_indices(means.shape[1], 1)
    gaps = means[:, second] - means[:, first]
    return np.where(np.abs(gaps) <= NOTHING, 0.0, np.sign(gaps))


def _cosine_loss(p: Array, q: Array) -> Array:
    lengths = [np.sqrt((v**2).sum(axis=1)) for v in (p, q)]
    zero = [length <= NOTHING for length in lengths]
    neither = ~(zero[0] | zero[1])
    cosine = np.divide((p * q).sum(axis=1), lengths[0] * lengths[1], out=np.zeros(len(p)), where=neither)
    loss: Array = np.where(zero[0] & zero[1], 0.0, 1.0 - np.clip(cosine, -1.0, 1.0))
    return loss
