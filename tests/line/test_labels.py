"""A release with labels, in memory and in chunks, in one file and in several: the same figures, the same verdict, and a report that tells the risk of the labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tsveil as tv
from release_labels import households
from tsveil.assess.limits import Intruder
from tsveil.data import pieces
from tsveil.release.publish import publish

OF_LABELS = {"mixed-distance", "labels-probabilistic", "labels-conditional"}


def published(data: tv.Dataset, folder: Path, method: dict[str, Any] | None = None, **running: Any) -> dict[str, Any]:
    """What machines read of a release, with the risk of each record."""
    release = tv.MDAV(**{"k": 4, **(method or {})}).protect(data, seed=5, **running)
    publish(release, folder)
    facts = json.loads((folder / "private" / "release.json").read_text())
    own = folder / "private" / "risk"
    risks = pl.read_csv(own.with_suffix(".csv")) if not own.is_dir() else pl.read_parquet(own / "*.parquet")
    risks = risks.with_columns(pl.col(pl.Float64).round(9)).sort("original")
    assessment = json.loads((folder / "private" / "assessment.json").read_text())
    return {
        "scores": facts["scores"],
        "measured": facts["measured"],
        "assessment": assessment,
        "risks": risks.to_dict(as_series=False),
    }


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("representative", ["mean", "generalise"])
@pytest.mark.parametrize("files", ["one", "several"])
def test_memory_and_chunks_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, representative: str, files: str
) -> None:
    if files == "several":
        for name, value in (("ONE_FILE", 100), ("FILE_VALUES", 160), ("FILE_ROWS", 40)):
            monkeypatch.setattr(pieces, name, value)
    data = tv.read(tmp_path / "in.parquet", **households(tmp_path / "in.parquet"))
    method: dict[str, Any] = {"representative": representative}
    whole = published(data, tmp_path / "memory", method)
    chunks = published(data, tmp_path / "chunks", method, engine="local", chunk=17)
    assert chunks == whole
    assert {one["attack"] for one in whole["assessment"]["ladder"]} >= OF_LABELS
    assert {
        "LL1",
        "LL2",
        "LL3",
        "LL4",
        "LU",
        "SL1",
        "SL2",
        "SL3",
        "SL4",
        "SH",
        "SH2",
        "KU1",
        "KU2",
        "OID",
        "LDLD",
    } <= set(whole["scores"])
    assert "not measured" not in whole["measured"]
    at_hand = tv.MDAV(k=4, **method).protect(data, seed=5)
    card = at_hand.evaluate(models="fitting") if data.series else at_hand.evaluate()
    for figure, own in card.items():
        assert whole["scores"][figure] == pytest.approx(own), figure


@pytest.mark.usefixtures("undrawn")
def test_the_verdict_is_that_of_the_labels(tmp_path: Path) -> None:
    """Numbers that are alike for all hide everybody; the labels that are published beside them do not, and everything says so."""
    data = tv.read(tmp_path / "in.parquet", **households(tmp_path / "in.parquet"))
    release = tv.MDAV(k=2, weights="load=0, state=0").protect(data, seed=5)
    found = publish(release, tmp_path / "out", intruder=Intruder(knows="person"))
    assert found.assessment is not None
    judged = found.assessment.to_dict()
    ladder = {one["attack"]: one["rate"] for one in judged["ladder"] if one["rung"] == "person"}
    assert judged["risk"]["attack"] in OF_LABELS
    assert judged["risk"]["rate"] == max(ladder.values()) == ladder[judged["risk"]["attack"]]
    assert judged["risk"]["rate"] > 3 * ladder["distance"]
    report = (tmp_path / "out" / "private" / "report.html").read_text()
    assert f"the strongest attack ({judged['risk']['attack']})" in report.lower()
    assert "no attack knows the labels" not in str(found.assessment)
    risk = pl.read_csv(tmp_path / "out" / "private" / "risk.csv")
    assert risk["risk_person"].mean() >= judged["risk"]["rate"] - 1e-6


@pytest.mark.usefixtures("undrawn")
def test_persons_are_counted(tmp_path: Path) -> None:
    """In chunks as in memory, a link to any record of the person is right."""
    given = households(tmp_path / "all.parquet")
    frame = pl.read_parquet(tmp_path / "all.parquet").with_columns(who=pl.int_range(120) % 60)
    frame.write_parquet(tmp_path / "in.parquet")
    data = tv.read(tmp_path / "in.parquet", **given, person="who")
    whole = published(data, tmp_path / "memory")
    assert published(data, tmp_path / "chunks", engine="local", chunk=17) == whole
    assert {one["targets"] for one in whole["assessment"]["ladder"] if one["attack"] in OF_LABELS} == {60}


def test_the_report_explains_states_and_draws_labels(tmp_path: Path) -> None:
    data = tv.read(tmp_path / "in.parquet", **households(tmp_path / "in.parquet"))
    publish(tv.MDAV(k=4).protect(data, seed=5), tmp_path / "out")
    private, public = ((tmp_path / "out" / side / "report.html").read_text() for side in ("private", "published"))
    for words in ("would have to lead to", "The simplest forecast of the next state", "state: what follows, published"):
        assert words in private
        assert words in public
    assert "state: what follows, original" in private
    assert "state: what follows, original" not in public
    assert "Original and published labels" in private
    assert "before and after" not in public
    assert private.count("<svg") > public.count("<svg")
    assert "Labels column by column" in private
    assert "no attack knows these" in private
    assert "True values and labels of a person" in public
    assert "By their labels alone" in public
