"""What a data protection officer asks of a release, in the words of European guidance.

The opinion WP216 [1]_ judges anonymisation by three questions: can somebody be **singled out**, can records be **linked** to a
person, can something be **inferred** about a person? The answers here are measured: how many published records stand alone, how
many an attack ties to the right person, how many values the release discloses. What an intruder can do is judged by the means
reasonably likely to be used (GDPR, recital 26), the motivated intruder of the ICO [2]_, and the context of the release
(ISO/IEC 27559 [3]_); techniques carry their names of ISO/IEC 20889 [4]_ (`tsveil.core.technique`).

Everything here is worked out from what is published and from figures over all records, so it may be shown to anyone, except
where a function says otherwise.

References
----------
.. [1] Article 29 Data Protection Working Party, Opinion 05/2014 on anonymisation techniques (WP216), 2014.
.. [2] Information Commissioner's Office, Anonymisation guidance, 2025; CNIL, L'anonymisation de donnees personnelles, 2020.
.. [3] ISO/IEC 27559:2022, Privacy enhancing data de-identification framework.
.. [4] ISO/IEC 20889:2018, Privacy enhancing data de-identification terminology and classification of techniques.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from markupsafe import Markup

from tsveil.assess.limits import RUNGS
from tsveil.core.errors import some
from tsveil.data.dataset import Dataset
from tsveil.guarantee.base import Verdict
from tsveil.measure.scorecard import Scorecard
from tsveil.report import figures
from tsveil.report.counts import LISTED
from tsveil.report.linkage import Risk, guessing
from tsveil.report.measuring import describe_options
from tsveil.report.pages import as_sentence, percent, section
from tsveil.report.subject import Subject
from tsveil.report.utility import SERIES_LISTED, card_part

#: records at highest risk that are listed
RISKIEST = 10
#: what is kept of each record beside its risk -> its title
KEPT = {"values_disclosed": "Values disclosed", "loss": "Loss", "loss_of_labels": "Loss of labels"}


def attacker(subject: Subject) -> Markup:
    """The attacker model: what is known, by whom, and with which means; what the publisher thinks of intruders is private."""
    ways = ", ".join(way.title for way in subject.linkages)
    model = [
        (
            "What is known",
            f"{_knowledge(subject)} The attacks take these values as exact, which is the most that anyone could know of them, and they take for granted "
            "that the person is in the file.",
        ),
        (
            "By whom",
            "Anyone who holds true values of the same people or observed them: whoever collected the data, a business partner, an "
            "acquaintance, or the person concerned.",
        ),
        (
            "Means reasonably likely",
            f"Only the published file, the method's name and parameters, those true values and an ordinary computer for a short while: {ways}. "
            "Nothing of this is secret, costly or slow, so whatever these attacks achieve counts as reasonably likely. Breaking in, inside "
            "help and coercion are not means of this kind and have to be met by other safeguards.",
        ),
    ]
    own = [
        ("By whom, as the publisher sees it", subject.context.intruders),
        ("Other sources", subject.context.knowledge),
    ]
    return section("attacker", attacker=model if subject.public else [*model, *own])


def _knowledge(subject: Subject) -> str:
    data: Dataset = subject.release.original
    if subject.release.envelopes:
        return "The whole true curve of a person, and so its shape."
    if data.labels and not data.masked:
        return "True values and labels of a person, of one column or series up to all of them; rates are averaged over how much is known."
    if len(data.series) > 1:
        return f"The true curves of a person, of one series up to all {len(data.series)}; rates are averaged over how many are known."
    if data.series:
        return "The whole true curve of a person."
    return "True values of a person, of one attribute up to all of them; rates are averaged over how many are known."


def singling_out(subject: Subject) -> Markup:
    """Records that share what is published, and shares of records that a few known values single out."""
    identified = [
        (block, name.removesuffix(", %"), float(value))
        for block, facts in subject.release.facts.items()
        for name, value in facts.items()
        if name.startswith("identified ")
    ]
    more = max(len(subject.release.original.blocks) - LISTED, 0)
    card = subject.card
    by_labels = (percent(card["KU1"]), percent(card["KU2"])) if "KU1" in card else None
    return section(
        "singling_out", crowds=subject.counts.crowds, more_blocks=more, identified=identified, by_labels=by_labels
    )


def linkability(subject: Subject) -> Markup:
    """What the attacks achieve."""
    return section(
        "linkability",
        public=subject.public,
        guess=guessing(subject.people),
        persons=bool(subject.card.persons),
        linkages=subject.linkages,
        by_known=None if subject.release.envelopes else _rates_by_knowledge(subject.card),
        risk_figure=_risk_figure(subject),
        options=[*describe_options(subject.card.options), *_sample_note(subject)],
    )


def _rates_by_knowledge(card: Any) -> dict[str, Any] | None:
    """The rates with one, two, ... series or attributes known, where the linkages have that in common."""
    counts = {len(rates) for rates in card.by_known.values()}
    if len(counts) != 1 or counts == {1} or max(counts) > SERIES_LISTED:
        return None
    ways = sorted(card.by_known, key=lambda name: -card[name])
    return {
        "columns": [("Known", ""), *((card.meanings[name].title, "number") for name in ways)],
        "rows": [[at + 1, *(percent(card.by_known[name][at]) for name in ways)] for at in range(counts.pop())],
    }


def _risk_figure(subject: Subject) -> figures.Figure | None:
    card = subject.card
    if subject.release.envelopes:
        if not card.links:
            return None
        risk = 100 * card.links.get("both", card.links["values"]).probability
        title, caption = (
            "Risk of each person",
            "The chance that an intruder who knows the whole series picks the right record.",
        )
    else:
        if "risk" not in card.per_record.columns:  # only a sample was attacked
            return None
        risk = card.per_record["risk"].to_numpy()
        never = 100 * float((risk == 0).mean())
        title = "Risk of each record"
        caption = f"The chance that the better linkage picks the right published record. {never:.0f} % of the records are never linked to {'their person' if card.persons else 'their own'}."
    axis = "chance of being re-identified, %"
    return figures.histogram(risk, ink="risk", title=title, caption=caption, axis=axis, public=subject.public)


def _sample_note(subject: Subject) -> list[str]:
    """A sentence about pictures that show a sample only."""
    count = subject.release.n
    if count == subject.release.released:
        return []
    return [
        f"Pictures of records show {count:,} of the {subject.release.released:,} published records: all records of some classes, chosen at random."
    ]


def inference(subject: Subject) -> Markup:
    """What can be concluded about a person, and attribute disclosure."""
    return section(
        "inference",
        answer=as_sentence(subject.inference_in_words),
        part=None if subject.release.envelopes else card_part(subject.card, "inference"),
        disclosed=subject.disclosed_columns,
        none_disclosed=bool(subject.release.original.confidential) and not subject.public,
    )


def residual_risk(subject: Subject) -> Markup:
    """The residual risk in a sentence, with the figures that join risk and loss."""
    sentence = residual(subject.verdict, subject.risk, subject.inference_in_words, subject.limit, public=subject.public)
    part = None if subject.release.envelopes else card_part(subject.card, "both")
    return section("residual_risk", residual=sentence, part=part if part and part["figures"] else None)


def residual(verdict: Verdict, risk: Risk | None, inferred: str, limit: float | None, *, public: bool) -> str:
    """The residual risk in one sentence; the limit that was set is for the owner only."""
    if risk is None:
        return "Nothing was published, so nothing remains at risk."
    promise = "Although its guarantee is NOT VERIFIED" if verdict.blocks_release else "After protection"
    sentence = (
        f"{promise}, an intruder who knows {risk.knows} finds {risk.found} of the persons "
        f"with the strongest attack that was tried ({risk.attack}), against {risk.guess} by guessing, and {inferred}"
    )
    if public:
        return f"{sentence}."
    if limit is None:
        return f"{sentence}; no limit for this risk was stated."
    place = "within" if risk.high <= limit * (1 + 1e-12) else "ABOVE"
    return f"{sentence}; the rate of the attack is {place} the limit of {limit:g} % that was accepted."


def riskiest(subject: Subject) -> Markup | None:
    """The records at highest risk; for the owner only."""
    if subject.public:
        return None
    words, columns, rows = _riskiest_envelopes(subject) if subject.release.envelopes else _riskiest_values(subject)
    return section("riskiest", words=words, columns=columns, rows=rows) if words or rows else None


Ranked = tuple[str, list[tuple[str, str]], list[list[str]]]


def _riskiest_values(subject: Subject) -> Ranked:
    """A sentence and a table; among records of equal risk those with the most disclosed values come first."""
    card = subject.card
    if not card.ladder:
        return "No attack was tried, so the risk of each record is not known.", [], []
    if "risk" not in card.per_record.columns:
        return "Only a sample of the records was attacked, so the risk of each record is not known.", [], []
    titles = titles_of_records(card)
    rungs = [name for name in titles if name.startswith("risk_")]
    records = with_highest_risk(card.per_record)
    risk = records["highest"].to_numpy()
    highest = float(risk.max())
    if highest <= 0:
        whose = "a published record of its person" if card.persons else "its own published record"
        return f"No record was linked to {whose} by any attack.", [], []
    as_high = int((risk >= highest * (1 - 1e-9)).sum())
    words = (
        f"The highest chance of being re-identified is {percent(highest)}, by whoever knows most; {as_high:,} of {subject.release.records:,} records have it. "
        + "Those with the most disclosed values are listed first. " * ("values_disclosed" in records.columns)
        + "Each linkage is shown on average over how much is known of a person."
    )
    kept = [name for name in titles if name in KEPT]
    order = ["highest", "risk", *(["values_disclosed"] if "values_disclosed" in kept else [])]
    first = records.sort(order, descending=True, maintain_order=True).head(RISKIEST)
    columns = [
        *(("Record", ""), ("Risk", "number")),
        *((title, "number") for title in titles.values()),
    ]
    rows = [
        [
            row["original"],
            percent(row["highest"]),
            *("not known" if name in rungs and math.isnan(row[name]) else percent(row[name]) for name in titles),
        ]
        for row in first.iter_rows(named=True)
    ]
    return words, columns, rows


def titles_of_records(card: Scorecard) -> dict[str, str]:
    """The figures that are kept of each record, and what they are called."""
    columns = card.per_record.columns
    rungs = {f"risk_{rung}": f"Who knows: {rung}" for rung in RUNGS if f"risk_{rung}" in columns}
    ways = {f"linked_by_{name}": card.meanings[name].title.removeprefix("linkage ") for name in card.by_known}
    ways = {name: way[0].upper() + way[1:] for name, way in ways.items()}
    return rungs | ways | {name: title for name, title in KEPT.items() if name in columns}


def with_highest_risk(records: pl.DataFrame) -> pl.DataFrame:
    """The figures of records with one more, `highest`: the chance of whoever knows most; not a number where no record's risk is known."""
    known = [name for name in records.columns if name == "risk" or name.removeprefix("risk_") in RUNGS]
    highest = pl.max_horizontal(pl.col(name).fill_nan(0.0) for name in known) if known else pl.lit(math.nan)
    return records.with_columns(highest=highest)


def _riskiest_envelopes(subject: Subject) -> Ranked:
    records = subject.card.per_record
    chances = [name for name in records.columns if name.startswith("linked_by_")]
    if not chances:
        return "", [], []
    first = records.drop_nans(chances).sort(chances[-1:], descending=True, maintain_order=True).head(RISKIEST)
    columns = [("Record", ""), *((f"By {name.removeprefix('linked_by_')}", "number") for name in chances)]
    rows = [[row["original"], *(f"{row[name]:.1f} %" for name in chances)] for row in first.iter_rows(named=True)]
    return "", columns, rows


def open_questions(subject: Subject) -> Markup:
    """What the attacks and measures of the report leave open."""
    data, envelopes = subject.release.original, subject.release.envelopes
    more = []
    if data.series and any(block.kind == "attributes" for block in data.blocks):
        more.append("The attributes: the measures of this report look at the time series only.")
    if labels := [block.name for block in data.blocks if block.categories is not None]:
        if data.masked:
            more.append(
                f"The labels ({some(labels)}): beside gaps no attack and no measure knows them. What is shared with how many others counts labels, too."
            )
        elif states := [block.name for block in data.blocks if block.kind == "categorical series"]:
            more.append(
                f"Intruders who know the states of a person ({some(states)}) at other times than those published, or shifted in time: no attack knows these."
            )
    if data.confidential:
        more.append("Whether the carried columns by themselves, or joined with other files, identify records.")
    more.append(
        "Intruders who know a series inexactly, or shifted or stretched in time."
        if envelopes
        else "Intruders who know only a part of a curve, know it inexactly, or compare curves shifted or stretched in time."
        if data.series
        else "Intruders who know values inexactly."
    )
    more += [
        "Intruders who hold another release of the same or of overlapping data.",
        "Whether the presence of a person in the data can be found out, and what can be inferred about groups of people.",
    ]
    return section("untested", untested=more)
