"""The score of protected time series: what was lost, what still leaks, in percent.

    IL    = (IL1 + IL2 + IL3) / 3                    information loss: statistics, values, forecasts
    DR1   = max(EULD, STSLD)                         records re-identified by the better of two linkages (thesis: their mean)
    DR2   = ID                                       values that the published ones give away to within 1 to 10 %
    DR    = (DR1 + DR2) / 2                          disclosure risk
    score = (IL + DR) / 2                            lower is better

Every figure is computed per series and averaged over the series with equal weight; the linkages are averaged over the number of
known series, from one to all.

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009) 1663-1677.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from tsveil import progress
from tsveil._types import Array
from tsveil.attack._files import Ties, own_rows
from tsveil.attack.fits import FIGURES, Run, made_for_series
from tsveil.attack.links import Links
from tsveil.attack.series import series_prefixes
from tsveil.data.align import Truth
from tsveil.data.dataset import Dataset
from tsveil.errors import InputError, ParameterError
from tsveil.measure.disclosure_risk import interval_disclosure
from tsveil.measure.forecast import MODELS, fitting_models
from tsveil.measure.information_loss import series_loss
from tsveil.measure.scorecard import Scorecard, in_both, people
from tsveil.transform.normalise import How, Scaling

#: figure -> (title, one plain sentence)
MEANINGS: dict[str, tuple[str, str]] = {
    "IL1": ("loss in statistics", "How far the mean and the autocorrelation of each series moved."),
    "IL2": ("loss in values", "How far the published values are from the original ones, on average."),
    "IL3": (
        "loss in forecasts",
        "How far forecasts made from the published series are from those made from the original ones.",
    ),
    "IL": ("information loss", "The mean of the three losses: 0 means nothing was lost."),
    "EULD": (
        "linkage by values",
        "Share of records that an intruder who knows the true values links to the right published record.",
    ),
    "STSLD": ("linkage by shape", "Share that an intruder links right who compares the ups and downs of the curves."),
    "DR1": ("re-identification", "The re-identification risk that counts: the better of the two linkages."),
    "ID": (
        "interval disclosure",
        "Share of values that lie within 1 to 10 % of the published ones, so that publishing gives them away.",
    ),
    "DR": ("disclosure risk", "The mean of re-identification and interval disclosure: 0 means nothing leaks."),
    "score": (
        "score",
        "The mean of information loss and disclosure risk: lower is better. The raw file itself scores about 50.",
    ),
}


#: by name, or "fitting": those of the five that the series are long enough for
Models = Mapping[str, Callable[[Array], Array]] | Sequence[str] | Literal["fitting"] | None


def series_scorecard(
    original: Dataset,
    protected: Dataset,
    *,
    truth: Truth = None,
    ties: Ties = "expected",
    dr1: Literal["max", "mean"] = "max",
    normalise: How = "global",
    scaling: Scaling = "original",
    models: Models = None,
    variant: Literal["default", "paper"] = "default",
    method: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Scorecard:
    """Measure information loss and disclosure risk of protected series.

    The name and the settings of the method that made the release add the attacks that are made for it. They do not enter DR1,
    which is defined by the two linkages of series, but the best attack may be one of them. Rows of the two data sets are aligned, or the `truth` says which belong together: attacks then run on the files as they are,
    and losses are measured on the people who are in both.

    Examples
    --------
    >>> import tsveil as tv
    >>> data = tv.example("food-prices")
    >>> card = series_scorecard(data, tv.MDAV(k=2).protect(data).data)
    >>> card["EULD"], card.best_attack
    (37.5, ('EULD', 37.5))
    """
    for name, value, allowed in (
        ("ties", ties, ("expected", "first")),
        ("dr1", dr1, ("max", "mean")),
        ("variant", variant, ("default", "paper")),
    ):
        if value not in allowed:
            raise ParameterError(
                f"The {name!r} parameter of evaluate must be one of {', '.join(map(repr, allowed))}. Got {value!r}."
            )
    _check_same_shape(original, protected)

    own = own_rows(original, protected, truth)
    both = own >= 0
    losses, per_series, disclosed = [], {}, []
    for block in original.series:
        assert block.times is not None
        x, y = original.block(block.name)[both], protected.block(block.name)[own[both]]
        with progress.step(f"Measuring {block.name}"):
            fitting = fitting_models(len(block)) if models == "fitting" else models
            loss = series_loss(x, y, models=fitting, variant=variant)
            by_percent, share = interval_disclosure(x, y)
        losses.append(loss)
        disclosed.append(share)
        per_series[block.name] = {
            "IL1": loss.il1, "IL2": loss.il2, "IL3": loss.il3, "IL": loss.il, "ID": float(by_percent.mean()),
        }  # fmt: skip

    how: dict[str, Any] = {"truth": truth, "normalise": normalise, "scaling": scaling, "ties": ties}
    euclidean = series_prefixes(original, protected, distance="euclidean", **how)
    shaped = series_prefixes(original, protected, distance="sts", **how)
    linked = {"EULD": euclidean, "STSLD": shaped}
    for run in made_for_series(method, settings or {}, protected):
        linked[run.figure] = _by_columns(original, protected, run, truth, ties)
    by_known = {name: tuple(links.rate for links in rounds) for name, rounds in linked.items()}
    euld, stsld = float(np.mean(by_known["EULD"])), float(np.mean(by_known["STSLD"]))
    figures = {
        name: float(np.mean([figures[name] for figures in per_series.values()])) for name in ("IL1", "IL2", "IL3", "IL")
    }
    figures["IL1.1"] = float(np.mean([loss.il1_1 for loss in losses]))
    figures["IL1.2"] = float(np.mean([loss.il1_2 for loss in losses]))
    figures |= {name: float(np.mean(rates)) for name, rates in by_known.items()}
    figures |= {"DR1": max(euld, stsld) if dr1 == "max" else (euld + stsld) / 2}
    figures["ID"] = float(np.mean([f["ID"] for f in per_series.values()]))
    figures["DR"] = (figures["DR1"] + figures["ID"]) / 2
    figures["score"] = (figures["IL"] + figures["DR"]) / 2

    chances = {name: 100 * np.mean([links.probability for links in rounds], axis=0) for name, rounds in linked.items()}
    per_record = pl.DataFrame(
        {
            "original": original.ids,
            "risk": np.max(list(chances.values()), axis=0),
            **{f"linked_by_{name}": chance for name, chance in chances.items()},
            "values_disclosed": in_both(np.mean(disclosed, axis=0), both),
            "loss": in_both(np.mean([loss.per_record_il for loss in losses], axis=0), both),
        }
    )
    options: dict[str, Any] = {"ties": ties, "dr1": dr1, "normalise": normalise, "scaling": scaling, "variant": variant}
    options |= people(both, protected.n)
    shortest = min(len(block) for block in original.series)
    if models == "fitting" and (left_out := [name for name in MODELS if name not in fitting_models(shortest)]):
        options["models left out"] = f"{', '.join(left_out)} (series of {shortest} points are too short for them)"
    shown = with_meanings([name for name in linked if name not in MEANINGS])
    if dr1 == "mean":
        shown["DR1"] = (shown["DR1"][0], "The re-identification risk that counts: here the mean of the two linkages.")
    return Scorecard(figures, per_series, per_record, options, shown, by_known)


def _by_columns(original: Dataset, protected: Dataset, run: Run, truth: Truth, ties: Ties) -> list[Links]:
    """The links by all columns of the first 1, 2, ..., all series."""
    known = [column for block in original.series for column in block.columns]
    sizes = [1 if run.by_block else len(block) for block in original.series]
    return run.rounds(original, protected, known=known, counts=np.cumsum(sizes).tolist(), truth=truth, ties=ties)


def with_meanings(more: Sequence[str]) -> dict[str, tuple[str, str]]:
    """What the figures mean, those of further attacks after the two linkages."""
    shown = {}
    for name, meaning in MEANINGS.items():
        shown[name] = meaning
        if name == "STSLD":
            shown |= {other: FIGURES[other] for other in more}
    return shown


def _check_same_shape(original: Dataset, protected: Dataset) -> None:
    theirs = {block.name: len(block) for block in protected.blocks}
    wrong = [
        f"series {block.name!r} has {len(block)} points, the release {theirs.get(block.name, 'does not have it')}"
        for block in original.series
        if theirs.get(block.name) != len(block)
    ]
    if wrong:
        raise InputError("the release does not fit the original:\n  " + "\n  ".join(wrong), wrong)
