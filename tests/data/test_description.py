"""`tsveil inspect --json`: the document that programs read, in the form that docs/reading.md describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tsveil.cli import main

DOCS = Path(__file__).parents[2] / "docs" / "reading.md"


class Series(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    kind: str
    points: int
    first: str = msgspec.field(name="from")
    last: str = msgspec.field(name="to")


class Attributes(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    kind: str
    columns: int


class Column(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    type: str
    role: str
    block: str | None
    reason: str


class Answer(msgspec.Struct, forbid_unknown_fields=True):
    means: str
    options: str


class Question(msgspec.Struct, forbid_unknown_fields=True):
    seen: str
    answers: list[Answer]


class Description(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    file: str
    format: str
    separator: str
    decimal: str
    layout: str
    rows: int
    ready: bool
    records: int | None
    persons: int | None
    series: list[Series]
    attributes: list[Attributes]
    columns: list[Column]
    options: dict[str, Any]
    reasons: list[str]
    notes: list[str]
    questions: list[Question]
    problems: list[str]
    hints: list[str]


def inspected(path: Path, *words: str, code: int = 0) -> Description:
    found = CliRunner().invoke(main, ["inspect", str(path), "--json", *words], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return msgspec.convert(json.loads(found.stdout), Description)


def test_a_wide_file(tmp_path: Path) -> None:
    path = tmp_path / "meters.csv"
    rows = "".join(f"m{i},{i}.5,{i},{i % 3},town\n" for i in range(12))
    path.write_text(f"meter,2024-01-01,2024-01-02,rooms,place\n{rows}")
    found = inspected(path)
    assert (found.rows, found.records, found.persons, found.ready) == (12, 12, 12, True)
    assert found.series == [Series("series", "series", 2, "2024-01-01", "2024-01-02")]
    assert [(c.name, c.type, c.role, c.block) for c in found.columns] == [
        ("meter", "text", "identifier", None),
        ("2024-01-01", "number", "series", "series"),
        ("2024-01-02", "whole number", "series", "series"),
        ("rooms", "whole number", "left out", None),
        ("place", "text", "left out", None),
    ]
    reasons = {column.name: column.reason for column in found.columns}
    assert reasons["rooms"].startswith("'rooms': numbers beside the series")
    assert reasons["place"].startswith("'place': not numbers")
    assert reasons["meter"] == "identifier 'meter': its values are all different"
    labelled = inspected(path, "--nominal", "place")
    assert {c.name: c.role for c in labelled.columns}["place"] == "label"
    owned = inspected(path, "--confidential", "place", "--person", "rooms")
    said = {column.name: (column.role, column.reason) for column in owned.columns}
    assert said["place"] == ("confidential", "an option says so")
    assert said["rooms"][0] == "person"
    assert (owned.records, owned.persons) == (12, 3)


def test_a_long_file_whose_time_is_in_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "hours.csv"
    rows = [f"m{i},2024-01-0{d},{h}:00,{i + d + h / 7:.3f},x\n" for i in range(4) for d in (1, 2) for h in range(3)]
    path.write_text("meter,day,hour,kwh,note\n" + "".join(rows))
    found = inspected(path)
    assert (found.layout, found.rows, found.records) == ("long", 24, 4)
    assert [(s.name, s.points) for s in found.series] == [("kwh", 6)]
    roles = {column.name: column.role for column in found.columns}
    assert roles == {"meter": "identifier", "day": "time", "hour": "time", "kwh": "value", "note": "left out"}


def test_questions_and_problems(tmp_path: Path) -> None:
    asked = tmp_path / "asked.csv"
    asked.write_text("household,load\n" + "".join(f"h{i % 6},{i}.5\n" for i in range(24)))
    found = inspected(asked, code=2)
    assert (found.ready, found.records, found.problems) == (False, None, [])
    assert [answer.options for answer in found.questions[0].answers][1:] == ["--person household", "--independent-rows"]

    gaps = tmp_path / "gaps.csv"
    gaps.write_text("meter,2024-01-01,2024-01-02\na,1,\nb,x,2\nc,4,5\n")
    found = inspected(gaps, code=2)
    assert found.questions == []
    assert found.problems == [
        "row 2, column '2024-01-01': 'x' is not a number",
        "row 1, column '2024-01-02': the value is missing",
        "series 'series' is incomplete: 1 of 3 records have only 1 of the 2 points (first: 'a')",
    ]
    assert any("missing" in hint for hint in found.hints)


def test_what_is_given_reads_the_file_so_again(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,wage,age\n" + "".join(f"p{i},{i * 37 % 50}.5,{20 + i}.5\n" for i in range(15)))
    found = inspected(path)
    assert found.attributes == [Attributes("attributes", "attributes", 2)]
    assert {c.role for c in found.columns} == {"identifier", "attribute"}
    import tsveil as tv

    assert tv.read(path, **found.options).n == found.records


@pytest.mark.parametrize("key", Description.__struct_encode_fields__)
def test_the_docs_name_every_key(key: str) -> None:
    text = DOCS.read_text(encoding="utf-8")
    section = text[text.index("## For programs") :].split("\n## ")[0]
    assert f"`{key}`" in section
