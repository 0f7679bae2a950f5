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
from datetime import UTC, datetime

import polars as pl

import tsveil
from tsveil.data.dataset import Block, Dataset
from tsveil.errors import InputError
from tsveil.guarantee.nlk import NLKAnonymity
from tsveil.measure.nlk import (
    clusters_per_point,
    divergence_histogram,
    euclidean_loss,
    identification,
    normalised_divergence,
    std_shift,
)
from tsveil.release import Release
from tsveil.report import figures
from tsveil.report.pages import page


@dataclass(frozen=True)
class Section:
    """A part of a report that belongs to one model: its words, a row of figures for each series, and pictures."""

    title: str
    words: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    pictures: tuple[figures.Figure, ...]


def model_section(release: Release) -> Section | None:
    """The section for an (n,l,k)-anonymous release; None for others. Nothing in it speaks of single records."""
    promise = release.guarantee
    if not isinstance(promise, NLKAnonymity):
        return None
    blocks = release.data.blocks[: figures.SERIES]
    rows = tuple((block.name, _figures_of(release, block, promise.n)) for block in blocks)
    columns = (
        "loss, sum of |x - y|",
        "NormDiv",
        "shift of the standard deviation",
        "clusters at a time, mean",
        f"singled out by {promise.n} random values",
        f"singled out by {promise.n} chosen values, at least",
    )
    pictures = tuple(picture for block in blocks for picture in _pictures(release, block))
    title = f"What ({promise.n},{promise.l},{promise.k})-anonymity means here"
    return Section(title, _words(promise), columns, rows, pictures)


def _words(promise: NLKAnonymity) -> tuple[str, ...]:
    n, k, free = promise.n, promise.k, promise.l - promise.n - 1
    allowed = (
        "none of the other values"
        if free == 0
        else "at most one other value"
        if free == 1
        else f"at most {free} other values"
    )
    return (
        f"At every time the records with the same published value form a cluster, and most clusters hold at least {k} records. "
        f"Whoever knows any {n} values of a record can narrow down {allowed} of it to fewer than {k} records.",
        f"It is made for data in which a pattern over many points is the secret, such as a daily routine: {n} known readings must not "
        "give the routine away.",
        "It does not hide which record belongs to a person. A published series is a combination of clusters, and few combinations occur "
        "twice: the table below says how many records a few known values single out. Who has found the record sees its other values as "
        f"exactly as they are published, that is, mostly as the mean of at least {k} records.",
        f"It promises nothing against an intruder who knows more than {n} values.",
    )


def _figures_of(release: Release, block: Block, n: int) -> tuple[str, ...]:
    x, y = release.original.block(block.name), release.data.block(block.name)
    found = identification(y, n)
    return (
        f"{euclidean_loss(x, y):,.6g}",
        _or_dash(lambda: normalised_divergence(x, y)),
        _or_dash(lambda: std_shift(x, y)),
        f"{clusters_per_point(y).mean():.1f}",
        f"{found.random:.1f} %",
        f"{found.chosen:.1f} %",
    )


def _or_dash(figure: Callable[[], float]) -> str:
    """A percentage, or a dash where it is not defined for these data (a sum that is not positive, a constant table)."""
    try:
        return f"{figure():.2f} %"
    except InputError:
        return "–"


def _pictures(release: Release, block: Block) -> list[figures.Figure]:
    x, y = release.original.block(block.name), release.data.block(block.name)
    return [
        figures.shares(
            divergence_histogram(x, y),
            title=f"How far values moved, {block.name}",
            caption="Share of the values whose published value differs by so many percent.",
            axis="divergence of a value, %",
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
    today = datetime.now(UTC)
    parts = [(str(name), _study_pictures(part)) for (name,), part in study.group_by("series", maintain_order=True)]
    shown = study.with_columns(parameters=pl.format("({},{})", "n", "l").fill_null("any"))
    return page(
        "nlk_study.html.j2",
        {
            "public": False,
            "title": title or "(n,l,k)-anonymity: what it costs",
            "source": source,
            "n": data.n,
            "series": [(block.name, len(block)) for block in data.blocks],
            "parts": parts,
            "rows": shown.to_dicts(),
            "undecided": shown.filter(pl.col("status") != "holds").height,
            "version": tsveil.__version__,
            "date": f"{today.day} {today:%B %Y}",
        },
    )


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
    return [
        figures.trends(
            of_best,
            x="k",
            y="NormDiv",
            by="setting",
            title=f"Normalised divergence, {best}",
            caption="Loss against the values, for each (n,l); figures 7 and 8a of the paper.",
            axis="NormDiv, %",
        ),
        figures.trends(
            of_best,
            x="k",
            y="std shift",
            by="setting",
            title=f"Shift of the standard deviation, {best}",
            caption="For each (n,l); figures 8b and 9 of the paper.",
            axis="shift, %",
        ),
        figures.shares(
            {name.removeprefix("divergence ").removesuffix(" %"): share for name, share in histogram.items()},
            title=f"How far values moved, {best}, k = {largest['k'][0]}",
            caption="Share of the values by how much they differ, mean over (n,l); figure 10 of the paper.",
            axis="divergence of a value, %",
        ),
        figures.trends(
            average,
            x="k",
            y="reduction",
            by="name",
            title="Saved after stage 1",
            caption="Loss that the second stage saves, mean over (n,l), for each heuristic; figure 11 of the paper.",
            axis="less loss, %",
        ),
        figures.trends(
            of_best,
            x="k",
            y="identified by random values",
            by="setting",
            title=f"Singled out by n random values, {best}",
            caption="The model does not stop re-identification; not in the paper.",
            axis="series singled out, %",
        ),
    ]
