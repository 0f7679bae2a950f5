"""Draws the picture of the README from the bundled example: curves before and after. Run: python docs/images/make.py"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import vl_convert

import tsveil as tv

data = tv.example("load-curves")
release = tv.MDAV(k=5).protect(data)
groups, hours = release.groups["load"], slice(0, 96)
spread = [float(((data.values - release.data.values)[groups == g] ** 2).sum()) for g in range(groups.max() + 1)]
members = np.flatnonzero(groups == int(np.argsort(spread)[len(spread) // 2]))


def chart(values: np.ndarray, title: str, colour: str, width: float) -> dict[str, Any]:
    rows = [
        {"day": hour / 24 + 1, "load": float(load), "household": number}
        for number, row in enumerate(values)
        for hour, load in enumerate(row)
    ]
    return {
        "data": {"values": rows},
        "title": title,
        "width": 330,
        "height": 170,
        "mark": {"type": "line", "strokeWidth": width, "color": colour},
        "encoding": {
            "x": {"field": "day", "type": "quantitative", "axis": {"values": [1, 2, 3, 4, 5], "grid": False}},
            "y": {"field": "load", "title": "kWh per hour", "type": "quantitative", "axis": {"tickCount": 4}},
            "detail": {"field": "household", "type": "nominal"},
        },
    }


before = chart(data.values[members, hours], "before: five households", "#8a929c", 1)
after = chart(release.data.values[members[:1], hours], "after: what is published for each of the five", "#2a6fbb", 2)
picture = {
    "hconcat": [before, after],
    "resolve": {"scale": {"y": "shared"}},
    "config": {"view": {"stroke": None}, "background": "white"},
}
Path(__file__).with_name("before-after.svg").write_text(vl_convert.vegalite_to_svg(picture), encoding="utf-8")
