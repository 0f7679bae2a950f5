"""Linkage by sides of projections: where records are sorted by a projection and cut into groups, a record can only be in the group below or in the group above it.

The method and its projection are published. The line is rebuilt from the release (`attack.lines`), both files are projected onto it, block by block, and the row is taken whose groups are likeliest to
hold the person's projections (`attack.runs`):

    score(x, y) = sum over blocks of log( p(group of y | projection of x) / (share of the records in that group) )

Linkage by projections takes the line of the published columns, which lost different parts of their deviations in groups, and the nearest row on it.

One task holds the release, so it is not tried above 2^27 values.

References
----------
.. [1] J. Nin i Guerrero, Contributions to record linkage for disclosure risk assessment, PhD thesis, Universitat Autonoma de Barcelona (2008), sections 2.4.2 and 3.2: the method.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> rng = np.random.default_rng(1)
>>> x = rng.normal(size=(500, 1)) + 2 * rng.normal(size=(500, 6))
>>> data = tv.Dataset.from_arrays({"a": x})
>>> release = tv.Projected(k=5).protect(data)
>>> tv.attack.projected(data, release).rate < tv.attack.projection_sides(data, release).rate
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tsveil.attack.base import Attack, NotMeasuredError, RunsOfProjections, Shape, Situation, Trace, Trial
from tsveil.attack.candidates import Found, nearest_in_pieces
from tsveil.attack.files import HasData
from tsveil.attack.joint import VALUES, both_files
from tsveil.attack.lines import Line
from tsveil.attack.links import Links
from tsveil.attack.nearest import Near, Rows
from tsveil.attack.pieces import Targets
from tsveil.attack.run import links_in_memory
from tsveil.attack.runs import Runs, likeliest
from tsveil.core.params import one_of, param
from tsveil.core.types import Array
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Task

Projection = Literal["pcp", "zscores"]


def projection_sides(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    projection: Projection = "pcp",
) -> Links:
    """Link originals to the released records whose groups along a projection are likeliest to hold theirs.

    Parameters
    ----------
    original
        What the intruder knows: the original records.
    released
        A release, or a data set protected by any tool.
    known
        The attributes that the intruder knows; all by default.
    truth
        Which released record belongs to which original one, where rows are not aligned: a mapping, a frame or CSV file with the columns original and released, or "id" for equal identifiers.
    projection
        The projection by which records were sorted before they were grouped.

    Returns
    -------
    Links
        The record that each one is linked to, and how often that is right.

    Raises
    ------
    InputError
        If the attack cannot be run on these data, with the reasons.
    ParameterError
        If a parameter is out of range.
    """
    return links_in_memory(ProjectionSides(projection=projection), original, released, known, truth)


@dataclass(frozen=True, kw_only=True)
class ProjectionSides(Attack):
    """Linkage to the released record whose groups along the rebuilt projections are likeliest to hold the known one."""

    name: ClassVar[str] = "projection_sides"
    figure: ClassVar[str] = "PSLD"
    plain: ClassVar[str] = "linkage by sides of projections"
    summary: ClassVar[str] = (
        "Share linked right by who rebuilds the projection that sorted the records, on which a record can only be in the group below or above."
    )
    reference: ClassVar[str] = "tsveil; on projections as in Nin 2008"
    of_series: ClassVar[bool | None] = None
    trace: ClassVar[type[Trace] | None] = RunsOfProjections
    usual: ClassVar[bool] = False
    by_block: ClassVar[bool] = True

    projection: Projection = param(
        "pcp",
        one_of("pcp", "zscores"),
        "what sorted the records: the first principal component, or the sum of z-scores",
    )

    @classmethod
    def looking_for(cls, trace: Any, release: Shape) -> Self:
        """As the method projects."""
        return cls() if trace is None else cls(projection=trace.projection)

    def plan(self, situation: Situation) -> list[Trial]:
        """One task, because it takes the whole release to rebuild the line."""
        files, columns = situation.files, len(situation.columns)
        if max(files.n, files.m) * columns > VALUES:
            raise NotMeasuredError(
                f"{self.plain}, which is not tried above {VALUES // columns:,} records of {columns} columns"
            )
        blocks = [list(places) for places in situation.blocks]
        targets = situation.affordable(situation.distinct * len(blocks))
        return [Trial(targets, {"first": 0, "last": len(files.original), "blocks": blocks}, tasks=1)]

    def link(self, targets: Targets, task: Task) -> Found:
        """The likeliest of all distinct rows, by the first blocks."""
        blocks = task["blocks"]
        lines = [Line.rebuilt(both_files(targets.subset([]), own)[1], self.projection) for own in blocks]

        def place(values: Array) -> Array:
            pairs = zip(lines, blocks, strict=True)
            return np.stack([line.place(np.ascontiguousarray(values[:, own])) for line, own in pairs], axis=1)

        everybody = place(both_files(targets.subset([]), range(len(targets.files.columns)))[1])
        runs = Runs.of(everybody, pooled=True)
        known = runs.sides(place(targets.values()))

        def search(some: Rows) -> Near:
            return likeliest(runs, known, replace(some, values=place(some.values)), task["counts"])

        return nearest_in_pieces(targets, len(task["counts"]), search)
