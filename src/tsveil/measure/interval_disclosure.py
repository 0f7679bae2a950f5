"""Interval disclosure: the share of values that the published ones give away, without any other knowledge.

Around each published value x' lies the interval of p percent of it; an original value inside counts as disclosed:

    ID_p = share of values with |x - x'| <= p |x'|

The printed condition [1]_ has r = p x', which is negative for negative values and never counts them; |x'| is meant.
DR2 is the mean of ID_p over p = 1 %, ..., 10 %.

**The edge counts, also after rounding.** 10.3 against 10 is exactly 3 percent on paper, but as float64 the difference
is 0.3000000000000007. Data are decimal numbers rounded to float64, published means carry some units in the last place,
too, and whether a value on the edge falls in or out would be chance. So the comparison has a slack of 4 units in the
last place (2^-50) of the larger of |x| and |x'|: more than the rounding of both values, their difference and p |x'|
together, far less than any difference that means something, and an error on the side of more risk.

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009)
   1663-1677, Algorithm 3.

Examples
--------
>>> from tsveil.measure.passes import of_arrays
>>> found, of_records = of_arrays(IntervalDisclosure(percents=(4, 5)), [[-10.5, 10.5, 0.0]], [[-10.0, 10.0, 0.0]])
>>> round(found.figures["ID"], 4), of_records["values_disclosed"]
(66.6667, array([66.66666667]))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tsveil.core.errors import InputError
from tsveil.core.params import Check, param
from tsveil.core.types import Array
from tsveil.engine.base import Result
from tsveil.measure.base import RECORDS, Chunk, Kind, Meaning, Measure, Schema
from tsveil.measure.score import MEANINGS
from tsveil.transform.statistics import per_record

#: of the larger value: what rounding may have added to a difference
SLACK = 2.0**-50


def _are_widths(value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    return all(isinstance(width, int | float) and 0 <= width < np.inf for width in value)


@dataclass(frozen=True, kw_only=True)
class IntervalDisclosure(Measure):
    """ID of time series: the share of values close to the published ones; see the top of this file."""

    name: ClassVar[str] = "interval-disclosure"
    plain: ClassVar[str] = "interval disclosure"
    summary: ClassVar[str] = "the share of values that lie within a few percent of the published ones"
    reference: ClassVar[str] = (
        "J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009)"
    )
    kinds: ClassVar[tuple[Kind, ...]] = ("series",)
    meanings: ClassVar[Mapping[str, Meaning]] = {"ID": MEANINGS["ID"]}

    percents: Sequence[float] = param(
        tuple(range(1, 11)), Check("one or more numbers of at least 0", _are_widths, str), "widths of the intervals"
    )

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """The number of disclosed values of each series, for each width."""
        widths = [float(percent) / 100 for percent in self.percents]
        found: Result = {"count": len(chunk.places)}
        disclosed = np.zeros(len(chunk.places))
        for number, (block, x, y) in enumerate(chunk.series()):
            if chunk.schema.gaps:
                counts, there = disclosed_values(x, y, widths), (~np.isnan(x)).sum(axis=1)
                found |= {str(number): counts.sum(axis=0), f"{number} values": int(there.sum())}
                disclosed += 100 * counts.sum(axis=1) / (np.maximum(there, 1) * len(widths))
                continue
            if np.isnan(x).any() or np.isnan(y).any():
                raise InputError(
                    "interval disclosure is not defined for missing values\n  options: drop or fill these records"
                )
            counts = disclosed_values(x, y, widths)
            found[str(number)] = counts.sum(axis=0)
            disclosed += 100 * counts.sum(axis=1) / (len(block) * len(widths))
        return found | {RECORDS: {"values_disclosed": disclosed / len(chunk.schema.files.series)}}

    def of_series(self, sums: Result, schema: Schema) -> dict[str, dict[str, float]]:
        """The share of each series, averaged over the widths."""
        return {
            block.name: {"ID": float((100 * sums[str(number)] / _values(sums, number, len(block))).mean())}
            for number, block in enumerate(schema.files.series)
        }

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """The mean over the series."""
        return {"ID": float(np.mean([one["ID"] for one in self.of_series(sums, schema).values()]))}


def _values(sums: Result, number: int, points: int) -> int:
    """The number of original values of a series."""
    return max(int(sums.get(f"{number} values", sums["count"] * points)), 1)


def disclosed_values(X: Array, X2: Array, widths: Sequence[float]) -> Array:
    """How many values of each record lie within the widths of the published ones, a column for each width."""

    def disclosed_counts(original: Array, published: Array) -> Array:
        size = np.abs(published)
        difference = np.abs(original - published)
        difference -= SLACK * np.maximum(np.abs(original), size)
        return np.stack([(difference <= width * size).sum(axis=1) for width in widths], axis=1).astype(np.float64)

    return per_record(disclosed_counts, X, X2) if len(X) else np.zeros((0, len(widths)))
