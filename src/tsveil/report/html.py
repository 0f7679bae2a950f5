"""The report of a release as one HTML page: no scripts, no network, pictures inside.

There are two versions. The private one is for the owner of the data: it shows original curves, identifiers and the records at
highest risk. The public one goes out with the data. It is put together from a list of things that may be known (the
published values, the method, the figures of the score card, counts rounded), not by crossing out from the private one; texts
that a method or a reader wrote for the owner (warnings, notes, witnesses of a violation) may name records and are left out.

Examples
--------
>>> import tsveil as tv
>>> data = tv.example("ibex")
>>> release = tv.MDAV(k=5).protect(data)
>>> page = report(release, tv.evaluate(data, release), release.verify(), public=True, title="Share prices")
>>> page.startswith("<!doctype html>"), "Telecinco" in page
(True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tsveil._types import Array
from tsveil.data.dataset import Dataset
from tsveil.errors import some
from tsveil.guarantee.base import Status, Verdict
from tsveil.guarantee.nlk import NLKAnonymity
from tsveil.measure.scorecard import Scorecard
from tsveil.release import Release
from tsveil.report import assessment, figures
from tsveil.report.assessment import Found, Linkage
from tsveil.report.context import Context
from tsveil.report.nlk import model_section
from tsveil.report.pages import page, percent

#: the parts of the score card: what was lost, what can be inferred, and all together; each with its figures and the one that sums it up
PARTS: dict[str, tuple[str, str, str]] = {
    "loss": ("Information loss", "What users of the data lose.", "IL"),
    "inference": ("Values given away", "What the published values say about the true ones.", ""),
    "both": ("Risk and loss together", "Every gain on one side has its price on the other.", "score"),
}
#: so many records at highest risk are listed
LISTED = 10
#: so many series have a row of their own in tables
SERIES_LISTED = 20

#: what an evaluation left out -> how the report begins to say so
NOTES = {
    "targets": "Records attacked",
    "skipped": "Skipped",
    "models left out": "Forecasts left out",
    "not measured": "Not measured",
}
#: option of the evaluation -> value -> what it means
OPTIONS: dict[str, dict[str, str]] = {
    "ties": {
        "expected": "When several published records fit equally well, the intruder picks one of them at random.",
        "first": "When several published records fit equally well, the intruder takes the first; the result depends on the order of rows.",
    },
    "dr1": {
        "max": "Of the two linkages the better one counts as re-identification.",
        "mean": "The mean of the two linkages counts as re-identification.",
    },
    "normalise": {
        "global": "Before linking, each series is normalised by one mean and one standard deviation over all records.",
        "per-record": "Before linking, each record is normalised by its own mean and standard deviation.",
        "component": "Before linking, each time point is normalised by its own mean and standard deviation.",
        "ranging": "Before linking, each time point is mapped to its range from 0 to 1.",
        "none": "Series are linked without normalising them.",
    },
    "scaling": {
        "original": "The intruder normalises both files by the original's figures: the strongest assumption.",
        "own": "The intruder normalises each file by its own figures.",
    },
    "variant": {
        "default": "Losses are mean absolute differences.",
        "paper": "Losses are differences of absolute statistics as printed in the source paper, which hides changes of sign.",
    },
}


@dataclass(frozen=True)
class Tile:
    """A key figure."""

    label: str
    value: str
    note: str
    kind: str = ""


def report(
    release: Release,
    card: Scorecard,
    verdict: Verdict,
    *,
    public: bool,
    title: str = "",
    source: str = "",
    digest: str = "",
    context: Context | None = None,
    found: Found | None = None,
) -> str:
    """The report as the text of an HTML page.

    `found` is what was counted over all records, if the release is a sample of them; `source` names the input and `digest` is its SHA-256; both are shown to its owner only. `context` is what only a person
    knows of the release.
    """
    context = context or Context()
    shown = assessment.common(
        release.method,
        release.guarantee,
        verdict,
        release.data,
        context,
        public=public,
        title=title or _title(release.data),
        source=source,
        digest=digest,
        identified=True,
    )
    shown |= _for_all(release, card, verdict, context, public, found or Found.of(release))
    shown |= _for_the_public(release) if public else _for_the_owner(release, card)
    return page("report.html.j2", shown)


# -- what both versions show ------------------------------------------------------------------------------------------


def _for_all(
    release: Release, card: Scorecard, verdict: Verdict, context: Context, public: bool, found: Found
) -> dict[str, Any]:
    data = release.data
    charts = figures.curves(release, public=public)
    *alone, values, everything = found.crowds
    linkages = _linkages(card)
    given_away = [] if public else found.disclosures
    near = f"{percent(card['ID'])} of the true values lie so near to the published ones that publishing gives them away"
    inferred = assessment.with_given_away(near, given_away)
    return {
        "n": release.records,
        "summary": _summary(release, card),
        "tiles": _tiles(release, card, verdict),
        "three": assessment.three_answers(values, everything, linkages, release.records, inferred),
        "attacker": assessment.attacker(context, _known(data), [way.title for way in linkages], public=public),
        "crowds": [*alone, *dict.fromkeys([values, everything])],
        "more_blocks": max(len(data.blocks) - SERIES_LISTED, 0),
        "identification": _identification(release),
        "linkages": linkages,
        "guess": assessment.guessing(release.records),
        "by_known": _by_known(card),
        "given_away": given_away,
        "residual": assessment.residual(verdict, linkages, release.records, inferred, context, public=public),
        "parts": _parts(card),
        "per_series": _per_series(card),
        "more_series": max(len(card.per_series) - SERIES_LISTED, 0),
        "series_count": len(data.series),
        "curves": charts,
        "drawn_together": [
            (block.name, figures.drawn_together(len(block)))
            for block, _ in charts
            if figures.drawn_together(len(block)) > 1
        ],
        "loss_figure": _loss_figure(card, public),
        "risk_figure": _risk_figure(card, public),
        "options": [
            *(OPTIONS[name][value] for name, value in card.options.items() if value in OPTIONS.get(name, {})),
            *(f"{words}: {card.options[name]}." for name, words in NOTES.items() if name in card.options),
            *assessment.sampled(release),
        ],
        "model": model_section(release),
        "untested": _untested(release),
    }


def _title(data: Dataset) -> str:
    names = some([block.name for block in data.series], 3).replace("'", "")
    return f"Protected time series: {names}" if names else "Protected data"


def _summary(release: Release, card: Scorecard) -> list[str]:
    """The release in a few sentences."""
    data = release.data
    series = [f"{block.name} ({len(block):,} points)" for block in data.series]
    attributes = sum(len(block) for block in data.blocks if not block.is_series)
    holding = [f"the time series {series[0]}"] if len(series) == 1 else []
    if len(series) > 1:
        holding = [f"{len(series)} time series: {', '.join(series[:3])}{' and others' if len(series) > 3 else ''}"]
    holding += [f"{attributes:,} attributes"] if attributes else []
    protected = f"{release.records:,} records were protected, each with {' and '.join(holding)}."
    right = f"picks the right published record in {percent(_best(card)[1])} of the cases"
    if series:
        known = f", on average over 1 to {len(series)} known series" if len(series) > 1 else ""
        return [
            protected,
            f"An intruder who knows the true curve of a record {right}{known}.",
            f"Published values differ from the original ones by {percent(card['IL2'])} on average, forecasts made from them by {percent(card['IL3'])}.",
        ]
    return [
        protected,
        f"An intruder who knows true values of a record {right}, on average over the number of attributes known.",
        f"Published values differ from the original ones by {percent(card['IL1'])} on average, their means by {percent(card['IL2'])}.",
    ]


def _best(card: Scorecard) -> tuple[str, float]:
    """The attack that re-identifies most records, and its rate."""
    name, rate = card.best_attack
    return card.meanings[name][0], rate


def _tiles(release: Release, card: Scorecard, verdict: Verdict) -> list[Tile]:
    data = release.data
    attack, rate = _best(card)
    right = rate * release.records / 100
    tiles = [Tile("Records", f"{release.records:,}", _size(release))]
    if "k" in (settings := release.method.settings()):
        kept = {Status.HOLDS: "verified", Status.NONE_CLAIMED: "nothing is promised"}.get(
            verdict.status, "NOT VERIFIED"
        )
        # Only of a guarantee that is about groups k is their size.
        nlk = isinstance(release.guarantee, NLKAnonymity)
        label, value = (
            ("(n,l,k)", release.guarantee.short.split("-")[0]) if nlk else ("Smallest group", f"k = {settings['k']}")
        )
        tiles.append(Tile(label, value, kept, "bad" if verdict.blocks_release else ""))
    average = ", on average over the number of series known" if len(data.series) > 1 else ""
    few = "fewer than 1" if 0 < right < 1 else f"{round(right):,}"
    return [
        *tiles,
        Tile("Information loss", percent(card["IL"]), "0 % is no loss", "loss"),
        Tile("Disclosure risk", percent(card["DR"]), "0 % is no leak", "risk"),
        Tile("Score", f"{card['score']:.1f}", "lower is better; raw data: 50"),
        Tile("Re-identified", f"{few} of {release.records:,}", f"by the best attack, {attack}{average}", "risk"),
    ]


def _size(release: Release) -> str:
    blocks = release.data.blocks
    lengths = {len(block) for block in blocks}
    if len(blocks) == 1:
        return f"{len(blocks[0]):,} {'points' if blocks[0].is_series else 'attributes'} each"
    return f"{len(blocks)} blocks" + (f" of {lengths.pop():,}" if len(lengths) == 1 else "")


def _known(data: Dataset) -> str:
    if len(data.series) > 1:
        return f"The true curves of a person, of one series up to all {len(data.series)}; rates are averaged over how many are known."
    if data.series:
        return "The whole true curve of a person."
    return "True values of a person, of one attribute up to all of them; rates are averaged over how many are known."


def _identification(release: Release) -> list[tuple[str, str, float]]:
    """Shares of records that a few known values single out, where the method measured them on what it published."""
    return [
        (block, name.removesuffix(", %"), float(value))
        for block, facts in release.facts.items()
        for name, value in facts.items()
        if name.startswith("identified ")
    ]


def _linkages(card: Scorecard) -> list[Linkage]:
    """The record linkages, best attack first."""
    found = [
        Linkage(card.meanings[name][0], card[name], card.meanings[name][1], name, at_most=max(rates))
        for name, rates in card.by_known.items()
    ]
    return sorted(found, key=lambda linkage: -linkage.rate)


def _by_known(card: Scorecard) -> dict[str, Any] | None:
    """The rates with one, two, ... series or attributes known, where the linkages have that in common."""
    counts = {len(rates) for rates in card.by_known.values()}
    if len(counts) != 1 or counts == {1} or max(counts) > SERIES_LISTED:
        return None
    ways = sorted(card.by_known, key=lambda name: -card[name])
    return {
        "names": [card.meanings[name][0] for name in ways],
        "rows": [[card.by_known[name][at] for name in ways] for at in range(counts.pop())],
    }


def _parts(card: Scorecard) -> dict[str, dict[str, Any]]:
    """The score card in its parts, without the linkages."""
    members: dict[str, list[str]] = {"loss": [], "inference": [], "both": []}
    for name in card.meanings:
        if name in card and name not in card.by_known:
            loss = name.startswith(("IL", "PIL"))
            members["loss" if loss else "inference" if name == "ID" else "both"].append(name)
    return {
        key: {
            "key": key,
            "title": title,
            "note": note,
            "figures": [
                {
                    "name": name,
                    "title": card.meanings[name][0],
                    "meaning": card.meanings[name][1],
                    "value": card[name],
                    "bar": round(min(max(card[name], 0.0), 100.0), 2),
                    "total": name == total,
                }
                for name in members[key]
            ],
        }
        for key, (title, note, total) in PARTS.items()
    }


def _per_series(card: Scorecard) -> dict[str, Any] | None:
    """The figures of each series, where there are several."""
    if len(card.per_series) < 2:
        return None
    shown = dict(list(card.per_series.items())[:SERIES_LISTED])
    names = [name for name in card.meanings if any(name in row for row in shown.values())]
    rows = [(series, [own.get(name) for name in names]) for series, own in shown.items()]
    return {"names": [(name, card.meanings[name][0]) for name in names], "rows": rows}


def _loss_figure(card: Scorecard, public: bool) -> figures.Figure | None:
    loss = _column(card, "loss")
    middle, most = np.quantile(loss, [0.5, 0.9])
    return figures.histogram(
        loss,
        ink="loss",
        title="Loss of each record",
        caption=f"Half of the records lose less than {middle:.0f} %, nine in ten less than {most:.0f} %.",
        axis="information loss of a record, %",
        public=public,
    )


def _risk_figure(card: Scorecard, public: bool) -> figures.Figure | None:
    if "risk" not in card.per_record.columns:  # only a sample was attacked
        return None
    risk = _column(card, "risk")
    never = 100 * float((risk == 0).mean())
    return figures.histogram(
        risk,
        ink="risk",
        title="Risk of each record",
        caption=f"The chance that the better linkage picks the right published record. {never:.0f} % of the records are never linked to their own.",
        axis="chance of being re-identified, %",
        public=public,
    )


def _column(card: Scorecard, name: str) -> Array:
    return card.per_record[name].to_numpy()


def _untested(release: Release) -> list[str]:
    """What the attacks and measures of this report leave open."""
    more = []
    if any(not block.is_series for block in release.data.blocks) and release.data.series:
        more.append("The attributes: the measures of this report look at the time series only.")
    if release.data.confidential:
        more.append("Whether the carried columns by themselves, or joined with other files, identify records.")
    more.append(
        "Intruders who know only a part of a curve, know it inexactly, or compare curves shifted or stretched in time."
        if release.data.series
        else "Intruders who know values inexactly."
    )
    return assessment.untested(*more)


# -- what only the owner sees -----------------------------------------------------------------------------------------


def _for_the_owner(release: Release, card: Scorecard) -> dict[str, Any]:
    attacked = "risk" in card.per_record.columns
    risk = _column(card, "risk") if attacked else np.zeros(1)
    highest = float(risk.max())
    return {
        "notes": list(release.original.notes),
        "warnings": list(release.warnings),
        "facts": _facts(release),
        "riskiest": _riskiest(card) if highest > 0 else [],
        "ways": [words[0].upper() + words[1:] for _, words in _ways(card)],
        "highest": highest if attacked else None,
        "as_high": int((risk >= highest * (1 - 1e-9)).sum()),
    }


def _facts(release: Release) -> list[tuple[str, str]]:
    """Figures of the run that the table of blocks does not show already."""
    known = {"groups", "smallest group", "largest group"}
    own = {
        block: {name: value for name, value in facts.items() if name not in known}
        for block, facts in release.facts.items()
    }
    return [
        (block, ", ".join(f"{name}: {value}" for name, value in facts.items())) for block, facts in own.items() if facts
    ]


def _riskiest(card: Scorecard) -> list[dict[str, Any]]:
    """The records at highest risk; among equals those whose values are given away most."""
    first = card.per_record.sort(["risk", "values_disclosed"], descending=True, maintain_order=True).head(LISTED)
    return [
        row
        | {
            "chances": [row[f"linked_by_{name}"] for name in card.by_known],
            "why": "linked " + " and ".join(words for name, words in _ways(card) if row[f"linked_by_{name}"] > 0),
        }
        for row in first.iter_rows(named=True)
    ]


def _ways(card: Scorecard) -> list[tuple[str, str]]:
    """The linkages with a short name each: "by values"."""
    return [(name, card.meanings[name][0].removeprefix("linkage ")) for name in card.by_known]


def _for_the_public(release: Release) -> dict[str, Any]:
    """The same names as for the owner, with nothing in them."""
    return {
        "notes": ["The data were prepared before they were protected; their publisher knows how."]
        if release.original.notes
        else [],
        "warnings": [],
        "facts": [],
        "riskiest": [],
        "ways": [],
        "highest": None,
        "as_high": None,
    }
