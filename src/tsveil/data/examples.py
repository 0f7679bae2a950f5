"""Example data that come with the package: generated load curves, homes and devices, and two small tables printed in the literature.

`load_curves` makes up households; no real meter reading is in it, so it can be shown to anybody. A household's load is

    load(t) = base(t) + [somebody is at home] * (activity(t) + appliances(t) + hot water(t) + heating(t) + car(t))

in kWh per hour. Its kind (single worker, family, retired, home office, night owl) sets when its day peaks in the
morning, at noon and in the evening, on weekdays and at weekends; its size, its clock, what it owns and when it is away
are drawn. All households live under one weather, which drives the heating.

References
----------
.. [1] J. Nin, V. Torra, Towards the evaluation of time series protection methods, Information Sciences 179 (2009),
   Table 1 (index of food prices, Spanish National Statistics Institute).
.. [2] J. Nin, V. Torra, Extending microaggregation procedures for time series protection, RSCTC 2006, Table 2
   (opening prices of the firms in the Ibex 35).

Examples
--------
>>> example("food-prices")
Dataset: 4 records; series 'price index' (9 points); identifier 'id'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from tsveil.core.errors import InputError, ParameterError
from tsveil.core.params import at_least
from tsveil.core.types import AnyArray, Array, Indices, Mask
from tsveil.data.dataset import Dataset

#: households are drawn in lots of this size, each from its own stream: the first 100 are the same in a file of 100 and
#: in one of 100,000, and the arrays of a lot stay in the processor's cache
LOT = 100

FIRST_DAY = np.datetime64("2024-01-01T00", "h")  # a Monday


# -- how households live ----------------------------------------------------------------------------------------------

#: hour, width in hours and height of a peak of the day
Peak = tuple[float, float, float]


@dataclass(frozen=True)
class Kind:
    """A way to live: the peaks of the day in the morning, at noon and in the evening."""

    #: share of all households
    share: float
    #: how much it uses, against the others
    size: float
    weekday: tuple[Peak, Peak, Peak]
    weekend: tuple[Peak, Peak, Peak]


KINDS = (
    # single worker: nobody at home by day
    Kind(
        share=0.28,
        size=0.75,
        weekday=((6.8, 0.9, 0.7), (13.0, 2.0, 0.05), (19.5, 2.0, 0.9)),
        weekend=((9.5, 1.5, 0.6), (14.0, 2.5, 0.6), (20.0, 2.5, 0.8)),
    ),
    # family
    Kind(
        share=0.30,
        size=1.45,
        weekday=((6.9, 1.0, 1.0), (12.8, 2.5, 0.4), (18.8, 2.2, 1.2)),
        weekend=((9.0, 1.6, 0.9), (13.2, 2.5, 1.0), (19.0, 2.4, 1.1)),
    ),
    # retired: all days are alike
    Kind(
        share=0.22,
        size=0.85,
        weekday=((8.0, 1.4, 0.7), (12.0, 2.0, 0.9), (18.2, 2.0, 0.8)),
        weekend=((8.2, 1.4, 0.7), (12.0, 2.0, 1.0), (18.2, 2.0, 0.8)),
    ),
    # home office
    Kind(
        share=0.13,
        size=1.00,
        weekday=((8.2, 1.2, 0.8), (12.8, 3.2, 0.9), (19.2, 2.2, 0.9)),
        weekend=((9.5, 1.6, 0.7), (13.5, 2.5, 0.7), (19.5, 2.4, 0.9)),
    ),
    # night owl
    Kind(
        share=0.07,
        size=0.85,
        weekday=((10.5, 1.4, 0.5), (16.0, 2.5, 0.4), (23.2, 2.6, 1.2)),
        weekend=((12.0, 1.6, 0.5), (17.0, 2.5, 0.5), (23.8, 2.8, 1.2)),
    ),
)

#: how homes are heated, and the share of each
HEATINGS = {"gas": 0.28, "oil": 0.14, "district": 0.14, "heat pump": 0.27, "electric": 0.17}


@dataclass(frozen=True)
class Appliance:
    """Something that is switched on around a peak of the day, and runs at even power."""

    #: share of households that own it
    owned: float
    #: chance that it runs on a day whose peak has height 1
    chance: float
    #: 0 morning, 1 noon, 2 evening
    peak: int
    #: start, in hours after the peak, and its spread
    delay: float
    spread: float
    #: shortest and longest run in hours
    hours: tuple[float, float]
    #: smallest and largest power in kW
    power: tuple[float, float]


APPLIANCES = (
    Appliance(1.00, 0.85, 0, -0.3, 0.4, (0.1, 0.5), (1.0, 2.2)),  # kettle, toaster, hair dryer
    Appliance(0.95, 0.75, 1, -0.4, 0.4, (0.3, 0.9), (0.9, 2.2)),  # lunch
    Appliance(0.95, 0.75, 2, -0.6, 0.5, (0.3, 1.2), (1.0, 2.6)),  # dinner
    Appliance(0.70, 0.45, 2, 1.0, 0.8, (0.8, 1.8), (0.7, 1.1)),  # dishwasher
    Appliance(0.95, 0.40, 1, -2.0, 2.5, (1.0, 2.5), (0.4, 0.9)),  # washing machine
    Appliance(0.45, 0.35, 1, 1.0, 2.5, (0.8, 1.8), (1.0, 2.2)),  # tumble dryer
    Appliance(0.20, 0.15, 2, 1.5, 0.8, (0.8, 1.5), (4.0, 7.0)),  # sauna, workshop, hobby kiln
)


def load_curves(households: int = 300, days: int = 14, seed: int = 1) -> Dataset:
    """Electricity load curves of made-up households, in kWh per hour, from Monday 2024-01-01 on.

    The confidential column is how the home is heated: it shows in the load, but many households share it. The same seed
    gives the same data, and the first households of a larger file are those of a smaller one with the same days.

    Examples
    --------
    >>> data = load_curves(households=50, days=7)
    >>> data
    Dataset: 50 records; series 'load' (168 points); identifier 'id'; confidential 'heating'
    >>> data.ids[0], data.columns[0], data.columns[-1]
    ('household-0001', '2024-01-01T00:00', '2024-01-07T23:00')
    >>> load_curves(days=0)
    Traceback (most recent call last):
    tsveil.core.errors.ParameterError: The 'days' parameter of load_curves must be an integer of at least 1. Got 0.
    """
    wrong = [
        f"The {name!r} parameter of load_curves must be {check.words}. Got {value!r}."
        for name, value, check in (
            ("households", households, at_least(1)),
            ("days", days, at_least(1)),
            ("seed", seed, at_least(0)),
        )
        if not check.accepts(value)
    ]
    if wrong:
        raise ParameterError("\n".join(wrong), wrong)

    cold = _cold(_stream(seed, 0), days + 1)
    load = np.empty((households, 24 * days))
    heating: list[str] = []
    for lot, start in enumerate(range(0, households, LOT)):
        curves, heatings = _lot(_stream(seed, 1 + lot), cold)
        rows = load[start : start + LOT]
        rows[:] = curves[: len(rows)]
        heating += heatings[: len(rows)].tolist()

    hours = FIRST_DAY + np.arange(24 * days)
    return Dataset.from_arrays(
        {"load": load},
        times=np.datetime_as_string(hours, unit="m").tolist(),
        ids=[f"household-{number:04d}" for number in range(1, households + 1)],
        confidential={"heating": heating},
    )


def _lot(draw: np.random.Generator, cold: Array) -> tuple[Array, AnyArray]:
    """The curves of `LOT` households, and how they heat."""
    # The Sunday before the first day is simulated, too, and cut off: what runs in the first night began that evening.
    days = len(cold)
    shape = (LOT, days)
    weekend = ((np.arange(days) - 1) % 7 >= 5).astype(np.int64)

    kind = _choice(draw, [kind.share for kind in KINDS])
    heating = np.array(list(HEATINGS))[_choice(draw, list(HEATINGS.values()))]
    size = np.array([kind.size for kind in KINDS])[kind] * np.exp(0.5 * _normal(draw, LOT))

    # Every household has its own clock, and no day is exactly like another.
    peaks = np.array([[kind.weekday, kind.weekend] for kind in KINDS])[kind][:, weekend]
    hour = peaks[..., 0] + 0.8 * _normal(draw, LOT, 1, 1) + 0.4 * _normal(draw, LOT, days, 3)
    height = peaks[..., 2] * np.exp(0.25 * _normal(draw, LOT, 1, 3) + 0.3 * _normal(draw, LOT, days, 3))

    activity = np.zeros((LOT, days, 24))
    for peak in range(3):
        apart = (np.arange(24) + 0.5 - hour[..., peak, None] + 12) % 24 - 12  # the clock is round: 0 h follows 23 h
        activity += height[..., peak, None] * np.exp(-0.5 * (apart / peaks[..., peak, 1, None]) ** 2)
    # In some hours little goes on and in some much: a constant and an exponential part, of mean 1 together.
    at_home = 0.45 * size[:, None, None] * activity * (0.45 - 0.55 * np.log1p(-draw.random((LOT, days, 24))))

    for a in APPLIANCES:
        owned = draw.random((LOT, 1)) < a.owned
        used = draw.random(shape) < a.chance * height[..., a.peak] * np.sqrt(size)[:, None]
        start = hour[..., a.peak] + a.delay + a.spread * _normal(draw, *shape)
        power = _between(draw, a.power, LOT, 1) * (owned & used)
        at_home += _runs(start, _between(draw, a.hours, *shape), power)

    # A boiler heats its water in the cheap hours of the night, longer where more people live.
    boiler = draw.random(LOT) < np.where(np.isin(heating, ["heat pump", "electric"]), 0.55, 0.35)
    start = _between(draw, (22, 27), LOT, 1)
    hours = _between(draw, (0.8, 2.6), LOT, 1) * np.sqrt(size)[:, None] * _between(draw, (0.6, 1.4), *shape)
    at_home += _runs(start, np.minimum(hours, 8.0), boiler[:, None] * _between(draw, (1.5, 3.5), LOT, 1))

    # A car is charged when it comes home or, by a timer, at night; not every day.
    charged = (draw.random(LOT) < 0.09)[:, None] & (draw.random(shape) < 0.45)
    start = np.where(draw.random(LOT) < 0.5, 18.5, 23.2)[:, None] + 0.5 * _normal(draw, *shape)
    power = np.array([3.6, 7.2, 10.8])[_choice(draw, [0.45, 0.35, 0.2])][:, None]
    at_home += _runs(start, _between(draw, (6, 26), *shape) / power, charged * power)

    # A heat pump follows the cold all day, on and off; a storage heater takes the heat of the next day at night, and
    # its elements drop out one by one.
    house = np.exp(0.5 * _normal(draw, LOT)) * np.sqrt(size)
    pump = np.where(heating == "heat pump", house, 0.0)[:, None, None]
    at_home += pump * cold * _between(draw, (0.15, 1.85), LOT, days, 24)
    store = np.where(heating == "electric", 4.0 * house, 0.0)[:, None]
    start = _between(draw, (21.5, 24), LOT, 1)
    hours = np.clip(7.5 * cold.mean(axis=1) * _between(draw, (0.75, 1.25), *shape), 0.5, 9.0)
    at_home += _runs(start, hours, 0.6 * store) * _between(draw, (0.7, 1.3), LOT, days, 24)
    at_home += _runs(start, hours * _between(draw, (0.4, 0.8), *shape), 0.4 * store)

    # What never stops: standby, and a refrigerator whose compressor works sometimes more, sometimes less in an hour.
    standby = 0.07 * np.sqrt(size) * np.exp(0.55 * _normal(draw, LOT))
    fridge = _between(draw, (0.02, 0.07), LOT)
    base = standby[:, None, None] + fridge[:, None, None] * _between(draw, (0.4, 1.6), LOT, days, 24)

    load = base.reshape(LOT, -1) + at_home.reshape(LOT, -1) * ~_away(draw, days)
    return np.maximum(np.round(load[:, 24:], 3), 0.001), heating


def _away(draw: np.random.Generator, days: int) -> Mask:
    """The hours when nobody is at home: one household in five leaves for one to ten days, some before the first day."""
    leaves = draw.random((LOT, 1)) < 0.2
    length = 24 * _between(draw, (1, 10), LOT, 1)
    start = draw.random((LOT, 1)) * (24 * days + length) - length
    hours = np.arange(24 * days)
    mask: Mask = leaves & (hours >= start) & (hours < start + length)
    return mask


def _cold(draw: np.random.Generator, days: int) -> Array:
    """How much heat the weather asks for, by day and hour: 1 at 3 °C, nothing above 18 °C."""
    warmth = 2.0 * _normal(draw, days)
    for day in range(1, days):
        warmth[day] += 0.75 * warmth[day - 1]  # warm days follow warm days
    by_hour = 3.0 * np.cos(2 * np.pi * (np.arange(24) - 15) / 24)  # warmest at three in the afternoon
    return np.maximum(15.0 - warmth[:, None] - by_hour, 0.0) / 15.0


def _runs(start: Array, hours: Array, power: Array) -> Array:
    """The energy per hour of one run a day, given its start (hour of the day), length and power; it may pass midnight.

    Until hour h a run has used power * clip(h - start, 0, hours), so each hour gets the difference between its end and
    its beginning. What falls before the first or after the last day is cut off.

    Examples
    --------
    >>> _runs(np.array([[22.5]]), np.array([[1.0]]), np.array([[2.0]]))[0, 0, 20:]
    array([0., 0., 1., 1.])
    """
    start, hours, power = np.broadcast_arrays(start, hours, power)
    rows, days = start.shape
    energy = np.zeros((rows, 24 * (days + 2)))  # a day of room on both sides
    row, day = np.nonzero(power)
    start, hours, power = start[row, day], hours[row, day], power[row, day]
    first = np.floor(start).astype(np.int64)
    used = np.zeros_like(start)
    for step in range(int(np.ceil((start - first + hours).max(initial=0.0)))):
        until = np.clip(first + step + 1 - start, 0.0, hours)
        np.add.at(energy, (row, 24 * (day + 1) + first + step), power * (until - used))
        used = until
    return energy[:, 24:-24].reshape(rows, days, 24)


# -- draws ------------------------------------------------------------------------------------------------------------
# Only uniform numbers are taken from numpy: its other distributions may change with a version, and the data with them.


def _stream(seed: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, number])))


def _normal(draw: np.random.Generator, *shape: int) -> Array:
    """Standard normal numbers by the method of Box and Muller."""
    return np.asarray(np.sqrt(-2 * np.log1p(-draw.random(shape))) * np.cos(2 * np.pi * draw.random(shape)))


def _between(draw: np.random.Generator, bounds: tuple[float, float], *shape: int) -> Array:
    low, high = bounds
    return np.asarray(low + (high - low) * draw.random(shape))


def _choice(draw: np.random.Generator, shares: list[float]) -> Indices:
    """For each household of a lot, one of the numbers 0, 1, ..., with these shares."""
    return np.searchsorted(np.cumsum(shares)[:-1], draw.random(LOT), side="right").astype(np.int64)


# -- labels -----------------------------------------------------------------------------------------------------------

DWELLINGS = ("flat", "terraced", "detached", "farm")
TARIFFS = ("standard", "day and night", "hourly")
REGIONS = {"N": "North", "E": "East", "S": "South", "W": "West"}
#: postcode -> town, region
PLACES = {
    f"{letter}{town}{district}": (f"{region} {town}", region)
    for letter, region in REGIONS.items()
    for town in range(1, 5)
    for district in range(1, 5)
}
#: from the lowest to the highest
EDUCATION = (
    "none",
    "primary",
    "lower secondary",
    "upper secondary",
    "short tertiary",
    "bachelor",
    "master",
    "doctorate",
)
STATES = ("off", "standby", "running", "fault")
#: by day and at night: from each state, how likely each state is a quarter of an hour later
STEPS = (
    ((0.90, 0.08, 0.02, 0.0), (0.05, 0.75, 0.195, 0.005), (0.01, 0.18, 0.80, 0.01), (0.10, 0.10, 0.0, 0.80)),
    ((0.97, 0.025, 0.005, 0.0), (0.20, 0.75, 0.048, 0.002), (0.05, 0.40, 0.545, 0.005), (0.05, 0.0, 0.0, 0.95)),
)


def households(households: int = 300, days: int = 7, seed: int = 1) -> Dataset:
    """Load curves with keys beside them: dwelling, postcode (in a town, in a region) and tariff; confidential: how the home is heated.

    The curves are those of `load_curves`. Who uses much lives in a larger home, mostly, and who heats with electricity has a tariff that goes with it; half of
    the households live in a quarter of the postcodes, so some postcodes are rare.

    Examples
    --------
    >>> data = households()
    >>> data
    Dataset: 300 records; series 'load' (168 points); categories 'home' (3 columns); identifier 'id'; confidential 'heating'
    >>> data.labels["postcode"].kind, data.labels["postcode"].height, data.labels["postcode"].labels[0]
    ('hierarchy', 3, 'N11')
    """
    curves = load_curves(households, days, seed)
    draw = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0, 1])))
    size = np.log(curves.values.mean(axis=1)) + 0.5 * _normal(draw, households)
    dwelling = np.searchsorted([-0.4, 0.2, 1.4], size)
    square = draw.random(households) ** 2
    place = np.array(list(PLACES))[np.floor(square * len(PLACES)).astype(np.int64)]
    heated = np.isin(curves.others["heating"].to_numpy(), ["heat pump", "electric"])
    tariff = np.where(draw.random(households) < np.where(heated, 0.7, 0.1), 1 + (draw.random(households) < 0.4), 0)
    frame = pl.DataFrame(
        [
            curves.others["id"],
            pl.Series("dwelling", np.array(DWELLINGS)[dwelling]),
            pl.Series("postcode", place),
            pl.Series("tariff", np.array(TARIFFS)[tariff]),
            *(pl.Series(name, column) for name, column in zip(curves.columns, curves.values.T, strict=True)),
            curves.others["heating"],
        ]
    )
    return Dataset.from_frame(
        frame,
        id="id",
        blocks={
            "load": {"from": curves.columns[0], "to": curves.columns[-1]},
            "home": ["dwelling", "postcode", "tariff"],
        },
        categories={
            "dwelling": "nominal",
            "postcode": {"hierarchy": {code: [*above, "*"] for code, above in PLACES.items()}},
            "tariff": "nominal",
        },
        confidential=["heating"],
    )


def wages(people: int = 3000, seed: int = 1) -> Dataset:
    """Keys of made-up employees: sex, region and education (in its order); confidential: the wage in an hour.

    Half of the people live in three of the seventeen regions, and some levels of education are rare, so some combinations belong to one person alone.

    Examples
    --------
    >>> data = wages()
    >>> data
    Dataset: 3000 records; categories 'keys' (3 columns); identifier 'id'; confidential 'wage'
    >>> data.labels["education"].labels[0], len(data.labels["region"].labels)
    ('none', 17)
    """
    draw = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0, 3])))
    sex = (draw.random(people) < 0.47).astype(np.int64)
    shares = 1 / np.arange(1, 18)
    region = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], draw.random(people))
    education = np.searchsorted([0.01, 0.08, 0.30, 0.68, 0.80, 0.92, 0.985], draw.random(people))
    wage = np.exp(2.1 + 0.12 * education - 0.08 * sex + 0.01 * (8 - region) + 0.3 * _normal(draw, people))
    frame = pl.DataFrame(
        {
            "id": [f"person-{number:05d}" for number in range(1, people + 1)],
            "sex": np.array(["m", "f"])[sex],
            "region": [f"region {number:02d}" for number in region + 1],
            "education": np.array(EDUCATION)[education],
            "wage": wage.round(2),
        }
    )
    return Dataset.from_frame(
        frame,
        id="id",
        blocks={"keys": {"columns": ["sex", "region", "education"], "kind": "attributes"}},
        categories={"sex": "nominal", "region": "nominal", "education": list(EDUCATION)},
        confidential=["wage"],
    )


def device_states(devices: int = 200, hours: int = 24, seed: int = 1) -> Dataset:
    """States of made-up devices every quarter of an hour, from Monday 2024-01-01 on: off, standby, running, fault.

    Each state depends on the one before; devices run by day, and a fault lasts longer at night.

    Examples
    --------
    >>> data = device_states()
    >>> data
    Dataset: 200 records; categorical series 'state' (96 points); identifier 'id'
    >>> data.labels[data.columns[0]].labels
    ('off', 'standby', 'running', 'fault')
    """
    draw = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0, 2])))
    points = 4 * hours
    state = np.empty((devices, points), dtype=np.int64)
    state[:, 0] = np.searchsorted([0.7, 0.95], draw.random(devices))
    late = np.floor(8 * draw.random(devices)).astype(
        np.int64
    )  # when the day of a device begins, in quarters of an hour
    for at in range(1, points):
        quarter = (at - late) % 96
        steps = np.cumsum(
            np.array(STEPS)[((quarter < 24) | (quarter >= 80)).astype(np.int64), state[:, at - 1]], axis=1
        )
        state[:, at] = (draw.random(devices)[:, None] > steps[:, :-1]).sum(axis=1)
    times = np.datetime_as_string(FIRST_DAY + np.arange(points) * np.timedelta64(15, "m"), unit="m").tolist()
    words = np.array(STATES)[state]
    frame = pl.DataFrame(
        [
            pl.Series("id", [f"device-{number:04d}" for number in range(1, devices + 1)]),
            *(pl.Series(time, column) for time, column in zip(times, words.T, strict=True)),
        ]
    )
    return Dataset.from_frame(
        frame, id="id", blocks={"state": times}, categories={"state": {"kind": "nominal", "order": STATES}}
    )


# -- printed tables ---------------------------------------------------------------------------------------------------

FOODS = {
    "Bread": (106.5, 110.3, 114.9, 117.9, 119.3, 121.0, 122.2, 124.1, 129.0),
    "Oil": (102.7, 119.8, 147.8, 178.7, 130.8, 116.2, 133.6, 123.5, 114.4),
    "Vegetables": (95.6, 101.9, 110.8, 116.4, 114.2, 119.0, 124.6, 126.4, 133.9),
    "Potatoes": (101.1, 133.6, 162.8, 123.8, 121.3, 140.4, 149.8, 148.6, 177.6),
}

#: the days whose prices are printed; the table leaves out the year between the third and the fourth
IBEX_DAYS = ("2005-05-03", "2005-05-04", "2005-05-05", "2006-04-27", "2006-04-28")

IBEX = {
    "Abertis": ("Building firm", 19.94, 19.95, 19.90, 20.93, 21.00),
    "Acciona": ("Building firm", 76.85, 79.00, 81.40, 139.65, 134.65),
    "Acerinox": ("Steel firm", 11.75, 11.58, 11.55, 13.72, 13.29),
    "ACS": ("Building firm", 22.05, 22.38, 22.41, 33.14, 32.87),
    "Altadis": ("Tobacco firm", 33.85, 34.28, 34.68, 37.75, 37.25),
    "Antena3 TV": ("Private television", 17.25, 17.11, 16.92, 21.84, 21.67),
    "Arcelor": ("Steel firm", 16.64, 16.47, 16.22, 34.03, 33.13),
    "Banco Popular": ("Bank", 10.00, 9.98, 9.94, 12.12, 12.06),
    "Banco Sabadell": ("Bank", 21.12, 21.14, 21.29, 28.47, 28.87),
    "Bankinter": ("Bank", 42.63, 42.65, 42.70, 55.80, 54.90),
    "BBVA": ("Bank", 12.87, 12.77, 12.79, 17.44, 17.32),
    "Cintra": ("Building firm", 8.97, 9.00, 9.05, 10.88, 10.85),
    "ENAGAS": ("Energy firm", 13.63, 13.73, 13.90, 17.93, 17.57),
    "Endesa": ("Energy firm", 18.18, 18.37, 18.45, 26.51, 26.35),
    "F.C. Contratas": ("Building firm", 46.67, 46.32, 45.93, 64.10, 64.25),
    "Ferrovial": ("Building firm", 50.60, 52.00, 51.95, 65.15, 65.00),
    "Gamesa": ("Aeronautics industry", 11.27, 11.35, 11.42, 17.41, 16.93),
    "Gas Natural": ("Energy firm", 23.30, 23.57, 23.45, 24.40, 24.31),
    "Iberdrola": ("Energy firm", 21.40, 21.63, 21.59, 25.89, 25.80),
    "Iberia": ("AirLine", 2.47, 2.49, 2.50, 2.24, 2.22),
    "Inditex": ("Textile firm", 21.97, 21.94, 21.70, 32.85, 32.41),
    "Indra": ("New Technology firm", 15.60, 15.65, 15.85, 16.73, 16.41),
    "Metrovacesa": ("Building firm", 49.57, 50.75, 52.65, 72.95, 71.90),
    "NH Hoteles": ("Hotel firm", 10.89, 11.06, 11.03, 14.28, 14.35),
    "Prisa": ("Press firm", 16.06, 16.19, 16.12, 14.65, 14.69),
    "R. E. Española": ("Energy firm", 20.90, 21.24, 21.15, 27.92, 27.87),
    "Repsol YPF": ("Energy firm", 21.35, 21.26, 21.28, 24.02, 23.77),
    "SCH": ("Bank", 9.52, 9.58, 9.59, 12.15, 12.19),
    "Sogecable": ("Private television", 30.23, 30.24, 30.55, 30.78, 30.20),
    "Telecinco": ("Private television", 19.42, 19.48, 19.30, 20.70, 20.63),
    "Telefónica": ("Telecom firm", 13.54, 13.51, 13.51, 12.77, 12.74),
    "Telefónica Móvil": ("Telecom firm", 8.76, 8.75, 8.80, 10.52, 10.46),
    "TPI": ("Telecom firm", 6.90, 7.09, 7.05, 8.90, 8.82),
    "Unión Fenosa": ("Energy firm", 24.04, 24.40, 24.59, 31.00, 30.70),
    "Vallehermoso": ("Building firm", 19.50, 19.93, 19.37, 27.51, 27.44),
}


def food_prices() -> Dataset:
    """Index of the prices of four foods in nine years [1]_.

    Examples
    --------
    >>> data = food_prices()
    >>> data.ids.to_list()
    ['Bread', 'Oil', 'Vegetables', 'Potatoes']
    >>> float(data.values.mean().round(6)), float(data.values.std(ddof=1).round(6))
    (125.958333, 19.384049)
    """
    return Dataset.from_arrays({"price index": list(FOODS.values())}, times=range(1993, 2002), ids=list(FOODS))


def ibex() -> Dataset:
    """Opening prices of the 35 firms of the Ibex 35 on the five days that are printed [2]_; confidential: the business.

    The days are uneven, three in May 2005 and two in April 2006, and STS divides by these distances.

    Examples
    --------
    >>> data = ibex()
    >>> data
    Dataset: 35 records; series 'price' (5 points); identifier 'id'; confidential 'business'
    >>> data.blocks[0].times
    array([  0.,   1.,   2., 359., 360.])
    """
    return Dataset.from_arrays(
        {"price": [prices for _, *prices in IBEX.values()]},
        times=IBEX_DAYS,
        ids=list(IBEX),
        confidential={"business": [business for business, *_ in IBEX.values()]},
    )


#: name -> what makes it; the command line and the web app offer these
EXAMPLES: dict[str, Callable[[], Dataset]] = {
    "load-curves": load_curves,
    "food-prices": food_prices,
    "ibex": ibex,
    "households": households,
    "device-states": device_states,
    "wages": wages,
}


def example(name: str) -> Dataset:
    """The example data of this name.

    Parameters
    ----------
    name
        Its name; a wrong one is answered by the list.

    Returns
    -------
    Dataset
        Generated data, the same each time, or a table of a paper.

    Raises
    ------
    InputError
        If there is no example of this name.

    Examples
    --------
    >>> example("load-curves").n
    300
    >>> example("weather")
    Traceback (most recent call last):
    tsveil.core.errors.InputError: there is no example 'weather'
      examples available: load-curves, food-prices, ibex, households, device-states, wages
    """
    if name not in EXAMPLES:
        raise InputError(f"there is no example {name!r}\n  examples available: {', '.join(EXAMPLES)}")
    return EXAMPLES[name]()


def example_frame(name: str) -> pl.DataFrame:
    """The example data of this name as the raw table a user would have.

    Columns: the identifier, one per time, and the confidential ones.

    Examples
    --------
    >>> example_frame("ibex").columns
    ['id', '2005-05-03', '2005-05-04', '2005-05-05', '2006-04-27', '2006-04-28', 'business']
    """
    data = example(name)
    labels = data.labels
    values = pl.DataFrame(
        [
            labels[column].texts(codes).alias(column) if column in labels else pl.Series(column, codes)
            for column, codes in zip(data.columns, data.values.T, strict=True)
        ]
    )
    return pl.concat(
        [data.others.select(data.ids.name), values, data.others.select(data.confidential)], how="horizontal"
    )
