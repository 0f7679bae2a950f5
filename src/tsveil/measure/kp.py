"""What envelopes and patterns lose and what they leak.

**Value loss** of a record, the root mean square width of its envelope, and the same against the range of each time
point (normalised certainty penalty):

    VL = sqrt(sum_t (hi_t - lo_t)^2 / T)                  NCP = mean_t (hi_t - lo_t) / (max_t - min_t)

**Pattern loss** of a record: 1 - cosine(p, p*), where p are the segment means of the z-normalised series and p* is what
the published word stands for (0 when both are zero, 1 when one is). Instead of the means, p may be their consecutive
differences, or the signs of all pairwise differences: who is higher than whom. A table without words is judged by the
pattern of its midlines (lo + hi) / 2.

**Queries**: the error of the estimated counts of random range queries, and how many of the records nearest to a given
curve a similarity query finds. **Risk**: the breach probabilities of `tsveil.attack.kp`, worst and mean, and the
carried values that a class of records has in common.

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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import polars as pl

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.attack.kp import envelope_linkages
from tsveil.attack.links import Links
from tsveil.data.intervals import IntervalTable
from tsveil.errors import ParameterError
from tsveil.guarantee.kp import classes_of, homogeneous
from tsveil.measure.queries import Queries
from tsveil.transform.sax import as_symbols, patterns, read_back

Features = Literal["means", "differences", "signs"]

#: means and differences below this are zero: rounding has no pattern
NOTHING = 1e-9
#: random range queries, the time points each of them names, random curves, and the nearest records that are looked for
RANGES, POINTS, CURVES, NEAREST = 200, 2, 50, 20

#: figure -> (title, unit, one plain sentence)
MEANINGS: dict[str, tuple[str, str, str]] = {
    "value_loss": ("value loss", "", "The widths of the envelopes (root mean square over time), summed over the published records."),
    "value_loss_mean": ("value loss per record", "", "The same, on average: the width of a typical envelope, in the unit of the data."),
    "ncp": ("relative width", "%", "The width of an envelope against the range of all values at that time, on average."),
    "pattern_loss": ("pattern loss", "", "How far the published patterns are from the true ones (1 - cosine), summed."),
    "pattern_loss_mean": ("pattern loss per record", "", "The same, on average: 0 means that the shape is kept, 1 that nothing of it is left."),
    "suppressed": ("suppressed", "", "Records that are not published because too few others share their pattern."),
    "range_error": ("error of range counts", "%", "How far estimated counts of random range queries are from the true ones, on average."),
    "range_gap": ("gap of range counts", "%", "How far the certain bounds of these counts are apart, against all records."),
    "similar_found": ("similar records found", "%", f"Of the {NEAREST} records most similar to a curve, the share that a query finds."),
    "breach_values": ("breach by values, worst", "%", "The highest chance of finding a person's record by the values, without the patterns."),
    "breach_values_mean": ("breach by values, mean", "%", "The same, on average over all persons."),
    "breach_pattern": ("breach by pattern, worst", "%", "The highest chance of finding a person's record by the shape of the series."),
    "breach_pattern_mean": ("breach by pattern, mean", "%", "The same, on average over all persons."),
    "breach_both": ("breach by both, worst", "%", "The highest chance for an intruder who knows all values, and so the shape: the one that counts."),
    "breach_both_mean": ("breach by both, mean", "%", "The same, on average over all persons."),
}  # fmt: skip


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
    if features not in get_args(Features):
        words = ", ".join(map(repr, get_args(Features)))
        raise ParameterError(f"The 'features' parameter of pattern_loss must be one of {words}. Got {features!r}.")
    if table.words is not None and table.levels is not None:
        letters = as_symbols(table.words)
        true, published = patterns(x, letters.shape[1]), read_back(letters, table.levels)
    else:
        w = word_length or min(x.shape[1], 8)
        true, published = patterns(x, w), patterns((table.lo + table.hi) / 2, w)
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


@dataclass(frozen=True)
class QueryError:
    """How well a published table answers queries, in percent."""

    #: |estimate - truth| / max(truth, 1 % of the records), mean over random range queries
    range_error: float
    #: (most - least) / records, mean over the same
    range_gap: float
    #: share of the records truly nearest to a curve that are found; None without patterns
    similar_found: float | None

    @property
    def figures(self) -> dict[str, float]:
        """By the names of the score card."""
        found = {} if self.similar_found is None else {"similar_found": self.similar_found}
        return {"range_error": self.range_error, "range_gap": self.range_gap, **found}


@dataclass(frozen=True)
class Asked:
    """Random queries by numbers of records and time points, so that they can be asked of data in many files as well."""

    #: (queries, named) the time points that a range query names
    points: Indices
    #: (queries, 2, named) the records between whose values the range lies there
    ends: Indices
    #: the records whose curves are looked for
    curves: Indices

    def ranges(self, values: Array) -> tuple[Array, Array]:
        """Lower and upper ends of the ranges, (queries, named); `values` are those of `ends` at `points`."""
        return values.min(axis=1), values.max(axis=1)


def asked(n: int, T: int, *, seed: int = 0) -> Asked:
    """The queries that are asked of n series of T points.

    A range query names two random time points and at each the interval between the values of two random records. A
    similarity query asks for the 20 records nearest to a random one's z-normalised series, by Euclidean distance.
    """
    rng = np.random.default_rng(seed)
    drawn = [
        (rng.choice(T, min(POINTS, T), replace=False), rng.integers(n, size=(2, min(POINTS, T)))) for _ in range(RANGES)
    ]
    curves = rng.choice(n, min(CURVES, n), replace=False)
    return Asked(np.array([at for at, _ in drawn]), np.array([ends for _, ends in drawn]), curves)


def range_answers(x: Array, table: IntervalTable, points: Indices, low: Array, high: Array) -> Array:
    """For each range query (a row each) the true count, the certain bounds and the estimate; these add up over files."""
    query = Queries(table)
    answers = np.empty((len(points), 4))
    for row, (at, a, b) in enumerate(zip(points, low, high, strict=True)):
        truth = ((x[:, at] >= a) & (x[:, at] <= b)).all(axis=1).sum()
        count = query.range_count({table.labels[t]: ends for t, *ends in zip(at.tolist(), a, b, strict=True)})
        answers[row] = truth, count.least, count.most, count.estimate
    return answers


def range_figures(answers: Array, n: int) -> tuple[float, float]:
    """Error and gap of range queries on n records, in percent."""
    truth, least, most, estimate = answers.T
    error = np.abs(estimate - truth) / np.maximum(truth, n / 100)
    return 100 * float(error.mean()), 100 * float(((most - least) / n).mean())


def nearest_series(x: Array, curves: Array) -> tuple[Array, Indices]:
    """The squared distances of the series nearest to each curve (a row each), all z-normalised, and which they are; ties in their order."""
    z, wanted = (
        patterns(side, x.shape[1]) for side in (x, curves)
    )  # segments of one point: the z-normalised series itself
    rows, distances = [], []
    for curve in wanted:
        distance = ((z - curve) ** 2).sum(axis=1)
        rows.append(np.argsort(distance, kind="stable")[:NEAREST])
        distances.append(distance[rows[-1]])
    return np.array(distances), np.array(rows)


def similar_series(table: IntervalTable, curves: Array) -> tuple[Array, Indices]:
    """The same by what the published words say: distances and rows of the table."""
    found = [Queries(table).similar(curve, top=NEAREST) for curve in curves]
    return np.array([one["distance"] for one in found]), np.array([one["row"] for one in found]) - 1


def query_error(x: Array, table: IntervalTable, own: Indices, *, seed: int = 0) -> QueryError:
    """Ask random queries (`asked`) whose answers are known.

    `own` is the published row of each original record, -1 where it was suppressed; suppressed records count in the truth.
    """
    queries = asked(*x.shape, seed=seed)
    low, high = queries.ranges(x[queries.ends, queries.points[:, None, :]])
    error, gap = range_figures(range_answers(x, table, queries.points, low, high), len(x))
    found = None
    if table.words is not None:
        curves = x[queries.curves]
        near, got = nearest_series(x, curves)[1], similar_series(table, curves)[1]
        found = 100 * float(np.mean([np.isin(own[a], b).mean() for a, b in zip(near, got, strict=True)]))
    return QueryError(error, gap, found)


@dataclass(frozen=True, eq=False, repr=False)
class IntervalCard(Mapping[str, float]):
    """The figures of a release of envelopes by name; `MEANINGS` says what they mean and in which unit they are."""

    figures: Mapping[str, float]
    #: a row per original record: id, suppressed, losses, and the chance of each linkage in percent
    per_record: pl.DataFrame
    #: carried column -> (classes with one value only, the records in them)
    homogeneous: Mapping[str, tuple[int, int]]
    #: attack -> what it concludes for each record
    links: Mapping[str, Links] = field(default_factory=dict)
    #: how it was measured, where that needs saying
    options: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        if name not in self.figures:
            raise KeyError(f"no figure {name!r}; there are {', '.join(self.figures)}")
        return self.figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def to_dict(self) -> dict[str, float]:
        """The figures as a plain dictionary."""
        return dict(self.figures)

    def __str__(self) -> str:
        return "\n".join(
            f"{title:<26} {self.figures[name]:12.2f} {unit}".rstrip()
            for name, (title, unit, _) in MEANINGS.items()
            if name in self.figures
        )

    def __repr__(self) -> str:
        return f"IntervalCard: value loss {self['value_loss']:.1f}, pattern loss {self['pattern_loss']:.1f}"


def evaluate_intervals(
    x: Array, table: IntervalTable, own: Indices, ids: pl.Series, *, features: Features = "means", seed: int = 0
) -> IntervalCard:
    """Measure a published table of envelopes against the original series `x`.

    `own` is the published row of each of them, -1 if it was suppressed. The seed chooses the random queries; it is no
    secret.
    """
    published = np.flatnonzero(own >= 0)
    place = own[published]
    with progress.step("Measuring losses"):
        values, shapes, penalties = (np.full(len(x), np.nan) for _ in range(3))
        values[published] = value_loss(table.lo, table.hi)[place]
        penalties[published] = certainty_penalty(table.lo, table.hi, np.ptp(x, axis=0))[place]
        if len(published):
            shapes[published] = pattern_loss(x[published], table.take(place), features=features)
    figures = {
        "value_loss": float(values[published].sum()),
        "value_loss_mean": float(values[published].mean()) if len(published) else 0.0,
        "ncp": float(penalties[published].mean()) if len(published) else 0.0,
        "pattern_loss": float(shapes[published].sum()),
        "pattern_loss_mean": float(shapes[published].mean()) if len(published) else 0.0,
        "suppressed": float((own < 0).sum()),
    }
    links: dict[str, Links] = {}
    if table.n:
        with progress.step("Asking queries"):
            error = query_error(x, table, own, seed=seed)
        figures |= error.figures
        with progress.step("Linking by values and patterns"):
            links = envelope_linkages(x, table, own)
    figures |= breach_figures({name: found.probability for name, found in links.items()})
    per_record = pl.DataFrame(
        {
            "original": ids,
            "suppressed": own < 0,
            **{f"linked_by_{name}": 100 * found.probability for name, found in links.items()},
            "value_loss": values,
            "pattern_loss": shapes,
        }
    )
    return IntervalCard(figures, per_record, _homogeneous(table), links)


def breach_figures(chances: Mapping[str, Array]) -> dict[str, float]:
    """Of each attack the highest chance of finding a person's record, and the mean over all persons, in percent.

    Examples
    --------
    >>> breach_figures({"values": np.array([0.25, 0.0])})
    {'breach_values': 25.0, 'breach_values_mean': 12.5}
    """
    figures = {}
    for name, chance in chances.items():
        figures[f"breach_{name}"] = 100 * float(chance.max())
        figures[f"breach_{name}_mean"] = 100 * float(chance.mean())
    return figures


def _homogeneous(table: IntervalTable) -> dict[str, tuple[int, int]]:
    classes = classes_of(table)[1]
    found = {}
    for name in table.others.columns:
        same = homogeneous(classes, table.others[name])
        found[name] = (len(np.unique(classes[same])), int(same.sum()))
    return found
