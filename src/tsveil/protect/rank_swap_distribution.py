"""Rank swapping p-distribution: the distance of a swap is drawn from a normal distribution, so no window is closed.

As in `RankSwap` a column is sorted stably and ranks are visited in ascending order, with the same

    w = max(1, floor(n p / 100 + 1/2)),    p a percentage

but the value at rank i, unless it was swapped before, is swapped with

    rank l = i + round(r),   r drawn from N(w/2, (w/2)^2)

The draw is repeated when l was swapped before, is i itself or lies outside the file. After 200 draws the nearest free higher
rank is taken; where there is none (the last value of an odd number) the value keeps its place, and these are counted. The
source does not say what happens to a partner that is taken: it is drawn again here, so every value is swapped once.

Each published column is a permutation of the original one, as in `RankSwap`.

Guarantee: none. Most values move by less than 3w/2 ranks, but any distance is possible, so an intruder cannot rule out records
with certainty, as he can for `RankSwap`. Records that agree with his knowledge on most attributes are still likely, and
the nearest record often is the right one.

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, Rethinking rank swapping to decrease disclosure risk, Data and Knowledge Engineering 64
   (2008) 346-364.

Examples
--------
>>> import polars as pl
>>> from tsveil.data.dataset import Dataset
>>> frame = pl.DataFrame({"age": [31, 44, 52, 27, 60], "pay": [20, 35, 30, 18, 50]})
>>> data = Dataset.from_frame(frame, blocks={"person": ["age", "pay"]})
>>> release = RankSwapDistribution(p=50).protect(data, seed=1)
>>> release.facts["person"]["kept their place"]  # one in each column of five
2
>>> sorted(release.data.block("person")[:, 0].tolist())
[27.0, 31.0, 44.0, 52.0, 60.0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import DrawnAtRandom, RanksMostlyWithin, RanksWithin, Shape, Traces, TradesOfValues
from tsveil.core.params import number, param
from tsveil.core.randomness import secret_normals
from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.none import NoGuarantee
from tsveil.protect.base import Described, Part, Rates
from tsveil.protect.survey import Survey
from tsveil.protect.swapping import CHASE, RankSwapping, window, window_warnings

#: normal draws at a time; a value may need several, and a few ranks some hundreds
BATCH, FEW = 1 << 14, 1 << 9


@dataclass(frozen=True, kw_only=True)
class RankSwapDistribution(RankSwapping):
    """Every value swapped once with one at a normally distributed distance in rank."""

    name: ClassVar[str] = "rank-swap-distribution"
    plain: ClassVar[str] = "swap each value with one of its column at a random distance"
    summary: ClassVar[str] = (
        "every value trades places with one of its column at a random distance in rank, p/2 percent on average"
    )
    reference: ClassVar[str] = "Nin, Herranz and Torra 2008"
    rates: ClassVar[Rates] = Rates(link=4.5e-9)

    p: float = param(
        10.0, number(0, 100, open_low=True), "twice the mean distance, as a percentage of the records: 5 means 5 %"
    )

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Mean distances."""
        return [{"p": [5.0, 10.0, 20.0]}]

    def traces(self, release: Shape) -> Traces:
        """Values move by p/2 percent of the ranks on average, and seldom by more than 2p."""
        narrow, wide, widest = (window(release.n, share * self.p) for share in (0.5, 1, 2))
        return RanksWithin(widest), RanksMostlyWithin(narrow, wide), TradesOfValues(drawn_by=self), DrawnAtRandom()

    def partners(self, n: int, part: Part) -> Indices:
        """One at a distance that is drawn."""
        return _partners(n, window(part.survey.n, self.p) / 2, lambda: secret_normals(part.rng, BATCH))

    def trades(self, n: int, rng: np.random.Generator) -> Indices:
        """One at a distance that is drawn."""
        return _partners(n, window(n, self.p) / 2, lambda: rng.standard_normal(min(BATCH, 4 * n + FEW)))

    def constants(self, survey: Survey, home: str) -> dict[str, Any]:
        """The distance in rank."""
        return {"mean distance": window(survey.n, self.p) / 2}

    def remarks(self, survey: Survey, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What the distance and the series ask for."""
        return window_warnings(self.p, survey)

    def guarantee(self, data: Described) -> NoGuarantee:
        """Nothing is promised."""
        return NoGuarantee(
            "Every published value is the true value of some record, and most are within "
            f"{3 * window(data.n, self.p) // 2} of {data.n} ranks from their owner. No record can be ruled out for certain, but "
            "the one that is nearest to what is known of a person often is the right one; attacks measure how often. "
            f"{CHASE}"
        )


def _partners(n: int, mean: float, normals: Callable[[], Array]) -> Indices:
    """Partners from as many batches of standard normal numbers as are needed."""
    from tsveil._kernels.rank_swap import normal_partners

    partner = np.full(n, -1)
    rank = 0
    while rank < n:
        rank = normal_partners(partner, rank, mean, normals())
    return partner
