"""What all microaggregation methods for whole blocks have in common: the space they group in, and what replaces the values.

A method says how records are grouped (`group`); this class brings the records into the space where the distance is
Euclidean, calls it for each block or for all blocks together, and replaces every value by its group's mean or median.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tsveil.attack.base import OrderOfColumns, ProjectionsOfBlocks, Shape, Traces
from tsveil.core import progress
from tsveil.core.errors import InputError, ParameterError, some
from tsveil.core.params import Check, at_least, one_of, optional, param
from tsveil.core.registry import DISTANCES
from tsveil.core.technique import Technique
from tsveil.core.types import Array, Indices, Mask
from tsveil.data.dataset import KINDS, Block
from tsveil.distance.base import USUAL, embedding_distance
from tsveil.guarantee.base import Promise
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.protect.base import (
    EXACT_VALUES,
    PART,
    Described,
    Part,
    Protected,
    ValueMethod,
    check_k,
    sizes_of,
    whole_records,
)
from tsveil.protect.continuing import continued_groups
from tsveil.protect.mdav_masked import published_rows, sparse_records
from tsveil.protect.mixed import Mixed
from tsveil.protect.partition import Unit
from tsveil.protect.representative import WithLabels, represent
from tsveil.protect.survey import Scale, Survey
from tsveil.transform.mixed import Feature, Labels, Spread, root_of_labels, root_of_numbers
from tsveil.transform.scale import lift

#: squares of larger values leave the range of float64
LARGEST = 1e150
#: the name of the unit of whole records
TOGETHER = "all blocks together"
#: records that hold labels that are grouped as one part
WHOLE = 50_000


def weights_of(text: str | None) -> dict[str, float]:
    """The weights that a text gives to blocks and columns.

    Examples
    --------
    >>> weights_of("load=2, dwelling=0.5")
    {'load': 2.0, 'dwelling': 0.5}
    """
    pairs = (pair.rpartition("=") for pair in (text or "").split(",") if pair.strip())
    return {name.strip(): float(weight) for name, _, weight in pairs}


def _are_weights(value: object) -> bool:
    """Whether a text gives weights from 0 on, one of them above it."""
    if not isinstance(value, str):
        return False
    try:
        found = weights_of(value)
    except ValueError:
        return False
    return bool(found) and "" not in found and all(0 <= weight < math.inf for weight in found.values())


def own_blocks(unit: Unit, survey: Survey) -> list[Block]:
    """The blocks of a unit."""
    return [block for block in survey.blocks if survey.span(block.name).start in unit.columns]


@dataclass(frozen=True, kw_only=True)
class Microaggregation(ValueMethod):
    """Groups of at least k similar records, each value replaced by its group's mean or median."""

    techniques: ClassVar[tuple[Technique, ...]] = (Technique.MICROAGGREGATION,)
    takes: ClassVar[frozenset[str]] = frozenset(KINDS)
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
    representative: WithLabels = param(
        "mean",
        one_of("mean", "median", "generalise"),
        "what replaces the values of a group; of labels the commonest, the middle or the nearest, or with generalise the lowest common ancestor",
    )
    scale: Literal["auto", "standardise", "none", "gower"] = param(
        "auto",
        one_of("auto", "standardise", "none", "gower"),
        "standardise columns before grouping; auto: attributes yes, series no, or as a whole if grouped with other blocks; gower: by their ranges",
    )
    weights: str | None = param(
        None, optional(Check("a text such as 'load=2, dwelling=0.5'", _are_weights, str)),
        "how much series and columns count when records are compared, by name, of blocks for all their columns; 1 unless given",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.weights is not None or self.scale == "gower") and self.distance != USUAL:
            raise ParameterError(
                f"The 'weights' parameter and scale='gower' of {self._label()} are for distance={USUAL!r}. Got {self.distance!r}."
            )
        if self.weights is not None and self.scale not in ("auto", "gower"):
            raise ParameterError(
                f"The 'scale' parameter of {self._label()} must be 'auto' or 'gower' with weights. Got {self.scale!r}."
            )

    @property
    def means(self) -> bool:
        """Unless medians are published."""
        return self.representative != "median"

    def group_mixed(self, mixed: Mixed, part: Part, counter: Indices) -> tuple[Indices, dict[str, Any]]:
        """The same for records that hold labels, or whose columns have weights."""
        raise InputError(f"{self._label()} does not group records that hold labels")

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
        labels = [block.name for block in survey.blocks if block.categories is not None]
        if labels and self.scale in ("standardise", "none"):
            raise ParameterError(
                f"The 'scale' parameter of {self._label()} must be 'auto' or 'gower' where columns hold labels ({some(labels)}). Got {self.scale!r}."
            )
        if self.representative == "generalise" and not labels:
            raise ParameterError(
                f"The 'representative' parameter of {self._label()} can be 'generalise' where columns hold labels only, and these hold numbers."
            )
        known = {name for block in survey.blocks for name in (block.name, *block.columns)}
        if strange := [name for name in weights_of(self.weights) if name not in known]:
            raise ParameterError(
                f"The 'weights' parameter of {self._label()} names {some(strange)}, which is neither a block nor a column.\n"
                f"  blocks: {some([block.name for block in survey.blocks])}"
            )
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
            return (Unit(TOGETHER, TOGETHER, tuple(range(survey.width)), self._part_size(survey, survey.blocks)),)
        return tuple(
            Unit(b.name, b.name, tuple(survey.span(b.name)), self._part_size(survey, [b])) for b in survey.blocks
        )

    def _part_size(self, survey: Survey, blocks: Sequence[Block]) -> int | None:
        width = sum(map(len, blocks))
        return self.mixed_part_size(survey.n, width) if self._is_mixed(blocks) else self.part_size(survey.n, width)

    def _is_mixed(self, blocks: Sequence[Block]) -> bool:
        """Whether records of these blocks are compared by mixed distances."""
        return self.scale == "gower" or self.weights is not None or any(b.categories is not None for b in blocks)

    def mixed_part_size(self, n: int, columns: int) -> int | None:
        """The same where all records of a part are compared with each other by mixed distances."""
        return None if n <= WHOLE and n * columns <= EXACT_VALUES else max(PART, 2 * self.k)

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
        if self.scale in ("none", "gower"):
            return ()
        together = whole_records(self.grouping, survey)
        if self._is_mixed(survey.blocks) and (self.weights is not None or together or len(survey.blocks) == 1):
            return tuple((b.name, "component") for b in survey.blocks if b.categories is None)
        if self.scale == "standardise":
            return tuple((b.name, "component") for b in survey.blocks)
        return tuple(
            (b.name, "global" if b.is_series else "component")
            for b in survey.blocks
            if b.categories is None and (together or not b.is_series)
        )

    def space(self, values: Array, unit: Unit, survey: Survey) -> Array:
        """The space in which records are compared: on the scale of the whole, where the distance is Euclidean."""
        if self._is_mixed(own_blocks(unit, survey)):
            return self.mixed(values, unit, survey).cut_space()
        scales, distance = dict(self.scales(survey)), DISTANCES.make(self.distance)
        spaces, at = [], 0
        for block in own_blocks(unit, survey):
            own = values[:, at : at + len(block)]
            at += len(block)
            if block.name in scales:
                own = survey.scale(own, block.name, scales[block.name])
            spaces.append(distance.embedding(own, block.times))
        return np.ascontiguousarray(np.hstack(spaces) if len(spaces) > 1 else spaces[0])

    def mixed(self, values: Array, unit: Unit, survey: Survey) -> Mixed:
        """Some records of a unit in the space of mixed distances."""
        spread: Spread = "gower" if self.scale == "gower" else "pairs"
        weights, features, uses, at = weights_of(self.weights), list[Feature](), list[Indices](), 0
        for block in own_blocks(unit, survey):
            weight = weights.get(block.name, 1.0)
            span = survey.span(block.name)
            low, high = survey.low[span.start : span.stop], survey.high[span.start : span.stop]
            # A series is one feature, and so is each column of any other block.
            pieces = [range(len(block))] if block.times is not None else [range(p, p + 1) for p in range(len(block))]
            for piece in pieces:
                own, columns = slice(piece.start, piece.stop), range(at + piece.start, at + piece.stop)
                weight_of_piece = weight if block.times is not None else weights.get(block.columns[piece.start], weight)
                if block.categories is None:
                    ranges = high[own] - low[own]
                    deviations = ranges
                    if spread == "pairs":
                        ruler = survey.rulers[block.name, "component"]
                        own_width, own_deviation = np.ravel(ruler.width)[own], np.ravel(ruler.deviation)[own]
                        deviations = np.where(ranges > 0, own_width * own_deviation, 0.0) * np.sqrt(
                            (survey.n - 1) / survey.n
                        )
                    root = root_of_numbers(deviations, ranges, spread)
                    features.append(Feature(columns, root, None, weight_of_piece, low[own]))
                    continue
                categories = block.categories[piece.start]
                labels = Labels(categories.kind == "ordinal", categories.paths, categories.leaves)
                counts = [survey.uses[name] for name in block.columns[own]]
                features.append(Feature(columns, root_of_labels(labels, counts, spread), labels, weight_of_piece))
                uses += counts
            at += len(block)
        return Mixed(values, features, uses)

    def protect_part(self, part: Part) -> Protected:
        """Group the records, and replace values by those of their group."""
        if self._is_mixed(own_blocks(part.unit, part.survey)):
            return self._protect_mixed(part)
        space = np.ascontiguousarray(lift(self.space(part.values, part.unit, part.survey)))
        with progress.step(f"Grouping {part.unit.name}", total=len(space)) as counter:
            if part.survey.gaps:
                return self.protect_with_gaps(space, part, counter)
            groups, facts = self._groups(space, part, counter, lambda some, own: self.group(space[some], own, counter))
        kept = np.flatnonzero(groups >= 0)
        values = np.full_like(part.values, np.nan)
        if len(kept):
            values[kept] = represent(part.values[kept], groups[kept], "mean" if self.means else "median")
        return Protected(
            values=values,
            groups=groups,
            warnings=self.warnings(np.bincount(groups[kept])),
            facts={**sizes_of(groups), **facts},
        )

    def _groups(
        self,
        space: Array,
        part: Part,
        counter: Indices,
        group: Callable[[Indices, Part], tuple[Indices, dict[str, Any]]],
    ) -> tuple[Indices, dict[str, Any]]:
        """The groups of a part: new ones, or those of the release before, continued; `group` forms new ones of some of its records."""
        if part.earlier is None:
            return group(np.arange(len(part.values)), part)

        def make(rows: Indices) -> Indices:
            own = replace(
                part, values=part.values[rows], records=part.records[rows], persons=part.persons[rows], earlier=None
            )
            return group(rows, own)[0]

        groups = continued_groups(space, part.earlier, part.persons, self.k, make)
        counter[0] = len(groups)
        return groups, {"groups of the release before": "kept together"}

    def _protect_mixed(self, part: Part) -> Protected:
        """The same for records that hold labels, or whose columns have weights."""
        mixed = self.mixed(part.values, part.unit, part.survey)
        with progress.step(f"Grouping {part.unit.name}", total=len(part.values)) as counter:
            space = np.empty((0, 0)) if part.earlier is None else mixed.cut_space()

            def group(some: Indices, own: Part) -> tuple[Indices, dict[str, Any]]:
                return self.group_mixed(Mixed(mixed.values[some], mixed.features, mixed.uses), own, counter)

            groups, facts = self._groups(space, part, counter, group)
        kept = np.flatnonzero(groups >= 0)
        values = np.full_like(part.values, np.nan)
        if len(kept):
            own = Mixed(part.values[kept], mixed.features, mixed.uses)
            shown = own.representatives(groups[kept], generalise=self.representative == "generalise")
            values[kept] = shown[groups[kept]]
            if self.representative == "median":
                numbers = np.setdiff1d(np.arange(values.shape[1]), mixed.places)
                values[np.ix_(kept, numbers)] = represent(own.values[:, numbers], groups[kept], "median")
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
