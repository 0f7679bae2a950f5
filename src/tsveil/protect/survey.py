"""What a method may know of a whole data set before it sees a part of it: sizes, bounds, scales.

All figures are found chunk by chunk and put together without rounding (extremes, and sums of whole numbers), so they do not depend on how the
records are cut into chunks, to the last bit.

    pass 1   least and greatest value of each column
    pass 2   the sums of u = (x - low) / (high - low), for the scales that the method asks for: their means m
    pass 3   the sums of (u - m)^2, or of all products (u_i - m_i)(u_j - m_j): their deviations, or covariances

Passes 2 and 3 are left out where no scale is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block
from tsveil.transform.normalise import Ruler, exact_sums, exact_total

#: a scale for each column, one for all columns of a block, and one for each column with the products of all pairs
How = Literal["component", "global", "products"]
#: a block, and how it is scaled
Scale = tuple[str, How]


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of a whole data set."""

    #: the number of records
    n: int
    blocks: tuple[Block, ...]
    #: least and greatest value of each column
    low: Array
    high: Array
    confidential: tuple[str, ...] = ()
    #: confidential column -> number of different values, and number of records with a value of their own
    different: Mapping[str, int] = field(default_factory=dict)
    alone: Mapping[str, int] = field(default_factory=dict)
    #: the columns that say whose a record is, and the number of persons, where records may share one; None: each record is a person of its own
    person: tuple[str, ...] = ()
    persons: int | None = None
    #: the number of values of each column, where records may have gaps; None: each has one of each record
    present: Indices | None = None
    #: column of labels -> how often each of its labels occurs
    uses: Mapping[str, Indices] = field(default_factory=dict)
    rulers: Mapping[Scale, Ruler] = field(default_factory=dict)
    #: block -> sums of products of its columns, each counted from its mean in units of its range
    products: Mapping[str, Array] = field(default_factory=dict)

    @property
    def series(self) -> tuple[Block, ...]:
        """The blocks that are time series."""
        return tuple(block for block in self.blocks if block.is_series)

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(map(len, self.blocks))

    @property
    def largest(self) -> float:
        """The largest magnitude of all values."""
        return float(max(np.abs(self.low).max(), np.abs(self.high).max()))

    @property
    def gaps(self) -> bool:
        """Whether records may have gaps that take part as gaps."""
        return self.present is not None

    def fill(self, values: Array, columns: Sequence[int]) -> Array:
        """Values of some columns with the mean of the column in each gap: where parts are cut, every record must stand somewhere."""
        if self.present is None:
            return values
        rulers = [self.rulers[block.name, "component"] for block in self.blocks]
        mean = np.concatenate([np.ravel(r.low + np.asarray(r.width) * r.mean) for r in rulers])[list(columns)]
        return np.where(np.isnan(values), mean, values)

    def span(self, name: str) -> range:
        """The places of a block's columns among all columns."""
        start = 0
        for block in self.blocks:
            if block.name == name:
                break
            start += len(block)
        return range(start, start + len(block))

    def scale(self, values: Array, name: str, how: How) -> Array:
        """Columns of a block on the scale of the whole block."""
        return self.rulers[name, how].measure(np.ascontiguousarray(values))


def of_columns(scales: Sequence[Scale], survey: Survey, values: Array) -> list[tuple[Indices, Indices]]:
    """The sums of one chunk in pass 2, for each scale."""
    return [
        exact_sums(_zero_gaps(survey, _bounds(survey, scale).measure(_own(survey, scale, values))), _axis(scale))
        for scale in scales
    ]


def of_squares(scales: Sequence[Scale], survey: Survey, values: Array) -> list[tuple[Indices, Indices]]:
    """The sums of one chunk in pass 3, for each scale; `survey` has the means."""
    found = []
    for scale in scales:
        ruler = survey.rulers[scale]
        centred = Ruler(ruler.low, ruler.width).measure(_own(survey, scale, values))
        centred -= ruler.mean
        centred = _zero_gaps(survey, centred)
        if scale[1] == "products":
            rows = [exact_sums(centred[:, [at]] * centred, 0) for at in range(centred.shape[1])]
            found.append((np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])))
        else:
            found.append(exact_sums(np.square(centred), _axis(scale)))
    return found


def with_means(survey: Survey, scales: Sequence[Scale], sums: Sequence[tuple[Indices, Indices]]) -> Survey:
    """The survey after pass 2."""
    rulers = {}
    for scale, (high, low) in zip(scales, sums, strict=True):
        bounds = _bounds(survey, scale)
        rulers[scale] = Ruler(bounds.low, bounds.width, exact_total(high, low) / _count(survey, scale))
    return replace(survey, rulers=rulers)


def with_deviations(survey: Survey, scales: Sequence[Scale], sums: Sequence[tuple[Indices, Indices]]) -> Survey:
    """The survey after pass 3."""
    rulers, products = {}, {}
    for scale, (high, low) in zip(scales, sums, strict=True):
        total = exact_total(high, low)
        if scale[1] == "products":
            products[scale[0]] = total
            total = np.diagonal(total)[None, :]
        deviation = np.sqrt(total / np.maximum(_count(survey, scale) - 1, 1))
        rulers[scale] = replace(survey.rulers[scale], deviation=np.where(deviation > 0, deviation, 1.0))
    return replace(survey, rulers=rulers, products=products)


def _own(survey: Survey, scale: Scale, values: Array) -> Array:
    span = survey.span(scale[0])
    return np.ascontiguousarray(values[:, span.start : span.stop])


def _bounds(survey: Survey, scale: Scale) -> Ruler:
    """The range of each column of a block, or of all of them."""
    span = survey.span(scale[0])
    low, high = survey.low[None, span.start : span.stop], survey.high[None, span.start : span.stop]
    if scale[1] == "global":
        low, high = low.min(keepdims=True), high.max(keepdims=True)
    return Ruler(low, high - low)


def _axis(scale: Scale) -> int | None:
    return None if scale[1] == "global" else 0


def _zero_gaps(survey: Survey, table: Array) -> Array:
    """A gap adds nothing to a sum."""
    return table if survey.present is None else np.nan_to_num(table, copy=False, nan=0.0)


def _count(survey: Survey, scale: Scale) -> int | Indices:
    """The number of values behind each sum."""
    if survey.present is not None:
        span = survey.span(scale[0])
        own = survey.present[span.start : span.stop]
        return np.maximum(own if scale[1] == "component" else own.sum(), 1)
    return survey.n * (len(survey.span(scale[0])) if scale[1] == "global" else 1)
