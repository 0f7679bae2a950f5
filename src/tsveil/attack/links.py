"""The result of a record linkage attack, and how likely it is by guessing.

An intruder who gives n people n released records at random, one each, is right r times with the chance

    P(r) = (1 / r!) sum_{v=0}^{n-r} (-1)^v / v!

(the matching problem [1]_): one right link is expected, however large n is. If the files differ in size he guesses each of
his n people among n' released records, and r is binomial(n, 1/n'). A number of links that guessing could not produce shows
that the release leaks.

References
----------
.. [1] J. Nin, Contributions to record linkage for disclosure risk assessment, PhD thesis, UAB (2008), Proposition 4 and
   Table 5.3.
.. [2] W. Hoeffding, On the distribution of the number of successes in independent trials, Annals of Mathematical Statistics 27 (1956) 713-721.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data.dataset import Dataset

#: for each original record: how many released records are nearest, the lowest of them, and how many of the person's are among them
Linked = tuple[Indices, Indices, AnyArray]


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """What an intruder concludes for each record that he knows.

    Rows of the arrays are original records. `own` says which released record is made of each; row i of row i unless it is given. Where
    `persons` may have several records, a link to any of them is right, and the rate is the mean over persons of the mean over their
    records, as in `tsveil.evaluate`; records that were not released do not count then.

    Examples
    --------
    >>> import numpy as np
    >>> found = Links("a guess", candidates=np.array([2, 1]), link=np.array([0, 1]), hit=np.array([True, True]))
    >>> found
    Links: a guess: 1.5 of 2 records re-identified (75.0 %)
    >>> round(found.by_guessing, 3)
    0.5

    The first two records are of one person, who has both of those that are tied, and the third was linked to them by mistake:

    >>> candidates, link, hit = np.array([2, 2, 2]), np.array([0, 0, 0]), np.array([2, 2, 0])
    >>> Links.of("a guess", (candidates, link, hit), "expected", np.arange(3), 3, persons=np.array([0, 0, 1]))
    Links: a guess: 2.0 of 3 records of 2 persons re-identified (50.0 % of the persons)
    """

    #: the attack and what was known, in words
    attack: str
    #: number of released records that may be the person's; 0: no link
    candidates: Indices
    #: the row of the nearest candidate, the lowest where several are equally near; -1: no link
    link: Indices
    #: whether a record of the person is among the nearest candidates
    hit: Mask
    #: "expected": a tie among t counts 1/t; "first": the lowest row is taken
    ties: str = "expected"
    #: number of nearest candidates; all candidates unless given
    tied: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: whether the intruder can be sure: a single candidate in a method that never loses the right one
    certain: Mask = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    #: the row of the released record that was made of it; -1: not released
    own: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: whose it is, numbered from 0, where persons may have several records
    persons: Indices | None = None
    #: how many records of the person are among the nearest; 1 where there is one unless given
    right: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: for each record the chance that the intruder picks the right one; follows from the above unless given
    probability: Array = field(default_factory=lambda: np.empty(0))
    #: number of released records; as many as original ones unless given
    released: int = -1
    #: not every released record was looked at
    approximate: bool = False
    #: what the attack found out about the data (estimated probabilities, say)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.link)

        def fill(name: str, default: Any) -> None:
            if len(getattr(self, name)) != n:
                object.__setattr__(self, name, default)

        fill("tied", self.candidates)
        fill("certain", np.zeros(n, dtype=np.bool_))
        fill("own", np.arange(n, dtype=np.int64))
        fill("right", self.hit.astype(np.int64))
        if self.released < 0:
            object.__setattr__(self, "released", n)
        if self.ties == "first":
            fill("probability", linked_right(self.link, self.own, self.persons, self.released))
        fill("probability", np.where(self.hit, self.right / np.maximum(self.tied, 1), 0.0))

    @classmethod
    def of(cls, attack: str, linked: Linked, ties: str, own: Indices, released: int, **more: Any) -> Links:
        """Those of the nearest records: for each original how many they are, the lowest, and how many of the person's are among them."""
        tied, link, hit = linked
        return cls(attack, tied, link, hit > 0, ties, own=own, right=np.asarray(hit), released=released, **more)

    @property
    def correct(self) -> float:
        """The expected number of right links."""
        return float(self.probability.sum())

    @property
    def rate(self) -> float:
        """The share of right links, in percent."""
        if self.persons is None:
            return 100.0 * float(self.probability.mean())
        return 100.0 * float((self.probability[self.own >= 0] / self._records).sum() / self.people)

    @property
    def _records(self) -> Indices:
        """For each record that was released, how many its person has."""
        assert self.persons is not None
        released = self.persons[self.own >= 0]
        return np.bincount(released)[released]

    @property
    def people(self) -> int:
        """How many persons can be found: those with released records where persons may have several, else each record is one."""
        return len(self.link) if self.persons is None else len(np.unique(self.persons[self.own >= 0]))

    @property
    def by_guessing(self) -> float:
        """The chance of at least this many right links (rounded down) by guessing.

        0.0 where it is too small for a float64, below 1e-300. Where persons may have several records, he guesses each record by itself, and the
        chance is that of the binomial distribution with the same mean, which is not below the true one where more is found than guessing expects [2]_.
        """
        # Sums of shares like 1/3 + 1/3 + 1/3 may end just below a whole number.
        links = math.floor(self.correct + 1e-9)
        if self.persons is None:
            return chance_of_links(links, len(self.link), self.released)
        mine = self._records
        return chance_of_links(links, len(mine), self.released, right=float(mine.mean()))

    def table(self, original: Dataset, released: Dataset) -> pl.DataFrame:
        """A row per original record, the most exposed first: sure and right, then by the chance of a right link.

        Columns: original and linked (identifiers; no link: null), candidates, certain, chance (percent).
        """
        names = released.ids.to_list()
        frame = pl.DataFrame(
            {
                "original": original.ids,
                "linked": pl.Series([names[row] if row >= 0 else None for row in self.link], dtype=released.ids.dtype),
                "candidates": self.candidates,
                "certain": self.certain,
                "chance": 100.0 * self.probability,
            }
        )
        order = np.lexsort((np.arange(len(self.link)), self.candidates, -self.probability, ~(self.certain & self.hit)))
        sorted_frame: pl.DataFrame = frame[order.tolist()]
        return sorted_frame

    def __repr__(self) -> str:
        sure, right = int(self.certain.sum()), int((self.certain & self.hit).sum())
        of, share = ("", "") if self.persons is None else (f" of {self.people} persons", " of the persons")
        certainty = f", {sure} with certainty" if sure == right else f", {sure} seem certain ({right} of them right)"
        return (
            f"Links: {self.attack}: {self.correct:.1f} of {len(self.link)} records{of} re-identified ({self.rate:.1f} %{share})"
            + certainty * (sure > 0)
            + " (approximate)" * self.approximate
        )


def whose(own: Indices, persons: Indices | None, released: int) -> tuple[Indices, Indices]:
    """The person of each original record and of each released one, equal where a link is right; each record its own where there are no persons.

    Examples
    --------
    >>> whose(np.array([2, -1, 0]), np.array([0, 0, 1]), 3)
    (array([ 0, -2,  1]), array([ 1, -1,  0]))
    """
    if persons is None:
        return own, np.arange(released)
    owner, there = np.full(released, -1, dtype=np.int64), own >= 0
    owner[own[there]] = persons[there]
    return np.where(there, persons, -2), owner


def linked_right(link: Indices, own: Indices, persons: Indices | None, released: int) -> Array:
    """1 where the link goes to a record of the person, and 0 elsewhere."""
    mine, owner = whose(own, persons, released)
    return np.asarray((link >= 0) & (np.append(owner, -3)[link] == mine), dtype=np.float64)


def chance_of_links(r: int, n: int, released: int | None = None, *, exactly: bool = False, right: float = 1.0) -> float:
    """The chance that a random linkage of n records has at least r right links (or exactly r).

    The files have the same n records unless the number of released ones differs; `right` is how many of these are right for each, on average.

    Examples
    --------
    >>> f"{chance_of_links(2, 100, exactly=True):.8f}", f"{chance_of_links(26, 100):.4e}"
    ('0.18393972', '9.4723e-28')
    """
    m = n if released is None else released
    if r > n:
        return 0.0
    if r <= 0 and not exactly:
        return 1.0
    # Beyond forty deviations and two hundred terms after the larger of r and the mean the rest is below rounding.
    mean = n * right / m
    last = r if exactly else min(n, int(max(r, mean) + 40 * math.sqrt(mean)) + 200)
    one = _matching if m == n and right == 1.0 else partial(_binomial, p=right / m)
    return min(1.0, math.fsum(one(s, n) for s in range(r, last + 1)))


def _matching(r: int, n: int) -> float:
    # The alternating sum is 1/e to the last digit after twenty terms.
    none_right = math.fsum((-1) ** v / math.factorial(v) for v in range(min(n - r, 25) + 1))
    return none_right * math.exp(-math.lgamma(r + 1)) if none_right > 0 else 0.0


def _binomial(r: int, n: int, p: float) -> float:
    ways = math.lgamma(n + 1) - math.lgamma(r + 1) - math.lgamma(n - r + 1)
    if p >= 1.0:
        return 1.0 if r == n else 0.0
    return math.exp(ways + r * math.log(p) + (n - r) * math.log1p(-p))
