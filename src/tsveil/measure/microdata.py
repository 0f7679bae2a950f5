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
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from tsveil import progress
from tsveil._types import Array, ArrayLike, Mask
from tsveil.attack._files import Ties, files, known_columns
from tsveil.attack.distance import checked_counts
from tsveil.attack.fits import FIGURES, Run, fitting
from tsveil.attack.interval import interval
from tsveil.attack.links import Links
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.errors import InputError, ParameterError
from tsveil.measure.scorecard import Scorecard, in_both, people
from tsveil.transform.normalise import Scaling
from tsveil.transform.scale import columns_in_range

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
    counts = X != 0
    share = np.divide(np.abs(X - X2), np.abs(X), out=np.zeros_like(X), where=counts)
    il1 = float((np.abs(X - X2)[counts] / np.abs(X)[counts]).mean()) if counts.any() else 0.0
    losses, skipped = statistics_lost(Moments.of(X), Moments.of(X2))
    skipped = {"IL1": int((~counts).sum()), **skipped}
    return MicrodataLoss(
        il1=100 * il1,
        il2=losses["IL2"],
        il3=losses["IL3"],
        il4=losses["IL4"],
        il5=losses["IL5"],
        per_record=100 * share.sum(axis=1) / np.maximum(counts.sum(axis=1), 1),
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

    @classmethod
    def of(cls, X: Array) -> Moments:
        """Of a table of records by attributes."""
        # Taken from the first record first: the mean of equal values is that value, and a large offset costs no digits.
        from_first = X - X[0]
        mean = from_first.sum(axis=0) / len(X)
        centred = from_first - mean
        return cls(X[0] + mean, centred.T @ centred / max(len(X) - 1, 1), np.abs(X).max(axis=0))

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
    X, X2 = _tables(X, X2)
    n = len(X)
    # Brought to a spread of one: the measure does not depend on units, and huge values do no harm.
    low = X.min(axis=0)
    width = X.max(axis=0) - low
    width = np.where(width > 0, width, np.maximum(np.abs(low), 1.0))
    Z, Z2 = (X - low) / width, (X2 - low) / width
    c, c2 = Z - Z.mean(axis=0), Z2 - Z2.mean(axis=0)
    fourth = np.square(c).T @ np.square(c) / n
    moved = Z2.mean(axis=0) - Z.mean(axis=0)
    correlations = Moments.of(Z).correlation, Moments.of(Z2).correlation
    return probably_lost(n, moved, c.T @ c / n, c2.T @ c2 / n, fourth, *correlations)


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


# -- the score card ---------------------------------------------------------------------------------------------------


def microdata_scorecard(
    original: Dataset,
    protected: Dataset,
    *,
    truth: Truth = None,
    method: str | None = None,
    settings: Mapping[str, Any] | None = None,
    known: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    by: By = "attributes",
    score: Score = "max",
    ties: Ties = "expected",
    scaling: Scaling = "original",
) -> Scorecard:
    """Measure information loss and disclosure risk of protected attributes.

    Rows of the two files are aligned, or the `truth` says which belong together: attacks then run on the files as they are,
    and losses are measured on the people who are in both. `method` is the registry name of the method and `settings` its parameters: all attacks that fit it are run (every
    attack when it is None). The intruder knows the first 1, 2, ... of the `known` attributes (all, in the order of the
    file, by default), or the numbers of them in `counts`; `by="blocks"` counts known blocks instead. `score` chooses how the
    risks are combined.

    Examples
    --------
    >>> import polars as pl, tsveil as tv
    >>> frame = pl.DataFrame({"age": [20, 31, 45, 60], "pay": [10, 25, 20, 40]})
    >>> data = tv.Dataset.from_frame(frame, blocks={"person": ["age", "pay"]})
    >>> card = microdata_scorecard(data, data, method="noise")
    >>> card["IL"], card["DLD"], card["ID"], card["score"]
    (0.0, 100.0, 100.0, 50.0)
    """
    for name, value, allowed in (
        ("score", score, get_args(Score)), ("by", by, get_args(By)), ("ties", ties, get_args(Ties)), ("scaling", scaling, get_args(Scaling)),
    ):  # fmt: skip
        if value not in allowed:
            raise ParameterError(
                f"The {name!r} parameter of evaluate must be one of {', '.join(map(repr, allowed))}. Got {value!r}."
            )
    attributes = [column for block in original.blocks if not block.is_series for column in block.columns]
    if not attributes:
        raise InputError("these data have no attributes; time series have measures of their own")
    names = known_columns(original, attributes if known is None else known)
    rounds = _Rounds.of(original, names, counts, by)
    pair = files(original, protected, attributes, truth)
    both = pair.own >= 0
    with progress.step("Measuring the loss"):
        X, X2 = columns_in_range(pair.a[both], pair.b[pair.own[both]])
        loss, bounded = microdata_loss(X, X2), probabilistic_loss(X, X2)
    disclosed = interval(original, protected, known=attributes, truth=truth)

    runs = fitting(method, settings or {}, protected)
    there = {run.figure for run in runs}
    runs += [run for run in fitting(None, {}, protected) if run.figure in LINKAGES[score] and run.figure not in there]
    links, skipped = _attacked(original, protected, truth, runs, rounds, ties, scaling)
    missing = [figure for figure in LINKAGES[score] if figure not in links]
    if missing:
        raise InputError(
            f"the {score!r} score needs {', '.join(missing)}, which could not be computed: {'; '.join(skipped)}\n"
            "  options: fewer known attributes (known=..., counts=...), or score='max'"
        )

    figures = {f"IL{i}": value for i, value in enumerate((loss.il1, loss.il2, loss.il3, loss.il4, loss.il5), 1)}
    figures |= {"IL": loss.il, "PIL": bounded.mean}
    risks = {figure: float(np.mean([found.rate for found in each])) for figure, each in links.items()}
    strongest = max(risks, key=risks.__getitem__)
    counted = [risks[figure] for figure in LINKAGES[score]] or [risks[strongest]]
    figures |= risks
    figures["DR1"] = float(np.mean(counted))
    figures["ID"] = disclosed.rate
    figures["DR"] = (figures["DR1"] + figures["ID"]) / 2
    figures["score"] = (figures["IL"] + figures["DR"]) / 2

    chances = {figure: 100 * np.mean([found.probability for found in each], axis=0) for figure, each in links.items()}
    per_record = pl.DataFrame(
        {
            "original": original.ids,
            "risk": np.max(list(chances.values()), axis=0),
            **{f"linked_by_{figure}": chance for figure, chance in chances.items()},
            "values_disclosed": disclosed.per_record,
            "loss": in_both(loss.per_record, both),
        }
    )
    options = {
        "score": score,
        "known": rounds.told(),
        "ties": ties,
        "scaling": scaling,
        "strongest": next(run.title for run in runs if run.figure == strongest),
    }
    options |= people(both, protected.n)
    if skipped:
        options["skipped"] = "; ".join(skipped)
    return Scorecard(
        figures,
        {},
        per_record,
        options,
        MEANINGS,
        {figure: tuple(found.rate for found in each) for figure, each in links.items()},
    )


@dataclass(frozen=True)
class _Rounds:
    """What the intruder knows, round by round."""

    #: all known columns, block after block if blocks are counted
    names: tuple[str, ...]
    #: numbers of known columns
    columns: tuple[int, ...]
    #: numbers of known blocks, for the attacks that need whole blocks
    blocks: tuple[int, ...]
    by: By

    @classmethod
    def of(cls, data: Dataset, names: Sequence[str], counts: Sequence[int] | None, by: By) -> _Rounds:
        home = {column: block.name for block in data.blocks for column in block.columns}
        parts: dict[str, list[str]] = {}
        for name in names:
            parts.setdefault(home[name], []).append(name)
        if by == "attributes":
            wanted = checked_counts(counts, len(names))
            return cls(tuple(names), tuple(wanted), tuple(range(1, len(parts) + 1)), by)
        wanted = checked_counts(counts, len(parts))
        ends = np.cumsum([len(part) for part in parts.values()])
        ordered = tuple(name for part in parts.values() for name in part)
        return cls(ordered, tuple(int(ends[count - 1]) for count in wanted), tuple(wanted), by)

    def told(self) -> str:
        """The numbers known, in words."""
        numbers = self.columns if self.by == "attributes" else self.blocks
        whole = numbers == tuple(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 1
        return (f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(map(str, numbers))) + f" {self.by}"


def _attacked(
    original: Dataset,
    protected: Dataset,
    truth: Truth,
    runs: Sequence[Run],
    rounds: _Rounds,
    ties: Ties,
    scaling: Scaling,
) -> tuple[dict[str, list[Links]], list[str]]:
    """The links of every attack in every round, and what was left out."""
    links: dict[str, list[Links]] = {}
    skipped: list[str] = []
    for run in runs:
        counts = rounds.blocks if run.by_block else rounds.columns
        possible = [count for count in counts if run.most is None or count <= run.most]
        if len(possible) < len(counts):
            skipped.append(
                f"{run.title} takes at most {run.most} known attributes and was left out where more are known"
            )
        if possible:
            more = {"scaling": scaling} if run.scaled else {}
            links[run.figure] = run.rounds(
                original, protected, truth=truth, known=rounds.names, counts=possible, ties=ties, **more
            )
    return links, skipped
