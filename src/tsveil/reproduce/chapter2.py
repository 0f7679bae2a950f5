"""Chapter 2 of the thesis: the small examples of each method, and the sizes of the data sets."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from tsveil.attack.interval import ranks
from tsveil.measure.sse import sse
from tsveil.protect.base import Method
from tsveil.protect.mdav import MDAV
from tsveil.protect.projected import Projected
from tsveil.protect.univariate import OptimalUnivariate
from tsveil.reproduce.experiment import Experiment, Rows
from tsveil.reproduce.printed import Row, example_table
from tsveil.reproduce.source import Source, attributes

COLUMNS = ("attr1", "attr2")

#: data set of section 2.6 -> its file
FILES = {
    "Census": "census.csv",
    "EIA": "eia.csv",
    "Abalone": "abalone.csv",
    "Dermatology": "dermatology.csv",
    "Housing": "boston.csv",
    "Ionosphere": "ionosphere.csv",
    "Iris": "iris.csv",
    "Water-Treatment": "water_treatment.csv",
    "WDBC": "wdbc.csv",
}


def swapped_ranks(source: Source) -> Rows:
    """How far the values of the printed example of rank swapping moved, and how many are others than before."""
    original, protected = np.array(example_table("004-original")), np.array(example_table("004-swapped"))
    rows: dict[Row, dict[str, float]] = {}
    for j in range(original.shape[1]):
        ordered = np.sort(original[:, j])
        before, after = (ranks(ordered, table[:, j])[0] for table in (original, protected))
        strange = set(protected[:, j].tolist()) ^ set(ordered.tolist())
        rows[f"attr{j + 1}",] = {"moved": float(np.abs(after - before).max()), "new-values": float(len(strange))}
    return rows


def toy(methods: dict[str, tuple[Method, bool]], source: Source) -> Rows:
    """The example with seven records; a method may take the attributes one by one."""
    frame = pl.DataFrame(np.array(example_table("004-toy")), schema=list(COLUMNS), orient="row")
    rows: dict[Row, dict[str, float]] = {}
    for name, (method, apart) in methods.items():
        data = attributes(frame, [[column] for column in COLUMNS] if apart else [COLUMNS])
        released = method.protect(data, seed=1).data.values
        for i, row in enumerate(released.tolist(), 1):
            rows[name, str(i)] = dict(zip(COLUMNS, row, strict=True))
    return rows


def toy_losses(source: Source) -> Rows:
    """The printed sums of squared errors of the examples."""
    frame = pl.DataFrame(np.array(example_table("004-toy")), schema=list(COLUMNS), orient="row")
    rows: dict[Row, dict[str, float]] = {}
    for name, (method, apart) in {**OPTIMAL, **PROJECTED, **MULTIVARIATE}.items():
        data = attributes(frame, [[column] for column in COLUMNS] if apart else [COLUMNS])
        rows[name,] = {"SSE": sse(data.values, method.protect(data, seed=1).data.values, "printed")}
    return rows


def sizes(source: Source) -> Rows:
    """The number of records of each file."""
    return {(name,): {"records": float(len(source.frame(file)))} for name, file in FILES.items()}


OPTIMAL: dict[str, tuple[Method, bool]] = {"Optimal": (OptimalUnivariate(k=2), False)}
PROJECTED: dict[str, tuple[Method, bool]] = {
    "PCP": (Projected(k=2, projection="pcp", scale="range"), False),
    "Zscores": (Projected(k=2, projection="zscores"), False),
}
MULTIVARIATE: dict[str, tuple[Method, bool]] = {"MDAV": (MDAV(k=2, refine="none", grouping="per-block"), True)}

EXPERIMENTS = (
    Experiment("004-2.1", "the printed example is checked: ranks move by at most p = 2", swapped_ranks),
    Experiment("004-2.2", "optimal univariate microaggregation, k = 2", partial(toy, OPTIMAL)),
    Experiment(
        "004-2.3",
        "projected microaggregation, k = 2; the principal component is that of ranged data",
        partial(toy, PROJECTED),
    ),
    Experiment("004-2.4", "MDAV (standard), attribute by attribute, k = 2", partial(toy, MULTIVARIATE)),
    Experiment("004-2.SSE", "the printed form of SSE: each file on its own range", toy_losses),
    Experiment("004-2.6", "counted in the files", sizes, tuple(FILES.values())),
)
