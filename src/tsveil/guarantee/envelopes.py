"""k-anonymity of envelopes: every published envelope lo_t .. hi_t is shared by at least k records.

Whoever knows the values of a person finds k records whose envelopes fit equally well. What carried columns disclose is another matter: where all
records of one class carry the same value, that value is disclosed although no record is linked. The verdict counts such cases.

Cells are compared as they are written, so that 1 and 1.0 in a CSV file, or 0.0 and -0.0, are different; group numbers play no part. Tables that
cannot be what they claim are refused: bounds in the wrong order, levels outside 1 to 26, letters or values that a pattern's level does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tsveil.core.params import at_least, param
from tsveil.guarantee.about_envelopes import AboutEnvelopes
from tsveil.guarantee.base import Verdict
from tsveil.guarantee.counting import Counts


@dataclass(frozen=True)
class EnvelopeAnonymity(AboutEnvelopes):
    """Every envelope is shared by at least k records; nothing is promised of patterns, if there are any.

    Examples
    --------
    >>> import polars as pl
    >>> print(EnvelopeAnonymity(2).verify(pl.DataFrame({"lo_1": [1, 1, 5], "hi_1": [2, 2, 6]})))
    VIOLATED: 2-anonymity: every published envelope is shared by at least 2 records.
      row 3: its envelope is shared by 1 record only; 2 are needed
    """

    name: ClassVar[str] = "envelopes"
    plain: ClassVar[str] = "every band of values belongs to at least k records"
    summary: ClassVar[str] = "every published envelope is shared by at least k records"
    reference: ClassVar[str] = "Shou, Shang, Chen, Chen and Zhang 2013"
    own: ClassVar[int] = 1
    shared: ClassVar[str] = "envelope"

    k: int = param(10, at_least(1), "fewest records that share an envelope")
    #: not a parameter: the table has a pattern for every record, of which nothing is promised; only the words on its limits need it
    patterns: bool = False

    @property
    def words(self) -> str:
        """The promise."""
        return f"{self.k}-anonymity: every published envelope is shared by at least {self.k} records."

    @property
    def intruder(self) -> str:
        """Who knows a series, or all of them, is left with the records of a class; patterns that are published beside it tell these apart."""
        return "none" if self.patterns else "file"

    @property
    def bound(self) -> str:
        """One of k."""
        return f"1/{self.k}"

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
        smallest = counts.classes(0).size.min(initial=counts.n)
        details = [f"the smallest envelope is shared by {smallest} records", *self.disclosures(counts)]
        return self.verdict(list(self.few_envelopes(counts, self.k)), details)
