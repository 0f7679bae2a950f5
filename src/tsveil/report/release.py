"""The report of a release, whatever it publishes."""

from __future__ import annotations

from typing import Any

from tsveil.guarantee.base import Verdict
from tsveil.release import Release
from tsveil.report.html import report as value_report
from tsveil.report.intervals import interval_report


def report(release: Release, card: Any, verdict: Verdict, *, public: bool, **shown: Any) -> str:
    """The page as HTML text; `release` has its records in the published order, and `shown` are the options of the pages."""
    page = interval_report if release.envelopes else value_report
    return page(release, card, verdict, public=public, **shown)
