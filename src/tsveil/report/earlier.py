"""The releases of the same persons, one below the other: for the owner only, because the numbers of who came and left are not published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

import polars as pl
from markupsafe import Markup

from tsveil.report import figures
from tsveil.report.pages import section
from tsveil.report.subject import Subject

#: the titles of the columns of `lines`, and how they are set
COLUMNS = [
    ("Release", ""), ("Made", ""), ("Persons", "number"), ("Came", "number"), ("Left", "number"), ("Merged", "number"),
    ("Renewed", "number"), ("Withheld", "number"), ("Loss", "number"), ("k", "number"), ("Withdrawn", ""),
]  # fmt: skip


class Listed(Protocol):
    """A release in the list of a ledger."""

    path: str
    made: str
    withdrawn: str | None
    figures: dict[str, float | int | None]


def lines(releases: Sequence[Listed]) -> list[tuple[str, ...]]:
    """A row for each release, by `COLUMNS`."""
    return [_line(one) for one in releases]


def _line(one: Listed) -> tuple[str, ...]:
    name = "this one" if one.path == "." else PurePosixPath(one.path).name
    count = {key: "" if value is None else f"{value:,.0f}" for key, value in one.figures.items()}
    loss = one.figures.get("loss")
    return (
        name,
        one.made[:10],
        *(count.get(key, "") for key in ("persons", "came", "left", "merged", "renewed")),
        share_withheld(one.figures),
        "" if loss is None else f"{loss:.1f} %",
        count.get("composed_k", ""),
        one.withdrawn or "",
    )


def share_withheld(found: Mapping[str, float | int | None]) -> str:
    """The share of persons whose values are withheld.

    Examples
    --------
    >>> share_withheld({"persons": 200, "withheld": 21})
    '10.5 %'
    """
    persons, withheld = found.get("persons"), found.get("withheld")
    return "" if not persons or withheld is None else f"{100 * withheld / persons:.1f} %"


def earlier_releases(subject: Subject) -> Markup | None:
    """All releases that this one continues, and how the loss went."""
    releases = subject.releases
    if subject.public or len(releases) < 2:
        return None
    rows = [
        {"release": float(number), "percent": float(value), "what": "loss"}
        for number, one in enumerate(releases, 1)
        if (value := one.figures.get("loss")) is not None
    ]
    pictures = []
    if len(rows) > 1:
        pictures.append(
            figures.trends(
                pl.DataFrame(rows), x="release", y="percent", by="what", title="Loss over time",
                caption="The information loss of each release, in percent: groups that stay together fit less and less well.", axis="loss, %",
            )
        )  # fmt: skip
    return section("earlier_releases", columns=COLUMNS, rows=lines(releases), pictures=pictures)
