"""A written release as an object again, for whoever has its private folder and the original data.

The published file is read, its rows are put back in the order of the original by the id map, and the method and its promise are
made again from `private/release.json`. So a release can be measured once more, by other options or next to another one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil._types import Indices
from tsveil.data.dataset import Dataset
from tsveil.data.intervals import read_intervals
from tsveil.data.published import read_like
from tsveil.errors import InputError, some
from tsveil.registry import method
from tsveil.release import MARKER, Release, made_of, release_of


def reopened(folder: str | Path, original: Dataset) -> Release:
    """The release in a folder, made from these original data.

    Examples
    --------
    >>> import tempfile, tsveil as tv
    >>> data = tv.example("food-prices")
    >>> made = tv.MDAV(k=2).protect(data)
    >>> again = reopened(made.write(tempfile.mkdtemp() + "/release"), data)
    >>> bool((again.data.values == made.data.values).all()), str(again.method)
    (True, 'MDAV(k=2)')
    """
    folder = Path(folder)
    facts, ids = release_facts(folder), _id_map(folder)
    rows = _rows(folder, ids, original)
    chosen = method(facts["method"], facts["settings"])
    place = _published(folder)
    width = chosen.width(len(original.columns))
    made = np.zeros((original.n, width))
    order = np.full(original.n, -1, dtype=np.int64)
    if width != len(original.columns):
        layout = original.layout
        table = read_intervals(place, separator=layout.separator, decimal=layout.decimal)
        at = _numbers(folder, ids)
        if at.max(initial=0) >= table.n:
            raise InputError(f"{folder}: the id map names row {at.max() + 1}, but {place.name} has {table.n} records")
        made[rows] = made_of(table, width)[at]
        # Suppressed records come last: their place is seen nowhere.
        order[at] = rows
        order[order < 0] = np.setdiff1d(np.arange(original.n), rows)
    else:
        published = read_like(place, original)
        if published.n != original.n or len(rows) != original.n:
            raise InputError(
                f"{folder} has {published.n} records and names {len(rows)}, the original data have {original.n}\n"
                "  options: the data as they were read for this release, with the same options"
            )
        if original.id is None:
            at = _numbers(folder, ids)
        else:
            found = {str(name): number for number, name in enumerate(published.ids.to_list())}
            if missing := [name for name in ids["released"] if name not in found]:
                raise InputError(f"{folder}: {place.name} has no record {some(missing)}, which the id map names")
            at = np.array([found[name] for name in ids["released"]], dtype=np.int64)
        made[rows] = published.values[at]
        order[at] = rows
    return release_of(
        original,
        made,
        order,
        method=chosen,
        guarantee=chosen.guarantee(original),
        seed=int(facts["seed"]),
        warnings=tuple(facts.get("warnings", ())),
    )


def release_facts(folder: Path) -> dict[str, Any]:
    """What `private/release.json` says; an error where a folder is no release."""
    path = folder / MARKER
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder} is not a release with its private side: {path} cannot be read\n"
            "  options: the folder that `tsveil run` or `tsveil protect` made, with published/ and private/ in it"
        ) from error
    if not isinstance(facts, dict) or not {"method", "settings", "seed"} <= set(facts):
        raise InputError(f"{path} does not say how the release was made")
    return facts


def _id_map(folder: Path) -> pl.DataFrame:
    path = folder / "private" / "id_map.csv"
    try:
        return pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _rows(folder: Path, ids: pl.DataFrame, original: Dataset) -> Indices:
    """The original row of each record of the id map."""
    place = {str(name): row for row, name in enumerate(original.ids.to_list())}
    if foreign := [name for name in ids["original"] if name not in place]:
        raise InputError(
            f"{folder} is not a release of these data: they have no record {some(foreign)}\n"
            "  options: the data as they were read for this release, with the same options"
        )
    return np.array([place[name] for name in ids["original"]], dtype=np.int64)


def _numbers(folder: Path, ids: pl.DataFrame) -> Indices:
    """The published row of each record of the id map, from 0."""
    try:
        return ids["published_row"].cast(pl.Int64).to_numpy() - 1
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{folder}/private/id_map.csv has no usable column 'published_row': {error}") from error


def _published(folder: Path) -> Path:
    for name in ("data.csv", "data.parquet"):
        if (folder / "published" / name).is_file():
            return folder / "published" / name
    raise InputError(f"{folder}/published has neither data.csv nor data.parquet")
