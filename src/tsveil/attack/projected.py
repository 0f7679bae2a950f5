"""Projected record linkage (Pro-RL): nearest in the space of projections, one number per block of attributes.

Microaggregation of a block moves records along all its attributes, but its projection onto one line much less, above all if the
groups were formed by that projection. So every block of both files is projected,

    pcp       sum_j a_j z_j, a the loadings of the first principal component
    zscores   sum_j z_j

with the means, deviations and loadings of the *released* file, and each original record is linked to the released one
whose projections are nearest (Euclidean). `projection="best"` takes the one of the two that gives more right links:
the intruder knows which projection a method used, or tries both.

References
----------
.. [1] J. Nin, J. Herranz, V. Torra, On the disclosure risk of multivariate microaggregation, Data and Knowledge
   Engineering 67 (2008) 399-412, Algorithm 5 of the thesis of J. Nin (UAB 2008).

Examples
--------
>>> import numpy as np, tsveil as tv
>>> x = np.random.default_rng(0).normal(size=(100, 6))
>>> data = tv.Dataset.from_arrays({"a": x[:, :3], "b": x[:, 3:]})
>>> from tsveil.protect.projected import Projected
>>> release = Projected(k=5, projection="zscores").protect(data)
>>> tv.attack.distance(data, release)
Links: distance linkage, 6 attributes known: 30.5 of 100 records re-identified (30.5 %)
>>> tv.attack.projected(data, release)
Links: zscores projection linkage, 2 blocks known: 75.5 of 100 records re-identified (75.5 %)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from tsveil._types import Array, Indices
from tsveil.attack._columns import nearest
from tsveil.attack._files import Files, HasData, Ties, files
from tsveil.attack.distance import checked_counts, nearest_by_columns
from tsveil.attack.links import Links
from tsveil.attack.pieces import Targets
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.engine.base import Task
from tsveil.errors import ParameterError
from tsveil.transform.exact import product_totals, products
from tsveil.transform.normalise import Ruler, ruler_of
from tsveil.transform.projection import loadings_of, weighted_sum

Projection = Literal["best", "pcp", "zscores"]


def projected(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    truth: Truth = None,
    projection: Projection = "best",
    ties: Ties = "expected",
) -> Links:
    """Link originals to the released records whose projections are nearest.

    `known` names blocks or columns (all by default); of a block of which some columns are known only these are projected.
    """
    pair = files(original, released, known, truth)
    return projected_rounds(original, pair, None, projection, ties)[-1]


def projected_prefixes(
    original: Dataset,
    released: Dataset | HasData,
    *,
    known: Sequence[str] | None = None,
    counts: Sequence[int] | None = None,
    truth: Truth = None,
    projection: Projection = "best",
    ties: Ties = "expected",
) -> list[Links]:
    """The linkage with the first 1, 2, ..., all blocks of the known attributes (or the given numbers of blocks)."""
    return projected_rounds(original, files(original, released, known, truth), counts, projection, ties)


def projected_rounds(
    original: Dataset, pair: Files, counts: Sequence[int] | None, projection: Projection, ties: Ties
) -> list[Links]:
    """The rounds with some numbers of blocks; the better of the projections over all rounds together."""
    for name, value, allowed in (("projection", projection, get_args(Projection)), ("ties", ties, get_args(Ties))):
        if value not in allowed:
            raise ParameterError(
                f"The {name!r} parameter of the projected attack must be one of {', '.join(map(repr, allowed))}. Got {value!r}."
            )
    blocks = _blocks(original, pair.names)
    wanted = checked_counts(counts, len(blocks))
    rulers = [scale_of_column(column) for column in pair.b.T]
    digits = [products(centred(pair.b, places, rulers)) for places in blocks]
    tried = []
    for how in ("pcp", "zscores") if projection == "best" else (projection,):
        directions = [
            Direction(places, [rulers[at] for at in places], weights_of(how, sums, [rulers[at] for at in places]))
            for places, sums in zip(blocks, digits, strict=True)
        ]
        a, b = (projections(table, directions) for table in (pair.a, pair.b))
        rounds = nearest(pair, a, b, np.ones(len(blocks)), "euclidean", ties, wanted)
        tried.append(
            [
                replace(
                    links,
                    attack=f"{how} projection linkage, {count} block{'s' * (count != 1)} known",
                    facts={"projection": how},
                )
                for links, count in zip(rounds, wanted, strict=True)
            ]
        )
    return max(tried, key=lambda rounds: sum(links.correct for links in rounds))


def _blocks(data: Dataset, names: Sequence[str]) -> list[list[int]]:
    """For each block with known columns the places of these, in the order in which the blocks become known."""
    home = {column: block.name for block in data.blocks for column in block.columns}
    blocks: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        blocks.setdefault(home[name], []).append(place)
    return list(blocks.values())


# -- projections ------------------------------------------------------------------------------------------------------

#: lowest value and width of a released column, and mean and deviation of what lies from 0 to 1 then
Scale = tuple[float, float, float, float]


@dataclass(frozen=True)
class Direction:
    """How the columns of a block become one number: their places, scales and weights."""

    places: Sequence[int]
    scales: Sequence[Scale]
    weights: Sequence[float]


def scale_of_column(y: Array) -> Scale:
    """The scale of a released column."""
    ruler = ruler_of(np.ascontiguousarray(y)[:, None], "component")
    low, width, mean, deviation = (
        float(np.ravel(each)[0]) for each in (ruler.low, ruler.width, ruler.mean, ruler.deviation)
    )
    return low, width, mean, deviation


def centred(table: Array, places: Sequence[int], scales: Sequence[Scale]) -> Array:
    """Some columns of released records, each from -1 to 1 with the mean zero."""
    low, width, mean = np.array([scales[at][:3] for at in places]).T
    return Ruler(low, width, mean).measure(table[:, places])


def weights_of(how: Literal["pcp", "zscores"], digits: Indices, scales: Sequence[Scale]) -> list[float]:
    """The weights of a block's columns, from the sums of products of its centred columns (see `transform.exact.products`)."""
    if how == "zscores":
        return [1.0] * len(scales)
    deviations = np.array([scale[3] for scale in scales])
    loadings: list[float] = loadings_of(product_totals(digits) / np.outer(deviations, deviations)).tolist()
    return loadings


def projections(table: Array, directions: Sequence[Direction]) -> Array:
    """The projection of each block, a column each."""
    found = []
    for direction in directions:
        low, width, mean, deviation = np.array(direction.scales).T
        z = Ruler(low, width, mean, deviation).measure(table[:, direction.places])
        found.append(weighted_sum(z, np.array(direction.weights)))
    return np.ascontiguousarray(np.stack(found, axis=1))


def link_by_projection(targets: Targets, task: Task) -> Array:
    """The chances that some targets of files in pieces are linked right, with the first 1, 2, ... blocks known."""
    directions = [Direction(*each) for each in task["directions"]]
    known = projections(targets.values(), directions)
    return nearest_by_columns(
        targets, known, lambda values: projections(values, directions), np.ones(len(directions)), task
    )
