"""How likely a value moved from one rank of its column to another, where values trade places: what several attacks weigh links by.

The intruder knows the method and its parameters, so he draws trades himself, many times, and counts who ends where. With n ranks in blocks of equal size

    ratio(a, b) = Pr[a value of block a ends in block b] / Pr[a random value is in block b]

and the logarithms of the ratios of a person's columns add up to the evidence for a row. Equal values share the mean of the ratios over all of their blocks. A move that
never came up in the draws counts as a thousandth of a random one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from tsveil.attack.base import DrawsTrades
from tsveil.core.params import Check
from tsveil.core.places import class_at, place_of
from tsveil.core.randomness import generator
from tsveil.core.types import AnyArray, Array, Indices
from tsveil.data.store import Store

#: blocks of ranks at most, ranks that trades are drawn for at most, and how many moves are counted
BLOCKS, RANKS, COUNTED = 512, 2**14, 2**19
#: fewer ranks than this are drawn as often
FEW = 256
#: columns that are weighed at most
COLUMNS = 48
#: the least ratio
NEVER = 1e-3
#: the draws of the intruder are his own: any seed will do
SEED = 1
#: what the names begin with under which tables are kept
KEPT = "moves"
#: the window of an unknown method, in percent of the records
UNKNOWN = 20.0


def even_places(columns: int) -> Indices:
    """The places of the columns that are weighed: all, or some that are evenly spread, the first one among them.

    Examples
    --------
    >>> even_places(3), len(even_places(336)), even_places(336)[:3]
    (array([0, 1, 2]), 48, array([ 0,  7, 14]))
    """
    return np.arange(0, columns, -(-columns // COLUMNS))


class Moves(NamedTuple):
    """The ratios of all pairs of blocks, in fixed point (`_kernels.moves`)."""

    logs: AnyArray
    sums: Indices

    def kinds(self, ordered: Array) -> Kinds:
        """The kinds of values of a sorted published column."""
        size, n = len(self.logs), len(ordered)
        begins = np.flatnonzero(np.diff(ordered, prepend=np.nan) != 0)
        ends = np.append(begins[1:], n)
        codes, number = np.unique(begins * size // n * size + (ends - 1) * size // n, return_inverse=True)
        return Kinds(ordered[begins], number, *np.divmod(codes, size))


class Kinds(NamedTuple):
    """The values of a published column by their blocks: equal values have all the blocks of their ranks, and values with the same blocks are of one kind."""

    #: the distinct values in order, and the kind of each
    values: Array
    number: Indices
    #: the first and the last block of each kind
    first: Indices
    last: Indices

    def of(self, values: Array) -> Indices:
        """The kinds of some values; one that is not published counts as the next higher one."""
        return self.number[np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)]


class Weights(NamedTuple):
    """The logarithms of the ratios of all kinds of values of some published columns, and what finds the kinds of values."""

    columns: Sequence[Kinds]
    #: for all columns one after the other: the tables, and where their kinds begin
    tables: AnyArray
    begins: Indices

    @classmethod
    def of(cls, store: Store, method: str | None, columns: Sequence[int], ordered: Sequence[Array]) -> Weights:
        """Those of some published columns, here in their order, in which a method drew trades; the tables are kept for other tasks."""
        from tsveil._kernels.moves import ratio_tables

        moves = moves_of(method, len(ordered[0]))
        kinds = [moves.kinds(each) for each in ordered]
        begins = np.cumsum([0, *(len(each.first) for each in kinds)])
        name = f"{KEPT}-{sha256(json.dumps([method, [int(at) for at in columns]]).encode()).hexdigest()[:32]}"
        if not store.has(name):
            first, last = (np.concatenate(each) for each in zip(*(each[-2:] for each in kinds), strict=True))
            store.put(name, ratio_tables(begins, first, last, moves.logs, moves.sums))
        return cls(kinds, store.get(name, whole=True), begins)

    def kinds(self, table: Array) -> AnyArray:
        """The kinds of the values of a table: columns by rows."""
        return np.stack([one.of(column) for one, column in zip(self.columns, table.T, strict=True)]).astype(np.int16)


def in_words(method: DrawsTrades | None) -> str | None:
    """A method that draws trades as the text that an attack has as its parameter."""
    return None if method is None else json.dumps([place_of(method), method.settings()])


def method_in_words() -> Check:
    """The text of a method that draws trades."""
    return Check("the place of a method that draws trades, and its settings", _is_method, str)


def _is_method(value: Any) -> bool:
    try:
        place, settings = json.loads(value)
    except (TypeError, ValueError):
        return False
    return isinstance(place, str) and isinstance(settings, dict)


@lru_cache(maxsize=16)
def moves_of(method: str | None, n: int) -> Moves:
    """How values move in columns of n records that a method drew trades for; within 20 percent of the ranks if it is not known.

    Examples
    --------
    >>> import tsveil as tv
    >>> moves = moves_of(in_words(tv.RankSwap(p=10)), 100)
    >>> moves.logs[50, 45] > 0 > moves.logs[50, 70]
    np.True_
    """
    from tsveil._kernels.moves import PARTS, SCALE

    ranks, size = min(n, RANKS), min(n, BLOCKS)
    draw = _drawing(method, ranks, generator(SEED))
    drawn = np.stack([draw() for _ in range(-(-COUNTED // max(ranks, FEW)))])
    block = np.arange(ranks) * size // ranks
    found = block * size + block[drawn]
    counts = np.bincount(found.ravel(), minlength=size * size).reshape(size, size)
    # Neighbouring blocks move alike, so the counts of a few are added up along the diagonal.
    reach = size // 128
    held = np.bincount(block)
    times = len(drawn) * np.outer(held, held)
    ratio = ranks * _along(counts, reach) / _along(times, reach)
    weights = np.maximum(np.rint(PARTS * (ratio + NEVER) / (1 + NEVER)), 1.0).astype(np.int64)
    sums = np.zeros((size + 1, size + 1), dtype=np.int64)
    sums[1:, 1:] = weights.cumsum(axis=0).cumsum(axis=1)
    logs = np.rint(SCALE * np.log(weights / PARTS)).astype(np.int32)
    return Moves(logs, sums)


def _drawing(method: str | None, n: int, rng: np.random.Generator) -> Callable[[], Indices]:
    """What draws trades of n ranks."""
    if method is not None:
        place, settings = json.loads(method)
        made: DrawsTrades = class_at(place).from_settings(settings)
        return lambda: made.trades(n, rng)
    from tsveil._kernels.rank_swap import DRAWS_BELOW, window_partners

    return lambda: window_partners(n, max(1, int(n * UNKNOWN / 100 + 0.5)), rng.integers(0, DRAWS_BELOW, n))


def _along(table: Indices, reach: int) -> Indices:
    """Sums of a table along its diagonals, over `reach` places either way."""
    found, n = table.copy(), len(table)
    for step in range(1, reach + 1):
        found[step:, step:] += table[: n - step, : n - step]
        found[: n - step, : n - step] += table[step:, step:]
    return found
