"""Input files for the tests of engines, and what a release in files holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tsveil._types import Array


def write_files(folder: Path, frame: pl.DataFrame, count: int) -> Path:
    """A data set in so many files of unequal size."""
    folder.mkdir(parents=True)
    cuts = [round(frame.height * (at / count) ** 1.5) for at in range(count + 1)]
    for at in range(count):
        frame[cuts[at] : cuts[at + 1]].write_parquet(folder / f"{at:03d}.parquet")
    return folder


def walks(n: int, points: int, seed: int = 1) -> Array:
    found: Array = np.random.default_rng(seed).normal(size=(n, points)).cumsum(axis=1)
    return found


def published(folder: Path) -> pl.DataFrame:
    """All published rows, in their order."""
    return pl.concat([pl.read_parquet(file) for file in sorted((folder / "published" / "data").glob("*.parquet"))])


def private(folder: Path, what: str = "id_map") -> pl.DataFrame:
    """Who is who, or the risk of each record, in the order of the published rows; empty if there are no such files."""
    files = sorted((folder / "private" / what).glob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]) if files else pl.DataFrame()
