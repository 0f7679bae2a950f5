"""The page that shows two releases of the same data side by side; it draws original values and is private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil.assess.limits import Intruder
from tsveil.assess.protected import ProtectedRecords
from tsveil.assess.summary import LOSS, Kind, ReleaseFigures, risk_in_words
from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.data.write import write_text
from tsveil.guarantee.base import Verdict
from tsveil.report import figures
from tsveil.report.curves import mean_beside_gaps
from tsveil.report.meanings import figure_order, meaning
from tsveil.report.pages import page

#: figures that are better when they are larger
LARGER = frozenset({"similar_found"})
#: how the names of losses begin
LOSSES = ("IL", "PIL", "value_loss", "ncp", "pattern_loss", "suppressed", "range_", "similar_")
PARTS = {
    "loss": "What is lost",
    "risk": "What an intruder finds",
    "both": "Both together",
}
#: relative difference from which on one of two figures is better
SAME = 1e-9
#: attributes listed with their means
ATTRIBUTES = 40


def better(a: float | None, b: float | None, figure: str = "") -> str:
    """Which of two figures is better, "a" or "b"; nothing when they are the same or one is missing.

    Examples
    --------
    >>> better(1.0, 2.0), better(2.0, 2.0), better(1.0, 2.0, "similar_found")
    ('a', '', 'b')
    """
    if a is None or b is None or abs(a - b) <= SAME * max(abs(a), abs(b)):
        return ""
    return "a" if (a < b) != (figure in LARGER) else "b"


def compared_figures(a: ReleaseFigures, b: ReleaseFigures, kind: Kind) -> list[dict[str, Any]]:
    """All figures of the two with their titles; the one risk and the one loss of each come first."""
    rows: list[dict[str, Any]] = [
        {"part": name, "figure": name, "title": name, "unit": "%", "a": getattr(a, name), "b": getattr(b, name)}
        for name in ("loss", "risk")
    ]
    for figure in figure_order():
        one, other = a.figures.get(figure), b.figures.get(figure)
        title, unit, words = meaning(figure, kind)
        if (one is None and other is None) or not words:
            continue
        part = "both" if figure == "score" else "loss" if figure.startswith(LOSSES) else "risk"
        rows.append({"part": part, "figure": figure, "title": title, "unit": unit, "a": one, "b": other})
    return [row | {"better": better(row["a"], row["b"], row["figure"])} for row in rows]


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two releases."""

    name: str
    release: ProtectedRecords
    verdict: Verdict
    figures: ReleaseFigures


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two releases of the same data; made by `tsveil.compare`.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> both = tv.compare(tv.MDAV(k=2).protect(data), tv.MDAV(k=4).protect(data))
    >>> print(both.summary)
    B has less risk (25.0 % against 50.0 %), A less loss (10.9 % against 21.9 %): every gain has its price.
    """

    a: Side
    b: Side
    kind: Kind
    title: str = ""

    @property
    def table(self) -> pl.DataFrame:
        """A row per figure: part (loss, risk or both), figure, title, unit, a, b, better (a, b or neither)."""
        return pl.DataFrame(compared_figures(self.a.figures, self.b.figures, self.kind), infer_schema_length=None)

    @property
    def summary(self) -> str:
        """The outcome in a sentence."""
        names = {"a": self.a.name, "b": self.b.name}
        one, other = self.a.figures, self.b.figures
        less = {"risk": better(one.risk, other.risk), "loss": better(one.loss, other.loss)}
        stated = {
            name: f"({min(pair):.1f} % against {max(pair):.1f} %)" if less[name] else f"({pair[0]:.1f} %)"
            for name, pair in {"risk": (one.risk, other.risk), "loss": (one.loss, other.loss)}.items()
        }
        winners = [side for side in less.values() if side]
        if not winners:
            return f"Both have the same risk {stated['risk']} and the same loss {stated['loss']}."
        if len(winners) == 1:
            name, same = ("risk", "loss") if less["risk"] else ("loss", "risk")
            return f"{names[winners[0]]} has less {name} {stated[name]}; the {same} is the same {stated[same]}."
        if winners[0] == winners[1]:
            return f"{names[winners[0]]} is better in both: less risk {stated['risk']} and less loss {stated['loss']}."
        risk, loss = (names[side] for side in winners)
        return f"{risk} has less risk {stated['risk']}, {loss} less loss {stated['loss']}: every gain has its price."

    def html(self) -> str:
        """The comparison as one HTML page; it shows original values and is private."""
        rows = compared_figures(self.a.figures, self.b.figures, self.kind)
        data = self.a.release.original
        return page(
            "comparison.html.j2",
            {
                "title": self.title or f"{self.a.name} and {self.b.name} compared",
                "data": repr(data).removeprefix("Dataset: "),
                "summary": self.summary,
                "sides": [_side(self.a), _side(self.b)],
                "settings": _settings(self.a, self.b),
                "parts": [(title, [_row(row) for row in rows if row["part"] == part]) for part, title in PARTS.items()],
                "curves": list(_curves(self)) if self.kind == "series" else [],
                "attributes": _attributes(self, data) if self.kind == "attributes" else [],
                "definitions": (risk_in_words(Intruder()), LOSS[self.kind]),
            },
        )

    def write(self, path: str | Path) -> Path:
        """Write the page.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        write_text(Path(path), self.html())
        return Path(path)

    def __repr__(self) -> str:
        return f"Comparison: {self.summary}"


def _side(side: Side) -> dict[str, Any]:
    release = side.release
    return {
        "name": side.name,
        "method": release.method.name,
        "summary": release.method.summary,
        "words": release.guarantee.words,
        "promise": release.guarantee.short,
        "verdict": side.verdict,
        "risk": side.figures.risk,
        "loss": side.figures.loss,
        "attack": side.figures.attack,
        "published": release.n,
    }


def _settings(a: Side, b: Side) -> list[tuple[str, Any, Any, bool]]:
    """The parameters of the two, and whether they differ."""
    one, other = a.release.method.settings(), b.release.method.settings()
    names = [name for name in {**one, **other} if one.get(name) is not None or other.get(name) is not None]
    return [(name, one.get(name), other.get(name), one.get(name) != other.get(name)) for name in names]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    shown = {side: "" if row[side] is None else f"{row[side]:,.2f} {row['unit']}".rstrip() for side in ("a", "b")}
    return row | shown | {"title": {"loss": "Loss", "risk": "Risk"}.get(row["figure"], row["title"])}


# -- curves -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedCurves:
    """What a release publishes of a series: rows of values, or the bounds of envelopes; NaN where nothing is published."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        """The values, or the midlines."""
        return (self.low + self.high) / 2

    def lines(self, row: int) -> Array:
        """What is drawn of a record."""
        same = np.array_equal(self.low[row], self.high[row], equal_nan=True)
        return self.low[[row]] if same else np.vstack([self.low[row], self.high[row]])


def _published_curves(release: ProtectedRecords, name: str) -> PublishedCurves:
    if not release.envelopes:
        return PublishedCurves(release.data.block(name), release.data.block(name))
    low, high = (np.full((release.original.n, release.lo.shape[1]), np.nan) for _ in range(2))
    low[release.rows], high[release.rows] = release.lo, release.hi
    return PublishedCurves(low, high)


def _curves(both: Comparison) -> Iterator[tuple[str, list[figures.Figure]]]:
    """A few records of the first series as the one and the other publish them."""
    original = both.a.release.original
    block = original.series[0]
    x = original.block(block.name)
    drawn = [_published_curves(side.release, block.name) for side in (both.a, both.b)]
    away = [np.sqrt(((one.middle - x) ** 2).mean(axis=1)) for one in drawn]
    if both.a.release.original.masked:
        gone = [np.isnan(one.middle).all(axis=1) for one in drawn]
        away = [
            np.where(lost, np.nan, np.sqrt(mean_beside_gaps((one.middle - x) ** 2)))
            for one, lost in zip(drawn, gone, strict=True)
        ]
    there = np.flatnonzero(~np.isnan(away[0]) & ~np.isnan(away[1]))
    if not len(there):
        return
    one, other = (gap[there] for gap in away)
    order = np.argsort(one + other, kind="stable")
    wanted = {
        "A typical record": order[len(order) // 2],
        f"Where {both.a.name} keeps more": int((other - one).argmax()),
        f"Where {both.b.name} keeps more": int((one - other).argmax()),
        "Where most is lost": order[-1],
    }
    seen: set[int] = set()
    for title, at in wanted.items():
        row = int(there[at])
        if row in seen:
            continue
        seen.add(row)
        yield (
            title,
            [
                figures.Figure(
                    side.name, "", figures.curve_chart(block, {"original": x[[row]], "published": release.lines(row)})
                )
                for side, release in zip((both.a, both.b), drawn, strict=True)
            ],
        )


def _values(column: Array) -> Array:
    """What is no gap in a column."""
    there = ~np.isnan(column)
    return column if there.all() or not there.any() else column[there]


def _attributes(both: Comparison, data: Dataset) -> list[dict[str, Any]]:
    """Means and standard deviations of the attributes: original, and in the two releases."""
    tables = [data.values]
    for side in (both.a, both.b):
        tables.append(side.release.data.values)
    return [
        {
            "name": name,
            "means": [f"{_values(table[:, at]).mean():,.4g}" for table in tables],
            "sds": [f"{_values(table[:, at]).std():,.4g}" for table in tables],
        }
        for at, name in enumerate(data.columns[:ATTRIBUTES])
    ]
