"""The result of a record linkage attack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tsveil._types import Array, Indices, Mask


@dataclass(frozen=True, eq=False)
class Links:
    """What an intruder concludes for each record that he knows.

    Rows of the arrays are original records; row i of the original and of the (aligned) release belong to the same person.
    """

    #: the attack and what was known, in words
    attack: str
    #: number of protected records that fit equally well
    candidates: Indices
    #: the first of them, by row of the release
    link: Indices
    #: whether the person's own record is among them
    hit: Mask
    #: "expected": a tie among t counts 1/t; "first": the first candidate is taken
    ties: str = "expected"

    @property
    def probability(self) -> Array:
        """For each record the chance that the intruder picks the right one."""
        if self.ties == "first":
            return (self.link == np.arange(len(self.link))).astype(np.float64)
        chance: Array = np.where(self.hit, 1.0 / np.maximum(self.candidates, 1), 0.0)
        return chance

    @property
    def correct(self) -> float:
        """The expected number of right links."""
        return float(self.probability.sum())

    @property
    def rate(self) -> float:
        """The share of right links, in percent."""
        return 100.0 * float(self.probability.mean())

    def __repr__(self) -> str:
        return f"Links: {self.attack}: {self.correct:.1f} of {len(self.link)} records re-identified ({self.rate:.1f} %)"
