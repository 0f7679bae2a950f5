"""The risk-utility map of a study: every configuration as a point, loss to the right, risk upwards.

Best is below on the left: the original data stand on the left (no loss, and the risk of publishing them as they are), complete suppression in
the opposite one, and the Pareto front is what can be had between them. A dotted line shows what guessing finds. In a page the map is an SVG drawn here, with a small
script (`templates/risk_map.js`) for tooltips, score cards and zooming; script and style are files of their own, so that a page
may hold them or a server with a strict content policy may serve them. For papers there are PNG and SVG.

Examples
--------
>>> import tsveil as tv
>>> study = tv.sweep(tv.example("food-prices"), ["mdav"], {"mdav": {"k": [2, 4]}})
>>> html = study.map_html()
>>> html.count('class="point'), "<script" in html, "style=" in html
(2, False, False)
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from tsveil.assess.summary import Baseline
from tsveil.core.errors import OutputError
from tsveil.data.write import write_bytes, write_text
from tsveil.guarantee.base import PUBLISHABLE
from tsveil.measure.base import Kind
from tsveil.report.figures import NAME, NUMBER, draw_svg
from tsveil.report.meanings import figure_order, meaning, place
from tsveil.report.pages import page, percent

#: the size of the drawing and its margins: left, right, top, bottom
WIDTH, HEIGHT = 760, 540
MARGINS = (66, 26, 40, 58)
SHAPES = {
    "circle": "M0-5.5a5.5 5.5 0 1 0 .01 0z",
    "square": "M-5-5h10v10h-10z",
    "diamond": "M0-7L7 0 0 7-7 0z",
    "triangle": "M0-6.5L6.5 5.5h-13z",
}
#: colours of methods on light paper; the style sheet has those of the page, light and dark, in the same order
COLOURS = ("#1b64b0", "#c2571a", "#1c7046", "#8a3ffc", "#b3151f", "#0f7c8a", "#6b5900")
#: points per inch of a PNG
RESOLUTION = 192


class Study(Protocol):
    """What is drawn: a `tsveil.Study`, as far as a page needs to know it."""

    @property
    def table(self) -> pl.DataFrame:
        """A row for each configuration."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What was swept, and how it was measured."""

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for is there."""

    @property
    def definitions(self) -> tuple[str, str]:
        """What risk and loss are, in words."""

    @property
    def baseline(self) -> Baseline | None:
        """What is found in the original data and by guessing."""

    def pareto(self) -> pl.DataFrame:
        """The configurations on the front."""

    def recommend(self, max_risk: float | None = None, max_loss: float | None = None) -> Any:
        """The best configuration within limits."""


@dataclass(frozen=True)
class Mark:
    """How the points of a method look."""

    colour: int
    shape: str


def marks(study: Study) -> dict[str, Mark]:
    """A mark for each method."""
    names = study.table.filter(study.table["problem"].is_null())["method"].unique(maintain_order=True).to_list()
    # Seven colours and four shapes have no common divisor: the first 28 marks differ.
    return {name: Mark(at % len(COLOURS), list(SHAPES)[at % len(SHAPES)]) for at, name in enumerate(names)}


# -- in a page --------------------------------------------------------------------------------------------------------


def map_html(study: Study) -> str:
    """The map as a piece of HTML, without script and style; see `map_script` and `map_style`."""
    return page("risk_map.html.j2", _template_values(study))


def map_script() -> str:
    """The script that makes the map answer."""
    return files("tsveil.report").joinpath("templates/risk_map.js").read_text(encoding="utf-8")


def map_style() -> str:
    """The style sheet of the map."""
    return files("tsveil.report").joinpath("templates/risk_map.css").read_text(encoding="utf-8")


def position(risk: float, loss: float) -> tuple[float, float]:
    """Where a configuration stands in the drawing."""
    left, right, top, bottom = MARGINS
    return (
        round(left + (WIDTH - left - right) * loss / 100, 2),
        round(HEIGHT - bottom - (HEIGHT - top - bottom) * risk / 100, 2),
    )


def _template_values(study: Study) -> dict[str, Any]:
    look = marks(study)
    rows = [describe_row(row, study.about["kind"]) for row in study.table.to_dicts()]
    points = [row for row in rows if row["problem"] is None]
    for row in points:
        row["mark"] = look[row["method"]]
        row["path"] = SHAPES[row["mark"].shape]
        row["x"], row["y"] = position(row["risk"], row["loss"])
    # What is drawn last is on top, and that must be the front; the script walks from the least risk to the most.
    points.sort(key=lambda row: (row["pareto"], row["risk"], row["loss"]))
    front = [(row["loss"], row["risk"]) for row in points if row["pareto"]]
    left, right, top, bottom = MARGINS
    return {
        "points": points,
        "front": " ".join(f"{loss!r},{risk!r}" for loss, risk in front),
        "front_path": _stairs(front),
        "methods": [(name, mark, SHAPES[mark.shape]) for name, mark in look.items()],
        "width": WIDTH,
        "height": HEIGHT,
        "box": {"left": left, "top": top, "right": WIDTH - right, "bottom": HEIGHT - bottom},
        "ticks": [(value, *position(value, value)) for value in range(0, 101, 20)],
        "corners": [(name, side, risk, loss, *position(risk, loss)) for name, side, risk, loss in _corners(study)],
        "guess": study.baseline and (study.baseline.guess, position(study.baseline.guess, 0)[1]),
        "definitions": (*study.definitions, *_baseline_in_words(study)),
    }


def _corners(study: Study) -> list[tuple[str, str, float, float]]:
    """What every configuration lies between: name, the side of its text, risk, loss."""
    suppressed = ("complete suppression", "right", 0.0, 100.0)
    known = study.baseline
    return [("original data", "left", known.original, 0.0), suppressed] if known else [suppressed]


def _baseline_in_words(study: Study) -> list[str]:
    return [study.baseline.words] if study.baseline else []


def _stairs(front: list[tuple[float, float]]) -> str:
    """The front as stairs: what is above and to the right of them is beaten by one of its points."""
    path = ""
    for loss, risk in front:
        x, y = position(risk, loss)
        path += f"V{y}H{x}" if path else f"M{x} {y}"
    return path


def describe_row(row: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """A row of a study's table with what people read: words for its promise, and its figures with their titles."""
    figures: dict[str, float] = json.loads(row["figures"])
    known = [
        (name, *meaning(name, kind)[:2], figures[name]) for name in sorted(figures, key=place) if meaning(name, kind)[2]
    ]
    found = dict(row) | {
        "settings": {name: value for name, value in json.loads(row["settings"]).items() if value is not None},
        "figures": [(name, title, f"{value:,.1f} {unit}".rstrip()) for name, title, unit, value in known],
        "refused": row["problem"] is None and (row["verdict"] not in PUBLISHABLE or row["stopped"] is not None),
        "notes": (row["stopped"] or "").splitlines(),
    }
    if row["problem"] is None:
        if row["high"] > row["risk"]:
            found["notes"].append(f"Not everybody was attacked: the risk may be up to {percent(row['high'])}.")
        found["promise"] = _promise(row)
        if kind == "series" and figures.get("IL", 0.0) > 100:
            found["notes"].append(f"IL is {percent(figures['IL'])} and counts as 100.")
        if figures.get("suppressed"):
            found["notes"].append(f"{figures['suppressed']:.0f} records are suppressed.")
    return found


def _promise(row: Mapping[str, Any]) -> str:
    words = {"holds": "verified", "violated": "VIOLATED", "unknown": "could not be decided"}
    return f"{row['guarantee']}, {words[row['verdict']]}" if row["verdict"] in words else "none"


# -- the report of a study --------------------------------------------------------------------------------------------

#: limits of the risk for which the report of a study says what to choose
LIMITS = (50, 20, 10, 5, 2, 1)


def study_page(study: Study, *, title: str = "", max_risk: float | None = None, max_loss: float | None = None) -> str:
    """The report of a study as one HTML page that needs nothing else."""
    kind = study.about["kind"]
    rows = [describe_row(row, kind) for row in study.table.to_dicts()]
    asked = None if max_risk is None and max_loss is None else study.recommend(max_risk, max_loss)
    names = {name for row in rows for name, _, _ in row["figures"]}
    meanings = {name: meaning(name, kind) for name in figure_order()}
    return page(
        "study.html.j2",
        {
            "title": title or "Which method, which parameter",
            "data": str(study.about["data"]).removeprefix("Dataset: "),
            "version": study.about["version"],
            "count": len(rows),
            "methods": study.table["method"].n_unique(),
            "complete": study.complete,
            "asked": study.about["asked"],
            "recommendation": asked,
            "limits": [(limit, study.recommend(max_risk=limit)) for limit in LIMITS],
            "map": map_html(study),
            "rows": [row for row in rows if row["problem"] is None],
            "failed": [row for row in rows if row["problem"] is not None],
            "meanings": [(name, title, words) for name, (title, _, words) in meanings.items() if name in names],
            "definitions": study.definitions,
            "style": map_style(),
            "script": map_script(),
        },
    )


# -- for papers -------------------------------------------------------------------------------------------------------


def write_map(study: Study, path: Path) -> None:
    """Write the map: .html with tooltips and score cards, .svg and .png for papers."""
    kind = path.suffix.lower()
    if kind in {".html", ".htm"}:
        write_text(path, study_page(study))
    elif kind == ".svg":
        write_text(path, map_svg(study))
    elif kind == ".png":
        write_bytes(path, map_png(study))
    else:
        raise OutputError(f"{path} must end in .html, .svg or .png: the ending says what to write")


def map_svg(study: Study) -> str:
    """The map as SVG for papers."""
    return draw_svg(json.dumps(_chart(study)))


def map_png(study: Study) -> bytes:
    """The map as PNG for papers."""
    import vl_convert

    found: bytes = vl_convert.vegalite_to_png(_chart(study), ppi=RESOLUTION)
    return found


def _chart(study: Study) -> dict[str, Any]:
    """The map in Vega-Lite."""
    look = marks(study)
    rows = study.table.filter(study.table["problem"].is_null())
    points = [
        {"method": row["method"], "risk": row["risk"], "loss": row["loss"], "front": row["pareto"]}
        for row in rows.to_dicts()
    ]
    front = [{"risk": row["risk"], "loss": row["loss"]} for row in study.pareto().to_dicts()]
    corners = [{"risk": risk, "loss": loss, "name": name, "side": side} for name, side, risk, loss in _corners(study)]
    loss, risk = ({"field": name, "type": NUMBER} for name in ("loss", "risk"))
    place = {"x": loss, "y": risk}
    full = {name: one | {"title": f"{one['field']}, %", "scale": {"domain": [0, 100]}} for name, one in place.items()}
    method = {"field": "method", "type": NAME, "legend": {"title": None, "labelFontSize": 11}}
    shapes = {"circle": "circle", "square": "square", "diamond": "diamond", "triangle": "triangle-up"}
    colour = {"domain": list(look), "range": [COLOURS[mark.colour] for mark in look.values()]}
    shape = {"domain": list(look), "range": [shapes[mark.shape] for mark in look.values()]}
    grey = "#5b6671"
    dashed = {"interpolate": "step-before", "color": "#1d2732", "strokeWidth": 1.2, "strokeDash": [4, 3]}
    line = {
        "data": {"values": front},
        "mark": {"type": "line", **dashed},
        "encoding": {"x": loss | {"sort": None}, "y": risk, "order": risk},
    }
    crosses = {
        "data": {"values": corners},
        "mark": {"type": "point", "shape": "cross", "filled": True, "size": 110, "color": grey},
        "encoding": place,
    }
    texts = [
        {
            "data": {"values": [corner]},
            "mark": {"type": "text", "align": corner["side"], "dx": dx, "dy": -11, "color": grey},
            "encoding": place | {"text": {"field": "name", "type": NAME}},
        }
        for corner, dx in ((corner, 9 if corner["side"] == "left" else -9) for corner in corners)
    ]
    guess = {
        "data": {"values": [{"risk": study.baseline.guess}] if study.baseline else []},
        "mark": {"type": "rule", "color": grey, "strokeDash": [1, 3]},
        "encoding": {"y": risk},
    }
    dots = {
        "data": {"values": points},
        "mark": {"type": "point", "filled": True, "opacity": 0.85},
        "encoding": full
        | {
            "color": method | {"scale": colour},
            "shape": method | {"scale": shape},
            "size": {"condition": {"test": "datum.front", "value": 90}, "value": 38},
        },
    }
    words = [
        line
        for text in (*study.definitions, *_baseline_in_words(study), "Dashed: the Pareto front. Dotted: guessing.")
        for line in textwrap.wrap(text, 108)
    ]
    small = {"fontSize": 9.5, "fontWeight": "normal", "color": grey, "offset": 12}
    title = {"text": words, "orient": "bottom", "anchor": "start", **small}
    layers = [guess, line, crosses, *texts, dots]
    return {"layer": layers, "width": 460, "height": 380, "title": title, "background": "white"}
