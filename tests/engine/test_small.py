"""Every method in parts on data so small that this also runs without compiled kernels (`make coverage`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tsveil as tv
from engine_files import private, protect_files, published, write_files
from tsveil.engine.threads import LocalEngine
from tsveil.large.protect import LargeRelease
from tsveil.measure.scorecard import Scorecard
from tsveil.protect.base import Method
from tsveil.protect.intervals import IntervalMethod

if TYPE_CHECKING:
    from distributed import Client
    from pyspark.sql import SparkSession

ROWS = 60

METHODS: dict[str, tuple[Method | IntervalMethod, str]] = {
    "mdav": (tv.MDAV(k=3), "curves"),
    "attributes": (tv.MDAV(k=3), "people"),
    "v-mdav": (tv.VMDAV(k=3), "curves"),
    "univariate": (tv.OptimalUnivariate(k=3), "people"),
    "rank swapping": (tv.RankSwap(p=10), "people"),
    "swapped series": (tv.RankSwap(p=10), "curves"),
    "(n,l,k)": (tv.NLK(n=1, l=3, k=3), "curves"),
    "(k,P)": (tv.KP(k=4, P=2), "curves"),
    "envelopes": (tv.KAnonymousEnvelopes(k=3, round_to=0.1), "curves"),
}


def protect(method: Method | IntervalMethod, frame: pl.DataFrame, folder: Path, files: int) -> LargeRelease:
    source = tv.source(write_files(folder / f"in{files}", frame, files))
    return protect_files(source, method, folder / f"out{files}", engine=LocalEngine(), seed=7, part=20, chunk=25)


@pytest.mark.parametrize("name", METHODS)
def test_the_number_of_files_changes_nothing(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    method, kind = METHODS[name]
    frame = request.getfixturevalue(kind)[:ROWS]
    if "town" in frame.columns:
        frame = frame.drop("town")
    one, three = (protect(method, frame, tmp_path, files) for files in (1, 3))
    assert one.verdict.holds == (name not in ("rank swapping", "swapped series"))  # which promises nothing
    assert one.verdict == three.verdict
    assert_frame_equal(published(one.folder), published(three.folder), check_exact=True)
    assert_frame_equal(private(one.folder), private(three.folder))
    assert one.card.to_dict() == three.card.to_dict()


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
    one, three = (protect(tv.MDAV(k=3), frame, tmp_path, files) for files in (1, 3))
    assert isinstance(one.card, Scorecard)
    assert isinstance(three.card, Scorecard)
    told = one.card.options["targets"]
    assert "a random sample of " in told
    assert f" of {ROWS} records, each linked against the whole release" in told
    assert told == three.card.options["targets"]
    assert one.card.to_dict() == three.card.to_dict()
    # Groups of at least 3: whoever is looked for, a record is one of three at best.
    assert all(0 <= one.card[name] <= 100 / 3 + 1e-9 for name in one.card.by_known if name in ("EULD", "STSLD"))
    assert all(0 <= rate <= 100 for rates in one.card.by_known.values() for rate in rates)


def test_every_engine_gives_the_same(tmp_path: Path, client: Client, spark: SparkSession, curves: pl.DataFrame) -> None:
    source = tv.source(write_files(tmp_path / "in", curves[:ROWS], 2), confidential=["town"])
    given = {"local": LocalEngine(), "dask": client, "spark": spark}
    releases = {
        name: protect_files(source, tv.MDAV(k=3), tmp_path / name, engine=engine, seed=7, part=20, chunk=25)
        for name, engine in given.items()
    }
    assert {name: release.facts["engine"] for name, release in releases.items()} == dict(zip(given, given, strict=True))
    one = releases["local"]
    assert one.verdict.holds
    for other in releases.values():
        assert_frame_equal(published(one.folder), published(other.folder), check_exact=True)
        assert_frame_equal(private(one.folder), private(other.folder))
        assert one.card.to_dict() == other.card.to_dict()
