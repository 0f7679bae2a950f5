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
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from tsveil._types import Array
from tsveil.attack._columns import nearest
from tsveil.attack._files import Files, HasData, Ties, files
from tsveil.attack.distance import checked_counts
from tsveil.attack.links import Links
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.errors import ParameterError
from tsveil.transform.projection import project

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
    # Sorted by value, so that means and loadings do not depend on the order of the file.
    like = pair.b[np.lexsort(pair.b.T[::-1])]
    tried = []
    for how in ("pcp", "zscores") if projection == "best" else (projection,):
        a, b = (_projections(table, like, blocks, how) for table in (pair.a, pair.b))
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


def _projections(table: Array, like: Array, blocks: list[list[int]], how: Literal["pcp", "zscores"]) -> Array:
    columns = [project(table[:, places], how, like=like[:, places]) for places in blocks]
    return np.ascontiguousarray(np.stack(columns, axis=1))
