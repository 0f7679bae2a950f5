"""Records of numbers, series and labels in one space: how far apart two of them are.

    d(x, y)^2 = sum over features c of w_c d_c(x, y)^2 / m_c

A feature is a column; a series is one feature, whose d_c^2 is the sum over its points. d_c is |x - y| for numbers; 0 or 1 for nominal labels;
|difference of ranks| / (levels - 1) for ordinals; for hierarchies the height of the lowest common ancestor over that of the tree, where trees are
padded below short leaves to equal depth. m_c is the mean of d_c^2 over all pairs of originals (2 var for numbers, 1 - sum p^2 for nominal
labels), so that each feature weighs the same; with `spread="gower"` it is the square of the largest d_c of two originals, the range [2]. A
feature without spread is left out.

Numbers and ordinals become coordinates. A nominal label is a tree of height 1; of a tree of height H only the number u of levels below the lowest common
ancestor matters: d_c = u / H, and u is the number of levels at which the ancestors of the two differ. So labels become the numbers of their ancestors, level
by level, and what is summed over the points of a feature is u^2, a whole number.

The space is Euclidean: u^2 is the sum of 2t - 1 over the t-th levels from below, t = 1, 2, ..., at which two labels differ, and two labels differ
at a level if they have the coordinate 1 in different dimensions there. `MixedSpace.embedding` gives these coordinates.

References
----------
.. [1] J. Domingo-Ferrer, V. Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation, DMKD 11 (2005).
.. [2] J. C. Gower, A general coefficient of similarity and some of its properties, Biometrics 27 (1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tsveil.core.randomness import mix
from tsveil.core.types import AnyArray, Array, Indices

Spread = Literal["pairs", "gower"]
#: dimensions that labels may take, however few levels there are
LEAST_ROOM = 128


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a column as far as distances need them."""

    #: whether they have an order
    ordinal: bool
    #: the nodes from the root down to each label (`Categories.paths`); records have the first labels only
    paths: Indices
    #: how many labels records may have
    leaves: int

    @property
    def height(self) -> int:
        """The height of the tree."""
        return int(self.paths.shape[1]) - 1


@dataclass(frozen=True, eq=False)
class Feature:
    """What weighs as one column: a column, or a series; all its points have the same labels, or none."""

    #: the places of its points among the columns of the records
    columns: range
    #: the root of m_c over all originals; 0: it has no spread
    root: float
    labels: Labels | None = None
    weight: float = 1.0
    #: numbers: the least original of each point, from which distances are measured, so that no digits are lost
    low: Array | None = None


def root_of_numbers(deviations: Array, ranges: Array, spread: Spread = "pairs") -> float:
    """The root of m_c for the points of a feature of numbers, from their standard deviations (of a population) and ranges.

    Examples
    --------
    >>> round(root_of_numbers(np.array([1.5]), np.array([4.0])) ** 2, 12), root_of_numbers(np.array([1.5, 1.0]), np.array([3.0, 4.0]), "gower")
    (4.5, 5.0)
    """
    steps = ranges if spread == "gower" else deviations
    largest = float(steps.max())
    if largest <= 0 or not (ranges > 0).any():
        return 0.0
    factor = 1.0 if spread == "gower" else 2.0
    return float(largest * np.sqrt(factor * np.square(steps / largest).sum()))


def root_of_labels(labels: Labels, uses: Sequence[Indices], spread: Spread = "pairs") -> float:
    """The root of m_c for the points of a feature of labels, from how often each label occurs at each point.

    Examples
    --------
    >>> two = Labels(False, np.array([[2, 0], [2, 1]]), 2)
    >>> root_of_labels(two, [np.array([2, 2])]) ** 2
    0.5000000000000001
    """
    return float(np.sqrt(sum(mean_square(labels, counts, spread) for counts in uses)))


def mean_square(labels: Labels, counts: Indices, spread: Spread = "pairs") -> float:
    """m_c for one point of a feature of labels, from how often each label occurs."""
    seen, n = np.flatnonzero(counts), int(counts.sum())
    if labels.ordinal:
        steps = max(labels.leaves - 1, 1)
        if spread == "gower":
            return float((seen[-1] - seen[0]) / steps) ** 2
        ranks = np.arange(len(counts))
        # In whole numbers: n^2 var = n sum x^2 - (sum x)^2.
        squares, total = int((counts * ranks**2).sum()), int((counts * ranks).sum())
        return 2 * (n * squares - total**2) / n**2 / steps**2
    height = labels.height
    # Two records agree at a depth and differ one step below: then u is the number of levels below that depth.
    agree = [
        int(np.square(np.bincount(labels.paths[seen, depth], weights=counts[seen])).sum())
        for depth in range(height + 1)
    ]
    terms = [(((height - t) / height) ** 2, agree[t] - agree[t + 1]) for t in range(height)]
    if spread == "gower":
        return max((square for square, pairs in terms if pairs), default=0.0)
    return sum(square * pairs for square, pairs in terms) / n**2


@dataclass(frozen=True, eq=False)
class MixedSpace:
    """Records as coordinates and as the ancestors of their labels."""

    #: records by coordinates: numbers and ordinals, divided by the root of m_c and multiplied by that of the weight
    coordinates: Array
    #: records by levels: for each point of a nominal or hierarchical feature its ancestors from below the root down to the label
    levels: AnyArray
    #: for each such feature: the first of its levels, its number of points, and the height of its tree
    trees: Indices
    #: what u^2 of each such feature is multiplied by
    factors: Array

    @classmethod
    def of(cls, values: Array, features: Sequence[Feature]) -> MixedSpace:
        """The space of some records; features without spread or weight are left out.

        Examples
        --------
        >>> two = Labels(False, np.array([[2, 0], [2, 1]]), 2)
        >>> space = MixedSpace.of(np.array([[1.0, 0.0], [3.0, 1.0]]), [Feature(range(1), 2.0), Feature(range(1, 2), 0.5, two)])
        >>> space.squared_distances(0).tolist()
        [0.0, 5.0]
        """
        coordinates, levels, trees, factors, at = [], [], list[tuple[int, int, int]](), list[float](), 0
        for feature in features:
            if not in_use(feature):
                continue
            own, labels = values[:, feature.columns.start : feature.columns.stop], feature.labels
            if labels is None:
                own = own if feature.low is None else own - feature.low
                coordinates.append(own / feature.root * np.sqrt(feature.weight))
                continue
            if labels.ordinal:
                coordinates.append(own * step_of(feature))
                continue
            levels.append(labels.paths[own.astype(np.int64)][:, :, 1:].reshape(len(values), -1))
            trees.append((at, own.shape[1], labels.height))
            factors.append(feature.weight / (feature.root * labels.height) ** 2)
            at += own.shape[1] * labels.height
        nothing: Array = np.empty((len(values), 0))
        return cls(
            np.ascontiguousarray(np.hstack([nothing, *coordinates])),
            np.ascontiguousarray(np.hstack([nothing.astype(np.int32), *levels]).astype(np.int32)),
            np.array(trees, dtype=np.int64).reshape(-1, 3),
            np.array(factors, dtype=np.float64),
        )

    def take(self, rows: Indices) -> MixedSpace:
        """Some of the records."""
        return MixedSpace(self.coordinates[rows], self.levels[rows], self.trees, self.factors)

    def squared_distances(self, record: int) -> Array:
        """The squared distances of all records from one of them: coordinates in their order, then features of labels in theirs."""
        total = np.zeros(len(self.coordinates))
        for column in range(self.coordinates.shape[1]):
            total += np.square(self.coordinates[:, column] - self.coordinates[record, column])
        for (start, points, height), factor in zip(self.trees.tolist(), self.factors.tolist(), strict=True):
            own = self.levels[:, start : start + points * height]
            differ = (own != own[record]).reshape(len(own), points, height).sum(axis=2)
            total += factor * np.square(differ).sum(axis=1)
        return total

    def embedding(self, nodes: Sequence[Indices]) -> Array:
        """Coordinates in which the Euclidean distance is that of the space: a dimension for each of these nodes of each level.

        `nodes` has those of each level that occur. Where this would take many more dimensions than there are levels, each node stands for a sum of random
        directions instead, and distances are about right (within a fifth, mostly).

        Examples
        --------
        >>> three = Labels(False, np.array([[3, 0], [3, 1], [3, 2]]), 3)
        >>> space = MixedSpace.of(np.array([[0.0], [1.0], [2.0]]), [Feature(range(1), 1.0, three)])
        >>> Z = space.embedding([np.arange(3)])
        >>> np.square(Z - Z[0]).sum(axis=1).round(12).tolist()
        [0.0, 1.0, 1.0]
        """
        found = [self.coordinates]
        exact = sum(map(len, nodes)) <= max(LEAST_ROOM, self.levels.shape[1])
        room = max(LEAST_ROOM // 2, self.levels.shape[1])
        spared = None if exact else np.zeros((len(self.levels), room))
        for (start, points, height), factor in zip(self.trees.tolist(), self.factors.tolist(), strict=True):
            for at in range(start, start + points * height):
                t = height - (at - start) % height
                half, own = factor * (2 * t - 1) / 2, nodes[at]
                if len(own) < 2:
                    continue
                if spared is not None:
                    spared += (np.sqrt(half / room) * _directions(at, int(own.max()) + 1, room))[self.levels[:, at]]
                elif len(own) == 2:  # one dimension does for two nodes
                    found.append(np.sqrt(2 * half) * (self.levels[:, [at]] == own[:1]))
                else:
                    found.append(np.sqrt(half) * (self.levels[:, [at]] == own))
        if spared is not None:
            found.append(spared)
        return np.ascontiguousarray(np.hstack(found), dtype=np.float64)

    def spread_within(self, groups: Indices) -> float:
        """The squared distances of all pairs in each group over twice its size, summed: for numbers the sum of squared errors."""
        many = int(groups.max()) + 1
        sizes = np.bincount(groups, minlength=many)
        total = 0.0
        for column in self.coordinates.T:
            means = np.bincount(groups, column, many) / np.maximum(sizes, 1)
            total += float(np.square(column - means[groups]).sum())
        for (start, points, height), factor in zip(self.trees.tolist(), self.factors.tolist(), strict=True):
            for at in range(start, start + points * height):
                t = height - (at - start) % height
                pairs, counts = np.unique(
                    groups * (int(self.levels[:, at].max()) + 1) + self.levels[:, at], return_counts=True
                )
                same = np.bincount(pairs // (int(self.levels[:, at].max()) + 1), np.square(counts), many)
                total += factor * (2 * t - 1) * float(((sizes - same / np.maximum(sizes, 1)) / 2).sum())
        return total


def _directions(level: int, nodes: int, room: int) -> Array:
    """A random direction for each node of a level, of ones and minus ones; always the same."""
    words = -(-room // 64)
    numbers = np.arange(nodes * words, dtype=np.uint64).reshape(nodes, words) + (np.uint64(level) << np.uint64(40))
    bits = (mix(numbers)[:, :, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    return np.asarray(bits.reshape(nodes, -1)[:, :room] * 2.0 - 1.0, dtype=np.float64)


def in_use(feature: Feature) -> bool:
    """Whether distances know a feature."""
    return feature.root > 0 and feature.weight > 0


def step_of(feature: Feature) -> float:
    """How far apart neighbouring ranks of an ordinal are; 0 where it is left out."""
    if feature.labels is None or not in_use(feature):
        return 0.0
    return float(np.sqrt(feature.weight) / feature.root / max(feature.labels.leaves - 1, 1))
