"""Files whose records have gaps (`missing="mask"`): what attacks and measures need to know of them.

An original value whose point is published empty, or whose record is not published at all, counts as the mean of its column. In the store of the two files

    gaps.mean       the mean of each original column over the records that have a value
    gaps.scale      its standard deviation; of a series the one of all its points
    gaps.variance   the variance of the column in units of that scale

All sums are of whole numbers, so no figure depends on the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tsveil.attack.pieces import Pieces
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.dataset import Block
from tsveil.data.store import Store
from tsveil.transform.normalise import exact_sums, exact_total


def with_gaps(store: Store, files: Pieces) -> Pieces:
    """The same files, which know that records have gaps; keeps means and scales in the store.

    Examples
    --------
    >>> from tsveil.attack.pieces import Columns
    >>> from tsveil.data.store import Memory
    >>> store = Memory()
    >>> store.put("original-0", np.array([[1.0, 3.0], [np.nan, 5.0]]))
    >>> store.put("released-0", np.array([[2.0, 2.0], [np.nan, np.nan]]))
    >>> files = with_gaps(store, Pieces((Columns("x", ("a", "b")),), (2,), (2,)))
    >>> files.values, files.lacking, store.get("gaps.mean").tolist()
    (3, 1, [2.0, 5.0])
    """
    pieces = range(len(files.original))
    width = len(files.columns)
    low, high, count = np.full(width, np.inf), np.full(width, -np.inf), np.zeros(width, dtype=np.int64)
    for at in pieces:
        x = files.table(store, "original", at)
        there = ~np.isnan(x)
        low = np.minimum(low, np.where(there, x, np.inf).min(axis=0, initial=np.inf))
        high = np.maximum(high, np.where(there, x, -np.inf).max(axis=0, initial=-np.inf))
        count += there.sum(axis=0)
    low, high = np.where(count > 0, low, 0.0), np.where(count > 0, high, 0.0)
    for block in files.series:  # the points of a series have one scale
        own = files.span(block.name)
        low[own], high[own] = low[own].min(), high[own].max()
    span = np.where(high > low, high - low, 1.0)

    def sums(mean: Array | None) -> Array:
        total = np.zeros((2, width), dtype=np.int64)
        for at in pieces:
            unit = (files.table(store, "original", at) - low) / span
            unit = unit if mean is None else np.square(unit - mean)
            total += np.stack([np.ravel(half) for half in exact_sums(np.nan_to_num(unit, nan=0.0), 0)])
        return exact_total(total[0], total[1])

    some = np.maximum(count, 1)
    mean = sums(None) / some
    squares = sums(mean)
    variance = squares / some
    scale = np.sqrt(variance)
    for block in files.series:
        own = files.span(block.name)
        values = float(max(int(count[own].sum()), 1))
        middle = float((mean[own] * count[own]).sum() / values)
        around = float((squares[own] + count[own] * np.square(mean[own] - middle)).sum())
        scale[own] = np.sqrt(around / values)
    scale = np.where(scale > 0, scale, 1.0)
    store.put("gaps.mean", low + span * mean)
    store.put("gaps.scale", span * scale)
    store.put("gaps.variance", variance / np.square(scale))
    lacking = 0
    for at in pieces:
        x, y = _both(store, files, at)
        lacking += int((~np.isnan(x) & np.isnan(y)).sum())
    return msgspec.structs.replace(files, values=int(count.sum()), lacking=lacking)


def pieces_with_gaps(
    store: Store,
    blocks: Sequence[Block],
    original: Array,
    released: Array,
    own: Indices | None,
    persons: Indices | None,
) -> Pieces:
    """Two tables in memory as files that know gaps; a released row without any value is a suppressed record, and no row of the release."""
    own = np.arange(len(original)) if own is None else own
    shown = ~np.isnan(released).all(axis=1)
    place = np.where(shown, np.cumsum(shown) - 1, -1)
    own = np.where(own >= 0, place[own], -1)
    return with_gaps(store, Pieces.of(store, blocks, original, released[shown], own, persons))


def _both(store: Store, files: Pieces, at: int) -> tuple[Array, Array]:
    """The records of a piece before and after; not published: no value."""
    x = files.table(store, "original", at)
    own = files.own(store, np.arange(*files.range("original", at)))
    y = np.full(x.shape, np.nan)
    y[own >= 0] = files.rows(store, "released", own[own >= 0])
    return x, y


def compared(store: Store, files: Pieces, at: int) -> tuple[Array, Array, Indices]:
    """All records of a piece before and after, and their places: the gaps of the original are in both, any other empty point is the mean of its column."""
    x, y = _both(store, files, at)
    y = np.where(np.isnan(y), store.get("gaps.mean"), y)
    return x, np.where(np.isnan(x), np.nan, y), np.arange(len(x))


def present(store: Store, files: Pieces, column: int) -> tuple[Array, Array, Mask]:
    """A column before and after, for the records that have a value in it, and which records these are."""
    pairs = [compared(store, files, at)[:2] for at in range(len(files.original))]
    x, y = (np.concatenate([pair[side][:, column] for pair in pairs]) for side in (0, 1))
    there = ~np.isnan(x)
    return x[there], y[there], there


def in_words(files: Pieces) -> str:
    """The share of values that count as the mean of their column.

    Examples
    --------
    >>> in_words(Pieces((), (), (), values=200, lacking=3))
    '1.5 % of the original values are published as an empty cell or not at all, and count as the mean of their column'
    """
    share = 100 * files.lacking / max(files.values, 1)
    return f"{share:.1f} % of the original values are published as an empty cell or not at all, and count as the mean of their column"
