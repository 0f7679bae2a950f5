"""Time stamps and time labels as numbers.

Distances and slopes need numbers. Numbers are taken as they are. Time stamps are counted from the earliest one in
units of their smallest step, so hourly stamps become 0, 1, 2, ... and a gap of three hours counts 3: slopes then mean
"per step", and evenly spaced stamps give exactly the first differences. Stamps that lie on the same day of different
months (or all on month ends) are counted in months: the months of a monthly series are meant to be equally long.

Understood are ISO 8601 (with or without a time zone; with it, moments are compared in universal time), 2018/10/29,
29.10.2018, each with or without a time of day (24:00 included), 2018-10, 201810, 2018M10, 2018Q4, and times of day
alone. The forms 10/29/2018 and 29/10/2018 are not: they cannot be told apart.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Literal

import numpy as np

from tsveil.core.types import Array

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])?")
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(:(?P<second>\d\d))?"
_FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        rf"(?P<year>\d{{4}})(?P<mark>[-/])(?P<month>\d{{1,2}})((?P=mark)(?P<day>\d{{1,2}})([ T]{_CLOCK})?)?",
        rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}})([ T]{_CLOCK})?",
        r"(?P<year>\d{4})[- ]?[Mm](?P<month>\d{1,2})",
        r"(?P<year>\d{4})[- ]?[Qq](?P<quarter>[1-4])",
        r"(?P<year>\d{4})(?P<month>\d\d)",
    )
)
_TIME_OF_DAY = re.compile(_CLOCK, re.ASCII)
_COUNTED = re.compile(r"(?P<head>.*?\D)?(?P<number>\d+)", re.ASCII | re.DOTALL)
_JOINTS = ".,_:;/|- "
#: the year given to times of day, which have none
_NO_YEAR = 1


def times_as_numbers(labels: Sequence[object], *, counted: bool = False) -> Array | None:
    """The labels as numbers, or None when they are neither numbers nor time stamps.

    The labels may come in any order; stamps are counted from the earliest one. With `counted`, labels that share a word
    and end in a whole number (W0, W1, ...) are taken by that number, too.

    Examples
    --------
    >>> times_as_numbers(["1993", "1994", "1996"])
    array([1993., 1994., 1996.])
    >>> times_as_numbers(["2018-10-29T00:00", "2018-10-29T01:00", "2018-10-29T04:00"])
    array([0., 1., 4.])
    >>> times_as_numbers(["2018-01-31", "2018-02-28", "2018-03-31"])
    array([0., 1., 2.])
    >>> times_as_numbers(["age", "income"]) is None
    True
    >>> times_as_numbers(["W0", "W1", "W2"], counted=True)
    array([0., 1., 2.])
    """
    if not len(labels):
        return None
    moments = _moments(labels)
    if moments is not None:
        return _in_steps(moments)
    numbers = _numbers(labels)
    if numbers is not None:
        return numbers
    return _counter_values(labels) if counted else None


def seconds_of(labels: Sequence[object]) -> Array | None:
    """Time stamps in seconds from a midnight that begins a Monday, so that they tell the hour and the weekday; None when they are not all moments.

    Stamps with a time zone are taken in universal time. Times of day are those of one day.

    Examples
    --------
    >>> seconds_of(["2018-10-29T00:00", "2018-10-30T06:00"]) % (7 * 86400)
    array([     0., 108000.])
    >>> seconds_of(["1993", "1994"]) is None
    True
    """
    moments = _moments(labels) if len(labels) else None
    if moments is None:
        return None
    monday = datetime(_NO_YEAR, 1, 1, tzinfo=moments[0].tzinfo)
    return np.array([(moment - monday).total_seconds() for moment in moments], dtype=np.float64)


def why_not_times(labels: Sequence[object]) -> str:
    """Why labels cannot be read as times, as the end of a sentence.

    Examples
    --------
    >>> why_not_times(["2018-10-29", "soon"])
    "'soon' is neither a number nor a time stamp"
    >>> why_not_times(["2018-10-29T00:00", "2018-10-29T01:00+01:00"])
    "'2018-10-29T01:00+01:00' names a time zone and '2018-10-29T00:00' does not"
    """
    moments = [_moment(label) for label in labels]
    for label, moment in zip(labels, moments, strict=True):
        if moment is None and not _NUMBER.fullmatch(str(label).strip()):
            return f"{str(label)!r} is neither a number nor a time stamp"
    with_zone = next((str(a) for a, m in zip(labels, moments, strict=True) if m is not None and m.tzinfo), None)
    without = next((str(a) for a, m in zip(labels, moments, strict=True) if m is not None and not m.tzinfo), None)
    if with_zone is not None and without is not None:
        return f"{with_zone!r} names a time zone and {without!r} does not"
    return "numbers, time stamps and times of day are mixed"


@dataclass(frozen=True)
class TimeName:
    """The name of a column that seems to say a time: the word before it, what joins them, and the time."""

    head: str
    joint: str
    label: str
    form: Literal["stamp", "number", "counter"]


@lru_cache(maxsize=2**16)  # asked for when a table is guessed, and again when it is read
def time_name(name: str) -> TimeName | None:
    """What the name of a column says of a time, or None.

    Examples
    --------
    >>> time_name("load.2018-01-01")
    TimeName(head='load', joint='.', label='2018-01-01', form='stamp')
    >>> time_name("W51")
    TimeName(head='W', joint='', label='51', form='counter')
    >>> time_name("age") is None
    True
    """
    text = name.strip()
    if not any(character.isdigit() for character in text):
        return None
    if _moment(text) is not None:
        return TimeName("", "", name, "stamp")
    if _NUMBER.fullmatch(text):
        return TimeName("", "", name, "number")
    for place, character in enumerate(text):
        if character in _JOINTS and place and _moment(text[place + 1 :]) is not None:
            return TimeName(text[:place], character, text[place + 1 :], "stamp")
    match = _COUNTED.fullmatch(text)
    if match is None or match["head"] is None:
        return None
    head = match["head"].rstrip(_JOINTS)
    return TimeName(head, match["head"][len(head) :], match["number"], "counter")


def times_of_names(names: Sequence[str]) -> tuple[tuple[str, ...], Array] | None:
    """The times that the names of a series' columns say, as labels and numbers; a word shared by all names is left out.

    Examples
    --------
    >>> times_of_names(["load.2018-01-01", "load.2018-01-02"])
    (('2018-01-01', '2018-01-02'), array([0., 1.]))
    """
    parts = [time_name(name) for name in names]
    found = [part for part in parts if part is not None]
    if len(found) < len(names) or len({(part.head, part.joint) for part in found}) != 1:
        return None
    labels = tuple(part.label for part in found)
    numbers = times_as_numbers(labels)
    return None if numbers is None else (labels, numbers)


def _numbers(labels: Sequence[object]) -> Array | None:
    texts = [str(label).strip() for label in labels]
    if not all(_NUMBER.fullmatch(text) for text in texts):
        return None
    found = np.array([float(text) for text in texts], dtype=np.float64)
    return found if bool(np.isfinite(found).all()) else None


def _moments(labels: Sequence[object]) -> list[datetime] | None:
    """Every label as a moment, or None as soon as one is not, or when only some name a time zone or a day."""
    found: list[datetime] = []
    for label in labels:
        moment = _moment(label)
        if moment is None:
            return None
        found.append(moment)
    aware = {moment.tzinfo is not None for moment in found}
    if len(aware) != 1 or len({moment.year == _NO_YEAR for moment in found}) != 1:
        return None
    return [m.astimezone(UTC) for m in found] if aware == {True} else found


def _moment(label: object) -> datetime | None:
    if isinstance(label, datetime):
        return label
    if isinstance(label, date):
        return datetime(label.year, label.month, label.day)
    if isinstance(label, np.datetime64):
        moment = label.astype("datetime64[us]").item()
        return moment if isinstance(moment, datetime) else None
    text = str(label).strip()
    if len(text) < 4 or not text[0].isdigit():
        return None
    if _NUMBER.fullmatch(text) and not _COMPACT.fullmatch(text):
        return None  # a plain number; 201810 and 20181029 may still be a month and a day
    for read in (datetime.fromisoformat, _by_form):
        try:
            return read(text)
        except (ValueError, OverflowError):
            continue
    return None


def _by_form(text: str) -> datetime:
    """A moment written in one of our own forms; ValueError when it is in none, or its figures are no date."""
    if match := _TIME_OF_DAY.fullmatch(text):
        return datetime(_NO_YEAR, 1, 1) + _clock(match.groupdict())
    for form in _FORMS:
        if match := form.fullmatch(text):
            parts = match.groupdict()
            month = int(parts.get("month") or 3 * int(parts.get("quarter") or 0) - 2)
            midnight = datetime(int(parts["year"]), month, int(parts.get("day") or 1))
            return midnight + _clock(parts)
    raise ValueError("no known form")


def _clock(parts: dict[str, str | None]) -> timedelta:
    """The time of day; the end of a day may be written as 24:00."""
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    if minute > 59 or second > 59 or hour * 3600 + minute * 60 + second > 86400:
        raise ValueError("no time of day")
    return timedelta(hours=hour, minutes=minute, seconds=second)


def _in_steps(moments: list[datetime]) -> Array:
    months = _whole_months(moments)
    if months is None:
        earliest = min(moments)
        counts = np.array([(moment - earliest).total_seconds() for moment in moments], dtype=np.float64)
    else:
        counts = months - months.min()
    steps = np.diff(np.unique(counts))
    return counts / steps.min() if steps.size else counts


def _whole_months(moments: list[datetime]) -> Array | None:
    """Moments in months, when they lie on the same day of different months or all on month ends."""
    months = np.array([12 * moment.year + moment.month for moment in moments], dtype=np.float64)
    if len({(m.day, m.time()) for m in moments}) > 1 and not (
        len({m.time() for m in moments}) == 1 and all(m.day == calendar.monthrange(m.year, m.month)[1] for m in moments)
    ):
        return None
    return months


def _counter_values(labels: Sequence[object]) -> Array | None:
    matches = [_COUNTED.fullmatch(str(label).strip()) for label in labels]
    if not matches or any(match is None for match in matches):
        return None
    if len({match["head"] for match in matches if match}) != 1:
        return None
    return np.array([float(match["number"]) for match in matches if match], dtype=np.float64)
