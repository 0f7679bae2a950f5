"""Optimal univariate microaggregation: each column by itself, with the least possible loss.

A column is sorted and cut into consecutive groups of k to 2k-1 records so that the sum of squared errors

    SSE = sum over groups g and records i in g of (x_i - mean_g)^2

is the least possible; every value is replaced by the mean of its group. An optimal partition is always of this form, and it is a
shortest path over cut positions [1]_, found by dynamic programming in O(n k) after sorting. (The graph in [2]_ allows a last group
of k-1 records, so the SSE printed there are below the optimum.) Equal values are taken in the order of the file and may fall into
different groups.

A large offset costs no digits: a group's error is computed from differences to one of its own members, never from sums of squares
of the values. Nor does one far outlier spoil the choice of the other groups.

Guarantee: k-anonymity of each column by itself. Two columns together are not protected: who knows several values of a person intersects
their groups, and few records remain; alignment record linkage [2]_ undoes this method almost completely when five columns are known.

References
----------
.. [1] S. L. Hansen, S. Mukherjee, A polynomial algorithm for optimal univariate microaggregation, IEEE Transactions on Knowledge and
   Data Engineering 15 (2003) 1043-1044.
.. [2] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de
   Barcelona (2008), sections 2.4.2 and 4.2.

Examples
--------
>>> import polars as pl, tsveil as tv
>>> from tsveil.protect.univariate import OptimalUnivariate
>>> data = tv.Dataset.from_frame(pl.DataFrame({"a": [1.0, 2, 3, 6, 7, 8, 9]}), blocks={"a": ["a"]})
>>> release = OptimalUnivariate(k=2).protect(data)
>>> release.data.block("a").ravel()
array([2. , 2. , 2. , 6.5, 6.5, 8.5, 8.5])
>>> print(release.verify())
HOLDS: 2-anonymity: in each column by itself, every published value is shared by at least 2 records.
  the smallest group has 2 records
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import OrderOfColumns, RunsOfColumns, Shape, Traces
from tsveil.core.params import at_least, param
from tsveil.core.technique import Technique
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.protect.base import Described, Part, Protected, Rates, ValueMethod, check_k, column_units, sizes_of
from tsveil.protect.continuing import continued_groups
from tsveil.protect.partition import Unit
from tsveil.protect.representative import represent
from tsveil.protect.survey import Survey
from tsveil.transform.scale import in_range

#: values of a column that are grouped as one part
RANGE = 2**20


@dataclass(frozen=True, kw_only=True)
class OptimalUnivariate(ValueMethod):
    """Each column cut into groups of k to 2k-1 neighbouring values with the least sum of squared errors."""

    name: ClassVar[str] = "optimal-univariate"
    plain: ClassVar[str] = "hide each value among neighbouring values of its column"
    summary: ClassVar[str] = (
        "each column by itself in groups of at least k neighbouring values, with the least possible squared error"
    )
    reference: ClassVar[str] = "Hansen and Mukherjee 2003"
    rates: ClassVar[Rates] = Rates()
    representatives: ClassVar[bool] = True
    continues: ClassVar[bool] = True
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.MICROAGGREGATION,)

    k: int = param(5, at_least(2), "smallest group: every published value of a column is shared by at least k records")

    @property
    def means(self) -> bool:
        """Groups are published as their means."""
        return True

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Sizes of groups of single columns."""
        return [{"k": [5, 10, 25, 50, 100]}]

    def guarantee(self, data: Described) -> KAnonymity:
        """k-anonymity of single columns."""
        return KAnonymity(self.k, scope="column", blocks=len(data.blocks))

    def traces(self, release: Shape) -> Traces:
        """Means of consecutive values come in the order of the values."""
        return OrderOfColumns(), RunsOfColumns()

    def check(self, survey: Survey) -> None:
        """There must be k records."""
        check_k(self._label(), self.k, survey.n)

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """Each column, in ranges of values where there are more than about a million."""
        return column_units(survey, None if survey.n <= RANGE else RANGE)

    def least(self, unit: Unit) -> int:
        """A range holds at least one group."""
        return self.k

    def protect_part(self, part: Part) -> Protected:
        """Group a column, or a range of its values."""
        values, earlier = part.values, part.earlier
        if earlier is None:
            groups = least_sse_groups(values[:, 0], self.k)
            return Protected(represent(values, groups, "mean"), groups, facts=sizes_of(groups))
        groups = continued_groups(
            in_range(values), earlier, part.persons, self.k, lambda rows: least_sse_groups(values[rows, 0], self.k)
        )
        kept, out = np.flatnonzero(groups >= 0), np.full_like(values, np.nan)
        if len(kept):
            out[kept] = represent(values[kept], groups[kept], "mean")
        return Protected(out, groups, facts=sizes_of(groups))


def least_sse_groups(column: Array, k: int) -> Indices:
    """The group of each value in the partition of a column with the least sum of squared errors, numbered by rising values.

    Examples
    --------
    >>> import numpy as np
    >>> least_sse_groups(np.array([10.0, 1.0, 2.0, 11.0, 3.0]), 2)
    array([1, 0, 0, 1, 0])
    """
    from tsveil._kernels.partition import least_sse_runs

    order = np.argsort(column, kind="stable")
    ordered = column[order]
    # A power of two changes no digit and brings the spread near 1, so that no square leaves the range of float64.
    exponent = int(np.frexp(ordered[-1] / 2 - ordered[0] / 2)[1])
    groups = np.empty(len(column), dtype=np.int64)
    groups[order] = least_sse_runs(np.ldexp(ordered, -exponent)[:, None], k)
    return groups
