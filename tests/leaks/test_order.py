"""The place of a record in a published file says nothing about its place in the original, nor about its values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

import tsveil as tv

RECORDS, SEEDS = 150, 12
#: the rank correlation of two independent orders has this standard deviation
SPREAD = 1 / np.sqrt(RECORDS - 1)


def some_data() -> tv.Dataset:
    """Sorted, as files are: the first record has the lowest values."""
    values = np.sort(np.random.default_rng(2).gamma(2, 1, (RECORDS, 4)), axis=0)
    return tv.Dataset.from_arrays({"load": values}, ids=[f"h{i}" for i in range(RECORDS)])


@pytest.mark.parametrize("layout", ["wide", "long", "intervals"])
def test_published_rows_are_in_random_order(tmp_path: Path, layout: str) -> None:
    data = some_data()
    if layout == "long":
        frame = pl.DataFrame(
            [(f"h{i}", t, data.values[i, t]) for i in range(RECORDS) for t in range(4)],
            schema=["who", "time", "load"],
            orient="row",
        )
        data = tv.Dataset.from_long(frame, id="who", time="time", value="load")
    made: Any = tv.KP(k=4, P=2, word_length=2) if layout == "intervals" else tv.MDAV(k=3)
    by_place, by_value, orders = [], [], set()
    for seed in range(SEEDS):
        release = made.protect(data, seed=seed)
        measures = {} if layout == "intervals" else {"models": ["ses"]}
        folder = release.write(tmp_path / f"{layout}{seed}", measures=measures)
        link = pl.read_csv(folder / "private" / "id_map.csv")
        place = np.array([int(name[1:]) for name in link["original"]])
        orders.add(tuple(link["published_row"]))
        by_place.append(spearmanr(place, link["published_row"]).statistic)
        by_value.append(spearmanr(data.values[place, 0], link["published_row"]).statistic)
        # The link itself is true: the row in the file is the one of the release.
        if layout == "wide":
            published = pl.read_csv(folder / "published" / "data.csv")
            rows = link["published_row"].to_numpy() - 1
            assert np.allclose(published["0"].to_numpy()[rows], release.data.values[:, 0])
    assert len(orders) == SEEDS
    for found in (by_place, by_value):
        assert max(map(abs, found)) < 5 * SPREAD
        assert abs(np.mean(found)) < 4 * SPREAD / np.sqrt(SEEDS)


def test_new_identifiers_say_nothing_of_the_old_ones(tmp_path: Path) -> None:
    release = tv.MDAV(k=3).protect(some_data(), seed=3)
    published, order = release.published(), release.store.get("records")
    assert isinstance(published, tv.Dataset)
    assert abs(spearmanr(np.argsort(published.ids.to_numpy()), np.argsort(order)).statistic) < 5 * SPREAD
    assert abs(spearmanr(published.ids.rank().to_numpy(), np.arange(RECORDS)).statistic) < 5 * SPREAD
    again = tv.MDAV(k=3).protect(some_data()).published()
    assert isinstance(again, tv.Dataset)
    assert not set(again.ids) & set(published.ids)
