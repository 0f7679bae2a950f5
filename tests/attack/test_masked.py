"""Attacks and measures of releases of records with gaps against their definitions, in memory, in chunks and with nothing left out in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive_gaps
import tsveil as tv
from cases import cases
from tsveil.assess.classes import Classes
from tsveil.assess.subtraction import share_by_subtraction, share_with_gaps
from tsveil.attack.choose import links_by_attack
from tsveil.attack.masked import NearestWithGaps, PatternOfGaps
from tsveil.core.errors import ParameterError
from tsveil.core.types import Array
from tsveil.guarantee.counting import classes_of_rows
from tsveil.measure.series_loss import record_losses


def values_with_gaps(rng: np.random.Generator, n: int, columns: int, share: float) -> Array:
    x = rng.normal(size=(n, columns)).cumsum(axis=1) + 20
    gaps = rng.random(x.shape) < share
    gaps[:, 0] &= ~gaps.all(axis=1)
    x[gaps] = np.nan
    return np.asarray(x)


def data_of(x: Array, *, series: bool = True, **more: Any) -> tv.Dataset:
    names = [str(at) if series else f"c{chr(97 + at)}" for at in range(x.shape[1])]
    frame = pl.DataFrame({"id": [f"a{at}" for at in range(len(x))], **{c: x[:, at] for at, c in enumerate(names)}})
    given = pl.DataFrame(more)
    frame = pl.concat([frame.fill_nan(None), given], how="horizontal") if more else frame.fill_nan(None)
    person = ["who"] if more else []
    return tv.Dataset.from_frame(frame, id="id", blocks={"load": names}, missing="mask", person=person)


def options(series: bool, models: Any = "fitting") -> dict[str, Any]:
    """The options of measuring that series know."""
    return {"models": models} if series else {}


def test_links_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(7)
    for _ in range(cases(6, 60)):
        x = values_with_gaps(rng, 24, 5, rng.random() * 0.6)
        data = data_of(x, series=False)
        release = tv.MDAV(k=3, refine="none").protect(data, seed=1)
        rows = release.rows
        y = release.data.values[rows]
        sd = np.nanstd(x, axis=0)
        known = (x - np.nanmean(x, axis=0)) / sd
        shown = (y - np.nanmean(x, axis=0)) / sd
        near = NearestWithGaps().links(data, release)
        expected = naive_gaps.linked(known[rows], shown, naive_gaps.twice_the_variances(known))
        assert near.correct == pytest.approx(expected.sum(), abs=1e-9)
        pattern = PatternOfGaps().links(data, release)
        ones = np.ones(5)
        gaps = np.isnan(y).sum(axis=0)
        rare = [-np.log((count + 1) / (len(y) + 2)) for count in (len(y) - gaps, gaps)]
        by_gaps = (naive_gaps.linked_by_gaps(x[rows], y, *each).sum() for each in ((ones, ones), rare))
        assert pattern.correct == pytest.approx(max(by_gaps), abs=1e-9)


def test_no_linkage_finds_more_than_replay() -> None:
    for series in (True, False):
        data = data_of(values_with_gaps(np.random.default_rng(3), 80, 6, 0.25), series=series)
        release = tv.MDAV(k=4).protect(data, seed=1)
        card = tv.evaluate(data, release, **options(series))
        classes = Classes.of(
            classes_of_rows(np.where(np.isnan(release.data.values), np.nan, release.data.values)[release.rows])
        )
        tried = {one.attack: one.rate for one in card.ladder}
        assert set(tried) == {"common-points", "gap-pattern"}
        assert max(tried.values()) <= 100 * classes.bound + 1e-9 <= 25 + 1e-9
        assert "it does not know gaps" in card.options["not measured"]
        assert "count as the mean of their column" in card.options["gaps"]


def test_complete_data_lose_the_same_with_and_without_masking() -> None:
    x = values_with_gaps(np.random.default_rng(2), 40, 12, 0.0)
    masked = data_of(x)
    frame = pl.DataFrame({"id": [f"a{at}" for at in range(40)], **{str(at): x[:, at] for at in range(12)}})
    plain = tv.Dataset.from_frame(frame, id="id", blocks={"load": [str(at) for at in range(12)]})
    made = tv.MDAV(k=4, refine="none")
    with_mask, without = made.protect(masked, seed=1), made.protect(plain, seed=1)
    assert np.allclose(with_mask.data.values, without.data.values, rtol=1e-12)
    one, other = (
        tv.evaluate(data, release, models="fitting") for data, release in ((masked, with_mask), (plain, without))
    )
    for figure in ("IL1", "IL2", "IL3", "IL", "ID"):
        assert one[figure] == pytest.approx(other[figure], rel=1e-6)
    assert one["GVLD"] == pytest.approx(other["EULD"])


@pytest.mark.parametrize("series", [True, False])
def test_losses_are_over_the_points_that_the_originals_have(series: bool) -> None:
    x = values_with_gaps(np.random.default_rng(5), 50, 6, 0.3)
    x[7] = np.nan
    data = data_of(x, series=series)
    release = tv.MDAV(k=5).protect(data, seed=1)
    card = tv.evaluate(data, release, **options(series, ["trend"]))
    y = np.where(np.isnan(release.data.values), np.nanmean(x, axis=0), release.data.values)
    there = ~np.isnan(x)
    if series:
        some = there.any(axis=1)
        away = np.where(there, np.abs(x - y) / np.maximum(np.abs(x), np.abs(y)), 0.0)
        assert card["IL2"] == pytest.approx(100 * (away[some].sum(axis=1) / there[some].sum(axis=1)).mean())
        at = np.arange(6.0)
        filled = [
            np.array([np.interp(at, at[t], row[t]) for row, t in zip(table[some], there[some], strict=True)])
            for table in (x, y)
        ]
        expected = record_losses(*filled, models=["trend"])
        assert card["IL3"] == pytest.approx(100 * expected.forecasts.mean())
    else:
        assert card["IL1"] == pytest.approx(100 * (np.abs(x - y)[there] / np.abs(x)[there]).mean())
        before, after = (pl.DataFrame(np.where(there, table, np.nan)).fill_nan(None) for table in (x, y))
        means = [np.array([column.mean() for column in table]) for table in (before, after)]
        assert card["IL2"] == pytest.approx(100 * (np.abs(means[0] - means[1]) / np.abs(means[0])).mean())
        stds = [np.array([column.var() for column in table], dtype=float) for table in (before, after)]
        assert card["IL4"] == pytest.approx(100 * (np.abs(stds[0] - stds[1]) / stds[0]).mean())


def test_the_written_release_has_the_same_figures_in_chunks(tmp_path: Path) -> None:
    data = data_of(values_with_gaps(np.random.default_rng(9), 60, 8, 0.3))
    texts = []
    for chunk in (None, 13):
        folder = (
            tv.MDAV(k=4).protect(data, seed=1, chunk=chunk).write(tmp_path / str(chunk), measures={"models": "fitting"})
        )
        texts.append((folder / "private" / "assessment.json").read_text())
    assert texts[0] == texts[1]
    assert '"subtraction"' in texts[0]


def test_persons_with_several_records_are_counted() -> None:
    rng = np.random.default_rng(4)
    who = [f"p{at // 3}" for at in range(90)]
    data = data_of(values_with_gaps(rng, 90, 5, 0.3), who=who)
    for share in ("bounded", "told"):
        release = tv.MDAV(k=4, share=share).protect(data, seed=1)
        assert release.verify().holds
        assert release.facts["load"]["smallest number of persons behind a value"] >= 2
    assert 0 < tv.evaluate(data, release, models="fitting")["GVLD"] <= 100


def test_subtraction_counts_those_who_have_a_value() -> None:
    of_row = np.repeat(np.arange(20), 5)
    full = np.ones(100, dtype=np.bool_)
    assert share_with_gaps(of_row, [full]) == share_by_subtraction(of_row)
    rng = np.random.default_rng(1)
    there = rng.random((6, 100)) < 0.6
    found = share_with_gaps(of_row, there)
    assert found >= share_with_gaps(of_row, there[:1]) > share_by_subtraction(of_row)


def test_attacks_that_do_not_know_gaps_are_refused_by_name() -> None:
    data = data_of(values_with_gaps(np.random.default_rng(6), 30, 5, 0.2))
    release = tv.MDAV(k=3).protect(data, seed=1)
    assert set(links_by_attack(data, release)) == {"common-points", "gap-pattern"}
    with pytest.raises(ParameterError, match="does not know gaps"):
        links_by_attack(data, release, only="values")
