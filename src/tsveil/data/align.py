"""Which released record belongs to which original one.

Releases are shuffled and renamed, so whoever scores one needs the truth: the id map on the private side, or equal ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tsveil.core.errors import InputError, some
from tsveil.data.dataset import Dataset

Truth = Mapping[Any, Any] | pl.DataFrame | str | Path | None


def released_names(original: Dataset, truth: Truth) -> dict[str, str]:
    """The truth as a mapping: original id -> released id, both as text.

    `truth` is such a mapping, a frame or a CSV file with the columns 'original' and 'released' (the id map that a release keeps
    in private/), or "id" when both files have the same ids.

    Examples
    --------
    >>> import tsveil as tv
    >>> released_names(tv.Dataset.from_arrays({"x": [[1.0], [2.0]]}, ids=["a", "b"]), "id")
    {'a': 'a', 'b': 'b'}
    """
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
