"""tv.anonymise: the same values for the frames of all libraries, the same kinds, columns and types, and at least k records behind each row."""

from __future__ import annotations

import warnings
from collections import Counter
from datetime import UTC, date, datetime
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tsveil as tv
from frame_cases import KINDS, long_frame, plain, types_of, wide_frame
from tsveil.data.native import like_given
from tsveil.guarantee.base import Status, Verdict

LONG: dict[str, Any] = {"value": ["y", "count"], "confidential": "tariff", "seed": 5}
WIDE: dict[str, Any] = {"blocks": {"person": ["age", "pay"]}, "id": "person", "confidential": "ill", "seed": 5}


def records_of(frame: Any, id: str = "unique_id", time: str = "ds", values: tuple[str, ...] = ("y",)) -> dict[Any, Any]:
    """Identifier -> its values in time, slowly."""
    found: dict[Any, dict[Any, Any]] = {}
    for row in plain(frame).iter_rows(named=True):
        found.setdefault(row[id], {})[row[time]] = tuple(row[name] for name in values)
    return {one: tuple(cells[at] for at in sorted(cells)) for one, cells in found.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_frame_comes_back_as_its_kind_with_its_columns_and_types(kind: str) -> None:
    frame = KINDS[kind](long_frame())
    safe = tv.anonymise(frame, **LONG)
    assert type(safe) is type(frame)
    assert types_of(safe) == types_of(frame)
    records = records_of(safe, values=("y", "count"))
    assert len(records) == 23
    assert min(Counter(records.values()).values()) >= 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_frame_comes_back_as_its_kind_with_its_columns_and_types(kind: str) -> None:
    frame = KINDS[kind](wide_frame())
    safe = tv.anonymise(frame, **WIDE)
    assert type(safe) is type(frame)
    assert types_of(safe) == types_of(frame)
    rows = plain(safe).select("age", "pay").rows()
    assert len(rows) == 23
    assert min(Counter(rows).values()) >= 5


@pytest.mark.parametrize(("make", "options"), [(long_frame, LONG), (wide_frame, WIDE)])
def test_values_are_equal_whatever_the_library(make: Any, options: dict[str, Any]) -> None:
    found = {kind: plain(tv.anonymise(to(make()), **options)) for kind, to in KINDS.items()}
    first = found["polars"]
    for kind, frame in found.items():
        assert frame.select(first.columns).rows() == first.rows(), kind


def test_values_are_those_of_a_release_of_mdav() -> None:
    frame = long_frame().select("unique_id", "ds", pl.col("y").cast(pl.Float64))
    made = tv.MDAV(k=5).protect(tv.Dataset.from_long(frame, id="unique_id", time="ds", value="y"), seed=5)
    wanted = Counter(tuple((value,) for value in row) for row in made.data.values.tolist())
    assert Counter(records_of(tv.anonymise(frame, seed=5)).values()) == wanted


def test_carried_values_stay_with_their_records() -> None:
    frame = long_frame()
    safe = tv.anonymise(frame, **LONG)
    data = tv.Dataset.from_long(frame, id="unique_id", time="ds", value=["y", "count"], confidential=["tariff"])
    made = tv.MDAV(k=5).protect(data, seed=5).data
    counts = np.rint(made.block("count"))
    wanted = Counter(zip(made.others["tariff"].to_list(), map(tuple, counts.tolist()), strict=True))
    found = Counter(
        (one["tariff"][0], tuple(map(float, one["count"].to_list())))
        for one in safe.sort("ds").partition_by("unique_id")
    )
    assert found == wanted


def test_order_and_identifiers_are_fresh() -> None:
    frame = long_frame(60)
    one, other = tv.anonymise(frame, **LONG), tv.anonymise(frame, **{**LONG, "seed": 6})
    assert not set(one["unique_id"]) & set(frame["unique_id"])
    assert not set(one["unique_id"]) & set(other["unique_id"])
    assert one["tariff"].to_list() != other["tariff"].to_list()
    first, second = tv.anonymise(wide_frame(60), **WIDE), tv.anonymise(wide_frame(60), **{**WIDE, "seed": 6})
    assert sorted(first["person"]) == first["person"].to_list() == list(range(1, 61))
    assert first["pay"].to_list() != second["pay"].to_list()


def test_as_many_identifiers_as_a_small_type_has_values_fit_it() -> None:
    frame = pl.DataFrame(
        {"n": pl.Series(np.arange(-128, 128).astype(np.int8)), "x": np.arange(256.0), "z": np.ones(256)}
    )
    safe = tv.anonymise(frame, id="n", blocks={"b": ["x", "z"]})
    assert safe.schema == frame.schema
    assert safe["n"].n_unique() == 256


NASTY_TIMES = {
    "texts with zeros in front": pl.Series(["01", "02", "10"]),
    "dates": pl.Series([date(2024, 1, d) for d in (1, 2, 5)]),
    "years": pl.Series([2019, 2020, 2022], dtype=pl.Int32),
    "halves": pl.Series([0.5, 1.0, 2.5]),
    "a zone": pl.Series([datetime(2024, 3, 31, h, tzinfo=UTC) for h in (0, 1, 2)]).dt.convert_time_zone("Europe/Berlin"),
    "milliseconds": pl.Series([datetime(2024, 1, 1, h) for h in (0, 1, 2)], dtype=pl.Datetime("ms")),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", NASTY_TIMES)
def test_times_come_back_as_they_were(times: str, kind: str) -> None:
    at = NASTY_TIMES[times]
    y = np.random.default_rng(1).random(30)
    frame = pl.DataFrame({"unique_id": np.repeat(np.arange(10), 3), "ds": pl.concat([at] * 10), "y": y})
    given = KINDS[kind](frame)
    safe = tv.anonymise(given, seed=1)
    assert types_of(safe) == types_of(given)
    assert Counter(plain(safe)["ds"].to_list()) == Counter(plain(given)["ds"].to_list())


def test_types_of_pandas_come_back() -> None:
    n = 12
    frame = pd.DataFrame(
        {
            7: np.arange(n) * 1.5,
            8: pd.array(range(n), dtype="Int32"),
            "who": pd.Categorical([f"p{i}" for i in range(n)]),
            "town": pd.Categorical(["a", "b"] * 6, categories=["never there", "b", "a"], ordered=True),
            "arrow": pd.array(np.arange(n) / 4, dtype="double[pyarrow]"),
            "day": pd.DatetimeIndex(["2024-01-01", "2024-07-01"] * 6, tz="Europe/Vienna").as_unit("ns"),
        },
        index=[f"name {i}" for i in range(n)],
    )
    safe = tv.anonymise(frame, id="who", blocks={"b": ["7", "8", "arrow"]}, times={"b": None}, confidential=["town", "day"], k=3)  # fmt: skip
    assert list(safe.columns) == list(frame.columns)
    kept = [7, 8, "arrow", "day"]
    assert safe[kept].dtypes.to_list() == frame[kept].dtypes.to_list()
    assert list(safe["town"].cat.categories) == ["b", "a"]
    assert safe["town"].cat.ordered
    assert not set(safe["who"].cat.categories) & set(frame["who"])
    assert safe.index.equals(pd.RangeIndex(n))
    assert min(Counter(map(tuple, safe[[7, 8, "arrow"]].to_numpy().tolist())).values()) >= 3


def test_labels_of_types_are_the_published_ones() -> None:
    n = 12
    town = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 6, pa.int8()), ["a", "b", "never there"])
    table = pa.table({"x": pa.array(np.arange(n), pa.float32()), "town": town}, metadata={"owner": "somebody"})
    safe = tv.anonymise(table, blocks={"b": ["x"]}, confidential="town")
    assert safe.schema.field("town").type == table.schema.field("town").type
    assert sorted(safe["town"].combine_chunks().dictionary.to_pylist()) == ["a", "b"]
    assert safe.schema.metadata is None
    frame = pl.DataFrame({"x": np.arange(n) * 1.0, "t": pl.Series(["a"] * n, dtype=pl.Enum(["z", "a"]))})
    assert tv.anonymise(frame, blocks={"b": ["x"]}, confidential="t").schema["t"] == pl.Enum(["a"])
    relation = duckdb.sql("select i::double x, 'a'::ENUM('z', 'a') t, (i / 4)::DECIMAL(20, 2) q from range(12) s(i)")
    given = tv.anonymise(relation, blocks={"b": ["x", "q"]}, confidential="t")
    assert [str(kind) for kind in given.types] == ["DOUBLE", "ENUM('a')", "DECIMAL(20,2)"]


def test_identifiers_in_types_that_list_labels_are_fresh_labels() -> None:
    n = 12
    names = [f"p{i}" for i in range(n)]
    frame = pl.DataFrame({"who": pl.Series(names, dtype=pl.Enum(names)), "x": np.arange(n) * 1.0})
    options: dict[str, Any] = {"id": "who", "blocks": {"b": ["x"]}}
    safe = tv.anonymise(frame, **options)
    assert isinstance(safe.schema["who"], pl.Enum)
    assert safe["who"].n_unique() == len(safe.schema["who"].categories) == n
    assert not set(safe["who"].cast(pl.String)) & set(names)
    for cells in (names, list(range(5, 5 + n))):
        table = pd.DataFrame({"who": pd.Categorical(cells), "x": np.arange(n) * 1.0})
        found = tv.anonymise(table, **options)["who"]
        assert isinstance(found.dtype, pd.CategoricalDtype)
        assert found.nunique() == len(found.cat.categories) == n
    relation = duckdb.sql("select ('p' || i)::ENUM('p0', 'p1', 'p2', 'p3') as who, i::real as x from range(4) s(i)")
    kind = str(tv.anonymise(relation, **options, k=2).types[0])
    assert kind.startswith("ENUM(")
    assert "'p0'" not in kind


def test_empty_frames_are_refused() -> None:
    for to in KINDS.values():
        assert "no records" in refused(to(long_frame().clear()), **LONG)


def test_ties_constants_and_k_equal_to_n() -> None:
    frame = pl.DataFrame({"x": [1.0] * 7, "y": [0, 0, 0, 1, 1, 1, 1]})
    assert tv.anonymise(frame, blocks={"b": ["x", "y"]}, k=7).unique().height == 1
    huge = pl.DataFrame({"x": [1e-300, 2e-300, 1e149, 3e149], "y": pl.Series([2**31 - 1] * 4, dtype=pl.Int32)})
    safe = tv.anonymise(huge, blocks={"b": ["x", "y"]}, k=2)
    assert safe.schema == huge.schema
    assert min(Counter(safe.rows()).values()) >= 2


def refused(*given: Any, **options: Any) -> str:
    with pytest.raises(tv.errors.InputError) as caught:
        tv.anonymise(*given, **options)
    return str(caught.value)


@pytest.mark.parametrize("wrong", [None, 3, "meters.csv", [[1.0]], np.ones((2, 2)), {"y": [1.0]}, pd.Series([1.0]), pl.Series([1.0])])  # fmt: skip
def test_what_is_no_frame_is_refused_in_words(wrong: Any) -> None:
    text = refused(wrong)
    assert f"Got {type(wrong).__name__}." in text
    assert "options:" in text


def test_frames_of_clusters_are_no_data_set_in_memory() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of old versions, about their query planning
        import dask.dataframe as dd

    with pytest.raises(tv.errors.InputError) as caught:
        tv.Dataset.from_frame(dd.from_pandas(wide_frame().to_pandas(), npartitions=2), blocks={"person": ["pay"]})
    assert "Got dask" in str(caught.value)
    assert "`tsveil.anonymise` takes frames of Dask and Spark" in str(caught.value)


def test_a_folder_is_for_frames_of_clusters() -> None:
    with pytest.raises(
        tv.errors.ParameterError, match="'folder' parameter of anonymise is for frames of Dask and Spark"
    ):
        tv.anonymise(wide_frame(), **WIDE, folder=".")


def test_problems_come_at_once_with_their_place() -> None:
    frame = long_frame()
    assert "column 'tariff', 'count' has no role" in refused(frame.select("unique_id", "ds", "y", "tariff", "count"))
    assert list(tv.anonymise(frame, leave_out=["tariff", "count"]).columns) == ["y", "ds", "unique_id"]
    assert "'nothing' is to be left out and does not exist" in refused(frame, leave_out="nothing")
    assert "'y' is to be left out and has a role" in refused(frame, leave_out=["y", "nothing"])
    assert "time= is for a long frame" in refused(wide_frame(), **WIDE, time="ds")
    assert "times= is for a wide frame" in refused(frame, **LONG, times=[1])
    assert "release.to_pandas()" in refused(frame, missing="mask")
    assert "has no place for fresh identifiers" in refused(frame, id="ds", time="y")
    assert "must be at most the number of records (23)" in refused(frame, **LONG, k=24)
    assert "row 2, column 'y'" in refused(frame.with_columns(y=pl.Series([1.0, None, *[2.0] * 136])), **LONG)
    assert "infinite" in refused(frame.with_columns(y=pl.Series([1.0, np.inf, *[2.0] * 136])), **LONG)
    text = refused(frame.with_columns(pl.col("y").cast(pl.String)), **LONG)
    assert "'y' has values of the type String" in text


def test_mixed_cells_and_repeated_names_of_pandas_are_refused_with_the_column() -> None:
    frame = long_frame().to_pandas()
    frame["tariff"] = [1, "a"] * 69
    assert "column 'tariff' holds values of several types" in refused(frame, **LONG)
    twice = long_frame().to_pandas()
    twice.columns = ["y", "ds", "count", "y", "tariff"]
    assert "named more than once: 'y'" in refused(twice)


def test_a_promise_that_does_not_hold_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is judged is the frame as it is given back: one changed cell is found there."""

    def spoilt(table: pl.DataFrame, given: Any) -> Any:
        y = table["y"].to_list()
        return like_given(table.with_columns(y=pl.Series([y[0] + 1, *y[1:]], dtype=pl.Float32)), given)

    monkeypatch.setattr("tsveil.protect.anonymise.like_given", spoilt)
    with pytest.raises(tv.errors.GuaranteeError, match="does not keep its promise"):
        tv.anonymise(long_frame().to_arrow(), **LONG)


def test_rare_carried_values_are_warned_of() -> None:
    frame = wide_frame().with_columns(ill=pl.Series([f"illness {r}" for r in range(23)]))
    with pytest.warns(UserWarning, match="the carried column 'ill' has a value of its own in 23 of 23 records"):
        tv.anonymise(frame, **WIDE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tv.anonymise(wide_frame(), **WIDE)


def test_verdicts_that_are_unknown_raise_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from tsveil.guarantee.k_anonymity import KAnonymity

    monkeypatch.setattr(KAnonymity, "verify", lambda self, published: Verdict(Status.UNKNOWN, "k"))
    with pytest.raises(tv.errors.GuaranteeError):
        tv.anonymise(long_frame(), **LONG)
