"""Mixed distances (`attack.mixed_space`): the nearest released rows of known records for several numbers of known features, and tables of all distances."""

from __future__ import annotations

import numpy as np

from tsveil._kernels.compiling import kernel
from tsveil.core.types import AnyArray, Array, Indices

#: released rows whose distances are summed at a time: they stay in the cache
TILE = 1024


@kernel
def add_feature(
    height: int, start: int, stop: int, factor: float, Z: Array, V: AnyArray, i: int, T: Array, U: AnyArray, begin: int, size: int,
    units: AnyArray, found: Array,
) -> None:  # fmt: skip
    """Add the squared distances of a known record from the rows begin..begin + size in one feature, of which the height of the tree is given (0: coordinates).

    A level below 0 is equal to any.
    """
    if height == 0:
        for c in range(start, stop):
            value = Z[i, c]
            row = T[c, begin : begin + size]
            for r in range(size):
                step = row[r] - value
                found[r] += step * step
        return
    for r in range(size):
        units[0, r] = 0
    for point in range(start, stop, height):
        for r in range(size):
            units[1, r] = 0
        for c in range(point, point + height):
            label = V[i, c]
            nodes = U[c, begin : begin + size]
            for r in range(size):
                units[1, r] += np.int32((nodes[r] != label) & (nodes[r] >= 0))
        for r in range(size):
            units[0, r] += units[1, r] * units[1, r]
    for r in range(size):
        found[r] += factor * units[0, r]


@kernel
def nearest_mixed(
    Z: Array, V: AnyArray, T: Array, U: AnyArray, spans: Indices, factors: Array, ends: Indices,
    copies: Indices, first: Indices, owner: Indices, records: Indices, mine: Indices,
    best: Array, tied: Indices, link: Indices, hit: Indices,
) -> None:  # fmt: skip
    """Lower `best` to the least distance of each known record and round, with how many released records have it, the lowest of them, and how many are its person's.

    Z and V are the coordinates and levels of the known records, T and U those of the rows, side by side. A feature is a row of `spans`: the height
    of its tree (0: coordinates), and its first column and one after its last in Z or V. Round t knows the features up to ends[t], -1: none.
    """
    found = np.empty(TILE)
    units = np.empty((2, TILE), np.int32)
    for i in range(Z.shape[0]):
        for begin in range(0, copies.shape[0], TILE):
            size = min(TILE, copies.shape[0] - begin)
            for r in range(size):
                found[r] = 0.0
            for f in range(-1, spans.shape[0]):
                if f >= 0:
                    add_feature(
                        spans[f, 0], spans[f, 1], spans[f, 2], factors[f], Z, V, i, T, U, begin, size, units, found
                    )
                for t in range(ends.shape[0]):
                    if ends[t] != f:
                        continue
                    least = best[i, t]
                    for r in range(size):
                        if found[r] > least:
                            continue
                        u = begin + r
                        if found[r] < least or link[i, t] < 0:
                            least = found[r]
                            tied[i, t], link[i, t], hit[i, t] = 0, first[u], 0
                        tied[i, t] += copies[u]
                        link[i, t] = min(link[i, t], first[u])
                        if owner[u] == mine[i]:
                            hit[i, t] += records[u]
                    best[i, t] = least


@kernel
def mixed_table(Z: Array, V: AnyArray, T: Array, U: AnyArray, spans: Indices, factors: Array, table: Array) -> None:
    """The squared distances of all pairs."""
    units = np.empty((2, TILE), np.int32)
    for i in range(table.shape[0]):
        for begin in range(0, table.shape[1], TILE):
            size = min(TILE, table.shape[1] - begin)
            found = table[i, begin : begin + size]
            for r in range(size):
                found[r] = 0.0
            for f in range(spans.shape[0]):
                add_feature(spans[f, 0], spans[f, 1], spans[f, 2], factors[f], Z, V, i, T, U, begin, size, units, found)
