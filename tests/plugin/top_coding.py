"""Top and bottom coding: values beyond the outermost ranks of their column are replaced by the value at that rank.

    x' = min(max(x, x_(low)), x_(high))        low = share % of the records, high = 100 % - share %

Rare, extreme values identify; after this nobody is richer than the richest few.

Guarantee: none. The values between the two ranks are published as they are.

References
----------
.. [1] A. Hundepool et al., Statistical disclosure control, Wiley (2012), section 3.3.

Examples
--------
>>> import tsveil as tv
>>> data = tv.Dataset.from_arrays({"income": [[1.0], [2.0], [3.0], [90.0]]})
>>> TopCoding(share=25).protect(data).data.values.ravel().tolist()
[1.75, 2.0, 3.0, 24.75]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tsveil.guarantee.base import NoGuarantee
from tsveil.params import number, param
from tsveil.protect.base import Described, Part, Protected, ValueMethod
from tsveil.technique import Technique


@dataclass(frozen=True, kw_only=True)
class TopCoding(ValueMethod):
    """Values beyond the outermost ranks are drawn in."""

    name: ClassVar[str] = "top-coding"
    summary: ClassVar[str] = "values beyond the outermost ranks of their column are replaced by the value at that rank"
    reference: ClassVar[str] = "Hundepool et al. 2012"
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.LOCAL_GENERALIZATION,)

    share: float = param(
        5.0, number(0, 50), "the share of the records at each end whose values are drawn in, in percent"
    )

    def guarantee(self, data: Described) -> NoGuarantee:
        """Nothing is promised."""
        return NoGuarantee("Only extreme values are hidden.")

    def protect_part(self, part: Part) -> Protected:
        """Each column by itself; a block is one part."""
        low, high = np.quantile(part.values, [self.share / 100, 1 - self.share / 100], axis=0)
        return Protected(np.clip(part.values, low, high))
