"""What all microaggregation methods for whole blocks have in common: the space they group in, and what replaces the values.

A method says how records are grouped (`group`); this class brings the records into the space where the distance is
Euclidean, calls it for each block or for all blocks together, and replaces every value by its group's mean or median.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil import progress
from tsveil._types import Array, Indices
from tsveil.data.dataset import Block, Dataset
from tsveil.errors import InputError
from tsveil.guarantee.base import Guarantee
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.params import at_least, one_of, param
from tsveil.protect.base import Method, Protected, check_k
from tsveil.protect.representative import Representative, represent
from tsveil.technique import Technique
from tsveil.transform.normalise import normalised
from tsveil.transform.scale import lifted
from tsveil.transform.statistics import slopes

#: squares of larger values leave the range of float64
LARGEST = 1e150


@dataclass(frozen=True, kw_only=True)
class Microaggregation(Method):
    """Groups of at least k similar records, each value replaced by its group's mean or median."""

    techniques: ClassVar[tuple[Technique, ...]] = (Technique.MICROAGGREGATION,)

    k: int = param(5, at_least(2), "smallest group: every published row is shared by at least k records")
    distance: Literal["euclidean", "sts"] = param(
        "euclidean",
        one_of("euclidean", "sts"),
        "what makes series similar: their values (euclidean) or their shape (sts)",
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

    @abstractmethod
    def group(
        self, space: Array, data: Dataset, counter: Indices, rng: np.random.Generator
    ) -> tuple[Indices, dict[str, Any]]:
        """The group of each record, numbered from 0, and facts for the report; `counter` is raised to the records grouped."""

    def guarantee(self, data: Dataset) -> Guarantee:
        """k-anonymity of blocks, or of whole records when they were grouped together."""
        return KAnonymity(self.k, scope="record" if self.grouping == "joint" else "block", blocks=len(data.blocks))

    def check(self, data: Dataset) -> None:
        """There must be k records, STS needs series of two points, and squares must be finite."""
        check_k(self._label(), self.k, data.n)
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
            groups, facts = self._grouped(np.hstack(spaces), data, rng, "all blocks together")
            return {b.name: self._protected(data.block(b.name), groups, facts) for b in data.blocks}
        parts = {}
        for block in data.blocks:
            values = data.block(block.name)
            space = self._space(self._scaled(values, block), block)
            parts[block.name] = self._protected(values, *self._grouped(space, data, rng, block.name))
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

    def _grouped(
        self, space: Array, data: Dataset, rng: np.random.Generator, what: str
    ) -> tuple[Indices, dict[str, Any]]:
        with progress.step(f"Grouping {what}", total=len(space)) as counter:
            return self.group(np.ascontiguousarray(lifted(space)), data, counter, rng)

    def _protected(self, values: Array, groups: Indices, facts: dict[str, Any]) -> Protected:
        sizes = np.bincount(groups)
        return Protected(
            values=represent(values, groups, self.representative),
            groups=groups,
            warnings=self.warnings(sizes),
            facts={
                "groups": len(sizes),
                "smallest group": int(sizes.min()),
                "largest group": int(sizes.max()),
                **facts,
            },
        )

    def warnings(self, sizes: Indices) -> tuple[str, ...]:
        """What the owner should know of groups of these sizes."""
        return ()


def _comparable(values: Array, block: Block) -> Array:
    return normalised(values, "global" if block.is_series else "component")
