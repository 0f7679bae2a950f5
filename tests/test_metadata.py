"""The published metadata say what is in the files and what was done to it, to the last column, and nothing private."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from release_cases import KINDS, written
from tsveil.cli import main
from tsveil.data.files import files_of
from tsveil.protect import work
from tsveil.release.reopen import judge_release

NAMES = ("datapackage.json", "croissant.json")
TYPES = {"sc:Integer", "sc:Float", "sc:Boolean", "sc:Date", "sc:Text"}


@pytest.fixture(scope="module", params=KINDS)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(request.param, tmp_path_factory.mktemp(request.param) / "out")


def metadata(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    package, croissant = ((folder / "published" / name).read_text(encoding="utf-8") for name in NAMES)
    return json.loads(package), json.loads(croissant)


def test_both_name_the_columns_of_the_file_in_their_order(release: Path) -> None:
    package, croissant = metadata(release)
    columns = pl.read_csv(release / "published" / "data.csv", infer_schema=False).columns
    fields = package["resources"][0]["schema"]["fields"]
    assert [field["name"] for field in fields] == columns
    assert [field["name"] for field in croissant["recordSet"][0]["field"]] == columns
    assert [field["description"] for field in fields] == [f["description"] for f in croissant["recordSet"][0]["field"]]
    assert all(field["description"] for field in fields)


def test_they_say_what_was_done(release: Path) -> None:
    package, _ = metadata(release)
    words = {f["name"]: f["description"] for f in package["resources"][0]["schema"]["fields"]}
    carried = [name for name, text in words.items() if text == "Carried unchanged."]
    kept = json.loads((release / "private" / "release.json").read_text())
    assert carried == [name for name in words if name in kept["columns"]["confidential"]]
    assert any(kept["method"] in text for text in words.values())
    if kept["columns"].get("id"):
        assert words[kept["columns"]["id"]] == "A random identifier, made for this release."
    assert package["description"].startswith(kept["guarantee"])


def test_sizes_and_hashes_are_those_of_the_file(release: Path) -> None:
    package, croissant = metadata(release)
    content = (release / "published" / "data.csv").read_bytes()
    resource, place = package["resources"][0], croissant["distribution"][0]
    digest = hashlib.sha256(content).hexdigest()
    assert (resource["path"], resource["bytes"], resource["hash"]) == ("data.csv", len(content), f"sha256:{digest}")
    assert (place["contentUrl"], place["sha256"]) == ("data.csv", digest)


def test_croissant_is_put_together_as_its_specification_says(release: Path) -> None:
    _, croissant = metadata(release)
    assert croissant["@type"] == "sc:Dataset"
    assert croissant["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    places = {one["@id"]: one["@type"] for one in croissant["distribution"]}
    names = []
    for field in croissant["recordSet"][0]["field"]:
        assert field["@type"] == "cr:Field"
        assert field["dataType"] in TYPES
        assert places[field["source"]["fileObject"]["@id"]] == "cr:FileObject"
        assert field["source"]["extract"] == {"column": field["name"]}
        names.append(field["@id"])
    assert len(set(names)) == len(names)


def test_nothing_private_is_in_them(release: Path) -> None:
    kept = json.loads((release / "private" / "release.json").read_text())
    for name in NAMES:
        text = (release / "published" / name).read_text()
        assert "markedid" not in text
        assert str(kept["seed"]) not in text
        assert "12345678901234567" not in text
        assert str(release) not in text


def test_verify_knows_them(release: Path) -> None:
    found = judge_release(release)
    assert not [check for check in found.checks if "json" in check.message]
    (release / "published" / "notes.json").write_text("{}")
    assert any("notes.json" in check.message for check in judge_release(release).checks)
    (release / "published" / "notes.json").unlink()
    done = CliRunner().invoke(main, ["verify", str(release), "--json"])
    assert "datapackage" not in done.output + done.stderr
    assert files_of(release / "published") == [release / "published" / "data.csv"]


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet", "xlsx"])
def test_a_folder_of_any_format_is_read_without_them(form: str, tmp_path: Path, undrawn: None) -> None:
    folder = written("series", tmp_path / "out", format=form)
    assert files_of(folder / "published") == [folder / "published" / f"data.{form}"]
    package, croissant = metadata(folder)
    assert package["resources"][0]["format"] == form
    assert croissant["distribution"][0]["encodingFormat"] == package["resources"][0]["mediatype"]


def test_of_several_files_all_are_named(tmp_path: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "file_rows", lambda n, columns: 9)
    folder = written("series", tmp_path / "out")
    package, croissant = metadata(folder)
    parts = [f"data/part-{at:05d}.csv" for at in range(3)]
    assert package["resources"][0]["path"] == parts
    assert sorted(str(file.relative_to(folder / "published")) for file in (folder / "published").glob(croissant["distribution"][0]["includes"])) == parts  # fmt: skip
    assert {tuple(field["source"]) for field in croissant["recordSet"][0]["field"]} == {("fileSet", "extract")}
