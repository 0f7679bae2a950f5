"""PAA as a published pattern: the mean of each segment of a z-normalised series, rounded to the values of a level.

Piecewise aggregate approximation replaces a z-normalised series (`tsveil.transform.sax.patterns`) by the means m_1 .. m_w of w segments of equal
length. Means are real numbers, which no two persons share, so they are published at a level, as letters are. At level L = 2, 4, 8, 16 the line is
cut at the multiples of s = 4 / L, and a mean is replaced by the middle of its cell:

    v = (j + 1/2) s,    j = floor(m / s),    s = 4 / L;    a mean on a border goes up

so that L cells lie within two standard deviations of the mean; there are more outside, as far as the series reaches: |m| <= sqrt(w - 1). At level 1
the line is one cell, and its value is 0. Every border of a level is one of the next, so the values of a level determine those of all lower ones.

The published pattern is a text, the values in the order of time: `[-0.5 0.5 1.5 -1.5]` at level 4. The brackets keep spreadsheets from taking it
for a number or a formula. All values of all levels are multiples of 1/8.

The difference from SAX: the cells of SAX are equally likely under the normal distribution, and the outer ones have no end; those of PAA are equally
wide, so that a peak of three standard deviations is not published as one of 1.3.

References
----------
.. [1] E. Keogh, K. Chakrabarti, M. Pazzani, S. Mehrotra, Dimensionality reduction for fast similarity search in large time series databases,
   Knowledge and Information Systems 3 (2001) 263-286.
.. [2] X. Shang, K. Chen, L. Shou, G. Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series data, CIKM (2010) 1333-1336,
   which names PAA among the representations of patterns that its model can adopt.

Examples
--------
>>> import numpy as np
>>> means = np.array([[-1.3, 0.2, 1.1]])
>>> [(eighths(means, level) / 8).tolist() for level in (1, 2, 4, 8)]
[[[0.0, 0.0, 0.0]], [[-1.0, 1.0, 1.0]], [[-1.5, 0.5, 1.5]], [[-1.25, 0.25, 1.25]]]
"""

from __future__ import annotations

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array, Indices
from tsveil.transform.sax import ROUNDING

#: values are counted in this part of a standard deviation, the step of the finest level
EIGHTH = 0.125
LEVELS = (1, 2, 4, 8, 16)


def _step(level: int) -> float:
    if level not in LEVELS:
        raise ParameterError(f"A level of PAA must be one of {LEVELS}. Got {level}.")
    return 4.0 / level


def breakpoints(level: int) -> Array:
    """The level - 1 borders between the cells within two standard deviations.

    Examples
    --------
    >>> breakpoints(4)
    array([-1.,  0.,  1.])
    """
    points: Array = np.arange(2.0 - level, level, 2.0) * (_step(level) / 2)
    return points


def eighths(means: Array, level: int) -> Indices:
    """The values of segment means at a level, in eighths of a standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> eighths(np.array([[-0.2, 0.0, 2.7]]), 4)
    array([[-4,  4, 20]])
    """
    step = _step(level)
    if level == 1:
        return np.zeros(means.shape, dtype=np.int64)
    values: Indices = (np.floor((means + ROUNDING) / step) * 2 + 1).astype(np.int64) * (16 // level)
    return values


def cells(values: Indices, level: int) -> tuple[Array, Array]:
    """The borders of the cells behind values in eighths.

    Examples
    --------
    >>> import numpy as np
    >>> cells(np.array([-4, 20]), 4)
    (array([-1.,  2.]), array([0., 3.]))
    """
    middles: Array = values.astype(np.float64) * EIGHTH
    half = np.inf if level == 1 else _step(level) / 2
    low: Array = middles - half
    high: Array = middles + half
    return low, high


def as_text(values: list[int]) -> str:
    """Values in eighths as they are published.

    Examples
    --------
    >>> as_text([-4, 0, 13])
    '[-0.5 0 1.625]'
    """
    return f"[{' '.join(f'{value * EIGHTH:.12g}' for value in values)}]"


def as_eighths(text: str) -> list[int]:
    """A published pattern as values in eighths.

    Examples
    --------
    >>> as_eighths("[-0.5 0 1.625]")
    [-4, 0, 13]
    """
    try:
        values = [float(part) / EIGHTH for part in text.removeprefix("[").removesuffix("]").split()]
        found = [round(value) for value in values]
    except (ValueError, OverflowError):
        raise InputError(f"the pattern {text!r} must be numbers between brackets, such as [-0.5 0.5]") from None
    if found != values or not found or not text.startswith("[") or not text.endswith("]"):
        raise InputError(f"the pattern {text!r} must be multiples of {EIGHTH} between brackets, such as [-0.5 0.5]")
    return found
