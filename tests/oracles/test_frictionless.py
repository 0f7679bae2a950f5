"""frictionless reads what is published by the metadata beside it, as an independent program; `make oracles` makes the environment that it runs in."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from release_cases import KINDS, written
from tsveil.protect import work

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-oracles/bin/python"

pytestmark = pytest.mark.skipif(
    not PYTHON.exists() and not os.environ.get("TSVEIL_ORACLES"),
    reason="the environment of other programs is missing: `make oracles` makes it",
)


def reports(packages: list[Path]) -> list[dict[str, Any]]:
    program = Path(__file__).with_name("frictionless_report.py")
    done = subprocess.run([PYTHON, program, *packages], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_frictionless_finds_nothing_wrong(tmp_path: Path, undrawn: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PYTHON.exists(), "TSVEIL_ORACLES asks for them, and `make oracles` was not run"
    packages = [written(kind, tmp_path / kind) / "published" / "datapackage.json" for kind in KINDS]
    monkeypatch.setattr(work, "file_rows", lambda n, columns: 9)
    packages.append(written("series", tmp_path / "parts") / "published" / "datapackage.json")
    for package, found in zip(packages, reports(packages), strict=True):
        rows = 23 * 6 if package.parts[-3] == "long" else 24
        if package.parts[-3] == "envelopes":
            rows = len((package.parent / "data.csv").read_text().splitlines()) - 1
        assert found == {"errors": [], "rows": [rows]}, package


def test_frictionless_would_find_a_changed_file_and_a_wrong_type(tmp_path: Path, undrawn: None) -> None:
    package = written("series", tmp_path / "a") / "published" / "datapackage.json"
    text = package.read_text()
    table = package.with_name("data.csv")
    table.write_text(table.read_text().replace("day", "dax", 1))
    (found,) = reports([package])
    assert any("hash" in error for error in found["errors"])
    package.write_text(text.replace('"type": "string"', '"type": "integer"'))
    (found,) = reports([package])
    assert found["errors"]
