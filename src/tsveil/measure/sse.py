"""The sum of squared errors between an original and its protected version: what microaggregation minimises.

    standardised   sum over records i and columns j of ((x_ij - x'_ij) / sd_j)^2, sd the original's standard deviation (divisor n)
    printed        sum over i and j of (u_ij - u'_ij)^2, where u = (x - min_j) / (max_j - min_j) with the minima and maxima of each file
                   by itself; this is what the tables of [1]_ contain. Protection shrinks the ranges, so it mixes two effects

A column in which nothing varies counts 0. The share 100 SSE / SST, SST = the sum of squares of the standardised columns, is the
information loss usual in the literature on microaggregation: 0 when nothing was lost, 100 when every value became its column's mean.

References
----------
.. [1] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de
   Barcelona (2008), equation 2.1 and table 4.7.
.. [2] J. Domingo-Ferrer, J. M. Mateo-Sanz, Practical data-oriented microaggregation for statistical disclosure control, IEEE
   Transactions on Knowledge and Data Engineering 14 (2002) 189-201.

Examples
--------
>>> X = [[1.0, 4.0], [2.0, 15.0], [3.0, 5.0], [6.0, 17.0], [7.0, 6.0], [8.0, 18.0], [9.0, 16.0]]
>>> optimal = [[2.0, 5.0], [2.0, 15.5], [2.0, 5.0], [6.5, 17.5], [6.5, 5.0], [8.5, 17.5], [8.5, 15.5]]
>>> round(sse(X, optimal, "printed"), 2)
0.14
>>> round(sse_share(X, optimal), 2)
3.19
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, ArrayLike
from tsveil.transform.exact import column_parts, column_totals, parts, total
from tsveil.transform.normalise import normalise

Form = Literal["standardised", "printed"]


def sse(X: ArrayLike, X2: ArrayLike, form: Form = "standardised") -> float:
    """The sum of squared errors of the protected values X2, row by row aligned with the original X.

    Examples
    --------
    >>> sse([[0.0], [2.0]], [[1.0], [1.0]])
    2.0
    """
    if form not in get_args(Form):
        raise ParameterError(f"The 'form' parameter of sse must be 'standardised' or 'printed'. Got {form!r}.")
    X, X2 = _tables(X, X2)
    if form == "printed":
        u, u2 = normalise(X, X2, "ranging", "own")
        return total(parts(np.square(u - u2).sum(axis=1)))
    return _standardised_sse(X, X2)


def sse_share(X: ArrayLike, X2: ArrayLike) -> float:
    """100 SSE / SST on columns standardised with the original's mean and deviation; 0 when no column varies.

    Examples
    --------
    >>> sse_share([[0.0, 5.0], [2.0, 5.0]], [[1.0, 5.0], [1.0, 5.0]])
    100.0
    """
    X, X2 = _tables(X, X2)
    squares = len(X) * int((X.max(axis=0) > X.min(axis=0)).sum())
    return 100 * _standardised_sse(X, X2) / squares if squares else 0.0


def _standardised_sse(X: Array, X2: Array) -> float:
    """The squared errors in units of the original's variance with the divisor n."""
    z, z2 = normalise(X, X2, "component", "original")
    errors, squares = (column_totals([column_parts(np.square(table))]) for table in (z - z2, z))
    return total(len(X) * errors[squares > 0] / squares[squares > 0])


def _tables(X: ArrayLike, X2: ArrayLike) -> tuple[Array, Array]:
    a, b = np.asarray(X, dtype=np.float64), np.asarray(X2, dtype=np.float64)
    if a.ndim != 2 or a.size == 0 or a.shape != b.shape:
        raise InputError(
            f"the sum of squared errors compares two tables of records by columns. Got the shapes {a.shape} and {b.shape}."
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError(
            "the sum of squared errors is not defined for missing or infinite values\n  options: drop or fill these records"
        )
    return a, b
