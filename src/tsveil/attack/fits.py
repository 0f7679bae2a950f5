"""Every attack by name, and which one fits which protection method.

A protection method is as good as the best attack on it, and the best one is often made for that method: whoever measures
the risk of a release runs all attacks that fit its method and takes the strongest. Methods are named by their key in the
registry. A release of unknown making, or by a method of another package, gets every attack, with the widest settings.

Examples
--------
>>> import tsveil as tv
>>> data = tv.Dataset.from_arrays({"a": [[1.0, 2.0]] * 200})
>>> [run.title for run in fitting("rank-swap", {"p": 5.0}, data)][-1]
'linkage by ranks, within 10'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tsveil.attack.alignment import alignment
from tsveil.attack.distance import distance
from tsveil.attack.links import Links
from tsveil.attack.probabilistic import MOST, probabilistic
from tsveil.attack.projected import projected
from tsveil.attack.rank_swap import UNKNOWN, Rule, rank_swap, ranks_of

#: methods that put similar records of a block into groups
GROUPING = frozenset({"mdav", "v-mdav", "p-sensitive", "projected"})
RANKS = frozenset({"rank-swap", "rank-swap-distribution", "rank-swap-buckets"})
#: the methods of attributes of which it is known which attacks fit
KNOWN = GROUPING | RANKS | {"optimal-univariate", "mic1d", "noise"}


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
            sentence="Share of records that an intruder links right by taking the nearest published record.",
            reference="D. Pagliuca, G. Seri, Some results of individual ranking method, Esprit SDC Project (1999).",
            function=distance,
        ),
        Attack(
            name="probabilistic",
            figure="PLD",
            title="linkage by probability",
            sentence="Share linked right by which attributes agree, weighed by how much each agreement tells.",
            reference="I. P. Fellegi, A. B. Sunter, A theory for record linkage, JASA 64 (1969).",
            function=probabilistic,
        ),
        Attack(
            name="rank_swap",
            figure="RSLD",
            title="linkage by ranks",
            sentence="Share linked right among the published records whose values are only a few ranks away, as rank swapping leaves them.",
            reference="J. Nin, J. Herranz, V. Torra, Rethinking rank swapping to decrease disclosure risk, DKE 64 (2008).",
            function=rank_swap,
            methods=RANKS,
        ),
        Attack(
            name="alignment",
            figure="ARLD",
            title="linkage by alignment",
            sentence="Share linked right among the published records that stand at the same place of the sorted columns, whose order "
            "microaggregation of single columns keeps.",
            reference="J. Nin, V. Torra, Analysis of the univariate microaggregation disclosure risk, NGC 27 (2009).",
            function=alignment,
            methods=frozenset({"optimal-univariate"}) | GROUPING,
        ),
        Attack(
            name="projected",
            figure="ProjLD",
            title="linkage by projections",
            sentence="Share linked right by the nearest projection of each block of attributes, which microaggregation moves least.",
            reference="J. Nin, J. Herranz, V. Torra, On the disclosure risk of multivariate microaggregation, DKE 67 (2008).",
            function=projected,
            methods=GROUPING | {"mic1d"},
        ),
    )
}

#: figure -> (title, one plain sentence)
FIGURES: dict[str, tuple[str, str]] = {
    **{attack.figure: (attack.title, attack.sentence) for attack in ATTACKS.values()},
    "RULD": (
        "linkage by most ranks",
        "Share linked right among the published records that are a few ranks away in as many attributes as any record is.",
    ),
    "RULD2": ("linkage by most ranks, wide", "Share linked right by most ranks with twice the number of ranks."),
}


#: nearest by columns or by projections of blocks, by agreements, inside ranges of sorted columns (all or most of them)
By = Literal["distance", "projection", "agreement", "ranks", "most ranks", "alignment"]


class HasBlocks(Protocol):
    """Data with a number of records, in blocks of columns."""

    @property
    def n(self) -> int:
        """The number of records."""

    @property
    def blocks(self) -> Sequence[Sized]:
        """The blocks."""


@dataclass(frozen=True)
class Run:
    """An attack with the settings that fit a release."""

    figure: str
    #: what it does, in words
    title: str
    #: the way of linking, see `attack.run`
    by: By
    #: whether it counts known blocks rather than known attributes
    by_block: bool = False
    #: the largest number of attributes that it takes
    most: int | None = None
    #: for an attack by ranks: how many ranks a value may have moved
    window: int | None = None


def fitting(method: str | None, settings: Mapping[str, Any], data: HasBlocks) -> list[Run]:
    """The attacks to run on a release of this method with these parameters; all of them when it is None or nothing is known of it."""
    method = method if method in KNOWN else None
    runs = [
        Run("DLD", "linkage by distance", "distance"),
        Run("PLD", "linkage by probability", "agreement", most=MOST),
    ]
    if method is None or method in RANKS:
        runs += _by_ranks(method, settings, data.n)
    # Microaggregation keeps the order of a column only where it treats columns one by one.
    single = all(len(block) == 1 for block in data.blocks)
    if method is None or method == "optimal-univariate" or (method in GROUPING and single):
        runs.append(Run("ARLD", "linkage by alignment", "alignment"))
    if method is None or method in (ATTACKS["projected"].methods or ()):
        runs.append(Run("ProjLD", "linkage by projections", "projection", by_block=True))
    return runs


def made_for_series(method: str | None, settings: Mapping[str, Any], data: HasBlocks) -> list[Run]:
    """The attacks of `fitting` that are made for what this method does to columns, for releases of time series.

    The linkages of series by values and by shape are run on every release; a method that swaps ranks or averages single columns leaves
    more of a record than they look for, whatever the columns mean.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.Dataset.from_arrays({"load": [[1.0, 2.0]] * 200}, times=[0, 1])
    >>> [run.figure for run in made_for_series("rank-swap", {"p": 5.0}, data)], made_for_series("mdav", {"k": 3}, data)
    (['RSLD'], [])
    """
    if method not in RANKS | {"optimal-univariate", "projected", "mic1d"}:
        return []
    return [run for run in fitting(method, settings, data) if run.figure not in ("DLD", "PLD")]


def _by_ranks(method: str | None, settings: Mapping[str, Any], n: int) -> list[Run]:
    def run(figure: str, window: int, rule: Rule) -> Run:
        title = f"linkage by {'most ' * (rule == 'union')}ranks, within {window}"
        return Run(figure, title, "most ranks" if rule == "union" else "ranks", window=window)

    if method == "rank-swap-distribution":
        p = float(settings.get("p", UNKNOWN))
        return [
            run("RSLD", ranks_of(n, 2 * p), "intersection"),
            run("RULD", ranks_of(n, p / 2), "union"),
            run("RULD2", ranks_of(n, p), "union"),
        ]
    if method == "rank-swap-buckets":
        bucket = -(-n // int(settings.get("buckets", 5)))
        return [
            run("RSLD", 2 * bucket, "intersection"),
            run("RULD", bucket, "union"),
            run("RULD2", 2 * bucket, "union"),
        ]
    return [run("RSLD", ranks_of(n, float(settings.get("p", UNKNOWN))), "intersection")]
