"""Columns of labels: codes and back, orders, hierarchies, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import tsveil as tv
from tsveil.cli import main
from tsveil.core.errors import InputError
from tsveil.data.categories import Categories, read_hierarchy
from tsveil.data.write import as_frame
from tsveil.plan.plan import Plan

LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=4)


def of_column(values: list[Any], spec: Any, dtype: Any = None) -> tv.Dataset:
    """A data set of one column of labels."""
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype)})
    return tv.Dataset.from_frame(frame, blocks={"keys": ["x"]}, categories={"x": spec})


def labels_of(data: tv.Dataset) -> Categories:
    """The labels of its only column."""
    (found,) = data.blocks[0].categories or ()
    return found


@given(st.lists(LABELS, min_size=1, max_size=20))
def test_labels_come_back_as_they_were(values: list[str]) -> None:
    data = of_column(values, "nominal")
    assert as_frame(data)["x"].to_list() == values
    assert labels_of(data).labels == tuple(sorted(set(values)))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2, 10, 2], pl.Int64),
        ([1, 2, 1, 1], pl.UInt8),
        ([True, False, True, True], pl.Boolean),
        (["01", "1", "1.0", "01"], pl.String),
        (["b", "a", "b", "b"], pl.Categorical),
    ],
)
def test_types_come_back(values: list[Any], dtype: Any) -> None:
    written = as_frame(of_column(values, "nominal", dtype))["x"]
    assert written.to_list() == values
    assert written.dtype == (pl.String if dtype == pl.Categorical else dtype)


def test_a_type_lists_the_labels_that_are_published() -> None:
    data = of_column(["b", "c", "b"], "nominal", pl.Enum(["a", "c", "b"]))
    assert as_frame(data)["x"].dtype == pl.Enum(["c", "b"])
    assert as_frame(data)["x"].to_list() == ["b", "c", "b"]


def test_what_stands_for_all_labels_is_none_of_them() -> None:
    data = of_column(["*", "a"], "nominal")
    assert labels_of(data).every == "**"
    assert as_frame(data.with_values(np.array([[2.0], [0.0]])))["x"].to_list() == ["**", "*"]


def test_a_number_that_became_a_word_is_text() -> None:
    """A published inner node such as '*' has no place in a column of numbers."""
    sizes = Categories("nominal", ("1", "2", "*"), (), "Int64")
    assert sizes.column("x", np.array([0.0, 2.0])).to_list() == ["1", "*"]
    assert sizes.column("x", np.array([0.0, np.nan])).to_list() == [1, None]


def test_the_order_is_declared_or_that_of_the_type() -> None:
    assert labels_of(of_column(["b", "a"], {"order": ["b", "c", "a"]})).labels == ("b", "c", "a")
    assert labels_of(of_column(["b", "a"], "ordinal", pl.Enum(["z", "b", "a"]))).labels == ("z", "b", "a")
    assert of_column(["b", "a"], {"order": ["b", "c", "a"]}).values.ravel().tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ordinal", "its order is not known"),
        ("sorted", "must be 'nominal', 'ordinal', a list of labels in their order"),
        ({"order": ["a"]}, "has labels that are not in its order: 'b'"),
        ({"order": ["a", "b", "a"]}, "names a label twice: 'a'"),
        ({"hierarchy": "nowhere.csv"}, "cannot be read: No such file or directory"),
        ({"hierarchy": {"a": ["*"]}}, "has labels that are not a leaf of its hierarchy: 'b'"),
        ({"hierarchy": {"a": ["x"], "b": ["x"], "x": ["y"]}}, "'x' is a label of its own and the parent of others"),
        ({"hierarchy": {"a": ["x", "y"], "b": ["x", "z"]}}, "'x' is below 'y' and below 'z'"),
        ({"hierarchy": {"a": ["x", "y", "x"], "b": ["x", "y"]}}, "is above itself"),
        ({"hierarchy": {}}, "there is no line in it"),
        (7, "Got 7"),
    ],
)
def test_wrong_descriptions_are_refused(spec: Any, words: str) -> None:
    with pytest.raises(InputError) as refused:
        of_column(["a", "b"], spec)
    assert words in str(refused.value)


def test_a_block_holds_numbers_or_labels() -> None:
    frame = pl.DataFrame({"x": ["a", "b"], "y": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"holds labels and numbers \('y'\): make two blocks"):
        tv.Dataset.from_frame(frame, blocks={"all": ["x", "y"]}, categories={"x": "nominal"})
    with pytest.raises(InputError, match="categories names 'z'"):
        tv.Dataset.from_frame(frame, blocks={"all": ["y"]}, categories={"z": "nominal"})


def test_columns_in_no_block_make_one() -> None:
    frame = pl.DataFrame({"x": ["a", "b"], "y": [1.0, 2.0], "z": [3, 10]})
    data = tv.Dataset.from_frame(frame, blocks={"categories": ["y"]}, categories={"x": "nominal", "z": "ordinal"})
    assert (
        repr(data) == "Dataset: 2 records; attributes 'categories' (1 columns); categories 'categories 2' (2 columns)"
    )
    assert as_frame(data).equals(frame)
    assert labels_of(tv.Dataset.from_frame(frame, categories={"z": "ordinal"})).labels == ("3", "10")


@pytest.mark.parametrize("nothing", [None, ""])
def test_missing_labels_are_gaps(nothing: str | None) -> None:
    frame = pl.DataFrame({"x": ["a", nothing, "b"], "id": [1, 2, 3]})
    roles: dict[str, Any] = {"id": "id", "blocks": {"keys": ["x"]}, "categories": {"x": "nominal"}}
    with pytest.raises(InputError, match=r"row 2, column 'x': the value is missing"):
        tv.Dataset.from_frame(frame, **roles)
    assert tv.Dataset.from_frame(frame, **roles, missing="drop").values.ravel().tolist() == [0.0, 1.0]


def test_series_of_labels() -> None:
    frame = pl.DataFrame({"1": ["on", "off"], "2": ["off", "idle"]})
    wide = tv.Dataset.from_frame(frame, blocks={"state": ["1", "2"]}, categories={"state": "nominal"})
    assert repr(wide) == "Dataset: 2 records; categorical series 'state' (2 points)"
    assert wide.values.tolist() == [[2.0, 1.0], [1.0, 0.0]]
    assert as_frame(wide).equals(frame)
    long = pl.DataFrame({"id": ["a", "a", "b", "b"], "t": [1, 2, 1, 2], "state": ["on", "off", "off", "idle"]})
    read = tv.Dataset.from_long(long, id="id", time="t", value="state", categories={"state": "nominal"})
    assert np.array_equal(read.values, wide.values)
    assert as_frame(read).equals(long)
    with pytest.raises(InputError, match="resample is for numbers"):
        tv.Dataset.from_long(long, id="id", time="t", value="state", categories={"state": "nominal"}, resample=3)


TABLE = pl.DataFrame(
    {
        "id": [f"h{at}" for at in range(12)],
        "dwelling": ["flat", "house", "flat", "farm"] * 3,
        "code": ["01", "1", "02", "01"] * 3,
        "rooms": [2, 10, 3, 2] * 3,
        "2024-01-01": [0.5 + at for at in range(12)],
        "2024-01-02": [1.5 + at for at in range(12)],
    }
)
KEYS: dict[str, Any] = {"dwelling": "nominal", "code": ["1", "01", "02"], "rooms": "ordinal"}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_and_their_chunks(tmp_path: Path, form: str) -> None:
    """A label that is written in the last file only is one all the same, and 01 stays 01."""
    last = TABLE.with_columns(id="z" + pl.col("id"), dwelling=pl.lit("castle"))
    (tmp_path / "homes").mkdir()
    for name, table in (("1", TABLE), ("2", last)):
        path = tmp_path / "homes" / f"{name}.{form}"
        if form == "csv":
            table.write_csv(path)
        else:
            table.write_parquet(path)
    whole = tv.read(tmp_path / "homes", categories=KEYS)
    assert (
        repr(whole)
        == "Dataset: 24 records; series 'series' (2 points); categories 'categories' (3 columns); identifier 'id'"
    )
    assert as_frame(whole).equals(pl.concat([TABLE, last]))
    chunked = tv.read(tmp_path / "homes", categories=KEYS, memory=1000)
    assert chunked.source is not None
    assert np.array_equal(chunked.values, whole.values)
    assert [block.categories for block in chunked.blocks] == [block.categories for block in whole.blocks]
    with pytest.raises(InputError, match="labels that are not in its order: 'castle'"):
        tv.read(tmp_path / "homes", categories=KEYS | {"dwelling": ["farm", "flat", "house"]}, memory=1000)


def test_long_tables_with_labels_beside_the_series(tmp_path: Path) -> None:
    long = TABLE.unpivot(
        ["2024-01-01", "2024-01-02"], index=["id", "dwelling"], variable_name="day", value_name="load"
    ).sort("id", "day")
    long.write_csv(tmp_path / "long.csv")
    data = tv.read(tmp_path / "long.csv", layout="long", time="day", value="load", categories={"dwelling": "nominal"})
    assert (
        repr(data)
        == "Dataset: 12 records; series 'load' (2 points); categories 'categories' (1 columns); identifier 'id'"
    )
    assert as_frame(data).equals(long)
    changed = long.with_columns(dwelling=pl.Series(["farm", *long["dwelling"][1:]]))
    with pytest.raises(InputError, match="'dwelling' must have one value per id"):
        tv.Dataset.from_long(changed, id="id", time="day", value="load", categories={"dwelling": "nominal"})


def test_options_of_the_command_line(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "homes.csv")
    (tmp_path / "kinds.csv").write_text("flat,town\nhouse,town\nfarm,land\n")
    given = ["--nominal", "code", "--ordinal", "rooms", "--hierarchy", f"dwelling={tmp_path / 'kinds.csv'}"]
    shown = CliRunner().invoke(main, ["inspect", str(tmp_path / "homes.csv"), *given])
    assert shown.exit_code == 0, shown.output
    assert "categories 'categories' (3 columns)" in " ".join(shown.output.split())
    (tmp_path / "plan.toml").write_text(
        '[input]\npath = "homes.csv"\n[input.categories]\ncode = "nominal"\nrooms = ["2", "3", "10"]\ndwelling = { hierarchy = "kinds.csv" }\n'
        '[method]\nname = "mdav"\n[output]\nfolder = "out"\n'
    )
    plan = Plan.load(tmp_path / "plan.toml")
    data = plan.input.read(tmp_path)
    assert [one.kind for one in data.labels.values()] == ["nominal", "ordinal", "hierarchy"]
    assert Plan.from_toml(plan.to_toml()) == plan


def test_hierarchies_from_files(tmp_path: Path) -> None:
    path = tmp_path / "towns.csv"
    path.write_text("Lyon;France;Europe\nNice;France;Europe\nOslo;Europe\nLima;America\n", encoding="utf-8")
    tree = read_hierarchy(path)
    assert tree.labels == ("Lyon", "Nice", "Oslo", "Lima", "France", "Europe", "America", "*")
    assert tree.leaves == 4
    assert tree.height == 3
    # from the root down, short ways filled up with the label itself
    assert [[tree.labels[node] for node in way] for way in tree.paths[:4].tolist()] == [
        ["*", "Europe", "France", "Lyon"],
        ["*", "Europe", "France", "Nice"],
        ["*", "Europe", "Oslo", "Oslo"],
        ["*", "America", "Lima", "Lima"],
    ]
    with pytest.raises(InputError, match="cannot be read"):
        read_hierarchy(tmp_path)
