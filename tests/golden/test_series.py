"""Published and independently computed figures for time series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv

#: tolerances: percentages of loss and interval disclosure; links (one record of 3003 is 0.033)
LOSS, LINKS = 1e-3, 0.034


@pytest.fixture(scope="module")
def m3(shared_data: Path) -> tv.Dataset:
    frame = pl.read_csv(shared_data / "m3_long.csv.gz").filter(pl.col("part") == "in")
    return tv.Dataset.from_long(frame, id="series_id", time="t", value="value", resample=10)


def test_m3_has_3003_series_of_10_points(m3: tv.Dataset) -> None:
    assert m3.values.shape == (3003, 10)


@pytest.mark.parametrize(
    ("distance", "k", "expected"),
    [
        ("euclidean", 2, {"IL2": 5.0493, "EULD": 44.5221, "STSLD": 33.2001, "ID": 63.1578, "IL3": 7.9046}),
        ("euclidean", 6, {"IL2": 8.3701, "EULD": 11.5218, "STSLD": 4.4622, "ID": 46.0167, "IL3": 12.4895}),
        ("euclidean", 12, {"IL2": 9.8646, "EULD": 5.1282, "STSLD": 1.5651, "ID": 40.1675, "IL3": 14.6200}),
        ("sts", 2, {"IL2": 15.7406, "STSLD": 45.3546, "EULD": 15.8175}),
    ],
)
def test_m3_paper_variant(m3: tv.Dataset, distance: Any, k: int, expected: dict[str, float]) -> None:
    release = tv.MDAV(k=k, distance=distance, variant="paper", refine="none").protect(m3)
    card = tv.evaluate(m3, release, ties="first")
    for name, value in expected.items():
        assert card[name] == pytest.approx(value, abs=LINKS if name.endswith("LD") else LOSS), name


def test_m3_with_expected_ties(m3: tv.Dataset) -> None:
    card = tv.evaluate(m3, tv.MDAV(k=2, variant="paper", refine="none").protect(m3))
    assert card["EULD"] == pytest.approx(43.8561, abs=LINKS)
    assert card["STSLD"] == pytest.approx(32.0513, abs=LINKS)


def test_m3_standard_variant(m3: tv.Dataset) -> None:
    release = tv.MDAV(k=5, refine="none").protect(m3)
    assert tv.evaluate(m3, release)["IL2"] == pytest.approx(8.0339, abs=LOSS)
    assert float(((m3.values - release.data.values) ** 2).sum()) == pytest.approx(1.531449e10, rel=1e-6)
    shaped = tv.MDAV(k=5, distance="sts", refine="none").protect(m3)
    assert tv.evaluate(m3, shaped)["IL2"] == pytest.approx(20.9521, abs=LOSS)


def test_two_of_the_printed_ibex_clusters() -> None:
    data = tv.example("ibex")
    groups = tv.MDAV(k=6, variant="paper", refine="none").protect(data).groups["price"]
    names = data.ids.to_list()
    found = {frozenset(names[i] for i in np.flatnonzero(groups == g)) for g in set(groups.tolist())}

    def firms(*words: str) -> frozenset[str]:
        return frozenset(next(n for n in names if n.lower().startswith(word.lower())) for word in words)

    assert firms("Acciona", "Altadis", "Bankinter", "F.C. Contratas", "Ferrovial", "Metrovacesa") in found
    assert firms("Banco Popular", "Cintra", "Iberia", "SCH", "Telefónica Móvil", "TPI") in found


def test_the_paper_variant_breaks_k_and_says_so() -> None:
    data = tv.example("ibex")  # 35 = 5 * 6 + 5: the last group has 5 of 6
    release = tv.MDAV(k=6, variant="paper", refine="none").protect(data)
    assert "5 of the 6 records" in release.warnings[0]
    verdict = release.verify()
    assert not verdict.holds
    assert verdict.blocks_release
    assert "the smallest group has 5" in verdict.witness
    with pytest.raises(tv.errors.GuaranteeError, match="--allow promise"):
        release.write("never")
    assert not Path("never").exists()
