"""Chapter 3 of the thesis: which attributes share a block, projections by aggregation functions, and Mic1D.

Nine attributes of three correlated families are protected in three blocks: `correlated` (each family is a block) or `scattered` (one
of each family in every block, which the thesis calls correlated blocks). The intruder knows two or all blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl

from tsveil.core.types import Array
from tsveil.data.dataset import Dataset
from tsveil.measure.real_anonymity import printed_anonymity, real_anonymity
from tsveil.measure.sse import sse
from tsveil.protect.mdav import MDAV
from tsveil.protect.mic1d import Mic1D
from tsveil.release.release import Release
from tsveil.reproduce.experiment import Experiment, Rows, row_keys
from tsveil.reproduce.microdata import EIA_NINE, WATER_NINE, add_scores, generic_figures, multivariate, reference
from tsveil.reproduce.printed import Row, example_table
from tsveil.reproduce.source import Source, attributes, in_blocks
from tsveil.transform.normalise import normalise_one

#: table 3.9: the attributes that the intruder knows, from one, two or three blocks
KNOWN = {
    "correlated": {
        "1G": "123 456 789",
        "2G": "125 137 236 145 246 569 678 189 279",
        "3G": "147 158 169 247 258 269 347 358 369",
    },
    "scattered": {
        "1G": "147 258 369",
        "2G": "145 137 478 125 248 589 368 169 349",
        "3G": "123 156 189 234 456 489 237 567 789",
    },
}


# -- section 3.1 ------------------------------------------------------------------------------------------------------


def anonymity_bounds(source: Source) -> Rows:
    """The bounds of the real anonymity of random data."""
    low, high = printed_anonymity(380, 25, 2)
    return {("n=380,k=25,r=2",): {"lower": low, "upper": high}}


def motivating(source: Source) -> Rows:
    """The circle and the sphere: attributes without correlation, repeated."""
    rows: dict[Row, dict[str, float]] = {}
    for name, points, k in (("circle", circle(), 2), ("sphere", sphere(), 4)):
        r = points.shape[1]
        columns = [f"a{j + 1}" for j in range(r * r)]
        frame = pl.DataFrame(np.tile(points, r), schema=columns, orient="row")
        for kind, blocks in (("correlated", [columns[j::r] for j in range(r)]), ("scattered", in_blocks(columns, r))):
            data = attributes(frame, blocks)
            release = MDAV(k=k, refine="none", grouping="per-block").protect(data, seed=1)
            figures = add_scores(generic_figures(data, release, [r * known for known in range(1, r + 1)]))
            rows[name, kind] = {**figures, "k'": real_anonymity(release)}
    return rows


ANGLES = [math.pi * i / 20 for i in (1, 3, 5, 7, 9)]


def circle() -> Array:
    """Points of a circle in all four quadrants."""
    return np.array(
        [(a * math.cos(t), b * math.sin(t)) for t in ANGLES for a, b in itertools.product((1, -1), repeat=2)]
    )


def sphere() -> Array:
    """Points of a sphere in all eight octants."""
    return np.array(
        [
            (a * math.cos(f) * math.cos(t), b * math.cos(f) * math.sin(t), c * math.sin(f))
            for t in ANGLES
            for f in ANGLES
            for a, b, c in itertools.product((1, -1), repeat=3)
        ]
    )


def nine(source: Source, name: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The data set with nine attributes, and these."""
    if name == "EIA":
        return reference(source, "EIA"), EIA_NINE
    frame = source.frame("water_treatment.csv", WATER_NINE)
    # The 380 records in which no attribute at all is missing.
    return source.once("complete water", lambda: frame.drop_nulls()), WATER_NINE


def protect_nine(source: Source, name: str, row: Row) -> tuple[Dataset, Release]:
    """The nine attributes protected as a row of the tables says."""
    kind, method, k = row

    def make() -> tuple[Dataset, Release]:
        frame, columns = nine(source, name)
        blocks: Sequence[Sequence[str]] = in_blocks(columns, 3)
        data = attributes(frame, blocks if kind == "correlated" else list(zip(*blocks, strict=True)))
        made = Mic1D(kappa=int(k)) if method == "Mic1D" else multivariate(method, int(k))
        return data, made.protect(data, seed=1)

    return source.once(("nine", name, row), make)


def scores(table: str, name: str, source: Source) -> Rows:
    """Loss, risk and score with two and three known blocks; for Mic1D, which has no blocks, with 1 to 9 attributes."""

    def measure_row(row: Row) -> dict[str, float]:
        data, release = protect_nine(source, name, row)
        counts = range(1, 10) if row[1] == "Mic1D" else (6, 9)
        return add_scores(generic_figures(data, release, list(counts)))

    return {row: source.once(("score", name, row), partial(measure_row, row)) for row in row_keys(table)}


def anonymity(table: str, name: str, source: Source) -> Rows:
    """SSE as printed, and the real anonymity of the first one, two and three blocks."""
    rows = {}
    for row in row_keys(table):
        data, release = protect_nine(source, name, row)
        blocks = [block.name for block in data.blocks]
        found = {f"{known}G": real_anonymity(release, blocks[:known]) for known in (1, 2, 3)}
        rows[row] = {"SSE": sse(data.values, release.data.values, "printed"), **found}
    return rows


def mean_anonymity(table: str, name: str, source: Source) -> Rows:
    """SSE as printed, and the mean real anonymity over the sets of three known attributes of table 3.9."""
    rows = {}
    for row in row_keys(table):
        data, release = protect_nine(source, name, row)
        _, columns = nine(source, name)
        found = {
            case: float(
                np.mean([real_anonymity(release, [columns[int(a) - 1] for a in known]) for known in sets.split()])
            )
            for case, sets in KNOWN[row[0]].items()
        }
        rows[row] = {"SSE": sse(data.values, release.data.values, "printed"), **found}
    return rows


# -- section 3.2 ------------------------------------------------------------------------------------------------------


def blockwise(source: Source, name: str, method: str, a: int, k: int) -> tuple[Dataset, Release]:
    """Census or EIA in blocks of `a` attributes, protected."""

    def make() -> tuple[Dataset, Release]:
        frame = reference(source, name)
        data = attributes(frame, in_blocks(frame.columns, a))
        return data, multivariate(method, k).protect(data, seed=1)

    return source.once(("blockwise", name, method, a, k), make)


def blockwise_figures(source: Source, name: str, method: str, a: int, k: int) -> dict[str, float]:
    """Its loss, risk and score with two to all blocks known."""

    def make() -> dict[str, float]:
        data, release = blockwise(source, name, method, a, k)
        return add_scores(generic_figures(data, release, [a * known for known in range(2, len(data.blocks) + 1)]))

    return source.once(("blockwise figures", name, method, a, k), make)


def blockwise_scores(source: Source) -> Rows:
    """Table 3.7."""
    return {row: blockwise_figures(source, row[0], row[1], int(row[2]), int(row[3])) for row in row_keys("004-3.7")}


# -- section 3.3 ------------------------------------------------------------------------------------------------------


def partitions(source: Source) -> Rows:
    """Example 3.4: all values sorted, cut into chunks of 8, each chunk ranged."""
    ordered = np.sort(np.array(example_table("004-people")).ravel())
    rows: dict[Row, dict[str, float]] = {}
    for m in range(0, len(ordered), 8):
        for n, unit in enumerate(normalise_one(ordered[m : m + 8, None], "ranging").ravel().tolist()):
            rows[f"P{m // 8}", str(n)] = {"normalised": unit}
    return rows


_BLOCKS = "own scaling and the first of equals, two and three blocks known"
_MADE = "MDAV (standard) on raw values, projections cut k from both ends"
_WATER, _EIA = ("water_treatment.csv",), ("eia.csv",)

EXPERIMENTS = (
    Experiment("004-3.1.1", "the printed bounds with the exponent put right", anonymity_bounds),
    Experiment("004-3.1.3", "MDAV (standard), k = 2 and 4; own scaling, one to all blocks known", motivating),
    Experiment("004-3.3", f"{_MADE}; {_BLOCKS}", partial(scores, "004-3.3", "Water"), _WATER),
    Experiment("004-3.4", f"{_MADE}; {_BLOCKS}", partial(scores, "004-3.4", "EIA"), _EIA),
    Experiment("004-3.5", f"{_MADE}; SSE as printed", partial(anonymity, "004-3.5", "Water"), _WATER),
    Experiment("004-3.6", f"{_MADE}; SSE as printed", partial(anonymity, "004-3.6", "EIA"), _EIA),
    Experiment(
        "004-3.7", f"{_MADE}; own scaling, two to all blocks known", blockwise_scores, ("census.csv", "eia.csv")
    ),
    Experiment("004-3.8", "example 3.4: sorted, cut, ranged", partitions),
    Experiment(
        "004-3.10", f"{_MADE}, Mic1D; the known sets of table 3.9", partial(mean_anonymity, "004-3.10", "EIA"), _EIA
    ),
    Experiment(
        "004-3.11", f"{_MADE}, Mic1D; the known sets of table 3.9", partial(mean_anonymity, "004-3.11", "Water"), _WATER
    ),
    Experiment(
        "004-3.12", f"{_MADE}; {_BLOCKS}, 1 to 9 attributes for Mic1D", partial(scores, "004-3.12", "EIA"), _EIA
    ),
    Experiment(
        "004-3.13", f"{_MADE}; {_BLOCKS}, 1 to 9 attributes for Mic1D", partial(scores, "004-3.13", "Water"), _WATER
    ),
)
