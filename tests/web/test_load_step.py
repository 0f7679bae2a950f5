"""Step 1 without a browser: what each column is, questions with their pictures, gaps with their cures, hierarchies, and files of every format."""

from __future__ import annotations

import html
import io
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

import tsveil as tv
from tsveil.core.errors import InputError
from tsveil.data.formats.known import FORMATS
from tsveil.data.gaps import cures_of, is_about_gaps
from tsveil.data.questions import code_question, owner_question, time_questions, transpose_question, whose
from tsveil.web import columns, work
from tsveil.web.cures import WORDS, gaps_in
from tsveil.web.forms import question_forms
from tsveil.web.pictures import with_pictures
from web.homes import households, said, study_of
from web.running import Client, Server

WIDE: dict[str, Any] = {
    "layout": "wide",
    "id": "home",
    "blocks": {"load": {"from": "1", "to": "4", "kind": "series"}},
    "leave_out": ["note"],
}
NAMES = ["home", "town", "1", "2", "3", "4", "note", "size"]


def headers(page: str) -> dict[str, str]:
    """Column -> its role, as the headers show it."""
    found = re.findall(r'name="column" value="([^"]*)">.*?<option value="([^"]*)" selected', page, re.DOTALL)
    return {html.unescape(name): html.unescape(role) for name, role in found}


def chosen(page: str, **roles: str) -> dict[str, str | list[str]]:
    """The form of the headers, with other roles for some columns."""
    now = headers(page) | roles
    return {"column": list(now), "role": list(now.values())}


# -- the roles of columns ---------------------------------------------------------------------------------------------


def test_a_column_leaves_its_role_for_another() -> None:
    assert columns.roles_of(WIDE, NAMES) == {
        "home": "id", "town": "out", "1": "series:load", "2": "series:load", "3": "series:load", "4": "series:load", "note": "out", "size": "out",
    }  # fmt: skip
    found = columns.with_roles(
        WIDE, NAMES, {"home": "id-person", "town": "nominal", "1": "confidential", "note": "attributes:attributes"}
    )
    assert found == {
        "layout": "wide",
        "id": "home",
        "person": ["home"],
        "categories": {"town": "nominal"},
        "confidential": ["1"],
        "blocks": {
            "load": {"from": "2", "to": "4", "kind": "series"},
            "attributes": {"from": "note", "to": "note", "kind": "attributes"},
        },
    }
    assert columns.roles_of(found, NAMES)["note"] == "attributes:attributes"
    left = columns.with_roles(found, NAMES, {"1": "out", "home": "out", "3": "out"})
    assert (left.get("id"), left["leave_out"], left["blocks"]["load"]["columns"]) == (
        None,
        ["1", "home", "3"],
        ["2", "4"],
    )


def test_what_was_not_changed_keeps_what_a_header_cannot_say() -> None:
    described = WIDE | {
        "categories": {"town": {"kind": "nominal", "empty": True}},
        "missing": "drop",
        "transpose": False,
    }
    same = columns.with_roles(described, NAMES, columns.roles_of(described, NAMES))
    assert same == described
    assert columns.roles_of(described, NAMES)["town"] == "labels"
    assert "labels" in columns.choices(described)


def test_columns_of_a_long_table() -> None:
    long = {"layout": "long", "id": "home", "time": ["day", "hour"], "value": ["kwh"]}
    names = ["home", "day+hour", "kwh", "gas", "kind"]
    assert columns.roles_of(long, names)["day+hour"] == "time"
    found = columns.with_roles(long, names, {"gas": "value", "kind": "variable"})
    assert (found["value"], found["variable"], found["time"]) == (["kwh", "gas"], "kind", ["day", "hour"])
    without = columns.with_roles(found, names, {"day+hour": "out", "kind": "out"})
    assert "time" not in without
    assert "variable" not in without


def test_an_order_is_kept_and_roles_that_there_are_not_are_refused() -> None:
    found = columns.with_roles(WIDE, NAMES, {"size": "ordinal"}, orders={"size": ["small", "large"], "town": ["x"]})
    assert found["categories"] == {"size": ["small", "large"]}
    assert columns.roles_of(found, NAMES)["size"] == "ordinal"
    with pytest.raises(InputError) as refused:
        columns.with_roles(
            WIDE, NAMES, {"nobody": "id", "town": "king", "size": "hierarchy", "1": "hierarchy:other.csv"}
        )
    assert len(refused.value.problems) == 4


def test_roles_are_chosen_at_the_headers(client: Client) -> None:
    study, page = study_of(client, "homes.csv", households().write_csv().encode())
    assert headers(page) == {
        "home": "id", **{f"2024-01-0{day}": "series:series" for day in range(1, 5)}, "town": "out", "size": "out"
    }  # fmt: skip
    client.post(f"/s/{study}/columns", chosen(page, town="nominal", size="ordinal"))
    page = client.ready(f"/s/{study}/load").text
    assert "its order is not known" in said(page)
    # The labels of the file stand there, to be put in their order.
    assert "small\nlarge\nmedium" in page
    form = chosen(page) | {"order_column": "size", "order": "small\r\nmedium\r\nlarge\r\n"}
    client.post(f"/s/{study}/columns", form)
    page = client.ready(f"/s/{study}/load").text
    assert "categories 'categories' (2 columns)" in said(page)
    assert (headers(page)["town"], headers(page)["size"]) == ("nominal", "ordinal")
    assert "small\nmedium\nlarge" in page
    # The form of all roles keeps the order, which it cannot show.
    roles: dict[str, str | list[str]] = {
        "layout": "wide", "id": "home", "block_name": "load", "block_kind": "series", "block_from": "2024-01-01", "block_to": "2024-01-04",
        "label_column": ["town"], "label_kind": ["nominal"],
    }  # fmt: skip
    client.post(f"/s/{study}/look", roles)
    assert headers(client.ready(f"/s/{study}/load").text)["size"] == "ordinal"


def test_the_demo_is_a_series_whose_kind_its_plan_leaves_open(client: Client) -> None:
    study = client.post("/demo").url.path.split("/")[2]
    page = client.ready(f"/s/{study}/load").text
    assert headers(page)["2024-01-01T00:00"] == "series:load"
    client.post(f"/s/{study}/columns", chosen(page, **{"2024-01-01T00:00": "out"}))
    assert "series 'load' (335 points)" in said(client.ready(f"/s/{study}/load"))


def test_refused_roles_come_back_as_they_were_chosen(client: Client) -> None:
    study, page = study_of(client, "homes.csv", households().write_csv().encode())
    refused = client.post(f"/s/{study}/columns", chosen(page, town="hierarchy", size="confidential"))
    assert refused.status_code == 400
    assert "column 'town': choose the file that holds its hierarchy, under the table" in said(refused)
    assert (headers(refused.text)["town"], headers(refused.text)["size"]) == ("hierarchy", "confidential")
    assert '<details class="hierarchy" open>' in refused.text
    assert '<option value="town" selected>' in refused.text
    assert headers(client.get(f"/s/{study}/load").text)["town"] == "out"


def test_columns_that_are_not_shown_have_a_header_together(client: Client) -> None:
    rows = [",".join(["m", *(f"{at * (row + 2) % 17}.5" for at in range(60))]) for row in range(12)]
    content = "\n".join(
        [",".join(["meter", *(f"v{at}x" for at in range(60))]), *(f"{at}{row}" for at, row in enumerate(rows))]
    )
    study, page = study_of(client, "many.csv", content.encode())
    assert "34 more" in said(page)
    client.post(f"/s/{study}/columns", chosen(page) | {"between": "out"})
    # Of 61 columns 27 are shown, and the identifier is one of them.
    page = client.ready(f"/s/{study}/load").text
    assert "Ready: 12 records; attributes 'attributes' (26 columns); identifier 'meter'" in said(page)
    client.post(f"/s/{study}/columns", chosen(page) | {"between": "as-they-are"})
    assert "(26 columns)" in said(client.ready(f"/s/{study}/load"))


TREE = b"Bern,West,Land\nGenf,West,Land\nChur,East,Land\n"


def test_a_hierarchy_is_taken_and_stays_with_its_release(client: Client, server: Server, tmp_path: Path) -> None:
    study, page = study_of(client, "homes.csv", households().write_csv().encode())

    def sent(content: bytes, column: str = "town") -> httpx.Response:
        fields = {"csrf": client.csrf, "column": column}
        return client.http.post(
            f"/s/{study}/hierarchy",
            data=fields,
            files={"file": ("places.csv", content)},
            headers={"Origin": client.base},
        )

    sent(b"Bern,West\n")
    assert "has labels that are not a leaf of its hierarchy: 'Chur', 'Genf'" in said(client.ready(f"/s/{study}/load"))
    assert sent(TREE, "nobody").status_code == 400
    sent(TREE)
    page = client.ready(f"/s/{study}/load").text
    assert headers(page)["town"] == "hierarchy:places.csv"
    assert "Ready:" in page
    client.post(f"/s/{study}/confirm")
    client.ready(f"/s/{study}/risk")
    client.post(f"/s/{study}/sweep", {"method": "mdav", "mdav.k": "5", "max_risk": "100"})
    client.ready(f"/s/{study}/run")
    assert "Chosen: mdav k=5" in client.ready(f"/s/{study}/compare").text
    plan = client.get(f"/s/{study}/files/plan").text
    assert 'hierarchy = "places.csv"' in plan
    assert "Put this file beside homes.csv and places.csv." in plan
    assert not list(server.folder.glob(f"{study}/**/places.csv"))
    # The plan makes the same file on the command line.
    (tmp_path / "plan.toml").write_text(plan)
    (tmp_path / "homes.csv").write_bytes(households().write_csv().encode())
    (tmp_path / "places.csv").write_bytes(TREE)
    tv.run(tmp_path / "plan.toml")
    published = client.get(f"/s/{study}/files/data").content
    assert (tmp_path / "release" / "published" / "data.csv").read_bytes() == published


def test_nothing_is_chosen_at_headers_before_the_questions_are_answered(client: Client) -> None:
    """The guess of all columns would be taken for what somebody said, and codes would not be asked about."""
    rows = [f"c{at // 3},{at * at % 17}.5,{at % 2}" for at in range(60)]
    study, page = study_of(client, "visits.csv", "\n".join(["customer_id,pay,sex", *rows]).encode())
    assert headers(page) == {}
    assert "Each header says what its column seems to be." in said(page)
    refused = client.post(f"/s/{study}/columns", {"column": ["customer_id"], "role": ["person"]})
    assert refused.status_code == 400
    assert "answer the question first" in said(refused)
    client.post(f"/s/{study}/look", {"answer_0": "1"})
    page = client.ready(f"/s/{study}/load").text
    assert "may be codes" in said(page)
    client.post(f"/s/{study}/look", {"answer_0": "1"})
    assert headers(client.ready(f"/s/{study}/load").text) == {
        "customer_id": "person",
        "pay": "attributes:attributes",
        "sex": "out",
    }


# -- questions --------------------------------------------------------------------------------------------------------


def pictured(question: Any, frame: pl.DataFrame) -> list[Any]:
    (found,) = with_pictures(question_forms([question]), frame)
    return [found["title"], *found["subjects"][0]["pictures"]]


def test_each_answer_about_rows_has_a_picture_of_its_own() -> None:
    frame = pl.DataFrame({"home": ["a", "a", "b"], "day": ["1 May", "2 May", "1 May"], "kwh": [1.5, 2.5, 3.5]})
    title, over_time, person, nobody = pictured(whose(frame, "home", "day"), frame)
    assert title == "Who is the person?"
    assert [row["cells"] for row in over_time["rows"]] == [["a", "1.5", "2.5"], ["b", "3.5", "…"]]
    assert [row["colour"] for row in person["rows"]] == [0, 0, 1]
    assert [row["colour"] for row in nobody["rows"]] == [0, 1, 2]
    title, *pictures = pictured(owner_question("home", "kwh"), frame)
    assert [row["colour"] for row in pictures[0]["rows"]] == [0, 0, 1]


def test_a_turned_table_is_drawn_turned() -> None:
    frame = pl.DataFrame({"day": ["1 May", "2 May"], "M1": [1.5, 2.5], "M2": [3.0, 4.0]})
    _, turned, same = pictured(transpose_question("day", ["M1", "M2"]), frame)
    assert (turned["head"], [row["cells"] for row in turned["rows"]]) == (
        ["", "1 May", "2 May"],
        [["M1", "1.5", "2.5"], ["M2", "3", "4"]],
    )
    assert [row["cells"] for row in same["rows"]] == [["1 May", "1.5", "3"], ["2 May", "2.5", "4"]]


def test_codes_are_drawn_as_they_would_be_published() -> None:
    frame = pl.DataFrame({"sex": [1, 2, 2, 1, 2, 2], "day": ["01/02/2020"] * 6})
    _, unchanged, gone, nominal, ordinal, mean = pictured(code_question(["sex"]), frame)
    drawn = [[row["cells"][1] for row in one["rows"]] for one in (unchanged, gone, nominal, ordinal, mean)]
    assert drawn == [["1", "2", "2"], ["", "", ""], ["2"] * 3, ["2"] * 3, ["1.7"] * 3]
    (question,) = time_questions("in column 'day'", ["01/02/2020", "01/03/2020"], "")
    title, *dates = pictured(question, frame)
    assert [title, *(one["rows"][0]["cells"][1] for one in dates)] == [
        "Which date order?",
        "2 January 2020",
        "1 February 2020",
    ]


def test_a_composite_identifier_is_an_answer() -> None:
    frame = pl.DataFrame({"house": [1, 1, 2], "flat": [1, 2, 1], "day": [1, 1, 1]})
    (found,) = question_forms([whose(frame, "house", "day", ["house", "flat"])])
    assert found["subjects"][0]["answers"][0][1]["id"] == ["house", "flat"]


# -- gaps -------------------------------------------------------------------------------------------------------------


def with_gaps(frame: pl.DataFrame, *cells: tuple[int, str]) -> pl.DataFrame:
    for row, name in cells:
        frame = frame.with_columns(
            pl.when(pl.int_range(pl.len()) == row).then(None).otherwise(pl.col(name)).alias(name)
        )
    return frame


def refusal(frame: pl.DataFrame, **options: Any) -> InputError:
    with pytest.raises(InputError) as refused:
        tv.Dataset.from_frame(frame, **options)
    return refused.value


def test_every_gap_that_a_reader_refuses_has_its_cures() -> None:
    """Whatever a reader says of gaps is one problem on the page, and each option that it names has a button."""
    wide = households().drop("town", "size")
    days = [name for name in wide.columns if name.startswith("20")]
    series = {"id": "home", "blocks": {"load": {"columns": days, "kind": "series"}}}
    attributes = {"id": "home", "blocks": {"load": {"columns": days, "kind": "attributes"}}}
    few = with_gaps(wide, (3, days[1]), (7, days[0]))
    empty = with_gaps(wide, *((4, day) for day in days))
    everywhere = wide.with_columns(pl.lit(None, dtype=pl.Float64).alias(days[0]))
    for frame, options in (
        (few, series),
        (few, attributes),
        (few, attributes | {"missing": "interpolate"}),
        (empty, series | {"missing": "interpolate"}),
        (everywhere, series | {"missing": "drop"}),
        (with_gaps(wide, *((row, days[0]) for row in range(25))), series),
    ):
        error = refusal(frame, **options)
        found = gaps_in(error.problems, str(error))
        assert found is not None, error
        assert all(is_about_gaps(problem) for problem in error.problems), error.problems
        assert len(found["said"]) + len(found["cells"]) == len(error.problems)
        assert {(cure.option, cure.value) for cure in cures_of(str(error))} <= set(WORDS)
    other = refusal(wide.with_columns(pl.lit("word").alias(days[0])), **series)
    assert gaps_in(other.problems, str(other)) is None


def test_gaps_are_one_problem_with_their_cures_beside_it(client: Client) -> None:
    content = with_gaps(households(), (3, "2024-01-02"), (9, "2024-01-03")).write_csv().encode()
    study, page = study_of(client, "gaps.csv", content)
    assert "Some values are missing" in page
    assert "problems found" not in page
    assert page.count("Series 'series' is incomplete") + page.count("Series &#39;series&#39; is incomplete") == 1
    assert re.findall(r'name="option" value="(\w+)">\s*<input type="hidden" name="value" value="(\w+)"', page) == [
        ("missing", "drop"), ("missing", "mask"), ("missing", "interpolate"),
    ]  # fmt: skip
    for value, notes in (
        ("drop", "28 records"),
        ("interpolate", "filled by linear interpolation"),
        ("mask", "gaps stay gaps"),
    ):
        client.post(f"/s/{study}/cure", {"option": "missing", "value": value})
        page = client.ready(f"/s/{study}/load").text
        assert "Ready:" in page
        assert notes in said(page)
    refused = client.post(f"/s/{study}/cure", {"option": "resample", "value": "many"})
    assert refused.status_code == 400
    assert "resample must be a whole number. Got 'many'." in said(refused)
    assert client.post(f"/s/{study}/cure", {"option": "resample", "value": "1"}).status_code == 400
    assert client.post(f"/s/{study}/cure", {"option": "path", "value": "x"}).status_code == 404


# -- formats ----------------------------------------------------------------------------------------------------------


def database(path: Path) -> bytes:
    """A database with two tables."""
    with closing(sqlite3.connect(path)) as connection:
        for name, rows in (("homes", 30), ("tests", 12)):
            households(rows).to_pandas().to_sql(name, connection, index=False)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["parquet", "arrow", "xlsx", "sqlite", "duckdb", "json", "jsonl", "dta", "sav"])
def test_files_of_every_format_are_looked_at(tmp_path: Path, name: str) -> None:
    """What a job finds in an upload, whose name says nothing of its format."""
    frame = households().drop("size")
    frame = frame.rename({day: f"t{at}" for at, day in enumerate(frame.columns[1:5], 1)})
    FORMATS[name].write(frame, tmp_path / f"homes.{name}", "homes")
    upload = (tmp_path / f"homes.{name}").rename(tmp_path / "0123456789abcdef")
    task = {"data": str(upload), "name": f"homes.{name}", "source": "upload", "input": {}, "largest": 3_000_000}
    work.look(task, tmp_path, work.Telling(io.StringIO()))
    found = json.loads((tmp_path / "look.json").read_text())
    assert found["summary"] == "30 records; attributes 'attributes' (4 columns); identifier 'home'"


def test_the_table_of_a_database_is_chosen(client: Client, tmp_path: Path) -> None:
    study, page = study_of(client, "homes.db", database(tmp_path / "homes.db"))
    assert "Which table?" in page
    assert page.count('<table class="picture">') == 2
    client.post(f"/s/{study}/look", {"answer_0": "1"})
    page = client.ready(f"/s/{study}/load").text
    assert "Ready: 12 records" in said(page)
    # Other roles do not lose the table.
    client.post(f"/s/{study}/columns", chosen(page, town="nominal"))
    assert "Ready: 12 records" in said(client.ready(f"/s/{study}/load"))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("homes.pdf", b"%PDF-1.7 and so on", "homes.pdf cannot be read: it is a PDF document"),
        ("homes.xlsx", b"PK\x03\x04 cut off", "homes.xlsx cannot be read: it is a zip archive"),
    ],
)
def test_what_cannot_be_read_is_refused_in_the_words_of_the_command_line(
    client: Client, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        tv.read(tmp_path / name)
    assert words in str(refused.value)
    _, page = study_of(client, name, content)
    assert " ".join(str(refused.value).split()) in said(page)
