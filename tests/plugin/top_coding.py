"""Top and bottom coding: the c smallest values of a column become the largest of them, and the c largest the smallest of them.

    x' = min(max(x, x_(c)), x_(n+1-c))        c = share % of the n records, at least 1

Rare, extreme values identify; after this nobody is richer than the richest few.

Guarantee: in each column, at least c records share the smallest value, and at least c the largest. The values between them are published as they are.

References
----------
.. [1] A. Hundepool et al., Statistical disclosure control, Wiley (2012), section 3.3.

Examples
--------
>>> import tsveil as tv
>>> data = tv.Dataset.from_arrays({"income": [[1.0], [2.0], [3.0], [4.0], [90.0]]})
>>> release = TopCoding(share=40).protect(data)
>>> release.data.values.ravel().tolist()
[2.0, 2.0, 3.0, 4.0, 4.0]
>>> print(release.verify())
HOLDS: In each column, the smallest and the largest published value are shared by at least 2 records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plugin.shared_extremes import SharedExtremes
from tsveil.core.params import number, param
from tsveil.core.technique import Technique
from tsveil.protect.base import Described, Part, Protected, ValueMethod


@dataclass(frozen=True, kw_only=True)
class TopCoding(ValueMethod):
    """Extreme values are drawn in."""

    name: ClassVar[str] = "top-coding"
    summary: ClassVar[str] = "the extreme values of each column are replaced by the least extreme of them"
    reference: ClassVar[str] = "Hundepool et al. 2012"
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.LOCAL_GENERALIZATION,)

    share: float = param(
        5.0, number(0, 50), "the share of the records at each end whose values are drawn in, in percent"
    )

    def count(self, n: int) -> int:
        """The number of records at each end."""
        return max(1, int(n * self.share / 100))

    def guarantee(self, data: Described) -> SharedExtremes:
        """Those at either end share one value."""
        return SharedExtremes(self.count(data.n))

    def protect_part(self, part: Part) -> Protected:
        """Each column by itself; a block is one part."""
        ordered = np.sort(part.values, axis=0)
        count = self.count(len(ordered))
        return Protected(np.clip(part.values, ordered[count - 1], ordered[-count]))
