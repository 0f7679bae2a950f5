"""Information loss and disclosure risk of protected microdata.

**Information loss** compares the values, means, covariances V, variances and correlations R of the two files [1]_:

    IL1 = mean over cells      |x - x'| / |x|            IL2 = mean over attributes  |m - m'| / |m|
    IL3 = mean over i <= j     |V_ij - V'_ij| / |V_ij|   IL4 = mean over i           |V_ii - V'_ii| / |V_ii|
    IL5 = mean over i < j      |R_ij - R'_ij|            IL  = (IL1 + IL2 + IL3 + IL4 + IL5) / 5

all times 100; IL can exceed 100. A term with a zero denominator is left out and counted.

**Probabilistic information loss** (PIL) is bounded [2]_: for a statistic t with standard error se it is the chance, times 100,
that sampling alone moves t less than protection did, 100 * P(|Z| <= |t - t'| / se), averaged over the attributes or
pairs, then over means, variances, covariances and correlations.

**Disclosure risk** is the share of records that an attack links right, averaged over the number of known attributes (DLD
by distance, PLD by probability, RSLD by ranks, ARLD by alignment, ProjLD by projections), and interval disclosure (ID):

    max        DR = max(DLD, PLD, ...) / 2 + ID / 2          the intruder uses the best attack: the default
    classic    DR = (DLD + PLD) / 4 + ID / 2
    rank-swap  DR = (RSLD + DLD + PLD) / 6 + ID / 2
    new        DR = (DLD + PLD + ProjLD) / 6 + ID / 2

and score = (IL + DR) / 2: lower is better.

References
----------
.. [1] J. Domingo-Ferrer, V. Torra, A quantitative comparison of disclosure control methods for microdata, in
   Confidentiality, Disclosure and Data Access, North-Holland (2001) 111-133.
.. [2] J. M. Mateo-Sanz, J. Domingo-Ferrer, F. Sebe, Probabilistic information loss measures in confidentiality
   protection of continuous microdata, Data Mining and Knowledge Discovery 11 (2005) 181-193.
.. [3] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), sections 2.5 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tsveil._types import Array, ArrayLike, Indices, Mask
from tsveil.attack._files import Ties, known_columns
from tsveil.attack.distance import checked_counts
from tsveil.attack.fits import FIGURES, fitting
from tsveil.attack.interval import PERCENTS
from tsveil.attack.pieces import Pieces, opened_files
from tsveil.attack.run import Knowledge, Settings, attacked
from tsveil.data.store import Store
from tsveil.engine.base import Engine, Result, Task
from tsveil.errors import InputError
from tsveil.measure.scorecard import Measured, Shape, all_figures, check_choices, keep_of_records
from tsveil.transform import exact
from tsveil.transform.normalise import Ruler, Scaling
from tsveil.transform.scale import exponents

Score = Literal["max", "classic", "rank-swap", "new"]
By = Literal["attributes", "blocks"]

#: relative to the size of the data: what is smaller counts as zero, for rounding leaves no digits beyond it
ZERO = 1e-12

#: score -> the linkages whose mean counts; none: the largest of all
LINKAGES: dict[str, tuple[str, ...]] = {
    "max": (),
    "classic": ("DLD", "PLD"),
    "rank-swap": ("RSLD", "DLD", "PLD"),
    "new": ("DLD", "PLD", "ProjLD"),
}

#: figure -> (title, one plain sentence)
MEANINGS: dict[str, tuple[str, str]] = {
    "IL1": ("loss in values", "How far the published values are from the original ones, relative to these."),
    "IL2": ("loss in means", "How far the means of the attributes moved."),
    "IL3": ("loss in covariances", "How far the covariances of the attributes moved."),
    "IL4": ("loss in variances", "How far the variances of the attributes moved."),
    "IL5": ("loss in correlations", "How far the correlations of the attributes moved."),
    "IL": ("information loss", "The mean of the five losses: 0 means nothing was lost; it can exceed 100."),
    "PIL": (
        "probabilistic loss",
        "How far means, variances, covariances and correlations moved, measured by what sampling alone would do; at most 100.",
    ),
    **FIGURES,
    "DR1": ("re-identification", "The re-identification risk that counts: that of the strongest attack."),
    "ID": (
        "interval disclosure",
        "Share of values whose rank lies within 1 to 10 % of the published one's, so that publishing gives them away.",
    ),
    "DR": ("disclosure risk", "The mean of re-identification and interval disclosure: 0 means nothing leaks."),
    "score": ("score", "The mean of information loss and disclosure risk: lower is better."),
}


# -- information loss -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MicrodataLoss:
    """The five losses in percent."""

    il1: float
    il2: float
    il3: float
    il4: float
    il5: float
    #: for each record the mean loss of its values, in percent
    per_record: Array
    #: loss -> number of terms left out because their denominator is zero
    skipped: Mapping[str, int]

    @property
    def il(self) -> float:
        """The mean of the five."""
        return (self.il1 + self.il2 + self.il3 + self.il4 + self.il5) / 5


def microdata_loss(X: ArrayLike, X2: ArrayLike) -> MicrodataLoss:
    """The losses IL1 to IL5 between two tables of records by attributes, row by row aligned.

    Examples
    --------
    >>> loss = microdata_loss([[1.0, 2.0], [3.0, 8.0], [0.0, 2.0]], [[1.0, 3.0], [3.0, 7.0], [0.0, 2.0]])
    >>> round(loss.il1, 2), loss.il2, loss.skipped
    (12.5, 0.0, {'IL1': 1})
    """
    X, X2 = _tables(X, X2)
    found = table_sums(X, X2)
    losses, skipped = statistics_lost(found.before, found.after)
    skipped = {"IL1": X.size - found.counted, **skipped}
    return MicrodataLoss(
        il1=found.il1,
        il2=losses["IL2"],
        il3=losses["IL3"],
        il4=losses["IL4"],
        il5=losses["IL5"],
        per_record=record_losses(X, X2)[0],
        skipped={name: count for name, count in skipped.items() if count},
    )


def statistics_lost(moments: Moments, moments2: Moments) -> tuple[dict[str, float], dict[str, int]]:
    """IL2 to IL5 in percent, and how many of their terms were left out, from the moments of the two files."""
    pairs = np.triu_indices(len(moments.mean))
    spread = np.outer(moments.sd, moments.sd)
    terms = {
        "IL2": _relative(moments.mean, moments2.mean, ZERO * moments.size),
        "IL3": _relative(moments.cov[pairs], moments2.cov[pairs], ZERO * spread[pairs]),
        "IL4": _relative(np.diag(moments.cov), np.diag(moments2.cov), np.square(ZERO * moments.size)),
    }
    losses, skipped = {}, {}
    for name, (difference, base, counts) in terms.items():
        losses[name] = 100 * float((difference[counts] / base[counts]).mean()) if counts.any() else 0.0
        skipped[name] = int((~counts).sum())
    apart = np.triu_indices(len(moments.mean), 1)
    r, r2 = moments.correlation[apart], moments2.correlation[apart]
    defined = ~(np.isnan(r) | np.isnan(r2))
    losses["IL5"] = 100 * float(np.abs(r - r2)[defined].mean()) if defined.any() else 0.0
    skipped["IL5"] = int((~defined).sum())
    return losses, skipped


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


@dataclass(frozen=True)
class ProbabilisticLoss:
    """The probabilistic losses in percent; NaN for pairs where there is a single attribute."""

    means: float
    variances: float
    covariances: float
    correlations: float

    @property
    def mean(self) -> float:
        """The mean over the kinds of statistics that there are."""
        kinds = [self.means, self.variances, self.covariances, self.correlations]
        return float(np.mean([kind for kind in kinds if not math.isnan(kind)]))


def probabilistic_loss(X: ArrayLike, X2: ArrayLike) -> ProbabilisticLoss:
    """The probabilistic information loss between two tables of records by attributes.

    Standard errors are the original's: s / sqrt(n) of a mean, sqrt((m4 - m2^2) / n) of a variance, sqrt((m22 - m11^2) / n)
    of a covariance, (1 - r^2) / sqrt(n) of a correlation.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 3.0], [3.0, 4.0], [6.0, 1.0]]
    >>> probabilistic_loss(X, X).mean
    0.0
    >>> round(probabilistic_loss(X, [[a + 1, b] for a, b in X]).means, 2)
    35.75
    """
    return table_sums(*_tables(X, X2)).probably_lost()


def probably_lost(
    n: int, moved: Array, v: Array, v2: Array, fourth: Array, correlation: Array, correlation2: Array
) -> ProbabilisticLoss:
    """The same from the moments of the two files: how far means moved, covariances (divisor n), E[c_i^2 c_j^2], correlations."""
    p = len(moved)
    spread = fourth - np.square(v)
    diagonal, apart = np.diag_indices(p), np.triu_indices(p, 1)
    r, r2 = correlation[apart], correlation2[apart]
    # A correlation that protection made undefined is lost; one that never was defined cannot be.
    r, r2 = np.where(np.isnan(r), 0.0, r), np.where(np.isnan(r), 0.0, np.nan_to_num(r2))
    errors = np.sqrt(np.maximum(spread, 0.0) / n)
    return ProbabilisticLoss(
        means=_moved(moved, np.sqrt(np.diag(v) / n)),
        variances=_moved((v - v2)[diagonal], errors[diagonal]),
        covariances=_moved((v - v2)[apart], errors[apart]),
        correlations=_moved(r - r2, (1 - np.square(r)) / math.sqrt(n)),
    )


def _moved(difference: Array, error: Array) -> float:
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


def _tables(X: ArrayLike, X2: ArrayLike) -> tuple[Array, Array]:
    X, X2 = np.asarray(X, dtype=np.float64), np.asarray(X2, dtype=np.float64)
    if X.ndim != 2 or X.shape != X2.shape:
        raise InputError(
            f"the original values have the shape {X.shape}, the published ones {X2.shape}: both must agree"
        )
    if np.isnan(X).any() or np.isnan(X2).any():
        raise InputError("the losses are not defined for missing values\n  options: drop or fill these records")
    return X, X2


# -- sums over records ------------------------------------------------------------------------------------------------
#
# In three passes: the bounds of each column; the loss of each record and the means; products of columns around the means. All sums are exact.


def bounds(X: Array, X2: Array) -> Result:
    """The lowest and highest value of each column, before and after."""
    extremes = [
        each.tolist() for Y in (X, X2) for each in (Y.min(axis=0, initial=np.inf), Y.max(axis=0, initial=-np.inf))
    ]
    return {"records": len(X), "bounds": extremes}


def record_losses(X: Array, X2: Array) -> tuple[Array, Array, int]:
    """The loss of each record in percent, the sum over its values, and the number of values that are not zero, of which there is a loss."""
    counts = X != 0
    sums = np.divide(np.abs(X - X2), np.abs(X), out=np.zeros_like(X), where=counts).sum(axis=1)
    return 100 * sums / np.maximum(counts.sum(axis=1), 1), sums, int(counts.sum())


@dataclass(frozen=True, eq=False)
class Ranges:
    """The bounds of all columns of both files, each column times a power of two if its values are very large or small."""

    n: int
    power: Indices
    low: Array
    width: Array
    low2: Array
    width2: Array
    #: largest absolute values
    size: Array
    size2: Array

    @classmethod
    def of(cls, done: Sequence[Result]) -> Ranges:
        """From the bounds of all pieces."""
        low, high, low2, high2 = (
            extreme([one["bounds"][at] for one in done], axis=0)
            for at, extreme in enumerate((np.min, np.max, np.min, np.max))
        )
        power = -exponents(np.maximum.reduce([np.abs(each) for each in (low, high, low2, high2)])).astype(np.int64)
        low, high, low2, high2 = (np.ldexp(each, power) for each in (low, high, low2, high2))
        sizes = (np.maximum(np.abs(low), np.abs(high)), np.maximum(np.abs(low2), np.abs(high2)))
        return cls(sum(int(one["records"]) for one in done), power, low, high - low, low2, high2 - low2, *sizes)

    def units(self, X: Array, X2: Array) -> tuple[Array, Array]:
        """Both files with values from 0 to 1, 0 where nothing varies."""
        return Ruler(self.low, self.width).measure(X), Ruler(self.low2, self.width2).measure(X2)


def unit_sums(X: Array, X2: Array, ranges: Ranges) -> Result:
    """The loss of some records, and the sums of their values from 0 to 1, as parts (see `transform.exact`)."""
    _, sums, counted = record_losses(X, X2)
    return {
        "lost": exact.parts(sums),
        "counted": counted,
        "units": [exact.column_parts(Z) for Z in ranges.units(X, X2)],
    }


def products(X: Array, X2: Array, ranges: Ranges, means: Sequence[Array]) -> list[Indices]:
    """The sums of products of all pairs of columns around their means: before, after, and of squares before."""
    Z, Z2 = ranges.units(X, X2)
    Z -= means[0]
    Z2 -= means[1]
    return [exact.products(each) for each in (Z, Z2, np.square(Z))]


@dataclass(frozen=True, eq=False)
class Sums:
    """What is summed over all records."""

    ranges: Ranges
    #: the sum of relative differences, and the number of values that have one
    lost: float
    counted: int
    #: means of values from 0 to 1, before and after
    means: Sequence[Array]
    #: covariances with the divisor n of these, before and after, and E[c_i^2 c_j^2] before
    v: Array
    v2: Array
    fourth: Array

    @classmethod
    def of(
        cls, ranges: Ranges, sums: Sequence[Result], means: Sequence[Array], digits: Sequence[Sequence[Indices]]
    ) -> Sums:
        """From the sums and products of all pieces."""
        lost = exact.total(*(one["lost"] for one in sums))
        counted = sum(int(one["counted"]) for one in sums)
        moments = (exact.product_totals(exact.merged_products(each)) / ranges.n for each in zip(*digits, strict=True))
        return cls(ranges, lost, counted, means, *moments)

    @property
    def il1(self) -> float:
        """The loss in values, in percent."""
        return 100 * self.lost / max(self.counted, 1)

    @property
    def before(self) -> Moments:
        """The moments of the original."""
        r = self.ranges
        return Moments(r.low + r.width * self.means[0], self._covariances(self.v, r.width), r.size)

    @property
    def after(self) -> Moments:
        """The moments of the release."""
        r = self.ranges
        return Moments(r.low2 + r.width2 * self.means[1], self._covariances(self.v2, r.width2), r.size2)

    def _covariances(self, v: Array, width: Array) -> Array:
        return v * np.outer(width, width) * (self.ranges.n / max(self.ranges.n - 1, 1))

    def probably_lost(self) -> ProbabilisticLoss:
        """The probabilistic losses, which do not depend on units: those of the original's width are taken."""
        r = self.ranges
        width = np.where(r.width > 0, r.width, np.maximum(np.abs(r.low), 1.0))
        moved = ((r.low2 - r.low) + (r.width2 * self.means[1] - r.width * self.means[0])) / width
        v, v2 = (
            self.v * np.outer(r.width / width, r.width / width),
            self.v2 * np.outer(r.width2 / width, r.width2 / width),
        )
        ends = (r.low2 - r.low) / width, (r.low2 + r.width2 - r.low) / width
        sizes = r.width / width, np.maximum(np.abs(ends[0]), np.abs(ends[1]))
        share = r.n / max(r.n - 1, 1)
        correlations = (
            Moments(moved, each * share, size).correlation for each, size in zip((v, v2), sizes, strict=True)
        )
        return probably_lost(
            r.n, moved, v, v2, self.fourth * np.outer(r.width / width, r.width / width) ** 2, *correlations
        )


def means_of(sums: Sequence[Result], n: int) -> list[Array]:
    """The means of values from 0 to 1, before and after, from the sums of all pieces."""
    return [exact.column_totals([one["units"][at] for one in sums]) / n for at in (0, 1)]


def table_sums(X: Array, X2: Array) -> Sums:
    """The sums of two tables, row by row aligned."""
    ranges = Ranges.of([bounds(X, X2)])
    X, X2 = np.ldexp(X, ranges.power), np.ldexp(X2, ranges.power)
    sums = [unit_sums(X, X2, ranges)]
    means = means_of(sums, ranges.n)
    return Sums.of(ranges, sums, means, [products(X, X2, ranges, means)])


# -- files in pieces --------------------------------------------------------------------------------------------------


def piece_sums(task: Task) -> Result:
    """One of the three passes over one piece."""
    store, files = opened_files(task)
    at = int(task["at"])
    X, X2, both = files.pair(store, at)
    if task["pass"] == 1:
        return bounds(X, X2)
    ranges = Ranges(int(task["n"]), *map(np.asarray, task["ranges"]))
    X, X2 = np.ldexp(X, ranges.power), np.ldexp(X2, ranges.power)
    if task["pass"] == 2:
        keep_of_records(store, files, at, both, record_losses(X, X2)[0])
        return unit_sums(X, X2, ranges)
    for number, digits in enumerate(products(X, X2, ranges, [np.array(mean) for mean in task["means"]])):
        store.put(f"moments-{number}-{at}", digits)
    return {}


def sums_of_pieces(store: Store, files: Pieces, engine: Engine) -> Sums:
    """The sums of two files in pieces; the loss of each record is kept."""

    def passed(number: int, **more: Any) -> list[Result]:
        tasks = [{"store": store.handle, "at": at, "pass": number, **more} for at in range(len(files.original))]
        return engine.map(piece_sums, tasks, "Measuring the loss")

    ranges = Ranges.of(passed(1))
    plain = {"n": ranges.n, "ranges": [value.tolist() for name, value in vars(ranges).items() if name != "n"]}
    sums = passed(2, **plain)
    means = means_of(sums, ranges.n)
    passed(3, **plain, means=[mean.tolist() for mean in means])
    digits = [[store.get(f"moments-{number}-{at}") for number in range(3)] for at in range(len(files.original))]
    return Sums.of(ranges, sums, means, digits)


# -- the score card ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttributeOptions:
    """The options of `tsveil.evaluate` for attributes."""

    ties: Ties = "expected"
    scaling: Scaling = "original"
    known: Sequence[str] | None = None
    counts: Sequence[int] | None = None
    by: By = "attributes"
    score: Score = "max"
    #: 0: all, None: as many as are affordable
    targets: int | None = None

    def __post_init__(self) -> None:
        check_choices(
            score=(self.score, Score), by=(self.by, By), ties=(self.ties, Ties), scaling=(self.scaling, Scaling)
        )


def measured_attributes(
    store: Store, files: Pieces, engine: Engine, options: AttributeOptions, method: str | None = None, settings: Mapping[str, Any] | None = None
) -> Measured:  # fmt: skip
    """Information loss and disclosure risk of the attributes of two files in pieces.

    `method` is the registry name of the method and `settings` its parameters: all attacks that fit it are run (every
    attack when it is None). The intruder knows the first 1, 2, ... of the `known` attributes (all, in the order of the
    file, by default), or the numbers of them in `counts`; `by="blocks"` counts known blocks instead. `score` chooses how the
    risks are combined.
    """
    rounds = _Rounds.of(files, known_columns(files, options.known), options.counts, options.by)
    places = {name: at for at, name in enumerate(files.columns)}
    known = Knowledge(
        [places[name] for name in rounds.names],
        rounds.columns,
        [[places[name] for name in part] for part in rounds.parts],
        rounds.blocks,
    )
    store.put_plain("files", files)
    sums = sums_of_pieces(store, files, engine)
    shape = Shape(files.m, files.blocks)
    runs = fitting(method, settings or {}, shape)
    there = {run.figure for run in runs}
    wanted = LINKAGES[options.score]
    runs += [run for run in fitting(None, {}, shape) if run.figure in wanted and run.figure not in there]
    how = Settings(options.ties, options.scaling, targets=options.targets)
    found = attacked(store, files, engine, runs, known, how, intervals=range(len(files.columns)))
    if missing := [figure for figure in wanted if figure not in found.by_known]:
        raise InputError(
            f"the {options.score!r} score needs {', '.join(missing)}, which could not be computed: {'; '.join(found.skipped)}\n"
            "  options: fewer known attributes (known=..., counts=...), or score='max'"
        )
    losses = {"IL1": sums.il1, **statistics_lost(sums.before, sums.after)[0]}
    losses |= {"IL": math.fsum(losses.values()) / 5, "PIL": sums.probably_lost().mean}
    risks = found.risks
    strongest = max(risks, key=risks.__getitem__)
    linked = float(np.mean([risks[figure] for figure in wanted] or [risks[strongest]]))
    disclosed = 100 * sum(found.disclosed.values()) / (sums.ranges.n * len(files.columns) * len(PERCENTS))
    said: dict[str, Any] = {
        "score": options.score,
        "known": rounds.told(),
        "ties": options.ties,
        "scaling": options.scaling,
    }
    said["strongest"] = next(run.title for run in runs if run.figure == strongest)
    return Measured(all_figures(losses, risks, linked, disclosed), {}, said, MEANINGS, found)


@dataclass(frozen=True)
class _Rounds:
    """What the intruder knows, round by round."""

    #: all known columns, block after block if blocks are counted
    names: tuple[str, ...]
    #: those of each block
    parts: tuple[tuple[str, ...], ...]
    #: numbers of known columns
    columns: tuple[int, ...]
    #: numbers of known blocks, for the attacks that need whole blocks
    blocks: tuple[int, ...]
    by: By

    @classmethod
    def of(cls, data: Pieces, names: Sequence[str], counts: Sequence[int] | None, by: By) -> _Rounds:
        home = {column: block.name for block in data.blocks for column in block.columns}
        parts: dict[str, list[str]] = {}
        for name in names:
            parts.setdefault(home[name], []).append(name)
        known = tuple(map(tuple, parts.values()))
        if by == "attributes":
            wanted = checked_counts(counts, len(names))
            return cls(tuple(names), known, tuple(wanted), tuple(range(1, len(parts) + 1)), by)
        wanted = checked_counts(counts, len(parts))
        ends = np.cumsum([len(part) for part in parts.values()])
        ordered = tuple(name for part in parts.values() for name in part)
        return cls(ordered, known, tuple(int(ends[count - 1]) for count in wanted), tuple(wanted), by)

    def told(self) -> str:
        """The numbers known, in words."""
        numbers = self.columns if self.by == "attributes" else self.blocks
        whole = numbers == tuple(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 1
        return (f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(map(str, numbers))) + f" {self.by}"
