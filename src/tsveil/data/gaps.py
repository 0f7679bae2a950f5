"""Records that lack points: what is said of them, and what can be done.

Gaps are refused, dropped with their records, filled by linear interpolation in time, masked (they stay gaps, and methods that know gaps
protect them), or kept as NaN; or every series is brought to one length, whatever times it has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from tsveil.core.errors import ParameterError, Problems, some
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.dataset import Block
from tsveil.data.resample import fill_gaps, resample
from tsveil.data.times import even_times

Missing = Literal["refuse", "drop", "interpolate", "mask", "keep"]

#: how problems sound that the options for gaps settle, and how a hint names such an option and what it does
_ABOUT_GAPS = re.compile(
    r": the value is missing$|more missing values$| incomplete: | has no value at all | records have gaps, |, so its gaps cannot be interpolated: | have too few times in common to fill the others$"
)
_CURE = re.compile(r"\b(missing|resample|split)=(?:'(\w+)'|\w\b) ([^,]+)")


#: facts of a release of records with gaps: points of the published records, how many of these are empty, records suppressed because they have fewer than a
#: third of their points, and the fewest persons behind a published value
POINTS, EMPTY, SPARSE = "points", "points left empty", "records with fewer than a third of their points"
FEWEST = "smallest number of persons behind a value"

#: as many points as a wide table may have columns
MOST_POINTS = 200_000


def check_gap_options(missing: str, m: int | None) -> None:
    """Refuse what the parameters `missing` and `resample` cannot be."""
    wrong = []
    if missing not in get_args(Missing):
        wrong.append(f"The 'missing' parameter must be one of {some(get_args(Missing))}. Got {missing!r}.")
    if m is not None and (isinstance(m, bool) or not isinstance(m, int) or not 2 <= m <= MOST_POINTS):
        wrong.append(f"The 'resample' parameter must be an integer from 2 to {MOST_POINTS}, or left out. Got {m!r}.")
    if m is not None and missing in ("keep", "mask"):
        wrong.append(
            f"The 'resample' parameter cannot go with missing={missing!r}: there is nothing to interpolate in a gap."
        )
    if wrong:
        raise ParameterError("\n".join(wrong), wrong)


class Names:
    """How records are called in messages: by their ids, or else by their rows."""

    def __init__(self, ids: pl.Series | None, rows: Indices) -> None:
        self.ids = ids
        self.rows = rows

    def first(self, chosen: Mask, most: int = 5) -> str:
        """The first few of the chosen records."""
        at = np.flatnonzero(chosen)
        shown = at[:most].tolist()
        if self.ids is None:
            names = some([int(self.rows[row]) for row in shown])
            return f"first: row {names}" if len(shown) == 1 else f"first: rows {names}"
        return f"first: {some([self.ids[row] for row in shown])}"


@dataclass(frozen=True)
class Part:
    """A block with its values before the gaps are dealt with."""

    block: Block
    values: Array
    #: its columns of whole numbers
    whole: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RaggedSeries:
    """Series of different lengths, one after the other."""

    values: Array
    times: Array
    starts: Indices
    lengths: Indices

    @classmethod
    def of(cls, values: Array, times: Array) -> RaggedSeries:
        """The rows of an array, each from its first to its last value."""
        n, length = values.shape
        first, lengths = spans(values)
        return cls(values.ravel(), np.tile(times, n), np.arange(n, dtype=np.int64) * length + first, lengths)

    def gaps_inside(self) -> int:
        """How many values are missing between the first and the last one of their record."""
        outside = self.values.size - int(self.lengths.sum())
        return int(np.isnan(self.values).sum()) - outside

    def differ_in_span(self) -> bool:
        """Whether some records begin later or end earlier than others."""
        first, length = self.starts[self.lengths > 0], self.lengths[self.lengths > 0]
        return len(np.unique(self.times[first])) > 1 or len(np.unique(self.times[first + length - 1])) > 1

    def resample(self, m: int, *, fill: bool) -> Array:
        """Every series at m points; NaN where there is nothing to resample, or a gap that is not to be filled."""
        result = np.full((len(self.lengths), m), np.nan)
        for length in np.unique(self.lengths[self.lengths > 0]):
            records = np.flatnonzero(self.lengths == length)
            cells = self.starts[records, None] + np.arange(length)
            values = self.values[cells]
            gaps = _rows_with(np.isnan(values))
            if fill:
                for row in np.flatnonzero(gaps):
                    values[row] = fill_gaps(values[row], self.times[cells[row]])
                gaps[:] = False
            # A gap that lies between two of the m places would go unseen: the whole record has to show it.
            result[records] = np.where(gaps[:, None], np.nan, resample(values, m))
        return result


def _rows_with(cells: Mask) -> Mask:
    return np.asarray(cells.any(axis=1))


def spans(values: Array) -> tuple[Indices, Indices]:
    """Where the first value of each row is, and how many places there are from it to the last one."""
    present = ~np.isnan(values)
    first = np.argmax(present, axis=1)
    last = values.shape[1] - 1 - np.argmax(present[:, ::-1], axis=1)
    return first, np.where(present.any(axis=1), last - first + 1, 0)


def resampled_block(block: Block, m: int, *, alone: bool) -> Block:
    """The block of m points, evenly spaced from the first time of a series to its last, that takes the place of the series."""
    assert block.times is not None
    labels, form = even_times(block.labels, block.times, m, block.form)
    columns = labels if alone else tuple(f"{block.name}.{label}" for label in labels)
    return Block(block.name, columns, np.arange(1, m + 1, dtype=np.float64), labels, form)


@dataclass(frozen=True)
class Cure:
    """What a reader offers to do about gaps: an option of reading, its value (empty: a number that somebody chooses), and what it does."""

    option: str
    value: str
    does: str


def is_about_gaps(problem: str) -> bool:
    """Whether a problem is one that the options for gaps settle.

    Examples
    --------
    >>> is_about_gaps("row 5, column 'load': the value is missing"), is_about_gaps("row 5, column 'load': 'abc' is not a number")
    (True, False)
    """
    return _ABOUT_GAPS.search(problem) is not None


def cures_of(message: str) -> list[Cure]:
    """The options for gaps that an error message names, each once.

    Examples
    --------
    >>> for cure in cures_of("gaps\\n  options: missing='drop' leaves incomplete records out, resample=m brings every series to m points"):
    ...     print(cure)
    Cure(option='missing', value='drop', does='leaves incomplete records out')
    Cure(option='resample', value='', does='brings every series to m points')
    """
    hints = [line for line in message.splitlines() if line.strip().startswith("options: ")]
    found = [Cure(option, value, does) for line in hints for option, value, does in _CURE.findall(line)]
    return list({(cure.option, cure.value): cure for cure in found}.values())


#: what notes say was done, as anybody may read it; how many records and points it concerned is left out
_DONE = re.compile(
    r"empty rows were skipped|the text was read as (?:UTF-16|Windows-1252)|(missing values).*( were (filled by linear interpolation in time|kept as gaps|masked: gaps stay gaps))|records were dropped because they have gaps|points of time that were published before were left out"
    r"|every series was resampled by linear interpolation to \d+ points|(?<=: )records that begin late or end early are stretched over all times|each series was split into \d+ consecutive series of equal length"
)


def in_public(note: str) -> str:
    """A note of a data set as anybody may read it; one that tsveil did not write may name records, and is not repeated.

    Examples
    --------
    >>> in_public("12 missing values in 3 of 30 records were filled by linear interpolation in time")
    'Missing values were filled by linear interpolation in time.'
    >>> in_public("every series was resampled by linear interpolation to 24 points (before: 20 to 31)")
    'Every series was resampled by linear interpolation to 24 points.'
    >>> in_public("resampling: records that begin late or end early are stretched over all times")
    'Records that begin late or end early are stretched over all times.'
    >>> in_public("household 1007 was left out")
    'The data were prepared before they were protected; their publisher knows how.'
    """
    found = _DONE.search(note)
    if found is None:
        return "The data were prepared before they were protected; their publisher knows how."
    said = f"{found[1]}{found[2]}" if found[1] else found[0]
    return f"{said[0].upper()}{said[1:]}."


def gaps_in_words(facts: Mapping[str, Mapping[str, Any]], records: int, suppressed: int) -> str:
    """What was done about the gaps of a release, as anybody may read it; empty where it has none.

    Examples
    --------
    >>> gaps_in_words({"load": {POINTS: 200, EMPTY: 3, SPARSE: 1, FEWEST: 3}}, 21, 1)
    'Records with gaps were protected with their gaps. 1 of 21 records was suppressed: with fewer than a third of its points, or without a group. 1.5 % of the published points are empty, because too few members of the group have a value there; all members of a group have the same values and the same empty points. Each published value comes from the members that have one, from at least 3 persons.'
    """
    own = [one for one in facts.values() if POINTS in one]
    if not own:
        return ""
    share = 100 * sum(one[EMPTY] for one in own) / max(sum(one[POINTS] for one in own), 1)
    fewest = min((one[FEWEST] for one in own if FEWEST in one), default=0)
    were, their = ("was", "its") if suppressed == 1 else ("were", "their")
    gone = f"{suppressed} of {records} records {were} suppressed: with fewer than a third of {their} points, or without a group."
    return (
        f"Records with gaps were protected with their gaps. {gone if suppressed else 'No record was suppressed.'} {share:.1f} % of the published points are empty, because too few "
        "members of the group have a value there; all members of a group have the same values and the same empty points. "
        f"Each published value comes from the members that have one, from at least {fewest} persons."
    )


def resample_notes(series: Sequence[RaggedSeries], m: int, missing: Missing) -> list[str]:
    """What resampling did, for the notes of the data set."""
    lengths = np.concatenate([one.lengths for one in series])
    was = f"{lengths.min()}" if lengths.min() == lengths.max() else f"{lengths.min()} to {lengths.max()}"
    notes = [f"every series was resampled by linear interpolation to {m} points (before: {was})"]
    if any(one.differ_in_span() for one in series):
        notes.append("resampling: records that begin late or end early are stretched over all times")
    filled = sum(one.gaps_inside() for one in series) if missing == "interpolate" else 0
    return [f"{filled} missing values were filled by linear interpolation in time", *notes] if filled else notes


def tell_incomplete(blocks: Sequence[tuple[Block, Indices, int]], names: Names, problems: Problems) -> None:
    """Note how many records lack points of a block (its lengths, and how many points there are), and which records come first.

    What is true of several blocks is said once, with their names.
    """
    found: dict[tuple[bool, str], list[str]] = {}
    for block, lengths, size in blocks:
        short = lengths < size
        if short.any():
            low, high = int(lengths[short].min()), int(lengths[short].max())
            points = f"{low}" if low == high else f"{low} to {high}"
            count = f"{int(short.sum())} of {len(lengths)} records"
            what = "points" if block.is_series else "values"
            said = f"{count} have only {points} of the {size} {what} ({names.first(short)})"
            found.setdefault((block.is_series, said), []).append(block.name)
    for (is_series, said), own in found.items():
        kind = "series" if is_series else "block" if len(own) == 1 else "blocks"
        problems.add(f"{kind} {some(own)} {'is' if len(own) == 1 else 'are'} incomplete: {said}")
        options = ["missing='drop' leaves incomplete records out", "missing='mask' protects them with their gaps"]
        if is_series:
            options += [
                "missing='interpolate' fills gaps in time",
                "resample=m brings every series to m points",
                "split=i cuts series of one length into i shorter ones",
            ]
        problems.hint(f"options: {', '.join(options)}")


@dataclass(frozen=True)
class GapOutcome:
    """The parts without the gaps they had, the records that are left, and what was done."""

    parts: list[Part]
    kept: Mask
    notes: tuple[str, ...]
    #: NaN is left in the values, as was asked for
    gaps: bool


def close_gaps(parts: Sequence[Part], missing: Missing, names: Names, problems: Problems) -> GapOutcome:
    """Deal with the gaps that are left; what cannot be filled is noted as a problem."""
    gaps = [np.isnan(part.values) for part in parts]
    n = len(parts[0].values)
    cells = sum(int(gap.sum()) for gap in gaps)
    having = np.logical_or.reduce([_rows_with(gap) for gap in gaps])
    kept = np.ones(n, dtype=np.bool_)
    if not cells:
        return GapOutcome(list(parts), kept, (), gaps=False)
    records = f"{int(having.sum())} of {n} records"
    if missing == "keep":
        return GapOutcome(list(parts), kept, (f"{cells} missing values in {records} were kept as gaps",), gaps=True)
    if missing == "mask":
        note = f"{cells} missing values in {records} were masked: gaps stay gaps"
        return GapOutcome(list(parts), kept, (note,), gaps=True)
    if missing == "drop":
        kept = ~having
        if not kept.any():
            problems.add(f"all {n} records have gaps, so dropping them leaves nothing")
            problems.hint(
                "options: missing='interpolate' fills gaps in time, missing='mask' protects records with their gaps, resample=m brings every series to m points"
            )
        return GapOutcome(list(parts), kept, (f"{records} were dropped because they have gaps",), gaps=False)
    filled = []
    for part, gap in zip(parts, gaps, strict=True):
        if not gap.any():
            filled.append(part)
        elif part.block.times is None:
            problems.add(
                f"block {part.block.name!r} is no time series, so its gaps cannot be interpolated: "
                f"{int(_rows_with(gap).sum())} of {n} records have one ({names.first(_rows_with(gap))})"
            )
            problems.hint(
                "options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps"
            )
        else:
            filled.append(replace(part, values=fill_gaps(part.values, part.block.times), whole=frozenset()))
            empty = ~_rows_with(~gap)
            if empty.any():
                problems.add(
                    f"series {part.block.name!r} has no value at all in {int(empty.sum())} of {n} records "
                    f"({names.first(empty)})"
                )
                problems.hint(
                    "options: missing='drop' leaves incomplete records out, missing='mask' protects them with their gaps"
                )
    note = f"{cells} missing values in {records} were filled by linear interpolation in time"
    return GapOutcome(filled, kept, (note,), gaps=False)
