"""A release whose private side is damaged is refused in words by whatever opens it, or judged; never with a traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import tsveil as tv
from tsveil.cli import main
from tsveil.core.errors import InputError
from tsveil.data.write import as_frame
from tsveil.release.publish import read_id_map
from tsveil.release.reopen import judge_release, published_series, reopen_release

WRONG: list[Any] = [None, True, -1, 2.5, "x", [], {}, [None], {"a": 1}]
#: damage of an id map -> what is left of it
MAPS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "no column 'original'": lambda ids: ids.drop("original"),
    "no column 'released'": lambda ids: ids.drop("released"),
    "no column 'published_row'": lambda ids: ids.drop("published_row"),
    "another header": lambda ids: ids.rename({"original": "orginal", "released": "\u0661"}),
    "a row is missing": lambda ids: ids[1:],
    "a row occurs twice": lambda ids: pl.concat([ids, ids[:1]]),
    "a name is missing": lambda ids: ids.with_columns(original=pl.Series([None, *ids["original"][1:]])),
    "another name": lambda ids: ids.with_columns(original=pl.Series(["nobody", *ids["original"][1:]])),
    "a place that is no number": lambda ids: ids.with_columns(published_row=pl.lit("x")),
    "a place that is not there": lambda ids: ids.with_columns(published_row=pl.lit("99")),
    "place 0": lambda ids: ids.with_columns(published_row=pl.lit("0")),
    "no rows": lambda ids: ids.clear(),
}


@pytest.fixture(scope="module")
def original() -> tv.Dataset:
    values = np.random.default_rng(3).gamma(2, 1, (9, 4)).round(2)
    return tv.Dataset.from_arrays({"load": values}, ids=[f"h{at}" for at in range(9)])


@pytest.fixture(scope="module")
def made(original: tv.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    release = tv.MDAV(k=3).protect(original, seed=1)
    return release.write(tmp_path_factory.mktemp("damaged") / "release", measures={"models": ["ses"]})


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "release"))


def openings(folder: Path, original: tv.Dataset) -> dict[str, Callable[[], object]]:
    """Everything that opens the folder of a release."""
    return {
        "verify": lambda: judge_release(folder).to_dict(),
        "compare": lambda: reopen_release(folder, original),
        "attack": lambda: published_series(folder),
    }


def damaged(document: Any) -> Iterator[tuple[str, Any]]:
    """The document with one value missing, or with a wrong one in its place."""

    def places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if path:
            yield path
        # Long lists are all of one kind: the first says what all say.
        keys = list(value) if isinstance(value, dict) else list(range(min(1, len(value)))) if isinstance(value, list) else []  # fmt: skip
        for key in keys:
            yield from places(value[key], (*path, key))

    for number, path in enumerate(places(document, ())):
        for wrong in [..., *(WRONG[(3 * number + at) % len(WRONG)] for at in range(3))]:
            changed = deepcopy(document)
            place = changed
            for key in path[:-1]:
                place = place[key]
            if wrong is ...:
                del place[path[-1]]
            else:
                place[path[-1]] = wrong
            yield f"{'.'.join(map(str, path))} = {wrong!r}", changed
    for wrong in WRONG:
        yield f"all is {wrong!r}", wrong


@pytest.mark.parametrize(("file", "by"), [("release.json", "verify"), ("release.json", "compare"), ("release.json", "attack"), ("assessment.json", "verify")])  # fmt: skip
def test_damaged_facts_are_told_in_words(folder: Path, original: tv.Dataset, file: str, by: str) -> None:
    place = folder / "private" / file
    refused = 0
    # What is only for people to read makes no difference: once is enough.
    told = json.loads(place.read_text())
    for shown in ("facts", "scores", "measured"):
        told.pop(shown, None)
    for what, document in damaged(told):
        place.write_text(json.dumps(document))
        try:
            openings(folder, original)[by]()
        except InputError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{by} with {file} in which {what}") from error
    assert refused > 20


@pytest.mark.parametrize("what", MAPS)
def test_a_damaged_id_map_is_told_in_words(folder: Path, original: tv.Dataset, what: str) -> None:
    place = folder / "private" / "id_map.csv"
    MAPS[what](read_id_map(folder / "private")).write_csv(place)
    as_frame(original).write_csv(folder.parent / "original.csv")
    commands = [
        ("compare", folder, folder, "--original", folder.parent / "original.csv"),
        ("verify", folder),
        ("attack", folder, "--other-period", folder.parent / "original.csv"),
    ]
    codes = []
    for words in commands:
        ended = CliRunner().invoke(main, [str(word) for word in words])
        assert ended.exception is None or isinstance(ended.exception, SystemExit), (words, ended.exc_info)
        codes.append(ended.exit_code)
    assert set(codes) <= {0, 1, 2}
    # Only `compare` needs all of the map.
    if what not in ("no column 'published_row'", "a place that is no number", "a place that is not there", "place 0"):
        assert codes[0] == 2
