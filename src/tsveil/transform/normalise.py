"""Normalisation: values of different files, series or attributes on one scale before they are compared.

    global      (x - m) / s, one mean m and one standard deviation s over all values of all records (default)
    per-record  the same with the mean and the standard deviation of each record
    component   the same with those of each column
    ranging     (x - min) / (max - min) of each column
    none        x

Standard deviations divide by the count less one. Where nothing varies the result is zero.

Component-wise normalisation and ranging change the shape of a series: a price that rises every year may seem to fall.
That is why `global` is the default for time series [1]_.

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009)
   1663-1677, section 5.1.

Examples
--------
>>> import numpy as np
>>> normalise_one(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), "per-record")
array([[-1.,  0.,  1.],
       [-1.,  0.,  1.]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tsveil.core.errors import ParameterError
from tsveil.core.types import Array, Indices

How = Literal["global", "per-record", "component", "ranging", "none"]
Scaling = Literal["original", "own"]


def normalise(
    original: Array, released: Array, how: How = "global", scaling: Scaling = "original"
) -> tuple[Array, Array]:
    """Both files of one series or block on one scale.

    `scaling="original"` takes the original's mean and deviation (or range) for both files: the strongest intruder, who
    knows them. `scaling="own"` takes each file's own, as the source papers do. `per-record` always uses each record's
    own.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = normalise(np.array([[0.0], [10.0]]), np.array([[5.0], [20.0]]), "ranging")
    >>> b
    array([[0.5],
           [2. ]])
    """
    if scaling not in get_args(Scaling):
        raise ParameterError(f"The 'scaling' parameter of normalise must be 'original' or 'own'. Got {scaling!r}.")
    original, released = _table(original), _table(released)
    if how == "none":
        return original, released
    ruler = ruler_of(original, how)
    own = scaling == "own" or how == "per-record"
    return ruler.measure(original), (ruler_of(released, how) if own else ruler).measure(released)


def normalise_one(x: Array, how: How = "global") -> Array:
    """One file on its own scale.

    Examples
    --------
    >>> import numpy as np
    >>> normalise_one(np.array([[2.0, 7.0], [4.0, 7.0], [6.0, 7.0]]), "component")
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 1.,  0.]])
    """
    x = _table(x)
    return x if how == "none" else ruler_of(x, how).measure(x)


@dataclass(frozen=True)
class Ruler:
    """The scale of a table: (x - low) / width lies in 0..1 there, and `mean` and `deviation` are taken of that.

    Two steps, so that neither a large offset nor huge or tiny values cost digits in the sum of squares.
    """

    low: Array | float
    width: Array | float
    mean: Array | float = 0.0
    deviation: Array | float = 1.0

    def measure(self, x: Array) -> Array:
        """Values on this scale."""
        out: Array = x - self.low
        varies = np.asarray(self.width) > 0
        out /= np.where(varies, self.width, 1.0)
        out -= self.mean
        out /= self.deviation
        out *= varies  # zero where nothing varies, also for another file's values
        return out


def ruler_of(x: Array, how: How) -> Ruler:
    """The scale of a table."""
    if how not in get_args(How):
        words = ", ".join(repr(choice) for choice in get_args(How))
        raise ParameterError(f"The 'how' parameter of normalise must be one of {words}. Got {how!r}.")
    axis = {"global": None, "per-record": 1, "component": 0, "ranging": 0}[how]
    low = x.min(axis=axis, keepdims=True)
    bounds = Ruler(low, x.max(axis=axis, keepdims=True) - low)
    if how == "ranging":
        return bounds
    unit = bounds.measure(x)
    count = x.size if axis is None else x.shape[axis]
    mean = _sum(unit, axis) / count
    unit -= mean
    np.square(unit, out=unit)
    deviation = np.sqrt(_sum(unit, axis) / max(count - 1, 1))
    return Ruler(low, bounds.width, mean, np.where(deviation > 0, deviation, 1.0))


def _sum(unit: Array, axis: int | None) -> Array:
    """Sums of values from 0 to 1 that do not depend on the order of the records, to the last bit."""
    if axis == 1:  # of each record: always in the order of its columns
        of_each: Array = unit.sum(axis=1, keepdims=True)
        return of_each
    return exact_total(*exact_sums(unit, axis))


def exact_sums(unit: Array, axis: int | None) -> tuple[Indices, Indices]:
    """Sums of values from 0 to 1 as two whole numbers, which may be added up over several tables: see `exact_total`.

    Rounded to multiples of 2^-52 the values are whole numbers, and sums of these are exact; in two halves, so that they
    do not overflow. Otherwise a shuffled file might break a tie between two distances the other way.
    """
    whole = (unit * 2.0**52).astype(np.int64)
    high: Indices = (whole >> 26).sum(axis=axis, keepdims=True)
    whole &= 2**26 - 1
    low: Indices = whole.sum(axis=axis, keepdims=True)
    return high, low


def exact_total(high: Indices, low: Indices) -> Array:
    """The sum that two whole numbers stand for.

    Examples
    --------
    >>> import numpy as np
    >>> parts = [exact_sums(np.array([[0.5, 1.0]]), None), exact_sums(np.array([[0.25]]), None)]
    >>> exact_total(parts[0][0] + parts[1][0], parts[0][1] + parts[1][1])
    array([[1.75]])
    """
    total: Array = high * 2.0**-26 + low * 2.0**-52
    return total


def _table(x: Array) -> Array:
    return np.ascontiguousarray(x, dtype=np.float64)
