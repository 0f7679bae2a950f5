"""What the order of rows says: never anything of a random order, always something of one that is not."""

from __future__ import annotations

import json
import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.assess import order as orders
from tsveil.assess.order import said_by_order
from tsveil.cli import main
from tsveil.core.errors import GuaranteeError
from tsveil.core.types import Indices
from tsveil.release import publish
from tsveil.release.release import Release, release_of

SIZES = [[1, 1, 1], [6], [2, 2, 2], [1, 5], [3, 3], [1, 2, 3], [2, 1, 1, 1, 1]]


@pytest.mark.parametrize("sizes", SIZES)
def test_the_chances_are_those_of_all_orders(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever chance is allowed, no larger share of all orders is spoken of; and as soon as it is allowed, sorted rows are."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    every = [np.array(one) for one in permutations(range(len(labels)))]
    sorted_share = math.factorial(len(sizes)) * math.prod(map(math.factorial, sizes)) / math.factorial(len(labels))
    ordered_share = 2 / math.factorial(len(labels))
    for chance in (0.001, 0.01, 0.02, 0.1, 0.3, 0.7):
        monkeypatch.setattr(orders, "CHANCE", chance)
        by_class = sum(bool(said_by_order(labels[one])) for one in every) / len(every)
        assert by_class <= 2 * chance
        assert bool(said_by_order(labels)) >= (sorted_share < 0.99 * chance)
        unlike = np.zeros(len(labels), dtype=np.int64)
        by_original = sum(bool(said_by_order(unlike, one)) for one in every) / len(every)
        assert by_original <= 2 * chance
        for one in (every[0], every[-1]):
            assert bool(said_by_order(unlike, one)) >= (ordered_share < 0.99 * chance)


def test_random_orders_say_nothing() -> None:
    rng = np.random.default_rng(5)
    for _ in range(3000):
        n = int(rng.integers(1, 400))
        labels = rng.permutation(np.arange(n) // int(rng.integers(1, n + 1)))
        assert said_by_order(labels, rng.permutation(n), rng.permutation(np.arange(n) // 3)) == ""


def test_orders_that_say_something_are_found() -> None:
    rng = np.random.default_rng(6)
    of_row = rng.permutation(np.arange(200) // 5)
    assert "order of the original" in said_by_order(of_row, np.arange(200))
    assert "order of the original" in said_by_order(of_row, np.arange(200)[::-1])
    cut = np.sort(rng.permutation(200).reshape(4, 50), axis=1).ravel()
    assert "order of the original" in said_by_order(of_row, cut)  # four parts, each in order
    assert "rows that are alike stand together" in said_by_order(np.sort(of_row), rng.permutation(200))
    parts = np.sort(of_row.reshape(2, 100), axis=1).ravel()
    assert "rows that are alike stand together" in said_by_order(parts)
    assert "rows of a person" in said_by_order(of_row, rng.permutation(200), np.arange(200) // 4)


def test_small_tables_are_not_suspected() -> None:
    """Six rows stand in any order by chance."""
    rows = np.array([0, 0, 1, 1, 2, 2])
    assert said_by_order(rows, np.arange(6), rows) == ""


# -- of releases ------------------------------------------------------------------------------------------------------


def data(persons: bool = False) -> tv.Dataset:
    rng = np.random.default_rng(1)
    owners = [f"p{at % 20}" for at in range(80)]
    return tv.Dataset.from_arrays({"x": rng.normal(size=(80, 4))}, persons=owners if persons else None)


def arranged(release: Release, order: Indices) -> Release:
    """The same release with its rows in another order."""
    return release_of(
        release.original, release.made, order, method=release.method, guarantee=release.guarantee, seed=release.seed
    )


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("how", ["original", "classes"])
def test_a_release_in_a_telling_order_is_not_written(tmp_path: Path, how: str, form: Any) -> None:
    release = tv.MDAV(k=4).protect(data(), seed=1)
    order = np.arange(80) if how == "original" else np.argsort(release.made[:, 0], kind="stable")
    telling = arranged(release, order)
    with pytest.raises(
        GuaranteeError, match=r"coverage: NOT DECIDED: (the rows stand in the order|rows that are alike)"
    ):
        telling.write(tmp_path / "out", format=form)
    assert not (tmp_path / "out").exists()
    folder = telling.write(tmp_path / "out", format=form, allow=["coverage"])
    assert json.loads((folder / "private" / "assessment.json").read_text())["verdict"] == "not-decided"
    assert CliRunner().invoke(main, ["verify", str(folder)]).exit_code == 1
    file = CliRunner().invoke(main, ["verify", str(folder / "published" / f"data.{form}"), "--k", "4"])
    assert file.exit_code == (1 if how == "classes" else 0)  # a file alone does not show the original


def test_ordinary_releases_pass(tmp_path: Path) -> None:
    for seed in range(20):
        folder = tv.MDAV(k=4).protect(data(), seed=seed).write(tmp_path / str(seed))
        checks = json.loads((folder / "private" / "assessment.json").read_text())["checks"]
        assert checks[1]["status"] == "holds"


# -- persons ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("persons", [["Ann"] * 80, ["Ann", "Bob"] * 40])
def test_persons_are_counted_as_the_written_id_map_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, persons: list[str]
) -> None:
    """A fault between the records and the id map must show in the verdict: the map is what is verified."""
    write = publish._write_twin

    def wrong(pieces: Any, private: Path, name: str, at: int, frame: pl.DataFrame) -> None:
        changed = frame.with_columns(person=pl.Series(persons[: frame.height])) if name == "id_map" else frame
        write(pieces, private, name, at, changed)

    release = tv.MDAV(k=4).protect(data(persons=True), seed=1)
    release.write(tmp_path / "right")
    monkeypatch.setattr(publish, "_write_twin", wrong)
    with pytest.raises(GuaranteeError, match="fewer than 4 persons"):
        release.write(tmp_path / "wrong")


def test_an_id_map_that_lacks_a_person_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = publish._write_twin
    monkeypatch.setattr(
        publish, "_write_twin", lambda pieces, private, name, at, frame: write(pieces, private, name, at, frame[1:])
    )
    with pytest.raises(tv.errors.OutputError, match="does not name the person of every published row"):
        tv.MDAV(k=4).protect(data(persons=True), seed=1).write(tmp_path / "out")


@pytest.mark.parametrize(
    "names", [["a", "", "a,b", 'say "x"', "é", "0", "00", "null", "NA", " a"] * 8, list(range(10)) * 8]
)
def test_odd_names_survive_the_id_map(tmp_path: Path, names: list[Any]) -> None:
    values = np.random.default_rng(3).normal(size=(80, 3))
    made = tv.Dataset.from_arrays({"x": values}, persons=[n if n != " a" else "b" for n in names])
    folder = tv.MDAV(k=4).protect(made, seed=1).write(tmp_path / "out")
    told = json.loads((folder / "private" / "assessment.json").read_text())
    assert told["persons"] == 10
    found = CliRunner().invoke(main, ["verify", str(folder), "--json"])
    assert json.loads(found.stdout)["assessment"] == told
