"""Files of every format: read alike, published as they came and with the types that they had, and nothing in them that is not the table."""

from __future__ import annotations

import getpass
import io
import json
import os
import sqlite3
import zipfile
from contextlib import closing, suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from click.testing import CliRunner
from python_calamine import CalamineWorkbook

import tsveil as tv
from tsveil.assess.file import judge_file
from tsveil.cli import main
from tsveil.core.errors import InputError, OutputError, QuestionError
from tsveil.data.formats import base
from tsveil.data.formats.known import FORMATS, written_format
from tsveil.data.formats.workbook import _unpacked_size
from tsveil.data.formats.written import WRITTEN
from tsveil.data.read import look_at
from tsveil.guarantee.k_anonymity import KAnonymity

N = 24
#: a word of somebody who is not published, and the category that nobody has
SECRET, NOBODY = "Atlantis", "Eldorado"
TIMES = ("t1", "t2", "t3")


def readings() -> pl.DataFrame:
    """Households with readings, and columns of other types beside them."""
    random = np.random.default_rng(7)
    load = np.repeat(np.round(random.gamma(2, 1, (N // 3, 3)), 2), 3, axis=0)
    return pl.DataFrame(
        {
            "household": [f"CH{1000 + 7 * at}" for at in range(N)],
            **{name: load[:, at] for at, name in enumerate(TIMES)},
            "town": [("Bern", "Chur", "Genf")[at % 3] for at in range(N)],
        }
    )


def typed() -> pl.DataFrame:
    """The same with types that text has not."""
    start = datetime(2024, 3, 30, 12, tzinfo=UTC)
    return readings().with_columns(
        pl.Series("town", readings()["town"], dtype=pl.Enum([NOBODY, "Genf", "Chur", "Bern"])),
        pl.Series("word", readings()["town"], dtype=pl.Categorical),
        pl.Series("fee", [Decimal(at) / 4 for at in range(N)], dtype=pl.Decimal(10, 2)),
        pl.Series("since", [start + timedelta(hours=at) for at in range(N)]).dt.convert_time_zone("Europe/Zurich"),
        pl.Series("born", [date(1980, 1, 1) + timedelta(days=at) for at in range(N)]),
        pl.Series("rooms", [1 + at % 5 for at in range(N)], dtype=pl.Int16),
        pl.Series("size", [0.5 * at for at in range(N)], dtype=pl.Float32),
        *(pl.Series(f"n{at}", np.repeat(np.arange(N // 3), 3) + at, dtype=pl.Int16) for at in range(2)),
        pl.Series("odd", np.arange(N) ** 2 % 251, dtype=pl.UInt8),
    )


CARRIED = ["town", "word", "fee", "since", "born", "rooms", "size"]


def made(name: str, folder: Path, frame: pl.DataFrame | None = None) -> Path:
    """The readings in a file of a format."""
    place = folder / f"readings.{name}"
    FORMATS[name].write(readings() if frame is None else frame, place, "readings")
    return place


def published(path: Path, folder: Path, **options: Any) -> Path:
    data = tv.read(path, id="household", **{"blocks": {"load": list(TIMES)}, "confidential": "town", **options})
    tv.MDAV(k=3).protect(data, seed=1).write(folder / "release", overwrite=True)
    (found,) = (folder / "release" / "published").glob("data.*")
    return found


def _feather(path: Path) -> pd.DataFrame:
    """An Arrow file."""
    try:
        return pd.read_feather(path)
    except pa.ArrowTypeError as error:
        if "unsigned dictionary indices" not in str(error):
            raise
        pytest.skip("this old version of pyarrow cannot give pandas categories whose codes have no sign")


def _sheet(path: Path) -> pd.DataFrame:
    """The first sheet of a workbook; older versions of pandas cannot read one by the parser that is there."""
    head, *rows = CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
    whole = [[int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in row] for row in rows]
    return pd.DataFrame(whole, columns=head)


def in_pandas(path: Path) -> pd.DataFrame:
    """What pandas reads."""
    readers: dict[str, Any] = {
        ".csv": pd.read_csv,
        ".parquet": pd.read_parquet,
        ".arrow": _feather,
        ".json": pd.read_json,
        ".jsonl": lambda place: pd.read_json(place, lines=True),
        ".xlsx": _sheet,
        ".dta": pd.read_stata,
        ".sav": lambda place: pyreadstat.read_sav(str(place))[0],
    }
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as connection:
            return pd.read_sql("SELECT * FROM readings", connection)
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as connection:
            found: pd.DataFrame = connection.execute("SELECT * FROM readings").df()
            return found
    if path.suffix == ".arff":
        return look_at(path).source.frame.to_pandas()
    frame: pd.DataFrame = readers[path.suffix](path)
    return frame


def test_the_table_of_formats() -> None:
    assert {written_format(name).name for name in FORMATS} == set(WRITTEN)
    assert all(name == form.name for name, form in FORMATS.items())
    endings = [ending for form in FORMATS.values() for ending in form.endings]
    assert len(endings) == len(set(endings))
    assert all(f".{name}" in FORMATS[name].endings for name in WRITTEN)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_format_comes_back_as_it_came(name: str, tmp_path: Path) -> None:
    path = made(name, tmp_path)
    before = path.read_bytes()
    plain = made("csv", tmp_path)
    data, same = (tv.read(one, id="household", confidential="town") for one in (path, plain))
    np.testing.assert_array_equal(data.values, same.values)
    assert data.others.equals(same.others)
    assert data.layout.format == name
    chunks = tv.read(path, id="household", confidential="town", memory="1KB", blocks={"load": list(TIMES)})
    np.testing.assert_array_equal(chunks.values, same.values)
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == sorted({path, plain})
    file = published(path, tmp_path)
    assert file.suffix == f".{name}"
    given, shown = in_pandas(path), in_pandas(file)
    assert list(shown.columns) == list(given.columns)
    assert shown.dtypes.to_dict() == given.dtypes.to_dict()
    assert sorted(map(tuple, np.round(shown[list(TIMES)], 9).to_numpy())) == sorted(
        map(tuple, np.round(given[list(TIMES)], 9).to_numpy())
    )
    assert sorted(shown["town"]) == sorted(given["town"])
    # a verifier that knows nothing but the file
    roles = {"id": "household", "confidential": ["town"], "blocks": {"load": list(TIMES)}}
    assert judge_file(file, KAnonymity(k=3), roles).verdict.words.startswith("HOLDS")


@pytest.mark.parametrize("name", ["parquet", "arrow", "duckdb"])
def test_types_are_kept_where_values_fit_them(name: str, tmp_path: Path) -> None:
    blocks = {"load": list(TIMES), "counts": ["n0", "n1"], "odd": ["odd"]}
    path = made(name, tmp_path, typed().filter(pl.col("household") != ""))
    data = tv.read(path, id="household", blocks=blocks, confidential=CARRIED)
    tv.MDAV(k=3, grouping="joint").protect(data, seed=1).write(tmp_path / "release")
    (file,) = (tmp_path / "release" / "published").glob("data.*")
    given, shown = in_pandas(path), in_pandas(file)
    changed = {column for column in given.columns if shown[column].dtype != given[column].dtype}
    # means of whole numbers that are not whole; categories that nobody has are not listed
    assert changed <= {"n0", "n1", "odd", "town", "word"}
    assert {str(shown[name].dtype) for name in CARRIED[:2]} == {str(given[name].dtype) for name in CARRIED[:2]}
    assert shown["odd"].dtype == "float64"
    if name != "duckdb":  # which has no categories but the ones that it is told of
        assert list(shown["town"].cat.categories) == ["Genf", "Chur", "Bern"]
        assert sorted(shown["word"].cat.categories) == ["Bern", "Chur", "Genf"]
    for column in ("fee", "since", "born", "rooms", "size"):
        assert sorted(shown[column]) == sorted(given[column])
    assert NOBODY.encode() not in file.read_bytes()


@pytest.mark.parametrize("zone", [None, "Europe/Zurich"])
@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_times_of_long_tables_keep_their_type(name: str, zone: str | None, tmp_path: Path) -> None:
    start = datetime(2024, 10, 26, 20, tzinfo=UTC)
    hours = pl.Series("time", [start + timedelta(hours=at) for at in range(8)] * 6)
    hours = hours.dt.convert_time_zone(zone) if zone else hours.dt.replace_time_zone(None)
    households = np.repeat([f"CH{at}" for at in range(6)], 8)
    frame = pl.DataFrame([pl.Series("household", households), hours, pl.Series("kwh", np.arange(48) % 16 / 4)])
    path = tmp_path / f"long.{name}"
    FORMATS[name].write(frame, path, "")
    data = tv.read(path, layout="long", id="household", time="time", value="kwh")
    tv.MDAV(k=3).protect(data, seed=1).write(tmp_path / "release")
    (file,) = (tmp_path / "release" / "published").glob("data.*")
    shown = tv.read(file, layout="long", id="household", time="time", value="kwh")
    assert shown.blocks[0].labels == data.blocks[0].labels
    assert in_pandas(file).dtypes["time"] == in_pandas(path).dtypes["time"]
    assert sorted(in_pandas(file)["time"]) == sorted(in_pandas(path)["time"])


# -- what a file could say beside its table ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITTEN)
def test_a_published_file_holds_its_table_and_nothing_else(name: str, tmp_path: Path) -> None:
    frame = readings()
    path = made(name, tmp_path, frame.with_columns(comment=pl.lit(SECRET)))
    if name == "sqlite":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE owners (name TEXT)")
            connection.execute("INSERT INTO owners VALUES ('Atlantis')")
            connection.commit()
    options = {"table": "readings"} if name == "sqlite" else {}
    file = published(path, tmp_path, **options)
    content = file.read_bytes()
    if name == "xlsx":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = b"\n".join(archive.read(one) for one in archive.namelist())
    for word in [SECRET, str(tmp_path), os.getcwd(), *frame["household"]]:
        assert word.encode() not in content
    if len(getpass.getuser()) > 4:
        assert getpass.getuser().encode() not in content
    assert sorted(one.name for one in file.parent.iterdir()) == sorted(
        ["README.md", "croissant.json", "datapackage.json", file.name, "report.html"]
    )
    # the order of the rows is the random one: not that of the original, nor of the classes
    order = in_pandas(file)[TIMES[0]].to_list()
    assert order != frame[TIMES[0]].to_list()
    assert order != sorted(order)
    assert FORMATS[name].beside(base.Content(file), "readings") == []


def test_a_published_database_numbers_its_rows_in_their_order(tmp_path: Path) -> None:
    file = published(made("sqlite", tmp_path), tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        assert [row for (row,) in connection.execute("SELECT rowid FROM readings")] == list(range(1, N + 1))
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("readings",)]


def test_formulas_are_texts_in_a_workbook(tmp_path: Path) -> None:
    texts = ["=1+1", "http://example.org", "007", "@SUM(A1)"]
    frame = readings().with_columns(town=pl.Series([texts[at % 4] for at in range(N)]))
    file = published(made("xlsx", tmp_path, frame), tmp_path)
    assert set(in_pandas(file)["town"].astype(str)) == set(texts)
    with zipfile.ZipFile(file) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
        assert b"<f>" not in sheet
        assert b"hyperlink" not in sheet
        assert b"<dc:creator></dc:creator>" in archive.read("docProps/core.xml")
    csv = tv.read(tmp_path / "readings.xlsx", id="household", blocks={"load": list(TIMES)}, confidential="town")
    tv.MDAV(k=3).protect(csv).write(tmp_path / "other", format="csv")
    assert "'=1+1" in (tmp_path / "other" / "published" / "data.csv").read_text()


def judged(file: Path) -> tuple[str, str]:
    """The verdict on a file, and what is said of its coverage."""
    found = judge_file(
        file, KAnonymity(k=3), {"id": "household", "confidential": ["town"], "blocks": {"load": list(TIMES)}}
    )
    return found.verdict.words, next(check.message for check in found.checks if check.name == "coverage")


def test_what_a_database_holds_beside_its_table_is_named(tmp_path: Path) -> None:
    file = published(made("sqlite", tmp_path), tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE readings SET rowid = rowid + 100 WHERE rowid % 2")
        connection.execute("CREATE TABLE empty (x)")
        connection.commit()
    verdict, said = judged(file)
    assert verdict == "NOT DECIDED"
    assert "table empty" in said
    assert "the numbers of rows (rowid)" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [lines[0].replace(",", ", ", 1), *lines[1:]], "records are written in several ways"),
        (lambda lines: [lines[0].replace("Bern", "\\u0042ern").replace("Chur", "\\u0043hur").replace("Genf", "\\u0047enf"), *lines[1:]], "texts are written in several ways"),
        (lambda lines: [*lines[:3], json.dumps(dict(reversed(json.loads(lines[3]).items())), separators=(",", ":")), *lines[4:]], "records are written in several ways"),
    ],
)  # fmt: skip
def test_marks_in_json_are_seen(change: Any, said: str, tmp_path: Path) -> None:
    file = published(made("jsonl", tmp_path), tmp_path)
    assert judged(file)[0].startswith("HOLDS")
    file.write_text("\n".join(change(file.read_text().splitlines())) + "\n")
    verdict, message = judged(file)
    assert (verdict, said in message) == ("NOT DECIDED", True)


def test_numbers_of_json_are_compared_as_they_are_written(tmp_path: Path) -> None:
    file = published(made("jsonl", tmp_path), tmp_path)
    number = json.loads(file.read_text().splitlines()[0])["t1"]
    file.write_text(file.read_text().replace(f'"t1":{number},', f'"t1":{number}0,', 1))
    assert judged(file)[0] == "FAILS"


def test_marks_in_a_workbook_are_seen(tmp_path: Path) -> None:
    file = published(made("xlsx", tmp_path), tmp_path)
    parts: dict[str, bytes] = {}
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    for new, said in [
        (sheet.replace(b'<c r="B5">', b'<c r="B5" s="0" t="n">').replace(b'<c r="B5" s="0"', b'<c r="B5" s="1"'), "column B"),
        (sheet.replace(b'<row r="5"', b'<row r="5" hidden="1"'), "rows are formatted"),
        (sheet.replace(b'<c r="B5"><v>', b'<c r="B5"><f>1</f><v>'), "formulas"),
    ]:  # fmt: skip
        assert new != sheet
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, new if name.endswith("sheet1.xml") else content)
        verdict, message = judged(file)
        assert (verdict, said in message) == ("NOT DECIDED", True), message
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in [*parts.items(), ("xl/comments1.xml", b"<comments/>")]:
            archive.writestr(name, content)
    assert "xl/comments1.xml" in judged(file)[1]


# -- databases --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_a_query_selects_and_nothing_else(name: str, tmp_path: Path) -> None:
    path = made(name, tmp_path)
    before = path.read_bytes()
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    found = tv.read(path, query="SELECT household, t1, t2 FROM readings WHERE t1 >= 0;")
    assert found.n == N
    for query in [
        "DELETE FROM readings",
        "SELECT 1; DROP TABLE readings",
        f"ATTACH '{tmp_path}/new.db' AS other",
        f"COPY readings TO '{tmp_path}/new.csv'",
        f"SELECT * FROM '{tmp_path}/secret.csv'",
        f"SELECT * FROM readings) TO '{tmp_path}/new.csv' --",
        "SELECT load_extension('x')",
        "PRAGMA user_version = 7",
        "SELECT * FROM nothing",
        "",
    ]:
        with pytest.raises(InputError, match="the query cannot be run"):
            tv.read(path, query=query)
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([path.name, "secret.csv"])


def test_a_database_that_is_being_written_is_refused(tmp_path: Path) -> None:
    path = made("sqlite", tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("DELETE FROM readings WHERE household = 'CH1000'")
        connection.commit()
        with pytest.raises(InputError, match=r"readings.sqlite-wal beside it holds changes"):
            tv.read(path)
    assert tv.read(path, id="household").n == N - 1
    assert list(tmp_path.iterdir()) == [path]


def test_cells_of_several_kinds_stay_texts(tmp_path: Path) -> None:
    path = tmp_path / "mixed.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (id TEXT, load, note)")
        rows = [(f"{at:03d}", at + 0.5, [at, "x", None, b"\x01"][at % 4]) for at in range(8)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        connection.commit()
    data = tv.read(path, id="id", confidential="note")
    assert data.ids.to_list() == [f"{at:03d}" for at in range(8)]
    assert data.others["note"].to_list() == ["0", "x", None, "01", "4", "x", None, "01"]
    assert data.values[:, 0].tolist() == [at + 0.5 for at in range(8)]


# -- damaged files, missing packages, standard input --------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("sas", "ts", "csv")])
def test_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    """Whatever is changed in a file, there is an answer in words: where the parser ends, a child ends with it."""
    content = bytearray(made(name, tmp_path).read_bytes())
    random = np.random.default_rng(sum(name.encode()))
    for case in range(6):
        damaged = bytearray(content)
        if case % 2:
            del damaged[int(random.integers(20, len(damaged))) :]
        else:
            for at in random.integers(16, len(damaged), 12):
                damaged[at] = int(random.integers(256))
        place = tmp_path / f"damaged-{case}.{name}"
        place.write_bytes(damaged)
        with suppress(InputError):
            tv.read(place, independent_rows=True, transpose=False)


@pytest.mark.parametrize(
    ("name", "extra"), [("xlsx", "excel"), ("duckdb", "duckdb"), ("dta", "stata"), ("sav", "stata")]
)
def test_a_package_that_is_missing_is_named(
    name: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(name, tmp_path)

    def missing(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(InputError, match=rf"pip install 'tsveil\[{extra}\]'"):
        tv.read(path)
    with pytest.raises(OutputError, match=rf"pip install 'tsveil\[{extra}\]'"):
        made(name, tmp_path)


def test_names_that_a_program_does_not_know(tmp_path: Path) -> None:
    frame = readings().rename({"t1": "2024-01-01", "t2": "2024-01-02", "t3": "2024-01-03"})
    data = tv.read(made("csv", tmp_path, frame), id="household")
    with pytest.raises(OutputError, match="'2024-01-01' cannot be the name of a column in a Stata file"):
        tv.MDAV(k=3).protect(data).write(tmp_path / "release", format="dta")
    assert not (tmp_path / "release").exists()


def test_standard_input(tmp_path: Path) -> None:
    content = made("xlsx", tmp_path).read_bytes()
    found = CliRunner().invoke(main, ["inspect", "-", "--id", "household"], input=content)
    assert found.exit_code == 0
    assert "Next: save it to a file, then: tsveil plan FILE --id household" in found.output
    folder = tmp_path / "release"
    run = CliRunner().invoke(main, ["protect", "-", "--k", "3", "-o", str(folder)], input=content)
    assert run.exit_code == 0, run.output
    text = (folder / "published" / "data.xlsx").read_bytes()
    check = ["verify", "-", "--k", "3", "--id", "household"]
    assert CliRunner().invoke(main, check, input=text).exit_code == 0
    refused = CliRunner().invoke(main, ["plan", "-"], input=content)
    assert (refused.exit_code, "save it to a file first" in refused.output) == (2, True)


@pytest.mark.parametrize("name", ["xlsx", "jsonl", "sqlite", "arrow"])
def test_folders_and_patterns_of_other_formats(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for at in range(2):
        FORMATS[name].write(readings()[12 * at : 12 * at + 12], folder / f"part-{at}.{name}", "readings")
    for place in (folder, folder / f"part-*.{name}"):
        for memory in ("4GB", "1KB"):
            assert tv.read(place, id="household", memory=memory).n == N
    (folder / "more.sav").write_bytes(b"")
    if name != "sav":
        with pytest.raises(InputError, match="the folder holds files of several formats"):
            tv.read(folder)


def test_all_files_of_a_folder_are_asked_about_at_once(tmp_path: Path) -> None:
    for at in range(2):
        with closing(sqlite3.connect(tmp_path / f"{at}.db")) as connection:
            for table in ("a", "b"):
                connection.execute(f"CREATE TABLE {table} (id TEXT, x REAL)")
                connection.execute(f"INSERT INTO {table} VALUES ('{at}', 1.5)")
            connection.commit()
    for memory in ("4GB", "1KB"):
        with pytest.raises(QuestionError) as error:
            tv.read(tmp_path, memory=memory)
        assert str(error.value).count("holds several tables") == 1


def test_a_damaged_part_of_a_workbook_hides_no_other_that_unpacks_too_far() -> None:
    size, made = 30_000_000, io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("first.xml", os.urandom(64))
        archive.writestr("second.xml", bytes(size))
    data = bytearray(made.getvalue().replace(size.to_bytes(4, "little"), (1).to_bytes(4, "little")))
    data[39] ^= 0b110  # the first byte after the name: a kind of block that does not exist
    assert _unpacked_size(bytes(data), 10_000_000) > 10_000_000
