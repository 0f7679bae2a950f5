"""A run that is asked to end, by SIGTERM or SIGHUP, cleans up as after Ctrl+C: nothing private stays behind, and the old release is intact."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from faults.arena import Arena, check_stops

RUNS = {"memory": "", "chunks": 'memory = "1"\nchunk = 20\n'}


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with Arena(tmp_path_factory.mktemp("stops")) as one:
        yield one


@pytest.mark.parametrize("how", RUNS)
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_leaves_nothing_behind(
    arena: Arena, tmp_path: Path, how: str, by: signal.Signals
) -> None:
    values = np.random.default_rng(4).gamma(2, 1, (60, 6)).round(3)
    pl.DataFrame(values, schema=[str(t) for t in range(6)]).write_parquet(tmp_path / "meters.parquet")
    check_stops(arena, tmp_path, by, "meters.parquet", RUNS[how])
