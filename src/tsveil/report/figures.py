"""The pictures of the report, as static SVG.

Every picture is a small chart of its own, so that a page can set two side by side on a screen and one below the other on a
telephone. Colours are the few names of `INK`: the style sheet of the page maps them to those of a light or dark page.

What a picture shows depends on who reads it. For the owner: original curves under the published ones. For the public: what the
published file shows anyway, and counts of records rounded so that no bar speaks of a few of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block

if TYPE_CHECKING:
    import altair as alt

#: the colours that the style sheet knows, by what they paint
INK = {
    "original": "#8a94a0",
    "published": "#1b64b0",
    "loss": "#2a72b8",
    "risk": "#c2571a",
    "axis": "#6b7580",
    "grid": "#d9dee3",
}
#: a curve is drawn with at most this many points
POINTS = 400
#: public counts are multiples of this
ROUNDED = 5
WIDTH, HEIGHT = 380, 170
#: what the chart renderer sets aside when it starts (measured: more than 64 GB, less than 80), though it uses little of it
ADDRESSES = 80_000_000_000


@dataclass(frozen=True)
class Figure:
    """A picture with its words."""

    title: str
    caption: str
    svg: str


# -- curves -----------------------------------------------------------------------------------------------------------


def _times(block: Block) -> tuple[Array, bool]:
    """The times of a series for an axis, and whether they are moments (in milliseconds) or plain numbers."""
    assert block.times is not None
    try:
        first, last = (
            datetime.fromisoformat(label).replace(tzinfo=None) for label in (block.labels[0], block.labels[-1])
        )
    except (ValueError, IndexError):
        return block.times, False
    if len(block) < 2:
        return block.times, False
    start = (first - datetime(1970, 1, 1)).total_seconds()
    share = (block.times - block.times[0]) / (block.times[-1] - block.times[0])
    return np.asarray(1000 * (start + share * (last - first).total_seconds())), True


def thinned(rows: Array, most: int = POINTS) -> Array:
    """Rows with at most `most` columns, each the mean of neighbouring ones.

    Examples
    --------
    >>> thinned(np.array([[1.0, 3.0, 5.0, 7.0, 9.0]]), most=3)
    array([[2., 6., 9.]])
    """
    step = drawn_together(rows.shape[1], most)
    if step == 1:
        return rows
    starts = np.arange(0, rows.shape[1], step)
    lengths = np.diff(starts, append=rows.shape[1])
    return np.asarray(np.add.reduceat(rows, starts, axis=1) / lengths)


def drawn_together(points: int, most: int = POINTS) -> int:
    """How many neighbouring points of a series become one point of a picture."""
    return -(-points // most)


def curve_chart(block: Block, lines: dict[str, Array]) -> str:
    """Rows of "original" and "published" values of a series as thin and thick lines."""
    import altair as alt

    times, temporal = _times(block)
    at = thinned(times[None, :])[0].tolist()
    axis = _time_axis(at, temporal)
    thin = 0.8 if len(at) > 100 else 1.3  # many thin lines stay apart, few may be seen
    layers, datasets = [], {}
    for name, rows in lines.items():
        thick = name == "published"
        layers.append(
            alt.Chart(alt.NamedData(name))
            .mark_line(
                color=INK[name],
                strokeWidth=1.8 if thick else thin,
                opacity=1.0 if thick else 0.65,
                aria=False,
                strokeJoin="round",
            )
            .encode(
                x=alt.X("t:T" if temporal else "t:Q", axis=axis, scale=_time_scale(temporal)),
                y=alt.Y("v:Q", axis=alt.Axis(title=None, tickCount=4), scale=alt.Scale(zero=False)),
                detail="curve:N",
            )
        )
        datasets[name] = [
            {"t": t, "v": v, "curve": number}
            for number, row in enumerate(thinned(rows).tolist())
            for t, v in zip(at, row, strict=True)
        ]
    return _svg(alt.layer(*layers), datasets)


def _time_scale(temporal: bool) -> alt.Scale:
    import altair as alt

    # Universal time draws stamps as they are written; local time would move them by the zone of this computer.
    return alt.Scale(type="utc", nice=False) if temporal else alt.Scale(zero=False, nice=False)


def _time_axis(at: list[float], temporal: bool) -> alt.Axis:
    import altair as alt

    days = (at[-1] - at[0]) / 86_400_000
    if not temporal:
        form = "d" if all(float(t).is_integer() for t in at) else "~f"
    elif days <= 2:
        form = "%H:%M"
    elif days <= 180:
        form = "%-d %b"
    else:
        form = "%b %Y" if days <= 1500 else "%Y"
    return alt.Axis(title=None, format=form, tickCount=5, grid=False, labelOverlap="greedy", labelFlush=True)


# -- distributions ----------------------------------------------------------------------------------------------------


def histogram(values: Array, *, ink: str, title: str, caption: str, axis: str, public: bool) -> Figure | None:
    """How many records have which percentage; None when rounding leaves nothing to show."""
    import altair as alt

    edges, counts = bars(values)
    if public:
        counts = counts // ROUNDED * ROUNDED
    if not counts.any():
        return None
    last = int(np.flatnonzero(counts)[-1]) + 1
    rows = [
        {"low": low, "high": high, "count": count}
        for low, high, count in zip(
            edges[:last].tolist(), edges[1 : last + 1].tolist(), counts[:last].tolist(), strict=True
        )
    ]
    chart = (
        alt.Chart(alt.NamedData("bars"))
        .mark_bar(color=INK[ink], binSpacing=1, aria=False)
        .encode(
            x=alt.X(
                "low:Q", bin="binned", axis=alt.Axis(title=axis, tickCount=6, grid=False), scale=alt.Scale(nice=False)
            ),
            x2="high",
            y=alt.Y("count:Q", axis=alt.Axis(title="records", tickCount=4, tickMinStep=1)),
        )
    )
    if public:
        caption += f" Counts are rounded down to multiples of {ROUNDED}."
    return Figure(title, caption, _svg(chart, {"bars": rows}))


def bars(values: Array) -> tuple[Array, Indices]:
    """Edges and counts of a histogram from 0 with steps that read well; what is not a number (a suppressed record) is not counted.

    Examples
    --------
    >>> edges, counts = bars(np.array([0.0, 20.0, 20.0]))
    >>> edges.tolist()[-2:], counts.tolist()[-1]
    ([19.0, 20.0], 2)
    """
    values = values[~np.isnan(values)]
    top = max(float(values.max(initial=0.0)), 1.0)
    rough = top / 20
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough * (1 - 1e-9)))
    edges = step * np.arange(int(np.ceil(top / step - 1e-9)) + 1, dtype=np.float64)
    counts, _ = np.histogram(np.minimum(values, edges[-1]), edges)
    return edges, counts.astype(np.int64)


# -- shares and trends ------------------------------------------------------------------------------------------------


def shares(parts: Mapping[str, float], *, title: str, caption: str, axis: str) -> Figure:
    """A bar for each class, in percent, in the order given."""
    import altair as alt

    chart = (
        alt.Chart(alt.NamedData("bars"))
        .mark_bar(color=INK["loss"], aria=False)
        .encode(
            x=alt.X("name:N", sort=None, axis=alt.Axis(title=axis, labelAngle=0)),
            y=alt.Y("share:Q", axis=alt.Axis(title="share of the values, %", tickCount=4)),
        )
    )
    return Figure(title, caption, _svg(chart, {"bars": [{"name": n, "share": v} for n, v in parts.items()]}))


def over_time(block: Block, values: Array, *, title: str, caption: str) -> Figure:
    """A figure at each time of a series."""
    return Figure(title, caption, curve_chart(block, {"published": values[None, :]}))


def trends(frame: pl.DataFrame, *, x: str, y: str, by: str, title: str, caption: str, axis: str) -> Figure:
    """A line for each value of the column `by`, told apart by dashes and points, not by colour alone."""
    import altair as alt

    names = frame[by].unique(maintain_order=True).to_list()
    dashes = [[1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [3, 1], [1, 3]]
    strokes = alt.Scale(domain=names, range=[dashes[at % len(dashes)] for at in range(len(names))])
    shapes = alt.Scale(domain=names, range=["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"])
    columns = [alt.X("x:Q", axis=alt.Axis(title=x, grid=False, tickMinStep=1), scale=alt.Scale(zero=False))]
    height = alt.Y("y:Q", axis=alt.Axis(title=axis, tickCount=5))
    legend = alt.Legend(title=None, orient="top", columns=6, labelColor=INK["axis"], symbolSize=60)
    base = alt.Chart(alt.NamedData("rows")).encode(*columns, height)
    lines = base.mark_line(color=INK["loss"], strokeWidth=1.4, aria=False).encode(
        strokeDash=alt.StrokeDash("name:N", scale=strokes, sort=names, legend=legend), detail="name:N"
    )
    points = base.mark_point(color=INK["loss"], filled=False, size=34, aria=False).encode(
        shape=alt.Shape("name:N", scale=shapes, sort=names, legend=legend)
    )
    rows = [{"x": r[x], "y": r[y], "name": r[by]} for r in frame.select(x, y, by).iter_rows(named=True)]
    return Figure(title, caption, _svg(alt.layer(lines, points), {"rows": rows}))


# -- drawing ----------------------------------------------------------------------------------------------------------


def _svg(chart: alt.Chart | alt.LayerChart | alt.FacetChart, datasets: dict[str, list[dict[str, Any]]]) -> str:
    """The chart as SVG text; its rows are added last, because checking each of them against the schema is slow."""
    import vl_convert

    from tsveil.data.memory import reserve_addresses

    reserve_addresses(ADDRESSES, "drawing the charts of a report")
    axis = {"labelColor": INK["axis"], "titleColor": INK["axis"], "gridColor": INK["grid"], "domainColor": INK["axis"]}
    spec = chart.properties(width=WIDTH, height=HEIGHT, background="transparent", padding=4).to_dict()
    spec["datasets"] = datasets
    spec["config"] = {
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": axis
        | {"tickColor": INK["axis"], "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
    }
    return str(vl_convert.vegalite_to_svg(spec, vl_version=vega_version()))


def vega_version() -> str:
    """The version of Vega-Lite in which Altair writes charts, as the renderer takes it."""
    import altair as alt

    return "_".join(alt.SCHEMA_VERSION.split(".")[:2])
