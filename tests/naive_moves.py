"""Slow, obvious versions of how likely values move where they trade places, and of linkage by likely moves."""

from __future__ import annotations

import math

import numpy as np

from tsveil._kernels.moves import PARTS, SCALE
from tsveil.attack.moves import moves_of
from tsveil.core.types import Array

#: the first and the last block of ranks of a value
Blocks = tuple[int, int]


def blocks_of(value: float, column: list[float]) -> Blocks:
    """Those of the ranks that a value has in a column; one that is not there has those of the next higher value, or of the highest."""
    if value not in column:
        value = min((other for other in column if other > value), default=max(column))
    ranks = [rank for rank, other in enumerate(sorted(column)) if other == value]
    size = min(len(column), 512)
    return ranks[0] * size // len(column), ranks[-1] * size // len(column)


class Slow:
    """The weights of all pairs of blocks, and what follows from them for the records of two files."""

    def __init__(self, released: Array, method: str | None) -> None:
        sums = moves_of(method, len(released)).sums
        self.weights = np.diff(np.diff(sums, axis=0), axis=1).tolist()
        self.columns = released.T.tolist()

    def blocks(self, row: Array) -> list[Blocks]:
        """The blocks of the values of a record."""
        return [blocks_of(value, column) for value, column in zip(row.tolist(), self.columns, strict=True)]

    def evidence(self, one: list[Blocks], two: list[Blocks]) -> int:
        """The sum over columns of the logarithm of the mean weight of all pairs of blocks, in fixed point."""
        total = 0
        for (i, j), (k, m) in zip(one, two, strict=True):
            each = [self.weights[x][y] for x in range(i, j + 1) for y in range(k, m + 1)]
            total += round(SCALE * math.log(sum(each) / (PARTS * len(each))))
        return total


def likeliest(a: Array, b: Array, method: str | None) -> list[list[int]]:
    """For each known record the released rows with the highest score; at most 256 rows are released and 48 columns known."""
    slow = Slow(b, method)
    known, shown = ([slow.blocks(row) for row in table] for table in (a, b))
    crowds = []
    for row in shown:
        # The row itself is left out, once; what is far away is not worth counting.
        others = list(shown)
        others.remove(row)
        logarithms = [slow.evidence(other, row) for other in others]
        near = [math.exp(each / SCALE) for each in logarithms if each > -8 * SCALE]
        crowds.append(round(SCALE * math.log1p(math.fsum(near) / len(b))))
    found = []
    for person in known:
        scores = [slow.evidence(person, row) - crowd for row, crowd in zip(shown, crowds, strict=True)]
        found.append([row for row, score in enumerate(scores) if score == max(scores)])
    return found
