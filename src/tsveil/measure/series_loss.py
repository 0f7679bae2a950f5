"""Information loss of protected time series: what statistics, values and forecasts have lost.

All figures are means of relative differences, in percent, of each series, and then of all series with equal weight:

    rel(a, b) = |a - b| / max(|a|, |b|),   rel(0, 0) = 0

    IL1.1 = mean over records of rel(m, m'), the means of a series before and after
    IL1.2 = mean over records and four lags of rel(R(j), R'(j)), the autocorrelations (see `transform.statistics.acf`)
    IL1   = (IL1.1 + IL1.2) / 2
    IL2   = mean over records and points of rel(x, x')
    IL3   = mean over records, forecasting models and three steps of rel(f, f') (see `measure.forecast`)
    IL    = (IL1 + IL2 + IL3) / 3

rel reaches 2 for values of opposite sign, so the figures can exceed 100 percent. As printed in [1], IL1 takes
(|a| - |b|) / max(|a|, |b|) with its sign: losses and gains cancel, and a change of sign does not count. That is
`variant="paper"`, for reproduction only.

Of records with gaps (`missing="mask"`) the points that the original has are compared: m and m' are means over these, IL2 takes these, and for R and f both series are
filled linearly between them. A point that is published empty, or not at all, counts as the mean of its column.

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009)
   1663-1677, section 4.1.

Examples
--------
>>> from tsveil.measure.passes import of_arrays
>>> X, X2 = [[1.0, 2, 3, 4, 5], [2.0, 2, 3, 4, 4]], [[1.5, 2, 3, 4, 4.5], [1.5, 2, 3, 4, 4.5]]
>>> found, of_records = of_arrays(SeriesLoss(), X, X2)
>>> found.figures["IL1.1"], round(found.figures["IL2"], 4), of_records["loss"].round(4)
(0.0, 7.9444, array([12.0734, 10.505 ]))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from tsveil.core.errors import InputError
from tsveil.core.params import Check, one_of, param
from tsveil.core.types import Array, ArrayLike
from tsveil.data.resample import fill_gaps
from tsveil.engine.base import Result
from tsveil.measure.base import RECORDS, Chunk, Kind, Meaning, Measure, Schema
from tsveil.measure.forecast import MODELS, Forecaster, Models, chosen_models, fitting_models, forecasts
from tsveil.transform.exact import parts, total
from tsveil.transform.statistics import Divisor, acf, means, per_record

Variant = Literal["default", "paper"]


def _are_models(value: Any) -> bool:
    return value is None or value == "fitting" or (isinstance(value, Mapping | Sequence) and not isinstance(value, str))


@dataclass(frozen=True, kw_only=True)
class SeriesLoss(Measure):
    """IL1, IL2, IL3 and IL of protected time series; see the top of this file."""

    name: ClassVar[str] = "series-loss"
    plain: ClassVar[str] = "the loss of time series"
    label: ClassVar[str] = "evaluate"
    summary: ClassVar[str] = "how far statistics, values and forecasts of the series moved"
    reference: ClassVar[str] = (
        "J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009)"
    )
    kinds: ClassVar[tuple[Kind, ...]] = ("series",)
    loss: ClassVar[str] = "IL"
    details: ClassVar[tuple[str, ...]] = ("IL1.1", "IL1.2")
    meanings: ClassVar[Mapping[str, Meaning]] = {
        "IL1": Meaning("loss in statistics", "%", "How far the mean and the autocorrelation of each series moved."),
        "IL2": Meaning("loss in values", "%", "How far the published values are from the original ones, on average."),
        "IL3": Meaning(
            "loss in forecasts",
            "%",
            "How far forecasts made from the published series are from those made from the original ones.",
        ),
        "IL": Meaning("information loss", "%", "The mean of the three losses: 0 means nothing was lost."),
        "IL1.1": Meaning("loss in means", "%", "How far the mean of each series moved: the first half of IL1."),
        "IL1.2": Meaning(
            "loss in autocorrelations", "%", "How far the autocorrelation of each series moved: the second half of IL1."
        ),
    }

    models: Models = param(
        None,
        Check(
            "a list of models or of their names, a mapping from names to models, 'fitting', or left out",
            _are_models,
            str,
        ),
        "the forecasts that IL3 compares; 'fitting': those that the series are long enough for",
    )
    variant: Variant = param(
        "default", one_of("default", "paper"), "whether differences of statistics keep their sign, as printed"
    )
    divisor: Divisor = param("T", one_of("T", "T-j"), "the divisor of the autocorrelation")

    def of_chunk(self, chunk: Chunk, known: Result) -> Result:
        """The relative differences of each record, summed for each series."""
        found: Result = {"count": len(chunk.places)}
        lost = np.zeros(len(chunk.places))
        for number, (block, x, y) in enumerate(chunk.series()):
            models = fitting_models(len(block)) if self.models == "fitting" else self.models
            how: dict[str, Any] = {"models": models, "variant": self.variant, "divisor": self.divisor}
            if chunk.schema.gaps:
                some = ~np.isnan(x).all(axis=1)
                losses = losses_with_gaps(x[some], y[some], block.times, **how)
                lost[some] += losses.percent
                found[f"{number} count"] = int(some.sum())
            else:
                losses = record_losses(x, y, **how)
                lost += losses.percent
            found |= {f"{number} {name}": parts(values) for name, values in losses._asdict().items()}
        return found | {RECORDS: {"loss": lost / len(chunk.schema.files.series)}}

    def of_series(self, sums: Result, schema: Schema) -> dict[str, dict[str, float]]:
        """The losses of each series."""
        found = {}
        for number, block in enumerate(schema.files.series):
            il1_1, il1_2, il2, il3 = (
                100 * total(sums[f"{number} {name}"]) / _count(sums, number) for name in RecordLosses._fields
            )
            il1 = (il1_1 + il1_2) / 2
            found[block.name] = {
                "IL1": il1, "IL2": il2, "IL3": il3, "IL": (il1 + il2 + il3) / 3, "IL1.1": il1_1, "IL1.2": il1_2,
            }  # fmt: skip
        return found

    def figures(self, sums: Result, schema: Schema) -> dict[str, float]:
        """The means of the losses over the series."""
        of_series = self.of_series(sums, schema).values()
        return {figure: float(np.mean([one[figure] for one in of_series])) for figure in self.meanings}

    def notes(self, schema: Schema) -> dict[str, str]:
        """The variant, and the forecasts that were left out."""
        shortest = min(len(block) for block in schema.files.series)
        left_out = [name for name in MODELS if name not in fitting_models(shortest)]
        if self.models != "fitting" or not left_out:
            return {"variant": self.variant}
        short = f"{', '.join(left_out)} (series of {shortest} points are too short for them)"
        return {"variant": self.variant, "models left out": short}


def _count(sums: Result, number: int) -> int:
    """The number of records that were compared in a series: all of them, or those with a value in it."""
    return max(int(sums[f"{number} count"]), 1) if f"{number} count" in sums else int(sums["count"])


def rel(a: ArrayLike, b: ArrayLike) -> Array:
    """Relative differences |a - b| / max(|a|, |b|), element by element; zero when both are zero.

    Examples
    --------
    >>> rel([2.0, -1.0, 0.0], [1.0, 1.0, 0.0])
    array([0.5, 2. , 0. ])
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return _share(np.abs(a - b), a, b)


def _signed_rel(a: Array, b: Array) -> Array:
    """The printed difference: the loss in size, negative when the size has grown."""
    return _share(np.abs(a) - np.abs(b), a, b)


def _share(difference: Array, a: Array, b: Array) -> Array:
    largest = np.maximum(np.abs(a), np.abs(b))
    return np.divide(difference, largest, out=np.zeros(largest.shape), where=largest != 0)


class RecordLosses(NamedTuple):
    """The relative differences of each record, which depend on its values alone."""

    means: Array
    correlations: Array
    values: Array
    forecasts: Array

    @property
    def percent(self) -> Array:
        """The loss of each record in percent."""
        found: Array = 100 * ((self.means + self.correlations) / 2 + self.values + self.forecasts) / 3
        return found


def record_losses(
    X: Array,
    X2: Array,
    *,
    models: Mapping[str, Forecaster] | Iterable[str | Forecaster] | None = None,
    variant: Variant = "default",
    divisor: Divisor = "T",
) -> RecordLosses:
    """What each record of some has lost."""
    if not len(X):
        return RecordLosses(*np.zeros((4, 0)))
    statistic = rel if variant == "default" else _signed_rel
    with np.errstate(over="ignore", invalid="ignore"):  # told below, with the record
        moved = statistic(means(X), means(X2))
        correlations = statistic(acf(X, divisor=divisor), acf(X2, divisor=divisor)).mean(axis=1)
        values = per_record(lambda a, b: rel(a, b).mean(axis=1), X, X2)
        _check_finite(X, X2, moved + correlations + values)
        ahead = np.zeros(len(X))
        chosen = chosen_models(models)
        for name, model in chosen.items():
            ahead += rel(forecasts(model, X, name), forecasts(model, X2, name)).mean(axis=1)
        ahead /= len(chosen)
        _check_finite(X, X2, ahead)
    return RecordLosses(moved, correlations, values, ahead)


def losses_with_gaps(X: Array, X2: Array, times: Sequence[float] | None, **how: Any) -> RecordLosses:
    """What records with gaps have lost, over the points that the originals have: means and values of these, autocorrelations and forecasts of both series filled between them.

    Gaps are NaN in both tables; each record has a value.

    Examples
    --------
    >>> X, X2 = np.array([[1.0, np.nan, 3.0, 4.0, 5.0]]), np.array([[1.0, np.nan, 3.0, 4.0, 4.0]])
    >>> found = losses_with_gaps(X, X2, None, models=["trend"])
    >>> found.values, found.means.round(4)
    (array([0.05]), array([0.0769]))
    """
    if not len(X):
        return RecordLosses(*np.zeros((4, 0)))
    there, at = ~np.isnan(X), np.arange(X.shape[1]) if times is None else np.asarray(times)
    count = there.sum(axis=1)
    found = record_losses(fill_gaps(X, at), fill_gaps(X2, at), **how)
    statistic = rel if how.get("variant", "default") == "default" else _signed_rel
    mean, mean2 = (np.where(there, Y, 0.0).sum(axis=1) / count for Y in (X, X2))
    return found._replace(means=statistic(mean, mean2), values=np.where(there, rel(X, X2), 0.0).sum(axis=1) / count)


def _check_finite(X: Array, X2: Array, shares: Array) -> None:
    if (fine := np.isfinite(shares)).all():
        return
    row = int(fine.argmin())
    missing = not (np.isfinite(X[row]).all() and np.isfinite(X2[row]).all())
    reason = "it has a missing or infinite value" if missing else "its values are too large for float64"
    raise InputError(
        f"the information loss of row {row + 1} cannot be computed: {reason} ({int((~fine).sum())} such records)\n"
        "  options: drop or fill these records when reading, or rescale the data"
    )
