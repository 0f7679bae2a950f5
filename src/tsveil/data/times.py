"""Time stamps and time labels as numbers.

Distances and slopes need numbers. Numbers are taken as they are. Time stamps are counted from the earliest one in
units of their smallest step, so hourly stamps become 0, 1, 2, ... and a gap of three hours counts 3: slopes then mean
"per step", and evenly spaced stamps give exactly the first differences. Stamps that lie on the same day of different
months (or all on month ends) are counted in months: the months of a monthly series are meant to be equally long.

Understood are ISO 8601 (with or without a time zone; with it, moments are compared in universal time), 2018/10/29,
29.10.2018, 29-Oct-18, Oct 29, 2018, each with or without a time of day (24:00 and 1:00 PM included), 2018-10, 201810, 2018M10, 2018Q4, Oct 2018, and times of day
alone; and what can be read in several ways, 10/29/2018, Oct-18 or seconds since 1970, by the form that fits all labels or that somebody gave (`time_forms`).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal

import numpy as np

from tsveil.core.types import Array
from tsveil.data.time_forms import NO_YEAR, NUMBER, forms_of, is_time, moment

_COUNTED = re.compile(r"(?P<head>.*?\D)?(?P<number>\d+)", re.ASCII | re.DOTALL)
_JOINTS = ".,_:;/|- "


def times_as_numbers(labels: Sequence[object], form: str = "", *, counted: bool = False) -> Array | None:
    """The labels as numbers, or None when they are neither numbers nor time stamps.

    The labels may come in any order; stamps are counted from the earliest one. Without a `form` the one is taken that fits all labels, if there is one only.
    With `counted`, labels that share a word and end in a whole number (W0, W1, ...) are taken by that number, too.

    Examples
    --------
    >>> times_as_numbers(["1993", "1994", "1996"])
    array([1993., 1994., 1996.])
    >>> times_as_numbers(["2018-10-29T00:00", "2018-10-29T01:00", "2018-10-29T04:00"])
    array([0., 1., 4.])
    >>> times_as_numbers(["2018-01-31", "2018-02-28", "2018-03-31"])
    array([0., 1., 2.])
    >>> times_as_numbers(["1/30/20", "1/31/20", "2/2/20"])
    array([0., 1., 3.])
    >>> times_as_numbers(["age", "income"]) is None
    True
    >>> times_as_numbers(["W0", "W1", "W2"], counted=True)
    array([0., 1., 2.])
    """
    if not len(labels):
        return None
    moments = _moments(labels, form)
    if moments is not None:
        return _in_steps(moments)
    numbers = None if "%" in form else _numbers(labels)
    if numbers is not None:
        return numbers
    return _counter_values(labels) if counted else None


def seconds_of(labels: Sequence[object], form: str = "") -> Array | None:
    """Time stamps in seconds from a midnight that begins a Monday, so that they tell the hour and the weekday; None when they are not all moments.

    Stamps with a time zone are taken in universal time. Times of day are those of one day.

    Examples
    --------
    >>> seconds_of(["2018-10-29T00:00", "2018-10-30T06:00"]) % (7 * 86400)
    array([     0., 108000.])
    >>> seconds_of(["1993", "1994"]) is None
    True
    """
    moments = _moments(labels, form) if len(labels) else None
    if moments is None:
        return None
    monday = datetime(NO_YEAR, 1, 1, tzinfo=moments[0].tzinfo)
    return np.array([(one - monday).total_seconds() for one in moments], dtype=np.float64)


def why_not_times(labels: Sequence[object], form: str = "") -> str:
    """Why labels cannot be read as times, as the end of a sentence.

    Examples
    --------
    >>> why_not_times(["2018-10-29", "soon"])
    "'soon' is neither a number nor a time stamp"
    >>> why_not_times(["1/2/2020", "1/3/2020"])
    "'1/2/2020' does not say which is the day and which the month; time_format='month-first' or 'day-first' says it"
    >>> why_not_times(["1/13/2020", "13/1/2020"])
    "'1/13/2020' and '13/1/2020' cannot be read in the same way"
    >>> why_not_times(["2018-10-29T00:00", "2018-10-29T01:00+01:00"])
    "'2018-10-29T01:00+01:00' names a time zone and '2018-10-29T00:00' does not"
    """
    for label in labels:
        if not is_time(label, form) and ("%" in form or not NUMBER.fullmatch(str(label).strip())):
            return no_time(label, form)
    forms = (form,) if form else forms_of(labels)
    if not forms:
        kept: list[object] = []
        for label in labels:
            if not forms_of([*kept, label]):
                other = next(one for one in kept if not forms_of([one, label]))
                return f"{str(other)!r} and {str(label)!r} cannot be read in the same way"
            kept.append(label)
    if len(forms) > 1:
        return undecided(labels, forms)
    moments = [moment(label, forms[0]) for label in labels]
    with_zone = next((str(a) for a, m in zip(labels, moments, strict=True) if m is not None and m.tzinfo), None)
    without = next((str(a) for a, m in zip(labels, moments, strict=True) if m is not None and not m.tzinfo), None)
    if with_zone is not None and without is not None:
        return f"{with_zone!r} names a time zone and {without!r} does not"
    return "numbers, time stamps and times of day are mixed"


def no_time(label: object, form: str = "") -> str:
    """What is said of a label that is no time.

    Examples
    --------
    >>> no_time("12.4.16", "%d/%m/%y")
    "'12.4.16' does not fit the time format '%d/%m/%y'"
    """
    what = f"does not fit the time format {form!r}" if "%" in form else "is neither a number nor a time stamp"
    return f"{str(label)!r} {what}"


def undecided(labels: Sequence[object], forms: Sequence[str]) -> str:
    """What is said of labels that can be read in several forms."""
    which = "the day and which the month" if "day-first" in forms else "meant"
    options = " or ".join(map(repr, forms))
    return f"{str(telling(labels, forms))!r} does not say which is {which}; time_format={options} says it"


def telling(labels: Sequence[object], forms: Sequence[str]) -> object:
    """The first label that is another moment in each form, or in some of them."""

    def meanings(label: object) -> int:
        return len({moment(label, form) for form in forms})

    return max(labels, key=meanings)


def even_times(labels: Sequence[str], times: Array, m: int, form: str = "") -> tuple[tuple[str, ...], str]:
    """The labels of m evenly spaced times from the first to the last, and the form by which they are read.

    Where all of them are times that there are already, they are written as those are; else moments are written by ISO 8601, to the second where they are an hour apart
    or more, and numbers with ten digits. Labels that are no times become 1, 2, ..., m.

    Examples
    --------
    >>> labels = ["2018-01-01", "2018-01-02", "2018-01-03"]
    >>> even_times(labels, np.arange(3.0), 2)
    (('2018-01-01', '2018-01-03'), '')
    >>> even_times(labels, np.arange(3.0), 4)
    (('2018-01-01T00:00', '2018-01-01T16:00', '2018-01-02T08:00', '2018-01-03T00:00'), '')
    >>> even_times(["1993", "1995"], np.array([1993.0, 1995.0]), 5)
    (('1993', '1993.5', '1994', '1994.5', '1995'), '')
    """
    places = np.linspace(times[0], times[-1], m)
    slack = 1e-9 * max(1.0, float(np.abs(times).max()))
    known = np.minimum(np.searchsorted(times, places - slack), len(times) - 1)
    if len(set(known.tolist())) == m and bool((np.abs(times[known] - places) <= slack).all()):
        return tuple(labels[at] for at in known.tolist()), form
    numbers, ends = _numbers(labels), [moment(labels[0], form), moment(labels[-1], form)]
    if numbers is not None and (ends[0] is None or form.startswith("epoch")):
        found = [
            f"{number:.10g}" if not form else str(round(number)) for number in np.linspace(numbers[0], numbers[-1], m)
        ]
    elif ends[0] is not None and ends[1] is not None:
        found, form = _between(ends[0], ends[1], m), ""
    else:
        found, form = [], ""
    if len(set(found)) < m:
        return tuple(str(point) for point in range(1, m + 1)), ""
    return tuple(found), form


def _between(first: datetime, last: datetime, m: int) -> list[str]:
    """Evenly spaced moments; times of day where there is no date."""
    step = (last - first) / (m - 1)
    moments = [first + at * (last - first) / (m - 1) for at in range(m)]
    if step >= timedelta(hours=1):
        moments = [(one + timedelta(microseconds=500_000)).replace(microsecond=0) for one in moments]
    whole = not any(one.second or one.microsecond for one in moments)
    precision: Literal["minutes", "auto"] = "minutes" if whole else "auto"
    if first.year != NO_YEAR:
        return [one.isoformat(timespec=precision) for one in moments]
    return ["24:00" if one.day > 1 else one.time().isoformat(precision) for one in moments]


@dataclass(frozen=True)
class TimeName:
    """The name of a column that seems to say a time: the word before it, what joins them, and the time."""

    head: str
    joint: str
    label: str
    form: Literal["stamp", "number", "counter"]


@lru_cache(maxsize=2**16)  # asked for when a table is guessed, and again when it is read
def time_name(name: str, form: str = "") -> TimeName | None:
    """What the name of a column says of a time, or None; a `form` says how times are written.

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
    if is_time(text, form):
        return TimeName("", "", name, "stamp")
    if NUMBER.fullmatch(text):
        return TimeName("", "", name, "number")
    for place, character in enumerate(text):
        if character in _JOINTS and place and is_time(text[place + 1 :], form):
            return TimeName(text[:place], character, text[place + 1 :], "stamp")
    match = _COUNTED.fullmatch(text)
    if match is None or match["head"] is None:
        return None
    head = match["head"].rstrip(_JOINTS)
    return TimeName(head, match["head"][len(head) :], match["number"], "counter")


def times_of_names(names: Sequence[str], form: str = "") -> tuple[tuple[str, ...], Array] | None:
    """The times that the names of a series' columns say, as labels and numbers; a word shared by all names is left out.

    Examples
    --------
    >>> times_of_names(["load.2018-01-01", "load.2018-01-02"])
    (('2018-01-01', '2018-01-02'), array([0., 1.]))
    """
    parts = [time_name(name, form) for name in names]
    found = [part for part in parts if part is not None]
    if len(found) < len(names) or len({(part.head, part.joint) for part in found}) != 1:
        return None
    labels = tuple(part.label for part in found)
    numbers = times_as_numbers(labels, form)
    return None if numbers is None else (labels, numbers)


def _numbers(labels: Sequence[object]) -> Array | None:
    texts = [str(label).strip() for label in labels]
    if not all(NUMBER.fullmatch(text) for text in texts):
        return None
    found = np.array([float(text) for text in texts], dtype=np.float64)
    return found if bool(np.isfinite(found).all()) else None


def _moments(labels: Sequence[object], form: str = "") -> list[datetime] | None:
    """Every label as a moment, or None as soon as one is not, or when only some name a time zone or a day."""
    if not form:
        forms = forms_of(labels)
        if len(forms) != 1:
            return None
        form = forms[0]
    found: list[datetime] = []
    for label in labels:
        one = moment(label, form)
        if one is None:
            return None
        found.append(one)
    aware = {one.tzinfo is not None for one in found}
    if len(aware) != 1 or len({one.year == NO_YEAR for one in found}) != 1:
        return None
    try:
        return [m.astimezone(UTC) for m in found] if aware == {True} else found
    except OverflowError:  # before the year 1 or after 9999 in universal time
        return None


def _in_steps(moments: list[datetime]) -> Array:
    months = _whole_months(moments)
    if months is None:
        earliest = min(moments)
        counts = np.array([(one - earliest).total_seconds() for one in moments], dtype=np.float64)
    else:
        counts = months - months.min()
    steps = np.diff(np.unique(counts))
    return counts / steps.min() if steps.size else counts


def _whole_months(moments: list[datetime]) -> Array | None:
    """Moments in months, when they lie on the same day of different months or all on month ends."""
    months = np.array([12 * one.year + one.month for one in moments], dtype=np.float64)
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
