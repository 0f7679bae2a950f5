"""Where the experiments take their data: a folder with the files of the papers, and what is computed once for several tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from tsveil.core.errors import InputError, some
from tsveil.data.dataset import Dataset

T = TypeVar("T")

#: file -> what it must hold
FILES = {
    "census.csv": "the CASC reference file Census: 1080 records, 13 attributes",
    "eia.csv": "the CASC reference file EIA: 4092 records, 10 numerical attributes",
    "water_treatment.csv": "UCI water treatment plant: 527 records (380 of them complete), 38 attributes",
    "iris.csv": "UCI iris: 150 records, 4 attributes",
    "abalone.csv": "UCI abalone: 4177 records, 8 numerical attributes",
    "ionosphere.csv": "UCI ionosphere: 351 records, attributes V1 to V34",
    "dermatology.csv": "UCI dermatology: 366 records, 34 attributes",
    "boston.csv": "Boston housing: 506 records, 14 attributes",
    "wdbc.csv": "UCI Wisconsin diagnostic breast cancer: 569 records, diagnosis and 30 attributes",
    "m3_long.csv.gz": "the M3 competition, 3003 series in long layout: series_id, part (in or future), t, value",
    "smart_meter.csv": "hourly readings of households, a row for each, two weeks; any such file will do",
    "football.csv": "league seasons in long layout: league, team, season, variable, value; any such file will do",
    "stocks.csv": "daily opening prices, a row for each company; any such file will do",
}


class Source:
    """The files of a folder, each read once; without a folder only what comes with the package."""

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None and not self.folder.is_dir():
            raise InputError(
                f"there is no folder {self.folder}\n  options: --data names the folder with the data files"
            )
        self._made: dict[Hashable, Any] = {}

    def lacks(self, files: Sequence[str]) -> list[str]:
        """Which of these files are not there."""
        return [name for name in files if self.folder is None or not (self.folder / name).is_file()]

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returns, made at the first call only."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def frame(self, name: str, columns: Sequence[str] = ()) -> pl.DataFrame:
        """A file as it is; it must have these columns."""

        def read() -> pl.DataFrame:
            assert self.folder is not None
            return pl.read_csv(self.folder / name, infer_schema_length=None)

        frame = self.once(("file", name), read)
        absent = [column for column in columns if column not in frame.columns]
        if absent:
            raise InputError(f"{name} has no column {some(absent)}: it must be {FILES[name]}")
        return frame


def attributes(frame: pl.DataFrame, blocks: Sequence[Sequence[str]]) -> Dataset:
    """A data set of attributes, block after block."""
    named = {f"block {i}": list(columns) for i, columns in enumerate(blocks, 1)}
    columns = [column for block in named.values() for column in block]
    return Dataset.from_frame(frame.select(columns), blocks=named, times=dict.fromkeys(named))


def in_blocks(columns: Sequence[str], size: int) -> list[list[str]]:
    """Blocks of `size` attributes in their order; those left over at the end are dropped, as the thesis does.

    Examples
    --------
    >>> in_blocks("abcdefg", 3)
    [['a', 'b', 'c'], ['d', 'e', 'f']]
    """
    return [list(columns[i : i + size]) for i in range(0, len(columns) - size + 1, size)]
