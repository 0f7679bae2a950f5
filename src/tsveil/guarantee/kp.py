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
from typing import Any, ClassVar

import numpy as np
import polars as pl

from tsveil._types import AnyArray, Indices, Mask
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import LEVEL, WORD, IntervalTable, read_table
from tsveil.data.write import as_frame
from tsveil.errors import InputError, ParameterError
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.chunks import Schema, cell_codes, one_zero
from tsveil.guarantee.counting import Counts, Table, rows_told
from tsveil.guarantee.faults import TOLD
from tsveil.guarantee.verify import Counted

Published = Dataset | IntervalTable | pl.DataFrame | str | Path


def verify_kp(table: Published | Any, k: int, P: int) -> Verdict:
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


class _Envelopes(Counted):
    """What promises about envelopes have in common: the table that they read, and the columns carried beside it.

    The last of the `own` tables is that of the classes; then there are two tables for each carried column: its values inside a class, and its values.
    """

    #: the number of tables before those of carried columns
    own: ClassVar[int]

    def table(self, published: Published | Any) -> IntervalTable:
        """The table of a frame, a file or a data set."""
        return read_table(as_frame(published) if isinstance(published, Dataset) else published)

    def tables(self, schema: Schema) -> list[Table]:
        """Envelopes, patterns inside them if they count, and carried columns."""
        found = [Table("envelopes", schema.numbers), Table("patterns", (WORD, LEVEL), inside=0)][: self.own]
        for name in schema.carried:
            found += [Table(name, (name,), inside=self.own - 1), Table(name, (name,))]
        return found

    def homogeneous(self, counts: Counts) -> dict[str, tuple[int, int]]:
        """For carried columns: the classes that have one value only, and the records in them."""
        size, _ = counts.classes(self.own - 1)
        found = {}
        for number in range(self.own, len(counts.tables), 2):
            same = counts.kinds(number) == 1
            found[counts.tables[number].name] = (int(same.sum()), int(size[same].sum()))
        return found

    def carried(self, counts: Counts) -> Iterator[str]:
        """What carried columns disclose although the promise holds."""
        classes = len(counts.classes(self.own - 1).size)
        for at, (name, (groups, records)) in enumerate(self.homogeneous(counts).items()):
            if len(counts.classes(self.own + 2 * at + 1).size) == counts.n > 1:
                yield f"column {name!r} is different in every row: if it names or numbers people, it must not be published"
            if groups:
                yield (
                    f"column {name!r} is the same for all records of one {self.shared} in {groups} of {classes} cases "
                    f"({records} records): it is disclosed for them"
                )


@dataclass(frozen=True)
class KPAnonymity(_Envelopes):
    """Every envelope is shared by at least k records, and inside it every pattern by at least P."""

    own: ClassVar[int] = 2
    shared: ClassVar[str] = "envelope and pattern"

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

    def tables(self, schema: Schema) -> list[Table]:
        """Envelopes, patterns inside them, and carried columns."""
        if not schema.patterns:
            raise InputError("the table has no patterns: the columns 'pattern' and 'level' are needed")
        return super().tables(schema)

    def judge(self, counts: Counts) -> Verdict:
        """Every envelope needs k records, and every pattern inside it P."""
        shared, occurs = counts.classes(0).size, counts.classes(1).size
        witnesses = [*counts.faults, *_few_envelopes(counts, self.k), *_few_patterns(counts, self.P)]
        if witnesses:
            return Verdict(Status.VIOLATED, self.words, "\n  ".join(witnesses))
        details = [
            f"the smallest envelope is shared by {shared.min(initial=counts.n)} records",
            f"the rarest pattern inside an envelope occurs {occurs.min(initial=counts.n)} times",
            *self.carried(counts),
        ]
        return Verdict(Status.HOLDS, self.words, details=tuple(details))


@dataclass(frozen=True)
class EnvelopeAnonymity(_Envelopes):
    """Every envelope is shared by at least k records; nothing is promised of patterns, if there are any.

    Examples
    --------
    >>> import polars as pl
    >>> print(EnvelopeAnonymity(2).verify(pl.DataFrame({"lo_1": [1, 1, 5], "hi_1": [2, 2, 6]})))
    VIOLATED: 2-anonymity: every published envelope is shared by at least 2 records.
      row 3: its envelope is shared by 1 record only; 2 are needed
    """

    own: ClassVar[int] = 1
    shared: ClassVar[str] = "envelope"

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

    def judge(self, counts: Counts) -> Verdict:
        """Every envelope needs k records."""
        witnesses = [*counts.faults, *_few_envelopes(counts, self.k)]
        if witnesses:
            return Verdict(Status.VIOLATED, self.words, "\n  ".join(witnesses))
        smallest = counts.classes(0).size.min(initial=counts.n)
        details = (f"the smallest envelope is shared by {smallest} records", *self.carried(counts))
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
    code = cell_codes(one_zero(column))
    low = np.full(int(classes.max()) + 1, np.iinfo(np.int64).max)
    high = np.full(int(classes.max()) + 1, np.iinfo(np.int64).min)
    np.minimum.at(low, classes, code)
    np.maximum.at(high, classes, code)
    same: Mask = (low == high)[classes]
    return same


# -- looking at the table ---------------------------------------------------------------------------------------------


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
        bounds = np.column_stack([cell_codes(written[name]) for name in written.columns if name not in (WORD, LEVEL)])
    envelopes = _numbered(bounds)
    if table.words is None or table.levels is None:
        return envelopes, envelopes
    words = cell_codes(pl.Series(table.words, dtype=pl.String) if written is None else written[WORD])
    levels = table.levels if written is None else cell_codes(written[LEVEL])
    return envelopes, _numbered(np.column_stack([envelopes, words, levels]))


def _few(counts: Counts, table: int, least: int) -> Iterator[tuple[str, int, int]]:
    """The first classes with too few records: their rows in words, their number, and the first of them."""
    size, first = counts.classes(table)
    few = np.flatnonzero(size < least)
    for number in few[np.argsort(first[few])][:TOLD].tolist():
        chosen = np.zeros(len(size), dtype=np.bool_)
        chosen[number] = True
        yield rows_told(*counts.members(table, chosen)), int(size[number]), int(first[number])


def _few_envelopes(counts: Counts, k: int) -> Iterator[str]:
    for rows, size, _ in _few(counts, 0, k):
        whose, many = ("its", "record") if size == 1 else ("their", "records")
        yield f"{rows}: {whose} envelope is shared by {size} {many} only; {k} are needed"
    if (more := int((counts.classes(0).size < k).sum()) - TOLD) > 0:
        yield f"... and {more} more envelopes that are shared by fewer than {k} records"


def _few_patterns(counts: Counts, P: int) -> Iterator[str]:
    for rows, size, first in _few(counts, 1, P):
        whose, verb = ("its", "record has") if size == 1 else ("their", "records have")
        chunk, row = counts.chunk_with(first)
        table = chunk.table
        assert table is not None
        assert table.words is not None
        assert table.levels is not None
        pattern = f"the pattern {table.words[row]} (level {table.levels[row]})"
        yield f"{rows}: inside {whose} envelope only {size} {verb} {pattern}; {P} are needed"
    if (more := int((counts.classes(1).size < P).sum()) - TOLD) > 0:
        yield f"... and {more} more patterns that fewer than {P} records of their envelope have"
