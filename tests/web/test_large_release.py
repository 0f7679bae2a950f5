"""A release whose data are a folder of files, as that of many records is: it is packed, and its data are one download."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tsveil.data import pieces
from tsveil.web import work
from tsveil.web.pages import App
from tsveil.web.studies import Studies
from web.homes import households


def test_a_folder_of_data_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if four values were many.
    monkeypatch.setattr(pieces, "ONE_FILE", 4)
    monkeypatch.setattr(pieces, "FILE_VALUES", 4)
    monkeypatch.setattr(pieces, "FILE_ROWS", 20)
    studies = Studies(tmp_path / "studies")
    try:
        data = studies.upload_place()
        data.write_bytes(households(60).drop("town", "size").write_csv().encode())
        study = studies.new("homes.csv", "upload", data, "homes.csv")
        place = studies.place(study)
        task: dict[str, Any] = {
            "place": str(place), "data": str(data), "name": "homes.csv", "path": "homes.csv", "source": "upload", "input": {}, "title": "", "seed": "7",
            "limits": {"max_risk": 100.0, "max_loss": None}, "methods": {"mdav": {"k": [5], "refine": ["none"]}},
        }  # fmt: skip
        work.try_methods(task, place, work.Telling(io.StringIO()))
        study.picked = json.loads((place / "result.json").read_text())["best"]
        made = place / "releases" / study.picked
        written = sorted((made / "release" / "published" / "data").iterdir())
        assert len(written) > 1
        outcome = json.loads((made / "outcome.json").read_text())
        assert outcome["data"] == "data.zip"
        with zipfile.ZipFile(made / "release.zip") as archive:
            assert {f"data/{piece.name}" for piece in written} <= set(archive.namelist())
            assert archive.read(f"data/{written[0].name}") == written[0].read_bytes()
        app = App(studies)
        request = type("Request", (), {"path_params": {"id": study.id, "name": "data"}})()
        path, shown, kind = app._file(request)
        assert (shown, kind) == ("data.zip", "application/zip")
        with zipfile.ZipFile(path) as archive:
            assert archive.namelist() == [piece.name for piece in written]
    finally:
        studies.close()
