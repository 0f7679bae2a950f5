"""Which released record belongs to which original one.

Releases are shuffled and renamed, so whoever scores one needs the truth: the id map on the private side, or equal ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tsveil.data.dataset import Dataset
from tsveil.errors import InputError, some

Truth = Mapping[Any, Any] | pl.DataFrame | str | Path | None


def aligned(original: Dataset, released: Dataset, truth: Truth = None) -> Dataset:
    """The released records in the order of the original ones.

    `truth` maps original ids to released ids: a mapping, a frame or a CSV file with the columns 'original' and 'released' (the
    id map that a release keeps in private/), or "id" when both files have the same ids. Without it rows are taken as aligned.

    Examples
    --------
    >>> import tsveil as tv
    >>> original = tv.Dataset.from_arrays({"x": [[1.0], [2.0]]}, ids=["a", "b"])
    >>> released = tv.Dataset.from_arrays({"x": [[2.5], [1.5]]}, ids=["r2", "r1"])
    >>> aligned(original, released, {"a": "r1", "b": "r2"}).block("x").ravel()
    array([1.5, 2.5])
    """
    if truth is None:
        if original.n != released.n:
            raise InputError(
                f"the original has {original.n} records and the release {released.n}, so rows cannot be aligned by position\n"
                "  options: give the truth (truth=... or --truth FILE), which links original and released ids"
            )
        return released
    names = released_names(original, truth)
    places = {str(name): row for row, name in enumerate(released.ids.to_list())}
    rows: list[int] = []
    lost: list[str] = []
    for name in original.ids.to_list():
        at = places.get(names.get(str(name), ""))
        if at is None:
            lost.append(str(name))
        else:
            rows.append(at)
    if lost:
        raise InputError(
            f"{len(lost)} of {original.n} original records have no released record in the truth: {some(lost)}\n"
            "  options: check that the truth belongs to these two files and that both have their id columns"
        )
    return released.take(np.array(rows, dtype=np.int64))


def released_names(original: Dataset, truth: Truth) -> dict[str, str]:
    """The truth as a mapping: original id -> released id, both as text."""
    if isinstance(truth, str) and truth == "id":
        return {str(name): str(name) for name in original.ids.to_list()}
    if isinstance(truth, (str, Path)):
        try:
            truth = pl.read_csv(truth, infer_schema=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"the truth {truth} cannot be read: {error}") from error
    if isinstance(truth, pl.DataFrame):
        if not {"original", "released"} <= set(truth.columns):
            raise InputError(f"the truth needs the columns 'original' and 'released'. It has {some(truth.columns)}.")
        pairs = zip(truth["original"].cast(pl.String), truth["released"].cast(pl.String), strict=True)
        return dict(pairs)
    assert truth is not None
    return {str(key): str(value) for key, value in truth.items()}
