"""Values so small or large that squares of squares leave the range of float64, brought to a scale where they do not.

Distances, variances and correlations square differences once or twice. Squares of values around 1e-200 are zero: all records would seem
equal, groups arbitrary, and losses none at all. Multiplying by a power of two changes no digit of any value and no order of any distances, so
what is computed is the same, only without the range being left. Values on an ordinary scale are not touched.
"""

from __future__ import annotations

import numpy as np

from tsveil.core.types import Array

Exponents = np.ndarray[tuple[int, ...], np.dtype[np.int32]]

#: fourth powers of what lies between are well inside the range of float64
LEAST, MOST = 2.0**-200, 2.0**200


def lift(table: Array) -> Array:
    """The table times one power of two, where its largest magnitude is tiny.

    Examples
    --------
    >>> import numpy as np
    >>> lift(np.array([[3e-300, -1e-300]])).round(3)
    array([[ 0.502, -0.167]])
    >>> lift(np.array([[3.0, -1e-300]]))
    array([[ 3.e+000, -1.e-300]])
    """
    # Only upwards: a large table brought down would lose its smallest values.
    return np.ldexp(table, -np.minimum(exponents(_largest(table)), 0))


def _largest(table: Array) -> Array:
    """The largest magnitude of a table, gaps (NaN) aside."""
    found: Array = np.fmax.reduce(np.abs(table), axis=None, initial=0.0, keepdims=True)
    return found


def in_range(table: Array) -> Array:
    """The table times one power of two, where its largest magnitude is tiny or huge; its smallest values may become zero."""
    return np.ldexp(table, -exponents(np.abs(table).max(initial=0.0, keepdims=True)))


def columns_in_range(table: Array, other: Array) -> tuple[Array, Array]:
    """Two tables of the same columns, each column times one power of two, where its largest magnitude needs it."""
    powers = exponents(np.maximum(np.abs(table).max(axis=0, initial=0.0), np.abs(other).max(axis=0, initial=0.0)))
    return np.ldexp(table, -powers), np.ldexp(other, -powers)


def exponents(largest: Array) -> Exponents:
    """The exponents of two to divide by; 0 where the magnitude is on an ordinary scale, or nothing but zero."""
    fine = ((largest >= LEAST) & (largest <= MOST)) | (largest == 0) | ~np.isfinite(largest)
    return np.where(fine, 0, np.frexp(largest)[1]).astype(np.int32)
