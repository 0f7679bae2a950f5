"""Triangular factors of covariance matrices, which may lack full rank: random numbers with a covariance are made by them, and values are freed of theirs.

With S = R'R, R upper triangular, the rows of z R have the covariance S if those of z are uncorrelated with variance 1; and the other way round the rows of
x inverse(R) are uncorrelated if S is the covariance of x. Column c of x inverse(R) depends on the first c columns of x alone.

Examples
--------
>>> from tsveil.transform.ordered import rows_times
>>> x = np.random.default_rng(0).normal(size=(1000, 2)) @ np.array([[3.0, 1.0], [0.0, 0.2]])
>>> z = rows_times(x, inverse(triangle(np.cov(x.T))))
>>> bool(np.allclose(np.cov(z.T), np.eye(2)))
True
"""

from __future__ import annotations

import numpy as np

from tsveil.core.types import Array


def triangle(covariance: Array) -> Array:
    """R with R'R = S, upper triangular: Cholesky's factor, with a row of zeros where a column depends on those before it.

    Examples
    --------
    >>> triangle(np.array([[4.0, 2.0], [2.0, 1.0]]))
    array([[2., 1.],
           [0., 0.]])
    """
    left, factor = np.array(covariance, dtype=np.float64), np.zeros(np.shape(covariance))
    # What rounding leaves of a column that depends on others is no spread of its own.
    nothing = 1e-12 * np.diagonal(covariance)
    for at in range(len(left)):
        if left[at, at] > nothing[at]:
            factor[at, at:] = left[at, at:] / np.sqrt(left[at, at])
            left[at:, at:] -= np.outer(factor[at, at:], factor[at, at:])
    return factor


def inverse(factor: Array) -> Array:
    """The inverse of a triangular factor; a column that depends on those before it is left out, with zeros in its row and its column.

    Examples
    --------
    >>> inverse(np.array([[2.0, 1.0, 4.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]))
    array([[ 0.5,  0. , -4. ],
           [ 0. ,  0. ,  0. ],
           [ 0. ,  0. ,  2. ]])
    """
    found = np.zeros_like(factor)
    for at in np.flatnonzero(np.diagonal(factor)).tolist():
        found[at, at] = 1.0
        found[: at + 1, at] -= found[: at + 1, :at] @ factor[:at, at]
        found[: at + 1, at] /= factor[at, at]
    return found
