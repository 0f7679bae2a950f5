"""What who knows the size of the noise makes of a release: values in deviations of the noise, and how rare each record is.

Linkage by likelihood has the formulas (`attack.likelihood`); here is what it shares with the assignment of all known persons at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tsveil.attack.base import centre_columns
from tsveil.attack.covariance import WIDEST, Whitening
from tsveil.attack.nearest import by_bytes
from tsveil.core.types import Array

Density = Literal["normal", "kernel", "none"]

#: columns of a block whose covariance is found for the density alone, and records for each of them
NARROW, PER_COLUMN = 128, 4
#: records and columns up to which there are kernels
CROWD, FEW = 2500, 16
#: deviations of the usual squared distance from the mean beyond which a record is no rarer
FARTHEST = 10.0
#: what is added to the number of other records around one: where there are none, this part of one
NOBODY = float(np.exp(-3.0))
#: records that are compared with all others at a time
TOGETHER = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class Noisy(Whitening):
    """What is known of a release with noise: how to measure in deviations of the noise, and how rare a record is."""

    deviations: float
    correlated: bool

    @property
    def factor(self) -> float:
        """The deviation of a published column, in deviations of its noise."""
        return float(np.sqrt(1 + self.deviations**2)) / self.deviations

    def place(self, table: Array) -> Array:
        """Values in deviations of the noise, without its correlations."""
        if self.correlated:
            found = self.whiten(table)
        else:
            unit, deviation = centre_columns(table, self.scales), np.array([scale[3] for scale in self.scales])
            found = np.divide(unit, deviation, out=np.zeros_like(unit), where=deviation > 0)
        found *= self.factor
        return found

    def rare(self, density: Density, table: Array, everybody: Array, counts: Sequence[int]) -> Array:
        """2 log f of one of the densities at some published records, for each number of columns; plus what makes it positive. `everybody` are all placed records (`crowd`)."""
        if density == "normal":
            return self.bell(table, counts)
        if density == "kernel":
            return self.crowd(self.place(table), everybody, counts)
        return np.zeros((len(table), len(counts)))

    def bell(self, table: Array, counts: Sequence[int]) -> Array:
        """2 log f of a normal density f at each record, for each number of columns; plus what makes it positive."""
        squares = np.cumsum(self.whiten(table) ** 2, axis=1)[:, np.array(counts) - 1]
        largest = np.array([count + FARTHEST * np.sqrt(2 * count) for count in counts])
        found: Array = largest - np.minimum(squares, largest)
        return found

    def crowd(self, rows: Array, everybody: Array, counts: Sequence[int]) -> Array:
        """2 log f of a density f that has a bell around each *other* record, at some of all placed records, for each number of columns; plus what makes it positive.

        Sums are made in the order of the values, not in that of the file.
        """
        everybody = everybody[by_bytes(everybody)]
        m = len(everybody)
        found = np.empty((len(rows), len(counts)))
        for start in range(0, len(rows), TOGETHER):
            some = rows[start : start + TOGETHER]
            squares, done = np.zeros((len(some), m)), 0
            for at, count in enumerate(counts):
                for j in range(done, count):
                    squares += (some[:, j, None] - everybody[None, :, j]) ** 2
                done = count
                width = max(1.0, self.factor * (4 / ((count + 2) * m)) ** (1 / (count + 4)))
                others = np.exp(squares * (-0.5 / width**2)).sum(axis=1) - 1
                found[start : start + TOGETHER, at] = np.log(np.maximum(others, 0.0) + NOBODY)
        found -= np.log(NOBODY)
        return 2 * found.clip(min=0.0)


def has_covariance(blocks: Sequence[Sequence[int]], correlated: bool) -> bool:
    """Whether the covariances of blocks are found."""
    return max(map(len, blocks)) <= (WIDEST if correlated else NARROW)


def densities(blocks: Sequence[Sequence[int]], records: int, correlated: bool) -> list[Density]:
    """The densities that a release of `records` records allows to estimate; `blocks` has the known columns of each block.

    Examples
    --------
    >>> densities([range(4)], 1000, False), densities([range(24)], 10**5, False), densities([range(300)], 500, False)
    (['normal', 'kernel'], ['normal'], ['none'])
    """
    found: list[Density] = []
    if has_covariance(blocks, correlated) and records >= PER_COLUMN * max(map(len, blocks)):
        found.append("normal")
    if records <= CROWD and sum(map(len, blocks)) <= FEW:
        found.append("kernel")
    return found or ["none"]
