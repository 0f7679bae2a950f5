"""Forecasts of the next three values of a series, by five simple models, and by two with a parameter that says how far they look.

A model takes a table of series (records by points) and gives the next three values of each (records by 3). Below,
x_1..x_T is a series, u_t = t - (T+1)/2 the centred time and h = 1, 2, 3 the step ahead.

    SES         level_1 = x_1,  level_t = level_{t-1} + alpha e_t,  e_t = x_t - level_{t-1};  forecast level_T
    Holt        level_1 = x_1,  trend_1 = x_2 - x_1,  e_t = x_t - level_{t-1} - trend_{t-1},
                level_t = level_{t-1} + trend_{t-1} + alpha e_t,  trend_t = trend_{t-1} + alpha beta e_t;
                forecast level_T + h trend_T
    Trend       least squares line through (u_t, x_t), or x_t on x_{t-1} with intercept (`on="lag"`)
    TwoLags     least squares of x_t on x_{t-1} and x_{t-2} with intercept, applied to its own forecasts
    Quadratic   least squares parabola through (u_t, x_t)
    Polynomial  least squares polynomial of any order from 1 to 8 through (u_t, x_t)
    Lags        least squares of x_t on the values before, 1 to 50 of them, with intercept, applied to its own forecasts

SES, Holt and the polynomials are linear in the series: each forecast is a weighted sum of the values with
weights that depend on T alone and add up to one, so they are computed once. Regressions on lags are solved record by
record by an orthogonal method, with minimum norm where the lags are collinear (a straight line, say).

A model is chosen by its name, with parameters in brackets: "ses(alpha=0.5)", "trend(on=lag)", "polynomial(order=4)", "lags(lags=7)". Any other
callable from (records, points) to (records, 3) can be used as a model, too.

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009)
   1663-1677, section 2.3.
.. [2] E. S. Gardner, Exponential smoothing: the state of the art, Journal of Forecasting 4 (1985) 1-28.

Examples
--------
>>> bread = [[106.5, 110.3, 114.9, 117.9, 119.3, 121.0, 122.2, 124.1, 129.0]]
>>> for name, model in MODELS.items():
...     print(f"{name:10}", model(bread)[0].round(3))
ses        [122.633 122.633 122.633]
holt       [133.669 136.922 140.176]
trend      [130.781 133.266 135.751]
two-lags   [133.391 137.673 142.064]
quadratic  [128.612 129.796 130.743]
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.params import Check, Parameters, number, one_of, param, whole
from tsveil.core.types import Array, ArrayLike
from tsveil.transform.regression import RANK, autoregression, shifted, weighted_sums
from tsveil.transform.statistics import per_record, series_table

#: a forecasting model: (records, points) to (records, 3)
Forecaster = Callable[[Array], ArrayLike]
#: texts that name them, or "fitting": those of the five that the series are long enough for
Models = Mapping[str, Callable[[Array], Array]] | Sequence[str] | Literal["fitting"] | None
Rate = float | Literal["optimised"]

STEPS = np.arange(1.0, 4.0)


def _rate(check: Check) -> Check:
    """A smoothing parameter: a number, or the word that has it fitted."""
    return Check(f"{check.words}, or 'optimised'", lambda v: v == "optimised" or check.accepts(v), float)


@dataclass(frozen=True, kw_only=True)
class Model(Parameters):
    """What the five models share: the check of the length, and the way through the records."""

    @property
    @abstractmethod
    def shortest(self) -> int:
        """The number of points a series must have."""

    @abstractmethod
    def _forecaster(self, T: int) -> Callable[[Array], Array]:
        """What makes the forecasts for a chunk of series of T points."""

    def __call__(self, X: ArrayLike) -> Array:
        """The next three values of each series."""
        table = series_table(X)
        T = int(table.shape[1])
        if self.shortest > T:
            raise InputError(
                f"{self!r} needs series of at least {self.shortest} points to forecast. Got {T}.\n"
                "  options: longer series, or leave this model out (models=...)"
            )
        return per_record(self._forecaster(T), table)


def _weighted_forecaster(weights: Array) -> Callable[[Array], Array]:
    return lambda rows: weighted_sums(rows, weights)


@dataclass(frozen=True, kw_only=True)
class _Smoothing(Model):
    """Exponential smoothing: weighted sums with given parameters, a search when one is to be fitted."""

    #: whether there is a trend beside the level
    trended: ClassVar[bool]

    alpha: float | Literal["optimised"] = param(
        0.3, _rate(number(0, 1, open_low=True)), "weight of the newest value in the level"
    )

    @abstractmethod
    def _rates(self) -> tuple[Rate, Rate]:
        """Alpha and beta."""

    def _forecaster(self, T: int) -> Callable[[Array], Array]:
        alpha, beta = self._rates()
        if isinstance(alpha, str) or isinstance(beta, str):
            return lambda rows: self._fit(rows)[:, 2:]
        return _weighted_forecaster(_smoothing_weights(T, alpha, beta, self.trended))

    def _fit(self, rows: Array) -> Array:
        """Alpha, beta and the three forecasts of each record; each optimised parameter is searched for in 0..1."""
        from tsveil._kernels.forecast import fitted_smoothing

        bounds = np.array([(0.0, 1.0) if isinstance(rate, str) else (rate, rate) for rate in self._rates()])
        z, scale = shifted(rows)
        alpha, beta, level, trend = fitted_smoothing(z, bounds, self.trended).T
        ahead = (rows[:, -1] + scale * (level + step * trend) for step in STEPS)
        return np.stack([alpha, beta, *ahead], axis=1)


def _smoothing_weights(T: int, alpha: float, beta: float, trended: bool) -> Array:
    """The weights of the values in the forecasts, (T, 3), by running the recursion backwards.

    A forecast is p level_t + q trend_t + (what later values add). Put in how level_t and trend_t come about, and the
    weight of x_t and the p and q of t-1 follow.
    """
    weights = np.zeros((T, 3))
    p = np.ones(3)
    q = STEPS if trended else np.zeros(3)
    for t in range(T - 1, 0, -1):
        weights[t] = alpha * p + alpha * beta * q
        p, q = p - weights[t], p + q - weights[t]
    weights[0] = p
    if trended:
        weights[0] -= q
        weights[1] += q
    return weights


@dataclass(frozen=True, kw_only=True)
class SES(_Smoothing):
    """Simple exponential smoothing.

    Examples
    --------
    >>> SES(alpha=0.5)([[2.0, 4.0]])
    array([[3., 3., 3.]])
    """

    shortest = 1
    trended = False

    def _rates(self) -> tuple[Rate, Rate]:
        return self.alpha, 0.0


@dataclass(frozen=True, kw_only=True)
class Holt(_Smoothing):
    """Double exponential smoothing: a level and a trend.

    Examples
    --------
    >>> Holt()([[2.0, 4.0, 6.0]])
    array([[ 8., 10., 12.]])
    """

    beta: float | Literal["optimised"] = param(0.1, _rate(number(0, 1)), "weight of the newest step in the trend")

    shortest = 2
    trended = True

    def _rates(self) -> tuple[Rate, Rate]:
        return self.alpha, self.beta


@dataclass(frozen=True, kw_only=True)
class Trend(Model):
    """A straight line in time, or the regression on the value before.

    Examples
    --------
    >>> Trend()([[1.0, 3.0, 2.0, 4.0]])
    array([[4.5, 5.3, 6.1]])
    >>> Trend(on="lag")([[16.0, 8.0, 4.0, 2.0]])
    array([[1.  , 0.5 , 0.25]])
    """

    on: Literal["time", "lag"] = param("time", one_of("time", "lag"), "what the values are regressed on")

    @property
    def shortest(self) -> int:
        """Two points make a line; two pairs of neighbours take three."""
        return 2 if self.on == "time" else 3

    def _forecaster(self, T: int) -> Callable[[Array], Array]:
        return _weighted_forecaster(_polynomial_weights(T, 1)) if self.on == "time" else _autoregressive_forecaster(1)


@dataclass(frozen=True, kw_only=True)
class TwoLags(Model):
    """The regression on the two values before.

    Examples
    --------
    >>> TwoLags()([[1.0, 1.0, 2.0, 3.0, 5.0, 8.0]]).round(6)
    array([[13., 21., 34.]])
    """

    shortest = 5  # three equations for three coefficients

    def _forecaster(self, T: int) -> Callable[[Array], Array]:
        return _autoregressive_forecaster(2)


@dataclass(frozen=True, kw_only=True)
class Quadratic(Model):
    """A parabola in time.

    Examples
    --------
    >>> Quadratic()([[0.0, 1.0, 4.0, 9.0]])
    array([[16., 25., 36.]])
    """

    shortest = 3

    def _forecaster(self, T: int) -> Callable[[Array], Array]:
        return _weighted_forecaster(_polynomial_weights(T, 2))


@dataclass(frozen=True, kw_only=True)
class Polynomial(Model):
    """A polynomial in time.

    Examples
    --------
    >>> Polynomial(order=3)([[0.0, 1.0, 8.0, 27.0, 64.0]]).round(6)
    array([[125., 216., 343.]])
    """

    order: int = param(3, whole(1, 8), "the degree")

    @property
    def shortest(self) -> int:
        """As many points as coefficients."""
        return self.order + 1

    def _forecaster(self, T: int) -> Callable[[Array], Array]:
        return _weighted_forecaster(_polynomial_weights(T, self.order))


@dataclass(frozen=True, kw_only=True)
class Lags(Model):
    """The regression on the values before.

    Examples
    --------
    >>> Lags(lags=3)([[1.0, 2.0, 4.0, 7.0, 13.0, 24.0, 44.0, 81.0]]).round(6)
    array([[149., 274., 504.]])
    """

    lags: int = param(3, whole(1, 50), "the number of values before")

    @property
    def shortest(self) -> int:
        """As many equations as coefficients."""
        return 2 * self.lags + 1

    def _forecaster(self, T: int) -> Callable[[Array], Array]:
        return _autoregressive_forecaster(self.lags)


def _autoregressive_forecaster(lags: int) -> Callable[[Array], Array]:
    return lambda rows: autoregression(rows, lags) if lags <= 2 else _autoregression(rows, lags)


def _autoregression(X: Array, lags: int) -> Array:
    """The same with any number of lags, by singular values."""
    last = X[:, -1:]
    size = np.maximum(np.abs(X - last).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    z = (X - last) / size
    out = np.empty((len(X), 3))
    for row, series in enumerate(z):
        columns = np.lib.stride_tricks.sliding_window_view(series[:-1], lags)
        target = series[lags:]
        middle, mean = columns.mean(axis=0), target.mean()
        weights = np.linalg.lstsq(columns - middle, target - mean, rcond=RANK)[0]
        known = series[-lags:]
        for step in range(3):
            out[row, step] = mean + (known - middle) @ weights
            known = np.append(known[1:], out[row, step])
    found: Array = last + size * out
    return found


def _polynomial_weights(T: int, degree: int) -> Array:
    """The weights of the values in the continued least squares polynomial, (T, 3).

    The polynomials 1, u and u^2 - (T^2-1)/12 are orthogonal on the centred times u, and so are those of higher degree by
    P_{d+1} = u P_d - |P_d|^2 / |P_{d-1}|^2 P_{d-1}; then least squares needs no equations: with P the polynomials at the times and Q at the steps ahead,
    the weights are sum_d P_d Q_d / |P_d|^2.
    """
    u = np.arange(T) - (T - 1) / 2
    ahead = (T - 1) / 2 + STEPS
    weights = np.full((T, 3), 1.0 / T)
    weights += np.outer(u, ahead) / (T * (T**2 - 1) / 12)
    if degree >= 2:
        mean_square = (T**2 - 1) / 12
        weights += np.outer(u**2 - mean_square, ahead**2 - mean_square) / (T * (T**2 - 1) * (T**2 - 4) / 180)
    # Powers of numbers up to one stay small.
    unit = (T - 1) / 2
    times: Array = np.concatenate([u, ahead]) / unit
    before, now = times, times**2 - (T**2 - 1) / 12 / unit**2
    for _ in range(3, degree + 1):
        ratio = (now[:T] @ now[:T]) / (before[:T] @ before[:T])
        before, now = now, times * now - ratio * before
        weights += np.outer(now[:T], now[T:]) / (now[:T] @ now[:T])
    return weights


#: the models of the source paper, by name
MODELS: dict[str, Forecaster] = {
    "ses": SES(),
    "holt": Holt(),
    "trend": Trend(),
    "two-lags": TwoLags(),
    "quadratic": Quadratic(),
}


#: the models that can be chosen by name, with their parameters
KINDS: dict[str, type[Model]] = {
    "ses": SES,
    "holt": Holt,
    "trend": Trend,
    "two-lags": TwoLags,
    "quadratic": Quadratic,
    "polynomial": Polynomial,
    "lags": Lags,
}


def model_of(text: str) -> Forecaster:
    """The model that a text names, with its parameters.

    Examples
    --------
    >>> model_of("lags(lags=7)"), model_of("holt(alpha=0.5, beta=optimised)"), model_of("trend")
    (Lags(lags=7), Holt(alpha=0.5, beta='optimised'), Trend(on='time'))
    >>> model_of("arima")
    Traceback (most recent call last):
    tsveil.core.errors.ParameterError: there is no forecasting model 'arima'
      models available: ses, holt, trend, two-lags, quadratic, polynomial, lags
    """
    name, bracket, rest = text.strip().partition("(")
    if name not in KINDS:
        raise ParameterError(f"there is no forecasting model {name!r}\n  models available: {', '.join(KINDS)}")
    if not bracket:
        return KINDS[name]()
    settings = dict(part.partition("=")[::2] for part in rest.removesuffix(")").split(",") if part.strip())
    if not rest.endswith(")") or any(not key.strip() or not value.strip() for key, value in settings.items()):
        raise ParameterError(
            f"the parameters of a forecasting model stand in brackets, as in lags(lags=3). Got {text!r}"
        )
    return KINDS[name].from_settings({key.strip(): value.strip() for key, value in settings.items()})


def fitting_models(T: int) -> dict[str, Forecaster]:
    """Those of the five that can forecast series of T points.

    Examples
    --------
    >>> list(fitting_models(4))
    ['ses', 'holt', 'trend', 'quadratic']
    """
    return {name: model for name, model in MODELS.items() if isinstance(model, Model) and model.shortest <= T}


def chosen_models(models: Mapping[str, Forecaster] | Iterable[str | Forecaster] | None = None) -> dict[str, Forecaster]:
    """Models by name: the five by default; else a mapping, or texts that name models, and models of one's own.

    Examples
    --------
    >>> list(chosen_models(["ses", Holt(alpha=0.5)]))
    ['ses', 'Holt(alpha=0.5, beta=0.1)']
    """
    if models is None:
        return dict(MODELS)
    if isinstance(models, str):
        raise ParameterError(f"The 'models' parameter must be a list of models or of their names. Got {models!r}.")
    if isinstance(models, Mapping):
        chosen = dict(models)
    else:
        chosen = {}
        for model in models:
            if isinstance(model, str):
                chosen[model] = model_of(model)
            else:
                name = _name(model)
                while name in chosen:  # two lambdas, say
                    name += "'"
                chosen[name] = model
    if not chosen:
        raise ParameterError("The 'models' parameter must name at least one forecasting model.")
    return chosen


def _name(model: Forecaster) -> str:
    """A model of ours with its parameters, a function by its name."""
    return repr(model) if isinstance(model, Model) else getattr(model, "__name__", repr(model))


def forecasts(model: Forecaster, X: ArrayLike, name: str | None = None) -> Array:
    """What a model, ours or not, forecasts for the series; an error unless that is three finite numbers per record.

    Examples
    --------
    >>> forecasts(lambda X: X[:, -1:], [[1.0, 2.0]], name="last value")
    Traceback (most recent call last):
    tsveil.core.errors.InputError: the forecasting model 'last value' must give an array of the shape (1, 3). Got (1, 1).
    """
    X = series_table(X)
    name = name or _name(model)
    wanted = (len(X), 3)
    try:
        found = np.asarray(model(X), dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the forecasting model {name!r} failed: {error}") from error
    if found.shape != wanted:
        raise InputError(f"the forecasting model {name!r} must give an array of the shape {wanted}. Got {found.shape}.")
    if not (fine := np.isfinite(found).all(axis=1)).all():
        row = int(fine.argmin())
        raise InputError(
            f"the forecasting model {name!r} gave {found[row].tolist()} for row {row + 1} "
            f"({int((~fine).sum())} of {len(X)} records have such forecasts)\n"
            "  the series may have missing values, or values too large for float64"
        )
    return found
