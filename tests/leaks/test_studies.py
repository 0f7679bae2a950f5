"""What a sweep makes to be shown: page, table and maps hold figures of methods, nothing of people, paths or seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import tsveil as tv
from leaks.marks import POINTS, SEED, found_in, marked_frame, markers
from tsveil.cli import main

PLAN = f"""seed = {SEED}
[input]
path = "markedfile.csv"
id = "person"
confidential = ["tariff"]
[input.blocks]
load = {{ from = "load.0", to = "load.{POINTS - 1}", kind = "series" }}
[sweep]
methods = ["mdav", "rank-swap", "kp", "nlk"]
[sweep.grid.mdav]
k = [4, 39]
[sweep.grid.rank-swap]
p = [10.0]
[sweep.grid.kp]
k = [4]
P = [2]
[sweep.grid.nlk]
n = [2]
l = [5]
k = [4]
[output]
folder = "FOLDER"
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The marked input, the folder of its study, and what was printed."""
    planted = tmp_path_factory.mktemp("markedfolder") / "markedfile.csv"
    study = tmp_path_factory.mktemp("shown") / "study"
    marked_frame().write_csv(planted)
    plan = planted.with_name("markedplan.toml")
    plan.write_text(PLAN.replace("FOLDER", str(study)))
    ended = CliRunner().invoke(main, ["sweep", str(plan), "--anywhere"])
    assert ended.exit_code == 0, ended.output
    return planted, study, ended.output + ended.stderr


def test_page_table_and_maps_have_no_marker(swept: tuple[Path, Path, str], tmp_path: Path) -> None:
    planted, study, printed = swept
    for form in ("html", "svg", "png"):
        tv.Study.load(study).map(tmp_path / f"map.{form}")
    for name in ("study.html", "study.parquet"):
        (tmp_path / name).write_bytes((study / name).read_bytes())
    for extra in ([], ["--json"]):
        ended = CliRunner().invoke(main, ["recommend", str(study), "--max-risk", "90", *extra])
        assert ended.exit_code == 0, ended.output
        printed += ended.output + ended.stderr
    (tmp_path / "printed.txt").write_text(printed)
    assert found_in(tmp_path, markers(planted, cells=True)) == []
    # The folder itself is private: the plan names the input, and study.json has the seed.
    found = found_in(study, markers(planted, cells=True))
    assert {one.split(" in ")[1].split(" ")[0] for one in found} == {"study.json", "sweep.toml"}
    assert study.stat().st_mode & 0o077 == 0


def test_single_results_have_no_marker_either(swept: tuple[Path, Path, str]) -> None:
    planted, study, _ = swept
    rows = [json.loads(path.read_text()) for path in (study / "results").iterdir()]
    assert len(rows) == 5
    assert found_in(study / "results", markers(planted, cells=True)) == []
