"""Rank swapping: every value trades places with another one that stands near it in the order of its column.

The values of a column are sorted (stably: equal values keep the order of the file). In a file of n records the window is

    w = max(1, floor(n p / 100 + 1/2)),    p a percentage

and ranks are visited in ascending order. The value at rank i, unless it was swapped before, is swapped with

    rank l,  i < l <= i + w,   chosen uniformly among those not yet swapped

so every value is swapped once; a value without a free partner keeps its place, and these are counted. With `taken="skip"` the rank l is
chosen among all of the window, and if it was swapped already the value at rank i keeps its place: a literal reading of the thesis [4]_. Then
about one value in seven stays where it was, whatever p is. At last the sorting is undone. Columns are treated one by one, independently. Each published column is a permutation of the original one: its mean,
variance and every other statistic of one column stay as they are, whole numbers stay whole, while the relations between
columns weaken as p grows.

Guarantee: none. Every published value is somebody's true value, at most w ranks from its owner. An intruder who knows p, or
an upper bound of it, looks for the records that lie within w ranks on every attribute he knows; the more he knows, the fewer
are left, often one [3]_. `RankSwapDistribution` and `RankSwapBuckets` have no such closed window.

In a time series every time point is a column of its own, so a published series is a mix of many records' values.

The free ranks of the window are kept in a list that is updated as the window moves: O(n log n) a column for the sorting and
O(n) for the swapping, for any p.

References
----------
.. [1] R. A. Moore, Controlled data swapping techniques for masking public use microdata sets, U.S. Bureau of the Census
   (1996).
.. [2] J. Domingo-Ferrer, V. Torra, A quantitative comparison of disclosure control methods for microdata, in:
   Confidentiality, Disclosure and Data Access, Elsevier (2001) 111-133.
.. [3] J. Nin, J. Herranz, V. Torra, Rethinking rank swapping to decrease disclosure risk, Data and Knowledge Engineering 64
   (2008) 346-364.
.. [4] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), section 2.4.1.

Examples
--------
>>> import polars as pl
>>> from tsveil.data.dataset import Dataset
>>> frame = pl.DataFrame({"age": [31, 44, 52, 27, 60, 38], "pay": [20, 35, 30, 18, 50, 26]})
>>> data = Dataset.from_frame(frame, blocks={"person": ["age", "pay"]})
>>> release = RankSwap(p=50).protect(data, seed=1)
>>> release.facts["person"]["kept their place"]
0
>>> sorted(release.data.block("person")[:, 0].tolist())
[27.0, 31.0, 38.0, 44.0, 52.0, 60.0]
>>> release.verify().status.value
'none-claimed'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil.attack.base import DrawnAtRandom, RanksWithin, Shape, Traces, TradesOfValues
from tsveil.core.params import number, one_of, param
from tsveil.core.randomness import secret_integers
from tsveil.core.types import Indices
from tsveil.data.dataset import Dataset
from tsveil.guarantee.none import NoGuarantee
from tsveil.protect.base import Described, Part, Rates, column_units
from tsveil.protect.partition import Unit
from tsveil.protect.survey import Survey
from tsveil.protect.swapping import CHASE, RankSwapping, window, window_warnings

Taken = Literal["redraw", "skip"]

#: values of a column that trade places as one part, and windows that a part has at least: few values meet its border
RANGE, WINDOWS = 2**20, 8


@dataclass(frozen=True, kw_only=True)
class RankSwap(RankSwapping):
    """Every value swapped once with a random one within the next p percent of the ranks."""

    name: ClassVar[str] = "rank-swap"
    plain: ClassVar[str] = "swap each value with a near one of its column"
    starting: ClassVar[bool] = True
    summary: ClassVar[str] = "every value trades places with a random one within p percent of the ranks of its column"
    reference: ClassVar[str] = "Moore 1996; Domingo-Ferrer and Torra 2001; Nin, Herranz and Torra 2008"
    rates: ClassVar[Rates] = Rates(link=2.7e-10)

    p: float = param(10.0, number(0, 100, open_low=True), "the window, as a percentage of the records: 5 means 5 %")
    taken: Taken = param(
        "redraw",
        one_of("redraw", "skip"),
        "a partner that was swapped already: draw among the free ones, or leave the value in its place",
    )

    @classmethod
    def grid(cls, data: Dataset) -> list[dict[str, list[Any]]]:
        """Windows."""
        return [{"p": [2.0, 5.0, 10.0, 20.0, 40.0]}]

    def traces(self, release: Shape) -> Traces:
        """Values stay within the window."""
        width = window(release.n, self.p)
        return RanksWithin(width), TradesOfValues(width, self), DrawnAtRandom()

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """Each column; ranges of ranks, at least eight windows long, where there are more than about a million records.

        The window is that of the whole file, and ends at the border of its range.
        """
        size = max(RANGE, WINDOWS * window(survey.n, self.p))
        return column_units(survey, None if survey.n <= size else size)

    def least(self, unit: Unit) -> int:
        """A swap takes two."""
        return 2

    def partners(self, n: int, part: Part) -> Indices:
        """One within the window of the whole file."""
        return window_partners(n, window(part.survey.n, self.p), part.rng, self.taken)

    def trades(self, n: int, rng: np.random.Generator) -> Indices:
        """One within the window."""
        from tsveil._kernels.rank_swap import DRAWS_BELOW

        return _rule(self.taken)(n, window(n, self.p), rng.integers(0, DRAWS_BELOW, n))

    def constants(self, survey: Survey, home: str) -> dict[str, Any]:
        """The window."""
        return {"window": window(survey.n, self.p)}

    def remarks(self, survey: Survey, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """What the window and the series ask for."""
        return window_warnings(self.p, survey)

    def guarantee(self, data: Described) -> NoGuarantee:
        """Nothing is promised."""
        return NoGuarantee(
            f"Every published value is the true value of some record, at most {window(data.n, self.p)} of {data.n} ranks from its "
            "owner. Whoever knows several original values of a person can intersect these ranges and is often left with a single "
            "record; attacks measure how often. "
            f"{CHASE}"
        )


def window_partners(n: int, width: int, rng: np.random.Generator, taken: Taken = "redraw") -> Indices:
    """The rank with which each rank trades places, at most `width` ranks away; a rank that is its own partner keeps its place.

    Examples
    --------
    >>> window_partners(4, 1, np.random.default_rng(1))
    array([1, 0, 3, 2])
    """
    return _rule(taken)(n, width, secret_integers(rng, n))


def _rule(taken: Taken) -> Callable[[int, int, Indices], Indices]:
    from tsveil._kernels import rank_swap

    return rank_swap.window_partners if taken == "redraw" else rank_swap.window_partners_once
