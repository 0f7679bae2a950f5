"""Shared extremes: in each column, the smallest and the largest published value are shared by at least k records.

    |{i : x_ij = min_i x_ij}| >= k    and    |{i : x_ij = max_i x_ij}| >= k        for each column j

Whoever is known to be the richest or the oldest is then one of at least k. Of the values in between nothing is promised.

References
----------
.. [1] A. Hundepool et al., Statistical disclosure control, Wiley (2012), section 3.3.

Examples
--------
>>> import tsveil as tv
>>> published = tv.Dataset.from_arrays({"home": [[1.0], [1.0], [2.0], [9.0]]})
>>> print(SharedExtremes(2).verify(published))
VIOLATED: In each column, the smallest and the largest published value are shared by at least 2 records.
  column '0': 1 record has the largest value (row 4)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.core.params import at_least, param
from tsveil.guarantee.base import Promise, Verdict


@dataclass(frozen=True)
class SharedExtremes(Promise):
    """The smallest and the largest value of each column are shared by at least k records."""

    name: ClassVar[str] = "shared-extremes"
    plain: ClassVar[str] = "nobody stands alone at either end"
    summary: ClassVar[str] = "the smallest and the largest value of each column are shared by at least k records"
    reference: ClassVar[str] = "Hundepool et al. 2012"

    k: int = param(3, at_least(1), "fewest records that share the smallest value of a column, and the largest")

    @property
    def words(self) -> str:
        """The promise."""
        return f"In each column, the smallest and the largest published value are shared by at least {self.k} records."

    @property
    def short(self) -> str:
        """For tables."""
        return f"extremes shared by {self.k}"

    @property
    def limits(self) -> str:
        """What it does not cover."""
        return "It says nothing about the values in between, nor about several columns together."

    def verify(self, published: Any) -> Verdict:
        """Count both ends of every column, on the published values alone."""
        witnesses = []
        for name, column in zip(published.columns, published.values.T, strict=True):
            for end, value in (("smallest", column.min()), ("largest", column.max())):
                rows = np.flatnonzero(column == value) + 1
                if len(rows) < self.k:
                    have = "record has" if len(rows) == 1 else "records have"
                    witnesses.append(f"column {name!r}: {len(rows)} {have} the {end} value (row {rows[0]})")
        return self.verdict(witnesses)
