"""The pictures of the report, as static SVG, written in Vega-Lite.

Every picture is a small chart of its own, so that a page can set two side by side on a screen and one below the other on a
telephone. Colours are the few names of `INK`: the style sheet of the page maps them to those of a light or dark page.

What a picture shows depends on who reads it. For the owner: original curves under the published ones. For the public: what the
published file shows anyway, and counts of records rounded so that no bar speaks of a few of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from tsveil.core.types import Array, Indices
from tsveil.data.dataset import Block
from tsveil.data.time_forms import moment

#: the colours that the style sheet knows, by what they paint
INK = {
    "original": "#8a94a0",
    "published": "#1b64b0",
    "loss": "#2a72b8",
    "risk": "#c2571a",
    "axis": "#6b7580",
    "grid": "#d9dee3",
}
#: the types of Vega-Lite's fields
NUMBER, NAME = "quantitative", "nominal"
#: a curve is drawn with at most this many points
POINTS = 400
#: public counts are multiples of this
ROUNDED = 5
WIDTH, HEIGHT = 380, 170
#: what the chart renderer sets aside when it starts (measured: more than 64 GB, less than 80), though it uses little of it
ADDRESSES = 80_000_000_000

_UNDRAWN = ContextVar("_UNDRAWN", default=False)


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
        ends = (block.labels[0], block.labels[-1])
        if block.form:
            first, last = (found.replace(tzinfo=None) for label in ends if (found := moment(label, block.form)))
        else:
            first, last = (datetime.fromisoformat(label).replace(tzinfo=None) for label in ends)
    except (ValueError, IndexError):
        return block.times, False
    if len(block) < 2:
        return block.times, False
    start = (first - datetime(1970, 1, 1)).total_seconds()
    share = (block.times - block.times[0]) / (block.times[-1] - block.times[0])
    return np.asarray(1000 * (start + share * (last - first).total_seconds())), True


def thin_columns(rows: Array, most: int = POINTS) -> Array:
    """Rows with at most `most` columns, each the mean of neighbouring ones.

    Examples
    --------
    >>> thin_columns(np.array([[1.0, 3.0, 5.0, 7.0, 9.0]]), most=3)
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
    times, temporal = _times(block)
    at = thin_columns(times[None, :])[0].tolist()
    thin = 0.8 if len(at) > 100 else 1.3  # many thin lines stay apart, few may be seen
    # Universal time draws stamps as they are written; local time would move them by the zone of this computer.
    scale = {"type": "utc", "nice": False} if temporal else {"zero": False, "nice": False}
    encoding = {
        "x": {
            "field": "t",
            "type": "temporal" if temporal else NUMBER,
            "axis": _time_axis(at, temporal),
            "scale": scale,
        },
        "y": {"field": "v", "type": NUMBER, "axis": {"title": None, "tickCount": 4}, "scale": {"zero": False}},
        "detail": {"field": "curve", "type": NAME},
    }
    layers, datasets = [], {}
    for name, rows in lines.items():
        thick = name == "published"
        mark = {
            "type": "line",
            "color": INK[name],
            "strokeWidth": 1.8 if thick else thin,
            "opacity": 1.0 if thick else 0.65,
            "aria": False,
            "strokeJoin": "round",
        }
        layers.append({"data": {"name": name}, "mark": mark, "encoding": encoding})
        datasets[name] = [
            {"t": t, "v": None if math.isnan(v) else v, "curve": number}
            for number, row in enumerate(thin_columns(rows).tolist())
            for t, v in zip(at, row, strict=True)
        ]
    return _svg({"layer": layers}, datasets)


def _time_axis(at: list[float], temporal: bool) -> dict[str, Any]:
    days = (at[-1] - at[0]) / 86_400_000
    if not temporal:
        form = "d" if all(float(t).is_integer() for t in at) else "~f"
    elif days <= 2:
        form = "%H:%M"
    elif days <= 180:
        form = "%-d %b"
    else:
        form = "%b %Y" if days <= 1500 else "%Y"
    return {"title": None, "format": form, "tickCount": 5, "grid": False, "labelOverlap": "greedy", "labelFlush": True}


# -- distributions ----------------------------------------------------------------------------------------------------


def histogram(values: Array, *, ink: str, title: str, caption: str, axis: str, public: bool) -> Figure | None:
    """How many records have which percentage; None when rounding leaves nothing to show."""
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
    place = {"field": "low", "type": NUMBER, "bin": "binned", "scale": {"nice": False}}
    chart = {
        "data": {"name": "bars"},
        "mark": {"type": "bar", "color": INK[ink], "binSpacing": 1, "aria": False},
        "encoding": {
            "x": place | {"axis": {"title": axis, "tickCount": 6, "grid": False}},
            "x2": {"field": "high"},
            "y": {"field": "count", "type": NUMBER, "axis": {"title": "records", "tickCount": 4, "tickMinStep": 1}},
        },
    }
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


def shares(
    parts: Mapping[str, float], *, title: str, caption: str, axis: str, of: str = "share of the values, %"
) -> Figure:
    """A bar for each class, in percent, in the order given."""
    height = {"title": of, "tickCount": 4}
    chart = {
        "data": {"name": "bars"},
        "mark": {"type": "bar", "color": INK["loss"], "aria": False},
        "encoding": {
            "x": {"field": "name", "type": NAME, "sort": None, "axis": {"title": axis, "labelAngle": 0}},
            "y": {"field": "share", "type": NUMBER, "axis": height},
        },
    }
    return Figure(title, caption, _svg(chart, {"bars": [{"name": n, "share": v} for n, v in parts.items()]}))


def label_bars(rows: Sequence[tuple[str, str, float]], *, title: str, caption: str) -> Figure:
    """Bars for each label, of each file one: label, "original" or "published", and its share in percent, in the order given."""
    names, files = list(dict.fromkeys(name for name, _, _ in rows)), list(dict.fromkeys(file for _, file, _ in rows))
    place = {"field": "label", "type": NAME, "sort": names, "axis": {"title": None, "labelLimit": 140}}
    colours = {"domain": files, "range": [INK[file] for file in files]}
    chart = {
        "data": {"name": "bars"},
        "height": max(HEIGHT, 12 * len(rows)),
        "mark": {"type": "bar", "aria": False},
        "encoding": {
            "y": place,
            "yOffset": {"field": "file", "sort": files},
            "x": {"field": "share", "type": NUMBER, "axis": {"title": "%", "tickCount": 5}},
            "color": {"field": "file", "type": NAME, "scale": colours, "legend": None},
        },
    }
    return Figure(
        title, caption, _svg(chart, {"bars": [dict(zip(("label", "file", "share"), row, strict=True)) for row in rows]})
    )


def heat_map(shares: Array, names: Sequence[str], *, title: str, caption: str) -> Figure:
    """A table of percentages from states (on the left) to states (below), the larger the darker."""
    rows = [
        {"from": one, "to": other, "share": float(shares[i, j]), "text": f"{shares[i, j]:.0f}"}
        for i, one in enumerate(names)
        for j, other in enumerate(names)
    ]
    axis = {"labelLimit": 90, "labelAngle": 0, "grid": False}
    place = {
        "x": {"field": "to", "type": NAME, "sort": list(names), "axis": {**axis, "title": "next state"}},
        "y": {"field": "from", "type": NAME, "sort": list(names), "axis": {**axis, "title": "state"}},
    }
    depth = {"field": "share", "type": NUMBER, "scale": {"domain": [0, 100], "range": [0.03, 0.6]}, "legend": None}
    layers = [
        {"mark": {"type": "rect", "color": INK["published"], "aria": False}, "encoding": {**place, "opacity": depth}},
        {
            "mark": {"type": "text", "fontSize": 11, "color": INK["axis"], "aria": False},
            "encoding": {**place, "text": {"field": "text", "type": NAME}},
        },
    ]
    chart = {"data": {"name": "cells"}, "height": max(HEIGHT, 28 * len(names)), "layer": layers}
    return Figure(title, caption, _svg(chart, {"cells": rows}))


def over_time(block: Block, values: Array, *, title: str, caption: str) -> Figure:
    """A figure at each time of a series."""
    return Figure(title, caption, curve_chart(block, {"published": values[None, :]}))


def trends(frame: pl.DataFrame, *, x: str, y: str, by: str, title: str, caption: str, axis: str) -> Figure:
    """A line for each value of the column `by`, told apart by dashes and points, not by colour alone."""
    names = frame[by].unique(maintain_order=True).to_list()
    dashes = [[1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [3, 1], [1, 3]]
    shapes = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
    width = {"title": x, "grid": False, "tickMinStep": 1}
    place = {
        "x": {"field": "x", "type": NUMBER, "axis": width, "scale": {"zero": False}},
        "y": {"field": "y", "type": NUMBER, "axis": {"title": axis, "tickCount": 5}},
    }
    legend = {"title": None, "orient": "top", "columns": 6, "labelColor": INK["axis"], "symbolSize": 60}
    name = {"field": "name", "type": NAME}
    told_apart = name | {"sort": names, "legend": legend}
    strokes = {"domain": names, "range": [dashes[at % len(dashes)] for at in range(len(names))]}
    lines = {
        "mark": {"type": "line", "color": INK["loss"], "strokeWidth": 1.4, "aria": False},
        "encoding": place | {"strokeDash": told_apart | {"scale": strokes}, "detail": name},
    }
    points = {
        "mark": {"type": "point", "color": INK["loss"], "filled": False, "size": 34, "aria": False},
        "encoding": place | {"shape": told_apart | {"scale": {"domain": names, "range": shapes}}},
    }
    rows = [{"x": r[x], "y": r[y], "name": r[by]} for r in frame.select(x, y, by).iter_rows(named=True)]
    return Figure(title, caption, _svg({"data": {"name": "rows"}, "layer": [lines, points]}, {"rows": rows}))


def ladder(attempts: Sequence[tuple[str, str, float]], promised: float | None) -> Figure:
    """What attacks find by what the intruder knows: rung, attack, rate in percent; the best of each rung by name, and what is promised as a line."""
    rungs = list(dict.fromkeys(rung for rung, _, _ in attempts))
    best = {rung: max((one for one in attempts if one[0] == rung), key=lambda one: one[2]) for rung in rungs}
    rows = [
        {"rung": rung, "rate": rate, "name": attack if best[rung] == (rung, attack, rate) else ""}
        for rung, attack, rate in attempts
    ]
    x = {"field": "rung", "type": NAME, "sort": rungs, "axis": {"title": "the intruder knows", "labelAngle": 0}}
    # Room above 100 for the name of an attack that finds everybody.
    y = {"field": "rate", "type": NUMBER, "scale": {"domain": [0, 108]}, "axis": {"title": "persons found, %", "values": [0, 25, 50, 75, 100]}}  # fmt: skip
    name = {"field": "name", "type": NAME}
    layers: list[dict[str, Any]] = [
        {
            "data": {"name": "rows"},
            "mark": {"type": "point", "color": INK["risk"], "size": 40, "aria": False},
            "encoding": {"x": x, "y": y},
        },
        {
            "data": {"name": "rows"},
            "mark": {"type": "text", "dy": -9, "fontSize": 10, "color": INK["axis"], "aria": False},
            "encoding": {"x": x, "y": y, "text": name},
        },
    ]
    caption = "Each circle is an attack; the one that finds most at each step is named."
    datasets: dict[str, list[dict[str, Any]]] = {"rows": rows}
    if promised is not None:
        line = {"type": "rule", "color": INK["published"], "strokeDash": [5, 3], "aria": False}
        layers.append({"data": {"name": "promise"}, "mark": line, "encoding": {"y": y}})
        datasets["promise"] = [{"rate": promised}]
        caption += f" The dashed line is what the promise allows, {promised:g} %."
    return Figure("Risk over what is known", caption, _svg({"layer": layers}, datasets))


# -- drawing ----------------------------------------------------------------------------------------------------------


def _svg(chart: Mapping[str, Any], datasets: Mapping[str, list[dict[str, Any]]]) -> str:
    """A chart as SVG text."""
    ink = INK["axis"]
    axis: dict[str, Any] = {
        "labelColor": ink,
        "titleColor": ink,
        "gridColor": INK["grid"],
        "domainColor": ink,
        "tickColor": ink,
    }
    axis |= {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}
    config: dict[str, Any] = {"font": "sans-serif", "view": {"stroke": None}, "axis": axis}
    size = {"width": WIDTH, "height": HEIGHT, "background": "transparent", "padding": 4}
    return "" if _UNDRAWN.get() else draw_svg(json.dumps({**size, **chart, "datasets": datasets, "config": config}))


@contextmanager
def no_charts() -> Iterator[None]:
    """Leave the charts of reports empty, for reports that nobody will see: drawing them takes longer than a small release.

    Examples
    --------
    >>> with no_charts():
    ...     _svg({"mark": "point"}, {})
    ''
    """
    before = _UNDRAWN.set(True)
    try:
        yield
    finally:
        _UNDRAWN.reset(before)


@lru_cache(maxsize=32)
def draw_svg(spec: str) -> str:
    """A chart in Vega-Lite as SVG text; the public report and the private one share some pictures, which are drawn once."""
    import vl_convert

    from tsveil.data.memory import reserve_addresses

    reserve_addresses(ADDRESSES, "drawing the charts of a report")
    return str(vl_convert.vegalite_to_svg(spec))
