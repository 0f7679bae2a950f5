"""What a run will take is said beforehand, and a run for which there is too little room is refused before it begins."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import tsveil as tv
from engine_files import walks, write_files
from tsveil.cli import main
from tsveil.core.errors import RoomError
from tsveil.data import memory
from tsveil.data.disk import free_disk
from tsveil.data.store import Folder
from tsveil.plan.estimate import Estimate, estimate
from tsveil.plan.plan import Input, Output, Plan, Running

PLAN = '[input]\npath = "{path}"\nlayout = "wide"\n[method]\nname = "mdav"\nk = 3\n[evaluate]\nmodels = ["ses"]\n[output]\nfolder = "release"\n{run}'
CHUNKS = '[run]\nengine = "local"\nchunk = 20\n'


@pytest.fixture(params=["memory", "chunks"])
def plan(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A plan for 60 walks of 4 points, whose work is done in memory or in chunks."""
    table = pl.DataFrame(walks(60, 4, 1), schema=list("1234"))
    if request.param == "chunks":
        write_files(tmp_path / "walks", table, 2)
    else:
        table.write_csv(tmp_path / "walks.csv")
    path = tmp_path / "plan.toml"
    chunked = request.param == "chunks"
    path.write_text(PLAN.format(path="walks" if chunked else "walks.csv", run=CHUNKS if chunked else ""))
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def called(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_a_dry_run_says_what_it_takes_and_writes_nothing(plan: Path) -> None:
    left = plan.parent / ".release.0123abcd.partial"
    left.mkdir()  # a run would remove what a killed one left behind
    before = files(plan.parent)
    ended = called("run", plan, "--dry-run")
    assert ended.exit_code == 0, ended.output
    chunked = "chunk = 20" in plan.read_text()
    assert f"60 records, 4 columns; the work would be done {'in 3 chunks' if chunked else 'in memory'}" in ended.output
    assert "time     about " in ended.output
    assert "memory   about " in ended.output
    assert "for the release" in ended.output
    assert ("for the spool" in ended.output) == chunked
    assert ended.output.endswith("Nothing was written.\n")
    assert files(plan.parent) == before
    assert left.is_dir()
    found = json.loads(called("run", plan, "--dry-run", "--json").output)
    assert found["records"] == 60
    assert found["short"] == []
    assert files(plan.parent) == before


def test_a_dry_run_refuses_what_a_run_would_refuse(plan: Path) -> None:
    text = plan.read_text()
    for wrong, why in (
        (text.replace("k = 3", "k = 100"), "k"),
        (text.replace("k = 3", 'k = "three"'), "k"),
        (text.replace('"release"', '"../release"'), "outside its own folder"),
        (text.replace('path = "', 'path = "no-'), "no-walks"),
        (text.replace('name = "mdav"', 'name = "no"'), "no method"),
    ):
        plan.write_text(wrong)
        ended = called("run", plan, "--dry-run")
        if "k = 100" in wrong and "chunk = 20" in wrong:
            continue  # records that stay in their files are looked through by the run itself
        assert ended.exit_code == 2, ended.output
        assert ended.stderr.startswith("error: ")
        assert why in ended.stderr
    plan.write_text(text)
    (plan.parent / "release").mkdir()
    ended = called("run", plan, "--dry-run")
    assert ended.exit_code == 2
    assert "exists already" in ended.stderr
    assert called("run", plan, "--dry-run", "--overwrite").exit_code == 0


def test_too_little_disk_is_refused_before_the_work(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(plan.parent)
    monkeypatch.setattr("tsveil.plan.estimate.free_disk", lambda path: 100_000)
    ended = called("run", plan)
    assert ended.exit_code == 2
    assert ended.stderr.startswith(
        "error: there is not enough room for this run, and nothing was begun:\n  disk: about "
    )
    assert f"are needed where {plan.parent / 'release'} goes" in ended.stderr
    assert "100 kB are free there\n  options: a folder on a larger disk" in ended.stderr
    assert ("until the end of the run" in ended.stderr) == ("chunk = 20" in plan.read_text())
    assert files(plan.parent) == before
    dry = called("run", plan, "--dry-run")
    assert dry.exit_code == 0
    assert "not enough disk: about " in dry.output
    monkeypatch.setattr("tsveil.plan.estimate.free_disk", lambda path: None)  # a system that does not say it
    assert called("run", plan).exit_code == 0


def test_too_little_memory_is_refused_before_the_work(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(plan.parent)
    monkeypatch.setattr("tsveil.plan.estimate.memory_for_us", lambda: 50_000_000)
    ended = called("run", plan)
    assert ended.exit_code == 2
    assert "  memory: about " in ended.stderr
    assert " are needed; 50 MB are there\n  options: " in ended.stderr
    assert ("a smaller chunk" if "chunk = 20" in plan.read_text() else 'engine = "local"') in ended.stderr
    assert files(plan.parent) == before


def test_files_that_cannot_fit_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame(walks(60, 4, 1), schema=list("1234")).write_csv(tmp_path / "walks.csv")
    (tmp_path / "plan.toml").write_text(PLAN.format(path="walks.csv", run=""))
    monkeypatch.setattr("tsveil.plan.estimate.memory_for_us", lambda: 2000)
    monkeypatch.setattr("tsveil.plan.plan.read", lambda *_, **__: pytest.fail("it was read"))
    ended = called("run", tmp_path / "plan.toml")
    assert ended.exit_code == 2
    assert "walks.csv cannot be read into memory: that takes at least " in ended.stderr
    assert "2 kB are there\n  options: a smaller memory in [run]" in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.toml", "walks.csv"]


def largest_spool(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the spool whenever something is removed from it, and before it is removed itself."""
    sizes: list[int] = []
    remove = Folder.remove

    def looked(store: Folder, stem: str) -> None:
        sizes.append(sum(file.stat().st_size for file in store.path.iterdir()))
        remove(store, stem)

    def all_removed(path: Path) -> None:
        looked(Folder(path), "")
        shutil.rmtree(path)

    monkeypatch.setattr(Folder, "remove", looked)
    monkeypatch.setattr("tsveil.plan.run.rmtree", all_removed)
    return sizes


@pytest.mark.parametrize("method", [{"name": "mdav", "k": 5}, {"name": "noise", "sd": 0.1}, {"name": "rank-swap", "p": 5.0}, {"name": "k-envelopes", "k": 5}], ids=lambda m: m["name"])  # fmt: skip
def test_disk_is_as_estimated(tmp_path: Path, method: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Spool and release of a real run are neither much larger nor much smaller."""
    write_files(tmp_path / "walks", pl.DataFrame(walks(3000, 12, 1), schema=[f"v{t}" for t in range(12)]), 2)
    plan = Plan(
        input=Input(path="walks", blocks={"load": {"from": "v0", "to": "v11", "kind": "series"}}),
        method=method,
        output=Output(folder="release"),
        run=Running(engine="local", chunk=1000),
        seed=1,
    )
    told = tv.estimate(plan, base=tmp_path)
    sizes = largest_spool(monkeypatch)
    folder = tv.run(plan, base=tmp_path, allow=["accepted-risk", "attribute-disclosure", "promise"]).folder
    release = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert 0.8 < told.spool / max(sizes) < 1.6, (told.spool, max(sizes))
    # Parquet files keep what a group shares once.
    assert 0.8 < told.release / release < 3, (told.release, release)


def test_how_the_estimate_grows() -> None:
    def of(n: int, width: int, **options: Any) -> Estimate:
        return estimate(
            tv.MDAV(k=5),
            tv.Dataset.from_arrays({"x": np.zeros((n, width))}),
            Path("release"),
            form="parquet",
            **options,
        )

    small, large, chunks = of(2000, 10), of(200_000, 10), of(200_000, 10, in_chunks=True, chunk=5000)
    assert small.spool == large.spool == 0 < chunks.spool
    assert (small.chunks, chunks.chunks) == (0, 40)
    for one in ("seconds", "memory", "release"):
        assert getattr(small, one) < getattr(large, one)
        assert getattr(large, one) < getattr(of(200_000, 40), one)
    assert of(200_000, 10, in_chunks=True, chunk=5000, engine="dask").memory > chunks.memory  # type: ignore[operator]
    elsewhere = of(200_000, 10, in_chunks=True, elsewhere=True)
    assert elsewhere.seconds is elsewhere.memory is None
    assert elsewhere.spool > 0
    few = of(200_000, 10, targets=1000).seconds
    assert few is not None
    assert large.seconds is not None
    assert few < large.seconds


def test_csv_takes_more_disk_than_parquet() -> None:
    data = tv.Dataset.from_arrays({"x": np.zeros((1000, 50))})
    csv = estimate(tv.Noise(sd=0.1), data, Path("release"), form="csv")
    parquet = estimate(tv.Noise(sd=0.1), data, Path("release"), form="parquet")
    assert csv.release > parquet.release


def test_a_place_with_too_little_room_raises_before_anything_exists(tmp_path: Path) -> None:
    data = tv.Dataset.from_arrays({"x": np.zeros((1000, 50))})
    found = estimate(tv.Noise(sd=0.1), data, tmp_path / "new" / "release")
    found.refuse_if_short()
    assert found.disk_there == pytest.approx(free_disk(tmp_path), rel=0.2)
    with pytest.raises(RoomError, match="not enough room"):
        Estimate(**{**vars(found), "disk_there": 10}).refuse_if_short()
    assert not (tmp_path / "new").exists()


def test_limits_of_a_container_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = memory.memory_for_us()
    assert ours is not None
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 50000\n")
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "memory.max").write_text("max\n")
    names = ("memory.max", "memory.current", "inactive_file")
    monkeypatch.setattr(memory, "_groups", lambda: iter([(tmp_path / "open", names), (tmp_path, names)]))
    machine, group = memory._available_bytes()
    assert machine == pytest.approx(ours, rel=0.3)
    own = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    assert group - own == pytest.approx(150_000, abs=20_000_000)
    assert memory.memory_for_us() == pytest.approx(group, abs=20_000_000)
