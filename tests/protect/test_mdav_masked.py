"""MDAV of records with gaps against the naive definition, and what its releases hold in memory and in chunks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive_gaps
import tsveil as tv
from cases import cases
from tsveil.core.errors import InputError, ParameterError
from tsveil.core.registry import METHODS
from tsveil.core.types import Array, Indices
from tsveil.data.gaps import EMPTY, FEWEST, POINTS, SPARSE
from tsveil.guarantee.k_anonymity import KAnonymity
from tsveil.protect.mdav_masked import (
    apart,
    explained,
    least_persons,
    masked_groups,
    published_rows,
    refined_groups,
    sparse_records,
)


def table(rng: np.random.Generator, n: int, columns: int, share: float, *, ties: bool = False) -> Array:
    """Random values with gaps; every record keeps at least a third of its points."""
    x = rng.integers(0, 3, (n, columns)).astype(float) if ties else rng.normal(size=(n, columns))
    gaps = rng.random(x.shape) < share
    for row in gaps:
        while 3 * (~row).sum() < columns:
            row[rng.integers(columns)] = False
    x[gaps] = np.nan
    return x


def data_of(x: Array, *, persons: Indices | None = None, series: bool = True) -> tv.Dataset:
    names = [str(at) if series else f"c{chr(97 + at)}" for at in range(x.shape[1])]
    frame = pl.DataFrame({"id": [f"a{at}" for at in range(len(x))], **{c: x[:, at] for at, c in enumerate(names)}})
    frame = frame.fill_nan(None)
    more: dict[str, Any] = {}
    if persons is not None:
        frame = frame.with_columns(pl.Series("who", [f"p{one}" for one in persons]))
        more["person"] = "who"
    return tv.Dataset.from_frame(frame, id="id", blocks={"load": names}, missing="mask", **more)


def some_tables() -> list[tuple[Array, int]]:
    rng = np.random.default_rng(3)
    found = [
        (table(rng, int(rng.integers(6, 30)), int(rng.integers(1, 7)), rng.random() * 0.6, ties=bool(at % 2)), k)
        for at, k in enumerate(rng.integers(2, 6, cases(24, 400)).tolist())
    ]
    full = table(rng, 12, 4, 0.3)
    empty_column = np.column_stack([full, np.full(12, np.nan)])
    return [
        *found,
        (full, 12),
        (full[:7], 6),
        (empty_column, 3),
        (np.ones((9, 3)), 4),
        (1e200**0.5 * full, 3),
        (1e-90 * full, 3),
    ]


@pytest.mark.parametrize(("x", "k"), some_tables())
def test_groups_are_those_of_the_definition(x: Array, k: int) -> None:
    rng = np.random.default_rng(len(x))
    for persons in (np.arange(len(x)), rng.integers(0, max(k, len(x) // 2), len(x))):
        if len(set(persons.tolist())) < k:
            continue
        for share in ("bounded", "told"):
            expected = naive_gaps.mdav(x, persons, k, apart(x), share=share)
            found = masked_groups(x, persons, k, share=share)
            assert found.tolist() == expected.tolist()
        shown = published_rows(x, persons, found, k)
        wanted = naive_gaps.published(x, persons, expected, k)
        np.testing.assert_allclose(shown.values, wanted, rtol=1e-12)
        for group in range(int(shown.groups.max(initial=-1)) + 1):
            rows = shown.values[shown.groups == group]
            assert (rows.view(np.int64) == rows[0].view(np.int64)).all()


def test_records_without_a_common_point_are_apart_by_twice_the_variances() -> None:
    x = table(np.random.default_rng(2), 40, 5, 0.4)
    assert apart(x) == pytest.approx(naive_gaps.twice_the_variances(x))


@pytest.mark.parametrize("several", [False, True])
def test_refined_groups_explain_more_and_keep_the_promise(several: bool) -> None:
    rng = np.random.default_rng(5)
    for share in (0.0, 0.2, 0.5):
        x, k = table(rng, 60, 5, share), 4
        persons = np.arange(60) // 2 if several else np.arange(60)
        plain = masked_groups(x, persons, k)
        kept = np.flatnonzero(plain >= 0)
        found = refined_groups(x[kept], persons[kept], plain[kept], k)
        assert explained(x[kept], found, k) > explained(x[kept], plain[kept], k)
        for group in range(found.max() + 1):
            own = persons[kept][found == group].tolist()
            assert len(set(own)) == len(own) >= k
        # What is explained is what the published rows leave of the squares, up to the values that are not published.
        y = published_rows(x[kept], persons[kept], found, k).values
        mean = naive_gaps.mean_beside_gaps(x[kept])
        squares = float(np.nansum(np.square(x[kept] - mean)))
        lost = naive_gaps.share_lost(x[kept], y) / 100 * squares
        assert squares - explained(x[kept], found, k) == pytest.approx(lost)


def test_few_points_suppress_a_record_and_the_fewest_persons_are_reported() -> None:
    x = table(np.random.default_rng(1), 30, 6, 0.3)
    x[4] = np.nan
    x[5, 1:] = np.nan
    assert np.flatnonzero(sparse_records(x)).tolist() == [4, 5]
    release = tv.MDAV(k=5).protect(data_of(x), seed=1)
    facts = release.facts["load"]
    assert {4, 5} <= set(release.suppressed.tolist())
    assert facts[SPARSE] == 2
    assert facts[FEWEST] >= least_persons(5) == 3
    assert facts[POINTS] == 6 * release.n
    assert facts[EMPTY] == np.isnan(release.data.values[release.rows]).sum()
    assert release.verify().holds


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("series", [False, True])
def test_chunks_and_parts_give_the_same(several: bool, series: bool) -> None:
    x = table(np.random.default_rng(8), 260, 4, 0.3)
    data = data_of(x, series=series, persons=np.arange(260) // 2 if several else None)
    for mode in ("exact", "partitioned"):
        method = tv.MDAV(k=3, mode=mode, part=100)
        whole, cut = method.protect(data, seed=1), method.protect(data, seed=1, chunk=37)
        assert np.array_equal(whole.data.values, cut.data.values, equal_nan=True)
        assert whole.verify().holds
        assert cut.facts == whole.facts


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("chunk", [None, 17])
def test_empty_cells_are_written_read_back_and_judged(tmp_path: Path, form: Any, chunk: int | None) -> None:
    data = data_of(table(np.random.default_rng(4), 60, 6, 0.5))
    release = tv.MDAV(k=5).protect(data, seed=1, chunk=chunk)
    folder = release.write(tmp_path / "out", format=form, measures={"models": "fitting"})
    path = folder / "published" / f"data.{form}"
    frame = pl.read_csv(path) if form == "csv" else pl.read_parquet(path)
    numbers = frame.drop("id")
    empty = int(sum(numbers.null_count().row(0)))
    assert empty == release.facts["load"][EMPTY] > 0
    assert not any(column.is_nan().any() for column in numbers if column.dtype.is_float())
    again = tv.read(path, id="id", layout="wide", missing="mask")
    assert KAnonymity(5).verify(again).holds
    text = (folder / "published" / "README.md").read_text()
    assert "of the published points are empty" in text
    assert "No record was suppressed" in text or "suppressed:" in text


def test_the_pattern_of_gaps_counts_for_the_promise() -> None:
    gap = np.nan
    alike = data_of(np.array([[1.0, gap], [1.0, gap], [2.0, 3.0], [2.0, 3.0]]))
    told_apart = data_of(np.array([[1.0, gap], [1.0, 1.0], [2.0, 3.0], [2.0, 3.0]]))
    assert KAnonymity(2).verify(alike).holds
    assert not KAnonymity(2).verify(told_apart).holds


def test_what_cannot_be_done_is_refused_by_name() -> None:
    data = data_of(table(np.random.default_rng(6), 20, 3, 0.3))
    for name, method in METHODS.items():
        if not method.takes_gaps:
            with pytest.raises(InputError, match="cannot protect records with gaps"):
                method().protect(data)
            assert name != "mdav"
    with pytest.raises(ParameterError, match="refine='none' or 'swap'"):
        tv.MDAV(k=3, refine="search").protect(data)
    few = data_of(np.array([[1.0, np.nan, np.nan, np.nan]] * 5 + [[1.0, 2.0, 3.0, 4.0]]))
    with pytest.raises(InputError, match="only 1 records have at least a third"):
        tv.MDAV(k=2).protect(few)


def households(rng: np.random.Generator, n: int = 150, days: int = 5) -> Array:
    """Loads with a daily rhythm, habits of each household, and hours that nobody can foresee."""
    hours = np.arange(24 * days)
    own = rng.gamma(2.0, 0.5, (n, 1)) * (1 + np.sin(2 * np.pi * (hours + rng.integers(0, 24, (n, 1))) / 24))
    return np.asarray(own + rng.gamma(0.5, 0.4, (n, 24 * days)))


def lost_by(x: Array, how: Any, k: int) -> float:
    """The share of the squares that is lost, over all values of the originals."""
    frame = pl.DataFrame({"id": [str(at) for at in range(len(x))], **{f"{t}": x[:, t] for t in range(x.shape[1])}})
    names = [str(t) for t in range(x.shape[1])]
    data = tv.Dataset.from_frame(frame.fill_nan(None), id="id", blocks={"load": names}, missing=how)
    y = np.full(x.shape, np.nan)
    y[[int(one) for one in data.ids]] = tv.MDAV(k=k).protect(data, seed=1).data.values
    return naive_gaps.share_lost(x, y)


def compare_ways(x: Array, rng: np.random.Generator, sizes: tuple[int, ...]) -> None:
    scattered, outage = x.copy(), x.copy()
    scattered[rng.random(x.shape) < 0.05] = np.nan
    for row in outage:
        day = rng.integers(x.shape[1] // 24)
        row[24 * day : 24 * day + 24] = np.nan
    some = x.copy()  # so that some records have no gap, and dropping leaves something
    some[::2] = scattered[::2]
    for k in sizes:
        assert lost_by(scattered, "mask", k) <= 1.02 * lost_by(scattered, "interpolate", k)
        assert lost_by(outage, "mask", k) < lost_by(outage, "interpolate", k)
        assert lost_by(some, "mask", k) < lost_by(some, "drop", k)


def test_masking_loses_less_than_dropping_and_filling() -> None:
    rng = np.random.default_rng(11)
    compare_ways(households(rng), rng, (3, 5, 10))


def test_masking_loses_less_on_smart_meters(shared_data: Path) -> None:
    compare_ways(tv.read(shared_data / "smart_meter.csv").values, np.random.default_rng(5), (5,))
