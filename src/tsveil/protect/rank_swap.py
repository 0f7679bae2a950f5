"""Rank swapping: every value trades places with another one that stands near it in the order of its column.

The values of a column are sorted (stably: equal values keep the order of the file). In a file of n records the window is

    w = max(1, floor(n p / 100 + 1/2)),    p a percentage

and ranks are visited in ascending order. The value at rank i, unless it was swapped before, is swapped with

    rank l,  i < l <= i + w,   chosen uniformly among those not yet swapped

so every value is swapped once; a value without a free partner keeps its place, and these are counted. Then the sorting is
undone. Columns are treated one by one, independently. Each published column is a permutation of the original one: its mean,
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

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import floor
from typing import Any, ClassVar

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.data.dataset import Block, Dataset
from tsveil.engine.local import map_chunks
from tsveil.errors import InputError
from tsveil.guarantee.base import NoGuarantee
from tsveil.params import number, param
from tsveil.protect.base import Method, Protected
from tsveil.randomness import secret_integers
from tsveil.technique import Technique

#: n, generator -> the rank with which each rank trades places; a rank that is its own partner keeps its place
Partners = Callable[[int, np.random.Generator], Indices]


def window(n: int, p: float) -> int:
    """The number of ranks that p percent of n records are, at least one.

    Examples
    --------
    >>> window(1080, 2), window(10, 1)
    (22, 1)
    """
    return max(1, floor(n * p / 100 + 0.5))


@dataclass(frozen=True, kw_only=True)
class RankSwap(Method):
    """Every value swapped once with a random one within the next p percent of the ranks."""

    name: ClassVar[str] = "rank-swap"
    summary: ClassVar[str] = "every value trades places with a random one within p percent of the ranks of its column"
    reference: ClassVar[str] = "Moore 1996; Domingo-Ferrer and Torra 2001; Nin, Herranz and Torra 2008"
    techniques: ClassVar[tuple[Technique, ...]] = (Technique.PERMUTATION,)

    p: float = param(10.0, number(0, 100, open_low=True), "the window, as a percentage of the records: 5 means 5 %")

    def check(self, data: Dataset) -> None:
        """A swap takes two."""
        check_partners(self._label(), data)

    def protect_block(self, values: Array, block: Block, rng: np.random.Generator) -> Protected:
        """Swap every column by itself."""
        width = window(len(values), self.p)
        done = swapped_within(values, width, rng)
        return replace(done, warnings=window_warnings(self.p, len(values), block))

    def guarantee(self, data: Dataset) -> NoGuarantee:
        """Nothing is promised."""
        return NoGuarantee(
            f"Every published value is the true value of some record, at most {window(data.n, self.p)} of {data.n} ranks from its "
            "owner. Whoever knows several original values of a person can intersect these ranges and is often left with a single "
            "record; attacks measure how often."
        )


def swapped_within(values: Array, width: int, rng: np.random.Generator) -> Protected:
    """Every value swapped within so many ranks, column by column.

    Examples
    --------
    >>> import numpy as np
    >>> swapped_within(np.array([[1.0], [2.0], [7.0], [8.0]]), 1, np.random.default_rng(1)).values.ravel()
    array([2., 1., 8., 7.])
    """
    return swapped(values, rng, lambda n, draw: _partners(n, width, draw), facts={"window": width}, warnings=())


def _partners(n: int, width: int, rng: np.random.Generator) -> Indices:
    from tsveil._kernels.rank_swap import window_partners

    return window_partners(n, width, secret_integers(rng, n))


# -- what the three kinds of rank swapping share ----------------------------------------------------------------------


def swapped(
    values: Array, rng: np.random.Generator, partners: Partners, *, facts: dict[str, Any], warnings: tuple[str, ...]
) -> Protected:
    """A block whose columns were swapped one by one, with the number of values that kept their place."""
    # A row per column while at work: values go to scattered places, which is fast only where these lie close together.
    columns = np.empty(values.shape[::-1])
    # A generator for each column: the draws of a column do not depend on which thread comes first.
    generators = rng.spawn(values.shape[1])

    def swap(start: int, stop: int) -> int:
        kept = 0
        for at in range(start, stop):
            column = np.ascontiguousarray(values[:, at])
            order = np.argsort(column, kind="stable")
            partner = partners(len(column), generators[at])
            columns[at, order] = column[order[partner]]
            kept += int(np.count_nonzero(partner == np.arange(len(partner))))
        return kept

    with progress.step("Swapping values"):
        kept = sum(map_chunks(swap, values.shape[1], 1))
    out = np.ascontiguousarray(columns.T)
    counts = {
        "values": values.size,
        "kept their place": kept,
        # The same value can come back from another record: with many equal values swapping changes little.
        "same value as before": int(np.count_nonzero(out == values)),
    }
    return Protected(values=out, facts=facts | counts, warnings=warnings)


def check_partners(method: str, data: Dataset) -> None:
    """Refuse data in which nothing can be swapped."""
    if data.n < 2:
        raise InputError(f"{method} swaps values between records, but there is only one record")


def window_warnings(p: float, n: int, block: Block) -> tuple[str, ...]:
    """What the owner should know of a window that hides next to nothing, and of swapped series."""
    width = window(n, p)
    advice = "take a larger p (it is a percentage: 5 means 5 %)"
    warnings = series_warnings(block)
    if width == 1:
        # Sorting the published column and swapping neighbours back gives the original.
        warnings += (
            f"p={p:g} of {n} records is a window of one rank: values trade places with their neighbours, which can be undone; {advice}",
        )
    elif p < 1:
        warnings += (f"p={p:g} is a window of {width} of {n} ranks, which hardly hinders linkage; {advice}",)
    return warnings


def series_warnings(block: Block) -> tuple[str, ...]:
    """Swapping column by column takes series apart."""
    if block.is_series and len(block) > 1:
        return (f"the time points of {block.name!r} were swapped one by one: the course of single series is not kept",)
    return ()
