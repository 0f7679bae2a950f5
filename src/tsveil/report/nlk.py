"""What a report says about (n,l,k)-anonymity: the model in plain words, its own measures, and the paper's experiments as a page.

The promise is easily taken for more than it is, so every report of such a release says first what it does not stop, with the
share of series that the published values themselves single out.

Examples
--------
>>> import tsveil as tv
>>> from tsveil.data.synthetic import random_series
>>> release = tv.NLK(n=2, l=5, k=4).protect(random_series(40, 12))
>>> section = model_section(release)
>>> section.title
'What (2,5,4)-anonymity means here'
>>> section.words[0].startswith("At every time the records with the same published value form a cluster")
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tsveil.assess.protected import ProtectedRecords
from tsveil.core.errors import InputError
from tsveil.core.types import Array
from tsveil.data.dataset import Block, Dataset
from tsveil.data.times import seconds_of
from tsveil.measure.habits import habits_left
from tsveil.measure.nlk import (
    alone_by_windows,
    clusters_per_point,
    divergence_histogram,
    euclidean_loss,
    identification,
    normalised_divergence,
    std_shift,
)
from tsveil.report import figures
from tsveil.report.curves import SERIES
from tsveil.report.pages import page, percent


@dataclass(frozen=True)
class Section:
    """A part of a report that belongs to one model: its words, a row of figures for each series, and pictures."""

    title: str
    words: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    pictures: tuple[figures.Figure, ...]

    @property
    def heads(self) -> list[tuple[str, str]]:
        """The columns of its table."""
        return [("Series", ""), *((name, "number") for name in self.columns)]

    @property
    def cells(self) -> list[list[str]]:
        """The rows of its table."""
        return [[name, *values] for name, values in self.rows]


def model_section(release: ProtectedRecords) -> Section | None:
    """The section for a promise against an intruder who knows some values; None for others. Nothing in it speaks of single records."""
    promise = release.guarantee
    if not promise.known:
        return None
    blocks = release.data.blocks[:SERIES]
    rows = tuple((block.name, _figures_of(release, block, promise.known)) for block in blocks)
    columns = (
        "loss, sum of |x - y|",
        "NormDiv",
        "shift of the standard deviation",
        "clusters at a time, mean",
        f"singled out by {promise.known} random values",
        f"singled out by {promise.known} chosen values, at least",
        "steps that are still shown (by another's series)",
        "daily peak at the same time (in another's series)",
    )
    pictures = tuple(picture for block in blocks for picture in _pictures(release, block))
    return Section(f"What {promise.short} means here", promise.meaning, columns, rows, pictures)


def _figures_of(release: ProtectedRecords, block: Block, n: int) -> tuple[str, ...]:
    x, y = release.original.block(block.name), release.data.block(block.name)
    found = identification(y, n)
    habits, (x, y) = _habits_of(x, y, block), _both_there(x, y)
    return (
        f"{euclidean_loss(x, y):,.6g}",
        _or_dash(lambda: normalised_divergence(x, y)),
        _or_dash(lambda: std_shift(x, y)),
        f"{clusters_per_point(release.data.block(block.name)).mean():.1f}",
        f"{found.random:.1f} %",
        f"{found.chosen:.1f} %",
        *habits,
    )


def _both_there(x: Array, y: Array) -> tuple[Array, Array]:
    """The values that are published beside the original ones; all of them where there are no gaps."""
    there = ~np.isnan(y)
    return (x, y) if there.all() else (x[there], y[there])


def _habits_of(x: Array, y: Array, block: Block) -> tuple[str, str]:
    """What is left of appliances and habits, beside what the series of another record shows of them."""
    if np.isnan(y).any():
        return "–", "–"
    found = habits_left(x, y, seconds_of(block.labels, block.form))
    pairs = (found.steps, found.steps_of_another), (found.peak, found.peak_of_another)
    steps, peak = ("–" if np.isnan(own) else f"{own:.1f} % ({other:.1f} %)" for own, other in pairs)
    return steps, peak


def _or_dash(figure: Callable[[], float]) -> str:
    """A percentage, or a dash where it is not defined for these data (a sum that is not positive, a constant table)."""
    try:
        return f"{figure():.2f} %"
    except InputError:
        return "–"


def _pictures(release: ProtectedRecords, block: Block) -> list[figures.Figure]:
    x, y = release.original.block(block.name), release.data.block(block.name)
    return [
        figures.shares(
            divergence_histogram(*_both_there(x, y)),
            title=f"How far values moved, {block.name}",
            caption="Share of the values whose published value differs by that many percent.",
            axis="divergence of a value, %",
        ),
        figures.shares(
            {str(length): share for length, share in alone_by_windows(y).items()},
            title=f"Series left alone, {block.name}",
            caption="Share of the series that nobody else shares the published values of consecutive times with, averaged over all windows.",
            axis="known consecutive values",
            of="share of the series, %",
        ),
        figures.over_time(
            block,
            clusters_per_point(y).astype(float),
            title=f"Clusters, {block.name}",
            caption=f"Different published values at each time; {release.data.n:,} would be the raw data.",
        ),
    ]


# -- the paper's experiments ------------------------------------------------------------------------------------------


def nlk_study_page(study: pl.DataFrame, data: Dataset, *, title: str = "", source: str = "") -> str:
    """A page with the experiments of the paper (its figures 7 to 11) from the table of `tsveil.protect.nlk.nlk_study`.

    It holds figures over all records only.

    Examples
    --------
    >>> from tsveil.data.synthetic import random_series
    >>> from tsveil.protect.nlk import nlk_study
    >>> data = random_series(40, 12)
    >>> text = nlk_study_page(nlk_study(data, pairs=[(2, 5)], ks=[4, 6], heuristics=["mil", "mth"]), data)
    >>> text.startswith("<!doctype html>"), "Saved after stage 1" in text
    (True, True)
    """
    parts = [(str(name), _study_pictures(part)) for (name,), part in study.group_by("series", maintain_order=True)]
    shown = study.with_columns(parameters=pl.format("({},{})", "n", "l").fill_null("any"))
    return page(
        "nlk_study.html.j2",
        {
            "title": title or "(n,l,k)-anonymity: what it costs",
            "source": source,
            "n": data.n,
            "series": [(block.name, len(block)) for block in data.blocks],
            "parts": parts,
            "columns": [
                *((name, "") for name in ("Series", "(n,l)")),
                ("k", "number"),
                ("Heuristic", "nowrap"),
                *((name, "number") for name in FIGURES),
                ("Verified", ""),
            ],
            "rows": [_row(row) for row in shown.iter_rows(named=True)],
            "undecided": shown.filter(pl.col("status") != "holds").height,
        },
    )


#: heading -> column of the study's table, and its form
FIGURES: dict[str, tuple[str, str]] = {
    "NormDiv": ("NormDiv", "{:.2f} %"),
    "Saved": ("reduction", "{:.1f} %"),
    "Shift": ("std shift", "{:.2f} %"),
    "Clusters at a time": ("clusters per point", "{:.1f}"),
    "Singled out, random": ("identified by random values", ""),
    "chosen": ("identified by chosen values", ""),
}


def _row(row: dict[str, Any]) -> list[str]:
    """A row of the study's table as it is shown."""
    figures_of = [form.format(row[name]) if form else percent(row[name]) for name, form in FIGURES.values()]
    return [row["series"], row["parameters"], row["k"], row["heuristic"], *figures_of, row["status"]]


def _study_pictures(study: pl.DataFrame) -> list[figures.Figure]:
    """The pictures for one series."""
    made = study.filter(pl.col("heuristic") != "stage 1").with_columns(
        setting=pl.format("({},{})", "n", "l"), name=pl.col("heuristic").str.to_uppercase()
    )
    best = "PEEL" if "PEEL" in made["name"].to_list() else str(made["name"].to_list()[-1])
    of_best = made.filter(name=best)
    average = made.group_by("k", "name", maintain_order=True).agg(pl.col("reduction").mean())
    largest = of_best.filter(k=of_best["k"].max())
    histogram = largest.select(pl.mean("^divergence .*$")).row(0, named=True)
    moved = {name.removeprefix("divergence ").removesuffix(" %"): share for name, share in histogram.items()}

    def trend(rows: pl.DataFrame, column: str, by: str, title: str, caption: str, axis: str) -> figures.Figure:
        return figures.trends(rows, x="k", y=column, by=by, title=title, caption=caption, axis=axis)

    return [
        trend(
            of_best, "NormDiv", "setting", f"Normalised divergence, {best}",
            "Loss against the values, for each (n,l); figures 7 and 8a of the paper.", "NormDiv, %",
        ),
        trend(
            of_best, "std shift", "setting", f"Shift of the standard deviation, {best}",
            "For each (n,l); figures 8b and 9 of the paper.", "shift, %",
        ),
        figures.shares(
            moved,
            title=f"How far values moved, {best}, k = {largest['k'][0]}",
            caption="Share of the values by how much they differ, mean over (n,l); figure 10 of the paper.",
            axis="divergence of a value, %",
        ),
        trend(
            average, "reduction", "name", "Saved after stage 1",
            "Loss that the second stage saves, mean over (n,l), for each heuristic; figure 11 of the paper.", "less loss, %",
        ),
        trend(
            of_best, "identified by random values", "setting", f"Singled out by n random values, {best}",
            "The model does not stop re-identification; not in the paper.", "series singled out, %",
        ),
    ]  # fmt: skip
