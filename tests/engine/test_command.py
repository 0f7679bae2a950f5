"""`tsveil run PLAN --engine ...`: what a person types, and what is then there."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import psutil
import pytest
from click.testing import CliRunner

import tsveil as tv
from engine_files import published, write_files
from tsveil.cli import main
from tsveil.engine.choose import chosen_engine

if TYPE_CHECKING:
    from distributed import Client
    from pyspark.sql import SparkSession

PLAN = """
seed = 7
secret = ""
[input]
path = "in"
confidential = ["town"]
[method]
name = "mdav"
k = 5
[output]
folder = "out"
title = "Meters <of> a town"
[run]
memory = "1"
chunk = 300
"""


@pytest.fixture
def folder(tmp_path: Path, curves: pl.DataFrame) -> Path:
    write_files(tmp_path / "in", curves, 3)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def ran(folder: Path, *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["run", str(folder / "plan.toml"), *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def told(folder: Path) -> dict[str, Any]:
    """What the release says of itself."""
    found: dict[str, Any] = json.loads((folder / "out" / "private" / "release.json").read_text())
    return found


def test_a_folder_is_protected_in_chunks(folder: Path) -> None:
    code, shown = ran(folder)
    assert code == 0, shown
    assert "700 records, series (6 points), protected by MDAV(k=5)" in shown
    assert re.search(r"promise +HOLDS +5-anonymity", shown)
    assert "EULD" in shown
    assert "seed = 7\n" in (folder / "out" / "private" / "plan.toml").read_text()
    public = (folder / "out" / "published" / "report.html").read_text()
    assert "Meters &lt;of&gt; a town" in public
    assert told(folder)["run"] == "The work was done in 3 chunks of 300 records on the engine local."
    assert "engine" not in public
    assert "http" not in public.replace("http-equiv", "").replace("http://www.w3.org/", "")
    code, shown = ran(folder, "--engine", "local")
    assert code == 2
    assert "exists already" in shown
    before = published(folder / "out")
    code, shown = ran(folder, "--engine", "local", "--overwrite", "--json")
    assert json.loads(shown)["status"] == "holds"
    assert published(folder / "out").equals(before)


def test_a_plan_says_how_many_records_are_linked(folder: Path) -> None:
    for asked, words in (('"all"', "all records"), ("20", "a random sample of 20 of 700 records")):
        (folder / "plan.toml").write_text(PLAN.replace("[output]", f"[evaluate]\ntargets = {asked}\n[output]"))
        code, shown = ran(folder, "--overwrite")
        assert code == 0, shown
        assert told(folder)["measured"]["targets"].startswith(words)
        risk = pl.read_csv(folder / "out" / "private" / "risk.csv")
        assert ("risk" in risk.columns) == (asked == '"all"')
    for asked in ("0", '"some"'):
        (folder / "plan.toml").write_text(PLAN.replace("[output]", f"[evaluate]\ntargets = {asked}\n[output]"))
        code, shown = ran(folder, "--overwrite")
        assert code == 2
        assert "targets" in shown


def test_a_sample_is_attacked_of_data_in_memory_too(folder: Path, curves: pl.DataFrame) -> None:
    curves.write_parquet(folder / "all.parquet")
    plan = (
        PLAN.replace('"in"', '"all.parquet"')
        .replace("[output]", "[evaluate]\ntargets = 20\n[output]")
        .split("[run]")[0]
    )
    (folder / "plan.toml").write_text(plan)
    code, shown = ran(folder)
    assert code == 0, shown
    assert "a random sample of 20 of 700 records" in " ".join(shown.split())
    assert told(folder)["run"] == "The work was done in memory."
    assert "risk" not in pl.read_csv(folder / "out" / "private" / "risk.csv").columns
    assert "Risk of each record" not in (folder / "out" / "private" / "report.html").read_text()


def test_a_running_scheduler_is_used(folder: Path, client: Client) -> None:
    code, shown = ran(folder, "--engine", "dask", "--scheduler", client.scheduler_info()["address"])
    assert code == 0, shown
    assert told(folder)["run"].endswith("on the engine dask.")
    assert client.status == "running"


def test_a_spark_session_is_used(folder: Path, spark: SparkSession) -> None:
    outcome = tv.run(folder / "plan.toml", engine=spark)
    assert outcome.verdict.holds
    assert told(folder)["run"].endswith("on the engine spark.")


def test_a_local_cluster_is_started_and_stopped() -> None:
    before = listening()
    with chosen_engine("dask") as engine:
        assert engine.map(lambda task: {"x": task["at"]}, [{"at": 0}, {"at": 1}], "counting") == [{"x": 0}, {"x": 1}]
        client = engine.client  # type: ignore[attr-defined]
        lines = listening() - before
        assert len(lines) > 2
        assert not [line for line in lines if not of_this_machine(line)]
    assert client.status == "closed"


def test_a_local_session_of_spark_listens_to_this_machine_only(spark: SparkSession) -> None:
    assert spark.range(2).count() == 2
    assert spark.conf.get("spark.authenticate") == "true"
    lines = listening("java")
    assert lines
    assert not [line for line in lines if not of_this_machine(line)]


def listening(name: str = "") -> set[tuple[str, int]]:
    """Where this process and those it started (of that name) wait for others."""
    process = psutil.Process()
    found = set()
    for one in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if name in one.name():
                lines = one.net_connections("inet")
                found |= {(line.laddr.ip, line.laddr.port) for line in lines if line.status == psutil.CONN_LISTEN}
    return found


def of_this_machine(line: tuple[str, int]) -> bool:
    return ipaddress.ip_address(line[0].removeprefix("::ffff:")).is_loopback


def test_what_does_not_work_in_chunks_is_told_at_once(folder: Path) -> None:
    (folder / "plan.toml").write_text(PLAN.replace('path = "in"', 'path = "in"\nmissing = "drop"\nsplit = 2'))
    code, shown = ran(folder)
    assert code == 2
    assert "it does not fit into the memory allowed, and then 'missing', 'split' cannot be used" in " ".join(
        shown.split()
    )
    (folder / "plan.toml").write_text(PLAN)
    code, shown = ran(folder, "--engine", "local", "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2
    assert "'scheduler' parameter is for the engine 'dask'" in shown
    code, shown = ran(folder, "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2
    assert [path.name for path in sorted(folder.iterdir())] == ["in", "plan.toml"]
