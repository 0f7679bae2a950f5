"""Information loss of protected time series: what statistics, values and forecasts have lost.

All figures are means of relative differences, in percent:

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

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009)
   1663-1677, section 4.1.

Examples
--------
>>> round(series_loss([[1.0, 2, 3, 4, 5]], [[2.0, 2, 3, 4, 4]]).il2, 6)
14.0
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tsveil._types import Array, ArrayLike
from tsveil.errors import InputError, ParameterError
from tsveil.measure.forecast import Forecaster, chosen_models, forecasts
from tsveil.transform.exact import parts, total
from tsveil.transform.statistics import Divisor, acf, means, per_record, series_table

Variant = Literal["default", "paper"]


@dataclass(frozen=True, eq=False)
class SeriesLoss:
    """The information loss of one series over all records, and of each record; all in percent."""

    il1_1: float
    il1_2: float
    il1: float
    il2: float
    il3: float
    il: float
    per_record_il1: Array
    per_record_il2: Array
    per_record_il3: Array
    per_record_il: Array


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


def series_loss(
    X: ArrayLike,
    X2: ArrayLike,
    *,
    models: Mapping[str, Forecaster] | Iterable[str | Forecaster] | None = None,
    variant: Variant = "default",
    divisor: Divisor = "T",
) -> SeriesLoss:
    """The information loss between original series X and protected series X2, row by row the same records.

    `models` are the forecasting models of IL3 (the five of the paper when left out), `divisor` is that of the
    autocorrelation.

    Examples
    --------
    >>> loss = series_loss([[1.0, 2, 3, 4, 5], [2.0, 2, 3, 4, 4]], [[1.5, 2, 3, 4, 4.5], [1.5, 2, 3, 4, 4.5]])
    >>> loss.il1_1, round(loss.il2, 4), loss.per_record_il2.round(4)
    (0.0, 7.9444, array([8.6667, 7.2222]))
    """
    if variant not in ("default", "paper"):
        raise ParameterError(f"The 'variant' parameter of series_loss must be 'default' or 'paper'. Got {variant!r}.")
    X, X2 = series_table(X), series_table(X2)
    if X.shape != X2.shape:
        raise InputError(
            f"the original series have the shape {X.shape}, the protected ones {X2.shape}: both must agree"
        )
    lost = record_losses(X, X2, models=models, variant=variant, divisor=divisor)
    il1_1, il1_2, il2, il3 = percents([lost.sums()], len(X))
    il1 = (il1_1 + il1_2) / 2
    statistics = (lost.means + lost.correlations) / 2
    return SeriesLoss(
        il1_1=il1_1,
        il1_2=il1_2,
        il1=il1,
        il2=il2,
        il3=il3,
        il=(il1 + il2 + il3) / 3,
        per_record_il1=100 * statistics,
        per_record_il2=100 * lost.values,
        per_record_il3=100 * lost.forecasts,
        per_record_il=lost.percent,
    )


class RecordLosses(NamedTuple):
    """The relative differences of each record, which depend on its values alone."""

    means: Array
    correlations: Array
    values: Array
    forecasts: Array

    def sums(self) -> list[list[float]]:
        """The exact sums of the four, as parts that can be merged (see `transform.exact`)."""
        return [parts(one) for one in self]

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


def percents(of_chunks: Sequence[Sequence[Sequence[float]]], n: int) -> tuple[float, float, float, float]:
    """IL1.1, IL1.2, IL2 and IL3 of n records, from the sums of all chunks."""
    il1_1, il1_2, il2, il3 = (100 * total(*sums) / n for sums in zip(*of_chunks, strict=True))
    return il1_1, il1_2, il2, il3


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
