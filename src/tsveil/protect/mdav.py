"""MDAV microaggregation: groups of at least k similar records, every value replaced by its group's mean.

While at least 3k records remain: c is the mean of the remaining records, r the record farthest from c; r and its k-1 nearest
records form a group; s is the record farthest from r among the rest; s and its k-1 nearest form another. If at least 2k
remain, one more group forms around the farthest from the new mean; the rest is the last group. Sizes run from k to 2k-1.

The distance decides what the groups have in common:

    Euclidean   d(x, v)^2 = sum_t (x_t - v_t)^2                                                 similar values
    STS         d(x, v)^2 = sum_t ((x_{t+1}-x_t)/(s_{t+1}-s_t) - (v_{t+1}-v_t)/(s_{t+1}-s_t))^2     similar shapes

with the time stamps s. STS works on slopes, and the mean commutes with taking slopes; so one algorithm serves both, on
values or on slopes, and the published values are means of the raw values in either case.

The printed loop of [2] and [3] (`variant="paper"`) goes on while more than k records remain; its last group may then hold
fewer than k records. It is offered to reproduce published figures, warns, and its releases fail verification when that happens.

Guarantee: k-anonymity of each block by itself, or of whole records with `grouping="joint"`.

References
----------
.. [1] J. Domingo-Ferrer, V. Torra, Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data Mining
   and Knowledge Discovery 11 (2005) 195-212.
.. [2] J. Nin, V. Torra, Extending microaggregation procedures for time series protection, LNAI 4259 (2006) 899-908.
.. [3] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009) 1663-1677.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> curves = np.array([[1.0, 2.0], [1.2, 2.2], [5.0, 4.0], [5.0, 4.4]])
>>> release = tv.MDAV(k=2).protect(tv.Dataset.from_arrays({"load": curves}))
>>> release.data.block("load")
array([[1.1, 2.1],
       [1.1, 2.1],
       [5. , 4.2],
       [5. , 4.2]])
>>> print(release.verify())
HOLDS: 2-anonymity: in each block, every published row of values is shared by at least 2 records.
  the smallest group has 2 records
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.data.dataset import Block, Dataset
from tsveil.errors import InputError
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.params import at_least, one_of, param
from tsveil.protect.base import Method, Protected, check_k
from tsveil.protect.representative import Representative, represent
from tsveil.transform.normalise import normalised
from tsveil.transform.statistics import slopes

#: squares of larger values leave the range of float64
LARGEST = 1e150


@dataclass(frozen=True, kw_only=True)
class MDAV(Method):
    """Groups of at least k similar records, each value replaced by its group's mean or median."""

    name: ClassVar[str] = "mdav"
    summary: ClassVar[str] = (
        "groups of at least k similar records (by value or by shape), each value replaced by the group's mean"
    )
    reference: ClassVar[str] = "Domingo-Ferrer and Torra 2005; for time series Nin and Torra 2006, 2009"

    k: int = param(5, at_least(2), "smallest group: every published row is shared by at least k records")
    distance: Literal["euclidean", "sts"] = param(
        "euclidean",
        one_of("euclidean", "sts"),
        "what makes series similar: their values (euclidean) or their shape (sts)",
    )
    variant: Literal["standard", "paper"] = param(
        "standard", one_of("standard", "paper"), "paper follows the printed loop, whose last group may be too small"
    )
    grouping: Literal["per-block", "joint"] = param(
        "per-block", one_of("per-block", "joint"), "protect each block by itself, or whole records together"
    )
    representative: Representative = param("mean", one_of("mean", "median"), "what replaces the values of a group")
    scale: Literal["auto", "standardise", "none"] = param(
        "auto",
        one_of("auto", "standardise", "none"),
        "standardise columns before grouping; auto: attributes yes, series no",
    )

    def guarantee(self, data: Dataset) -> KAnonymity:
        """k-anonymity of blocks, or of whole records when they were grouped together."""
        return KAnonymity(self.k, scope="record" if self.grouping == "joint" else "block", blocks=len(data.blocks))

    def check(self, data: Dataset) -> None:
        """There must be k records, STS needs series of two points, and squares must be finite."""
        check_k("MDAV", self.k, data.n)
        if self.distance == "sts" and (short := [b.name for b in data.blocks if not b.is_series or len(b) < 2]):
            raise InputError(
                f"distance='sts' compares the slopes of time series and needs at least two points, but {', '.join(map(repr, short))} "
                "is not such a series\n  options: distance='euclidean', or leave that block out"
            )
        if float(np.abs(data.values).max()) > LARGEST:
            raise InputError(
                f"values beyond {LARGEST:g} cannot be compared by squared distances\n  options: rescale the data first"
            )

    def protect_blocks(self, data: Dataset, rng: np.random.Generator) -> dict[str, Protected]:
        """Group every block, or all of them at once, and replace values by those of their group."""
        if self.grouping == "joint":
            # Blocks are made comparable first: each series by its one mean and sd, attributes column by column.
            spaces = [self._space(_comparable(data.block(b.name), b), b) for b in data.blocks]
            groups = self._groups(np.hstack(spaces), "all blocks together")
            return {b.name: self._protected(data.block(b.name), groups) for b in data.blocks}
        parts = {}
        for block in data.blocks:
            values = data.block(block.name)
            parts[block.name] = self._protected(
                values, self._groups(self._space(self._scaled(values, block), block), block.name)
            )
        return parts

    def _scaled(self, values: Array, block: Block) -> Array:
        """Attributes of different units are standardised for grouping; points of one series share their unit."""
        wanted = self.scale == "standardise" or (self.scale == "auto" and not block.is_series)
        return normalised(values, "component") if wanted else values

    def _space(self, values: Array, block: Block) -> Array:
        """The space in which records are compared."""
        if self.distance == "sts" and block.times is not None:
            return slopes(values, block.times)
        return values

    def _groups(self, space: Array, what: str) -> Indices:
        from tsveil.protect._mdav_exact import exact_groups

        with progress.step(f"Grouping {what}", total=len(space)) as counter:
            return exact_groups(np.ascontiguousarray(space), self.k, variant=self.variant, counter=counter)

    def _protected(self, values: Array, groups: Indices) -> Protected:
        sizes = np.bincount(groups)
        warnings: tuple[str, ...] = ()
        if sizes.min() < self.k:
            last = int(sizes.argmin())
            warnings = (
                f"the printed loop (variant='paper') left group {last} with {sizes[last]} of the {self.k} records that k-anonymity needs",
            )
        return Protected(
            values=represent(values, groups, self.representative),
            groups=groups,
            warnings=warnings,
            facts={"groups": len(sizes), "smallest group": int(sizes.min()), "largest group": int(sizes.max())},
        )


def _comparable(values: Array, block: Block) -> Array:
    return normalised(values, "global" if block.is_series else "component")
