"""Time series: the tables of papers 000 and 001 and of chapter 6 of the thesis (004), which prints most of 000 again.

The forecasters are the in-sample parts of the M3 competition, resampled to 10 points. The prices of the Ibex and the football
seasons of the paper are not to be had; daily prices of other companies and seasons of other teams stand for them, and only trends
can be compared. Of the Ibex the paper prints five days, which come with the package.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import polars as pl

from tsveil.data.dataset import Dataset
from tsveil.data.examples import example
from tsveil.data.resample import split
from tsveil.measure.evaluate import evaluate
from tsveil.measure.score import combine_rates, risk_and_score
from tsveil.protect.mdav import MDAV
from tsveil.reproduce.experiment import Experiment, Rows, row_keys
from tsveil.reproduce.printed import printed_tables
from tsveil.reproduce.source import Source
from tsveil.transform.normalise import How, normalise_one

#: the time points of the paper's series of prices
DAYS = 220

DISTANCES = {"eu": "euclidean", "sts": "sts"}


def normalised_prices(how: How, table: str, source: Source) -> Rows:
    """The food prices on another scale."""
    data = example("food-prices")
    years = printed_tables()[table].columns
    scaled = normalise_one(data.values, how)
    return {(name,): dict(zip(years, row, strict=True)) for name, row in zip(data.ids, scaled.tolist(), strict=True)}


def forecasters(source: Source) -> Dataset:
    """The series of the M3 competition at 10 points."""

    def read() -> Dataset:
        columns = ["series_id", "part", "t", "value"]
        frame = source.frame("m3_long.csv.gz", columns).filter(pl.col("part") == "in")
        return Dataset.from_long(frame, id="series_id", time="t", value="value", resample=10)

    return source.once("forecasters", read)


def football(source: Source) -> Dataset:
    """League seasons, a record for each team and a series for each variable."""
    frame = source.frame("football.csv", ["league", "team", "season", "variable", "value"])
    named = frame.with_columns((pl.col("league") + "/" + pl.col("team")).alias("club"))
    return Dataset.from_long(named, id="club", time="season", variable="variable", value="value")


def prices(source: Source) -> Dataset:
    """Daily prices of companies, as many days as the paper has."""
    frame = source.frame("stocks.csv")
    first, *days = frame.columns
    return Dataset.from_frame(frame, id=first, blocks={"price": days[:DAYS]})


def sizes(table: str, source: Source) -> Rows:
    """Records, series and points of the forecasters, and the number of firms of the Ibex."""
    data = forecasters(source)
    (block,) = data.series
    known = {"records": data.n, "series": len(data.series), "length": len(block), "elements": data.values.shape[1]}
    return {("Forecasters",): known, ("Ibex35",): {"records": example("ibex").n}}


def scores(table: str, read: str, dr1: str, source: Source) -> Rows:
    """Loss and risk of microaggregated series, for every number of series and every k of the table."""
    data = {"forecasters": forecasters, "football": football, "prices": prices}[read](source)
    return {row: _score(source, read, data, row, dr1) for row in row_keys(table)}


def _score(source: Source, read: str, data: Dataset, row: tuple[str, ...], dr1: str) -> dict[str, float]:
    distance, parts, k = row

    def measure_release() -> dict[str, float]:
        # The football data are several series from the start, the others are cut into several.
        cut = data if read == "football" or parts == "1" else split(data, int(parts))
        method = MDAV(k=int(k), distance=DISTANCES[distance], variant="paper", refine="none", grouping="per-block")
        released = method.protect(cut, seed=1).data
        # Short series have too few points for some of the five forecasts.
        card = evaluate(cut, released, ties="first", variant="paper", models="fitting")
        return card.to_dict()

    figures = dict(source.once(("series", read, row), measure_release))
    if dr1 == "mean":
        linked = combine_rates([figures["EULD"], figures["STSLD"]], "mean")
        figures |= risk_and_score(figures["IL"], linked, figures["ID"])
    return {**figures, "Score": figures["score"]}


def clusters(table: str, distance: str, source: Source) -> Rows:
    """How many firms of each printed cluster lie together in one of ours."""
    data = example("ibex")
    names = [_word(name) for name in data.ids]
    release = MDAV(k=6, distance=distance, variant="paper", refine="none", grouping="per-block").protect(data, seed=1)
    groups = release.groups["price"]
    found = [{names[i] for i in np.flatnonzero(groups == g)} for g in np.unique(groups)]
    rows = {}
    for row in row_keys(table):
        printed = set(row[1].split(","))
        assert printed <= set(names), printed - set(names)
        rows[row] = {"together": float(max(len(printed & group) for group in found))}
    return rows


def _word(name: str) -> str:
    """A firm's name as the published list writes it: letters and digits only.

    Examples
    --------
    >>> _word("R. E. Española"), _word("Antena3 TV")
    ('REEspañola', 'Antena3TV')
    """
    return re.sub(r"[^\w]", "", name)


#: how DR1 is made of the two linkages
_DR1 = {"max": "DR1 is the better linkage", "mean": "DR1 is the mean of the linkages"}
#: the data of a table of scores: what they are, and their file
_SCORED = {
    "forecasters": ("M3 in-sample parts at 10 points", "m3_long.csv.gz"),
    "football": ("seasons of other teams", "football.csv"),
    "prices": (f"{DAYS} daily prices of other companies, cut into i series", "stocks.csv"),
}


def _scores(name: str, data: str, dr1: str) -> Experiment:
    """A table of scores, of one of these data."""
    words, file = _SCORED[data]
    how = f"MDAV as printed, {words}, raw values; linkage with the first of equals, the original's scale; losses as printed; {_DR1[dr1]}"
    return Experiment(name, how, partial(scores, name, data, dr1), (file,))


EXPERIMENTS = (
    Experiment("000-2", "each time point ranged", partial(normalised_prices, "ranging", "000-2")),
    Experiment("000-3", "one mean and deviation for all values", partial(normalised_prices, "global", "000-3")),
    Experiment("000-4", "counted in the data", partial(sizes, "000-4"), ("m3_long.csv.gz",)),
    _scores("000-5", "forecasters", "max"),
    _scores("000-6", "football", "max"),
    _scores("000-7", "prices", "max"),
    Experiment("001-eu", "MDAV as printed, k = 6, the five printed days", partial(clusters, "001-eu", "euclidean")),
    Experiment(
        "001-sts", "MDAV as printed with STS distance, the five printed days", partial(clusters, "001-sts", "sts")
    ),
    Experiment("004-6.2", "each time point ranged", partial(normalised_prices, "ranging", "004-6.2")),
    Experiment("004-6.3", "one mean and deviation for all values", partial(normalised_prices, "global", "004-6.3")),
    Experiment("004-6.4", "counted in the data", partial(sizes, "004-6.4"), ("m3_long.csv.gz",)),
    _scores("004-6.5", "forecasters", "mean"),
    _scores("004-6.6", "football", "mean"),
    _scores("004-6.7", "prices", "mean"),
)
