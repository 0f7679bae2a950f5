"""The same nasty numbers and names in data that are protected in chunks and parts: right or refused, as in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from engine_files import protect_files, published, write_files
from nasty.test_numbers import SQUARED
from tsveil.core.errors import InputError
from tsveil.core.registry import METHODS
from tsveil.core.types import Array

BASE = np.random.default_rng(0).gamma(2, 1, (64, 8))
COLUMNS = [str(t) for t in range(1, 9)]


def result(folder: Path, kind: Any, values: Array) -> Array:
    names = {parameter.name for parameter in kind.parameters()}
    settings: dict[str, Any] = {"k": 4, "P": 2, "n": 2, "l": 5, "columns": "tariff"}
    method = kind.from_settings({key: value for key, value in settings.items() if key in names})
    frame = pl.DataFrame(values, schema=COLUMNS).with_columns(tariff=pl.Series(["a", "b"] * 32))
    place = write_files(folder / "in", frame, 2)
    release = protect_files(place, method, folder / "out", seed=1, part=30, chunk=25, file=25, confidential=["tariff"])
    return published(release.folder).select(pl.col(pl.Float64)).to_numpy()


@pytest.mark.parametrize("kind", METHODS.values())
def test_the_unit_does_not_matter_or_is_refused(tmp_path: Path, kind: Any) -> None:
    plain = result(tmp_path / "plain", kind, BASE)
    for exponent in (-1000, -400, 480):
        found = result(tmp_path / str(exponent), kind, BASE * 2.0**exponent)
        assert np.array_equal(np.ldexp(found, -exponent), plain), exponent
    if kind.name in SQUARED:
        with pytest.raises(InputError, match=r"beyond 1e\+150"):
            result(tmp_path / "990", kind, BASE * 2.0**990)
        assert not (tmp_path / "990" / "out").exists()
    else:
        assert np.array_equal(np.ldexp(result(tmp_path / "990", kind, BASE * 2.0**990), -990), plain)


@pytest.mark.parametrize(("one", "other"), [("Andr\u00e9", "Andre\u0301"), ("h1", "h1 "), ("h1", "h\u200b1")])
def test_ids_that_look_the_same_are_refused_in_different_files_too(tmp_path: Path, one: str, other: str) -> None:
    names = [one, *(f"p{i}" for i in range(62)), other]
    frame = pl.DataFrame(BASE, schema=COLUMNS).with_columns(who=pl.Series(names))
    place = write_files(tmp_path / "in", frame, 2)
    with pytest.raises(
        InputError,
        match=r"column 'who': two ids look the same \('.*'\) but are written differently \('000.parquet, row 1', '001.parquet, row",
    ):
        protect_files(place, tv.MDAV(k=4), tmp_path / "out", chunk=25, id="who")
