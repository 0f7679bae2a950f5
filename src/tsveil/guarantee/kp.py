"""(k,P)-anonymity: every envelope is shared by k records, and inside it every pattern occurs P times.

A published record is the envelope lo_t .. hi_t of its group, a pattern with its level (a SAX word, or values of PAA) and
the carried columns. The table is (k,P)-anonymous [1]_ when

    every envelope is shared by at least k records, and
    among the records of one envelope, every (pattern, level) occurs at least P times.

The promise is a chance of at most 1/P for every linkage by values, by pattern or by both; at most 1/k for an intruder
who ignores the pattern. Of carried columns, and of how cells are compared, what is said of envelopes without patterns holds here too.

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
from typing import Any, ClassVar

from tsveil.core.errors import InputError
from tsveil.core.params import at_least, param
from tsveil.guarantee.about_envelopes import AboutEnvelopes, few_classes
from tsveil.guarantee.base import Verdict
from tsveil.guarantee.chunks import Schema
from tsveil.guarantee.counting import Counts, Table
from tsveil.guarantee.faults import SHOWN


def verify_kp(table: Any, k: int, P: int) -> Verdict:
    """Check (k,P)-anonymity of a published table, made by any tool.

    Parameters
    ----------
    table
        A frame of polars, pandas, pyarrow or DuckDB, or the path of a CSV or Parquet file, in the layout of `tsveil.data.intervals`: columns lo_T and hi_T for every time point T, pattern and level; all other columns are taken for carried ones.
    k, P
        The fewest records that share an envelope, and a pattern.

    Returns
    -------
    Verdict
        Whether it holds, or why not.

    Raises
    ------
    InputError
        If it is no such table.
    ParameterError
        If k or P is out of range.

    Examples
    --------
    >>> import polars as pl
    >>> verify_kp(pl.DataFrame({"lo_1": [1, 1], "hi_1": [2, 2], "pattern": ["a", "c"], "level": [2, 2]}), k=2, P=1).witness
    'row 2: the pattern c has a letter that level 2 does not have (its letters are a to b)'
    """
    return KPAnonymity(k, P).verify(table)


@dataclass(frozen=True)
class KPAnonymity(AboutEnvelopes):
    """Every envelope is shared by at least k records, and inside it every pattern by at least P."""

    name: ClassVar[str] = "kp"
    label: ClassVar[str] = "(k,P)-anonymity"
    plain: ClassVar[str] = "every band of values belongs to at least k records, and every shape in it to at least P"
    summary: ClassVar[str] = "every envelope is shared by at least k records, and inside it every pattern by at least P"
    reference: ClassVar[str] = "Shou, Shang, Chen, Chen and Zhang 2013"
    headline: ClassVar[tuple[str, ...]] = ("k", "P")
    own: ClassVar[int] = 2
    shared: ClassVar[str] = "envelope and pattern"

    k: int = param(10, at_least(1), "fewest records that share an envelope")
    P: int = param(3, at_least(1), "fewest records that have the same pattern inside an envelope")

    @property
    def intruder(self) -> str:
        """Who knows all series is left with the records that share envelope and pattern."""
        return "file"

    @property
    def bound(self) -> str:
        """One of P."""
        return f"1/{self.P}"

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
        witnesses = [*self.few_envelopes(counts, self.k), *_few_patterns(counts, self.P)]
        details = [
            f"the smallest envelope is shared by {shared.min(initial=counts.n)} records",
            f"the rarest pattern inside an envelope occurs {occurs.min(initial=counts.n)} times",
            *self.disclosures(counts),
        ]
        return self.verdict(witnesses, details)


def _few_patterns(counts: Counts, P: int) -> Iterator[str]:
    for rows, size, first in few_classes(counts, 1, P):
        whose, verb = ("its", "record has") if size == 1 else ("their", "records have")
        chunk, row = counts.chunk_with(first)
        table = chunk.table
        assert table is not None
        assert table.words is not None
        assert table.levels is not None
        pattern = f"the pattern {table.words[row]} (level {table.levels[row]})"
        yield f"{rows}: inside {whose} envelope only {size} {verb} {pattern}; {P} are needed"
    if (more := int((counts.classes(1).size < P).sum()) - SHOWN) > 0:
        yield f"... and {more} more patterns that fewer than {P} records of their envelope have"
