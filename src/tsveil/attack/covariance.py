"""The covariance of each published block, as attacks use it: what takes it out of the values.

With the triangular factor R of the covariance S of a published block, R'R = S, the columns of x inverse(R) are uncorrelated, and column c depends on the first c columns of x alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tsveil.attack.base import Situation
from tsveil.core.types import Array, Indices
from tsveil.data.store import Store
from tsveil.transform.exact import product_totals
from tsveil.transform.triangle import inverse, triangle

#: columns of a block: sums of products of all pairs are needed
WIDEST = 512


def whitening_of(digits: Indices, records: int) -> Array:
    """What takes the covariance out of a block, from the sums of products of its published columns."""
    return inverse(triangle(product_totals(digits) / max(records - 1, 1)))


def keep_whitenings(situation: Situation) -> list[list[int]]:
    """Keep what takes the covariance out of each block; gives the places of its columns among those that are known."""
    places = {column: at for at, column in enumerate(situation.columns)}
    blocks = []
    for number, (columns, digits) in enumerate(zip(situation.blocks, situation.products, strict=True)):
        # Columns that are not known in this run come after those that are.
        own = [places[column] for column in columns if column in places]
        whitening = whitening_of(digits, situation.files.m)[: len(own), : len(own)]
        situation.store.put(f"whitening-{number}", np.ascontiguousarray(whitening))
        blocks.append(own)
    return blocks


def kept_whitenings(store: Store, blocks: Sequence[Sequence[int]]) -> list[Array]:
    """What `keep_whitenings` kept for these blocks."""
    return [store.get(f"whitening-{number}", whole=True) for number in range(len(blocks))]
