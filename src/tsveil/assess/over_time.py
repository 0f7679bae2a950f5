"""What earlier releases of the same persons do to the verdict: the check earlier-releases, and what the attack `releases` finds.

The check fails if either composed k is below k (`tsveil.guarantee.composed`), or if something is published again from other members. It warns of attribute disclosure over time: persons whose history is shared by persons who all have one carried value,
or nearly one, as `tsveil.assess.disclosure` says of classes. Whose releases are compared is known by the names in the id maps; where no person is in two of them, nothing was compared, and nothing is decided.

Messages stand in the published report, too: they name columns and count persons. Who is left stands in the figures, which are private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tsveil.assess.assessment import Assessment, Attempt, Check, Outcome, risk_check, strongest
from tsveil.assess.disclosure import disclosing
from tsveil.assess.file import owners_of_rows
from tsveil.assess.limits import Limits
from tsveil.attack.base import Rung
from tsveil.core.errors import InputError, some
from tsveil.core.types import Array, Indices
from tsveil.guarantee.base import Promise
from tsveil.guarantee.chunks import Chunks
from tsveil.guarantee.composed import Composed, Difference, PersonsOfRelease, Sets, columns_of_rows, compose

#: the name of the check
CHECK = "earlier-releases"
#: the name of the attack
ATTACK = "releases"

# -- releases with the names of persons ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NamedRelease:
    """The published rows of a release, with the names of their persons, and their identifiers as they are written."""

    name: str
    chunks: Chunks
    carried: Sequence[str]
    promise: Promise
    persons: pl.Series
    #: None: no identifiers are published
    ids: pl.Series | None
    #: whether the id map names persons, who may have several records
    several: bool

    @classmethod
    def of(
        cls, name: str, chunks: Chunks, promise: Promise, id: str | None, carried: Sequence[str], ids: pl.DataFrame
    ) -> NamedRelease:
        """From the published rows and the id map; `id` is the published column of identifiers, if there is one."""
        shown = None
        if id is not None and not chunks.schema.intervals:
            shown = columns_of_rows(chunks, [id])[id].cast(pl.String)
        several = "person" in ids.columns
        table = ids.drop("original") if several else ids.rename({"original": "person"})
        owners = owners_of_rows(table, shown, len(ids) if shown is None else len(shown))
        return cls(name, chunks, list(carried), promise, owners, shown, several)


def over_time(
    releases: Sequence[NamedRelease],
    k: int | None = None,
    *,
    stable: bool = False,
    withheld: bool = False,
    missing: Sequence[str] = (),
) -> OverTime:
    """What releases leave together, in the order in which they were made; k is the largest that one of them promises, unless given.

    `missing` are further releases of these persons that could not be read: nothing is decided then, unless the others fail already.
    """
    if len({one.several for one in releases}) > 1:
        ones = some([one.name for one in releases if one.several])
        raise InputError(
            f"{ones} names persons, who may have several records, and the other releases name records: who is in both is not clear\n"
            "  options: releases that were all made with --person, or all without"
        )
    names, persons = _numbered([one.persons for one in releases])
    known = [one.ids for one in releases if one.ids is not None]
    ids = iter(_numbered(known)[1] if known else [])
    shown = [
        PersonsOfRelease(
            one.name,
            one.chunks,
            one.carried,
            str(one.promise.settings().get("scope", "block")),
            own,
            *([] if one.ids is None else [next(ids)]),
        )
        for one, own in zip(releases, persons, strict=True)
    ]
    least = k or max(one.promise.k for one in releases)
    return OverTime(compose(shown, least, stable=stable, withheld=withheld), names, tuple(missing))


def _numbered(texts: Sequence[pl.Series]) -> tuple[pl.Series, list[Indices]]:
    """The different texts of some series in their order, and for each series the place of its texts among them."""
    joined = pl.concat([one.rename("text") for one in texts])
    every = joined.unique().sort()
    places = every.to_frame().with_row_index("place")
    found = joined.to_frame().join(places, on="text", how="left", maintain_order="left")["place"]
    return every, np.split(found.to_numpy().astype(np.int64), np.cumsum([len(one) for one in texts])[:-1])


@dataclass(frozen=True, eq=False)
class EarlierReleases:
    """The releases of the same persons with which a new one is judged, in the order in which they were made; the other fields are the options of `over_time`."""

    releases: Sequence[NamedRelease]
    k: int | None = None
    stable: bool = False
    withheld: bool = True
    missing: Sequence[str] = ()

    def followed_by(self, latest: NamedRelease) -> OverTime:
        """What they and one more leave together."""
        given: dict[str, Any] = {"stable": self.stable, "withheld": self.withheld, "missing": self.missing}
        return over_time([*self.releases, latest], self.k, **given)


# -- the verdict ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OverTime:
    """What several releases leave together, and the names of the persons."""

    composed: Composed
    #: the name of each person, in the order of their numbers
    names: pl.Series
    #: releases of these persons that could not be read
    missing: tuple[str, ...] = ()

    @cached_property
    def disclosed(self) -> dict[str, int]:
        """Carried column -> persons whose history set has one value of it, or nearly one."""
        found: dict[str, int] = {}
        for history in self.composed.histories:
            for name in history.shown.columns[1:]:
                rows = history.shown.select("person", name).drop_nulls(name)
                person = rows["person"].to_numpy()
                of_row = history.sets.of_person[person]
                there = of_row >= 0
                told = disclosing(of_row[there], rows[name].filter(there), person[there])
                found[name] = len(np.unique(person[there][told]))
        return found

    @property
    def scores(self) -> Array:
        """The chance of finding each person whose rows are tied: one of the smaller of the sets that identifiers and histories leave."""
        size = np.zeros(self.composed.persons)
        for _, sets in self.composed.sets:
            own = sets.size > 0
            size[own] = np.where(size[own] > 0, np.minimum(size[own], sets.size[own]), sets.size[own])
        return 1.0 / size[size > 0]

    @property
    def attempts(self) -> list[Attempt]:
        """What the attack finds; nothing where nothing ties the releases."""
        scores, n = self.scores, self.composed.persons
        if not len(scores) or not self.composed.again:
            return []
        rate = 100 * float(scores.mean())
        return [Attempt(Rung.RELEASES, ATTACK, rate, rate, rate, 100 / n, len(scores))]

    @property
    def check(self) -> Check:
        """The check earlier-releases."""
        found, figures = self.composed, self._figures()
        broken = [*self._too_small(), *map(_in_words, found.differences)]
        if self.missing and not broken:
            message = (
                f"{some(self.missing)}: not where the ledger says, so what all releases tell together was not judged."
            )
            return Check(CHECK, Outcome.NOT_DECIDED, message, figures)
        if not found.again:
            message = (
                f"no person is in two of these {len(found.names)} releases by the names in their id maps: "
                "they are of different persons, or name them differently."
            )
            return Check(CHECK, Outcome.NOT_DECIDED, message, figures)
        if broken:
            return Check(CHECK, Outcome.FAILS, f"{'; '.join(broken)}.", figures)
        kept = self._kept()
        if told := {name: count for name, count in self.disclosed.items() if count}:
            worst = max(told, key=lambda name: told[name])
            words = f"{told[worst]} of {found.persons} persons have a history that only persons with one value of {worst!r}, or nearly one, share"
            return Check(CHECK, Outcome.WARNS, f"{words}; {kept}.", figures)
        if len(found.once) > 1:
            words = f"{some(found.once)} are carried in one release each: if one of them is another by a new name, it ties these releases as well"
            return Check(CHECK, Outcome.WARNS, f"{kept}; {words}.", figures)
        return Check(CHECK, Outcome.HOLDS, f"{kept}.", figures)

    def _kept(self) -> str:
        """What holds, without the full stop."""
        found = self.composed
        over = f"{len(found.names)} releases with {found.again} persons in more than one"
        if not found.sets:
            return f"{over}: nothing ties their rows, for identifiers are new in each and no column without times is in two of them"
        ties = " and ".join(_subject(name, sets is found.identifiers) for name, sets in found.sets)
        return f"{over}: at least {found.smallest} persons share every {ties}"

    def _too_small(self) -> list[str]:
        found = []
        for name, sets in self.composed.sets:
            if few := sets.below(self.composed.k):
                alone = int((sets.size == 1).sum())
                who = "identifiers that stay tie" if sets is self.composed.identifiers else _ties(name)
                found.append(
                    f"{who} the releases, and {few} of {sets.persons} persons ({_percent(few, sets)}) are left among fewer than "
                    f"{self.composed.k}, {alone} of them ({_percent(alone, sets)}) alone"
                )
        return found

    def _figures(self) -> dict[str, Any]:
        found = self.composed
        histories = {one.words: self._of_sets(one.sets) for one in found.histories}
        return {
            "k": found.k,
            "releases": list(found.names),
            "persons": found.persons,
            "in_several": found.again,
            "identifiers": None if found.identifiers is None else self._of_sets(found.identifiers),
            "histories": histories,
            "differences": [self._of_difference(one) for one in found.differences],
            "disclosed": self.disclosed,
        }

    def _of_sets(self, sets: Sets) -> dict[str, Any]:
        """The fewest persons of a set, shares of persons in percent, and the smallest set."""
        few = (sets.size > 0) & (sets.size < self.composed.k)
        of = max(sets.persons, 1)
        witness = sets.witness
        found = {
            "smallest": sets.smallest,
            "alone": 100 * int((sets.size == 1).sum()) / of,
            "below_k": 100 * int(few.sum()) / of,
        }
        if witness is None or witness.left >= self.composed.k:
            return found
        releases = [self.composed.names[at] for at in witness.releases]
        return found | {
            "witness": {"persons": self._named(witness.persons), "releases": releases, "left": witness.left}
        }

    def _of_difference(self, one: Difference) -> dict[str, Any]:
        releases = [self.composed.names[at] for at in one.releases]
        return {
            "columns": list(one.columns),
            "releases": releases,
            "persons": one.persons,
            "left": self._named(one.left),
        }

    def _named(self, persons: Sequence[int]) -> list[str]:
        return [str(self.names[person]) for person in persons]


def _percent(count: int, sets: Sets) -> str:
    return f"{100 * count / sets.persons:.1f} %"


def _subject(name: str, is_identifier: bool) -> str:
    return "sequence of rows under one identifier" if is_identifier else f"history of {name}"


def _ties(name: str) -> str:
    return f"{name} tie{'' if ', ' in name else 's'}"


def _in_words(one: Difference) -> str:
    """What is published again, and how."""
    how = "from other members" if one.members else "with other values"
    earlier, later = (at + 1 for at in one.releases)
    count = f"{one.persons} person{'s' * (one.persons != 1)}"
    return (
        f"release {later} publishes {some(one.columns, 2)} of release {earlier} again {how}, and {count} can be set against that; "
        "columns of different times need different names"
    )


def with_earlier_releases(found: Assessment, over: OverTime, limits: Limits, promise: Promise) -> Assessment:
    """A verdict that also counts what the release says together with others: one more check, the attack `releases` on the ladder, and the accepted risk with it."""
    ladder = [*(one for one in found.ladder if one.rung != Rung.RELEASES), *over.attempts]
    checks = {check.name: check for check in found.checks} | {CHECK: over.check}
    risk = strongest(ladder, found.intruder)
    largest = found.largest
    if risk.rung == Rung.RELEASES:
        scores, share = over.scores, limits.share
        largest = 100 * float(scores.max())
        exposed = None if share is None else int((scores > float(share) * (1 + 1e-12)).sum())
        # The promise of one release speaks of several only where k persons remain in all of them together.
        spoken_of = promise.intruder if over.composed.holds and over.composed.k >= promise.k else "none"
        again = risk_check(ladder, found.intruder, limits, spoken_of=spoken_of, promise=promise.short, exposed=exposed)
        before = checks.get(again.name, again)
        order = list(Outcome).index
        checks[again.name] = before if order(before.status) > order(again.status) else again
    return replace(found, checks=list(checks.values()), ladder=ladder, largest=largest)
