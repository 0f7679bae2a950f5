"""The score card of a release in many files: what was lost (`losses`) and what still leaks (`linkage`), put together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from tsveil.data.store import Store
from tsveil.engine.base import Engine, Result
from tsveil.large.columns import PERCENTS
from tsveil.large.job import Job
from tsveil.large.linkage import Attacked, attacked, column_attacks
from tsveil.large.losses import attribute_losses
from tsveil.large.people import told
from tsveil.large.risk import write_risks
from tsveil.measure import microdata
from tsveil.measure.forecast import MODELS, fitting_models
from tsveil.measure.scorecard import Scorecard
from tsveil.measure.series import MEANINGS, with_meanings


def scorecard(store: Store, job: Job, files: Sequence[Result], engine: Engine) -> tuple[Scorecard, dict[str, int]]:
    """Loss and risk of the whole release, and for each carried column the number of records whose value is disclosed.

    What was found of each record is written to the private folder.
    """
    found = attacked(store, job, files, engine)
    write_risks(store, job, found, engine)
    card = _of_series(job, files, found) if job.source.series else _of_attributes(store, job, found)
    return card, found.disclosed


def _of_series(job: Job, files: Sequence[Result], found: Attacked) -> Scorecard:
    def mean(name: str, figure: str) -> float:
        return math.fsum(one["series"][name][figure] * one["records"] for one in files) / job.n

    per_series = {}
    for role in job.source.series:
        one = {figure: mean(role.name, figure) for figure in ("IL1.1", "IL1.2", "IL2", "IL3", "ID")}
        one["IL1"] = (one["IL1.1"] + one["IL1.2"]) / 2
        one["IL"] = (one["IL1"] + one["IL2"] + one["IL3"]) / 3
        per_series[role.name] = one
    figures = {
        figure: float(np.mean([one[figure] for one in per_series.values()]))
        for figure in ("IL1", "IL2", "IL3", "IL", "IL1.1", "IL1.2")
    }
    options = {"ties": "expected", "dr1": "max", "normalise": "global", "scaling": "original", "variant": "default"}
    figures |= {figure: float(np.mean(rates)) for figure, rates in found.by_known.items()}
    figures["DR1"] = max(figures[figure] for figure in ("EULD", "STSLD") if figure in figures)
    figures["ID"] = float(np.mean([one["ID"] for one in per_series.values()]))
    figures["DR"] = (figures["DR1"] + figures["ID"]) / 2
    figures["score"] = (figures["IL"] + figures["DR"]) / 2
    shortest = min(len(role.columns) for role in job.source.series)
    if left_out := [name for name in MODELS if name not in fitting_models(shortest)]:
        options["models left out"] = f"{', '.join(left_out)} (series of {shortest} points are too short for them)"
    shown = with_meanings([figure for figure in found.by_known if figure not in MEANINGS])
    attributes = [role.name for role in job.source.blocks if role.times is None]
    return _card(job, figures, per_series, options, shown, found, attributes)


def _of_attributes(store: Store, job: Job, found: Attacked) -> Scorecard:
    figures = attribute_losses(store, job)
    width = len(job.source.columns)
    options = {"score": "max", "known": f"1 to {width} attributes", "ties": "expected", "scaling": "original"}
    figures |= {figure: float(np.mean(rates)) for figure, rates in found.by_known.items()}
    strongest = max(found.by_known, key=lambda figure: figures[figure])
    options["strongest"] = next(run.title for run in column_attacks(job) if run.figure == strongest)
    figures["DR1"] = figures[strongest]
    figures["ID"] = 100 * found.hits / (job.n * width * len(PERCENTS))
    figures["DR"] = (figures["DR1"] + figures["ID"]) / 2
    figures["score"] = (figures["IL"] + figures["DR"]) / 2
    return _card(job, figures, {}, options, microdata.MEANINGS, found, [])


def _card(
    job: Job, figures: dict[str, float], per_series: dict[str, dict[str, float]], options: dict[str, str],
    meanings: dict[str, tuple[str, str]], found: Attacked, left_out: list[str],
) -> Scorecard:  # fmt: skip
    options["people"] = told(job, found.people)
    if found.skipped:
        options["skipped"] = "; ".join(found.skipped)
    if missing := [*left_out, *found.not_measured]:
        options["not measured"] = ", ".join(missing)
    return Scorecard(figures, per_series, pl.DataFrame(), options, meanings, found.by_known)
