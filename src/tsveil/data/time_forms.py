"""One time as somebody wrote it, read as a moment; and how several are to be read that do not say it themselves.

Most ways to write a time can be read in one way only. Some cannot: 01/02/2020 is a day in January or in February, Jan-20 a month or a day, and
1460419200 is a number unless it counts the seconds since 1970. What such labels mean is their **form**: a word of `WORDS`, or a pattern of `strptime` that the
user gives. `forms_of` finds the forms in which all labels of a column are dates; one label (1/22/20) can decide for all. Where several are left, tsveil asks
(`questions`).

Months in words are English, whole or of three letters. Years of two digits are those from 1969 to 2068, as POSIX has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np

from tsveil.core.errors import ParameterError

#: what a time format may be beside a pattern, and what it means
WORDS = {
    "month-first": "4/12/2016 is 12 April",
    "day-first": "4/12/2016 is 4 December",
    "year-first": "16/04/12 is 12 April 2016",
    "month-year": "Jan-20 is January 2020",
    "month-day": "Jan-20 is 20 January",
    "epoch-s": "seconds since 1970",
    "epoch-ms": "milliseconds since 1970",
}
#: the year given to times of day, which have none
NO_YEAR = 1
#: and to days without a year: a leap year
_SOME_YEAR = 2000
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTHS = {word: at for at, name in enumerate(MONTHS, 1) for word in (name.lower(), name[:3].lower())} | {"sept": 9}
_STARTS = frozenset(_MONTHS) | {"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
_ORDERS = {"month-first": "mdy", "day-first": "dmy", "year-first": "ymd"}
_UNITS = {"epoch-s": 1.0, "epoch-ms": 1000.0}
#: numbers from here to there, in seconds since 1970, are moments of 2000 to 2030; above, 1990010100 would be an hour of 1990
_EPOCHS = (946_684_800, 1_900_000_000)
_SHORT = "%y%m%d%H%M"

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])?")
_CLOCK = (
    r"(?P<hour>\d{1,2})(:(?P<minute>\d\d)(:(?P<second>\d\d)([.,](?P<fraction>\d{1,6})\d*)?)?)?"
    r"(\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_AFTER = rf"((T|,?\s+|:){_CLOCK})?"
_WORD = r"(?P<word>[A-Za-z]{3,9})\.?"
_FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        rf"(?P<year>\d{{4}})(?P<mark>[-/])(?P<month>\d{{1,2}})((?P=mark)(?P<day>\d{{1,2}}){_AFTER})?",
        rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){_AFTER}",
        r"(?P<year>\d{4})[- ]?[Mm](?P<month>\d{1,2})",
        r"(?P<year>\d{4})[- ]?[Qq](?P<quarter>[1-4])",
        r"(?P<year>\d{4})(?P<month>\d\d)",
        rf"{_WORD}[\s-]+(?P<day>\d{{1,2}})(st|nd|rd|th)?[\s,-]+(?P<year>\d{{4}}){_AFTER}",
        rf"{_WORD}\s+(?P<day>\d{{1,2}})\s+{_CLOCK}\s+(?P<year>\d{{4}})",
        rf"(?P<day>\d{{1,2}})(st|nd|rd|th)?[\s./-]*{_WORD}[\s./,-]*(?P<year>\d{{4}}|\d\d){_AFTER}",
        rf"{_WORD}[\s./,_-]*(?P<year>\d{{4}})",
        rf"(?P<year>\d{{4}})[\s./_-]*{_WORD}([\s./_-]*(?P<day>\d{{1,2}}){_AFTER})?",
    )
)
_HOURS = re.compile(_CLOCK, re.ASCII)
_TIME_OF_DAY = re.compile(rf"(?=.*[:AaPp]){_CLOCK}", re.ASCII)
_IN_ORDER = re.compile(rf"(?P<first>\d{{1,2}})(?P<mark>[-/.])(?P<second_>\d{{1,2}})(?P=mark)(?P<third>\d{{4}}|\d\d){_AFTER}", re.ASCII)  # fmt: skip
_SLASHED = re.compile(r"\d{1,2}[-/]\d{1,2}[-/]", re.ASCII)
_MONTH_AND_NUMBER = re.compile(rf"{_WORD}[\s./'_-]+(?P<number>\d\d?)", re.ASCII)
_WEEKDAY = re.compile(r"(mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]?\s+(?=\w)", re.IGNORECASE | re.ASCII)
_ZONE = re.compile(
    r"(?P<rest>.*\d:\d\d.*?)\s*(?P<zone>Z|UTC|GMT|(?P<sign>[+-])(?P<h>[01]\d|2[0-3]):?(?P<m>[0-5]\d))", re.ASCII
)


def check_time_format(form: str | None) -> None:
    """Refuse what is neither a word of `WORDS` nor a pattern.

    Examples
    --------
    >>> check_time_format("day-first"), check_time_format("%d.%m.%y %H:%M")
    (None, None)
    >>> check_time_format("dd/mm/yyyy")
    Traceback (most recent call last):
    tsveil.core.errors.ParameterError: The 'time_format' parameter of read must be 'month-first', 'day-first', 'year-first', 'month-year', 'month-day', 'epoch-s', 'epoch-ms', or a pattern such as '%d/%m/%Y %H:%M', or left out. Got 'dd/mm/yyyy'.
    """
    if form is None or form in WORDS:
        return
    try:
        if isinstance(form, str) and "%" in form:
            datetime.strptime(datetime(2000, 1, 2, 3, 4, 5, tzinfo=UTC).strftime(form), form)
            return
    except (ValueError, re.error):
        pass
    words = ", ".join(map(repr, WORDS))
    raise ParameterError(
        f"The 'time_format' parameter of read must be {words}, or a pattern such as '%d/%m/%Y %H:%M', or left out. Got {form!r}."
    )


def moment(label: object, form: str = "") -> datetime | None:
    """A label as a moment; None when it is none, or does not say it without a form.

    Examples
    --------
    >>> moment("Jan 1, 2000"), moment("12-Apr-16").day
    (datetime.datetime(2000, 1, 1, 0, 0), 12)
    >>> moment("1/2/2020") is None, moment("1/2/2020", "day-first").month
    (True, 2)
    """
    if isinstance(label, datetime):
        return label
    if isinstance(label, date):
        return datetime(label.year, label.month, label.day)
    if isinstance(label, np.datetime64):
        found = label.astype("datetime64[us]").item()
        return found if isinstance(found, datetime) else None
    text = str(label).strip()
    try:
        if "%" in form:
            return _by_pattern(text, form)
        if form in _UNITS:
            return _since_1970(text, _UNITS[form])
        return _by_word(text, form) if _SLASHED.match(text) else _by_itself(text) or _by_word(text, form)
    except (ValueError, OverflowError):
        return None


def is_time(label: object, form: str = "") -> bool:
    """Whether a label is a moment in that form; without a form, in any way in which it may be read. A plain number alone is none.

    Examples
    --------
    >>> is_time("1/2/2020"), is_time("13/13/2020"), is_time("Jan-20"), is_time("W51")
    (True, False, True, False)
    """
    if moment(label, form) is not None:
        return True
    return (
        not form and isinstance(label, str) and not NUMBER.fullmatch(label.strip()) and bool(_possible([label.strip()]))
    )


def forms_of(labels: Sequence[object]) -> tuple[str, ...]:
    """The forms in which labels may be read; ("",) when they say it themselves or are no times, () when no form fits all of them.

    Examples
    --------
    >>> forms_of(["1/2/20", "1/22/20"]), forms_of(["01/02/2020", "01/03/2020"]), forms_of(["13/1/2020", "1/13/2020"])
    (('month-first',), ('month-first', 'day-first'), ())
    >>> forms_of(["1460419200", "1460422800"]), forms_of(["2016-04-12"])
    (('epoch-s',), ('',))
    """
    texts = [str(label).strip() for label in labels]
    found = _possible(texts)
    if not found:
        return () if any(map(_needs_form, texts)) else ("",)
    if len(found) == 1:
        return tuple(found)
    different: dict[tuple[datetime | None, ...], str] = {}
    for form in found:
        different.setdefault(tuple(moment(text, form) for text in texts), form)
    return tuple(different.values())


def form_of(labels: Sequence[object]) -> str:
    """The one form in which labels can be read; nothing where they need none, or where it is not decided.

    Examples
    --------
    >>> form_of(["1/2/20", "1/22/20"]), form_of(["1/2/20", "1/3/20"])
    ('month-first', '')
    """
    forms = forms_of(labels)
    return forms[0] if len(forms) == 1 else ""


def part_time(label: str) -> tuple[str, str]:
    """A date and a time of day, written with a space between them, apart.

    Examples
    --------
    >>> part_time("4/12/2016 1:00 PM"), part_time("Jan 1 2000 13"), part_time("2016-04-12T13:00")
    (('4/12/2016', '1:00 PM'), ('Jan 1 2000', '13'), ('2016-04-12', '13:00'))
    """
    for place in (match.start() for match in re.finditer("[ T]", label)):
        if _HOURS.fullmatch(label[place + 1 :]):
            return label[:place], label[place + 1 :]
    return label, ""


def _possible(texts: Sequence[str]) -> list[str]:
    """The forms that fit all labels, as far as these need one."""
    if not texts:
        return []
    if all(NUMBER.fullmatch(text) for text in texts):
        return _epochs(texts)
    needing = [text for text in texts if _needs_form(text)]
    if not needing:
        return []
    if orders := [form for form in _ORDERS if all(moment(text, form) is not None for text in needing)]:
        return orders
    months = [match for text in needing if (match := _MONTH_AND_NUMBER.fullmatch(text))]
    if len(months) < len(needing):
        return []
    by_year = [_MONTHS[match["word"].lower()] + 12 * _year(match["number"]) for match in months]
    days = all(moment(text, "month-day") is not None for text in needing)
    steps = np.unique(np.diff(np.unique(by_year)))
    # Months, quarters or half-years without a gap are no days; Jan-01, Jan-02, ... may be days as well as years.
    return ["month-year", "month-day"] if days and steps.size and steps.tolist() not in ([1], [3], [6]) else ["month-year"]  # fmt: skip


def _needs_form(text: str) -> bool:
    """Whether a label looks like a date that says less than is needed."""
    if not _SLASHED.match(text) and text[:3].lower() not in _STARTS:
        return False
    if match := _IN_ORDER.fullmatch(_parted(text)[0]):
        return match["mark"] != "."  # 10.1.12 may be the number of a section
    month = _MONTH_AND_NUMBER.fullmatch(text)
    return month is not None and month["word"].lower() in _MONTHS and len(month["number"]) == 2


def _epochs(texts: Sequence[str]) -> list[str]:
    numbers = [float(text) for text in texts]
    for form, unit in _UNITS.items():
        if all(_EPOCHS[0] <= number / unit < _EPOCHS[1] for number in numbers):
            short = form == "epoch-s" and all(moment(text, _SHORT) is not None for text in texts)
            return [form, _SHORT] if short else [form]
    return []


def _by_itself(text: str) -> datetime | None:
    """A moment that is written so that it can be read in one way only."""
    if len(text) < 4 or not (text[0].isdigit() or text[:3].lower() in _STARTS):
        return None
    if NUMBER.fullmatch(text) and not _COMPACT.fullmatch(text):
        return None  # a plain number; 201810 and 20181029 may still be a month and a day
    for read in (datetime.fromisoformat, _by_own_form):
        try:
            return read(text)
        except (ValueError, OverflowError):
            continue
    return None


def _by_own_form(text: str) -> datetime:
    """A moment written in one of our own forms; ValueError when it is in none, or its figures are no date."""
    if match := _TIME_OF_DAY.fullmatch(text):
        return datetime(NO_YEAR, 1, 1) + _clock(match.groupdict())
    rest, zone = _parted(text)
    for form in _FORMS:
        if match := form.fullmatch(rest):
            parts = match.groupdict()
            if word := parts.get("word"):
                month = _MONTHS.get(word.lower(), 0)
            else:
                month = int(parts.get("month") or 3 * int(parts.get("quarter") or 0) - 2)
            midnight = datetime(_year(str(parts["year"])), month, int(parts.get("day") or 1), tzinfo=zone)
            return midnight + _clock(parts)
    raise ValueError("no known form")


def _by_word(text: str, form: str) -> datetime | None:
    """A moment that says what is the day and what the month only together with a form."""
    rest, zone = _parted(text)
    if form in _ORDERS and (match := _IN_ORDER.fullmatch(rest)):
        fields = dict(zip(_ORDERS[form], match.group("first", "second_", "third"), strict=True))
        if len(fields["y"]) < 2 or max(len(fields["m"]), len(fields["d"])) > 2:
            return None
        return datetime(_year(fields["y"]), int(fields["m"]), int(fields["d"]), tzinfo=zone) + _clock(match.groupdict())
    if form in ("month-year", "month-day") and (match := _MONTH_AND_NUMBER.fullmatch(rest)):
        month = _MONTHS.get(match["word"].lower(), 0)
        if form == "month-day":
            return datetime(_SOME_YEAR, month, int(match["number"]))
        return datetime(_year(match["number"]), month, 1) if len(match["number"]) == 2 else None
    return None


def _by_pattern(text: str, pattern: str) -> datetime:
    if not re.search("%[dejUVWGaAxcDF]|%[bBmyYq]", pattern):
        return datetime.combine(date(NO_YEAR, 1, 1), datetime.strptime(text, pattern).time())
    if not re.search("%[yYGxcDF]", pattern):
        return datetime.strptime(f"{_SOME_YEAR} {text}", f"%Y {pattern}")
    return datetime.strptime(text, pattern)


def _since_1970(text: str, unit: float) -> datetime | None:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=float(text) / unit) if NUMBER.fullmatch(text) else None


def _parted(text: str) -> tuple[str, timezone | None]:
    """A time without the day of the week and the zone, and the zone."""
    if text[:1].isalpha() and (day := _WEEKDAY.match(text)):
        text = text[day.end() :]
    match = _ZONE.fullmatch(text) if ":" in text else None
    if match is None:
        return text, None
    if match["sign"] is None:
        return match["rest"], UTC
    offset = timedelta(hours=int(match["h"]), minutes=int(match["m"]))
    return match["rest"], timezone(offset if match["sign"] == "+" else -offset)


def _year(digits: str) -> int:
    return int(digits) if len(digits) > 2 else int(digits) + (2000 if int(digits) < 69 else 1900)


def _clock(parts: dict[str, str | None]) -> timedelta:
    """The time of day; the end of a day may be written as 24:00."""
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            raise ValueError("no hour before or after noon")
        hour = hour % 12 + 12 * (half in "pP")
    microsecond = int((parts.get("fraction") or "").ljust(6, "0"))
    if minute > 59 or second > 59 or hour * 3600 + minute * 60 + second > 86400:
        raise ValueError("no time of day")
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=microsecond)
