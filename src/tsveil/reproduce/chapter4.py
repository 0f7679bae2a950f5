"""Chapter 4 of the thesis: attacks made for one method, on rank swapping, univariate and multivariate microaggregation.

Rank swapping is random: its figures are means over seeds, here as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import polars as pl

from tsveil.attack.alignment import alignment
from tsveil.attack.distance import distance
from tsveil.attack.interval import interval
from tsveil.attack.probabilistic import probabilistic
from tsveil.attack.projected import WAYS
from tsveil.attack.projected import projected as by_projections
from tsveil.attack.rank_swap import rank_swap
from tsveil.data.dataset import Dataset
from tsveil.measure.score import combine_rates, risk_and_score, score_of
from tsveil.measure.sse import sse
from tsveil.protect.base import Method
from tsveil.protect.mdav import MDAV
from tsveil.protect.rank_swap import RankSwap
from tsveil.protect.rank_swap_buckets import RankSwapBuckets
from tsveil.protect.rank_swap_distribution import RankSwapDistribution
from tsveil.protect.univariate import OptimalUnivariate
from tsveil.release.release import Release
from tsveil.reproduce.chapter3 import blockwise, blockwise_figures
from tsveil.reproduce.experiment import Experiment, Rows, row_keys
from tsveil.reproduce.microdata import PROBABILISTIC, loss, mean_rate, reference, rounds
from tsveil.reproduce.printed import Row, example_table
from tsveil.reproduce.source import Source, attributes

#: random releases of which the mean is taken
SEEDS = range(3)
#: half of the attributes, which the intruder knows at most
HALF = {"Census": 6, "EIA": 5}


# -- rank swapping ----------------------------------------------------------------------------------------------------


def example_links(source: Source) -> Rows:
    """Table 4.2: right links in the printed example with 1 to 4 known attributes."""
    names = [f"attr{j}" for j in range(1, 5)]
    original, protected = (
        attributes(pl.DataFrame(np.array(example_table(f"004-{name}")), schema=names, orient="row"), [names])
        for name in ("original", "swapped")
    )
    found = {
        "RS-RL": rounds(rank_swap, original, protected, window=2, ties="first"),
        "DB-RL": rounds(distance, original, protected, metric="l1", ties="first"),
        "P-RL": rounds(probabilistic, original, protected, ties="first"),
    }
    return {
        (attack,): {
            **{str(known): links.correct for known, links in enumerate(each, 1)},
            "average": mean_rate(each),
        }
        for attack, each in found.items()
    }


def whole(source: Source, name: str) -> Dataset:
    """Census or EIA as one block."""
    frame = reference(source, name)
    return source.once(("whole", name), lambda: attributes(frame, [frame.columns]))


def _window(data: Dataset, buckets: int) -> int:
    """Two buckets, in ranks."""
    return 2 * -(-data.n // buckets)


#: table -> the method with the parameter of the row, and how the attack by ranks is told about it
SWAPPING: dict[str, tuple[Callable[[float], Method], Callable[[Dataset, float], dict[str, float]]]] = {
    "004-4.3": (lambda p: RankSwap(p=p, taken="skip"), lambda data, p: {"p": p}),
    "004-4.4": (lambda p: RankSwapDistribution(p=p), lambda data, p: {"p": 2 * p}),
    "004-4.5": (lambda p: RankSwapBuckets(buckets=int(p)), lambda data, p: {"window": _window(data, int(p))}),
}


def swapped_release(source: Source, table: str, name: str, p: float, seed: int) -> Release:
    """Census or EIA swapped."""
    make, _ = SWAPPING[table]
    return source.once(("swapped", table, name, p, seed), lambda: make(p).protect(whole(source, name), seed=seed))


def swapping(table: str, source: Source) -> Rows:
    """Tables 4.3 to 4.5."""
    return {row: swapping_figures(table, source, row) for row in row_keys(table)}


def swapping_figures(table: str, source: Source, row: Row) -> dict[str, float]:
    """A row of tables 4.3 to 4.5."""
    return source.once(("swapping", table, row), lambda: _swapping(table, source, row))


def _swapping(table: str, source: Source, row: Row) -> dict[str, float]:
    name, p = row[0], float(row[1])
    data = whole(source, name)
    counts = range(1, HALF[name] + 1)
    each = []
    for seed in SEEDS:
        release = swapped_release(source, table, name, p, seed)
        by_rank = rounds(rank_swap, data, release, counts, **SWAPPING[table][1](data, p))
        figures = {
            "IL": loss(data, release),
            "RSLD": mean_rate(by_rank),
            "DLD": mean_rate(rounds(distance, data, release, counts)),
            "PLD": mean_rate(rounds(probabilistic, data, release, counts)),
            "ID": interval(data, release).rate,
        }
        each.append(figures)
    means = {figure: float(np.mean([one[figure] for one in each])) for figure in each[0]}
    # What the scores of the tables were computed by, not what is printed.
    risk = means["RSLD"] / 3 + means["DLD"] / 6 + means["PLD"] / 6 + means["ID"] / 3
    return {**means, "DR": risk, "Score": score_of(means["IL"], risk)}


def comparison(source: Source) -> Rows:
    """What the text says about figures 4.6 and 4.7: the three kinds with like parameters, row by row of tables 4.3 to 4.5."""
    rows: dict[Row, dict[str, float]] = {}
    for name in ("Census", "EIA"):
        kinds = [
            [swapping_figures(table, source, row) for row in row_keys(table) if row[0] == name] for table in SWAPPING
        ]
        # The table of buckets has one row less.
        alike = list(zip(*kinds, strict=False))

        def share(
            figure: str, best: Callable[..., float], alike: Sequence[tuple[dict[str, float], ...]] = alike
        ) -> float:
            return 100 * float(np.mean([best(kind[figure] for kind in kinds) == kinds[0][figure] for kinds in alike]))

        rows[name, "risk-largest-for-standard"] = {"percent": share("DR", max)}
        rows[name, "score-largest-for-standard"] = {"percent": share("Score", max)}
        rows[name, "loss-smallest-for-standard"] = {"percent": share("IL", min)}
        losses = [kind["IL"] for kind in alike[3]]
        rows[name, "fourth-parameterization,loss/loss"] = {"percent": 100 * max(losses) / min(losses)}
    return rows


def curves(source: Source) -> Rows:
    """What the text says about figures 4.3 to 4.5: links by ranks with half, all, or the best number of attributes."""
    rows: dict[Row, dict[str, float]] = {}
    for row in row_keys("004-4.figures"):
        figure, name, p, known = row
        table = {"4.3": "004-4.3", "4.4": "004-4.4", "4.5": "004-4.5"}[figure]
        data = whole(source, name)
        release = swapped_release(source, table, name, float(p), 0)
        counts = {"half": [HALF[name]], "all": [len(data.columns)], "best": None}[known]
        more = SWAPPING[table][1](data, float(p))
        found = rounds(rank_swap, data, release, counts, **more)
        rows[row] = {"links": max(links.rate for links in found)}
    return rows


def unions(source: Source) -> Rows:
    """Table 4.6: right links on p-distribution by distance and by the annotated union of two widths."""
    rows = {}
    for row in row_keys("004-4.6"):
        name, p = row[0], float(row[1])
        data = whole(source, name)
        known = data.columns[: HALF[name]]
        found: dict[str, list[float]] = {"DB-RL": [], "half": [], "whole": []}
        for seed in SEEDS:
            release = swapped_release(source, "004-4.4", name, p, seed)
            found["DB-RL"].append(distance(data, release, known=known).correct)
            for width, share in (("half", p / 2), ("whole", p)):
                found[width].append(rank_swap(data, release, known=known, p=share, rule="union").correct)
        rows[row] = {attack: float(np.mean(counts)) for attack, counts in found.items()}
    return rows


# -- univariate microaggregation --------------------------------------------------------------------------------------


def univariate(source: Source) -> Rows:
    """Table 4.7."""
    rows = {}
    for row in row_keys("004-4.7"):
        name, k = row[0], int(row[1])
        frame = reference(source, name)
        data = attributes(frame, [[column] for column in frame.columns])
        rows[row] = {
            "Optimal": sse(data.values, OptimalUnivariate(k=k).protect(data, seed=1).data.values, "printed"),
            "MDAV": sse(
                data.values,
                MDAV(k=k, variant="paper", refine="none", grouping="per-block").protect(data, seed=1).data.values,
                "printed",
            ),
        }
    return rows


def alignment_links(source: Source) -> Rows:
    """The numbers that the text gives with figures 4.8 and 4.9: right links with 2 and with 5 known attributes."""
    rows: dict[Row, dict[str, float]] = {}
    for name in ("Census", "EIA"):
        data = whole(source, name)
        release = OptimalUnivariate(k=50).protect(data, seed=1)
        counts = [2, 5]
        found = {
            "A-RL": rounds(alignment, data, release, counts, direction="released"),
            "P-RL": rounds(probabilistic, data, release, counts, ties="first"),
            "DB-RL": rounds(distance, data, release, counts, scaling="own", ties="first"),
        }
        for attack, each in found.items():
            rows[name, attack] = {str(c): links.correct for c, links in zip(counts, each, strict=True)}
    return rows


# -- multivariate microaggregation ------------------------------------------------------------------------------------


def traditional(table: str, name: str, source: Source) -> Rows:
    """Tables 4.8 and 4.9."""
    return {row: blockwise_figures(source, name, row[0], int(row[1]), int(row[2])) for row in row_keys(table)}


def scores_with_projections(table: str, name: str, source: Source) -> Rows:
    """Tables 4.10 and 4.11: with the attack by projections, and the scores that count it."""
    rows = {}
    for row in row_keys(table):
        key = (name, row[0], int(row[1]), int(row[2]))
        data, release = blockwise(source, *key)
        figures = blockwise_figures(source, *key)
        ends = np.cumsum([len(block) for block in data.blocks]).tolist()[1:]
        # One projection for all rounds: the intruder tries both, and takes the better.
        links = max(
            mean_rate(rounds(by_projections, data, release, ends, projection=how, ties="first")) for how in WAYS
        )
        linkages = [figures["DLD"], figures["PLD"], links]
        some = {"004-4.10": linkages, "004-4.11": linkages[1:]}[table]
        rows[row] = {
            **figures,
            "ProjLD": links,
            "ScoreOld": figures["Score"],
            "ScoreNew": risk_and_score(figures["IL"], combine_rates(some, "mean"), figures["ID"])["score"],
            "ScoreMax": risk_and_score(figures["IL"], combine_rates(linkages, "max"), figures["ID"])["score"],
        }
    return rows


def projections(source: Source) -> Rows:
    """What the text says about figures 4.10 to 4.12: both projections and the common attacks, blocks of four, two to all of them known."""
    rows: dict[Row, dict[str, float]] = {}
    for figure, method in (("4.10", "PCP"), ("4.11", "Zscores"), ("4.12", "MDAV")):
        for name in ("Census", "EIA"):
            linked: dict[str, list[float]] = {}
            for k in (5, 15, 25):
                data, release = blockwise(source, name, method, 4, k)
                ends = np.cumsum([len(block) for block in data.blocks]).tolist()[1:]
                found = {
                    "PCP": rounds(by_projections, data, release, ends, projection="pcp", ties="first"),
                    "Zscores": rounds(by_projections, data, release, ends, projection="zscores", ties="first"),
                    "DB-RL": rounds(distance, data, release, ends, scaling="own", ties="first"),
                    "P-RL": rounds(probabilistic, data, release, [e for e in ends if e <= PROBABILISTIC], ties="first"),
                }
                for attack, each in found.items():
                    rates = [links.rate for links in each]
                    linked.setdefault(attack, []).extend(rates + [0.0] * (len(ends) - len(rates)))
            best = np.max([*linked.values()], axis=0)
            for one, other in (("PCP", "Zscores"), ("Zscores", "PCP")):
                rows[figure, name, f"{one}-links-most"] = {"percent": 100 * float(np.mean(linked[one] == best))}
                part = 100 * float(np.mean(linked[one]) / np.mean(linked[other]))
                rows[figure, name, f"{one},of-those-by-{other}"] = {"percent": part}
    return rows


_BOTH = ("census.csv", "eia.csv")
_SWAPPED = f"mean of {len(SEEDS)} seeds; 1 to half of the attributes known; the score as it was computed"
_MADE = "MDAV (standard) on raw values, projections cut k from both ends; own scaling, two to all blocks known"

EXPERIMENTS = (
    Experiment("004-4.2", "distances are sums of absolute differences, as in example 4.1", example_links),
    Experiment(
        "004-4.3", f"{_SWAPPED}; a value whose partner is taken keeps its place", partial(swapping, "004-4.3"), _BOTH
    ),
    Experiment(
        "004-4.4",
        f"{_SWAPPED}; every value swapped once; candidates within 2p ranks",
        partial(swapping, "004-4.4"),
        _BOTH,
    ),
    Experiment(
        "004-4.5",
        f"{_SWAPPED}; every value swapped once; candidates within two buckets",
        partial(swapping, "004-4.5"),
        _BOTH,
    ),
    Experiment("004-4.figures", "what the text says about figures 4.3 to 4.5; one seed", curves, _BOTH),
    Experiment(
        "004-4.comparison",
        "what the text says about figures 4.6 and 4.7, from the figures of tables 4.3 to 4.5",
        comparison,
        _BOTH,
    ),
    Experiment("004-4.6", f"mean of {len(SEEDS)} seeds, annotated union, half of the attributes known", unions, _BOTH),
    Experiment("004-4.7", "MDAV as printed; SSE as printed", univariate, _BOTH),
    Experiment(
        "004-4.links", "figures 4.8 and 4.9: optimal, k = 50; own scaling, the first of equals", alignment_links, _BOTH
    ),
    Experiment("004-4.projected", f"what the text says about figures 4.10 to 4.12; {_MADE}", projections, _BOTH),
    Experiment("004-4.8", _MADE, partial(traditional, "004-4.8", "Census"), ("census.csv",)),
    Experiment("004-4.9", _MADE, partial(traditional, "004-4.9", "EIA"), ("eia.csv",)),
    Experiment("004-4.10", _MADE, partial(scores_with_projections, "004-4.10", "Census"), ("census.csv",)),
    Experiment(
        "004-4.11",
        f"{_MADE}; ScoreNew with the mean of PLD and ProjLD, as it was computed",
        partial(scores_with_projections, "004-4.11", "EIA"),
        ("eia.csv",),
    ),
)
