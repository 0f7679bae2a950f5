"""Linkage by the keys that are left, against its definition, on random releases of local suppression."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import naive_labels
import tsveil as tv
from tsveil.attack.fullest_keys import FullestKeys
from tsveil.protect.local_suppression import LocalSuppression
from tsveil.release.publish import judge_unwritten_release


def keys(n: int, seed: int) -> tv.Dataset:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"id": range(n)}
        | {
            name: rng.choice(many, n, p=np.arange(1, many + 1) / sum(range(many + 1))).astype(str)
            for name, many in (("a", 2), ("b", 5), ("c", 3))
        }
    )
    return tv.Dataset.from_frame(frame, id="id", categories=dict.fromkeys("abc", "nominal"))


@pytest.mark.parametrize("settings", [{}, {"empty": "wildcard"}, {"subsets": 1}, {"search": "greedy"}], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_definition(settings: dict[str, Any], seed: int) -> None:
    data = keys(60, seed)
    release = LocalSuppression(k=3, **settings).protect(data, seed=1)
    kinds: list[Any] = [("nominal", categories.labels) for categories in data.labels.values()]
    before = [c.texts(v).to_list() for c, v in zip(data.labels.values(), data.values.T, strict=True)]
    after = [
        c.texts(v).fill_null("*").to_list()
        for c, v in zip(release.data.labels.values(), release.data.values.T, strict=True)
    ]
    known, shown = list(zip(*before, strict=True)), list(zip(*after, strict=True))
    rates = []
    for count in (1, 2, 3):
        best = [naive_labels.fullest(kinds, row[:count], shown) for row in known]
        rates.append(100 * np.mean([(at in rows) / len(rows) for at, rows in enumerate(best)]))
    assert FullestKeys().links(data, release).rate == pytest.approx(rates[-1])
    _, verdict = judge_unwritten_release(release, release.verify())
    found = {one.rung: one.rate for one in verdict.ladder if one.attack == "fullest-keys"}
    assert found == {"part": pytest.approx(np.mean(rates)), "person": pytest.approx(rates[-1])}


def test_releases_without_empty_cells_are_not_tried() -> None:
    for method in (tv.MDAV(k=3), tv.MDAV(k=3, representative="generalise")):
        release = method.protect(keys(40, 0), seed=1)
        _, verdict = judge_unwritten_release(release, release.verify())
        assert "fullest-keys" not in {one.attack for one in verdict.ladder}
