"""What a report is about and who reads it: the one argument of its sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tsveil.assess.assessment import Assessment
from tsveil.assess.limits import IN_WORDS
from tsveil.assess.protected import ProtectedRecords
from tsveil.guarantee.base import Verdict
from tsveil.report.context import Context
from tsveil.report.counts import Counts, DisclosedColumn
from tsveil.report.linkage import Linkage, Risk, guessing, linkages
from tsveil.report.pages import percent


@dataclass(frozen=True, eq=False)
class Subject:
    """A release with its score card, its verdict and what else a report shows.

    The public version is put together from what may be known, not by crossing out from the private one: every section asks `public`.
    """

    release: ProtectedRecords
    card: Any
    verdict: Verdict
    public: bool
    counts: Counts
    context: Context
    title: str = ""
    #: the name of the input, and its SHA-256; for the owner only
    source: str = ""
    digest: str = ""
    #: the verdict on the release as a whole, where it was judged
    assessment: Assessment | None = None
    #: the releases of the same persons, this one last, as the ledger lists them
    releases: Sequence[Any] = ()

    @cached_property
    def linkages(self) -> list[Linkage]:
        """What the attacks achieved, the best first."""
        return linkages(self.card, envelopes=self.release.envelopes)

    @property
    def people(self) -> int:
        """How many can be found: the persons, where these may have several records, or the published records."""
        return self.card.persons or self.release.released

    @property
    def risk(self) -> Risk | None:
        """The risk of the verdict; of a release that was not judged, the best linkage."""
        if self.assessment is not None:
            risk, knows = self.assessment.risk, IN_WORDS[self.assessment.intruder.knows]
            return Risk(knows, percent(risk.rate), risk.attack, percent(risk.guess), risk.high)
        if not self.linkages:
            return None
        best = max(self.linkages, key=lambda way: way.rate_with_full_knowledge)
        knows, guess = "the true values of a person in the file", guessing(self.people)
        return Risk(knows, percent(best.rate_with_full_knowledge), best.title, guess, best.rate_with_full_knowledge)

    @property
    def limit(self) -> float | None:
        """The risk that is accepted, in percent, if a limit was set."""
        checks = self.assessment.checks if self.assessment else ()
        return next((check.figures["limit"] for check in checks if "limit" in check.figures), None)

    @property
    def disclosed_columns(self) -> list[DisclosedColumn]:
        """The carried columns with attribute disclosure; which ones is for the owner only."""
        return [] if self.public else list(self.counts.disclosed)

    @property
    def inference_in_words(self) -> str:
        """What can be inferred, with the carried column that is disclosed most, as half a sentence."""
        if self.release.envelopes:
            words = f"an envelope confines the values of a person to {percent(self.card['ncp'])} of the range of all values, on average"
        elif not len(self.card):
            words = "what can be inferred from published labels was not measured"
        elif "ID" not in self.card:
            words = f"{percent(self.card['LU'])} of the labels are published as they were"
        else:
            words = f"{percent(self.card['ID'])} of the true values lie so near to the published ones that publishing discloses them"
            if "LU" in self.card:
                words += f", and {percent(self.card['LU'])} of the labels are published as they were"
        if not self.disclosed_columns:
            return words
        worst = self.disclosed_columns[0]
        return f"{words}, and {worst.records:,} records are in classes that disclose {worst.column}"
