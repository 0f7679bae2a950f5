"""What is written of envelopes and patterns: complete, verified, shuffled; and nothing private is published."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from release_folders import with_values
from tsveil.core.errors import GuaranteeError, OutputError
from tsveil.data.dataset import Layout
from tsveil.data.intervals import IntervalTable, read_intervals
from tsveil.guarantee.kp import verify_kp
from tsveil.protect.envelopes import KAnonymousEnvelopes
from tsveil.protect.kp import KP
from tsveil.release.reopen import reopen_release

SEED = 987654321987654321


def households(n: int = 60) -> tv.Dataset:
    rng = np.random.default_rng(2)
    return tv.Dataset.from_arrays(
        {"load": rng.gamma(2, 1, (n, 12)).round(3)},
        ids=[f"marker-id-{i}" for i in range(n)],
        confidential={"tariff": [f"tariff {i % 7}" for i in range(n)]},
    )


def release() -> tv.Release:
    return KP(k=6, P=2).protect(households(), seed=SEED)


def files_under(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_release_is_written_whole(tmp_path: Path, form: str) -> None:
    made = release()
    folder = made.write(tmp_path / "out", format=form)
    assert files_under(folder) == {
        f"published/data.{form}",
        "published/README.md",
        "published/report.html",
        "published/datapackage.json",
        "published/croissant.json",
        "private/id_map.csv",
        "private/groups.csv",
        "private/suppressed.csv",
        "private/risk.csv",
        "private/attribute_disclosure.csv",
        "private/release.json",
        "private/assessment.json",
        "private/record.jsonl",
        "private/report.html",
    }
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    table = read_intervals(folder / "published" / f"data.{form}")
    published = made.published()
    assert isinstance(published, IntervalTable)
    frame = published.to_frame()
    assert table.to_frame().equals(frame)
    assert frame.columns[:4] == ["lo_0", "hi_0", "lo_1", "hi_1"]
    assert frame.columns[-3:] == ["pattern", "level", "tariff"]
    readme = (folder / "published" / "README.md").read_text()
    for words in ("(6,2)-anonymity", "k = 6", "P = 2", "kp", "holds", "`lo_0`", "`pattern`", "`tariff`: carried"):
        assert words in readme
    facts = json.loads((folder / "private" / "release.json").read_text())
    assert facts["settings"]["P"] == 2
    assert facts["scores"]["breach_both"] <= 50


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_values_of_paa_are_written_and_read_back(tmp_path: Path, form: str) -> None:
    made = KP(k=6, P=2, pattern="paa").protect(households(), seed=SEED)
    folder = made.write(tmp_path / "out", format=form, formulas="neutralise")
    path = folder / "published" / f"data.{form}"
    verdict = verify_kp(path, 6, 2)
    assert verdict.holds, str(verdict)
    if form != "xlsx":
        table = read_intervals(path)
        assert table.words == made.published().words  # type: ignore[union-attr]
        assert np.array_equal(table.levels, made.published().levels)  # type: ignore[union-attr, arg-type]
        assert "patterns of 8 values" in repr(table)
        # The same pattern with another level, or one value changed, is a pattern of its own.
        frame = table.to_frame()
        other = frame.with_columns(
            pattern=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("[" + "0.5 " * 7 + "0.5]")).otherwise("pattern")
        )
        assert not verify_kp(other, 6, 2).holds
    readme = (folder / "published" / "README.md").read_text()
    assert "as values of PAA" in readme
    assert "SAX" not in readme
    assert "cut into 8 segments" in readme
    opened = reopen_release(folder, households())
    assert opened.words == made.words
    assert opened.verify().holds


def test_nothing_private_is_published(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    for path in (folder / "published").iterdir():
        text = path.read_text()
        assert "marker-id" not in text
        assert str(SEED) not in text
    assert str(SEED) in (folder / "private" / "release.json").read_text()


def test_rows_are_shuffled_and_the_id_map_is_the_truth(tmp_path: Path) -> None:
    data = households(300)
    made = KP(k=6, P=2).protect(data)
    folder = made.write(tmp_path / "out")
    truth = pl.read_csv(folder / "private" / "id_map.csv")
    order = truth["published_row"].to_numpy()
    assert sorted(order) == list(range(1, made.n + 1))
    assert abs(np.corrcoef(order, np.arange(made.n))[0, 1]) < 0.25
    table = read_intervals(folder / "published" / "data.csv")
    rows = [data.ids.to_list().index(name) for name in truth["original"]]
    x = data.block("load")[rows]
    assert ((table.lo[order - 1] <= x) & (x <= table.hi[order - 1])).all()
    assert table.others["tariff"].to_numpy()[order - 1].tolist() == data.others["tariff"].to_numpy()[rows].tolist()
    gone = pl.read_csv(folder / "private" / "suppressed.csv")["original"].to_list()
    assert sorted([*gone, *truth["original"]]) == sorted(data.ids.to_list())


def test_whole_numbers_stay_whole(tmp_path: Path) -> None:
    frame = pl.DataFrame({str(t): np.random.default_rng(t).integers(0, 9, 30) for t in range(6)})
    data = tv.Dataset.from_frame(frame, blocks={"sales": frame.columns})
    folder = KP(k=5, P=2).protect(data).write(tmp_path / "out")
    assert "." not in (folder / "published" / "data.csv").read_text()


def test_the_file_looks_like_its_source(tmp_path: Path) -> None:
    data = replace(households(), layout=Layout(separator=";", decimal=","))
    folder = KP(k=6, P=2).protect(data).write(tmp_path / "out")
    path = folder / "published" / "data.csv"
    first = path.read_text().splitlines()[1]
    assert ";" in first
    assert "," in first
    assert verify_kp(path, 6, 2).holds


def test_a_broken_promise_is_not_written(tmp_path: Path) -> None:
    made = release()
    values = made.made.copy()
    values[made.rows[7], 3] -= 0.5
    broken = with_values(made, values)
    assert not broken.verify().holds
    with pytest.raises(GuaranteeError, match=r"rows? \d+"):
        broken.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    folder = broken.write(tmp_path / "out", allow_unverified=True)
    assert "NOT VERIFIED" in (folder / "published" / "README.md").read_text()


def test_an_existing_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out")
    before = (folder / "published" / "data.csv").read_text()
    with pytest.raises(OutputError, match="exists already"):
        release().write(folder)
    assert (folder / "published" / "data.csv").read_text() == before
    KAnonymousEnvelopes(k=5).protect(households()).write(folder, overwrite=True)
    assert "pattern" not in pl.read_csv(folder / "published" / "data.csv").columns


def test_an_error_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tsveil.release.publish._private", fail)
    with pytest.raises(OutputError, match="No space left"):
        release().write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_further_files_go_along(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out", extra={"private/plan.toml": "x = 1\n"})
    assert (folder / "private" / "plan.toml").read_text() == "x = 1\n"


def test_it_looks_like_this() -> None:
    made = release()
    gone = f" ({len(made.suppressed)} suppressed)" if len(made.suppressed) else ""
    assert repr(made) == f"Release: KP(k=6, P=2); 60 records{gone}; (6,2)-anonymity"
    assert made.lo.shape == made.hi.shape == (made.n, 12)
    assert len(made.words or ()) == len(made.levels if made.levels is not None else ()) == made.n
    assert made.confidential.columns == ["tariff"]
    assert made.block.name == "load"
