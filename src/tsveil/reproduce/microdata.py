"""What the chapters of the thesis (004) on microdata share: the attributes of its files, and its loss, risks and scores.

The thesis links every original record to the nearest protected one after standardising each file by itself, and takes the first of
equals. Interval disclosure goes by ranks. Its information loss is the mean of five.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from tsveil.attack.distance import distance_prefixes
from tsveil.attack.interval import interval
from tsveil.attack.links import Links
from tsveil.attack.probabilistic import probabilistic_prefixes
from tsveil.data.dataset import Dataset
from tsveil.measure.microdata import microdata_loss
from tsveil.protect.base import Method
from tsveil.protect.mdav import MDAV
from tsveil.protect.projected import Projected
from tsveil.release import Release
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

#: at most so many known attributes for linkage by probability
PROBABILISTIC = 12


def reference(source: Source, name: str) -> pl.DataFrame:
    """Census or EIA, its attributes in the order of the tables."""
    file, columns = REFERENCE[name]
    return source.frame(file, columns).select(columns)


def multivariate(name: str, k: int) -> Method:
    """The microaggregation that the thesis calls by this name."""
    if name == "MDAV":
        # The thesis says nothing of scaling, and raw values come much nearer to its tables than standardised ones.
        return MDAV(k=k, scale="none")
    return Projected(k=k, projection=name.lower(), grouping="fixed")  # type: ignore[arg-type]


def mean_rate(rounds: Sequence[Links]) -> float:
    """The mean of the shares of right links, in percent."""
    return float(np.mean([links.rate for links in rounds]))


def generic_figures(data: Dataset, release: Release, counts: Sequence[int]) -> dict[str, float]:
    """IL, DLD, PLD and ID; the intruder knows so many attributes."""
    few = [count for count in counts if count <= PROBABILISTIC]
    figures = {
        "IL": microdata_loss(data.values, release.data.values).il,
        "DLD": mean_rate(distance_prefixes(data, release, counts=counts, scaling="own", ties="first")),
        "ID": interval(data, release).rate,
    }
    if few:
        figures["PLD"] = mean_rate(probabilistic_prefixes(data, release, counts=few, ties="first"))
    return figures


def scored(figures: Mapping[str, float]) -> dict[str, float]:
    """With the classic disclosure risk and score.

    Examples
    --------
    >>> scored({"IL": 10.0, "DLD": 8.0, "PLD": 4.0, "ID": 50.0})["Score"]
    19.0
    """
    risk = (figures["DLD"] + figures["PLD"]) / 4 + figures["ID"] / 2
    return {**figures, "DR": risk, "Score": (figures["IL"] + risk) / 2}
