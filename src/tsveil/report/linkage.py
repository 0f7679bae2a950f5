"""What the attacks achieved: the share of records that each ties to the right person, or of persons found where these have several records, as reports show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tsveil.report.pages import percent


@dataclass(frozen=True)
class Linkage:
    """What an attack achieved, in percent of the records, or of the persons where these may have several."""

    title: str
    rate: float
    meaning: str
    #: the symbol of the figure
    symbol: str = ""
    #: the highest chance of any record or person, where it is told
    highest: float | None = None
    #: the rate when everything is known, where the rate is a mean over how much is known
    at_most: float | None = None

    @property
    def rate_with_full_knowledge(self) -> float:
        """The rate when everything is known."""
        return self.rate if self.at_most is None else self.at_most

    @property
    def bar(self) -> float:
        """The length of its bar."""
        return bar(self.rate)


@dataclass(frozen=True)
class Risk:
    """What the strongest attack achieves, in words: that of the verdict where the release was judged."""

    #: what the intruder knows
    knows: str
    #: the share of the persons that he finds
    found: str
    attack: str
    guess: str
    #: what is held against a limit, in percent
    high: float


def bar(value: float) -> float:
    """The length of the bar of a percentage."""
    return round(min(max(value, 0.0), 100.0), 2)


def linkages(card: Any, *, envelopes: bool) -> list[Linkage]:
    """The attacks on a release of values, or on the values, patterns and both of envelopes; the best first."""
    if envelopes:
        found = [
            Linkage(
                f"linkage by {'values and pattern' if name == 'both' else name}",
                card[f"breach_{name}_mean"],
                card.meanings[f"breach_{name}"].sentence.replace("highest chance", "chance"),
                highest=card[f"breach_{name}"],
            )
            for name in card.links
        ]
    else:
        highest = {one.figure: 100 * float(one.scores.max()) for one in card.ladder if one.rung == "part"}
        found = [
            Linkage(
                card.meanings[name].title,
                card[name],
                f"{card.meanings[name].sentence}{' Any record of the person counts as right.' * bool(card.persons)}",
                name,
                highest=highest[name] if card.persons else None,
                at_most=rates[-1],
            )
            for name, rates in card.by_known.items()
        ]
    return sorted(found, key=lambda linkage: -linkage.rate)


def guessing(n: int) -> str:
    """The share of n records or persons that a guess finds."""
    return percent(100 / n if n else 0.0)
