"""Linkage by agreements of records with labels: each original record is linked to the released one whose agreements weigh most.

A nominal label, an ordinal, or a label of a hierarchy agrees with the published one if both are equal, or if what is published stands above it: '*' agrees with
every label, a region with every town in it. Numbers beside them agree where the released value is the nearest one. From then on it is the linkage by
probability (`tsveil.attack.probabilistic`), or by conditional probability (`tsveil.attack.conditional`): Fellegi and Sunter's model [1]_ by EM, with agreements
by themselves, or along a Chow-Liu tree [2]_.

At most 12 columns are taken, and series are left out: an agreement at one point of a series says next to nothing. Linkage by distance looks at these (`tsveil.attack.mixed`).

References
----------
.. [1] I. P. Fellegi, A. B. Sunter, A theory for record linkage, JASA 64 (1969).
.. [2] C. K. Chow, C. N. Liu, Approximating discrete probability distributions with dependence trees, IEEE Transactions on Information Theory 14 (1968).

Examples
--------
>>> import polars as pl, tsveil as tv
>>> homes = pl.DataFrame({"home": ["flat", "house", "flat", "villa"], "car": ["no", "no", "yes", "yes"]})
>>> data = tv.Dataset.from_frame(homes, categories={"home": "nominal", "car": "nominal"})
>>> LabelProbabilistic().links(data, data).rate
100.0
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.agreement import CELLS, ROWS, OwnWithWeight, Table, keep_labels, plain_model
from tsveil.attack.agreement_trees import conditional_model
from tsveil.attack.base import UNAIDED, Column, Knowledge, Situation, Trial
from tsveil.attack.by_agreement import KEPT, LOOK, SAMPLE, WeighsAgreements
from tsveil.attack.files import HasData
from tsveil.attack.labels import features, spans
from tsveil.attack.links import Links
from tsveil.attack.pieces import Pieces, Targets
from tsveil.attack.whole_records import links_of_whole_records
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Result, Task
from tsveil.engine.local import map_chunks


@dataclass(frozen=True, kw_only=True)
class ByLabels(WeighsAgreements):
    """Base of both."""

    of_series: ClassVar[bool | None] = None
    of_labels: ClassVar[bool] = True

    def links(self, original: Dataset, released: Dataset | HasData, **given: Any) -> Links:
        """With all columns known that are no series."""
        return links_of_whole_records(self, original, released, ties="first", **given)

    def knowledge(self, files: Pieces) -> Knowledge:
        """All columns that are no series, from the first to all; nothing where none of them has labels."""
        every = features(files.blocks)
        places = [one.columns.start for one in every if not one.in_time]
        if not any(one.categories is not None for one in every if not one.in_time):
            places = []
        return Knowledge(places, range(1, len(places) + 1), [places] if places else [], [1] if places else [])

    def of_column(self, column: Column) -> Result:
        """Numbers have labels that are equal where values agree."""
        one = next(one for one in features(column.files.blocks) if column.at in one.columns)
        if one.categories is None:
            keep_labels(column)
        return {}

    def plan(self, situation: Situation) -> list[Trial]:
        """All patterns are gone through for each table of targets, and then those of each target."""
        most = max(situation.counts)
        compared = LOOK * (situation.distinct * 4**most / CELLS + 2**most) + UNAIDED * situation.distinct
        targets = situation.affordable(compared, SAMPLE)
        stored = situation.records(targets) << most <= KEPT
        return [Trial(targets, {"stored": stored, "agreements": f"agreements-labels-{targets}"})]

    @abstractmethod
    def weights(self, counts: Indices, targets: int, released: int) -> tuple[Array, str | None]:
        """Of each pattern."""

    def _table(self, targets: Targets, task: Task, *, counted: bool) -> Table:
        store = targets.store if task["stored"] else None
        return Nodes(targets, task["columns"], name=f"{task['agreements']}-{task['at']}", store=store, counted=counted)


@dataclass(frozen=True, kw_only=True)
class LabelProbabilistic(ByLabels):
    """Linkage to the released record whose agreements weigh most, each by itself, labels counted."""

    name: ClassVar[str] = "labels-probabilistic"
    figure: ClassVar[str] = "LPLD"
    plain: ClassVar[str] = "linkage by probability, with labels"
    summary: ClassVar[str] = (
        "Share linked right by which labels and values agree, weighed by how much each agreement tells."
    )
    reference: ClassVar[str] = "Fellegi and Sunter 1969"

    def weights(self, counts: Indices, targets: int, released: int) -> tuple[Array, str | None]:
        """Those of the model of independent agreements."""
        return plain_model(counts).weights, None


@dataclass(frozen=True, kw_only=True)
class LabelConditional(ByLabels):
    """Linkage to the released record whose agreements weigh most, with the dependences between them, labels counted."""

    name: ClassVar[str] = "labels-conditional"
    figure: ClassVar[str] = "LCPLD"
    plain: ClassVar[str] = "linkage by conditional probability, with labels"
    summary: ClassVar[str] = "The same, weighed by how much each agreement tells where another one is known."
    reference: ClassVar[str] = "Nin 2008; Chow and Liu 1968"

    def weights(self, counts: Indices, targets: int, released: int) -> tuple[Array, str | None]:
        """Those of the model of trees."""
        model = conditional_model(counts, targets, released)
        return (
            model.weights,
            None if model.settled else f"{self.plain} was stopped after {len(model.likelihoods)} steps of EM",
        )


class Nodes(Table):
    """Columns agree where the published node is the label or stands above it: where the label's place is inside the node's span (`attack.labels.spans`)."""

    def __init__(self, targets: Targets, columns: Sequence[int], **kept: Any) -> None:
        super().__init__(targets, columns, **kept)
        self.features = {at: one for one in features(targets.files.blocks) for at in one.columns}

    def known(self, low: int, high: int) -> Indices:
        """The places of the targets' labels, records by columns."""
        targets, found = self.targets, []
        rows = targets.rows[low:high]
        values = targets.files.rows(targets.store, "original", rows, list(self.places))
        for number, at in enumerate(self.places):
            categories = self.features[at].categories
            if categories is None:
                found.append(np.asarray(targets.store.get(f"labels-original-{at}")[rows], dtype=np.int64))
            else:
                found.append(spans(categories)[0][values[:, number].astype(np.int64)])
        return np.stack(found, axis=1)

    def published(self, rows: Indices) -> tuple[Indices, Indices]:
        """The spans of some released records, columns by records: the first place, and one after the last."""
        targets, found = self.targets, []
        values = targets.files.rows(targets.store, "released", rows, list(self.places))
        for number, at in enumerate(self.places):
            categories = self.features[at].categories
            if categories is None:
                label = np.asarray(targets.store.get(f"labels-released-{at}")[rows], dtype=np.int64)
                found.append((label, label + 1))
            else:
                _, first, last = spans(categories)
                code = values[:, number].astype(np.int64)
                found.append((first[code], last[code]))
        low, high = (np.stack([one[side] for one in found]) for side in (0, 1))
        return low, high

    def count_patterns(self, low: int, high: int) -> AnyArray:
        """Counted pair by pair, some distinct rows at a time."""
        ours = self.known(low, high)
        table: AnyArray = np.zeros((high - low, 1 << self.columns), dtype=np.int32)
        for begin in range(0, len(self.first), ROWS):
            first, last = self.published(self.first[begin : begin + ROWS])
            count = partial(_counts, ours, first, last, self.copies[begin : begin + ROWS])
            table += np.concatenate(map_chunks(count, high - low, 256))
        return table

    def own_with_weight(
        self, low: int, high: int, rows: Indices, first: Indices, last: Indices, counts: Indices, weights: Array
    ) -> OwnWithWeight:
        """By the spans of the released records."""
        from tsveil._kernels.agreement import own_with_weight_in_spans

        ours, (begins, ends) = self.known(low, high), self.published(rows)
        return lambda i, j, best: own_with_weight_in_spans(
            ours[i:j], begins, ends, first[i:j], last[i:j], counts, weights, best
        )

    def searching(self, low: int, high: int, rows: Indices, columns: int) -> Callable[[int, Indices, Indices], None]:
        """From the first of the released records on."""
        from tsveil._kernels.agreement import first_with_pattern_in_spans

        ours, (begins, ends) = self.known(low, high), self.published(rows)
        return lambda pattern, chosen, place: first_with_pattern_in_spans(
            ours, begins, ends, pattern, columns, chosen, place
        )


def _counts(known: Indices, first: Indices, last: Indices, copies: Indices, begin: int, end: int) -> AnyArray:
    from tsveil._kernels.agreement import pattern_counts_in_spans

    return pattern_counts_in_spans(known[begin:end], first, last, copies)
