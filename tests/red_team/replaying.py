"""The attack of who has the originals of everybody: run the method again, with another seed and another order of the records."""

from __future__ import annotations

import numpy as np
import polars as pl

import tsveil as tv
from red_team.common import Knowledge, Published
from red_team.noise import squared
from tsveil.core.registry import METHODS
from tsveil.core.types import Array, Indices


def blocks_of(values: Array, published: Published) -> tv.Dataset:
    """The known values as a data set with the blocks of the published one."""
    names = [f"c{at}" for at in range(values.shape[1])]
    frame = pl.DataFrame(values, schema=names)
    blocks = {f"b{at}": [names[column] for column in block] for at, (block, _) in enumerate(published.blocks)}
    times = {name: list(range(len(blocks[name]))) if series else None for name, (_, series) in zip(blocks, published.blocks, strict=True)}  # fmt: skip
    return tv.Dataset.from_frame(frame, blocks=blocks, times=times)


def run_again(published: Published, known: Knowledge) -> Array:
    """The method is run on the known originals, in another order and with another seed, and a person's row is the published one nearest to what came out for that person.

    Where groups depend on nothing drawn at random that is the person's class itself.
    """
    order: Indices = np.random.default_rng(4242).permutation(len(known.values))
    method = METHODS.make(published.method, dict(published.settings))
    again = method.protect(blocks_of(known.values[order], published), seed=4242)
    if not len(published.lo):
        made = np.empty_like(known.values)
        made[order] = again.data.values
        return -squared(made, published.values)
    table, found = again.table, np.zeros((len(known.values), len(published.lo)))
    for place, row in zip(order.tolist(), again.own.tolist(), strict=True):
        if row < 0:
            continue
        found[place] = -((table.lo[row] - published.lo) ** 2 + (table.hi[row] - published.hi) ** 2).sum(axis=1)
        if published.words is not None and published.levels is not None:
            alike = np.array([word == table.words[row] for word in published.words]) & (
                published.levels == table.levels[row]
            )
            found[place] -= np.where(alike, 0.0, 1e9)
    return found
