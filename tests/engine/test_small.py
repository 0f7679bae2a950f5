"""Every method in chunks and parts on data so small that this also runs without compiled kernels (`make coverage`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import tsveil as tv
from engine_files import assert_same, protect_files, published, write_files
from tsveil.measure.scorecard import Scorecard
from tsveil.protect.base import Method
from tsveil.release.publish import Outcome

if TYPE_CHECKING:
    from distributed import Client
    from pyspark.sql import SparkSession

ROWS = 60

METHODS: dict[str, tuple[Method, str]] = {
    "mdav": (tv.MDAV(k=3), "curves"),
    "attributes": (tv.MDAV(k=3), "people"),
    "v-mdav": (tv.VMDAV(k=3), "curves"),
    "univariate": (tv.OptimalUnivariate(k=3), "people"),
    "projected": (tv.Projected(k=3), "people"),
    "rank swapping": (tv.RankSwap(p=10), "people"),
    "swapped series": (tv.RankSwap(p=10), "curves"),
    "noise": (tv.Noise(sd=0.1), "people"),
    "(n,l,k)": (tv.NLK(n=1, l=3, k=3), "curves"),
    "(k,P)": (tv.KP(k=4, P=2), "curves"),
    "envelopes": (tv.KAnonymousEnvelopes(k=3, round_to=0.1), "curves"),
}
#: those that promise nothing
WITHOUT = ("rank swapping", "swapped series", "noise")


def protect(method: Method, frame: pl.DataFrame, folder: Path, files: int, **more: Any) -> Outcome:
    """Parts of 20 records and three published files."""
    place = write_files(folder / str(files) / "in", frame, files)
    work: dict[str, Any] = {"part": 20, "chunk": 22, "file": 25, "layout": "wide", **more}
    return protect_files(place, method, folder / f"out{files}", **work)


@pytest.mark.parametrize("name", METHODS)
def test_chunks_and_the_number_of_files_change_nothing(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    method, kind = METHODS[name]
    frame = request.getfixturevalue(kind)[:ROWS]
    if "town" in frame.columns:
        frame = frame.drop("town")
    whole = protect(method, frame, tmp_path, 1, engine=None)
    three = protect(method, frame, tmp_path, 3)
    assert whole.verdict.holds == (name not in WITHOUT)
    assert whole.verdict == three.verdict
    assert_same(whole.folder, three.folder)


@pytest.mark.parametrize(
    "method", [tv.MDAV(k=3, grouping="joint"), tv.VMDAV(k=3, grouping="joint")], ids=["mdav", "v-mdav"]
)
def test_everybody_has_company(method: Method, tmp_path: Path, curves: pl.DataFrame) -> None:
    """Counted in the published files, not by the verifier."""
    rows = published(protect(method, curves[:ROWS].drop("town"), tmp_path, 2).folder)
    assert rows.height == ROWS
    assert rows.group_by(pl.exclude("meter")).len()["len"].min() >= 3  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["curves", "people"])
def test_of_many_records_a_sample_is_looked_for_in_the_whole_release(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tsveil.attack.targets.EVERYBODY", 1)
    monkeypatch.setattr("tsveil.attack.targets.PAIRS", 600)
    monkeypatch.setattr("tsveil.attack.targets.PER_RECORD", 1)
    frame = request.getfixturevalue(kind)[:ROWS]
    whole = protect(tv.MDAV(k=3), frame, tmp_path, 1, engine=None)
    assert_same(whole.folder, protect(tv.MDAV(k=3), frame, tmp_path, 3).folder)
    assert isinstance(whole.card, Scorecard)
    told = whole.card.options["targets"]
    assert "a random sample of " in told
    assert f" of {ROWS} records, each linked against the whole release" in told
    # Groups of at least 3: whoever is looked for, a record is one of three at best.
    assert all(0 <= whole.card[name] <= 100 / 3 + 1e-9 for name in whole.card.by_known if name in ("EULD", "STSLD"))
    assert all(0 <= rate <= 100 for rates in whole.card.by_known.values() for rate in rates)


def test_every_engine_gives_the_same(tmp_path: Path, client: Client, spark: SparkSession, curves: pl.DataFrame) -> None:
    given = {"local": "local", "dask": client, "spark": spark}
    found = {
        name: protect(tv.MDAV(k=3), curves[:ROWS], tmp_path / name, 2, engine=engine, confidential=["town"])
        for name, engine in given.items()
    }
    assert found["local"].verdict.holds
    for name, outcome in found.items():
        assert outcome.run.endswith(f"3 chunks of 22 records on the engine {name}.")
        assert_same(outcome.folder, found["local"].folder)
