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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tsveil._types import Array
from tsveil.attack._files import Ties
from tsveil.attack.fits import FIGURES, made_for_series
from tsveil.attack.pieces import Pieces, opened_files
from tsveil.attack.run import Knowledge, Settings, attacked
from tsveil.data.store import Store
from tsveil.engine.base import Engine, Result, Task
from tsveil.engine.here import Here
from tsveil.errors import ParameterError
from tsveil.measure.disclosure_risk import disclosed_values, shares_disclosed
from tsveil.measure.forecast import MODELS, fitting_models
from tsveil.measure.information_loss import Variant, percents, record_losses
from tsveil.measure.scorecard import Measured, Shape, all_figures, check_choices, keep_of_records
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


@dataclass(frozen=True)
class SeriesOptions:
    """The options of `tsveil.evaluate` for time series."""

    ties: Ties = "expected"
    scaling: Scaling = "original"
    dr1: Literal["max", "mean"] = "max"
    normalise: How = "global"
    models: Models = None
    variant: Variant = "default"
    #: 0: all, None: as many as are affordable
    targets: int | None = None

    def __post_init__(self) -> None:
        check_choices(
            ties=(self.ties, Ties), scaling=(self.scaling, Scaling), dr1=(self.dr1, Literal["max", "mean"]), normalise=(self.normalise, How),
            variant=(self.variant, Variant),
        )  # fmt: skip

    @property
    def plain_models(self) -> bool:
        """Whether models are named, so that any engine can be told which."""
        return self.models is None or (
            not isinstance(self.models, Mapping) and all(isinstance(one, str) for one in self.models)
        )


def measured_series(
    store: Store, files: Pieces, engine: Engine, options: SeriesOptions, method: str | None = None, settings: Mapping[str, Any] | None = None
) -> Measured:  # fmt: skip
    """Information loss and disclosure risk of the series of two files in pieces.

    The name and the settings of the method that made the release add the attacks that are made for it. They do not enter DR1,
    which is defined by the two linkages of series, but the best attack may be one of them.
    """
    if not options.plain_models and engine.name != Here.name:
        raise ParameterError(
            "The 'models' parameter of evaluate must be names of models for data in parts: a model of your own runs on data in memory only."
        )
    models = (
        options.models if options.plain_models or isinstance(options.models, Mapping) else list(options.models or ())
    )
    store.put_plain("files", files)
    tasks = [
        {"store": store.handle, "at": at, "models": models, "variant": options.variant}
        for at in range(len(files.original))
    ]
    done = engine.map(piece_losses, tasks, "Measuring the loss")
    per_series, losses = _losses(files, done)

    columns = [at for block in files.series for at in range(len(files.columns))[files.span(block.name)]]
    ends = np.cumsum([len(block) for block in files.series]).tolist()
    blocks = [list(range(len(files.columns))[files.span(block.name)]) for block in files.series]
    known = Knowledge(columns, ends, blocks, list(range(1, len(blocks) + 1)))
    runs = made_for_series(method, settings or {}, Shape(files.m, files.series))
    how = Settings(options.ties, options.scaling, options.normalise, options.targets)
    found = attacked(store, files, engine, runs, known, how)

    risks = found.risks
    counted = [risks[figure] for figure in ("EULD", "STSLD") if figure in risks]
    linked = max(counted) if options.dr1 == "max" else sum(counted) / len(counted)
    disclosed = _mean([one["ID"] for one in per_series.values()])
    said: dict[str, Any] = {name: getattr(options, name) for name in ("ties", "dr1", "normalise", "scaling", "variant")}
    shortest = min(len(block) for block in files.series)
    if options.models == "fitting" and (left_out := [name for name in MODELS if name not in fitting_models(shortest)]):
        said["models left out"] = f"{', '.join(left_out)} (series of {shortest} points are too short for them)"
    attributes = [block.name for block in files.blocks if not block.is_series]
    shown = with_meanings([name for name in risks if name not in MEANINGS])
    if options.dr1 == "mean":
        shown["DR1"] = (shown["DR1"][0], "The re-identification risk that counts: here the mean of the two linkages.")
    return Measured(all_figures(losses, risks, linked, disclosed), per_series, said, shown, found, attributes)


def piece_losses(task: Task) -> Result:
    """The losses of one piece: exact sums for each series; those of each record are kept."""
    store, files = opened_files(task)
    X, Y, both = files.pair(store, int(task["at"]))
    found: Result = {"records": len(X), "sums": [], "disclosed": []}
    lost, disclosed = np.zeros(len(X)), np.zeros(len(X))
    for block in files.series:
        x, y = (np.ascontiguousarray(table[:, files.span(block.name)]) for table in (X, Y))
        models = fitting_models(len(block)) if task["models"] == "fitting" else task["models"]
        losses = record_losses(x, y, models=models, variant=task["variant"])
        counts = disclosed_values(x, y)
        found["sums"].append(losses.sums())
        found["disclosed"].append([int(count) for count in counts.sum(axis=0)])
        lost += losses.percent
        disclosed += 100 * counts.sum(axis=1) / (len(block) * counts.shape[1])
    keep_of_records(store, files, int(task["at"]), both, lost / len(files.series), disclosed / len(files.series))
    return found


def _losses(files: Pieces, done: Sequence[Result]) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """The losses of each series, and their means."""
    n = sum(int(one["records"]) for one in done)
    per_series: dict[str, dict[str, float]] = {}
    parts: dict[str, list[float]] = {"IL1.1": [], "IL1.2": []}
    for at, block in enumerate(files.series):
        il1_1, il1_2, il2, il3 = percents([one["sums"][at] for one in done], n)
        il1 = (il1_1 + il1_2) / 2
        counts = np.sum([one["disclosed"][at] for one in done], axis=0)
        disclosed = float(shares_disclosed(counts, n * len(block)).mean())
        per_series[block.name] = {"IL1": il1, "IL2": il2, "IL3": il3, "IL": (il1 + il2 + il3) / 3, "ID": disclosed}
        parts["IL1.1"].append(il1_1)
        parts["IL1.2"].append(il1_2)
    losses = {name: _mean([one[name] for one in per_series.values()]) for name in ("IL1", "IL2", "IL3", "IL")}
    return per_series, losses | {name: _mean(values) for name, values in parts.items()}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def with_meanings(more: Sequence[str]) -> dict[str, tuple[str, str]]:
    """What the figures mean, those of further attacks after the two linkages."""
    shown = {}
    for name, meaning in MEANINGS.items():
        shown[name] = meaning
        if name == "STSLD":
            shown |= {other: FIGURES[other] for other in more}
    return shown
