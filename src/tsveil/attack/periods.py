"""Two periods of the same persons: times at which an intruder knows their values, and the published ones.

Whoever wants to know what a release withstands names a file of another period. Without one, the published series are cut at a whole number of periods next to the middle: at weeks
where there are two whole ones or more, else at days. Who knows the originals of the first part then looks for them in what is published of the second. Parts are shorter than what is
published, so this finds fewer persons than a real other period does: **a lower bound**. A week or a day is a period only if it has at least two times. Where times are no time
stamps, or with fewer than two whole periods, nothing is tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import msgspec
import numpy as np

from tsveil.attack.base import OtherPeriod
from tsveil.attack.pieces import Columns, Pieces
from tsveil.core.errors import InputError
from tsveil.core.types import Array
from tsveil.transform.features import DAY, WEEK, Profile, Times, common


class Series(msgspec.Struct, frozen=True):
    """One series: its columns in what is known and in what is published (from, to), and their times."""

    known: tuple[int, int]
    shown: tuple[int, int]
    known_seconds: tuple[float, ...] | None
    shown_seconds: tuple[float, ...] | None

    @property
    def profiles(self) -> tuple[Profile, Profile]:
        """The features that both periods have, of what is known and of what is published."""
        return common(_times(self.known, self.known_seconds), _times(self.shown, self.shown_seconds))


class Periods(msgspec.Struct, frozen=True):
    """The series of two periods, and how they were found, in words."""

    series: tuple[Series, ...]
    words: str

    @property
    def widths(self) -> list[int]:
        """The number of features of each series."""
        return [one.profiles[0].width for one in self.series]

    def known(self, table: Array) -> Array:
        """The features of known records."""
        return np.hstack([one.profiles[0].features(table[:, slice(*one.known)]) for one in self.series])

    def shown(self, table: Array) -> Array:
        """The features of published records."""
        return np.hstack([one.profiles[1].features(table[:, slice(*one.shown)]) for one in self.series])

    def known_sizes(self, table: Array) -> Array:
        """The sizes of known records."""
        return np.hstack([one.profiles[0].sizes(table[:, slice(*one.known)]) for one in self.series])

    def shown_sizes(self, table: Array) -> Array:
        """The sizes of published records."""
        return np.hstack([one.profiles[1].sizes(table[:, slice(*one.shown)]) for one in self.series])


def periods_of(files: Pieces, other: OtherPeriod | None = None) -> Periods | str:
    """The published period and the one that an intruder knows: that of a file, or a part of what is published; or why there is none."""
    return _cut(files) if other is None else _with(files, other)


def periods_in_words(files: Pieces, other: OtherPeriod | None = None) -> str:
    """How persons were looked for by values at other times, or why not, in words."""
    found = periods_of(files, other)
    return f"not tried: {found}" if isinstance(found, str) else found.words


def whole_periods(seconds: Sequence[float] | Array) -> tuple[int, int, float] | None:
    """Where to cut a series: the number of times of its first part, how many whole periods these are, and their length; None: it has not two.

    Examples
    --------
    >>> hours = [3600.0 * hour for hour in range(24 * 17)]
    >>> whole_periods(hours) == (168, 1, WEEK), whole_periods(hours[:24 * 5]) == (48, 2, DAY), whole_periods(hours[:47])
    (True, True, None)
    """
    times = np.array(seconds)
    if len(times) < 2:
        return None
    step = float(np.diff(times).min())
    span = float(times[-1] - times[0]) + step
    for length in (WEEK, DAY):
        whole = math.floor(span / length + 1e-9)
        if 2 * step <= length and whole >= 2:
            # Next to the middle; of two that are as near, the earlier.
            periods = min(max(1, math.ceil(span / length / 2 - 0.5 - 1e-9)), whole - 1)
            return int(np.searchsorted(times, times[0] + periods * length - step / 2)), periods, length
    return None


def _times(columns: tuple[int, int], seconds: tuple[float, ...] | None) -> Times:
    return Times(columns[1] - columns[0], None if seconds is None else np.array(seconds))


def _cut(files: Pieces) -> Periods | str:
    """Each series cut into two parts."""
    series, words = [], ""
    for block in files.series:
        seconds = block.seconds
        cut = None if seconds is None else whole_periods(seconds)
        if seconds is None or cut is None:
            continue
        at, periods, length = cut
        start, stop = files.span(block.name).start, files.span(block.name).stop
        series.append(Series((start, start + at), (start + at, stop), seconds[:at], seconds[at:]))
        count = f"{periods} {'week' if length == WEEK else 'day'}{'s' * (periods > 1)}"
        words = words or f"who knows the originals of the first {count} looks for them in what is published of the rest"
    if series:
        return Periods(tuple(series), f"{words}: a lower bound, as no file of another period was named")
    if not any(block.seconds for block in files.series):
        return "the times of the series are no time stamps, so that they cannot be cut at whole days or weeks"
    return "the series have fewer than two whole days or weeks"


def _with(files: Pieces, other: OtherPeriod) -> Periods:
    """The published series and those of the same names in the other file, or the only ones of both."""
    if files.persons:
        raise InputError(
            "a file of another period is only for data with one record for each person\n"
            "  options: make one record of each person first, or leave it out"
        )
    theirs = {block.name: Columns.of(block) for block in other.data.series}
    starts = dict(zip(theirs, accumulate(map(len, theirs.values()), initial=0), strict=False))
    single = len(files.series) == len(theirs) == 1
    series, missing = [], []
    for block in files.series:
        name = next(iter(theirs)) if single else block.name
        if name not in theirs:
            missing.append(name)
            continue
        one, span, start = theirs[name], files.span(block.name), starts[name]
        found = Series((start, start + len(one)), (span.start, span.stop), one.seconds, block.seconds)
        _check_steps(block, found)
        series.append(found)
    if not series:
        raise InputError(
            f"the file of another period has none of the series {', '.join(map(repr, missing))}\n  its series: {', '.join(theirs)}"
        )
    both = int((other.rows >= 0).sum())
    left = f"; it has no series {', '.join(map(repr, missing))}" if missing else ""
    return Periods(tuple(series), f"a file of another period, with {both:,} of the persons{left}")


def _check_steps(block: Columns, found: Series) -> None:
    """Values of half an hour are not those of an hour."""
    if found.known_seconds is None or found.shown_seconds is None:
        return
    ours, theirs = (
        _times(columns, seconds).step
        for columns, seconds in ((found.shown, found.shown_seconds), (found.known, found.known_seconds))
    )
    if ours != theirs and math.isfinite(ours) and math.isfinite(theirs):
        raise InputError(
            f"series {block.name!r}: the times of the other period are {theirs:g} seconds apart, the published ones {ours:g}\n"
            "  options: a file of another period with the same steps"
        )
