"""Sums and products of tables that run in one order: what becomes of a record, or of a column, does not depend on its neighbours.

A sum of numpy along neighbouring values, and a product of matrices, may add in any order. Along the last axis but one numpy adds row after row, as a loop
does; only a table of one column is summed as if it were a row, and is taken step by step here.

Examples
--------
>>> sums(np.array([[1e16, 1.0], [1.0, 2.0], [-1e16, 3.0]]))
array([0., 6.])
>>> rows_times(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5], [0.0, 2.0]]))
array([[1. , 4.5]])
"""

from __future__ import annotations

import numpy as np

from tsveil.core.types import Array
from tsveil.transform.exact import contiguous

#: rows of a product of columns that are added at a time: they stay in the cache
ROWS = 64


def sums(terms: Array) -> Array:
    """The sums along the last axis but one, term after term."""
    terms = np.ascontiguousarray(terms)  # numpy goes through a table as it lies in memory
    if terms.shape[-1] > 1 or terms.shape[-2] == 0:
        found: Array = np.add.reduce(terms, axis=-2)
        return found
    return np.add.accumulate(terms, axis=-2)[..., -1, :]


def rows_times(rows: Array, matrix: Array) -> Array:
    """The rows times a matrix, summed in the order of the columns of `rows`."""
    from tsveil._kernels.products import add_products

    out = np.zeros((len(rows), matrix.shape[1]))
    add_products(contiguous(rows), contiguous(matrix), out)
    return out


def products_of_columns(x: Array) -> Array:
    """X'X, the products of all pairs of columns, summed over the rows in their order.

    Examples
    --------
    >>> products_of_columns(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[10., 14.],
           [14., 20.]])
    """
    from tsveil._kernels.products import add_products

    out = np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(x), ROWS):
        rows = contiguous(x[start : start + ROWS])
        add_products(contiguous(rows.T), rows, out)
    return out


def inverse_of_triangle(x: Array) -> Array:
    """The inverse of a lower triangular matrix without zeros on its diagonal.

    Examples
    --------
    >>> inverse_of_triangle(np.array([[2.0, 0.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i, :i] = -sums(x[i, :i, None] * out[:i, :i]) / x[i, i]
        out[i, i] = 1.0 / x[i, i]
    return out
