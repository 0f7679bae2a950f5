"""Attacks on a release in many files find what they find when they see all of it at once, record by record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tsveil as tv
from engine_files import again, private, protect_files, walks, write_files
from tsveil.attack import base, ranges, targets
from tsveil.data.dataset import Dataset
from tsveil.measure.scorecard import Scorecard
from tsveil.protect.base import Method
from tsveil.release.publish import Outcome
from tsveil.release.release import Release

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
    "swapped series": (tv.RankSwap(p=4), True, {"EULD", "STSLD", "RSLD", "LMLD"}),
    "series column by column": (tv.OptimalUnivariate(k=3), True, {"EULD", "STSLD", "ARLD", "SDLD"}),
    "blocks": (tv.MDAV(k=3), False, {"DLD", "PLD", "CPLD", "ProjLD"}),
    "column by column": (tv.OptimalUnivariate(k=3), False, {"DLD", "PLD", "CPLD", "ARLD", "SDLD"}),
    "along a line": (tv.Projected(k=3), False, {"DLD", "PLD", "CPLD", "ProjLD", "PSLD"}),
    "swapped": (tv.RankSwap(p=4), False, {"DLD", "PLD", "CPLD", "RSLD", "LMLD"}),
}


def protected(
    name: str, folder: Path, *, asked: int | str | None = None
) -> tuple[Outcome, Scorecard, Dataset, Release]:
    """A release in parts, chunks and several files; its card; and original and release in the order of the input."""
    method, of_series, _ = CASES[name]
    frame = two_series(N) if of_series else whole_numbers(N, 4)
    place, blocks = write_files(folder / "in", frame, 3), SERIES if of_series else ATTRIBUTES
    outcome = protect_files(
        place, method, folder / "out", seed=5, part=90, chunk=70, file=50, targets=asked, blocks=blocks
    )
    assert isinstance(outcome.card, Scorecard)
    return outcome, outcome.card, *again(outcome, place, blocks=blocks)


def evaluated(original: Dataset, release: Release, **options: Any) -> Scorecard:
    given = {"models": "fitting", **options} if original.series else options
    return tv.evaluate(original, release, **given)


@pytest.mark.parametrize("small", [False, True], ids=["at once", "in pieces"])
@pytest.mark.parametrize("name", CASES)
def test_everybody_is_linked_as_in_one_piece(
    name: str, small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:  # few targets in a task
        monkeypatch.setattr(base, "AT_ONCE", 40)
    outcome, mine, original, release = protected(name, tmp_path)
    card = evaluated(original, release)
    assert set(mine.by_known) == CASES[name][2]
    assert mine.to_dict() == card.to_dict()
    assert mine.by_known == card.by_known
    assert mine.options == card.options
    assert mine.options["targets"] == "all records"
    risk = private(outcome.folder, "risk")
    assert risk["original"].equals(private(outcome.folder)["original"])
    # A written release also has the chance of who runs the method again.
    written = risk.sort("original").select(card.per_record.columns)
    assert_frame_equal(written, card.per_record, check_exact=True, check_dtypes=False)
    assert set(risk.columns) - set(card.per_record.columns) == (
        {"risk_file"} if CASES[name][0].representatives else set()
    )


@pytest.mark.parametrize("name", CASES)
def test_a_sample_of_targets_is_looked_for_in_the_whole_release(name: str, tmp_path: Path) -> None:
    outcome, mine, original, release = protected(name, tmp_path, asked=31)
    assert mine.options["targets"] == "a random sample of 31 of 240 records, each linked against the whole release"
    assert not [column for column in private(outcome.folder, "risk").columns if "linked" in column or column == "risk"]
    assert mine.to_dict() == evaluated(original, release, targets=31).to_dict()
    rows = np.flatnonzero(targets.chosen_rows(targets.border_of(np.arange(N), 31), np.arange(N)))
    everyone = evaluated(original, release).per_record
    for figure, rates in mine.by_known.items():
        # PLD and CPLD weigh agreements by how often they occur among the pairs that they see, and the better projection may be another.
        if figure not in ("PLD", "CPLD", "ProjLD"):
            chances = everyone[f"linked_by_{figure}"].to_numpy()[rows]
            assert np.mean(rates) == pytest.approx(chances.mean(), rel=1e-9), figure


@pytest.mark.parametrize("name", ["groups", "blocks", "swapped"])
def test_files_without_anybody_whom_the_intruder_knows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = protected(name, tmp_path / "a", asked=2)[1]
    monkeypatch.setattr(base, "AT_ONCE", 1)  # a task for each file
    assert protected(name, tmp_path / "b", asked=2)[1].to_dict() == together.to_dict()


def test_all_are_targets_while_that_is_affordable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "PAIRS", 140_000)
    monkeypatch.setattr(targets, "PER_RECORD", 1)
    monkeypatch.setattr(targets, "EVERYBODY", N)
    assert protected("swapped", tmp_path / "few")[1].options["targets"] == "all records"
    monkeypatch.setattr(targets, "EVERYBODY", N - 1)
    _, card, original, release = protected("swapped", tmp_path)
    # More than 200 distinct rows, but fewer records within a window: the attack by ranks is cheaper.
    told = card.options["targets"]
    assert "PLD, RSLD: all records" in told
    assert told.startswith("DLD: a random sample of 1")
    assert evaluated(original, release).options == card.options
    assert protected("swapped", tmp_path / "all", asked="all")[1].options["targets"] == "all records"


def test_ranges_that_fit_into_no_worker_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "SLICE", 10)
    _, card, original, release = protected("swapped series", tmp_path)
    assert "linkage by ranks" in card.options["not measured"]
    assert "RSLD" not in card
    assert evaluated(original, release).options == card.options


def test_carried_values_that_groups_disclose(tmp_path: Path) -> None:
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
    roles: dict[str, Any] = {"confidential": carried.columns, "blocks": {"x": ["1", "2", "3"]}}
    place = write_files(tmp_path / "in", frame, 3)
    outcome = protect_files(place, tv.MDAV(k=3), tmp_path / "out", part=90, chunk=70, file=50, targets=5, **roles)
    _, release = again(outcome, place, **roles)
    found = release.attribute_disclosure()
    assert outcome.disclosed == found.counts
    assert min(outcome.disclosed.values()) > 0
    columns = ["column", "original"]
    theirs = found.rows_for_owner(release.original.ids).sort(columns)
    mine = private(outcome.folder, "attribute_disclosure").sort(columns)
    assert_frame_equal(mine, theirs, check_dtypes=False)
    told = json.loads((outcome.folder / "private" / "release.json").read_text())
    assert told["attribute_disclosure"] == found.counts
    private_page, public_page = (
        (outcome.folder / side / "report.html").read_text() for side in ("private", "published")
    )
    assert "Attribute disclosure" in private_page
    assert "Attribute disclosure" not in public_page
