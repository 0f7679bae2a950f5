"""What a report says about the release besides its risk: who gets it, which columns it has, how it was made, and by which program."""

from __future__ import annotations

from markupsafe import Markup

from tsveil.core.errors import some
from tsveil.core.params import Parameters
from tsveil.core.technique import techniques_in_words
from tsveil.data.gaps import in_public
from tsveil.report.counts import LISTED
from tsveil.report.pages import section
from tsveil.report.subject import Subject

#: facts of a run that another section shows already
SHOWN = {"groups", "smallest group", "largest group"}


def recipients(subject: Subject) -> Markup | None:
    """What a person said about the release and its recipients."""
    answers = subject.context.answers(public=subject.public)
    return section("recipients", answers=answers) if answers else None


def columns(subject: Subject) -> Markup:
    """The roles of all columns and what happened to them."""
    notes = subject.release.original.notes
    if subject.public:
        notes = tuple(map(in_public, notes))
    return section("columns", roles=roles(subject), notes=notes)


def roles(subject: Subject) -> list[tuple[str, str, str, str]]:
    """Name, columns, role and what happened to it, for every column of the input; names of columns left out are for the owner only."""
    data, public = subject.release.original, subject.public
    identified = not subject.release.envelopes  # envelopes have no identifiers
    by = f"protected by {subject.release.method.name}"
    if data.id:
        name = data.id if identified or not public else "the identifier"
        happened = "replaced by a fresh random one" if identified else "left out"
        rows = [(name, "", "direct identifier", happened)]
    else:
        rows = [("the place in the file", "", "direct identifier", "rows are in random order")]
    for block in data.blocks[:LISTED]:
        if block.times is not None:
            what = f"{len(block):,} points, {block.labels[0]} to {block.labels[-1]}"
        else:
            what = some(block.columns, 6).replace("'", "")
        kind = "quasi-identifiers, a time series" if block.times is not None else "quasi-identifiers"
        rows.append((block.name, what, kind, by))
    if len(data.blocks) > LISTED:
        rows.append((f"{len(data.blocks) - LISTED} more blocks", "", "quasi-identifiers", by))
    rows += [(name, "", "confidential (sensitive) attribute", "carried unchanged") for name in data.confidential]
    if data.dropped:
        many = "1 column" if len(data.dropped) == 1 else f"{len(data.dropped)} columns"
        rows.append((many if public else ", ".join(data.dropped), "", "no role", "left out"))
    return rows


def technique(subject: Subject) -> Markup:
    """The method, in its own words and in those of the standard."""
    method = subject.release.method
    docs = {p.name: p.doc for p in method.parameters()} if isinstance(method, Parameters) else {}
    facts = {
        block: ", ".join(f"{name}: {value}" for name, value in facts.items() if name not in SHOWN)
        for block, facts in subject.release.facts.items()
    }
    return section(
        "technique",
        public=subject.public,
        technique=techniques_in_words(method.techniques),
        opinion=method.techniques[0].opinion,
        method=method,
        settings=[(name, value, docs.get(name, "")) for name, value in method.settings().items() if value is not None],
        method_reason=subject.context.method_reason.strip(),
        facts=[(f"Run, {block}", words) for block, words in facts.items() if words],
    )


def about(subject: Subject) -> Markup:
    """Program, date and input; a hash of the input would confirm a guess of it and is for the owner only."""
    shown = {} if subject.public else {"source": subject.source, "digest": subject.digest}
    return section("about", **{"source": "", "digest": "", **shown})
