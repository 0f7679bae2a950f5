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

A release in pieces (`tsveil.attack.kp.Piece`) is gone through twice: `look` measures the losses, and finds the range of each time
point and the series that queries and attacks ask for; `compare` asks and attacks. Losses and chances are those of single records and
are summed exactly, counts add up, and of the records nearest to a curve the nearest of all pieces are taken, where two are equally near the one that comes
first in the original. So no figure depends on the pieces.

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
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal, get_args

import numpy as np
import polars as pl

from tsveil._types import AnyArray, Array, Indices
from tsveil.attack.kp import Fitting, Piece, links_of, merged_fits, targets_of
from tsveil.attack.links import Links
from tsveil.data.intervals import IntervalTable
from tsveil.data.store import Memory, Store, opened
from tsveil.engine.base import Engine, Result, Task
from tsveil.engine.here import Here
from tsveil.errors import ParameterError
from tsveil.guarantee.kp import classes_of, homogeneous
from tsveil.measure.queries import range_shares, shape_distances
from tsveil.transform.exact import parts, total
from tsveil.transform.normalise import exact_sums, exact_total
from tsveil.transform.sax import patterns, read_back

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
    return _shape_loss(Piece.of(x, table), features, word_length)


def _shape_loss(piece: Piece, features: Features, word_length: int | None = None) -> Array:
    if features not in get_args(Features):
        words = ", ".join(map(repr, get_args(Features)))
        raise ParameterError(f"The 'features' parameter of pattern_loss must be one of {words}. Got {features!r}.")
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


@dataclass(frozen=True)
class Asked:
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


@dataclass(frozen=True, eq=False, repr=False)
class IntervalCard(Mapping[str, float]):
    """The figures of a release of envelopes by name; `MEANINGS` says what they mean and in which unit they are."""

    figures: Mapping[str, float]
    #: a row per original record: id, suppressed, losses, and the chance of each linkage in percent
    per_record: pl.DataFrame
    #: carried column -> (classes with one value only, the records in them)
    homogeneous: Mapping[str, tuple[int, int]]
    #: attack -> what it concludes for each target: all records, or a sample (`options` says so), in the order of the original
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
    x: Array,
    table: IntervalTable,
    own: Indices,
    ids: pl.Series,
    *,
    features: Features = "means",
    seed: int = 0,
    targets: int | None = None,
) -> IntervalCard:
    """Measure a published table of envelopes against the original series `x`.

    `own` is the published row of each of them, -1 if it was suppressed. The seed chooses the random queries; it is no
    secret. `targets` is the number of records that are attacked, 0 for all (`targets_of`).
    """
    store = Memory()
    Piece.of(x, table, own).save(store, 0)
    card = interval_card(
        store, Here(), 1, *np.shape(x), words=table.words is not None, features=features, seed=seed, targets=targets
    )
    per_record = card.per_record.insert_column(0, ids.alias("original"))
    return replace(card, per_record=per_record, homogeneous=_homogeneous(table))


def interval_card(
    store: Store,
    engine: Engine,
    pieces: int,
    n: int,
    points: int,
    *,
    words: bool,
    features: Features = "means",
    seed: int = 0,
    targets: int | None = None,
    homogeneous: Mapping[str, tuple[int, int]] | None = None,
) -> IntervalCard:
    """The same for a release in pieces (`Piece.save`) of n series of `points` points each; the table of single records has no ids.

    `words` says whether records are published with patterns, `homogeneous` which carried values classes have in common.
    """
    queries, attacked = asked(n, points, seed=seed), targets_of(n, targets)
    store.put("targets", attacked)
    store.put("asked", queries.records)
    todo = [
        {"store": store.handle, "at": at, "pieces": pieces, "words": words, "features": features, "seed": seed, "n": n}
        for at in range(pieces)
    ]
    published = [int(one["published"]) for one in engine.map(look, todo, "Measuring losses")]
    records = _joined(store, "piece-{}.records", pieces)
    bounds = np.stack([store.get(f"bounds-{at}") for at in range(pieces)])
    store.put("ranges", bounds[:, 1].max(axis=0) - bounds[:, 0].min(axis=0))
    links: dict[str, Links] = {}
    found: dict[str, float] = {}
    options = {}
    if sum(published):
        store.put("asked.x", _joined(store, "asked-{}", pieces)[np.argsort(_joined(store, "asked-{}.records", pieces))])
        engine.map(compare, todo, "Asking queries, linking by values and patterns")
        found = _query_figures(store, queries, pieces, n, words=words)
        links = _linked(store, pieces, published)
        options = {"targets": _in_words(len(attacked), n)}
    values, shapes, penalties = (np.full(n, np.nan) for _ in range(3))
    values[records], shapes[records] = _joined(store, "lost-{}", pieces, axis=1)
    if links:
        penalties[records] = _joined(store, "penalty-{}", pieces)
    kept = ~np.isnan(values)
    totals = [total(parts(loss[kept])) for loss in (values, shapes, penalties)]
    means = [each / max(int(kept.sum()), 1) for each in totals]
    figures = {
        "value_loss": totals[0],
        "value_loss_mean": means[0],
        "ncp": means[2],
        "pattern_loss": totals[1],
        "pattern_loss_mean": means[1],
        "suppressed": float(n - kept.sum()),
        **found,
        **breach_figures({name: link.probability for name, link in links.items()}),
    }
    chances = {f"linked_by_{name}": np.full(n, np.nan) for name in links}
    for chance, link in zip(chances.values(), links.values(), strict=True):
        chance[attacked] = 100 * link.probability
    per_record = pl.DataFrame({"suppressed": ~kept, **chances, "value_loss": values, "pattern_loss": shapes})
    return IntervalCard(figures, per_record, homogeneous or {}, links, options)


def _in_words(targets: int, n: int) -> str:
    if targets == n:
        return "all records"
    return f"a random sample of {targets:,} of {n:,} records, each linked against the whole release; the worst is the worst of these"


def _joined(store: Store, name: str, pieces: int, axis: int = 0) -> AnyArray:
    """An array of all pieces."""
    found = [store.get(name.format(at), whole=True) for at in range(pieces)]
    return found[0] if pieces == 1 else np.concatenate(found, axis=axis)


# -- one piece --------------------------------------------------------------------------------------------------------


def look(task: Task) -> Result:
    """Keep the losses of the records of one piece, the lowest and highest value of each time point, and the series that are asked for."""
    store, at = opened(task["store"]), int(task["at"])
    piece = Piece.load(store, at, words=task["words"])
    lost, published = np.full((2, len(piece.x)), np.nan), piece.published()
    if published.n:
        lost[:, piece.own >= 0] = value_loss(published.lo, published.hi), _shape_loss(published, task["features"])
    store.put(f"lost-{at}", lost)
    store.put(f"bounds-{at}", np.stack([piece.x.min(axis=0, initial=np.inf), piece.x.max(axis=0, initial=-np.inf)]))
    for name in ("asked", "targets"):
        rows = np.flatnonzero(np.isin(piece.records, store.get(name)))
        store.put(f"{name}-{at}", piece.x[rows])
        store.put(f"{name}-{at}.rows", rows)
        store.put(f"{name}-{at}.records", piece.records[rows])
    return {"published": piece.n}


def compare(task: Task) -> Result:
    """Keep the relative widths of one piece, its answers to the queries, and how many of its records fit each target."""
    store, at = opened(task["store"]), int(task["at"])
    piece = Piece.load(store, at, words=task["words"])
    penalty = np.append(certainty_penalty(piece.lo, piece.hi, store.get("ranges", whole=True)), np.nan)
    store.put(f"penalty-{at}", penalty[piece.own])  # the last one for own = -1
    queries = asked(int(task["n"]), piece.x.shape[1], seed=int(task["seed"]))
    values = store.get("asked.x", whole=True)
    store.put(f"answers-{at}", _range_answers(piece, queries, values))
    if piece.letters is not None:
        curves = values[np.searchsorted(queries.records, queries.curves)]
        _keep_nearest(store, at, piece, curves, int(task["n"]))
    fitting = Fitting(piece)
    for other in range(int(task["pieces"])):
        rows = store.get(f"targets-{other}.rows", whole=True)
        own = piece.own[rows] if other == at else np.full(len(rows), -1)
        store.put(f"fits-{at}-{other}", fitting.of(store.get(f"targets-{other}", whole=True), own))
    return {}


def _range_answers(piece: Piece, queries: Asked, values: Array) -> Indices:
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


def _keep_nearest(store: Store, at: int, piece: Piece, curves: Array, n: int) -> None:
    """Keep the records of one piece nearest to each curve, truly (z-normalised) and by what the published words stand for."""
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
    store.put(f"near-{at}", np.array(near))
    store.put(f"found-{at}", np.array(found))


def _nearest(distance: Array, numbers: Array | Indices) -> tuple[Array, Array]:
    """Distances and numbers of the nearest records, the lower number first where two are equally near."""
    rows = np.arange(len(distance))
    if len(distance) > NEAREST:
        rows = np.flatnonzero(distance <= np.partition(distance, NEAREST - 1)[NEAREST - 1])
    order = rows[np.lexsort((numbers[rows], distance[rows]))[:NEAREST]]
    return distance[order], numbers[order].astype(np.float64)


# -- all pieces -------------------------------------------------------------------------------------------------------


def _query_figures(store: Store, queries: Asked, pieces: int, n: int, *, words: bool) -> dict[str, float]:
    """How well the release answers queries, in percent.

    range_error     |estimate - truth| / max(truth, 1 % of the records), mean over range queries
    range_gap       (most - least) / records, mean over the same
    similar_found   share of the records truly nearest to a curve that are found
    """
    truth, least, most, *halves = np.sum([store.get(f"answers-{at}") for at in range(pieces)], axis=0).T
    error = np.abs(exact_total(*halves) - truth) / np.maximum(truth, n / 100)
    figures = {"range_error": 100 * float(error.mean()), "range_gap": 100 * float(((most - least) / n).mean())}
    if words:
        near, found = (_joined(store, name + "-{}", pieces, axis=2) for name in ("near", "found"))
        shares = [
            np.isin(_nearest(*near[curve])[1], _nearest(*found[curve])[1]).mean()
            for curve in range(len(queries.curves))
        ]
        figures["similar_found"] = 100 * float(np.mean(shares))
    return figures


def _linked(store: Store, pieces: int, published: list[int]) -> dict[str, Links]:
    """What the attacks conclude for each target, in the order of the original."""
    before = np.cumsum([0, *published[:-1]])
    found, own = [], []
    for other in range(pieces):
        found.append(merged_fits((store.get(f"fits-{at}-{other}") for at in range(pieces)), before.tolist()))
        row = store.get(f"piece-{other}.own")[store.get(f"targets-{other}.rows")]
        own.append(np.where(row >= 0, row + before[other], -1))
    order = np.argsort(_joined(store, "targets-{}.records", pieces))
    return links_of(np.concatenate(found, axis=2)[:, :, order], np.concatenate(own)[order], sum(published))


def breach_figures(chances: Mapping[str, Array]) -> dict[str, float]:
    """Of each attack the highest chance of finding a target's record, and the mean over all targets, in percent.

    Examples
    --------
    >>> breach_figures({"values": np.array([0.25, 0.0])})
    {'breach_values': 25.0, 'breach_values_mean': 12.5}
    """
    figures = {}
    for name, chance in chances.items():
        figures[f"breach_{name}"] = 100 * float(chance.max())
        figures[f"breach_{name}_mean"] = 100 * total(parts(chance)) / len(chance)
    return figures


def _homogeneous(table: IntervalTable) -> dict[str, tuple[int, int]]:
    classes = classes_of(table)[1]
    found = {}
    for name in table.others.columns:
        same = homogeneous(classes, table.others[name])
        found[name] = (len(np.unique(classes[same])), int(same.sum()))
    return found
