from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive_series as naive
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.measure.forecast import SES, TwoLags
from tsveil.measure.passes import of_arrays
from tsveil.measure.series_loss import SeriesLoss, record_losses, rel
from tsveil.transform import statistics

FIGURES = {"il1_1": "IL1.1", "il1_2": "IL1.2", "il1": "IL1", "il2": "IL2", "il3": "IL3", "il": "IL"}


class Found(NamedTuple):
    figures: dict[str, float]
    records: dict[str, Array]


def series_loss(X: Array, Y: Array, **options: Any) -> Found:
    found, records = of_arrays(SeriesLoss(**options), X, Y)
    return Found(found.figures, records)


shapes = st.tuples(st.integers(1, 5), st.integers(5, 14))


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_rel_is_symmetric_and_at_most_two(a: float, b: float) -> None:
    assert rel(a, b) == pytest.approx(naive.rel(a, b), rel=1e-15)
    assert rel(a, b) == rel(b, a)
    assert 0 <= rel(a, b) <= 2


def test_rel_at_its_ends() -> None:
    assert rel([0.0, 0.0, -0.0, 3.0, 5e-324], [0.0, 2.0, 0.0, -3.0, -5e-324]).tolist() == [0, 1, 0, 2, 2]


@pytest.mark.parametrize("variant", ["default", "paper"])
@pytest.mark.parametrize("divisor", ["T", "T-j"])
@given(data=st.data())
def test_losses_follow_the_definition(variant: Any, divisor: Any, data: st.DataObject) -> None:
    shape = data.draw(shapes)
    # Sevenths keep forecasts of different models away from an exact zero, where a rounding error is a loss of 100 %.
    X = data.draw(arrays(np.float64, shape, elements=st.integers(-20, 80).map(lambda v: v + 1 / 7)))
    noise = np.random.default_rng(data.draw(st.integers(0, 100))).integers(-3, 4, shape) / 11
    found = series_loss(X, X + noise, variant=variant, divisor=divisor)
    expected = naive.series_loss(X, X + noise, variant, divisor)
    for name, figure in FIGURES.items():
        assert found.figures[figure] == pytest.approx(expected[name], rel=1e-6, abs=1e-6), name


@given(shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(-1e9, 1e9))))
def test_nothing_is_lost_when_nothing_changed(X: Array) -> None:
    for variant in ("default", "paper"):
        loss = series_loss(X, X.copy(), variant=variant)
        assert all((np.asarray(figure) == 0).all() for figure in (*loss.figures.values(), *loss.records.values()))


def test_the_figures_are_the_means_of_the_records() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(50, 5, (40, 12))
    Y = X + rng.normal(size=X.shape)
    loss, each = series_loss(X, Y), record_losses(X, Y)
    of_records = {
        "IL1": 50 * (each.means + each.correlations),
        "IL2": 100 * each.values,
        "IL3": 100 * each.forecasts,
        "IL": loss.records["loss"],
    }
    for figure, values in of_records.items():
        assert loss.figures[figure] == pytest.approx(values.mean(), rel=1e-12)


def test_the_order_of_records_and_the_chunks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(203, 17)) * 1e3
    Y = X + rng.normal(size=X.shape)
    whole = series_loss(X, Y)
    monkeypatch.setattr(statistics, "CHUNK", 17 * 10)
    order = rng.permutation(203)
    other = series_loss(np.asfortranarray(X)[order], Y[order])
    assert whole.figures == other.figures
    assert (whole.records["loss"][order] == other.records["loss"]).all()


def test_a_flipped_sign_hides_in_the_printed_version_only() -> None:
    X = np.array([[1.0, 2.0, 1.0, 3.0, 2.0]])
    assert series_loss(X, -X).figures["IL1.1"] == 200.0
    assert series_loss(X, -X, variant="paper").figures["IL1.1"] == 0.0


def test_the_printed_version_is_signed() -> None:
    X = np.array([[2.0, 1.0, 4.0, 3.0, 5.0]])
    assert series_loss(X, 2 * X, variant="paper").figures["IL1.1"] == -50.0
    assert series_loss(2 * X, X, variant="paper").figures["IL1.1"] == 50.0
    assert series_loss(X, 2 * X).figures["IL1.1"] == 50.0


def test_a_series_that_becomes_constant_loses_its_autocorrelation() -> None:
    X = np.array([[1.0, 3.0, 2.0, 5.0, 4.0, 7.0, 5.0, 8.0]])
    assert series_loss(X, np.full_like(X, 4.0)).figures["IL1.2"] == 75.0  # three of the four lags; R(0) = 1 always


def test_models_can_be_chosen() -> None:
    X = naive.FOODS[:, :4]
    with pytest.raises(InputError, match=r"TwoLags\(\) needs series of at least 5 points to forecast. Got 4"):
        series_loss(X, X)
    loss = series_loss(X, 2 * X, models=["ses", SES(alpha=0.5), lambda rows: rows[:, :3]])
    assert loss.figures["IL3"] == pytest.approx(50.0)
    assert series_loss(naive.FOODS, 2 * naive.FOODS, models={"mine": TwoLags()}).figures["IL3"] == pytest.approx(50.0)


@pytest.mark.parametrize("value", [np.nan, 1.7e308])
def test_what_cannot_be_measured_is_told(value: float) -> None:
    X = naive.FOODS.copy()
    X[2, 0] = value
    X[2, 1] = -value
    reason = "missing or infinite value" if np.isnan(value) else "too large for float64"
    with pytest.raises(InputError, match=rf"the information loss of row 3 cannot be computed: .*{reason} \(1 such"):
        series_loss(naive.FOODS, X)


def test_tables_and_variants_that_make_no_sense() -> None:
    with pytest.raises(InputError, match=r"shape \(4, 9\), the published ones \(4, 8\)"):
        series_loss(naive.FOODS, naive.FOODS[:, :8])
    with pytest.raises(ParameterError, match="'variant' parameter of evaluate must be one of 'default', 'paper'"):
        series_loss(naive.FOODS, naive.FOODS, variant="print")
