"""What the chapters of the thesis (004) on microdata share: the attributes of its files, and its loss, risks and scores.

The thesis links every original record to the nearest protected one after standardising each file by itself, and takes the first of
equals. Interval disclosure goes by ranks. Its information loss is the mean of five.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tsveil.attack.distance import distance
from tsveil.attack.interval import interval
from tsveil.attack.links import Links
from tsveil.attack.probabilistic import probabilistic
from tsveil.data.dataset import Dataset
from tsveil.measure.attribute_loss import AttributeLoss
from tsveil.measure.passes import of_arrays
from tsveil.measure.score import combine_rates, risk_and_score
from tsveil.protect.base import Method
from tsveil.protect.mdav import MDAV
from tsveil.protect.projected import Projected
from tsveil.release.release import Release
from tsveil.reproduce.source import Source

#: the attributes in the order of the reference files, which is that of the tables
CENSUS = (
    "AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL", "INTVAL", "PEARNVAL", "FICA",
    "WSALVAL", "ERNVAL",
)  # fmt: skip
EIA = (
    "RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES", "INDREVENUE", "INDSALES", "OTHREVENUE", "OTHRSALES",
    "TOTREVENUE", "TOTSALES",
)  # fmt: skip
#: the nine attributes of chapter 3, a1 to a9: three families of correlated ones
EIA_NINE = (
    "RESREVENUE", "COMREVENUE", "COMSALES", "OTHREVENUE", "OTHRSALES", "TOTREVENUE", "INDREVENUE", "INDSALES",
    "TOTSALES",
)  # fmt: skip
WATER_NINE = ("PH-E", "PH-P", "PH-D", "COND-E", "COND-P", "COND-D", "DBO-S", "SS-S", "SED-S")

#: data set of the tables -> file and attributes
REFERENCE: dict[str, tuple[str, tuple[str, ...]]] = {"Census": ("census.csv", CENSUS), "EIA": ("eia.csv", EIA)}

#: the most known attributes for linkage by probability
PROBABILISTIC = 12


def reference(source: Source, name: str) -> pl.DataFrame:
    """Census or EIA, its attributes in the order of the tables."""
    file, columns = REFERENCE[name]
    return source.frame(file, columns).select(columns)


def multivariate(name: str, k: int) -> Method:
    """The microaggregation that the thesis calls by this name."""
    if name == "MDAV":
        # The thesis says nothing of scaling, and raw values come much nearer to its tables than standardised ones.
        return MDAV(k=k, scale="none", refine="none", grouping="per-block")
    return Projected(k=k, projection=name.lower(), grouping="fixed")  # type: ignore[arg-type]


def loss(data: Dataset, release: Release) -> float:
    """IL of protected attributes."""
    return of_arrays(AttributeLoss(), data.values, release.data.values, times=False)[0].figures["IL"]


def rounds(
    attack: Callable[..., Links], data: Dataset, release: Release | Dataset, counts: Sequence[int] | None = None, **more: Any
) -> list[Links]:  # fmt: skip
    """The attack of an intruder who knows the first 1, 2, ..., all columns, or these numbers of them."""
    every = range(1, len(data.columns) + 1) if counts is None else counts
    return [attack(data, release, known=data.columns[:count], **more) for count in every]


def mean_rate(found: Sequence[Links]) -> float:
    """The mean of the shares of right links, in percent."""
    return float(np.mean([links.rate for links in found]))


def generic_figures(data: Dataset, release: Release, counts: Sequence[int]) -> dict[str, float]:
    """IL, DLD, PLD and ID; `counts` says how many attributes the intruder knows."""
    few = [count for count in counts if count <= PROBABILISTIC]
    figures = {
        "IL": loss(data, release),
        "DLD": mean_rate(rounds(distance, data, release, counts, scaling="own", ties="first")),
        "ID": interval(data, release).rate,
    }
    if few:
        figures["PLD"] = mean_rate(rounds(probabilistic, data, release, few, ties="first"))
    return figures


def add_scores(figures: Mapping[str, float]) -> dict[str, float]:
    """With the classic disclosure risk and score.

    Examples
    --------
    >>> add_scores({"IL": 10.0, "DLD": 8.0, "PLD": 4.0, "ID": 50.0})["Score"]
    19.0
    """
    found = risk_and_score(figures["IL"], combine_rates([figures["DLD"], figures["PLD"]], "mean"), figures["ID"])
    return {**figures, "DR": found["DR"], "Score": found["score"]}
