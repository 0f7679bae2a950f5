"""Records that share a group cannot be told apart by the last bits of their values, in memory or in either file format."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.core.registry import METHODS

GROUPING = ["mdav", "v-mdav", "p-sensitive", "optimal-univariate", "projected"]


def nasty() -> tv.Dataset:
    """Thirds, offsets, signs and zeros of both signs: sums that depend on their order in the last bits."""
    rng = np.random.default_rng(8)
    values = rng.normal(0, 1, (60, 6)) / 3 + 1e6 * rng.integers(0, 2, (60, 1))
    values[::7] = 0.0
    values[1::7] = -0.0
    values[::11] *= 1e-9
    return tv.Dataset.from_arrays({"load": values}, confidential={"tariff": ["a", "b", "c"] * 20})


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("representative", ["mean", "median"])
@pytest.mark.parametrize("name", GROUPING)
def test_members_of_a_group_have_the_same_bits(tmp_path: Path, name: str, representative: str, form: Any) -> None:
    names = {parameter.name for parameter in METHODS[name].parameters()}
    wanted = {"k": 4, "representative": representative, "columns": "tariff"}
    release = (
        METHODS[name]
        .from_settings({key: value for key, value in wanted.items() if key in names})
        .protect(nasty(), seed=1)
    )
    folder = release.write(tmp_path / "out", format=form, measures={"models": ["ses"]})
    path = folder / "published" / f"data.{form}"
    columns = list(release.data.columns)
    place = pl.read_csv(folder / "private" / "id_map.csv")["published_row"].to_numpy() - 1
    if form == "csv":
        with path.open(newline="") as file:
            written = np.array([[row[c] for c in columns] for row in csv.DictReader(file)], dtype=object)[place]
        assert not (written == "-0.0").any()
    else:
        written = pl.read_parquet(path).select(columns).to_numpy().view(np.uint64)[place]
    assert release.groups
    for labels in release.groups.values():
        for at in range(len(columns)):
            own = labels if labels.ndim == 1 else labels[:, at]
            for group in np.unique(own):
                assert len(set(written[own == group, at])) == 1
