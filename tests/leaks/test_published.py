"""Nothing that was planted in the input (`marks`) is found in anything that is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tsveil as tv
from leaks.marks import POINTS, SEED, VALUES_STAY, found_in, marked_frame, markers, values
from tsveil.core.registry import METHODS
from tsveil.plan.plan import Input, Output, Plan, Running
from tsveil.plan.run import run


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a marked file in it."""
    folder = tmp_path_factory.mktemp("markedfolder")
    marked_frame().write_csv(folder / "markedfile.csv")
    return folder / "markedfile.csv"


def released(planted: Path, out: Path, name: str, form: Any, **running: Any) -> Path:
    """Its release by a method, from a plan in a file of its own."""
    names = {parameter.name for parameter in METHODS[name].parameters()}
    settings = {key: value for key, value in {"k": 4, "P": 2, "columns": "tariff"}.items() if key in names}
    plan = Plan(
        input=Input(path=str(planted), id="person", blocks={"load": {"from": "load.0", "to": f"load.{POINTS - 1}", "kind": "series"}}, confidential=["tariff"]),
        method={"name": name, **settings},
        output=Output(folder=str(out), format=form),
        run=Running(**running),
        seed=SEED,
    )  # fmt: skip
    (out.parent / "markedplan.toml").write_text(plan.to_toml())
    return run(out.parent / "markedplan.toml").folder


@pytest.mark.parametrize("running", [{}, {"chunk": 15}], ids=["memory", "chunks"])
@pytest.mark.parametrize(("name", "form"), [*((name, "parquet") for name in METHODS), ("mdav", "csv"), ("kp", "csv")])
def test_no_marker_is_published(planted: Path, tmp_path: Path, name: str, form: str, running: dict[str, Any]) -> None:
    folder = released(planted, tmp_path / "out", name, form, **running)
    assert found_in(folder / "published", markers(planted, cells=name not in VALUES_STAY)) == []
    # Where some values are published by definition, they are in the data alone, and those of records that are not published nowhere.
    (folder / "published" / f"data.{form}").rename(folder / f"data.{form}")
    assert found_in(folder / "published", markers(planted, cells=True)) == []
    # The same search finds them on the private side, so it can find them.
    assert any("an identifier" in found for found in found_in(folder / "private", markers(planted, cells=False)))


def test_the_search_finds_a_cell_in_any_form(planted: Path, tmp_path: Path) -> None:
    cell = values()[3, 5]
    (tmp_path / "a.html").write_text(f"<td>{cell:.1f}</td>")
    pl.DataFrame({"x": [1.0, cell]}).write_parquet(tmp_path / "b.parquet")
    pl.DataFrame({"x": ["a"]}).with_columns(pl.col("x").cast(pl.Enum(["a", "markedid001"]))).write_parquet(
        tmp_path / "c.parquet"
    )
    found = found_in(tmp_path, markers(planted, cells=True))
    assert {"a.html", "b.parquet", "c.parquet"} == {text.split(" in ")[1].split(" ")[0] for text in found}


def test_parquet_says_nothing_of_rows_that_are_not_published(tmp_path: Path) -> None:
    """The words of a categorical column are stored apart from its rows: those of left-out records would go along."""
    words = ["day", "night", "markedword", "day", "night", "day", "night", "day"]
    table = np.random.default_rng(0).gamma(2, 1, (8, 4))
    table[2, 1] = np.nan
    frame = pl.DataFrame({"id": [f"h{i}" for i in range(8)]} | {str(t): table[:, t] for t in range(4)})
    for kind in (pl.Categorical(), pl.Enum(["day", "night", "markedword", "markedbefore"])):
        data = tv.Dataset.from_frame(
            frame.with_columns(tariff=pl.Series(words, dtype=kind)),
            id="id", blocks={"load": ["0", "1", "2", "3"]}, confidential=["tariff"], missing="drop",
        )  # fmt: skip
        folder = tv.MDAV(k=3).protect(data).write(tmp_path / str(kind.base_type()), format="parquet")
        assert found_in(folder / "published", {"a word": {b"marked"}}) == []
    data = tv.Dataset.from_frame(
        frame.with_columns(tariff=pl.Series(words, dtype=pl.Categorical())).drop_nulls(),
        id="id", blocks={"load": ["0", "1", "2", "3"]}, confidential=["tariff"], missing="drop",
    )  # fmt: skip
    folder = tv.KP(k=3, P=2).protect(data).write(tmp_path / "kp", format="parquet")
    assert found_in(folder / "published", {"a word": {b"marked"}}) == []


def test_a_pandas_index_is_not_carried_along(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(
        np.random.default_rng(0).gamma(2, 1, (12, 3)),
        columns=["1", "2", "3"],
        index=pd.Index([f"markedid{i}" for i in range(12)], name="markedname"),
    )
    data = tv.Dataset.from_frame(frame, blocks={"load": ["1", "2", "3"]})
    folder = tv.MDAV(k=3).protect(data).write(tmp_path / "out", format="parquet")
    assert found_in(folder / "published", {"the index": {b"marked", b"pandas"}}) == []
