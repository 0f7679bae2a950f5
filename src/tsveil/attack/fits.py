"""Every attack by name, and which one fits which protection method.

A protection method is as good as the best attack on it, and the best one is often made for that method: whoever measures
the risk of a release runs all attacks that fit its method and takes the strongest. Methods are named by their key in the
registry. A method that is not known gets every attack, with the widest settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tsveil.attack.distance import distance, distance_prefixes
from tsveil.attack.links import Links
from tsveil.data.dataset import Dataset

#: what is known in each round -> the links of that round
Rounds = Callable[..., list[Links]]


@dataclass(frozen=True)
class Attack:
    """A linkage attack, as reports and the docs show it."""

    name: str
    #: the figure of a score card: the share of right links, averaged over the number of known attributes
    figure: str
    title: str
    sentence: str
    reference: str
    function: Callable[..., Links]
    #: the methods that it is made for, by name; None: it works on any
    methods: frozenset[str] | None = None


#: name -> attack
ATTACKS: dict[str, Attack] = {
    attack.name: attack
    for attack in (
        Attack(
            name="distance",
            figure="DLD",
            title="linkage by distance",
            sentence="Share of records that an intruder links right by taking the nearest released record.",
            reference="D. Pagliuca, G. Seri, Some results of individual ranking method, Esprit SDC Project (1999).",
            function=distance,
        ),
    )
}


@dataclass(frozen=True)
class Run:
    """An attack with the settings that fit a release."""

    attack: Attack
    #: the figure; differs from the attack's where it runs in several ways
    figure: str
    #: what it does, in words
    title: str
    #: called with original, released, known, counts, truth and ties
    rounds: Rounds
    #: whether it counts known blocks rather than known attributes
    by_block: bool = False


def fitting(method: str | None, settings: Mapping[str, Any], data: Dataset) -> list[Run]:
    """The attacks to run on a release of this method (all when it is not known)."""
    runs = [Run(ATTACKS["distance"], "DLD", "linkage by distance", distance_prefixes)]
    return runs


def names_of(runs: Sequence[Run]) -> list[str]:
    """The figures of some runs."""
    return [run.figure for run in runs]
