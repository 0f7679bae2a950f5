"""Linkage by a learned profile: persons whose records an intruder knows teach which features of a series stay and which change.

The features are those of `attack.profile`. Of persons who are not attacked, the intruder knows both periods: pairs (a, b) of features, each standardised over its own period. Let

    W = covariance of a - b, plus a tenth of its mean variance on the diagonal          what changes from one period to the other
    B = covariance of (a + b) / 2                                                       what tells persons apart

and the nearest record by (a - b)' M (a - b) is linked, M = W^-1 - (W + B)^-1. This is linear discriminant analysis with two records for each person: in its directions v, those with B v = l W v
and v' W v = 1, M weighs squares by l / (1 + l), so that a direction which does not tell persons apart adds nothing.

The **sizes** of a series (`tsveil.transform.features`) are more than few pairs could teach to weigh. They are compared in the 20 directions D in which published records differ most, each standardised, by

    4 (a - b)' D (0.2 W + 0.8 V)^-1 D' (a - b),      V = 0.7 diag(W) + 0.3 mean(diag(W)) I

with the W of these directions, and both squares are added.

**Nobody is attacked by what was learned from that person.** Persons are divided into five parts by a hash of what is known of them; each part is attacked with a map that was learned from the other four (of at
most 4,096 records), so that everybody is attacked and the order of the records is irrelevant. All records of a person are in one part. It takes 20 known persons. As for `attack.profile`, all known persons
are attacked up to 4 * 10^8 pairs, and a random sample of them among *all* published records above.

References
----------
.. [1] The supervised re-identification of time series in J. Nin's thesis, Contributions to record linkage for disclosure risk assessment, IIIA-CSIC (2008).
.. [2] R. A. Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936) 179-188.

Examples
--------
>>> import tsveil as tv
>>> data = tv.example("load-curves")
>>> tv.attack.profile_learned(data, tv.Noise(sd=0.05).protect(data, seed=1))
Links: linkage by learned profile, 336 attributes known: ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.attack.base import NotMeasuredError, Situation, Trial
from tsveil.attack.candidates import Found, marks
from tsveil.attack.files import HasData
from tsveil.attack.habits import KEPT, LEAST, Habits
from tsveil.attack.links import Links
from tsveil.attack.nearest_columns import nearest_of_targets
from tsveil.attack.pieces import Targets
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task
from tsveil.transform.ordered import inverse_of_triangle, products_of_columns, rows_times

#: parts of the persons, the most records to learn from, and the fewest persons
FOLDS, LESSONS, FEWEST = 5, 4096, 20
#: what is added to the diagonal of W, in shares of its mean variance
SHRINKAGE = 0.1
#: directions in which sizes are compared; how much of W is taken as it is, and of the rest how much of its diagonal; and what their distances are multiplied by
DIRECTIONS, TAKEN, DIAGONAL, WEIGHT = 20, 0.2, 0.7, 2.0
#: what is learned for the features and for the sizes, by the names that the store has it under
PARTS, SIZE_PARTS = ("shift", "factor", "middle", "map"), ("moved", "few")
#: what the names of features with sizes begin with
BOTH = f"{KEPT}.both"


def profile_learned(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    other: Dataset | None = None,
) -> Links:
    """Link persons to released records by habits as `tsveil.attack.profile` does, with what was learned from other persons.

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
    other
        A file of another period with the same identifiers; without it the first part of the originals stands in for one.

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
    return LearnedProfile().links(original, released, known=known, truth=truth, other=other)


@dataclass(frozen=True, kw_only=True)
class LearnedProfile(Habits):
    """Links to the nearest released record by features as others taught to weigh them."""

    name: ClassVar[str] = "profile-learned"
    figure: ClassVar[str] = "PFLL"
    plain: ClassVar[str] = "linkage by learned profile"
    summary: ClassVar[str] = (
        "Share found by who knows a person's values at times that were not published, and has learned from other persons which habits last."
    )
    reference: ClassVar[str] = "tsveil; after Nin 2008 and Fisher 1936"

    def check(self, people: int) -> None:
        """There must be others to learn from."""
        if people < FEWEST:
            raise NotMeasuredError(f"{self.plain}, which takes at least {FEWEST} persons")

    def count(self, targets: Targets, task: Task) -> Result:
        """Also keep the features of everybody who is known in the task's pieces of the original, with their marks, and all sizes."""
        store, everybody = targets.store, self.targets({**task, "border": None})
        at, there = task["at"], len(everybody) > 0
        known = self.known(everybody, task) if there else np.empty((0, 0))
        store.put(f"{KEPT}.sizes-{at}", self._sizes(everybody, task) if there else np.empty((0, 0)))
        store.put(f"{KEPT}.known-{at}", known)
        store.put(f"{KEPT}.rows-{at}", everybody.rows)
        store.put(f"{KEPT}.marks-{at}", marks(known))
        found = super().count(targets, task)
        periods = self.periods(store)
        for piece in self.pieces(targets, task):
            sizes = periods.shown_sizes(store.get(f"distinct-{piece}", whole=True))
            store.put(f"{BOTH}-{piece}", np.hstack([store.get(f"{KEPT}-{piece}"), sizes]))
        return found

    def _sizes(self, targets: Targets, task: Task) -> Array:
        """The sizes of what is known of some records."""
        if task["other"]:
            return np.asarray(targets.store.get(f"{KEPT}.sizes")[self.rows_of(targets)])
        return self.periods(targets.store).known_sizes(targets.values())

    def weigh(self, counted: Sequence[Result], trial: Trial, situation: Situation) -> None:
        """Learn a map for each part of the persons."""
        super().weigh(counted, trial, situation)
        store, files = situation.store, situation.files
        every = {what: [store.get(f"{KEPT}.{what}-{at}") for at in range(len(counted))] for what in ("rows", "marks")}
        rows, marked = (np.concatenate(every[what]) for what in ("rows", "marks"))
        own = files.own(store, rows)
        folds = folds_of(marked[:, 0], files.owners(store)[own] if files.persons else None)
        ends = np.cumsum([0, *map(len, every["rows"])])
        for at in range(len(counted)):
            store.put(f"{KEPT}.folds-{at}", folds[ends[at] : ends[at + 1]])
        published = np.where(own >= 0, store.get("distinct.of_row")[own], -1)
        # Whatever the order of the records, they are learned from in the same one; what stands last tells apart who looks alike in the known period.
        pieces = [np.asarray(store.get(f"{KEPT}-{at}")) for at in range(len(files.released))]
        every_feature = _Rows([np.asarray(store.get(f"{BOTH}-{at}")) for at in range(len(files.released))])
        least = np.concatenate([marks(piece) for piece in pieces])[published, 0]
        order = np.lexsort((least, marked[:, 1], marked[:, 0]))
        order = order[published[order] >= 0]
        known, sizes = (
            _Rows([store.get(f"{KEPT}.{what}-{at}") for at in range(len(counted))]) for what in ("known", "sizes")
        )
        mean, factor = store.get(f"{KEPT}.scale")
        width = len(factor)
        after, unit, directions = directions_of(every_feature.take(published[order[:LESSONS]])[:, width:])
        store.put(f"{KEPT}.unit", np.stack([after, unit]))
        for fold in range(FOLDS):
            lessons = learned_from(folds, order, fold)
            shown = every_feature.take(published[lessons])
            found = learn(known.take(lessons), (shown[:, :width] - mean) * factor, factor)
            of_sizes = learned_sizes(
                _mapped(sizes.take(lessons), after, unit, directions),
                _mapped(shown[:, width:], after, unit, directions),
            )
            of_sizes = of_sizes[0], np.ascontiguousarray(directions @ of_sizes[1])
            for what, value in zip((*PARTS, *SIZE_PARTS), (*found, *of_sizes), strict=True):
                store.put(f"{KEPT}.{what}-{fold}", value)

    def link(self, targets: Targets, task: Task) -> Found:
        """The nearest, part by part."""
        store = targets.store
        mean, scale = (np.array(each) for each in store.get(f"{KEPT}.scale"))
        at = np.searchsorted(store.get(f"{KEPT}.rows-{task['at']}"), targets.rows)
        folds = np.asarray(store.get(f"{KEPT}.folds-{task['at']}"))[at]
        features = self.known(targets, task)
        sizes = np.asarray(store.get(f"{KEPT}.sizes-{task['at']}"))[at]
        after, unit = (np.array(each) for each in store.get(f"{KEPT}.unit"))
        tied, link, hit = (np.zeros((1, len(targets)), dtype=np.int64) for _ in range(3))
        for fold in np.unique(folds):
            chosen = np.flatnonzero(folds == fold)
            shift, factor, middle, directions = (np.array(store.get(f"{KEPT}.{what}-{fold}")) for what in PARTS)
            moved, few = (np.array(store.get(f"{KEPT}.{what}-{fold}")) for what in SIZE_PARTS)
            known = np.hstack(
                [
                    _mapped(features[chosen], shift, factor, directions) + middle,
                    _mapped(sizes[chosen], after, unit, few) - moved,
                ]
            )

            def place(both: Array, by: Array = directions, few: Array = few) -> Array:
                fixed, rest = np.split(both, [len(scale)], axis=1)
                return np.hstack([_mapped(fixed, mean, scale, by), _mapped(rest, after, unit, few)])

            found = nearest_of_targets(
                targets.subset(chosen), known, place, np.ones(known.shape[1]), [known.shape[1]], stem=BOTH
            )
            tied[:, chosen], link[:, chosen], hit[:, chosen] = found.tied, found.link, found.hit
        return Found(tied, link, hit)


class _Rows:
    """The rows of a table in pieces."""

    def __init__(self, pieces: Sequence[Array]) -> None:
        self.pieces = [piece for piece in pieces if len(piece)]
        self.ends = np.cumsum([0, *map(len, self.pieces)])

    def take(self, rows: Indices) -> Array:
        """Some of them, in the order that is asked for."""
        found = np.empty((len(rows), self.pieces[0].shape[1]))
        for piece, start, stop in zip(self.pieces, self.ends, self.ends[1:], strict=False):
            inside = np.flatnonzero((rows >= start) & (rows < stop))
            found[inside] = piece[rows[inside] - start]
        return found


def folds_of(marked: AnyArray, persons: Indices | None = None) -> Indices:
    """The part to which each record belongs, by its mark; all records of a person are in the part of the lowest of theirs.

    Examples
    --------
    >>> folds_of(np.array([7, 15, 21], dtype=np.uint64), np.array([4, 0, 4]))
    array([2, 0, 2])
    """
    if persons is not None:
        least = np.full(persons.max(initial=-1) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(least, persons, marked)
        marked = least[persons]
    found: Indices = (marked % np.uint64(FOLDS)).astype(np.int64)
    return found


def learned_from(folds: Indices, order: Indices, fold: int) -> Indices:
    """The records that a part's map is learned from: the first of all other parts.

    Examples
    --------
    >>> learned_from(np.array([0, 1, 0, 2]), np.array([3, 2, 1, 0]), 0)
    array([3, 1])
    """
    found: Indices = order[folds[order] != fold][:LESSONS]
    return found


def learn(known: Array, shown: Array, counts: Array) -> tuple[Array, Array, Array, Array]:
    """Where known features are moved to and by what they are multiplied, what is added after the map, and the map, from pairs of records.

    `shown` are standardised already, `counts` is zero for features that do not count. Where everybody else looks alike there are no pairs, nothing is learned, and all records are as near.
    """
    if len(known) < 2:
        nothing = np.zeros_like(counts)
        return nothing, nothing, np.zeros(1), nothing[:, None]
    shift = known.mean(axis=0)
    deviation = known.std(axis=0)
    factor = np.zeros_like(shift)
    np.divide(1.0, deviation, out=factor, where=(deviation > LEAST * np.abs(known).max()) & (counts > 0))
    a, b = (known - shift) * factor, shown * (factor > 0)
    middle = b.mean(axis=0)
    b = b - middle
    within, between = (products_of_columns(x) / max(len(x) - 1, 1) for x in (a - b, (a + b) / 2))
    used = max(int((factor > 0).sum()), 1)
    diagonal = np.diag_indices_from(within)
    within[diagonal] += SHRINKAGE * np.trace(within) / used + 1e-9
    weights = _inverse(within) - _inverse(within + between)
    # Fewer persons than features leave directions that weigh nothing, or by rounding less.
    weights[diagonal] += max(1e-9 * float(np.trace(weights)) / used, 1e-12)
    matrix = np.ascontiguousarray(np.linalg.cholesky(weights))
    return shift, factor, middle @ matrix, matrix


def directions_of(shown: Array) -> tuple[Array, Array, Array]:
    """The mean of published sizes, one over their deviation (0: they do not count), and the directions in which records differ most."""
    after, deviation = shown.mean(axis=0), shown.std(axis=0)
    unit = np.zeros_like(after)
    np.divide(1.0, deviation, out=unit, where=deviation > LEAST * np.abs(shown).max())
    found = np.linalg.eigh(products_of_columns((shown - after) * unit))[1][:, ::-1][:, :DIRECTIONS]
    return after, unit, np.ascontiguousarray(found)


def learned_sizes(known: Array, shown: Array) -> tuple[Array, Array]:
    """What is taken off known sizes after the map, and the map, from pairs of records in the directions of all."""
    if len(known) < 2:
        return np.zeros(1), np.zeros((known.shape[1], 1))
    change = known - shown
    shift = change.mean(axis=0)
    within = products_of_columns(change - shift) / len(change)
    spread = np.diag(within)
    rest = DIAGONAL * np.diag(spread) + (1 - DIAGONAL) * spread.mean() * np.eye(len(within))
    values, vectors = np.linalg.eigh(TAKEN * within + (1 - TAKEN) * rest)
    found = WEIGHT * vectors / np.sqrt(np.maximum(values, 1e-12))
    return shift @ found, found


def _mapped(x: Array, shift: Array, factor: Array, matrix: Array) -> Array:
    """Features that are shifted, multiplied and mapped, record by record: equal records give equal bits."""
    return rows_times((x - shift) * factor, matrix)


def _inverse(x: Array) -> Array:
    """That of a positive definite matrix."""
    return products_of_columns(inverse_of_triangle(np.asarray(np.linalg.cholesky(x), dtype=np.float64)))
