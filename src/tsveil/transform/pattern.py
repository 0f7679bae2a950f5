"""Published patterns of series, of either kind: words of SAX (`tsveil.transform.sax`) or values of PAA (`tsveil.transform.paa`).

Both cut the means of the segments into cells, finer from level to level. In a file a pattern is a text, `aabc` or `[-0.5 0.5 1.5 -1.5]`, which shows
what kind it is. In arrays it is a row of symbols, whole numbers of one alphabet: 0 to 25 are the letters a to z, and 16384 + 8 v is the value v.

Examples
--------
>>> import numpy as np
>>> means = np.array([[-1.3, 0.2, 1.1]])
>>> as_words(symbols(means, 4)), as_words(symbols(means, 4, "paa"))
(['acd'], ['[-1.5 0.5 1.5]'])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from tsveil.core.errors import InputError
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.transform import paa, sax

Pattern = Literal["sax", "paa"]

#: the symbol of the value 0; the means of 10^6 segments reach no farther than 8000 on either side
ZERO = 2**14


def pattern_of(symbols: AnyArray) -> Pattern:
    """Which kind of pattern the symbols of a table are.

    Examples
    --------
    >>> pattern_of(as_symbols(["ab"])), pattern_of(as_symbols(["[-1 1]"]))
    ('sax', 'paa')
    """
    return "paa" if symbols.size and symbols.flat[0] >= sax.MAX_LEVEL else "sax"


def breakpoints(level: int, pattern: Pattern) -> Array:
    """The level - 1 borders that cut the middle of the line into as many cells as the level says; PAA has more of them outside.

    Examples
    --------
    >>> breakpoints(4, "paa")
    array([-1.,  0.,  1.])
    """
    return paa.breakpoints(level) if pattern == "paa" else sax.breakpoints(level)


def symbols(means: Array, level: int, pattern: Pattern = "sax") -> AnyArray:
    """The symbols of segment means at a level.

    Examples
    --------
    >>> import numpy as np
    >>> [as_words(symbols(np.array([[-0.2, 0.2]]), level))[0] for level in (2, 3, 4)]
    ['ab', 'bb', 'bc']
    """
    if pattern == "paa":
        return (paa.eighths(means, level) + ZERO).astype(np.uint16)
    return sax.symbols(means, level)


def as_words(symbols: AnyArray) -> list[str]:
    """Rows of symbols as they are published.

    Examples
    --------
    >>> import numpy as np
    >>> as_words(np.array([[0, 1, 2]]))
    ['abc']
    """
    n, w = symbols.shape
    if pattern_of(symbols) == "paa":
        rows, which = np.unique(symbols.astype(np.int64) - ZERO, axis=0, return_inverse=True)
        texts = [paa.as_text(row) for row in rows.tolist()]
        return [texts[at] for at in which.ravel().tolist()]
    text = (symbols.astype(np.uint8) + ord("a")).tobytes().decode("ascii")
    return [text[row * w : (row + 1) * w] for row in range(n)]


def as_symbols(words: Sequence[str]) -> AnyArray:
    """Published patterns of one kind and length as rows of symbols.

    Examples
    --------
    >>> as_symbols(["abc", "cab"]).tolist(), as_symbols(["[-0.5 2]"]).tolist()
    ([[0, 1, 2], [2, 0, 1]], [[16380, 16400]])
    """
    if any(word.startswith("[") for word in words):
        numbers = {word: at for at, word in enumerate(dict.fromkeys(words))}
        rows = [paa.as_eighths(word) for word in numbers]
        if len({len(row) for row in rows}) > 1:
            raise InputError("the patterns of a table must all have the same number of values")
        values = np.array(rows, dtype=np.float64) + ZERO
        if values.min() < sax.MAX_LEVEL or values.max() >= 2 * ZERO:
            raise InputError("a pattern has a value that no series can have")
        return values.astype(np.uint16)[[numbers[word] for word in words]]
    if len({len(word) for word in words}) > 1:
        raise InputError("the words of a table must all have the same number of letters")
    raw = np.frombuffer("".join(words).encode("ascii", errors="replace"), dtype=np.uint8)
    letters: AnyArray = (raw - np.uint8(ord("a"))).reshape(len(words), -1)
    if letters.size and letters.max() >= sax.MAX_LEVEL:
        raise InputError("a word may hold the letters a to z only")
    return letters


def segments(word: str) -> int:
    """The number of segments that a published pattern speaks of.

    Examples
    --------
    >>> segments("aab"), segments("[-1 1]")
    (3, 2)
    """
    return len(word.split()) if word.startswith("[") else len(word)


def read_back(symbols: AnyArray, levels: Indices) -> Array:
    """p*: what the patterns of a table, each with its level, stand for.

    Examples
    --------
    >>> read_back(as_symbols(["ab", "aa"]), np.array([2, 1])).round(3)
    array([[-0.798,  0.798],
           [ 0.   ,  0.   ]])
    """
    if pattern_of(symbols) == "paa":
        values: Array = (symbols.astype(np.float64) - ZERO) * paa.EIGHTH
        return values
    out = np.zeros(symbols.shape)
    for level in np.unique(levels).tolist():
        of = levels == level
        out[of] = sax.cell_means(level)[symbols[of]]
    return out + 0.0


def _cells(symbols: AnyArray, level: int) -> tuple[Array, Array]:
    """The borders of the cells behind symbols of one level; what rounding takes for a value on a border belongs to the upper cell."""
    if pattern_of(symbols) == "paa":
        low, high = paa.cells(symbols.astype(np.int64) - ZERO, level)
        return low - sax.ROUNDING, high - sax.ROUNDING
    edges = np.concatenate([[-np.inf], sax.breakpoints(level) - sax.ROUNDING, [np.inf]])
    return edges[symbols], edges[symbols + 1]


def mindist(means: Array, symbols: AnyArray, levels: Indices, points: int) -> Array:
    """A lower bound of the distance between a z-normalised series and the series behind each pattern.

    `means` are the segment means of one series, `points` the length of the series. With the gap of a mean to a symbol's
    cell (0 inside),

        mindist = sqrt(points / w * sum of squared gaps)  <=  Euclidean distance of the z-normalised series

    because the mean over a segment moves two series no farther apart than they are. Comparing means with cells is
    closer than comparing two words (J. Shieh, E. Keogh, iSAX: indexing and mining terabyte sized time series, KDD
    (2008) 623-631).

    Examples
    --------
    >>> import numpy as np
    >>> mindist(np.array([1.0, -1.0]), as_symbols(["ab", "ba"]), np.array([2, 2]), points=8).round(6)
    array([2.828427, 0.      ])
    """
    squares = np.zeros(len(symbols))
    for level in np.unique(levels).tolist():
        of = np.flatnonzero(levels == level)
        low, high = _cells(symbols[of], level)
        gaps = np.maximum(np.maximum(low - means, means - high), 0.0)
        squares[of] = (gaps**2).sum(axis=1)
    distance: Array = np.sqrt(squares * (points / len(means)))
    return distance
