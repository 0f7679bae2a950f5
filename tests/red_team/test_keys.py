"""The red team of local suppression: attacks on emptied keys from the definition and the published rows alone, which must find no more than the report says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from tsveil.core.types import Array, Indices, Mask
from tsveil.protect.local_suppression import LocalSuppression
from tsveil.release.publish import judge_unwritten_release

#: from the classes that fit a person's keys (for each its filled cells and its records) to those that the intruder believes in
Belief = Callable[[Indices, Indices], Mask]


def fullest(filled: Indices, records: Indices) -> Mask:
    """Cells are emptied where they must be, so what still shows the keys is it."""
    return np.asarray(filled == filled.max())


def smallest(filled: Indices, records: Indices) -> Mask:
    """A guess within a small class is right more often."""
    return np.asarray(records == records.min())


def any_of_them(filled: Indices, records: Indices) -> Mask:
    """All that is possible."""
    return np.ones(len(filled), dtype=np.bool_)


def fullest_of_the_smallest(filled: Indices, records: Indices) -> Mask:
    """Of the classes with most keys the smallest."""
    top = fullest(filled, records)
    return np.asarray(top & (records == records[top].min()))


def keys(n: int, seed: int) -> tv.Dataset:
    """Keys with common and rare labels."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name, many in (("sex", 2), ("region", 12), ("education", 6), ("size", 4)):
        share = 1 / np.arange(1, many + 1) ** rng.uniform(0.5, 1.5)
        columns[name] = rng.choice(many, n, p=share / share.sum()).astype(str)
    frame = pl.DataFrame({"id": range(n), **columns})
    return tv.Dataset.from_frame(frame, id="id", categories=dict.fromkeys(columns, "nominal"))


def found_by(belief: Belief, original: Indices, shown: Indices) -> float:
    """The share of persons who are found, in percent."""
    rows, of_row, records = np.unique(shown, axis=0, return_inverse=True, return_counts=True)
    filled, of_row, found = (rows >= 0).sum(axis=1), of_row.ravel(), 0.0
    for person, known in enumerate(original):
        fits = np.flatnonzero(((rows < 0) | (rows == known)).all(axis=1))
        chosen = fits[belief(filled[fits], records[fits])]
        found += float(of_row[person] in chosen) / records[chosen].sum()
    return 100 * found / len(original)


SETTINGS: list[dict[str, Any]] = [{}, {"search": "greedy"}, {"subsets": 2}, {"empty": "wildcard"}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_it_finds_no_more_than_the_report_says(settings: dict[str, Any], seed: int) -> None:
    data = keys(400, seed)
    release = LocalSuppression(k=4, **settings).protect(data, seed=1)
    empty = np.array([categories.empty_code for categories in release.data.labels.values()])
    shown = np.where(release.data.values == empty, -1, release.data.values).astype(np.int64)
    _, verdict = judge_unwritten_release(release, release.verify())
    said: dict[str, float] = {}
    for one in verdict.ladder:
        said[one.rung] = max(said.get(one.rung, 0.0), one.rate)
    original: Array = data.values
    rates = {
        belief.__name__: found_by(belief, original.astype(np.int64), shown)
        for belief in (fullest, smallest, any_of_them, fullest_of_the_smallest)
    }
    assert max(rates.values()) <= said["person"] * 1.05 + 0.3, rates
    assert max(rates.values()) <= said["file"] * (1 + 1e-9), rates
    if not settings or "search" in settings:
        assert said["file"] <= 25
