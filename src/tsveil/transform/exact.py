"""Sums that are the same to the last bit whatever the order of the records and however they come in chunks.

**Sums of any floats.** `parts` gives a few floats whose exact sum is that of the values. Parts of several chunks are put together by
joining the lists, and `total` rounds once:

    total(parts(all values)) = total(parts(first chunk) + parts(second chunk) + ...)

**Sums of products of all pairs of columns.** The values, from -1 to 1, are rounded to multiples of 2^-51 and written with three digits of 17
bits. Sums of products of digits are whole numbers below 2^53, so matrix products give them exactly, whatever order they add in [1]_.
`products` gives the sums as digits, `merged_products` adds those of several chunks, and `product_totals` rounds once.

References
----------
.. [1] K. Ozaki, T. Ogita, S. Oishi, S. M. Rump, Error-free transformations of matrix multiplication by using fast routines of matrix
   multiplication and its applications, Numerical Algorithms 59 (2012) 95-118.

Examples
--------
>>> import numpy as np
>>> x = np.array([1e16, 1.0, 1.0, -1e16])
>>> x[::-1].sum(), total(parts(x[:2]), parts(x[2:]))
(np.float64(0.0), 2.0)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tsveil.core.types import Array, Indices

#: bits of a digit, and of a value
DIGIT, BITS = 17, 51
#: records whose products of digits are summed at a time: 2^18 products below 2^34
ROWS = 2**18
#: digits of a sum of products: five of a product, and one for carries
DIGITS = 6


def parts(values: Array) -> list[float]:
    """A few floats whose exact sum is the exact sum of some finite values.

    Examples
    --------
    >>> parts(np.array([0.5, 0.25]))
    [0.75]
    """
    from tsveil._kernels.exact import partial_sums

    return [float(part) for part in partial_sums(contiguous(values))]


def column_parts(table: Array) -> list[list[float]]:
    """The parts of each column of a table."""
    from tsveil._kernels.exact import partial_sums

    return [partial_sums(column).tolist() for column in contiguous(table.T)]


def total(*of_chunks: Iterable[float]) -> float:
    """The exact sum of the parts of all chunks, rounded once."""
    return math.fsum(part for parts in of_chunks for part in parts)


def column_totals(of_chunks: Sequence[Sequence[Sequence[float]]]) -> Array:
    """The sums of the columns, from their parts in each chunk."""
    return np.array([total(*columns) for columns in zip(*of_chunks, strict=True)])


def products(unit: Array) -> Indices:
    """The sums of products of all pairs of columns with values from -1 to 1, as digits: the last axes are those of the pairs.

    Examples
    --------
    >>> unit = np.array([[0.5, 1.0], [-1.0, 0.25]])
    >>> product_totals(merged_products([products(unit[:1]), products(unit[1:])]))
    array([[1.25  , 0.25  ],
           [0.25  , 1.0625]])
    """
    columns = unit.shape[1]
    digits = np.zeros((DIGITS, columns, columns), dtype=np.int64)
    for start in range(0, len(unit), ROWS):
        low, middle, high = _digits(unit[start : start + ROWS])
        first, second, third = middle.T @ low, high.T @ low, high.T @ middle
        for at, found in enumerate(
            (low.T @ low, first + first.T, second + second.T + middle.T @ middle, third + third.T, high.T @ high)
        ):
            digits[at] += found.astype(np.int64)
        _carry(digits)
    return digits


def merged_products(of_chunks: Iterable[Indices]) -> Indices:
    """The sums over all chunks."""
    found: Indices | None = None
    for digits in of_chunks:
        found = np.array(digits) if found is None else found + digits
        _carry(found)
    assert found is not None
    return found


def product_totals(digits: Indices) -> Array:
    """The sums that digits stand for."""
    found = np.zeros(digits.shape[1:])
    for at in reversed(range(DIGITS)):
        found += np.ldexp(digits[at].astype(np.float64), DIGIT * at - 2 * BITS)
    return found


def _digits(unit: Array) -> list[Array]:
    """The digits of whole numbers of 51 bits, the lowest first, each from -2^16 to 2^16 and the highest to 2^17."""
    rest = np.rint(np.ldexp(contiguous(unit), BITS))
    found = []
    for at in (2, 1):
        digit = np.rint(np.ldexp(rest, -DIGIT * at))
        rest -= np.ldexp(digit, DIGIT * at)
        found.append(digit)
    return [rest, *found[::-1]]


def _carry(digits: Indices) -> None:
    """Bring all digits but the highest to -2^16..2^16-1, so that equal sums have equal digits."""
    for at in range(DIGITS - 1):
        carried = (digits[at] + (1 << (DIGIT - 1))) >> DIGIT
        digits[at] -= carried << DIGIT
        digits[at + 1] += carried


def contiguous(values: Array) -> Array:
    """A kernel would be compiled anew for another order of the values, or for values that may not be changed."""
    found = np.ascontiguousarray(values, dtype=np.float64)
    return found if found.flags.writeable else found.copy()
