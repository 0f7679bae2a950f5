"""The line by which records of a block were sorted before they were grouped, as an intruder finds it, and the shape of such groups.

Means, deviations and loadings of the originals say where a record lies on the line of a projection (`transform.projection`). Who knows many records takes theirs. Who knows one has the release, in which each
column lost what it varies by inside groups. That can be found again: along the line the means of groups follow a smooth course, around which a mean of s records scatters with 1/s of the variance inside
groups. So with the means m_g in the order of their projections and s_g records in group g,

    inside_j = mean over g of (m_{g-1,j} - 2 m_{g,j} + m_{g+1,j})^2 / (1/s_{g-1} + 4/s_g + 1/s_{g+1})
    sd_j^2   = variance of the published column + inside_j

and the covariances of the originals are those of the published columns, plus inside_j in the diagonal. This is done once: the order of the groups hardly changes.

Groups along a line are thin along it and wide across. Who knows many records fits one bell to all groups, whose means and sizes are published (expectation and maximisation [1]_): with S the covariance of the bell,

    p(g | x) = s_g exp(-d_S(x, m_g)^2 / 2) / sum_h s_h exp(-d_S(x, m_h)^2 / 2)        S = mean over known x of sum_g p(g | x) (x - m_g)(x - m_g)'

starting from the covariance of the known records less that of the published ones.

References
----------
.. [1] A. P. Dempster, N. M. Laird, D. B. Rubin, Maximum likelihood from incomplete data via the EM algorithm, Journal of the Royal Statistical Society B 39 (1977) 1-38.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tsveil.attack.nearest import by_bytes, distinct_rows
from tsveil.core.types import Array, Indices
from tsveil.transform.normalise import Ruler, ruler_of
from tsveil.transform.projection import first_component, loadings_of, weighted_sum

#: how often a bell is fitted, and the least variance of it in any direction, where those of known columns are 1
ROUNDS, LEAST = 40, 1e-4


class Line(NamedTuple):
    """How the values of a block become one number: their scale, and the weights of its columns.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=(300, 3)) * [1.0, 2.0, 9.0]
    >>> np.abs(Line.of(x, "zscores").place(x) - (x / x.std(axis=0, ddof=1) - x.mean(axis=0) / x.std(axis=0, ddof=1)).sum(axis=1)).max() < 1e-9
    np.True_
    """

    ruler: Ruler
    weights: Array

    def place(self, values: Array) -> Array:
        """Where records lie on the line."""
        return weighted_sum(self.ruler.measure(values), self.weights)

    @classmethod
    def of(cls, sample: Array, projection: str) -> Line:
        """With means, deviations and loadings of a sample of originals."""
        ruler = ruler_of(sample, "component")
        z = ruler.measure(sample[by_bytes(sample)])  # sums do not depend on the order of the file
        return cls(ruler, np.ones(z.shape[1]) if projection == "zscores" else first_component(z))

    @classmethod
    def rebuilt(cls, shown: Array, projection: str) -> Line:
        """With those of the originals as they can be rebuilt from what is published."""
        ruler = ruler_of(shown, "component")
        means, _, _, sizes = distinct_rows(shown + 0.0)  # both zeros are one
        order = by_bytes(means)
        z, sizes = ruler.measure(means[order]), sizes[order]
        products = (z * sizes[:, None]).T @ z / len(shown)

        def weights(inside: Array) -> Array:
            deviation = np.sqrt(1 + inside)
            if projection == "zscores":
                return 1 / deviation
            found: Array = loadings_of((products + np.diag(inside)) / np.outer(deviation, deviation)) / deviation
            return found

        published = weights(np.zeros(z.shape[1]))
        along = np.argsort(weighted_sum(z, published), kind="stable")
        return cls(ruler, weights(variance_inside(z[along], sizes[along])))


def variance_inside(means: Array, sizes: Indices) -> Array:
    """The variance of each column inside groups, from the means of groups in their order.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = np.linspace(0, 50, 1000)[:, None] + rng.normal(0, 2, (1000, 1))
    >>> variance_inside(x.reshape(200, 5, 1).mean(axis=1), np.full(200, 5)).round(1)
    array([3.9])
    """
    if len(means) < 3:
        return np.zeros(means.shape[1])
    bends = means[2:] - 2 * means[1:-1] + means[:-2]
    of_bend = 1 / sizes[2:] + 4 / sizes[1:-1] + 1 / sizes[:-2]
    found: Array = (bends**2 / of_bend[:, None]).mean(axis=0)
    return found


class Bell(NamedTuple):
    """The shape of all groups of a block: their scale, and what makes a bell of one width of them."""

    ruler: Ruler
    whitening: Array

    def place(self, values: Array) -> Array:
        """Values on which squared distances from the mean of a group are those of the bell."""
        return np.ascontiguousarray(self.ruler.measure(values) @ self.whitening)

    @classmethod
    def fit(cls, sample: Array, shown: Array) -> Bell:
        """Fitted to a sample of originals, and to published means of groups."""
        ruler = ruler_of(sample, "component")
        means, _, _, sizes = distinct_rows(shown + 0.0)
        order = by_bytes(means)
        x, y, sizes = ruler.measure(sample[by_bytes(sample)]), ruler.measure(means[order]), sizes[order]
        covariance = _covariance(x, np.ones(len(x))) - _covariance(y, sizes)
        for _ in range(ROUNDS):
            whitening = _whitening(covariance)
            a, b = x @ whitening, y @ whitening
            logs = a @ b.T - 0.5 * (b**2).sum(axis=1) + np.log(sizes)
            chance = np.exp(logs - logs.max(axis=1, keepdims=True))
            chance /= chance.sum(axis=1, keepdims=True)
            between = x.T @ (chance @ y)
            covariance = (x.T @ x - between - between.T + (y * chance.sum(axis=0)[:, None]).T @ y) / len(x)
        return cls(ruler, _whitening(covariance))


def _covariance(table: Array, times: Array | Indices) -> Array:
    """The covariance of the columns, where row i counts times[i] times."""
    centred = table - times @ table / times.sum()
    found: Array = (centred * times[:, None]).T @ centred / times.sum()
    return found


def _whitening(covariance: Array) -> Array:
    values, vectors = np.linalg.eigh(covariance)
    found: Array = vectors / np.sqrt(np.maximum(values, LEAST))
    return found
