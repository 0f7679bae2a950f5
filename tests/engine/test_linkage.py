"""Attacks on a release in many files find what they find when they see all of it at once, person by person."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tsveil.large import given_away
from tsveil.large.protect import LargeRelease

import tsveil as tv
from engine_files import private, published, walks, write_files
from tsveil.attack import run, targets
from tsveil.data.dataset import Dataset
from tsveil.engine.threads import LocalEngine
from tsveil.measure.evaluate import scorecard
from tsveil.measure.scorecard import Scorecard
from tsveil.protect.base import Method

N = 240


def whole_numbers(n: int, columns: int) -> pl.DataFrame:
    """Attributes full of ties, two of them of equal spread."""
    rng = np.random.default_rng(3)
    table = {f"a{at}": rng.integers(0, 4 + 9 * at, n).astype(float) for at in range(columns - 1)}
    return pl.DataFrame({**table, "again": rng.permutation(table["a0"])})


def two_series(n: int) -> pl.DataFrame:
    """Two series of whole numbers: equal records, and many equal distances."""
    values = np.round(np.hstack([walks(n, 4), 100 + 10 * walks(n, 3, 2)]))
    values[::7] = values[0]
    return pl.DataFrame(values, schema=[*(f"x{at}" for at in range(4)), *(f"y{at}" for at in range(3))])


SERIES = {
    "x": {"columns": [f"x{at}" for at in range(4)], "kind": "series"},
    "y": {"columns": [f"y{at}" for at in range(3)], "kind": "series"},
}
ATTRIBUTES = {"first": ["a0", "a1"], "second": ["a2", "again"]}

#: name -> method, series or not, the attacks that fit it
CASES: dict[str, tuple[Method, bool, set[str]]] = {
    "groups": (tv.MDAV(k=4), True, {"EULD", "STSLD"}),
    "swapped series": (tv.RankSwap(p=4), True, {"EULD", "STSLD", "RSLD"}),
    "series column by column": (tv.OptimalUnivariate(k=3), True, {"EULD", "STSLD", "ARLD"}),
    "blocks": (tv.MDAV(k=3), False, {"DLD", "PLD", "ProjLD"}),
    "column by column": (tv.OptimalUnivariate(k=3), False, {"DLD", "PLD", "ARLD"}),
    "swapped": (tv.RankSwap(p=4), False, {"DLD", "PLD", "RSLD"}),
}


def protected(name: str, folder: Path, *, asked: int | str | None = None) -> tuple[LargeRelease, Dataset, Dataset]:
    """A release in parts, and original and protected data in the order of the input."""
    method, of_series, _ = CASES[name]
    frame = two_series(N) if of_series else whole_numbers(N, 4)
    source = tv.source(write_files(folder / "in", frame, 3), blocks=SERIES if of_series else ATTRIBUTES)
    release = tv.protect_folder(
        source, method, folder / "out", engine=LocalEngine(), seed=5, part=90, chunk=50, people=asked  # type: ignore[arg-type]
    )  # fmt: skip
    original = source.dataset(np.ascontiguousarray(frame.to_numpy()))
    out = published(release.folder).select(source.columns).cast(pl.Float64).to_numpy()
    return release, original, original.with_values(np.ascontiguousarray(out[in_order(release)]))


def in_order(release: LargeRelease) -> list[int]:
    """The published rows of the records, in the order of the input."""
    rows: list[int] = np.argsort(private(release.folder)["original"].to_numpy()).tolist()
    return rows


def evaluated(original: Dataset, out: Dataset, method: Method, **options: Any) -> Scorecard:
    models = {"models": "fitting"} if original.series else {}
    return scorecard(original, out, method=method.name, settings=method.settings(), **models, **options)


@pytest.mark.parametrize("small", [False, True], ids=["at once", "in pieces"])
@pytest.mark.parametrize("name", CASES)
def test_everybody_is_linked_as_in_one_piece(
    name: str, small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:  # few targets in a task
        monkeypatch.setattr(run, "AT_ONCE", 40)
    release, original, out = protected(name, tmp_path)
    assert isinstance(release.card, Scorecard)
    card = evaluated(original, out, CASES[name][0])
    assert set(release.card.by_known) == CASES[name][2]
    assert release.card.to_dict() == card.to_dict()
    assert release.card.by_known == card.by_known
    assert release.card.options == card.options
    assert release.card.options["targets"] == "all records"
    mine = private(release.folder, "risk")
    assert mine["original"].equals(private(release.folder)["original"])
    columns = mine.columns[1:]
    assert_frame_equal(mine[in_order(release)].select(columns), card.per_record.select(columns), check_exact=True)
    assert mine.columns == card.per_record.columns


@pytest.mark.parametrize("name", CASES)
def test_a_sample_of_targets_is_looked_for_in_the_whole_release(name: str, tmp_path: Path) -> None:
    release, original, out = protected(name, tmp_path, asked=31)
    assert isinstance(release.card, Scorecard)
    told = "a random sample of 31 of 240 records, each linked against the whole release"
    assert release.card.options["targets"] == told
    assert not (release.folder / "private" / "risk").exists()
    assert release.card.to_dict() == evaluated(original, out, CASES[name][0], targets=31).to_dict()
    rows = targets.rows_of(targets.border_of(N, 31), 0, N)
    everyone = evaluated(original, out, CASES[name][0]).per_record
    for figure, rates in release.card.by_known.items():
        # PLD weighs agreements by how often they occur among the pairs that it sees, and the better projection may be another.
        if figure not in ("PLD", "ProjLD"):
            chances = everyone[f"linked_by_{figure}"].to_numpy()[rows]
            assert np.mean(rates) == pytest.approx(chances.mean(), rel=1e-9), figure


@pytest.mark.parametrize("name", ["groups", "blocks", "swapped"])
def test_files_without_anybody_whom_the_intruder_knows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = protected(name, tmp_path / "a", asked=2)[0].card
    monkeypatch.setattr(run, "AT_ONCE", 1)  # a task for each file
    assert protected(name, tmp_path / "b", asked=2)[0].card.to_dict() == together.to_dict()


def test_all_are_targets_while_that_is_affordable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "PAIRS", 140_000)
    monkeypatch.setattr(targets, "PER_RECORD", 1)
    monkeypatch.setattr(targets, "EVERYBODY", N)
    assert protected("swapped", tmp_path / "few")[0].card.options["targets"] == "all records"
    monkeypatch.setattr(targets, "EVERYBODY", N - 1)
    release, original, out = protected("swapped", tmp_path)
    assert isinstance(release.card, Scorecard)
    # More than 200 distinct rows, but fewer records within a window: the attack by ranks is cheaper.
    told = release.card.options["targets"]
    assert "PLD, RSLD: all records" in told
    assert told.startswith("DLD: a random sample of 1")
    assert evaluated(original, out, CASES["swapped"][0]).options == release.card.options
    assert protected("swapped", tmp_path / "all", asked="all")[0].card.options["targets"] == "all records"


@pytest.mark.parametrize("asked", [0, -1, True, 1.5, "some"])
def test_other_numbers_of_targets_are_refused(asked: object, tmp_path: Path) -> None:
    with pytest.raises(
        tv.errors.ParameterError, match=r"'targets' parameter .* must be 'all' or an integer of at least 1"
    ):
        protected("groups", tmp_path, asked=asked)  # type: ignore[arg-type]


def test_ranges_that_fit_into_no_worker_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SLICE", 10)
    release, original, out = protected("swapped series", tmp_path)
    assert isinstance(release.card, Scorecard)
    assert "linkage by ranks" in release.card.options["not measured"]
    assert "RSLD" not in release.card
    assert evaluated(original, out, CASES["swapped series"][0]).options == release.card.options


def test_carried_values_that_groups_give_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_away, "GROUPS", 7)
    rng = np.random.default_rng(4)
    values = np.sort(walks(N, 3), axis=0)
    carried = pl.DataFrame(
        {
            "town": [["a", "b", None][at] for at in rng.choice(3, N, p=[0.8, 0.1, 0.1])],
            "pay": pl.Series(np.round(np.arange(N) / 5)).set(pl.Series(rng.random(N) < 0.03), None),
            "ill": rng.random(N) < 0.15,
            "visits": rng.integers(0, 2, N),
            "flat": np.full(N, 7.5),
            "odd": np.where(rng.random(N) < 0.7, np.nan, 1.0),
        }
    )
    frame = pl.DataFrame(values, schema=["1", "2", "3"]).hstack(carried)
    source = tv.source(
        write_files(tmp_path / "in", frame, 3), confidential=carried.columns, blocks={"x": ["1", "2", "3"]}
    )
    release = tv.protect_folder(source, tv.MDAV(k=3), tmp_path / "out", seed=5, part=90, chunk=50, people=5)
    known, out = private(release.folder), published(release.folder)
    whole = source.dataset(np.ascontiguousarray(out.select(source.columns).to_numpy()))
    whole = dataclasses.replace(whole, others=out.select(carried.columns), confidential=tuple(carried.columns))
    found = tv.attack.attribute(whole)
    assert release.given_away == found.counts
    assert min(release.given_away.values()) > 0
    columns = ["column", "original"]
    theirs = found.listed(known["original"]).sort(columns)
    assert_frame_equal(private(release.folder, "attribute_disclosure").sort(columns), theirs)
    told = json.loads((release.folder / "private" / "release.json").read_text())
    assert told["attribute_disclosure"] == found.counts
    assert "given away" in (release.folder / "private" / "report.html").read_text()
    assert "given away" not in (release.folder / "published" / "report.html").read_text()
