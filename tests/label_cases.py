"""Records with labels, and what might be published of them: few values, so that there are ties; nodes above labels; unused labels; series of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import tsveil as tv

WORDS = ["a", "b", "c", "1", "1.0"]
#: unbalanced, with a node that has one child, and labels that no record has; of height 4, so that shares of it are exact
TREE: dict[str, list[str]] = {
    "u": ["x", "p", "o", "*"], "v": ["x", "p", "o", "*"], "w": ["y", "p", "o", "*"], "short": ["*"], "s": ["q", "*"], "never": ["q", "*"],
}  # fmt: skip
KINDS: list[Any] = [
    "number",
    ("nominal", WORDS),
    ("ordinal", ["none", "low", "mid", "high", "top"]),
    ("hierarchy", TREE),
    ("nominal", ["one"]),
]
SEEN = {"nominal": WORDS[:4], "ordinal": ["low", "high", "top"], "hierarchy": ["u", "v", "w", "short", "s"]}
#: what may be published beside the labels themselves
ABOVE = {"nominal": ["*"], "ordinal": ["none"], "hierarchy": ["*", "p", "x", "q", "never"]}


@dataclass(frozen=True)
class Case:
    """Kinds of columns, the columns of each feature, and both files as values and texts."""

    kinds: list[Any]
    features: list[list[int]]
    before: list[list[Any]]
    after: list[list[Any]]

    @property
    def original(self) -> tv.Dataset:
        """The original as a data set, a block for each feature."""
        names = [f"c{at}" for at in range(len(self.kinds))]
        frame = pl.DataFrame({name: [row[at] for row in self.before] for at, name in enumerate(names)})
        blocks: dict[str, Any] = {}
        categories, times = {}, {}
        for columns in self.features:
            name = f"f{columns[0]}"
            blocks[name] = {
                "columns": [names[c] for c in columns],
                "kind": "series" if len(columns) > 1 else "attributes",
            }
            times[name] = list(range(len(columns))) if len(columns) > 1 else None
            if self.kinds[columns[0]] != "number":
                categories[name] = spec(self.kinds[columns[0]])
        return tv.Dataset.from_frame(
            frame, blocks={name: own["columns"] for name, own in blocks.items()}, categories=categories, times=times
        )

    @property
    def released(self) -> tv.Dataset:
        """What is published, row by row."""
        original = self.original
        columns = [pl.Series([row[at] for row in self.after]) for at in range(len(self.kinds))]
        labels = original.labels
        codes = [
            labels[name].codes(column) if name in labels else column.cast(pl.Float64).to_numpy()
            for name, column in zip(original.columns, columns, strict=True)
        ]
        return original.with_values(np.column_stack(codes))

    @property
    def label_features(self) -> list[tuple[Any, list[int]]]:
        """The features with labels, each with its kind."""
        return [(self.kinds[own[0]], own) for own in self.features if self.kinds[own[0]] != "number"]


def spec(kind: Any) -> Any:
    """What a caller says of a column."""
    name, labels = kind
    return {"nominal": {"kind": "nominal", "order": labels}, "ordinal": labels, "hierarchy": {"hierarchy": labels}}[
        name
    ]


@st.composite
def label_cases(draw: st.DrawFn, most: int = 12, longest: int = 7) -> Case:
    """Records with at least one feature of labels; a feature of several columns is a series."""
    chosen = [draw(st.sampled_from(KINDS[1:])), *draw(st.lists(st.sampled_from(KINDS), max_size=3))]
    n = draw(st.integers(2, most))
    kinds: list[Any] = []
    features: list[list[int]] = []
    for kind in chosen:
        points = draw(st.sampled_from([1, 1, 2, longest]))
        features.append(list(range(len(kinds), len(kinds) + points)))
        kinds += [kind] * points
    number = st.integers(0, 3).map(float)
    seen = [number if k == "number" else st.sampled_from(SEEN[k[0]] if len(k[1]) > 1 else k[1]) for k in kinds]
    shown = [
        number
        if k == "number"
        else st.sampled_from([*(SEEN[k[0]] if len(k[1]) > 1 else k[1]), *ABOVE[k[0]]])
        if len(k[1]) > 1 or k[0] == "nominal"
        else cell
        for k, cell in zip(kinds, seen, strict=True)
    ]
    before = [[draw(cell) for cell in seen] for _ in range(n)]
    after = [[draw(cell) for cell in (shown if draw(st.booleans()) else seen)] for _ in range(n)]
    return Case(kinds, features, before, after)
