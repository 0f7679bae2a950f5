"""What a data protection officer asks of a release, in the words of European guidance: one place for all kinds of reports.

The opinion WP216 [1]_ judges anonymisation by three questions: can somebody be **singled out**, can records be **linked** to a
person, can something be **inferred** about a person? The answers here are measured: how many published records stand alone, how
many an attack ties to the right person, how many values the release gives away. What an intruder can do is judged by the means
reasonably likely to be used (GDPR, recital 26), the motivated intruder of the ICO [2]_, and the context of the release
(ISO/IEC 27559 [3]_); techniques carry their names of ISO/IEC 20889 [4]_ (`tsveil.technique`).

Everything here is worked out from what is published and from figures over all records, so it may be shown to anyone, except
where a function says otherwise.

References
----------
.. [1] Article 29 Data Protection Working Party, Opinion 05/2014 on anonymisation techniques (WP216), 2014.
.. [2] Information Commissioner's Office, Anonymisation guidance, 2025; CNIL, L'anonymisation de donnees personnelles, 2020.
.. [3] ISO/IEC 27559:2022, Privacy enhancing data de-identification framework.
.. [4] ISO/IEC 20889:2018, Privacy enhancing data de-identification terminology and classification of techniques.

Examples
--------
>>> import numpy as np
>>> Crowd.of("all", np.array([0, 0, 1, 2, 2]))
Crowd(where='all', records=5, different=3, smallest=1, alone=1)
>>> round(Crowd.of("all", np.array([0, 0, 1, 2, 2])).anonymity, 2)
1.67
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

import tsveil
from tsveil._types import AnyArray, Indices
from tsveil.attack.attribute import AttributeDisclosure
from tsveil.attack.candidates import marks, numbered
from tsveil.data.dataset import Dataset
from tsveil.errors import some
from tsveil.guarantee.base import Guarantee, Status, Verdict
from tsveil.params import Parameters
from tsveil.release import AppliedMethod, Records, Release
from tsveil.report.context import Context
from tsveil.report.pages import percent
from tsveil.technique import named

#: so many blocks have a row of their own
LISTED = 20
#: the verdict -> the kind of the banner and its words
BANNERS = {
    Status.HOLDS: ("holds", "Verified: {}"),
    Status.VIOLATED: ("fails", "NOT VERIFIED: the guarantee is violated"),
    Status.UNKNOWN: ("fails", "NOT VERIFIED: whether the guarantee holds could not be decided"),
    Status.NONE_CLAIMED: ("none", "No guarantee is claimed"),
}


@dataclass(frozen=True)
class Crowd:
    """How many records share what is published of them: the crowd in which a person can hide."""

    where: str
    records: int
    #: different published rows
    different: int
    #: the fewest records that share a row
    smallest: int
    #: records whose row no other has
    alone: int

    @classmethod
    def of(cls, where: str, groups: Indices) -> Crowd:
        """Count the members of groups, numbered from 0."""
        sizes = np.bincount(groups)
        sizes = sizes[sizes > 0]
        return cls(where, len(groups), len(sizes), int(sizes.min(initial=len(groups))), int((sizes == 1).sum()))

    @property
    def anonymity(self) -> float:
        """Real anonymity k': records per different row."""
        return self.records / self.different if self.different else 0.0


@dataclass(frozen=True)
class Linkage:
    """What an attack achieved, in percent of the records."""

    title: str
    rate: float
    meaning: str
    #: the symbol of the figure
    symbol: str = ""
    #: the highest chance of any record, where it is told
    highest: float | None = None
    #: the rate when everything is known, where the rate is a mean over how much is known
    at_most: float | None = None

    @property
    def bar(self) -> float:
        """The length of its bar."""
        return round(min(max(self.rate, 0.0), 100.0), 2)


@dataclass(frozen=True)
class Answer:
    """One of the three questions of WP216, answered in a sentence."""

    title: str
    question: str
    answer: str


@dataclass(frozen=True)
class Found:
    """What was counted over all records of a release."""

    #: who shares what is published: each block where there are several, all protected columns, everything with the carried columns
    crowds: Sequence[Crowd]
    #: the carried columns whose values classes of equal records have in common, the worst first; private
    disclosures: Sequence[GivenAway]

    @classmethod
    def of(cls, release: Release) -> Found:
        """Of a release in memory."""
        labels = {name: numbered(found)[0] for name, found in scopes(release).items()}
        return cls(
            [Crowd.of(name, labels_of) for name, labels_of in labels.items()],
            given_away(release.attribute_disclosure()),
        )


def scopes(release: Records) -> dict[str, AnyArray]:
    """What is published in words -> marks of the published rows of one piece, equal where rows are equal in it."""
    kept, rows = release.contents, release.rows
    made = np.ascontiguousarray(release.made[rows])
    found: dict[str, AnyArray] = {}
    if kept.envelopes:
        points = len(release.original.columns)
        found["the envelope"] = marks(made[:, : 2 * points])
        if made.shape[1] > 2 * points + 2:
            found["envelope and pattern"] = marks(made[:, :-1])
    else:
        blocks = release.original.blocks
        for block in blocks[:LISTED] if len(blocks) > 1 else ():
            found[f"{block.name} alone"] = marks(np.ascontiguousarray(made[:, release.original.span(block.name)]))
        found["all protected columns" if len(blocks) > 1 else blocks[0].name] = marks(made)
    last = next(reversed(found.values()))
    if release.confidential.width:
        carried = [column.cast(pl.String).hash(seed=0).to_numpy() for column in release.confidential]
        found["with the carried columns"] = marks(np.column_stack([last, *carried]).view(np.float64))
    elif not kept.envelopes:
        found["everything published"] = last
    return found


def sampled(release: Release) -> list[str]:
    """A sentence about what is shown of a sample only."""
    if release.sample_of is None:
        return []
    return [f"Pictures of records are drawn from the first published file: {release.n:,} records, a random sample."]


def roles(data: Dataset, method: AppliedMethod, *, public: bool, identified: bool) -> list[tuple[str, str, str, str]]:
    """Name, columns, role and what happened to it, for every column of the input; names of columns left out are for the owner only.

    `identified` says whether published rows have new identifiers or none.
    """
    happened = "replaced by a fresh random one" if identified else "left out"
    if data.id:
        name = data.id if identified or not public else "the identifier"
        rows = [(name, "", "direct identifier", happened)]
    else:
        rows = [("the place in the file", "", "direct identifier", "rows are in random order")]
    for block in data.blocks[:LISTED]:
        if block.is_series:
            what = f"{len(block):,} points, {block.labels[0]} to {block.labels[-1]}"
        else:
            what = some(block.columns, 6).replace("'", "")
        kind = "quasi-identifiers, a time series" if block.is_series else "quasi-identifiers"
        rows.append((block.name, what, kind, f"protected by {method.name}"))
    if len(data.blocks) > LISTED:
        rows.append(
            (f"{len(data.blocks) - LISTED} more blocks", "", "quasi-identifiers", f"protected by {method.name}")
        )
    rows += [(name, "", "confidential (sensitive) attribute", "carried unchanged") for name in data.confidential]
    if data.dropped:
        many = "1 column" if len(data.dropped) == 1 else f"{len(data.dropped)} columns"
        rows.append((many if public else ", ".join(data.dropped), "", "no role", "left out"))
    return rows


def common(
    method: AppliedMethod,
    guarantee: Guarantee,
    verdict: Verdict,
    data: Dataset,
    context: Context,
    *,
    public: bool,
    title: str,
    source: str,
    digest: str,
    identified: bool,
) -> dict[str, Any]:
    """What every report shows: names, dates, the verdict, the answers of a person, roles and technique.

    The source, its hash and the witness of a violation are for the owner only: a hash of the input would confirm a guess of it.
    """
    kind, words = BANNERS[verdict.status]
    today = datetime.now(UTC)
    docs = {p.name: p.doc for p in method.parameters()} if isinstance(method, Parameters) else {}
    return {
        "public": public,
        "title": title,
        "version": tsveil.__version__,
        "date": f"{today.day} {today:%B %Y}",
        "verdict": verdict,
        "banner": (kind, words.format(guarantee.short)),
        "guarantee": guarantee,
        "method": method,
        "settings": [
            (name, value, docs.get(name, "")) for name, value in method.settings().items() if value is not None
        ],
        "technique": named(method.techniques),
        "opinion": method.techniques[0].opinion,
        "method_reason": context.method_reason.strip(),
        "answers": context.answers(public=public),
        "roles": roles(data, method, public=public, identified=identified),
        "carried": list(data.confidential),
        # A witness names rows of the original file.
        "witness": [] if public else [line.strip() for line in verdict.witness.splitlines()],
        "details": [] if public else list(verdict.details),
        "source": "" if public else source,
        "digest": "" if public else digest,
    }


def attacker(context: Context, known: str, tried: Sequence[str], *, public: bool) -> list[tuple[str, str]]:
    """The attacker model: what is known, by whom, and with which means."""
    told = [
        (
            "What is known",
            f"{known} The attacks take these values as exact, which is the most that anyone could know of them, and they take for granted "
            "that the person is in the file.",
        ),
        (
            "By whom",
            "Anyone who holds true values of the same people or observed them: whoever collected the data, a business partner, an "
            "acquaintance, or the person concerned.",
        ),
        (
            "Means reasonably likely",
            f"Only the published file, the method's name and parameters, those true values and an ordinary computer for a short while: {', '.join(tried)}. "
            "Nothing of this is secret, costly or slow, so whatever these attacks achieve counts as reasonably likely. Breaking in, inside "
            "help and coercion are not means of this kind and have to be met by other safeguards.",
        ),
    ]
    if public:
        return told
    own = [("By whom, as the publisher sees it", context.intruders), ("Other sources", context.knowledge)]
    return [*told, *own]


def three_answers(values: Crowd, everything: Crowd, linkages: Sequence[Linkage], n: int, inferred: str) -> list[Answer]:
    """The questions of WP216, answered from the crowds of all protected values and of everything published, and the attacks, best first."""
    if values.alone:
        single = f"{_of(values.alone, values.records)} have published values that no other record has."
    elif everything.alone:
        single = f"No published row of values stands alone; with the carried columns {_of(everything.alone, everything.records)} do."
    else:
        least = everything.smallest - 1
        single = f"No published record stands alone: each has all its entries in common with at least {least:,} other{'s' * (least > 1)}."
    if linkages:
        link = f"The best attack ties {_rate(linkages[0])} of the records to the right person; guessing would tie {guessing(n)}."
    else:
        link = "Nothing was published that could be linked."
    return [
        Answer("Singling out", "Can a record be isolated?", single),
        Answer("Linkability", "Can a record be tied to a person?", link),
        Answer("Inference", "Can something be concluded about a person?", f"{inferred[0].upper()}{inferred[1:]}."),
    ]


@dataclass(frozen=True)
class GivenAway:
    """A carried column whose values groups of equal published records give away; for the owner only."""

    column: str
    groups: int
    #: records whose group has one value, and records whose group has nearly the same numbers
    exactly: int
    nearly: int

    @property
    def records(self) -> int:
        """All records whose value is given away."""
        return self.exactly + self.nearly


def given_away(disclosure: AttributeDisclosure) -> list[GivenAway]:
    """The carried columns that are given away, the worst first."""
    found = [
        GivenAway(
            str(name),
            len(own),
            int(own["records"].filter(own["constant"]).sum()),
            int(own["records"].filter(~own["constant"]).sum()),
        )
        for (name,), own in (
            disclosure.groups.group_by("column", maintain_order=True) if len(disclosure.groups) else ()
        )
    ]
    return sorted(found, key=lambda column: -column.records)


def with_given_away(inferred: str, columns: Sequence[GivenAway]) -> str:
    """What can be inferred, with the carried column that is given away most."""
    if not columns:
        return inferred
    return f"{inferred}, and {columns[0].records:,} records are in groups that give {columns[0].column} away"


def guessing(n: int) -> str:
    """The share of records that a guess gets right."""
    chance = 100 / n if n else 0.0
    return percent(chance)


def residual(
    verdict: Verdict, linkages: Sequence[Linkage], n: int, inferred: str, context: Context, *, public: bool
) -> str:
    """The residual risk in one sentence; the limit that was set is for the owner only."""
    if not linkages:
        return "Nothing was published, so nothing remains at risk."
    best = linkages[0]
    promise = "Although its guarantee is NOT VERIFIED" if verdict.blocks_release else "After protection"
    sentence = (
        f"{promise}, whoever knows the true values of a person in the file finds that person's record in {_rate(best)} of the cases "
        f"with the best attack that was tried ({best.title}), against {guessing(n)} by guessing, and {inferred}"
    )
    if public:
        return f"{sentence}."
    limit = context.accepted_risk
    if limit is None:
        return f"{sentence}; no limit for this risk was stated."
    place = "within" if best.rate <= limit else "ABOVE"
    return f"{sentence}; the rate of the attack is {place} the limit of {limit:g} % that was accepted."


def untested(*more: str) -> list[str]:
    """What the attacks and measures of a report leave open; `more` is what this kind of release leaves open besides."""
    return [
        *more,
        "Intruders who hold another release of the same or of overlapping data.",
        "Whether the presence of a person in the data can be found out, and what can be inferred about groups of people.",
    ]


def _rate(way: Linkage) -> str:
    """The rate, and how far it goes when everything is known."""
    if way.at_most is None or percent(way.at_most) == percent(way.rate):
        return percent(way.rate)
    return f"{percent(way.rate)} (up to {percent(way.at_most)}, depending on how much is known)"


def _of(count: int, n: int) -> str:
    return f"{count:,} of {n:,} records"
