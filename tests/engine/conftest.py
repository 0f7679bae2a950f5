"""One Dask cluster and one Spark session for all engine tests; whoever starts them stops them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from engine_files import two_workers, walks
from tsveil.engine.base import Engine
from tsveil.engine.on_dask import DaskEngine
from tsveil.engine.on_spark import ALONE, QUIET, SparkEngine
from tsveil.engine.threads import LocalEngine

if TYPE_CHECKING:
    from distributed import Client
    from pyspark.sql import SparkSession

#: on one machine, on a cluster of two worker processes, and on Spark with two
ENGINES = ("local", "dask", "spark")


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with two_workers() as client:
        yield client


@pytest.fixture(scope="session")
def spark(java: str) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,2]").appName("tests")
    for name, value in (QUIET | ALONE).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    if request.param == "dask":
        return DaskEngine(request.getfixturevalue("client"))
    if request.param == "spark":
        return SparkEngine(request.getfixturevalue("spark"))
    return LocalEngine()


@pytest.fixture(scope="session")
def curves() -> pl.DataFrame:
    """Series with an identifier and a carried column."""
    values = walks(700, 6)
    values[100:130] = values[100]  # equal records
    columns: dict[str, Any] = {
        "meter": [f"m{at:04d}" for at in range(700)],
        "town": [f"t{at % 7}" for at in range(700)],
    }
    return pl.DataFrame(columns | {f"2018-01-{at + 1:02d}": values[:, at] for at in range(6)})


@pytest.fixture(scope="session")
def people() -> pl.DataFrame:
    """Attributes: whole numbers, ties, a constant, a large offset."""
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, 600),
            "pay": rng.lognormal(8, 1, 600),
            "tax": np.round(rng.gamma(2, 300, 600), 1),
            "flat": np.full(600, 3.0),
            "year": 1e6 + rng.normal(size=600),
        }
    )
