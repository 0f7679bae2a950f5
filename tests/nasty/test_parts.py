"""The same nasty numbers and names in data that are protected in parts: right or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from engine_files import protect_files, published, write_files
from tsveil._types import Array
from tsveil.errors import InputError
from tsveil.large import ways

BASE = np.random.default_rng(0).gamma(2, 1, (64, 8))
COLUMNS = [str(t) for t in range(1, 9)]


def result(folder: Path, kind: Any, values: Array) -> Array:
    names = {parameter.name for parameter in kind.parameters()}
    settings = {"k": 4, "P": 2, "n": 2, "l": 5}
    method = kind.from_settings({key: value for key, value in settings.items() if key in names})
    source = tv.source(write_files(folder / "in", pl.DataFrame(values, schema=COLUMNS), 2))
    release = protect_files(source, method, folder / "out", seed=1, part=30, chunk=25)
    return published(release.folder).select(pl.col(pl.Float64)).to_numpy()


@pytest.mark.parametrize("kind", METHODS_IN_CHUNKS)
def test_the_unit_does_not_matter_or_is_refused(tmp_path: Path, kind: Any) -> None:
    plain = result(tmp_path / "plain", kind, BASE)
    for exponent in (-400, 480):
        found = result(tmp_path / str(exponent), kind, BASE * 2.0**exponent)
        assert np.array_equal(np.ldexp(found, -exponent), plain), exponent
    for exponent, told in ((-1000, r"differ by less than 1e-140"), (990, r"are beyond 1e\+150")):
        with pytest.raises(InputError, match=rf"the values of '1', '2'.* {told}: their squares leave the range"):
            result(tmp_path / str(exponent), kind, BASE * 2.0**exponent)
        assert not (tmp_path / str(exponent) / "out").exists()


@pytest.mark.parametrize(("one", "other"), [("Andr\u00e9", "Andre\u0301"), ("h1", "h1 "), ("h1", "h\u200b1")])
def test_ids_that_look_the_same_are_refused_in_different_files_too(tmp_path: Path, one: str, other: str) -> None:
    names = [one, *(f"p{i}" for i in range(62)), other]
    frame = pl.DataFrame(BASE, schema=COLUMNS).with_columns(who=pl.Series(names))
    source = tv.source(write_files(tmp_path / "in", frame, 2), id="who")
    with pytest.raises(
        InputError,
        match=r"column 'who': two ids look the same \('.*'\) but are written differently \('000.parquet, row 1', '001.parquet, row",
    ):
        protect_files(source, tv.MDAV(k=4), tmp_path / "out", chunk=25)
