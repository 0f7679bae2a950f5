"""Parquet files that end their parser, among files that are read in chunks: told by name, and no worker ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import tsveil as tv
from engine_files import TINY
from small_parquet import PARQUET
from tsveil.cli import main
from tsveil.engine.base import Engine

#: minus 64 values in the page: the parser asks for 2^61 bytes, and its process is ended
DAMAGED = PARQUET[:12] + b"\x7f" + PARQUET[13:]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Good files around two that are damaged in their pages; what they say of themselves is right."""
    place = tmp_path / "in"
    place.mkdir()
    for name, data in {"a": PARQUET, "b": DAMAGED, "c": PARQUET, "d": DAMAGED}.items():
        (place / f"{name}.parquet").write_bytes(data)
    return place


def test_damaged_files_are_told_by_name_on_every_engine(folder: Path, engine: Engine) -> None:
    data = tv.read(folder, memory=TINY)
    with pytest.raises(tv.errors.InputError, match="the input cannot be used: 2 problems") as caught:
        tv.MDAV(k=2).protect(data, engine=engine, chunk=2)
    assert [problem.split(" cannot be read on ")[0] for problem in caught.value.problems] == ["b.parquet", "d.parquet"]
    assert all("the Parquet file is damaged, so that its parser ends" in problem for problem in caught.value.problems)
    for name in ("b", "d"):
        (folder / f"{name}.parquet").write_bytes(PARQUET)
    assert tv.MDAV(k=2).protect(data, engine=engine, chunk=2).verify().holds


def test_a_damaged_first_file_is_told_before_anything_begins(folder: Path) -> None:
    (folder / "a.parquet").write_bytes(DAMAGED)
    with pytest.raises(
        tv.errors.InputError, match=r"a\.parquet cannot be read as Parquet: the Parquet file is damaged"
    ):
        tv.read(folder, memory=TINY)


def test_the_command_ends_with_the_code_of_bad_input(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        '[input]\npath = "in"\n[method]\nname = "mdav"\nk = 2\n[output]\nfolder = "out"\n[run]\nmemory = "1"\n'
    )
    result = CliRunner().invoke(main, ["run", str(tmp_path / "plan.toml")])
    assert result.exit_code == 2
    assert "b.parquet cannot be read on" in result.output
    assert "workers must see the input under the same path" in result.output
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["in", "plan.toml"]


def test_a_damaged_file_behind_empty_ones(folder: Path) -> None:
    import polars as pl

    pl.DataFrame(schema={"1": pl.Float64}).write_parquet(folder / "a.parquet")
    with pytest.raises(
        tv.errors.InputError, match=r"b\.parquet cannot be read as Parquet: the Parquet file is damaged"
    ):
        tv.read(folder, memory=TINY)
