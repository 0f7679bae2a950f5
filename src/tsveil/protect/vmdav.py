"""V-MDAV microaggregation: like MDAV, but a group may grow beyond k where records crowd together.

c is the mean of all records, computed once. While at least k records are left, the one farthest from c forms a group with its k-1
nearest. The group then grows up to 2k-1 members: x is the unassigned record nearest to any member, at the distance d_in, and d_out
its distance to the nearest other unassigned record; x joins if

    d_in < gamma * d_out

and otherwise the group is closed. Fewer than k records at the end join the groups of their nearest assigned records (which may pass
2k-1 then). gamma near 0 gives groups of k; larger values follow the clusters in the data.

Guarantee: k-anonymity of whole records, or of each block by itself with `grouping="per-block"`.

References
----------
.. [1] A. Solanas, A. Martinez-Balleste, V-MDAV: a multivariate microaggregation with variable group size, COMPSTAT 2006.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> data = tv.Dataset.from_arrays({"x": np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [5.0]])})
>>> tv.VMDAV(k=2, gamma=1.0).protect(data).groups["x"]
array([1, 1, 1, 0, 0, 0])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tsveil.core.params import number, param
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.protect.base import PART, SIZES, Part, Rates
from tsveil.protect.microaggregation import Microaggregation
from tsveil.protect.mixed import Mixed, variable_groups

#: records that are grouped as one part
WHOLE = 50_000


@dataclass(frozen=True, kw_only=True)
class VMDAV(Microaggregation):
    """Groups of k to 2k-1 records that follow the clusters in the data."""

    name: ClassVar[str] = "v-mdav"
    plain: ClassVar[str] = "hide each record among similar ones, more where records crowd together"
    starting: ClassVar[bool] = True
    summary: ClassVar[str] = "like mdav, with groups that grow beyond k where records crowd together"
    reference: ClassVar[str] = "Solanas and Martinez-Balleste 2006"
    rates: ClassVar[Rates] = Rates(value=0.0, record=9e-10)
    continues: ClassVar[bool] = True

    gamma: float = param(
        0.2, number(0, 10), "how readily a group grows: a record joins if it is this much nearer than others"
    )

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Sizes, and how readily groups grow."""
        return [{"k": list(SIZES), "gamma": [0.2, 1.0]}]

    def part_size(self, n: int, columns: int) -> int | None:
        """Time grows with the square of the records: above 50,000 they are grouped in parts of some thousand near ones."""
        return None if n <= WHOLE else max(PART, 2 * self.k)

    def group_mixed(self, mixed: Mixed, part: Part, counter: Indices) -> tuple[Indices, dict[str, Any]]:
        """Variable groups by mixed distances."""
        return variable_groups(mixed, self.k, float(self.gamma), counter), {}

    def group(self, space: Array, part: Part, counter: Indices) -> tuple[Indices, dict[str, Any]]:
        """Variable groups."""
        from tsveil._kernels import vmdav

        return vmdav.variable_groups(space, self.k, float(self.gamma), counter), {}
