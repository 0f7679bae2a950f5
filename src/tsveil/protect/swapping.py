"""What all kinds of rank swapping share: values of a column trade places by their ranks, so that it stays a permutation of itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import floor
from typing import ClassVar

import numpy as np

from tsveil.core.errors import InputError
from tsveil.core.technique import Technique
from tsveil.core.types import Indices
from tsveil.protect.base import Part, Protected, ValueMethod, column_units
from tsveil.protect.partition import Unit
from tsveil.protect.survey import Survey

#: what the strongest attack does, for the report of every kind of rank swapping
CHASE = (
    "Whoever knows many persons can follow the swapped values from one record to the next (the swap chase), and with about four attributes without equal values "
    "usually finds all of them."
)


def window(n: int, p: float) -> int:
    """The number of ranks that p percent of n records are, at least one.

    Examples
    --------
    >>> window(1080, 2), window(10, 1)
    (22, 1)
    """
    return max(1, floor(n * p / 100 + 0.5))


@dataclass(frozen=True, kw_only=True)
class RankSwapping(ValueMethod):
    """Base of the kinds of rank swapping, which differ in how the partner of a rank is drawn."""

    techniques: ClassVar[tuple[Technique, ...]] = (Technique.PERMUTATION,)

    @abstractmethod
    def partners(self, n: int, part: Part) -> Indices:
        """The rank with which each of the n ranks of a part trades places; a rank that is its own partner keeps its place."""

    @abstractmethod
    def trades(self, n: int, rng: np.random.Generator) -> Indices:
        """The same for a column of n values, drawn by an intruder who knows the method: its random numbers need not be secret, and are cheap."""

    def check(self, survey: Survey) -> None:
        """A swap takes two."""
        if survey.n < 2:
            raise InputError(f"{self._label()} swaps values between records, but there is only one record")

    def units(self, survey: Survey) -> tuple[Unit, ...]:
        """Each column as one part: distances in rank have no bound."""
        return column_units(survey)

    def protect_part(self, part: Part) -> Protected:
        """Swap a column, or a range of its ranks."""
        column = part.values[:, 0]
        order = np.argsort(column, kind="stable")
        partner = self.partners(len(column), part)
        out = np.empty_like(column)
        out[order] = column[order[partner]]
        facts = {
            "values": len(column),
            "kept their place": int(np.count_nonzero(partner == np.arange(len(partner)))),
            # The same value can come back from another record: with many equal values swapping changes little.
            "same value as before": int(np.count_nonzero(out == column)),
        }
        return Protected(out[:, None], facts=facts)


def window_warnings(p: float, survey: Survey) -> list[str]:
    """What the owner should know of a window that hides next to nothing, and of swapped series."""
    n, width = survey.n, window(survey.n, p)
    advice = "take a larger p (it is a percentage: 5 means 5 %)"
    warnings = series_warnings(survey)
    if width == 1:
        # Sorting the published column and swapping neighbours back gives the original.
        warnings.append(
            f"p={p:g} of {n} records is a window of one rank: values trade places with their neighbours, which can be undone; {advice}"
        )
    elif p < 1:
        warnings.append(f"p={p:g} is a window of {width} of {n} ranks, which hardly hinders linkage; {advice}")
    return warnings


def series_warnings(survey: Survey) -> list[str]:
    """Swapping column by column takes series apart."""
    return [
        f"the time points of {block.name!r} were swapped one by one: the course of single series is not kept"
        for block in survey.series
        if len(block) > 1
    ]
