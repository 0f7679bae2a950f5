"""Nothing that was planted in the input is found in anything that is published.

The markers: identifiers, cells of the protected columns, cells of a column without a role, the seed, the name of the file, of its folder and
of the plan, the user and the host. They are looked for in the bytes of every file under published/, and in what a Parquet file says of
itself when it is unpacked: key-values, schema, statistics, dictionaries.
"""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import tsveil as tv
from tsveil.plan import Input, Output, Plan, run
from tsveil.registry import ALL_METHODS

SEED = 918273645546372819
RECORDS, POINTS = 40, 12
#: swapping publishes the original values under other records, and envelopes and (n,l,k) publish some values as bounds or as they are: by
#: definition; the docs of these methods say so
VALUES_STAY = {"rank-swap", "rank-swap-distribution", "rank-swap-buckets", "kp", "k-envelopes", "nlk"}


def values() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Different in every cell and large, so that no other number looks like one of them."""
    rng = np.random.default_rng(11)
    curves = rng.gamma(2, 1, (RECORDS, POINTS)).cumsum(axis=1)
    return (70_000_000 + np.round(1_000_000 * curves, 3) + rng.integers(1, 999, (RECORDS, POINTS)) / 1000).round(3)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a marked file in it."""
    folder = tmp_path_factory.mktemp("markedfolder")
    table = values()
    frame = pl.DataFrame(
        {"person": [f"markedid{i:03}" for i in range(RECORDS)]} | {f"load.{t}": table[:, t] for t in range(POINTS)}
    )
    frame = frame.with_columns(
        tariff=pl.Series(["day", "night", "flat", "sun"] * (RECORDS // 4)),
        remark=pl.Series([f"markedremark{i}" for i in range(RECORDS)]),
    )
    frame.write_csv(folder / "markedfile.csv")
    return folder / "markedfile.csv"


def released(planted: Path, out: Path, name: str, form: Any) -> Path:
    """Its release by a method, from a plan in a file of its own."""
    names = {parameter.name for parameter in ALL_METHODS[name].parameters()}
    settings = {key: value for key, value in {"k": 4, "P": 2, "columns": "tariff"}.items() if key in names}
    plan = Plan(
        input=Input(path=str(planted), id="person", blocks={"load": {"from": "load.0", "to": f"load.{POINTS - 1}", "kind": "series"}}, confidential=["tariff"]),
        method={"name": name, **settings},
        output=Output(folder=str(out), format=form),
        seed=SEED,
    )  # fmt: skip
    (out.parent / "markedplan.toml").write_text(plan.to_toml())
    return run(out.parent / "markedplan.toml").folder


def forms_of(value: float) -> set[bytes]:
    """How a number may be written; the first eight digits are enough to know it again."""
    return {f"{value:.3f}"[:9].encode(), f"{value:.3f}".replace(".", ",")[:9].encode(), np.float64(value).tobytes()}


def told_by(path: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that a file says, packed or unpacked."""
    yield "bytes", path.read_bytes()
    if path.suffix != ".parquet":
        return
    file = pq.ParquetFile(path)
    yield "key-values", repr(file.metadata.metadata).encode()
    yield "schema", repr(file.schema_arrow).encode() + repr(file.schema_arrow.metadata).encode()
    yield "footer", json.dumps(file.metadata.to_dict(), default=repr).encode()
    for column in file.read().columns:
        yield "cells", b"".join(repr(cell).encode() + b"\n" for cell in column.to_pylist())
        yield "memory", b"".join(bytes(buffer) for chunk in column.chunks for buffer in chunk.buffers() if buffer)


def found_in(folder: Path, markers: dict[str, set[bytes]]) -> list[str]:
    """Which markers are where."""
    return [
        f"{what} in {path.relative_to(folder)} ({part})"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for part, content in told_by(path)
        for what, forms in markers.items()
        if any(form in content for form in forms)
    ]


def markers(planted: Path, *, cells: bool) -> dict[str, set[bytes]]:
    """What must not be found."""
    wanted = {
        "an identifier": {b"markedid"},
        "a column without a role": {b"markedremark"},
        "the seed": {str(SEED).encode(), f"{SEED:x}".encode(), SEED.to_bytes(8, "little")},
        "the input's name": {planted.name.encode()},
        "a path": {b"markedfolder", str(planted.parent).encode()},
        "the plan's name": {b"markedplan"},
    }
    host, user = socket.gethostname(), getpass.getuser()
    wanted |= {"the host": {host.encode()}} if len(host) > 5 else {}
    wanted |= {"the user": {user.encode()}} if len(user) > 5 else {}
    if cells:
        wanted["a cell"] = {form for value in values().ravel() for form in forms_of(float(value))}
    return wanted


@pytest.mark.parametrize(
    ("name", "form"), [*((name, "parquet") for name in ALL_METHODS), ("mdav", "csv"), ("kp", "csv")]
)
def test_no_marker_is_published(planted: Path, tmp_path: Path, name: str, form: str) -> None:
    folder = released(planted, tmp_path / "out", name, form)
    assert found_in(folder / "published", markers(planted, cells=name not in VALUES_STAY)) == []
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
