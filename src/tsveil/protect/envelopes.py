"""k-anonymity by envelopes: groups of at least k series, published as intervals.

The interval runs from the least to the greatest value of the group at each time.

This is the conventional k-anonymity of time series, the baseline of (k,P)-anonymity [1]_: values only, no patterns. A
set of 2k records or more is divided in two: the farthest pair are the seeds; the records follow in the order of their
distance to the nearer seed, each to the side whose envelope grows less in value loss,

    VL = sqrt(sum_t (hi_t - lo_t)^2 / T)

until one side must take the rest so that both keep k [2]_. The farthest pair is exact for sets of up to 1000 records;
larger ones are walked through, from a record to the one farthest from it.

`words="unprotected"` adds the SAX word of each record as it is. It exists to show what that does: values grouped by k
and patterns left alone single out nearly every record.

Guarantee: every envelope is shared by at least k records.

References
----------
.. [1] X. Shang, K. Chen, L. Shou, G. Chen, T. Hu, (k,P)-anonymity: towards pattern-preserving anonymity of time-series
   data, CIKM (2010) 1333-1336.
.. [2] J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. Fu, Utility-based anonymization using local recoding, KDD (2006)
   785-790.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> curves = np.array([[1.0, 2.0], [1.2, 2.2], [5.0, 4.0], [5.0, 4.4]])
>>> release = KAnonymousEnvelopes(k=2).protect(tv.Dataset.from_arrays({"load": curves}))
>>> release.lo, release.hi
(array([[1., 2.], [1., 2.], [5., 4.], [5., 4.]]), array([[1.2, 2.2], [1.2, 2.2], [5. , 4.4], [5. , 4.4]]))
>>> print(release.verify())
HOLDS: 2-anonymity: every published envelope is shared by at least 2 records.
  the smallest envelope is shared by 2 records
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil.core.params import one_of, param
from tsveil.core.technique import Technique
from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.guarantee.envelopes import EnvelopeAnonymity
from tsveil.protect.base import EXACT_RECORDS, PART, SIZES, Described, Rates
from tsveil.protect.intervals import REACH, WORD_LENGTH, Grouping, IntervalMethod
from tsveil.protect.partition import Unit
from tsveil.protect.survey import Survey
from tsveil.transform.sax import sax

#: the level of words that are not protected
LEVEL = 16


@dataclass(frozen=True, kw_only=True)
class KAnonymousEnvelopes(IntervalMethod):
    """Groups of at least k series, published as envelopes without patterns."""

    name: ClassVar[str] = "k-envelopes"
    plain: ClassVar[str] = "publish ranges that at least k records share"
    summary: ClassVar[str] = (
        "groups of at least k similar series, published as the interval from their least to their greatest value at each time"
    )
    reference: ClassVar[str] = "the baseline of Shang et al. 2010; grouping after Xu et al. 2006"
    rates: ClassVar[Rates] = Rates(value=1e-6)
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.LOCAL_GENERALIZATION,)

    words: Literal["none", "unprotected"] = param(
        "none",
        one_of("none", "unprotected"),
        "unprotected: publish every record's own pattern as well, which singles it out; for comparison only",
    )

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Sizes of groups."""
        return [{"k": list(SIZES)}]

    def guarantee(self, data: Described | None = None) -> EnvelopeAnonymity:
        """k-anonymity of the envelopes."""
        return EnvelopeAnonymity(self.k, patterns=self.words == "unprotected")

    def letters(self, points: int) -> int:
        """A letter for each segment, if words are published."""
        return min(points, WORD_LENGTH) if self.words == "unprotected" else 0

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """The series, in parts of near records where there are more than 200,000."""
        size = None if survey.n <= EXACT_RECORDS else max(PART, 2 * self.k)
        return (Unit(survey.blocks[0].name, survey.blocks[0].name, tuple(range(survey.width)), size),)

    def least(self, unit: Unit) -> int:
        """A part holds at least one group."""
        return self.k

    def group(self, x: Array) -> Grouping:
        """Divide all records top-down by value loss."""
        from tsveil._kernels.kp import divide

        rows = np.arange(len(x))
        groups = divide(x, rows, self.k, REACH)
        if self.words == "none":
            return Grouping(rows, groups)
        words = tuple(sax(x, self.letters(x.shape[1]), LEVEL))
        return Grouping(rows, groups, words, np.full(len(x), LEVEL))

    def remarks(self, survey: Survey, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Words single records out."""
        if self.words == "none":
            return []
        return [
            "words='unprotected' publishes the pattern of every record: it singles out most of them and is for comparison only"
        ]
