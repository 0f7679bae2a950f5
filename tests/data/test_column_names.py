"""Names of columns that mean something to a library: they work, or are refused before the work."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.core.errors import InputError

PATTERNS = ["*", "^a$", "^.*$", "^$"]
PLAIN = [
    'width 10"',
    '"',
    '""',
    'a"b"',
    "a\x01",
    "a\nb",
    "{a}",
    "$b$",
    "%d",
    "<b>",
    "^a",
    "a$",
    "**",
    "'",
    "a,b",
    " a ",
]


def table(path: Path, column: str, role: str) -> Path:
    names = {"id": "id", "first": "x", "second": "y", "carried": "town"} | {role: column}
    rng = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(names.values())
        rows.writerows([f"h{i}", *rng.random(2).round(3), "ab"[i % 2]] for i in range(12))
    return path


def options(column: str, role: str) -> dict[str, object]:
    roles = {"id": "id", "first": "x", "carried": "town"} | {role: column}
    return {"id": roles["id"], "blocks": {"all": [roles["first"], "y"]}, "confidential": [roles["carried"]]}


@pytest.mark.parametrize("role", ["id", "first", "carried"])
@pytest.mark.parametrize("column", PLAIN)
def test_a_name_goes_from_file_to_file(tmp_path: Path, column: str, role: str) -> None:
    data = tv.read(table(tmp_path / "in.csv", column, role), **options(column, role))  # type: ignore[arg-type]
    folder = tv.MDAV(k=3).protect(data, seed=1).write(tmp_path / "out", formulas="keep")
    with (folder / "published" / "data.csv").open(newline="") as file:
        assert column in next(csv.reader(file))


@pytest.mark.parametrize("role", ["id", "first", "carried"])
@pytest.mark.parametrize("column", PATTERNS)
def test_a_pattern_is_refused_before_the_work(tmp_path: Path, column: str, role: str) -> None:
    given = options(column, role)
    path = table(tmp_path / "in.csv", column, role)
    frame = pl.read_csv(path)
    frame.write_parquet(tmp_path / "in.parquet")
    ways: list[Callable[[], object]] = [
        lambda: tv.read(path, **given),  # type: ignore[arg-type]
        lambda: tv.read(tmp_path / "in.parquet", **given),  # type: ignore[arg-type]
        lambda: tv.read(tmp_path / "in.parquet", memory=1, **given),  # type: ignore[arg-type]
        lambda: tv.Dataset.from_frame(frame, **given),  # type: ignore[arg-type]
    ]
    for way in ways:
        with pytest.raises(InputError, match="a name like this stands for several columns"):
            way()


@pytest.mark.parametrize("word", [*PATTERNS, *PLAIN])
def test_words_that_become_names_of_series(tmp_path: Path, word: str) -> None:
    rows = [(f"h{i}", t, s, i * 3 + t + 0.5) for i in range(12) for t in range(3) for s in (word, "gas")]
    frame = pl.DataFrame(rows, schema=["id", "t", "what", "v"], orient="row")
    data = tv.Dataset.from_long(frame, id="id", time="t", value="v", variable="what")
    folder = tv.MDAV(k=3).protect(data, seed=1).write(tmp_path / "out", formulas="keep")
    assert set(pl.read_csv(folder / "published" / "data.csv")["what"]) == {word, "gas"}
