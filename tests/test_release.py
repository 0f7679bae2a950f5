"""What is written: complete, verified, shuffled, renamed; and nothing private in what is published."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from release_folders import with_values
from tsveil.assess import protected
from tsveil.core.errors import GuaranteeError, OutputError
from tsveil.data import pieces
from tsveil.data.published import read_like


def households(n: int = 30, confidential: bool = True) -> tv.Dataset:
    rng = np.random.default_rng(2)
    return tv.Dataset.from_arrays(
        {"load": rng.gamma(2, 1, (n, 12)).round(3)},
        ids=[f"marker-id-{i}" for i in range(n)],
        confidential={"tariff": ["day", "night", "solar"] * (n // 3)} if confidential else None,
    )


def table_of(release: tv.Release) -> tv.Dataset:
    """The published values."""
    table = release.published()
    assert isinstance(table, tv.Dataset)
    return table


def files_under(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_release_is_written_whole(tmp_path: Path) -> None:
    release = tv.MDAV(k=3).protect(households())
    folder = release.write(tmp_path / "out")
    assert files_under(folder) == {
        "published/data.csv",
        "published/README.md",
        "published/report.html",
        "published/datapackage.json",
        "published/croissant.json",
        "private/id_map.csv",
        "private/groups.csv",
        "private/risk.csv",
        "private/attribute_disclosure.csv",
        "private/release.json",
        "private/assessment.json",
        "private/record.jsonl",
        "private/ledger.json",
        "private/ledger.parquet",
        "private/report.html",
    }
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    readme = (folder / "published" / "README.md").read_text()
    for words in ("3-anonymity", "k = 3", "mdav", "holds"):
        assert words in readme


def test_nothing_private_is_published(tmp_path: Path) -> None:
    data = households()
    release = tv.MDAV(k=3).protect(data, seed=987654321987654321)
    folder = release.write(tmp_path / "out")
    for path in (folder / "published").iterdir():
        text = path.read_text()
        assert "marker-id" not in text
        assert "987654321987654321" not in text
    assert "987654321987654321" in (folder / "private" / "release.json").read_text()


def test_rows_are_shuffled_and_ids_fresh(tmp_path: Path) -> None:
    data = households(300)
    folder = tv.MDAV(k=3).protect(data).write(tmp_path / "out")
    order = pl.read_csv(folder / "private" / "id_map.csv")["published_row"].to_numpy()
    assert sorted(order) == list(range(1, 301))
    assert abs(np.corrcoef(order, np.arange(300))[0, 1]) < 0.25
    published = pl.read_csv(folder / "published" / "data.csv")
    assert published["id"].n_unique() == 300
    assert published["id"].str.contains(r"^r[0-9a-f]{16}$").all()
    again = tv.MDAV(k=3).protect(data).write(tmp_path / "again")
    assert set(pl.read_csv(again / "published" / "data.csv")["id"]).isdisjoint(published["id"])


def test_the_id_map_is_the_truth(tmp_path: Path) -> None:
    data = households()
    release = tv.MDAV(k=3).protect(data)
    folder = release.write(tmp_path / "out")
    published = read_like(folder / "published" / "data.csv", table_of(release))
    card = tv.evaluate(data, published, truth=folder / "private" / "id_map.csv")
    # A file of unknown making is attacked in more ways.
    mine = tv.evaluate(data, release).to_dict()
    assert {name: card[name] for name in mine} == mine
    shuffled = tv.evaluate(data, published)  # without the truth the rows do not belong together
    assert shuffled["IL2"] > card["IL2"]


def test_confidential_columns_stay_with_their_record(tmp_path: Path) -> None:
    data = households()
    folder = tv.MDAV(k=3).protect(data).write(tmp_path / "out")
    truth = pl.read_csv(folder / "private" / "id_map.csv")
    published = pl.read_csv(folder / "published" / "data.csv").select(released="id", tariff="tariff")
    joined = truth.join(published, on="released").join(data.others.rename({"id": "original"}), on="original")
    assert (joined["tariff"] == joined["tariff_right"]).all()


def test_an_existing_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    release = tv.MDAV(k=3).protect(households())
    folder = release.write(tmp_path / "out")
    before = (folder / "published" / "data.csv").read_text()
    with pytest.raises(OutputError, match="exists already"):
        release.write(folder)
    assert (folder / "published" / "data.csv").read_text() == before
    tv.MDAV(k=5).protect(households()).write(folder, overwrite=True)
    assert json.loads((folder / "private" / "release.json").read_text())["settings"]["k"] == 5
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_folder_of_somebody_else_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="not made by tsveil"):
        tv.MDAV(k=3).protect(households()).write(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_a_broken_promise_is_not_written(tmp_path: Path) -> None:
    release = tv.MDAV(k=3).protect(households())
    values = release.data.values.copy()
    values[7, 3] += 0.5
    broken = with_values(release, values)
    row = int(np.flatnonzero(release.store.get("records") == 7)[0]) + 1  # of the published file
    with pytest.raises(GuaranteeError, match=rf"row {row}\b"):
        broken.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    folder = broken.write(tmp_path / "out", allow_unverified=True)
    assert "NOT VERIFIED" in (folder / "published" / "README.md").read_text()


def test_an_error_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = tv.MDAV(k=3).protect(households())

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tsveil.release.publish._private", fail)
    with pytest.raises(OutputError, match="No space left"):
        release.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_carried_column_that_identifies_is_warned_of() -> None:
    data = tv.Dataset.from_arrays(
        {"x": np.random.default_rng(0).normal(size=(20, 3))}, confidential={"income": list(range(20))}
    )
    assert any("'income'" in warning and "link" in warning for warning in tv.MDAV(k=2).protect(data).warnings)
    assert tv.MDAV(k=2).protect(households()).warnings == ()


def test_data_without_ids_get_some(tmp_path: Path) -> None:
    data = tv.Dataset.from_arrays({"x": np.random.default_rng(0).normal(size=(20, 6))})
    folder = tv.MDAV(k=2).protect(data).write(tmp_path / "out")
    assert pl.read_csv(folder / "published" / "data.csv").columns[0] == "id"
    assert pl.read_csv(folder / "private" / "id_map.csv")["original"].to_list() == list(range(1, 21))


@pytest.mark.parametrize("variables", [1, 2])
@pytest.mark.parametrize("split", [None, 2])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_long_files_come_back_long(tmp_path: Path, variables: int, split: int | None, form: Any) -> None:
    rng = np.random.default_rng(9)
    rows = [
        {"meter": f"m{i}", "hour": hour, "kind": kind, "kwh": round(float(rng.gamma(2)), 3), "zone": "nsew"[i % 4]}
        for i in range(16)
        for kind in ("gas", "power")[:variables]
        for hour in range(6)
    ]
    frame = pl.DataFrame(rows) if variables > 1 else pl.DataFrame(rows).drop("kind")
    frame.write_csv(tmp_path / "long.csv")
    data = tv.read(tmp_path / "long.csv", id="meter", time="hour", value="kwh", confidential=["zone"], split=split, layout="long",
                   variable="kind" if variables > 1 else None)  # fmt: skip
    assert len(data.blocks) == variables * (split or 1)
    release = tv.MDAV(k=3).protect(data)
    folder = release.write(tmp_path / "out", format=form)
    table = table_of(release)
    published = read_like(folder / "published" / f"data.{form}", table)
    assert np.array_equal(published.values, table.values)
    assert published.others["zone"].to_list() == table.others["zone"].to_list()


def test_semicolons_and_decimal_commas_come_back(tmp_path: Path) -> None:
    rows = "".join(f"h{i};{i % 5},25;{i % 3},5;{i},125;1,5;2,5\n" for i in range(12))
    (tmp_path / "wide.csv").write_text("id;1;2;3;4;5\n" + rows)
    data = tv.read(tmp_path / "wide.csv")
    folder = tv.MDAV(k=2).protect(data).write(tmp_path / "out")
    text = (folder / "published" / "data.csv").read_text()
    assert text.startswith("id;1;2;3;4;5\n")
    assert "," in text
    assert tv.read(folder / "published" / "data.csv").values.shape == (12, 5)


@pytest.mark.parametrize("method", [tv.MDAV(k=3), tv.NLK(n=2, l=3, k=3), tv.KP(k=6, P=2)])
def test_pictures_of_a_release_in_many_files_show_whole_classes(
    method: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("ONE_FILE", 10), ("FILE_VALUES", 10), ("FILE_ROWS", 8)):
        monkeypatch.setattr(pieces, name, value)
    release = method.protect(households(60), seed=5)
    monkeypatch.setattr(protected, "SAMPLED", 12 * 25)
    tables = [release.published(at) for at in range(release.contents.files)]
    assert len(tables) > 3
    rows = [
        row.tobytes() for one in tables for row in (one.values if isinstance(one, tv.Dataset) else with_letters(one))
    ]
    classes = np.array([rows.index(row) for row in rows])
    classes = np.unique(classes, return_inverse=True)[1]
    sample = release.sample(classes)
    table = sample.published()
    shown = [row.tobytes() for row in (table.values if isinstance(table, tv.Dataset) else with_letters(table))]
    assert 0 < len(shown) < len(rows)
    assert all(shown.count(row) == rows.count(row) for row in shown)
    # Each record stands beside its own original.
    whole = {tuple(row) for row in release.original.values.tolist()}
    assert {tuple(row) for row in sample.original.values.tolist()} <= whole
    assert (sample.records, sample.released) == (60, len(rows))
    page = (release.write(tmp_path / "out") / "private" / "report.html").read_text()
    found = re.search(r"Pictures of records show (\d+) of the (\d+) published records: all records of some", page)
    assert found is not None
    assert 0 < int(found[1]) < int(found[2]) == len(rows)


def with_letters(table: Any) -> np.ndarray[Any, Any]:
    """Bounds, patterns and levels of envelopes."""
    return np.array(
        [
            [*lo, *hi, float(level), *map(ord, word)]
            for lo, hi, word, level in zip(table.lo, table.hi, table.words, table.levels, strict=True)
        ]
    )
