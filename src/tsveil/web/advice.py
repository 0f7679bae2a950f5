"""What to recommend within limits: for the job that chooses, and for the page on which the limits are moved.

The choice is that of `Study.recommend`, as on the command line and in the report of a study.
"""

from __future__ import annotations

from typing import Any

from tsveil.guarantee.base import Status
from tsveil.study.choice import SAME, Recommendation
from tsveil.study.study import Study
from tsveil.web.studies import Limits


def recommended(study: Study, limits: Limits) -> Recommendation:
    """The best within the limits; without any, as if every risk were accepted."""
    given = {"max_risk": limits.max_risk, "max_loss": limits.max_loss}
    if limits.max_risk is None and limits.max_loss is None:
        given["max_risk"] = 100.0
    return study.recommend(**given, verified=limits.verified)


def advise(study: Study, limits: Limits) -> dict[str, Any]:
    """The best as the page shows it: its key, empty if nothing fits, and why."""
    found = recommended(study, limits)
    return {"best": found.best["key"] if found.best else "", "advice": " ".join([found.reason, *found.notes])}


def described_rows(study: Study, limits: Limits) -> list[dict[str, Any]]:
    """The rows of a study, each with what the limits say of it: `above` that of the risk, or `fits` all of them."""
    found = []
    for row in study.table.to_dicts():
        above = limits.max_risk is not None and (row["high"] or 0.0) > limits.max_risk * SAME
        lost = limits.max_loss is not None and (row["loss"] or 0.0) > limits.max_loss * SAME
        silent = limits.verified and row["verdict"] != Status.HOLDS
        found.append(row | {"above": above, "fits": not (above or lost or silent)})
    return found
