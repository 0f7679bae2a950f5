"""Triangular factors of covariance matrices, which may lack full rank: random numbers with a covariance are made by them, and values are freed of theirs.

With S = R'R, R upper triangular, the rows of z R have the covariance S if those of z are uncorrelated with variance 1; and the other way round the rows of
x inverse(R) are uncorrelated if S is the covariance of x. Column c of x inverse(R) depends on the first c columns of x alone.

Examples
--------
>>> x = np.random.default_rng(0).normal(size=(1000, 2)) @ np.array([[3.0, 1.0], [0.0, 0.2]])
>>> z = multiply_rows(x, inverse(triangle(np.cov(x.T))))
>>> bool(np.allclose(np.cov(z.T), np.eye(2)))
True
"""

from __future__ import annotations

import numpy as np

from tsveil.core.types import Array
from tsveil.transform.exact import contiguous


def triangle(covariance: Array) -> Array:
    """R with R'R = S, upper triangular: Cholesky's factor, with a row of zeros where a column depends on those before it.

    Examples
    --------
    >>> triangle(np.array([[4.0, 2.0], [2.0, 1.0]]))
    array([[2., 1.],
           [0., 0.]])
    """
    from tsveil._kernels.triangle import factor_of

    # What rounding leaves of a column that depends on others is no spread of its own.
    return factor_of(np.array(covariance, dtype=np.float64, order="C"), 1e-12 * np.diagonal(covariance))


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


def multiply_rows(rows: Array, factor: Array) -> Array:
    """The rows times a triangular factor, summed in the order of the columns: what becomes of a row does not depend on its neighbours, as in a matrix product."""
    from tsveil._kernels.triangle import rows_times

    return rows_times(contiguous(rows), contiguous(factor))
