"""Labels become numbers; evenly spaced stamps become 0, 1, 2, ..."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsveil.data.times import even_times, time_name, times_as_numbers, times_of_names, why_not_times


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        (["2018-10-29T00:00", "2018-10-29T01:00", "2018-10-29T04:00"], [0, 1, 4]),
        (["2018-10-29 00:00", "2018-10-29 00:15"], [0, 1]),
        (["2018-10-29 00:00:00.5", "2018-10-29 00:00:01", "2018-10-29 00:00:02"], [0, 1, 3]),
        (["2018/1/2", "2018/1/3", "2018/1/5"], [0, 1, 3]),
        (["29.10.2018 23:00", "29.10.2018 24:00", "30.10.2018 1:00"], [0, 1, 2]),
        (["20181029", "20181030"], [0, 1]),
        (["00:00", "00:15", "00:45", "24:00"], [0, 1, 3, 96]),
        (["2018-W01", "2018-W02"], [0, 1]),
        # months are equally long, also when they are written as days
        (["2018-01", "2018-02", "2018-03", "2018-05"], [0, 1, 2, 4]),
        (["201811", "201812", "201901"], [0, 1, 2]),
        (["2018M11", "2018M12", "2019M01"], [0, 1, 2]),
        (["2018Q1", "2018-Q2", "2018 Q4"], [0, 1, 3]),
        (["2018-01-15", "2018-02-15", "2018-03-15"], [0, 1, 2]),
        (["2018-01-31", "2018-02-28", "2018-03-31"], [0, 1, 2]),
        (["2016-02-29", "2017-02-28", "2018-02-28"], [0, 1, 2]),
        (["2018-01-31", "2018-03-01"], [0, 1]),
        # numbers are taken as they are
        (["1993", "1994", "1996"], [1993, 1994, 1996]),
        (["-1.5", "0", ".5", "1e3"], [-1.5, 0, 0.5, 1000]),
        ([1, 2.5], [1, 2.5]),
        (["19999999", "20000000"], [19999999, 20000000]),
        ([date(2018, 1, 1), date(2018, 1, 3), date(2018, 1, 4)], [0, 2, 3]),
        ([datetime(2018, 1, 1), datetime(2018, 1, 1, 6)], [0, 1]),
        (np.array(["2018-01-01", "2018-01-02"], dtype="datetime64[D]"), [0, 1]),
        # the order does not matter
        (["2018-01-05", "2018-01-01", "2018-01-03"], [2, 0, 1]),
    ],
)
def test_labels_become_numbers(labels: list[object], numbers: list[float]) -> None:
    found = times_as_numbers(labels)
    assert found is not None
    assert found.tolist() == numbers


@pytest.mark.parametrize(
    "labels",
    [
        [],
        ["age", "income"],
        ["2018-10-29", "soon"],
        ["10/11/2018", "10/12/2018"],
        ["10/29/2018", "29/10/2018"],
        ["2/30/2018", "2/31/2018"],
        ["2018-13-01"],
        ["25:00"],
        ["1_000", "2_000"],
        ["nan", "1"],
        ["1e999"],
        ["2018-01-01", "1993"],
        ["2018-01-01", "00:15"],
        ["2018-01-01T00:00", "2018-01-01T01:00Z"],
    ],
)
def test_what_is_no_time_is_not_taken_for_one(labels: list[object]) -> None:
    assert times_as_numbers(labels) is None


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (["2018-10-29", "soon"], "'soon' is neither a number nor a time stamp"),
        (
            ["2018-01-01T00:00", "2018-01-01T01:00Z"],
            "'2018-01-01T01:00Z' names a time zone and '2018-01-01T00:00' does not",
        ),
        (["2018-01-01", "1993"], "numbers, time stamps and times of day are mixed"),
        (["2018-01-01", "00:15"], "numbers, time stamps and times of day are mixed"),
    ],
)
def test_the_reason_is_told(labels: list[str], why: str) -> None:
    assert why_not_times(labels) == why


def test_zones_are_compared_in_universal_time() -> None:
    # The clock goes back: two o'clock comes twice, an hour apart.
    labels = ["2018-10-28T01:00+02:00", "2018-10-28T02:00+02:00", "2018-10-28T02:00+01:00", "2018-10-28T03:00+01:00"]
    found = times_as_numbers(labels)
    assert found is not None
    assert found.tolist() == [0, 1, 2, 3]


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    st.sampled_from([timedelta(seconds=1), timedelta(minutes=15), timedelta(hours=1), timedelta(days=1)]),
    st.lists(st.integers(1, 5), min_size=2, max_size=20),
)
def test_stamps_count_steps(start: datetime, step: timedelta, gaps: list[int]) -> None:
    places = np.cumsum([0, 1, *gaps])  # a step of one, so that the unit is the step
    stamps = [start.replace(microsecond=0) + int(place) * step for place in places]
    for labels in (stamps, [s.isoformat() for s in stamps], [s.replace(tzinfo=UTC).isoformat() for s in stamps]):
        found = times_as_numbers(labels)
        assert found is not None
        np.testing.assert_allclose(found, places, rtol=1e-12)


def test_names_say_times() -> None:
    assert times_of_names(["gas_1", "gas_2"]) is not None
    assert times_of_names(["load 00:15", "load 00:30"]) is not None
    assert times_of_names(["gas_1", "load_2"]) is None
    assert times_of_names(["gas_1", "age"]) is None
    assert time_name("temperature") is None
    assert time_name("p2p") is None
    name = time_name("load.peak.2018-01-01T00:00")
    assert name is not None
    assert (name.head, name.label, name.form) == ("load.peak", "2018-01-01T00:00", "stamp")


@pytest.mark.parametrize(
    ("labels", "form", "m", "expected"),
    [
        # as they are, where these times are there already
        (["1/29/20", "1/30/20", "1/31/20"], "month-first", 3, ["1/29/20", "1/30/20", "1/31/20"]),
        (["2018-01", "2018-02", "2018-03"], "", 2, ["2018-01", "2018-03"]),
        # between them
        (["1/29/20", "1/30/20"], "month-first", 3, ["2020-01-29T00:00", "2020-01-29T12:00", "2020-01-30T00:00"]),
        (
            ["2020-01-01T00:00Z", "2020-01-01T03:00Z"],
            "",
            3,
            ["2020-01-01T00:00+00:00", "2020-01-01T01:30+00:00", "2020-01-01T03:00+00:00"],
        ),
        (["2020-01-01", "2020-01-02"], "", 8, ["2020-01-01T00:00:00", "2020-01-01T03:25:43", "2020-01-01T06:51:26"]),
        (["12:00", "12:01"], "", 3, ["12:00:00", "12:00:30", "12:01:00"]),
        (["00:00", "24:00"], "", 3, ["00:00", "12:00", "24:00"]),
        (["1460419200", "1460419201", "1460419210"], "epoch-s", 6, ["1460419200", "1460419202", "1460419204"]),
        (["1993", "1994"], "", 4, ["1993", "1993.333333", "1993.666667", "1994"]),
        # no times, or none that could be told apart
        (["a", "b", "c"], "", 4, ["1", "2", "3", "4"]),
        (["1460419200", "1460419201"], "epoch-s", 4, ["1", "2", "3", "4"]),
    ],
)
def test_times_of_resampled_series(labels: list[str], form: str, m: int, expected: list[str]) -> None:
    times = times_as_numbers(labels, form)
    found, read_by = even_times(labels, np.arange(len(labels), dtype=np.float64) if times is None else times, m, form)
    assert list(found[: len(expected)]) == expected
    assert len(set(found)) == len(found) == m
    assert times_as_numbers(found, read_by) is not None


@given(st.integers(2, 60), st.integers(2, 200), st.sampled_from([60, 3600, 86400, 86461]))
def test_resampled_times_are_even(points: int, m: int, seconds: int) -> None:
    labels = [(datetime(2019, 12, 31) + timedelta(seconds=seconds * at)).isoformat() for at in range(points)]
    found, form = even_times(labels, np.arange(points, dtype=np.float64), m)
    moments = [datetime.fromisoformat(label) for label in found]
    assert form == ""
    assert (moments[0], moments[-1]) == (datetime.fromisoformat(labels[0]), datetime.fromisoformat(labels[-1]))
    steps = np.diff([moment.timestamp() for moment in moments])
    np.testing.assert_allclose(steps, seconds * (points - 1) / (m - 1), atol=1 if steps[0] >= 3599 else 2e-6)
