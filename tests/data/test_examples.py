from __future__ import annotations

import math
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsveil import Dataset
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.types import Array
from tsveil.data.examples import (
    DWELLINGS,
    EXAMPLES,
    STATES,
    _runs,
    device_states,
    example,
    example_frame,
    food_prices,
    households,
    ibex,
    load_curves,
)

# -- load curves ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curves() -> Dataset:
    return load_curves()


def test_load_curves_have_the_promised_shape(curves: Dataset) -> None:
    load = curves.block("load")
    assert load.shape == (300, 336)
    assert (load > 0).all()
    assert np.array_equal(load, np.round(load, 3))
    assert curves.blocks[0].times is not None
    assert np.array_equal(curves.blocks[0].times, np.arange(336))
    assert curves.columns[:2] == ("2024-01-01T00:00", "2024-01-01T01:00")
    assert curves.ids[0] == "household-0001"
    assert curves.ids[299] == "household-0300"


def test_load_curves_start_on_a_monday(curves: Dataset) -> None:
    assert pl.Series([curves.columns[0]]).str.to_datetime().dt.weekday()[0] == 1


def test_the_same_seed_gives_the_same_curves(curves: Dataset) -> None:
    again = load_curves(seed=1)
    assert np.array_equal(again.values, curves.values)
    assert again.others.equals(curves.others)
    assert not np.array_equal(load_curves(seed=2).values, curves.values)


def test_the_curves_of_seed_1_never_change(curves: Dataset) -> None:
    # Whoever compares results between two versions of tsveil or numpy needs the same input. Change these figures only
    # together with a line in the changelog.
    assert curves.values[0, :6].tolist() == [0.965, 1.571, 0.466, 2.045, 1.848, 2.305]
    assert curves.values.sum() == pytest.approx(106246.322, abs=0.01)
    assert curves.others["heating"][:6].to_list() == ["heat pump", "district", "gas", "heat pump", "gas", "gas"]


@pytest.mark.parametrize("households", [1, 99, 100, 101, 250])
def test_the_first_households_do_not_depend_on_the_others(curves: Dataset, households: int) -> None:
    fewer = load_curves(households=households)
    assert np.array_equal(fewer.values, curves.values[:households])
    assert fewer.others.equals(curves.others[:households])


def test_no_two_households_are_alike(curves: Dataset) -> None:
    assert len(np.unique(curves.values, axis=0)) == curves.n


def test_one_day_is_enough() -> None:
    assert load_curves(households=3, days=1).block("load").shape == (3, 24)


def test_heating_shows_in_the_load_but_names_nobody(curves: Dataset) -> None:
    means = curves.block("load").mean(axis=1)
    heating = curves.others["heating"].to_numpy()
    of = {name: means[heating == name] for name in np.unique(heating)}
    assert len(of) == 5
    assert min(len(members) for members in of.values()) >= 20
    assert of["electric"].mean() > 2 * of["gas"].mean()
    assert of["heat pump"].mean() > 2 * of["gas"].mean()
    assert of["gas"].max() > of["electric"].min()  # the level alone does not give it away


def test_the_first_night_is_a_night_like_the_others(curves: Dataset) -> None:
    # Night storage and boilers start in the evening: without an evening before the first day, its night would be dark.
    nights = curves.block("load").reshape(300, 14, 24)[:, :, :4].mean(axis=(0, 2))
    assert 0.75 < nights[0] / nights[1:].mean() < 1.25


def test_weekends_differ_from_weekdays(curves: Dataset) -> None:
    days = curves.block("load").reshape(300, 2, 7, 24)
    weekday, weekend = days[:, :, :5].mean(axis=(0, 1, 2)), days[:, :, 5:].mean(axis=(0, 1, 2))
    assert weekday[6] > 1.1 * weekend[6]  # up early for work
    assert weekend[11] > 1.2 * weekday[11]  # at home by day
    assert weekday[19] > 1.3 * weekday[15]  # the evening peak


def test_some_households_are_away_for_days(curves: Dataset) -> None:
    days = curves.block("load").reshape(300, 14, 24)
    quiet = (days.max(axis=2) < 0.35 * np.median(days.max(axis=2), axis=1)[:, None]).sum(axis=1)
    assert 0.05 < (quiet >= 2).mean() < 0.3


def _figures(load: Array) -> dict[str, float]:
    centred = load - load.mean(axis=1, keepdims=True)
    sd = load.std(axis=1)
    return {
        "mean": float(load.mean()),
        "sd": float(load.std()),
        "median household": float(np.median(load.mean(axis=1))),
        "spread of households": float(np.log(load.mean(axis=1)).std()),
        "coefficient of variation": float(np.median(sd / load.mean(axis=1))),
        "skewness": float(np.median((centred**3).mean(axis=1) / sd**3)),
        "autocorrelation at 24 h": float(np.median((centred[:, :-24] * centred[:, 24:]).mean(axis=1) / sd**2)),
        "autocorrelation at a week": float(np.median((centred[:, :-168] * centred[:, 168:]).mean(axis=1) / sd**2)),
        "peak to mean": float(np.median(load.max(axis=1) / load.mean(axis=1))),
    }


def test_made_up_households_resemble_real_ones(curves: Dataset, shared_data: Path) -> None:
    real = _figures(pl.read_csv(shared_data / "smart_meter.csv").drop("household").to_numpy().astype(np.float64))
    made = _figures(curves.block("load"))
    ratios = {name: made[name] / real[name] for name in real}
    assert all(0.5 < ratio < 2 for ratio in ratios.values()), ratios


def test_the_bundled_file_is_made_quickly() -> None:
    took = []
    for _ in range(3):
        start = time.process_time()
        load_curves()
        took.append(time.process_time() - start)
    assert min(took) < 0.5


def test_bad_settings_are_told_together() -> None:
    with pytest.raises(ParameterError) as caught:
        load_curves(households=0, days=1.5, seed=-1)  # type: ignore[arg-type]
    assert str(caught.value).splitlines() == [
        "The 'households' parameter of load_curves must be an integer of at least 1. Got 0.",
        "The 'days' parameter of load_curves must be an integer of at least 1. Got 1.5.",
        "The 'seed' parameter of load_curves must be an integer of at least 0. Got -1.",
    ]


def _runs_one_by_one(start: Array, hours: Array, power: Array) -> Array:
    """Every run against every hour: how long do they overlap?"""
    rows, days = start.shape
    energy = np.zeros((rows, 24 * days))
    for row in range(rows):
        for day in range(days):
            begin = 24 * day + start[row, day]
            for hour in range(24 * days):
                overlap = min(begin + hours[row, day], hour + 1) - max(begin, hour)
                energy[row, hour] += power[row, day] * max(overlap, 0.0)
    return energy.reshape(rows, days, 24)


@given(
    st.lists(st.tuples(st.floats(-20, 30), st.floats(0, 15), st.sampled_from([0.0, 0.5, 2.0])), min_size=6, max_size=6)
)
def test_runs_put_the_energy_where_it_is_used(drawn: list[tuple[float, float, float]]) -> None:
    start, hours, power = (np.array(values).reshape(2, 3) for values in zip(*drawn, strict=True))
    energy = _runs(start, hours, power)
    np.testing.assert_allclose(energy, _runs_one_by_one(start, hours, power), atol=1e-12)


def test_a_run_keeps_all_its_energy() -> None:
    energy = _runs(np.array([[23.25, 5.0]]), np.array([[2.5, 0.0]]), np.array([[4.0, 1.0]]))
    assert math.isclose(energy.sum(), 10.0)
    assert energy[0, 0, 23] == 3.0
    assert energy[0, 1, :2].tolist() == [4.0, 3.0]


# -- printed tables ---------------------------------------------------------------------------------------------------


def test_food_prices_are_those_of_table_1() -> None:
    data = food_prices()
    assert [block.name for block in data.blocks] == ["price index"]
    assert data.ids.to_list() == ["Bread", "Oil", "Vegetables", "Potatoes"]
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [1993, 1994, 1995, 1996, 1997, 1998, 1999, 2000, 2001]
    assert data.block("price index").tolist() == [
        [106.5, 110.3, 114.9, 117.9, 119.3, 121, 122.2, 124.1, 129],
        [102.7, 119.8, 147.8, 178.7, 130.8, 116.2, 133.6, 123.5, 114.4],
        [95.6, 101.9, 110.8, 116.4, 114.2, 119, 124.6, 126.4, 133.9],
        [101.1, 133.6, 162.8, 123.8, 121.3, 140.4, 149.8, 148.6, 177.6],
    ]


def test_food_prices_normalise_to_table_3() -> None:
    # Printed beside Table 1 and computed from it by others: an independent check of the digits.
    values = food_prices().values
    printed = [
        [-1.00, -0.81, -0.57, -0.42, -0.34, -0.26, -0.19, -0.10, 0.16],
        [-1.20, -0.32, 1.13, 2.72, 0.25, -0.50, 0.39, -0.13, -0.60],
        [-1.57, -1.24, -0.78, -0.49, -0.61, -0.36, -0.07, 0.02, 0.41],
        [-1.28, 0.39, 1.90, -0.11, -0.24, 0.75, 1.23, 1.17, 2.66],
    ]
    np.testing.assert_allclose((values - values.mean()) / values.std(ddof=1), printed, atol=0.00501)
    assert values.mean() == pytest.approx(125.958333, abs=1e-6)
    assert values.std(ddof=1) == pytest.approx(19.384049, abs=1e-6)


def test_ibex_has_35_firms_and_the_five_printed_days() -> None:
    data = ibex()
    assert data.block("price").shape == (35, 5)
    assert data.columns == ("2005-05-03", "2005-05-04", "2005-05-05", "2006-04-27", "2006-04-28")
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [0, 1, 2, 359, 360]
    assert data.confidential == ("business",)
    assert data.others["business"].n_unique() == 13
    assert data.ids.n_unique() == 35


@pytest.mark.parametrize(
    ("firm", "business", "prices"),
    [
        ("Abertis", "Building firm", [19.94, 19.95, 19.90, 20.93, 21.00]),
        ("Acciona", "Building firm", [76.85, 79.00, 81.40, 139.65, 134.65]),
        ("Banco Sabadell", "Bank", [21.12, 21.14, 21.29, 28.47, 28.87]),
        ("Iberia", "AirLine", [2.47, 2.49, 2.50, 2.24, 2.22]),
        ("R. E. Española", "Energy firm", [20.90, 21.24, 21.15, 27.92, 27.87]),
        ("Telefónica Móvil", "Telecom firm", [8.76, 8.75, 8.80, 10.52, 10.46]),
        ("Vallehermoso", "Building firm", [19.50, 19.93, 19.37, 27.51, 27.44]),
    ],
)
def test_ibex_prices_are_those_of_table_2(firm: str, business: str, prices: list[float]) -> None:
    data = ibex()
    row = data.ids.to_list().index(firm)
    assert data.block("price")[row].tolist() == prices
    assert data.others["business"][row] == business


def test_ibex_prices_have_no_slip_of_the_decimal_point() -> None:
    prices = ibex().block("price")
    for before, after in pairwise(range(3)):
        assert np.abs(prices[:, after] / prices[:, before] - 1).max() < 0.05
    assert np.abs(prices[:, 4] / prices[:, 3] - 1).max() < 0.05
    assert (prices[:, 3] / prices[:, 2]).max() < 2.5


# -- labels -----------------------------------------------------------------------------------------------------------


def test_keys_go_with_the_curves_and_some_are_rare() -> None:
    data = households(300, days=2)
    frame = pl.DataFrame(
        {name: own.texts(data.values[:, data.columns.index(name)]) for name, own in data.labels.items()}
    )
    means = (
        frame.with_columns(load=pl.Series(data.block("load").mean(axis=1)))
        .group_by("dwelling")
        .agg(pl.col("load").mean())
        .sort("load")
    )
    assert means["dwelling"].to_list() == list(DWELLINGS)
    places = frame["postcode"].value_counts()["count"]
    assert places.max() > 5 * places.min()  # type: ignore[operator]
    assert np.array_equal(data.block("load"), load_curves(300, days=2).values)
    assert np.array_equal(households(300, days=2).values, data.values)


def test_states_depend_on_the_time_of_day() -> None:
    data = device_states(400, hours=24)
    running = (data.values == STATES.index("running")).mean(axis=0)
    assert running[40:70].mean() > 3 * running[:20].mean()
    assert set(np.unique(data.values)) == {0.0, 1.0, 2.0, 3.0}
    assert (data.values[:, 1:] == data.values[:, :-1]).mean() > 0.7


# -- by name ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_frame_holds_the_whole_example(name: str) -> None:
    data, frame = example(name), example_frame(name)
    assert frame.columns == ["id", *data.columns, *data.confidential]
    for column, values in zip(data.columns, data.values.T, strict=True):
        own = data.labels.get(column)
        assert np.array_equal(frame[column].to_numpy() if own is None else own.codes(frame[column]), values)
    assert frame.select("id", *data.confidential).equals(data.others.select("id", *data.confidential))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_frame_survives_a_csv_file(name: str, tmp_path: Path) -> None:
    frame = example_frame(name)
    frame.write_csv(tmp_path / "raw.csv")
    assert pl.read_csv(tmp_path / "raw.csv").equals(frame)


def test_an_unknown_example_lists_the_known_ones() -> None:
    with pytest.raises(
        InputError,
        match="there is no example 'loads'\n  examples available: load-curves, food-prices, ibex, households, device-states, wages",
    ):
        example_frame("loads")
