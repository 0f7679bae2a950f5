"""Rank swapping p-buckets: the partner's bucket is drawn first, near ones more often, then a value in it.

As in `RankSwap` a column is sorted stably and ranks are visited in ascending order. The sorted values are cut into B buckets
of equal size (as nearly as n allows). For a value in bucket r, unless it was swapped before, the bucket of its partner is drawn with

    Pr[s] = 2^-(s-r+1) / (1 - 2^-(B-r)),    s = r, ..., B-1    (buckets 0 to B-1)

and the partner uniformly among the values of bucket s that were not yet swapped and, for s = r, stand higher. A bucket without
such a value is drawn again; a value for which no bucket has one keeps its place, and these are counted. The printed
probabilities lack the denominator and do not add up to 1 in the last buckets.

Each published column is a permutation of the original one, as in `RankSwap`.

Guarantee: none. About half of the swaps stay within a bucket and nearly all within a few, but any distance is possible, so an
intruder cannot rule out records with certainty, as he can for `RankSwap`. The nearest record often is the right one.

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, Rethinking rank swapping to decrease disclosure risk, Data and Knowledge Engineering 64
   (2008) 346-364.

Examples
--------
>>> import polars as pl
>>> from tsveil.data.dataset import Dataset
>>> frame = pl.DataFrame({"age": [31, 44, 52, 27, 60, 38], "pay": [20, 35, 30, 18, 50, 26]})
>>> data = Dataset.from_frame(frame, blocks={"person": ["age", "pay"]})
>>> release = RankSwapBuckets(buckets=2).protect(data, seed=1)
>>> sorted(release.data.block("person")[:, 0].tolist())
[27.0, 31.0, 38.0, 44.0, 52.0, 60.0]
>>> RankSwapBuckets(buckets=9).protect(data)
Traceback (most recent call last):
tsveil.core.errors.ParameterError: The 'buckets' parameter of RankSwapBuckets must be at most the number of records (6). Got 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.attack.base import DrawnAtRandom, RanksMostlyWithin, RanksWithin, Shape, Traces, TradesOfValues
from tsveil.core.errors import ParameterError
from tsveil.core.params import at_least, param
from tsveil.core.randomness import secret_integers, secret_uniforms
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.none import NoGuarantee
from tsveil.protect.base import Described, Part, Rates
from tsveil.protect.survey import Survey
from tsveil.protect.swapping import CHASE, RankSwapping, series_warnings


@dataclass(frozen=True, kw_only=True)
class RankSwapBuckets(RankSwapping):
    """Every value swapped once with a random one of its own or a higher bucket, the nearer the likelier."""

    name: ClassVar[str] = "rank-swap-buckets"
    plain: ClassVar[str] = "swap each value with one of its own or a higher bucket of ranks"
    summary: ClassVar[str] = (
        "every value trades places with a random one of its own bucket of ranks or a higher one, the nearer the likelier"
    )
    reference: ClassVar[str] = "Nin, Herranz and Torra 2008"
    rates: ClassVar[Rates] = Rates(link=3.7e-9)

    buckets: int = param(20, at_least(1), "into how many buckets the ranks are cut: fewer buckets, farther swaps")

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Numbers of buckets."""
        return [{"buckets": [50, 20, 10, 5]}]

    def traces(self, release: Shape) -> Traces:
        """Half of the values stay in their bucket, and most move to the next one at most."""
        bucket = -(-release.n // self.buckets)
        return (
            RanksWithin(2 * bucket),
            RanksMostlyWithin(bucket, 2 * bucket),
            TradesOfValues(drawn_by=self),
            DrawnAtRandom(),
        )

    def check(self, survey: Survey) -> None:
        """A swap takes two, and a bucket one."""
        super().check(survey)
        if self.buckets > survey.n:
            raise ParameterError(
                f"The 'buckets' parameter of {self._label()} must be at most the number of records ({survey.n}). Got {self.buckets}."
            )

    def partners(self, n: int, part: Part) -> Indices:
        """One of the own bucket or a higher one."""
        from tsveil._kernels.rank_swap import bucket_partners

        return bucket_partners(n, self.buckets, secret_uniforms(part.rng, n), secret_integers(part.rng, n))

    def trades(self, n: int, rng: np.random.Generator) -> Indices:
        """One of the own bucket or a higher one."""
        from tsveil._kernels.rank_swap import DRAWS_BELOW, bucket_partners

        return bucket_partners(n, min(self.buckets, n), rng.random(n), rng.integers(0, DRAWS_BELOW, n))

    def constants(self, survey: Survey, home: str) -> dict[str, Any]:
        """The size of a bucket."""
        return {"smallest bucket": survey.n // self.buckets}

    def remarks(self, survey: Survey, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What small buckets and series ask for."""
        size, found = survey.n // self.buckets, series_warnings(survey)
        if self.buckets > 100 or size < 2:
            found.append(
                f"{self.buckets} buckets of {survey.n} records hold {size} of them each, which hardly hinders linkage; take fewer buckets"
            )
        return found

    def guarantee(self, data: Described) -> NoGuarantee:
        """Nothing is promised."""
        return NoGuarantee(
            f"Every published value is the true value of some record, mostly within {2 * data.n // self.buckets} of {data.n} ranks "
            "from its owner. No record can be ruled out for certain, but the one that is nearest to what is known of a person "
            "often is the right one; attacks measure how often. "
            f"{CHASE}"
        )
