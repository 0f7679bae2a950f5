"""The report of a release as one HTML page: no scripts, no network, pictures inside.

There are two versions. The private one is for the owner of the data: it shows original curves, identifiers and the records at
highest risk. The public one goes out with the data. It is put together from a list of things that may be known (the
published values, the method, the figures of the score card, counts rounded), not by crossing out from the private one; texts
that a method or a reader wrote for the owner (warnings, notes, witnesses of a violation) may name records and are left out.

A section is a function of `Subject` that gives its HTML, or nothing where it does not apply to what is published.

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

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from tsveil.assess.assessment import Assessment
from tsveil.assess.protected import ProtectedRecords
from tsveil.core.errors import some
from tsveil.guarantee.base import Verdict
from tsveil.report import background, curves, disclosure, earlier, labels, overview, promise, utility
from tsveil.report.context import Context
from tsveil.report.counts import Counts
from tsveil.report.pages import page
from tsveil.report.subject import Subject

#: in the order of the page
SECTIONS: tuple[Callable[[Subject], Markup | None], ...] = (
    overview.heading,
    overview.checks,
    overview.key_figures,
    overview.three_questions,
    overview.warnings,
    curves.values,
    curves.envelopes,
    labels.labels,
    background.recipients,
    background.columns,
    background.technique,
    disclosure.attacker,
    disclosure.singling_out,
    disclosure.linkability,
    disclosure.inference,
    promise.guarantee,
    promise.model,
    utility.losses,
    earlier.earlier_releases,
    disclosure.residual_risk,
    disclosure.riskiest,
    disclosure.open_questions,
    background.about,
)


def report(
    release: ProtectedRecords,
    card: Any,
    verdict: Verdict,
    *,
    public: bool,
    title: str = "",
    source: str = "",
    digest: str = "",
    context: Context | None = None,
    counts: Counts | None = None,
    assessment: Assessment | None = None,
    releases: Sequence[earlier.Listed] = (),
) -> str:
    """The report as the text of an HTML page.

    `release` has its records in the published order. `counts` is what was counted over all records, if the release is a sample of them;
    `source` names the input and `digest` is its SHA-256; both are shown to its owner only. `context` is what only a person knows of the
    release, `assessment` the verdict on it as a whole, `releases` those of the same persons, this one last.
    """
    counts, context = counts or Counts.of(release), context or Context()
    subject = Subject(
        release, card, verdict, public, counts, context, title or _title(release), source, digest, assessment, releases
    )
    sections = [made for section in SECTIONS if (made := section(subject)) is not None]
    return page("report.html.j2", {"public": public, "title": subject.title, "sections": sections})


def _title(release: ProtectedRecords) -> str:
    names = some([block.name for block in release.original.series], 3).replace("'", "")
    return f"Protected time series: {names}" if names else "Protected data"
