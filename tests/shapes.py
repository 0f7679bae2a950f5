"""Files as people have them, each made by a short function: docs/reading.md says how each is read, and tests/data/test_reading_page.py compares.

`SHAPES` has them by the names that the page uses. A function gives a frame, which is written as CSV, or the text of a file, or several
files of a folder by their names.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import json
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyreadstat
import xlsxwriter

from tsveil.core.types import Array

zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")

Made = pl.DataFrame | str | bytes | dict[str, pl.DataFrame]
SHAPES: dict[str, Callable[[], Made]] = {}
#: how the names of files end that are not called .csv
ENDINGS: dict[str, str] = {}

FIRST = [
    "Anna",
    "Ben",
    "Carla",
    "David",
    "Emma",
    "Felix",
    "Greta",
    "Hugo",
    "Ida",
    "Jonas",
    "Klara",
    "Leo",
    "Mia",
    "Noah",
]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
TOWNS = ["Bern", "Chur", "Genf", "Thun"]


def shape(make: Callable[[], Made]) -> Callable[[], Made]:
    """Keep a function under the name that the page uses."""
    SHAPES[make.__name__.replace("_", "-")] = make
    return make


def shape_of(ending: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Keep a function whose file has another ending than .csv."""

    def keep(make: Callable[[], Made]) -> Callable[[], Made]:
        ENDINGS[make.__name__.replace("_", "-")] = ending
        return shape(make)

    return keep


def write(name: str, folder: Path) -> Path:
    """The file of that shape, or the folder of files."""
    made = SHAPES[name]()
    place = folder / (name if isinstance(made, dict) else f"{name}{ENDINGS.get(name, '.csv')}")
    if isinstance(made, dict):
        place.mkdir()
        for file, frame in made.items():
            frame.write_parquet(place / file) if file.endswith(".parquet") else frame.write_csv(place / file)
    elif isinstance(made, str | bytes):
        place.write_bytes(made.encode() if isinstance(made, str) else made)
    else:
        made.write_csv(place)
    return place


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def loads(records: int, points: int, seed: int = 0) -> Array:
    """Consumption with an evening peak, in kWh."""
    hours = np.arange(points) % 24
    level = random(seed).gamma(2, 0.4, (records, 1))
    found: Array = np.round(
        level * (1 + np.exp(-((hours - 19) ** 2) / 8)) + random(seed + 1).gamma(1, 0.1, (records, points)), 3
    )
    return found


def days(count: int, start: str = "2024-01-01") -> list[str]:
    return [str(date.fromisoformat(start) + timedelta(days=day)) for day in range(count)]


def hours(count: int) -> list[str]:
    return [(datetime(2024, 1, 1) + timedelta(hours=hour)).isoformat(timespec="minutes") for hour in range(count)]


def curves(names: list[str], records: int = 30, **before: Any) -> pl.DataFrame:
    """A row per record and a column per time."""
    values = loads(records, len(names))
    return pl.DataFrame({**before, **{name: values[:, at] for at, name in enumerate(names)}})


def long(who: list[str], when: list[str], whose: str = "meter", time: str = "time") -> pl.DataFrame:
    """A row per record and time."""
    values = loads(len(who), len(when))
    return pl.DataFrame(
        {whose: np.repeat(who, len(when)), time: when * len(who), "kwh": values.ravel()},
        schema_overrides={whose: pl.String},
    )


def meters(count: int = 30) -> list[str]:
    return [f"CH{1000 + 7 * at}" for at in range(count)]


def people(count: int = 60, seed: int = 3) -> pl.DataFrame:
    """Microdata: a row per person."""
    rng = random(seed)
    age = rng.integers(18, 90, count)
    pay = np.round(rng.lognormal(8, 0.5, count), 2)
    return pl.DataFrame({"age": age, "pay": pay, "rent": np.round(pay * rng.uniform(0.2, 0.5, count), 2)})


# -- wide: a row per record -------------------------------------------------------------------------------------------


@shape
def wide_hours() -> Made:
    return curves(hours(24), household=meters())


@shape
def wide_times_of_day() -> Made:
    return curves([f"{hour:02d}:{quarter:02d}" for hour in range(24) for quarter in (0, 30)], meter_id=range(500, 530))


@shape
def wide_counted_weeks() -> Made:
    return pl.DataFrame({"product": [f"P{at}" for at in range(40)]}).with_columns(
        pl.Series(f"W{week}", random(week).poisson(9, 40)) for week in range(52)
    )


@shape
def wide_years() -> Made:
    return curves([str(year) for year in range(2010, 2020)], company=[f"Firm {at}" for at in range(30)])


@shape
def wide_id_second() -> Made:
    return curves(days(14), town=[TOWNS[at % 4] for at in range(30)], customer=meters())


@shape
def wide_id_hash() -> Made:
    return curves(days(14), pseudonym=[hashlib.sha256(name.encode()).hexdigest() for name in meters()])


@shape
def wide_without_id() -> Made:
    return curves(days(14))


@shape
def wide_two_series() -> Made:
    return curves([f"{what}.{day}" for what in ("power", "gas") for day in days(7)], household=meters())


@shape
def wide_beside() -> Made:
    sizes = random(5).integers(1, 6, 30)
    return curves(days(7), household=meters(), persons=sizes, heating=["gas", "pump", "oil"] * 10)


@shape
def wide_comma() -> Made:
    lines = ["Zähler;" + ";".join(days(5))]
    lines += [
        f"{name};" + ";".join(str(x).replace(".", ",") for x in row)
        for name, row in zip(meters(), loads(30, 5), strict=True)
    ]
    return "\n".join(lines) + "\n"


@shape
def wide_tabs_unnamed() -> Made:
    return curves(days(7), household=meters()).with_row_index("Unnamed: 0").write_csv(separator="\t")


@shape
def wide_index_only() -> Made:
    return curves(days(7)).with_row_index("")


@shape
def wide_few() -> Made:
    return curves(days(14), records=8, household=meters(8))


@shape
def wide_gaps() -> Made:
    frame = curves(days(6), household=meters())
    return frame.with_columns(
        pl.when(pl.int_range(30) == 4).then(None).otherwise(pl.col("2024-01-03")).alias("2024-01-03")
    )


@shape
def wide_household_twice() -> Made:
    return curves(days(7), household=np.repeat(meters(15), 2), meter=range(100, 130))


@shape
def wide_one_row_twice() -> Made:
    return curves(days(7), household=[*meters(29), "CH1000"])


@shape
def wide_weeks_of_meters() -> Made:
    return curves(["Mon", "Tue", "Wed", "Thu"], meter=np.repeat(meters(10), 3), week=[1, 2, 3] * 10)


@shape
def wide_composite() -> Made:
    return curves(days(7), house=np.repeat(range(1, 16), 2), flat=[1, 2] * 15)


# -- long: a row per record and time ----------------------------------------------------------------------------------


@shape
def long_hours() -> Made:
    return long(meters(), hours(24))


@shape
def long_years() -> Made:
    rng = random(8)
    rows = [
        (firm, year, *np.round(rng.lognormal(4, 1, 2), 1).tolist()) for firm in meters() for year in range(2015, 2023)
    ]
    return pl.DataFrame(rows, schema=["firm", "year", "sales", "wages"], orient="row")


@shape
def long_words() -> Made:
    rng = random(9)
    rows = [
        (who, month, what, round(rng.gamma(2, 9), 2))
        for who in meters()
        for month in range(1, 13)
        for what in ("power", "gas")
    ]
    return pl.DataFrame(rows, schema=["customer", "month", "measure", "value"], orient="row")


@shape
def long_dates_parts() -> Made:
    frame = long(meters(), days(28), time="date")
    return frame.with_columns(weekday=pl.int_range(pl.len()) % 7 + 1, month=pl.lit(1), tariff=pl.lit("T1"))


@shape
def long_unnamed() -> Made:
    return long(meters(), days(10)).with_row_index("Unnamed: 0")


@shape
def long_flag() -> Made:
    frame = long(meters(), days(28), time="date")
    return frame.with_columns(holiday=(pl.int_range(pl.len()) % 28 < 2).cast(pl.Int64))


@shape
def long_two_meters() -> Made:
    """Some households have two meters; each meter has a name of its own."""
    frame = long(meters(), days(10))
    return frame.with_columns(household=("H" + (pl.col("meter").rank("dense") // 2).cast(pl.String)))


@shape
def long_name_and_number() -> Made:
    frame = long(meters(14), days(10), whose="customer_id")
    return frame.with_columns(customer_name=pl.Series(np.repeat(FIRST, 10)))


@shape
def long_numbered_meters() -> Made:
    """The meters of a household are numbered 1 and 2: neither column alone says which meter it is."""
    frame = long([f"H{at}" for at in range(30)], days(10))
    return frame.select(
        household=("H" + (pl.int_range(pl.len()) // 20).cast(pl.String)),
        meter=(pl.int_range(pl.len()) // 10) % 2 + 1, date="time", kwh="kwh",
    )  # fmt: skip


@shape
def long_twice_measured() -> Made:
    """Days of a fitness tracker; after a change of the clock some days are there twice."""
    rng = random(10)
    rows = [(1503960366 + 7 * who, day, *rng.integers(1, 9000, 2).tolist()) for who in range(12) for day in days(20)]
    return pl.DataFrame([*rows, *rows[::7]], schema=["Id", "ActivityDate", "Steps", "Calories"], orient="row")


@shape
def long_american_dates() -> Made:
    rng = random(11)
    rows = [
        (1503960366 + 7 * who, f"4/{day}/2016", *rng.integers(1, 9000, 2).tolist())
        for who in range(12)
        for day in range(1, 21)
    ]
    return pl.DataFrame(rows, schema=["Id", "ActivityDate", "TotalSteps", "Calories"], orient="row")


@shape
def long_float_ids() -> Made:
    """Numbers of users that became decimals, as pandas writes them beside an empty cell; no times."""
    rng = random(12)
    return pl.DataFrame(
        {
            "user_id": [None, *np.repeat(np.arange(4001.0, 4021.0), 3).tolist()],
            "km": rng.gamma(2, 3, 61),
            "kcal": rng.gamma(5, 90, 61),
        }
    )


@shape
def long_uneven() -> Made:
    frame = long(meters(), days(10))
    return frame.filter(pl.int_range(pl.len()) % 10 < 6 + pl.int_range(pl.len()) // 10 % 5)


@shape
def long_date_and_hour() -> Made:
    frame = long(meters(12), hours(48))
    when = pl.col("time").str.split("T")
    return frame.select(
        "meter", when.list[0].alias("date"), when.list[1].str.slice(0, 2).cast(pl.Int64).alias("hour"), "kwh"
    )


@shape
def long_few() -> Made:
    return long(["Anna", "Ben", "Carla"], days(30), whose="user")


@shape
def long_half_hours() -> Made:
    frame = long(meters(12), hours(48), whose="LCLid", time="tstp")
    return frame.with_columns(stdorToU=pl.lit("Std"))


# -- times in other forms -----------------------------------------------------------------------------------------------


def dates(count: int, form: str, start: str = "2016-04-01", **step: int) -> list[str]:
    """Times one after the other, written in a form; %- leaves the zero out."""
    first, gap = datetime.fromisoformat(start), timedelta(**(step or {"days": 1}))
    return [(first + at * gap).strftime(form) for at in range(count)]


@shape
def wide_american_dates() -> Made:
    """Cases by place, as the counts of COVID are published."""
    frame = curves(dates(40, "%-m/%-d/%y", "2020-01-22"))
    return frame.select(pl.Series("Province/State", meters()), pl.all())


@shape
def wide_undecided_dates() -> Made:
    return curves(dates(10, "%d/%m/%Y", "2020-02-01"), household=meters())


@shape
def wide_short_months() -> Made:
    return curves([f"{month}-{year}" for year in (20, 21) for month in MONTHS], region=meters())  # fmt: skip


@shape
def wide_months_in_words() -> Made:
    months = dates(24, "%B %Y", "2018-01-15", days=30)
    return curves(list(dict.fromkeys(f"sales {month}" for month in months)), shop=meters())


@shape
def wide_days_or_years() -> Made:
    return curves([f"Jan-{day:02d}" for day in range(1, 11)], household=meters())


@shape
def wide_milliseconds() -> Made:
    return curves([str(1_460_419_200_000 + 3_600_000 * hour) for hour in range(24)], household=meters())


@shape
def long_american_hours() -> Made:
    return long(meters(12), dates(48, "%-m/%-d/%Y %-I:%M:%S %p", "2016-04-12", hours=1), "Id", "ActivityHour")


@shape
def long_undecided_dates() -> Made:
    return long(meters(12), dates(12, "%m/%d/%Y", "2020-01-01"), time="day")


@shape
def long_european_dates() -> Made:
    return long(meters(12), dates(30, "%d/%m/%Y %H:%M", "2020-01-01"), time="reading_time")


@shape
def long_two_orders() -> Made:
    return long(meters(12), ["13/01/2020", "14/01/2020", "01/15/2020", "01/16/2020"], time="day")


@shape
def long_years_of_two_digits() -> Made:
    return long(meters(12), dates(20, "%y/%m/%d", "2020-01-12"), time="day")


@shape
def long_short_words() -> Made:
    return long(meters(12), dates(20, "%d-%b-%y"), time="date")


@shape
def long_words_for_months() -> Made:
    """Prices of stocks by month, as `Jan 1 2000`."""
    months = [f"{month} 1 {year}" for year in (2000, 2001) for month in MONTHS]  # fmt: skip
    return long(FIRST, months, "symbol", "date")


@shape
def long_dates_of_sas() -> Made:
    return long(meters(12), [day.upper() for day in dates(20, "%d%b%Y:%H:%M:%S", hours=6)], time="datetime")


@shape
def long_seconds() -> Made:
    return long(meters(12), [str(1_460_419_200 + 900 * at) for at in range(40)], time="timestamp")


@shape
def long_milliseconds() -> Made:
    return long(meters(12), [str(1_460_419_200_000 + 900_000 * at) for at in range(40)], time="time_ms")


@shape
def long_short_numbers() -> Made:
    """Hours as `2016041200`."""
    return long(meters(12), dates(24, "%Y%m%d%H", hours=1), time="slot")


@shape
def long_dotted_short() -> Made:
    return long(meters(12), dates(30, "%d.%m.%y"), time="date")


@shape
def long_date_and_time() -> Made:
    frame = long(meters(12), dates(48, "%-m/%-d/%Y|%-I:%M %p", "2016-04-12", hours=1))
    parts = pl.col("time").str.split("|")
    return frame.select("meter", parts.list[0].alias("Date"), parts.list[1].alias("Time"), "kwh", gas=pl.col("kwh") * 2)


def _autumn(zone: bool) -> list[str]:
    """The hours of a day in autumn on which the clock goes back: two o'clock comes twice."""
    hour = datetime(2018, 10, 27, 22)
    written = []
    for at in range(25):
        offset = 2 if at < 3 else 1
        local = hour + timedelta(hours=at + offset)
        written.append(local.strftime("%Y-%m-%d %H:%M:%S") + (f"+0{offset}:00" if zone else ""))
    return written


@shape
def long_autumn_zone() -> Made:
    return long(meters(12), _autumn(zone=True))


@shape
def long_autumn_local() -> Made:
    return long(meters(12), _autumn(zone=False))


@shape
def long_universal_time() -> Made:
    return long(meters(12), dates(24, "%Y-%m-%d %H:%M:%S UTC", hours=1))


# -- turned: a row per time -------------------------------------------------------------------------------------------


def _turned(times: Sequence[object], names: list[str], time: str = "day") -> pl.DataFrame:
    values = loads(len(times), len(names))
    return pl.DataFrame({time: times, **{name: values[:, at] for at, name in enumerate(names)}})


@shape
def turned_meters() -> Made:
    return _turned(days(60), [f"MAC{3 * at:06d}" for at in range(40)])


@shape
def turned_numbers() -> Made:
    return _turned(
        hours(48), [str(number) for number in (1003, 1011, 1014, 1040, 1077, 1102, 1103, 1150, 1171, 1190)], "time"
    )


@shape
def turned_names() -> Made:
    return _turned(days(90), FIRST)


@shape
def turned_years() -> Made:
    return _turned(
        list(range(1990, 2020)), ["AT", "BE", "CH", "DE", "DK", "ES", "FI", "FR", "GB", "IT", "NL", "SE"], "year"
    )


@shape
def turned_index() -> Made:
    return _turned(days(60), [f"house_{at}" for at in range(1, 31)], "")


@shape
def turned_row_numbers() -> Made:
    return _turned(days(60), [f"MAC{3 * at:06d}" for at in range(40)]).with_row_index("Unnamed: 0")


@shape
def turned_american_dates() -> Made:
    return _turned([f"1/{day}/2024" for day in range(1, 31)], FIRST, "Date")


@shape
def turned_people() -> Made:
    frame = _turned(days(30), FIRST)
    return frame.with_columns(weather=pl.Series(["sun", "rain", "snow"] * 10))


@shape
def one_meter() -> Made:
    return _turned(days(90), ["kwh"], "date")


@shape
def weather() -> Made:
    return _turned(days(90), ["temperature", "humidity", "wind", "pressure"], "date")


@shape
def days_by_hours() -> Made:
    return _turned(days(60), [str(hour) for hour in range(24)])


# -- microdata: attributes and codes ----------------------------------------------------------------------------------


@shape
def people_plain() -> Made:
    return people()


@shape
def people_names() -> Made:
    names = [f"{first} {last}" for first in FIRST for last in ("Meier", "Keller", "Rossi", "Favre")]
    return people(len(names)).insert_column(0, pl.Series("name", names))


@shape
def people_names_repeat() -> Made:
    return people(56).insert_column(0, pl.Series("name", FIRST * 4))


@shape
def people_row_numbers() -> Made:
    return people().with_row_index("rownames", offset=1)


@shape
def people_row_numbers_sampled() -> Made:
    return people().with_row_index("rownames", offset=1).sample(40, shuffle=True, seed=1)


@shape
def people_two_files_joined() -> Made:
    return pl.concat([people(30, 3).with_row_index("Unnamed: 0"), people(30, 4).with_row_index("Unnamed: 0")])


@shape
def people_sex() -> Made:
    return people().with_columns(sex=pl.Series(random(1).integers(0, 2, 60)))


@shape
def people_few_sex() -> Made:
    return people(14).with_columns(sex=pl.Series([0, 1] * 7))


@shape
def people_sex_gaps() -> Made:
    return people().with_columns(sex=pl.Series([1.0, 2.0, None] * 20))


@shape
def answers() -> Made:
    rng = random(2)
    return pl.DataFrame(
        {"respondent": range(900, 980), **{what: rng.integers(1, 6, 80) for what in ("trust", "health", "work")}}
    )


@shape
def answers_numbered() -> Made:
    rng = random(2)
    return pl.DataFrame({"caseid": range(900, 1000), **{f"Q{at}": rng.integers(1, 6, 100) for at in range(1, 13)}})


@shape
def people_grade() -> Made:
    return people(150).with_columns(satisfaction=pl.Series(random(6).integers(0, 11, 150)))


@shape
def people_postcode() -> Made:
    return people().with_columns(postcode=pl.Series(random(4).integers(1000, 9999, 60)))


@shape
def people_year_of_birth() -> Made:
    return people().with_columns(birth_year=2024 - pl.col("age"))


@shape
def people_birth_dates() -> Made:
    births = [str(date(1940, 1, 1) + timedelta(days=int(day))) for day in random(5).choice(22000, 60, replace=False)]
    return people().with_columns(born=pl.Series(births), weight=pl.Series(random(6).normal(70, 9, 60)))


@shape
def people_employer() -> Made:
    """Wages of employees, with the number of their firm: several employees of one firm."""
    return people().with_columns(
        employee_no=pl.Series(range(7000, 7060)), firm_id=pl.Series([11, 12, 13, 14, 15, 16] * 10)
    )


@shape
def people_towns() -> Made:
    return people().with_columns(town=pl.Series(TOWNS * 15))


@shape
def visits() -> Made:
    """Visits of patients, some of whom came several times; no two columns say the same."""
    rng = random(7)
    return people(80).insert_column(0, pl.Series("patient", rng.integers(300, 330, 80)))


@shape
def purchases() -> Made:
    rng = random(8)
    return pl.DataFrame(
        {
            "order_id": range(100),
            "customer": rng.integers(1, 30, 100),
            "product": rng.integers(1, 50, 100),
            "price": np.round(rng.gamma(3, 9, 100), 2),
            "weight": np.round(rng.gamma(2, 1, 100), 3),
        }
    )


@shape
def people_names_of_columns() -> Made:
    """Names of columns that a shell would cut."""
    codes = pl.Series("sex, coded", random(1).integers(1, 3, 60))
    return people().insert_column(0, pl.Series("Customer No", range(60))).with_columns(codes)


@shape
def one_column() -> Made:
    return people().select("pay")


@shape
def words_only() -> Made:
    return pl.DataFrame({"name": FIRST, "town": (TOWNS * 4)[:14]})


@shape
def header_twice() -> Made:
    return "household,load,load\nA,1.5,2.5\nB,2.5,3.5\n"


@shape
def no_header() -> Made:
    return "\n".join(",".join(str(x) for x in row) for row in loads(30, 6).tolist()) + "\n"


# -- folders ----------------------------------------------------------------------------------------------------------


@shape
def folder_of_towns() -> Made:
    """A file per town, each with other meters."""
    frame = curves(days(14), household=meters())
    return {f"{town}.csv": frame[10 * at : 10 * at + 10] for at, town in enumerate(TOWNS[:3])}


@shape
def folder_of_weeks() -> Made:
    """A file per week, each with the same meters."""
    frame = curves([f"{hour:02d}:00" for hour in range(24)], household=meters())
    return {f"week-{week}.parquet": frame.with_columns(pl.col("00:00") + week) for week in (1, 2)}


# -- encodings, and files of other kinds that are called .csv ---------------------------------------------------------


def _in_german() -> str:
    frame = curves(days(5), household=[f"Gr\u00fcn {at}" for at in range(30)]).rename({"household": "Z\u00e4hler"})
    return frame.write_csv(separator=";", decimal_comma=True)


@shape
def encoded_windows() -> Made:
    return _in_german().encode("cp1252")


@shape
def encoded_utf16() -> Made:
    """What spreadsheets call Unicode text."""
    return curves(days(5), household=meters()).write_csv(separator="\t").encode("utf-16")


@shape
def encoded_twice() -> Made:
    """Two files put together, one of them in UTF-8."""
    text = _in_german()
    return text.encode() + text.split("\n", 1)[1].encode("cp1252")


def _zipped(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "meter,2024-01-01\nCH1000,1.5\n")
    return made.getvalue()


@shape
def other_zip() -> Made:
    return _zipped("meters.csv")


@shape
def other_pdf() -> Made:
    return b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"


@shape
def other_page() -> Made:
    return "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body></body></html>\n"


@shape
def other_r_object() -> Made:
    return b"X\n\0\0\0\x03\0\x04\x03\x01"


# -- workbooks --------------------------------------------------------------------------------------------------------


def _workbook(**sheets: list[list[Any]]) -> bytes:
    """A workbook with these rows in its sheets."""
    made = io.BytesIO()
    with xlsxwriter.Workbook(made, {"in_memory": True, "default_date_format": "yyyy-mm-dd hh:mm"}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)
    return made.getvalue()


def _rows(frame: pl.DataFrame) -> list[list[Any]]:
    return [frame.columns, *map(list, frame.rows())]


@shape_of(".xlsx")
def excel_hours() -> Made:
    return _workbook(Readings=_rows(curves(days(14), household=meters())))


@shape_of(".xlsx")
def excel_long() -> Made:
    """Days as Excel knows them."""
    frame = long_hours()
    assert isinstance(frame, pl.DataFrame)
    times = [datetime.fromisoformat(str(one)) for one in frame.to_series(1).to_list()]
    return _workbook(Readings=_rows(frame.with_columns(pl.Series(frame.columns[1], times))))


@shape_of(".xlsx")
def excel_with_title() -> Made:
    rows = _rows(curves(days(5), household=meters()))
    return _workbook(Readings=[["Readings of January 2024"], [], *rows])


@shape_of(".xlsx")
def excel_two_sheets() -> Made:
    frame = curves(days(5), household=meters())
    return _workbook(North=_rows(frame[:15]), South=_rows(frame[15:]), Notes=[["made by hand"]])


@shape_of(".xlsx")
def excel_numbers_as_text() -> Made:
    """Numbers that somebody typed as texts, and identifiers with zeros before them."""
    frame = curves(days(5), household=[f"{at:05d}" for at in range(30)])
    return _workbook(Readings=_rows(frame.select(pl.all().cast(pl.String))))


@shape_of(".xlsx")
def excel_damaged() -> Made:
    made = _workbook(Readings=_rows(curves(days(5), household=meters())))
    return made[: len(made) // 2]


# -- databases --------------------------------------------------------------------------------------------------------


def _sqlite(**tables: pl.DataFrame) -> bytes:
    with sqlite3.connect(":memory:") as base:
        for name, frame in tables.items():
            kinds = ["REAL" if kind.is_float() else "TEXT" for kind in frame.dtypes]
            columns = ", ".join(f'"{c}" {kind}' for c, kind in zip(frame.columns, kinds, strict=True))
            base.execute(f"CREATE TABLE {name} ({columns})")
            base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * frame.width)})", frame.rows())
    made: bytes = base.serialize()
    base.close()
    return made


def _two_tables() -> dict[str, pl.DataFrame]:
    return {
        "readings": curves(days(5), household=meters()),
        "towns": pl.DataFrame({"town": TOWNS}),
    }


@shape_of(".sqlite")
def sqlite_readings() -> Made:
    return _sqlite(readings=curves(days(5), household=meters()))


@shape_of(".db")
def sqlite_two_tables() -> Made:
    return _sqlite(**_two_tables())


@shape_of(".duckdb")
def duckdb_two_tables() -> Made:
    with tempfile.TemporaryDirectory() as folder:
        with duckdb.connect(f"{folder}/base.duckdb") as base:
            for name, frame in _two_tables().items():
                frame.write_parquet(f"{folder}/{name}.parquet")
                base.execute(f"CREATE TABLE {name} AS FROM read_parquet('{folder}/{name}.parquet')")
        return Path(folder, "base.duckdb").read_bytes()


@shape_of(".sqlite")
def sqlite_damaged() -> Made:
    return b"SQLite format 3\0" + bytes(84)


# -- Arrow, JSON, archives of time series, statistics programs, compressed ----------------------------------------------


@shape_of(".arrow")
def arrow_file() -> Made:
    made = io.BytesIO()
    curves(days(5), household=meters()).write_ipc(made)
    return made.getvalue()


@shape_of(".arrows")
def arrow_stream() -> Made:
    made = io.BytesIO()
    curves(days(5), household=meters()).write_ipc_stream(made)
    return made.getvalue()


@shape_of(".feather")
def feather_damaged() -> Made:
    made = arrow_file()
    assert isinstance(made, bytes)
    return made[: len(made) // 2]


@shape_of(".jsonl")
def json_lines() -> Made:
    return curves(days(5), household=meters()).write_ndjson()


@shape_of(".json")
def json_records() -> Made:
    return curves(days(5), household=meters()).write_json()


@shape_of(".json")
def json_within() -> Made:
    """Records in the answer of a web service."""
    return f'{{"status": "ok", "count": 30, "data": {json_records()!s}}}'


@shape_of(".json")
def json_of_pandas() -> Made:
    """What pandas writes unless told otherwise: an object for each column."""
    frame = curves(days(5), household=meters())
    return json.dumps({name: {str(at): cell for at, cell in enumerate(frame[name])} for name in frame.columns})


@shape_of(".json")
def json_settings() -> Made:
    return '{"unit": "kWh", "meters": {"count": 30, "towns": ["Bern"]}}'


def _ts(rows: list[str]) -> str:
    head = "#a comment\n@problemName Loads\n@timeStamps false\n@univariate true\n@classLabel true flat house\n@data\n"
    return head + "".join(f"{row}:{('flat', 'house')[at % 2]}\n" for at, row in enumerate(rows))


@shape_of(".ts")
def ts_equal() -> Made:
    return _ts([",".join(map(str, row)) for row in loads(30, 12).tolist()])


@shape_of(".ts")
def ts_unequal() -> Made:
    return _ts([",".join(map(str, row[: 9 + at % 4])) for at, row in enumerate(loads(30, 12).tolist())])


@shape_of(".arff")
def arff_series() -> Made:
    head = "% a comment\n@relation Loads\n" + "".join(f"@attribute att{at} numeric\n" for at in range(12))
    rows = [f"{','.join(map(str, row))},{('flat', 'house')[at % 2]}\n" for at, row in enumerate(loads(30, 12).tolist())]
    return f"{head}@attribute target {{flat,house}}\n@data\n" + "".join(rows)


def _people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "town": [TOWNS[at % 4] for at in range(60)],
            "age": random(1).integers(18, 90, 60),
            "pay": np.round(random(2).gamma(9, 500, 60), 2),
            "rent": np.round(random(3).gamma(5, 300, 60), 2),
        }
    )


def _of_program(function: str, ending: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, f"people{ending}")
        getattr(pyreadstat, function)(_people(), str(place))
        return place.read_bytes()


@shape_of(".dta")
def stata_people() -> Made:
    return _of_program("write_dta", ".dta")


@shape_of(".sav")
def spss_people() -> Made:
    return _of_program("write_sav", ".sav")


@shape_of(".xpt")
def sas_people() -> Made:
    return _of_program("write_xport", ".xpt")


@shape_of(".dta")
def stata_damaged() -> Made:
    return _of_program("write_dta", ".dta")[:600]


@shape_of(".csv.gz")
def packed_gzip() -> Made:
    return gzip.compress(curves(days(5), household=meters()).write_csv().encode(), mtime=0)


@shape_of(".csv.zst")
def packed_zstd() -> Made:
    return bytes(zstd.compress(curves(days(5), household=meters()).write_csv().encode()))


@shape_of(".csv.zst")
def packed_damaged() -> Made:
    made = packed_zstd()
    assert isinstance(made, bytes)
    return made[: len(made) // 2]


# -- lines above the names, and numbers with grouped thousands -----------------------------------------------------------


@shape
def title_above() -> Made:
    return "Readings of January 2024\nSource: the utility\n\n" + curves(days(5), household=meters()).write_csv()


@shape
def title_padded() -> Made:
    """What a spreadsheet saves as CSV."""
    return "Readings of January 2024,,,,,\n,,,,,\n" + curves(days(5), household=meters()).write_csv()


def _pay(*texts: str) -> str:
    rows = [f"P{at:03d}\t{30 + at}\t{texts[at % len(texts)]}\n" for at in range(60)]
    return "name\thours\tpay\n" + "".join(rows)


@shape
def thousands_english() -> Made:
    return _pay("1,234.50", "987.25", "12,345.00")


@shape
def thousands_german() -> Made:
    return _pay("1.234,50", "987,25", "12.345,00")


@shape
def thousands_swiss() -> Made:
    return _pay("1'234.50", "987.25", "12'345.00")


@shape
def thousands_french() -> Made:
    return _pay("1\u202f234,50", "987,25", "12\u202f345,00")


@shape
def thousands_or_decimals() -> Made:
    return _pay(*(f"{1 + at % 7},{100 + 13 * at}" for at in range(60)))
