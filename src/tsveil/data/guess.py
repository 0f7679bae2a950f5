"""What the columns of a table are, guessed from their names and values, with the reasons in words.

A guess saves typing; it is never silent. Rules, in this order:

1. Columns whose names are numbers or time stamps, or a word and a time stamp (load.2018-01-01), or a word and consecutive
   numbers (W0, W1, ...; at least eight), are time series: the table is wide.
2. A column whose values repeat (who), a column of times (when) and numbers make a long table, when no record has a time
   twice; if there is one column of numbers only, a column of words may say which series a row belongs to. A date and a
   time of day in two columns are one time (`date_and_clock`).
3. Otherwise the table is wide and its numeric columns are one block of attributes, without whole numbers that are named
   like an identifier, a code or a part of a date.

The identifier of a wide table has a different value in every row and is text, or whole numbers that are named like an
identifier, count the rows, or stand first before series. What is left has no role: it is dropped unless somebody asks.

What may mean several things is asked (`questions`): rows, or records of a long table, that share a value of a column named like an identifier; tables with a
row per time and no column that names the rows; times that can be read in several ways; and whole numbers that may be codes. Row numbers (rownames, Unnamed: 0) are never data. docs/reading.md has
examples of each.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import polars as pl

from tsveil.core.errors import InputError, some
from tsveil.data.categories import may_be_labels
from tsveil.data.native import as_polars
from tsveil.data.questions import (
    Question,
    code_question,
    may_be_codes,
    may_need_transposing,
    owner_question,
    time_questions,
    transpose_question,
    whose,
)
from tsveil.data.table import as_numbers
from tsveil.data.time_forms import NO_YEAR, form_of, is_time, moment
from tsveil.data.times import time_name, times_as_numbers

Kind = Literal["series", "attributes"]

#: a word and a count are a series from this many columns on
_COUNTED_FROM = 8
#: names that programs give to columns that have none: their numbers say nothing about time
_UNNAMED = {"v", "var", "column", "col", "field", "feature", "attribute", "attr", "unnamed"}
#: who or what is protected; the others are so only in the name of a number: a student_no, but no column "student", which may be yes or no
_SUBJECTS = (
    "household|house|home|dwelling|meter|customer|client|person|patient|user|subject|participant|respondent|individual|employee|"
    "pupil|citizen|pseudonym|device|sensor|station|product|item|company|firm|utility|account|record|series|unit|team|case"
)
_NUMBERED = (
    f"{_SUBJECTS}|student|worker|resident|member|driver|owner|tenant|player|vehicle|card|phone|policy|contract|full"
)
_ID = re.compile(
    rf"(.*[^a-z])?(id|key|uuid|nr|no|code|index|identifier|number|name)|({_SUBJECTS})|({_NUMBERED})[^a-z]?(id|nr|no|number|key|code|name)|"
    r"id[^a-z].+|(hh|p|u|pers|cust|emp|u?subj|resp|part|stud|acct|merge)id|e-?mail|ssn",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r".*[a-z]I[dD]|.*[A-Z]{2}id")
_CALENDAR = re.compile(
    r"(.*[^a-z])?(t|time|timestamp|datetime|date|day|week|month|quarter|season|year|hour|minute|second|period|weekday)",
    re.IGNORECASE,
)
#: names of columns that count seconds since 1970, and of the hour beside a date
_SINCE_1970 = re.compile(r".*(epoch|unix).*|(.*[^a-z])?(ts|tstp|timestamp|time)([^a-z]?(s|ms|utc))?", re.IGNORECASE)
_HOUR = re.compile(r".*hours?|.*hour.?(of.?day|ending|beginning)|h|hr|he", re.IGNORECASE)
#: numbers that stand for a place or a class
_CODE = re.compile(r".*code|(.*[^a-z])?(zip|plz|fips|nuts|nace|naics|isco|isic)", re.IGNORECASE)
#: what programs call the column of row numbers: surely, and if it counts the rows
_ROW_NUMBERS = re.compile(r"|row_?names?|unnamed: ?0(\.\d+)?|__index_level_0__|level_0", re.IGNORECASE)
_MAY_COUNT = re.compile(r"index|row|rowid|row_?(nr|no|number)|_c0|x|\.\.\.1|column_1", re.IGNORECASE)
#: names and codes that describe a record and name nobody
_DESCRIBES = re.compile(
    rf"(?!.*({_NUMBERED}))(.*[^a-z])?(nr|no|code|index|number)|(?!.*({_NUMBERED})).*[^a-z]name", re.IGNORECASE
)
#: words for questions: their numbers say nothing about time where the answers are codes
_QUESTIONS = {"q", "question", "item", "answer", "response"}
_VARIABLE = re.compile(r"variable|series|measure|measurement|indicator|item|attribute|parameter|quantity|metric", re.I)


class Reason(str):
    """Why columns have the roles they have: a sentence, which knows the columns it speaks of."""

    columns: frozenset[str]

    def __new__(cls, text: str, columns: Iterable[str]) -> Reason:
        """The sentence with its columns."""
        made = super().__new__(cls, text)
        made.columns = frozenset(columns)
        return made


@dataclass(frozen=True)
class Guess:
    """What a table seems to be."""

    layout: Literal["wide", "long"]
    id: str | None = None
    #: wide: the columns of each block
    blocks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: wide: whether a block is a series or attributes
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    confidential: tuple[str, ...] = ()
    person: tuple[str, ...] = ()
    #: long: the columns with the times, the names of the series, and the values
    time: str | None = None
    variable: str | None = None
    values: tuple[str, ...] = ()
    #: the columns without a role
    dropped: tuple[str, ...] = ()
    #: why, in sentences
    reasons: tuple[str, ...] = ()
    #: what only a person can answer
    questions: tuple[Question, ...] = ()


def guess(
    frame: Any,
    *,
    layout: Literal["wide", "long"] | None = None,
    id: str | None = None,
    person: Sequence[str] = (),
    confidential: Sequence[str] = (),
    time: str | None = None,
    variable: str | None = None,
    value: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    numbers: Sequence[str] = (),
    categories: Collection[str] = (),
    independent_rows: bool = False,
    transpose: bool | None = None,
    time_format: str | None = None,
    judged: Collection[str] = (),
) -> Guess:
    """What a frame of polars, pandas, pyarrow or DuckDB seems to be; what is given is taken as it is, the rest is guessed.

    `leave_out` are columns without a role, `categories` hold labels, `numbers` are quantities although they look like codes; `independent_rows`, `transpose` and `time_format` answer
    questions, and so do blocks that were named (`judged`, their columns).

    Examples
    --------
    >>> frame = pl.DataFrame({"meter": ["a", "b"], "2018-01-01": [1.5, 2.0], "2018-01-02": [2.5, 3.0]})
    >>> found = guess(frame)
    >>> found.layout, found.id, dict(found.blocks)
    ('wide', 'meter', {'series': ('2018-01-01', '2018-01-02')})
    >>> print(*found.reasons, sep="\\n")
    wide layout: the names of 2 columns are times, so each row is a record with the series 'series' (2 points)
    identifier 'meter': its values are all different
    """
    look = _Look(as_polars(frame), numbers, time_format or "")
    carried = tuple(confidential)
    if unknown := [name for name in (*leave_out, *numbers) if name not in look.types]:
        raise InputError(f"there is no column {some(unknown)}\n  columns available: {some(look.types, 20)}")
    given = (id, time, variable, *value, *person, *carried, *leave_out, *categories)
    asked = {name for name in given if name is not None}
    free = [name for name in look.frame.columns if name not in asked]
    long_asked = layout == "long" or time is not None or variable is not None or bool(value)
    series = [] if long_asked else _series(look, free)
    questions: list[Question] = []
    if transpose is None and not judged and id is None and not long_asked:
        questions = _transpose_questions(look, free)
    if layout != "wide" and not series and not questions:
        found = _long(look, free, carried, id, time, variable, tuple(value), insist=long_asked)
        if found is not None:
            if not independent_rows and not person:
                questions += [owner_question(name, str(found.id)) for name in found.dropped if _owns(look, name, found)]
            if not value and len(found.values) > 1:
                questions += _codes(look, found.values, numbers, in_time=True)
            if found.time in look.types and not look.types[found.time].is_temporal():
                labels = look.frame[found.time].drop_nulls().unique(maintain_order=True).to_list()
                questions += time_questions(f"in column {found.time!r}", labels, look.form)
            return replace(
                found, person=tuple(person), dropped=(*found.dropped, *leave_out), questions=tuple(questions)
            )
    found = _wide(look, free, carried, id, series)
    if not questions and not independent_rows and not person:
        questions = questions_of_repeats(
            look.frame, [name for name in free if name != found.id and name not in judged], free, look.form
        )
    if independent_rows and id is None and found.id is not None and _names_a_person(look, found.id):
        found = replace(found, id=None, dropped=(*found.dropped, found.id))
    if not judged and not questions and "attributes" in found.blocks:
        questions = _codes(look, found.blocks["attributes"], numbers)
    said = [time_questions("as the names of columns", family.labels, look.form) for family in series]
    questions += next(filter(None, said), [])
    return replace(found, person=tuple(person), dropped=(*found.dropped, *leave_out), questions=tuple(questions))


def like_persons(names: Collection[str]) -> list[str]:
    """The columns that are named like an identifier of a person, a household or a device.

    Examples
    --------
    >>> like_persons(["meter_id", "LCLid", "region_code", "load"])
    ['meter_id', 'LCLid']
    """
    return [name for name in names if _like_id(name) and not _DESCRIBES.fullmatch(name)]


def questions_of_repeats(
    frame: pl.DataFrame, columns: Sequence[str], free: Sequence[str] = (), time_format: str = ""
) -> list[Question]:
    """The questions of those columns that are named like an identifier and whose values repeat; `free` may hold the times.

    Examples
    --------
    >>> print(*questions_of_repeats(pl.DataFrame({"meter": ["a", "b", "a"], "load": [1.5, 2.0, 3.5]}), ["meter", "load"]))
    has several rows for the same 'meter' (first: 'a', rows 1 and 3).
      Are these readings of one meter over time?     --layout long --id meter --time DATE_COLUMN
      Or several records that belong to one meter?   --person meter
      Or is 'meter' not a person at all?             --independent-rows
    """
    look = _Look(frame, form=time_format)
    repeated = [name for name in columns if _names_a_person(look, name)]
    times = _long_times(look, free) if repeated else []
    when = next((name for name in times if not _like_id(name)), None)
    if when and len(repeated) > 1 and not frame.select(*repeated, when).is_duplicated().any():
        return [whose(frame, max(repeated, key=look.distinct), when, repeated)]
    return [whose(frame, name, when) for name in repeated]


def _transpose_questions(look: _Look, free: Sequence[str]) -> list[Question]:
    """The question of a table whose rows are times, and whose columns may be persons; none where a column names the rows."""
    rest = [name for name in free if not _counts(look, name)]
    every = [name for name in rest if look.times(name)]
    times = [name for name in every if look.distinct(name) == look.frame.height]
    others = [name for name in rest if name not in every]
    words = [name for name in others if not look.numeric(name)]
    if len(times) != 1 or any(map(_like_id, others)) or any(look.distinct(name) == look.frame.height for name in words):
        return []
    numeric = [name for name in others if look.numeric(name)]
    needed = may_need_transposing(look.frame, times[0], numeric, look.form)
    return [transpose_question(times[0], numeric)] if needed else []


def _codes(look: _Look, columns: Sequence[str], numbers: Sequence[str], in_time: bool = False) -> list[Question]:
    found = [name for name in columns if name not in numbers and may_be_codes(look.numbers(name))]
    return [code_question(found, in_time=in_time)] if found else []


def _owns(look: _Look, name: str, found: Guess) -> bool:
    """Whether a column beside those of a long table may say who owns its records: its values and the records are not one to one."""
    if found.id not in look.types or not _names_a_person(look, name):
        return False
    pairs = look.frame.select(found.id, name).drop_nulls().n_unique()
    return bool(pairs > min(look.distinct(name), look.distinct(found.id)))


# -- looking at columns -----------------------------------------------------------------------------------------------


class _Look:
    """A frame, and what its columns hold; somebody said of the `quantities` that they are no codes, and in which `form` times are written."""

    def __init__(self, frame: pl.DataFrame, quantities: Collection[str] = (), form: str = "") -> None:
        self.frame, self.quantities, self.form = frame, frozenset(quantities), form
        self.types = dict(frame.schema)
        self.numeric = cache(self._numeric)
        self.numbers = cache(self._numbers)
        self.distinct = cache(lambda name: frame[name].n_unique())
        self.times = cache(self._times)

    def _numeric(self, name: str) -> bool:
        """Numbers; or text of which four in five cells are numbers, so that a stray word is reported and not overlooked."""
        if self.types[name].is_numeric():
            return True
        if self.types[name] != pl.String or _like_id(name):
            return False
        # Each text once: ids and times stand in many rows.
        cells = self.frame[name].drop_nulls().rename("cell").value_counts(name="rows")
        numbers = _text_as_numbers(cells["cell"])
        rows = cells["rows"].to_numpy()
        return len(rows) > 0 and bool(rows[numbers.is_not_null().to_numpy()].sum() >= 0.8 * rows.sum())

    def _numbers(self, name: str) -> pl.Series:
        column = self.frame[name]
        return column if column.dtype.is_numeric() else _text_as_numbers(column)

    def whole(self, name: str) -> bool:
        """Whole numbers, also such as 7.0, as programs write them beside an empty cell."""
        if not self.numeric(name):
            return False
        numbers = self.numbers(name).drop_nulls()
        return self.types[name].is_integer() or bool(len(numbers) and (numbers == numbers.round()).all())

    def text(self, name: str) -> bool:
        return self.types[name] in (pl.String, pl.Categorical, pl.Enum) and not self.numeric(name)

    def has(self, names: Sequence[str]) -> bool:
        return all(name in self.types for name in names)

    def unique(self, *names: str) -> bool:
        """Whether the rows differ in these columns, save for a few that may be mistakes."""
        rows = self.frame.height
        return rows - self.frame.select(names).hash_rows().n_unique() <= max(1, rows // 20)

    def some(self, name: str) -> list[Any]:
        """The first 50 different values of a column."""
        return list(self.frame[name].drop_nulls().unique(maintain_order=True).head(50))

    def _times(self, name: str) -> bool:
        """Whether a column holds times: dates, texts that are time stamps, or numbers with a fitting name."""
        kind = self.types[name]
        if kind.is_temporal():
            return True
        if kind.is_numeric() and _CALENDAR.fullmatch(name) is not None:
            return True
        if kind.is_numeric():
            # Most tables have many columns of numbers, and polars takes a while to answer for each.
            if "%" in self.form and kind.is_integer() and all(is_time(label, self.form) for label in self.some(name)):
                return True
            return _SINCE_1970.fullmatch(name) is not None and form_of(self.some(name)).startswith("epoch")
        if kind != pl.String:
            return False
        sample = self.some(name)
        # A few labels that are no times are told when the table is used; they do not make the column something else.
        readable = sum(
            is_time(label, self.form) or times_as_numbers([label], self.form) is not None for label in sample
        )
        return bool(sample) and readable >= (0.5 if _CALENDAR.fullmatch(name) else 0.8) * len(sample)


def _names_a_person(look: _Look, name: str) -> bool:
    """Whether a column is named like an identifier of a person, a household or a device, and its values repeat."""
    if not like_persons([name]) or not (look.text(name) or look.whole(name)):
        return False
    return bool(look.frame[name].drop_nulls().is_duplicated().any())


def _counts(look: _Look, name: str) -> bool:
    """Whether a column holds nothing but row numbers."""
    sure = _ROW_NUMBERS.fullmatch(name) is not None
    return (
        (sure or _MAY_COUNT.fullmatch(name) is not None)
        and look.whole(name)
        and (sure or _counts_rows(look.frame[name]))
    )


def row_numbers(frame: pl.DataFrame) -> list[str]:
    """The columns that hold nothing but row numbers.

    Examples
    --------
    >>> row_numbers(pl.DataFrame({"Unnamed: 0": [7, 3], "x": [5, 6]}))
    ['Unnamed: 0']
    """
    look = _Look(frame)
    return [name for name in frame.columns if _counts(look, name)]


def _no_quantity(look: _Look, name: str) -> bool:
    """Whether numbers are named like an identifier, a code or a part of a date."""
    if name in look.quantities:
        return False
    return look.whole(name) and (_like_id(name) or bool(_CODE.fullmatch(name)) or bool(_CALENDAR.fullmatch(name)))


def _text_as_numbers(text: pl.Series) -> pl.Series:
    """Text as numbers, with either decimal mark; null where there is none."""
    return as_numbers(text.str.replace(",", ".", literal=True))[0]


def _like_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None or _CAMEL_ID.fullmatch(name) is not None


# -- wide -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Family:
    """Columns whose names differ in the time only."""

    head: str
    joint: str
    form: Literal["stamp", "number", "counter"]
    columns: tuple[str, ...]
    labels: tuple[str, ...]

    def is_series(self, look: _Look) -> bool:
        if len(self.columns) < 2 or sum(map(look.numeric, self.columns)) < len(self.columns) / 2:
            return False
        if self.form != "counter":
            return True
        if self.head.lower() in _QUESTIONS and all(may_be_codes(look.numbers(name)) for name in self.columns):
            return False
        counts = [int(label) for label in self.labels]
        consecutive = all(b - a == 1 for a, b in pairwise(counts))
        return len(counts) >= _COUNTED_FROM and consecutive and self.head.lower() not in _UNNAMED


def _series(look: _Look, free: Sequence[str]) -> list[_Family]:
    members: dict[tuple[str, str, Literal["stamp", "number", "counter"]], list[tuple[str, str]]] = {}
    for name in free:
        said = time_name(name, look.form)
        if said is not None:
            members.setdefault((said.head, said.joint, said.form), []).append((name, said.label))
    families = [_Family(*key, *zip(*found, strict=True)) for key, found in members.items()]
    return [family for family in families if family.is_series(look)]


def _wide(look: _Look, free: Sequence[str], carried: tuple[str, ...], id: str | None, series: list[_Family]) -> Guess:
    reasons: list[str] = []
    blocks: dict[str, tuple[str, ...]] = {}
    kinds: dict[str, Kind] = {}
    for family in series:
        # The word of W0, W1, ... is an abbreviation; with a joint, as in load.1, or beside others it is a name.
        name = family.head if family.head and (family.joint or len(series) > 1) else "series"
        name = f"{name} {len(blocks) + 1}" if name in blocks else name
        blocks[name], kinds[name] = family.columns, "series"
    taken = {column for columns in blocks.values() for column in columns}
    rest = [name for name in free if name not in taken]
    if series:
        listed = ", ".join(f"{name!r} ({len(columns)} points)" for name, columns in blocks.items())
        what = f"wide layout: the names of {len(taken)} columns are times, so each row is a record with the series {listed}"
        reasons.append(Reason(what, taken))
    if id is None:
        id = _wide_id(look, rest, bool(series), reasons)
    rest = [name for name in rest if name != id]
    if not series:
        chosen = _attributes(look, rest, reasons)
        if chosen:
            blocks["attributes"], kinds["attributes"] = chosen, "attributes"
            taken = set(chosen)
            rest = [name for name in rest if name not in taken]
    if rows := [name for name in rest if _counts(look, name)]:
        reasons.append(Reason(f"{some(rows)}: the numbers of the rows; left out", rows))
    beside = [name for name in rest if look.numeric(name) and name not in rows] if series else []
    if beside:
        what = f"{some(beside)}: numbers beside the series; left out unless named in a block or as confidential"
        reasons.append(Reason(what, beside))
    words = [name for name in rest if not look.numeric(name)]
    if words:
        reasons.append(Reason(f"{some(words)}: not numbers; left out unless named as confidential", words))
    reasons += _labels(look, words)
    return Guess("wide", id, blocks, kinds, carried, dropped=tuple(rest), reasons=tuple(reasons))


def _labels(look: _Look, words: Sequence[str]) -> list[str]:
    """Which columns of words hold labels that repeat, and so can be protected beside the numbers; and how many rows they single out together."""
    names = [
        name
        for name in words
        if may_be_labels(look.types[name]) and not look.times(name) and 2 * look.distinct(name) <= look.frame.height
    ]
    if not names:
        return []
    listed = ", ".join(f"{name!r} ({look.distinct(name)} different)" for name in names)
    found = [f"{listed}: labels that repeat; they can be protected as nominal, ordinal or a hierarchy"]
    if alone := int(look.frame.select(names).is_unique().sum()):
        which = "it singles" if len(names) == 1 else "together they single"
        found.append(
            f"{some(names)}: {which} out {alone} of {look.frame.height} rows; as labels, method local-suppression empties their cells until k share what is left"
        )
    return found


def _wide_id(look: _Look, rest: Sequence[str], before_series: bool, reasons: list[str]) -> str | None:
    """The column that names the records: all different, and text or whole numbers that look like names."""
    found: list[tuple[bool, bool, str]] = []
    leftmost = look.frame.columns[0] if look.frame.width else ""
    for name in filter(None, rest):
        column = look.frame[name]
        named, first = _like_id(name), name == leftmost
        # An identifier with a few repeated values is still one: the mistake is told when the table is used.
        spare = max(1, len(column) // 20) if named else len(column) // 20 if first else 0
        if column.null_count() == len(column) or look.distinct(name) + spare < len(column):
            continue
        like_names = look.text(name) and (named or not look.times(name))
        counted = first and look.types[name].is_integer() and (before_series or _counts_rows(column))
        if like_names or counted or (named and look.whole(name)):
            found.append((named, first, name))
    if not found:
        repeated = [
            name
            for name in rest
            if look.text(name) or look.whole(name)
            if _like_id(name) and name not in look.quantities
        ]
        why = f": {some(repeated)} is named like one, but its values repeat" if len(repeated) == 1 else ""
        reasons.append(f"no identifier{why}; records are numbered by row")
        return None
    name = max(found, key=lambda candidate: candidate[:2])[2]
    differ = "are all different" if look.distinct(name) == look.frame.height else "hardly repeat"
    reasons.append(Reason(f"identifier {name!r}: its values {differ}", [name]))
    return name


def _counts_rows(column: pl.Series) -> bool:
    low = column.min()
    return low in (0, 1) and column.is_sorted() and column.max() == column.len() - 1 + int(low)  # type: ignore[arg-type]


def _attributes(look: _Look, rest: Sequence[str], reasons: list[str]) -> tuple[str, ...]:
    numeric = [name for name in rest if look.numeric(name) and not _counts(look, name)]
    odd = [name for name in numeric if _no_quantity(look, name)]
    left_out = set(odd)
    chosen = tuple(name for name in numeric if name not in left_out)
    if chosen:
        what = (
            f"wide layout: no times found, so each row is a record and its {len(chosen)} numeric columns are attributes"
        )
        reasons.insert(0, Reason(what, chosen))
    if odd:
        what = (
            f"{some(odd)}: whole numbers named like an identifier, a code or a part of a date; left out unless named in a "
            "block or as confidential"
        )
        reasons.append(Reason(what, odd))
    return chosen


# -- long -------------------------------------------------------------------------------------------------------------


def _long(
    look: _Look,
    free: Sequence[str],
    carried: tuple[str, ...],
    id: str | None,
    time: str | None,
    variable: str | None,
    values: tuple[str, ...],
    *,
    insist: bool,
) -> Guess | None:
    """The roles of a long table, or None; when somebody insists on the layout, as many roles as are found."""
    times = [time] if time is not None else _long_times(look, free)
    ids = [id] if id is not None else _long_ids(look, free)
    for when in times:
        for who in ids:
            if who == when or not look.has([who, when]):
                continue
            words = [variable] if variable is not None else [None, *_long_variables(look, free, who, when)]
            for word in words:
                found = values or _long_values(look, free, who, when, word)
                key = [name for name in (who, when, word) if name is not None]
                if not found or (word is not None and len(found) > 1) or not look.has(key):
                    continue
                if look.unique(*key):
                    made = _long_guess(look, free, carried, who, when, word, found)
                    if insist or word is not None:
                        return made
                    other = f"if each row is a record of its own instead: layout wide, person {who!r}"
                    return replace(made, reasons=(*made.reasons, other))
    if not insist:
        return None
    likely_id = ids[0] if ids else None
    likely_time = next((name for name in times if name != likely_id), None)
    found = values or _long_values(look, free, likely_id, likely_time, variable)
    return _long_guess(look, free, carried, likely_id, likely_time, variable, found)


def _long_guess(
    look: _Look,
    free: Sequence[str],
    carried: tuple[str, ...],
    id: str | None,
    time: str | None,
    variable: str | None,
    values: tuple[str, ...],
) -> Guess:
    dropped = tuple(name for name in free if name not in {id, time, variable, *values})
    reasons = list[str]()
    if id is not None and time is not None and look.has([id, time]):
        what = f"one series per word in {variable!r}" if variable is not None else "one series per column of values"
        reasons.append(f"long layout: each row is one time of a record, with {what}")
        roles = f"identifier {id!r} ({look.distinct(id)} records), time {time!r}, value {some(values)}"
        reasons.append(Reason(roles, [name for name in (id, time, variable, *values) if name is not None]))
    fixed = [name for name in dropped if look.numeric(name)]
    if fixed:
        what = f"{some(fixed)}: numbers that do not change with time, or that have no part in the series; left out"
        reasons.append(Reason(what, fixed))
    rest = [name for name in dropped if name not in fixed]
    if rest:
        reasons.append(Reason(f"{some(rest)}: not numbers; left out unless named as confidential", rest))
    reasons += _labels(look, rest)
    return Guess(
        "long",
        id,
        confidential=carried,
        time=time,
        variable=variable,
        values=values,
        dropped=dropped,
        reasons=tuple(reasons),
    )


def _long_times(look: _Look, free: Sequence[str]) -> list[str]:
    found = [name for name in free if look.times(name) and look.distinct(name) > 1]
    return sorted(found, key=lambda name: _CALENDAR.fullmatch(name) is None)


def date_and_clock(frame: pl.DataFrame, id: str | None = None, time_format: str = "") -> tuple[str, str] | None:
    """The columns with the date and with the time of day of a long table that has them apart, or None.

    Neither of the two alone says which row of a record it is, both together do.

    Examples
    --------
    >>> frame = pl.DataFrame({"meter": ["a"] * 4, "day": ["2024-01-01"] * 2 + ["2024-01-02"] * 2, "hour": [1, 2, 1, 2], "kwh": [1.5, 2.0, 3.0, 1.0]})
    >>> date_and_clock(pl.concat([frame, frame.with_columns(meter=pl.lit("b"))]))
    ('day', 'hour')
    """
    look = _Look(frame, form=time_format)
    dates, clocks = list[str](), list[str]()
    for name in frame.columns:
        if look.types[name].is_integer():
            if _HOUR.fullmatch(name) and look.distinct(name) > 1 and frame[name].is_between(0, 24).all():
                clocks.append(name)
        elif look.types[name] == pl.String and look.times(name):
            labels = frame[name].drop_nulls().unique(maintain_order=True).head(50).to_list()
            form = time_format or form_of(labels)
            moments = [found for label in labels if (found := moment(label, form)) is not None]
            if moments and all(one.year == NO_YEAR for one in moments):
                clocks.append(name)
            elif not any(one.hour or one.minute for one in moments):  # none: days whose form is not decided
                dates.append(name)
    if len(dates) != 1 or len(clocks) != 1:
        return None
    date, clock = dates[0], clocks[0]
    free = [name for name in frame.columns if name not in (date, clock)]
    for who in [id] if id is not None else _long_ids(look, free):
        if who in look.types and look.unique(who, date, clock):
            return None if look.unique(who, date) or look.unique(who, clock) else (date, clock)
    return None


def _long_ids(look: _Look, free: Sequence[str]) -> list[str]:
    """Columns of text or whole numbers whose values repeat, those that look most like an identifier first."""
    found = [
        name
        for name in free
        if (look.text(name) or (look.whole(name) and (_like_id(name) or name == look.frame.columns[0])))
        and 2 * look.distinct(name) <= look.frame.height
        and not _counts(look, name)
    ]
    return sorted(found, key=lambda name: (_VARIABLE.fullmatch(name) is not None, not _like_id(name)))


def _long_variables(look: _Look, free: Sequence[str], id: str, time: str) -> list[str]:
    """Columns of words that may name the series: few different ones."""
    found = [
        name
        for name in free
        if name not in (id, time)
        and look.text(name)
        and (_VARIABLE.fullmatch(name) is not None or look.distinct(name) <= look.distinct(id))
    ]
    return sorted(found, key=lambda name: _VARIABLE.fullmatch(name) is None)


def _long_values(
    look: _Look, free: Sequence[str], id: str | None, time: str | None, variable: str | None
) -> tuple[str, ...]:
    """The numeric columns that change with time within the records."""
    numeric = [
        name for name in free if name not in (id, time, variable) and look.numeric(name) and not _counts(look, name)
    ]
    numeric = [name for name in numeric if not _no_quantity(look, name)] or numeric
    if len(numeric) < 2 or id not in look.types or look.frame.is_empty():
        return tuple(numeric)
    counts = look.frame.group_by(id).agg(pl.col(numeric).n_unique()).max().row(0, named=True)
    return tuple(name for name in numeric if counts[name] > 1)
