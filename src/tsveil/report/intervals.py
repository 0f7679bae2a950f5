"""The report of a release of envelopes and patterns as one HTML page: no scripts, no network, pictures inside.

As for other releases there are two versions. The private one shows original curves inside their envelopes, the persons
at highest risk, and which carried values are given away; the public one shows what the published table shows anyway,
and figures over all records.

Examples
--------
>>> import numpy as np, tsveil as tv
>>> from tsveil.protect.kp import KP
>>> x = np.random.default_rng(1).normal(size=(40, 12)).cumsum(axis=1)
>>> release = KP(k=6, P=2).protect(tv.Dataset.from_arrays({"load": x}, ids=[f"house {i}" for i in range(40)]))
>>> page = interval_report(release, release.evaluate(), release.verify(), public=True)
>>> page.startswith("<!doctype html>"), "house 1" in page
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tsveil._types import Array, Indices
from tsveil.attack.candidates import marks
from tsveil.guarantee.base import Verdict
from tsveil.measure.kp import MEANINGS, IntervalCard, value_loss
from tsveil.release import Release
from tsveil.report import assessment, figures
from tsveil.report.assessment import Found, Linkage
from tsveil.report.context import Context
from tsveil.report.pages import page, percent
from tsveil.transform.sax import as_symbols, patterns, read_back

#: so many persons at highest risk are listed
LISTED = 10


def interval_report(
    release: Release,
    card: IntervalCard,
    verdict: Verdict,
    *,
    public: bool,
    title: str = "",
    source: str = "",
    digest: str = "",
    context: Context | None = None,
    found: Found | None = None,
) -> str:
    """The report as the text of an HTML page; the arguments are those of `tsveil.report.html.report`."""
    context = context or Context()
    shown = assessment.common(
        release.method,
        release.guarantee,
        verdict,
        release.original,
        context,
        public=public,
        title=title or f"Protected data: {release.block.name}",
        source=source,
        digest=digest,
        identified=False,
    )
    found = found or Found.of(release)
    crowds = list(found.crowds)
    linkages = _linkages(card)
    given_away = [] if public else found.disclosures
    narrow = (
        f"an envelope confines the values of a person to {percent(card['ncp'])} of the range of all values, on average"
    )
    inferred = assessment.with_given_away(narrow, given_away)
    known = "The whole true curve of a person, and so its shape."
    shown |= {
        "summary": _summary(release, card),
        "three": assessment.three_answers(
            crowds[release.words is not None], crowds[-1], linkages, release.released, inferred
        ),
        "attacker": assessment.attacker(context, known, [way.title for way in linkages], public=public),
        "crowds": crowds,
        "linkages": linkages,
        "guess": assessment.guessing(release.released),
        "given_away": given_away,
        "residual": assessment.residual(verdict, linkages, release.released, inferred, context, public=public),
        "figures": _figures(card, public),
        "pictures": list(pictures(release, public)),
        "risk_figure": _risk_figure(card, public),
        "patterns": release.words is not None,
        # Warnings and notes may name records; they are for the owner.
        "warnings": [] if public else list(release.warnings),
        "notes": [*([] if public else release.original.notes), *_attacked(card), *assessment.sampled(release)],
        "riskiest": [] if public else _riskiest(card),
        "untested": _untested(release),
    }
    return page("intervals.html.j2", shown)


def _linkages(card: IntervalCard) -> list[Linkage]:
    """The attacks on values, pattern and both, best first."""
    found = [
        Linkage(
            f"linkage by {'values and pattern' if name == 'both' else name}",
            card[f"breach_{name}_mean"],
            MEANINGS[f"breach_{name}"][2].replace("highest chance", "chance"),
            highest=card[f"breach_{name}"],
        )
        for name in card.links
    ]
    return sorted(found, key=lambda linkage: -linkage.rate)


def _attacked(card: IntervalCard) -> list[str]:
    """A sentence about the records that were attacked, if they are a sample."""
    targets = card.options.get("targets", "all records")
    return [] if targets == "all records" else [f"Records attacked: {targets}."]


def _untested(release: Release) -> list[str]:
    more = ["Whether the carried columns by themselves, or joined with other files, identify records."]
    return assessment.untested(
        *more * bool(release.confidential.width),
        "Intruders who know a series inexactly, or shifted or stretched in time.",
    )


def _summary(release: Release, card: IntervalCard) -> list[str]:
    what = "an envelope" if release.words is None else "an envelope and a pattern"
    sentences = [
        f"{release.released:,} time series of {len(release.block):,} points were published, each as {what} that it has in common with others.",
    ]
    if (worst := _worst(card)) is not None:
        sentences.append(
            f"Whoever knows a person's series finds the right record with a chance of at most {worst:.1f} %, and of "
            f"{card['breach_both_mean'] if 'breach_both_mean' in card else card['breach_values_mean']:.1f} % on average."
        )
    if isinstance(P := release.method.settings().get("P"), int):
        sentences.append(f"Fewer than {P} records are left out because too few others share their pattern.")
    return sentences


def _worst(card: IntervalCard) -> float | None:
    return card.figures.get("breach_both", card.figures.get("breach_values"))


def _figures(card: IntervalCard, public: bool) -> list[dict[str, str]]:
    return [
        {
            "title": title,
            "value": f"{card[name]:,.{0 if card[name] >= 1000 else 2}f}{unit and ' ' + unit}",
            "meaning": sentence,
        }
        for name, (title, unit, sentence) in MEANINGS.items()
        if name in card and not name.startswith("breach_") and not (public and name == "suppressed")
    ]


def _risk_figure(card: IntervalCard, public: bool) -> figures.Figure | None:
    if not card.links:
        return None
    chance = 100 * card.links.get("both", card.links["values"]).probability
    return figures.histogram(
        chance,
        ink="risk",
        title="Risk of each person",
        caption="The chance that whoever knows the whole series picks the right record.",
        axis="chance of being re-identified, %",
        public=public,
    )


def _riskiest(card: IntervalCard) -> list[dict[str, Any]]:
    chances = [name for name in card.per_record.columns if name.startswith("linked_by_")]
    first = (
        card.per_record.drop_nans(chances).sort(chances[-1:], descending=True, maintain_order=True).head(LISTED)
        if chances
        else card.per_record.clear()
    )
    return [
        {"original": row["original"], "chances": [(name.removeprefix("linked_by_"), row[name]) for name in chances]}
        for row in first.iter_rows(named=True)
    ]


def pictures(release: Release, public: bool) -> Iterator[tuple[str, list[figures.Figure]]]:
    """A few groups: the envelope, for the owner with the curves inside it, and the most frequent pattern."""
    if not release.n:
        return
    # Records of one envelope; of a release that was opened again nobody knows the groups.
    _, first, groups = np.unique(
        marks(release.made[release.rows][:, : 2 * len(release.block)])[:, 0], return_index=True, return_inverse=True
    )
    sizes = np.bincount(groups)
    lo, hi = release.lo[first], release.hi[first]
    if public:
        chosen = figures.by_level((lo + hi) / 2, sizes)
    else:
        width, level = value_loss(lo, hi), np.sqrt((((lo + hi) / 2) ** 2).mean(axis=1))
        chosen = figures.by_spread(np.divide(width, level, out=np.zeros_like(width), where=level > 0), sizes)
    x = release.original.block(release.block.name)[release.rows]
    for title, group in chosen:
        members = np.flatnonzero(groups == group)
        envelope = {"published": np.vstack([lo[group], hi[group]])}
        inside = {} if public else {"original": x[members[: figures.MEMBERS]]}
        drawn = [
            figures.Figure("Envelope", f"published for {len(members)} records", _curves(release, inside | envelope))
        ]
        if release.words is not None and release.levels is not None:
            drawn.append(_pattern(release, members, x, public))
        yield title, drawn


def _pattern(release: Release, members: Indices, x: Array, public: bool) -> figures.Figure:
    assert release.words is not None
    assert release.levels is not None
    pairs = [(release.words[row], int(release.levels[row])) for row in members]
    word, level = max(dict.fromkeys(pairs), key=pairs.count)
    rows = np.array([row for row, pair in zip(members, pairs, strict=True) if pair == (word, level)])
    T = x.shape[1]
    means = read_back(as_symbols([word]), np.array([level]))
    lines = {"published": means[:, np.arange(T) * len(word) // T]}
    if not public:
        lines = {"original": patterns(x[rows[: figures.MEMBERS]], T)} | lines
    return figures.Figure(
        f"Pattern {word}",
        f"level {level}, published for {len(rows)} of them; scaled to mean 0 and deviation 1",
        _curves(release, lines),
    )


def _curves(release: Release, lines: dict[str, Array]) -> str:
    times, temporal = figures._times(release.block)
    return figures._line_chart(times, temporal, lines)
