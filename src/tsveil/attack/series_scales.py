"""The scales of series in files that come in pieces: those of `transform.normalise.ruler_of`, to the last bit.

A scale takes up to three passes: bounds, the sum of the values between them, and the sum of squares around their mean. It is kept as plain values:
lowest value, width, mean and deviation, each a number or one for every point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tsveil.attack.files import DECIMAL, TENS, decimals_of
from tsveil.core.types import Array
from tsveil.transform.normalise import How, Ruler, exact_sums, exact_total

#: the ways of normalising for which something must be known of all records
SHARED = ("global", "component", "ranging")


def axis_of(how: How) -> int | None:
    """Over all values, or over the records."""
    return None if how == "global" else 0


def bounds(x: Array, how: How) -> list[Any]:
    """The lowest and highest values of a piece."""
    return [x.min(axis=axis_of(how)).tolist(), x.max(axis=axis_of(how)).tolist()]


def merge_bounds(found: Sequence[Sequence[Any]]) -> list[Any]:
    """Lowest value and width, from the bounds of all pieces."""
    low = np.min([one[0] for one in found], axis=0)
    return [low.tolist(), (np.max([one[1] for one in found], axis=0) - low).tolist()]


def sums(x: Array, scale: Sequence[Any], how: How) -> list[Any]:
    """The exact sums over a piece: of the values between the bounds, or of the squares around their mean once that is known."""
    unit = Ruler(*(np.asarray(each) for each in scale)).measure(x)
    if len(scale) > 2:
        np.square(unit, out=unit)
    return [np.squeeze(half).tolist() for half in exact_sums(unit, axis_of(how))]


def complete_scale(scale: Sequence[Any], found: Sequence[Sequence[Any]], count: int) -> list[Any]:
    """The scale with its mean, or with its deviation, from the sums of all pieces and the number of their values."""
    high, low = (np.asarray(np.sum([one[half] for one in found], axis=0, dtype=np.int64)) for half in (0, 1))
    total = exact_total(high, low)
    if len(scale) == 2:
        return [*scale, (total / count).tolist()]
    deviation = np.sqrt(total / max(count - 1, 1))
    return [*scale, np.where(deviation > 0, deviation, 1.0).tolist()]


def decimals(x: Array) -> list[float]:
    """With how many decimals the values of a piece are written (-1: too many), and the largest of them."""
    return [int(decimals_of(x.reshape(-1, 1))[0]), float(np.abs(x).max(initial=0.0))]


def merge_decimals(found: Sequence[Sequence[float]]) -> int | None:
    """The steps of a series in all pieces of both files (see `files.in_steps`); None where these are no short decimals.

    Examples
    --------
    >>> merge_decimals([[1, 7.5], [2, 0.25]]) == DECIMAL + 2, merge_decimals([[1, 7.5], [-1, 0.25]])
    (True, None)
    """
    most = int(max(one[0] for one in found))
    fits = min(one[0] for one in found) >= 0 and max(one[1] for one in found) * TENS[most] < 2.0**53
    return DECIMAL + most if fits else None
