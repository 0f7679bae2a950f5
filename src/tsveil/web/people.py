"""A look at single records of the release that was chosen: before, after, who shares it, and what each intruder finds; and every column before and after.

Records are read one at a time from what the job kept (`records`). Zooming is a form, so that it works without scripts; `static/people.js` reads off values.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tsveil.core.types import Array
from tsveil.report.figures import drawn_together, thin_columns
from tsveil.report.pages import percent
from tsveil.web.records import SCHEMA, TABLE

if TYPE_CHECKING:
    from tsveil.web.pages import App

#: which record -> its place in the order of risk, as a share of all records
WHICH = {"riskiest": 0.0, "typical": 0.5, "luckiest": 1.0}
#: series that are drawn, points of a curve, and values listed of other blocks
SERIES, POINTS, LISTED = 4, 400, 200
#: the drawing of a curve: its size, and where the curve begins and ends
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 220, 64, 10, 26


@dataclass
class PeoplePages:
    """The page about single records."""

    app: App

    def routes(self, at: str) -> list[Route]:
        """The page."""
        return [Route(f"{at}/people", self.show, methods=["GET"])]

    async def show(self, request: Request) -> Response:
        """One record, and all columns."""
        app = self.app
        study = app._study(request)
        outcome = app._outcome(study)
        if outcome is None:
            raise HTTPException(404)
        folder = app._outcome_path(study, study.picked).parent
        query = request.query_params
        shown: dict[str, Any] = {
            "outcome": outcome,
            "which": query.get("which", "riskiest"),
            "name": query.get("name", "").strip(),
        }
        if not (folder / SCHEMA).is_file():
            return app._step(request, "people.html.j2", study, "compare", kept=False, **shown)
        schema = msgspec.json.decode((folder / SCHEMA).read_bytes())
        found = await run_in_threadpool(_find, folder / TABLE, shown["which"], shown["name"])
        shown |= {"kept": True, "schema": schema, "record": None, "curves": [], "lists": [], "chances": []}
        shown["distributions"] = [_bars(one) for one in schema["distributions"]]
        if found is not None:
            shown |= {
                "record": found,
                "chances": [(title, _chance(found[name])) for name, title in schema["titles"].items()],
                "curves": [
                    _curve(block, found, schema, query.get("from", ""), query.get("to", ""))
                    for block in schema["blocks"]
                    if block["kind"] == "series"
                ][:SERIES],
                "lists": [_listed(block, found) for block in schema["blocks"] if block["kind"] != "series"],
            }
        return app._step(request, "people.html.j2", study, "compare", status=200 if found else 404, **shown)


def _find(path: Path, which: str, name: str) -> dict[str, Any] | None:
    """A record by its name or by its place in the order of risk, with its rank; None if there is none of this name."""
    table = pl.scan_parquet(path)
    if name or which not in WHICH:
        at = table.select("name").with_row_index("rank").filter(pl.col("name") == name).head(1).collect()
        if at.is_empty():
            return None
        place = int(at["rank"][0])
    else:
        # Suppressed records are no targets of any attack.
        places = table.select("published").with_row_index("rank").filter("published").select("rank").collect()["rank"]
        if places.is_empty():
            return None
        place = int(places[round(WHICH[which] * (len(places) - 1))])
    (row,) = table.slice(place, 1).collect().to_dicts()
    return row | {"rank": place + 1, "of": table.select(pl.len()).collect().item()}


def _chance(value: float | None) -> str:
    return "not known" if value is None or np.isnan(value) else percent(value)


# -- series -------------------------------------------------------------------------------------------------------------


def _curve(
    block: dict[str, Any], record: dict[str, Any], schema: dict[str, Any], begin: str, end: str
) -> dict[str, Any]:
    """A series of a record before and after, from one of its points to another."""
    points = len(block["columns"])
    first = min(max(int(begin), 1), points) if begin.isdecimal() else 1
    last = min(max(int(end), first), points) if end.isdecimal() else points
    span = slice(block["start"] + first - 1, block["start"] + last)
    after = np.array(record["after"])
    lines = [np.array(record["before"])[span], after[span]]
    if schema["envelopes"]:
        lines.append(after[schema["columns"] :][span])
    together = drawn_together(last - first + 1, POINTS)
    drawn = thin_columns(np.vstack(lines), POINTS)
    labels = block["columns"][first - 1 : last][::together]
    known = drawn[~np.isnan(drawn)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    high = high if high > low else low + 1.0
    x = np.linspace(LEFT, WIDTH - 6, len(labels)) if len(labels) > 1 else np.array([(LEFT + WIDTH) / 2])
    y = TOP + (HEIGHT - TOP - BOTTOM) * (high - drawn) / (high - low)
    ticks = [
        (value, TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)) for value in np.linspace(low, high, 3)
    ]
    return {
        "name": block["name"],
        "points": points,
        "first": first,
        "last": last,
        "together": together,
        "paths": [_path(x, row) for row in y],
        "area": _area(x, y[1], y[2]) if schema["envelopes"] else "",
        "ticks": [(_tick(value), round(at, 1)) for value, at in ticks],
        "ends": (labels[0], labels[-1]),
        "rows": [
            (label, round(float(at), 1), [_number(value) for value in values])
            for label, at, values in zip(labels, x, drawn.T, strict=True)
        ],
    }


def _path(x: Array, y: Array) -> str:
    """A line with gaps where there are no values."""
    found, drawing = [], False
    for across, down in zip(x.tolist(), y.tolist(), strict=True):
        if np.isnan(down):
            drawing = False
            continue
        found.append(f"{'L' if drawing else 'M'}{across:.1f} {down:.1f}")
        drawing = True
    return "".join(found)


def _area(x: Array, low: Array, high: Array) -> str:
    """The area between two lines; nothing where the record is suppressed."""
    if np.isnan(low).any():
        return ""
    there = [f"{across:.1f} {down:.1f}" for across, down in zip(x.tolist(), high.tolist(), strict=True)]
    back = [f"{across:.1f} {down:.1f}" for across, down in zip(x.tolist(), low.tolist(), strict=True)]
    return f"M{'L'.join([*there, *reversed(back)])}Z"


def _tick(value: float) -> str:
    """A value of an axis, short.

    Examples
    --------
    >>> [_tick(value) for value in (3.09838, 12345.6, 0.0)]
    ['3.1', '12,300', '0']
    """
    text = np.format_float_positional(value, precision=3, unique=False, fractional=False, trim="-")
    return f"{float(text):,.10g}"


def _number(value: float) -> str:
    """A value with the digits that a person reads.

    Examples
    --------
    >>> [_number(value) for value in (1234.5678, 0.25, float("nan"))]
    ['1,234.57', '0.25', '–']
    """
    return "–" if np.isnan(value) else f"{value:,.6g}"


# -- other values -------------------------------------------------------------------------------------------------------


def _listed(block: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """The values of a block before and after."""
    rows = []
    for at, column in enumerate(block["columns"][:LISTED]):
        texts = block["labels"][at] if block["labels"] else None
        own = [record[side][block["start"] + at] for side in ("before", "after")]
        rows.append((column, *(_value(value, texts) for value in own)))
    return {"name": block["name"], "rows": rows, "left_out": max(len(block["columns"]) - LISTED, 0)}


def _value(value: float, texts: list[str] | None) -> str:
    if texts is None or value is None or np.isnan(value):
        return _number(np.nan if value is None else value)
    return texts[int(value)] if int(value) < len(texts) else str(value)


def _bars(one: dict[str, Any]) -> dict[str, Any]:
    """A distribution with the heights of its bars, in percent of the highest."""
    top = max(*one["before"], *one["after"], 1)
    rows = zip(one["names"], one["before"], one["after"], strict=True)
    return {
        "name": one["name"],
        "rows": [(name, before, after, 100 * before / top, 100 * after / top) for name, before, after in rows],
        "wide": 100 / len(one["names"]),
    }
