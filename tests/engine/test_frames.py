"""tv.anonymise on frames of Dask and Spark: the values of a frame in memory, the same columns and types, and no value at the driver."""

from __future__ import annotations

import stat
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tsveil as tv
from frame_cases import long_frame, plain, types_of, wide_frame
from tsveil.protect import cluster_frames, work

if TYPE_CHECKING:
    from distributed import Client
    from pyspark.sql import SparkSession

LONG: dict[str, Any] = {"value": ["y", "count"], "confidential": "tariff", "seed": 5}
WIDE: dict[str, Any] = {"blocks": {"person": ["age", "pay"]}, "id": "person", "confidential": "ill", "seed": 5}


@pytest.fixture
def dask_client(client: Client) -> Iterator[Client]:
    """The cluster of two processes as the current one."""
    with client.as_current():
        yield client


def to_dask(frame: pl.DataFrame, index: str | None = None) -> Any:
    import dask.dataframe as dd

    table = frame.to_pandas()
    return dd.from_pandas(table if index is None else table.set_index(index), npartitions=3, sort=False)


def to_spark(frame: pl.DataFrame, spark: SparkSession) -> Any:
    """In several partitions, with the types of the frame."""
    from pyspark.sql import types

    kinds: dict[Any, Any] = {
        pl.Int8: types.ByteType(), pl.Int16: types.ShortType(), pl.Int32: types.IntegerType(), pl.Int64: types.LongType(), pl.Float32: types.FloatType(),
        pl.Float64: types.DoubleType(), pl.String: types.StringType(), pl.Datetime: types.TimestampNTZType(), pl.Date: types.DateType(), pl.Boolean: types.BooleanType(),
    }  # fmt: skip
    fields = [types.StructField(name, kinds[kind.base_type()]) for name, kind in frame.schema.items()]
    rows = [tuple(row) for row in frame.iter_rows()]
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), types.StructType(fields))


@pytest.fixture(params=["dask", "dask-index", "dask-threads", "spark"])
def convert(request: pytest.FixtureRequest) -> Any:
    """A way to each kind of frame; without a client Dask computes in threads."""
    if request.param == "spark":
        spark = request.getfixturevalue("spark")
        return lambda frame: to_spark(frame, spark)
    if request.param != "dask-threads":
        request.getfixturevalue("dask_client")
    if request.param != "dask-index":
        return to_dask
    return lambda frame: to_dask(frame, "unique_id" if "unique_id" in frame.columns else "person")


@pytest.mark.parametrize(("make", "options"), [(long_frame, LONG), (wide_frame, WIDE)])
def test_values_and_types_are_those_of_a_frame_in_memory(
    make: Any, options: dict[str, Any], convert: Any, tmp_path: Path
) -> None:
    frame = make()
    wanted = plain(tv.anonymise(frame, **options))
    given = convert(frame)
    safe = tv.anonymise(given, folder=tmp_path, **options)
    assert type(safe) is type(given)
    assert types_of(safe) == types_of(given)
    found = plain(safe).select(wanted.columns)
    assert sorted(found.rows(), key=repr) == sorted(wanted.rows(), key=repr)
    (place,) = tmp_path.iterdir()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert [one.name for one in place.iterdir()] == ["published"]  # nothing else, and no original value


def test_no_value_comes_to_the_driver_and_the_work_is_done_in_runs(
    convert: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With runs of 7 records, files of 8 and parts of many the values stay those of one chunk; the driver never reads a file of rows."""
    frame = long_frame(60)
    given = convert(frame)
    monkeypatch.setattr(cluster_frames, "chunk_rows", lambda asked, columns: 7)
    monkeypatch.setattr(work, "chunk_rows", lambda asked, columns: 9)
    monkeypatch.setattr(work, "file_rows", lambda n, columns: 8)
    # Rows of frames with anything but identifiers.
    rows: list[int] = []

    def counted(read: Any) -> Any:
        def counting(*args: Any, **options: Any) -> Any:
            found = read(*args, **options)
            rows.append(len(found) if set(found.columns) - {"unique_id"} else 0)
            return found

        return counting

    with monkeypatch.context() as patch:
        patch.setattr(pl, "read_parquet", counted(pl.read_parquet))
        patch.setattr(pl.LazyFrame, "collect", counted(pl.LazyFrame.collect))
        safe = tv.anonymise(given, folder=tmp_path, **LONG)
    if "threads" in request.node.name:
        assert max(rows) > 6  # without a cluster the work is done in this process, so reading is seen
    else:
        assert max(rows) == 6  # the times; and one protected record, for the names of its columns
    found, wanted = plain(safe), plain(tv.anonymise(frame, **LONG))
    assert len(list(tmp_path.glob("tsveil-*/published/*"))) == 8
    assert sorted(map(repr, found.select("y", "ds", "count", "tariff").rows())) == sorted(
        map(repr, wanted.select("y", "ds", "count", "tariff").rows())
    )


def test_whole_numbers_as_identifiers_count_through_all_files(
    dask_client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(work, "file_rows", lambda n, columns: 8)
    safe = plain(tv.anonymise(to_dask(wide_frame()), folder=tmp_path, **WIDE))
    assert sorted(safe["person"].to_list()) == list(range(1, 24))


NASTY_TIMES = {
    "texts with zeros in front": pl.Series(["01", "02", "10"]),
    "dates": pl.Series([date(2024, 1, d) for d in (1, 2, 5)]),
    "years": pl.Series([2019, 2020, 2022], dtype=pl.Int32),
    "halves": pl.Series([0.5, 1.0, 2.5]),
}


@pytest.mark.parametrize("times", NASTY_TIMES)
def test_times_of_spark_come_back_as_they_were(times: str, spark: SparkSession) -> None:
    y = np.random.default_rng(1).random(30)
    frame = pl.DataFrame({"unique_id": np.repeat(np.arange(10), 3), "ds": pl.concat([NASTY_TIMES[times]] * 10), "y": y})
    given = to_spark(frame, spark)
    safe = tv.anonymise(given, seed=1)
    assert types_of(safe) == types_of(given)
    assert Counter(plain(safe)["ds"].to_list()) == Counter(frame["ds"].to_list())


def test_instants_and_zones_come_back(spark: SparkSession, dask_client: Client) -> None:
    """Of Spark in its own type for instants; of Dask with the zone."""
    import dask.dataframe as dd

    moments = [datetime(2024, 3, 31, hour, tzinfo=UTC) for hour in (0, 1, 2)]
    table = pd.DataFrame({"unique_id": np.repeat(np.arange(10), 3), "ds": moments * 10, "y": np.arange(30.0) ** 2})
    given = spark.createDataFrame([(a, b.to_pydatetime(), c) for a, b, c in table.itertuples(index=False)], "unique_id long, ds timestamp, y double")  # fmt: skip
    safe = tv.anonymise(given, seed=1)
    assert types_of(safe) == types_of(given)
    assert {row["ds"].timestamp() for row in safe.collect()} == {one.timestamp() for one in moments}
    table["ds"] = table["ds"].dt.tz_convert("Europe/Vienna")
    back = tv.anonymise(dd.from_pandas(table, npartitions=2), seed=1)
    assert back.dtypes.to_dict() == dd.from_pandas(table, npartitions=2).dtypes.to_dict()
    assert set(back.compute()["ds"]) == set(table["ds"])


def test_labels_of_dask_are_the_published_ones(dask_client: Client) -> None:
    import dask.dataframe as dd

    n = 40
    town = pd.Categorical(["a", "b"] * (n // 2), categories=["never there", "b", "a"])
    table = pd.DataFrame({"x": np.arange(n) * 1.5, "town": town, "who": pd.Categorical([f"p{i}" for i in range(n)])})
    options: dict[str, Any] = {"id": "who", "blocks": {"b": ["x"]}, "confidential": "town"}
    safe = tv.anonymise(dd.from_pandas(table, npartitions=3), **options).compute()
    assert set(safe["town"].cat.categories) == {"a", "b"}
    assert not set(safe["who"].cat.categories) & set(table["who"])
    table["town"] = table["town"].cat.as_ordered()
    with pytest.raises(tv.errors.InputError, match="'town' is an ordered category"):
        tv.anonymise(dd.from_pandas(table, npartitions=3), **options)


def refused(frame: Any, place: Path, **options: Any) -> str:
    """What is said; nothing stays behind."""
    with pytest.raises(tv.errors.TsveilError) as caught:
        tv.anonymise(frame, folder=place, **options)
    assert not list(place.iterdir())
    return str(caught.value)


def test_problems_are_told_and_nothing_stays_behind(convert: Any, tmp_path: Path) -> None:
    frame = long_frame()

    def refuse(frame: pl.DataFrame, **options: Any) -> str:
        return refused(convert(frame), tmp_path, **options)

    assert "column 'tariff', 'count' has no role" in refuse(frame.select("unique_id", "ds", "y", "tariff", "count"))
    assert "'nothing' is to be left out and does not exist" in refuse(frame, leave_out="nothing")
    assert "missing='drop' needs all rows of a record in memory" in refuse(frame, **LONG, missing="drop")
    assert "at most the number of records (23)" in refuse(frame, **LONG, k=24)
    assert "no records" in refuse(frame.clear(), **LONG)
    assert "1 of 23 records have only 5 of the 6 points" in refuse(
        frame.filter(~((pl.col("unique_id") == "h3") & (pl.col("ds").dt.hour() == 2))), **LONG
    )
    assert "2 times" in refuse(pl.concat([frame, frame[:1]]), **LONG)
    twice = wide_frame().with_columns(person=pl.Series([5, *range(6, 27), 5], dtype=pl.Int16))
    assert "occurs more than once" in refuse(twice, **WIDE)
    assert "infinite" in refuse(frame.with_columns(y=pl.Series([1.0, np.inf, *[2.0] * 136], dtype=pl.Float32)), **LONG)


def test_records_with_times_of_their_own_are_refused_by_name(
    dask_client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where all records of a run lack the same time."""
    monkeypatch.setattr(cluster_frames, "chunk_rows", lambda asked, columns: 1)
    frame = long_frame().filter(~((pl.col("unique_id") == "h3") & (pl.col("ds").dt.hour() == 2)))
    assert "records have different times: 'h3' lack '2024-01-01 02:00:00" in refused(to_dask(frame), tmp_path, **LONG)


def test_a_folder_that_is_not_there_is_refused(dask_client: Client, tmp_path: Path) -> None:
    with pytest.raises(tv.errors.OutputError, match="no folder for temporary files can be made in"):
        tv.anonymise(to_dask(wide_frame()), folder=tmp_path / "missing", **WIDE)


def test_a_promise_that_does_not_hold_raises(
    dask_client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is judged are the files: one changed cell is found there."""
    monkeypatch.setattr(cluster_frames, "publish", spoilt)
    assert "does not keep its promise" in refused(to_dask(wide_frame()), tmp_path, **WIDE)


def spoilt(task: Any) -> Any:
    done = publish(task)
    file = Path(task["place"]) / "published" / f"part-{int(task['at']):05d}.parquet"
    table = pl.read_parquet(file)
    table.with_columns(pay=pl.Series([table["pay"][0] + 1, *table["pay"].to_list()[1:]])).write_parquet(file)
    return done


publish = cluster_frames.publish


def test_what_fails_in_the_frame_itself_is_told(dask_client: Client, spark: SparkSession, tmp_path: Path) -> None:
    frame = to_dask(wide_frame())

    def broken(part: Any) -> Any:
        raise ZeroDivisionError("nobody can divide by that")

    text = refused(frame.map_partitions(broken, meta=frame._meta), tmp_path, **WIDE)
    assert "could not be computed by Dask" in text
    assert "nobody can divide" in text
    wide = to_spark(wide_frame(), spark)
    bad = wide.mapInArrow(lambda batches: [1 // 0 for _ in batches], wide.schema)
    assert "could not be computed by Spark" in refused(bad, tmp_path, **WIDE)


def test_rare_carried_values_are_warned_of(dask_client: Client) -> None:
    frame = wide_frame().with_columns(ill=pl.Series([f"illness {r}" for r in range(23)]))
    with pytest.warns(UserWarning, match="the carried column 'ill' has a value of its own in 23 of 23 records"):
        tv.anonymise(to_dask(frame), **WIDE)


def test_the_protected_files_are_removed_when_python_ends(tmp_path: Path) -> None:
    code = f"""
import dask.dataframe as dd, pandas as pd, pathlib, tsveil as tv
safe = tv.anonymise(dd.from_pandas(pd.DataFrame({{"x": range(20)}}), npartitions=2), blocks={{"b": ["x"]}}, folder={str(tmp_path)!r})
assert len(safe) == 20 and len(list(pathlib.Path({str(tmp_path)!r}).iterdir())) == 1
"""
    with warnings.catch_warnings():
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())
