"""(n,l,k)-anonymity: what paper 003 says about its figures 4 to 13, on other households and on its own kinds of synthetic series.

The curves of the figures are not printed as numbers, so the sentences about them are tested: ranges, bounds, and directions, the
latter as rank correlations.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tsveil.data.dataset import Dataset
from tsveil.data.synthetic import random_series, sine_series
from tsveil.guarantee.nlk import verify_nlk
from tsveil.measure.nlk import divergence_histogram, nlk_figures
from tsveil.protect.nlk import NLK, nlk_study
from tsveil.reproduce.experiment import Experiment, Rows
from tsveil.reproduce.source import Source
from tsveil.reproduce.verdicts import rank_correlation

#: households of the paper
HOUSEHOLDS = 180
KS = (6, 8, 10, 12, 14, 16, 18, 20)
#: (10, l, k) of figures 7b and 9b
LS = (11, 12, 13, 14, 15, 20)

#: a row per series, a digit per time point: the series with the same digit are one cluster there
EXAMPLES = {
    "Example-4": "000 000 001 001 100 101",
    "Example-5": "000 000 000 000 101 101",
    "Example-6": "000 000 001 001 110 111",
}


def households(source: Source) -> Dataset:
    """As many households as the paper has, with all their hours."""

    def read() -> Dataset:
        frame = source.frame("smart_meter.csv")
        first, *hours = frame.columns
        return Dataset.from_frame(frame.head(HOUSEHOLDS), id=first, blocks={"load": hours})

    return source.once("households", read)


def examples(source: Source) -> Rows:
    """Which of the drawn tables are (2,3,6)-anonymous."""
    tables = {name: [list(map(float, row)) for row in text.split()] for name, text in EXAMPLES.items()}
    return {(name,): {"anonymous": float(verify_nlk(table, 2, 3, 6).holds)} for name, table in tables.items()}


def _study(source: Source) -> pl.DataFrame:
    pairs = [(10, l) for l in LS]
    return source.once("nlk", lambda: nlk_study(households(source), pairs=pairs, ks=KS, heuristics=("mth",)))


def _column(frame: pl.DataFrame, figure: str, **equal: object) -> list[float]:
    chosen = frame.filter(*(pl.col(name) == value for name, value in equal.items()))
    return [float(value) for value in chosen[figure].to_list()]


def divergence(source: Source) -> Rows:
    """Figure 7."""
    study = _study(source)

    def at(figure: str = "NormDiv", **equal: object) -> list[float]:
        return _column(study, figure, **equal)

    return {
        ("k=20,stage-1",): {"figure": at(heuristic="stage 1", k=20)[0]},
        ("k=20,(10,20,k)",): {"figure": at(l=20, k=20)[0]},
        ("k=10,(10,20,k)",): {"figure": at(l=20, k=10)[0]},
        ("rank-correlation-with-k",): {"figure": rank_correlation(KS, at(l=15))},
        ("rank-correlation-with-l",): {"figure": rank_correlation(LS, at(heuristic="mth", k=10))},
    }


def spread(source: Source) -> Rows:
    """Figure 9."""
    study = _study(source)
    by_k = _column(study, "std shift", l=15)
    return {
        ("largest",): {"figure": max(study["std shift"].to_list())},
        ("k=10,(10,20,k)",): {"figure": _column(study, "std shift", l=20, k=10)[0]},
        ("rank-correlation-with-k",): {"figure": rank_correlation(KS, by_k)},
    }


def synthetic(source: Source) -> Rows:
    """Figure 8: 1000 series of 168 points of either kind."""
    rows: dict[tuple[str, ...], dict[str, float]] = {}
    for name, data in (("random", random_series(seed=1)), ("sine", sine_series(seed=1))):
        ks = (10, 20)
        found = {}
        for k in ks:
            released = NLK(n=10, l=15, k=k, heuristic="mth", grouping="per-block").protect(data, seed=1)
            found[k] = nlk_figures(data.values, released.data.values, 10)
        rows[name,] = {
            "divergence,k=10": found[10]["NormDiv"],
            "divergence,k=20": found[20]["NormDiv"],
            "shift,k=10": found[10]["std shift"],
            "shift,k=20": found[20]["std shift"],
        }
    return rows


def classes(source: Source) -> Rows:
    """Figure 10: how far single values move, (7,10,k)."""
    data = households(source)
    shares = {}
    ks = range(10, 16)
    for k in ks:
        released = NLK(n=7, l=10, k=k, heuristic="mth", grouping="per-block").protect(data, seed=1)
        shares[k] = divergence_histogram(data.values, released.data.values)
    beyond = [sum(shares[k][name] for name in ("20-30", "30-50", ">50")) for k in ks]
    return {
        ("k=10,below-2",): {"figure": shares[10]["0-2"]},
        ("k=15,below-20",): {"figure": 100 - beyond[-1]},
        ("rank-correlation-of-share-above-20-with-k",): {"figure": rank_correlation(list(ks), beyond)},
    }


def heuristics(source: Source) -> Rows:
    """Figure 11: loss saved after stage 1 by either heuristic."""
    pairs = [(n, n + more) for n in (3, 10) for more in (4, 8, 12)]
    study = nlk_study(households(source), pairs=pairs, ks=range(3, 9), heuristics=("mth", "mil"))
    saved = {}
    for k in range(3, 9):
        mth, mil = (float(np.mean(_column(study, "reduction", heuristic=name, k=k))) for name in ("mth", "mil"))
        saved[k] = (mth, mil)
    total = [sum(pair) for pair in zip(*saved.values(), strict=True)]
    return {
        ("MTH/MIL,mean-of-k=3..8",): {"figure": total[0] / total[1]},
        ("MTH/MIL,least-over-k",): {"figure": min(mth / mil for mth, mil in saved.values())},
    }


def run_times(source: Source) -> Rows:
    """Figures 12 and 13: nothing is held against the clock of another computer."""
    return {}


_METERS = ("smart_meter.csv",)

EXPERIMENTS = (
    Experiment("003-examples", "the exact verifier on the drawn tables", examples),
    Experiment("003-7", f"MTH on the first {HOUSEHOLDS} households", divergence, _METERS),
    Experiment("003-8", "MTH, (10,15,k), 1000 series of 168 points", synthetic),
    Experiment("003-9", f"MTH on the first {HOUSEHOLDS} households", spread, _METERS),
    Experiment("003-10", f"MTH, (7,10,k), on the first {HOUSEHOLDS} households", classes, _METERS),
    Experiment("003-11", "MTH and MIL, n = 3 and 10, l - n = 4, 8 and 12", heuristics, _METERS),
    Experiment("003-12", "run times are measured in benchmarks/nlk.py", run_times),
)
