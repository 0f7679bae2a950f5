"""(k,P)-anonymity: every envelope is shared by k records, and inside it every pattern occurs P times.

A published record is the envelope lo_t .. hi_t of its group, a pattern (a SAX word with its level) and the carried
columns. The table is (k,P)-anonymous [1]_ when

    every envelope is shared by at least k records, and
    among the records of one envelope, every (word, level) occurs at least P times.

The promise is a chance of at most 1/P for every linkage by values, by pattern or by both; at most 1/k for an intruder
who ignores the pattern. That is a promise about records. What the carried columns give away is another matter: where
all records of one envelope and pattern carry the same value, that value is disclosed although no record is linked. The
verdict counts such cases.

The verifier sees the published table and nothing else. It compares cells as they are written, so that 1 and 1.0 in a
CSV file, or 0.0 and -0.0, are different; group numbers play no part. It also refuses tables that cannot be what they
claim: bounds in the wrong order, levels outside 1 to 26, letters that a word's level does not have.

References
----------
.. [1] L. Shou, X. Shang, K. Chen, G. Chen, C. Zhang, Supporting pattern-preserving anonymization for time-series data,
   IEEE Transactions on Knowledge and Data Engineering 25 (2013) 877-892; short version: X. Shang, K. Chen, L. Shou, G.
   Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series data, CIKM (2010) 1333-1336.

Examples
--------
>>> import polars as pl
>>> table = pl.DataFrame({"lo_1": [1.0] * 4, "hi_1": [2.0] * 4, "pattern": ["a", "a", "b", "b"], "level": [2, 2, 2, 2]})
>>> print(verify_kp(table, k=4, P=2))
HOLDS: (4,2)-anonymity: ...
  the smallest envelope is shared by 4 records
  the rarest pattern inside an envelope occurs 2 times
>>> print(verify_kp(table, k=5, P=2))
VIOLATED: (5,2)-anonymity: ...
  rows 1, 2, 3, 4: their envelope is shared by 4 records only; 5 are needed
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil._types import AnyArray, Indices, Mask
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import HIGH, LEVEL, LOW, WORD, IntervalTable, read_table
from tsveil.data.write import as_frame
from tsveil.errors import InputError, ParameterError, some
from tsveil.guarantee.base import Guarantee, Status, Verdict

#: the alphabet is a to z
HIGHEST_LEVEL = 26
#: so many violations of one kind are told
TOLD = 3

Table = Dataset | IntervalTable | pl.DataFrame | str | Path


def verify_kp(table: Table | Any, k: int, P: int) -> Verdict:
    """Check (k,P)-anonymity of a published table, made by any tool.

    `table` is a polars or pandas frame, or the path of a CSV or Parquet file. The layout is that of `tsveil.data.intervals`: columns lo_T and hi_T for every time point T, pattern and level; all
    other columns are taken for carried ones.

    Examples
    --------
    >>> import polars as pl
    >>> verify_kp(pl.DataFrame({"lo_1": [1, 1], "hi_1": [2, 2], "pattern": ["a", "c"], "level": [2, 2]}), k=2, P=1).witness
    'row 2: the pattern c has a letter that level 2 does not have (its letters are a to b)'
    """
    return KPAnonymity(k, P).verify(table)


@dataclass(frozen=True)
class KPAnonymity(Guarantee):
    """Every envelope is shared by at least k records, and inside it every pattern by at least P."""

    k: int
    P: int

    def __post_init__(self) -> None:
        wrong = [
            f"The {name!r} parameter of (k,P)-anonymity must be an integer of at least 1. Got {value!r}."
            for name, value in (("k", self.k), ("P", self.P))
            if isinstance(value, bool) or not isinstance(value, int) or value < 1
        ]
        if wrong:
            raise ParameterError("\n".join(wrong), wrong)

    @property
    def words(self) -> str:
        """The promise."""
        return (
            f"({self.k},{self.P})-anonymity: every published envelope is shared by at least {self.k} records, and inside an envelope every "
            f"published pattern by at least {self.P}. Whoever knows the values of a person, the shape of the series or both finds at least "
            f"{self.P} published records that fit equally well."
        )

    @property
    def short(self) -> str:
        """For tables."""
        return f"({self.k},{self.P})-anonymity"

    @property
    def limits(self) -> str:
        """What the promise does not cover."""
        return (
            f"The chance of linking is bounded by 1 in {self.P}; by 1 in {self.k} only for an intruder who does not look at the pattern, which "
            "whoever knows all values can compute. The bounds of an envelope are values of its members, unless they were rounded outwards. "
            "It says nothing about carried columns: if all records with one envelope and pattern share a value there, that value is disclosed."
        )

    def verify(self, published: Table | Any) -> Verdict:
        """Count how many records share each envelope, and inside it each pattern."""
        table = _table(published)
        if table.words is None:
            raise InputError("the table has no patterns: the columns 'pattern' and 'level' are needed")
        envelopes, classes = classes_of(table)
        shared, occurs = _sizes(envelopes), _sizes(classes)
        witnesses = [
            *impossible(table),
            *_few_envelopes(shared, envelopes, self.k),
            *_few_patterns(table, occurs, classes, self.P),
        ]
        if witnesses:
            return Verdict(Status.VIOLATED, self.words, "\n  ".join(witnesses))
        details = [
            f"the smallest envelope is shared by {int(shared.min(initial=table.n))} records",
            f"the rarest pattern inside an envelope occurs {int(occurs.min(initial=table.n))} times",
            *_carried(table, classes, "envelope and pattern"),
        ]
        return Verdict(Status.HOLDS, self.words, details=tuple(details))


@dataclass(frozen=True)
class EnvelopeAnonymity(Guarantee):
    """Every envelope is shared by at least k records; nothing is promised of patterns, if there are any.

    Examples
    --------
    >>> import polars as pl
    >>> print(EnvelopeAnonymity(2).verify(pl.DataFrame({"lo_1": [1, 1, 5], "hi_1": [2, 2, 6]})))
    VIOLATED: 2-anonymity: every published envelope is shared by at least 2 records.
      row 3: its envelope is shared by 1 record only; 2 are needed
    """

    k: int
    #: the table has a pattern for every record, of which nothing is promised
    patterns: bool = False

    @property
    def words(self) -> str:
        """The promise."""
        return f"{self.k}-anonymity: every published envelope is shared by at least {self.k} records."

    @property
    def short(self) -> str:
        """For tables."""
        return f"{self.k}-anonymity of envelopes"

    @property
    def limits(self) -> str:
        """What the promise does not cover."""
        if self.patterns:
            return (
                "THE PATTERNS ARE NOT PROTECTED: they single out most records, and whoever knows the values can compute them. Such a table "
                "is for comparison only and should not be published."
            )
        return (
            f"It bounds linking by values at 1 in {self.k}. The bounds of an envelope are values of its members, unless they were rounded "
            "outwards. It says nothing about carried columns: if all members of a group share a value there, that value is disclosed."
        )

    def verify(self, published: Table | Any) -> Verdict:
        """Count how many records share each envelope."""
        table = _table(published)
        envelopes, _ = classes_of(table)
        shared = _sizes(envelopes)
        witnesses = [*impossible(table), *_few_envelopes(shared, envelopes, self.k)]
        if witnesses:
            return Verdict(Status.VIOLATED, self.words, "\n  ".join(witnesses))
        details = (
            f"the smallest envelope is shared by {int(shared.min(initial=table.n))} records",
            *_carried(table, envelopes, "envelope"),
        )
        return Verdict(Status.HOLDS, self.words, details=details)


def homogeneous(classes: Indices, column: pl.Series) -> Mask:
    """The records whose whole class carries one value, so that belonging to the class discloses it.

    Examples
    --------
    >>> import polars as pl
    >>> homogeneous(np.array([0, 0, 1, 1]), pl.Series(["yes", "no", "yes", "yes"])).tolist()
    [False, False, True, True]
    """
    if not len(classes):
        return np.zeros(0, dtype=np.bool_)
    code = _codes(column)
    low = np.full(int(classes.max()) + 1, np.iinfo(np.int64).max)
    high = np.full(int(classes.max()) + 1, np.iinfo(np.int64).min)
    np.minimum.at(low, classes, code)
    np.maximum.at(high, classes, code)
    same: Mask = (low == high)[classes]
    return same


# -- looking at the table ---------------------------------------------------------------------------------------------


def _table(published: Table | Any) -> IntervalTable:
    return read_table(as_frame(published) if isinstance(published, Dataset) else published)


def _codes(column: pl.Series) -> Indices:
    """A number for every different cell as it is written: floats by their bits, all else by equality."""
    if column.dtype in (pl.Int64, pl.Float64) and not column.null_count():
        values: Indices = np.ascontiguousarray(column.to_numpy()).view(np.int64)
        return values
    texts = column.cast(pl.String).cast(pl.Categorical)
    return texts.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def _numbered(keys: AnyArray) -> Indices:
    """Equal rows get equal numbers."""
    keys = np.ascontiguousarray(keys)
    packed = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).ravel()
    _, number = np.unique(packed, return_inverse=True)
    return number.ravel().astype(np.int64)


def classes_of(table: IntervalTable) -> tuple[Indices, Indices]:
    """Which envelope each record has, and which combination of envelope and pattern; equal numbers for equal ones."""
    written = table.written
    if written is None:
        bounds = np.hstack([table.lo, table.hi]).view(np.int64)
    else:
        bounds = np.column_stack([_codes(written[name]) for name in written.columns if name not in (WORD, LEVEL)])
    envelopes = _numbered(bounds)
    if table.words is None or table.levels is None:
        return envelopes, envelopes
    words = _codes(pl.Series(table.words, dtype=pl.String) if written is None else written[WORD])
    levels = table.levels if written is None else _codes(written[LEVEL])
    return envelopes, _numbered(np.column_stack([envelopes, words, levels]))


def _sizes(classes: Indices) -> Indices:
    """For each record the number of records of its class."""
    count: Indices = np.bincount(classes)[classes] if len(classes) else np.zeros(0, dtype=np.int64)
    return count


def _rows(rows: Indices) -> str:
    return ("row " if len(rows) == 1 else "rows ") + some((rows + 1).tolist())


def impossible(table: IntervalTable, before: int = 0) -> Iterator[str]:
    """What no envelope and no pattern can be; `before` is the number of rows in the files before this one.

    Examples
    --------
    >>> table = IntervalTable(("1",), np.array([[2.0], [1.0]]), np.array([[1.0], [1.0]]), ("a", "c"), np.array([2, 2]))
    >>> list(impossible(table))
    ['row 1: lo_1 is 2, above hi_1, 1', 'row 2: the pattern c has a letter that level 2 does not have (its letters are a to b)']
    """
    crossed = table.lo > table.hi
    for row, at in np.argwhere(crossed)[:TOLD].tolist():
        label = table.labels[at]
        yield f"row {before + row + 1}: {LOW}{label} is {table.lo[row, at]:g}, above {HIGH}{label}, {table.hi[row, at]:g}"
    if (more := int(crossed.sum()) - TOLD) > 0:
        yield f"... and {more} more bounds in the wrong order"
    if table.words is None or table.levels is None:
        return
    first: dict[tuple[str, int], int] = {}
    for row, pair in enumerate(zip(table.words, table.levels.tolist(), strict=True)):
        first.setdefault(pair, row)
    wrong = [
        f"row {before + row + 1}: {problem}"
        for (word, level), row in first.items()
        if (problem := _wrong_word(word, level))
    ]
    yield from wrong[:TOLD]
    if len(wrong) > TOLD:
        yield f"... and {len(wrong) - TOLD} more patterns that cannot be"


def _wrong_word(word: str, level: int) -> str:
    if not 1 <= level <= HIGHEST_LEVEL:
        return f"the level {level} is not between 1 and {HIGHEST_LEVEL}"
    if not word:
        return "the pattern is empty"
    last = chr(ord("a") + level - 1)
    if any(not "a" <= letter <= last for letter in word):
        return f"the pattern {word} has a letter that level {level} does not have (its letters are a to {last})"
    return ""


def _few_envelopes(shared: Indices, envelopes: Indices, k: int) -> Iterator[str]:
    few = np.flatnonzero(shared < k)
    for number in list(dict.fromkeys(envelopes[few].tolist()))[:TOLD]:
        rows = np.flatnonzero(envelopes == number)
        whose, many = ("its", "record") if len(rows) == 1 else ("their", "records")
        yield f"{_rows(rows)}: {whose} envelope is shared by {len(rows)} {many} only; {k} are needed"
    if (more := len(set(envelopes[few].tolist())) - TOLD) > 0:
        yield f"... and {more} more envelopes that are shared by fewer than {k} records"


def _few_patterns(table: IntervalTable, occurs: Indices, classes: Indices, P: int) -> Iterator[str]:
    assert table.words is not None
    assert table.levels is not None
    few = np.flatnonzero(occurs < P)
    for number in list(dict.fromkeys(classes[few].tolist()))[:TOLD]:
        rows = np.flatnonzero(classes == number)
        whose, verb = ("its", "record has") if len(rows) == 1 else ("their", "records have")
        pattern = f"the pattern {table.words[rows[0]]} (level {table.levels[rows[0]]})"
        yield f"{_rows(rows)}: inside {whose} envelope only {len(rows)} {verb} {pattern}; {P} are needed"
    if (more := len(set(classes[few].tolist())) - TOLD) > 0:
        yield f"... and {more} more patterns that fewer than {P} records of their envelope have"


def _carried(table: IntervalTable, classes: Indices, what: str) -> Iterator[str]:
    """What the carried columns give away although the promise holds."""
    for name in table.others.columns:
        column = table.others[name]
        if table.n > 1 and column.n_unique() == table.n:
            yield f"column {name!r} is different in every row: if it names or numbers people, it must not be published"
        same = homogeneous(classes, column)
        if same.any():
            groups = len(set(classes[same].tolist()))
            yield disclosed(name, what, groups, len(set(classes.tolist())), int(same.sum()))


def disclosed(name: str, what: str, groups: int, classes: int, records: int) -> str:
    """A carried column that some classes have in common, in words."""
    return (
        f"column {name!r} is the same for all records of one {what} in {groups} of {classes} cases "
        f"({records} records): it is disclosed for them"
    )
