"""Draws the picture of the README from the bundled example: curves before and after. Run: python docs/images/make.py"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import numpy as np
import polars as pl
import vl_convert

import tsveil as tv

data = tv.example("load-curves")
release = tv.MDAV(k=5).protect(data)
groups, hours = release.groups["load"], slice(0, 96)
spread = [float(((data.values - release.data.values)[groups == g] ** 2).sum()) for g in range(groups.max() + 1)]
members = np.flatnonzero(groups == int(np.argsort(spread)[len(spread) // 2]))


def curves(values: np.ndarray, label: str) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame({"day": np.arange(96) / 24 + 1, "kWh per hour": row, "household": f"{label}{i}"})
        for i, row in enumerate(values)
    )


def chart(frame: pl.DataFrame, title: str, colour: str, width: float) -> alt.Chart:
    made: alt.Chart = (
        alt.Chart(frame, title=title, width=330, height=170)
        .mark_line(strokeWidth=width, color=colour)
        .encode(
            alt.X("day:Q", axis=alt.Axis(values=[1, 2, 3, 4, 5], grid=False)),
            alt.Y("kWh per hour:Q", axis=alt.Axis(tickCount=4)),
            alt.Detail("household:N"),
        )
    )
    return made


before = chart(curves(data.values[members, hours], "b"), "before: five households", "#8a929c", 1)
after = chart(
    curves(release.data.values[members[:1], hours], "a"), "after: what is published for each of the five", "#2a6fbb", 2
)
picture = alt.hconcat(before, after).resolve_scale(y="shared").configure_view(stroke=None).configure(background="white")
Path(__file__).with_name("before-after.svg").write_text(vl_convert.vegalite_to_svg(picture.to_json()), encoding="utf-8")
