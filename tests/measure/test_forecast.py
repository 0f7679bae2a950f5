from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_series as naive
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.measure.forecast import (
    MODELS,
    SES,
    Forecaster,
    Holt,
    Lags,
    Model,
    Polynomial,
    Quadratic,
    Trend,
    TwoLags,
    chosen_models,
    forecasts,
)
from tsveil.transform import statistics

#: small whole numbers: the lags are either exactly collinear or well conditioned, so that the rank is beyond doubt
tables = st.tuples(st.integers(1, 4), st.integers(5, 14)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-4, 4).map(float))
)
TWINS: list[tuple[Model, Callable[[list[float]], list[float]]]] = [
    (SES(), lambda x: naive.ses(x, 0.3)),
    (SES(alpha=1), lambda x: naive.ses(x, 1)),
    (Holt(), lambda x: naive.holt(x, 0.3, 0.1)),
    (Holt(alpha=0.9, beta=0), lambda x: naive.holt(x, 0.9, 0)),
    (Trend(), lambda x: naive.polynomial(x, 1)),
    (Trend(on="lag"), lambda x: naive.lags(x, 1)),
    (TwoLags(), lambda x: naive.lags(x, 2)),
    (Quadratic(), lambda x: naive.polynomial(x, 2)),
    (Polynomial(order=1), lambda x: naive.polynomial(x, 1)),
    (Polynomial(order=2), lambda x: naive.polynomial(x, 2)),
    (Polynomial(order=4), lambda x: naive.polynomial(x, 4)),
    (Lags(lags=1), lambda x: naive.lags(x, 1)),
    (Lags(lags=2), lambda x: naive.lags(x, 2)),
]
ALL = [model for model, _ in TWINS] + [SES(alpha="optimised"), Holt(alpha="optimised", beta="optimised")]


def fitted(model: SES | Holt, X: Any) -> Array:
    """Each record's alpha and beta: those of least one-step squared error where they are optimised."""
    return model._fit(np.ascontiguousarray(X, dtype=np.float64))[:, :2]


def test_the_golden_forecasts_of_bread() -> None:
    expected = {
        "ses": [122.633093, 122.633093, 122.633093],
        "holt": [133.668957, 136.922229, 140.175501],
        "trend": [130.780556, 133.265556, 135.750556],
        "two-lags": [133.390674, 137.673173, 142.063572],
        "quadratic": [128.611905, 129.795714, 130.742944],
    }
    assert list(MODELS) == list(expected)
    for name, model in MODELS.items():
        np.testing.assert_allclose(forecasts(model, naive.FOODS)[0], expected[name], atol=1e-6)


@pytest.mark.parametrize(("model", "twin"), TWINS, ids=lambda value: repr(value) if isinstance(value, Model) else "")
@given(X=tables)
def test_models_follow_their_definitions(model: Model, twin: Callable[[list[float]], list[float]], X: Array) -> None:
    expected = np.array([twin(x) for x in X.tolist()])
    # Explosive regressions lose digits to their own growth, in both versions.
    np.testing.assert_allclose(model(X), expected, rtol=1e-7, atol=1e-7 * (1 + np.abs(expected).max()))


@pytest.mark.parametrize(("model", "twin"), TWINS, ids=lambda value: repr(value) if isinstance(value, Model) else "")
def test_models_on_long_random_series(model: Model, twin: Callable[[list[float]], list[float]]) -> None:
    X = np.random.default_rng(1).normal(size=(20, 300)).cumsum(axis=1) + 50
    np.testing.assert_allclose(model(X), [twin(x) for x in X.tolist()], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", ALL, ids=repr)
class TestEveryModel:
    def test_a_constant_series_goes_on(self, model: Model) -> None:
        X = np.array([[0.1] * 7, [1e300] * 7, [5e-324] * 7, [0.0] * 7])
        assert (model(X) == X[:, :3]).all()

    def test_an_offset_costs_no_digits(self, model: Model) -> None:
        X = np.random.default_rng(2).integers(-50, 50, (6, 12)).astype(float)
        np.testing.assert_allclose(model(X + 1e9) - 1e9, model(X), atol=1e-6)

    @pytest.mark.parametrize("factor", [2.0**-1000, 2.0**1000])
    def test_huge_and_tiny_values(self, model: Model, factor: float) -> None:
        X = np.random.default_rng(3).normal(size=(6, 12)) + 3
        np.testing.assert_allclose(model(X * factor), model(X) * factor, rtol=1e-9)

    def test_a_record_gives_the_same_bits_wherever_it_stands(
        self, model: Model, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        X = np.random.default_rng(4).normal(size=(101, 13)) * 1e3
        whole = model(X)
        monkeypatch.setattr(statistics, "CHUNK", 13 * 10)
        order = np.random.default_rng(5).permutation(101)
        other = np.asfortranarray(X)[order]
        other.setflags(write=False)
        assert (model(other) == whole[order]).all()

    def test_the_shortest_series(self, model: Model) -> None:
        x = [3.0, -1.0, 4.0, 1.0, 5.0]
        assert model([x[: model.shortest]]).shape == (1, 3)
        if model.shortest > 1:
            message = rf"needs series of at least {model.shortest} points to forecast. Got {model.shortest - 1}."
            with pytest.raises(InputError, match=message) as caught:
                model([x[: model.shortest - 1]])
            assert str(caught.value).startswith(repr(model))

    def test_settings_say_it_all(self, model: Model) -> None:
        assert type(model)(**model.settings()) == model


@pytest.mark.parametrize("name", ["holt", "trend", "two-lags", "quadratic"])
def test_a_straight_line_goes_on(name: str) -> None:
    X = np.array([[2.0 + 0.3 * t for t in range(11)], [7.0 - 1e4 * t for t in range(11)]])
    expected = [[2.0 + 0.3 * t for t in (11, 12, 13)], [7.0 - 1e4 * t for t in (11, 12, 13)]]
    np.testing.assert_allclose(forecasts(MODELS[name], X), expected, rtol=1e-10)


@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("T", [9, 24, 1000])
def test_polynomials_of_all_orders(order: int, T: int) -> None:
    X = np.random.default_rng([order, T]).normal(size=(3, T)).cumsum(axis=1)
    found = Polynomial(order=order)(X)
    for x, ours in zip(X.tolist(), found, strict=True):
        unit = (T - 1) / 2
        u = (np.arange(T + 3) - unit) / unit
        expected = np.polynomial.Chebyshev.fit(u[:T], x, order, domain=[-1, 1])(u[T:])
        np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("lags", [1, 2, 3, 5, 12])
def test_lags_of_all_numbers(lags: int) -> None:
    X = np.random.default_rng(lags).normal(size=(4, 60)).cumsum(axis=1)
    X[1] = 5.0
    X[2] = np.arange(60)
    X[3] *= 1e200
    for x, ours in zip(X.tolist(), Lags(lags=lags)(X), strict=True):
        size = max(1.0, *map(abs, x))
        np.testing.assert_allclose(
            ours / size, np.array(naive.lags([v / size for v in x], lags)), rtol=1e-8, atol=1e-10
        )


def test_the_models_of_the_paper_are_special_cases() -> None:
    X = np.random.default_rng(5).normal(size=(6, 30))
    for one, other in (
        (Trend(), Polynomial(order=1)),
        (Quadratic(), Polynomial(order=2)),
        (Trend(on="lag"), Lags(lags=1)),
        (TwoLags(), Lags(lags=2)),
    ):
        assert np.array_equal(one(X), other(X))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arima", "no forecasting model 'arima'"),
        ("lags(3)", "stand in brackets"),
        ("lags(lags=3", "stand in brackets"),
        ("lags(lags=0)", "an integer from 1 to 50"),
        ("polynomial(order=nine)", "an integer from 1 to 8"),
        ("ses(beta=0.1)", "it has no parameter 'beta'"),
    ],
)
def test_texts_that_name_no_model(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        chosen_models([text])


def test_texts_name_models_with_parameters() -> None:
    assert chosen_models(["ses( alpha = 0.5 )", "lags()", "holt(alpha=optimised,beta=0.2)"]) == {
        "ses( alpha = 0.5 )": SES(alpha=0.5),
        "lags()": Lags(),
        "holt(alpha=optimised,beta=0.2)": Holt(alpha="optimised", beta=0.2),
    }


def test_a_first_value_far_off_is_forgotten() -> None:
    x = [1e15, *[1.0 + t % 2 for t in range(200)]]
    np.testing.assert_allclose(SES()([x])[0], naive.ses(x, 0.3), rtol=1e-12)


def test_rounding_in_collinear_lags_is_no_information() -> None:
    # The lags of a line are collinear but for rounding; a jump at the end must not be explained by that rounding.
    x = [0.1 * t for t in range(10)] + [100.0]
    np.testing.assert_allclose(TwoLags()([x])[0], naive.lags(x, 2), rtol=1e-9)


def test_lags_on_a_bad_condition() -> None:
    # A noise of 1e-7 on a line: the normal equations would square the condition number and lose every digit of it.
    x = np.arange(40) + 1e-7 * np.random.default_rng(6).normal(size=40)
    np.testing.assert_allclose(TwoLags()([x])[0], naive.lags(x.tolist(), 2), atol=1e-9)


def test_smoothing_agrees_with_statsmodels() -> None:
    from statsmodels.tsa import holtwinters as smoothing

    X = np.random.default_rng(7).normal(size=(5, 30)).cumsum(axis=1)
    for x, ses, holt in zip(X, SES()(X), Holt()(X), strict=True):
        other = smoothing.SimpleExpSmoothing(x, initialization_method="known", initial_level=x[0])
        np.testing.assert_allclose(ses, other.fit(smoothing_level=0.3, optimized=False).forecast(3), rtol=1e-9)
        other = smoothing.Holt(x[1:], initialization_method="known", initial_level=x[0], initial_trend=x[1] - x[0])
        found = other.fit(smoothing_level=0.3, smoothing_trend=0.1, optimized=False).forecast(3)
        np.testing.assert_allclose(holt, found, rtol=1e-9)


@given(tables)
def test_optimised_rates_are_the_best(X: Array) -> None:
    grid = np.linspace(0, 1, 21)
    for x, (alpha, beta) in zip(X.tolist(), fitted(SES(alpha="optimised"), X), strict=True):
        assert 0 <= alpha <= 1
        assert beta == 0
        assert naive.one_step_error(x, alpha) <= min(naive.one_step_error(x, a) for a in grid) * (1 + 1e-4) + 1e-9
    for x, (alpha, beta) in zip(X.tolist(), fitted(Holt(alpha="optimised", beta="optimised"), X), strict=True):
        assert 0 <= min(alpha, beta) <= max(alpha, beta) <= 1
        least = min(naive.one_step_error(x, a, b) for a in grid[::2] for b in grid[::2])
        assert naive.one_step_error(x, alpha, beta) <= least * (1 + 1e-9) + 1e-9


def test_optimised_forecasts_use_the_fitted_rates() -> None:
    X = np.random.default_rng(8).normal(size=(6, 25)).cumsum(axis=1)
    ses, holt, half = SES(alpha="optimised"), Holt(alpha="optimised", beta="optimised"), Holt(beta="optimised")
    for x, a, b, c, f, g, h in zip(
        X.tolist(), fitted(ses, X), fitted(holt, X), fitted(half, X), ses(X), holt(X), half(X), strict=True
    ):
        assert c[0] == 0.3
        np.testing.assert_allclose(f, naive.ses(x, a[0]), rtol=1e-9)
        np.testing.assert_allclose(g, naive.holt(x, *b), rtol=1e-9)
        np.testing.assert_allclose(h, naive.holt(x, *c), rtol=1e-9)


def test_the_best_rate_of_a_smooth_error_is_found_precisely() -> None:
    from scipy import optimize

    x = (np.random.default_rng(9).normal(size=60) + 0.3 * np.random.default_rng(10).normal(size=60).cumsum()).tolist()
    best = optimize.minimize_scalar(lambda a: naive.one_step_error(x, a), bounds=(0, 1), method="bounded")
    assert fitted(SES(alpha="optimised"), [x])[0, 0] == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SES(alpha=0), "The 'alpha' parameter of SES must be a number above 0 and at most 1, or 'optimised'."),
        (lambda: SES(alpha="best"), "Got 'best'."),  # type: ignore[arg-type]
        (lambda: Holt(beta=1.5), "The 'beta' parameter of Holt must be a number from 0 to 1, or 'optimised'. Got 1.5."),
        (lambda: Trend(on="x"), "The 'on' parameter of Trend must be one of 'time', 'lag'."),  # type: ignore[arg-type]
        (lambda: chosen_models("ses"), "must be a list of models or of their names. Got 'ses'."),
        (lambda: chosen_models(["ses", "arima"]), "models available: ses, holt, trend, two-lags, quadratic"),
        (lambda: chosen_models({}), "must name at least one forecasting model"),
    ],
)
def test_settings_that_make_no_sense(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert message in str(caught.value)


def test_models_can_be_chosen() -> None:
    def naive_model(X: Array) -> Array:
        return np.repeat(X[:, -1:], 3, axis=1)

    assert chosen_models() == MODELS
    assert list(chosen_models(["trend", naive_model, naive_model])) == ["trend", "naive_model", "naive_model'"]
    assert chosen_models({"mine": naive_model}) == {"mine": naive_model}
    assert forecasts(naive_model, naive.FOODS)[0].tolist() == [129.0] * 3


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda X: X[:, :2], r"'mine' must give an array of the shape \(4, 3\). Got \(4, 2\)."),
        (lambda X: np.full((4, 3), np.nan), r"'mine' gave \[nan, nan, nan\] for row 1 \(4 of 4 records"),
        (lambda X: np.where(X[:, :3] == 102.7, np.inf, 0.0), r"gave \[inf, 0.0, 0.0\] for row 2 \(1 of 4 records"),
        (lambda X: "no", "'mine' failed: could not convert string"),
    ],
)
def test_what_a_model_of_ones_own_must_give(model: Forecaster, message: str) -> None:
    with pytest.raises(InputError, match=message):
        forecasts(model, naive.FOODS, "mine")


def test_forecasts_beyond_float64_are_told() -> None:
    with pytest.raises(InputError, match="too large for float64"):
        forecasts(Holt(), [[0.0, 1e308, -1e308]])
