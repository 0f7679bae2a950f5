"""SAX: the shape of a time series as a short word.

A series is z-normalised (population standard deviation; a constant series gives zeros), cut into w segments of equal
length, and each segment is replaced by its mean (PAA). A point that a border runs through counts for both segments by
its shares. The mean z of a segment becomes a letter: at level L the line is cut at the normal quantiles

    b_i = Phi^{-1}(i / L),   i = 1 .. L-1,       letter number = number of breakpoints b_i <= z

so that a standard normal value falls into each of the L cells with the same chance; a value on a breakpoint goes up. A
word reads back as the conditional means of its cells, which are finite at both ends:

    E[Z | b_i < Z < b_{i+1}] = L (phi(b_i) - phi(b_{i+1}))

Levels 1, 2, 4, 8, 16 are nested: every breakpoint of a level is one of the next, so a word determines all words of
lower levels. Levels 1, 2, 3, ... are not: the means (-.2, .2) read ab, bb, bc at levels 2, 3, 4.

References
----------
.. [1] J. Lin, E. Keogh, S. Lonardi, B. Chiu, A symbolic representation of time series, with implications for streaming
   algorithms, DMKD workshop of SIGMOD (2003) 2-11.
.. [2] J. Shieh, E. Keogh, iSAX: indexing and mining terabyte sized time series, KDD (2008) 623-631.

Examples
--------
>>> import numpy as np
>>> series = np.arange(1.0, 9.0)[None, :]
>>> [sax(series, 4, level)[0] for level in (2, 3, 4, 5)]
['aabb', 'aacc', 'abcd', 'abde']
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import AnyArray, Array

Levels = Literal["nested", "paper"]

#: letters a to z
MAX_LEVEL = 26
#: a mean this near below a breakpoint counts as on it: proportional series must get one word, whatever rounding does
ROUNDING = 1e-9


def levels_up_to(max_level: int, which: Levels = "nested") -> tuple[int, ...]:
    """The levels from the coarsest to the finest: powers of two, or all numbers as in the source paper.

    Examples
    --------
    >>> levels_up_to(16), levels_up_to(5, "paper")
    ((1, 2, 4, 8, 16), (1, 2, 3, 4, 5))
    """
    if which == "paper":
        return tuple(range(1, max_level + 1))
    return tuple(2**power for power in range(max_level.bit_length()))


def patterns(x: Array, word_length: int) -> Array:
    """The means of the segments of each z-normalised series: (records, points) to (records, word_length).

    Examples
    --------
    >>> import numpy as np
    >>> patterns(np.array([[1.0, 1.0, 3.0, 3.0], [5.0, 5.0, 5.0, 5.0]]), 2)
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] == 0:
        raise InputError(f"series must be a table of records by points. Got the shape {x.shape}.")
    if not 1 <= word_length <= x.shape[1]:
        raise ParameterError(
            f"The 'word_length' parameter of SAX must be at least 1 and at most the number of points ({x.shape[1]}). Got {word_length}."
        )
    from tsveil._kernels.kp import segment_means

    # Writable and read-only arrays are different types to the compiler: with one of them it compiles once.
    fixed = x.view()
    fixed.setflags(write=False)
    return segment_means(fixed, word_length)


@cache
def _breakpoints(level: int) -> Array:
    from scipy.special import ndtri

    if not 1 <= level <= MAX_LEVEL:
        raise ParameterError(f"A SAX level must be from 1 to {MAX_LEVEL}. Got {level}.")
    points: Array = ndtri(np.arange(1, level) / level)
    points.setflags(write=False)
    return points


def breakpoints(level: int) -> Array:
    """The level - 1 borders between the letters.

    Examples
    --------
    >>> breakpoints(4).round(3) + 0.0
    array([-0.674,  0.   ,  0.674])
    """
    return _breakpoints(int(level))


@cache
def _cell_means(level: int) -> Array:
    density = np.exp(-0.5 * breakpoints(level) ** 2) / np.sqrt(2.0 * np.pi)
    means: Array = -level * np.diff(density, prepend=0.0, append=0.0)
    means.setflags(write=False)
    return means


def cell_means(level: int) -> Array:
    """What each letter stands for: the mean of a standard normal variable inside its cell.

    Examples
    --------
    >>> cell_means(4).round(3)
    array([-1.271, -0.325,  0.325,  1.271])
    """
    return _cell_means(int(level))


def symbols(means: Array, level: int) -> AnyArray:
    """The letters of segment means at a level, as numbers from 0.

    Examples
    --------
    >>> import numpy as np
    >>> [symbols(np.array([[-0.2, 0.2]]), level)[0].tolist() for level in (2, 3, 4)]
    [[0, 1], [1, 1], [1, 2]]
    """
    return np.searchsorted(breakpoints(level) - ROUNDING, means, side="right").astype(np.uint8)


def sax(x: Array, word_length: int, level: int) -> list[str]:
    """The word of each series.

    Examples
    --------
    >>> import numpy as np
    >>> sax(np.array([[0.0, 1.0, 5.0, 6.0], [9.0, 9.0, 9.0, 9.0]]), 2, 4)
    ['ad', 'cc']
    """
    letters = symbols(patterns(x, word_length), level)
    text = (letters + np.uint8(ord("a"))).tobytes().decode("ascii")
    return [text[start : start + word_length] for start in range(0, len(text), word_length)]
