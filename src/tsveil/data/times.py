"""Time stamps and time labels as numbers.

Distances and slopes need numbers. Numbers are taken as they are. Time stamps are counted from the first one in units of their
smallest step, so hourly stamps become 0, 1, 2, ... and a gap of three hours counts 3: slopes then mean "per step",
and evenly spaced stamps give exactly the first differences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime

import numpy as np

from tsveil._types import Array

_FORMATS = ("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%Y-%m")
_COUNTED = re.compile(r"^(?P<head>.*?\D)?(?P<number>\d+)$")


def times_as_numbers(labels: Sequence[object], *, counted: bool = False) -> Array | None:
    """The labels as numbers, or None when they are neither numbers nor time stamps.

    With `counted`, labels that share a word and end in a whole number (W0, W1, ...) are taken by that number, too.

    Examples
    --------
    >>> times_as_numbers(["1993", "1994", "1996"])
    array([1993., 1994., 1996.])
    >>> times_as_numbers(["2018-10-29T00:00", "2018-10-29T01:00", "2018-10-29T04:00"])
    array([0., 1., 4.])
    >>> times_as_numbers(["age", "income"]) is None
    True
    >>> times_as_numbers(["W0", "W1", "W2"], counted=True)
    array([0., 1., 2.])
    """
    moments = _moments(labels)
    if moments is not None:
        return _in_steps(moments)
    try:
        found = np.array([float(str(label).strip()) for label in labels], dtype=np.float64)
        return found if bool(np.isfinite(found).all()) else None
    except ValueError:
        pass
    return _counted(labels) if counted else None


def _moments(labels: Sequence[object]) -> list[datetime] | None:
    """Every label as a moment, or None as soon as one is not, or when only some of them name a time zone."""
    found: list[datetime] = []
    for label in labels:
        moment = _moment(label)
        if moment is None:
            return None
        found.append(moment)
    aware = {moment.tzinfo is not None for moment in found}
    if len(aware) != 1:
        return None
    return [m.astimezone(UTC) for m in found] if aware == {True} else found


def _moment(label: object) -> datetime | None:
    if isinstance(label, datetime):
        return label
    if isinstance(label, date):
        return datetime(label.year, label.month, label.day)  # noqa: DTZ001 (a date has no zone)
    if isinstance(label, np.datetime64):
        moment = label.astype("datetime64[us]").item()
        return moment if isinstance(moment, datetime) else None
    text = str(label).strip()
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", text) and not re.fullmatch(r"(19|20)\d{6}", text):
        return None  # a plain number; eight digits such as 20181029 may still be a date
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in _FORMATS:
        try:
            return datetime.strptime(text, form)  # noqa: DTZ007 (none of these forms has a zone)
        except ValueError:
            continue
    return None


def _in_steps(moments: list[datetime]) -> Array:
    seconds = np.array([(moment - moments[0]).total_seconds() for moment in moments], dtype=np.float64)
    steps = np.abs(np.diff(seconds))
    steps = steps[steps > 0]
    return seconds / steps.min() if steps.size else seconds


def _counted(labels: Sequence[object]) -> Array | None:
    matches = [_COUNTED.match(str(label).strip()) for label in labels]
    if not matches or any(match is None for match in matches):
        return None
    if len({match["head"] for match in matches if match}) != 1:
        return None
    return np.array([float(match["number"]) for match in matches if match], dtype=np.float64)
