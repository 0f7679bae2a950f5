"""Files that nobody should send and somebody will: each is read rightly or refused in words."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

import tsveil as tv
from tsveil.core.errors import InputError
from tsveil.data.file_table import MOST_COLUMNS
from tsveil.data.files import LONGEST_LINE

BOM = b"\xef\xbb\xbf"
PLAIN = b"id,1,2,3\na,1,2,3\nb,2,3,4\n"


def written(folder: Path, content: bytes | str) -> Path:
    path = folder / "meters.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n\n", b" \r\n\t\r\n", BOM, BOM + b"\r\n\r\n", gzip.compress(b"", mtime=0), gzip.compress(BOM, mtime=0)],
)
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"^meters.csv cannot be read: the file is empty$"):
        tv.read(written(tmp_path, content))


def test_a_file_with_names_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no records, only the names of columns"):
        tv.read(written(tmp_path, "id,1,2,3\n"))
    types = {"id": pl.String, "time": pl.Int64, "load": pl.Float64, "heat": pl.Float64}
    pl.DataFrame(schema=types).write_parquet(tmp_path / "long.parquet")
    with pytest.raises(InputError, match="there are no records, only the names of columns"):
        tv.read(tmp_path / "long.parquet", id="id", time="time")


@pytest.mark.parametrize(
    "content",
    [
        BOM + PLAIN,
        PLAIN.replace(b"\n", b"\r\n"),
        BOM + PLAIN.replace(b"\n", b"\r\n"),
        PLAIN.replace(b"\n", b"\r"),
        PLAIN.replace(b"3\n", b"3\r\n", 1),
        PLAIN.rstrip(b"\n"),
        b"\r\n\r\n" + PLAIN,
        BOM + b'"id","1","2","3"\r\n"a","1","2","3"\r\n"b","2","3","4"\r\n',
        gzip.compress(BOM + PLAIN.replace(b"\n", b"\r\n"), mtime=0),
    ],
)
def test_a_byte_order_mark_and_line_ends_of_other_systems(tmp_path: Path, content: bytes) -> None:
    data = tv.read(written(tmp_path, content))
    assert data.id == "id"
    assert data.ids.to_list() == ["a", "b"]
    assert data.columns == ("1", "2", "3")
    assert data.values.tolist() == [[1, 2, 3], [2, 3, 4]]


def test_a_carriage_return_among_other_line_ends_is_white_space(tmp_path: Path) -> None:
    data = tv.read(written(tmp_path, b"id,1,2\na,\r1,2\nb,3,4\r\n"))
    assert data.ids.to_list() == ["a", "b"]
    assert data.values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InputError, match="it is not well-formed CSV"):  # two rows in one line
        tv.read(written(tmp_path, b"id,1,2\na,1,2\rb,3,4\nc,5,6\n"))


# -- identifiers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Andr\u00e9", "Andre\u0301"),
        ("h1", "h1 "),
        ("h1", "h\u200b1"),
        ("\u05d0\u05d1", "\u200f\u05d0\u05d1"),
        ("h1", "\ufeffh1"),
    ],
    ids=["two forms of an accent", "a space", "no width", "a mark of direction", "a second byte-order mark"],
)
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_ids_that_look_the_same_are_refused(tmp_path: Path, one: str, other: str, layout: str) -> None:
    """One person under two names would be counted twice in a group."""
    if layout == "wide":
        path = written(tmp_path, f"id,1,2,3\nfirst,5,5,5\n{one},1,2,3\n{other},2,3,4\n")
        data = {"id": "id", "blocks": {"x": ["1", "2", "3"]}}
    else:
        path = written(
            tmp_path, "id,time,v\n" + "".join(f"{who},{t},{t}\n" for who in ("first", one, other) for t in (1, 2))
        )
        data = {"id": "id", "time": "time", "value": "v"}
    with pytest.raises(
        InputError,
        match=r"the ids in rows 2 and 3 look the same \('.*'\) but are written differently\n(.*\n)?.*Unicode NFC",
    ):
        tv.read(path, **data)  # type: ignore[arg-type]


def test_ids_in_any_script_are_kept(tmp_path: Path) -> None:
    names = [
        "\u05d3\u05d5\u05d3",
        "\u0645\u0631\u064a\u0645",
        "Zo\u00eb",
        "\u5f20\u4f1f",
        "\U0001f600",
        "a b",
        "h2",
        "H2",
        "\u00b2h",
    ]
    rows = "".join(f"{name},{i % 4},{i % 3},{i}\n" for i, name in enumerate(names))
    data = tv.read(written(tmp_path, "id,1,2,3\n" + rows))
    assert data.ids.to_list() == names
    folder = tv.MDAV(k=3).protect(data).write(tmp_path / "out", format="csv")
    assert pl.read_csv(folder / "private" / "id_map.csv")["original"].to_list() == names


def test_digits_of_other_scripts_are_no_numbers(tmp_path: Path) -> None:
    rows = "".join(f"h{i},1,2,3\n" for i in range(9))
    with pytest.raises(InputError, match="row 10, column '1': '\u0661' is not a number"):
        tv.read(written(tmp_path, f"id,1,2,3\n{rows}x,\u0661,2,3\n"))


# -- too much of it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [b"id,1,2\n", b"", b"id,1,2\na,1,"])
def test_a_line_of_two_gigabytes(tmp_path: Path, start: bytes) -> None:
    path = written(tmp_path, start)
    with path.open("r+b") as file:
        file.truncate(2 << 30)  # a file with a hole takes no space
    with pytest.raises(
        InputError,
        match=r"^meters.csv cannot be read: it has a line of more than 100 MB, so it is no table\n  options: ",
    ):
        tv.read(path)


def test_a_long_line_far_down_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LONGEST_LINE == 100_000_000
    monkeypatch.setattr("tsveil.data.files.LONGEST_LINE", 1000)
    monkeypatch.setattr("tsveil.data.files._CHUNK", 64)
    row = b"h,1,2,3\n"
    good = written(tmp_path, b"id,a,b,c\n" + b"".join(b"%d" % i + row for i in range(400)))
    assert tv.read(good, numbers=["a", "b", "c"]).n == 400
    for ends in (b"\n", b"\r"):
        text = b"id,a,b,c\n" + b"".join(b"%d" % i + row for i in range(400)) + b"x," + b"7" * 1200 + b",2,3\n" + row
        with pytest.raises(InputError, match="it has a line of more than"):
            tv.read(written(tmp_path, text.replace(b"\n", ends)))


def test_a_million_columns(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        b"id," + b",".join(b"%d" % i for i in range(1_000_000)) + b"\na," + b",".join([b"1"] * 1_000_000) + b"\n",
    )
    with pytest.raises(
        InputError, match=rf"it has 1000001 columns, and {MOST_COLUMNS} are the most\n  options: the long layout"
    ):
        tv.read(path)


# -- times ------------------------------------------------------------------------------------------------------------


def test_mixed_time_zones_are_compared_in_universal_time(tmp_path: Path) -> None:
    times = ["2024-10-27T00:00+02:00", "2024-10-26T23:00Z", "2024-10-26T20:00-04:00", "2024-10-27T06:30+05:30"]
    data = tv.read(written(tmp_path, "id," + ",".join(times) + "\na,1,2,3,4\nb,2,3,4,5\n"))
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [0, 1, 2, 3]


def test_the_hour_that_comes_twice_in_autumn(tmp_path: Path) -> None:
    times = [f"2024-10-27T{hour}" for hour in ("01:00+02:00", "02:00+02:00", "02:00+01:00", "03:00+01:00")]
    data = tv.read(written(tmp_path, "id," + ",".join(times) + "\na,1,2,3,4\nb,2,3,4,5\n"))
    assert data.blocks[0].times is not None
    assert data.blocks[0].times.tolist() == [0, 1, 2, 3]

    # Without a zone the two cannot be told apart: refused, in either layout.
    local = [time[:16] for time in times]
    with pytest.raises(InputError, match="column named more than once: '2024-10-27T02:00'"):
        tv.read(written(tmp_path, "id," + ",".join(local) + "\na,1,2,3,4\n"))
    day = [f"2024-10-27T{hour:02}:00" for hour in [*range(3), *range(2, 24)]]
    rows = "".join(f"{who},{time},{at}\n" for who in "abc" for at, time in enumerate(day))
    with pytest.raises(InputError, match=r"the id 'a' has the time '2024-10-27T02:00' 2 times \(rows 3, 4\)"):
        tv.read(written(tmp_path, "id,time,v\n" + rows))


def test_the_hour_that_is_missing_in_spring(tmp_path: Path) -> None:
    """With zones there is no gap. Without, local stamps are taken as they stand: a step of two hours."""
    hours = ("00:00+01:00", "01:00+01:00", "03:00+02:00", "04:00+02:00")
    for cut, steps in ((None, [0, 1, 2, 3]), (16, [0, 1, 3, 4])):
        times = [f"2024-03-31T{hour}"[:cut] for hour in hours]
        data = tv.read(written(tmp_path, "id," + ",".join(times) + "\na,1,2,3,4\nb,2,3,4,5\n"))
        assert data.blocks[0].times is not None
        assert data.blocks[0].times.tolist() == steps


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_times_of_which_only_some_name_a_zone_are_refused(tmp_path: Path, layout: str) -> None:
    times = ["2024-10-27T00:00", "2024-10-27T01:00+02:00", "2024-10-27T02:00+02:00"]
    content = (
        "id," + ",".join(times) + "\na,1,2,3\nb,2,3,4\n"
        if layout == "wide"
        else "id,time,v\n" + "".join(f"{who},{time},1\n" for who in "abc" for time in times)
    )
    with pytest.raises(
        InputError, match=r"'2024-10-27T01:00\+02:00' names a time zone and '2024-10-27T00:00' does not"
    ):
        tv.read(written(tmp_path, content))
