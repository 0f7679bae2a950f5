"""The beginning of a report: the verdict, the release in a few sentences, key figures, the three questions, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from markupsafe import Markup

from tsveil.assess.assessment import NOT_NAMED, Attempt, Outcome
from tsveil.assess.limits import IN_WORDS, Intruder
from tsveil.attack.base import Rung
from tsveil.guarantee.base import Status
from tsveil.report import figures
from tsveil.report.counts import Crowd
from tsveil.report.pages import as_sentence, percent, section
from tsveil.report.subject import Subject

#: the verdict -> the kind of the banner and its words
BANNERS = {
    Status.HOLDS: ("holds", "Verified: {}"),
    Status.VIOLATED: ("fails", "NOT VERIFIED: the guarantee is violated"),
    Status.UNKNOWN: ("fails", "NOT VERIFIED: whether the guarantee holds could not be decided"),
    Status.NONE_CLAIMED: ("none", "No guarantee is claimed"),
}


def heading(subject: Subject) -> Markup:
    """Title, verdict and summary."""
    kind, words = BANNERS[subject.verdict.status]
    if subject.assessment is not None:
        judged = subject.assessment.verdict
        kind, words = ("fails" if judged in (Outcome.FAILS, Outcome.NOT_DECIDED) else judged.value), _headline(subject)
    return section(
        "heading",
        public=subject.public,
        title=subject.title,
        verdict=subject.verdict,
        banner=(kind, words.replace("{}", subject.release.guarantee.short)),
        guarantee=subject.release.guarantee,
        # A witness names rows of the original file.
        witness=[] if subject.public else [line.strip() for line in subject.verdict.witness.splitlines()],
        summary=_of_envelopes(subject) if subject.release.envelopes else _of_values(subject),
    )


def _headline(subject: Subject) -> str:
    """The first line of the verdict; a witness of a broken promise names rows and is for the owner only."""
    found = subject.assessment
    assert found is not None
    if subject.public and subject.verdict.blocks_release:
        return found.verdict.words
    return found.headline


def checks(subject: Subject) -> Markup | None:
    """Every check of the verdict, and what each intruder finds."""
    found = subject.assessment
    if found is None:
        return None
    rows = [(check.name, check.status.words, _message(subject, check.name, check.message)) for check in found.checks]
    in_order = _from_the_least(found.ladder)
    rung = found.intruder.knows
    promise = subject.release.guarantee
    drawn = [(one.rung, one.attack, one.rate) for one in in_order]
    return section(
        "checks",
        rows=rows,
        picture=figures.ladder(drawn, 100 * float(Fraction(promise.bound)) if promise.intruder == "file" else None),
        ladder=ladder_rows(found.ladder),
        subtraction=found.subtraction,
        over_time=found.over_time,
        not_named=NOT_NAMED,
        rung=rung,
        knows=IN_WORDS[rung],
        declared=rung != Intruder().knows,
        allowed=found.allowed,
        public=subject.public,
    )


def _message(subject: Subject, name: str, message: str) -> str:
    return subject.verdict.guarantee if subject.public and name == "promise" else message


def _from_the_least(ladder: Sequence[Attempt]) -> list[Attempt]:
    """The attempts of the intruder who knows least first."""
    return sorted(ladder, key=lambda one: list(Rung).index(Rung(one.rung)))


def ladder_rows(ladder: Sequence[Attempt]) -> list[tuple[str, str, str, str, str]]:
    """What each intruder finds, as every page shows it: rung, attack, rate, interval, guessing."""
    return [
        (one.rung, one.attack, percent(one.rate), _interval(one), percent(one.guess)) for one in _from_the_least(ladder)
    ]


def _interval(one: Attempt) -> str:
    return "all attacked" if one.low == one.high else f"{percent(one.low)} to {percent(one.high)}"


def _risk_sentences(subject: Subject) -> list[str]:
    """What the intruder finds whom the release must withstand, as a sentence; nothing where nothing was published."""
    risk = subject.risk
    if risk is None:
        return []
    words = f"An intruder who knows {risk.knows} finds {risk.found} of the persons with the strongest attack ({risk.attack}); guessing finds {risk.guess}."
    return [words]


def _of_values(subject: Subject) -> list[str]:
    release, card = subject.release, subject.card
    series = [f"{block.name} ({len(block):,} points)" for block in release.data.series]
    attributes = sum(len(block) for block in release.data.blocks if block.kind == "attributes")
    labels = sum(len(block) for block in release.data.blocks if block.kind == "categories")
    states = [
        f"{block.name} ({len(block):,} points)" for block in release.data.blocks if block.kind == "categorical series"
    ]
    holding = [f"the time series {series[0]}"] if len(series) == 1 else []
    if len(series) > 1:
        holding = [f"{len(series)} time series: {', '.join(series[:3])}{' and others' if len(series) > 3 else ''}"]
    holding += [f"{attributes:,} attributes"] if attributes else []
    holding += [f"{labels:,} columns of labels"] if labels else []
    holding += [f"series of labels: {', '.join(states)}"] if states else []
    protected = f"{release.records:,} records were protected, each with {' and '.join(holding)}."
    gaps = [release.about_gaps] if release.about_gaps else []
    labels_differ = (
        [f"{percent(100 - card['LU'])} of the published labels differ from the original ones."] if "LU" in card else []
    )
    if series:
        return [
            protected,
            *gaps,
            *_risk_sentences(subject),
            f"Published values differ from the original ones by {percent(card['IL2'])} on average, forecasts made from them by {percent(card['IL3'])}.",
            *labels_differ,
        ]
    if "IL1" not in card:
        return [protected, *_risk_sentences(subject), *labels_differ]
    return [
        protected,
        *gaps,
        *_risk_sentences(subject),
        f"Published values differ from the original ones by {percent(card['IL1'])} on average, their means by {percent(card['IL2'])}.",
        *labels_differ,
    ]


def _of_envelopes(subject: Subject) -> list[str]:
    release = subject.release
    what = "an envelope" if release.words is None else "an envelope and a pattern"
    sentences = [
        f"{release.released:,} time series of {len(release.block):,} points were published, each as {what} that it has in common with others.",
        *_risk_sentences(subject),
    ]
    ways = {way.title: way for way in subject.linkages}
    way = ways.get("linkage by values and pattern", ways.get("linkage by values"))
    if way is not None:
        sentences.append(
            f"An intruder who knows a person's series finds the right record with a chance of at most {way.highest:.1f} %, and of "
            f"{way.rate:.1f} % on average."
        )
    if isinstance(P := release.method.settings().get("P"), int):
        sentences.append(f"Fewer than {P} records are left out because too few others share their pattern.")
    return sentences


def key_figures(subject: Subject) -> Markup | None:
    """The figures of the score card that sum up the others, where there is a score."""
    release, card, verdict = subject.release, subject.card, subject.verdict
    if "score" not in card:
        return None
    risk = subject.risk
    # label, value, note and kind of each
    tiles = [("Records", f"{release.records:,}", _size(subject), "")]
    if tile := release.guarantee.tile:
        kept = {Status.HOLDS: "verified", Status.NONE_CLAIMED: "nothing is promised"}.get(
            verdict.status, "NOT VERIFIED"
        )
        tiles.append((*tile, kept, "bad" if verdict.blocks_release else ""))
    tiles += [
        ("Information loss", percent(card["IL"]), "0 % is no loss", "loss"),
        (
            "Disclosure risk",
            percent(card["DR"]),
            "of the numbers; 0 % is no leak" if release.data.labels else "0 % is no leak",
            "risk",
        ),
        ("Score", f"{card['score']:.1f}", "lower is better; raw data: 50", ""),
    ]
    tiles += (
        [("Risk", risk.found, f"of the persons are found by the strongest attack, {risk.attack}", "risk")]
        if risk
        else []
    )
    return section("key_figures", tiles=tiles)


def _size(subject: Subject) -> str:
    blocks = subject.release.data.blocks
    lengths = {len(block) for block in blocks}
    if len(blocks) == 1:
        return f"{len(blocks[0]):,} {'points' if blocks[0].times is not None else 'attributes'} each"
    return f"{len(blocks)} blocks" + (f" of {lengths.pop():,}" if len(lengths) == 1 else "")


def three_questions(subject: Subject) -> Markup:
    """The questions of WP216 in a sentence each, answered from the crowds of all protected values and of everything published, and the strongest attack."""
    values, everything = subject.counts.protected_crowd, subject.counts.crowds[-1]
    if values.alone:
        single = f"{_alone(values)} have published values that no other record has."
    elif everything.alone:
        single = f"No published row of values stands alone; with the carried columns {_alone(everything)} do."
    else:
        least = everything.smallest - 1
        single = f"No published record stands alone: each has all its entries in common with at least {least:,} other{'s' * (least > 1)}."
    risk = subject.risk
    link = (
        f"The strongest attack finds {risk.found} of the persons; guessing would find {risk.guess}."
        if risk
        else "Nothing was published that could be linked."
    )
    three = [
        ("Singling out", "Can a record be isolated?", single),
        ("Linkability", "Can a record be tied to a person?", link),
        ("Inference", "Can something be concluded about a person?", as_sentence(subject.inference_in_words)),
    ]
    return section("three_questions", three=three)


def _alone(crowd: Crowd) -> str:
    return f"{crowd.alone:,} of {crowd.records:,} records"


def warnings(subject: Subject) -> Markup | None:
    """What the owner must know; warnings may name records."""
    if subject.public or not subject.release.warnings:
        return None
    return section("warnings", warnings=subject.release.warnings)
