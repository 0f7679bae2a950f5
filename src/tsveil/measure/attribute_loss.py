"""Information loss of protected attributes.

**Information loss** compares the values, means, covariances V, variances and correlations R of the two files [1]_:

    IL1 = mean over cells      |x - x'| / |x|            IL2 = mean over attributes  |m - m'| / |m|
    IL3 = mean over i <= j     |V_ij - V'_ij| / |V_ij|   IL4 = mean over i           |V_ii - V'_ii| / |V_ii|
    IL5 = mean over i < j      |R_ij - R'_ij|            IL  = (IL1 + IL2 + IL3 + IL4 + IL5) / 5

all times 100; IL can exceed 100. A term with a zero denominator is left out. In IL1 x' is the published record of x, or with `matched="nearest"` the published record at
the least Euclidean distance from x (of equal ones the first in the file), as the thesis has it [3]_: what is lost for who does not know which record is whose.

**Probabilistic information loss** (PIL) is bounded [2]_: for a statistic t with standard error se it is the chance, times 100,
that sampling alone moves t less than protection did, 100 * P(|Z| <= |t - t'| / se), averaged over the attributes or
pairs, then over means, variances, covariances and correlations. Standard errors are the original's: s / sqrt(n) of a mean,
sqrt((m4 - m2^2) / n) of a variance, sqrt((m22 - m11^2) / n) of a covariance, (1 - r^2) / sqrt(n) of a correlation.

Of records with gaps (`missing="mask"`) the values that the original has are compared, and covariances are over the records with a value in both columns; a value that is
published empty, or not at all, counts as the mean of its column.

The records are gone through three times: for the bounds of each column; for the loss of each record and the means; for products of columns around
the means. All sums are exact.

References
----------
.. [1] J. Domingo-Ferrer, V. Torra, A quantitative comparison of disclosure control methods for microdata, in
   Confidentiality, Disclosure and Data Access, North-Holland (2001) 111-133.
.. [2] J. M. Mateo-Sanz, J. Domingo-Ferrer, F. Sebe, Probabilistic information loss measures in confidentiality
   protection of continuous microdata, Data Mining and Knowledge Discovery 11 (2005) 181-193.
.. [3] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), section 2.5.1.

Examples
--------
>>> from tsveil.measure.passes import of_arrays
>>> X, X2 = [[1.0, 2.0], [3.0, 8.0], [0.0, 2.0]], [[1.0, 3.0], [3.0, 7.0], [0.0, 2.0]]
>>> found, of_records = of_arrays(AttributeLoss(), X, X2, times=False)
>>> round(found.figures["IL1"], 2), found.figures["IL2"], of_records["loss"]
(12.5, 0.0, array([25.  ,  6.25,  0.  ]))
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.params import one_of, param
from tsveil.core.types import Array, Indices, Mask
from tsveil.engine.base import Result
from tsveil.measure.base import RECORDS, Chunk, Kind, Meaning, Measure, Schema
from tsveil.transform import exact
from tsveil.transform.normalise import Ruler
from tsveil.transform.scale import exponents

#: relative to the size of the data: what is smaller counts as zero, for rounding leaves no digits beyond it
ZERO = 1e-12

#: the extremes of each column, before and after
EXTREMES = ("low", "high", "low2", "high2")
#: the products that are summed: before, after, and of squares before
PRODUCTS = ("products", "products2", "squares")


@dataclass(frozen=True, kw_only=True)
class AttributeLoss(Measure):
    """IL1 to IL5, IL and PIL of protected attributes; see the top of this file."""

    name: ClassVar[str] = "attribute-loss"
    plain: ClassVar[str] = "the loss of attributes"
    summary: ClassVar[str] = "how far values, means, variances, covariances and correlations moved"
    reference: ClassVar[str] = (
        "J. Domingo-Ferrer, V. Torra, A quantitative comparison of disclosure control methods for microdata (2001)"
    )
    kinds: ClassVar[tuple[Kind, ...]] = ("attributes",)
    loss: ClassVar[str] = "PIL"
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "IL1": Meaning(
            "loss in values", "%", "How far the published values are from the original ones, relative to these."
        ),
        "IL2": Meaning("loss in means", "%", "How far the means of the attributes moved."),
        "IL3": Meaning("loss in covariances", "%", "How far the covariances of the attributes moved."),
        "IL4": Meaning("loss in variances", "%", "How far the variances of the attributes moved."),
        "IL5": Meaning("loss in correlations", "%", "How far the correlations of the attributes moved."),
        "IL": Meaning(
            "information loss", "%", "The mean of the five losses: 0 means nothing was lost; it can exceed 100."
        ),
        "PIL": Meaning(
            "probabilistic loss",
            "%",
            "How far means, variances, covariances and correlations moved, measured by what sampling alone would do; at most 100.",
        ),
    }

    matched: Literal["own", "nearest"] = param(
        "own",
        one_of("own", "nearest"),
        "attributes: whether IL1 compares with the own published record or with the nearest",
    )

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """One of the three passes."""
        X, X2 = chunk.original, chunk.published
        there = ~np.isnan(X)
        if not known and chunk.schema.gaps:
            ends = [end for Y in (X, X2) for end in _ends(Y)]
            return {"count": _pairs(there), **dict(zip(EXTREMES, ends, strict=True))}
        if not known:
            extremes = (
                each for Y in (X, X2) for each in (Y.min(axis=0, initial=np.inf), Y.max(axis=0, initial=-np.inf))
            )
            return {"count": len(X), **dict(zip(EXTREMES, extremes, strict=True))}
        ranges = Ranges.of(known)
        compared = None
        if self.matched == "nearest" and "means" not in known:
            if chunk.schema.gaps:
                raise ParameterError("matched='nearest' compares whole records, and here records have gaps")
            compared = np.ldexp(chunk.nearest(int(ranges.power.min())), ranges.power)
        X, X2 = np.ldexp(X, ranges.power), np.ldexp(X2, ranges.power)
        Z, Z2 = ranges.units(X, X2)
        if "means" not in known:
            counts = (X != 0) & there
            compared = X2 if compared is None else compared
            sums = np.divide(np.abs(X - compared), np.abs(X), out=np.zeros_like(X), where=counts).sum(axis=1)
            return {
                "lost": exact.parts(sums),
                "counted": int(counts.sum()),
                "units": [[exact.column_parts(np.where(there, Y, 0.0)) for Y in (Z, Z2)]],
                RECORDS: {"loss": 100 * sums / np.maximum(counts.sum(axis=1), 1)},
            }
        Z -= known["means"]
        Z2 -= known["means2"]
        if chunk.schema.gaps:
            Z, Z2 = np.where(there, Z, 0.0), np.where(there, Z2, 0.0)
        return {name: exact.products(each) for name, each in zip(PRODUCTS, (Z, Z2, np.square(Z)), strict=True)}

    def merge(self, chunks: Sequence[Result]) -> Result:
        """Extremes of extremes, and sums of sums."""
        if "low" in chunks[0]:
            found = {
                name: (np.max if "high" in name else np.min)([one[name] for one in chunks], axis=0) for name in EXTREMES
            }
            count = sum(one["count"] for one in chunks)
            if isinstance(count, np.ndarray):  # a column without any value is zero
                found = {name: np.where(np.diag(count) > 0, ends, 0.0) for name, ends in found.items()}
            return {"count": count, **found}
        if "products" in chunks[0]:
            return {name: exact.merged_products(one[name] for one in chunks) for name in PRODUCTS}
        return super().merge(chunks)

    def next_pass(self, sums: Result) -> Result | None:
        """The bounds for the second pass, and the means for the third."""
        if "products" in sums:
            return None
        bounds = {name: sums[name] for name in ("count", *EXTREMES)}
        if any(np.isnan(sums[name]).any() for name in EXTREMES):
            raise InputError("the losses are not defined for missing values\n  options: drop or fill these records")
        if "units" not in sums:
            return bounds
        count = sums["count"]
        if isinstance(count, np.ndarray):
            count = np.maximum(np.diag(count), 1)
        means = [exact.column_totals([one[side] for one in sums["units"]]) / count for side in (0, 1)]
        lost = 100 * exact.total(sums["lost"]) / max(sums["counted"], 1)
        return {**bounds, "means": means[0], "means2": means[1], "IL1": lost}

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """IL1 to IL5, their mean, and PIL."""
        found = Sums.of(sums)
        losses = {"IL1": float(sums["IL1"]), **losses_of_statistics(found.before, found.after)}
        moved = [loss for loss in found.probabilistic_losses().values() if not math.isnan(loss)]
        return {**losses, "IL": math.fsum(losses.values()) / 5, "PIL": float(np.mean(moved))}


def _ends(Y: Array) -> tuple[Array, Array]:
    """The least and the greatest value of each column with gaps; infinite where it has none."""
    gaps = np.isnan(Y)
    return np.where(gaps, np.inf, Y).min(axis=0, initial=np.inf), np.where(gaps, -np.inf, Y).max(
        axis=0, initial=-np.inf
    )


def _pairs(there: Mask) -> Array:
    """For each pair of columns the number of records with a value in both."""
    marks = there.astype(np.float64)
    found: Array = marks.T @ marks
    return found


def losses_of_statistics(moments: Moments, moments2: Moments) -> dict[str, float]:
    """IL2 to IL5 in percent, from the moments of the two files."""
    pairs = np.triu_indices(len(moments.mean))
    spread = np.outer(moments.sd, moments.sd)
    terms = {
        "IL2": _relative(moments.mean, moments2.mean, ZERO * moments.size),
        "IL3": _relative(moments.cov[pairs], moments2.cov[pairs], ZERO * spread[pairs]),
        "IL4": _relative(np.diag(moments.cov), np.diag(moments2.cov), np.square(ZERO * moments.size)),
    }
    losses = {}
    for name, (difference, base, counts) in terms.items():
        losses[name] = 100 * float((difference[counts] / base[counts]).mean()) if counts.any() else 0.0
    apart = np.triu_indices(len(moments.mean), 1)
    r, r2 = moments.correlation[apart], moments2.correlation[apart]
    defined = ~(np.isnan(r) | np.isnan(r2))
    losses["IL5"] = 100 * float(np.abs(r - r2)[defined].mean()) if defined.any() else 0.0
    return losses


def _relative(t: Array, t2: Array, zero: Array) -> tuple[Array, Array, Mask]:
    """Differences, what they are relative to, and where that is not zero."""
    return np.abs(t - t2), np.abs(t), np.abs(t) > zero


@dataclass(frozen=True, eq=False)
class Moments:
    """Means, covariances (divisor n - 1), and the largest absolute value of each attribute."""

    mean: Array
    cov: Array
    size: Array

    @property
    def sd(self) -> Array:
        """Standard deviations."""
        return np.sqrt(np.diag(self.cov))

    @property
    def correlation(self) -> Array:
        """Correlations; NaN with a constant attribute."""
        sd = self.sd
        scale = np.where(sd <= ZERO * self.size, np.nan, sd)
        found: Array = self.cov / np.outer(scale, scale)
        return found


def _chance_of_smaller_move(difference: Array, error: Array) -> float:
    """The mean chance, in percent, that sampling moves a statistic less; where it never moves, any difference is all."""
    if not len(difference):
        return math.nan
    chances = []
    for moved, se in zip(np.abs(difference).tolist(), error.tolist(), strict=True):
        if moved <= ZERO:
            chances.append(0.0)
        else:
            chances.append(math.erf(moved / se / math.sqrt(2.0)) if se > ZERO else 1.0)
    return 100.0 * math.fsum(chances) / len(chances)


@dataclass(frozen=True, eq=False)
class Ranges:
    """The bounds of all columns of both files, each column times a power of two if its values are very large or small."""

    power: Indices
    low: Array
    width: Array
    low2: Array
    width2: Array
    #: largest absolute values
    size: Array
    size2: Array

    @classmethod
    def of(cls, found: Result) -> Ranges:
        """From the extremes of all records."""
        extremes = [found[name] for name in EXTREMES]
        power = -exponents(np.maximum.reduce([np.abs(each) for each in extremes])).astype(np.int64)
        low, high, low2, high2 = (np.ldexp(each, power) for each in extremes)
        sizes = (np.maximum(np.abs(low), np.abs(high)), np.maximum(np.abs(low2), np.abs(high2)))
        return cls(power, low, high - low, low2, high2 - low2, *sizes)

    def units(self, X: Array, X2: Array) -> tuple[Array, Array]:
        """Both files with values from 0 to 1, 0 where nothing varies."""
        return Ruler(self.low, self.width).measure(X), Ruler(self.low2, self.width2).measure(X2)


@dataclass(frozen=True, eq=False)
class Sums:
    """What is summed over all records."""

    #: the number of records; with gaps, for each pair of columns, of those with a value in both
    n: int | Array
    ranges: Ranges
    #: means of values from 0 to 1, before and after
    mean: Array
    mean2: Array
    #: covariances with the divisor n of these, before and after, and E[c_i^2 c_j^2] before
    v: Array
    v2: Array
    fourth: Array

    @classmethod
    def of(cls, found: Result) -> Sums:
        """From what the passes found."""
        n = found["count"] if isinstance(found["count"], np.ndarray) else int(found["count"])
        moments = (exact.product_totals(found[name]) / np.maximum(n, 1) for name in PRODUCTS)
        return cls(n, Ranges.of(found), found["means"], found["means2"], *moments)

    @property
    def before(self) -> Moments:
        """The moments of the original."""
        r = self.ranges
        return Moments(r.low + r.width * self.mean, self._covariances(self.v, r.width), r.size)

    @property
    def after(self) -> Moments:
        """The moments of the release."""
        r = self.ranges
        return Moments(r.low2 + r.width2 * self.mean2, self._covariances(self.v2, r.width2), r.size2)

    def _covariances(self, v: Array, width: Array) -> Array:
        return v * np.outer(width, width) * (self.n / np.maximum(self.n - 1, 1))

    def probabilistic_losses(self) -> dict[str, float]:
        """The probabilistic losses by statistic; NaN for pairs where there is a single attribute.

        They do not depend on units: those of the original's width are taken.
        """
        r, n = self.ranges, self.n
        width = np.where(r.width > 0, r.width, np.maximum(np.abs(r.low), 1.0))
        moved = ((r.low2 - r.low) + (r.width2 * self.mean2 - r.width * self.mean)) / width
        v, v2 = (
            self.v * np.outer(r.width / width, r.width / width),
            self.v2 * np.outer(r.width2 / width, r.width2 / width),
        )
        ends = (r.low2 - r.low) / width, (r.low2 + r.width2 - r.low) / width
        sizes = r.width / width, np.maximum(np.abs(ends[0]), np.abs(ends[1]))
        share = n / np.maximum(n - 1, 1)
        many = np.maximum(n if isinstance(n, np.ndarray) else np.full(self.v.shape, float(n)), 1.0)
        spread = self.fourth * np.outer(r.width / width, r.width / width) ** 2 - np.square(v)
        diagonal, apart = np.diag_indices(len(moved)), np.triu_indices(len(moved), 1)
        old, new = (
            Moments(moved, each * share, size).correlation[apart] for each, size in zip((v, v2), sizes, strict=True)
        )
        # A correlation that protection made undefined is lost; one that never was defined cannot be.
        old, new = np.where(np.isnan(old), 0.0, old), np.where(np.isnan(old), 0.0, np.nan_to_num(new))
        errors = np.sqrt(np.maximum(spread, 0.0) / many)
        return {
            "means": _chance_of_smaller_move(moved, np.sqrt(np.diag(v) / np.diag(many))),
            "variances": _chance_of_smaller_move((v - v2)[diagonal], errors[diagonal]),
            "covariances": _chance_of_smaller_move((v - v2)[apart], errors[apart]),
            "correlations": _chance_of_smaller_move(old - new, (1 - np.square(old)) / np.sqrt(many[apart])),
        }
