"""What is lost of labels: value by value, in tables of one and two columns, and in what a published label says of the true one.

All figures are percentages. They are means over *features*: a column counts as one, and so does a whole series of labels. `tsveil.attack.labels`
says what a published node counts that stands above several labels.

- **LL1, distance**: the mean distance between the original and the published label. Nominal labels: 0 or 1. Ordinals:
  |difference of ranks| / (levels - 1). Hierarchies: height of the lowest common ancestor / height of the tree.
- **LL2, tables of one column**: sum |n(v) - n'(v)| / (2 n), where n(v) records have the label v before and n'(v) after protection: the share of
  the records that would have to change their label so that both tables are equal. Columns that are no series; series have their shares of time (`state-loss`).
- **LL3, tables of two columns**: the same for all pairs of labels of two columns, a mean over all pairs of columns.
- **LL4, uncertainty**: what is left to guess of the true label by who sees the published one,

      sum over records of H(V | V' = v') / (n H(V))

  where H(V | V' = v') is the entropy of the original labels of the records that are published with v' (the observed confusion). 0: the
  published label tells the true one, whatever it is called; 100: it says nothing. A column with one label has nothing to lose.
- **LU, unchanged**: the share of labels that are published as they were, which publishing discloses.

The tables are halved sums, not means over their cells: a mean over cells falls when a label that nobody has is declared, and nothing is gained by that.

References
----------
.. [1] J. Domingo-Ferrer, V. Torra, Disclosure control methods and information loss for microdata, in Confidentiality, Disclosure and
   Data Access, North-Holland (2001) 91-110.

Examples
--------
>>> import tsveil as tv
>>> data = tv.example("households")
>>> card = tv.evaluate(data, data)
>>> card["LL1"], card["LL2"], card["LU"]
(0.0, 0.0, 100.0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from tsveil.attack.labels import LabelFeature, labelled, ways
from tsveil.core.types import Array, Indices
from tsveil.data.categories import Categories
from tsveil.engine.base import Result
from tsveil.measure.base import RECORDS, Chunk, Kind, Meaning, Measure, Schema
from tsveil.measure.label_counts import counted, difference_of_columns, difference_of_pairs, entropy, merged


@dataclass(frozen=True, kw_only=True)
class LabelLoss(Measure):
    """LL1 to LL4 and LU of columns of labels; see the top of this file."""

    name: ClassVar[str] = "label-loss"
    plain: ClassVar[str] = "the loss of labels"
    summary: ClassVar[str] = "how far labels, tables of one and two columns, and what a label tells moved"
    reference: ClassVar[str] = (
        "J. Domingo-Ferrer, V. Torra, Disclosure control methods and information loss for microdata (2001)"
    )
    kinds: ClassVar[tuple[Kind, ...]] = ("categories",)
    loss: ClassVar[str] = "LL1"
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "LL1": Meaning(
            "loss in labels", "%", "How far the published labels are from the original ones; 100 is as far as can be."
        ),
        "LL2": Meaning(
            "loss in tables of one column",
            "%",
            "How much of a table of how many records have each label is wrong when it is counted in the published file.",
        ),
        "LL3": Meaning(
            "loss in tables of two columns",
            "%",
            "The same for tables that cross two columns of labels with each other.",
        ),
        "LL4": Meaning(
            "uncertainty of labels",
            "%",
            "How much of what there is to know of a true label is left to guess for who sees the published one.",
        ),
        "LU": Meaning("labels unchanged", "%", "Share of labels that are published as they were."),
    }

    @classmethod
    def fits(cls, schema: Schema) -> bool:
        """There must be labels."""
        return super().fits(schema) and bool(labelled(schema.files.blocks))

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """How often each label is published as each; and, before and after, how often labels of two columns meet."""
        own = labelled(chunk.schema.files.blocks)
        before, after = (
            table.astype(np.int64) for table in (_codes(chunk.original, own), _codes(chunk.published, own))
        )
        found: Result = {}
        lost, at = np.zeros(len(chunk.places)), 0
        for number, one in enumerate(own):
            x, y = before[:, at : at + len(one.columns)], after[:, at : at + len(one.columns)]
            at += len(one.columns)
            many = len(ways(_categories(one)))
            found[f"confusion {number}"] = counted((x * many + y).ravel(), many * many)
            lost += 100 * distances(_categories(one), x, y).mean(axis=1)
        places = _places(own)
        for (a, one), (b, other) in combinations(places, 2):
            size = len(ways(_categories(other)))
            for side, table in (("before", before), ("after", after)):
                keys = table[:, a] * size + table[:, b]
                found[f"{side} {a} {b}"] = counted(keys, len(ways(_categories(one))) * size)
        return found | {RECORDS: {"loss_of_labels": lost / len(own)}}

    def merge(self, chunks: Sequence[Result]) -> Result:
        """The sums of all tables."""
        return {name: merged(one[name] for one in chunks) for name in chunks[0]}

    def of_series(self, sums: Result, schema: Schema) -> dict[str, dict[str, float]]:
        """The figures of each column, and of each series."""
        return {
            one.name: _of_feature(one, sums[f"confusion {number}"])
            for number, one in enumerate(labelled(schema.files.blocks))
        }

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """The means over the columns."""
        own = labelled(schema.files.blocks)
        each = [_of_feature(one, sums[f"confusion {number}"]) for number, one in enumerate(own)]
        alone = [figures["LL2"] for figures in each if "LL2" in figures]
        pairs = [
            difference_of_pairs(sums[f"before {a} {b}"], sums[f"after {a} {b}"], _categories(one), _categories(other))
            for (a, one), (b, other) in combinations(_places(own), 2)
        ]
        return {
            "LL1": float(np.mean([one["LL1"] for one in each])),
            **({"LL2": float(np.mean(alone))} if alone else {}),
            **({"LL3": float(np.mean(pairs))} if pairs else {}),
            "LL4": float(np.mean([one["LL4"] for one in each])),
            "LU": float(np.mean([one["LU"] for one in each])),
        }


def _categories(one: LabelFeature) -> Categories:
    assert one.categories is not None
    return one.categories


def _codes(values: Array, own: Sequence[LabelFeature]) -> Array:
    """The columns with labels."""
    return values[:, [at for one in own for at in one.columns]]


def _places(own: Sequence[LabelFeature]) -> list[tuple[int, LabelFeature]]:
    """The columns that are no series, with their places among the columns with labels."""
    starts = np.cumsum([0, *(len(one.columns) for one in own)])
    return [(int(start), one) for start, one in zip(starts, own, strict=False) if not one.in_time]


def distances(categories: Categories, x: Indices, y: Indices) -> Array:
    """How far original labels are from published ones, from 0 to 1.

    Examples
    --------
    >>> sizes = Categories("ordinal", ("small", "medium", "large"))
    >>> distances(sizes, np.array([0, 1]), np.array([2, 1])).tolist()
    [1.0, 0.0]
    """
    if categories.kind == "ordinal":
        return np.asarray(np.abs(x - y) / max(categories.leaves - 1, 1))
    paths = ways(categories)
    apart: Array = np.zeros(x.shape)
    for level in range(1, paths.shape[1]):
        apart += paths[x, level] != paths[y, level]
    return np.asarray(apart / (paths.shape[1] - 1))


def _of_feature(one: LabelFeature, confusion: Indices) -> dict[str, float]:
    """The figures of a column or a series, from how often each label is published as each."""
    categories = _categories(one)
    many = len(ways(categories))
    (x, y), counts = np.divmod(confusion[0], many), confusion[1]
    total = int(counts.sum())
    before, after = (merged([np.stack([side, counts])]) for side in (x, y))
    apart = float((counts * distances(categories, x, y)).sum()) / total
    figures = {"LL1": 100 * apart, "LU": 100 * int(counts[x == y].sum()) / total}
    if not one.in_time:
        figures["LL2"] = difference_of_columns(before, after, categories)
    whole = entropy(before[1])
    # H(V | V') = H(V, V') - H(V').
    left = max(entropy(counts) - entropy(after[1]), 0.0)
    figures["LL4"] = 100 * min(left / whole, 1.0) if whole > 0 else 0.0
    return figures
