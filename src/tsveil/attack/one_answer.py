"""Linkage of all records of a person at once: one answer, the class of equal published rows of which the largest part is probably that person's.

Where persons have several records any row of the person is a right link. Who knows them all need not say of each where it went: a class that surely holds some of them is
better than one that may hold any single one, and a small class is better than a large one. With the squared distance d(r, g) of record r from class g, which has n_g rows,

    p(r, g) = exp(-d(r, g) / 2w) / sum_h exp(-d(r, h) / 2w)        the chance that record r is in class g
    answer  = the class g with the largest sum_r p(r, g) / n_g     the expected share of the person in it

Values are on the scale of the published file, one for each attribute and one for all points of a series. The width w is the mean squared distance of the person's records from the
nearest class, over the number of columns: nobody else has to be known.

References
----------
None: it follows from how links of persons with several records count (docs/decisions/0014-persons.md).

Examples
--------
>>> import numpy as np, tsveil as tv
>>> rng = np.random.default_rng(1)
>>> persons = np.repeat(np.arange(60), 4)
>>> x = rng.normal(size=(60, 5))[persons] + 0.5 * rng.normal(size=(240, 5))
>>> data = tv.Dataset.from_arrays({"load": x}, persons=[str(person) for person in persons])
>>> card = tv.evaluate(data, tv.MDAV(k=3).protect(data))
>>> card["OALD"] > card["EULD"]
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from tsveil.attack.base import UNAIDED, Attack, Rung, Shape, Situation, Traces, Trial
from tsveil.attack.candidates import Found
from tsveil.attack.joint import both_files, check_size
from tsveil.attack.nearest import by_bytes, distinct_rows
from tsveil.attack.pieces import Pieces, Targets
from tsveil.core.types import Array, Indices
from tsveil.engine.base import Task
from tsveil.transform.normalise import ruler_of


@dataclass(frozen=True, kw_only=True)
class OneAnswer(Attack):
    """Linkage of all records of a person to one class."""

    name: ClassVar[str] = "one_answer"
    figure: ClassVar[str] = "OALD"
    plain: ClassVar[str] = "linkage of all records of a person at once"
    summary: ClassVar[str] = (
        "Share found by who gives one answer for all records of a person: the published rows of which the largest part is probably that person's."
    )
    reference: ClassVar[str] = "none, follows from how links of persons count"
    rung: ClassVar[Rung] = Rung.PERSON
    of_series: ClassVar[bool | None] = None
    usual: ClassVar[bool] = False

    @classmethod
    def fit(cls, release: Shape, traces: Traces) -> Self | None:
        """Where persons may have several records."""
        return cls() if release.persons else None

    def plan(self, situation: Situation) -> list[Trial]:
        """One task, because the records of a person may be in several pieces."""
        check_size(self, situation)
        targets = situation.affordable(situation.distinct * UNAIDED * len(situation.counts))
        return [Trial(targets, {"first": 0, "last": len(situation.files.original)}, tasks=1)]

    def link(self, targets: Targets, task: Task) -> Found:
        """The class that each person is given."""
        files, store = targets.files, targets.store
        known, shown = _on_published_scale(files, task["columns"], *both_files(targets, task["columns"]))
        numbers = files.numbers(store)[: files.m] if files.numbered else np.arange(files.m)
        # Records of a person are taken in the order of their values, so that sums do not depend on that of the file.
        order = by_bytes(known)
        order = order[np.argsort(targets.mine[order], kind="stable")]
        borders = np.flatnonzero(np.diff(targets.mine[order])) + 1
        persons = [order[low:high] for low, high in pairwise([0, *borders.tolist(), len(order)])]
        found = [_answers(known, shown, count, persons, targets.mine, files.owners(store), numbers) for count in task["counts"]]  # fmt: skip
        tied, link, hit = (np.stack(each) for each in zip(*found, strict=True))
        return Found(tied, link, hit)


def _on_published_scale(files: Pieces, columns: Sequence[int], known: Array, shown: Array) -> tuple[Array, Array]:
    """Both files on the scale of the published one: of each attribute, and of all points of a series."""
    known, shown = known.copy(), shown.copy()
    for block in files.blocks:
        span = range(len(files.columns))[files.span(block.name)]
        own = [at for at, column in enumerate(columns) if column in span]
        if own:
            ruler = ruler_of(np.ascontiguousarray(shown[:, own]), "global" if block.is_series else "component")
            known[:, own], shown[:, own] = ruler.measure(known[:, own]), ruler.measure(shown[:, own])
    return known, shown


def _answers(
    known: Array, shown: Array, count: int, persons: Sequence[Indices], mine: Indices, owners: Indices, numbers: Indices
) -> tuple[Indices, Indices, Indices]:
    """For each target how many rows its person's answer has, the lowest of them, and how many are the person's; by the first columns."""
    classes, _, label, sizes = distinct_rows(np.ascontiguousarray(shown[:, :count]) + 0.0)
    lowest = np.full(len(sizes), np.iinfo(np.int64).max)
    np.minimum.at(lowest, label, numbers)
    tied, link, hit = (np.zeros(len(known), dtype=np.int64) for _ in range(3))
    by_owner = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[by_owner], np.arange(int(owners.max(initial=0)) + 2))
    for records in persons:
        away = np.zeros((len(records), len(classes)))
        for j in range(count):
            away += (known[records, j, None] - classes[None, :, j]) ** 2
        least = away.min(axis=1, keepdims=True)
        width = max(float(least.sum()) / (len(records) * count), np.finfo(np.float64).tiny)
        with np.errstate(
            over="ignore"
        ):  # records that are in a class to the bit leave no width: the others are infinitely far
            chance = np.exp(-0.5 * ((away - least) / width))
        chance /= chance.sum(axis=1, keepdims=True)
        share = chance.sum(axis=0) / sizes
        best = share == share.max()
        person = int(mine[records[0]])
        rows = by_owner[starts[person] : starts[person + 1]] if person >= 0 else by_owner[:0]
        tied[records] = sizes[best].sum()
        link[records] = lowest[best].min()
        hit[records] = np.count_nonzero(best[label[rows]])
    return tied, link, hit
