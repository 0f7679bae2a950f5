"""Records that hold labels, as measures and attacks see them: whole records, numbers and labels together.

Measures and attacks of numbers look at series or attributes (`attack.pieces.measurable`). Those of labels look at files of all columns, which
lie in a part of the store, so that nothing of them is taken for numbers by mistake. A label is a code, as in the data set, and a released one may also be a
node that stands above several labels (`representative = "generalise"`). There is one rule for such a node:

    distance    the height of the lowest common ancestor over the height of the tree, as for any two nodes: '*' is at 1 from every label
    agreement   it agrees with every label that it stands above
    counting    it counts as an equal share of each label below it

An empty cell (local suppression) is such a node above all labels. An order has none above it, so where its cells may be empty it counts as nominal: what was not emptied is published as it was.

A *feature* is what weighs as one column: a column, or a whole series.

Examples
--------
>>> import numpy as np
>>> from tsveil.data.categories import Categories
>>> block = Columns("keys", ("home", "car"), categories=(Categories("nominal", ("flat", "house")), Categories("ordinal", ("none", "one"))))
>>> [(one.name, one.columns, one.categories.kind) for one in features([block])]
[('home', range(0, 1), 'nominal'), ('car', range(1, 2), 'ordinal')]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec
import numpy as np
import polars as pl

from tsveil.attack.files import own_rows, persons_of
from tsveil.attack.pieces import Columns, Pieces
from tsveil.core.errors import Problems, some
from tsveil.core.types import Array, Indices
from tsveil.data.align import Truth
from tsveil.data.categories import Categories
from tsveil.data.dataset import Block, Dataset
from tsveil.data.store import Store

#: the part of a store in which files with labels lie
PART = "labels"


@dataclass(frozen=True)
class LabelFeature:
    """A column, or a series."""

    name: str
    #: its places among the columns of the records
    columns: range
    in_time: bool
    #: None: numbers
    categories: Categories | None


def features(blocks: Sequence[Columns]) -> list[LabelFeature]:
    """The features of some blocks, in their order."""
    found, at = [], 0
    for block in blocks:
        if block.times is not None:
            own = None if block.categories is None else block.categories[0]
            found.append(LabelFeature(block.name, range(at, at + len(block)), True, own))
        else:
            every = block.categories or (None,) * len(block)
            found += [
                LabelFeature(name, range(at + place, at + place + 1), False, own)
                for place, (name, own) in enumerate(zip(block.columns, every, strict=True))
            ]
        at += len(block)
    return found


def has_labels(blocks: Sequence[Block] | Sequence[Columns]) -> bool:
    """Whether some column of these blocks holds labels."""
    return any(block.categories is not None for block in blocks)


def blocks_with_nodes(blocks: Sequence[Block], empty: Collection[str], before: Collection[str]) -> tuple[Block, ...]:
    """The blocks as measures and attacks see them, where published cells of the columns `empty` may be empty, and those of the columns `before` in the original as well."""
    return tuple(
        block
        if block.categories is None or not set(block.columns) & set(empty)
        else replace(
            block,
            categories=tuple(
                _with_node(one, before=name in before) if name in empty else one
                for name, one in zip(block.columns, block.categories, strict=True)
            ),
        )
        for block in blocks
    )


def _with_node(categories: Categories, *, before: bool) -> Categories:
    """Labels with a node above all; what is empty in the original is a label of its own."""
    if before:
        return Categories("nominal", (*categories.labels[: categories.leaves], ""), (), categories.type)
    kind = "nominal" if categories.kind == "ordinal" else categories.kind
    return msgspec.structs.replace(categories, kind=kind, empty=False)


def values_with_nodes(
    values: Array, columns: Sequence[str], labels: Mapping[str, Categories], before: Collection[str], *, published: bool
) -> Array:
    """The values that belong to these blocks: an empty cell has the code of the node above all labels if it is published, else of the label that it is.

    Examples
    --------
    >>> homes = {"home": Categories("nominal", ("flat", "house"), empty=True)}
    >>> codes = np.array([[0.0], [3.0]])
    >>> [values_with_nodes(codes, ["home"], homes, (), published=True).tolist(), values_with_nodes(codes, ["home"], homes, ["home"], published=False).tolist()]
    [[[0.0], [2.0]], [[0.0], [2.0]]]
    """
    found = values
    for at, name in enumerate(columns):
        if name in labels and labels[name].empty:
            own = _with_node(labels[name], before=name in before)
            found = found.copy() if found is values else found
            found[found[:, at] == labels[name].empty_code, at] = own.above_all if published else len(own.labels) - 1
    return found


def columns_with_empty_cells(labels: Mapping[str, Categories]) -> tuple[str, ...]:
    """The columns in which cells may be empty."""
    return tuple(name for name, one in labels.items() if one.empty)


def ways(categories: Categories) -> Indices:
    """For everything that may be published instead of a label, the nodes from the root down to it (`Categories.paths`); '*' is the root itself."""
    if categories.kind == "nominal":
        return np.vstack([categories.paths, [[len(categories.labels)] * 2]])
    return categories.paths


@lru_cache(maxsize=256)
def spans(categories: Categories) -> tuple[Indices, Indices, Indices]:
    """An order of the labels in which each node stands above neighbours: the place of each label, and for each node the first place below it and one after the last.

    Examples
    --------
    >>> place, first, last = spans(Categories("nominal", ("flat", "house")))
    >>> place.tolist(), first.tolist(), last.tolist()
    ([0, 1], [0, 1, 0], [1, 2, 2])
    """
    paths = categories.paths[: categories.leaves]
    place = np.empty(len(paths), dtype=np.int64)
    place[np.lexsort(paths.T[::-1])] = np.arange(len(paths))
    many = len(ways(categories))
    first, last = np.full(many, len(paths)), np.zeros(many, dtype=np.int64)
    for level in range(paths.shape[1]):
        nodes = paths[:, level]
        inside = nodes < many  # the root above an order is never published
        np.minimum.at(first, nodes[inside], place[inside])
        np.maximum.at(last, nodes[inside], place[inside] + 1)
    return place, first, last


def below(categories: Categories) -> Indices:
    """How many labels each node stands above; a label counts itself."""
    paths = categories.paths[: categories.leaves]
    first = np.ones(paths.shape, dtype=np.bool_)
    first[:, 1:] = paths[:, 1:] != paths[:, :-1]
    many = len(ways(categories))
    return np.asarray(np.bincount(paths[first], minlength=many)[:many], dtype=np.int64)


def pieces_with_labels(store: Store, original: Dataset, released: Dataset, truth: Truth = None) -> Pieces:
    """The files of two data sets with all their columns, as one piece each; the codes of released labels become those of the original ones."""
    problems = Problems("the labels of the two files cannot be compared")
    before = columns_with_empty_cells(original.labels)
    if emptied := {*before, *columns_with_empty_cells(released.labels)}:
        original, released = (
            replace(
                data,
                values=values_with_nodes(data.values, data.columns, data.labels, before, published=data is released),
                blocks=blocks_with_nodes(data.blocks, emptied, before),
            )
            for data in (original, released)
        )
    ours, theirs = original.labels, released.labels
    places = {name: at for at, name in enumerate(released.columns)}
    if absent := [name for name in original.columns if name not in places]:
        problems.add(f"the release has no column {some(absent)}")
        problems.hint(f"columns of the release: {some(released.columns, 20)}")
        problems.raise_if_any()
    if wrong := [name for name in original.columns if (name in ours) != (name in theirs)]:
        problems.add(f"{some(wrong)} holds labels in one file and numbers in the other")
        problems.hint("options: read both files with the same categories")
        problems.raise_if_any()
    a, b = original.values, released.values[:, [places[name] for name in original.columns]].copy()
    for at, name in enumerate(original.columns):
        if name not in ours:
            continue
        codes = _recoded(b[:, at], theirs[name], ours[name])
        if (lost := np.isnan(codes) & ~np.isnan(b[:, at])).any():
            unknown = sorted(set(theirs[name].texts(b[lost, at]).to_list()))
            problems.add(f"column {name!r} of the release has labels that the original cannot have: {some(unknown)}")
        b[:, at] = codes
    problems.raise_if_any()
    for table, side in ((a, "the original"), (b, "the release")):
        if empty := [name for name, column in zip(original.columns, table.T, strict=True) if np.isnan(column).any()]:
            problems.add(f"{side} has missing values in {some(empty)}")
            problems.hint("options: read the data with missing='drop'")
    problems.raise_if_any()
    own = own_rows(original, released, truth)
    store.put("original-0", np.ascontiguousarray(a.T))
    store.put("released-0", np.ascontiguousarray(b.T))
    aligned = len(a) == len(b) and np.array_equal(own, np.arange(len(own)))
    if not aligned:
        store.put("own", own)
    files = Pieces(tuple(map(Columns.of_any, original.blocks)), (len(a),), (len(b),), aligned=aligned)
    persons = persons_of(original)
    if persons is None:
        return files
    store.put("persons", persons)
    return files.of_persons(store)


def _recoded(codes: Array, theirs: Categories, ours: Categories) -> Array:
    """The codes that labels have among those of another list; NaN where they are none of it."""
    if theirs.labels == ours.labels and theirs.kind == ours.kind:
        return codes
    absent = np.isnan(codes)
    found = ours.codes(pl.Series(theirs.shown, dtype=pl.String))[np.where(absent, 0, codes).astype(np.int64)]
    return np.asarray(np.where(absent, np.nan, found))


def labelled(blocks: Sequence[Columns]) -> list[LabelFeature]:
    """The features that hold labels."""
    return [one for one in features(blocks) if one.categories is not None]
