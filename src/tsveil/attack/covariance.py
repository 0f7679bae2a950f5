"""The covariance of each published block, as attacks use it: what takes it out of the values.

With the triangular factor R of the covariance S of a published block, R'R = S, the columns of x inverse(R) are uncorrelated, and column c depends on the first c columns of x alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tsveil.attack.base import Attack, Column, NotMeasuredError, Rung, Situation, centre_columns
from tsveil.core.types import Array
from tsveil.data.store import Store
from tsveil.engine.base import Result, Task
from tsveil.transform.exact import product_totals
from tsveil.transform.ordered import rows_times
from tsveil.transform.triangle import inverse, triangle

#: columns of a block: sums of products of all pairs are needed
WIDEST = 512
#: what the names begin with under which the store has what takes the covariance out of each block
KEPT = "whitening"


@dataclass(frozen=True, eq=False, kw_only=True)
class Whitening:
    """What is known of published columns: their scales, and what takes the covariance out of each block."""

    #: `released_scales` of the known columns
    scales: Sequence[Sequence[float]]
    #: the places of the known columns of each block, and what takes the covariance out of it; nothing where it is not known
    blocks: Sequence[Sequence[int]]
    whitenings: Sequence[Array]

    @classmethod
    def of(cls, store: Store, task: Task, **more: Any) -> Self:
        """What a task knows by `keep_whitenings`; `more` is what a class of its own has besides."""
        kept = [store.get(f"{KEPT}-{number}", whole=True) for number in range(len(task["blocks"]))]
        # Columns that are not known in this run come after those that are.
        known = [each[: len(own), : len(own)] for own, each in zip(task["blocks"], kept, strict=True)]
        return cls(scales=task["scales"], blocks=task["blocks"], whitenings=known, **more)

    def whiten(self, table: Array) -> Array:
        """Values freed of the covariance of their block: squares of the first columns add up to the squared Mahalanobis distance from the mean."""
        unit = centre_columns(table, self.scales)
        for own, whitening in zip(self.blocks, self.whitenings, strict=True):
            unit[:, own] = rows_times(unit[:, own], whitening)
        return unit


@dataclass(frozen=True, kw_only=True)
class ByCovariance(Attack):
    """Base of the attacks on single persons that free values of the covariance of each published block."""

    rung: ClassVar[Rung] = Rung.PERSON
    of_series: ClassVar[bool | None] = None

    def of_column(self, column: Column) -> Result:
        """Its scale in the release."""
        return {"scale": column.released_scale}


def keep_whitenings(situation: Situation, blocks: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Keep what takes the covariance out of some blocks, unless an attack did so before; gives what `Whitening.of` finds in a task."""
    store, places = situation.store, {column: at for at, column in enumerate(situation.columns)}
    for number in range(len(blocks)):
        if not store.has(f"{KEPT}-{number}"):
            covariance = product_totals(situation.products[number]) / max(situation.files.m - 1, 1)
            store.put(f"{KEPT}-{number}", inverse(triangle(covariance)))
    known = [[places[column] for column in columns if column in places] for columns in blocks]
    return {"blocks": known, "scales": situation.from_columns("scale")}


def too_wide(blocks: Iterable[Sized]) -> bool:
    """Whether a block has too many columns."""
    return max(map(len, blocks)) > WIDEST


def refuse_wide(words: str, blocks: Iterable[Sized]) -> None:
    """Say that an attack is not tried if a block has too many columns."""
    if too_wide(blocks):
        raise NotMeasuredError(f"{words}, which is not tried on blocks of more than {WIDEST} columns")
