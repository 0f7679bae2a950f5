"""What all microaggregation methods for whole blocks have in common: the space they group in, and what replaces the values.

A method says how records are grouped (`group`); this class brings the records into the space where the distance is
Euclidean, calls it for each block or for all blocks together, and replaces every value by its group's mean or median.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil.attack.base import OrderOfColumns, ProjectionsOfBlocks, Shape, Traces
from tsveil.core import progress
from tsveil.core.errors import InputError
from tsveil.core.params import at_least, one_of, param
from tsveil.core.registry import DISTANCES
from tsveil.core.technique import Technique
from tsveil.core.types import Array, Indices, Mask
from tsveil.distance.base import USUAL, embedding_distance
from tsveil.guarantee.base import Promise
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.protect.base import Described, Part, Protected, ValueMethod, check_k, sizes_of, whole_records
from tsveil.protect.mdav_masked import published_rows, sparse_records
from tsveil.protect.partition import Unit
from tsveil.protect.representative import Representative, represent
from tsveil.protect.survey import Scale, Survey
from tsveil.transform.scale import lift

#: squares of larger values leave the range of float64
LARGEST = 1e150
#: the name of the unit of whole records
TOGETHER = "all blocks together"


@dataclass(frozen=True, kw_only=True)
class Microaggregation(ValueMethod):
    """Groups of at least k similar records, each value replaced by its group's mean or median."""

    techniques: ClassVar[tuple[Technique, ...]] = (Technique.MICROAGGREGATION,)
    representatives: ClassVar[bool] = True

    k: int = param(5, at_least(2), "smallest group: every published row is shared by at least k records")
    distance: str = param(
        USUAL,
        embedding_distance,
        "what makes series similar: their values (euclidean) or their shape (sts)",
    )
    grouping: Literal["per-block", "joint"] = param(
        "joint",
        one_of("per-block", "joint"),
        "protect whole records together, or each block by itself: records that are alike in each block are unique in all of them",
    )
    representative: Representative = param("mean", one_of("mean", "median"), "what replaces the values of a group")
    scale: Literal["auto", "standardise", "none"] = param(
        "auto",
        one_of("auto", "standardise", "none"),
        "standardise columns before grouping; auto: attributes yes, series no, or as a whole if grouped with other blocks",
    )

    @property
    def means(self) -> bool:
        """Unless medians are published."""
        return self.representative == "mean"

    @abstractmethod
    def group(self, space: Array, part: Part, counter: Indices) -> tuple[Indices, dict[str, Any]]:
        """The group of each record, numbered from 0, and facts for the report; `counter` is raised to the records grouped."""

    def counting_unit(self) -> Literal["persons", "share"]:
        """What its groups have k of where persons are declared."""
        return "share"

    def guarantee(self, data: Described) -> Promise:
        """k-anonymity of blocks, or of whole records when they were grouped together."""
        return KAnonymity(
            self.k,
            scope="record" if whole_records(self.grouping, data) else "block",
            counts=self.counting_unit() if data.person else "records",
            blocks=len(data.blocks),
        )

    def traces(self, release: Shape) -> Traces:
        """A single column keeps its order, and attributes their projections; of series nothing stays that linkage by values does not find."""
        if release.series:
            return ()
        return (OrderOfColumns(), ProjectionsOfBlocks()) if release.single else (ProjectionsOfBlocks(),)

    def check(self, survey: Survey) -> None:
        """There must be k records, series as the distance needs them, and squares must be finite."""
        if survey.persons is None:
            check_k(self._label(), self.k, survey.n)
        else:
            check_k(self._label(), self.k, survey.persons, "persons")
        kind = DISTANCES[self.distance]
        short = [b.name for b in survey.blocks if kind.fewest and not (b.is_series and len(b) >= kind.fewest)]
        if short:
            raise InputError(
                f"distance={self.distance!r} {kind.needs}, but {', '.join(map(repr, short))} "
                f"is not such a series\n  options: distance={USUAL!r}, or leave that block out"
            )
        if survey.largest > LARGEST:
            raise InputError(
                f"values beyond {LARGEST:g} cannot be compared by squared distances\n  options: rescale the data first"
            )

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """Each block, or whole records."""
        if whole_records(self.grouping, survey):
            return (Unit(TOGETHER, TOGETHER, tuple(range(survey.width)), self.part_size(survey.n, survey.width)),)
        return tuple(
            Unit(b.name, b.name, tuple(survey.span(b.name)), self.part_size(survey.n, len(b))) for b in survey.blocks
        )

    def part_size(self, n: int, columns: int) -> int | None:
        """About how many records a part has; None: all of them."""
        return None

    def least(self, unit: Unit) -> int:
        """A part holds at least one group."""
        return self.k

    def scales(self, survey: Survey) -> tuple[Scale, ...]:
        """Attributes of different units are standardised; points of one series share their unit.

        Blocks that are grouped together are made comparable: each series by its one mean and sd, attributes column by column.
        """
        if self.scale == "none":
            return ()
        if self.scale == "standardise":
            return tuple((b.name, "component") for b in survey.blocks)
        together = whole_records(self.grouping, survey)
        return tuple(
            (b.name, "global" if b.is_series else "component") for b in survey.blocks if together or not b.is_series
        )

    def space(self, values: Array, unit: Unit, survey: Survey) -> Array:
        """The space in which records are compared: on the scale of the whole, where the distance is Euclidean."""
        scales, distance = dict(self.scales(survey)), DISTANCES.make(self.distance)
        spaces, at = [], 0
        for block in survey.blocks:
            if survey.span(block.name).start not in unit.columns:
                continue
            own = values[:, at : at + len(block)]
            at += len(block)
            if block.name in scales:
                own = survey.scale(own, block.name, scales[block.name])
            spaces.append(distance.embedding(own, block.times))
        return np.ascontiguousarray(np.hstack(spaces) if len(spaces) > 1 else spaces[0])

    def protect_part(self, part: Part) -> Protected:
        """Group the records, and replace values by those of their group."""
        space = np.ascontiguousarray(lift(self.space(part.values, part.unit, part.survey)))
        with progress.step(f"Grouping {part.unit.name}", total=len(space)) as counter:
            if part.survey.gaps:
                return self.protect_with_gaps(space, part, counter)
            groups, facts = self.group(space, part, counter)
        kept = np.flatnonzero(groups >= 0)
        values = np.full_like(part.values, np.nan)
        if len(kept):
            values[kept] = represent(part.values[kept], groups[kept], self.representative)
        return Protected(
            values=values,
            groups=groups,
            warnings=self.warnings(np.bincount(groups[kept])),
            facts={**sizes_of(groups), **facts},
        )

    def protect_with_gaps(self, space: Array, part: Part, counter: Indices) -> Protected:
        """The same for records with gaps; those with too few points, and groups that have no value to publish, are suppressed."""
        used = np.flatnonzero(self.usable(part.values, part.unit, part.survey))
        if part.unit.size is None and len(np.unique(part.persons[used])) < self.k:
            what = "records" if part.survey.persons is None else "persons"
            raise InputError(
                f"only {len(np.unique(part.persons[used]))} {what} have at least a third of their points, and k = {self.k}\n"
                "  options: fewer points (a shorter series), a smaller k, or missing='interpolate'"
            )
        groups = np.full(len(space), -1, dtype=np.int64)
        some = replace(part, values=part.values[used], persons=part.persons[used])
        groups[used], facts = self.group(np.ascontiguousarray(space[used]), some, counter)
        shown = published_rows(part.values, part.persons, groups, self.k, median=self.representative == "median")
        return Protected(shown.values, shown.groups, facts={**sizes_of(shown.groups), **facts, **shown.facts})

    def usable(self, values: Array, unit: Unit, survey: Survey) -> Mask:
        """With gaps: the records with at least a third of their points."""
        return ~sparse_records(values) if survey.gaps else super().usable(values, unit, survey)

    def warnings(self, sizes: Indices) -> tuple[str, ...]:
        """What the owner should know of groups of these sizes."""
        return ()
