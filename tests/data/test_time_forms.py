"""Times in the forms in which people write them: each is read in one way, in the way that the other times decide, or not at all."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from shapes import write
from tsveil.core.errors import InputError, ParameterError, QuestionError
from tsveil.data.time_forms import WORDS, check_time_format, forms_of, is_time, moment, part_time
from tsveil.data.times import seconds_of, time_name, times_as_numbers, why_not_times
from tsveil.release.reopen import judge_release, published_series

#: the forms of dates in numbers as patterns, for the slow twin
PATTERNS = {
    "month-first": ("%m/%d/%Y", "%m/%d/%y"),
    "day-first": ("%d/%m/%Y", "%d/%m/%y"),
    "year-first": ("%y/%m/%d",),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jan 1 2000", "2000-01-01"),
        ("January 1st, 2000", "2000-01-01"),
        ("Sat, 1 Jan 2000", "2000-01-01"),
        ("12-Apr-16", "2016-04-12"),
        ("12 Apr 1969", "1969-04-12"),
        ("12-Apr-69", "1969-04-12"),
        ("12-Apr-68", "2068-04-12"),
        ("01JAN2000:13:30:05", "2000-01-01T13:30:05"),
        ("Apr 12 13:30:05 2016", "2016-04-12T13:30:05"),
        ("Sept 2019", "2019-09-01"),
        ("2019 SEP", "2019-09-01"),
        ("2019-Sep-05 7:05", "2019-09-05T07:05"),
        ("12.4.2016 12:00 AM", "2016-04-12T00:00"),
        ("12.4.2016 12:00 pm", "2016-04-12T12:00"),
        ("2016-04-12 13:00:00.25 UTC", "2016-04-12T13:00:00.250+00:00"),
        ("12 Apr 2016 13:00 -0530", "2016-04-12T13:00-05:30"),
    ],
)
def test_what_can_be_read_in_one_way(text: str, expected: str) -> None:
    assert moment(text) == datetime.fromisoformat(expected)
    assert is_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "May",
        "dec10",
        "Sum 2019",
        "31-Feb-16",
        "Jan-1",
        "12 Foo 2016",
        "1:00 XM",
        "13:00 PM",
        "0:30 AM",
        "12-2016",
        "10.1.12",
        "1-2-3",
        "50-00-0",
        "Mon 5",
        "4/31/20 x",
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert moment(text) is None
    assert not is_time(text)


def naive_forms(labels: list[str]) -> list[str]:
    """All forms whose patterns read every label, without those that mean the same as an earlier one."""
    found: dict[tuple[datetime, ...], str] = {}
    for form, patterns in PATTERNS.items():
        moments = []
        for label in labels:
            for pattern in patterns:
                year_is_long = len(label.split("/")[2]) == 4
                if year_is_long != ("%Y" in pattern) or (form == "year-first" and len(label.split("/")[0]) < 2):
                    continue
                try:
                    moments.append(datetime.strptime(label, pattern))
                except ValueError:
                    continue
                break
        if len(moments) == len(labels):
            found.setdefault(tuple(moments), form)
    return list(found.values())


@given(
    st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2060, 1, 1)), min_size=1, max_size=8),
    st.sampled_from(["%m/%d/%Y", "%d/%m/%Y", "%-m/%-d/%y", "%-d/%-m/%y", "%y/%m/%d"]),
)
def test_the_forms_are_those_that_fit_every_label(days: list[datetime], pattern: str) -> None:
    labels = [day.strftime(pattern) for day in days]
    assert list(forms_of(labels)) == naive_forms(labels)


@given(st.lists(st.from_regex(r"\A\d{1,2}/\d{1,2}/(\d\d|\d{4})\Z"), min_size=1, max_size=4))
def test_the_forms_of_arbitrary_figures(labels: list[str]) -> None:
    labels = [label for label in labels if label.isascii() and not label.endswith("/0000")] or ["1/2/2020"]
    assert list(forms_of(labels)) == naive_forms(labels)


@given(
    st.datetimes(datetime(2001, 1, 1), datetime(2029, 1, 1)),
    st.sampled_from([timedelta(minutes=15), timedelta(hours=1), timedelta(days=1)]),
    st.sampled_from(
        [
            ("month-first", "%m/%d/%Y %H:%M:%S"),
            ("day-first", "%-d-%-m-%y %-I:%M:%S %p"),
            ("", "%d-%b-%Y %H:%M:%S"),
            ("", "%A, %B %d, %Y %I:%M:%S %p"),
            ("%H:%M:%S;%j;%y", "%H:%M:%S;%j;%y"),
        ]
    ),
)
def test_a_form_gives_the_steps_that_iso_gives(start: datetime, step: timedelta, form: tuple[str, str]) -> None:
    stamps = [start.replace(microsecond=0) + at * step for at in (0, 1, 2, 5, 9)]
    labels = [stamp.strftime(form[1]) for stamp in stamps]
    found, seconds = times_as_numbers(labels, form[0]), seconds_of(labels, form[0])
    assert found is not None
    assert seconds is not None
    np.testing.assert_array_equal(found, [0, 1, 2, 5, 9])
    np.testing.assert_array_equal(seconds, seconds_of([stamp.isoformat() for stamp in stamps]))


def test_seconds_since_1970_are_moments() -> None:
    stamps = [1_460_419_200 + 3600 * hour for hour in range(4)]
    hours = seconds_of([str(stamp) for stamp in stamps])
    assert hours is not None
    np.testing.assert_array_equal(hours, seconds_of([f"2016-04-12T0{hour}:00Z" for hour in range(4)]))
    assert forms_of([stamp * 1000 for stamp in stamps]) == ("epoch-ms",)
    # A ten-digit number may also be 2016-01-01 00:00, an hour of 1990, or whatever somebody counted.
    assert forms_of(["1601010000", "1601010100"]) == ("epoch-s", "%y%m%d%H%M")
    assert forms_of(["1990010100", "1990010101"]) == forms_of(["7", "8"]) == ("",)


def test_months_without_a_gap_are_no_days() -> None:
    assert forms_of(["Dec-19", "Jan-20", "Feb-20"]) == ("month-year",)
    assert forms_of(["Jan-20", "Apr-20", "Jul-20"]) == ("month-year",)
    assert forms_of(["Jan-20", "Jan-32"]) == ("month-year",)
    assert forms_of(["Jan-20", "Jan-21", "Jan-22"]) == ("month-year", "month-day")


def test_names_of_columns_say_times_in_any_form() -> None:
    name = time_name("cases 1/22/20")
    assert name is not None
    assert (name.head, name.label, name.form) == ("cases", "1/22/20", "stamp")
    assert time_name("v2016041200") == time_name("v2016041200", "month-first")
    by_pattern = time_name("v.2016041200", "%Y%m%d%H")
    assert by_pattern is not None
    assert by_pattern.form == "stamp"


@pytest.mark.parametrize("form", ["", "dd/mm/yyyy", "%", "%Q", "%d/%", "first", 3, "%d %d"])
def test_other_formats_are_refused(form: str) -> None:
    with pytest.raises(ParameterError, match="The 'time_format' parameter of read must be 'month-first'"):
        check_time_format(form)


def test_every_word_is_a_format() -> None:
    for word in WORDS:
        check_time_format(word)


@pytest.mark.parametrize(
    ("label", "parts"),
    [("4/12/2016 1:00 PM", ("4/12/2016", "1:00 PM")), ("Jan 1 2000 13", ("Jan 1 2000", "13")), ("soon", ("soon", ""))],
)
def test_a_date_and_a_time_of_day_are_parted(label: str, parts: tuple[str, str]) -> None:
    assert part_time(label) == parts


PIECES = st.sampled_from([*"0123456789/-.: ,+TZ'", "AM", "pm", "Jan", "sept", "Mon", "UTC", "+99:99", "-0530", "24:00", "0001", "9999", "29", "2/", "\u0663", "1e400", "%"])  # fmt: skip


@given(
    st.lists(st.lists(PIECES, max_size=12).map("".join), min_size=1, max_size=3),
    st.sampled_from(["", *WORDS, "%d/%m/%y", "%H", "%b %d", "%z %Y", "%c"]),
)
def test_no_text_breaks_the_reading(labels: list[str], form: str) -> None:
    forms = forms_of(labels)
    numbers = times_as_numbers(labels, form)
    assert numbers is None or (len(numbers) == len(labels) and np.isfinite(numbers).all())
    assert form or len(forms) == 1 or numbers is None or forms[0] == "epoch-s"
    for label in labels:
        assert not (moment(label, form) is not None and not is_time(label, form))
        part_time(label)
        time_name(label, form)
    if numbers is None:
        assert why_not_times(labels, form)
    seconds_of(labels, form)


# -- reading and writing ----------------------------------------------------------------------------------------------


def published(place: Path, folder: Path, **options: object) -> pl.DataFrame:
    """What a release of the file publishes, as text; it is opened and verified again on the way."""
    data = tv.read(place, **options)  # type: ignore[arg-type]
    tv.MDAV(k=3).protect(data, seed=1).write(folder)
    assert judge_release(folder).verdict.words.startswith("HOLDS")
    again, seconds = published_series(folder)[0].blocks[0], seconds_of(data.blocks[0].labels, data.blocks[0].form)
    np.testing.assert_array_equal(seconds, seconds_of(again.labels, again.form))
    return pl.read_csv(next((folder / "published").glob("data.csv")), infer_schema=False)


@pytest.mark.parametrize(
    ("name", "times", "options"),
    [
        ("long-american-hours", ["ActivityHour"], {}),
        ("long-undecided-dates", ["day"], {"time_format": "day-first"}),
        ("long-short-words", ["date"], {}),
        ("long-seconds", ["timestamp"], {}),
        ("long-dotted-short", ["date"], {"time_format": "%d.%m.%y"}),
        ("long-date-and-time", ["Date", "Time"], {}),
        ("long-date-and-hour", ["date", "hour"], {}),
    ],
)
def test_times_are_published_as_they_came(name: str, times: list[str], options: dict[str, str], tmp_path: Path) -> None:
    place = write(name, tmp_path)
    before, after = pl.read_csv(place, infer_schema=False), published(place, tmp_path / "release", **options)
    assert before.columns == after.columns
    assert before.select(times).unique(maintain_order=True).equals(after.select(times).unique(maintain_order=True))


@pytest.mark.parametrize(
    ("name", "options"),
    [("wide-american-dates", {}), ("wide-undecided-dates", {"time_format": "day-first"}), ("wide-short-months", {})],
)
def test_names_are_published_as_they_came(name: str, options: dict[str, str], tmp_path: Path) -> None:
    place = write(name, tmp_path)
    after = published(place, tmp_path / "release", **options)
    assert after.columns == pl.read_csv(place).columns


@pytest.mark.parametrize("memory", ["4GB", "1KB"])
def test_forms_of_names_in_memory_and_in_chunks(memory: str, tmp_path: Path) -> None:
    place = write("wide-undecided-dates", tmp_path)
    with pytest.raises(QuestionError, match="--time-format month-first"):
        tv.read(place, memory=memory)
    days = tv.read(place, memory=memory, time_format="day-first")
    months = tv.read(place, memory=memory, time_format="month-first")
    assert days.blocks[0].times is not None
    assert days.blocks[0].times.tolist() == months.blocks[0].times.tolist() == list(range(10))  # type: ignore[union-attr]
    assert (days.blocks[0].form, months.blocks[0].form) == ("day-first", "month-first")
    assert seconds_of(days.blocks[0].labels, "day-first")[1] == seconds_of(["2020-02-02"])[0]  # type: ignore[index]
    wide = tv.read(write("wide-american-dates", tmp_path), memory=memory)
    assert wide.blocks[0].form == "month-first"


def test_a_subset_of_the_times_is_read_like_all_of_them() -> None:
    # The gas was measured on days that alone would not decide the form.
    frame = pl.DataFrame(
        [(who, day, "power", 1.0 + at) for at, who in enumerate("abc") for day in ("1/2/2020", "1/3/2020", "1/22/2020")]
        + [(who, day, "gas", 2.0 + at) for at, who in enumerate("abc") for day in ("1/2/2020", "1/3/2020")],
        schema=["who", "day", "what", "kwh"],
        orient="row",
    )
    data = tv.Dataset.from_long(frame, id="who", time="day", variable="what", value="kwh")
    assert [block.times.tolist() for block in data.blocks if block.times is not None] == [[0, 1, 20], [0, 1]]


def test_a_frame_whose_times_are_not_decided_is_refused_in_words() -> None:
    frame = pl.DataFrame({"who": ["a", "a"], "day": ["1/2/2020", "1/3/2020"], "kwh": [1.0, 2.0]})
    with pytest.raises(InputError, match="'1/2/2020' does not say which is the day and which the month"):
        tv.Dataset.from_long(frame, id="who", time="day", value="kwh")
    data = tv.Dataset.from_long(frame, id="who", time="day", value="kwh", time_format="day-first")
    assert data.blocks[0].labels == ("1/2/2020", "1/3/2020")


def test_three_columns_make_no_time(tmp_path: Path) -> None:
    place = write("long-date-and-time", tmp_path)
    with pytest.raises(InputError, match="a time has at most two columns"):
        tv.read(place, time=["Date", "Time", "kwh"])
    with pytest.raises(InputError, match="there is no column 'hour'"):
        tv.read(place, time=["Date", "hour"])


def test_a_resampled_release_has_real_times(tmp_path: Path) -> None:
    after = published(write("long-american-hours", tmp_path), tmp_path / "release", resample=24)
    times = after["ActivityHour"].unique(maintain_order=True).to_list()
    assert (len(times), times[0], times[1], times[-1]) == (
        24, "2016-04-12T00:00:00", "2016-04-12T02:02:37", "2016-04-13T23:00:00",
    )  # fmt: skip
    parted = published(write("long-date-and-hour", tmp_path), tmp_path / "parted", resample=48)
    assert parted["date"].n_unique() * parted["hour"].n_unique() == 48
