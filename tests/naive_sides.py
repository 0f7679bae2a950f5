"""Slow, obvious versions of how likely values are in the runs next to them, and of linkage by sides."""

from __future__ import annotations

import math

import numpy as np

from tsveil.attack.runs import SCALE
from tsveil.core.types import Array


def evidence(x: float, shown: float, column: list[float], pooled: bool) -> int:
    """The logarithm of how much likelier a row that shows a number is than one at random, of who has the value x, in fixed point."""
    single = {number for number in column if column.count(number) == 1 and not pooled}
    if x in single:
        return round(SCALE * math.log(len(column))) if shown == x else -12 * SCALE
    runs = sorted(set(column) - single)
    if shown not in runs:
        return -12 * SCALE
    below = max((number for number in runs if number < x), default=None)
    above = min((number for number in runs if number >= x), default=None)
    if shown not in (below, above):
        return -12 * SCALE
    if below is None or above is None:
        chance = 1.0
    else:
        n_below, n_above = column.count(below), column.count(above)
        border = (0.5 + n_below / (n_below + n_above)) / 2
        upper = 1 / (1 + math.exp((border - (x - below) / (above - below)) / 0.09))
        chance = upper if shown == above else 1 - upper
    return round(SCALE * math.log(chance * len(column) / column.count(shown)))


def scores(a: Array, b: Array, pooled: bool) -> list[list[int]]:
    """The sums over columns, for each pair of a known record and a released row."""
    columns = b.T.tolist()
    return [
        [sum(map(evidence, person, row, columns, [pooled] * len(columns))) for row in b.tolist()]
        for person in a.tolist()
    ]


def likeliest(a: Array, b: Array, pooled: bool) -> list[list[int]]:
    """For each known record the released rows with the highest score."""
    return [np.flatnonzero(np.array(each) == max(each)).tolist() for each in scores(a, b, pooled)]


def rebuilt(shown: Array, projection: str) -> tuple[Array, Array, Array]:
    """Mean, deviation and loadings of the originals, rebuilt from published means of groups: by loops over groups."""
    mean, published = shown.mean(axis=0), shown.var(axis=0, ddof=1)
    groups = sorted(set(map(tuple, shown.tolist())))
    sizes = {group: sum(tuple(row) == group for row in shown.tolist()) for group in groups}

    def weights(inside: Array) -> tuple[Array, Array]:
        total = published + inside
        covariance = np.diag(inside)
        for group in groups:
            away = np.array(group) - mean
            covariance = covariance + sizes[group] * np.outer(away, away) / len(shown)
        deviation = np.sqrt(np.where(total > 0, total, 1.0))
        if projection == "zscores":
            return deviation, np.ones(len(mean))
        vector = np.linalg.eigh(covariance / np.outer(deviation, deviation))[1][:, -1]
        return deviation, vector * np.sign(vector[np.argmax(np.abs(vector))])

    deviation, vector = weights(np.zeros(len(mean)))
    along = sorted(groups, key=lambda group: float((np.array(group) - mean) / deviation @ vector))
    bends = []
    for one, two, three in zip(along, along[1:], along[2:], strict=False):
        bend = np.array(one) - 2 * np.array(two) + np.array(three)
        bends.append(bend**2 / (1 / sizes[one] + 4 / sizes[two] + 1 / sizes[three]))
    return mean, *weights(np.mean(bends, axis=0) if bends else np.zeros(len(mean)))


def bell(known: Array, shown: Array, rounds: int = 40) -> Array:
    """Half of the squared distances of all pairs by the covariance inside groups that fits the known records best; on their scale."""
    wide = known.std(axis=0, ddof=1)
    x, y = known / wide, shown / wide
    groups, place, sizes = np.unique(y, axis=0, return_inverse=True, return_counts=True)
    covariance = np.cov(x.T, bias=True) - np.cov(y.T, bias=True)
    squares = np.zeros((len(x), len(groups)))
    for last in [False] * rounds + [True]:
        values, vectors = np.linalg.eigh(np.atleast_2d(covariance))
        inverse = vectors @ np.diag(1 / np.maximum(values, 1e-4)) @ vectors.T
        for i, person in enumerate(x):
            for g, group in enumerate(groups):
                squares[i, g] = (person - group) @ inverse @ (person - group)
        if last:
            break
        chance = np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True))) * sizes
        chance /= chance.sum(axis=1, keepdims=True)
        covariance = sum(
            chance[i, g] * np.outer(x[i] - groups[g], x[i] - groups[g]) for i in range(len(x)) for g in range(len(groups))
        ) / len(x)  # fmt: skip
    return squares[:, place.ravel()] / 2
