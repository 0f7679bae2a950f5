"""Arrays of cases by channels by points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tsveil as tv


def test_each_channel_is_a_series_and_each_case_a_record() -> None:
    cube = np.random.default_rng(1).random((5, 3, 4))
    data = tv.Dataset.from_aeon(cube, ids=list("abcde"), times=[0, 2, 4, 8])
    for case in range(5):
        for channel in range(3):
            assert data.block(f"channel_{channel}")[case].tolist() == [cube[case, channel, at] for at in range(4)]
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [0, 2, 4, 8]
    assert data.ids.to_list() == list("abcde")


def test_two_dimensions_are_one_channel() -> None:
    table = np.arange(6.0).reshape(2, 3)
    assert tv.Dataset.from_aeon(table).block("channel_0").tolist() == table.tolist()


@pytest.mark.parametrize("wrong", [None, 3, "x", [np.zeros((1, 3)), np.zeros((1, 4))], np.zeros(3), np.zeros((1, 2, 3, 4))])  # fmt: skip
def test_what_is_no_such_array_is_refused_in_words(wrong: Any) -> None:
    with pytest.raises(tv.errors.InputError, match="cases by channels by points are needed"):
        tv.Dataset.from_aeon(wrong)


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"]])
def test_names_of_channels_must_fit(names: list[str]) -> None:
    with pytest.raises(tv.errors.InputError, match="it has 2 channels"):
        tv.Dataset.from_aeon(np.zeros((3, 2, 4)), channels=names)


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 1, 0)])
def test_empty_arrays_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(tv.errors.InputError):
        tv.Dataset.from_aeon(np.zeros(shape))


def test_missing_values_are_refused_with_their_place() -> None:
    cube = np.ones((3, 1, 4))
    cube[1, 0, 2] = np.nan
    with pytest.raises(tv.errors.InputError, match="row 2, column '2'"):
        tv.Dataset.from_aeon(cube)


def test_a_panel_in_a_frame_of_pandas_is_taken_by_its_index() -> None:
    index = pd.MultiIndex.from_product([["a", "b"], [0, 1, 2]], names=["case", "time"])
    panel = pd.DataFrame({"power": np.arange(6.0), "gas": np.arange(6.0) * 2}, index=index)
    data = tv.Dataset.from_long(panel, id="case", time="time", value=["power", "gas"])
    assert data.block("gas").tolist() == [[0, 2, 4], [6, 8, 10]]
